"""Sums of products of vectors: what is none first, then what is."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.passes.prune_dead import prune_dead
from pyflat.passes.recognise_dots import recognise_dots
from tests.passes.flat_programs import body_of, flat
from tests.passes.sweeps import dies, lines, rationally_right
from tests.support.edits import Edit

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


def dots(fn: Function, change: Any = recognise_dots) -> Function:
    return change(fn, [fn.params[:4], fn.params[1:3]])


def test_random_functions_keep_their_rational_values():
    rationally_right(dots)


MUTANTS = (
    ("_fused", "t not in products", "False"),
    ("_best", "pair[side]", "pair[0]"),
    ("_fused", "rest.remove(lane)", "pass"),
    ("_fused", "_pack(sweep, right, root)", "_pack(sweep, left, root)"),
)


@pytest.mark.parametrize("edit", MUTANTS)
def test_mutants_die(edit):
    dies(lambda change: rationally_right(partial(dots, change=change), range(160)), "recognise_dots", Edit(*edit))
