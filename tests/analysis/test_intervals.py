"""Intervals contain every value that the interpreter finds, and decide what they should decide."""

from __future__ import annotations

import math

import pytest

import pyflat
from pyflat.analysis.intervals import Interval, Intervals
from pyflat.ir.interp import run
from pyflat.ir.nodes import Function, Op
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.uses import with_block
from tests.passes.flat_programs import FlatPrograms, flat, samples


def everything(fn: Function) -> Function:
    """`fn` with each of its values as a result."""
    ops = [op for op in fn.flat_block.ops if op.opcode != "fault"]
    return with_block(fn, ops, ops)


def contains(interval: Interval, value: float) -> bool:
    return interval.nan if math.isnan(value) else interval.has(value)


@pytest.mark.parametrize("seed", range(80))
def test_every_value_lies_in_its_interval(seed):
    fn = everything(FlatPrograms(seed).function(40))
    known = Intervals()
    for op in fn.flat_block.ops:
        known.note(op)
    for lane in samples(fn, 25, seed):
        for op, value in zip(fn.flat_block.ops, run(fn, lane).values, strict=True):
            if op.kind is not BOOL:
                assert contains(known.of(op), value), f"{op} of {lane} is {value}, not in {known.of(op)}"


@pytest.mark.parametrize("seed", range(80))
def test_every_decided_comparison_has_that_outcome(seed):
    fn = everything(FlatPrograms(seed + 1000).function(40))
    known = Intervals()
    decided: dict[Op, bool | None] = {}
    for op in fn.flat_block.ops:
        decided[op] = known.decide(op.opcode, op.args)
        known.note(op)
    for lane in samples(fn, 25, seed):
        for op, value in zip(fn.flat_block.ops, run(fn, lane).values, strict=True):
            assert decided[op] in (None, value), f"{op} of {lane}"


def interval_of(line: str) -> tuple[float, float, bool]:
    """The interval of the last operation of these lines (separated by `;` in front of `%`)."""
    fn = flat("\n".join([*line.split(" | "), "yield"]))
    known = Intervals()
    for op in fn.flat_block.ops:
        known.note(op)
    found = known.of(fn.flat_block.ops[-1])
    return found.low, found.high, found.nan


INF = math.inf
LIMITS = (-(2**63), 2**63 - 1, False)


@pytest.mark.parametrize(
    ("lines", "interval"),
    [
        ("%a = mod %i, 10 : i8", (0, 9, False)),
        ("%a = mod %i, -10 : i8", (-9, 0, False)),
        ("%a = mod %i, %j : i8", LIMITS),
        ("%a = and %i, 255 : i8", (0, 255, False)),
        ("%a = shr %i, 60 : i8", (-8, 7, False)),
        ("%a = add %i, 1 : i8", LIMITS),
        ("%a = mod %i, 10 : i8 | %b = add %a, 1 : i8", (1, 10, False)),
        ("%a = mod %i, 10 : i8 | %b = mul %a, -3 : i8", (-27, 0, False)),
        ("%a = mod %i, 10 : i8 | %b = mul %a, %a : i8", (0, 81, False)),
        ("%a = mod %i, 10 : i8 | %b = sub %a, 5 : i8 | %c = mul %b, %b : i8", (0, 25, False)),
        ("%a = mod %i, 10 : i8 | %b = sub %a, 5 : i8 | %c = abs %b : i8", (0, 5, False)),
        ("%a = mod %i, 10 : i8 | %b = sub %a, 5 : i8 | %c = ipow %b, 3 : i8", (-125, 125, False)),
        ("%a = mod %i, 10 : i8 | %b = floordiv %a, 4 : i8", (0, 2, False)),
        ("%a = mod %i, 10 : i8 | %b = shl %a, 4 : i8", (0, 144, False)),
        ("%a = mod %i, 10 : i8 | %b = xor %a, 3 : i8", (0, 15, False)),
        ("%a = mod %i, 10 : i8 | %b = neg %a : i8 | %c = invert %b : i8", (-1, 8, False)),
        ("%a = abs %i : i8", LIMITS),
        ("%a = neg %i : i8", LIMITS),
        ("%a = to_int %p : i8", (0, 1, False)),
        ("%a = to_int %x : i8", LIMITS),
        ("%a = select %p, 3, -4 : i8", (-4, 3, False)),
        ("%a = select %p, 3, undefined:i8 : i8", LIMITS),
        ("%a = gather %i {table = (1.0, -2.0)} : f8", (-2.0, 1.0, False)),
        ("%a = gather %i {table = (1.0, nan)} : f8", (1.0, 1.0, True)),
        ("%a = to_float %i : f8", (-(2.0**63), 2.0**63, False)),
        ("%a = exact_float %i : f8", (-INF, INF, True)),
        ("%a = mul %x, %x : f8", (0.0, INF, True)),
        ("%a = mul %x, %x : f8 | %b = add %a, 1.0 : f8", (1.0, INF, True)),
        ("%a = mul %x, %x : f8 | %b = sqrt %a : f8", (0.0, INF, True)),
        ("%a = to_float %p : f8 | %b = sub %a, 0.5 : f8", (-0.5, 0.5, False)),
        ("%a = to_float %p : f8 | %b = truediv 1.0, %a : f8", (-INF, INF, True)),
        ("%a = to_float %p : f8 | %b = sub %a, 0.5 : f8 | %c = truediv 1.0, %b : f8", (-INF, INF, True)),
        ("%a = select %p, 2.0, 4.0 : f8 | %b = truediv 1.0, %a : f8", (0.25, 0.5, False)),
        ("%a = to_float %p : f8 | %b = mul %a, %x : f8", (-INF, INF, True)),
        ("%a = to_float %p : f8 | %b = mul %a, 1e308 : f8 | %c = mul %b, 1e308 : f8", (0.0, INF, False)),
        ("%a = to_float %p : f8 | %b = mul %a, inf : f8", (0.0, INF, True)),
        ("%a = mod %x, 1.0 : f8", (0.0, 1.0, True)),
        ("%a = abs %x : f8 | %b = neg %a : f8", (-INF, 0.0, True)),
        ("%a = select %p, inf, 1.0 : f8 | %b = sub %a, %a : f8", (0.0, 0.0, True)),
        ("%a = exp %x : f8", (0.0, INF, True)),
    ],
)
def test_intervals(lines, interval):
    assert interval_of(lines) == interval


@pytest.mark.parametrize(("opcode", "outcome"), [("lt", True), ("le", True), ("gt", False), ("ge", False), ("eq", False), ("ne", True)])
def test_apart(opcode, outcome):
    fn = flat("%a = mod %i, 10 : i8\nyield %a")
    known = Intervals()
    known.note(fn.flat_block.ops[0])
    eleven = flat("yield 11").flat_block.end.values[0]
    assert known.decide(opcode, (fn.flat_block.ops[0], eleven)) is outcome


@pytest.mark.parametrize("opcode", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_touching_or_nan_is_not_decided(opcode):
    fn = flat("%a = mod %i, 10 : i8\n%b = to_float %p : f8\n%c = mul %x, %x : f8\nyield %a")
    known = Intervals()
    for op in fn.flat_block.ops:
        known.note(op)
    a, _, c = fn.flat_block.ops
    five, minus = flat("yield 5, -1.0").flat_block.end.values
    assert known.decide(opcode, (a, five)) is None
    expected = {"lt": False, "le": False, "eq": False, "ne": True}.get(opcode)
    assert known.decide(opcode, (c, minus)) is expected


@pytest.mark.parametrize(("text", "decided"), [("%a = isnan %b : b", False), ("%a = isinf %b : b", False), ("%a = isfinite %b : b", True)])
def test_nan_tests_of_finite_values(text, decided):
    fn = flat(f"%b = to_float %i : f8\n{text}\nyield %a")
    known = Intervals()
    known.note(fn.flat_block.ops[0])
    assert known.decide(fn.flat_block.ops[1].opcode, fn.flat_block.ops[1].args) is decided


def test_kinds_of_bounds():
    known = Intervals()
    fn = flat("%a = mod %i, 10 : i8\n%b = to_float %a : f8\nyield %b")
    for op in fn.flat_block.ops:
        known.note(op)
    assert [type(known.of(op).high) for op in fn.flat_block.ops] == [int, float]
    assert {op.kind for op in fn.flat_block.ops} == {INT, FLOAT}


# --- what holds where something else does


@pytest.mark.parametrize("seed", range(60))
def test_every_outcome_together_is_that(seed):
    """All pairs of tests of random programs, with the interpreter as the judge."""
    fn = everything(FlatPrograms(seed + 3000).function(50))
    known = Intervals()
    for op in fn.flat_block.ops:
        known.note(op)
    tests = [op for op in fn.flat_block.ops if op.kind is BOOL]
    outcomes = {(first, second): known.together(first, second) for first in tests for second in tests}
    for lane in samples(fn, 25, seed):
        values = dict(zip(fn.flat_block.ops, run(fn, lane).values, strict=True))
        for (first, second), outcome in outcomes.items():
            assert not values[first] or outcome in (None, values[second]), f"{first} and {second} of {lane}"


def test_many_pairs_are_decided():
    decided = 0
    for seed in range(40):
        fn = everything(FlatPrograms(seed + 3000).function(50))
        known = Intervals()
        for op in fn.flat_block.ops:
            known.note(op)
        tests = [op for op in fn.flat_block.ops if op.kind is BOOL]
        alone = {op: known.decide(op.opcode, op.args) for op in tests}
        decided += sum(known.together(a, b) is not None and alone[b] is None for a in tests for b in tests if a is not b)
    assert decided > 200


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        # a strict comparison with zero leaves zero out, and nan
        ("%first = gt %x, 0.0 : b | %second = eq %x, 0.0 : b", False),
        ("%first = ge %x, 0.0 : b | %second = eq %x, 0.0 : b", None),
        ("%first = gt %x, 0.0 : b | %second = isnan %x : b", False),
        ("%first = lt %x, inf : b | %second = gt %x, 1.7976931348623157e308 : b", False),
        ("%first = gt %i, 0 : b | %second = eq %i, 0 : b", False),
        ("%first = gt %i, 0 : b | %second = le %i, 1 : b", None),
        # what does not hold leaves nan in
        ("%a = le %x, 0.0 : b | %first = not %a : b | %second = le %x, -1.0 : b", False),
        ("%a = le %x, 0.0 : b | %first = not %a : b | %second = gt %x, 0.0 : b", None),
        ("%a = le %x, 0.0 : b | %first = not %a : b | %second = isnan %x : b", None),
        ("%a = gt %x, 0.0 : b | %first = not %a : b | %second = isnan %x : b", None),
        ("%m = mod %y, 1.0 : f8 | %first = le %x, %m : b | %second = gt %x, 2.0 : b", False),
        ("%m = mod %y, 1.0 : f8 | %a = gt %x, %m : b | %first = not %a : b | %second = gt %x, 2.0 : b", None),
        ("%m = mod %y, 1.0 : f8 | %a = lt %x, %m : b | %first = not %a : b | %second = lt %x, -2.0 : b", None),
        ("%a = lt %x, %y : b | %first = not %a : b | %second = lt %x, %y : b", None),
        ("%a = lt %i, 5 : b | %first = not %a : b | %second = ge %i, 5 : b", True),
        # conjunctions, and what a disjunction excludes
        ("%a = gt %x, 1.0 : b | %b = lt %x, 2.0 : b | %first = and %a, %b : b | %second = gt %x, 3.0 : b", False),
        ("%a = lt %x, 1.0 : b | %b = gt %x, 2.0 : b | %c = or %a, %b : b | %first = not %c : b | %second = gt %x, 3.0 : b", False),
        ("%a = lt %x, 1.0 : b | %b = gt %x, 2.0 : b | %first = or %a, %b : b | %second = gt %x, 3.0 : b", None),
        # what is made of it
        ("%first = gt %x, 0.0 : b | %a = add %x, 1.0 : f8 | %second = eq %a, 0.0 : b", False),
        ("%first = gt %x, 0.0 : b | %a = mul %x, -0.5 : f8 | %b = exp %a : f8 | %second = gt %b, 2.0 : b", False),
        ("%first = gt %x, 0.0 : b | %a = mul %x, -0.5 : f8 | %b = exp %a : f8 | %c = le %b, 2.0 : b | %second = not %c : b", False),
        ("%d = le %x, 0.0 : b | %first = not %d : b | %a = mul %x, -0.5 : f8 | %b = exp %a : f8 | %c = le %b, 2.0 : b | %second = not %c : b", None),
        ("%first = gt %x, 1.0 : b | %a = log %x : f8 | %second = lt %a, 0.0 : b", False),
        ("%first = gt %x, 1.0 : b | %a = vec_log %x : f8 | %second = lt %a, -1.0 : b", False),
        ("%first = gt %x, -1.0 : b | %a = log %x : f8 | %second = isnan %a : b", None),
        ("%first = gt %x, 1.0 : b | %a = fma %x, %x, 1.0 : f8 | %second = lt %a, 1.5 : b", False),
        ("%first = isfinite %x : b | %second = isnan %x : b", False),
        ("%first = isfinite %x : b | %second = isinf %x : b", False),
        ("%a = isinf %x : b | %first = not %a : b | %second = isinf %x : b", False),
        ("%a = isinf %x : b | %first = not %a : b | %second = isnan %x : b", None),
        ("%a = isnan %x : b | %first = not %a : b | %second = isnan %x : b", False),
        # a choice by a comparison of an arm
        ("%c = gt %x, 5.0 : b | %a = select %c, 2.0, %x : f8 | %first = eq %y, %y : b | %second = gt %a, 5.0 : b", False),
        ("%c = gt %x, 5.0 : b | %a = select %c, %x, 7.0 : f8 | %first = eq %y, %y : b | %second = lt %a, 5.0 : b", False),
        # a conjunction
        ("%first = gt %x, 0.0 : b | %a = lt %y, 1.0 : b | %b = lt %x, 0.0 : b | %second = and %a, %b : b", False),
        ("%first = gt %x, 0.0 : b | %a = gt %y, 1.0 : b | %s = add %x, %y : f8 | %b = lt %s, 1.0 : b | %second = and %a, %b : b", False),
        ("%first = gt %x, 0.0 : b | %a = gt %y, 1.0 : b | %s = add %x, %y : f8 | %b = lt %s, 2.0 : b | %second = and %a, %b : b", None),
        ("%first = lt %i, 10 : b | %a = sub %i, 10 : i8 | %second = eq %a, 0 : b", None),
        ("%a = and %i, 63 : i8 | %first = lt %a, 10 : b | %b = sub %a, 10 : i8 | %second = ge %b, 0 : b", False),
        # equality
        ("%first = eq %x, 2.0 : b | %a = sub %x, 3.0 : f8 | %second = lt %a, 0.0 : b", True),
        ("%first = ne %x, 2.0 : b | %second = eq %x, 2.0 : b", None),
        ("%first = ne %x, %y : b | %a = sub %y, %x : f8 | %second = eq %a, 0.0 : b", False),
        ("%a = eq %x, %y : b | %first = not %a : b | %b = sub %y, %x : f8 | %second = eq %b, 0.0 : b", False),
        ("%first = eq %x, %y : b | %b = sub %y, %x : f8 | %second = eq %b, 0.0 : b", None),
        ("%first = ne %x, %y : b | %a = sub %y, %x : f8 | %second = eq %a, 1.0 : b", None),
        ("%first = ne %i, %j : b | %a = sub %i, %j : i8 | %second = eq %a, 0 : b", False),
    ],
)
def test_together(lines, outcome):
    """The last line is a test; whether it holds where %first does."""
    fn = flat("\n".join([*lines.split(" | "), "yield"]))
    known = Intervals()
    for op in fn.flat_block.ops:
        known.note(op)
    (first,) = [op for op in fn.flat_block.ops if op.name == "first"]
    before = {op: known.of(op) for op in [*fn.flat_block.ops, *fn.params]}
    assert known.together(first, fn.flat_block.ops[-1]) is outcome
    assert before == {op: known.of(op) for op in before}


def test_a_guard_makes_faults_impossible():
    """In whole functions: what the guard excludes is not looked for."""
    def guarded(x: float, y: float) -> float:
        if x <= 0.0 or x == y:
            return 0.0
        return math.sqrt(x) + 1.0 / (x - y) + math.log(1.0 + x) + math.exp(-x)

    shown = pyflat.twin(guarded).show(stage="flat")
    assert "ZeroDivisionError" not in shown
    assert "ValueError" not in shown
    assert "OverflowError" not in shown
    open_ = pyflat.twin(lambda x, y: math.sqrt(x) + 1.0 / (x - y)).show(stage="flat")
    assert "ZeroDivisionError" in open_
    assert "ValueError" in open_
