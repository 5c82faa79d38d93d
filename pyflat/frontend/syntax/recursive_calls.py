"""A function whose recursion depends on lanes as a loop, where each call is the last thing that its caller does.

Before:                                  After:
    def digits(n):                           total = 0
        if n < 10:                           while True:
            return 1                             if n < 10:
        return 1 + digits(n // 10)                   return total + 1
                                                 n, total = n // 10, total + 1

What a caller adds to the result, or multiplies it with, is collected on the way in: for ints the order of sums and
products does not matter. A recursion that is deeper than MAX_DEPTH is left to the original, which has Python's limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from pyflat.frontend.space import scalars
from pyflat.frontend.spelling import names_in, nodes_in
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Closure, Frame, LoopScope, State, Static
from pyflat.frontend.syntax import cached_calls, cleanups, rolled_loops
from pyflat.ir.build import const
from pyflat.ir.types import BOOL, INT

MAX_DEPTH = 400
_TOTAL, _DEPTH = "recursion total", "recursion depth"
_OPERATORS: dict[type, str] = {cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul"}


@dataclass(eq=False, slots=True)
class Recursion:
    """The loop that a frame runs as: `calls` go around, `opcode` is what is collected ("" for nothing)."""

    calls: frozenset[cst.Call]
    opcode: str
    bind: Callable[[cst.Call], dict[str, Abstract]]
    scope: LoopScope | None = None


@dataclass(slots=True)
class _Found:
    calls: list[cst.Call] = field(default_factory=list)
    opcodes: set[str] = field(default_factory=set)


def plan(frame: Frame) -> tuple[frozenset[cst.Call], str] | None:
    """The calls that go around, and what is collected; None where not every call of itself is such a one."""
    tree = frame.captured.tree
    if isinstance(tree, cst.Lambda) or frame.has_closures:
        return None
    name, found = tree.name.value, _Found()
    for statement in _statements(tree.body):
        if isinstance(statement, cst.Return) and statement.value is not None:
            _tails(statement.value, name, found)
    if not found.calls:
        return None
    inside = list(nodes_in(tree.body))
    mentions = sum(isinstance(node, cst.Name) and node.value == name for node in inside)
    if mentions != len(found.calls) or any(isinstance(node, cst.FunctionDef | cst.Lambda) for node in inside):
        return None
    collected = {"add" if opcode == "sub" else opcode for opcode in found.opcodes}
    return (frozenset(found.calls), collected.pop() if collected else "") if len(collected) < 2 else None


def _statements(body: cst.BaseSuite | cst.BaseStatement) -> Iterator[cst.CSTNode]:
    """The statements of a function that are in no loop, `try` or `with`."""
    for statement in body.body if isinstance(body, cst.IndentedBlock | cst.SimpleStatementSuite) else ():
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
        elif isinstance(statement, cst.If):
            yield from _arms(statement)
        else:
            yield statement


def _arms(statement: cst.If) -> Iterator[cst.CSTNode]:
    yield from _statements(statement.body)
    if isinstance(statement.orelse, cst.If):
        yield from _arms(statement.orelse)
    elif statement.orelse is not None:
        yield from _statements(statement.orelse.body)


def _tails(value: cst.BaseExpression, name: str, found: _Found) -> None:
    match value:
        case cst.IfExp():
            _tails(value.body, name, found)
            _tails(value.orelse, name, found)
        case cst.Call() if _is_of(value, name):
            found.calls.append(value)
        case cst.BinaryOperation() if type(value.operator) in _OPERATORS:
            call = _call_in(value, name)
            if call is not None:
                found.calls.append(call)
                found.opcodes.add(_OPERATORS[type(value.operator)])


def _is_of(value: cst.BaseExpression, name: str) -> bool:
    return isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == name


def _call_in(value: cst.BinaryOperation, name: str) -> cst.Call | None:
    """The call of itself that is one of the operands, and no subtrahend. What stands behind it is evaluated before it:
    only numbers and names of the frame, which no call changes."""
    if _is_of(value.left, name) and _is_plain(value.right):
        return value.left  # type: ignore[return-value]
    if _is_of(value.right, name) and not isinstance(value.operator, cst.Subtract):
        return value.right  # type: ignore[return-value]
    return None


def _is_plain(value: cst.BaseExpression) -> bool:
    match value:
        case cst.BinaryOperation():
            return _is_plain(value.left) and _is_plain(value.right)
        case cst.UnaryOperation():
            return _is_plain(value.expression)
    return isinstance(value, cst.Name | cst.BaseNumber)


# --- running
def run(s: Evaluator, frame: Frame, found: Recursion) -> Abstract:
    """The body as a loop, which is left by returning only."""
    tree = frame.captured.tree
    frame.recursion = found
    start: dict[str, Abstract] = {_DEPTH: const(0)}
    if found.opcode:
        start[_TOTAL] = const(int(found.opcode == "mul"))

    def body(scope: LoopScope) -> None:
        found.scope = scope
        depth = lane(s.state.locals[_DEPTH])
        heap.suspect_if(s, s.build.op("gt", depth, const(MAX_DEPTH)), "a deep recursion", tree)
        s.state.locals[_DEPTH] = s.build.op("add", depth, const(1))
        s.space.execute(tree.body)  # type: ignore[arg-type]
        _give(s, frame, found, Static(None), tree)

    try:
        rolled_loops.roll(s, tree, body, start)
    finally:
        frame.recursion = None
    raise AssertionError("a recursion is left by returning")


def go_around(s: Evaluator, frame: Frame, found: Recursion, value: cst.BaseExpression | None) -> None:
    """`return value`: the next round, or the result."""
    if value is None:
        _give(s, frame, found, Static(None), frame.captured.tree)
        return
    if isinstance(value, cst.IfExp) and not found.calls.isdisjoint(_calls_of(value)):
        test = s.space.condition(value.test)
        if isinstance(test, Static):
            go_around(s, frame, found, value.body if test.value else value.orelse)
        s.branch(test, lambda: go_around(s, frame, found, value.body),  # type: ignore[arg-type]
                 lambda: go_around(s, frame, found, value.orelse))
    if isinstance(value, cst.Call) and value in found.calls:
        _next(s, found, found.bind(value), value)
    if isinstance(value, cst.BinaryOperation):
        if value.left in found.calls:
            assert isinstance(value.left, cst.Call)
            bound = found.bind(value.left)
            if not frame.local_names.issuperset(names_in(value.right)):
                raise s.refuse("flatten/recursion", "a name of another function behind a recursive call", value,
                               help="write it as a loop")
            _collect(s, found, _OPERATORS[type(value.operator)], s.space.evaluate(value.right), value)
            _next(s, found, bound, value)
        if value.right in found.calls:
            assert isinstance(value.right, cst.Call)
            _collect(s, found, _OPERATORS[type(value.operator)], s.space.evaluate(value.left), value)
            _next(s, found, found.bind(value.right), value)
    _give(s, frame, found, s.space.evaluate(value), value)


def _calls_of(value: cst.IfExp) -> Iterator[cst.CSTNode]:
    for part in (value.body, value.orelse):
        if isinstance(part, cst.IfExp):
            yield from _calls_of(part)
        elif isinstance(part, cst.BinaryOperation):
            yield from (part.left, part.right)
        else:
            yield part


def _next(s: Evaluator, found: Recursion, bound: dict[str, Abstract], node: cst.CSTNode) -> None:
    hidden = {name: s.state.locals[name] for name in (_TOTAL, _DEPTH) if name in s.state.locals}
    s.state = State({**bound, **hidden}, s.state.heap)
    assert found.scope is not None and found.scope.again is not None
    raise s.leave(found.scope.again)


def _collect(s: Evaluator, found: Recursion, opcode: str, value: Abstract, node: cst.CSTNode) -> None:
    _require_int(s, value, node)
    s.state.locals[_TOTAL] = scalars.binary(s, opcode, s.state.locals[_TOTAL], value)


def _give(s: Evaluator, frame: Frame, found: Recursion, value: Abstract, node: cst.CSTNode) -> None:
    if found.opcode:
        _require_int(s, value, node)
        value = scalars.binary(s, found.opcode, s.state.locals[_TOTAL], value)
    cleanups.before_jump(s)
    s.state = State({}, s.state.heap)
    raise s.leave(frame.returns, value)


def _require_int(s: Evaluator, value: Abstract, node: cst.CSTNode) -> None:
    if numeric_kind(value) not in (INT, BOOL) or s.may_be_numpy(value):
        raise s.refuse("flatten/recursion", f"{s.frame.captured.name} calls itself, and no static argument "
                       "changes", node, label="the recursion depends on the data", why="its result is used after the "
                       "call: only sums and products of ints can be accumulated before it",
                       help="write it as a loop")


def binder(s: Evaluator, frame: Frame, evaluate: Callable[[cst.Call, Abstract], Arguments], signature: Any
           ) -> Callable[[cst.Call], dict[str, Abstract]]:
    """Binds the arguments of a call that goes around; a name that means another function there is refused."""
    def bind(node: cst.Call) -> dict[str, Abstract]:
        function, cached = cached_calls.without_cache(s.space.evaluate(node.func))
        same = function.captured.tree is frame.captured.tree if isinstance(function, Closure) else \
            isinstance(function, Static) and function.value is frame.function
        if not same:
            raise s.refuse("flatten/recursion", f"{frame.captured.name} is another function inside of itself", node)
        arguments = evaluate(node, function)
        if cached:
            cached_calls.require_keys(s, arguments, node)
        return lookup.bind(s, signature, arguments, node)

    return bind
