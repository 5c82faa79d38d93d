"""What a kernel returns: numbers of Python's or NumPy's, arrays, tuples of them, None and strings; and the memories
that it has written.

The results of the IR are the leaves of what is returned, then the memories, so that no store is lost. Leaves are the
numbers, which of its dtypes a number has, where the parts of an array lie that is no whole one, and which of several
things is returned where paths differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, is_lane_number, lane, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    GuardedUnion,
    IncomingEdge,
    MemoryRef,
    Seq,
    State,
    Static,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import PYTHON, Widths
from pyflat.ir.build import const, undefined
from pyflat.ir.kernel_results import ArrayResult, ChoiceResult, ConstantResult, NumberResult, Result, TupleResult
from pyflat.ir.nodes import FALSE, FAULT, Exit, Op, Value
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

ZEROS: dict[Kind, Value] = {BOOL: FALSE, INT: const(0), FLOAT: const(0.0)}
"""What leaves are that have no meaning on a path."""
Flag = tuple[int, int, str | None]
"""At which place among the results a bool stands that is to be filled in (`flags`), where the number is, and the dtype
that the bool asks for; None: any of NumPy's."""


def settle(s: Evaluator, edges: Sequence[IncomingEdge], before: State) -> tuple[Result, list[Kind], list[Flag]]:
    """The result of a kernel whose ways out are `edges`; each gets its operands."""
    live = [e for e in edges if not e.dead and not (isinstance(e.end, Exit) and e.end.label is FAULT)]
    if not live and s.doubtful is not None:
        raise s.doubtful
    assert s.widths is not None
    values = [e.value or Static(None) for e in live]
    joining = _Joining(s, s.widths, live)
    result = joining.joined(values) if live else ConstantResult(None)
    written = _written(live, before, values)
    _require_no_copies(s, s.widths, written, before)
    for edge, leaves in zip(live, joining.leaves, strict=True):
        memories = [edge.state.heap.get(ref, (undefined(MEMORY),)) for ref in written]
        edge.end.values = [*leaves, *[lane(contents[0]) for contents in memories]]
    return result, [*joining.kinds, *[MEMORY] * len(written)], joining.flags


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


def _require_no_copies(s: Evaluator, widths: Widths, returned: Sequence[MemoryRef], before: State) -> None:
    """Refuse to return a copy that NumPy may have as a view of an argument, or of what is returned as well."""
    for ref in returned:
        source = widths.copies.get(ref)
        while source is not None:
            if source in before.heap or source in returned:
                raise s.refuse("flatten/result-kind", "an array is returned that is a view or a copy of another one",
                               why="that of .ravel, .reshape and np.ascontiguousarray depends on how the array lies",
                               help="use .flatten() or .copy()")
            source = widths.copies.get(source)


def _views(value: Abstract) -> Iterator[View]:
    for each in alternatives(value):
        if isinstance(each, View):
            yield each
        for item in each.items if isinstance(each, Seq) else ():
            yield from _views(item)


Tree = Abstract | None
"""What an edge returns, or a part of that: choices by conditions. None: it has no such part."""


class _Joining:
    """Joins what the edges return. `leaves` are those of each edge, `kinds` their kinds."""

    def __init__(self, s: Evaluator, widths: Widths, edges: Sequence[IncomingEdge]):
        self.s, self.widths, self.edges = s, widths, edges
        self.leaves: list[list[Value]] = [[] for _ in edges]
        self.kinds: list[Kind] = []
        self.flags: list[Flag] = []
        self.captured: dict[int, Any] = {}
        """Arrays from outside of the function, by identity."""

    def joined(self, trees: Sequence[Tree]) -> Result:
        found = [each for tree in trees if tree is not None for each in alternatives(tree)]
        shapes = list(dict.fromkeys(map(self._shape, found)))
        if len(shapes) == 1:
            return self._option(shapes[0], trees)
        self._add([INT], trees, lambda value: [const(shapes.index(self._shape(value)))])
        return ChoiceResult(tuple(self._option(shape, [self._only(shape, tree) for tree in trees]) for shape in shapes))

    def _shape(self, value: Abstract) -> Any:
        """The same for values that are one number or array, or tuples of one length."""
        kind = INT if isinstance(value, Unsigned) else numeric_kind(value)
        if kind is not None and (not isinstance(value, Static) or is_lane_number(value)):
            return NumberResult, kind
        match value:
            case View():
                axes = None if value.whole else tuple(each.axis for each in value.stored)
                return ArrayResult, value.array, axes, len(value.extents)
            case Seq():
                return TupleResult, value.cls, len(value.items)
            case Static(value=tuple() as items):
                return TupleResult, type(items), len(items)
            case Static(value=None | str() | bytes() | int() | Enum() as known):
                return ConstantResult, type(known), known
            case Static(value=np.ndarray() as known) if any(each.value is known for each in self.s.guards.readings()):
                self.captured[id(known)] = known
                return ConstantResult, np.ndarray, id(known)
        raise self.s.refuse("flatten/result-kind", f"the kernel returns {describe(value)}",
                            why="a kernel returns numbers, arrays, None, strings that are known, and tuples of them")

    def _only(self, shape: Any, tree: Tree) -> Tree:
        """The tree without what has another shape."""
        if isinstance(tree, GuardedUnion):
            then, orelse = self._only(shape, tree.then), self._only(shape, tree.orelse)
            return (orelse if then is None else then) if then is None or orelse is None else GuardedUnion(
                tree.cond, then, orelse)
        return None if tree is None or self._shape(tree) != shape else tree

    def _option(self, shape: Any, trees: Sequence[Tree]) -> Result:
        match shape:
            case (result, kind) if result is NumberResult:
                return self._number(kind, trees)
            case (result, array, axes, rank) if result is ArrayResult:
                made = ArrayResult(array, axes, rank)
                self._add([INT] * made.leaves(), trees, _bounds if made.leaves() else lambda _: [])
                return made
            case (result, cls, length) if result is TupleResult:
                return TupleResult(cls, tuple(self.joined([_item(tree, at) for tree in trees]) for at in range(length)))
        return ConstantResult(self.captured[shape[2]] if shape[1] is np.ndarray else shape[2])

    def _number(self, kind: Kind, trees: Sequence[Tree]) -> NumberResult:
        at = len(self.kinds)
        self._add([kind], trees, lambda value: [value.bits if isinstance(value, Unsigned) else lane(value)])
        given = [leaves[at] for leaves, tree in zip(self.leaves, trees, strict=True) if tree is not None]
        width = frozenset().union(*map(self.widths.of, given)) or PYTHON
        if "?" in width:
            raise self.s.refuse("flatten/result-kind", "the kernel returns a number whose dtype is not known",
                                help="convert: float(x), np.float32(x)")
        dtypes = (*sorted(dtype for dtype in width if dtype), *([None] if None in width else []))
        for dtype in dtypes[:-1]:
            self.flags.append((len(self.kinds), at, None if len(dtypes) == 2 and None in dtypes else dtype))
            self._add([BOOL], [None] * len(trees), lambda _: [FALSE])
        return NumberResult(kind, dtypes)

    def _add(self, kinds: Sequence[Kind], trees: Sequence[Tree], parts: Callable[[Abstract], list[Value]]) -> None:
        """Leaves that are `parts` of what each edge returns."""
        self.kinds += kinds
        for edge, leaves, tree in zip(self.edges, self.leaves, trees, strict=True):
            leaves += [ZEROS[kind] for kind in kinds] if tree is None else self._chosen(edge, tree, parts)

    def _chosen(self, edge: IncomingEdge, tree: Abstract, parts: Callable[[Abstract], list[Value]]) -> list[Value]:
        if not isinstance(tree, GuardedUnion):
            return parts(tree)
        pairs = zip(self._chosen(edge, tree.then, parts), self._chosen(edge, tree.orelse, parts), strict=True)
        return [then if then is orelse else _select(edge, tree.cond, then, orelse) for then, orelse in pairs]


def _select(edge: IncomingEdge, cond: Value, then: Value, orelse: Value) -> Value:
    made = Op("select", (cond, then, orelse), then.kind)
    edge.block.ops.append(made)
    return made


def _item(tree: Tree, at: int) -> Tree:
    """An item of a tuple."""
    match tree:
        case GuardedUnion():
            then, orelse = _item(tree.then, at), _item(tree.orelse, at)
            assert then is not None
            assert orelse is not None
            return GuardedUnion(tree.cond, then, orelse)
        case Seq():
            return tree.items[at]
        case Static():
            return Static(tree.value[at])
    return None


def _bounds(view: Abstract) -> list[Value]:
    assert isinstance(view, View)
    return [*map(lane, view.extents), *[lane(x) for each in view.stored for x in (each.start, each.step)]]
