"""Calls of NumPy in the loops of kernels: how often they are made, and that they give what the plain loop has."""

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba.kernels import routines
from tests.generator.kernels.differential import Outcome, compare


class Given:
    """Arguments for the oracle: copies of these."""

    def __init__(self, *given, mode="all"):
        self.given, self.mode = given, mode

    def arguments(self):
        return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in self.given)


def same(function, *given):
    twin, outcome = pyflat.twin(function, target="numba"), Outcome()
    for each in given:
        for mode in ("ignore", "default"):
            compare(function, twin, Given(*each, mode=mode), outcome)
    assert not outcome.failures, outcome.failures[0]
    return outcome


@pytest.fixture
def calls(monkeypatch):
    """The routines that are called, by their texts."""
    made, original = [], routines.routine_function

    def counting(text):
        function = original(text)
        return function if text.startswith("{}") else lambda *given: (made.append(text), function(*given))[1]

    monkeypatch.setattr(routines, "routine_function", counting)
    return made


def unchanged(a, b, out):
    for i in range(len(a)):
        for j in range(2):
            t = np.roll(b, 1)
            out[i] += a[i] * np.trace(np.outer(b, b)) + t[j]


def changed(a, b, out):
    for i in range(len(a)):
        t = np.roll(b, 1)
        t[0] += 1.0
        b[0] += t[0]
        out[i] = np.sum(t)


def in_an_arm(a, b, out):
    for i in range(len(a)):
        if a[i] > 1.0:
            out[i] = np.trace(np.outer(b, b)) / 2.0


@pytest.mark.parametrize(("function", "times"), [(unchanged, 4), (changed, 20), (in_an_arm, 2)])
def test_what_is_the_same_in_all_iterations_is_called_once(function, times, calls):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20) + 1.0, rng.normal(size=5)
    for given in ((a, b), (a[:0], b), (a * 0.0, b), (a, np.full(5, np.inf)), (a, b[:2])):
        same(function, (*given, np.zeros(20)))
    calls.clear()
    pyflat.twin(function, target="numba")(a, b, np.zeros(20))
    assert len(calls) == times


def parts(a, out):
    for i in range(len(a)):
        values, counts = np.unique(a[i], return_index=True)
        for k in range(len(values)):
            out[i] += values[k] * counts[k]


def test_the_parts_of_what_a_routine_gives_are_one_call(calls):
    a = np.random.default_rng(0).integers(0, 4, (6, 9)).astype(float)
    same(parts, (a, np.zeros(6)), (a[:, :0], np.zeros(6)), (a * np.nan, np.zeros(6)))
    calls.clear()
    pyflat.twin(parts, target="numba")(a, np.zeros(6))
    assert calls.count("np.unique({}, return_index=True)") == len(calls) == 6


OF_ROWS = {
    "sort": "np.sort({})", "unique": "np.unique({})", "nonzero": "np.nonzero({})[0]", "where": "np.where({} > 0)[0]",
    "flatnonzero": "np.flatnonzero({})", "mask": "{0}[{0} > 1]", "cumsum": "np.cumsum({})", "diff": "np.diff({})",
    "bincount": "np.bincount({})", "minlength": "np.bincount({}, minlength=4)", "places": "np.searchsorted({0}, {0}[::-1])",
    "right": "np.searchsorted({0}, {0}, side='right')", "counts": "np.unique({}, return_counts=True)[1]",
    "histogram": "np.histogram({}, 4, (0.0, 3.0))[0]", "edges": "np.histogram({}, 3, (-1.0, 2.5))[1]",
    "exp": "np.exp({})", "sign": "np.sign({})", "maximum": "np.maximum({0}, {0}[::-1])", "more": "np.maximum({}, 1)",
    "isnan": "np.isnan({})", "divide": "np.divide(1, {})", "abs": "np.abs({})", "weights": "np.bincount({}, w[:{}.size])",
    "linspace": "np.linspace(0.0, {}.sum(), 7)", "spaced": "np.linspace(w[i], 5, {}.shape[0])",
    "arange": "np.arange({}.shape[0])", "steps": "np.arange(1, {}.shape[0], 3)", "down": "np.arange({}.shape[0], 0, -2)",
}
ROWS = """
def rows(a, w, out):
    for i in range(len(a)):
        t = {}
        for k in range(len(t)):
            out[i, k] = t[k]
        out[i, -1] = len(t)
"""
NUMBERS = {
    "left": "np.searchsorted({}, 1.5)", "int": "np.searchsorted({}, i)", "right": "np.searchsorted({}, w[i], side='right')",
    "median": "np.quantile({}, 0.5)", "quantile": "np.quantile({}, w[i] / 4.0)", "percentile": "np.percentile({}, 30.0)",
    "first": "np.quantile({}, 0)", "last": "np.quantile({}, 1)", "tenth": "np.percentile({}, 10)",
    "one": "np.quantile({}[0], 0.3)", "numpy": "np.quantile({}, w[0] / 5.0)",
}
NUMBER = "\ndef rows(a, w, out):\n    for i in range(len(a)):\n        out[i, 0] = {}\n"


def of_text(text):
    scope = {"np": np}
    exec(text, scope)
    return scope["rows"], pyflat.twin(scope["rows"], source=text, target="numba")


def tables(dtype, rng):
    for length in (0, 1, 2, 5, 16, 40):
        a = rng.integers(0, 4, (5, length)).astype(dtype)
        yield a
        if a.dtype.kind == "f" and length:
            a = rng.normal(size=(5, length)).astype(dtype)
            yield a
            a[1, 0], a[2, -1], a[3, length // 2] = np.nan, -0.0, np.inf
            yield a
        elif length:
            a[1, -1] = 9
            a[3, 0] = -1 if a.dtype.kind == "i" else 1
            yield a


def layouts(a):
    return a, np.asfortranarray(a), a[:, ::-1], np.repeat(a, 2, axis=1)[:, ::2]


class Laid(Given):
    def arguments(self):
        a, at, mode = self.given
        return layouts(a.copy())[at], np.linspace(0.0, 4.0, 40), np.zeros((5, 60))


@pytest.mark.turns(4)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "b1"])
@pytest.mark.parametrize("text", [*[ROWS.format(text.replace("{}", "a[i]").replace("{0}", "a[i]")) for text in
                                    OF_ROWS.values()],
                                  *[NUMBER.format(text.format("a[i]")) for text in NUMBERS.values()]],
                         ids=[*OF_ROWS, *NUMBERS])
def test_loops_of_the_kernels_own(text, dtype):
    function, twin = of_text(text)
    outcome = Outcome()
    for a in tables(dtype, np.random.default_rng(1)):
        for at in range(4):
            for mode in ("ignore", "default"):
                if dtype != "b1" or "histogram" not in text:  # which warns by itself
                    compare(function, twin, Laid(a, at, mode, mode=mode), outcome)
    assert not outcome.failures, outcome.failures[0]


@pytest.mark.parametrize("name", [*OF_ROWS, *NUMBERS])
def test_they_call_no_python(name, calls):
    text, form = (OF_ROWS[name], ROWS) if name in OF_ROWS else (NUMBERS[name], NUMBER)
    a = np.random.default_rng(0).integers(0, 4, (5, 12)).astype("i8" if "bincount" in text else "f8")
    function, twin = of_text(form.format(text.replace("{}", "a[i]").replace("{0}", "a[i]")))
    w, expected, out = np.linspace(0.0, 4.0, 40), np.zeros((5, 60)), np.zeros((5, 60))
    with np.errstate(all="ignore"):
        function(a, w, expected)
        twin(a, w, out)
    assert not calls
    assert np.array_equal(out, expected)


def test_what_they_leave_to_numpy(calls):
    """Rows with nan are sorted by NumPy, and in others no call is made."""
    function, twin = of_text(ROWS.format("np.unique(a[i])"))
    a, w = np.random.default_rng(0).normal(size=(5, 12)), np.zeros(40)
    a[2, 3:] = np.nan
    expected, out = np.zeros((5, 60)), np.zeros((5, 60))
    function(a, w, expected)
    twin(a, w, out)
    assert np.array_equal(out, expected, equal_nan=True)
    assert calls == ["np.unique({})"]
