"""The fused function has the suspect bit, the values slice has no faults."""

from __future__ import annotations

import pytest

from pyflat.ir.interp import run
from pyflat.ir.nodes import Function
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL
from pyflat.ir.validate import validate
from pyflat.passes.gather_suspects import drop_faults, gather_suspects
from tests.passes.flat_programs import FlatPrograms, body_of, flat, same_bits, samples, unchanged


def gathered(body: str) -> str:
    fn = flat(body)
    fused = gather_suspects(fn)
    check_fused(fn, fused)
    return body_of(fused)


def check_fused(fn: Function, fused: Function, lanes: int = 30, seed: int = 0) -> None:
    """The same values, and the interpreter's suspect flag as the last of them."""
    text = format_function(fn)
    validate(fused)
    assert format_function(fn) == text
    assert fused.result_kinds == (*fn.result_kinds, BOOL)
    assert not any(op.opcode == "fault" for op in fused.flat_block.ops)
    for lane in samples(fn, lanes, seed):
        old, new = run(fn, lane), run(fused, lane)
        assert not new.suspect
        assert new.values[-1] is old.suspect
        assert all(map(same_bits, old.values, new.values[:-1]))


def test_a_function_without_faults_is_never_suspect():
    assert gathered("%a = neg %x : f8\nyield %a") == "%a = neg %x : f8\nyield %a, false"


def test_one_fault_is_the_suspect_bit():
    body = "%a = eq %y, 0.0 : b\nfault %a ZeroDivisionError()\n%b = truediv %x, %y : f8\nyield %b"
    assert gathered(body) == "%a = eq %y, 0.0 : b\n%b = truediv %x, %y : f8\nyield %b, %a"


def test_the_same_condition_counts_once():
    assert gathered("fault %p ValueError()\nfault %p IndexError()\nyield 1") == "yield 1, %p"


def test_a_condition_that_never_holds_does_not_count():
    assert gathered("fault false ValueError()\nfault undefined:b ValueError()\nyield 1") == "yield 1, false"


def test_a_condition_that_always_holds_does():
    assert gathered("fault true ValueError()\nyield 1") == "yield 1, true"


def test_many_faults_are_a_tree_built_on_the_way():
    conditions = "\n".join(f"%c{k} = eq %i, {k} : b\nfault %c{k} ValueError()" for k in range(5))
    assert gathered(conditions + "\nyield %i") == "\n".join(
        [
            "%c0 = eq %i, 0 : b",
            "%c1 = eq %i, 1 : b",
            "%0 = or %c0, %c1 : b",
            "%c2 = eq %i, 2 : b",
            "%c3 = eq %i, 3 : b",
            "%1 = or %c2, %c3 : b",
            "%2 = or %0, %1 : b",
            "%c4 = eq %i, 4 : b",
            "%3 = or %2, %c4 : b",
            "yield %i, %3",
        ]
    )


def test_what_neither_values_nor_faults_need_goes():
    assert gathered("%a = exp %x : f8\nfault %p ValueError()\nyield %x") == "yield %x, %p"


@pytest.mark.parametrize("seed", range(80))
def test_random_functions_have_the_suspect_bit_of_the_interpreter(seed):
    fn = FlatPrograms(seed).function()
    check_fused(fn, gather_suspects(fn), 10, seed)


def test_values_without_faults_are_left_alone():
    unchanged(drop_faults, "%a = neg %x : f8\nyield %a")


def test_faults_go_with_what_only_they_need():
    fn = flat("%a = eq %y, 0.0 : b\nfault %a ZeroDivisionError()\n%b = truediv %x, %y : f8\nyield %b")
    assert body_of(drop_faults(fn)) == "%b = truediv %x, %y : f8\nyield %b"


def test_a_condition_that_is_a_value_too_stays():
    fn = flat("%a = eq %y, 0.0 : b\nfault %a ZeroDivisionError()\nyield %a")
    assert body_of(drop_faults(fn)) == "%a = eq %y, 0.0 : b\nyield %a"


@pytest.mark.parametrize("seed", range(40))
def test_random_values_stay(seed):
    fn = FlatPrograms(seed).function()
    values = drop_faults(fn)
    validate(values)
    assert drop_faults(values) is values
    for lane in samples(fn, 10, seed):
        got = run(values, lane)
        assert not got.suspect
        assert all(map(same_bits, run(fn, lane).values, got.values))
