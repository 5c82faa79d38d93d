"""Every bound holds: random programs with functions that err as much as they may, against CPython's, value by value."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest

from pyflat.analysis.execution_masks import ExecutionMasks, depending
from pyflat.ir.build import Builder, const
from pyflat.ir.faults import fault_condition
from pyflat.ir.interp import run
from pyflat.ir.nodes import Block, Const, Fault, Function, Label, Op, Param, Value, Yield
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT
from pyflat.ir.uses import with_body
from pyflat.ir.validate import validate
from pyflat.passes.accuracy import choose_math, error_bounds, inexact_faults
from pyflat.passes.accuracy.condition_roles import Roles
from pyflat.passes.accuracy.decisions import LARGEST
from pyflat.passes.accuracy.fast_functions import FastFunctions
from tests.passes.accuracy.inexact_programs import UNARY as UNARY_FUNCTIONS
from tests.passes.accuracy.inexact_programs import InexactPrograms, wrong_functions

BATCH = 25
SIZES = (6, 12, 25, 40)


@pytest.fixture(autouse=True)
def loose(monkeypatch):
    """Errors of hundreds of ulps, so that a wrong bound shows: what counts as worth nothing has to be larger too."""
    for module in (error_bounds, inexact_faults):
        monkeypatch.setattr(module, "MAX_RELATIVE", 2.0**-22)


class Checked:
    """One program, and what of it was compared."""

    def __init__(self, fn: Function, table: FastFunctions, functions: dict[str, Any]):
        draft = choose_math._settled(fn, table, Roles(fn), carry=False)
        assert draft is not None
        self.fn, self.draft, self.functions = fn, draft, functions
        self.final = draft.finished()
        validate(self.final)
        self.full = with_body(fn, draft.items)
        doubtful = depending(fn, {alarm.op for written in draft.blocks for alarm in written.alarms})
        self.masks = ExecutionMasks(fn, doubtful)
        self.bounds = self.lanes = self.suspect = 0

    def lane(self, lane: tuple[Any, ...]) -> None:
        exact: dict[Any, Any] = dict(zip(self.fn.params, lane, strict=True))
        ours: dict[Any, Any] = dict(exact)
        want = run(self.fn, lane, on_op=exact.__setitem__)
        got = run(self.full, lane, elementary=self.functions, on_op=ours.__setitem__)
        assert run(self.final, lane, elementary=self.functions).suspect == got.suspect
        self.lanes += 1
        if got.suspect:
            self.suspect += 1
            return
        where = f"lane {lane}\n{format_function(self.fn)}"
        assert not want.suspect, f"a fault of CPython's is not suspect, {where}"
        for theirs, mine in zip(want.values, got.values, strict=True):
            assert isinstance(theirs, float) or theirs == mine, f"{theirs} became {mine}, {where}"
        for op in self.fn.flat_block.ops:
            if op.kind is FLOAT and any(all(exact[c] == outcome for c, outcome in each) for each in self.masks.of(op)):
                self.value(op, exact, ours, where)

    def value(self, op: Op, exact: dict[Any, Any], ours: dict[Any, Any], where: str) -> None:
        bound, c, new = self.draft.bound(op), exact[op], self.draft.read(op)
        v = new.value if isinstance(new, Const) else ours[new]
        if c == v or (c != c and v != v) or not bound.known:
            return
        if not (math.isfinite(c) and math.isfinite(v)):
            assert bound.hazards or max(abs(c), abs(v)) > LARGEST, f"{op}: {c} became {v}, {where}"
            return
        assert not bound.exact, f"{op}: {c} became {v} and is exact, {where}"
        term = 0.0
        if bound.term is not None:
            value = bound.term.value
            term = bound.term.scale * (value.value if isinstance(value, Const) else ours[value])
        error = bound.relative * abs(v) + bound.absolute + term
        assert abs(c - v) <= error * (1 + 2.0**-40), f"{op}: {c} became {v}, bounded by {error}, {where}"
        self.bounds += 1


@pytest.mark.parametrize("ulps", [3, 64, 4096])
@pytest.mark.parametrize("first", range(0, 100, BATCH))
def test_bounds_of_random_programs_hold(first, ulps):
    bounds = lanes = suspect = 0
    with wrong_functions(ulps) as (table, functions):
        for seed in range(first, first + BATCH):
            programs = InexactPrograms(seed)
            checked = Checked(programs.function(programs.random.choice(SIZES)), table, functions)
            for lane in [*programs.lanes, *[programs.lane() for _ in range(30)]]:
                checked.lane(lane)
            bounds, lanes, suspect = bounds + checked.bounds, lanes + checked.lanes, suspect + checked.suspect
    assert bounds > 100
    assert suspect < 0.6 * lanes


BINARY = ("pow", "atan2", "add", "sub", "mul", "truediv", "mod", "fmod", "copysign", "hypot", "min", "max")
UNARY = (*UNARY_FUNCTIONS, "sqrt", "neg", "abs")
FORMS = ("relative", "constant", "term")


def inexact(build: Builder, form: str, x: Value, y: Value) -> Value:
    """A number whose error is known as a relative one, as a constant, or as a term."""
    angle = build.op("atan", x)
    if form == "relative":
        return build.op("mul", angle, y)
    if form == "constant":
        return build.op("sub", angle, const(0.25))
    return build.op("sub", build.op("mul", angle, y), y)


def one_operation(opcode: str, forms: tuple[str, ...]) -> Function:
    """The operation on inexact operands ("exact": a parameter), with its faults."""
    build = Builder()
    x, y, z, w = params = [Param(FLOAT, name) for name in "xyzw"]
    pairs = [(x, y), (z, w)]
    args = [z if form == "exact" else inexact(build, form, *pair) for form, pair in zip(forms, pairs, strict=False)]
    if opcode in ("min", "max"):
        op = build.op("select", build.op("lt" if opcode == "min" else "gt", *args), *args)
    else:
        op = build.op(opcode, *args)
        cond = fault_condition(build, op)
        if cond is not None:
            build.fault(cond, Fault("ValueError"))
    block = Block(build.block.ops, Yield([op]))
    return Function("f", params, [block], Label("return"), [FLOAT], "flat")


@pytest.mark.parametrize(("opcode", "forms"), [
    *[(name, (form,)) for name in UNARY for form in FORMS],
    *[(name, pair) for name in BINARY for pair in itertools.product((*FORMS, "exact"), repeat=2) if pair != ("exact", "exact")],
])
def test_bounds_of_each_operation_hold(opcode, forms):
    r = random.Random(repr((opcode, forms)))
    with wrong_functions(64) as (table, functions):
        checked = Checked(one_operation(opcode, forms), table, functions)
        for _ in range(200):
            reach = r.choice((1.0, 1.0, 3.0, 30.0))
            checked.lane(tuple(r.choice((r.uniform(-reach, reach), float(r.randrange(-4, 5)))) for _ in range(4)))
        checked.lane((-1.0, 4.0, 1e-17, -3.0))
    assert checked.lanes == 201


def finished(build: Builder, params: list[Param], result: Value) -> Function:
    return Function("f", params, [Block(build.block.ops, Yield([result]))], Label("return"), [result.kind], "flat")


@pytest.mark.parametrize("number", [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0])
def test_an_angle_next_to_the_cut_has_no_bound(number):
    """In CPython y is 0.0 and the angle pi; an error below zero would make it -pi."""
    build, params = Builder(), [Param(FLOAT, "x")]
    y = build.op("sub", build.op("atan", params[0]), const(math.atan(number)))
    with wrong_functions(64) as (table, functions):
        Checked(finished(build, params, build.op("atan2", y, const(-1.0))), table, functions).lane((number,))


def test_a_product_that_overflows_in_cpython_alone_is_suspect_behind_a_decision():
    build, params = Builder(), [Param(FLOAT, "x"), Param(FLOAT, "y")]
    product = build.op("mul", build.op("asinh", params[0]), params[1])
    small = build.op("lt", build.op("mul", product, const(1e-300)), const(1e9))
    with wrong_functions(64) as (table, functions):
        checked = Checked(finished(build, params, small), table, functions)
        for k in range(-80, 80):
            for x in (3.0, 5.0, 9.0, 20.0):
                checked.lane((x, 1.7976931348623157e308 / math.asinh(x) * (1 + k * 2.0**-52)))


def test_a_bound_that_is_too_small_is_noticed(monkeypatch):
    monkeypatch.setitem(error_bounds.ARITHMETIC, "mul", lambda case: case.bounds[0])

    def hunt() -> None:
        with wrong_functions(64) as (table, functions):
            for seed in range(200):
                programs = InexactPrograms(seed)
                checked = Checked(programs.function(25), table, functions)
                for lane in programs.lanes:
                    checked.lane(lane)

    with pytest.raises(AssertionError, match="became"):
        hunt()
