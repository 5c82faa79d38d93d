"""First-order bounds where the first order vanishes: what is left is of second order, and has to be in the bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from pyflat.analysis.intervals import Intervals
from pyflat.ir.interp import run
from pyflat.ir.nodes import Block, Function, Label, Param, Value, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.types import FLOAT
from pyflat.passes.accuracy.correlated_bounds import LARGE, Correlated, bounded, flat, of_parameter
from pyflat.passes.accuracy.error_bounds import EXACT, Bound, Case, Terms
from pyflat.passes.accuracy.error_functions import elementary_bound

PROGRAMS = {
    "a product": ("%a = add 1.0, %x : f8\n%b = sub 1.0, %x : f8\n%r = mul %a, %b : f8", 0.0),
    "a quotient": ("%a = add 1.0, %x : f8\n%b = truediv 1.0, %a : f8\n%r = add %b, %x : f8", 0.0),
    "a cosine": ("%s = sin %x : f8\n%c = cos %x : f8\n%h = mul 0.5, %x : f8\n%r = add %c, %h : f8", math.pi / 6),
    "a sine": ("%c = cos %x : f8\n%r = sin %x : f8", math.pi / 2),
    "an exponential": ("%a = exp %x : f8\n%r = sub %a, %x : f8", 0.0),
    "a choice": ("%p = mul %x, %x : f8\n%q = neg %p : f8\n%c = lt 3.0, 4.0 : b\n%r = select %c, %p, %q : f8", 0.0),
    "a step of Newton's method": (
        "%p = mul %x, %x : f8\n%n = sub %p, 2.0 : f8\n%d = mul 2.0, %x : f8\n%q = truediv %n, %d : f8\n%r = sub %x, %q : f8",
        math.sqrt(2.0)),
}


def with_bound(text: str) -> Function:
    """The function of %x and its error %e: its value, and how far that may be off."""
    fn = parse_function(f"func @f(%x: f8) -> (f8) flat @return {{\n{text}\nyield %r\n}}")
    error, terms, intervals = Param(FLOAT, "e"), Terms(), Intervals()
    bounds: dict[Value, Bound] = {fn.params[0]: of_parameter(error, frozenset(), frozenset())}

    def made(opcode: str, args: Sequence[Value]) -> Value | None:
        return terms.op(opcode, *args)

    for op in fn.flat_block.ops:
        terms.append(op)
        case = Case(op, op.args, op, [bounds.get(arg, EXACT) for arg in op.args], [intervals.of(arg) for arg in op.args],
                    intervals.of(op), terms)
        if any(bound.slopes for bound in case.bounds):
            found = Correlated(case, made).bound(op.opcode, lambda case, op=op: elementary_bound(case, op.opcode, 3))
            assert found is not None
            assert found.known
            bounds[op] = found
    (result,) = fn.flat_block.end.values
    bound = flat(bounds[result], terms)
    total = terms.total(bound.absolute + bound.relative * 2.0, bound.term)
    body = [Block(terms.ops, Yield([result, total]))]
    return Function("f", [*fn.params, error], body, Label("return"), [FLOAT, FLOAT], "flat")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("error", [1e-1, 1e-2, 1e-4])
def test_what_the_slopes_leave_is_in_the_bound_and_not_much_more(name, error):
    text, x = PROGRAMS[name]
    fn = with_bound(text)
    value, total = run(fn, (x, error)).values
    off = max(abs(value - run(fn, (x + error * k / 8, error)).values[0]) for k in range(-8, 9))
    assert off <= total
    assert 0.1 * error**2 < off, "the first order vanishes here"
    assert total < 30 * error**2


def test_a_divisor_that_may_be_zero_has_no_bound():
    fn = with_bound("%r = truediv 1.0, %x : f8")
    assert run(fn, (0.5, 0.6)).values[1] == math.inf
    assert run(fn, (0.5, 0.1)).values[1] < 1.0


def test_what_is_too_large_for_slopes_is_infinite():
    terms, error = Terms(), Param(FLOAT, "e")
    total = bounded(error, terms)
    fn = Function("f", [error], [Block(terms.ops, Yield([total]))], Label("return"), [FLOAT], "flat")
    assert [run(fn, (e,)).values[0] for e in (1.0, LARGE, 2 * LARGE, math.inf, math.nan)] == [1.0, LARGE, *[math.inf] * 3]
