"""Which classes a number may have in Python: NumPy's scalars are others, and some numbers are arrays without axes."""

from __future__ import annotations

from functools import partial
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import python_type
from pyflat.frontend.state.values import DTYPES, Abstract, Static, WithoutAxes
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
    if not s.widths.kernel:
        value = s.build.op("select", FALSE, value, value)  # one that was given stays what it was
        s.widths.as_numpy(s.build, value, own=True)
    s.widths.without_axes.add(value)
    return value


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


