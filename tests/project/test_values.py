"""The page of values: its rows are what Python and the twins give, no twin differs from Python, and plain numba
does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "reference" / "values.md"
ROWS = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
TARGETS = {"numpy": 3, "numba": 4}


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


VALUES = _load("values")
CASES = VALUES.value_cases().CASES
STARTS = [sum(len(case.rows) for case in CASES[:k]) for k in range(len(CASES))]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda k: f"{CASES[k].function.__name__}-{k}")
def test_twins_give_what_the_page_says(number: int, target: str) -> None:
    case = CASES[number]
    rows = ROWS[STARTS[number]:STARTS[number] + len(case.rows)]
    wanted, found = VALUES.python(case), VALUES.twin(case, target)
    assert [row[2] for row in rows] == wanted
    assert [row[TARGETS[target]] for row in rows] == found
    assert all(map(VALUES.held, wanted, found))


def test_the_page_has_every_case() -> None:
    assert len(ROWS) == sum(len(case.rows) for case in CASES)


def test_plain_numba_is_not_python() -> None:
    assert sum("**" in row[-1] for row in ROWS) >= 30
