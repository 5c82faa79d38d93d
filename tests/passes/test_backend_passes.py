"""The passes of backends that are no tables of rules: what must not change first, then what becomes what."""

from __future__ import annotations

import importlib
import random
import sys
import types
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Block, Function, Label, Param, Value, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.ir.validate import validate
from pyflat.passes.decide_selects import decide_selects
from pyflat.passes.factor_selects import factor_selects
from pyflat.passes.fold_calls import fold_calls
from pyflat.passes.fold_identities import fold_identities
from pyflat.passes.fuse_multiply_add import fuse_multiply_add
from pyflat.passes.fuse_selects import fuse_selects
from pyflat.passes.prune_dead import prune_dead
from pyflat.passes.push_negations import push_negations
from pyflat.passes.reassociate import reassociate
from pyflat.passes.recognise_dots import recognise_dots
from pyflat.passes.recognise_extrema import recognise_extrema
from pyflat.passes.rules.rewrite import use_counts
from pyflat.passes.share_reciprocals import share_reciprocals
from pyflat.passes.simplify_bools import simplify_bools
from pyflat.passes.split_uniform import split_uniform
from tests.passes.flat_programs import FlatPrograms, assert_equal, body_of, flat, samples
from tests.passes.rational import FloatPrograms, assert_equal_exactly

EXACT = (push_negations, decide_selects, reassociate, factor_selects, simplify_bools, fold_identities, fuse_selects, recognise_extrema, fold_calls)


def swept(change: Any, body: str, **options: Any) -> str:
    fn = flat(body)
    text = format_function(fn)
    after = prune_dead(change(fn, **options))
    validate(after)
    assert format_function(fn) == text
    return body_of(after)


def lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def stays(change: Any, body: str, **options: Any) -> None:
    fn = flat(body)
    assert change(fn, **options) is fn


# --- De Morgan


def test_orderings_of_floats_keep_their_not():
    stays(push_negations, "%a = lt %x, %y : b\n%b = gt %y, 1.0 : b\n%c = and %a, %b : b\n%d = not %c : b\nyield %d")


def test_a_predicate_that_is_used_elsewhere_stays():
    stays(push_negations, "%a = lt %i, %j : b\n%b = and %a, %p : b\n%c = not %b : b\nyield %c, %b")


def test_a_not_of_unknown_bools_stays():
    stays(push_negations, "%b = and %p, %q : b\n%c = not %b : b\nyield %c")


def test_negations_reach_comparisons():
    got = swept(push_negations, """
        %a = lt %i, %j : b
        %b = eq %x, %y : b
        %n = not %p : b
        %c = or %a, %b : b
        %d = and %c, %n : b
        %e = not %d : b
        yield %e
    """)  # fmt: skip
    assert got == lines("""
        %0 = ge %i, %j : b
        %1 = ne %x, %y : b
        %2 = and %0, %1 : b
        %e = or %2, %p : b
        yield %e
    """)


def test_finite_floats_have_opposites():
    body = "%a = lt %x, %y : b\n%b = gt %y, 1.0 : b\n%c = and %a, %b : b\n%d = not %c : b\nyield %d"
    assert swept(push_negations, body, finite=True) == lines("""
        %0 = ge %x, %y : b
        %1 = le %y, 1.0 : b
        %d = or %0, %1 : b
        yield %d
    """)


# --- selects


@pytest.mark.parametrize("body", [
    "%a = mul %x, 2.0 : f8\n%b = add %x, 3.0 : f8\n%c = select %p, %a, %b : f8\nyield %c",
    "%a = mul %x, %y : f8\n%b = mul %y, 3.0 : f8\n%c = select %p, %a, %b : f8\nyield %c, %b",
    "%a = sub %x, %y : f8\n%b = sub %y, %x : f8\n%c = select %p, %a, %b : f8\nyield %c",
    "%a = mul %x, 2.0 : f8\n%b = mul %y, 3.0 : f8\n%c = select %p, %a, %b : f8\nyield %c",
])
def test_selects_that_cannot_be_factored(body):
    stays(factor_selects, body)


def test_a_common_operand_is_taken_out():
    body = "%a = mul %x, 2.0 : f8\n%b = mul 3.0, %x : f8\n%c = select %p, %a, %b : f8\nyield %c"
    assert swept(factor_selects, body) == lines("""
        %0 = select %p, 2.0, 3.0 : f8
        %c = mul %x, %0 : f8
        yield %c
    """)


def test_chains_are_factored_at_once():
    body = ("%a = sin %x : f8\n%b = cos %a : f8\n%c = mul %b, 2.0 : f8\n%d = sin %y : f8\n%e = cos %d : f8\n"
            "%f = mul 2.0, %e : f8\n%g = select %p, %c, %f : f8\nyield %g")
    want = "%0 = select %p, %x, %y : f8\n%1 = sin %0 : f8\n%2 = cos %1 : f8\n%g = mul %2, 2.0 : f8\nyield %g"
    assert swept(factor_selects, body) == want


def test_arms_of_one_operand():
    body = "%a = sin %x : f8\n%b = sin %y : f8\n%c = select %p, %a, %b : f8\nyield %c"
    assert swept(factor_selects, body) == "%0 = select %p, %x, %y : f8\n%c = sin %0 : f8\nyield %c"


def test_tables_must_be_equal():
    body = "%a = gather %i {table = (1.0, 2.0)} : f8\n%b = gather %j {table = (1.0, 3.0)} : f8\n%c = select %p, %a, %b : f8\nyield %c"
    stays(factor_selects, body)


DECIDED = "%a = add %x, 1.0 : f8\n%b = select %p, %a, %x : f8\n"


@pytest.mark.parametrize("body", [
    DECIDED + "yield %b",
    DECIDED + "%c = mul %b, %y : f8\n%d = select %q, %c, %x : f8\nyield %d",  # another condition
    DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %x : f8\nyield %d, %b",  # read elsewhere
    DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %x : f8\n%e = lt %b, %y : b\nfault %e ValueError()\nyield %d",
    DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %b : f8\nyield %d",  # ir.logic has it: an arm that is a select
    "%a = lt %x, %y : b\n%b = and %p, %a : b\n%c = select %b, %x, %y : f8\nyield %c",
])
def test_selects_that_decide_something(body):
    stays(decide_selects, body)


def test_one_select_is_left_of_a_chain():
    body = DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %c, %x : f8\nyield %d"
    assert swept(decide_selects, body) == lines("""
        %a = add %x, 1.0 : f8
        %c = mul %a, %y : f8
        %d = select %p, %c, %x : f8
        yield %d
    """)


def test_the_other_arm_of_a_chain():
    body = DECIDED + "%c = mul %b, %y : f8\n%d = select %p, %y, %c : f8\nyield %d"
    assert swept(decide_selects, body) == "%c = mul %x, %y : f8\n%d = select %p, %y, %c : f8\nyield %d"


def test_a_chain_of_choices():
    body = """
        %a = lt %x, 9.0 : b
        %b = and %p, %a : b
        %c = select %b, %x, 9.0 : f8
        %d = lt %y, %c : b
        %e = and %p, %d : b
        %f = select %e, %y, %c : f8
        yield %f
    """  # fmt: skip
    once = swept(decide_selects, body)
    assert swept(decide_selects, once) == lines("""
        %a = lt %x, 9.0 : b
        %c = select %a, %x, 9.0 : f8
        %d = lt %y, %c : b
        %0 = select %d, %y, %c : f8
        %f = select %p, %0, 9.0 : f8
        yield %f
    """)


# --- bools


def test_a_predicate_that_is_spread_over_operations():
    got = swept(simplify_bools, """
        %a = not %p : b
        %b = and %q, %a : b
        %c = ne %q, %b : b
        %d = or %c, %p : b
        yield %d
    """)  # fmt: skip
    assert got == "yield %p"


def test_a_tautology():
    assert swept(simplify_bools, "%a = not %p : b\n%b = and %q, %a : b\n%c = or %b, %p : b\n%d = not %q : b\n%e = or %c, %d : b\nyield %e") == "yield true"


def test_a_real_function_of_bools_stays():
    stays(simplify_bools, "%a = xor %p, %q : b\nyield %a")
    stays(simplify_bools, "%c = lt %x, %y : b\n%a = select %p, %q, %c : b\nyield %a")


# --- sums and products


reals = partial(reassociate, kinds=(INT, FLOAT))


def test_sums_are_collected():
    got = swept(reals, """
        %a = add %x, 1.0 : f8
        %b = add %a, %y : f8
        %c = add %b, %x : f8
        %d = add %c, 2.0 : f8
        yield %d
    """)  # fmt: skip
    assert got == "%0 = mul %x, 2.0 : f8\n%1 = add %0, %y : f8\n%d = add %1, 3.0 : f8\nyield %d"


def test_products_are_powers():
    got = swept(reals, "%a = mul %x, %x : f8\n%b = mul %a, %x : f8\n%c = mul %b, %x : f8\nyield %c")
    assert got == "%a = mul %x, %x : f8\n%c = mul %a, %a : f8\nyield %c"


def test_terms_that_cancel():
    body = "%a = add %x, %y : f8\n%b = sub %a, %x : f8\nyield %b"
    assert swept(reals, body, finite=True) == "yield %y"
    stays(reals, body, no_signed_zeros=True)  # an infinite x gives nan
    body = "%a = sub %x, %y : f8\n%b = sub %a, %x : f8\nyield %b"
    assert swept(reals, body, finite=True) == "%b = neg %y : f8\nyield %b"
    body = "%a = add %x, 1.0 : f8\n%b = sub %a, 1.0 : f8\nyield %b"
    assert swept(reals, body, no_signed_zeros=True) == "yield %x"
    stays(reals, body, finite=True)  # -0.0 gives 0.0


@pytest.mark.parametrize("body", [
    "%a = add %x, %y : f8\n%b = add %a, 1.0 : f8\nyield %b",
    "%a = mul %x, 2.0 : f8\n%b = add %a, %y : f8\nyield %b",
    "%a = add %x, 1.0 : f8\n%b = add %a, %y : f8\n%c = add %b, 2.0 : f8\nyield %c, %a",
    "%a = add %x, inf : f8\n%b = add %a, 1.0 : f8\n%c = add %b, 2.0 : f8\nyield %c",
])
def test_sums_that_are_short_already(body):
    stays(reassociate, body, kinds=(INT, FLOAT))


@pytest.mark.parametrize("body", [
    "%a = add %x, 1.0 : f8\n%b = add %a, 1.0 : f8\nyield %b",  # floats, without fast math
    "%a = add %i, %j : i8\n%b = add %a, 1 : i8\nyield %b",
    "%a = add %i, 3 : i8\n%b = add %a, %j : i8\n%c = add %b, 1 : i8\nyield %c, %a",
    # the check for overflow reads what would go
    "%a = add %i, 3 : i8\n%o = lt %a, %i : b\nfault %o OverflowError()\n%b = add %a, 1 : i8\nyield %b",
])
def test_sums_of_ints_that_stay(body):
    stays(reassociate, body)


@pytest.mark.parametrize(("body", "after"), [
    ("%a = add %i, 3 : i8\n%b = add %a, %j : i8\n%c = add %b, 1 : i8\n%d = add %c, %i : i8\nyield %d",
     "%0 = mul %i, 2 : i8\n%1 = add %0, %j : i8\n%d = add %1, 4 : i8\nyield %d"),
    ("%a = add %i, %j : i8\n%b = sub %a, %i : i8\nyield %b", "yield %j"),
    ("%a = sub 5, %i : i8\n%b = sub %a, 5 : i8\nyield %b", "%b = neg %i : i8\nyield %b"),
    ("%a = mul %i, 3 : i8\n%b = mul %a, %j : i8\n%c = mul %b, 5 : i8\nyield %c",
     "%0 = mul %i, %j : i8\n%c = mul %0, 15 : i8\nyield %c"),
    ("%a = add %i, 9223372036854775807 : i8\n%b = add %a, 1 : i8\nyield %b",
     "%b = add %i, -9223372036854775808 : i8\nyield %b"),  # modulo 2**64
])
def test_sums_of_ints_are_collected(body, after):
    assert swept(reassociate, body) == after


# --- quotients, dots, calls


def test_one_quotient_stays():
    stays(share_reciprocals, "%a = truediv %x, %y : f8\n%b = truediv %x, 3.0 : f8\n%c = truediv %y, 3.0 : f8\nyield %a, %b, %c")


def test_a_shared_reciprocal():
    body = "%a = truediv %x, %y : f8\n%b = truediv 1.0, %y : f8\nyield %a, %b"
    assert swept(share_reciprocals, body) == "%b = recip %y : f8\n%a = mul %x, %b : f8\nyield %a, %b"


_DOT = """func @f(%x: f8, %y: f8, %u: f8, %v: f8) -> (f8) flat @return {
    %a = mul %x, %v : f8
    %b = mul %y, %u : f8
    %c = add %a, %b : f8
    yield %c
}"""


def test_a_dot_of_two_needs_vectors():
    fn = parse_function(_DOT)
    x, y, u, v = fn.params
    assert recognise_dots(fn, [(x, x)]) is fn
    assert body_of(prune_dead(recognise_dots(fn, [(x, y)]))) == lines("""
        %0 = pack %x, %y : pack
        %1 = pack %v, %u : pack
        %c = dot %0, %1 : f8
        yield %c
    """)


def test_the_order_of_a_vector_is_found():
    fn = flat("%a = mul 0.5, %y : f8\n%b = mul %x, 0.25 : f8\n%c = add %a, %b : f8\nyield %c")
    x, y = fn.params[4:]
    got = body_of(recognise_dots(fn, [(x, y)]))
    assert "pack %x, %y" in got and "pack 0.25, 0.5" in got


def test_a_horizontal_sum():
    fn = parse_function("func @f(%x: f8, %y: f8, %z: f8) -> (f8) flat @return {\n%a = add %x, %y : f8\n%b = add %a, %z : f8\nyield %b\n}")
    got = recognise_dots(fn, [tuple(fn.params)])
    assert body_of(prune_dead(got)) == "%0 = pack %x, %y, %z : pack\n%b = hadd %0 : f8\nyield %b"
    assert recognise_dots(fn) is fn


def test_tables_of_one_value():
    assert swept(fold_calls, "%a = gather %i {table = (2.0, 2.0)} : f8\nyield %a") == "yield 2.0"
    stays(fold_calls, "%a = gather %i {table = (0.0, -0.0)} : f8\nyield %a")


def test_a_vector_taken_apart_and_put_together():
    text = """func @f(%x: f8, %y: f8) -> (f8, f8) flat @return {
        %0 = pack %x, %y : pack
        %a = part %0 {index = 1} : f8
        %b = part %0 {index = 0} : f8
        %1 = pack %b, %a : pack
        %c = dot %0, %1 : f8
        yield %a, %c
    }"""
    once = fold_calls(parse_function(text))
    assert body_of(prune_dead(fold_calls(once))) == "%0 = pack %x, %y : pack\n%c = dot %0, %0 : f8\nyield %y, %c"


def test_parts_in_another_order_are_another_vector():
    text = """func @f(%x: f8, %y: f8) -> (f8) flat @return {
        %0 = pack %x, %y : pack
        %a = part %0 {index = 1} : f8
        %b = part %0 {index = 0} : f8
        %1 = pack %a, %b : pack
        %2 = pack %b, %b : pack
        %c = dot %1, %2 : f8
        yield %c
    }"""
    once = prune_dead(fold_calls(parse_function(text)))
    assert body_of(once) == "%0 = pack %y, %x : pack\n%1 = pack %x, %x : pack\n%c = dot %0, %1 : f8\nyield %c"


def test_mad_is_for_products_that_nothing_else_uses():
    stays(fuse_multiply_add, "%a = mul %x, %y : f8\n%b = add %a, 1.0 : f8\nyield %b, %a")
    assert swept(fuse_multiply_add, "%a = mul %x, %y : f8\n%b = add 1.0, %a : f8\nyield %b", opcode="fma") == "%b = fma %x, %y, 1.0 : f8\nyield %b"


def test_uniform_operations_go_first():
    fn = flat("%a = sin %y : f8\n%b = mul %a, 2.0 : f8\n%c = mul %x, %b : f8\n%d = mul %x, %x : f8\nyield %c, %d, %b")
    split = split_uniform(fn, [fn.params[5]])
    for part in (split.preamble, split.body):
        validate(part)
    assert body_of(split.preamble) == "%a = sin %y : f8\n%b = mul %a, 2.0 : f8\nyield %b"
    assert body_of(split.body) == "%c = mul %x, %b : f8\n%d = mul %x, %x : f8\nyield %c, %d, %b"
    assert [p.name for p in split.links] == ["b"]


# --- on random functions, and their mutants


class TreePrograms(FlatPrograms):
    """Operations that cannot fault, most of them on values that nothing else uses: trees of predicates and selects."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.fresh: list[Value] = []

    def function(self, size: int = 18) -> Function:
        for _ in range(size):
            self.fresh.append(self.one())
        results = self.fresh[-5:]
        block = Block(self.build.block.ops, Yield(results))
        return Function("f", self.params, [block], Label("return"), [v.kind for v in results], "flat")

    def one(self) -> Value:
        r = self.random
        match r.randrange(8):
            case 0 | 1:
                return self.add("not", self.take(BOOL))
            case 2 | 3:
                return self.add(r.choice(("and", "or")), self.take(BOOL), self.take(BOOL))
            case 4:
                return self.add(r.choice(("xor", "eq", "ne")), self.take(BOOL), self.take(BOOL))
            case 5:
                kind = r.choice((INT, FLOAT))
                return self.add(r.choice(("lt", "ge", "eq", "gt", "le", "ne")), self.take(kind), self.take(kind))
            case 6:
                return self.select()
            case _:
                return self.add("gather", self.take(INT), kind=FLOAT, table=r.choice(((1.0, 2.0), (2.0, -1.0))))

    def select(self) -> Value:
        """Of two operations of the same opcode that may share an operand; or of two bools."""
        r = self.random
        if r.random() < 0.4:
            return self.add("select", self.take(BOOL), self.take(BOOL), self.take(BOOL))
        cond, shared = self.take(BOOL), self.value(FLOAT)
        opcode = r.choice(("add", "sub", "mul", "neg", "gather", "sub"))
        if opcode == "neg":
            arms = [self.add("neg", self.value(FLOAT)) for _ in range(2)]
        elif opcode == "gather":
            arms = [self.add("gather", self.value(INT), kind=FLOAT, table=r.choice(((1.0, 2.0), (2.0, -1.0)))) for _ in range(2)]
        else:
            pairs = ([shared, self.value(FLOAT)] for _ in range(2))
            arms = [self.add(opcode, *(pair if r.random() < 0.6 else pair[::-1])) for pair in pairs]
        return self.add("select", cond, *arms)

    def take(self, kind: Kind) -> Value:
        """Most often something that nothing uses yet."""
        free = [value for value in self.fresh if value.kind is kind]
        if free and self.random.random() < 0.8:
            found = self.random.choice(free)
            self.fresh.remove(found)
            return found
        return self.random.choice([p for p in self.params if p.kind is kind])


def chains(seed: int) -> Function:
    """`if p: acc = f(acc)` several times, with few conditions, where f may be a choice of its own."""
    r, build = random.Random(seed), Builder()
    p, q, i, x, y = params = [Param(BOOL, "p"), Param(BOOL, "q"), Param(INT, "i"), Param(FLOAT, "x"), Param(FLOAT, "y")]
    both, neither = build.op("and", p, q), build.op("not", p)
    start: list[Value] = [x, i]
    accs = list(start)
    for _ in range(12):
        k = r.randrange(len(accs))
        acc, other = accs[k], (i if accs[k].kind is INT else r.choice((x, y, const(0.5))))
        new: Value = build.op(r.choice(("add", "mul", "sub")), *r.sample((acc, other), 2))
        cond = r.choice((p, p, p, q, both, neither))
        if r.random() < 0.4:
            test = build.op("lt", new, acc)
            if r.random() < 0.5:
                cond = build.op("and", *r.sample((cond, test), 2))
            else:
                new = build.op("select", test, new, acc)
        old = r.choice((acc, start[k]))
        accs[k] = build.op("select", cond, *(new, old) if r.random() < 0.7 else (old, new))
    return Function("f", params, [Block(build.block.ops, Yield(accs))], Label("return"), [v.kind for v in accs], "flat")


def exactly_right(change: Any, seeds: range = range(45)) -> None:
    for seed in seeds:
        for fn in (FlatPrograms(seed).function(25), TreePrograms(seed).function(), TreePrograms(seed + 1000).function(),
                   chains(seed), chains(seed + 1000), chains(seed + 2000)):
            after = change(fn)
            validate(after)
            assert_equal(fn, after, samples(fn, 15, seed))


def rationally_right(change: Any, seeds: range = range(80)) -> None:
    compared = 0
    for seed in seeds:
        fn = FloatPrograms(seed).function()
        after = change(fn)
        validate(after)
        assert prune_size(after) <= prune_size(fn) + (4 if "recip" in format_function(after) else 0)
        compared += assert_equal_exactly(fn, after, 6, seed)
    assert compared > 2 * len(seeds)


def prune_size(fn: Function) -> int:
    return len([op for op in prune_dead(fn).flat_block.ops if op.opcode != "pack"])


def dots(fn: Function, change: Any = recognise_dots) -> Function:
    return change(fn, [fn.params[:4], fn.params[1:3]])


@pytest.mark.parametrize("change", EXACT, ids=lambda c: c.__name__)
def test_random_functions_keep_every_bit(change):
    exactly_right(change)


def collected(fn: Function, change: Any = reassociate) -> Function:
    return change(fn, (FLOAT,), finite=True, no_signed_zeros=True)



def sums(fn: Function) -> Function:
    return reassociate(fn, (FLOAT,))


@pytest.mark.parametrize("change", [collected, sums, share_reciprocals, dots, fuse_multiply_add],
                         ids=lambda c: c.__name__)
def test_random_functions_keep_their_rational_values(change):
    rationally_right(change)


def halves(fn: Function, split: Any = split_uniform) -> None:
    """The preamble on its parameters, then the body on everything, give what the function gives."""
    from pyflat.ir.interp import run
    from tests.passes.flat_programs import same_bits

    uniform = fn.params[2:5]
    parts = split(fn, uniform)
    validate(parts.preamble)
    validate(parts.body)
    assert not any(op.opcode == "fault" for op in parts.preamble.flat_block.ops)
    for lane in samples(fn, 10):
        once = run(parts.preamble, lane[2:5])
        got, want = run(parts.body, [*lane, *once.values]), run(fn, lane)
        assert want.suspect == got.suspect
        assert want.suspect or all(map(same_bits, got.values, want.values))


def splits_right(split: Any = split_uniform) -> None:
    moved = 0
    for seed in range(40):
        fn = FlatPrograms(seed).function(25)
        halves(fn, split)
        moved += len(split(fn, fn.params[2:5]).preamble.flat_block.ops)
    assert moved > 100


def test_preambles_of_random_functions():
    splits_right()


MUTANTS = {
    ("push_negations", "push_negations"): (
        ("return self.finite or op.opcode", "return True or op.opcode"),
        ('_DUAL = {"and": "or", "or": "and"}', '_DUAL = {"and": "and", "or": "or"}'),
        ('"lt": "ge", "ge": "lt"', '"lt": "gt", "ge": "le"'),
        ("return sweep.read(value.args[0])", "return sweep.read(value)"),
    ),
    ("factor_selects", "factor_selects"): (
        ("[result if k == place else", "[result if k != place else"),
        ("return a, place, first, first[place], second[place]", "return a, place, first, second[place], first[place]"),
        ("if len(places) == 1 and", "if len(places) >= 1 and"),
        ("or a.attrs != b.attrs", ""),
        ("if a.opcode in COMMUTATIVE else", "if len(a.args) == 2 else"),
    ),
    ("decide_selects", "decide_selects"): (
        ("bool(needed) and all(", "bool(needed) and any("),
        ("held is outcome and (known is cond or held and", "held is outcome and (known is cond or"),
        ("((True, then), (False, orelse))", "((True, orelse), (False, then))"),
        ("self.select(select, rest, then, orelse), below)", "self.select(select, rest, then, orelse), orelse.args[1])"),
        ("return self.select(select, rest, then, orelse)\n", "return self.select(select, known, then, orelse)\n"),
    ),
    ("simplify_bools", "simplify_bools"): (
        ('"eq": lambda a, b: a ^ b ^ _ALL', '"eq": lambda a, b: a ^ b'),
        ('"select": lambda c, a, b: c & a | (c ^ _ALL) & b', '"select": lambda c, a, b: c & b | (c ^ _ALL) & a'),
        ("if whole in (0, _ALL):", "if whole & 1:"),
        ("return TRUE if whole else FALSE", "return FALSE if whole else TRUE"),
    ),
    ("reassociate", "reassociate"): (
        ('-scale if value.opcode == "sub" else scale', "scale"),
        ("self.constant + scale * value.value", "self.constant + value.value"),
        ('opcode = "sub" if scale < 0 else "add"', 'opcode = "add"'),
        ("self.powers[value] = self.powers.get(value, 0) + 1", "self.powers[value] = 1"),
        ("self.literal * value.value", "value.value"),
    ),
    ("share_reciprocals", "share_reciprocals"): (
        ("sweep.read(op.args[1])", "sweep.read(op.args[0])"),
        ('sweep.emit("mul", sweep.read(dividend), inverse', 'sweep.emit("mul", sweep.read(op.args[1]), inverse'),
        ("dividend.value == 1.0", "dividend.value != 1.0"),
    ),
    ("recognise_dots", "recognise_dots"): (
        ("if t not in products]", "if False]"),
        ("left, right = (tuple(pair[side] for pair in ordered)", "left, right = (tuple(pair[0] for pair in ordered)"),
        ("rest.remove(lane)", "pass"),
        ("_pack(sweep, right, root)", "_pack(sweep, left, root)"),
    ),
    ("split_uniform", "split_uniform"): (
        ("is_barrier(op) or is_guarded(op) or has_effect(op)", "False"),
        ("[*own, *made]", "[*made, *own]"),
        ("for op in ops if op not in same]", "for op in ops if op in links]"),
    ),
}  # fmt: skip
CHECKS = {
    "push_negations": exactly_right, "factor_selects": exactly_right, "decide_selects": exactly_right, "simplify_bools": exactly_right,
    "reassociate": lambda change: rationally_right(partial(collected, change=change)), "share_reciprocals": rationally_right, "split_uniform": splits_right,
    "recognise_dots": lambda change: rationally_right(partial(dots, change=change), range(160)),
}  # fmt: skip


def mutant_of(module: str, function: str, old: str, new: str) -> Any:
    """The function from the module's text with one thing changed."""
    original = importlib.import_module(f"pyflat.passes.{module}")
    text = Path(original.__file__).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {module}"
    made = types.ModuleType(f"pyflat.passes.{module}_mutant")
    sys.modules[made.__name__] = made  # dataclasses look there
    try:
        exec(compile(text.replace(old, new), f"<mutant of {module}>", "exec"), made.__dict__)
    finally:
        del sys.modules[made.__name__]
    return getattr(made, function)


@pytest.mark.parametrize(("module", "function", "old", "new"), [
    (module, function, old, new) for (module, function), changes in MUTANTS.items() for old, new in changes
])
def test_mutants_die(module, function, old, new):
    mutant = mutant_of(module, function, old, new)
    with pytest.raises((AssertionError, KeyError, ValueError, TypeError, IndexError)):
        CHECKS[module](mutant)


def test_uses_count_results():
    fn = flat("%a = add %x, %y : f8\nyield %a, %a")
    assert use_counts(fn)[fn.flat_block.ops[0]] == 2
