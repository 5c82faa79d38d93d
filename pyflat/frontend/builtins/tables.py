"""np.interp, np.searchsorted and np.digitize: a lane looked up in a known, sorted table."""

from __future__ import annotations

import math
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Given
from pyflat.frontend.space import arrays, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT, INT

_COUNT_UP_TO = 8
"""Shorter tables: one comparison for each entry beats halving."""
Table = np.ndarray[Any, Any]


def table(s: Evaluator, given: Given, name: str, node: cst.CSTNode) -> Table:
    """A known array of one axis."""
    found = arrays.known(s, given.value(name))
    if found is None:
        raise s.refuse("flatten/lane-to-object", f"{name} of {given.title} depends on the data", node,
                       help="use a table that is known while flattening, or write the search as a loop")
    made = scalars.const_eval(s, lambda: np.asarray(found))
    assert isinstance(made, Static)
    value: Table = made.value
    if value.ndim != 1 or value.dtype.kind not in "bif":
        raise s.refuse("flatten/unsupported-expression", f"{name} of {given.title} is not a table of numbers",
                       node, help="give it a known array of one axis")
    return value.astype(np.float64 if value.dtype.kind == "f" else np.int64)


def place(s: Evaluator, entries: list[Any], x: Value, opcode: str) -> Value:
    """How many entries of a sorted table hold `x <opcode> entry` ("ge", "gt"): where x belongs."""
    build = s.build
    if len(entries) <= _COUNT_UP_TO:
        tests = [build.op("to_int", build.op(opcode, x, const(v))) for v in entries]
        total: Value = const(0)
        for position, test in enumerate(tests):
            total = test if position == 0 else build.op("add", total, test)
        return total
    size = 1 << len(entries).bit_length()
    step = size // 2
    at: Value = const(0)
    while step:
        probe = build.op("add", at, const(step))
        last = const(len(entries))
        inside = probe if size - 1 == len(entries) else build.op("select", build.op("lt", probe, last), probe, last)
        entry = build.op("gather", build.op("sub", inside, const(1)), kind=x.kind, table=tuple(entries))
        go = build.op(opcode, x, entry)
        if size - 1 != len(entries):
            go = build.op("and", go, build.op("le", probe, last))
        at = build.op("select", go, probe, at)
        step //= 2
    return at


def _sorted(s: Evaluator, values: Table, title: str, node: cst.CSTNode) -> list[Any]:
    if (np.diff(values) < 0).any() or np.isnan(values).any():
        raise s.refuse("flatten/unsupported-expression", f"the table of {title} is not sorted", node,
                       why="what NumPy finds in an unsorted table depends on the steps of its search",
                       help="sort the table first")
    found: list[Any] = values.tolist()
    return found


def interp(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """NumPy's arr_interp for one number: the same formulas, in the same order."""
    xp, fp = (table(s, given, name, node).astype(np.float64) for name in ("xp", "fp"))
    if len(xp) != len(fp) or not len(xp):
        raise s.raised(ValueError, node)
    xs, ys = _sorted(s, xp, "np.interp", node), fp.tolist()
    left, right = (given.value(name, Static(None)) for name in ("left", "right"))
    outside = [scalars.as_float(s, Static(y) if isinstance(v, Static) and v.value is None else v)
               for v, y in ((left, ys[0]), (right, ys[-1]))]
    return arrays.apply(s, lambda x: _interpolate(s, scalars.as_float(s, x), xs, ys, outside),
                        [arrays.array(s, given.value("x"), node)], node, FLOAT)


def _interpolate(s: Evaluator, x: Value, xs: list[float], ys: list[float], outside: list[Value]) -> Value:
    build = s.build
    below, above = build.op("lt", x, const(xs[0])), build.op("gt", x, const(xs[-1]))
    if len(xs) == 1:
        return build.op("select", below, outside[0], build.op("select", above, outside[1], const(ys[0])))
    found = build.op("sub", place(s, xs, x, "ge"), const(1))
    last = len(xs) - 1
    inside = build.op("select", build.op("lt", found, const(0)), const(0), found)
    piece = build.op("select", build.op("lt", inside, const(last)), inside, const(last))
    with np.errstate(all="ignore"):
        slopes = [*(np.diff(np.array(ys)) / np.diff(np.array(xs))).tolist(), 0.0]
    slope, x0, y0 = (build.op("gather", piece, kind=FLOAT, table=tuple(v)) for v in (slopes, xs, ys))
    value: Value = build.op("add", build.op("mul", slope, build.op("sub", x, x0)), y0)
    if not all(map(math.isfinite, [*slopes, *ys])):
        value = _other_way(s, x, value, piece, slope, xs, ys)
    exact = build.op("eq", x, x0)
    if last:
        exact = build.op("or", exact, build.op("eq", piece, const(last)))
    value = build.op("select", exact, y0, value)
    value = build.op("select", above, outside[1], build.op("select", below, outside[0], value))
    return build.op("select", build.op("ne", x, x), x, value)


def _other_way(s: Evaluator, x: Value, value: Value, piece: Value, slope: Value, xs: list[float], ys: list[float]
               ) -> Value:
    """nan from one end of the piece: try the other end; equal ends give their value."""
    build = s.build
    x1 = build.op("gather", piece, kind=FLOAT, table=(*xs[1:], xs[-1]))
    y1 = build.op("gather", piece, kind=FLOAT, table=(*ys[1:], ys[-1]))
    y0 = build.op("gather", piece, kind=FLOAT, table=tuple(ys))
    again = build.op("add", build.op("mul", slope, build.op("sub", x, x1)), y1)
    level = build.op("and", build.op("ne", again, again), build.op("eq", y0, y1))
    again = build.op("select", level, y0, again)
    return build.op("select", build.op("ne", value, value), again, value)


def searchsorted(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    values = table(s, given, "a", node)
    side = given.static("side", "left")
    if side not in ("left", "right"):
        raise s.raised(ValueError, node)
    return _search(s, values, arrays.array(s, given.value("v"), node), side, "np.searchsorted", node)


def _search(s: Evaluator, values: Table, wanted: Abstract, side: str, title: str, node: cst.CSTNode) -> Abstract:
    _sorted(s, values, title, node)

    def one(v: Abstract) -> Abstract:
        if numeric_kind(v) is None:
            raise scalars.type_fault(s, v)
        kind = FLOAT if values.dtype.kind == "f" or numeric_kind(v) is FLOAT else INT
        entries = values.astype(np.float64 if kind is FLOAT else np.int64).tolist()
        x = scalars.as_float(s, v) if kind is FLOAT else scalars.to_kind(s, lane(v), INT)
        found = place(s, entries, x, "ge" if side == "right" else "gt")
        if kind is INT:
            return found
        return s.build.op("select", s.build.op("ne", x, x), const(len(entries)), found)

    return arrays.apply(s, one, [wanted], node, INT)


def digitize(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    bins = table(s, given, "bins", node)
    x = arrays.array(s, given.value("x"), node)
    steps = np.diff(bins)
    side = "left" if given.static("right", False) else "right"
    if (steps >= 0).all() and not np.isnan(bins).any():
        return _search(s, bins, x, side, "np.digitize", node)
    if not (steps <= 0).all():
        raise s.raised(ValueError, node)
    found = _search(s, bins[::-1], x, side, "np.digitize", node)
    return arrays.apply(s, lambda n: num.binary(s, "sub", Static(len(bins)), n), [found], node, INT)
