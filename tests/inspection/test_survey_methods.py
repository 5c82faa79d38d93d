"""Methods in a survey: each as a function that makes the object."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyflat.cli.main import commands
from pyflat.inspection import survey as surveys

LIBRARY = '''\
import abc
import enum
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class Point(NamedTuple):
    x: float
    y: float = 1.0

    def norm(self):
        return math.hypot(self.x, self.y)


@dataclass
class Line:
    slope: float
    count: int = 2

    @property
    def twice(self):
        return self.slope * self.count

    def at(self, x, /, slope: float = 0.5, *, way="up"):
        return self.twice * x + slope if way == "up" else x


class Ramp:
    scale = 2.0

    def __init__(self, low, high=1.0):
        if low > high:
            raise ValueError("low > high")
        self.low, self.high = low, high

    def __call__(self, x):
        return self.scale * (min(max(x, self.low), self.high) - self.low)

    def __add__(self, other):
        return self.low + other

    @classmethod
    def scaled(cls, u):
        return cls.scale * u

    @staticmethod
    def half(u):
        return u / 2

    @cached_property
    def width(self):
        return self.high - self.low

    def grow(self, by):
        self.high += by

    def ask(self):
        return self.low + float(input())


class Kept(Ramp):
    def double(self, x):
        return 2 * self(x)


class NoFee(enum.Enum):
    def half(self, x: float):
        return self.value * x / 2.0


class Fee(enum.Enum):
    LOW = 1
    HIGH = 3

    def of(self, amount):
        return self.value * amount


class Basket:
    def __init__(self, items: list):
        self.items = items

    def total(self, price):
        return price * len(self.items)


class Asked:
    def __init__(self, x):
        self.x = x + float(input())

    def twice(self, y):
        return (self.x + y) * 2


class Base(abc.ABC):
    @abc.abstractmethod
    def shape(self, x):
        return x


class Problem(ValueError):
    def cost(self, x):
        return x


def masked(n):
    kept = 0
    for bit in range(n):
        kept ^= 1 << bit
    return kept
'''


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shapes.py").write_text(LIBRARY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found(library: Path) -> dict[str, surveys.Row]:
    return {row.function: row for row in surveys.survey("shapes.py").rows}


def test_methods_are_tried_with_objects_made_of_numbers(found):
    used = {name: row.use for name, row in found.items() if row.verdict == "flattens"}
    assert used == {
        "Point.norm": "Point(x=x, y=y).norm()",
        "Line.twice": "Line(slope=slope, count=count).twice",
        "Line.at": "Line(slope=line_slope, count=count).at(x, slope=slope, way=way)",
        "Ramp.__call__": "Ramp(low=low, high=high)(x=x)",
        "Ramp.scaled": "Ramp.scaled(u=u)",
        "Ramp.half": "Ramp.half(u=u)",
        "Ramp.width": "Ramp(low=low, high=high).width",
        "Kept.double": "Kept(low=low, high=high).double(x=x)",
        "Fee.of": "member.of(amount=amount)",
        "masked": "",
    }
    assert found["Line.at"].kinds == {"line_slope": "float", "x": "float", "count": "int", "slope": "float"}
    assert found["Line.at"].fixed == {"way": "'up'"}
    assert found["Fee.of"].fixed == {"member": "<Fee.LOW: 1>"} and not found["Fee.of"].but


def test_rows_of_methods_have_the_place_of_the_method(found, library):
    line = LIBRARY[:LIBRARY.index("def norm")].count("\n") + 1
    assert (found["Point.norm"].file, found["Point.norm"].line) == (str(library / "shapes.py"), line)
    refused = found["Ramp.ask"]
    assert (refused.verdict, refused.code, refused.construct) == ("refused", "flatten/unknown-call", "input()")
    assert refused.at == f"{library / 'shapes.py'}:{LIBRARY[:LIBRARY.index('float(input')].count(chr(10)) + 1}"


def test_methods_that_are_no_functions_of_numbers_are_skipped(found):
    assert {name: row.message for name, row in found.items() if row.verdict == "skipped"} == {
        "Ramp.__init__": "a special function", "Ramp.__add__": "a special function", "Ramp.grow": "returns nothing",
        "Basket.__init__": "a special function", "Basket.total": "a method of an object that takes a container or an object",
        "Asked.__init__": "a special function",
        "Asked.twice": "a method of an object that cannot be made of numbers",
        "Base.shape": "a method of an object that cannot be made of numbers",
        "Problem.cost": "a method of an object that cannot be made of numbers",
        "NoFee.half": "a method of an object that cannot be made of numbers",
    }


def test_a_parameter_that_is_used_as_an_int_is_one(found):
    assert found["masked"].kinds == {"n": "int"}


class _Reader(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.outside: list[str] = []
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.outside += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open:
            self.cells[-1] += data


def test_the_page_stands_alone_and_has_every_row(library):
    (library / "shapes.py").write_text(LIBRARY + "\ndef tagged(x, how='<b>'):\n    return x if how == '<b>' else input()\n")
    done = CliRunner().invoke(commands, ["survey", "shapes.py", "--html", "page.html"])
    assert done.exit_code == 0, done.output
    text = (library / "page.html").read_text()
    read = _Reader(text)
    assert not read.outside and not read.open and "<b>" not in text
    tried = [row for row in surveys.survey("shapes.py").rows if row.verdict != "skipped"]
    assert [cell for cell in read.cells if re.fullmatch(r"[\w.]+", cell) and cell in {row.function for row in tried}] == [
        row.function for row in tried]
    assert "how='<b>'" in " ".join(read.cells)


def test_a_page_that_cannot_be_written_is_an_error(library):
    done = CliRunner().invoke(commands, ["survey", "shapes.py", "--html", "missing/page.html"])
    assert done.exit_code == 1 and "missing/page.html" in done.output and "Traceback" not in done.output


def test_what_flattens_can_be_proved(library):
    pytest.importorskip("z3")
    done = CliRunner().invoke(commands, ["survey", "shapes.py", "--prove", "--json"])
    rows = {row["function"]: row["proved"] for row in json.loads(done.output)["rows"]}
    assert rows["Ramp.width"] == rows["Point.norm"] == "proved"
    assert rows["masked"] == "proved" and rows["Ramp.grow"] == ""
