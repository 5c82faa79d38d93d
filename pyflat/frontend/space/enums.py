"""`E(value)` of a lane: the member of an enum by its value, one of the known members in each lane."""

from __future__ import annotations

import enum
import types
from typing import Any

import libcst as cst

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe
from pyflat.frontend.state.values import Abstract, Arguments, GuardedUnion, Static

MAX_MEMBERS = 64
"""Each is compared with the lane's value."""


def is_enum(cls: type) -> bool:
    """A class of members; their class itself has none."""
    return issubclass(cls, enum.Enum) and bool(cls.__members__)


def member(s: Evaluator, cls: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """`cls(value)`: ValueError in lanes whose value no member has."""
    if len(arguments.positional) != 1 or arguments.named:
        raise s.raised(TypeError, node)
    (value,) = arguments.positional
    if isinstance(value, GuardedUnion):
        return s.split(value, lambda part: s.space.call(Static(cls), Arguments([part], {}), node))
    if issubclass(cls, enum.Flag):
        raise s.refuse("flatten/unknown-call", f"{cls.__name__}(...) of {describe(value)}", node,
                       why="a value may be any combination of flags, more than a finite set of members",
                       help="compute with ints: `n & int(Flag.A)`")
    missing = cls._missing_
    if isinstance(getattr(missing, "__func__", None), types.FunctionType) and not _is_enums_own(missing):
        raise s.refuse("flatten/unknown-call", f"{cls.__name__} defines _missing_", node,
                       help="look the member up in a dict")
    members = [each for each in cls if isinstance(each.value, bool | int | float)]
    if len(members) > MAX_MEMBERS:
        raise s.refuse("flatten/too-large", f"{cls.__name__} has {len(members)} members, and each would be compared",
                       node, help="keep the number, and compare it with the members that matter")
    s.guards.instance(cls)
    return _first_equal(s, members, value, node)


def _is_enums_own(missing: Any) -> bool:
    return bool(missing.__func__ is enum.Enum._missing_.__func__)  # type: ignore[attr-defined]


def _first_equal(s: Evaluator, members: list[Any], value: Abstract, node: cst.CSTNode) -> Abstract:
    if not members:
        raise s.raised(ValueError, node)
    first, *rest = members
    same = s.space.truth(s.space.compare("eq", value, Static(first.value), node))
    if isinstance(same, Static):
        return Static(first) if same.value else _first_equal(s, rest, value, node)
    return s.branch(same, lambda: Static(first), lambda: _first_equal(s, rest, value, node))
