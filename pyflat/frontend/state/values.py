"""Abstract values: what the partial evaluator knows about a Python value.

    Static      any Python object known while flattening
    Value       an IR value: one number per lane (bool, int64 or float64)
    Complex     a complex number: two abstract floats
    Unsigned    an int of [0, 2**64), as 64 bits
    Seq         a tuple or namedtuple of abstract values
    Array       a NumPy array made in the flattened code: a view of a StoreRef
    View        an array of a kernel, which is in memory
    Pending     an expression of such arrays, inside of a statement
    ListRef, DictRef, ObjRef, StoreRef   objects with identity; their contents live on the abstract heap
    Closure     a function defined inside the flattened one
    Bound       a method looked up on an abstract receiver
    Lazy        an iterator (zip, enumerate, map, ...), consumed once, by a loop
    Ranges      a range whose bounds are lanes
    Text        a string that depends on lanes: only good for raising, unless it is known how it is made (`Written`)
    OtherText   a string of an argument that is none of those which the function knows: good for comparing
    GuardedUnion      `then` where the lane's `cond` holds, else `orelse`: two values that no single lane value holds
    UNBOUND     the name has no value
"""

from __future__ import annotations

import enum
import itertools
import types
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pyflat.errors import Span
from pyflat.frontend.capture import Captured
from pyflat.ir.nodes import Block, End, Label, Origin, Value
from pyflat.ir.shape import Template
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

MAX_LENGTH = 1024
"""Elements of an array that is made while flattening."""
Grid = Any
"""An object array of abstract numbers."""
DTYPES: dict[Kind, Any] = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}

@dataclass(eq=False, slots=True)
class Static:
    value: Any


@dataclass(eq=False, slots=True)
class WithoutAxes(Static):
    """A known number that is an array without axes in Python."""


@dataclass(eq=False, slots=True)
class Complex:
    """Each part is a lane of kind float, or a known float."""

    real: Abstract
    imag: Abstract


@dataclass(eq=False, slots=True)
class Unsigned:
    """An int that may be beyond 63 bits: in [0, 2**64) but in lanes `outside`, where only its residue modulo 2**64 is
    known (`space.unsigned`); the residue as a signed int are the `bits`."""

    bits: Value
    outside: Value


@dataclass(eq=False, slots=True)
class Seq:
    """`cls` is tuple, a namedtuple class, or list (a row of a captured table)."""

    cls: type
    items: tuple[Abstract, ...]


@dataclass(eq=False, slots=True, weakref_slot=True)
class ListRef:
    """Identity of a local list; heap contents: tuple of items."""


class Cells(tuple[Any, ...]):
    """The class of the `Seq` that is all there is of a list that has grown in a loop which stayed one
    (`space.growing`): how many items a lane has, then a place for each that it may have."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class LaneSet:
    """A set whose members differ from lane to lane: a list of its own has them."""

    members: ListRef


@dataclass(eq=False, slots=True)
class IterRef(ListRef):
    """Identity of an iterator over known items; heap contents: those that are left."""


@dataclass(eq=False, slots=True)
class BoxRef(ListRef):
    """Identity of a variable that a nested function writes (`nonlocal`); heap contents: its value. The name of the
    variable means the box as long as its frame lives, so that a write is seen on its path only, as any other."""


class DictPart(enum.Enum):
    """Keys in the contents of a dict whose keys differ from lane to lane."""

    FACTORY = enum.auto()
    ENTRIES = enum.auto()


FACTORY, ENTRIES = DictPart


@dataclass(eq=False, slots=True, weakref_slot=True)
class DictRef:
    """Identity of a local dict; heap contents: tuple of (static key, item), or where keys differ from lane to lane
    ((FACTORY, of missing values), (ENTRIES, a list of pairs)); see `space.lane_dicts`."""

    cls: type = dict
    entries: ListRef = field(default_factory=ListRef)
    """The list of pairs that it gets with its first key of lanes."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class ObjRef:
    """Identity of an instance made in the flattened code; heap contents: tuple of (attribute, value)."""

    cls: type


@dataclass(eq=False, slots=True)
class Scratch:
    """A captured object that the function writes to (`space.scratch`); heap contents of `slots`: what it has at the
    places that are written, or under the keys of a `cache`."""

    value: Any
    slots: DictRef
    cache: bool
    user: Any = None
    """The function that writes the cache, and the kinds of its keys."""
    names: dict[Any, str] = field(default_factory=dict)
    parts: list[Any] = field(default_factory=list)
    """Values whose identities are parts of the keys in `names`."""
    read: set[Any] = field(default_factory=set)
    outputs: dict[Any, Any] = field(default_factory=dict)
    """Places that were written and are not among `read`, and how that is refused."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class StoreRef:
    """Identity of the memory of a NumPy array; heap contents: tuple of numbers of `kind`."""

    kind: Kind
    frozen: str = ""
    """Why it may not be written any more: something holds a copy of what would have to be a view."""
    in_order: bool = True
    """NumPy has the elements in this order in memory. It keeps the order of its operands in a new array, so that it may
    be another one where one of them is transposed."""
    has_views: bool = False
    """There are views of several axes whose elements do not lie one after the other."""


@dataclass(eq=False, slots=True)
class Array:
    """A NumPy array: `places` has its shape and says which item of the store each element is, so that views share
    one store."""

    store: StoreRef
    places: np.ndarray[Any, Any]

    def __post_init__(self) -> None:
        if self.places.ndim > 1 and not self.places.flags.c_contiguous:
            self.store.has_views = True

    def is_same(self, other: object) -> bool:
        """The same elements of the same memory, in the same shape."""
        return isinstance(other, Array) and other.store is self.store and np.array_equal(other.places, self.places)


@dataclass(eq=False, slots=True, weakref_slot=True)
class MemoryRef:
    """Identity of what one or several arrays of a kernel hold; heap contents: one value of the kind MEMORY."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An axis of an array in memory, as a view reads it: at `start`, or at start + step * i for the number i of an
    axis of the view."""

    start: Abstract
    axis: int | None
    step: Abstract


@dataclass(eq=False, slots=True)
class View:
    """An array of a kernel, or a view of it: element by element in memory. `extents` are the lengths of its axes,
    `stored` the axes of the array `array` of the memory. `settled`: it has been there before any loop, as a whole;
    `whole`: it is the array itself."""

    memory: MemoryRef
    array: str
    dtype: str
    extents: tuple[Abstract, ...]
    stored: tuple[Stored, ...]
    settled: bool = False
    whole: bool = False


@dataclass(eq=False, slots=True)
class Pending:
    """An expression of whole arrays of a kernel that is not computed yet: `each` gives an element from those of the
    operands. It is computed where it is put into an array, and becomes one where it gets a name."""

    array: str
    dtype: str
    extents: tuple[Abstract, ...]
    operands: tuple[Any, ...]
    each: Callable[[Sequence[Any]], Any]


@dataclass(eq=False, slots=True, weakref_slot=True)
class Closure:
    captured: Captured
    frame: Frame
    defaults: dict[str, Abstract]
    known: dict[tuple[Frame, str], Abstract] | None = None
    """Of one in a cache, the variables that it reads, as they were when it was put there."""


@dataclass(eq=False, slots=True)
class BoundMethod:
    """`receiver.name`, not yet called; `function` when the class gives a Python function for it."""

    receiver: Abstract
    name: str
    function: Any = None


@dataclass(eq=False, slots=True)
class Partial:
    """functools.partial made in the flattened code."""

    function: Abstract
    positional: list[Abstract]
    named: dict[str, Abstract]


@dataclass(eq=False, slots=True)
class Super:
    """super() in a method of `cls`."""

    cls: type
    receiver: Abstract


_serials = itertools.count()


def next_serial() -> int:
    """The serial of the iterator that is made next, or later."""
    return next(_serials)


@dataclass(eq=False, slots=True)
class GeneratorExpression:
    """A generator expression as it was written: its frame, its text and its evaluated first iterable."""

    frame: Frame
    node: Any
    source: Abstract
    hidden: tuple[str, ...] = ()
    """The variables of the comprehensions that it stands in."""


@dataclass(eq=False, slots=True)
class GeneratorCall:
    """A call of a generator function: its frame, which has not begun to run, the call, and the frames around it."""

    frame: Frame
    node: Any
    around: tuple[Frame, ...]
    left: IterRef = field(default_factory=IterRef)
    """What is left of its items, where they were made before they were asked for (`begun`, on some path)."""
    begun: bool = False


@dataclass(eq=False, slots=True)
class Lazy:
    """`written`: the generator expression or the call of a generator function that it comes from, None for other
    iterators. `serial`: the place among all iterators, in the order of their making."""

    start: Callable[[], Iterator[Abstract]]
    used: bool = False
    written: GeneratorExpression | GeneratorCall | None = None
    serial: int = field(default_factory=_serials.__next__)


@dataclass(frozen=True, slots=True)
class Spaced:
    """The elements of a range whose step differs by lane, of which its counter has the numbers."""

    element: Callable[[Abstract, Abstract, Abstract], Abstract]
    first: Abstract
    step: Abstract

    def __call__(self, number: Abstract) -> Abstract:
        return self.element(self.first, self.step, number)


@dataclass(eq=False, slots=True)
class Ranges:
    """`item`: what an iteration sees of the counter, when that is not the counter itself. `once`: an iterator over
    the range (map, zip, enumerate, reversed), not the range. `live`: the end as it is at each iteration. `at`: the
    element at an index, of `a.flat`."""

    start: Abstract
    stop: Abstract
    step: int
    item: Callable[[Abstract], Abstract] | None = None
    once: bool = False
    used: bool = False
    serial: int = field(default_factory=_serials.__next__)
    live: Callable[[], Abstract] | None = None
    at: Callable[[Abstract], View] | None = None


@dataclass(eq=False, slots=True)
class Text:
    pass


@dataclass(eq=False, slots=True)
class NumberText(Text):
    """format(number, spec), or format(str(number), spec) where it is `converted`: the characters of an int are made
    where they are asked for."""

    number: Value
    spec: str
    converted: bool = False


@dataclass(eq=False, slots=True)
class RepeatedText(Text):
    """A known string, `count` times."""

    text: str
    count: Value


@dataclass(eq=False, slots=True)
class Char(Text):
    """One character: `number` is its digit where it is `decimal`, else its code point; where it is `binary` 0 or 1."""

    number: Value
    decimal: bool
    binary: bool = False


@dataclass(eq=False, slots=True)
class Chars(Text):
    """Several characters: each is a Char or known, and one that a lane does not have is a GuardedUnion with UNBOUND."""

    items: tuple[Abstract, ...]


@dataclass(eq=False, slots=True)
class Written(Text):
    """Several strings, one after the other: known ones, texts of the classes above, and alternatives of known ones."""

    parts: tuple[Abstract, ...]


@dataclass(eq=False, slots=True)
class TextTable:
    """The templates of the pieces of a string that gets longer in a loop, and the numbers that a piece has room for;
    both only get more."""

    templates: list[Template] = field(default_factory=list)
    numbers: list[Kind] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class GrownText(Text):
    """A string that gets longer in a loop (`state.templates`): `cells` has a count and places, each with the number of
    a template and the numbers that it writes."""

    table: TextTable
    cells: Seq


@dataclass(eq=False, slots=True)
class OtherText:
    """`known`: it is none of these. `asked`: other strings that it was compared with, which `known` should have had."""

    parameter: str
    known: frozenset[str]
    asked: dict[str, None] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Derived:
    """Something that is computed of one string argument and nothing else, by `compute` of the string; `key` says how.
    It differs by lane, and is no number (`space.derived`)."""

    parameter: str
    compute: Callable[[Any], Any]
    key: Hashable


@dataclass(eq=False, slots=True)
class Caught:
    """The exception that a handler has caught: its class is known, its arguments are not."""

    cls: type[BaseException]


@dataclass(eq=False, slots=True)
class GuardedUnion:
    cond: Value
    then: Abstract
    orelse: Abstract


@dataclass(eq=False, slots=True)
class Unavailable:
    """What a loop that stays a loop cannot carry from one iteration to the next: reading it is refused with `error`."""

    error: Any


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()

Ref = ListRef | DictRef | ObjRef | StoreRef | MemoryRef
Abstract = (Static | Value | Complex | Unsigned | Seq | Array | View | Pending | Ref | Closure | BoundMethod | Partial
            | Super | Lazy | Ranges | Text | OtherText | Derived | Caught | LaneSet | GuardedUnion | Scratch
            | Unavailable | _Unbound)
Contents = tuple[Any, ...]
NONE = Static(None)


MAX_STEPS = 32
"""Items of a generator that are made before they are asked for."""
NOT_BEGUN: Contents = (NONE,) * (MAX_STEPS + 2)
"""What is left of a generator of which no item was asked for: more than of any other, so that paths do not join."""


class Conflict:
    """Heap contents that the edges left in different shapes: an error only where they are read."""


CONFLICT: Contents = (Conflict(),)


@dataclass(frozen=True, slots=True)
class Slice:
    """A subscript `a:b:c`; `start` and `width` instead of a known `value` for `i : i + WIDTH` with a lane i; `bounds`
    of an array in memory that are not known."""

    value: slice
    start: Value | None = None
    width: int = 0
    bounds: tuple[Abstract, ...] = ()


@dataclass(frozen=True, slots=True)
class Axes:
    """A subscript of several parts with a slice among them."""

    parts: tuple[Abstract | Slice, ...]


Subscript = Abstract | Slice | Axes


class State:
    """What a path has assigned: the locals of the current frame, and the heap."""

    __slots__ = ("locals", "heap")

    def __init__(self, names: dict[str, Abstract], heap: WeakKeyDictionary[Ref, Contents]):
        self.locals = names
        self.heap = heap

    def copy(self) -> State:
        return State(dict(self.locals), self.heap.copy() if self.heap else WeakKeyDictionary())


@dataclass(eq=False, slots=True)
class IncomingEdge:
    """One edge into a join: its block and end, the state there, and the value it carries.

    `dead` edges are never taken (the list ended because both arms of an if left): their operands are undefined.
    """

    block: Block
    end: End
    state: State
    value: Abstract | None
    dead: bool = False
    span: Span | None = None
    """Where an edge out of a function leaves it."""


@dataclass(eq=False)
class Scope:
    """The target of break, continue or return: the label, and the edges that reach it."""

    label: Label
    edges: list[IncomingEdge] = field(default_factory=list)


@dataclass(eq=False)
class LoopScope:
    leave: Scope | None
    again: Scope | None


@dataclass(eq=False)
class Frame:
    """One inlined call."""

    ident: int
    captured: Captured
    function: Any
    """The function object or Closure."""
    globals: dict[str, Any]
    local_names: frozenset[str]
    cells: dict[str, types.CellType]
    outer: Frame | None
    returns: Scope
    call_span: Span | None
    arguments: dict[str, Abstract]
    state: State | None = None
    """The state while the frame is on the stack but not on top; also what closures read."""
    loops: list[LoopScope] = field(default_factory=list)
    has_closures: bool = False
    recursive: bool = False
    """The function is running already, with arguments that differ in lane values only."""
    endless_for_nan: bool = False
    """A test is undecided only because the lanes may be nan: those recurse without an end in Python too."""
    hidden: tuple[str, ...] = ()
    """The variables of the comprehensions that are running."""
    shadowed: dict[str, Abstract | None] = field(default_factory=dict)
    """What functions made outside of the running comprehensions see of the names that these hide: the function's own
    variable, or None where the name is none of its variables."""
    handling: list[type[BaseException]] = field(default_factory=list)
    """The exceptions whose handlers are running, for a bare `raise`."""
    recursion: Any = None
    """The loop that the frame runs as (`syntax.recursive_calls`)."""
    origins: dict[int, Origin] = field(default_factory=dict)
    """By the identity of nodes, which the captured tree keeps."""
    give: Callable[[Abstract], object] | None = None
    """Of a generator: what its consumer does with an item."""
    exits: tuple[Scope, ...] = ()
    """Of a generator: where its consumer may leave to."""
    leaves: bool = False
    """Of a generator: its consumer may leave it before its end."""
    holder: Frame | None = None
    """Of a generator and its consumer one runs: its locals have those of the other, under the names that
    `Evaluator.resume` gives them."""
    identity: Any = field(init=False)
    """What recursion is judged by: the function, or the text of a closure."""

    def __post_init__(self) -> None:
        self.identity = self.captured.tree if isinstance(self.function, Closure) else self.function


@dataclass(slots=True)
class Arguments:
    positional: list[Abstract]
    named: dict[str, Abstract]

    def all_static(self) -> bool:
        return all(isinstance(v, Static) for v in [*self.positional, *self.named.values()])

    def values(self) -> tuple[list[Any], dict[str, Any]]:
        """The Python objects, when all are static."""
        return ([v.value for v in self.positional if isinstance(v, Static)],
                {k: v.value for k, v in self.named.items() if isinstance(v, Static)})
