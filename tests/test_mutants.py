"""The mutants still fit the text of pyflat, every pass has three of them, and the page says that each was noticed.

`make mutants` is the real run; here one of them is hunted.
"""

from __future__ import annotations

import collections
import pkgutil

import pytest

import pyflat.passes
from benchmarks.mutants import ALIVE, HEAD, PAGE, hunt, key, known_rows
from tests.mutants import MUTANTS, PACKAGE, Mutant
from tests.passes import test_backend_passes

PASSES = {module.name for module in pkgutil.iter_modules(pyflat.passes.__path__)} - {"accuracy", "pipelines", "record", "rules"} | {"drop_faults"}
RULES = {"fold_fast", "fold_identities", "fuse_multiply_add", "fuse_selects", "recognise_extrema", "recognise_lerp"}
"""Passes that are tables of rules, each with mutants of its own: tests/passes/test_rules.py."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=key)
def test_a_mutant_is_another_program(mutant: Mutant) -> None:
    text = (PACKAGE / mutant.file).read_text()
    assert text.count(mutant.old) == 1, "the part was rewritten: change tests/mutants.py, and run `make mutants`"
    changed = text.replace(mutant.old, mutant.new)
    assert compile(changed, mutant.file, "exec").co_code
    assert changed != text


def test_every_pass_has_three_mutants() -> None:
    count = collections.Counter(mutant.part for mutant in MUTANTS)
    count.update({module: len(changes) for (module, _), changes in test_backend_passes.MUTANTS.items()})
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
