"""Comprehensions and generator expressions: elements are made when Python makes them.

A reduction whose number of elements differs from lane to lane is one loop with an accumulator:

    sum(i * x for i in range(n) if i != k)      total = 0
                                                for i in range(n):
                                                    if i != k:
                                                        total = total + i * x

The accumulator is a hidden variable of the frame, so that the loop's fixpoint settles its kind like any other. An
element is computed inside the step, which may leave it out: `any` computes none after the first that holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import libcst as cst

from pyflat.frontend.space import containers, growing, item_writes, ragged
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import is_folded, is_generator, per_alternative
from pyflat.frontend.state.values import (
    NONE,
    UNBOUND,
    Abstract,
    Arguments,
    BoundMethod,
    Frame,
    GeneratorExpression,
    Lazy,
    Ranges,
    Static,
)
from pyflat.frontend.syntax import rolled_loops as rolled
from pyflat.frontend.syntax import scopes
from pyflat.ir.nodes import Value


def evaluate(s: Evaluator, node: Any, *, at_once: bool = False) -> Abstract:
    """A list is made at once; a generator expression when it is consumed, element by element. `at_once`: the list is
    consumed as soon as it is made, so that one over a range of lanes need not be made.

    An element whose `if` depends on lanes is a GuardedUnion between the value and UNBOUND, which reductions understand.
    """
    first = _first_of(s, node.for_in)
    if isinstance(node, cst.GeneratorExp) or at_once and is_folded(first):
        return lazily(s, node, first)
    if isinstance(node, cst.ListComp) and is_folded(first):
        return listed(s, lazily(s, node, first), node)
    items = list(_elements_of(s, node.for_in, first, functools.partial(_element, s, node.elt)))
    if isinstance(node, cst.ListComp):
        return heap.new_list(s, [item for item in items if item is not UNBOUND])
    return s.space.call(Static(set), Arguments([heap.new_list(s, items)], {}), node)


def _first_of(s: Evaluator, clause: cst.CompFor) -> Abstract:
    return s.space.iterator(growing.as_range(s, s.space.evaluate(clause.iter), clause.iter), clause.iter)


def lazily(s: Evaluator, node: cst.GeneratorExp | cst.ListComp, first: Abstract) -> Lazy:
    """A generator of the elements; also a list comprehension, where it is consumed at once."""

    return Lazy(functools.partial(_generate, s, s.frame, node, first),
                written=GeneratorExpression(s.frame, node, first, s.frame.hidden))


def _element(s: Evaluator, node: cst.BaseExpression, present: Value | None) -> Abstract:
    if present is None:
        return s.space.evaluate(node)
    return s.branch(present, lambda: s.space.evaluate(node), lambda: UNBOUND)


def _generate(s: Evaluator, frame: Frame, node: Any, first: Abstract) -> Iterator[Abstract]:
    """Runs in the frame that wrote the generator: there its names mean what they say."""
    for item in _elements_of(s, node.for_in, first, functools.partial(_element, s, node.elt)):
        if s.frame is not frame:
            raise s.refuse("flatten/generator", "a generator expression is consumed by another function", node,
                           help="pass a list or tuple")
        yield item


def evaluate_dict(s: Evaluator, node: cst.DictComp) -> Abstract:
    made = heap.new_dict(s, {})

    def add(present: Value | None) -> None:
        def store() -> Abstract:
            item_writes.store_item(s, made, s.space.evaluate(node.key), s.space.evaluate(node.value), node)
            return NONE

        if present is None:
            store()
        else:
            s.branch(present, store, lambda: NONE)

    for _ in _elements_of(s, node.for_in, s.space.evaluate(node.for_in.iter), add):
        pass
    return made


def _elements_of(s: Evaluator, clause: cst.CompFor, source: Abstract, make: Callable[[Value | None], Any],
                 outer: Value | None = None) -> Iterator[Any]:
    """`make(present)` for every element, `present` being the lanes that have it (None: all).

    The clause's variables hide the function's only while an element is made.
    """
    names = scopes.target_names(clause.target)
    for item in _counted(s, containers.gaps_of(s, source, clause.iter)):
        here, value = ragged.split_gap(s, item)
        if value is UNBOUND:
            continue
        if isinstance(here, Value) and outer is not None:
            here = s.build.op("and", outer, here)
        with hidden(s, names):
            s.space.assign(clause.target, value)
            present = _filter(s, clause, here if isinstance(here, Value) else outer)
            if isinstance(present, Static):
                continue
            if clause.inner_for_in is None:
                made = [make(present)]
            else:
                inner = s.space.evaluate(clause.inner_for_in.iter)
                made = list(_elements_of(s, clause.inner_for_in, inner, make, present))
        yield from made


@contextmanager
def hidden(s: Evaluator, names: Sequence[str]) -> Iterator[None]:
    """A scope in which a clause's variables hide the function's."""
    saved, local_names = {n: s.state.locals.get(n, UNBOUND) for n in names}, s.frame.local_names
    s.frame.local_names = s.frame.local_names | frozenset(names)
    s.frame.hidden = (*s.frame.hidden, *names)
    shadowed = s.frame.shadowed
    s.frame.shadowed = {**{n: saved[n] if n in local_names else None for n in names}, **shadowed}
    try:
        yield
    finally:
        s.frame.shadowed = shadowed
        s.frame.hidden = s.frame.hidden[: len(s.frame.hidden) - len(names)]
        s.frame.local_names = local_names
        for name, value in saved.items():
            if value is UNBOUND:
                s.state.locals.pop(name, None)
            else:
                s.state.locals[name] = value


def _filter(s: Evaluator, clause: cst.CompFor, outer: Value | None) -> Value | Static | None:
    """The lanes in which the `if` clauses hold: None for all, Static(False) for none."""
    present = outer
    for test in clause.ifs:
        if present is None:
            held = s.space.condition(test.test)
        else:
            test_it = functools.partial(s.space.condition, test.test)
            held = s.space.truth(s.branch(present, test_it, lambda: Static(False)))
        if isinstance(held, Static):
            if not held.value:
                return Static(False)
            continue
        present = held
    return present


def _counted(s: Evaluator, items: Iterator[Abstract]) -> Iterator[Abstract]:
    for count, item in enumerate(items):
        if count >= s.max_unroll:
            raise s.refuse("flatten/loop-too-long", f"a comprehension has more than {s.max_unroll} elements")
        yield item


# --- reductions over a range of lanes
Step = Callable[[Abstract, Callable[[], Abstract]], Abstract]
"""(accumulator, element on demand) -> accumulator."""


def fold(s: Evaluator, value: Abstract, start: Abstract, step: Step, node: cst.CSTNode) -> Abstract:
    """The accumulator after all elements of what `is_folded`."""
    if isinstance(value, Ranges):
        return _fold_range(s, value, start, step, node)
    if isinstance(value, Lazy) and value.written is not None and s.frame is not value.written.frame:
        value = s.space.iterator(value, node)
    assert isinstance(value, Lazy) and value.written is not None
    name, written = _accumulator(s, start), value.written

    def add(make: Callable[[], Abstract]) -> None:
        s.state.locals[name] = step(s.state.locals[name], make)

    if isinstance(written, GeneratorExpression):
        s.use_up(value, node)
        _clause(s, written.node.for_in, written.source, lambda: add(lambda: s.space.evaluate(written.node.elt)))
    else:
        s.space.consume(value, lambda item: add(lambda: item), node)
    return s.state.locals.pop(name)


def listed(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """A list of the elements of what `is_folded`: it grows in the loop over them."""
    made = heap.new_list(s, [])
    append = BoundMethod(made, "append")

    def step(_: Abstract, make: Callable[[], Abstract]) -> Abstract:
        return s.space.call(append, Arguments([make()], {}), node)

    fold(s, value, NONE, step, node)
    return made


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


@per_alternative("source")
def _clause(s: Evaluator, clause: cst.CompFor, source: Abstract, inside: Callable[[], None]) -> None:
    one = functools.partial(_one, s, clause, inside)
    source = growing.as_range(s, source, clause.iter)
    if isinstance(source, Ranges):
        rolled.roll_counter(s, clause, source, lambda _, counter: one(counter))
        return
    source = s.space.iterator(source, clause.iter)
    if is_generator(source):
        s.space.consume(source, one, clause.iter)
        return
    for item in s.space.iterate(source, clause.iter):
        one(item)


def _one(s: Evaluator, clause: cst.CompFor, inside: Callable[[], None], item: Abstract) -> None:
    names = scopes.target_names(clause.target)
    with hidden(s, names):
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
