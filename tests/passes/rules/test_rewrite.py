"""Patterns and sweeps: what matches, when a rule pays, and what reuses what is there."""

from __future__ import annotations

import pytest

from pyflat.errors import InternalError
from pyflat.ir.nodes import Function
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.fold_identities import RULES
from pyflat.passes.prune_dead import prune_dead
from pyflat.passes.rules.patterns import Rule, matches, parse_pattern, words
from pyflat.passes.rules.rewrite import Rules, rewrite, use_counts
from tests.passes.flat_programs import assert_equal, body_of, flat, samples
from tests.passes.sweeps import TreePrograms
from tests.support.edits import Edit, mutated

COMMON = Rule(INT, "add(mul(x, y), mul(x, z))", "mul(x, add(y, z))")


def swept(rule: Rule, body: str) -> str:
    return body_of(prune_dead(rewrite(flat(body), Rules([rule]))))


def stays(rule: Rule, body: str) -> None:
    fn = flat(body)
    assert rewrite(fn, Rules([rule])) is fn


def test_words_of_a_pattern():
    pattern = parse_pattern("select(pq, add(x, A), sub(x, n))", FLOAT)
    assert [(w.name, w.kind, w.literal) for w in words(pattern)] == [
        ("pq", BOOL, False), ("x", FLOAT, False), ("A", FLOAT, True), ("n", INT, False)]  # fmt: skip


@pytest.mark.parametrize("text", ["add(x, y", "add(x; y)", "plus(x, y)", "add(x, y) z", ""])
def test_what_is_no_pattern(text):
    with pytest.raises((ValueError, IndexError)):
        parse_pattern(text, FLOAT)


def test_free_orders_are_tried():
    for a in ("mul %i, %j", "mul %j, %i"):
        for b in ("mul %i, 3", "mul 3, %i"):
            assert "add 3, %j" in swept(COMMON, f"%a = {a} : i8\n%b = {b} : i8\n%c = add %a, %b : i8\nyield %c").replace("%j, 3", "3, %j")


def test_a_comparison_matches_its_mirror_image():
    rule = Rule(FLOAT, "select(lt(y, x), y, x)", "min(x, y)")
    for test in ("lt %y, %x", "gt %x, %y"):
        assert swept(rule, f"%a = {test} : b\n%b = select %a, %y, %x : f8\nyield %b") == "%b = min %x, %y : f8\nyield %b"
    stays(rule, "%a = lt %x, %y : b\n%b = select %a, %y, %x : f8\nyield %b")


def test_a_repeated_word_is_the_same_value():
    rule = Rule(FLOAT, "mul(abs(x), abs(x))", "mul(x, x)")
    stays(rule, "%a = abs %x : f8\n%b = abs %y : f8\n%c = mul %a, %b : f8\nyield %c")
    assert swept(rule, "%a = abs %x : f8\n%c = mul %a, %a : f8\nyield %c") == "%c = mul %x, %x : f8\nyield %c"


def test_kinds_are_told_apart():
    stays(Rule(INT, "add(x, neg(y))", "sub(x, y)"), "%a = neg %y : f8\n%b = add %x, %a : f8\nyield %b")


def test_literals_are_told_by_bits():
    stays(Rule(FLOAT, "add(x, 0.0)", "x"), "%b = add %x, -0.0 : f8\nyield %b")


def test_where_says_no():
    rule = Rule(FLOAT, "add(x, A)", "x", where=lambda A: {} if A > 5 else None)
    stays(rule, "%b = add %x, 1.0 : f8\nyield %b")
    assert swept(rule, "%b = add %x, 7.0 : f8\nyield %b") == "yield %x"
    (found,) = matches(rule, flat("%b = add %x, 7.0 : f8\nyield %b").flat_block.ops[0])
    assert set(found.bindings) == {"x", "A"} and found.inner == ()


def test_what_something_else_uses_does_not_go():
    stays(COMMON, "%a = mul %i, %j : i8\n%b = mul %i, 3 : i8\n%c = add %a, %b : i8\n%d = sub %a, %b : i8\nyield %c, %d")


def test_what_is_there_already_costs_nothing():
    body = "%s = add %j, 3 : i8\n%a = mul %i, %j : i8\n%b = mul %i, 3 : i8\n%c = add %a, %b : i8\nyield %c, %s, %a"
    assert swept(COMMON, body) == "%s = add %j, 3 : i8\n%a = mul %i, %j : i8\n%c = mul %i, %s : i8\nyield %c, %s, %a"


def test_one_rule_sees_what_another_has_made():
    body = "%a = neg %x : f8\n%b = neg %a : f8\n" + "%c = mul %b, -1.0 : f8\n%d = mul %c, -1.0 : f8\nyield %d"
    rules = Rules([Rule(FLOAT, "mul(x, -1.0)", "neg(x)", free=True), Rule(FLOAT, "neg(neg(x))", "x")])
    assert body_of(prune_dead(rewrite(flat(body), rules))) == "yield %x"


def test_a_tie_is_left_unless_the_rule_is_free():
    body = "%a = mul %x, -1.0 : f8\nyield %a"
    stays(Rule(FLOAT, "mul(x, -1.0)", "neg(x)"), body)
    assert swept(Rule(FLOAT, "mul(x, -1.0)", "neg(x)", free=True), body) == "%a = neg %x : f8\nyield %a"


def test_by_cost_may_make_more_operations():
    before = "%a = pow %x, 3.0 : f8\nyield %a"
    stays(Rule(FLOAT, "pow(x, 3.0)", "mul(x, mul(x, x))"), before)
    rule = Rule(FLOAT, "pow(x, 3.0)", "mul(x, mul(x, x))", by_cost=True)
    assert swept(rule, before) == "%0 = mul %x, %x : f8\n%a = mul %x, %0 : f8\nyield %a"


def right(change) -> None:
    """Values kept, and nothing larger, on random trees."""
    for seed in range(150):
        fn = TreePrograms(seed).function(24)
        after = change(fn)
        validate(after)
        assert len(prune_dead(after).flat_block.ops) <= len(prune_dead(fn).flat_block.ops)
        assert_equal(fn, after, samples(fn, 8, seed))
    chain = "\n".join(["%a0 = neg %x : f8", *(f"%a{k} = mul %a{k - 1}, -1.0 : f8" for k in range(1, 12)), "yield %a11, %a5"])
    fn = flat(chain)
    after = change(fn)
    assert_equal(fn, after, samples(fn, 20))
    two_steps = flat("%a = mul %x, -1.0 : f8\n%b = add %y, %a : f8\nyield %b")
    assert body_of(prune_dead(change(two_steps))) == "%b = sub %y, %x : f8\nyield %b"
    tie = flat("%a = not %p : b\n%b = not %q : b\n%c = and %a, %b : b\nyield %c, %a")  # neither, not p: 3 either way
    assert change(tie) is tie
    both = flat("%a = mul %i, %j : i8\n%b = mul %i, 3 : i8\n%c = add %a, %b : i8\n%d = sub %a, %b : i8\nyield %c, %d")
    assert change(both) is both


RULES_TRIED = Rules(RULES)


def test_sweeps_over_random_trees():
    right(lambda fn: rewrite(fn, RULES_TRIED))


MUTANTS = (
    ("_Rewriting.going", "left[op] == self.uses[op]", "True"),
    ("_Rewriting.pays", "return len(made) < len(going)", "return True"),
    ("_Rewriting._settle", "self.mapped[op] = new", "pass"),
    ("_Rewriting._settle", "self.uses[new] += self.uses[op]", "pass"),
    ("_Rewriting.pays", "made: list[str] = []", "return True"),
    ("_Rewriting.pays", "less > 0", "less >= 0"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    made = mutated("pyflat.passes.rules.rewrite", Edit(*edit))
    rules = made.Rules(RULES)

    def change(fn: Function) -> Function:
        return made.rewrite(fn, rules)

    with pytest.raises((AssertionError, KeyError, InternalError)):
        right(change)


def test_uses_count_results():
    fn = flat("%a = add %x, %y : f8\nyield %a, %a")
    assert use_counts(fn)[fn.flat_block.ops[0]] == 2
