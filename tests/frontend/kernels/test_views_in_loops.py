"""Names of a kernel that mean another part of an array, or another array, after a turn of a loop."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import pyflat


def found_by_halves(a, x):
    rest, n = a, 0
    while len(rest) > 0:
        m = len(rest) // 2
        if rest[m] < x:
            rest = rest[m + 1:]
            n += m + 1
        else:
            rest = rest[:m]
    return n


def changes_of_rows(a):
    before = a[0]
    total = 0.0
    for i in range(1, a.shape[0]):
        row = a[i]
        for j in range(a.shape[1]):
            total += abs(row[j] - before[j])
        before = row
    return total


def places_change(a, b, n):
    for i in range(n):
        a, b = b, a
        a[i] = b[i] + 1.0
    return a, b


def left_over(a, n):
    rest = a[1:]
    for _ in range(n):
        if rest[0] > 2.0:
            rest = rest[2:]
        else:
            rest = rest[:-1]
    return rest


def written_through(a, n):
    part = a
    for i in range(n):
        part[i] = part[i] * 2.0
        part = part[1:]
    return part[0]


A = np.arange(12.0)
CASES = [(found_by_halves, (A, 4.5)), (found_by_halves, (A, 99.0)), (changes_of_rows, (A.reshape(4, 3) ** 2,)),
         (places_change, (A, A[::-1].copy(), 5)), (places_change, (A, A[::-1].copy(), 0)), (left_over, (A, 3)), (left_over, (A, 0)),
         (left_over, (-A, 4)), (written_through, (A, 3))]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("fn", "args"), CASES)
def test_a_view_changes(fn, args, target):
    own, other = copy.deepcopy(args), copy.deepcopy(args)
    got, wanted = pyflat.twin(fn, target=target)(*own), fn(*other)
    assert repr(got) == repr(wanted)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(own, other, strict=True))
