"""Shapes: how lane leaves make up a Python value, for arguments and for results.

    Leaf(FLOAT)                                  one lane value
    Fixed("exact")                               the same Python object in every lane
    Record(tuple, (), (Leaf(INT), Leaf(FLOAT)))  a tuple of two; namedtuples, dataclasses, lists and dicts likewise
    COMPLEX                                      a complex number: two floats
    Record(datetime.date, ("year", ...), ...)    a date, a result only: an array of lanes has dtype object
    UNSIGNED                                     a result only: an int of [0, 2**64)
    REAL_OR_COMPLEX                              a float in some lanes, a complex number in others
    Labels(("low", "high"))                      by lane one of a few objects; the leaf is its position
    Texts((Template("{} apples", ...), None), (INT,))   a result only: by lane a text that is made from numbers of the
                                                 lane, or an object; leaves: a position, and the numbers of all texts
    Texts((Composed(Leaf(FLOAT), ...), "n/a"), (FLOAT,))   numbers in some lanes, and in others something else
    Ragged((Leaf(INT), Leaf(INT)))               a result only: a list of up to two ints; leaves: 0, and for each place
                                                 whether the list has it, and the item
    Maybe(Leaf(FLOAT))                           a result only: None in some lanes; the last leaf says in which
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pyflat.functions.stacking import DATES, date_lanes, stacked
from pyflat.ir.types import BOOL, FLOAT, INT, Kind, kind_of


@dataclass(frozen=True, slots=True)
class Leaf:
    kind: Kind


@dataclass(frozen=True, slots=True)
class Fixed:
    value: Any

    def __hash__(self) -> int:
        try:
            return hash((type(self.value), self.value))
        except TypeError:
            return id(self.value)


@dataclass(frozen=True, slots=True)
class Record:
    """A tuple, list, namedtuple, dataclass or dict; `names`: the fields, or a dict's keys, which are strings.

    A result may be a NumPy array (`cls` is np.ndarray): a leaf for each element, and the shape's numbers as `names`.
    It may be a date (`cls` is in DATES).
    """

    cls: type
    names: tuple[str, ...]
    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """By lane one of a few objects that are no numbers: strings, enum members, None, ... The leaf is an int, the
    position in `table`; a table that `grows` has objects of other calls, too."""

    table: Sequence[Any]
    grows: bool = False

    def code(self, value: object) -> int | None:
        """The position of an object, None where it is not in the table. An original may make an equal object anew at
        each call."""
        for position, item in enumerate(self.table):
            if item is value:
                return position
        return next((k for k, item in enumerate(self.table) if is_same_object(item, value)), None)

    @property
    def textual(self) -> bool:
        """Whether an array of strings can hold all of them; NumPy's drop zeros at the end."""
        return all(type(item) is str and not item.endswith("\0") for item in self.table)


class Positions(list[Any]):
    """A table of strings, and None, that gets longer."""

    def __init__(self, items: Sequence[Any]):
        super().__init__(items)
        self._known = {item: place for place, item in enumerate(items)}
        self._lock = threading.Lock()

    def position(self, item: Any) -> int:
        with self._lock:
            place = self._known.setdefault(item, len(self))
            if place == len(self):
                self.append(item)
            return place


@dataclass(frozen=True, slots=True)
class Question:
    """What a function asks a string: `compute` of it where that has the kind of the leaf and `tag`, else 0; for a BOOL
    without a value whether it has the tag at all. With `labels` the position there of what is computed."""

    leaf: Leaf
    compute: Callable[[Any], Any]
    tag: Hashable
    is_tag: bool = False
    labels: Positions | None = None

    def answer(self, string: Any) -> Any:
        tag, value = tag_of(self.compute, string)
        if self.is_tag:
            return tag == self.tag
        return 0 if tag != self.tag else value if self.labels is None else self.labels.position(value)


@dataclass(frozen=True, slots=True)
class Strings:
    """An argument only: by lane a string of which nothing is known but that `witnesses` are such. The leaves are the
    answers to the questions that the function asks, each computed once for a string; specialising writes them here,
    and with them what else was computed, and what it gave for the witnesses."""

    witnesses: tuple[Any, ...]
    questions: list[Question] = field(default_factory=list, compare=False)
    checks: list[tuple[Callable[[Any], Any], frozenset[Hashable]]] = field(default_factory=list, compare=False)


def tag_of(compute: Callable[[Any], Any], string: Any) -> tuple[Hashable, Any]:
    """What is computed of a string: its tag ("none", "object", a kind, an exception), and the value."""
    try:
        value = compute(string)
    except Exception as error:  # noqa: BLE001 - whatever the function would raise
        raised: Any = type(error)
        return raised, None
    if value is None:
        return "none", None
    kind = kind_of(value) if type(value) in (bool, int, float) else None
    return ("object", value) if kind is None else (kind, value)


@dataclass(frozen=True, slots=True)
class Hole:
    """A place of a text: the `place`-th number of this kind, and what is written for it: "number" the number itself,
    "character" the character of this code, none for others, "word" `what[number]`, "times" `what * number`."""

    kind: Kind
    place: int
    how: str = "number"
    what: Any = None

    def written(self, numbers: Sequence[Any]) -> Sequence[Any]:
        """What stands there, for the numbers of several lanes."""
        match self.how:
            case "character":
                return [chr(number) if 0 <= number <= sys.maxunicode else "" for number in numbers]
            case "word":
                return [self.what[number] for number in numbers]
            case "times":
                return [self.what * number for number in numbers]
        return numbers


@dataclass(frozen=True, slots=True)
class Template:
    """A text with holes, as `str.format` takes it."""

    text: str
    holes: tuple[Hole, ...]

    def made(self, numbers: Callable[[Hole], Sequence[Any]], count: int) -> Iterator[Any]:
        """The texts of `count` lanes, of which `numbers` gives those of a hole."""
        columns = [hole.written(numbers(hole)) for hole in self.holes]
        return map(self.text.format, *columns) if columns else iter([self.text.format()] * count)


@dataclass(frozen=True, slots=True)
class Composed:
    """A number, tuple or other object of this shape, with a hole for each leaf."""

    shape: Shape
    holes: tuple[Hole, ...]

    @classmethod
    def of(cls, shape: Shape) -> Composed:
        places: dict[Kind, Iterator[int]] = {kind: itertools.count() for kind in (INT, FLOAT, BOOL)}
        return cls(shape, tuple(Hole(leaf.kind, next(places[leaf.kind])) for leaf in leaves(shape)))

    def made(self, numbers: Callable[[Hole], Sequence[Any]], count: int) -> Iterator[Any]:
        """The objects of `count` lanes, of which `numbers` gives those of a hole."""
        rows = zip(*map(numbers, self.holes), strict=True) if self.holes else [()] * count
        return (rebuild(self.shape, iter(row)) for row in rows)


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """By lane an object of `table`, or what a Template or Composed there makes of the lane's numbers. The first leaf is
    the position in the table, the others are numbers of the kinds `numbers`, those of one kind next to each other."""

    table: Sequence[Any]
    numbers: tuple[Kind, ...]

    @property
    def mixed(self) -> bool:
        """Whether there are numbers, tuples and the like among the objects."""
        return any(isinstance(item, Composed | int | float | complex) for item in self.table)

    @classmethod
    def of(cls, table: Sequence[object]) -> Texts:
        """With as many numbers of a kind as one item of the table has."""
        most = {INT: 0, FLOAT: 0, BOOL: 0}
        for hole in itertools.chain.from_iterable(map(holes_of, table)):
            most[hole.kind] = max(most[hole.kind], hole.place + 1)
        return cls(tuple(table), tuple(kind for kind, count in most.items() for _ in range(count)))

    def leaf(self, hole: Hole) -> int:
        """The leaf that a hole is filled from."""
        return 1 + self.numbers.index(hole.kind) + hole.place

    def code(self, value: object) -> int | None:
        """The position of an object that is no text with holes."""
        return Labels(self.table).code(value)

    def objects(self, parts: Sequence[np.ndarray[Any, Any]], wanted: np.ndarray[Any, Any] | None = None
                ) -> np.ndarray[Any, Any]:
        """What each lane has; None in lanes that are not `wanted`."""
        codes = parts[0]
        found = np.empty(len(codes), object)
        for code in np.unique(codes if wanted is None else codes[wanted]).tolist():
            here = codes == code if wanted is None else (codes == code) & wanted
            lanes, item = np.flatnonzero(here), self.table[code]
            if isinstance(item, Template | Composed):
                made = item.made(lambda hole, at=lanes: parts[self.leaf(hole)][at].tolist(), len(lanes))  # type: ignore[misc]
            else:
                made = itertools.repeat(item, len(lanes))
            for lane, value in zip(lanes.tolist(), made, strict=True):
                found[lane] = value
        return found


@dataclass(frozen=True, slots=True)
class Ragged:
    """By lane a list of some of these items, as Python objects. The first leaf is 0, or in a lane that the original has
    run the position of its list in `table`, counted from 1; each item has a leaf before it that says if it is there."""

    items: tuple[Shape, ...]
    table: Sequence[Any] = ()



@dataclass(frozen=True, slots=True)
class Maybe:
    """`inner`, or None: where the last leaf is true."""

    inner: Shape


class OtherWord:
    """In the table of an argument: strings that are none of the others."""

    def __repr__(self) -> str:
        return "another string"


OTHER_WORD = OtherWord()
MAX_WORDS = 64
"""Strings that a function compares one argument with."""


class UnknownWordsError(Exception):
    """Strings that a function compares an argument with, and that its table has not."""

    def __init__(self, words: Mapping[str, Sequence[str]]):
        super().__init__(words)
        self.words = words
        """By parameter."""


def is_same_object(a: object, b: object) -> bool:
    """Whether two objects differ by `is` alone, as far as their own == and repr say."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b) and (type(a).__repr__ is object.__repr__ or repr(a) == repr(b))
    except Exception:  # noqa: BLE001 - an object that cannot be compared is only itself
        return False


Shape = Leaf | Fixed | Record | Labels | Strings | Texts | Ragged | Maybe
COMPLEX = Record(complex, ("real", "imag"), (Leaf(FLOAT), Leaf(FLOAT)))
REAL_OR_COMPLEX = Record(complex, ("real", "imag", "is_complex"), (Leaf(FLOAT), Leaf(FLOAT), Leaf(BOOL)))
"""A result: an array holds all lanes as complex numbers, a single lane is the float or complex number it is."""


UNSIGNED = Record(np.uint64, ("bits",), (Leaf(INT),))
"""A result: ints of [0, 2**64), as the signed ints with the same bits."""


def holes_of(item: object) -> tuple[Hole, ...]:
    """The holes of an item of a table."""
    return item.holes if isinstance(item, Template | Composed) else ()


def leaves(shape: Shape) -> Iterator[Leaf]:
    """The leaves in order, depth first: the order of function parameters and results."""
    match shape:
        case Leaf():
            yield shape
        case Record():
            for item in shape.items:
                yield from leaves(item)
        case Labels():
            yield Leaf(INT)
        case Strings():
            yield from (question.leaf for question in shape.questions)
        case Texts():
            yield from map(Leaf, (INT, *shape.numbers))
        case Ragged():
            yield Leaf(INT)
            for item in shape.items:
                yield Leaf(BOOL)
                yield from leaves(item)
        case Maybe():
            yield from leaves(shape.inner)
            yield Leaf(BOOL)
        case Fixed():
            pass


def record_of(value: object) -> tuple[type, tuple[str, ...], tuple[Any, ...]] | None:
    """Class, names and items of a tuple, list, namedtuple, dataclass instance or dict with strings for keys, else
    None."""
    cls = type(value)
    if cls is dict and all(type(key) is str for key in value):  # type: ignore[attr-defined]
        return cls, tuple(value), tuple(value.values())  # type: ignore[arg-type, attr-defined]
    if cls in (tuple, list):
        return cls, (), tuple(value)  # type: ignore[arg-type]
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return cls, tuple(cls._fields), tuple(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(f.name for f in dataclasses.fields(value) if f.init)
        return cls, names, tuple(getattr(value, n) for n in names)
    return None


def rebuild(shape: Shape, values: Iterator[Any]) -> Any:
    """The Python value of `shape` with its leaves taken in order from `values`."""
    match shape:
        case Leaf():
            return next(values)
        case Fixed():
            return shape.value
        case Record():
            return make_record(shape.cls, shape.names, [rebuild(item, values) for item in shape.items])
        case Labels():
            return shape.table[next(values)]
        case Texts():
            row = [next(values) for _ in leaves(shape)]
            item = shape.table[row[0]]
            made = isinstance(item, Template | Composed)
            return next(item.made(lambda hole: [row[shape.leaf(hole)]], 1)) if made else item
        case Ragged():
            code = next(values)
            found = [(next(values), rebuild(item, values)) for item in shape.items]
            return shape.table[code - 1] if code else [item for here, item in found if here]
        case Maybe():
            inner = rebuild(shape.inner, values)
            return None if next(values) else inner


def is_text(shape: Shape) -> bool:
    """A string that is made of lane values."""
    return isinstance(shape, Texts) or isinstance(shape, Record) and shape.cls is str


def objects(shape: Shape, parts: Sequence[np.ndarray[Any, Any]], wanted: np.ndarray[Any, Any] | None = None
            ) -> np.ndarray[Any, Any]:
    """What each lane has as Python objects; None in lanes that are not `wanted`."""
    if isinstance(shape, Texts):
        return shape.objects(parts, wanted)
    found = np.empty(len(parts[0]), object)
    if isinstance(shape, Ragged):
        return _lists(shape, parts, wanted)
    if isinstance(shape, Leaf):
        found[:] = parts[0].tolist()
        return found
    if isinstance(shape, Record) and shape.cls is str:
        found[:] = ["".join(pieces or ()) for pieces in objects(shape.items[0], parts, wanted)]
        return found
    for lane, row in enumerate(zip(*(part.tolist() for part in parts), strict=True)):
        if wanted is None or wanted[lane]:
            found[lane] = rebuild(shape, iter(row))
    return found


def _lists(shape: Ragged, parts: Sequence[np.ndarray[Any, Any]], wanted: np.ndarray[Any, Any] | None
           ) -> np.ndarray[Any, Any]:
    """The list of each lane, place by place: of few lanes that have it, as most places are."""
    codes, at = parts[0], 1
    found = np.empty(len(codes), object)
    for lane, code in enumerate(codes.tolist()):
        found[lane] = list(shape.table[code - 1]) if code and (wanted is None or wanted[lane]) else []
    for item in shape.items:
        size = sum(1 for _ in leaves(item))
        here = parts[at].astype(bool) & (codes == 0)
        lanes = np.flatnonzero(here if wanted is None else here & wanted)
        if lanes.size:
            held = [part[lanes] for part in parts[at + 1:at + 1 + size]]
            items = objects(item, held) if held else [rebuild(item, iter(())) for _ in lanes]
            for lane, value in zip(lanes.tolist(), items, strict=True):
                found[lane].append(value)
        at += 1 + size
    if wanted is not None:
        found[~wanted] = None
    return found


def made(shape: Shape, *parts: Any) -> Any:
    """What one lane has, or each lane of arrays."""
    columns = np.broadcast_arrays(*parts)
    found = objects(shape, [column.reshape(-1) for column in columns])
    return found.reshape(columns[0].shape) if columns[0].ndim else found[0]


def holds_only_floats(shape: Shape) -> bool:
    """Whether every lane value is a float or a complex number."""
    match shape:
        case Record() if shape.cls is not complex:
            return all(map(holds_only_floats, shape.items))
        case Leaf():
            return shape.kind is FLOAT
        case Labels() | Texts() | Ragged():
            return False
        case Maybe():
            return holds_only_floats(shape.inner)
    return True


Path = tuple[str | int, ...]
"""A place in the arguments: a parameter's name, then attributes, keys and indices."""


class WrittenRecord:
    """Base of the records of a function that writes into its arguments: a namedtuple of what it returns and of what it
    has written, at `paths`."""

    __slots__ = ()
    paths: ClassVar[tuple[Path, ...]] = ()


@functools.cache
def written_class(paths: tuple[Path, ...]) -> type[WrittenRecord]:
    """The record for these places."""
    names = ["returned"]
    for path in paths:
        name = "_".join(map(str, path))
        while name in names:
            name += "_"
        names.append(name)
    fields = namedtuple("Written", names, rename=True)  # type: ignore[misc]
    return type("Written", (WrittenRecord, fields), {"__slots__": (), "paths": paths})


def written_record(shape: Shape | None) -> type[WrittenRecord] | None:
    """The class of a result that includes values the function writes, None for other results."""
    return shape.cls if isinstance(shape, Record) and issubclass(shape.cls, WrittenRecord) else None


def item_at(arguments: Mapping[str, Any], path: Path) -> Any:
    """The value at a path."""
    value: Any = arguments[str(path[0])]
    for step in path[1:]:
        value = getattr(value, step) if isinstance(step, str) and not isinstance(value, dict) else value[step]
    return value


def put_at(arguments: Mapping[str, Any], path: Path, item: Any) -> None:
    """Write into an argument."""
    owner, step = item_at(arguments, path[:-1]), path[-1]
    if isinstance(step, str) and not isinstance(owner, dict):
        setattr(owner, step, item)
    else:
        owner[step] = item


def make_record(cls: type, names: Sequence[str], items: Sequence[Any]) -> Any:
    if cls in (tuple, list):
        return cls(items)
    if cls is str:
        return "".join(items[0])
    if cls is np.ndarray:
        return stacked(items, tuple(map(int, names)))
    if cls in DATES:
        return date_lanes(cls, items)
    if cls is np.uint64:
        return items[0].view(np.uint64) if isinstance(items[0], np.ndarray | np.int64) else items[0] % 2**64
    if cls is complex:
        real, imag, *is_complex = items
        return real if is_complex == [False] else complex(real, imag)
    if cls is dict:
        return dict(zip(names, items, strict=True))
    if issubclass(cls, tuple):  # its items are final too: a __new__ or _make of its own has run in the lanes
        return tuple.__new__(cls, items)
    made = object.__new__(cls)  # its fields are final: __init__ and __post_init__ have run in the lanes
    for name, item in zip(names, items, strict=True):
        object.__setattr__(made, name, item)
    return made
