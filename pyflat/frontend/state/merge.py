"""Joins: what is known after several edges meet, and the operands that each edge carries there.

Numbers of one kind become one result of the node. Tuples join item by item. Values that one lane value cannot
hold both of (an int and a float, a string and None, two functions, bound and unbound) become a GuardedUnion: a bool
result that says which one this lane has, and each alternative on its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

from pyflat.errors import Span, refuse
from pyflat.frontend.state import aliasing, templates
from pyflat.frontend.state.kinds import (
    alternatives,
    as_unsigned,
    cells_of,
    complex_parts,
    entries_of,
    is_beyond,
    is_too_large,
    lane,
    lane_form,
    maybe_unbound,
    numeric_kind,
    opened,
    same_static,
)
from pyflat.frontend.state.layouts import rebuilt, taken_apart
from pyflat.frontend.state.values import (
    CONFLICT,
    ENTRIES,
    UNBOUND,
    Abstract,
    Array,
    BoundMethod,
    Cells,
    Char,
    Complex,
    Contents,
    Derived,
    DictRef,
    GrownText,
    GuardedUnion,
    IncomingEdge,
    IterRef,
    ListRef,
    ObjRef,
    Partial,
    Ref,
    Seq,
    State,
    Static,
    Super,
    Text,
    Unavailable,
    Unsigned,
    View,
    Written,
)
from pyflat.frontend.state.widths import Widths
from pyflat.ir.build import undefined
from pyflat.ir.nodes import FALSE, TRUE, Op, Param, Value
from pyflat.ir.types import BOOL, INT, Kind

MAX_GAPS = 128
"""Items of a list that some lanes have and others have not."""
MAX_ALTERNATIVES = 128
"""Objects (strings, functions, tuples of several lengths) that one name may mean after a join. What is done with it is
done to each under a condition that excludes the others: time and memory grow with more than their square."""


class Joiner:
    """Builds the joined state of `edges`; `results` are the node's results in operand order."""

    def __init__(self, edges: Sequence[IncomingEdge], span: Span | None, outer: Callable[[], Sequence[State]] = tuple,
                 frozen: Container[Abstract] = (), widths: Widths | None = None):
        """`outer` gives the states of the calling frames; `frozen`: objects that more than one name may mean."""
        self.edges = [e for e in edges if not e.dead]
        self.widths = widths or Widths()
        self.outer = outer
        self.frozen = frozen
        self.made: dict[Ref, Contents] = {}
        self.names = 1
        """How many names mean a value that is joined: a result has none yet."""
        self.dead = [e for e in edges if e.dead]
        self.results: list[Param] = []
        self.span = span
        self._tags: dict[tuple[bool, ...], Param] = {}
        self._older: Mapping[Ref, Contents] = {}
        """The heap before the paths parted."""

    def state(self, before: State) -> State:
        """The joined locals and heap; what no edge has changed stays the same object."""
        self._older = before.heap
        names: dict[str, Abstract] = {}
        paths = [e.state.locals for e in self.edges]
        for name in dict.fromkeys(chain.from_iterable(paths)):
            old = before.locals.get(name, UNBOUND)
            for path in paths:
                if path.get(name, UNBOUND) is not old:
                    names[name] = self.join([each.get(name, UNBOUND) for each in paths], name.partition("@")[0])
                    break
            else:
                names[name] = old
        heap = self._heap(before)
        if self.made:
            heap.update(self.made)
        return State(names, heap)

    def _heap(self, before: State) -> WeakKeyDictionary[Ref, Contents]:
        heap: WeakKeyDictionary[Ref, Contents] = WeakKeyDictionary()
        self._same_form()
        for edge in self.edges:
            for ref in list(edge.state.heap) if edge.state.heap else ():
                if ref not in heap:
                    contents = [e.state.heap.get(ref) for e in self.edges]
                    heap[ref] = self._contents(ref, contents, before.heap.get(ref))
        return heap

    def _same_form(self) -> None:
        """A dict that has other keys on other paths gets keys of lanes on all of them."""
        dicts = dict.fromkeys(ref for edge in self.edges for ref in edge.state.heap if isinstance(ref, DictRef))
        for ref in dicts:
            states = [edge.state for edge in self.edges if ref in edge.state.heap]
            found = [state.heap[ref] for state in states]
            if all(each is found[0] for each in found) or any(each is CONFLICT for each in found):
                continue
            known = [entries_of(each) is None for each in found]
            if not all(known) and any(known) or all(known) and len({tuple(k for k, _ in each) for each in found}) > 1:
                for state, each, plain in zip(states, found, known, strict=True):
                    if plain:
                        state.heap[ref] = lane_form(state, ref, each)

    def _contents(self, ref: Ref, edges: list[Contents | None], old: Contents | None) -> Contents:
        present = [c for c in edges if c is not None]
        if old is not None and all(c is old for c in edges):
            return old
        first = present[0]
        if any(c is CONFLICT for c in present):
            return CONFLICT
        if any(map(cells_of, present)):
            return self._cells(edges, old)
        if any(len(c) != len(first) for c in present):
            longest = max(map(len, present))
            if type(ref) is not ListRef or longest > MAX_GAPS:
                return CONFLICT
            edges = [None if c is None else (*c, *[UNBOUND] * (longest - len(c))) for c in edges]
            present = [c for c in edges if c is not None]
            first = present[0]
        if isinstance(ref, DictRef | ObjRef):
            if any([k for k, _ in c] != [k for k, _ in first] for c in present):
                return CONFLICT
            joined = [self._slot([None if c is None else c[i][1] for c in edges],
                                 None if old is None or len(old) != len(first) else old[i][1], str(first[i][0]))
                      for i in range(len(first))]
            return tuple((k, v) for (k, _), v in zip(first, joined, strict=True))
        return tuple(self._slot([None if c is None else c[i] for c in edges],
                                None if old is None or i >= len(old) else old[i], "")
                     for i in range(len(first)))

    def _cells(self, edges: list[Contents | None], old: Contents | None = None) -> Contents:
        """A list that has grown in a loop on some edge: the others have their items at the first places."""
        if any(c is not None and cells_of(c) is None and any(map(maybe_unbound, c)) for c in edges):
            return CONFLICT
        size = max(len(cells.items) if (cells := cells_of(c)) else len(c) + 1 for c in edges if c is not None)
        rows = [None if c is None else list(cells.items) if (cells := cells_of(c)) else [Static(len(c)), *c]
                for c in edges]
        known = None if old is None else cells_of(old)
        items = []
        for at in range(size):
            column = [row[at] if row is not None and at < len(row) else None for row in rows]
            items.append(self._slot(column, known.items[at] if known and at < len(known.items) else None, ""))
        return (Seq(Cells, tuple(items)),)

    def _slot(self, values: list[Abstract | None], old: Abstract | None, name: str) -> Abstract:
        if old is not None and all(v is old for v in values):
            return old
        present = [v for v in values if v is not None]
        if isinstance(old, GuardedUnion) and all(isinstance(v, GuardedUnion) and v.cond is old.cond for v in present):
            parts = (self._slot([v and getattr(v, part) for v in values], getattr(old, part), name)
                     for part in ("then", "orelse"))
            return GuardedUnion(old.cond, *parts)
        if isinstance(old, Seq) and all(_like_seq(v, old) for v in present):
            columns = [v.items if isinstance(v, Seq) else None for v in values]
            return Seq(old.cls, tuple(self._slot([None if c is None else c[i] for c in columns], item, name)
                                      for i, item in enumerate(old.items)))
        return self.join(values, name)

    def leaf(self, kind: Kind, values: Sequence[Value | None], name: str) -> Param:
        """One result; None where an edge has nothing to say."""
        param = Param(kind, name)
        for edge, value in zip(self.edges, values, strict=True):
            edge.end.values.append(undefined(kind) if value is None else value)
        for edge in self.dead:
            edge.end.values.append(undefined(kind))
        self.results.append(param)
        self.widths.join(param, [value for value in values if value is not None])
        return param

    def join(self, values: Sequence[Abstract | None], name: str = "") -> Abstract:
        """The one abstract value that stands for `values`, one for each edge (None: this edge never reads it)."""
        present = [v for v in values if v is not None]
        first = present[0]
        if isinstance(first, Derived) and all(v is first for v in present):
            return first
        if all(same_static(v, first) for v in present) or isinstance(first, Array) and all(map(first.is_same, present)):
            return first
        values = [None if v is None else opened(v) for v in values]
        present = [v for v in values if v is not None]
        lost = next((v for v in present if isinstance(v, Unavailable)), None)
        if lost is not None:
            return lost
        beyond = [v for v in present if is_beyond(v)]
        scalars = not self.widths.kernel or all(isinstance(v, Unsigned) for v in beyond)
        if beyond and scalars and all(as_unsigned(v) is not None for v in present):
            return self._unsigned([as_unsigned(v) for v in values], name)
        kinds = {None if is_too_large(v) else numeric_kind(v) for v in present}
        if len(kinds) == 1 and (kind := kinds.pop()) is not None:
            return self.leaf(kind, [None if v is None else lane(v) for v in values], name)
        if templates.tables_in(*present) and templates.are_strings(*present):
            return self._grown(values, name)
        return self._of_one_class(values, name) or self._one_object(values, name) or self._choice(values, name)

    def _of_one_class(self, values: Sequence[Abstract | None], name: str) -> Abstract | None:
        """Values that differ in their parts join part by part; None where they do not."""
        present = [v for v in values if v is not None]
        first, found = present[0], [None if v is None else _parts(v) for v in values]
        keys = {key for key, _ in (each for each in found if each is not None)}
        same = all(v is first for v in present)
        if isinstance(first, Text) and (unclear := self._unclear(present)) is not None:
            return unclear
        if isinstance(first, View) and same and first.settled and first.memory in self._older:
            return first
        views = {id(v.memory) for v in present if isinstance(v, View)}
        if len(keys) != 1 or sum(each is not None for each in found) < len(present) or len(views) > 1:
            return first if same and not isinstance(first, Value | GuardedUnion) else None
        parts = [self.join(column, self._name(first, k, name)) for k, column in enumerate(_columns(found))]
        if isinstance(first, View) and not same:
            first = replace(first, settled=False, whole=False)
        made = rebuilt(first, parts)
        return templates.joined(made.parts) if isinstance(made, Written) else made

    @staticmethod
    def _name(value: Abstract, part: int, name: str) -> str:
        """The name of a part in the text of the IR."""
        return name and f"{name}_{('real', 'imag')[part]}" if isinstance(value, Complex) else name

    @staticmethod
    def _unclear(strings: Sequence[Abstract]) -> Text | None:
        """A string that nothing is known of, where that is one of these, or where they are too many."""
        layouts = {templates.layout(v) for v in strings}
        digits = {v.decimal for v in strings if isinstance(v, Char)}
        if not all(isinstance(v, Text) for v in strings):
            return None
        mixed = len(digits) > 1 and all(isinstance(v, Char) for v in strings)
        return Text() if None in layouts or mixed or len(layouts) > templates.MAX_LAYOUTS else None

    def _unsigned(self, values: Sequence[Unsigned | None], name: str) -> Unsigned:
        outside = [None if v is None else v.outside for v in values]
        found = {v for v in outside if v is not None}
        known = found.pop() if found in ({FALSE}, {TRUE}) else self.leaf(BOOL, outside, "")
        return Unsigned(self.leaf(INT, [None if v is None else v.bits for v in values], name), known)

    def _grown(self, values: Sequence[Abstract | None], name: str) -> Abstract:
        """Strings of which one gets longer in a loop."""
        found = [v for v in values if v is not None]
        tables = templates.tables_in(*found)
        if len(tables) > 1 or not all(map(templates.can_grow, found)):
            return Text()
        most = max(len(one.cells.items) - 1 for v in found for one in alternatives(v) if isinstance(one, GrownText))
        made = [None if v is None else templates.grown(tables[0], v, most, functools.partial(_emit, edge))
                for v, edge in zip(values, self.edges, strict=True)]
        cells = self.join([None if v is None else templates.padded_cells(v, tables[0]) for v in made], name)
        assert isinstance(cells, Seq)
        return GrownText(tables[0], cells)

    def _one_object(self, values: Sequence[Abstract | None], name: str) -> Abstract | None:
        """Objects of one class with the same attributes, to which nothing else refers, are one object from here on,
        whose contents are joined. None where another name could tell."""
        pairs = [(v, e) for v, e in zip(values, self.edges, strict=True) if v is not None]
        refs = [v for v, _ in pairs if isinstance(v, ListRef | DictRef | ObjRef) and not isinstance(v, IterRef)]
        if len(refs) != len(pairs) or any(ref in self.frozen for ref in refs):
            return None
        layouts = {aliasing.layout(e.state, ref) for ref, (_, e) in zip(refs, pairs, strict=True)}
        layout = layouts.pop()
        if layouts or layout is None:
            return self._one_list(values) if all(type(ref) is ListRef for ref in refs) else None
        if self._is_shared(pairs):
            return None
        made = aliasing.empty_like(layout[0])
        columns = [None if v is None else aliasing.items_of(e.state, v)
                   for v, e in zip(values, self.edges, strict=True)]
        names, self.names = self.names, 1
        items = [self.join([None if c is None else c[i] for c in columns], name) for i in range(layout[2])]
        self.names = names
        if layout[1] is not None and any(key is ENTRIES and type(item) is not ListRef
                                         for key, item in zip(layout[1], items, strict=True)):
            return None  # the pairs of dicts whose keys differ from lane to lane are no one list
        self.made[made] = tuple(items) if layout[1] is None else tuple(zip(layout[1], items, strict=True))
        return made

    def _is_shared(self, pairs: Sequence[tuple[Abstract, IncomingEdge]]) -> bool:
        outer = self.outer()
        return any(aliasing.is_shared([edge.state, *outer], edge.state, ref, self.names)
                   for ref, edge in pairs if isinstance(ref, ListRef | DictRef | ObjRef))

    def _one_list(self, values: Sequence[Abstract | None]) -> Abstract | None:
        """Lists of several lengths, of which one has grown in a loop, to which nothing else refers."""
        pairs = [(v, e) for v, e in zip(values, self.edges, strict=True) if isinstance(v, ListRef)]
        contents = [None if not isinstance(v, ListRef) else e.state.heap[v]
                    for v, e in zip(values, self.edges, strict=True)]
        if CONFLICT in contents or not any(c is not None and cells_of(c) for c in contents) or self._is_shared(pairs):
            return None
        names, self.names = self.names, 1
        joined = self._cells(contents)
        self.names = names
        if joined is CONFLICT:
            return None
        made = ListRef()
        self.made[made] = joined
        return made

    def _choice(self, values: Sequence[Abstract | None], name: str) -> Abstract:
        options = [[] if v is None else _alternatives(v, TRUE, e) for v, e in zip(values, self.edges, strict=True)]
        keys = list(dict.fromkeys(_signature(value) for option in options for _, value in option))
        if len(keys) > templates.MAX_LAYOUTS and any(isinstance(v, Text) for option in options for _, v in option) \
                and all(isinstance(v, Text) or templates.is_known(v) for option in options for _, v in option):
            return Text()
        if len(keys) > MAX_ALTERNATIVES:
            raise refuse("flatten/too-large", f"{name or 'a value'} may be one of {len(keys)} objects here", self.span,
                         why="each use applies to each of them; that many belong in a table",
                         help="keep a number in the branches, and look the object up in a tuple or dict once")
        columns = [self._column(options, key, name) for key in keys]
        joined = columns[-1][1]
        for predicates, payload in reversed(columns[:-1]):
            joined = GuardedUnion(self._tag(predicates), payload, joined)
        return joined

    def _column(self, options: list[list[tuple[Value, Abstract]]], key: Hashable, name: str
                ) -> tuple[list[Value | None], Abstract]:
        """For one alternative: per edge the bool "this is it", and the joined payload."""
        predicates: list[Value | None] = []
        payloads: list[Abstract | None] = []
        for option, edge in zip(options, self.edges, strict=True):
            matching = [(p, v) for p, v in option if _signature(v) == key]
            if not matching:
                predicates.append(FALSE if option else None)
                payloads.append(None)
                continue
            predicate, payload = matching[-1]
            for other, value in reversed(matching[:-1]):
                payload = self._select(edge, other, value, payload)
                predicate = _emit(edge, "or", other, predicate)
            predicates.append(predicate)
            payloads.append(payload)
        return predicates, self.join(payloads, name)

    def _select(self, edge: IncomingEdge, cond: Value, a: Abstract, b: Abstract) -> Abstract:
        if a is b or same_static(a, b) or isinstance(a, Array) and a.is_same(b):
            return a
        kind = numeric_kind(a)
        if kind is not None and kind is numeric_kind(b):
            return _emit(edge, "select", cond, lane(a), lane(b))
        x, y = _parts(opened(a)), _parts(opened(b))
        if x is not None and y is not None and x[0] == y[0]:
            return rebuilt(opened(a), [self._select(edge, cond, *pair) for pair in zip(x[1], y[1], strict=True)])
        raise refuse("flatten/mixed-join", "paths join values of too many shapes here", self.span)

    def _tag(self, predicates: list[Value | None]) -> Param:
        if not all(p is TRUE or p is FALSE for p in predicates):
            return self.leaf(BOOL, predicates, "")
        key = tuple(p is TRUE for p in predicates)
        if key not in self._tags:
            self._tags[key] = self.leaf(BOOL, predicates, "")
        return self._tags[key]


def _parts(value: Abstract) -> tuple[Hashable, tuple[Any, ...]] | None:
    """The parts that join one by one. A function of one of several objects is one of several functions."""
    return None if isinstance(value, Array | GuardedUnion | BoundMethod | Partial | Super) else taken_apart(value)


def _columns(found: Sequence[tuple[Hashable, tuple[Any, ...]] | None]) -> Iterator[list[Any]]:
    """The parts of the values of all edges, place by place."""
    rows = [None if each is None else each[1] for each in found]
    size = next(len(row) for row in rows if row is not None)
    for k in range(size):
        yield [None if row is None else row[k] for row in rows]


def _like_seq(value: Abstract | None, first: Seq) -> bool:
    return isinstance(value, Seq) and value.cls is first.cls and len(value.items) == len(first.items)


def _signature(value: Abstract) -> Hashable:
    if is_too_large(value):
        return Static, int, value.value
    kind = numeric_kind(value)
    if kind is not None:
        return kind
    found = _parts(value) if complex_parts(value) is None else (Complex, ())
    if isinstance(value, Static) and found is None:
        return Static, type(value.value), _hashable(value.value)
    if isinstance(value, Text):
        return Text, None if found is None else found[0]
    if isinstance(value, Array):
        return Array, id(value.store), value.places.shape, value.places.tobytes()
    if isinstance(value, View):
        return View, id(value.memory), found and found[0]
    return id(value) if found is None else found[0]


def _hashable(value: object) -> Hashable:
    return value if type(value) in (str, bytes, type(None)) else id(value)


def _alternatives(value: Abstract, predicate: Value, edge: IncomingEdge) -> list[tuple[Value, Abstract]]:
    """A GuardedUnion as exclusive (predicate, alternative) pairs."""
    if not isinstance(value, GuardedUnion):
        return [(predicate, value)]
    yes = _emit(edge, "and", predicate, value.cond)
    no = _emit(edge, "and", predicate, _emit(edge, "not", value.cond))
    return _alternatives(value.then, yes, edge) + _alternatives(value.orelse, no, edge)


def _emit(edge: IncomingEdge, opcode: str, *args: Value) -> Value:
    """An operation at the end of an edge whose list is already closed."""
    if opcode == "and" and args[0] is TRUE:
        return args[1]
    if opcode == "or" and any(a is TRUE for a in args):
        return TRUE
    kind = args[1].kind if opcode == "select" else INT if opcode == "add" else BOOL
    op = Op(opcode, args, kind)
    edge.block.ops.append(op)
    return op
