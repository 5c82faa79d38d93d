"""Loops carry the errors of what they change (`tests.passes.accuracy.carried_checks`), and the checks notice where they do not."""

from __future__ import annotations

import pytest

from pyflat.ir.build import const
from pyflat.passes.accuracy import carried_bounds, choose_math, error_bounds, inexact_faults
from tests.passes.accuracy.carried_checks import hunt

BATCH = 50


@pytest.fixture(autouse=True)
def loose(monkeypatch):
    """Errors of hundreds of ulps, so that a wrong bound shows: what counts as worth nothing has to be larger too."""
    for module in (error_bounds, inexact_faults):
        monkeypatch.setattr(module, "MAX_RELATIVE", 2.0**-22)


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("ulps", [3, 64, 4096])
@pytest.mark.parametrize("first", range(0, 150, BATCH))
def test_decisions_of_random_loops_are_cpythons(first, ulps, correlated):
    found = hunt(range(first, first + BATCH), ulps, correlated=correlated)
    lanes = sum(checked.lanes for checked in found)
    assert len(found) > 5
    assert sum(checked.trips - checked.clean for checked in found) > 100
    assert sum(checked.suspect for checked in found) < 0.8 * lanes


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("factor", [0.01, 0.0])
def test_a_bound_that_is_too_small_is_noticed(factor, correlated, monkeypatch):
    written_out = carried_bounds.written_out
    monkeypatch.setattr(choose_math, "written_out",
                        lambda case, limited: case.terms.op("mul", written_out(case, limited=limited), const(factor)))
    with pytest.raises(AssertionError, match="became"):
        hunt(range(100), 64, correlated=correlated)


def test_a_missing_alarm_is_noticed(monkeypatch):
    monkeypatch.setattr(choose_math._Draft, "mark", lambda *args: None)
    with pytest.raises(AssertionError, match="became|other trips"):
        hunt(range(100), 64)
