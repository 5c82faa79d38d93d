"""The page of values: no twin differs from Python in it, and plain numba does."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "values.md"
ROWS = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]


def test_twins_are_python() -> None:
    assert len(ROWS) > 100
    assert [row for row in ROWS if "**" in row[-3] or "**" in row[-2]] == []


def test_plain_numba_is_not() -> None:
    assert sum("**" in row[-1] for row in ROWS) >= 30
