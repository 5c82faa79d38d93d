"""A function whose recursion depends on lanes as a loop over a stack, whatever is done with the results of its calls.

    def fib(n):                                  a round runs the body for the topmost n, where the calls that have
        if n < 2:                                returned give their results again. The first call that has not puts
            return n                             n and those results on the stack, and its argument on top of it; a
        return fib(n - 1) + fib(n - 2)           `return` takes what lies beneath, with one more result.

To run a body again from its start changes nothing: it has no effects, and its calls give what they gave. The stack is a
list that grows (`space.growing`), so that a recursion that is deeper than its places is left to the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from pyflat.frontend.space import scalars
from pyflat.frontend.spelling import names_in, nodes_in
from pyflat.frontend.state import heap, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import bound_part, is_number_union, lane
from pyflat.frontend.state.values import UNBOUND, Abstract, Arguments, BoundMethod, Frame, LoopScope, Seq, State, Static
from pyflat.frontend.syntax import cleanups, rolled_loops
from pyflat.ir.build import const

MAX_CALLS = 8
"""Calls of itself that a function has in its text."""
_STACK, _DEPTH, _COUNT, _PLACE = "recursion stack", "recursion depth", "recursion count", "recursion place"


@dataclass(eq=False, slots=True)
class Stacked:
    """The loop that a frame runs as. `most`: results that a body may ask for."""

    most: int
    texts: bool = False
    """The results are strings."""
    scope: LoopScope | None = None


def plan(frame: Frame) -> int:
    """How many calls of itself a function has; 0 where one is in a loop, or its name means more than calls."""
    tree = frame.captured.tree
    if isinstance(tree, cst.Lambda) or frame.has_closures or not frame.captured.may_mention(tree.name.value):
        return 0
    name = tree.name.value
    calls = sum(isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == name
                for node in nodes_in(tree.body, _REPEATED))
    return calls if calls == list(names_in(tree.body)).count(name) <= MAX_CALLS else 0


_REPEATED = (cst.For, cst.While, cst.Try, cst.TryStar, cst.With, cst.Lambda, cst.FunctionDef, cst.BaseComp)
"""Where a call may run several times, or what follows it may not be left."""


def run(s: Evaluator, frame: Frame, found: Stacked) -> Abstract:
    """The body as a loop, which is left by the return of the first call."""
    frame.recursion, s.stacked = found, True
    tree = frame.captured.tree
    start: dict[str, Abstract] = {_STACK: heap.new_list(s, []), _DEPTH: const(0), _COUNT: const(0)}
    start |= {_argument(name): value for name, value in frame.arguments.items()}
    if found.texts:
        start |= {_result(place): Static("") for place in range(found.most)}

    def body(scope: LoopScope) -> None:
        found.scope = scope
        s.state.locals[_PLACE] = Static(0)
        for name in frame.arguments:
            s.state.locals[name] = s.state.locals[_argument(name)]
        s.space.execute(tree.body)  # type: ignore[arg-type]
        give(s, frame, found, Static(None), tree)

    try:
        rolled_loops.roll(s, tree, body, start)
    finally:
        frame.recursion = None
    raise AssertionError("a recursion is left by returning")


def _argument(name: str) -> str:
    return f"recursion argument {name}"


def _result(place: int) -> str:
    return f"recursion result {place}"


def called(s: Evaluator, frame: Frame, found: Stacked, bound: dict[str, Abstract], node: cst.CSTNode) -> Abstract:
    """A call of itself: the result that it had, or the next round."""
    known = s.state.locals
    place, count = known[_PLACE], lane(known[_COUNT])
    known[_PLACE] = scalars.binary(s, "add", place, Static(1))
    results = [known.get(_result(k), UNBOUND) for k in range(found.most)]

    def go_in() -> Abstract:
        saved = [s.state.locals[_argument(name)] for name in frame.arguments]
        row = [*saved, count, *map(_filled, results[:-1])]
        _ask(s, "append", [Seq(tuple, tuple(row))], node)
        _go_around(s, found, bound, scalars.binary(s, "add", s.state.locals[_DEPTH], Static(1)), Static(0), results)
        raise AssertionError

    def result() -> Abstract:
        chosen: Abstract = _filled(results[0])
        for k in range(1, found.most):
            chosen = scalars.choose(s, s.build.op("eq", lane(place), const(k)), _filled(results[k]), chosen)
        return _filled(results[place.value]) if isinstance(place, Static) else chosen

    return s.branch(s.build.op("lt", lane(place), count), result, go_in)


def _filled(value: Abstract) -> Abstract:
    """A result that is there wherever it is asked for."""
    found = bound_part(value)
    return Static(0) if found is UNBOUND else found


def _ask(s: Evaluator, name: str, given: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    return s.space.call(BoundMethod(s.state.locals[_STACK], name), Arguments(list(given), {}), node)


def _go_around(s: Evaluator, found: Stacked, bound: dict[str, Abstract], depth: Abstract, count: Abstract,
               results: Sequence[Abstract]) -> None:
    state = {_STACK: s.state.locals[_STACK], _DEPTH: depth, _COUNT: count}
    state |= {_argument(name): value for name, value in bound.items()}
    state |= {_result(k): value for k, value in enumerate(results) if value is not UNBOUND}
    s.state = State(state, s.state.heap)
    assert found.scope is not None and found.scope.again is not None
    raise s.leave(found.scope.again)


def give(s: Evaluator, frame: Frame, found: Stacked, value: Abstract, node: cst.CSTNode) -> None:
    """`return value`: the result of the whole, or one more of the call beneath."""
    known, found.texts = found.texts, found.texts or templates.are_strings(value)
    if not is_number_union(value) and not known:
        raise s.refuse("flatten/recursion", f"{frame.captured.name} calls itself, and no static argument changes", node,
                       label="the recursion depends on the data", why="its calls wait on a stack, whose results are "
                       "numbers", help="write it as a loop")
    cleanups.before_jump(s)

    def leave() -> Abstract:
        s.state = State({}, s.state.heap)
        raise s.leave(frame.returns, value)

    def go_back() -> Abstract:
        top = _ask(s, "pop", [], node)
        assert isinstance(top, Seq)
        names = list(frame.arguments)
        count, older = lane(top.items[len(names)]), [*top.items[len(names) + 1:], UNBOUND]
        results = [value if k == found.most - 1 or old is UNBOUND
                   else scalars.choose(s, s.build.op("eq", count, const(k)), value, old)
                   for k, old in enumerate(older)]
        bound = dict(zip(names, top.items, strict=False))
        depth = scalars.binary(s, "sub", s.state.locals[_DEPTH], Static(1))
        _go_around(s, found, bound, depth, scalars.binary(s, "add", count, Static(1)), results)
        raise AssertionError

    s.branch(s.build.op("eq", lane(s.state.locals[_DEPTH]), const(0)), leave, go_back)

