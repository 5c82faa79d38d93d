"""Reductions of what is one number in each lane: `np.sum(v * v)` of a parameter `v`.

They have two readings. A lane is one element, so that the sum is that of one number, which is what the twin computes.
Called with arrays, the original gives one sum of all elements. A `LaneWarning` says so, once for each place of a
function. Sums of arrays that are made inside have one reading.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import libcst as cst
import numpy as np

from pyflat.errors import PACKAGE, Span
from pyflat.frontend.notices import LaneWarning, warn
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import is_number_union
from pyflat.frontend.state.values import Abstract, Static

OPERANDS: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((np.sum, np.prod, np.mean, np.var, np.std, np.median, np.max, np.amax, np.min, np.amin, np.nanmax,
                     np.nanmin, np.nansum, np.ptp, np.any, np.all, np.argmax, np.argmin, np.count_nonzero, np.average,
                     np.size), ("a",)),
    **dict.fromkeys((np.dot, np.vdot, np.inner), ("a", "b")), np.linalg.norm: ("x",),
    np.allclose: ("a", "b"),
}
"""Functions that give less than an element for each element, and their operands."""
_PRODUCTS = (np.dot, np.vdot, np.inner)
"""With a constant number they give an element for each element."""
_NUMPY = os.path.dirname(np.__file__) + os.sep

_told: WeakKeyDictionary[FunctionType, set[Span]] = WeakKeyDictionary()


def note_reduction(s: Evaluator, fn: Any, title: str, named: Mapping[str, Abstract], node: cst.CSTNode) -> None:
    """Remember the place, where every operand is a number that differs from lane to lane."""
    names, span = OPERANDS.get(fn, ()), s.span(node)
    operands = [named[name] for name in names if name in named]
    if not operands or span is None or span.file.startswith((_NUMPY, PACKAGE)):
        return
    known = [isinstance(operand, Static) for operand in operands]
    if all(map(is_number_union, operands)) and not (any(known) if fn in _PRODUCTS else all(known)):
        s.two_readings.setdefault(span, title)


def tell_unwritten(function: FunctionType, places: Mapping[Span, str]) -> None:
    """Warn of writes to captured objects that the twin leaves out, once for each place."""
    _tell(function, places, lambda span, what: f"{span}: the original writes {what}; a twin leaves it as it is, "
          "because every element would write it in turn. If you read it after the call, return it instead.")


def tell(function: FunctionType, places: Mapping[Span, str]) -> None:
    """Warn of the reductions in `function` that were not told before."""
    _tell(function, places, _text)


def _tell(function: FunctionType, places: Mapping[Span, str], text: Callable[[Span, str], str]) -> None:
    told = _told.setdefault(function, set())
    for span, what in places.items():
        if span not in told:
            warn(text(span, what), LaneWarning)
            told.add(span)


def _text(span: Span, title: str) -> str:
    line = linecache.getline(span.file, span.line)
    end = span.end_column if span.end_line == span.line else len(line)
    shown = line[span.column:end].strip() or title
    return (f"{span}: {shown} reduces a single number. In the twin, {title} gets one element at a time; called with "
            f"whole arrays, the original returns one result for all elements. For one result per element, remove "
            f"{title}. For one result for all elements, name the arrays in arrays=(...). To reduce several numbers per "
            f"element, pass a tuple of arrays.")
