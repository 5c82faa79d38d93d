"""`try`: exceptions that are certain become edges to the handlers. `with`: context managers that only settle what NumPy
or the warnings module does about a warning.

Inside a `try` body an operation whose fault can be told exactly from its operands (a zero divisor, a negative root, an
index outside its table) is preceded by a check that leaves to the handlers; so does a `raise` of a known class. Every
other fault, and any fault once a NumPy scalar may be involved, makes the lane suspect, and the replay runs the
original with its handlers: slower, never wrong.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator, Scope, TryScope
from pyflat.frontend.state.values import NONE, UNBOUND, Abstract, Caught, GuardedUnion, Static
from pyflat.functions.records import Outside
from pyflat.ir.build import Builder, const
from pyflat.ir.faults import RULES, outside_domain
from pyflat.ir.nodes import Op, Value
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.types import FLOAT

Condition = Callable[[Builder, Op], Value | None]
"""The lanes in which an operation raises; None: in none."""


def _nan(build: Builder, op: Op) -> Value | None:
    return build.op("isnan", op.args[0]) if op.args[0].kind is FLOAT else None


def _infinite(build: Builder, op: Op) -> Value | None:
    return build.op("isinf", op.args[0]) if op.args[0].kind is FLOAT else None


def _zero_to_negative(build: Builder, op: Op) -> Value | None:
    """The power -inf of zero is inf."""
    base, exponent = op.args
    negative = build.op("and", build.op("lt", exponent, const(0.0)), build.op("isfinite", exponent))
    return build.op("and", build.op("eq", base, const(0.0)), negative)


EDGES: dict[str, tuple[tuple[type[BaseException], Condition], ...]] = {
    "zero_divisor": ((ZeroDivisionError, RULES["zero_divisor"]),),
    "floordiv": ((ZeroDivisionError, RULES["zero_divisor"]),),
    "fmod": ((ValueError, RULES["fmod"]),),
    "index": ((IndexError, RULES["index"]),),
    "negative_count": ((ValueError, RULES["negative_count"]),),
    "shl": ((ValueError, RULES["negative_count"]),),
    "int_range": ((ValueError, _nan), (OverflowError, _infinite)),
    "pow": ((ZeroDivisionError, _zero_to_negative),),
}
"""Fault rule -> exceptions with conditions that read only the operands, and hold in exactly the lanes where Python
raises them. The rule may have more faults than these."""

WHOLE = frozenset(EDGES) - {"floordiv", "shl", "int_range", "pow"}
"""Rules that have no faults beside these."""


def _edges(rule: tuple[Outside, ...] | str) -> tuple[tuple[type[BaseException], Condition], ...]:
    """Exceptions with their conditions, as in `EDGES`: outside of the domain it is ValueError, exactly there."""
    if isinstance(rule, str):
        return EDGES.get(rule, ())
    return ((ValueError, lambda build, op: outside_domain(build, op, rule)),)


_FAULTS = (ZeroDivisionError, OverflowError, ValueError, IndexError)
"""What an operation on numbers may raise."""


Classes = tuple[tuple[type[BaseException], ...], ...]
"""For each handler the classes that it catches."""


def execute_try(s: Evaluator, node: cst.Try) -> None:
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
        s.space.execute(node.finalbody.body)


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


def _classes(s: Evaluator, handler: cst.ExceptHandler) -> tuple[type[BaseException], ...]:
    if handler.type is None:
        return (BaseException,)
    value = s.space.evaluate(handler.type)
    known = value.value if isinstance(value, Static) else None
    classes = known if isinstance(known, tuple) else (known,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        raise s.refuse("flatten/lane-to-object", "the exception classes of a handler must be known", handler)
    return classes


def _try(s: Evaluator, node: cst.Try, caught: Classes, done: Scope) -> Abstract:
    """The body leaves to `done` when it ends; what falls out of the inner region is an exception class."""
    scope = TryScope(Scope(s.fresh("raised")), tuple(c for classes in caught for c in classes), s.frame)

    def body() -> Abstract:
        outer = s.build.before_append
        s.tries.append(scope)
        s.build.before_append = lambda op: _check(s, op)
        try:
            s.space.execute(node.body)
        finally:
            s.tries.pop()
            s.build.before_append = outer
        if node.orelse is not None:
            s.space.execute(node.orelse.body)
        raise s.leave(done)

    _dispatch(s, node, caught, s.region(scope.raised, body))
    return Static(None)


def _dispatch(s: Evaluator, node: cst.Try, caught: Classes, raised: Abstract) -> None:
    if isinstance(raised, GuardedUnion):
        s.split(raised, lambda part: _dispatch(s, node, caught, part))
        return
    assert isinstance(raised, Static)
    for handler, classes in zip(node.handlers, caught, strict=True):
        if issubclass(raised.value, classes):
            _handle(s, handler, raised.value)
            return


def _handle(s: Evaluator, handler: cst.ExceptHandler, cls: type[BaseException]) -> None:
    name = handler.name.name.value if handler.name is not None and isinstance(handler.name.name, cst.Name) else None
    if name is not None:
        s.store(name, Caught(cls))
    s.frame.handling.append(cls)
    try:
        s.space.execute(handler.body)
    finally:
        s.frame.handling.pop()
    if name is not None:
        s.store(name, UNBOUND)


def _check(s: Evaluator, op: Op) -> None:
    """Before an operation of a try body: lanes in which it would raise leave to the handlers."""
    rule = PRIMITIVES[op.opcode].faults
    if not rule:
        return
    whole = not isinstance(rule, str) or rule in WHOLE
    if (s.saw_numpy or not whole) and any(issubclass(c, scope.catches) for scope in s.tries for c in _FAULTS):
        s.replayed_handlers = True
    if s.saw_numpy:
        return
    for cls, condition_of in _edges(rule):
        if any(issubclass(cls, scope.catches) for scope in s.tries):
            condition = condition_of(s.build, op)
            if condition is not None:
                heap.raise_if(s, condition, cls)


# --- with
_QUIET = ("ignore", "warn", "print", "log", None)
"""Settings of np.errstate under which a floating-point error stays a value."""


def execute_with(s: Evaluator, node: cst.With) -> None:
    """The body, as if the context managers were not there."""
    for item in node.items:
        if node.asynchronous is not None or not isinstance(item.item, cst.Call):
            raise _unknown(s, item)
        value = _entered(s, item, item.item)
        if item.asname is not None:
            s.space.assign(item.asname.name, value)
    before, s.catching_warnings = s.catching_warnings, s.catching_warnings or _catches(s, node)
    try:
        s.space.execute(node.body)
    finally:
        s.catching_warnings = before


def _catches(s: Evaluator, node: cst.With) -> bool:
    managers = [s.space.evaluate(item.item.func) for item in node.items if isinstance(item.item, cst.Call)]
    return any(isinstance(m, Static) and m.value is warnings.catch_warnings for m in managers)


def _entered(s: Evaluator, item: cst.WithItem, call: cst.Call) -> Abstract:
    """What `as` binds."""
    manager = s.space.evaluate(call.func)
    known: Any = manager.value if isinstance(manager, Static) else None
    values = [s.space.evaluate(arg.value) for arg in call.args]
    if known is np.errstate and all(isinstance(v, Static) and v.value in _QUIET for v in values):
        return NONE
    if known is warnings.catch_warnings and item.asname is None and all(isinstance(v, Static) for v in values):
        return NONE
    if known is contextlib.nullcontext and len(values) < 2:
        return values[0] if values else NONE
    raise _unknown(s, item)


def _unknown(s: Evaluator, item: cst.WithItem) -> Exception:
    return s.refuse("flatten/unsupported-statement", "a `with` block cannot be flattened", item,
                    help="np.errstate, warnings.catch_warnings and contextlib.nullcontext can; move other context "
                    "managers out of the flattened function")
