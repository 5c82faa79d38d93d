"""The page about the documents behind pyflat: the tests it names exist, states are of the four, counts are those of rows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "seeds.md").read_text(encoding="utf-8")
STATES = ("works", "differs", "declined", "open")
TABLES = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[(\w+)\])?`")


def rows(table: str) -> list[list[str]]:
    """Statement, state and where it is seen."""
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")][2:]


def names_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", TABLES)
def test_rows_have_one_of_four_states_and_say_where_it_is_seen(name):
    for row in rows(TABLES[name]):
        _, state, where = row
        assert state in STATES, row
        assert bool(NAMED.fullmatch(where)) == (state == "works"), row
        assert where != "" and (state != "differs" or "](" in where), row


@pytest.mark.parametrize("name", TABLES)
def test_counts_are_those_of_the_rows(name):
    counts = Counter(state for _, state, _ in rows(TABLES[name]))
    said = f"{counts.total()} statements: " + ", ".join(f"{counts[state]} {state}" for state in STATES) + "."
    assert said in TABLES[name].splitlines()


@pytest.mark.parametrize("file", sorted({file for file, _, _ in NAMED.findall(PAGE)}))
def test_tests_that_are_named_exist(file):
    here = names_of(file)
    missing = [name for place, test, case in NAMED.findall(PAGE) if place == file for name in (test, case)
               if name and name not in here]
    assert missing == []


def test_there_are_five_documents():
    assert len(TABLES) == 5
    assert sum(len(rows(table)) for table in TABLES.values()) > 200
