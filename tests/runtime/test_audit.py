"""A share of the lanes of each call is computed by the original too, and a difference is raised."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import pyflat
from pyflat.runtime import audit, compiled
from pyflat.runtime.audit import DifferenceError
from pyflat.runtime.kernels import Kernels
from tests.runtime import functions as f

X = np.linspace(0.0, 3.0, 500)


def shade(x: float, y: float):
    return math.exp(-x) * y if x > y else x * x


def spoil(monkeypatch, lanes, change=lambda values: values + 1.0):
    """Engines give other numbers in these lanes."""
    right = compiled.Built.run

    def spoiled(self, given, count, *rest):
        ran = right(self, given, count, *rest)
        ran.leaves[0][lanes] = change(ran.leaves[0][lanes])
        return ran

    monkeypatch.setattr(compiled.Built, "run", spoiled)


@pytest.fixture(autouse=True)
def _drawn_alike(monkeypatch):
    monkeypatch.setattr(audit, "_random", lambda rng=np.random.default_rng(38): rng)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_wrong_lane_is_found_among_all(target, monkeypatch):
    spoil(monkeypatch, slice(7, 8))
    twin = pyflat.twin(shade, target=target, audit=1.0)
    with pytest.raises(DifferenceError) as found:
        twin(X, 1.5)
    assert found.value.lane == 7
    assert found.value.row == (X[7], 1.5)[: len(found.value.row)]
    value = shade(X[7].item(), 1.5)
    assert str(found.value) == (f"audit: lane 7 of shade_flat (x={X[7].item()!r}, y=1.5) is {value + 1.0!r} on {target}, "
                                f"and the original gives {value!r}")


def test_the_last_bit_counts_and_so_does_the_sign_of_zero(monkeypatch):
    spoil(monkeypatch, slice(0, 1), lambda values: -values)
    with pytest.raises(DifferenceError, match=r"is -0\.0 on numpy, and the original gives 0\.0"):
        pyflat.twin(shade, audit=1.0)(X, 1.5)


def test_a_share_finds_a_wrong_engine_after_some_calls(monkeypatch):
    spoil(monkeypatch, slice(None))
    twin = pyflat.twin(shade, audit=0.001)

    def calls():
        for _ in range(200):
            twin(X[:100], 1.5)

    with pytest.raises(DifferenceError):
        calls()
    assert 1 < twin.stats.calls < 100


def test_the_share_is_that_of_the_lanes():
    counts = [len(audit._drawn(10_000, 0.01)) for _ in range(200)]
    assert 90 < np.mean(counts) < 110
    assert np.array_equal(audit._drawn(5, 1.0), np.arange(5))
    assert len(audit._drawn(0, 0.5)) == 0
    drawn = np.concatenate([audit._drawn(10, 0.3) for _ in range(2000)])
    assert set(drawn.tolist()) == set(range(10))


def test_a_lane_in_which_only_the_original_raises(monkeypatch):
    right = compiled.Built.run

    def blind(self, given, count, *rest):
        ran = right(self, given, count, *rest)
        return compiled.Ran(ran.leaves, None, ran.limited)

    monkeypatch.setattr(compiled.Built, "run", blind)
    with pytest.raises(DifferenceError, match=r"lane 1 .*the original gives ZeroDivisionError: float division by zero"):
        pyflat.twin(f.inverse, audit=1.0)(np.array([1.0, 0.0]))
    assert pyflat.twin(f.inverse, audit=1.0, errors="unchecked")(np.array([1.0, 0.0]))[0] == 1.0


def test_what_the_original_raises_is_raised_as_without():
    with pytest.raises(ZeroDivisionError, match="lane 1 "):
        pyflat.twin(f.inverse, audit=1.0)(np.array([1.0, 0.0]))
    values, faults = pyflat.twin(f.inverse, audit=1.0, errors="mask")(np.array([2.0, 0.0]))
    assert values[0] == 0.5
    assert faults.lanes.tolist() == [1]


def words(x: float, name: str):
    return f"{name} {x:.2f}", "big" if x > 1.0 else None


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_right_twins_pass_whatever_they_return(target):
    wanted = pyflat.twin(words, target=target, none="object")(X[:20], np.array(["a", "b"] * 10))
    got = pyflat.twin(words, target=target, none="object", audit=1.0)(X[:20], np.array(["a", "b"] * 10))
    assert [part.tolist() for part in got] == [part.tolist() for part in wanted]
    assert pyflat.twin(shade, target=target, audit=1.0)(0.5, 1.0) == shade(0.5, 1.0)
    assert pyflat.twin(shade, target=target, audit=1.0, dtype="float32")(X, 1.5).dtype == np.float32
    assert len(pyflat.twin(shade, target=target, audit=1.0, math="fast")(X, 1.5)) == 500


def test_float32_lanes_are_compared_with_the_interpreter(monkeypatch):
    spoil(monkeypatch, slice(3, 4))
    with pytest.raises(DifferenceError, match="lane 3 .* and the interpreter in float32 gives"):
        pyflat.twin(shade, audit=1.0, dtype="float32")(X, 1.5)


def halves(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 0.5


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_kernels_run_on_copies(target, monkeypatch):
    out = np.zeros(4)
    twin = pyflat.twin(halves, target=target, audit=1.0)
    for _ in range(4):
        twin(np.arange(4.0), out)
    assert out.tolist() == [0.0, 0.5, 1.0, 1.5]
    monkeypatch.setattr(Kernels, "original", lambda self, args, kwargs: args[1].fill(7.0))
    out[:] = -1.0
    with pytest.raises(DifferenceError, match="halves_flat differs from its original in argument 2 at"):
        twin(np.arange(4.0), out)
    assert out.tolist() == [-1.0] * 4


def test_exceptions_of_kernels_are_compared(monkeypatch):
    def fail(self, args, kwargs):
        raise ValueError("else")

    monkeypatch.setattr(Kernels, "original", fail)
    with pytest.raises(DifferenceError, match="what it raises: 'nothing' and 'ValueError: else'"):
        pyflat.twin(halves, audit=1.0)(np.arange(4.0), np.zeros(4))


def test_calls_take_no_plan_while_it_is_on_and_one_afterwards():
    twin = pyflat.twin(shade)
    with pyflat.options(audit=1.0):
        for _ in range(5):
            twin(X, 1.5)
    assert twin.stats.in_steps == 5
    for _ in range(5):
        twin(X, 1.5)
    planned = twin.stats.in_steps
    twin(X, 1.5)
    assert twin.stats.in_steps == planned < 10
    with pyflat.options(audit=1.0):
        twin(X, 1.5)
    assert twin.stats.in_steps == planned + 1


def test_what_is_compiled_does_not_depend_on_it():
    twin = pyflat.twin(shade)
    assert twin.options.as_built is pyflat.twin(shade).options.as_built
    assert twin.with_options(audit=0.5).options.as_built == twin.options.as_built


@pytest.mark.parametrize(("value", "error"), [(1.5, ValueError), (-0.1, ValueError), (math.nan, ValueError), ("1", TypeError),
                                              (True, TypeError)])
def test_a_share_is_a_number_from_0_to_1(value, error):
    with pytest.raises(error, match=r"audit=.*: expected a number from 0\.0 to 1\.0"):
        pyflat.twin(shade, audit=value)


@pytest.mark.parametrize(("text", "wanted"), [
    ("0.25", "0.25\n"), ("", "0.0\n"), ("0", "0.0\n"),
    ("much", "the environment variable PYFLAT_AUDIT='much': expected a number from 0.0 to 1.0"),
])
def test_the_environment_variable(text, wanted):
    code = ("import pyflat.runtime.settings as s\n"
            "try: print(s.resolve().audit)\n"
            "except ValueError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYFLAT_AUDIT": text})
    assert done.stdout.strip() == wanted.strip()
