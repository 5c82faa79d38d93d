"""NumPy's functions of rows and windows in kernels: bits, warnings and exceptions of the plain loop."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba.kernels import routines
from tests.generator.kernels.differential import Outcome, compare

ROW = """
def rows(a, out):
    for i in range(a.shape[0]):
        out[i] = {}
"""
WINDOW = """
def windows(a, out):
    for i in range(a.shape[0] - 2):
        out[i] = {}
"""
ONE = ("np.sum({})", "np.prod({})", "np.max({})", "np.min({})", "np.ptp({})", "np.mean({})", "np.std({})",
       "np.var({}, ddof=1)", "np.median({})", "np.nansum({})", "np.nanprod({})", "np.nanmean({})", "np.nanstd({})",
       "np.nanvar({}, ddof=1)", "np.nanmax({})", "np.nanmin({})", "np.argmax({})", "np.argmin({})", "np.any({})",
       "np.all({})", "np.count_nonzero({})", "np.linalg.norm({})", "{}.sum()", "np.dot({}, {})", "{} @ {}")
LENGTHS = (0, 1, 2, 7, 8, 9, 17, 128, 129, 300)


class Given:
    """Arguments for the oracle: copies of an array, laid out in one way."""

    def __init__(self, array, layout=np.array, mode="ignore"):
        self.array, self.layout, self.mode = array, layout, mode

    def arguments(self):
        return self.layout(self.array), np.zeros(len(self.array))


def gaps(array):
    return np.repeat(array, 2, axis=1)[:, ::2]


def backwards(array):
    return np.array(array)[:, ::-1]


LAYOUTS = np.array, gaps, np.asfortranarray, backwards


def made(text, call):
    scope = {"np": np}
    exec(text.format(call), scope)
    function = scope["rows" if "def rows" in text else "windows"]
    return function, pyflat.twin(function, source=text.format(call), target="numba")


def numbers(length, kind, rng):
    a = rng.normal(size=(6, length))
    if length:
        match kind:
            case "special":
                a = rng.choice([0.0, -0.0, 1.0, -1.0, np.nan, 1e-310], size=(6, length))
            case "nan":
                a[rng.random(a.shape) < 0.3] = np.nan
            case "large":
                a[3] = 1e308
                a[4, 0] = np.inf
    return a


@pytest.mark.turns(5)
@pytest.mark.parametrize("call", ONE)
@pytest.mark.parametrize("kind", ["plain", "nan", "special", "large"])
def test_rows(call, kind):
    rng, outcome = np.random.default_rng(len(call)), Outcome()
    function, twin = made(ROW, call.format("a[i]", "a[i]"))
    for length, dtype in itertools.product(LENGTHS, ("f8", "f4")):
        with np.errstate(all="ignore"):
            a = numbers(length, kind, rng).astype(dtype)
        before = outcome.vain
        for layout in LAYOUTS:
            compare(function, twin, Given(a, layout), outcome)
        if length > 16 and kind in ("plain", "nan"):
            assert outcome.vain == before, "the original runs without need"
    assert not outcome.failures, outcome.failures[0]
    assert outcome.sets == 80


@pytest.mark.turns(3)
@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "b1"])
@pytest.mark.parametrize("call", [c for c in ONE if "nan" not in c and "norm" not in c and "ptp" not in c])
def test_rows_of_ints(call, dtype):
    rng, outcome = np.random.default_rng(0), Outcome()
    function, twin = made(ROW, call.format("a[i]", "a[i]"))
    for length in LENGTHS:
        a = rng.integers(0, 2 if dtype == "b1" else 5, (6, length)).astype(dtype)
        for layout in LAYOUTS:
            compare(function, twin, Given(a, layout), outcome)
    assert not outcome.failures, outcome.failures[0]
    assert outcome.sets == 40


@pytest.mark.turns(5)
@pytest.mark.parametrize("call", ONE[:-2])
@pytest.mark.parametrize("kind", ["plain", "nan", "special"])
def test_windows(call, kind):
    rng, outcome = np.random.default_rng(1), Outcome()
    function, twin = made(WINDOW, call.format("a[i:i + 3, 1:4]"))
    for length in (5, 12):
        a = np.concatenate([numbers(length, kind, rng)] * 2)
        for layout in LAYOUTS:
            compare(function, twin, Given(a, layout), outcome)
    assert not outcome.failures, outcome.failures[0]
    assert outcome.sets == 8


def test_a_warning_before_a_reduction_is_seen():
    """NumPy's loops for extremes clear the processor's flags."""
    text = "def rows(a, out):\n    for i in range(a.shape[0]):\n        out[i] = a[i, 0] * 1e308 + {}\n"
    outcome = Outcome()
    function, twin = made(text, "np.max(a[i])")
    for _ in range(2):
        compare(function, twin, Given(np.full((4, 20), 9.0), mode="all"), outcome)
    assert not outcome.failures
    assert outcome.warning


def growing(a, out):
    for i in range(len(a)):
        t = np.full(i, 0.5)
        for j in range(i):
            t[j] += a[j]
        out[i] = np.sum(t)


def squares(a, out):
    for i in range(len(a)):
        t = np.sort(a[: i + 1])
        out[i] = t[0] + t[-1] + np.sum((a - a[i]) ** 2)


@pytest.mark.parametrize("function", [growing, squares])
def test_arrays_of_an_iteration_make_room_for_the_next(function):
    twin, a = pyflat.twin(function, target="numba"), np.random.default_rng(0).normal(size=200)
    expected = np.zeros(200)
    function(a, expected)
    for _ in range(4):
        out = np.zeros(200)
        twin(a, out)
        assert np.array_equal(out, expected)


def turned(a, out):
    for i in range(len(a)):
        out[i] = np.roll(a, i)[0]


def test_an_interrupt_in_numpy_ends_the_call(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    twin, a = pyflat.twin(turned, target="numba"), np.arange(5.0)
    twin(a, np.zeros(5))
    monkeypatch.setattr(routines, "np", SimpleNamespace(ascontiguousarray=interrupted, errstate=np.errstate))
    with pytest.raises(KeyboardInterrupt):
        twin(a, np.zeros(5))
