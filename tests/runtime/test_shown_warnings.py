"""Calls that warn again of what Python has shown: the kernel's result, without the original."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pyflat


def ratios(a, b, out):
    for i in range(a.shape[0]):
        out[i] = (a[i] - b[i]) / (a[i] + b[i])
    return out[0] * 2.0


def until_large(a):
    n = 0
    x = a[0]
    while not x > a[1]:
        x = x * x
        n += 1
    return n


@pytest.fixture
def twin():
    return pyflat.twin(ratios, target="numba")


@pytest.fixture
def replays(twin):
    """How often the original has run since."""
    before = twin.stats.replayed
    return lambda: twin.stats.replayed - before


@pytest.fixture
def shown_once():
    with warnings.catch_warnings(record=True) as found:
        warnings.resetwarnings()
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("default", RuntimeWarning)
        yield found


def arguments(*zeros):
    """Elements that are 0 / 0 at even places, and 2 / 0 at odd ones."""
    a, b = np.linspace(1.0, 2.0, 20), np.linspace(2.0, 3.0, 20)
    for at in zeros:
        a[at], b[at] = at % 2, -(at % 2)
    return a, b, np.zeros(20)


def called(function, given):
    """The result and the bits written."""
    return repr(function(*given)), given[-1].tobytes()


def agrees(twin, *zeros):
    return called(twin, arguments(*zeros)) == called(ratios, arguments(*zeros))


def test_the_original_runs_once_for_each_warning(shown_once, twin, replays):
    assert agrees(twin)
    assert [str(each.message) for each in shown_once] == []
    for zeros, count in [((4,), 1), ((4,), 1), ((6, 8), 1), ((3,), 2), ((3, 4), 2), ((), 2), ((5, 16), 2)]:
        assert agrees(twin, *zeros)
        assert replays() == count, zeros
    texts = [str(each.message) for each in shown_once]
    assert len(texts) == len(set(texts)) == 2


@pytest.mark.parametrize(("change", "each_time"), [
    (lambda: warnings.simplefilter("always", RuntimeWarning), True),
    (lambda: warnings.filterwarnings("once", "divide by zero", RuntimeWarning), False),
    (lambda: warnings.simplefilter("default", PendingDeprecationWarning), True),
])
def test_changed_filters_ask_the_original_again(shown_once, twin, replays, change, each_time):
    assert agrees(twin, 3)
    assert agrees(twin, 3)
    assert replays() == 1
    change()
    assert agrees(twin, 3)
    assert agrees(twin, 3)
    assert replays() == 2 + each_time


def twice(a, b, flag, out):
    for i in range(a.shape[0]):
        out[i] = a[i] / b[i]
        if flag[i]:
            out[i] = a[i] / b[i] + 1.0


def test_each_line_shows_its_own_warning(shown_once):
    """The quotients are one number."""
    twin, lines = pyflat.twin(twice, target="numba"), []
    for function in (twice, twin):
        with warnings.catch_warnings(record=True) as found:
            for flag in (False, False, True, True):
                function(np.ones(3), np.zeros(3), np.full(3, flag), np.zeros(3))
                lines.append([each.lineno for each in found])
    assert lines[:4] == lines[4:]
    assert len(lines[3]) == 2


def test_a_block_that_catches_warnings_shows_them_again(shown_once, twin, replays):
    assert agrees(twin, 3, 4)
    with warnings.catch_warnings():
        pass
    assert agrees(twin, 3, 4)
    assert replays() == 2


def test_an_error_is_raised_each_time(shown_once, twin, replays):
    assert agrees(twin, 3)
    warnings.simplefilter("error", RuntimeWarning)
    for _ in range(2):
        given, wanted = arguments(3), arguments(3)
        with pytest.raises(RuntimeWarning):
            twin(*given)
        with pytest.raises(RuntimeWarning):
            ratios(*wanted)
        assert given[-1].tobytes() == wanted[-1].tobytes()


@pytest.mark.parametrize("how", ["ignore", "raise", "print"])
def test_other_error_states_have_warnings_of_their_own(shown_once, twin, how, capfd):
    assert agrees(twin, 3)
    with np.errstate(divide=how):
        if how == "raise":
            with pytest.raises(FloatingPointError):
                twin(*arguments(3))
        else:
            assert agrees(twin, 3)
            assert agrees(twin, 3)
            assert capfd.readouterr().err.count("divide by zero") == (4 if how == "print" else 0)
    assert agrees(twin, 3, 4)
    assert {str(each.message)[:6] for each in shown_once} == {"divide", "invali"}


def test_a_loop_that_a_warning_ends(shown_once):
    """Without the exception it would run for ever."""
    twin = pyflat.twin(until_large, target="numba")
    assert twin(np.array([2.0, 100.0])) == 3
    warnings.simplefilter("error", RuntimeWarning)
    with pytest.raises(RuntimeWarning):
        twin(np.array([1e200, np.nan]))
