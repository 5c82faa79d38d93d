"""Reductions over a comprehension whose number of elements differs from lane to lane: one loop with an accumulator.

    sum(i * x for i in range(n) if i != k)      total = 0
                                                for i in range(n):
                                                    if i != k:
                                                        total = total + i * x

The accumulator is a hidden variable of the frame, so that the loop's fixpoint settles its kind like any other. An
element is computed inside the step, which may leave it out: `any` computes none after the first that holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import libcst as cst

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import NONE, Abstract, GuardedUnion, Lazy, Ranges, Static
from pyflat.frontend.syntax import comprehensions, scopes
from pyflat.frontend.syntax import rolled_loops as rolled

Step = Callable[[Abstract, Callable[[], Abstract]], Abstract]
"""(accumulator, element on demand) -> accumulator."""


def fold(s: Evaluator, value: Abstract, start: Abstract, step: Step, node: cst.CSTNode) -> Abstract:
    """The accumulator after all elements of what `is_folded`."""
    if isinstance(value, Ranges):
        return _fold_range(s, value, start, step, node)
    assert isinstance(value, Lazy) and value.written is not None
    s.use_up(value, node)
    written = value.written
    if s.frame is not written.frame:
        raise s.refuse("flatten/generator", "a generator expression is consumed by another function", written.node,
                       help="pass a list or tuple")
    name = _accumulator(s, start)

    def element() -> None:
        s.state.locals[name] = step(s.state.locals[name], lambda: s.space.evaluate(written.node.elt))

    _clause(s, written.node.for_in, written.source, element)
    return s.state.locals.pop(name)


def _fold_range(s: Evaluator, source: Ranges, start: Abstract, step: Step, node: cst.CSTNode) -> Abstract:
    name = _accumulator(s, start)

    def each(_: object, item: Abstract) -> None:
        s.state.locals[name] = step(s.state.locals[name], lambda: item)

    rolled.roll_counter(s, node, source, each)
    return s.state.locals.pop(name)


def _accumulator(s: Evaluator, start: Abstract) -> str:
    s.counter += 1
    name = f"fold {s.counter}"
    s.state.locals[name] = start
    return name


def _clause(s: Evaluator, clause: cst.CompFor, source: Abstract, inside: Callable[[], None]) -> None:
    if isinstance(source, GuardedUnion):
        s.split(source, lambda one: _split(s, clause, one, inside))
        return
    one = functools.partial(_one, s, clause, inside)
    if isinstance(source, Ranges):
        rolled.roll_counter(s, clause, source, lambda _, counter: one(counter))
        return
    for item in s.space.iterate(source, clause.iter):
        one(item)


def _split(s: Evaluator, clause: cst.CompFor, source: Abstract, inside: Callable[[], None]) -> Abstract:
    _clause(s, clause, source, inside)
    return NONE


def _one(s: Evaluator, clause: cst.CompFor, inside: Callable[[], None], item: Abstract) -> None:
    names = scopes.target_names(clause.target)
    with comprehensions.hidden(s, names):
        s.space.assign(clause.target, item)
        _filtered(s, [test.test for test in clause.ifs], clause.inner_for_in, inside)


def _filtered(s: Evaluator, tests: list[cst.BaseExpression], inner: cst.CompFor | None, inside: Callable[[], None]
              ) -> None:
    if not tests:
        if inner is None:
            inside()
        else:
            _clause(s, inner, s.space.evaluate(inner.iter), inside)
        return
    held = s.space.condition(tests[0])

    def rest() -> Abstract:
        _filtered(s, tests[1:], inner, inside)
        return NONE

    if not isinstance(held, Static):
        s.branch(held, rest, lambda: NONE)
    elif held.value:
        rest()
