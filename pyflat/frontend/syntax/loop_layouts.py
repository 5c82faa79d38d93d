"""The layouts of what a loop that stays a loop carries from one iteration to the next.

A layout says what a variable has to hold, over all iterations: its class, and the layouts of its parts; a union where
it is one of several. The leaves are numbers: the parameters of the loop.

    v = None                     Union(Items(tuple, 2)(Number(FLOAT), Number(INT)), Known(None)): three parameters,
    while x > 1.0:               whether v is the tuple, and its items
        v = (x, n)
        ...

A list, dict or object that a name means in turn becomes one object of the loop's own, whose items are parameters:

    v = [x, 1.0]                 the parameters of the loop are v[0] and v[1];
    while v[0] > 1:              in each iteration v means a list of its own that holds them
        v = [v[0] / 2, v[1] + 1]

That is right as long as nothing can tell the lists apart: where another name may mean the same list, none of them may
be written or compared by identity any more (`frozen`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.space import arrays, growing, scalars, unsigned
from pyflat.frontend.state import aliasing, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    alternatives,
    as_unsigned,
    cells_of,
    describe,
    is_beyond,
    is_too_large,
    lane,
    numeric_kind,
    opened,
)
from pyflat.frontend.state.layouts import (
    Bits,
    Builder,
    Compound,
    Elements,
    Known,
    Layout,
    Layouts,
    Leaf,
    Nothing,
    Number,
    Object,
    Pieces,
    taken_apart,
)
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    BoundMethod,
    Caught,
    Cells,
    Closure,
    Complex,
    Contents,
    Derived,
    DictRef,
    GrownText,
    GuardedUnion,
    IterRef,
    ListRef,
    ObjRef,
    OtherText,
    Partial,
    Ref,
    Seq,
    State,
    Static,
    StoreRef,
    Super,
    Text,
    TextTable,
    Unavailable,
    Unsigned,
    View,
)
from pyflat.frontend.state.widths import OF_KIND, PYTHON, Width
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Block, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

MAX_KNOWN = 8
"""Known objects among which a variable may change."""
MAX_TEXTS = 3
"""Strings of different parts that it may be, before it is taken for one that gets longer."""
MAX_DEPTH = 8
"""Levels of a layout: what is put into a new tuple in each iteration gets deeper without end."""

Owned = dict[Ref, Contents]
"""The objects that stand for what a name means in an iteration, with parameters for contents."""

_ONE_ARRAY = "in a loop that stays a loop a name means an array from before it, or a view of one"
_COPY = "copy into the array that the name has before the loop: `{name}[:] = ...`"
_LOOP = "in a loop that cannot be unrolled"


class LoopLayouts(Layouts):
    """The layouts of one variable; `name` and `node` are for refusals."""

    def __init__(self, s: Evaluator, name: str, node: Any):
        super().__init__()
        self.s, self.name, self.node = s, name, node
        self.grows, self.most = s.grows, MAX_KNOWN
        self.before: State | None = None
        """Before the loop: a view of an array that is made in an iteration is not carried to the next one."""

    def refuse(self, what: str, help: str = "", why: str = "") -> FlattenError:
        return self.s.refuse("flatten/mixed-join", f"{self.name!r} {what} {_LOOP}", self.node, help=help, why=why)

    def emit(self, opcode: str, *args: Value) -> Value:
        return self.s.build.op(opcode, *args)

    def carried(self, known: Layout | None, old: Abstract, start: State, value: Abstract, state: State, local: bool
                ) -> Layout:
        """The layout for `old` before an iteration and `value` after it; a local that has none is lost."""
        self.before = start
        try:
            return self.joined(known or self.of(old, start), self.of(value, state))
        except FlattenError as error:
            if not local:
                raise
            return Layout(Nothing(error))

    # --- of one value
    def form(self, value: Abstract, state: State) -> Any:
        value = opened(value)
        if is_beyond(value) and (bits := as_unsigned(value)) is not None:
            return Bits(bits.outside is FALSE, self.s.widths.of(bits.bits) if self.s.widths.kernel else PYTHON)
        if numeric_kind(value) is not None and not is_too_large(value):
            return self.number(value)
        if arrays.is_array(value) and (kind := arrays.kind_of(value)) is not None:
            if not arrays.is_plain(value):
                raise self.refuse("becomes a transposed or strided view", help="make it a copy")
            own = [value.store] if isinstance(value, Array) else []
            return Elements(arrays.shape_of(value), kind, self.shared(state, own))
        match value:
            case ListRef() | DictRef() | ObjRef() if not isinstance(value, IterRef):
                layout = aliasing.layout(state, value)
                if layout is None:
                    raise self.refuse("has other attributes, keys or items on some paths")
                cls, keys, size, places = layout
                return Object(cls, keys, places or size, places is not None, self.shared(state, [value]))
            case GrownText():
                return Pieces(value.table, tuple(value.table.numbers))
            case View() if self.before is not None and value.memory not in self.before.heap:
                raise self.refuse("becomes an array that is made there", _COPY.format(name=self.name), _ONE_ARRAY)
            case View() if value.settled:
                return Known(value)
            case Seq() | Complex() | View() | BoundMethod() | Text() if (found := taken_apart(value)) is not None:
                return Compound(found[0], value)
            case Static() | Closure() | Partial() | Super() | OtherText() | Derived() | Caught():
                return Known(value)
            case Unavailable():
                raise value.error
        if value is UNBOUND:
            return Known(value)
        raise self.refuse(f"becomes {describe(value)}")

    def number(self, value: Abstract) -> Number:
        number, widths = lane(value), self.s.widths
        return Number(number.kind, widths.of(number) if widths.kernel and number.kind is not MEMORY else PYTHON)

    def parts(self, value: Abstract, form: Any, state: State) -> Sequence[Abstract]:
        match value:
            case GrownText():
                return (templates.padded_cells(value, form.table),)
            case ListRef() | DictRef() | ObjRef():
                return aliasing.items_of(state, value)
        if not isinstance(form, Elements):
            return super().parts(opened(value), form, state)
        current, self.s.state = self.s.state, state
        try:
            return list(arrays.grid(self.s, value, self.node).flat)
        finally:
            self.s.state = current

    def layouts(self, value: Abstract, form: Any, state: State) -> tuple[Layout, ...]:
        match form:
            case Number() | Bits():
                return ()
            case Pieces():
                return (_pieces(form),)
            case Elements():
                return (Layout(Number(form.kind)),) * math.prod(form.extent)
        return super().layouts(value, form, state)

    def shared(self, state: State, refs: Sequence[Ref]) -> bool:
        """Another name means one of them: what the loop copies and what it copies from may not be written any more."""
        names = [state, *self.s.outer_states()]
        found = any(ref in self.s.frozen or aliasing.is_shared(names, state, ref) for ref in refs)
        if found:
            self.s.frozen.update(refs)
        return found

    # --- of several
    def settled(self, options: list[Layout]) -> list[Layout]:
        options = self._strings(self._lists(options))
        if sum(isinstance(option.form, Known) for option in options) > self.most or len(options) > 2 * self.most:
            raise self.refuse(f"is one of more than {self.most} objects")
        if max(option.depth for option in options) > MAX_DEPTH:
            raise self.refuse("changes its shape")
        return sorted(options, key=lambda option: option.order)

    def meet(self, a: Any, b: Any) -> bool:
        match a, b:
            case Object(), Object():
                return (a.cls, a.keys, a.size, a.places) == (b.cls, b.keys, b.size, b.places)
            case (Elements(), Elements()) | (Pieces(), Pieces()):
                return True
        return super().meet(a, b)

    def one(self, a: Layout, b: Layout) -> Layout:
        form = a.form
        match form, b.form:
            case Elements(), Elements(frozen=frozen):
                if (form.extent, form.kind) != (b.form.extent, b.form.kind):
                    what = f"the array {self.name!r} changes its shape or dtype {_LOOP}"
                    raise self.s.refuse("flatten/mixed-join", what, self.node,
                                        help="write np.zeros(3) or 0.0 for floats")
                form = replace(form, frozen=form.frozen or frozen)
            case Object(), Object(frozen=frozen):
                form = replace(form, frozen=form.frozen or frozen)
            case Bits(), Bits(exact=exact, width=width):
                form = Bits(form.exact and exact, form.width | width)
            case (Bits() as bits, Number(width=width)) | (Number(width=width), Bits() as bits):
                form = replace(bits, width=bits.width | width)
            case Pieces(), Pieces():
                return self._together([a, b])
            case _:
                return super().one(a, b)
        return Layout(form, tuple(map(self.joined, a.parts, b.parts)))

    def _lists(self, options: list[Layout]) -> list[Layout]:
        """Lists of several lengths are one that grows (`space.growing`), where lists may: a count, and a place for each
        item."""
        lists = [each for each in options if isinstance(each.form, Object) and each.form.cls is list]
        if len(lists) < 2 or not self.grows:
            return options
        rows = [each.parts[0].parts[1:] if each.form.places else each.parts for each in lists]
        each = functools.reduce(self.joined, [item for row in rows for item in row])
        if _has_objects(each):
            raise self.refuse("is a list of lists or objects that grows or shrinks")
        most = max(len(row) if one.form.places else len(row) + growing.PLACES
                   for one, row in zip(lists, rows, strict=True))
        cells = _tuple(Cells, (self.of(Static(0), _EMPTY), *[each] * most))
        grown = Object(list, None, most + 1, True, any(one.form.frozen for one in lists))
        return [Layout(grown, (cells,)), *(option for option in options if option not in lists)]

    def _strings(self, options: list[Layout]) -> list[Layout]:
        """Strings of which one gets longer are pieces, where it may, or has to."""
        texts = [each for each in options if _is_string(each)]
        known = [each for each in options if isinstance(each.form, Known) and templates.are_strings(each.form.value)]
        few = len(texts) <= MAX_TEXTS and len(known) <= MAX_KNOWN and not any(isinstance(t.form, Pieces) for t in texts)
        whole = [_sample(each) for each in (*texts, *known) if not isinstance(each.form, Pieces)]
        if not self.grows or few or len(texts) + len(known) < 2 or not all(map(templates.can_grow, whole)):
            return options
        return [self._together([*texts, *known]),
                *(option for option in options if option not in texts and option not in known)]

    def _together(self, strings: Sequence[Layout]) -> Layout:
        tables = [each.form.table for each in strings if isinstance(each.form, Pieces)]
        if any(table is not tables[0] for table in tables):
            raise self.refuse("is one of several strings that grow")
        table = tables[0] if tables else TextTable()
        for each in strings:
            if not isinstance(each.form, Pieces) and not _is_empty(_sample(each)):
                templates.register(table, _sample(each))
        form = Pieces(table, tuple(table.numbers))
        return Layout(form, (_pieces(form),))

    # --- the leaves of a value
    def leaves(self, value: Abstract, layout: Layout, state: State) -> list[Leaf]:
        if isinstance(value, GuardedUnion):
            return super().leaves(value, layout, state)
        match form := layout.form:
            case Number():
                return [scalars.to_kind(self.s, lane(value), form.kind)]
            case Bits():
                return [self.bits(value, form)]
            case Pieces():
                text = templates.grown(form.table, value, growing.PLACES, self.emit)
                return self.leaves(templates.padded_cells(text, form.table), layout.parts[0], state)
            case Object(places=True) if cells_of(held := aliasing.items_of(state, value)) is None:
                return self.leaves(Seq(Cells, (Static(len(held)), *held)), layout.parts[0], state)
            case Object(frozen=True) if isinstance(value, ListRef | DictRef | ObjRef):
                self.s.frozen.add(value)
        return super().leaves(value, layout, state)

    def bits(self, value: Abstract, form: Bits) -> Value:
        return unsigned.carried(self.s, value, known=form.exact, mixed=form.width > PYTHON)

    def holds(self, option: Layout, value: Abstract, state: State) -> bool:
        if isinstance(option.form, Pieces):
            return templates.are_strings(value)
        if isinstance(option.form, Object) and option.form.places:
            return type(value) is ListRef
        return super().holds(option, value, state)


class Parameters(Builder):
    """What stands for layouts in an iteration: `numbers` are their leaves, `owned` the objects of the loop's own."""

    def __init__(self, s: Evaluator, owned: Owned):
        self.s, self.owned = s, owned
        self.numbers: list[Param] = []

    def number(self, kind: Kind, name: str, width: Width = PYTHON) -> Param:
        param = Param(kind, name)
        self.numbers.append(param)
        if self.s.widths.kernel and kind is not MEMORY:
            self.s.widths.mark(param, width)
        return param

    def made(self, layout: Layout, name: str) -> Abstract:
        match form := layout.form:
            case Bits():
                return Unsigned(self.number(INT, name, form.width), FALSE if form.exact else TRUE)
            case Elements():
                return self._array(layout, form, name)
        parts = tuple(self.built(part, name) for part in layout.parts)
        if isinstance(form, Pieces):
            assert isinstance(parts[0], Seq)
            return GrownText(form.table, parts[0])
        ref = aliasing.empty_like(form.cls)
        self.owned[ref] = parts if form.keys is None else tuple(zip(form.keys, parts, strict=True))
        if form.frozen:
            self.s.frozen.add(ref)
        return ref

    def _array(self, layout: Layout, form: Elements, name: str) -> Array:
        """Its elements are NumPy's numbers. In a kernel their dtype is noted; an operation would stand before the
        loop."""
        store = StoreRef(form.kind)
        made = [self.number(form.kind, name, frozenset({OF_KIND[form.kind]})) for _ in layout.parts]
        self.owned[store] = tuple(made if self.s.widths.kernel else map(self.s.mark_numpy, made))
        if form.frozen:
            self.s.frozen.add(store)
        return Array(store, np.arange(len(made)).reshape(form.extent))


_EMPTY = State({}, WeakKeyDictionary())
_NOTHING: dict[Kind, Value] = {BOOL: FALSE, INT: const(0), FLOAT: const(0.0)}


def before(leaves: Sequence[Leaf], params: Sequence[Param]) -> list[Value]:
    """What the parameters are before the loop."""
    return [_NOTHING[param.kind] if leaf is None else leaf for leaf, param in zip(leaves, params, strict=True)]


def after(leaves: Sequence[Leaf], params: Sequence[Param]) -> list[Value]:
    """What they are after an iteration: what no lane reads stays."""
    return [param if leaf is None else leaf for leaf, param in zip(leaves, params, strict=True)]


def add_to_block(block: Block, items: Sequence[Any]) -> None:
    """Put operations at the end of a block whose list is already closed."""
    for item in items:
        assert isinstance(item, Block)
        block.ops.extend(item.ops)


def _tuple(cls: type, parts: tuple[Layout, ...]) -> Layout:
    return Layout(Compound((Seq, cls, len(parts)), Seq(cls, ())), parts)


def _pieces(form: Pieces) -> Layout:
    numbers = (Layout(Number(INT)), *(Layout(Number(kind)) for kind in form.numbers))
    return _tuple(Cells, (Layout(Number(INT)), *[_tuple(tuple, numbers)] * growing.PLACES))


def _is_string(layout: Layout) -> bool:
    """A string that is made from lanes."""
    return isinstance(layout.form, Pieces) or isinstance(layout.form, Compound) and isinstance(layout.form.sample, Text)


def _sample(layout: Layout) -> Abstract:
    """One of the strings of a layout."""
    found: Abstract = layout.form.sample if isinstance(layout.form, Compound) else layout.form.value
    return found


def _is_empty(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value == ""


def _has_objects(layout: Layout) -> bool:
    return isinstance(layout.form, Object | Elements) or any(map(_has_objects, layout.parts))


def holds_objects(value: Abstract, owned: Owned) -> bool:
    """It leads to an object of the loop's own: the contents may have changed where the value is the same."""
    return any(ref in owned for each in alternatives(value) for ref in aliasing.refs_in(each))
