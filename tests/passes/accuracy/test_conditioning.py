"""How near results with faster functions must be, and that `twin.verify` sees what is farther."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyflat
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT
from pyflat.passes.accuracy import allowed_differences
from pyflat.runtime import compiled
from pyflat.runtime.settings import resolve, settings
from pyflat.targets.numba import ops as numba_ops
from pyflat.testing import DifferenceError, verify


def cancels(x: float, y: float):
    return math.exp(x) - math.exp(y), x + y, x > y


def exact(fn):
    options = resolve(settings({"target": "numba", "math": "libm"}))
    return compiled.flatten(fn, dict.fromkeys("xy", Leaf(FLOAT)), options).flat


def test_where_terms_cancel_more_is_allowed():
    near, plain, decided = allowed_differences(exact(cancels), (1.0, 1.0 + 1e-12))
    wanted = cancels(1.0, 1.0 + 1e-12)[0]
    assert plain == decided == 0.0
    assert 1e-16 < near < 1e-13  # some ulp of e, a thousand times those of the difference
    assert near > 50 * math.ulp(wanted)


def test_verify_takes_the_digits_of_vector_math():
    x = np.linspace(0.1, 3.0, 300)
    twin = pyflat.twin(cancels, target="numba", math="vector")
    assert twin(x, x + 1e-12)[0].tolist() != [cancels(a, b)[0] for a, b in zip(x.tolist(), (x + 1e-12).tolist(), strict=True)]
    assert twin.verify(x, x + 1e-12).lanes == 300


@pytest.mark.parametrize("leaf", [0, 1, 2])
def test_verify_sees_what_the_digits_do_not_explain(leaf, monkeypatch):
    run = compiled.Built.run

    def spoiled(self, lanes, n, parallel=False):
        ran = run(self, lanes, n, parallel)
        values = ran.leaves[leaf]
        values[7] = not values[7] if leaf == 2 else values[7] + 1e-11
        return ran

    x = np.linspace(0.1, 3.0, 300)
    twin = pyflat.twin(cancels, target="numba", math="vector")
    monkeypatch.setattr(compiled.Built, "run", spoiled)
    with pytest.raises(DifferenceError) as error:
        twin.verify(x, x + 1e-12)
    assert error.value.lane == 7


def cube_root(x: float) -> int:
    return int(np.floor(np.cbrt(x))) if abs(x) < 1e50 else 0


def tangent(x: float) -> float:
    return float(np.tanh(x))


def beside(x: float) -> float:
    return math.exp(x) + float(np.tanh(x))


@pytest.mark.parametrize("math_", ["libm", "vector"])
@pytest.mark.parametrize(("fn", "function"), [(cube_root, "cbrt"), (tangent, "tanh"), (beside, "tanh")])
def test_numpys_functions_are_judged_by_equality(fn, function, math_, monkeypatch):
    """What a fast function may be off by explains no other digit of NumPy's, such as the C library's."""
    cubes = np.arange(1, 200) ** 3.0
    x = cubes if fn is cube_root else np.linspace(-3.0, 3.0, 400)
    assert pyflat.twin(fn, target="numba", math=math_).verify(x).lanes == len(x)
    verify(fn, target="numba", examples=20)
    monkeypatch.setitem(numba_ops.EMITTERS, "np_" + function, numba_ops.EMITTERS[function])
    with pytest.raises(DifferenceError):
        pyflat.twin(fn, target="numba", math=math_, max_unroll=63).verify(x)
    if fn is not beside:
        with pytest.raises(DifferenceError):
            verify(fn, target="numba", examples=20, max_unroll=62)
