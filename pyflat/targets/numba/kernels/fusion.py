"""Loops one after the other that run as one, row by row, so that what one writes is read before it leaves the cache.

    for i in range(n + 1): t[i, :] = ...            for step in range(...):
    for i in range(n): out[i, :] = t[i + 1, :]          if 0 <= step < n + 1: t[step % 2, :] = ...
                                                        if 0 <= step - 1 < n: out[step - 1, :] = t[step % 2, :]

A loop runs so many steps behind the first one that whatever it reads has been written, and whatever it overwrites has
been read: of two accesses to an array, one of them a store, that are at the rows i + p of the earlier loop and i + q of
the later one, the later loop is at least q - p steps behind. An array made inside that only these loops use keeps the
rows that are still needed, as a ring: an element is computed once, as before, so that nothing is lost of its warnings.
All indices are inside (`boxes`), or the loops run as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import carries_memory_only, leaves
from pyflat.ir.affine import affine, places
from pyflat.ir.loops import Counted, all_ops, definitions, has_loop, recognise_counted
from pyflat.ir.memory import ArrayArgument, arrays_read
from pyflat.ir.nodes import Block, Const, Item, Loop, Op, Value, child_lists, raises
from pyflat.ir.types import INT, MEMORY
from pyflat.targets.numba.emitter import Lane
from pyflat.targets.numba.llvm import counted, i64

if TYPE_CHECKING:
    from pyflat.targets.numba.kernels.emit import KernelCode

MOST_STEPS = 8
"""That a loop runs behind another one."""
Row = tuple[dict[Value, int], int]


@dataclass(slots=True)
class FusedLoop:
    """A loop, how it counts, and the steps that it runs behind."""

    loop: Loop
    counted: Counted
    accesses: list[Op]
    behind: int = 0


@dataclass(slots=True)
class Fusion:
    """Loops that run as one. `between`: what stands between them; `around`: the list that they stand in; `rings`: rows
    that arrays keep."""

    parts: list[FusedLoop]
    between: list[Block]
    around: list[Item]
    end: int = 0
    """Where the list goes on."""
    rings: dict[str, int] = field(default_factory=dict)


class Fusions:
    """Finds the loops of a kernel that run as one; `found` has them by the first loop of each."""

    def __init__(self, kernel: Kernel, kept: set[Loop], returned: Sequence[str]):
        self.memories = {name: a.memory for name, a in kernel.arguments.items() if isinstance(a, ArrayArgument)}
        self.ops = list(all_ops(kernel.function.body))
        self.kept, self.returned = kept, returned
        self.asked, self.buffers = dict(kernel.virtualize.memory), kernel.virtualize.enable_device_only
        self.routines = {name for op in self.ops if op.opcode == "routine" for name in arrays_read(op)}
        """What NumPy reads as a whole."""
        self.found: dict[Loop, Fusion] = {}
        self.reasons: dict[str, str] = {}
        """Arrays made inside -> why they keep all rows."""
        self._search(kernel.function.body)
        for op in self.ops:
            if op.opcode == "alloc":
                self._decide(op)

    def _search(self, items: list[Item]) -> None:
        at = 0
        while at < len(items):
            item = items[at]
            fusion = self._from(items, at) if isinstance(item, Loop) else None
            if fusion is not None:
                self.found[fusion.parts[0].loop] = fusion
            for each in items[at:at + 1 if fusion is None else fusion.end]:
                if not isinstance(each, Block):
                    for inner in child_lists(each):
                        self._search(inner)
            at = at + 1 if fusion is None else fusion.end

    def _from(self, items: list[Item], at: int) -> Fusion | None:
        first = self._part(items[at])
        if first is None:
            return None
        fusion = Fusion([first], [], items, at + 1)
        for number in range(at + 1, len(items) - 1, 2):
            block, part = items[number], self._part(items[number + 1])
            if part is None or not isinstance(block, Block) or not _is_plain(block, fusion):
                break
            if not self._behind(part, fusion.parts):
                break
            fusion.parts.append(part)
            fusion.between.append(block)
            fusion.end = number + 2
        if len(fusion.parts) == 1:
            return None
        return fusion

    def _part(self, item: Item) -> FusedLoop | None:
        if not isinstance(item, Loop) or item in self.kept or not has_loop(item.body):
            return None
        counts = recognise_counted(item)
        if counts is None or counts.step != 1 or not carries_memory_only(item, counts):
            return None
        if leaves([item]) or raises([item]):
            return None
        return FusedLoop(item, counts, [op for op in all_ops(item.body) if op.opcode in ("load", "store")])

    def _behind(self, part: FusedLoop, before: Sequence[FusedLoop]) -> bool:
        """How many steps the loop must be behind; False where that is not known, or nothing is gained."""
        shared = False
        for other in before:
            for a in other.accesses:
                for b in part.accesses:
                    if a.attr("array") == b.attr("array"):
                        shared = True
                    elif not self._may_meet(a, b):
                        continue
                    if a.opcode == b.opcode == "load":
                        continue
                    gap = _gap(a, other, b, part) if a.attr("array") == b.attr("array") else None
                    if gap is None:
                        return False
                    part.behind = max(part.behind, other.behind + gap)
        return shared and part.behind <= MOST_STEPS

    def _may_meet(self, a: Op, b: Op) -> bool:
        first, second = (self.memories.get(op.attr("array")) for op in (a, b))
        return first is not None and first == second

    def _decide(self, made: Op) -> None:
        """Whether an array that is made inside keeps some rows only."""
        name = made.attr("array")
        uses = [op for op in self.ops if op.opcode in ("load", "store") and op.attr("array") == name]
        fusion = next((each for each in self.found.values() for part in each.parts
                       if not {id(op) for op in uses}.isdisjoint(map(id, part.accesses))), None)
        asked = self.asked.get(name)
        found = "asked" if asked == "stored" else self._rows(name, made, uses, fusion)
        if isinstance(found, int) and not (self.buffers or asked == "buffer"):
            found = "asked"
        if isinstance(found, str):
            self.reasons[name] = found
        elif fusion is not None:
            fusion.rings[name] = found

    def _rows(self, name: str, made: Op, uses: Sequence[Op], fusion: Fusion | None) -> int | str:
        """How many rows are needed at a time, or why it keeps all (`temporaries.REASONS`)."""
        if name in self.returned:
            return "returned"
        if name in self.routines:
            return "used-elsewhere"
        if not any(op.opcode == "store" for op in uses):
            return "no-setter"
        if fusion is None or len(made.args) < 3:
            return "not-together"
        if not _is_undefined(made):
            return "unwritten"
        inside = [(part, op) for part in fusion.parts for op in part.accesses if op.attr("array") == name]
        if len(inside) != len(uses) or not any(made in item.ops for item in fusion.around if isinstance(item, Block)):
            return "used-elsewhere"
        writers = {id(part): part for part, op in inside if op.opcode == "store"}
        rows = [(part, op, _row(op, part)) for part, op in inside]
        if len(writers) > 1 or any(row is None or row[0] for _, _, row in rows):
            return "inconsistent-rows"
        (writer,) = writers.values()
        steps = {op: part.behind - row[1] for part, op, row in rows if row is not None}
        own = {steps[op] for part, op in inside if part is writer}
        if any(part is writer and op.opcode == "load" for part, op in inside):
            return "recurrent"
        if len(own) > 1:
            return "inconsistent-rows"
        return max(steps.values()) - own.pop() + 1


def _gap(a: Op, earlier: FusedLoop, b: Op, later: FusedLoop) -> int | None:
    """By how many rows the later access is ahead, None where that is not one number."""
    rows = _row(a, earlier), _row(b, later)
    if rows[0] is None or rows[1] is None or rows[0][0] != rows[1][0]:
        return None
    return rows[1][1] - rows[0][1]


def _row(op: Op, part: FusedLoop) -> Row | None:
    """The first index without the counter of the loop: what does not change in the loop, and a number."""
    position = places(op)
    form = affine(position[0]) if position else None
    if form is None or form[0].get(part.counted.iv) != 1:
        return None
    rest = {value: factor for value, factor in form[0].items() if value is not part.counted.iv}
    inside = set(part.loop.params) | set(definitions(part.loop.body))
    return None if inside & rest.keys() else (rest, form[1])


def _is_plain(block: Block, fusion: Fusion) -> bool:
    """Nothing in it takes time, meets a fault, or needs what the loops before have left."""
    if block.end is not None or any(op.opcode not in ("add", "sub", "index") or op.kind is MEMORY for op in block.ops):
        return False
    return not block.ops or all(result.kind is MEMORY for part in fusion.parts for result in part.loop.results)


def _is_undefined(op: Op) -> bool:
    fill = op.args[-1]
    return isinstance(fill, Const) and fill.value is None


def write_fused(code: KernelCode, fusion: Fusion) -> None:
    """The loops as one, at the place of the code's builder."""
    b = code.builder
    ranges = []
    for part in fusion.parts:
        lower = code.lane(part.loop.inits[part.loop.params.index(part.counted.iv)]).value
        ranges.append((lower, code.lane(part.counted.upper).value))
    steps = [[b.add(each[end], i64(part.behind), flags=["nsw"])
              for each, part in zip(ranges, fusion.parts, strict=True)] for end in (0, 1)]
    first = reduce(lambda x, y: b.select(b.icmp_signed("<", x, y), x, y), steps[0])
    last = reduce(lambda x, y: b.select(b.icmp_signed(">", x, y), x, y), steps[1])
    for name, rows in fusion.rings.items():
        code.places.of[name].ring = rows
    with counted(b, last, start=first) as step:
        for part, (lower, upper) in zip(fusion.parts, ranges, strict=True):
            row = b.sub(step, i64(part.behind), flags=["nsw"])
            runs = b.and_(b.icmp_signed(">=", row, lower), b.icmp_signed("<", row, upper))
            code.values.update(dict.fromkeys(part.loop.params))
            code.values[part.counted.iv] = Lane(code.e, INT, row)
            with b.if_then(runs):
                after = code.targets[part.loop.again] = code.loop_head("next", part.loop.params)
                values = code.items(part.loop.body[2:])
                if values is not None:
                    code.jump(after, values)
                b.position_at_end(after.block)
    for name in fusion.rings:
        code.places.of[name].ring = 0
