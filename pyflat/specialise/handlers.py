"""`try`: exceptions that are certain become edges to the handlers.

Inside a `try` body an operation whose fault can be told exactly from its operands (a zero divisor, a negative root, an
index outside its table) is preceded by a check that leaves to the handlers; so does a `raise` of a known class. Every
other fault, and any fault once a NumPy scalar may be involved, makes the lane suspect, and the replay runs the
original with its handlers: slower, never wrong.
"""

from __future__ import annotations

import libcst as cst

from pyflat.ir.faults import RULES
from pyflat.ir.nodes import Op
from pyflat.ir.ops import PRIMITIVES
from pyflat.specialise import expressions, statements
from pyflat.specialise.frames import Scope, Specialiser, TryScope
from pyflat.specialise.values import UNBOUND, Abstract, Caught, Choice, Static

EXACT: dict[str, type[BaseException]] = {
    "zero_divisor": ZeroDivisionError, "floordiv": ZeroDivisionError, "negative": ValueError,
    "not_positive": ValueError, "not_above_minus_one": ValueError, "beyond_one": ValueError,
    "not_inside_one": ValueError, "below_one": ValueError, "infinite": ValueError, "fmod": ValueError,
    "index": IndexError,
}
"""Fault rules that read only the operands and hold in exactly the lanes where Python raises this class."""


Classes = tuple[tuple[type[BaseException], ...], ...]
"""For each handler the classes that it catches."""


def execute_try(s: Specialiser, node: cst.Try) -> None:
    if node.finalbody is not None and _jumps_out(node):
        raise s.refuse("flatten/not-yet", "`finally` around a return, break or continue", node,
                       help="move the return behind the try block")
    if node.finalbody is not None and s.tries:
        raise s.refuse("flatten/not-yet", "`finally` inside another try: the exception passes through it", node,
                       help="use one try block, or put the last statements behind it")
    done = Scope(s.fresh("tried"))
    caught = tuple(_classes(s, handler) for handler in node.handlers)
    s.region(done, lambda: _try(s, node, caught, done))
    if node.finalbody is not None:
        statements.execute_suite(s, node.finalbody.body)


class _Leaves(cst.CSTVisitor):
    found = False

    def visit_Return(self, node: cst.Return) -> None:
        self.found = True

    def visit_Break(self, node: cst.Break) -> None:
        self.found = True

    def visit_Continue(self, node: cst.Continue) -> None:
        self.found = True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def _jumps_out(node: cst.Try) -> bool:
    visitor = _Leaves()
    for part in (node.body, node.orelse, *node.handlers):
        if part is not None:
            part.visit(visitor)
    return visitor.found


def _classes(s: Specialiser, handler: cst.ExceptHandler) -> tuple[type[BaseException], ...]:
    if handler.type is None:
        return (BaseException,)
    value = expressions.evaluate(s, handler.type)
    known = value.value if isinstance(value, Static) else None
    classes = known if isinstance(known, tuple) else (known,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        raise s.refuse("flatten/lane-to-object", "the exception classes of a handler must be known", handler)
    return classes


def _try(s: Specialiser, node: cst.Try, caught: Classes, done: Scope) -> Abstract:
    """The body leaves to `done` when it ends; what falls out of the inner region is an exception class."""
    scope = TryScope(Scope(s.fresh("raised")), tuple(c for classes in caught for c in classes), s.frame)

    def body() -> Abstract:
        outer = s.build.before_append
        s.tries.append(scope)
        s.build.before_append = lambda op: _check(s, op)
        try:
            statements.execute_suite(s, node.body)
        finally:
            s.tries.pop()
            s.build.before_append = outer
        if node.orelse is not None:
            statements.execute_suite(s, node.orelse.body)
        raise s.leave(done)

    _dispatch(s, node, caught, s.region(scope.raised, body))
    return Static(None)


def _dispatch(s: Specialiser, node: cst.Try, caught: Classes, raised: Abstract) -> None:
    if isinstance(raised, Choice):
        s.split(raised, lambda part: _dispatch(s, node, caught, part))
        return
    assert isinstance(raised, Static)
    for handler, classes in zip(node.handlers, caught, strict=True):
        if issubclass(raised.value, classes):
            _handle(s, handler, raised.value)
            return


def _handle(s: Specialiser, handler: cst.ExceptHandler, cls: type[BaseException]) -> None:
    name = handler.name.name.value if handler.name is not None and isinstance(handler.name.name, cst.Name) else None
    if name is not None:
        s.state.locals[name] = Caught(cls)
    s.frame.handling.append(cls)
    try:
        statements.execute_suite(s, handler.body)
    finally:
        s.frame.handling.pop()
    if name is not None:
        s.state.locals[name] = UNBOUND


def _check(s: Specialiser, op: Op) -> None:
    """Before an operation of a try body: lanes in which it would raise leave to the handlers."""
    rule = PRIMITIVES[op.opcode].faults
    cls = EXACT.get(rule)
    if cls is None or s.saw_numpy or not any(issubclass(cls, scope.catches) for scope in s.tries):
        return
    condition = RULES["zero_divisor" if rule == "floordiv" else rule](s.build, op)
    if condition is None:
        return

    def leave() -> Abstract:
        raise s.raised(cls)

    s.branch(condition, leave, lambda: None)
