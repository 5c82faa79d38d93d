"""What a test says of the variables in it: in each arm a name means those of its alternatives that get there.

    if isinstance(v, tuple):       v is a tuple, a number or None: it is the tuple here,
        return v[0]
    return 0 if v is None else v   and the number or None there

Asked of each alternative alone, the test is known for some; nothing else of what was evaluated stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.state.frames import ControlLeft, Evaluator
from pyflat.frontend.state.kinds import alternatives, is_number_union
from pyflat.frontend.state.values import Abstract, GuardedUnion, State, Static
from pyflat.frontend.syntax.loops import checkpoint

MAX_ALTERNATIVES = 16
"""More are asked together only."""
_ASKED = ("isinstance", "callable", "type")
_READ = (cst.Name, cst.Comparison, cst.ComparisonTarget, cst.UnaryOperation, cst.BooleanOperation, cst.BaseNumber,
         cst.SimpleString, cst.Attribute, cst.Tuple, cst.Element)
Arm = Callable[[], Abstract | None]


def _names(test: cst.CSTNode) -> tuple[str, ...]:
    """The names in a test that reads only; none in another."""
    found: list[str] = []
    for node in _inside(test):
        if isinstance(node, cst.Call):
            if not isinstance(node.func, cst.Name) or node.func.value not in _ASKED:
                return ()
        elif not isinstance(node, _READ) or isinstance(node, cst.ComparisonTarget) and isinstance(
                node.operator, cst.In | cst.NotIn) and not isinstance(node.comparator, cst.Tuple):
            return ()  # an iterator would be asked twice
        elif isinstance(node, cst.Name):
            found.append(node.value)
    return tuple(dict.fromkeys(found))


def _inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    rest = [node]
    while rest:
        yield (node := rest.pop())
        rest += [child.value if isinstance(child, cst.Arg) else child for child in reversed(node.children)
                 if isinstance(child, cst.BaseExpression | cst.ComparisonTarget | cst.BaseElement | cst.Arg)]


def arms(s: Evaluator, test: cst.BaseExpression, then: Arm, orelse: Arm) -> tuple[Arm, Arm]:
    """The arms of a branch, in which names mean what gets there."""
    if not any(isinstance(value, GuardedUnion) for value in s.state.locals.values()):
        return then, orelse
    for name in s.frame.captured.once(_names, test):
        value = s.state.locals.get(name)
        if not isinstance(value, GuardedUnion) or is_number_union(value) or (
                len(options := alternatives(value)) > MAX_ALTERNATIVES):
            continue
        known = {id(option): _asked(s, test, name, option) for option in options}
        left = _left(value, known, unwanted=False), _left(value, known, unwanted=True)
        then, orelse = _narrowed(s, name, value, (then, left[0]), (orelse, left[1]))
    return then, orelse


def _asked(s: Evaluator, test: cst.BaseExpression, name: str, option: Abstract) -> bool | None:
    """What the test is where the name means this; None where that depends on the lane, and where the user's own code
    decides, which may say something else when it is asked again."""
    before, undo, calls = s.state, checkpoint(s), len(s.trace.called)
    s.state.locals[name] = option
    found: Abstract | None = None
    try:
        with s.build.detached(), suppress(FlattenError, ControlLeft):
            found = s.space.condition(test)
    finally:
        undo()
        s.state = before
    called = len(s.trace.called) > calls
    del s.trace.called[calls:]
    return bool(found.value) if isinstance(found, Static) and not called else None


def _left(value: Abstract, known: dict[int, bool | None], *, unwanted: bool) -> Abstract | None:
    """The value without alternatives for which the test is the other way; None where nothing is left."""
    if not isinstance(value, GuardedUnion):
        return None if known[id(value)] is unwanted else value
    then, orelse = (_left(part, known, unwanted=unwanted) for part in (value.then, value.orelse))
    if then is None or orelse is None:
        return orelse if then is None else then
    return value if then is value.then and orelse is value.orelse else GuardedUnion(value.cond, then, orelse)


def _narrowed(s: Evaluator, name: str, value: Abstract, then: tuple[Arm, Abstract | None],
              orelse: tuple[Arm, Abstract | None]) -> tuple[Arm, Arm]:
    """The arms with the name narrowed. Behind them it means what it did, where lanes of both get there."""
    kept: list[State] = []

    def run(arm: Arm, narrowed: Abstract) -> Abstract | None:
        s.state.locals[name] = narrowed
        result = arm()
        if s.state.locals.get(name) is narrowed:
            kept.append(s.state)
        for state in kept if len(kept) == 2 else ():
            state.locals[name] = value
        return result

    (first, left), (second, rest) = then, orelse
    return lambda: run(first, left or value), lambda: run(second, rest or value)
