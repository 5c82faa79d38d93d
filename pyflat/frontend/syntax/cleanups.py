"""Ways out of a block: exceptions that a handler catches, and what is done however a block is left.

Inside of `catch` an operation whose fault can be told exactly from its operands (a zero divisor, a negative root, an
index outside its table) is preceded by a check that leaves to the handlers; so does a `raise` of a known class. Every
other fault, and any fault once a NumPy scalar may be involved, makes the lane suspect, and the replay runs the
original with its handlers: slower, never wrong.

A cleanup (`finally`, or the __exit__ of a context manager) is evaluated once for each way out: behind the block, before
each return, break and continue, and before an exception that an outer `try` catches, or any where the cleanup itself
jumps: then neither the exception nor the jump before goes on. Other exceptions end the lane, and only its replay sees
what a cleanup does then.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Cleanup, Evaluator, TryScope
from pyflat.frontend.state.values import Abstract, Scope, Static
from pyflat.functions.records import Outside
from pyflat.ir.build import Builder, const
from pyflat.ir.faults import RULES, outside_domain
from pyflat.ir.nodes import Op, Value
from pyflat.ir.ops import OPERATIONS
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


def catch(s: Evaluator, classes: tuple[type[BaseException], ...], body: Callable[[], object],
          orelse: Callable[[], object], handle: Callable[[type[BaseException]], object]) -> None:
    """`body`, then `orelse`; in lanes that raise one of `classes` in the body, `handle` of the class it was."""
    done, scope = Scope(s.fresh("tried")), TryScope(Scope(s.fresh("raised")), classes, s.frame)

    def run() -> Abstract:
        outer = s.build.before_append
        s.tries.append(scope)
        s.build.before_append = lambda op: _check(s, op)
        try:
            body()
        finally:
            s.tries.pop()
            s.build.before_append = outer
        orelse()
        raise s.leave(done)

    def handled(raised: Abstract) -> None:
        assert isinstance(raised, Static)
        s.effects.handling += 1
        try:
            handle(raised.value)
        finally:
            s.effects.handling -= 1

    s.region(done, lambda: s.each(s.region(scope.raised, run), handled))


def _check(s: Evaluator, op: Op) -> None:
    """Before an operation of a try body: lanes in which it would raise leave to the handlers."""
    rule = OPERATIONS[op.opcode].faults
    if not rule:
        return
    whole = not isinstance(rule, str) or rule in WHOLE
    if (s.widths.seen or not whole) and any(issubclass(c, scope.catches) for scope in s.tries for c in _FAULTS):
        s.replayed_handlers = True
    if s.widths.seen:
        return
    for cls, condition_of in _edges(rule):
        if any(issubclass(cls, scope.catches) for scope in s.tries):
            condition = condition_of(s.build, op)
            if condition is not None:
                heap.raise_if(s, condition, cls)


def run(s: Evaluator, body: Callable[[], object], cleanup: Callable[[], object], *, drops: bool = False) -> None:
    """`body`, and `cleanup` on every way out of it; `drops`: it may jump, and then drops an exception on its way."""
    s.cleanups.append(Cleanup(cleanup, s.frame, len(s.frame.loops), len(s.tries), s.build.before_append))

    def pass_on(raised: type[BaseException]) -> None:
        del s.cleanups[known:]
        cleanup()
        raise s.raised(raised)

    known = len(s.cleanups) - 1
    try:
        if s.tries or drops:
            classes = (BaseException,) if drops else tuple(c for scope in s.tries for c in scope.catches)
            catch(s, classes, body, lambda: None, pass_on)
        else:
            body()
    finally:
        del s.cleanups[known:]
    cleanup()


def before_jump(s: Evaluator, loops: int = 0) -> None:
    """The cleanups of the running frame that a jump passes, the innermost first: all of them before a return, those
    inside of the innermost of `loops` loops before a break or continue."""
    kept = list(s.cleanups)
    tries, check = list(s.tries), s.build.before_append
    try:
        while s.cleanups and s.cleanups[-1].frame is s.frame and s.cleanups[-1].loops >= loops:
            cleanup = s.cleanups.pop()
            del s.tries[cleanup.tries:]
            s.build.before_append = cleanup.check
            cleanup.run()
    finally:
        s.cleanups[:], s.tries[:], s.build.before_append = kept, tries, check
