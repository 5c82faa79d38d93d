"""NumPy's functions have the bits of NumPy's calls with scalars: in its inner loops however they are called, and in
twins on both targets, in both kinds of mathematics, wherever the call stands and however many lanes there are."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.functions.lanes import LARGEST_SHORT_CUT
from pyflat.ir.ops import NUMPY_LOOPS
from pyflat.targets.numba.numpy_loops import loop_of
from pyflat.testing import EDGE_FLOATS
from tests.generator.differential import loaded
from tests.support.numpy_functions import NUMPY_BINARY, NUMPY_UNARY

NAMES = (*NUMPY_UNARY, *NUMPY_BINARY)
CALLED = sorted(set(NUMPY_LOOPS.values()))
MATHS = ("exact", "fast")
SHORT = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, -2.0, -0.5, 1.5)
"""Exponents: for some of them np.power has short cuts."""
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def numbers(count: int, seed: int, dtype: Any = np.float64) -> np.ndarray:
    """Edges, small numbers, whole ones, and some of every magnitude."""
    random = np.random.default_rng(seed)
    wide = random.standard_normal(count) * 10.0 ** random.uniform(-300, 300, count)
    pool = np.concatenate([EDGE_FLOATS, random.uniform(-1, 1, count), random.uniform(-20, 800, count), wide,
                           random.integers(-12, 200, count) ** 3.0])
    with np.errstate(over="ignore", under="ignore"):
        return random.choice(pool, count).astype(dtype)


def operands(name: str, count: int, dtype: Any = np.float64) -> list[np.ndarray]:
    """What a function is called with; a third of the exponents may have short cuts."""
    columns = [numbers(count, 3 * k + len(name), dtype) for k in range(getattr(np, name).nin)]
    if name.endswith("power"):
        columns[1][::3] = np.resize(SHORT, len(columns[1][::3]))
    return columns


def by_scalars(ufunc: Callable[..., Any], columns: Sequence[np.ndarray]) -> np.ndarray:
    """NumPy's call for each lane by itself: of Python's floats, or of np.float32."""
    rows = zip(*(c if c.dtype == np.float32 else c.tolist() for c in columns), strict=True)
    with np.errstate(all="ignore"):
        return np.array([ufunc(*row) for row in rows], columns[0].dtype)


def differing(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two arrays of floats have other bits; any nan is like another."""
    kind = {4: np.uint32, 8: np.uint64}[a.itemsize]
    return (a.view(kind) != b.view(kind)) & ~(np.isnan(a) & np.isnan(b))


def run_loop(name: str, columns: Sequence[np.ndarray], result: np.ndarray, count: int, strides: Sequence[int]) -> None:
    """NumPy's inner loop, called by its address."""
    letter = columns[0].dtype.char
    function, data = loop_of(getattr(np, name), letter * len(columns) + "->" + letter)
    places = (ctypes.c_void_p * (len(columns) + 1))(*[c.ctypes.data for c in columns], result.ctypes.data)
    sizes = (ctypes.c_ssize_t * (len(columns) + 1))(*strides, result.strides[0])
    LOOP(function)(places, (ctypes.c_ssize_t * 1)(count), sizes, data)


LOOPS = [(name, dtype) for name in CALLED for dtype in (np.float64, np.float32)
         if any(set(types) == {*np.dtype(dtype).char, "-", ">"} for types in getattr(np, name).types)]


@pytest.mark.parametrize(("name", "dtype"), LOOPS)
def test_the_bits_of_a_lane_do_not_depend_on_its_place(name, dtype):
    """Blocks of each length at each offset, operands and results with strides: what twins rely on."""
    columns = operands(name, 600, dtype)
    expected, size = by_scalars(getattr(np, name), columns), columns[0].itemsize
    keep = np.ones(600, bool) if name != "power" else ~may_be_short(columns[1])
    for length in (1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 127, 600):
        found = np.empty(600, dtype)
        for start in range(0, 600, length):
            part = [c[start:] for c in columns]
            run_loop(name, part, found[start:], min(length, 600 - start), [size] * len(part))
        assert not (differing(found, expected) & keep).any(), length
    for step, far in itertools.product((1, 3), (1, 2)):
        wide = [np.repeat(c, step) for c in columns]
        found = np.empty(600 * far, dtype)[::far]
        run_loop(name, wide, found, 600, [step * size] * len(wide))
        assert not (differing(np.ascontiguousarray(found), expected) & keep).any(), (step, far)


def may_be_short(exponents: np.ndarray) -> np.ndarray:
    return (np.abs(exponents) <= LARGEST_SHORT_CUT) & (2 * exponents == np.rint(2 * exponents))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_power_of_one_exponent_takes_the_scalars_short_cuts(dtype):
    bases = numbers(100, 5, dtype)
    for exponent in np.array([*SHORT, 1.7, -3.3, 700.0, math.inf, math.nan], dtype):
        exponents, found = np.full(100, exponent), np.empty(100, dtype)
        run_loop("power", [bases, exponents], found, 100, [found.itemsize, 0])
        assert not differing(found, by_scalars(np.power, [bases, exponents])).any(), exponent


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_power_has_short_cuts_for_no_other_exponents(dtype):
    """Else lanes with them would have to be called for by themselves too."""
    exponents = np.concatenate([np.arange(-60, 61) / 4, np.arange(-30, 30) / 3]).astype(dtype)
    bases, exponents = (a.ravel() for a in np.meshgrid(numbers(60, 6, dtype), exponents[~may_be_short(exponents)]))
    found = np.empty(len(bases), dtype)
    run_loop("power", [bases, exponents], found, len(bases), [found.itemsize] * 2)
    assert not differing(found, by_scalars(np.power, [bases, exponents])).any()


# --- twins

STRAIGHT = """\
import numpy as np

def main(x, y):
    return np.{name}({args})
"""

EVERYWHERE = """\
import numpy as np

def main(x, y):
    first = float(np.{name}({args}))
    arm = x
    if y > 0.25:
        arm = float(np.{name}({args})) + float(np.{name}({other}))
    rare = 0.0
    if y > 0.9:
        rare = float(np.{name}({args})) * 2.0
    n = 0
    z = y
    while n < 4 and z > -0.5:
        z = float(np.{name}({looped})) - 0.25
        n += 1
    steps = 0
    if first == np.floor(first):
        steps = 1
    return first, arm, rare, z, n, steps
"""


def source(text: str, name: str) -> str:
    two = name in NUMPY_BINARY
    return text.format(name=name, args="x, y" if two else "x", other="y, 1.25" if two else "y",
                       looped="z, x" if two else "z")


def lanes(name: str, count: int) -> list[np.ndarray]:
    x, y = numbers(count, len(name)), np.random.default_rng(len(name)).uniform(-1, 1, count)
    y[::2] = operands(name, count)[-1][::2]
    return [x, y]


@pytest.mark.parametrize("math_", MATHS)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", NAMES)
def test_a_twin_has_numpys_bits_wherever_the_call_stands(name, target, math_):
    columns = lanes(name, 700)
    with loaded(source(EVERYWHERE, name)) as main:
        twin = pyflat.twin(main, target=target, math=math_)
        before = np.geterr()
        with np.errstate(all="ignore"):
            rows = [main(*row) for row in zip(*[c.tolist() for c in columns], strict=True)]
        with np.errstate(all="raise"):
            found = twin(*columns)
        assert np.geterr() == before
    for got, wanted in zip(found, zip(*rows, strict=True), strict=True):
        if got.dtype == np.float64:
            assert not differing(got, np.array(wanted, np.float64)).any()
        else:
            assert got.tolist() == list(wanted)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", NAMES)
def test_views_that_run_backwards(name, target):
    """NumPy itself takes these to overlap with the result, and computes them one by one, with other bits."""
    columns = lanes(name, 300)
    with loaded(source(STRAIGHT, name)) as main:
        expected, twin = by_scalars(main, columns), pyflat.twin(main, target=target)
        for _ in range(3):  # the first call is made the long way, the others by a plan
            assert not differing(twin(*[np.repeat(c, 2)[::-2] for c in columns])[::-1].copy(), expected).any()


@pytest.mark.parametrize("math_", MATHS)
@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_lanes_at_any_offset(name, math_):
    columns = lanes(name, 220)
    with loaded(source(STRAIGHT, name)) as main, np.errstate(all="raise"):
        expected = by_scalars(main, columns)
        twin = pyflat.twin(main, target="numba", math=math_)
        for count in range(1, 201):
            part = slice(count % 7, count % 7 + count)
            assert not differing(twin(*[c[part] for c in columns]), expected[part]).any(), count
        backwards = twin(*[np.repeat(c, 3)[::-3] for c in columns])
        assert not differing(backwards, expected[::-1]).any()
        ufunc = twin.ufunc(*columns)
        assert not differing(ufunc, expected).any()
        one_by_one = [twin(*row) for row in zip(*[c.tolist() for c in columns], strict=True)]
        assert not differing(np.array(one_by_one), expected).any()


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("exponent", SHORT)
def test_power_of_a_literal_exponent(exponent, target):
    columns = [numbers(300, 8)]
    with loaded(f"import numpy as np\n\ndef main(x):\n    return np.power(x, {exponent})\n") as main:
        found = pyflat.twin(main, target=target)(*columns)
        assert not differing(found, by_scalars(main, columns)).any()


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("text", [
    "np.power(np.array([x, x, x]), np.array([2.0, 0.5, y]))", "np.array([x, x, x]) ** np.array([2.0, 0.5, y])",
    "np.power(x, np.array([2.0, 0.5, y]))", "np.power(np.array([x, y, 1.5]), y)", "np.power(np.array([x, y, 1.5]), 2.0)",
    "np.array([x, y]) ** np.array([2.0])", "np.array([x]) ** np.array([0.5])", "np.float_power(np.array([x, y]), 2.0)"])
def test_powers_of_arrays_take_short_cuts_where_numpys_do(text, target):
    x, y = numbers(400, 9), np.resize([*SHORT, 1.7, -3.3], 400)
    with loaded(f"import numpy as np\n\ndef main(x, y):\n    return {text}\n") as main, np.errstate(all="ignore"):
        found = pyflat.twin(main, target=target)(x, y)
        expected = np.array([main(*row) for row in zip(x.tolist(), y.tolist(), strict=True)])
    assert not differing(np.ascontiguousarray(found), expected).any()


@pytest.mark.parametrize("text", ["np.exp(np.array([x, y])[::-1])", "np.array([x, y])[::-1] ** 1.7",
                                  "np.sinh(np.array([[x, y, 1.0], [1.5, x, y]])[::-1, ::-1].T)"])
def test_arrays_that_run_backwards_are_refused(text):
    """In a function NumPy computes those by other code."""
    with loaded(f"import numpy as np\n\ndef main(x, y):\n    return {text}\n") as main:
        with pytest.raises(pyflat.FlattenError, match="runs backwards"):
            pyflat.twin(main)(0.5, 0.25)
    with loaded("import numpy as np\n\ndef main(x, y):\n    v = np.array([x, y])[::-1]\n"
                "    return np.exp(v.copy()) + v\n") as main:
        assert pyflat.twin(main)(0.5, 0.25).tolist() == main(0.5, 0.25).tolist()


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", NAMES)
def test_float32_lanes_have_the_bits_of_numpys_float32(name, target):
    columns = operands(name, 500, np.float32)
    columns += [columns[0]] * (2 - len(columns))
    with loaded(source(STRAIGHT, name)) as main:
        found = pyflat.twin(main, target=target, dtype="float32")(*columns)
        expected = by_scalars(getattr(np, name), columns[: getattr(np, name).nin])
    assert found.dtype == np.float32 and not differing(found, expected).any()


# --- decisions


@pytest.mark.parametrize("math_", MATHS)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_roots_of_cubes_are_whole_where_numpys_are(target, math_):
    cubes = np.arange(1, 2000) ** 3.0
    for text in ("int(np.floor(np.cbrt(n)))", "bool(np.cbrt(n) == np.floor(np.cbrt(n)))"):
        with loaded(f"import numpy as np\n\ndef main(n):\n    return {text}\n") as main:
            twin = pyflat.twin(main, target=target, math=math_)
            assert twin(cubes).tolist() == [main(n) for n in cubes.tolist()]
            assert twin(3375.0) == main(3375.0)
