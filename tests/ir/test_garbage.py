"""No full collection of garbage while a function is flattened, and the collector as it was afterwards."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import pyflat
from pyflat.ir.recursion import NEVER, no_full_collections
from pyflat.runtime.arguments import classify
from pyflat.runtime.compiled import flatten


@pytest.fixture
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(600, 3, 2)
    yield 600, 3, 2
    gc.set_threshold(*before)


def test_the_threshold_comes_back(thresholds):
    with no_full_collections():
        assert gc.get_threshold() == (600, 3, NEVER)
        with no_full_collections():
            assert gc.get_threshold() == (600, 3, NEVER)
        assert gc.get_threshold() == (600, 3, NEVER)
    assert gc.get_threshold() == thresholds
    with pytest.raises(ZeroDivisionError), no_full_collections():
        1 / 0
    assert gc.get_threshold() == thresholds


def test_what_is_set_meanwhile_is_kept(thresholds):
    with no_full_collections():
        gc.set_threshold(500, 8, 7)
    assert gc.get_threshold() == (500, 8, 7)
    with no_full_collections():
        gc.set_threshold(400, 8, NEVER)
    assert gc.get_threshold() == (400, 8, 7)


def unrolled(x: float, trips: int) -> float:
    for _ in range(trips):
        x = x * 0.5 + 1.0
        if x > 100.0:
            x = x - 1.0
    return x


def refused(x: float) -> float:
    yield x


def test_flattening_makes_no_full_collection(thresholds):
    seen = []

    def collected(phase, facts):
        if phase == "start":
            seen.append(facts["generation"])

    twin = pyflat.twin(unrolled, static=("trips",), loops="unroll")
    twin(np.ones(2), 2)  # imports what it needs
    call = classify(twin._parameters.bind((np.ones(2), 500), {}), twin._parameters, ("trips",))
    gc.callbacks.append(collected)
    try:
        flatten(unrolled, call.arguments, twin.options)
    finally:
        gc.callbacks.remove(collected)
    assert seen.count(1) > 5, "the threshold of full collections was reached"
    assert seen.count(2) == 0
    assert gc.get_threshold() == thresholds


def test_a_refusal_leaves_the_collector_as_it_was(thresholds):
    with pytest.raises(pyflat.FlattenError):
        pyflat.twin(refused)(np.ones(2))
    assert gc.get_threshold() == thresholds
