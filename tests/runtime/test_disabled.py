"""PYFLAT_DISABLE=1: twins run their originals."""

import numpy as np
import pytest

import pyflat
from pyflat.runtime import outputs as disabled
from tests.runtime import functions as f


@pytest.fixture(autouse=True)
def _disabled(monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    monkeypatch.setattr(disabled, "_warned", {"PYFLAT_DISABLE"})


def test_it_is_said_once(monkeypatch):
    monkeypatch.setattr(disabled, "_warned", set())
    twin = pyflat.twin(f.inverse)
    with pytest.warns(pyflat.PerformanceWarning, match="PYFLAT_DISABLE=1: every twin runs its original") as caught:
        twin(np.ones(2))
    assert caught[0].filename == __file__
    twin(np.ones(2))


def test_nothing_is_flattened(builds):
    seen = []

    def printing(x):
        seen.append(x)
        return x + 1

    got = pyflat.twin(printing)(np.array([[1.0, 2.0]]))
    assert got.tolist() == [[2.0, 3.0]]
    assert seen == [1.0, 2.0]
    assert [type(x) for x in seen] == [float, float]
    assert builds == []


@pytest.mark.parametrize(("fn", "args"), [
    (f.ordered, (np.array([1.0, 5.0]), np.array([2.0, 3.0]))), (f.mixed, (np.array([1.0, 2.0]),)),
    (f.nothing, (np.ones(2),)), (f.product, (2, 3)), (f.product, (np.int8(2), 3)), (f.positive, (np.ones((2, 1)),)),
])
def test_the_form_of_the_result_is_the_twins(fn, args, monkeypatch):
    got = pyflat.twin(fn)(*args)
    monkeypatch.delenv("PYFLAT_DISABLE")
    expected = pyflat.twin(fn)(*args)
    assert type(got) is type(expected)
    for a, b in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(got, tuple) else (expected,), strict=True):
        assert type(a) is type(b)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert a.tolist() == b.tolist()
        else:
            assert a == b


def test_the_widest_kind_of_all_lanes():
    got = pyflat.twin(lambda x: 1 if x > 1 else 0.5)(np.array([1.0, 2.0]))
    assert got.dtype == np.float64
    assert got.tolist() == [0.5, 1.0]


def test_errors():
    xs = np.array([1.0, 0.0])
    with pytest.raises(ZeroDivisionError) as error:
        pyflat.twin(f.inverse)(xs)
    assert error.value.__notes__[0].startswith("lane 1 (x=0.0); 1 of 2 lanes failed")
    values, faults = pyflat.twin(f.inverse, errors="mask")(xs)
    assert values[0] == 1.0
    assert np.isnan(values[1])
    assert faults[1].type is ZeroDivisionError
    assert np.isnan(pyflat.twin(f.inverse, errors="nan")(np.zeros(1))).all()


def test_results_that_no_array_holds():
    with pytest.raises(pyflat.LaneError, match="'a' in one lane and -1.0 in another"):
        pyflat.twin(lambda x: "a" if x > 0 else x)(np.array([1.0, -1.0]))


def test_a_call_without_lanes_needs_the_twin():
    assert pyflat.twin(f.positive)(np.zeros(0)).dtype == np.bool_
