"""Which ints of kernels need no look at overflows: counters, and what else loops carry."""

import numpy as np
import pytest

import pyflat
from pyflat.analysis.small_ints import small_ints
from pyflat.ir.loops import all_ops
from pyflat.ir.types import INT


def counts(a):
    n = 0
    for x in a:
        if x > 0.5:
            n += 1
    return n


def nested(a):
    n = 0
    for i in range(len(a)):
        if a[i] > 0.5:
            n = 0
        for j in range(len(a)):
            if a[j] > a[i]:
                n += 2
            elif a[j] < 0.0:
                n -= 3
    return n


def best(a):
    at = 0
    for i in range(1, len(a)):
        if a[i] > a[at]:
            at = i
    return at + 1


def waits(a):
    i = 0
    while i < len(a) and a[i] < 0.5:
        i += 1
    return i


def sums(a):
    n = 0
    for i in range(len(a)):
        n += i
    return n


def doubles(a):
    n = 1
    for _ in a:
        n = n + n
    return n


def negates(a):
    n = 1
    for _ in a:
        n = 1 - n
    return n


def jumps(a):
    n = 0
    for _ in a:
        n += 256
    return n


def given(a, k):
    for _ in a:
        k += 1
    return k


def steps(function, *more):
    """Sums and differences that may overflow, of all."""
    twin = pyflat.twin(function, target="numba")
    twin(np.array([0.2, 0.7]), *more)
    kernel = twin._caller.kernels.latest.kernel
    small = small_ints(kernel.function, kernel.lengths())
    ops = [op for op in all_ops(kernel.function.body) if op.opcode in ("add", "sub", "mul") and op.kind is INT]
    return [op for op in ops if op not in small], ops


@pytest.mark.parametrize("function", [counts, nested, best, waits])
def test_counters(function):
    watched, ops = steps(function)
    assert ops
    assert not watched


@pytest.mark.parametrize(("function", "more"), [(sums, ()), (doubles, ()), (negates, ()), (jumps, ()), (given, (5,))])
def test_what_grows_otherwise_is_watched(function, more):
    assert steps(function, *more)[0]


def test_an_overflow_is_python_s():
    twin = pyflat.twin(given, target="numba")
    for _ in range(3):
        assert twin(np.zeros(3), 2**63 - 2) == 2**63 + 1


def from_anywhere(a, n):
    s = 0
    for i in range(n, n + 3):
        s += 1
        a[0] = i + 10
    return i + 100


def test_a_range_that_starts_anywhere_is_not_small():

    for n in (2**63 - 5, 2**63 - 4, -(2**63), 5):
        a, b = np.zeros(2), np.zeros(2)
        wanted = from_anywhere(a, n)
        assert pyflat.twin(from_anywhere, target="numba")(b, n) == wanted
        assert a[0] == b[0]
