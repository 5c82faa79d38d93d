"""Arrays that are made inside are computed where they are read, and are not there any more.

    t = np.empty(n)
    for i in range(1, n - 1):
        t[i] = a[i - 1] + a[i + 1]
    for i in range(2, n - 2):                for i in range(2, n - 2):
        out[i] = t[i - 1] * t[i + 1]             out[i] = (a[i - 2] + a[i]) * (a[i] + a[i + 2])

What makes an element is copied with other counters (`analysis.producers` says which, and where that cannot be), and
what repeats there is shared when it is folded, elements and sums of ints, too. Elements that no reader comes to are
still computed where they may warn. An index of the nest that may be too large is tested once before it, and the
original runs where one is. Whether it is worth it is decided by how often an element is read and what it costs. What
arrays are filled with goes where it is overwritten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, MutableMapping, Sequence
from functools import reduce
from itertools import pairwise

from pyflat.analysis.producers import Producer, Producers, Read, covered, is_left, is_of_numpy
from pyflat.analysis.temporaries import NO_SETTING, REPEATED, Decision, Virtualize
from pyflat.ir.affine import Affine, affine, places
from pyflat.ir.build import const, undefined
from pyflat.ir.edit.copying import Copier, copy_function
from pyflat.ir.loops import all_ops, recognise_counted, replace_uses
from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import (
    FAULT,
    TRUE,
    Block,
    Const,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Loop,
    Node,
    Op,
    Value,
    Yield,
    child_lists,
    walk,
)
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.passes.record import Pass

OUTSIDE = Fault("Undecided", "an index outside of its axis")
MOST_OF_ONE = 8
"""Additions that an operation may cost which is computed again: those of a square root."""
RECOMPUTED = 40
"""Additions that an element may cost in further places: in machine code they are cheaper than memory."""


def inline_arrays(fn: Function, *, lengths: Sequence[int] = (), tangled: Collection[str] = (),
                  virtualize: Virtualize = NO_SETTING, whole: bool = True,
                  decided: MutableMapping[str, Decision] | None = None) -> Function:
    """`fn` itself where all arrays stay. `lengths`: which parameters are lengths of axes; in arrays that are `tangled`
    an element may have several places; `whole`: nests become operations on whole arrays, of which each takes memory
    anyway; `decided` is told what became of each array."""
    made = [op for op in all_ops(fn.body) if op.opcode == "alloc"]
    if not made:
        return fn
    copy = copy_function(fn)
    inliner = _Inliner(copy, [copy.params[at] for at in lengths], tangled, virtualize, whole,
                       {} if decided is None else decided)
    return copy if inliner.run() else fn


PASS = Pass(inline_arrays)


class _Inliner:
    def __init__(self, fn: Function, lengths: Sequence[Value], tangled: Collection[str], virtualize: Virtualize,
                 whole: bool, decided: MutableMapping[str, Decision]):
        self.fn, self.lengths, self.tangled, self.whole = fn, lengths, tangled, whole
        self.virtualize, self.decided = virtualize, decided
        self.asked = dict(virtualize.memory)

    def run(self) -> bool:
        """Inline one nest after the other; whether there was one."""
        found = self._take_fills()
        while group := self._next():
            _Nest(self.fn, self.facts, group).inline()
            found = True
        for made in [op for op in all_ops(self.fn.body) if op.opcode == "alloc"]:
            *sizes, fill = made.args
            if not (isinstance(fill, Const) and fill.value is None) and self.facts.is_overwritten(made):
                made.args, found = (*sizes, undefined(fill.kind)), True
        return found

    def _take_fills(self) -> bool:
        """Elements that are read as the array is made are numbers."""
        facts, numbers = Producers(self.fn, self.lengths, self.tangled), dict[Value, Value]()
        for made in [op for op in all_ops(self.fn.body) if op.opcode == "alloc"]:
            fill, name = made.args[-1], made.attr("array")
            if isinstance(fill, Const) and fill.value is None or not is_left(fill, made.attr("dtype")):
                continue
            loads = facts.loads_of_fill(made)
            if loads == facts.accesses[name]:
                if not self.virtualize.inline_scalar_constexprs or self.asked.get(name, "virtual") != "virtual":
                    continue
                if not facts.is_returned(made):
                    self.decided[name] = Decision("virtual", "", len(loads), "constant")
            numbers.update(dict.fromkeys(loads, fill))
        there: dict[Value, Op] = {load: Op("select", (TRUE, fill, fill), load.kind) for load, fill in numbers.items()}
        for item in walk(self.fn.body):
            if isinstance(item, Block):
                item.ops = [there.get(op, op) for op in item.ops]
        replace_uses(self.fn.body, there)
        return bool(numbers)

    def _next(self) -> list[Producer]:
        """The arrays of the first nest that goes."""
        self.facts = Producers(self.fn, self.lengths, self.tangled)
        groups: defaultdict[Loop, list[Producer]] = defaultdict(list)
        for made in [op for op in all_ops(self.fn.body) if op.opcode == "alloc"]:
            before = self.decided.get(made.attr("array"))
            if before is not None and before.mode == "virtual":
                continue
            asked = self.asked.get(made.attr("array"), "virtual")
            found = "asked" if asked != "virtual" else self.facts.producer(made)
            reason = found if isinstance(found, str) else self._unwanted(found)
            if not isinstance(found, str) and not reason:
                groups[found.loop].append(found)
            loads = self.facts.accesses[made.attr("array")]
            reads = sum(op.opcode == "load" for op in loads) if isinstance(found, str) else _visits(found)
            complexity = "complex" if isinstance(found, str) else found.complexity
            self.decided[made.attr("array")] = Decision("stored", reason, reads, complexity)
        for group in groups.values():
            reason = _obstacle(group, whole=self.whole)
            for each in group:
                self.decided[each.array] = Decision("stored" if reason else "virtual", reason, _visits(each),
                                                    each.complexity)
            if not reason:
                return group
        return []

    def _unwanted(self, found: Producer) -> str:
        """Why it is not worth it."""
        settings, asked, number = self.virtualize, self.asked.get(found.array), found.store.args[-1]
        if not all(number.kind is read.load.kind and is_left(number, read.load.attr("dtype")) for read in found.reads):
            return "escaping-value"
        if asked == "virtual" or found.complexity == "constant" and settings.inline_scalar_constexprs or (
                found.complexity == "simple" and settings.inline_simple_computations):
            return ""
        if found.complexity == "complex" and settings.inline_complex_computations is False:
            return "complex"
        visits, most = _visits(found), settings.max_visits
        if most is None and settings.inline_complex_computations:
            most = REPEATED - 1
        if most is not None:
            return "" if visits <= most else "visits"
        return "" if (visits - 1) * _cost(found) <= (0 if self.whole else RECOMPUTED) else "visits"


def _visits(found: Producer) -> int:
    """In how many places an element is read."""
    places = set()
    for read in found.reads:
        start = next(depth for depth, (items, _) in enumerate(read.way) if items is found.items)
        counters = [counted.iv for items, at in read.way[start:-1] if isinstance(loop := items[at], Loop)
                    and (counted := recognise_counted(loop)) is not None]
        loops = sum(isinstance(items[at], Loop) for items, at in read.way[start:-1])
        used = {symbol for form in read.at.values() for symbol in form.terms}
        if loops > len(counters) or any(counter not in used for counter in counters):
            return REPEATED
        forms = tuple((frozenset(read.at[counter].terms.items()), read.at[counter].offset)
                      for counter in found.counters)
        places.add((read.way[start][1], forms))
    return len(places)


def _cost(found: Producer) -> int:
    """Operations on numbers, in additions; parts that several places share are counted in each. A function, which none
    shares, is not computed again."""
    ops = [op for each in found.slice for op in ([each] if isinstance(each, Op) else all_ops([each]))]
    costs = [int(OPERATIONS[op.opcode].cost) for op in ops if op.kind is not INT]
    return sum(costs) if max(costs, default=0) <= MOST_OF_ONE else REPEATED


def _obstacle(group: Sequence[Producer], *, whole: bool) -> str:
    """Why what a nest writes has to be written there."""
    if any([id(each) for each, _ in other.loops] != [id(each) for each, _ in group[0].loops] for other in group):
        return "shared-loop"
    if not any(each.warns for each in group):
        return ""
    if _does_more(group):
        return "shared-loop"
    boxes = [_box(each) for each in group if each.warns]
    rest = whole and len(group[0].loops) > 1 and any(
        box is not None and not _is_all(box[0], group[0]) for box in boxes)
    return "unread" if rest or None in boxes or not group[0].is_rectangular else ""


def _does_more(group: Sequence[Producer]) -> bool:
    """The nest stores something else, or computes what may warn and is part of no element."""
    parts = {op for each in group for part in each.slice
             for op in ([part] if isinstance(part, Op) else all_ops([part]))}
    stores = {each.store for each in group}
    return any(op not in parts and op not in stores and (op.opcode == "store" or may_warn(op.opcode, op.kind))
               for op in all_ops([group[0].loop]))


Range = tuple[Affine, Affine]
Further = tuple[int, int, int]
"""The number of a loop, how much further reads go there than a range, and how long that has to be for it."""


def _box(found: Producer) -> tuple[list[Range], Further | None] | None:
    """What readers certainly come to: a range for each counter of the nest. None where no read comes to all of one."""
    boxes: defaultdict[int, list[list[Range]]] = defaultdict(list)
    for read in found.reads:
        start = next(depth for depth, (items, _) in enumerate(read.way) if items is found.items)
        box = covered(read, found)
        if box is not None:
            boxes[read.way[start][1]].append([box[counter] for counter in found.counters])
    best: tuple[list[Range], Further | None] | None = None
    widest = 0
    for each in boxes.values():
        for axis in range(len(found.counters)):
            for first in each:
                gaps = sorted({other[axis][0].minus(first[axis][0]).offset for other in each
                               if _is_beside(first, other, axis)})
                gaps = [gap for gap in gaps if gap >= 0]
                if best is None or gaps[-1] > widest:
                    widest = gaps[-1]
                    steps = [b - a for a, b in pairwise(gaps)]
                    best = first, (axis, gaps[-1], max(steps)) if steps else None
    return best


def _is_beside(first: Sequence[Range], other: Sequence[Range], axis: int) -> bool:
    """Two boxes are one, moved along an axis."""
    for at, (mine, theirs) in enumerate(zip(first, other, strict=True)):
        gaps = [b.minus(a) for a, b in zip(mine, theirs, strict=True)]
        if gaps[0] != gaps[1] or gaps[0].terms or at != axis and gaps[0].offset:
            return False
    return True


def _depth(op: Op, found: Producer) -> int:
    """The loops of a nest that an operation stands in."""
    return sum(op in all_ops(loop.body) for loop, _ in found.loops)


def _is_all(box: Sequence[Range], found: Producer) -> bool:
    """A box is surely all of a nest, and nothing that may warn is done for several elements at once."""
    inner, _ = found.loops[-1]
    within = {*all_ops(inner.body)}
    return all(op in within or not may_warn(op.opcode, op.kind) for op in all_ops([found.loop])) and all(
        _is_behind(_sum_of(counted.lower), low) and _is_behind(high, _sum_of(counted.upper))
        for (low, high), (_, counted) in zip(box, found.loops, strict=True))


class _Ops:
    """Operations behind those of a block, and nodes between them; what repeats there folding shares."""

    def __init__(self, ops: list[Op]):
        self.items: list[Item] = []
        self.ops = ops

    def make(self, opcode: str, *args: Value) -> Op:
        kind = OPERATIONS[opcode].result_kind(tuple(arg.kind for arg in args))
        assert kind is not None
        self.ops.append(Op(opcode, args, kind))
        return self.ops[-1]

    def node(self, node: Node) -> None:
        self.items += [Block(self.ops), node]
        self.ops = []

    def sum(self, form: Affine) -> Value:
        """The value of a sum, made in one order always."""
        total: Value | None = None
        for symbol, times in sorted(form.terms.items(), key=lambda term: term[1] < 0):
            part = symbol if abs(times) == 1 else self.make("mul", symbol, const(abs(times)))
            if total is None:
                total = part if times > 0 else self.make("sub", const(0), part)
            else:
                total = self.make("add" if times > 0 else "sub", total, part)
        if total is None or not form.offset:
            return const(form.offset) if total is None else total
        return self.make("add", total, const(form.offset))

    def extreme(self, first: Value, second: Value, *, larger: bool) -> Value:
        return self.make("select", self.make("lt", first, second), *((second, first) if larger else (first, second)))


class _Paste(Copier):
    """Copies what makes an element, at other counters."""

    def __init__(self, found: Producer, read: Read, small: Collection[Value], scope: _Ops):
        super().__init__()
        self.found, self.at, self.small, self.scope = found, read.at, small, scope

    def read(self, value: Value) -> Value:
        return self.scope.sum(self.at[value]) if value in self.at else super().read(value)

    def number(self) -> Value:
        for loop, _ in self.found.loops:
            for item in loop.body[2:]:
                if isinstance(item, Block):
                    for op in item.ops:
                        if op in self.found.slice:
                            self._place(op)
                elif item in self.found.slice:
                    self.scope.node(self.node(item))
        return self.read(self.found.store.args[-1])

    def _place(self, op: Op) -> None:
        form = None
        if op.kind is INT and op.opcode in ("index", "add", "sub", "mul"):
            form = affine(op.args[0] if op.opcode == "index" else op, self.small)
        if form is not None:
            form = form.substituted({**self.at, **{
                each: self._form(self.values[each]) for each in form.terms if each in self.values}})
            self.values[op] = self.scope.sum(form)
            return
        self.scope.ops.append(self.op(op))

    def _form(self, value: Value) -> Affine:
        return affine(value, self.small) or Affine({value: 1}, 0)


class _Nest:
    """Arrays that one nest writes, on their way out."""

    def __init__(self, fn: Function, facts: Producers, group: Sequence[Producer]):
        self.fn, self.facts, self.group = fn, facts, group
        self.items, self.at, self.loop = group[0].items, group[0].at, group[0].loop
        self.reads = {read.load: (found, read) for found in group for read in found.reads}
        self.numbers: dict[Value, Value] = {}

    def inline(self) -> None:
        nest, rest = self.items[:self.at], self.items[self.at + 1:]
        self._test(nest)
        before = nest[-1]
        assert isinstance(before, Block)
        boxes = [box for each in self.group if each.warns and (box := _box(each)) is not None]
        self._rewrite(rest)
        replace_uses(rest, self.numbers)
        stores = {each.store for each in self.group}
        others = _does_more(self.group)
        self._strip(stores)
        scope = _Ops(before.ops)
        if others or boxes and not all(_is_all(box, self.group[0]) for box, _ in boxes):
            nest.append(self.loop)
            if not others:
                self._forget_memory(rest)
                self._keep_the_rest(boxes, scope, nest)
        else:
            self._forget_memory(rest)
            head = rest.pop(0)
            assert isinstance(head, Block)
            before.ops, before.end = [*before.ops, *head.ops], head.end
        self.items[:] = [*nest, *rest]

    # --- indices
    def _test(self, nest: list[Item]) -> None:
        """Leave before the nest where an index of it comes to the end of its axis."""
        before = nest[-1]
        assert isinstance(before, Block)
        scope = _Ops(before.ops)
        loops = self.group[0].loops
        bounds = [(counted.iv, _sum_of(counted.lower), _sum_of(counted.upper)) for _, counted in loops]
        last: dict[Value, Affine] = {iv: upper.shifted(-1) for iv, _, upper in bounds}
        most: dict[tuple[object, Value, int], Affine] = {}
        """Sums that differ by a number, are indices of one axis and stand in so many loops -> the largest one."""
        for place in dict.fromkeys(place for found in self.group for place in found.unsure):
            form = affine(place.args[0], self.facts.small)
            assert form is not None
            form = form.substituted(last)
            axis = frozenset(form.terms.items()), place.args[1], _depth(place, self.group[0])
            most[axis] = max(form, most.get(axis, form), key=lambda each: each.offset)
        tests = [test for found in self.group for read in found.reads if read.unsure
                 for test in self._beyond(found, read, scope)]
        if most or tests:
            runs = [scope.make("lt", scope.sum(lower), scope.sum(upper)) for _, lower, upper in bounds]
            tests += [reduce(lambda one, other: scope.make("and", one, other), runs[:depth],
                            scope.make("ge", scope.sum(form), length)) for (_, length, depth), form in most.items()]
            found = reduce(lambda one, other: scope.make("or", one, other), tests)
            nest += [If(found, [Block([], Exit(FAULT, [], OUTSIDE))], [Block([], Yield())]), Block()]

    def _beyond(self, found: Producer, read: Read, scope: _Ops) -> Iterator[Value]:
        """Whether a read comes to an element that is none."""
        box = covered(read, found)
        assert box is not None
        runs = [scope.make("lt", scope.sum(low), scope.sum(high)) for low, high in box.values()]
        for _, counted in found.loops:
            past = scope.make("gt", scope.sum(box[counted.iv][1]), scope.sum(_sum_of(counted.upper)))
            yield reduce(lambda one, other: scope.make("and", one, other), runs, past)

    def _strip(self, stores: set[Op]) -> None:
        """Take stores out of the nest, and indices, which are all inside."""
        inside = {op for each in self.group for op in [*each.slice, *places(each.store)]
                  if isinstance(op, Op) and op.opcode == "index"}
        gone: dict[Value, Value] = {op: op.args[0] for op in [*stores, *inside]}
        for item in walk([self.loop]):
            if isinstance(item, Block):
                item.ops = [op for op in item.ops if op not in gone]
        replace_uses([self.loop], gone)

    # --- readers
    def _rewrite(self, items: list[Item]) -> None:
        scope = _Ops([])
        for item in items:
            if isinstance(item, Block):
                for op in item.ops:
                    if op in self.reads:
                        self._paste(op, scope)
                    else:
                        scope.ops.append(op)
                scope.items.append(Block(scope.ops, item.end))
                scope.ops = []
                continue
            for inner in child_lists(item):
                self._rewrite(inner)
            scope.items.append(item)
        items[:] = scope.items

    def _paste(self, load: Op, scope: _Ops) -> None:
        number = _Paste(*self.reads[load], self.facts.small, scope).number()
        if load.kind is FLOAT and not is_of_numpy(number):
            number = Op("select", (TRUE, number, number), FLOAT, name=load.name, origin=load.origin)
            scope.ops.append(number)
        self.numbers[load] = number

    # --- elements that no reader comes to
    def _forget_memory(self, rest: list[Item]) -> None:
        """The nest stores nothing any more: what it carries of memory is what it was given."""
        for loop, _ in self.group[0].loops:
            test = loop.body[1]
            leave = test.orelse[-1] if isinstance(test, If) else None
            assert isinstance(leave, Block) and leave.end is not None
            given: dict[Value, Value] = {
                param: init for param, init in zip(loop.params, loop.inits, strict=True) if param.kind is MEMORY}
            left = dict(zip(loop.results, leave.end.values, strict=True))
            replace_uses([self.loop, *rest], {**given, **{result: given[value] for result, value in left.items()}})

    def _keep_the_rest(self, boxes: Sequence[tuple[list[Range], Further | None]], scope: _Ops, nest: list[Item]
                       ) -> None:
        """Let the innermost loop leave out what is read: it runs up to there, and a copy of it from there on."""
        loops = self.group[0].loops
        ranges = [self._range(number, boxes, scope) for number in range(len(loops))]
        inner, counted = loops[-1]
        lower, upper = (scope.sum(_sum_of(bound)) for bound in (counted.lower, counted.upper))
        low, high = ranges[-1]
        end = scope.extreme(lower, scope.extreme(low, upper, larger=False), larger=True)
        start = scope.extreme(end, scope.extreme(high, upper, larger=False), larger=True)
        items = nest
        inside: Value = TRUE
        if len(loops) > 1:
            items = loops[-2][0].body
            host = items[items.index(inner) - 1]
            assert isinstance(host, Block)
            own = _Ops(host.ops)
            for (first, last), (_, each) in zip(ranges[:-1], loops[:-1], strict=True):
                here = own.make("and", own.make("le", first, each.iv), own.make("lt", each.iv, last))
                inside = here if inside is TRUE else own.make("and", inside, here)
            end = own.make("select", inside, end, upper)
            start = own.make("select", inside, start, upper)
        number = inner.params.index(counted.iv)
        if all(_is_behind(_sum_of(counted.lower), box[-1][0]) for box, _ in boxes):
            start = own.make("select", inside, start, lower) if inside is not TRUE else start
            inner.inits[number] = start
            return
        if not all(_is_behind(box[-1][1], _sum_of(counted.upper)) for box, _ in boxes):
            again = Copier().loop(inner)
            again.inits[number] = start
            _end_at(again, again.params[number], upper)
            at = items.index(inner) + 1
            items[at:at] = [Block(), again]
        _end_at(inner, counted.iv, end)

    def _range(self, number: int, boxes: Sequence[tuple[list[Range], Further | None]], scope: _Ops
               ) -> tuple[Value, Value]:
        """What all that the nest writes is read at, of one of its counters."""
        found: tuple[Value, Value] | None = None
        for box, more in boxes:
            low, high = map(scope.sum, box[number])
            if more is not None and more[0] == number:
                length = scope.sum(box[number][1].minus(box[number][0]))
                further = scope.sum(box[number][1].shifted(more[1]))
                high = scope.make("select", scope.make("ge", length, const(more[2])), further, high)
            if found is not None:
                low, high = (scope.extreme(mine, other, larger=larger)
                             for mine, other, larger in zip(found, (low, high), (True, False), strict=True))
            found = low, high
        assert found is not None
        return found


def _is_behind(first: Affine, second: Affine) -> bool:
    """The first sum is surely as large as the second one."""
    gap = first.minus(second)
    return not gap.terms and gap.offset >= 0


def _sum_of(value: Value) -> Affine:
    found = affine(value)
    assert found is not None
    return found


def _end_at(loop: Loop, counter: Value, upper: Value) -> None:
    head, test = loop.body[:2]
    assert isinstance(head, Block) and isinstance(test, If)
    head.ops = [Op("lt", (counter, upper), BOOL)]
    test.cond = head.ops[0]
