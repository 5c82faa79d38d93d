"""The mutants still fit the text of pyflat, every pass has three of them, and the page says that each was noticed.

`make mutants` is the real run; here one of them is hunted.
"""

from __future__ import annotations

import ast
import collections
import functools
import pkgutil

import pytest

import pyflat.passes
from benchmarks.mutants import ALIVE, HEAD, PAGE, edits_in_tests, hunt, key, known_rows
from tests.mutants import MUTANTS, PACKAGE, Mutant

PASSES = {module.name for module in pkgutil.iter_modules(pyflat.passes.__path__)} - {"accuracy", "pipelines", "record", "rules"} | {"drop_faults"}
RULES = {"fold_fast", "fold_identities", "fuse_multiply_add", "fuse_selects", "recognise_extrema", "recognise_lerp"}
"""Passes that are tables of rules: their tests make the mutants of each rule."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=key)
def test_a_mutant_is_another_program(mutant: Mutant) -> None:
    """Where it does not fit any more: change tests/mutants.py, and run `make mutants`."""
    tree = mutant.edit.tree((PACKAGE / mutant.file).read_text())
    assert compile(tree, mutant.file, "exec").co_code
    assert ast.dump(tree) != original(mutant.file)


@functools.cache
def original(file: str) -> str:
    """The tree of a file, which Python prints as it reads it."""
    tree = ast.parse((PACKAGE / file).read_text())
    assert ast.dump(ast.parse(ast.unparse(tree))) == ast.dump(tree)
    return ast.dump(tree)


def test_the_tests_of_a_mutant_exist() -> None:
    assert [path for mutant in MUTANTS for path in mutant.tests if not (PACKAGE.parent / path).exists()] == []


def test_every_pass_has_three_mutants() -> None:
    count = collections.Counter(mutant.part for mutant in MUTANTS)
    count.update({part: len(edits) for part, edits in edits_in_tests().items()})
    assert PASSES - RULES <= count.keys()
    assert min(count.values()) >= 3
    assert len(set(map(key, MUTANTS))) == len(MUTANTS)


def test_every_mutant_was_noticed() -> None:
    rows = known_rows()
    assert list(rows) == list(map(key, MUTANTS)), "run `make mutants`"
    assert [row for row in rows.values() if row.endswith(ALIVE)] == []
    assert PAGE.read_text().startswith(f"{HEAD}{len(MUTANTS)} of {len(MUTANTS)} mutants are noticed.")


def test_a_mutant_is_noticed_by_tests_and_by_programs() -> None:
    mutant = next(m for m in MUTANTS if m.what == "a raise is no fault")
    verdict = hunt(mutant, programs=30, both=True)
    assert verdict.killed
    assert verdict.test.startswith("passes/test_lower_exits.py::")
    assert int(verdict.programs) <= 30
