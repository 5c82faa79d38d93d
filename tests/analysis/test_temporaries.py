"""Reasons for which arrays that a kernel makes are in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pyflat
from pyflat.analysis.temporaries import REASONS

PAGE = Path(pyflat.__file__).parents[1] / "docs" / "how-to" / "kernels.md"


def test_numbers_are_of_one_reason_each():
    numbers = [number for number, _ in REASONS.values()]
    assert len({*numbers}) == len(numbers)


def test_the_page_has_the_reasons():
    rows = re.findall(r"^\| (\d+) (\S+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(str(number), name, text) for name, (number, text) in
                    sorted(REASONS.items(), key=lambda row: row[1])]
