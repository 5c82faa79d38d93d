"""Calls that are kept: what a backend says about its primitives, and how they stand in the IR.

A `Call` is an entry of a whitelist. An opaque call is one operation:

    %c = call true, %u, %v {args = (("=", "albedo"), ("vec2", "f8", "f8"))} {barrier = true} {effect = false}
             {guarded = true} {name = "texture"} : pack
    %r = part %c {index = 0} : f8

`args` says how the operands make up the arguments: a kind for a number, a name and the parts of it for a record, "="
and the object for a constant. A guarded call has a bool before its operands: where the lane takes its path, as `fault`
has it. A result of several numbers is a `pack`, whose `part`s are taken out at once: packs never merge.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Literal

from pyflat.errors import Span, refuse
from pyflat.ir.nodes import Op
from pyflat.ir.shape import Fixed, Leaf, Record, Shape, leaves, rebuild
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

KINDS: dict[str, Kind] = {"float": FLOAT, "int": INT, "bool": BOOL, "f8": FLOAT, "i8": INT, "b": BOOL}
VECTORS = {f"vec{n}": n for n in (2, 3, 4)}


@dataclass(frozen=True)
class Call:
    """A whitelisted function: a call by its simple name stays one operation, with flattened arguments.

    result   "float", "int" or "bool"; "join": the joined kind of its numeric arguments; "vec2" to "vec4": a tuple of
             floats; a namedtuple or dataclass (fields are floats unless annotated int or bool), or a function
             annotated to return one; a tuple of results; None
    pure     False: the call has an effect. It stays even if its result is unused, under its guard, in order
    where    "anywhere": it may also run for elements that do not take its path, where its result is dropped;
             "taken": the operation has the predicate of its path as its first operand
    barrier  True: one operation for each call that the source reaches (one per unrolled iteration), never duplicated,
             merged with an equal one, or moved before another barrier
    python   the function on Python scalars, for tests and for folding calls with constant arguments; without it, the
             interpreter calls the function that the source names
    arrays   the function on arrays, for the NumPy engine: takes arrays or numbers in place of numbers, and returns
             arrays or numbers. None: NumPy refuses the call, like numba
    """

    name: str
    result: Any = "float"
    pure: bool = True
    where: Literal["anywhere", "taken"] = "anywhere"
    barrier: bool = False
    python: Callable[..., Any] | None = None
    arrays: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not str(self.name).isidentifier():
            raise ValueError(f"a whitelisted call is named by its simple name, not {self.name!r}")
        if self.where not in ("anywhere", "taken"):
            raise ValueError(f"where={self.where!r}: expected 'anywhere' or 'taken'")
        if self.result not in ("join", None):
            result_shape(self.result)
        if not self.pure:
            object.__setattr__(self, "where", "taken")
            object.__setattr__(self, "barrier", True)

    @property
    def guarded(self) -> bool:
        return self.where == "taken"


def whitelist_of(entries: Iterable[str | Call] | Mapping[str, Call] | str | Call | None) -> dict[str, Call]:
    """Entries by name; a plain name is a pure call that gives a float. TypeError for anything else."""
    if entries is None:
        return {}
    if isinstance(entries, str | Call):
        entries = (entries,)
    given = entries.values() if isinstance(entries, Mapping) else entries
    found: dict[str, Call] = {}
    for entry in given:
        if not isinstance(entry, str | Call):
            raise TypeError(f"whitelist: expected names and Call entries, not {type(entry).__name__}")
        call = Call(entry) if isinstance(entry, str) else entry
        found[call.name] = call
    return found


def result_shape(result: Any) -> Shape:
    """The shape that the `result` of an entry stands for. ValueError for what is none."""
    match result:
        case None:
            return Fixed(None)
        case Kind():
            return Leaf(result)
        case str() if result in KINDS:
            return Leaf(KINDS[result])
        case str() if result in VECTORS:
            return Record(tuple, (), (Leaf(FLOAT),) * VECTORS[result])
        case tuple() if result:
            return Record(tuple, (), tuple(map(result_shape, result)))
        case type() if result in (bool, int, float):
            return Leaf(KINDS[result.__name__])
        case FunctionType() if "return" in inspect.get_annotations(result):
            return result_shape(typing.get_type_hints(result)["return"])
        case type() if names := _fields(result):
            notes = notes_of(result)
            return Record(result, names, tuple(_field_shape(notes.get(name)) for name in names))
    raise ValueError(f"result={result!r}: expected a kind, 'join', 'vec2' to 'vec4', a tuple of results, a namedtuple "
                     "or dataclass, or None")


def notes_of(of: Any) -> dict[str, Any]:
    """Annotations of a function or class, as objects where their names can be found."""
    try:
        return typing.get_type_hints(of)
    except (NameError, TypeError, AttributeError):  # a name for type checkers only: annotations stay texts
        return dict(inspect.get_annotations(of))


def _fields(cls: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls) if f.init)
    return tuple(getattr(cls, "_fields", ()))


def _field_shape(note: object) -> Shape:
    name = note if isinstance(note, str) else getattr(note, "__name__", "float")
    if isinstance(note, type) and _fields(note):
        return result_shape(note)
    return Leaf(KINDS.get(name, FLOAT))


# --- in the IR

Part = Any
"""A word for a kind, or a tuple of a name and parts, or ("=", constant)."""


@dataclass
class OpaqueCalls:
    """What the opaque calls of one function mean in Python: the functions that the source names, and its records."""

    entries: dict[str, Call] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    records: dict[Part, Record] = field(default_factory=dict)

    def meaning(self, op: Op) -> Callable[..., Any]:
        """A call as a function of its operands: a number, a tuple of numbers (a pack), or None."""
        return self.meaning_of(dict(op.attrs), op.kind is Kind.PACK, op.span)

    def meaning_of(self, attrs: Mapping[str, Any], packed: bool, span: Span | None) -> Callable[..., Any]:
        name = attrs["name"]
        entry = self.entries.get(name)
        function = (entry.python if entry else None) or self.functions.get(name)
        if function is None:
            raise refuse("flatten/call-not-runnable", f"the opaque call of {name} has no Python function to run", span)
        made = self._on_operands(function, attrs["args"], packed)
        if not attrs["guarded"]:
            return made
        return lambda guard, *operands: made(*operands) if guard else None

    def on_arrays(self, op: Op) -> Callable[..., Any] | None:
        """A call as a function of arrays for its operands; None where its entry does not say how, or where it may not
        be made in every lane."""
        entry = self.entries[op.attr("name")]
        if entry.arrays is None or entry.guarded:
            return None
        return self._on_operands(entry.arrays, op.attr("args"), op.kind is Kind.PACK)

    def _on_operands(self, function: Callable[..., Any], parts: Sequence[Part], packed: bool) -> Callable[..., Any]:
        def call(*operands: Any) -> Any:
            values = iter(operands)
            found = function(*[self._argument(part, values) for part in parts])
            return flat_values(found) if packed else found

        return call

    def width(self, name: str) -> int:
        """How many numbers a call gives."""
        result = self.entries[name].result
        return 1 if result == "join" else leaf_count(result_shape(result))

    def _argument(self, part: Part, values: Any) -> Any:
        if isinstance(part, str):
            return next(values)
        if part[0] == "=":
            return part[1]
        return rebuild(self.records[part], values)


def part_of(shape: Shape) -> Part:
    match shape:
        case Leaf():
            return str(shape.kind)
        case Record():
            return (shape.cls.__name__, *map(part_of, shape.items))
        case Fixed():
            return ("=", shape.value)


def flat_values(value: Any) -> tuple[Any, ...]:
    """The numbers in a Python value, depth first."""
    from pyflat.ir.shape import record_of

    record = record_of(value)
    if record is None:
        return (value,)
    return tuple(number for item in record[2] for number in flat_values(item))


def is_barrier(op: Op) -> bool:
    """Never shared with an equal operation: each is an event of its own."""
    return op.opcode == "fault" or op.opcode == "call" and bool(op.attr("barrier"))


def has_effect(op: Op) -> bool:
    """Kept though nothing uses it."""
    return op.opcode == "fault" or op.opcode == "call" and bool(op.attr("effect"))


def is_guarded(op: Op) -> bool:
    """Its first operand says in which lanes it happens."""
    return op.opcode == "fault" or op.opcode == "call" and bool(op.attr("guarded"))


def leaf_count(shape: Shape) -> int:
    return sum(1 for _ in leaves(shape))
