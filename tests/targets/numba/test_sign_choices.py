"""Signs that bits of ints decide: what is no such choice first, then every bit, special numbers and both types."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import pyflat
from pyflat.ir.nodes import Op
from pyflat.targets.numba.sign_choices import sign_choice
from tests.passes.flat_programs import flat

PLACES = (0, 1, 7, 30, 31, 40, 62)
SPECIAL = (0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 5e-324, -1e308)


def chooses(text: str) -> bool:
    last = flat(text).flat_block.ops[-1]
    assert isinstance(last, Op)
    return sign_choice(last) is not None


@pytest.mark.parametrize(("bit", "test", "arms"), [
    ("and %i, 3", "ne %b, 0", "%n, %x"), ("and %i, 2", "ne %b, 2", "%n, %x"), ("or %i, 2", "ne %b, 0", "%n, %x"),
    ("and %i, 2", "gt %b, 0", "%n, %x"), ("and %i, 2", "ne %b, 0", "%n, %y"), ("and %i, %j", "ne %b, 0", "%n, %x"),
])
def test_other_choices(bit: str, test: str, arms: str) -> None:
    assert not chooses(f"%b = {bit} : i8\n%c = {test} : b\n%n = neg %x : f8\n%r = select %c, {arms} : f8\nyield %r")


def test_both_orders_of_both_tests() -> None:
    for test in ("eq", "ne"):
        for arms in ("%n, %x", "%x, %n"):
            assert chooses(f"%b = and %i, 4 : i8\n%c = {test} %b, 0 : b\n%n = neg %x : f8\n"
                           f"%r = select %c, {arms} : f8\nyield %r")


def choices(place: int) -> list[Callable[[int, float], float]]:
    bit = 1 << place

    def where_set(h: int, x: float) -> float:
        return -x if h & bit else x

    def where_clear(h: int, x: float) -> float:
        return -x if h & bit == 0 else x

    def narrow(h: int, x: float) -> float:
        h = (h * 374761393) & 0xFFFFFFFF
        return x if (h ^ (h >> 5)) & bit else -x

    return [where_set, where_clear, narrow]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("place", PLACES)
def test_lanes_are_pythons(place: int, dtype: type[np.floating]) -> None:
    pytest.importorskip("llvmlite")
    h = np.random.default_rng(place).integers(-(2**62), 2**62, 333)
    with np.errstate(over="ignore"):
        x = np.resize(np.array(SPECIAL).astype(dtype), 333)
    bits = np.int64 if dtype is np.float64 else np.int32
    for fn in choices(place):
        found = pyflat.twin(fn, target="numba", dtype="input", cache=False)(h, x)
        wanted = np.array([fn(a, b) for a, b in zip(h.tolist(), x.tolist(), strict=True)], dtype)
        same = (found.view(bits) == wanted.view(bits)) | (np.isnan(found) & np.isnan(wanted))
        assert same.all(), (fn.__name__, h[~same][:3], x[~same][:3])
