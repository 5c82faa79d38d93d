"""Which classes a number may have in Python: NumPy's scalars are others, and some numbers are arrays without axes;
and the members of an enum by their value."""

from __future__ import annotations

import enum
import types
from functools import partial
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, python_type
from pyflat.frontend.state.values import DTYPES, Abstract, Arguments, GuardedUnion, Static, WithoutAxes
from pyflat.frontend.state.widths import UNKNOWN
from pyflat.ir.nodes import FALSE, Value


def classes_of(s: Evaluator, value: Value | WithoutAxes) -> set[type]:
    """All classes that the number may have."""
    if isinstance(value, WithoutAxes):
        return {np.ndarray}
    plain = python_type(value.kind)
    if not s.widths.seen or not s.may_be_numpy(value):
        return {plain}
    if s.widths.kernel:
        return {plain if dtype is None else np.generic if dtype == "?" else np.dtype(dtype).type
                for dtype in s.widths.of(value)} | ({plain} if s.widths.of(value) == UNKNOWN else set())
    if value in s.widths.without_axes:
        return {np.ndarray}
    found: set[type] = {np.dtype(DTYPES[value.kind]).type}
    if not s.is_numpy(value):
        found.add(plain)
    if s.widths.is_joined(value):
        if s.widths.without_axes:
            found.add(np.ndarray)
        s.joins_have_no_arrays = True
    return found


def without_axes(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """The number as an array without axes, which NumPy gives here."""
    if isinstance(value, Static) and isinstance(value.value, np.generic):
        return WithoutAxes(value.value)
    if not isinstance(value, Value):
        return value
    if s.joins_have_no_arrays:
        raise _unknown(s, "the class", node)
    value = s.build.op("select", FALSE, value, value)  # one that was given stays what it was
    if not s.widths.kernel:
        s.widths.as_numpy(s.build, value, own=True)
    s.widths.without_axes.add(value)
    return value


def is_without_axes(s: Evaluator, value: Abstract) -> bool:
    return isinstance(value, WithoutAxes) or isinstance(value, Value) and value in s.widths.without_axes


def may_lack_axes(s: Evaluator, value: Abstract) -> bool:
    """Whether a number may be an array without axes."""
    return isinstance(value, Value) and s.widths.seen and (value in s.widths.without_axes or s.widths.is_joined(value))


def is_instance(s: Evaluator, value: Value | WithoutAxes, classes: Any, node: cst.CSTNode) -> Abstract:
    """isinstance of a number, where all classes that it may have give the same answer."""
    first, *others = classes_of(s, value)
    answer = const_eval(s, partial(issubclass, first, classes))
    if any(issubclass(cls, classes) is not issubclass(first, classes) for cls in others):
        raise _unknown(s, "isinstance", node)
    return answer


def class_of(s: Evaluator, value: Value | WithoutAxes, node: cst.CSTNode) -> Static:
    """type() of a number."""
    found = classes_of(s, value)
    if len(found) > 1:
        raise _unknown(s, "type()", node)
    return Static(found.pop())


def has_attribute(s: Evaluator, value: Value | WithoutAxes, name: str, node: cst.CSTNode) -> Static:
    """hasattr of a number."""
    answers = {hasattr(cls, name) for cls in classes_of(s, value)}
    if len(answers) > 1:
        raise _unknown(s, "hasattr", node)
    return Static(answers.pop())


def _unknown(s: Evaluator, asked: str, node: cst.CSTNode) -> Exception:
    return s.refuse("flatten/unsupported-expression", f"{asked} of a number that NumPy may have made", node,
                    why="NumPy's numbers are of other classes than Python's, and pyflat does not know which this is",
                    help="float(x), int(x) or bool(x) before makes it one of Python's")


# --- enums
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
