"""sum() as CPython adds: plainly up to 3.11, with compensation since 3.12. Both are tested on any Python, against the
algorithm written out, and the algorithm against the running sum()."""

import math
import sys
import types

import numpy as np
import pytest

import pyflat
from pyflat.functions import python_versions

TARGETS = ("numpy", "numba")
EDGES = (0.0, -0.0, 1e100, -1e100, 1.0, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 1e16, -1e16, 0.1, 1e-17)


def plain_sum(items, start=0):
    for item in items:
        start = start + item
    return start


def compensated_sum(items, start=0):
    """`builtin_sum_impl` of CPython 3.12 and 3.13 (Python/bltinmodule.c)."""
    total, items = start, iter(items)
    if type(total) is int and fits(total):
        for item in items:
            total = total + item
            if type(item) not in (int, bool) or not fits(item) or not fits(total):
                break
        else:
            return total
        if not (type(total) is float):
            return plain_sum(items, total)
    if type(total) is float:
        lost = 0.0
        for item in items:
            if type(item) is float:
                longer = total + item
                lost += (total - longer) + item if abs(total) >= abs(item) else (item - longer) + total
                total = longer
            elif isinstance(item, int) and fits(item):
                total += float(int.__int__(item))
            else:
                return plain_sum(items, rounded(total, lost) + item)
        return rounded(total, lost)
    return plain_sum(items, total)


def fits(n):
    return -(2**63) <= n < 2**63


def rounded(total, lost):
    return total + lost if lost and math.isfinite(lost) else total


ALGORITHMS = {"plain": plain_sum, "compensated": compensated_sum}


class Grade(int):
    def __radd__(self, other):
        return other + 1000


class Text(float):
    pass


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + (other.x if isinstance(other, Vector) else other))

    __radd__ = __add__


def of_a_list(x, n):
    return sum([x * i for i in range(9)]) / 2.0


def of_a_tuple(x, n):
    return sum((x, 1e100, 1.0, -1e100))


def of_a_range_of_lanes(x, n):
    return sum(x * i for i in range(n))


def from_an_int(x, n):
    return sum((x * i for i in range(n)), 5)


def from_a_float(x, n):
    return sum([x, 0.3, x * 0.7], -0.0), sum([-0.0, x], start=-0.0)


def from_one_of_two(x, n):
    return sum([x, 1e16, 0.3, -1e16], 3 if n < 4 else 0.5)


def from_true(x, n):
    return sum([x, 1e16, 1.0, -1e16], True)


def ints_then_floats(x, n):
    return sum(i if i < 3 else i * x for i in range(n))


def ints_between_floats(x, n):
    return sum([x, 0.3, n, 1e17 if n > 3 else 3, -1e17, 1.0, True, n > 2])


def with_gaps(x, n):
    return sum([x * i for i in range(9) if i != n], 0.1)


def ints_beyond_64_bits(x, n):
    return (sum([0.1, 0.2, 2**60, 2**70, 0.3, x, 1e-5]), sum([2**62, 2**62, -2**62, 0.1, 0.2, x]),
            sum([0.1, 0.2, x], 2**64),
            sum([0.1, 2**70, -2.0**70, 1e16, x, 1.5, -1e16]))


def ints_of_a_class(x, n):
    return sum([0.1, 0.2, Grade(3), 0.3, x]), sum([2, Grade(3), 0.1, 0.2, x])


def floats_of_a_class(x, n):
    return sum([0.1, 0.2, Text(0.7), 0.3, x])


def scalars_of_numpy(x, n):
    root = np.sqrt(abs(x))
    return (sum([x, 1e16, 1.5, 1.5, -1e16, root]), sum([root, 1e16, x, -1e16, 1.0]), sum([x, 1e16, 1.0], np.float64(0.1)),
            sum([float(root), 1e16, 1.0, -1e16]))


def scalars_of_numpy_in_a_loop(x, n):
    root = np.sqrt(abs(x))
    return sum((root * i for i in range(n)), 0.5), sum(x * i for i in range(n)) + root


def members_of_arrays(x, n):
    root = np.sqrt(abs(x)) if n > 2 else np.abs(x)
    return sum(v * v for v in np.array([x, 2.0, 1e16, 3.0]) if v > 1), sum([root, x, 1e16, 1.0])


def numbers_by_lane(x, n):
    root, either = np.sqrt(abs(x)), x if n > 2 else x * 0.3
    return sum([either, 1e16, 1.0, -1e16]) + root


def objects(x, n):
    return sum([0.1, 0.2, 0.3, Vector(x), Vector(1e16), Vector(-1e16), 0.3]).x


def complex_numbers(x, n):
    return sum([0.1 * x, 0.2, 0.3, complex(x, n), 1e16, -1e16]).real


def tuples_and_ints(x, n):
    return sum([(x, 1e16), (n,)], ())[1] + sum(range(n)) + sum([n > 2, n, 3])


FUNCTIONS = (of_a_list, of_a_tuple, of_a_range_of_lanes, from_an_int, from_a_float, from_one_of_two, from_true,
             ints_then_floats, ints_between_floats, with_gaps, ints_beyond_64_bits, ints_of_a_class, floats_of_a_class,
             scalars_of_numpy, scalars_of_numpy_in_a_loop, members_of_arrays, numbers_by_lane, objects,
             complex_numbers, tuples_and_ints)


def lanes():
    rng = np.random.default_rng(3)
    x = np.concatenate([EDGES, rng.standard_normal(60), rng.standard_normal(60) * 10.0 ** rng.integers(-20, 20, 60)])
    return x, np.resize([0, 1, 2, 3, 4, 5, 6, 7, 3, 5, 4], x.size)


def using(fn, algorithm):
    """The function with another `sum`."""
    return types.FunctionType(fn.__code__, {**fn.__globals__, "sum": ALGORITHMS[algorithm]})


def twin_of(fn, target="numpy"):
    """Of a copy: a function keeps its twin."""
    return pyflat.flatten(types.FunctionType(fn.__code__, fn.__globals__), target=target).flat


def bits(values):
    return [[float(v).hex() for v in row] if isinstance(row, tuple) else float(row).hex() for row in values]


def rows(result):
    return list(zip(*result, strict=True)) if isinstance(result, tuple) else list(result)


@pytest.fixture
def algorithm(request, monkeypatch):
    monkeypatch.setattr(python_versions, "sum_is_compensated", lambda: request.param == "compensated")
    return request.param


@pytest.mark.parametrize("fn", FUNCTIONS)
@pytest.mark.parametrize("algorithm", ALGORITHMS, indirect=True)
@pytest.mark.parametrize("target", TARGETS)
def test_a_sum_is_that_of_the_algorithm(fn, algorithm, target):
    x, n = lanes()
    original = using(fn, algorithm)
    with np.errstate(all="ignore"):
        expected = [original(a, b) for a, b in zip(x.tolist(), n.tolist(), strict=True)]
    assert bits(rows(twin_of(fn, target)(x, n))) == bits(expected)


def test_the_algorithm_is_the_running_pythons():
    rng = np.random.default_rng(4)
    known = (*EDGES, 3, -7, True, 2**53 + 1, 2**62, 2**70, Grade(3), Text(0.1))
    wanted = compensated_sum if sys.version_info >= (3, 12) else plain_sum
    for _ in range(20_000):
        picks, sizes = rng.integers(0, 3 * len(known), rng.integers(0, 9)), rng.standard_normal(9)
        items = [known[k] if k < len(known) else float(sizes[j]) * 10.0 ** int(k % 7) for j, k in enumerate(picks)]
        start = (0, 5, 0.0, -0.0, 0.1, True, 1e100, Grade(2), 2**64)[rng.integers(0, 9)]
        found, expected = sum(items, start), wanted(items, start)
        assert (type(found), repr(found)) == (type(expected), repr(expected)), (items, start)


@pytest.mark.parametrize("algorithm", ALGORITHMS, indirect=True)
def test_random_sums(algorithm):
    """Of floats, ints and bools in any order, known and not, with a start or without."""
    rng = np.random.default_rng(5)
    x, n = lanes()
    for _ in range(12):
        items = rng.choice(["x", "x * 0.1", "n", "n > 2", "1e16", "-1e16", "0.3", "7", "x if n > 3 else n", "-0.0"], 6)
        start = rng.choice(["0", "0.1", "n", "x", "True", "-0.0", "3"])
        namespace = {}
        source = f"def total(x, n):\n    return sum([{', '.join(items)}], {start})\n"
        exec(source, namespace)
        twin = pyflat.flatten(namespace["total"], source=source)
        expected = [using(namespace["total"], algorithm)(a, b) for a, b in zip(x.tolist(), n.tolist(), strict=True)]
        assert bits(twin.flat(x, n)) == bits(expected), source


def known_number(x, n):
    root = np.sqrt(abs(x))
    either = root if n > 2 else x
    return sum([either, 1e16, 1.0])


@pytest.mark.parametrize("algorithm", ["compensated"], indirect=True)
def test_a_number_of_python_or_numpy_is_refused(algorithm):
    with pytest.raises(pyflat.FlattenError, match="may be Python's or NumPy's"):
        twin_of(known_number)(*lanes())


def sums_in_a_kernel(a, out):
    for i in range(len(a)):
        out[i] = sum(float(a[i]) * j for j in range(i))
    out[0] = sum(a[i] for i in range(len(a))) + sum((a[i] * 2.0 for i in range(len(a))), 0.5)
    out[1] = sum([float(a[1]), 1e16, a[0], 1.0, -1e16])
    out[2] = sum(a)


@pytest.mark.parametrize("algorithm", ALGORITHMS, indirect=True)
@pytest.mark.parametrize("target", TARGETS)
def test_sums_in_a_kernel(algorithm, target):
    a = np.random.default_rng(6).standard_normal(30) * 10.0 ** np.arange(-15, 15)
    out, expected = np.zeros(30), np.zeros(30)
    twin_of(sums_in_a_kernel, target)(a, out)
    using(sums_in_a_kernel, algorithm)(a, expected)
    assert bits(out) == bits(expected)
