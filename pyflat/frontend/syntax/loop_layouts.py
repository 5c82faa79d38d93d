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
    Axes,
    Bits,
    Elements,
    Items,
    Known,
    Layout,
    Method,
    Nothing,
    Number,
    Object,
    Pieces,
    String,
    Union,
    how,
    meet,
    with_parts,
)
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Array,
    BoundMethod,
    Caught,
    Cells,
    Char,
    Chars,
    Closure,
    Complex,
    Contents,
    DictRef,
    GrownText,
    GuardedUnion,
    IterRef,
    ListRef,
    NumberText,
    ObjRef,
    OtherText,
    Partial,
    Ref,
    RepeatedText,
    Seq,
    State,
    Static,
    Stored,
    StoreRef,
    Super,
    Text,
    TextTable,
    Unavailable,
    Unsigned,
    View,
    Written,
)
from pyflat.frontend.state.widths import OF_KIND, PYTHON, Width
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Block, Const, Param, Value
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, Kind

MAX_KNOWN = 8
"""Known objects among which a variable may change."""
MAX_DEPTH = 8
"""Levels of a layout: what is put into a new tuple in each iteration gets deeper without end."""

Owned = dict[Ref, Contents]
"""The objects that stand for what a name means in an iteration, with parameters for contents."""
Leaf = Value | None
"""None: a number that no lane reads."""


_ONE_ARRAY = "in a loop that stays a loop a name means an array from before it, or a view of one"
_COPY = "copy into the array that the name has before the loop: `{name}[:] = ...`"
_LOOP = "in a loop that cannot be unrolled"


class Layouts:
    """The layouts of one variable; `name` and `node` are for refusals."""

    def __init__(self, s: Evaluator, name: str, node: Any):
        self.s, self.name, self.node = s, name, node
        self.grows, self.most = s.grows, MAX_KNOWN
        self.before: State | None = None
        """Before the loop: a view of an array that is made in an iteration is not carried to the next one."""
        self.open: set[Ref] = set()
        """The objects whose items are being looked at."""

    def refuse(self, what: str, help: str = "", why: str = "") -> FlattenError:
        return self.s.refuse("flatten/mixed-join", f"{self.name!r} {what} {_LOOP}", self.node, help=help, why=why)

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

    # --- of a value
    def of(self, value: Abstract, state: State) -> Layout:
        if isinstance(value, GuardedUnion):
            return self.joined(self.of(value.then, state), self.of(value.orelse, state))
        value = opened(value)
        form = self.form(value, state)
        if isinstance(form, Known):
            return Layout(form)
        if isinstance(form, Pieces):
            return Layout(form, (self._pieces(form),))
        if isinstance(form, Elements):
            return Layout(form, (Layout(Number(form.kind)),) * math.prod(form.extent))
        if isinstance(form, Axes):  # a step that is known stays so
            return Layout(form, tuple(Layout(Known(part)) if isinstance(part, Static) else self.of(part, state)
                                      for part in self.parts(value, form, state)))
        if not isinstance(form, Object):
            return Layout(form, tuple(self.of(part, state) for part in self.parts(value, form, state)))
        assert isinstance(value, ListRef | DictRef | ObjRef)
        if value in self.open:
            raise self.refuse("becomes an object that leads back to itself")
        self.open.add(value)
        made = Layout(form, tuple(self.of(part, state) for part in self.parts(value, form, state)))
        self.open.discard(value)
        return made

    def form(self, value: Abstract, state: State) -> Any:
        kind, widths = None if is_too_large(value) else numeric_kind(value), self.s.widths
        if is_beyond(value) and (bits := as_unsigned(value)) is not None:
            return Bits(bits.outside is FALSE, PYTHON if widths is None else widths.of(bits.bits))
        if kind is not None:
            return self._number(value)
        if arrays.is_array(value) and (elements := arrays.kind_of(value)) is not None:
            if not arrays.is_plain(value):
                raise self.refuse("becomes a transposed or strided view", help="make it a copy")
            own = [value.store] if isinstance(value, Array) else []
            return Elements(arrays.shape_of(value), elements, self.shared(state, own))
        match value:
            case Complex():
                return Items(complex, 2)
            case Seq():
                return Items(value.cls, len(value.items))
            case ListRef() | DictRef() | ObjRef() if not isinstance(value, IterRef):
                layout = aliasing.layout(state, value)
                if layout is None:
                    raise self.refuse("has other attributes, keys or items on some paths")
                cls, keys, size, places = layout
                return Object(cls, keys, places or size, places is not None, self.shared(state, [value]))
            case GrownText():
                return Pieces(value.table, tuple(value.table.numbers))
            case BoundMethod():
                return Method(value.name, value.function)
            case Text():
                found = how(value)
                if found is not None:
                    return String(found, value)
            case Static() | Closure() | Partial() | Super() | OtherText() | Caught():
                return Known(value)
            case View() if self.before is not None and value.memory not in self.before.heap:
                raise self.refuse("becomes an array that is made there", _COPY.format(name=self.name), _ONE_ARRAY)
            case View() if value.settled:
                return Known(value)
            case View():
                return Axes(value.memory, value.array, value.dtype, len(value.extents),
                            tuple(each.axis for each in value.stored))
            case Unavailable():
                raise value.error
        if value is UNBOUND:
            return Known(value)
        raise self.refuse(f"becomes {describe(value)}")

    def _number(self, value: Abstract) -> Number:
        number, widths = lane(value), self.s.widths
        return Number(number.kind, PYTHON if widths is None or number.kind is MEMORY else widths.of(number))

    def parts(self, value: Abstract, form: Any, state: State) -> Sequence[Abstract]:
        """The parts of a value of this form."""
        match value:
            case Complex():
                return value.real, value.imag
            case Seq() | Chars():
                return value.items
            case Written():
                return [part for part in value.parts if not isinstance(part, Static)]
            case NumberText() | Char():
                return (value.number,)
            case RepeatedText():
                return (value.count,)
            case GrownText():
                return (templates.padded_cells(value, form.table),)
            case BoundMethod():
                return (value.receiver,)
            case View():
                return [*value.extents, *(part for each in value.stored for part in (each.start, each.step))]
            case ListRef() | DictRef() | ObjRef():
                return aliasing.items_of(state, value)
        if isinstance(form, Elements):
            current, self.s.state = self.s.state, state
            try:
                return list(arrays.grid(self.s, value, self.node).flat)
            finally:
                self.s.state = current
        return ()

    def shared(self, state: State, refs: Sequence[Ref]) -> bool:
        """Another name means one of them: what the loop copies and what it copies from may not be written any more."""
        names = [state, *self.s.outer_states()]
        found = any(ref in self.s.frozen or aliasing.is_shared(names, state, ref) for ref in refs)
        if found:
            self.s.frozen.update(refs)
        return found

    # --- of several
    def joined(self, a: Layout, b: Layout) -> Layout:
        """The layout that holds both."""
        if a == b:
            return a
        options = list(a.options)
        for each in b.options:
            at = next((k for k, known in enumerate(options) if self.meet(known.form, each.form)), None)
            if at is None:
                options.append(each)
            else:
                options[at] = self._one(options[at], each)
        options = self._strings(self._lists(options))
        if sum(isinstance(option.form, Known) for option in options) > self.most or len(options) > 2 * self.most:
            raise self.refuse(f"is one of more than {self.most} objects")
        options.sort(key=lambda option: option.order)
        made = options[0] if len(options) == 1 else Layout(Union(), tuple(options))
        if made.depth > MAX_DEPTH:
            raise self.refuse("changes its shape")
        return made

    def meet(self, a: Any, b: Any) -> bool:
        """Whether two forms become one, instead of a union of both."""
        return meet(a, b)

    def _one(self, a: Layout, b: Layout) -> Layout:
        """Of two forms that meet."""
        if a == b:
            return a
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
            case Known(), Known():
                return Layout(self._number(form.value))
            case (Known() as known, other) | (other, Known() as known):
                return self._one(Layout(self._number(known.value)), Layout(other))
            case (Bits() as bits, Number(width=width)) | (Number(width=width), Bits() as bits):
                form = replace(bits, width=bits.width | width)
            case Number(), Number(width=width):
                form = replace(form, width=form.width | width)
            case Pieces(), Pieces():
                return self._together([a, b])
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
            raise self.refuse("is a list of lists or objects that gets more or fewer items")
        most = max(len(row) if one.form.places else len(row) + growing.PLACES
                   for one, row in zip(lists, rows, strict=True))
        cells = Layout(Items(Cells, most + 1), (self.of(Static(0), _EMPTY), *[each] * most))
        grown = Object(list, None, most + 1, True, any(one.form.frozen for one in lists))
        return [Layout(grown, (cells,)), *(option for option in options if option not in lists)]

    def _strings(self, options: list[Layout]) -> list[Layout]:
        """Strings of which one gets longer are pieces, where it may, or has to."""
        texts = [each for each in options if isinstance(each.form, String | Pieces)]
        known = [each for each in options if isinstance(each.form, Known) and templates.are_strings(each.form.value)]
        if not self.grows or not texts and len(known) <= MAX_KNOWN or len(texts) + len(known) < 2 \
                or not all(templates.can_grow(_sample(each)) for each in (*texts, *known)
                           if not isinstance(each.form, Pieces)):
            return options
        return [self._together([*texts, *known]),
                *(option for option in options if option not in texts and option not in known)]

    def _together(self, strings: Sequence[Layout]) -> Layout:
        tables = [each.form.table for each in strings if isinstance(each.form, Pieces)]
        if any(table is not tables[0] for table in tables):
            raise self.refuse("is one of several strings that get longer")
        table = tables[0] if tables else TextTable()
        for each in strings:
            if not isinstance(each.form, Pieces) and not _is_empty(_sample(each)):
                templates.register(table, _sample(each))
        form = Pieces(table, tuple(table.numbers))
        return Layout(form, (self._pieces(form),))

    def _pieces(self, form: Pieces) -> Layout:
        numbers = (Layout(Number(INT)), *(Layout(Number(kind)) for kind in form.numbers))
        place = Layout(Items(tuple, len(numbers)), numbers)
        return Layout(Items(Cells, growing.PLACES + 1), (Layout(Number(INT)), *[place] * growing.PLACES))

    # --- the leaves of a value
    def leaves(self, value: Abstract, layout: Layout, state: State) -> list[Leaf]:
        """The leaves of a value that the layout holds, in the order of `build`."""
        if isinstance(value, GuardedUnion):
            pairs = zip(self.leaves(value.then, layout, state), self.leaves(value.orelse, layout, state), strict=True)
            return [self._choose(value.cond, a, b) for a, b in pairs]
        value = opened(value)
        match form := layout.form:
            case Number():
                return [scalars.to_kind(self.s, lane(value), form.kind)]
            case Bits():
                return [self.bits(value, form)]
            case Union():
                return self._of_option(value, layout, state)
            case Nothing() | Known():
                return []
            case Pieces():
                text = templates.grown(form.table, value, growing.PLACES, self.s.build.op)
                return self.leaves(templates.padded_cells(text, form.table), layout.parts[0], state)
            case Object(places=True) if cells_of(held := aliasing.items_of(state, value)) is None:
                return self.leaves(Seq(Cells, (Static(len(held)), *held)), layout.parts[0], state)
            case Object(frozen=True) if isinstance(value, ListRef | DictRef | ObjRef):
                self.s.frozen.add(value)
        parts = self.parts(value, form, state)
        grows = isinstance(form, Items) and form.cls is Cells
        found = [leaf for part, inner in zip(parts, layout.parts, strict=not grows)
                 for leaf in self.leaves(part, inner, state)]
        return [*found, *[None] * (len(layout.kinds()) - len(found))]  # the places behind its items

    def bits(self, value: Abstract, form: Bits) -> Value:
        return unsigned.carried(self.s, value, known=form.exact)

    def _of_option(self, value: Abstract, layout: Layout, state: State) -> list[Leaf]:
        at = next(k for k, option in enumerate(layout.parts) if self._holds(option, value, state))
        found: list[Leaf] = [const(k == at) for k in range(len(layout.parts) - 1)]
        for k, option in enumerate(layout.parts):
            found += self.leaves(value, option, state) if k == at else [None] * len(option.kinds())
        return found

    def _holds(self, option: Layout, value: Abstract, state: State) -> bool:
        if isinstance(option.form, Pieces):
            return templates.are_strings(value)
        form = self.form(value, state)
        if isinstance(option.form, Object) and option.form.places:
            return isinstance(form, Object) and form.cls is list
        return self.meet(option.form, form)

    def _choose(self, cond: Value, a: Leaf, b: Leaf) -> Leaf:
        if a is None or b is None or a is b:
            return b if a is None else a
        if isinstance(a, Const) and isinstance(b, Const) and a.key == b.key:
            return a
        return cond if a is TRUE and b is FALSE else self.s.build.op("select", cond, a, b)


class Parameters:
    """What stands for a layout in an iteration: `numbers` are its leaves, `owned` the objects of the loop's own."""

    def __init__(self, s: Evaluator, owned: Owned):
        self.s, self.owned = s, owned
        self.numbers: list[Param] = []

    def _number(self, kind: Kind, name: str, width: Width | None = None) -> Param:
        param = Param(kind, name)
        self.numbers.append(param)
        if self.s.widths is not None and width is not None and kind is not MEMORY:
            self.s.widths.mark(param, width)
        return param

    def of(self, layout: Layout, name: str) -> Abstract:
        match form := layout.form:
            case Number():
                return self._number(form.kind, name, form.width)
            case Bits():
                return Unsigned(self._number(INT, name, form.width), FALSE if form.exact else TRUE)
            case Known():
                return form.value
            case Nothing():
                return Unavailable(form.error)
            case Union():
                tags = [self._number(BOOL, "" if layout.parts[0].parts else name) for _ in layout.parts[1:]]
                *options, chosen = [self.of(option, name) for option in layout.parts]
                for tag, option in zip(reversed(tags), reversed(options), strict=True):
                    chosen = GuardedUnion(tag, option, chosen)
                return chosen
            case Items(cls=cls) if cls is complex:
                return Complex(self.of(layout.parts[0], f"{name}_real"), self.of(layout.parts[1], f"{name}_imag"))
            case Elements():
                return self._array(layout, form, name)
        parts = tuple(self.of(part, name) for part in layout.parts)
        match form:
            case Items():
                return Seq(form.cls, parts)
            case Pieces():
                assert isinstance(parts[0], Seq)
                return GrownText(form.table, parts[0])
            case String():
                return with_parts(form.sample, iter(parts))
            case Method():
                return BoundMethod(parts[0], form.name, form.function)
            case Axes():
                stored = map(Stored, parts[form.rank::2], form.axes, parts[form.rank + 1::2])
                return View(form.memory, form.array, form.dtype, parts[:form.rank], tuple(stored))
        ref = aliasing.empty_like(form.cls)
        self.owned[ref] = parts if form.keys is None else tuple(zip(form.keys, parts, strict=True))
        if form.frozen:
            self.s.frozen.add(ref)
        return ref

    def _array(self, layout: Layout, form: Elements, name: str) -> Array:
        """Its elements are NumPy's numbers. In a kernel their dtype is noted; an operation would stand before the
        loop."""
        store = StoreRef(form.kind)
        made = [self._number(form.kind, name, frozenset({OF_KIND[form.kind]})) for _ in layout.parts]
        self.owned[store] = tuple(made if self.s.widths is not None else map(self.s.mark_numpy, made))
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


def _sample(layout: Layout) -> Abstract:
    """One of the strings of a layout."""
    found: Abstract = layout.form.sample if isinstance(layout.form, String) else layout.form.value
    return found


def _is_empty(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value == ""


def _has_objects(layout: Layout) -> bool:
    return isinstance(layout.form, Object | Elements) or any(map(_has_objects, layout.parts))


def holds_objects(value: Abstract, owned: Owned) -> bool:
    """It leads to an object of the loop's own: the contents may have changed where the value is the same."""
    return any(ref in owned for each in alternatives(value) for ref in aliasing.refs_in(each))
