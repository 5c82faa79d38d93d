"""Loops that run as one: what becomes of arrays between them, and that bits, exceptions and arrays are the original's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Loop, walk


def doubled(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(len(a)):
        out[i] = t[i] + 1.0


def chain(a, out):
    n = len(a)
    t, u, v = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range(n):
        u[i] = t[i] + 1.0
    for i in range(n):
        v[i] = u[i] * t[i]
    for i in range(n):
        out[i] += v[i] - u[i]


def rows(a, out):
    t = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 0.5
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = t[i, j] - a[i, j]


def row_sums(a, out):
    t = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 0.5
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, 0] += t[i, a.shape[1] - 1 - j]


def in_place(a):
    """What the earlier loop reads the later one overwrites."""
    t = np.zeros(len(a))
    for i in range(len(a)):
        t[i] = a[i] * a[i]
    for i in range(len(a)):
        a[i] = t[i] - 1.0


def returned(a):
    t = np.empty(len(a))
    u = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] + 1.0
    for i in range(len(a)):
        u[i] = t[i] * 3.0
    return t, u


def sometimes(a, out):
    t = np.full(len(a), 7.0)
    for i in range(len(a)):
        if a[i] > 0.0:
            t[i] = a[i]
    for i in range(len(a)):
        out[i] = t[i]


def beside(a, out):
    """What the next iteration stores is read."""
    t = np.zeros(len(a) + 1)
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(len(a)):
        out[i] = t[i] + t[i + 1]


def behind(a):
    """The element before the first is the last one, which the last iteration stores to."""
    t, u = np.zeros(len(a)), np.zeros(len(a) + 1)
    for i in range(len(a) + 1):
        t[i - 1] = i * 2.0
    for i in range(len(a) + 1):
        u[i] = t[i - 1]
    return u


def backwards(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[len(a) - 1 - i] = a[i]
    for i in range(len(a)):
        out[i] = t[len(a) - 1 - i]


def downwards(a, out):
    t = np.empty(len(a))
    for i in range(len(a) - 1, -1, -1):
        t[i] = a[i]
    for i in range(len(a) - 1, -1, -1):
        out[i] = t[i] * 0.5


def logarithms(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = math.log(a[i])
    for i in range(len(a)):
        out[i] = t[i] + 1.0


def shorter(a, out):
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(1, len(a)):
        out[i] = t[i]


def overlapping(a, b):
    t = np.empty(len(b))
    u = np.empty(len(b))
    for i in range(len(b)):
        t[i] = b[i]
        b[i] = 0.0
    for i in range(len(b)):
        u[i] = t[i] + a[i]
    return u


def loops_of(twin):
    return sum(isinstance(item, Loop) for item in walk(twin._caller.kernels.latest.kernel.function.body))


def allocations(twin):
    return sum(op.opcode == "alloc" for op in all_ops(twin._caller.kernels.latest.kernel.function.body))


A = np.linspace(-1.0, 3.0, 50)
B = np.linspace(-1.0, 1.0, 21)
CASES = [
    (doubled, (A, np.zeros(50)), 1, 0), (doubled, (A, np.zeros(20)), 1, 0), (doubled, (A[:0], np.zeros(0)), 1, 0),
    (chain, (A, np.zeros(50)), 1, 0), (rows, (A.reshape(5, 10), np.zeros((5, 10))), 2, 0),
    (row_sums, (A.reshape(5, 10), np.zeros((5, 1))), 3, 1), (in_place, (A,), 1, 0), (returned, (A,), 1, 2),
    (sometimes, (A, np.zeros(50)), 1, 1), (beside, (A, np.zeros(50)), 2, 1), (logarithms, (A, np.zeros(50)), 1, 0),
    (behind, (A,), 2, 2), (backwards, (A, np.zeros(50)), 1, 0), (downwards, (A, np.zeros(50)), 1, 0),
    (shorter, (A, np.zeros(50)), 2, 0), (logarithms, (A + 2.0, np.zeros(50)), 1, 0), (overlapping, (B[:-1], B[1:]), 2, 2), (overlapping, (B[1:], B[:-1]), 2, 2),
    (overlapping, (A, A.copy()), 1, 1),
]


def outcome(function, arguments):
    whole = np.concatenate([B, *[a.ravel() for a in arguments]])  # one memory, overlaps and all
    if np.shares_memory(arguments[0], B):
        ahead = int(arguments[0][0] == B[1])
        given = [whole[ahead:20 + ahead], whole[1 - ahead:21 - ahead]]
    else:
        given = [a.copy() for a in arguments]
    try:
        with np.errstate(all="ignore"):
            found = function(*given)
    except (ValueError, IndexError) as error:
        found = type(error)
    return [np.asarray(each).tolist() if not isinstance(each, type) else each
            for each in [*given, *(found if isinstance(found, tuple) else [found])]]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "arguments", "loops", "made"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_loops_run_as_one(function, arguments, loops, made, target):
    twin = pyflat.twin(function, target=target)
    for _ in range(2):
        assert outcome(twin, arguments) == outcome(function, arguments)
    assert (loops_of(twin), allocations(twin)) == (loops, made)


def gathered(a, b, out):
    t = np.empty(len(b))
    for i in range(len(b)):
        t[i] = a[b[i]]
    for i in range(len(b)):
        out[i] = t[i]  # nothing that may warn: as errors warnings are faults


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "arguments"), [
    (logarithms, (np.r_[np.ones(200_000), -1.0], np.zeros(200_001))),
    (gathered, (np.ones(3), np.r_[np.ones(200_000, int), 7], np.zeros(200_001)))], ids=["value", "index"])
def test_what_an_earlier_loop_raises_comes_before_later_stores(target, function, arguments):
    twin = pyflat.twin(function, target=target)
    for _ in range(3):
        assert outcome(twin, arguments) == outcome(function, arguments)
    assert loops_of(twin) == 1
