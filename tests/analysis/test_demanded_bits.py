"""Integers of which only low bits are read wrap around and are no faults; the others are run again."""

import numpy as np
import pytest

import pyflat

XS = np.array([0, 1, -1, 12345, 2**31, -(2**62), 2**62 + 7, 987654321987654321])


def generator(n):
    for _ in range(4):
        n = (n * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
    return n


def remainder(n):
    return (n * 1103515245 + 12345) % 2**31


def fnv(n):
    h = 2166136261
    for k in range(8):
        h = ((h ^ ((n >> (8 * k)) & 255)) * 16777619) & 0xFFFFFFFF
    return h


def through_a_branch(n):
    h = n * 2654435761
    if n & 1:
        h = h ^ (n * 40503 * 2654435769)
    return h & 0xFFFFFFFF


def signs_and_shifts(n):
    return ((-(n * n * n) ^ ~n) + (n << 40) - (n << 3)) & 0xFFFFF


def also_compared(n):
    cube = n * n * n
    return (cube & 0xFF) + (1 if cube > 0 else 0)


def also_returned(n):
    cube = n * n * 3
    return (cube & 0xFF, cube // 7)


def remainder_of_ten(n):
    return n * n * 17 % 10


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [generator, remainder, fnv, through_a_branch, signs_and_shifts])
def test_low_bits_are_computed_and_not_replayed(fn, target):
    twin = pyflat.twin(fn, target=target)
    before = twin.stats.replayed
    assert twin(XS).tolist() == [fn(n) for n in XS.tolist()]
    assert twin.stats.replayed == before


@pytest.mark.parametrize("fn", [also_compared, remainder_of_ten])
def test_where_high_bits_are_read_overflow_is_replayed(fn):
    twin = pyflat.twin(fn)
    before = twin.stats.replayed
    assert twin(XS).tolist() == [fn(n) for n in XS.tolist()]
    assert twin.stats.replayed > before


def test_a_value_that_leaves_is_not_wrapped():
    _, faults = pyflat.twin(also_returned, errors="mask")(XS)
    assert faults.lanes.tolist() == [i for i, n in enumerate(XS.tolist()) if not -(2**63) <= n * n * 3 // 7 < 2**63]
