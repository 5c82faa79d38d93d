"""The example prints what its functions compute, and what the literal rules leave behind."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "dataflow_gcd.py"


def test_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    out = capsys.readouterr().out
    assert "gcd(48, 18) = 6, 1 done token, 0 tokens left" in out
    assert "while: raw T T T F, body control 3, exits 1\n    carry_a: 48 18 12 6\n" in out
    assert "while: raw F, body control 0, exits 1\n" in out
    assert "for_j: raw T F T T F T T T F, body control 6, exits 3\n" in out
    assert "in 100 firing orders: {(6,)}" in out
    assert "the corrected rules: 6\nthe rules as written: 2\n" in out
