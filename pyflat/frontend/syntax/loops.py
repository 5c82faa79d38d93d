"""Loops: unrolled while the trip count is static, otherwise rolled. With loops="masked" rolled where that is possible.

Unrolled, every iteration sees its static loop variable. The label of `break` is a region around all copies, the label
of `continue` a region around each copy, and both exist only when the body has the statement.

What cannot be unrolled is one Loop node (`rolled`).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.space import containers, growing, memories
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import ControlLeft, Evaluator, Nest
from pyflat.frontend.state.kinds import is_generator, per_alternative
from pyflat.frontend.state.values import NONE, Abstract, Lazy, LoopScope, Ranges, Scope, Static, View
from pyflat.frontend.syntax import rolled_loops as rolled
from pyflat.frontend.syntax import scopes

TRY_UNROLL = 256
"""Iterations of a loop with lane exits that are tried before it is rolled."""
IN_KEPT = 128
"""The most iterations of a nest that are unrolled inside of one that is kept because it is too long: straight-line code
of more takes longer to compile and gains little (docs/contributors/design/frontend.md)."""


class TooLongError(Exception):
    """Unrolling hit a limit; carries the refusal."""

    def __init__(self, error: FlattenError):
        self.error = error


# --- for
def execute_for(s: Evaluator, node: cst.For) -> None:
    if node.asynchronous is not None:
        raise s.refuse("flatten/generator", "an async loop cannot be flattened", node)
    _for_over(s, node, s.space.evaluate(node.iter))


@per_alternative("source")
def _for_over(s: Evaluator, node: cst.For, source: Abstract) -> None:
    source = s.space.iterator(source, node.iter)
    if is_generator(source):
        _consume(s, node, source)
        return
    if isinstance(source, View):
        source = memories.rows(s, source, node)
    if s.loops != "unroll":
        source = growing.as_range(s, source, node.iter, live=True)
    if isinstance(source, Ranges):
        _roll_or_refuse(s, node, s.refuse(
            "flatten/iterable-not-static" if s.loops == "unroll" else "flatten/while-unbounded",
            "the bounds of this range depend on the data", node.iter, label="depends on the data",
            help="loop over range(LIMIT) with a constant LIMIT and break out when done"),
            lambda: rolled.roll_range(s, node, source))
        return
    length = len(source.value) if isinstance(source, Static) and isinstance(source.value, range) else None
    if length is not None and length > s.unrolled:
        assert isinstance(source, Static)
        known = source.value
        _roll_or_refuse(s, node, _too_long(s, node, length), lambda: _roll_nest(s, node, known, IN_KEPT))
        return
    if length and _is_kept(s, node, length):
        assert isinstance(source, Static)
        if _rolled_if_possible(s, node, source.value, s.unrolled):
            return
    if length is not None and s.loops != "unroll" and s.nest is None:
        assert isinstance(source, Static)
        _unroll_or_roll(s, node, source.value)
        return
    _unroll(s, node, containers.gaps_of(s, source, node.iter), length)


def _consume(s: Evaluator, node: cst.For, source: Lazy) -> None:
    """Over a generator: the body of the loop is where the generator yields."""
    found = s.frame.captured.once(scopes.jumps, node.body)
    scope, before = LoopScope(Scope(s.fresh("loop")) if "break" in found else None, None), s.state

    def one(item: Abstract) -> None:
        s.space.assign(node.target, item)
        _iteration(s, scope, node.body, "continue" in found)

    _with_orelse(s, node, scope, lambda: s.space.consume(
        source, one, node, exits=() if scope.leave is None else (scope.leave,), leaves=scopes.may_leave(node.body)))
    s.forget_waiting(before)


def _is_kept(s: Evaluator, node: cst.For, length: int) -> bool:
    """Whether a range that could be unrolled is rolled where that is possible."""
    long = s.loops == "auto" and length > s.long
    return s.loops == "masked" or long and s.frame.captured.once(scopes.may_leave, node.body)


def _unroll_or_roll(s: Evaluator, node: cst.For, known: range) -> None:
    """The outermost loop of a nest: kept as a loop when the nest has too many iterations."""
    if least_iterations(s, node, len(known)) > s.unrolled and _rolled_if_possible(s, node, known, IN_KEPT):
        return
    before, counter, forget = s.state, s.counter, rolled.remember_edges(s)
    s.state = before.copy()
    try:
        with s.build.detached() as items:
            left = False
            try:
                _unroll(s, node, (Static(i) for i in known), len(known))
            except ControlLeft:
                left = True
    except FlattenError as error:
        if error.code != "flatten/loop-too-long":
            raise
        s.state, s.counter, s.nest = before, counter, None
        forget()
        if not _rolled_if_possible(s, node, known, IN_KEPT):
            raise
        return
    _continue_with(s, items, left)


def _rolled_if_possible(s: Evaluator, node: cst.For, known: range, inside: int) -> bool:
    """Keep a loop; False, and nothing has happened, where its body needs a known index."""
    undo = checkpoint(s)
    why = s.refuse("flatten/while-unbounded", f"this loop of {len(known)} iterations stays a loop", node,
                   help="loops=\"unroll\" unrolls it")
    try:
        with _lists_of_one_length(s):
            _roll_nest(s, node, known, inside)
    except FlattenError:
        undo()
        return False
    if s.rolled is None:
        s.rolled = why
    return True


@contextmanager
def _lists_of_one_length(s: Evaluator) -> Iterator[None]:
    """A loop that could be unrolled as well stays one only where no list grows in it: unrolled, a list may have any
    number of items."""
    grows, s.grows = s.grows, False
    try:
        yield
    finally:
        s.grows = grows


def _roll_nest(s: Evaluator, node: cst.For, known: range, inside: int) -> None:
    """Keep a loop, and of the loops inside those whose nest has more than `inside` iterations; where one of them cannot
    be kept, only those that are too long."""
    bounds = Ranges(Static(known.start), Static(known.stop), known.step)
    if s.unrolled > inside:
        undo, most = checkpoint(s), s.unrolled
        s.unrolled = inside
        try:
            rolled.roll_range(s, node, bounds)
            return
        except FlattenError:
            undo()
        finally:
            s.unrolled = most
    rolled.roll_range(s, node, bounds)


def _too_long(s: Evaluator, node: Any, count: int) -> FlattenError:
    option = "max_tracing_dim" if s.widths.kernel else "max_unroll"
    return s.refuse("flatten/loop-too-long", f"unrolling needs {count:,} iterations, the limit is {s.max_unroll:,}",
                    node, help=f"pass {option}={count} if that is meant, or make the bound smaller")


def _roll_or_refuse(s: Evaluator, node: cst.CSTNode, why: FlattenError, roll: Callable[[], None]) -> None:
    if s.loops == "unroll":
        raise why
    if s.rolled is None:
        s.rolled = why
    roll()


def _unroll(s: Evaluator, node: cst.For, items: Iterator[Abstract], length: int | None) -> None:
    found = s.frame.captured.once(scopes.jumps, node.body)
    scope = LoopScope(Scope(s.fresh("loop")) if "break" in found else None, None)

    def one(item: Abstract) -> Abstract:
        s.space.assign(node.target, item)
        _iteration(s, scope, node.body, "continue" in found)
        return NONE

    def run() -> None:
        with _nested(s, length) as nest:
            for item in items:
                _count(s, nest, node, length)
                heap.where_present(s, item, one, lambda: NONE)

    _with_orelse(s, node, scope, run)


def _with_orelse(s: Evaluator, node: cst.For | cst.While, scope: LoopScope, run: Callable[[], object]) -> None:
    """The iterations and the `else` of a loop, which a `break` leaves."""

    def whole() -> None:
        run()
        if node.orelse is not None:
            s.space.execute(node.orelse.body)

    if scope.leave is None:
        whole()
    else:
        s.region(scope.leave, whole)


@contextmanager
def _nested(s: Evaluator, length: int | None) -> Iterator[Nest]:
    """Counts the iterations of a nest: those of the innermost loops."""
    outermost = s.nest is None
    nest = s.nest = s.nest or Nest()
    if nest.fresh and not outermost:
        nest.count -= 1
        nest.fresh = False
    nest.depth_lengths.append(length or 0)
    try:
        yield nest
    finally:
        nest.depth_lengths.pop()
        if outermost:
            s.nest = None


def _count(s: Evaluator, nest: Nest, node: Any, length: int | None) -> None:
    nest.count += 1
    nest.fresh = True
    if nest.count > s.unrolled:
        projected = 1
        for known in nest.depth_lengths:
            projected *= max(known, 1)
        raise _too_long(s, node, max(projected, nest.count))


def _iteration(s: Evaluator, scope: LoopScope, body: cst.BaseSuite, has_continue: bool) -> None:
    scope.again = Scope(s.fresh("next")) if has_continue else None
    s.frame.loops.append(scope)
    try:
        if scope.again is not None:
            s.region(scope.again, lambda: s.space.execute(body))
        else:
            s.space.execute(body)
    finally:
        s.frame.loops.pop()


# --- while
def execute_while(s: Evaluator, node: cst.While) -> None:
    """Tries to unroll: static conditions decide. A lane condition, or too many copies, makes it a rolled loop; where
    that is refused, a loop that lanes leave early may still have somewhat more copies."""
    undo = checkpoint(s)
    if s.loops == "masked":
        try:
            with _lists_of_one_length(s):
                _roll_while(s, node)
            return
        except FlattenError:
            undo()
    first = TRY_UNROLL if s.loops == "unroll" else s.long
    try:
        _unrolled_while(s, node, first)
        return
    except TooLongError as stop:
        too_long = stop.error
        undo()
    try:
        _roll_or_refuse(s, node, too_long, lambda: rolled.roll_while(s, node))
        return
    except FlattenError as error:
        if first >= TRY_UNROLL or too_long.code != "flatten/while-unbounded":
            raise
        undo()
        refusal = error
    try:
        _unrolled_while(s, node, TRY_UNROLL)
    except TooLongError:
        raise refusal from None


def checkpoint(s: Evaluator) -> Callable[[], None]:
    """A function that takes back what has been built since."""
    before, counter, forget, why = s.state, s.counter, rolled.remember_edges(s), s.rolled
    nest = s.nest
    counted = (nest.count, nest.fresh, list(nest.depth_lengths)) if nest is not None else None
    s.state = before.copy()

    def undo() -> None:
        s.nest = nest
        if nest is not None and counted is not None:
            nest.count, nest.fresh, nest.depth_lengths = counted[0], counted[1], list(counted[2])
        s.state, s.counter, s.rolled = before.copy(), counter, why
        forget()

    return undo


def _unrolled_while(s: Evaluator, node: cst.While, most: int) -> None:
    built_aside(s, lambda: _unroll_while(s, node, most))


def built_aside(s: Evaluator, run: Callable[[], Abstract | None]) -> Abstract:
    """What `run` builds, put at the current place once it is complete."""
    value: Abstract | None = None
    with s.build.detached() as items:
        left = False
        try:
            value = run()
        except ControlLeft:
            left = True
    _continue_with(s, items, left)
    return value or NONE


def _continue_with(s: Evaluator, items: list[Any], left: bool) -> None:
    """Put a list that was built aside at the current place."""
    s.build.continue_with(items)
    if left:
        raise ControlLeft


def _roll_while(s: Evaluator, node: cst.While) -> None:
    why = s.refuse("flatten/while-unbounded", "this while loop stays a loop", node)
    _roll_or_refuse(s, node, why, lambda: rolled.roll_while(s, node))


def _unroll_while(s: Evaluator, node: cst.While, most: int) -> None:
    found = s.frame.captured.once(scopes.jumps, node.body)
    scope = LoopScope(Scope(s.fresh("loop")) if "break" in found else None, None)
    unbounded = s.refuse("flatten/while-unbounded", "the iteration count of this while loop depends on the data", node,
                         label="not known while flattening")

    def run() -> None:
        trips = 0
        with _nested(s, None) as nest:
            while True:
                test = s.space.condition(node.test)
                if not isinstance(test, Static):
                    raise TooLongError(unbounded)
                if not test.value:
                    break
                trips += 1
                if nest.count >= s.unrolled or trips > most and _lanes_leave(s, scope):
                    raise TooLongError(unbounded if _lanes_leave(s, scope) or trips <= 1 else _too_long(s, node, trips))
                _count(s, nest, node, None)
                _iteration(s, scope, node.body, "continue" in found)

    _with_orelse(s, node, scope, run)


def _lanes_leave(s: Evaluator, scope: LoopScope) -> bool:
    return scope.leave is not None and bool(scope.leave.edges) or any(each.edges for each in s.frame.exits)


# --- how long a nest is at least
def least_iterations(s: Evaluator, node: cst.For, length: int) -> int:
    """Iterations of the innermost loops, as far as the text of the nest says that before it runs; 0 where something may
    leave a loop of the nest, or skip a part of it.

        for i in range(5):               five times what is inside: 5 * (6 + 7)
            for j in range(6): ...
            for k in range(N): ...       N a global int, or a local one that the nest does not bind
            if x > i:
                for m in range(9): ...   may not run

    So that a nest that is too long is not unrolled up to its limit first, which takes as long as the limit lets it.
    """
    if s.frame.has_closures or scopes.may_end(node.body):
        return 0
    return length * _inside(s, node.body, scopes.bound_names(node))


def _inside(s: Evaluator, body: cst.BaseSuite, bound: frozenset[str]) -> int:
    """Iterations in one run of a body: 1 where no loop is sure to run."""
    inner = [statement for statement in body.body if isinstance(statement, cst.For)]
    return max(sum(_trips(s, each.iter, bound) * _inside(s, each.body, bound) for each in inner), 1)


def _trips(s: Evaluator, source: cst.BaseExpression, bound: frozenset[str]) -> int:
    """Trips of a loop over a range of known ints; 0 of any other."""
    if not isinstance(source, cst.Call) or not isinstance(source.func, cst.Name) or source.func.value != "range":
        return 0
    values = [_known(s, each.value, bound) for each in source.args if not each.star and each.keyword is None]
    limits = [value for value in values if type(value) is int]
    if len(limits) != len(source.args) or _global(s, "range") is not range:
        return 0
    try:
        return len(range(*limits))
    except (TypeError, ValueError, OverflowError):
        return 0


def _known(s: Evaluator, node: cst.BaseExpression, bound: frozenset[str]) -> object:
    match node:
        case cst.Integer():
            return int(node.value, 0)
        case cst.Name() if node.value in s.frame.local_names:
            value = s.state.locals.get(node.value)
            return value.value if isinstance(value, Static) and node.value not in bound else None
        case cst.Name():
            return _global(s, node.value)
    return None


def _global(s: Evaluator, name: str) -> object:
    """What it means where no function around binds it; evaluating the loop makes the guard."""
    frame = s.frame
    if frame.outer is not None or name in frame.local_names or name in frame.cells:
        return None
    return frame.globals.get(name, getattr(builtins, name, None))
