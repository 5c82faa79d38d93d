"""How arrays that a kernel makes inside are made: the one nest of loops that writes each, and what reads it after that.

    for i in range(1, n - 1):                        nest: i from 1 to n - 1, place [i]
        t[i] = a[i - 1] + a[i + 1]                   slice: the two loads and the sum
    for i in range(2, n - 2):
        out[i] = t[i - 1] + t[i + 1]                 reads at i = %i - 1 and %i + 1 of the nest

`producer` gives a name of REASONS (`analysis.temporaries`) where an element cannot be computed where it is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pyflat.analysis.parallel_loops import carries_memory_only
from pyflat.analysis.small_ints import small_ints
from pyflat.analysis.sure_indices import sure_indices
from pyflat.analysis.temporaries import Complexity
from pyflat.ir.affine import ZERO, Affine, affine, places, symbol
from pyflat.ir.faults import can_fault
from pyflat.ir.loops import Counted, all_ops, definitions, last_end, recognise_counted, uses
from pyflat.ir.memory import arrays_read, may_warn
from pyflat.ir.nodes import (
    FAULT,
    TRUE,
    Block,
    Const,
    Exit,
    Function,
    If,
    Item,
    Loop,
    Op,
    Region,
    Value,
    Yield,
    child_lists,
    exits_to,
    raises,
    walk,
)
from pyflat.ir.types import BOOL, INT, MEMORY

_OF_NUMPY = frozenset({"add", "sub", "mul", "divide", "neg", "abs"})
"""What gives a NumPy scalar where an operand is one."""
Step = tuple[list[Item], int]
"""A list, and the item of it that the way goes through."""


@dataclass(slots=True)
class Read:
    """A load of an array, what it is at each counter of the producer's nest, and the way to it."""

    load: Op
    at: Mapping[Value, Affine]
    way: list[Step]
    unsure: bool = False
    """Whether it may be beyond the end of an axis."""


@dataclass(eq=False, slots=True)
class Producer:
    """The nest that writes an array: the first of its loops is the item `at` of `items`."""

    array: str
    store: Op
    items: list[Item]
    at: int
    loops: list[tuple[Loop, Counted]]
    place: list[Affine]
    own: set[Op] = field(default_factory=set)
    """Operations of every iteration."""
    slice: set[Op | If | Loop | Region] = field(default_factory=set)
    reads: list[Read] = field(default_factory=list)
    unsure: list[Op] = field(default_factory=list)
    """Indices of the nest that may be beyond the end of their axis."""
    warns: bool = False
    complexity: Complexity = "complex"

    @property
    def loop(self) -> Loop:
        return self.loops[0][0]

    @property
    def is_rectangular(self) -> bool:
        """Whether no bound depends on a counter, or is computed in the nest."""
        inside = {*definitions([self.loop])}
        bounds = [affine(bound) for _, counted in self.loops for bound in (counted.lower, counted.upper)]
        return all(bound is not None and not inside & bound.terms.keys() for bound in bounds)

    @property
    def counters(self) -> list[Value]:
        return [counted.iv for _, counted in self.loops]


class Producers:
    """Facts about a function, and the producers in it."""

    def __init__(self, fn: Function, lengths: Sequence[Value], tangled: Collection[str] = ()):
        self.fn, self.lengths, self.tangled = fn, lengths, tangled
        self.small = frozenset(small_ints(fn, lengths))
        self.indices = sure_indices(fn, lengths, self.small)
        self.ways: dict[Op, list[Step]] = {}
        self.users: defaultdict[Value, list[object]] = defaultdict(list)
        """Memories -> loads, and whatever else uses them."""
        self.accesses: defaultdict[str, list[Op]] = defaultdict(list)
        self.in_routines: set[str] = set()
        self._note(fn.body, [])

    def _note(self, items: list[Item], way: list[Step]) -> None:
        for at, item in enumerate(items):
            here = [*way, (items, at)]
            if isinstance(item, Block):
                for op in item.ops:
                    self.ways[op] = here
                    if op.opcode in ("load", "store"):
                        self.accesses[op.attr("array")].append(op)
                    else:
                        self.in_routines.update(arrays_read(op))
                    for arg in op.args:
                        if arg.kind is MEMORY:
                            self.users[arg].append(op)
                for value in item.end.values if item.end is not None else ():
                    if value.kind is MEMORY:
                        self.users[value].append(item.end)
                continue
            for value in item.inits if isinstance(item, Loop) else ():
                if value.kind is MEMORY:
                    self.users[value].append(item)
            for inner in child_lists(item):
                self._note(inner, here)

    def position(self, place: Value) -> Affine | None:
        """A position as an exact sum, None where it is none or may count from the end of the axis."""
        if isinstance(place, Op) and place.opcode == "index":
            return affine(place.args[0], self.small) if place in self.indices.from_start else None
        return affine(place, self.small)

    def producer(self, made: Op) -> Producer | str:
        """What writes the array that `made` makes, or why its elements are not computed where they are read."""
        name = made.attr("array")
        stores = [op for op in self.accesses[name] if op.opcode == "store"]
        loads = [op for op in self.accesses[name] if op.opcode == "load"]
        if name in self.in_routines:
            return "routine"
        if self.is_returned(made):
            return "returned"
        if not stores:
            return "no-setter"
        if len(stores) > 1:
            return "inconsistent-indices"
        found = self._nest(name, stores[0], loads)
        if isinstance(found, str):
            return found
        return self._index(found) or self._slice(found) or self._reads(found, loads) or found

    def is_returned(self, made: Op) -> bool:
        """Whether what it holds goes on to a result of the function, through stores and what loops carry."""
        seen, waiting = set[Value](), [made]
        ends, carried = self._ends, self._carried
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            waiting += carried.get(value, ())  # type: ignore[arg-type]
            for user in self.users[value]:
                if id(user) in ends:
                    return True
                if isinstance(user, Op) and user.opcode == "store":
                    waiting.append(user)
        return False

    @cached_property
    def _ends(self) -> set[int]:
        """The ways out of the function."""
        return set(map(id, [last_end(self.fn.body), *exits_to(self.fn.label, self.fn.body)]))

    @cached_property
    def _carried(self) -> dict[Value, list[Value]]:
        """Memories -> parameters and results of nodes that they become."""
        found: defaultdict[Value, list[Value]] = defaultdict(list)

        def flows(values: Sequence[Value], targets: Sequence[Value]) -> None:
            for value, target in zip(values, targets, strict=True):
                if value.kind is MEMORY:
                    found[value].append(target)

        takes: dict[object, Sequence[Value]] = {}

        def note(items: list[Item], results: Sequence[Value] | None) -> None:
            for item in items:
                match item:
                    case Block(end=Yield(values=values)) if results is not None:
                        flows(values, results)
                    case Block(end=Exit(label=label, values=values)) if label in takes:
                        flows(values, takes[label])
                    case If():
                        note(item.then, item.results)
                        note(item.orelse, item.results)
                    case Region():
                        takes[item.label] = item.results
                        note(item.body, item.results)
                    case Loop():
                        takes[item.label], takes[item.again] = item.results, item.params
                        flows(item.inits, item.params)
                        note(item.body, item.params)

        note(self.fn.body, None)
        return found

    def is_overwritten(self, made: Op) -> bool:
        """Whether one nest writes all elements before anything else looks at the array."""
        name = made.attr("array")
        stores = [op for op in self.accesses[name] if op.opcode == "store"]
        if name in self.in_routines or not stores:
            return False
        found = self._nest(name, stores[0], [op for op in self.accesses[name] if op is not stores[0]])
        if isinstance(found, str) or self._index(found):
            return False
        if self.is_returned(made) and found.items is not self.fn.body:
            return False
        counts: dict[Value, Counted] = {counted.iv: counted for _, counted in found.loops}
        return len(found.place) == len(counts) == len(made.args) - 1 and all(
            form == symbol(counter) and affine(counts[counter].lower) == ZERO
            and affine(counts[counter].upper) == affine(extent)
            for form, extent in zip(found.place, made.args, strict=False) for counter in list(form.terms)[:1])

    def loads_of_fill(self, made: Op) -> list[Op]:
        """Loads that find what an array was filled with: all of one that nothing writes, and those in the nest that
        writes it, at the place that is written next, as the nest runs once, and comes to each element once."""
        name = made.attr("array")
        stores = [op for op in self.accesses[name] if op.opcode == "store"]
        if name in self.in_routines or len(stores) > 1:
            return []
        if not stores:
            return self.accesses[name]
        store = stores[0]
        found_at = [affine(place) for place in places(store)]
        own = [op for op in self.accesses[name] if op.opcode == "load" and op.args[0] is store.args[0]
               and [affine(place) for place in places(op)] == found_at
               and _list_of(self.ways[op]) == _list_of(self.ways[store])]
        others = [op for op in self.accesses[name] if op is not store and op not in own]
        found = self._nest(name, store, others) if own else ""
        if isinstance(found, str) or self._index(found) or self.ways[made][-1][0] is not found.items:
            return []
        return own

    # --- the nest
    def _nest(self, name: str, store: Op, loads: Sequence[Op]) -> Producer | str:
        way = self.ways[store]
        depth = 0
        for depth, (items, at) in enumerate(way):
            others = [self.ways[load][depth] if len(self.ways[load]) > depth else None for load in loads]
            if any(other is None or other[0] is not items for other in others):
                return "index-mismatch"  # read where the loop around it has not come to it
            if any(other is not None and other[1] == at for other in others):
                continue
            if any(other is not None and other[1] < at for other in others):
                return "index-mismatch"
            break
        else:
            return "recurrent"
        items, at = way[depth]
        loops: list[tuple[Loop, Counted]] = []
        for inner, number in way[depth:-1]:
            loop = inner[number]
            if not isinstance(loop, Loop):
                return "index-mismatch"
            counted = recognise_counted(loop)
            if counted is None or counted.step != 1 or not carries_memory_only(loop, counted):
                return "untraced-loop"
            loops.append((loop, counted))
        if not loops:
            return "untraced-loop"
        if any(number < 2 for _, number in way[depth + 1:]) or not _is_whole(loops):
            return "untraced-loop"
        return Producer(name, store, items, at, loops, [])

    def _index(self, found: Producer) -> str:
        """Its place: on each axis a counter and what does not change, or the latter alone."""
        counters, inside = set(found.counters), {*definitions([found.loop])}
        used: list[Value] = []
        for place in places(found.store):
            form = self.position(place)
            if form is None:
                return "index-mismatch"
            own = [each for each in form.terms if each in inside]
            if any(each not in counters for each in own):
                return "escaping-index"
            if len(own) > 1:
                return "several-counters"
            if own and form.terms[own[0]] != 1:
                return "index-mismatch"
            used += own
            found.place.append(form)
        return "" if len(used) == len(set(used)) == len(counters) else "shared-counter"

    # --- what its elements are made of
    def _slice(self, found: Producer) -> str:
        number = found.store.args[-1]
        nodes: dict[Value, If | Loop | Region] = {}
        own = found.own
        way = self.ways[found.store]
        start = next(depth for depth, (items, _) in enumerate(way) if items is found.items)
        for items, at in way[start + 1:]:
            for item in items[2:at + 1]:
                if isinstance(item, Block):
                    own.update(item.ops)
                elif item is not items[at]:
                    nodes.update(dict.fromkeys(item.results, item))
        inside = {*definitions([found.loop])}
        waiting, seen = [number], set[Value]()
        while waiting:
            value = waiting.pop()
            if value in seen or value not in inside or value in found.counters:
                continue
            seen.add(value)
            if value in nodes:
                node = nodes[value]
                found.slice.add(node)
                made = {*definitions([node])}
                waiting += [arg for arg in uses([node]) if arg not in made]
            elif isinstance(value, Op) and value in own:
                found.slice.add(value)
                waiting += value.args
            else:
                return "escaping-value"
        return self._content(found)

    def _content(self, found: Producer) -> str:
        nodes = [node for node in found.slice if not isinstance(node, Op)]
        inner = {op for node in nodes for op in all_ops([node])}
        ops = [*(each for each in found.slice if isinstance(each, Op)), *inner]
        if any(op.opcode == "store" for op in inner) or any(
                op.opcode == "load" and not self._is_constant(op.args[0], found) for op in ops):
            return "changed"
        for op in all_ops([found.loop]):
            if op.opcode in ("alloc", "routine", "call", "ufunc"):
                return "untraced-loop"
            if op.opcode == "index":
                if op not in self.indices.here:
                    if op not in found.own or not self._ends_are_known(op, found):
                        return "raises"
                    found.unsure.append(op)
            elif op not in self.small and can_fault(op):
                return "raises"
        if raises([found.loop]):
            return "raises"
        found.warns = any(may_warn(op.opcode, op.kind) for op in ops)
        loads = sum(op.opcode == "load" for op in ops)
        work = [op for op in ops if op.kind is not INT and op.opcode != "load"]
        if not loads and not any(counter in op.args for op in ops for counter in found.counters):
            found.complexity = "constant"
        elif not nodes and (not work or loads == 0 and len(work) == 1 and not found.warns):
            found.complexity = "simple"
        return ""

    def _is_constant(self, memory: Value, found: Producer) -> bool:
        """Nothing is ever stored to this memory after here: all that uses it reads it, or gives it back."""
        return memory not in {*definitions([found.loop])} and all(
            id(user) in self._ends or isinstance(user, Op) and user.opcode == "load" for user in self.users[memory])

    def _ends_are_known(self, place: Op, found: Producer) -> bool:
        """An index that is not negative, whose largest one can be computed before the nest."""
        form, inside = affine(place.args[0], self.small), {*definitions([found.loop])}
        if form is None or place not in self.indices.from_start or place.args[1] in inside:
            return False
        if any(each in inside and each not in found.counters or each in inside and times < 0
               for each, times in form.terms.items()):
            return False
        return found.is_rectangular

    # --- what reads them
    def _reads(self, found: Producer, loads: Sequence[Op]) -> str:
        asked: dict[Op, list[Affine]] = {}
        for load in loads:
            at: dict[Value, Affine] = {}
            for place, made in zip(places(load), found.place, strict=True):
                form = self.position(place)
                counter = next((each for each in found.counters if each in made.terms), None)
                if form is None or counter is None and form != made:
                    return "index-mismatch"
                solved = made.solved(counter, form) if counter is not None else None
                if counter is not None and solved is not None:
                    at[counter] = solved
            read = Read(load, at, self.ways[load])
            found.reads.append(read)
            for _, counted in found.loops:
                lower, upper = (affine(bound, self.small) for bound in (counted.lower, counted.upper))
                if lower is None or upper is None:
                    return "index-mismatch"
                here = at[counted.iv]
                asked.setdefault(load, []).append(here.minus(lower.substituted(at)))
                if self._is_outside_where_unwritten(counted.iv, upper, found, read):
                    read.unsure = True
                else:
                    asked[load].append(upper.substituted(at).minus(here).shifted(-1))
        proved = sure_indices(self.fn, self.lengths, self.small, asked).proved
        return "" if all(load in proved for load in loads) else "index-mismatch"

    def _is_outside_where_unwritten(self, counter: Value, upper: Affine, found: Producer, read: Read) -> bool:
        """Whether an element behind the last one that is written is no element of the array, the index of the read is
        not sure to be one, and what it reads is known before the nest."""
        axis = next(at for at, form in enumerate(found.place) if counter in form.terms)
        place = places(read.load)[axis]
        if not isinstance(place, Op) or place.opcode != "index" or place in self.indices.here:
            return False
        box, size = covered(read, found), affine(place.args[1], self.small)
        if box is None or not found.is_rectangular or size != found.place[axis].substituted({counter: upper}):
            return False
        later = {*definitions(found.items[found.at:])}
        return all(later.isdisjoint(bound.terms) for both in box.values() for bound in both)


def covered(read: Read, found: Producer) -> dict[Value, tuple[Affine, Affine]] | None:
    """For each counter of the nest the range that a read comes to, one after the other; None where it may leave out
    some. No loop around it is left early, or has no part in the place."""
    start = next(depth for depth, (items, _) in enumerate(read.way) if items is found.items)
    ranges: dict[Value, tuple[Affine, Affine]] = {}
    loops: list[tuple[Loop, Counted]] = []
    for items, at in read.way[start:-1]:
        loop = items[at]
        counted = recognise_counted(loop) if isinstance(loop, Loop) else None
        if counted is None or not isinstance(loop, Loop) or abs(counted.step) != 1 or not carries_memory_only(
                loop, counted):
            return None
        lower, upper = affine(counted.lower), affine(counted.upper)
        if lower is None or upper is None:
            return None
        ranges[counted.iv] = (lower, upper) if counted.step == 1 else (upper.shifted(1), lower.shifted(1))
        loops.append((loop, counted))
    inside = {*definitions([read.way[start][0][read.way[start][1]]])}
    if not loops or not _is_whole(loops) or any(
            inside & bound.terms.keys() for both in ranges.values() for bound in both):
        return None
    found_at: dict[Value, tuple[Affine, Affine]] = {}
    used: list[Value] = []
    for counter, place in read.at.items():
        own = [each for each in place.terms if each in inside]
        if len(own) != 1 or own[0] not in ranges or place.terms[own[0]] != 1:
            return None
        used += own
        rest = place.minus(symbol(own[0]))
        low, high = ranges[own[0]]
        found_at[counter] = low.plus(rest), high.plus(rest)
    return found_at if len(used) == len(set(used)) == len(loops) else None


def _is_whole(loops: Sequence[tuple[Loop, Counted]]) -> bool:
    """Nothing leaves loops, or goes on to their next iteration, but at their tests and ends; a raise ends the run."""
    labels = {label for loop, _ in loops for label in (loop.label, loop.again)}
    outer, _ = loops[0]
    exits = [item.end.label for item in walk([outer]) if isinstance(item, Block) and isinstance(item.end, Exit)]
    inner = {label for item in walk([outer]) for label in (
        (item.label, item.again) if isinstance(item, Loop) else (item.label,) if isinstance(item, Region) else ())}
    return sum(label in labels for label in exits) == len(loops) and all(
        label in inner or label is FAULT for label in exits)


def _list_of(way: list[Step]) -> list[object]:
    """The list that a way ends in, by the items that lead there."""
    return [*((id(items), at) for items, at in way[:-1]), id(way[-1][0])]


def is_left(number: Value, dtype: str) -> bool:
    """An element of this dtype is the number that has been put there."""
    if isinstance(number, Const):
        if number.value is None:
            return False
        if number.kind is INT:
            limits = np.iinfo(dtype)
            return dtype == "u8" or bool(limits.min <= number.value <= limits.max)
        return number.kind is BOOL or dtype == "f8" or _is_float32(float(number.value))
    if dtype in ("f8", "i8", "u8", "b1"):
        return True
    if not isinstance(number, Op):
        return False
    if number.opcode == "select":
        return all(is_left(arm, dtype) for arm in number.args[1:])
    return number.opcode in ("rounded", "fitted", "load") and number.attr("dtype") == dtype


def _is_float32(number: float) -> bool:
    with np.errstate(all="ignore"):
        return number != number or float(np.float32(number)) == number


def is_of_numpy(number: Value, depth: int = 8) -> bool:
    """A float that is NumPy's wherever it is computed."""
    if not isinstance(number, Op) or not depth:
        return False
    if number.opcode == "select" and number.args[0] is TRUE:
        return True
    return number.opcode == "load" or number.opcode in _OF_NUMPY and any(
        is_of_numpy(arg, depth - 1) for arg in number.args)
