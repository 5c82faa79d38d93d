"""`//` and `%` of ints of 64 bits without sign, and builtins and operators that meet them, on edges against Python."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat

M = 0xFFFFFFFFFFFFFFFF
EDGES = (0, 1, 2, 3, -1, -2, -3, 2**63 - 1, -(2**63), 1 - 2**63, 2**62, -(2**62), 2**53 + 1, 2**32, -1000003)


def by_lane(x: int, y: int):
    return (x & M) // (y & M), (x & M) % (y & M)


def by_signed(x: int, y: int):
    return (x & M) % y, (x & M) // (y if y > 1 else y - 2)


def of_signed(x: int, y: int):
    return x // (y & M), x % (y & M)


def by_known(x: int, y: int):
    a = x & M
    return a // 10, a % 1000003, a // 0x8000000000000001, a % 0xFFFFFFFFFFFFFFC5, a % -7, a // -2, a % -(2**63), a % (y * y % 7 + 1)


def of_known(x: int, y: int):
    return 0xFFFFFFFFFFFFFFFF // (x & M), 0xFFFFFFFFFFFFFFFF % y, -5 // (x & M), x % 0xFFFFFFFFFFFFFFC5, x // 0x8000000000000001


def handled(x: int, y: int):
    try:
        return (x & M) // (y & M & 1)
    except ZeroDivisionError:
        return 2**63


def pairs(x: int, y: int):
    q, r = divmod(x & M, 10)
    return q * 3 + r, divmod(x & M, y & M)[1], divmod(x & M, 2.5)


def with_sign(x: int, y: int):
    return ((x * 6364136223846793005 + y & M) ^ 2**63) - 2**63, (x & M) - 2**63


def made_whole(x: int, y: int):
    a = x & M
    return math.floor(a), math.ceil(a), math.trunc(a), round(a), operator.index(a), a.real, a.numerator


def not_handled(x: int, y: int):
    try:
        return bin(x & M).count("1"), pow(x & M, 3, 1000003), math.gcd(x & M, 12), operator.index(x & M) >> 1  # noqa: FURB161 - bin is what is tested
    except TypeError:
        return -1, -1, -1, -1


def members(x: int, y: int):
    a = x & M
    return a in range(10), a in range(0, 10, 3), a in range(0, (y & 7) + 1), a in (1, 2.0, M), callable(a), a & True


def numpys(x: int, y: int):
    a = x & M
    return bool(np.maximum(a & 2**62, 3) > 5), float(np.sqrt(a)), float(np.floor(a / 7))


FUNCTIONS = (by_lane, by_signed, of_signed, by_known, of_known, handled, pairs, with_sign, made_whole, not_handled, members,
             numpys)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_each_lane_is_pythons(fn: Callable[..., Any], target: Any) -> None:
    if target == "numba":
        pytest.importorskip("numba")
    twin = pyflat.twin(fn, target=target)
    clean, failing = [], []
    for row in itertools.product(EDGES, EDGES[::2]):
        try:
            clean.append((row, fn(*row)))
        except ZeroDivisionError:
            failing.append(row)
    got = twin(*np.array([row for row, _ in clean]).T)
    for lane, (row, wanted) in enumerate(clean):
        assert repr(lane_of(got, lane)) == repr(wanted), row
    for row in failing[:2]:
        with pytest.raises(ZeroDivisionError):
            twin(*(np.array([item]) for item in row))


def lane_of(got: Any, lane: int) -> Any:
    return tuple(lane_of(part, lane) for part in got) if isinstance(got, tuple) else got[lane].item()


def test_division_is_computed_in_all_lanes() -> None:
    for fn in (by_lane, of_signed, with_sign):
        twin = pyflat.twin(fn)
        twin(np.array([k for k in EDGES if k]), np.array([k for k in EDGES if k])[::-1])
        assert twin.stats.replayed == 0


@pytest.mark.parametrize("fn", [lambda x: (x & M) is x, lambda x: (x & M).__class__ is int])
def test_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(pyflat.FlattenError):
        pyflat.twin(fn)(np.arange(3))
