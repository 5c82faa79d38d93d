"""math.fma and math.sumprod have Python's bits; on a Python without them, those of what is inlined for them, which is
compared with exact fractions."""

import math
import random
import types
from fractions import Fraction

import numpy as np
import pytest

import pyflat
from pyflat.frontend.library import numpy_library
from pyflat.frontend.state.undecided import UndecidedError
from pyflat.functions import python_versions
from pyflat.functions.vmath import fused

fma = getattr(math, "fma", numpy_library.fma)
sumprod = getattr(math, "sumprod", numpy_library.sumprod)


def python_fma(x, y, z):
    """`math_fma_impl` of CPython 3.13 (Modules/mathmodule.c)."""
    result = fused.exact(float(x), float(y), float(z))
    if math.isnan(result) and not (math.isnan(x) or math.isnan(y) or math.isnan(z)):
        raise ValueError("invalid operation in fma")
    if math.isinf(result) and math.isfinite(x) and math.isfinite(y) and math.isfinite(z):
        raise OverflowError("overflow in fma")
    return result


def python_sumprod(p, q):
    """`math_sumprod_impl` of CPython 3.12 and 3.13."""
    total, triple, ints, floats = 0, (0.0, 0.0, 0.0), True, True
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    for x, y in zip(p, q):
        classes = {type(x), type(y)}
        ints = ints and classes == {int}
        if not ints and floats:
            if float in classes and classes <= {float, int, bool} and math.isfinite((longer := tl_fma(x, y, triple))[0]):
                triple = longer
                continue
            total, triple, floats = total + tl_to_d(triple) if any(triple) else total, (0.0, 0.0, 0.0), False
        total = total + x * y
    return total + tl_to_d(triple) if floats and not ints and p else total


def tl_fma(x, y, total):
    product = x * y
    if not math.isfinite(product):
        return product, 0.0, 0.0
    error = float(Fraction(x) * Fraction(y) - Fraction(product))
    high, first = two_sum(total[0], product)
    low, second = two_sum(total[1], error)
    low, third = two_sum(low, first)
    return high, low, total[2] + second + third


def tl_to_d(total):
    last, rest = two_sum(total[1], total[0])
    return total[2] + rest + last


def two_sum(x, y):
    return x + y, float(Fraction(x) + Fraction(y) - Fraction(x + y)) if math.isfinite(x + y) else 0.0

EDGES = (0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 1e16, -1e16, 1e-170, 1e300, -1e300, 5e-324, 1e308, math.inf, -math.inf, math.nan)


def fused_once(x, y, n):
    return fma(x, y, -0.3)


def fused_to_nothing(x, y, n):
    return fma(x, y, -(x * y)), fma(x, 0.0, y), fma(n, 0.1, x)


def fused_chain(x, y, n):
    total = 0.0
    for i in range(4):
        total = fma(x + i, y, -total)
    return total


def in_a_handler(x, y, n):
    try:
        return fma(x, y, x)
    except OverflowError:
        return 1.0
    except ValueError:
        return -1.0


def of_floats(x, y, n):
    return sumprod([x, y, 0.3, x], [y, 0.1, y, -y])


def of_one(x, y, n):
    return sumprod((x,), (y,)), sumprod((), ()), sumprod([-0.0], [1.0])


def cancelling(x, y, n):
    return sumprod([1e16, x, -1e16, 1e-17, 0.1], [1.0, y, 1.0, x, 0.3])


def of_ints(x, y, n):
    return sumprod([n, 3, -n], [n, n, 7])


def of_iterators(x, y, n):
    return sumprod(iter([n, x]), (k * y for k in [2, 3]))


def ints_then_floats(x, y, n):
    return sumprod([n, 2, x, 3, y], [7, n, 0.1, y, n])


def ints_after_floats(x, y, n):
    return sumprod([1e16, x, n, 1.0, y], [1.0, y, 3, -1e16, 0.1])


def with_bools(x, y, n):
    return (sumprod([n > 2, x, 1e16, y], [n, 0.1, 1.0, y]), sumprod([x, 1e16, y, -1e16], [n > 2, 1.0, 0.7, True]),
            sumprod([True, x, 1e16, -1e16], [True, 0.1, 1, 1]))


def with_numpy(x, y, n):
    root = np.sqrt(abs(x))
    return sumprod([1e16, root, y, -1e16], [1.0, 0.1, x, 1.0])


def of_either(x, y, n):
    z = x if n > 2 else y * 0.3
    return sumprod([z, 1e16, y, -1e16], [y, 1.0, z, 1.0])


def of_two_lengths(x, y, n):
    return sumprod([x, y, 1.0], [x, y]) if n > 6 else x


FUNCTIONS = (fused_once, fused_to_nothing, fused_chain, in_a_handler, of_floats, of_one, cancelling, of_ints, ints_then_floats,
             ints_after_floats, with_bools, with_numpy, of_either, of_two_lengths,
             *([of_iterators] if hasattr(math, "sumprod") else []))


def lanes(rows=400):
    order = random.Random(5)
    columns = [[order.choice(EDGES) if order.random() < 0.3 else order.gauss(0, 1) * 2.0 ** order.choice((0, 0, 5, 60, -60, 300))
                for _ in range(rows)] for _ in "xy"]
    return *map(np.array, columns), np.array([order.randrange(-3, 9) for _ in range(rows)])


def bits(value):
    return tuple(map(bits, value)) if isinstance(value, tuple) else float(value).hex()


def outcome(fn, *arguments):
    try:
        with np.errstate(all="ignore"):
            return bits(fn(*arguments))
    except (ArithmeticError, ValueError, UndecidedError) as error:
        return type(error)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_every_lane_has_pythons_bits(fn, target):
    written_out = types.FunctionType(fn.__code__, {**globals(), "fma": python_fma, "sumprod": python_sumprod})
    columns = lanes()
    values, faults = pyflat.twin(fn, target=target).with_options(errors="mask")(*columns)
    results = zip(*values, strict=True) if isinstance(values, tuple) else values
    for lane, result in enumerate(results):
        row = [column[lane].item() for column in columns]
        found = faults[lane].type if faults[lane] else bits(result)
        if found is not UndecidedError:  # what is inlined is the original too, where Python has no such function
            assert found == outcome(written_out, *row) == outcome(fn, *row), row


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_few_lanes_are_run_by_the_original(target):
    """What is inlined computes ordinary numbers itself."""
    x, y = np.random.default_rng(6).standard_normal((2, 1000))
    for fn in (fused_once, of_floats, cancelling, ints_then_floats):
        twin = pyflat.twin(fn, target=target)
        twin(x, y, np.arange(1000))
        assert twin.stats.replayed == 0, fn


def random_numbers(order, count):
    return [order.gauss(0, 1) * 2.0 ** order.randint(-60, 60) for _ in range(count)]


def test_fma_rounds_once():
    order = random.Random(7)
    for _ in range(3000):
        x, y, z = random_numbers(order, 3)
        for addend in (z, -(x * y), -(x * y) * (1 + 2.0**-52)):
            assert numpy_library.fma(x, y, addend).hex() == fused.exact(x, y, addend).hex() == fma(x, y, addend).hex()


def test_sums_of_products_have_triple_precision():
    order = random.Random(8)
    for _ in range(2000):
        p, q = random_numbers(order, 5), random_numbers(order, 5)
        p, q = p + [-x for x in p[:3]], q + [x * (1 + order.choice((0.0, 2.0**-52, 2.0**-30))) for x in q[:3]]
        assert numpy_library.sumprod(p, q).hex() == python_sumprod(p, q).hex() == sumprod(p, q).hex()


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="new in Python 3.12")
def test_an_unknown_sumprod_is_the_originals(monkeypatch):
    monkeypatch.setattr(python_versions, "sumprod_is_known", lambda: False)
    monkeypatch.setattr(numpy_library, "in_triple_precision", lambda pairs: 0.0)
    x, y, n = (column[:20] for column in lanes())
    twin = pyflat.flatten(types.FunctionType(of_floats.__code__, of_floats.__globals__)).flat
    values, _ = twin.with_options(errors="mask")(x, y, n)
    assert [bits(v) for v in values] == [outcome(of_floats, *row) for row in zip(x.tolist(), y.tolist(), n.tolist(), strict=True)]
