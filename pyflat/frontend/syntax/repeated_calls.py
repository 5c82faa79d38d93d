"""A call like one before it is not evaluated again: what the first one appended is appended once more, as a copy.

    d1 = norm(x)      evaluated: its blocks are appended, and remembered under the signature of the call
    d2 = norm(y)      the same signature: a copy of them, in which y stands for x

Two calls are alike where `signatures` cannot tell their arguments apart and the evaluator is in the same situation
(`_situation`). A first evaluation that asked for more than that (`Trace.outside_reads`), or did something that a
copy cannot repeat, is not remembered. Frames and labels of a copy are numbered as evaluating would number them, so that
the IR is the same text, with the same origins, as without this module.
"""

from __future__ import annotations

import re
import types
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.errors import FlattenError
from pyflat.frontend.state import signatures
from pyflat.frontend.state.frames import ControlLeft, Evaluator
from pyflat.frontend.state.layouts import contents_of, rebuilt, taken_apart, with_contents
from pyflat.frontend.state.signatures import NoSignatureError, Reader, known_part, no_progress
from pyflat.frontend.state.values import (
    CONFLICT,
    UNBOUND,
    Abstract,
    Caught,
    Contents,
    DictRef,
    Frame,
    IterRef,
    ListRef,
    ObjRef,
    Ref,
    Static,
    StoreRef,
    Text,
)
from pyflat.frontend.state.widths import Width
from pyflat.ir.edit.copying import Copier
from pyflat.ir.nodes import Block, Const, Item, Label, Op, Origin, Param, Value

Marks = tuple[Width | None, bool]
Piece = list[Op] | Item
_HIDDEN = re.compile(r"(range|fold) (\d+)")
_KNOWN = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
"""Objects of which evaluating twice gives the same one."""


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """A call that is about to be evaluated. `parts`: the values with identity among its arguments; `heap`: what the
    objects among these have; `known`: the other arguments."""

    key: Hashable
    parts: list[Abstract]
    heap: dict[Ref, Contents]
    known: list[Any]


@dataclass(slots=True)
class Evaluated:
    """What a call appended and changed. `parts` are those of the call; `objects`: what the heap has now of its
    arguments, where that is new, and of what only the result means. Other objects stand for these here: the heap
    forgets an object that nothing means any more, and would keep what is named here."""

    ident: int
    origin: Origin | None
    parts: list[Abstract]
    known: list[Any]
    pieces: list[Piece]
    result: Abstract
    objects: list[tuple[Ref, Contents, bool]]
    """Also whether it may not be written."""
    unnamed: list[Value]
    """Parts of the result that had no name: the first caller may have named them since."""
    noted: list[tuple[int, str, Origin | None, Marks]]
    """What became known of a lane that is an argument: its position, name and statement, and its marks."""
    called: slice
    """The functions that ran, in `Trace.called`."""
    counted: int
    """The numbers that frames and labels took."""
    iterations: int
    """Iterations of unrolled loops."""
    fresh: bool
    rolled: FlattenError | None


def copied(s: Evaluator, frame: Frame) -> Abstract | Evaluation:
    """The value of a call in `frame`, where a copy of one before it gives it; otherwise the context to evaluate it in.
    """
    if not s.reuse:
        return Evaluation(s, frame, None)
    s.trace.called.append((frame.identity, known_part(frame.arguments)))
    call = _call(s, frame)
    found = None if call is None else s.trace.evaluated.get(call.key)
    if call is None or found is None:
        return Evaluation(s, frame, call)
    return _Copy(s, frame, found, call.parts).paste() if _fits(s, found) else Evaluation(s, frame, None)


def _call(s: Evaluator, frame: Frame) -> RepeatedCall | None:
    """The signature of a call; None where it has none, or its place would count."""
    if s.tries or frame.recursive or not isinstance(frame.function, types.FunctionType):
        return None
    reader = Reader(s)
    try:
        arguments = tuple((name, reader.read(value)) for name, value in frame.arguments.items())
    except NoSignatureError:
        return None
    key = frame.function, arguments, _situation(s)
    return RepeatedCall(key, reader.parts, reader.heap, reader.known)


def _situation(s: Evaluator) -> tuple[Hashable, ...]:
    nest = None if s.nest is None else s.nest.fresh
    return s.widths.seen, s.saw_turned, s.effects.catching, s.in_cache > 0, s.unrolled, nest


def _recurs(s: Evaluator, called: slice) -> bool:
    """One of the functions that a call has called is running, and by its arguments is called by itself again and again:
    what becomes of that depends on the frames that are there."""
    running: dict[Any, list[Frame]] = {}
    for frame in s.frames:
        running.setdefault(frame.identity, []).append(frame)
    return any(known is None or no_progress(frame.arguments, known)
               for identity, known in s.trace.called[called] for frame in running.get(identity, ()))


def _fits(s: Evaluator, found: Evaluated) -> bool:
    if s.nest is not None and s.nest.count + found.iterations > s.unrolled:
        return False  # evaluated, it says which loop is too long
    return not _recurs(s, found.called)


# --- remembering
class _Before:
    """The evaluator before a call, and what has come of it since."""

    def __init__(self, s: Evaluator, call: RepeatedCall):
        self.s, self.call = s, call
        self.situation, self.reads, self.first = _situation(s), s.trace.outside_reads, len(s.trace.called) - 1
        self.counter, self.count = s.counter, s.nest.count if s.nest is not None else 0
        self.heap = dict(s.state.heap)
        self.kept = [signatures.object_key(s, ref) for ref in call.heap]
        lanes = [(k, part) for k, part in enumerate(call.parts) if isinstance(part, Value)]
        self.lanes = [(k, lane, signatures.marks(s, lane)) for k, lane in lanes]
        self.names = s.trace.namings

    def iterations(self) -> int:
        return 0 if self.s.nest is None else self.s.nest.count - self.count

    def called(self) -> slice:
        return slice(self.first, len(self.s.trace.called))

    def repeatable(self) -> bool:
        """Nothing was asked or done that a copy would have to ask or do again."""
        s = self.s
        if s.trace.outside_reads != self.reads or _situation(s)[:-1] != self.situation[:-1]:
            return False
        if self.kept != [signatures.object_key(s, ref) for ref in self.call.heap]:
            return False
        heap = s.state.heap
        return all(heap.get(ref) is contents for ref, contents in self.heap.items() if ref not in self.call.heap)

    def noted(self) -> list[tuple[int, str, Origin | None, Marks]]:
        found = []
        for position, lane, before in self.lanes:
            marks, names = signatures.marks(self.s, lane), self.s.trace.named.get(lane, ())
            first = next((naming for naming in names if naming[0] > self.names), (0, "", None))
            if first[0] or marks != before:
                found.append((position, first[1], first[2], marks))
        return found


class Evaluation:
    """What a call with a signature appends goes into a list of its own, which is kept where it can be repeated; `value`
    is the value of the call. (A context, because every frame of Python's stack that a call takes is one less for the
    nesting of the user's calls.)"""

    def __init__(self, s: Evaluator, frame: Frame, call: RepeatedCall | None):
        self.s, self.frame, self.call = s, frame, call
        self.value: Abstract | None = None

    def __enter__(self) -> Evaluation:
        s = self.s
        if self.call is not None:
            self.before, self.rolled, s.rolled = _Before(s, self.call), s.rolled, None
            self.list = s.build.detached()
            self.items = self.list.__enter__()
        return self

    def __exit__(self, cls: type[BaseException] | None, *rest: object) -> None:
        s = self.s
        if self.call is None:
            return
        self.list.__exit__(None, None, None)
        own, s.rolled = s.rolled, self.rolled or s.rolled
        if cls is None and self.before.repeatable():
            self._keep(self.call, own)
        if cls is None or cls is ControlLeft:
            s.build.continue_with(self.items)

    def _keep(self, call: RepeatedCall, rolled: FlattenError | None) -> None:
        s, before, value = self.s, self.before, self.value
        result = _Result(s, call)
        if value is None or not result.reach(value):
            return
        stand_in = _Translation()
        parts = [stand_in.value(part) for part in call.parts]
        objects = [(*stand_in.object(ref, contents), ref in s.frozen) for ref, contents in result.objects.items()]
        s.trace.evaluated[call.key] = Evaluated(
            self.frame.ident, s.build.origin, parts, call.known, _pieces(self.items), stand_in.value(value), objects,
            result.unnamed, before.noted(), before.called(), s.counter - before.counter, before.iterations(),
            s.nest is not None and s.nest.fresh, rolled)


def _pieces(items: Sequence[Item]) -> list[Piece]:
    """The list as it is: what stands before it goes to its first block, what comes behind it to its last one."""
    first, last = items[0], items[-1]
    assert isinstance(first, Block)
    assert isinstance(last, Block)
    return [list(first.ops)] if first is last else [list(first.ops), *items[1:-1], list(last.ops)]


class _Result:
    """What the caller can reach of a result and of the objects that the call has written to."""

    def __init__(self, s: Evaluator, call: RepeatedCall):
        self.s, self.heap = s, call.heap
        self.objects: dict[Ref, Contents] = {}
        self.unnamed: list[Value] = []
        self._arguments = set(map(id, call.parts))

    def reach(self, value: Abstract) -> bool:
        """False where something in it cannot be copied."""
        changed = [ref for ref, old in self.heap.items() if self.s.state.heap[ref] is not old]
        return self._value(value) and all(map(self._object, changed))

    def _value(self, value: Abstract) -> bool:
        if id(value) in self._arguments:
            return True
        match value:
            case Static():
                return _is_the_same_again(value.value)
            case Value():
                if not value.name and not isinstance(value, Const):
                    self.unnamed.append(value)
                return True
            case ListRef() | DictRef() | ObjRef() | StoreRef():
                return not isinstance(value, IterRef) and (value in self.objects or self._object(value))
            case Caught():
                return True
        parts = taken_apart(value)
        return all(map(self._value, parts[1])) if parts is not None else type(value) is Text or value is UNBOUND

    def _object(self, ref: Ref) -> bool:
        contents = self.objects[ref] = self.s.state.heap[ref]
        return contents is CONFLICT or all(map(self._value, contents_of(contents, ref)))


def _is_the_same_again(value: Any) -> bool:
    """Evaluating again gives the same object, or one that nothing can tell from it."""
    return isinstance(value, _KNOWN) or signatures.is_by_value(value)


# --- copying
class _Translation:
    """Other objects in the place of abstract values: the same tuples, lists and objects with other lanes in them. One
    for one, so that what is the same object stays it."""

    def __init__(self) -> None:
        self.known: dict[int, Abstract] = {}
        self._kept: list[Abstract] = []

    def lane(self, value: Value) -> Value:
        return value

    def value(self, value: Abstract) -> Abstract:
        if isinstance(value, Static):
            return value
        if isinstance(value, Value):
            return self.lane(value)
        if id(value) not in self.known:
            self._kept.append(value)
            self.known[id(value)] = self._made(value)
        return self.known[id(value)]

    def object(self, ref: Ref, contents: Contents) -> tuple[Ref, Contents]:
        """Another object, and what it has."""
        made: Any = self.value(ref)
        if contents is CONFLICT:
            return made, contents
        return made, with_contents(contents, ref, map(self.value, contents_of(contents, ref)))

    def _made(self, value: Abstract) -> Abstract:
        match value:
            case StoreRef():
                return StoreRef(value.kind, value.frozen, value.in_order, value.has_views)
            case ObjRef():
                return ObjRef(value.cls)
            case ListRef() | DictRef():
                return type(value)()
        found = taken_apart(value)
        return value if found is None else rebuilt(value, map(self.value, found[1]))


class _Copy(Copier, _Translation):
    """A call that was evaluated, once more for other arguments."""

    def __init__(self, s: Evaluator, frame: Frame, found: Evaluated, parts: Sequence[Abstract]):
        pairs = list(zip(found.parts, parts, strict=True))
        _Translation.__init__(self)
        super().__init__({old: new for old, new in pairs if isinstance(old, Value) and isinstance(new, Value)})
        self.known = {id(old): new for old, new in pairs}
        self.s, self.found, self.parts = s, found, parts
        self.shift = frame.ident - found.ident
        self.origins: dict[int, Origin] = {}

    def lane(self, value: Value) -> Value:
        return self.read(value)

    def paste(self) -> Abstract:
        """Append the copy; the value of the call."""
        s, found = self.s, self.found
        for piece in found.pieces:
            if isinstance(piece, list | Block):
                for op in piece if isinstance(piece, list) else piece.ops:
                    s.build.append(self.op(op))
            else:
                s.build.node(self.node(piece))
        self._repeat_notes()
        s.trace.called += s.trace.called[found.called]
        s.counter += found.counted
        s.rolled = s.rolled or found.rolled
        if s.nest is not None:
            s.nest.count += found.iterations
            s.nest.fresh = found.fresh
        for stand_in, contents, frozen in found.objects:
            ref, copied = self.object(stand_in, contents)
            s.state.heap[ref] = copied
            if frozen:
                s.frozen.add(ref)
        return self.value(found.result)

    def _repeat_notes(self) -> None:
        for value in self.found.unnamed:
            copy = self.values[value]
            copy.name = ""
            if isinstance(copy, Op):
                copy.statement = None
        for position, name, statement, marks in self.found.noted:
            lane = self.parts[position]
            assert isinstance(lane, Value)
            if name and isinstance(lane, Op | Param):
                self.s.give_name(lane, name, self.origin(statement))
            signatures.mark(self.s, lane, marks)

    def op(self, op: Op) -> Op:
        copy = Op(op.opcode, [self.values.get(arg, arg) for arg in op.args], op.kind, name=self.name(op.name),
                  attrs=op.attrs, origin=self.origin(op.origin))
        copy.statement = self.origin(op.statement)
        self.values[op] = copy
        self._mark(op, copy)
        return copy

    def params(self, params: Sequence[Param]) -> list[Param]:
        fresh = super().params(params)
        for old, new in zip(params, fresh, strict=True):
            new.name = self.name(old.name)
            self._mark(old, new)
        return fresh

    def name(self, name: str) -> str:
        """Hidden variables, as the counter of a loop, have the number of their making."""
        hidden = _HIDDEN.fullmatch(name) if " " in name else None
        return name if hidden is None else f"{hidden[1]} {int(hidden[2]) + self.shift}"

    def _mark(self, old: Value, new: Value) -> None:
        s = self.s
        if s.widths.seen:
            signatures.mark(s, new, signatures.marks(s, old))
        if old in s.combined:
            is_and, parts = s.combined[old]
            s.combined[new] = is_and, tuple(self.read_all(parts))

    def label(self, label: Label) -> Label:
        stem, _, number = label.name.rpartition("_")
        fresh = self.labels[label] = Label(f"{stem}_{int(number) + self.shift}")
        return fresh

    def origin(self, origin: Origin | None) -> Origin | None:
        """The place in the frame of the copy; of the call itself, the place of this call."""
        if origin is None:
            return None
        if origin.frame < self.found.ident:
            return self.s.build.origin
        if id(origin) not in self.origins:
            self.origins[id(origin)] = Origin(origin.span, origin.node, origin.frame + self.shift)
        return self.origins[id(origin)]
