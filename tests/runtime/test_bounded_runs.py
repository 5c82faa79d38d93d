"""Runs that are stopped: after some time, where NumPy would warn, and only in functions of certain files."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from pyflat.runtime.bounded_runs import bounded

HERE = {__file__}


def endless():
    while True:
        pass


def caught():
    try:
        endless()
    except BaseException:  # noqa: BLE001 - what is caught does not matter
        return 1.0
    raise AssertionError


def test_results_are_alone_in_a_tuple():
    assert bounded(lambda: None, 60.0, HERE, watch=True) == (None,)
    assert bounded(lambda: 1.0, 60.0, HERE, watch=False) == (1.0,)


@pytest.mark.parametrize("run", [endless, caught])
def test_what_takes_too_long_is_stopped(run):
    before = sys.getswitchinterval()
    assert bounded(run, 1e-3, HERE, watch=True) is None
    assert sum(range(100_000)) == 4_999_950_000  # nothing is raised later
    assert sys.getswitchinterval() == before


def test_in_any_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(bounded(endless, 1e-3, HERE, watch=True)))
    thread.start()
    thread.join()
    assert found == [None]


def test_other_files_go_on():
    ended = []

    def waiting():
        threading.Event().wait(0.05)  # in a file of the library
        ended.append(True)

    assert bounded(waiting, 1e-3, {"nowhere"}, watch=True) == (None,)
    assert ended == [True]


def test_without_threads_nothing_runs(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert bounded(endless, 60.0, HERE, watch=True) is None


def test_own_exceptions_are_raised():
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 / 0, 60.0, HERE, watch=True)


@pytest.mark.parametrize("run", [lambda: np.ones(2) / 0.0, lambda: np.float64(1.0) / np.float64(0.0)])
def test_warnings_stop_where_they_are_watched(run):
    with np.errstate(divide="warn"):
        assert bounded(run, 60.0, HERE, watch=True) is None
    with np.errstate(divide="ignore"):
        assert np.all(np.isinf(bounded(run, 60.0, HERE, watch=True)[0]))
    with np.errstate(divide="ignore"):
        assert np.all(np.isinf(bounded(run, 60.0, HERE, watch=False)[0]))
