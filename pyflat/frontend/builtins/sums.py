"""sum() of anything, and math.sumprod(), as the running Python adds.

Since Python 3.12 floats are added with compensation: what each addition loses is added up beside the total, and joins
it at the end (A. Neumaier, 1974):

    sum((a, b, c))      0 + a, then + b and + c, and what was lost in these two

That is so while total and item are Python's own floats. Ints are added without compensation, before the first float
and between floats. With any other item, a NumPy scalar too, it ends: what was lost joins the total, and all further
items are added by `+`.
"""

from __future__ import annotations

import functools
import operator
from typing import Any, TypeGuard

import libcst as cst

from pyflat.frontend.builtins.support import only
from pyflat.frontend.library import numpy_library
from pyflat.frontend.space import containers, keyed, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import is_folded, is_number_union, lane, numeric_kind, per_alternative
from pyflat.frontend.state.values import NONE, Abstract, Arguments, GuardedUnion, Seq, Static, Unsigned
from pyflat.functions import python_versions
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind


class _Running(tuple[Any, ...]):
    """The total, what it has lost so far (0.0 while it is an int), and whether compensation has ended."""

    __slots__ = ()


def sum_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    source, *rest = [*arguments.positional, *arguments.named.values()]
    running = _begun(s, node, rest[0] if rest else Static(0))
    if is_folded(source):
        running = s.space.fold(source, running, lambda old, make: _plus(s, node, old, make()), node)
    else:
        items = keyed.unordered(s, source, node, NONE, of_ints=True)
        for item in containers.items_or_gaps(s, source, node) if items is None else items:
            running = heap.where_present(s, item, functools.partial(_plus, s, node, running),
                                         functools.partial(_same, running))
    return _rounded(s, running)


def sumprod(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """math.sumprod(), which is as old as the compensation of sum()."""
    s.require_float64("math.sumprod", node)
    if not python_versions.sumprod_is_known():
        heap.suspect_if(s, const(True), "math.sumprod in this version of Python", node)
    factors = [heap.make_tuple(s.space.items(source, node)) for source in only(s, arguments, node, 2, 2)]
    return s.space.call(Static(numpy_library.sumprod), Arguments(factors, {}), node)


def _same(running: Abstract) -> Abstract:
    return running


@per_alternative("start")
def _begun(s: Evaluator, node: cst.CSTNode, start: Abstract) -> Abstract:
    """What is running before the first item: the total alone, where it begins with `+`."""
    if python_versions.sum_is_compensated() and _kind(s, start, node) in (INT, FLOAT):
        return Seq(_Running, (start, Static(0.0), Static(False)))
    return start


@per_alternative("running", unless=is_number_union)
def _plus(s: Evaluator, node: cst.CSTNode, running: Abstract, item: Abstract) -> Abstract:
    """What is running after one more item."""
    if not isinstance(running, Seq) or running.cls is not _Running:
        return _added(s, running, item, node)
    total, lost, ended = running.items

    def ended_before() -> Abstract:
        return Seq(_Running, (_added(s, total, item, node), Static(0.0), Static(True)))

    def goes_on() -> Abstract:
        return _compensated(s, node, lost, total, item)

    if isinstance(ended, Static):
        return ended_before() if ended.value else goes_on()
    return s.branch(lane(ended), ended_before, goes_on)


def _compensated(s: Evaluator, node: cst.CSTNode, lost: Abstract, total: Abstract, item: Abstract) -> Abstract:
    """total + item, where both may be floats of Python's."""
    if (made := s.split_first((total, item), functools.partial(_compensated, s, node, lost))) is not None:
        return made
    floats = numeric_kind(total) is FLOAT
    if floats and _is_small_int(item):
        item = Static(int.__int__(item.value))
    kind = _kind(s, item, node)
    if kind is None:
        total = _added(s, _with_lost(s, total, lost), item, node)
        return Seq(_Running, (total, Static(0.0), Static(True)))
    if isinstance(item, Unsigned) and floats or isinstance(total, Unsigned) and kind is FLOAT:
        raise s.refuse("flatten/not-yet", "a sum of floats and an int beyond 63 bits", node,
                       why="Python 3.12 adds floats differently if the int is that large", help="write float(n)")
    longer = s.mark_python(_added(s, total, item, node), (total, item))
    if kind is FLOAT and floats:
        lost = num.binary(s, "add", lost, _error(s, total, item, longer))
    return Seq(_Running, (longer, lost, Static(isinstance(longer, Static) and _kind(s, longer, node) is None)))


def _added(s: Evaluator, total: Abstract, item: Abstract, node: cst.CSTNode) -> Abstract:
    return s.space.call(Static(operator.add), Arguments([total, item], {}), node)


def _kind(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Kind | None:
    """The kind of a number that CPython adds by itself; None of all that it adds by `+`."""
    if isinstance(value, Static):
        known = type(value.value)
        return {float: FLOAT, bool: BOOL}.get(known, INT if known is int and _is_small_int(value) else None)
    if isinstance(value, Unsigned):
        if not s.widths.kernel:
            return INT
        value = value.bits
    if not isinstance(value, Value) or not s.may_be_numpy(value):
        return numeric_kind(value)
    if s.is_numpy(value):
        return None
    raise s.refuse("flatten/mixed-join", "a number that may be Python's or NumPy's in a sum", node,
                   why="since Python 3.12 sum() adds Python's floats with compensation, and NumPy's without",
                   help="convert it: float(x)")


def _is_small_int(value: Abstract) -> TypeGuard[Static]:
    """A known int, also of a class of the user's, that fits into C's long."""
    return isinstance(value, Static) and isinstance(value.value, int) and INT_MIN <= value.value <= INT_MAX


def _error(s: Evaluator, total: Abstract, item: Abstract, longer: Abstract) -> Abstract:
    """What total + item has lost in `longer`, exactly where that is finite (T. J. Dekker, 1971)."""
    first = num.compare(s, "ge", num.unary(s, "abs", total), num.unary(s, "abs", item))
    if isinstance(first, Static):
        large, small = (total, item) if first.value else (item, total)
    else:
        large, small = scalars.choose(s, lane(first), total, item), scalars.choose(s, lane(first), item, total)
    return num.binary(s, "add", num.binary(s, "sub", large, longer), small)


@per_alternative("running", unless=is_number_union)
def _rounded(s: Evaluator, running: Abstract) -> Abstract:
    """The sum of what was running."""
    if isinstance(running, Seq) and running.cls is _Running:
        return _with_lost(s, *running.items[:2])
    return running


def _with_lost(s: Evaluator, total: Abstract, lost: Abstract) -> Abstract:
    """The total with what it has lost, which neither makes nan of an infinity nor 0.0 of -0.0."""
    if isinstance(lost, Static) and not lost.value:
        return total
    if isinstance(total, GuardedUnion):
        return s.split(total, lambda one: _with_lost(s, one, lost))
    if numeric_kind(total) is not FLOAT:
        return total
    counts = s.build.op("and", s.build.op("ne", lane(lost), const(0.0)), s.build.op("isfinite", lane(lost)))
    return s.build.op("select", counts, s.build.op("add", lane(total), lane(lost)), lane(total))
