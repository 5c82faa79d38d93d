"""What notebooks show of explain() and profile()."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import pyflat


class Reader(HTMLParser):
    """Rows of cells, what is open at the end, and the widths of bars."""

    def __init__(self, text: str):
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.widths: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "i":
            self.widths.append(dict(attrs)["style"].split(";")[0])
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if any(tag in ("td", "th") for tag in self.open):
            self.rows[-1][-1] += data


def grown(x: float, limit: float) -> int:
    k = 0
    while x < limit:
        x = x * 2.0 if x > 1.0 else x + math.exp(x)
        k += 1
    return k


def smooth(a: Any, out: Any) -> None:
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0


def test_what_a_twin_costs() -> None:
    found = pyflat.twin(grown).explain()
    read = Reader(found._repr_html_())
    assert not read.open
    assert ["select", "1", "1", ""] in read.rows
    assert any("while x < limit:" in row for row in read.rows)
    assert any(row[:2] == ["exp", "1"] for row in read.rows)
    assert sum(float(width.split(":")[1].rstrip("%")) for width in read.widths) == pytest.approx(100.0, abs=0.5)


def test_where_lanes_go() -> None:
    read = Reader(pyflat.twin(grown).profile(np.array([0.5, 2.0, 2.0, 9.0]), 8.0)._repr_html_())
    assert not read.open
    (row,) = [row for row in read.rows if "x > 1.0" in row]
    assert row[2:4] == ["6", "1"]
    assert ["2", "2", ""] in read.rows  # two lanes make two trips
    assert "width: 85.7%" in read.widths


def test_a_kernel() -> None:
    twin = pyflat.twin(smooth)
    twin(np.ones(9), np.zeros(9))
    read = Reader(twin.explain()._repr_html_())
    assert not read.open
    assert any(row[0] == "out" and "written" in row for row in read.rows)
    assert any("for i in range(1, len(a) - 1):" in row and "lanes" in row for row in read.rows)


def test_source_is_text() -> None:
    assert "x &lt; limit" in pyflat.twin(grown).explain()._repr_html_()
