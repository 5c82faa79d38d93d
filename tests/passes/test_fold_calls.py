"""Tables, packs and parts whose values are known: those that stay first."""

from __future__ import annotations

from pyflat.ir.parse import parse_function
from pyflat.passes.fold_calls import fold_calls
from pyflat.passes.prune_dead import prune_dead
from tests.passes.flat_programs import body_of
from tests.passes.sweeps import exactly_right, stays, swept


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


def test_random_functions_keep_every_bit():
    exactly_right(fold_calls)
