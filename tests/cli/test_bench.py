"""`pyflat bench SPEC`: what it says, never how fast anything is."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from pyflat.cli.bench import BASE, BenchRow, measured, table
from pyflat.cli.main import commands

bench_module = sys.modules["pyflat.cli.bench"]
MODULE = """
import math

def half(x: float, n: int, up: bool) -> float:
    if up and n > 2:
        return math.sqrt(x) / n
    return x

def steps(x: float, n: int) -> float:
    return x if n > 3 else 1.0 / (n - 2)

def name(text: str, x: float) -> float:
    return x

def fill(a, n):
    for i in range(n):
        a[i] = 1.0
"""


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "benched.py").write_text(MODULE)
    return f"{tmp_path / 'benched.py'}"


def run(*words):
    done = CliRunner().invoke(commands, ["bench", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


@pytest.fixture
def uncompiled(monkeypatch):
    """Without numba, whose compilations take seconds."""
    both = bench_module.contenders
    monkeypatch.setattr(bench_module, "contenders", lambda fn: {
        name: make for name, make in both(fn).items() if "numba" not in name})


@pytest.mark.usefixtures("uncompiled")
def test_random_lanes_are_those_of_the_kinds_and_agree(spec, tmp_path):
    done = run(f"{spec}:half", "--lanes", "300", "--range", "0", "9", "--plot", str(tmp_path / "b.svg"))
    lines = done.output.splitlines()
    assert done.exit_code == 0 and lines[0] == "300 lanes"
    assert [line[:15].strip() for line in lines[2:]] == [BASE, "twin, numpy"]
    assert all(line.endswith("yes") for line in lines[2:])
    assert "<svg" in (tmp_path / "b.svg").read_text()


@pytest.mark.usefixtures("uncompiled")
def test_data_of_files_by_position_and_by_name(spec, tmp_path):
    np.savez(tmp_path / "d.npz", x=np.arange(1.0, 5.0))
    (tmp_path / "d.csv").write_text("n,other\n3,a\n4,b\n5,c\n6,d\n")
    done = run(f"{spec}:half", f"{tmp_path}/d.npz:x", f"up={True}", f"n={tmp_path}/d.csv:n")
    assert done.exit_code == 0 and done.output.startswith("4 lanes") and done.output.count("yes") == 2
    done = run(f"{spec}:half", "1.0", f"{tmp_path}/d.csv:none", "True")
    assert done.exit_code == 2 and "has the columns n, other" in done.output
    done = run(f"{spec}:half", "1.0", f"{tmp_path}/d.csv:other", "True")
    assert done.exit_code == 2 and "the column other has something that is not a number" in done.output


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.usefixtures("uncompiled")
def test_who_cannot_do_it_says_why(spec):
    done = run(f"{spec}:steps", "1.0", "2")
    assert done.exit_code == 0 and done.output.count("ZeroDivisionError: float division") == 2
    done = run(f"{spec}:half", "1.0")
    assert done.exit_code == 2 and "missing a required argument" in done.output
    done = run(f"{spec}:half", "--range", "2", "1")
    assert done.exit_code == 2 and "LOW must be less than HIGH" in done.output
    done = run(f"{spec}:fill", "--kinds", "f8[:],i8")
    assert done.exit_code == 2 and "give its arguments as DATA" in done.output


def test_labels_of_a_picture_are_within_its_frame():
    pytest.importorskip("matplotlib")
    figure = bench_module._figure([BenchRow(BASE, 1.0, True), BenchRow("twin, numba", 1.0 / 123_456.0, True)], "f")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert all(text.get_window_extent().x1 < axes.get_window_extent().x1 for text in axes.texts)


def halved(x):
    return x / 2.0


def test_numba_is_a_contender():
    makers = bench_module.contenders(halved)
    assert list(makers) == [BASE, "numba.vectorize", "twin, numpy", "twin, numba"]
    (row,) = measured({"numba.vectorize": makers["numba.vectorize"]}, halved, (np.arange(5.0),))
    assert row.same and row.seconds is not None


def test_a_contender_with_other_values_is_told():
    makers = {BASE: lambda: np.vectorize(abs), "wrong": lambda: np.negative}
    rows = measured(makers, abs, (np.array([1.0, -2.0, np.nan]),))
    assert [row.same for row in rows] == [True, False]


def test_a_contender_that_returns_where_the_original_raises_differs():
    (row,) = measured({"wrong": lambda: np.sqrt}, lambda x: 1.0 / x, (np.array([1.0, 0.0]),))
    assert not row.same


def test_the_table_counts_in_times_of_the_first():
    rows = [BenchRow(BASE, 0.5, True), BenchRow("twin", 0.125, False), BenchRow("other", None, False, "TypeError: no")]
    found = table(rows, 1_000_000)
    assert found[2].split() == [BASE, "500.000", "500.0", "1.0", "yes"]
    assert found[3].split() == ["twin", "125.000", "125.0", "4.0", "NO"]
    assert found[4].endswith("TypeError: no")
