"""Common subexpressions: what is different stays, what is the same becomes one and keeps the user's name."""

from __future__ import annotations

from functools import partial

import pytest

from pyflat.ir.nodes import Block, Const, Function, Label, Op, Origin, Param, Yield
from pyflat.ir.types import FLOAT
from pyflat.passes.fold_constants import fold_constants
from pyflat.passes.share_subexpressions import share_subexpressions
from tests.passes.flat_programs import FlatPrograms, becomes, check_pass, flat, unchanged

either = pytest.mark.parametrize("share", [share_subexpressions, partial(fold_constants, share=True)],
                                 ids=["alone", "while folding"])


@pytest.mark.parametrize(
    "body",
    [
        "yield %x",
        "%a = add %x, %y : f8\n%b = add %x, %x : f8\nyield %a, %b",
        "%a = sub %x, %y : f8\n%b = sub %y, %x : f8\nyield %a, %b",
        "%a = lt %x, %y : b\n%b = lt %y, %x : b\nyield %a, %b",
        "%a = lt %x, %y : b\n%b = ge %y, %x : b\nyield %a, %b",
        "%a = truediv %x, %y : f8\n%b = truediv %y, %x : f8\nyield %a, %b",
        "%a = copysign 1.0, 0.0 : f8\n%b = copysign 1.0, -0.0 : f8\nyield %a, %b",
        "%a = to_float 1 : f8\n%b = to_float true : f8\nyield %a, %b",
        "%a = select %p, 1, 0 : i8\n%b = select %p, true, false : b\nyield %a, %b",
        "%a = gather %i {table = (0.0, 1.0)} : f8\n%b = gather %i {table = (-0.0, 1.0)} : f8\nyield %a, %b",
        "%a = gather %i {table = (1, 0)} : i8\n%b = gather %i {table = (true, false)} : b\nyield %a, %b",
        "%a = select %p, %x, %y : f8\n%b = select %p, %y, %x : f8\nyield %a, %b",
        "fault %p ValueError()\nfault %p ValueError()\nyield 1",
        "fault %p ValueError()\nfault %p IndexError()\nyield 1",
    ],
)
def test_what_differs_stays(body):
    unchanged(share_subexpressions, body)


def test_a_chain_is_shared():
    becomes(
        share_subexpressions,
        """
        %0 = add %x, %y : f8
        %1 = mul %0, 2.0 : f8
        %2 = add %y, %x : f8
        %3 = mul 2.0, %2 : f8
        %4 = sub %1, %3 : f8
        yield %4
        """,
        """
        %0 = add %x, %y : f8
        %1 = mul %0, 2.0 : f8
        %2 = sub %1, %1 : f8
        yield %2
        """,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("add %i, %j : i8", "add %j, %i : i8"),
        ("and %p, %q : b", "and %q, %p : b"),
        ("xor %i, 3 : i8", "xor 3, %i : i8"),
        ("ne %x, %y : b", "ne %y, %x : b"),
        ("gt %x, %y : b", "lt %y, %x : b"),
        ("le %x, 1.0 : b", "ge 1.0, %x : b"),
        ("add %x, nan : f8", "add %x, nan : f8"),
        ("gather %i {table = (nan, -0.0)} : f8", "gather %i {table = (nan, -0.0)} : f8"),
    ],
)
def test_the_same_bits_in_another_spelling(first, second):
    becomes(share_subexpressions, f"%0 = {first}\n%1 = {second}\nyield %0, %1", f"%0 = {first}\nyield %0, %0")


def test_the_operand_of_a_fault_is_shared():
    becomes(
        share_subexpressions,
        "%0 = eq %x, 0.0 : b\nfault %0 ValueError()\n%1 = eq %x, 0.0 : b\nfault %1 ValueError()\nyield %1",
        "%0 = eq %x, 0.0 : b\nfault %0 ValueError()\nfault %0 ValueError()\nyield %0",
    )


@either
def test_a_temporary_takes_over_the_name_of_the_user(share):
    becomes(
        share,
        "%0 = neg %x : f8\n%1 = floor %0 : f8\n%y.1 = neg %x : f8\n%z = neg %x : f8\nyield %1, %y.1, %z",
        "%y.1 = neg %x : f8\n%0 = floor %y.1 : f8\nyield %0, %y.1, %y.1",
    )


@either
def test_the_first_name_stays(share):
    becomes(share, "%a = neg %x : f8\n%b = neg %x : f8\nyield %a, %b", "%a = neg %x : f8\nyield %a, %a")


@either
def test_statement_and_origin_come_with_the_name(share):
    x = Param(FLOAT, "x")
    first = Op("neg", [x], FLOAT)
    second = Op("neg", [x], FLOAT, name="y", origin=Origin(node="expression"))
    second.statement = Origin(node="statement")
    fn = Function("f", [x], [Block([first, second], Yield([first, second]))], Label("return"), [FLOAT, FLOAT], "flat")
    (only,) = share(fn).flat_block.ops
    assert (only.name, only.origin, only.statement) == ("y", second.origin, second.statement)
    assert (first.name, first.origin, first.statement) == ("", None, None)


def test_two_undefined_operands_are_one():
    fn = flat("%0 = abs undefined:f8 : f8\n%1 = abs undefined:f8 : f8\nyield 1")
    assert len(share_subexpressions(fn).flat_block.ops) == 1


def test_literals_are_compared_by_bits_not_by_identity():
    x = Param(FLOAT, "x")
    ops = [Op("add", [x, Const(FLOAT, 1.5)], FLOAT) for _ in range(2)]
    fn = Function("f", [x], [Block(ops, Yield(ops))], Label("return"), [FLOAT, FLOAT], "flat")
    assert share_subexpressions(fn).flat_block.ops == ops[:1]


@either
@pytest.mark.parametrize("seed", range(60))
def test_random_functions_keep_their_meaning(seed, share):
    check_pass(share, FlatPrograms(seed).function(), seed=seed)
