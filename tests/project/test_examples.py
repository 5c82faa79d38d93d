"""The examples run, and say what they should."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Imports as `python examples/demo.py` has them."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    yield
    for name in set(sys.modules) - before:
        if str(ROOT / "examples") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_call_price_of_the_textbook() -> None:
    """Hull, "Options, Futures, and Other Derivatives", example of the chapter on Black-Scholes: 4.76 and 0.81."""
    prices = module("black_scholes")
    assert prices.option_price(42.0, 40.0, 0.5, 0.1, 0.2, False) == pytest.approx(4.76, abs=0.005)
    assert prices.option_price(42.0, 40.0, 0.5, 0.1, 0.2, True) == pytest.approx(0.81, abs=0.005)


@pytest.mark.parametrize("eccentricity", [0.0, 0.3, 0.79, 0.8, 0.97])
def test_anomaly_solves_keplers_equation(eccentricity: float) -> None:
    solve = module("kepler").eccentric_anomaly
    for mean in np.linspace(-math.pi, math.pi, 41).tolist():
        anomaly = solve(mean, eccentricity)
        assert anomaly - eccentricity * math.sin(anomaly) == pytest.approx(mean, abs=1e-12)


def test_pixels_have_colours_in_range() -> None:
    pixel = module("scene").pixel
    colours = [pixel(u, v) for u in (-1.4, -0.4, 0.1, 0.8) for v in (-0.9, -0.2, 0.1, 0.95)]
    assert all(0.0 <= channel <= 1.0 for colour in colours for channel in colour)
    assert len(set(colours)) == len(colours)


def test_kernels_put_their_edges_first() -> None:
    for kernel in module("kernels").KERNELS:
        lanes, edges = kernel.lanes(5_000), kernel.edge_lanes()
        assert {len(column) for column in lanes} == {5_000}
        for column, edge in zip(lanes, edges, strict=True):
            np.testing.assert_array_equal(column[: len(edge)], edge)


def test_comparison_sees_one_bit_one_sign_and_one_nan() -> None:
    differing = module("lanewise").differing_lanes
    theirs = np.array([1.0, 0.0, math.nan, 2.0, math.inf])
    ours = np.array([math.nextafter(1.0, 2.0), -0.0, math.nan, math.nan, math.inf])
    assert differing((ours,), (theirs,)).tolist() == [0, 1, 3]
    assert differing((np.array([1, 2]),), (np.array([1, 3]),)).tolist() == [1]
    with pytest.raises(TypeError):
        differing((np.array([1, 2]),), (np.array([1.0, 2.0]),))


def test_demo_finds_every_lane_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo itself, small, without the picture's function (see the slow test)."""
    demo = module("demo")
    for kernel in demo.KERNELS:
        for target in demo.TARGETS:
            row = demo.measure(kernel, target, vectorize_ns=1.0, lane_count=3_000, checked=3_000)
            assert row.wrong == 0, capsys.readouterr().out
            assert row.checked == 3_000


@pytest.mark.slow
def test_demo_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "deep" / "scene.png"
    arguments = ["--lanes", "2000", "--checked", "1000", "--sampled", "500", "--size", "32", "20"]
    assert module("demo").main([*arguments, "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "def rgb_to_hsv_flat(" in out
    assert "DIFFER" not in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_counts_a_wrong_lane(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    demo = module("demo")
    right = demo.original_columns

    def off_by_a_bit(function: Any, lanes: Any) -> Any:
        first, *rest = (column.copy() for column in right(function, lanes))
        first[7] = np.nextafter(first[7], 9.0)
        return (first, *rest)

    monkeypatch.setattr(demo, "original_columns", off_by_a_bit)
    row = demo.measure(demo.KERNELS[0], "numpy", vectorize_ns=1.0, lane_count=500, checked=500)
    assert row.wrong == 1
    assert "1 DIFFER" in str(row)
    assert "lane 7: rgb_to_hsv(" in capsys.readouterr().out


def test_benchmark_agrees_with_the_original() -> None:
    speed = module("benchmarks.speed")
    best = speed.measure(speed.KERNELS[0], 2_000, 500, 1)
    assert set(best) == set(speed.CONTENDERS)
    assert all(value > 0.0 for value in best.values())


def test_iterate_jit_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from examples import iterate_jit

    monkeypatch.setitem(sys.modules, "taxcalc", None)
    with pytest.raises(SystemExit, match="pip install taxcalc"):
        iterate_jit.main()


def test_iterate_jit_runs_a_rule_over_records() -> None:
    from examples.iterate_jit import iterated

    def rule(wage: float, rate: float, brackets: tuple[float, float], tax: float) -> tuple[float, float]:
        tax = rate * max(0.0, wage - brackets[0])
        return tax, brackets[1] - tax

    class Policy:
        rate, brackets = np.float64(0.25), np.array([[10.0, 99.0]])

    class Records:
        wage, tax, left = np.array([5.0, 30.0]), np.zeros(2), np.zeros(2)

    iterated(rule, ["tax", "left"])(Policy, Records)
    assert Records.tax.tolist() == [0.0, 5.0] and Records.left.tolist() == [99.0, 94.0]
