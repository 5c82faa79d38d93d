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
from pyflat.testing import DifferenceError


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
