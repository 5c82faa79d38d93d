"""`twin.verify`: every lane by equality; of fast twins how far they are off, and the interpreter as their meaning."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.runtime import compiled
from pyflat.testing import DifferenceError, verify

pytest.importorskip("llvmlite")
from pyflat.targets.numba import ops as numba_ops

X = np.linspace(0.1, 3.0, 300)


def cancels(x: float, y: float):
    return math.exp(x) - math.exp(y), x * y + y, x > y


def spoil(monkeypatch: pytest.MonkeyPatch, leaf: int, lanes: slice) -> None:
    """Engines give another number in these lanes: the next float, another bool."""
    run = compiled.Built.run

    def spoiled(self, inputs, n, parallel=False):
        ran = run(self, inputs, n, parallel)
        values = ran.leaves[leaf]
        values[lanes] = ~values[lanes] if values.dtype == bool else np.nextafter(values[lanes], np.inf)
        return ran

    monkeypatch.setattr(compiled.Built, "run", spoiled)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_every_bit_is_the_originals_where_nothing_is_said(target):
    verified = pyflat.twin(cancels, target=target).verify(X, X + 1e-12)
    assert (verified.lanes, verified.off) == (300, None)
    assert "300 lanes agree with the original" in str(verified)


@pytest.mark.parametrize("leaf", [0, 1, 2])
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_the_last_bit_of_one_lane_is_a_difference(target, leaf, monkeypatch):
    spoil(monkeypatch, leaf, slice(7, 8))
    with pytest.raises(DifferenceError) as error:
        pyflat.twin(cancels, target=target).verify(X, X + 1e-12)
    assert error.value.lane == 7


def test_fast_math_says_how_far_it_is_off():
    twin = pyflat.twin(cancels, target="numba", math="fast")
    verified = twin.verify(X, X + 1e-12)
    values, wanted = twin(X, X + 1e-12)[0], np.array([cancels(x, x + 1e-12)[0] for x in X.tolist()])
    distance = np.abs(values - wanted) / np.spacing(np.maximum(np.abs(values), np.abs(wanted)))
    off = verified.off
    assert off.lanes >= int((values != wanted).sum()) > 0
    assert off.ulps == distance.max() == distance[off.worst] > 100
    assert off.decided == 0
    assert f"up to {off.ulps:,.1f} ulp in lane {off.worst}; 0 lanes decide otherwise" in str(verified)


def test_fast_math_without_functions_and_sums_has_the_originals_bits():
    verified = pyflat.twin(lambda x: x / 3.0, target="numba", math="fast").verify(X)
    assert str(verified) == "300 lanes: all lanes have the original's bits; 0 of them were run through it"


def test_decisions_that_fast_math_takes_otherwise_are_counted():
    """x * y + z is tiny or zero where x * y is the negative of z but for its rounding."""

    def balanced(x: float, y: float, z: float) -> bool:
        return x * y + z == 0.0

    x, y = np.random.default_rng(1).uniform(1.0, 2.0, (2, 200))
    verified = pyflat.twin(balanced, target="numba", math="fast").verify(x, y, -(x * y))
    from pyflat.targets.numba.library import multiplies_and_adds

    assert (verified.off.decided > 100) == multiplies_and_adds()


@pytest.mark.parametrize("leaf", [0, 1, 2])
def test_an_engine_that_is_not_the_interpreter_is_a_difference_with_fast_math_too(leaf, monkeypatch):
    spoil(monkeypatch, leaf, slice(None))
    with pytest.raises(DifferenceError, match='the interpreter with math="fast"'):
        pyflat.twin(cancels, target="numba", math="fast").verify(X, X + 1e-12)


def cube_root(x: float) -> int:
    return int(np.floor(np.cbrt(x))) if abs(x) < 1e50 else 0


def tangent(x: float) -> float:
    return float(np.tanh(x))


def beside(x: float) -> float:
    return math.exp(x) + float(np.tanh(x))


@pytest.mark.parametrize("math_", ["exact", "fast"])
@pytest.mark.parametrize(("fn", "function"), [(cube_root, "cbrt"), (tangent, "tanh"), (beside, "tanh")])
def test_numpys_functions_are_judged_by_equality(fn, function, math_, monkeypatch):
    cubes = np.arange(1, 200) ** 3.0
    x = cubes if fn is cube_root else np.linspace(-3.0, 3.0, 400)
    assert pyflat.twin(fn, target="numba", math=math_).verify(x).lanes == len(x)
    verify(fn, target="numba", examples=20)
    right = numba_ops.EMITTERS["np_" + function]
    monkeypatch.setitem(numba_ops.EMITTERS, "np_" + function, lambda e, x: right(e, x) * (1.0 - 2.0**-50))
    with pytest.raises(DifferenceError):
        pyflat.twin(fn, target="numba", math=math_, max_unroll=63).verify(x)
    if fn is not beside:
        with pytest.raises(DifferenceError):
            verify(fn, target="numba", examples=20, max_unroll=62)


def in_celsius(x: float, unit: str) -> float:
    if unit == "C":
        return x
    if unit == "F":
        return (x - 32.0) / 1.8
    raise ValueError(unit)


def test_strings_by_lane():
    units = np.array(["C", "F", "K", "C"])
    twin = pyflat.twin(in_celsius)
    found = twin.verify(np.arange(4.0), units)
    assert (found.lanes, found.replayed) == (4, 1)
    assert twin.verify(np.arange(4.0), "F").replayed == 0
