"""Outlines what an iteration of a parallel loop does, as a function of numbers that is flattened like any other.

    for i in range(n):                      def body(x, y):                lanes: the iterations
        if x[i] > 0.0:                          if x > 0.0:
            y[i] = math.log(x[i])                   y = math.log(x)
                                                return y                   y[i] = body(x[i], y[i])

An element that an iteration loads or stores, at one position relative to the counters, is a variable of the function:
what it holds is a parameter, and a result where it is stored. So the body has no memory, and a load behind a store is
the number that was stored.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from pyflat.analysis.parallel_loops import varying_in
from pyflat.errors import FlattenError
from pyflat.ir.affine import affine, places
from pyflat.ir.build import const
from pyflat.ir.edit.copying import Copier
from pyflat.ir.loops import all_ops, definitions, last_end, recognise_counted, uses
from pyflat.ir.memory import MEMORY_OPERATIONS, WRAPPING, may_warn
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    End,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Node,
    Op,
    Param,
    Region,
    Value,
    Yield,
    walk,
)
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY, VOID
from pyflat.ir.uses import results_of
from pyflat.passes import pipelines

Element = tuple[str, tuple[object, ...]]
"""An array, and the position in it: a sum for each axis."""

_NUMBERS = frozenset({"rounded", "narrow", "divide", "fitted", "u_shl", "u_shr", "u_div", "u_mod", "u_float"})


_NONE = Fault("", "")
"""What does not occur."""


@dataclass(frozen=True, slots=True)
class Outlined:
    """The body of a loop as a function for engines, whose last result is the suspect bit.

    loads    for the first parameters an access to the element that each is
    given    what the others are: numbers of the code around the body, counters among them
    stores   for each result but the suspect bit a store of the element that it is
    endless  a lane may never end that the original never comes to, since an iteration before it raises
    """

    function: Function
    loads: Sequence[Op]
    given: Sequence[Value]
    stores: Sequence[Op]
    endless: bool = False


def outlined(name: str, body: Sequence[Item], loop: Loop, tested: Container[Op] | None = None,
             patience: int | None = None, kept: Set[Value] = frozenset(),
             fast: Mapping[str, str] | None = None) -> Outlined | None:
    """The body of an iteration, which `loop` goes on after; None for what needs memory.

    tested    the indices that are known to be inside, None for all; lanes with another one that is not are suspect
    patience  so many trips after which lanes are suspect that may never end, though the original may not come to them
    fast      functions that may stand for others (`pipelines.fast`)
    kept      numbers that are computed, as far as an iteration comes to them, though nothing may need them
    """
    ops = list(all_ops(list(body)))
    if any(op.opcode in WRAPPING or op.opcode in MEMORY_OPERATIONS and op.opcode not in (
            "load", "store", "index", *_NUMBERS) or op.opcode in ("call", "ufunc", "part") for op in ops):
        return None
    memories = _Memories(body, loop)
    labels = {loop.again, FAULT, *(item.label for item in walk(list(body)) if isinstance(item, Region | Loop)),
              *(item.again for item in walk(list(body)) if isinstance(item, Loop))}
    leaves = any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label not in labels
                 for item in walk(list(body)))
    ahead = all(_is_ahead(op, body) for op in ops if op.opcode in ("load", "store"))
    if leaves or not ahead or not memories.are_told_apart() or _constants_may_warn(loop, ops):
        return None
    made = _BodyCopier(memories, loop, tested, kept).outline(name, body)
    try:
        flat = pipelines.flatten_ir(made.function, fast=pipelines.fast(fast or {}, contract=False))
    except FlattenError:
        return None
    faults = any(op.opcode == "fault" and op.attr("fault") is not _NONE for op in all_ops(flat.body))
    endless = faults and any(isinstance(item, Loop) and recognise_counted(item) is None for item in walk(list(body)))
    function = pipelines.run(flat, pipelines.engine(patience if endless else None, told=False))
    return _without_unused(Outlined(function, made.loads, made.given, made.stores, endless))


def _constants_may_warn(loop: Loop, ops: Sequence[Op]) -> bool:
    """Folding would leave such operations out."""
    outside = {value for value in uses(loop.body) if not isinstance(value, Const)} - {*definitions(loop.body)}
    varying = varying_in(loop, {*outside, *loop.params, *(op for op in ops if op.opcode == "load")})
    return any(may_warn(op.opcode, op.kind) and op not in varying for op in ops)


def _without_unused(found: Outlined) -> Outlined:
    fn = found.function
    used = {*uses(fn.body), *results_of(fn)}
    fn.params, sources = [p for p in fn.params if p in used], [
        source for param, source in zip(fn.params, [*found.loads, *found.given], strict=True) if param in used]
    loads = [source for source in sources if isinstance(source, Op) and source in found.loads]
    return replace(found, loads=loads, given=sources[len(loads):])


def _is_ahead(access: Op, body: Sequence[Item]) -> bool:
    """Where an element is, is known before the iteration."""
    inside = {*definitions(list(body))}

    def known(value: Value) -> bool:
        if value not in inside:
            return True
        ahead = isinstance(value, Op) and value.kind is INT and value.opcode in ("index", "add", "sub", "mul")
        return ahead and all(map(known, value.args))

    return all(map(known, places(access)))


class _Memories:
    """Which elements of each memory the body of a loop accesses. A memory is known by the parameter of the loop."""

    def __init__(self, body: Sequence[Item], loop: Loop):
        self._came: dict[Value, list[Value]] = {}
        """What a node passes on -> the values that it may be."""
        self.elements: dict[Value, dict[Element, Op]] = {}
        """Memory -> its elements, and an access to each."""
        self.stored: dict[Value, dict[Element, Op]] = {}
        self._trace(body)
        for op in all_ops(list(body)):
            if op.opcode in ("load", "store"):
                of = self.memory(op.args[0])
                self.elements.setdefault(of, {}).setdefault(element_of(op), op)
                if op.opcode == "store":
                    self.stored.setdefault(of, {}).setdefault(element_of(op), op)

    def memory(self, value: Value) -> Value:
        while True:
            if isinstance(value, Op) and value.opcode == "store":
                value = value.args[0]
            elif value in self._came:
                value = self._came[value][0]
            else:
                return value

    def _trace(self, items: Sequence[Item]) -> None:
        targets: dict[Label, Sequence[Value]] = {}
        for item in walk(list(items)):
            if isinstance(item, Loop):
                self._pairs(item.inits, item.params)
                targets[item.again] = item.params
                self._note(item.body, item.params)
            if isinstance(item, Region | Loop):
                targets[item.label] = item.results
                self._note(item.body if isinstance(item, Region) else (), item.results)
            elif isinstance(item, If):
                self._note(item.then, item.results)
                self._note(item.orelse, item.results)
        for item in walk(list(items)):
            if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label in targets:
                self._pairs(item.end.values, targets[item.end.label])

    def _note(self, items: Sequence[Item], results: Sequence[Value]) -> None:
        last = items[-1] if items else None
        if isinstance(last, Block) and isinstance(last.end, Yield):
            self._pairs(last.end.values, results)

    def _pairs(self, values: Sequence[Value], results: Sequence[Value]) -> None:
        for value, result in zip(values, results, strict=True):
            self._came.setdefault(result, []).append(value)

    def are_told_apart(self) -> bool:
        """Two elements of a memory that is stored to are never the same one."""
        return all(_differ(a, b) for of in self.stored for a in self.elements[of] for b in self.stored[of] if a != b)


def element_of(access: Op) -> Element:
    """The element that an access is to."""
    forms = [affine(place) for place in places(access)]
    return access.attr("array"), tuple(
        place if form is None else (frozenset(form[0].items()), form[1])
        for place, form in zip(places(access), forms, strict=True))


def _differ(a: Element, b: Element) -> bool:
    return a[0] == b[0] and any(
        isinstance(x, tuple) and isinstance(y, tuple) and x[0] == y[0] and x[1] != y[1]
        for x, y in zip(a[1], b[1], strict=True))


class _BodyCopier(Copier):
    """Copies the body with a variable for each element of a memory that is stored to, in the place of the memory."""

    def __init__(self, memories: _Memories, loop: Loop, tested: Container[Op] | None, kept: Set[Value]):
        super().__init__()
        self.memories, self.around, self.kept = memories, loop, kept
        self.tested = tested
        self.held: dict[Value, dict[Element, Value]] = {}
        """What the elements of a memory hold, as far as it can be one of several things."""
        self.first: dict[Element, Param] = {}
        self.end_label = Label("return")
        self.under: tuple[tuple[Value, bool], ...] = ()
        """The conditions, and whether each has to hold, under which lanes come to the place."""
        self.one = Param(FLOAT, "one")
        """1.0, of which a compiler does not know: it would divide before it chooses."""
        self.none = Param(FLOAT, "none")
        """A nan, of which a compiler does not know either: no number is the same."""
        self.left_with: dict[Label, list[Param]] = {}
        """What loops carry that is kept where they are left."""
        self.waiting: list[Op] = []
        """Tests that keep what a node has made."""
        self.unread: set[Value] = set()
        """What an iteration computes for the next one, or for where elements are, alone."""
        self.labels[loop.again] = self.end_label

    def outline(self, name: str, body: Sequence[Item]) -> Outlined:
        loads: list[Op] = []
        for of, elements in self.memories.elements.items():
            for element, access in elements.items():
                loads.append(access)
                kind = access.kind if access.opcode == "load" else access.args[-1].kind
                self.first[element] = Param(kind, element[0])
            self.held[of] = {element: self.first[element] for element in self.memories.stored.get(of, ())}
        self.unread = _unread(body, self.around, self.tested)
        inside = {*definitions(body)}
        given = [value for value in dict.fromkeys([*_operands(body), *_passed_on_inside(body, self.around)])
                 if value not in inside and value.kind is not MEMORY and not isinstance(value, Const)]
        params = [Param(value.kind, value.name) for value in given]
        self.values.update(zip(given, params, strict=True))
        items = self.items(body)
        last = items[-1]
        assert isinstance(last, Block)
        if isinstance(last.end, Yield):
            last.end = Yield(self._stored(last_end(body)))
        stores = [store for elements in self.memories.stored.values() for store in elements.values()]
        kinds = [store.args[-1].kind for store in stores]
        made = Function(name, [*self.first.values(), *params, self.one, self.none], items, self.end_label, kinds)
        return Outlined(made, loads, [*given, Const(FLOAT, 1.0), Const(FLOAT, math.nan)], stores)

    def _stored(self, end: End) -> list[Value]:
        """What the elements that are stored to hold where an iteration ends."""
        now = {self.memories.memory(value): value for value in end.values if value.kind is MEMORY}
        return [value for of in self.memories.stored for value in self._held(now.get(of, of)).values()]

    def _held(self, memory: Value) -> dict[Element, Value]:
        found = self.held.get(memory)
        if found is None:
            found = self.held[memory] = self.held.get(self.memories.memory(memory), {})
        return found

    def read_all(self, values: Sequence[Value]) -> list[Value]:
        return [each for value in values for each in (
            self._held(value).values() if value.kind is MEMORY else (self.read(value),))]

    def params(self, params: Sequence[Param]) -> list[Param]:
        fresh: list[Param] = []
        for param in params:
            if param.kind is MEMORY:
                of = self.memories.stored.get(self.memories.memory(param), {})
                self.held[param] = {element: Param(self.first[element].kind, element[0]) for element in of}
                fresh += [each for each in self.held[param].values() if isinstance(each, Param)]
            else:
                fresh += super().params([param])
        return fresh

    def loop(self, loop: Loop) -> Loop:
        counted, loop.counted = loop.counted, None
        kept = self.left_with[loop.label] = [each for each in loop.params if each in self.kept]
        try:
            made = super().loop(loop)
        finally:
            loop.counted = counted
        made.results += self.params(kept)
        found = None if counted is None else self.values[counted]
        assert found is None or isinstance(found, Param)
        made.counted = found
        return made

    def end(self, end: End) -> End:
        if isinstance(end, Exit) and end.label is self.around.again:
            return Exit(self.end_label, self._stored(end))
        made = super().end(end)
        if isinstance(end, Exit):
            made.values = [*made.values, *map(self.read, self.left_with.get(end.label, ()))]
        return made

    # --- under conditions
    def items(self, items: Sequence[Item]) -> list[Item]:
        before, found = self.under, list[Item]()
        for item in items:
            found += super().items([item])
            if not isinstance(item, Block):
                made = [*item.results, *(item.params if isinstance(item, Loop) else ())]
                self.waiting = [op for value in made for op in self._kept(value)]
            if isinstance(item, If):
                for arm, holds in ((item.then, False), (item.orelse, True)):
                    if isinstance(_last(arm), Exit):  # only the other arm comes here
                        self.under = (*self.under, (self.read(item.cond), holds))
        self.under = before
        return found

    def node(self, node: Node) -> Node:
        if not isinstance(node, If):
            return super().node(node)
        cond, before = self.read(node.cond), self.under
        self.under = (*before, (cond, True))
        then = self.items(node.then)
        self.under = (*before, (cond, False))
        orelse = self.items(node.orelse)
        self.under = before
        return If(cond, then, orelse, self.params(node.results), node.origin, node.hint)

    def _kept(self, value: Value) -> list[Op]:
        """A test that no compiler knows the outcome of, as a fault that does not occur, where a number is kept."""
        if value not in self.kept:
            return []
        test = Op("eq", (self.read(value), self.none), BOOL)
        return [test, Op("fault", (test,), VOID, attrs=(("fault", _NONE),))]

    def _harmless(self, op: Op) -> list[Op]:
        """The operation with 1 for an operand in lanes that do not come to it, which are computed too: it raises no
        flags of theirs."""
        made: list[Op] = []

        def add(opcode: str, *args: Value) -> Op:
            made.append(Op(opcode, args, args[-1].kind, origin=op.origin))
            return made[-1]

        reached: Value | None = None
        for condition, holds in self.under:
            here = condition if holds else add("not", condition)
            reached = here if reached is None else add("and", reached, here)
        assert reached is not None
        copy = self.op(op)
        last = add("select", reached, copy.args[-1], self.one)
        copy.args = (*copy.args[:-1], last)
        return [*made, copy]

    def block(self, block: Block) -> Block:
        ops, self.waiting = self.waiting, []
        ops += [made for op in block.ops for made in (*self.standing_for(op), *self._kept(op))]
        return Block(ops, self.end(block.end) if block.end is not None else None)

    def standing_for(self, op: Op) -> Sequence[Op]:
        if op in self.unread:
            return []
        if self.under and _raises_flags(op) and not isinstance(op.args[-1], Const):
            return self._harmless(op)
        match op.opcode:
            case "index" if self.tested is None or op in self.tested:
                self.values[op] = self.read(op.args[0])
                return []
            case "index":  # a negative one is another element, too
                position, size = map(self.read, op.args)
                negative = Op("lt", (position, const(0)), BOOL, origin=op.origin)
                place = Op("select", (negative, size, position), INT, origin=op.origin)
                self.values[op] = position
                return [negative, place, Op("index", (place, size), INT, origin=op.origin)]
            case "load":
                element = element_of(op)
                self.values[op] = self._held(op.args[0]).get(element, self.first[element])
                return []
            case "store":
                self.held[op] = {**self._held(op.args[0]), element_of(op): self.read(op.args[-1])}
                return []
        return [self.op(op)]


def _raises_flags(op: Op) -> bool:
    """Of ordinary numbers it may give an infinity or nan, and NumPy warns."""
    return op.args[-1:] != () and op.args[-1].kind is FLOAT and may_warn(op.opcode, op.kind) and (
        op.opcode in ("divide", "narrow", "truediv") or op.opcode.startswith("np_"))


def _last(items: Sequence[Item]) -> End | None:
    last = items[-1]
    return last.end if isinstance(last, Block) else None


def _operands(body: Sequence[Item]) -> Iterator[Value]:
    """The operands of operations, tests and loops, and what inner nodes pass on, without those of positions alone."""
    for item in walk(list(body)):
        match item:
            case Block():
                for op in item.ops:
                    yield from op.args[-1:] if op.opcode == "store" else () if op.opcode == "load" else op.args
            case If():
                yield item.cond
            case Loop():
                yield from item.inits


def _unread(body: Sequence[Item], around: Loop, tested: Container[Op] | None) -> set[Value]:
    """Operations that only say where elements are that are inside, and the next counter. One that nothing takes may
    overflow, of which NumPy warns."""
    taken = {arg for op in all_ops(list(body)) for arg in op.args}
    taken.update(value for end in _ends(body, around) for value in end.values)
    passed = set(_passed_on_inside(body, around))
    passed.update(value for item in walk(list(body)) for value in (
        [item.cond] if isinstance(item, If) else item.inits if isinstance(item, Loop) else []))
    read = {value for op in all_ops(list(body)) for value in op.args[-1:] if op.opcode == "store"} | passed
    unread: set[Value] = set()
    for op in reversed(list(all_ops(list(body)))):
        place = op.opcode in ("add", "sub", "mul") and op.kind is INT or op.opcode == "index" and (
            tested is None or op in tested)
        if place and op in taken and op not in read:
            unread.add(op)
        elif op.opcode not in ("load", "store"):
            read.update(op.args)
    return unread


def _ends(body: Sequence[Item], around: Loop) -> Iterator[End]:
    """Where an iteration ends."""
    yield last_end(body)
    for item in walk(list(body)):
        if isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is around.again:
            yield item.end


def _passed_on_inside(body: Sequence[Item], around: Loop) -> Iterator[Value]:
    """What inner nodes pass on."""
    own = list(map(id, _ends(body, around)))
    for item in walk(list(body)):
        if isinstance(item, Block) and item.end is not None and id(item.end) not in own:
            yield from item.end.values
