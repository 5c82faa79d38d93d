"""What a kernel returns: numbers of Python's or NumPy's, arrays, tuples of them; and the memories that it has written.

The results of the IR are the numbers, then for each array that is no whole one where its parts lie, then the memories,
so that no store is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, IncomingEdge, MemoryRef, Seq, State, Static, Unsigned, View
from pyflat.frontend.state.widths import PYTHON, Widths
from pyflat.ir.nodes import FALSE, FAULT, Exit, Value
from pyflat.ir.types import BOOL, INT, MEMORY, Kind


@dataclass(frozen=True, slots=True)
class Nothing:
    """None."""


@dataclass(frozen=True, slots=True)
class NumberResult:
    """A number; `dtype` of NumPy's, None: Python's. `flagged`: its second leaf says whether it is NumPy's."""

    kind: Kind
    dtype: str | None
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class ArrayResult:
    """An array: the argument of this name, or one that the kernel has made. `axes`, where it is a view: for each axis
    in memory the axis of the view, None where it has none. Its leaves are the lengths of the view's axes, then the
    start and the step of each axis in memory."""

    array: str
    axes: tuple[int | None, ...] | None
    rank: int


@dataclass(frozen=True, slots=True)
class TupleResult:
    cls: type
    items: tuple[Result, ...]


Result = Nothing | NumberResult | ArrayResult | TupleResult


def settle(s: Evaluator, edges: Sequence[IncomingEdge], before: State) -> tuple[Result, list[Kind], list[int]]:
    """The result of a kernel whose ways out are `edges`; each gets its operands. Also at which places a number stands
    that has a flag behind it, which is to be filled in (`flags`)."""
    live = [e for e in edges if not e.dead and not (isinstance(e.end, Exit) and e.end.label is FAULT)]
    if not live and s.doubtful is not None:
        raise s.doubtful
    assert s.widths is not None
    values = [e.value or Static(None) for e in live] or [Static(None)]
    result = _joined(s, s.widths, values)
    written = _written(live, before, values)
    for edge, value in zip(live, values, strict=False):
        edge.end.values = [*_leaves(value, result), *(lane(edge.state.heap[ref][0]) for ref in written)]
    return result, [*_kinds(result), *[MEMORY] * len(written)], list(_flagged(result, 0)[0])


def _written(edges: Sequence[IncomingEdge], before: State, values: Sequence[Abstract]) -> list[MemoryRef]:
    """The memories that the caller sees: of arguments that some edge has changed, and of what is returned."""
    found: dict[MemoryRef, None] = {}
    for edge in edges:
        for ref, contents in edge.state.heap.items():
            if isinstance(ref, MemoryRef) and ref in before.heap and contents[0] is not before.heap[ref][0]:
                found[ref] = None
    for value in values:
        for view in _views(value):
            found[view.memory] = None
    return list(found)


def _views(value: Abstract) -> list[View]:
    if isinstance(value, View):
        return [value]
    return [view for item in value.items for view in _views(item)] if isinstance(value, Seq) else []


def _joined(s: Evaluator, widths: Widths, values: Sequence[Abstract]) -> Result:
    first = values[0]
    if any(isinstance(value, Unsigned) for value in values):
        values = [value.bits if isinstance(value, Unsigned) else value for value in values]
    kinds = {numeric_kind(value) for value in values}
    if len(kinds) == 1 and (kind := kinds.pop()) is not None:
        return _number(s, widths, values, kind)
    match first:
        case Static(value=None) if all(isinstance(v, Static) and v.value is None for v in values):
            return Nothing()
        case Static(value=tuple()) | Seq() if all(_length(v) == _length(first) for v in values):
            columns = zip(*[_items(v) for v in values], strict=True)
            cls = first.cls if isinstance(first, Seq) else type(first.value)
            return TupleResult(cls, tuple(_joined(s, widths, column) for column in columns))
        case View() if all(isinstance(v, View) and v.array == first.array for v in values):
            return _array(s, [v for v in values if isinstance(v, View)])
    if all(isinstance(each, View) for value in values for each in alternatives(value)):
        raise s.refuse("flatten/result-kind", "the kernel returns one array on some paths, and another one on others",
                       why="which array is returned has to be known while flattening",
                       help="copy into one array on all paths, `out[:] = a`, and return that")
    raise s.refuse("flatten/result-kind", "the kernel returns " + " or ".join(
        dict.fromkeys(describe(value) for value in values)), why="a kernel returns numbers, arrays, tuples of them, or "
        "None, the same on all paths")


def _number(s: Evaluator, widths: Widths, values: Sequence[Abstract], kind: Kind) -> NumberResult:
    width = frozenset().union(*(widths.of(value) if isinstance(value, Value) else PYTHON for value in values))
    dtypes = width - {None}
    if len(dtypes) > 1 or "?" in dtypes:
        raise s.refuse("flatten/result-kind", "the kernel returns numbers of different dtypes on its paths",
                       help="convert: float(x), np.float32(x)")
    dtype = next(iter(dtypes), None)
    return NumberResult(kind, dtype, flagged=dtype is not None and None in width)


def _flagged(result: Result, at: int) -> tuple[list[int], int]:
    """The places of numbers with flags, and how many leaves there are up to the end of the result."""
    match result:
        case NumberResult():
            return ([at], at + 2) if result.flagged else ([], at + 1)
        case TupleResult():
            found: list[int] = []
            for item in result.items:
                more, at = _flagged(item, at)
                found += more
            return found, at
    return [], at + len(_kinds(result))


def _array(s: Evaluator, views: Sequence[View]) -> Result:
    first = views[0]
    axes = tuple(each.axis for each in first.stored)
    if any(tuple(each.axis for each in view.stored) != axes for view in views):
        raise s.refuse("flatten/result-kind", "the kernel returns different parts of an array on its paths")
    return ArrayResult(first.array, None if all(map(_is_whole, views)) else axes, len(first.extents))


def _is_whole(view: View) -> bool:
    return view.whole


def _length(value: Abstract) -> int:
    return len(_items(value)) if isinstance(value, Seq) or isinstance(value, Static) and isinstance(
        value.value, tuple) else -1


def _items(value: Abstract) -> Sequence[Abstract]:
    if isinstance(value, Seq):
        return value.items
    assert isinstance(value, Static)
    return tuple(map(Static, value.value))


def _leaves(value: Abstract, result: Result) -> list[Value]:
    match result:
        case NumberResult():
            value = value.bits if isinstance(value, Unsigned) else value
            return [lane(value), FALSE] if result.flagged else [lane(value)]
        case TupleResult():
            pairs = zip(_items(value), result.items, strict=True)
            return [leaf for item, inner in pairs for leaf in _leaves(item, inner)]
        case ArrayResult() if result.axes is not None:
            assert isinstance(value, View)
            return [*map(lane, value.extents), *[lane(x) for each in value.stored for x in (each.start, each.step)]]
    return []


def _kinds(result: Result) -> list[Kind]:
    match result:
        case NumberResult():
            return [result.kind, BOOL] if result.flagged else [result.kind]
        case TupleResult():
            return [kind for item in result.items for kind in _kinds(item)]
        case ArrayResult() if result.axes is not None:
            return [INT] * (result.rank + 2 * len(result.axes))
    return []


def names(result: Result) -> list[str]:
    """The arrays that are returned."""
    if isinstance(result, TupleResult):
        return [name for item in result.items for name in names(item)]
    return [result.array] if isinstance(result, ArrayResult) else []

