"""`twin.explain()` of a kernel over arrays: its arrays, what becomes of its loops and why, where indices are tested.

An iteration of a loop is a lane where no iteration reads what another one has left, in variables or in memory. The
NumPy target makes such loops operations on whole arrays (`analysis.parallel_loops` decides); what the numba target
makes of them its emitter says (`numba.explain`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.analysis.dependence import Surroundings
from pyflat.analysis.made_arrays import names_of_lengths, shown_length
from pyflat.analysis.parallel_loops import is_around_ragged, meeting_arrays, nest_of
from pyflat.analysis.temporaries import REPEATED, ArrayMode, Decision, reason_text
from pyflat.inspection.source_map import SourceLine, SourceLoop, SourceMap, source_line
from pyflat.ir.loops import all_ops, has_loop, recognise_counted, uses
from pyflat.ir.memory import ArrayArgument, arrays_read, extents_made
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Exit,
    Item,
    Label,
    Loop,
    Op,
    Region,
    child_lists,
    walk,
)
from pyflat.ir.types import MEMORY
from pyflat.targets import target as targets

if TYPE_CHECKING:
    from pyflat.frontend.kernels import SourceKernel
    from pyflat.runtime.interfaces import Stats

_LAYOUTS = {"C": "C order, without gaps", "R": "rows without gaps", "S": "strided"}


@dataclass(frozen=True, slots=True)
class ExplainedArray:
    """An array of a kernel.

    where   "argument", or "local": made inside
    size    its bytes, as a product of lengths
    layout  how it lies in memory, as the code is made for it
    place   where a local one is made
    kept    of a local one "virtual", "buffer of n rows" or "stored", with number, name and text of the reasons; how
            often an element is read, and what it is made of; the bytes that are saved
    """

    name: str
    where: str
    dtype: str
    rank: int
    size: str
    read: bool
    written: bool
    layout: str
    place: SourceLine | None = None
    kept: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedLoop:
    """A loop of a kernel.

    counted         over a range; otherwise a `while`, or one whose variable is changed
    parallel        its iterations are lanes
    why             why they are not; of a parallel loop what it becomes
    depth           loops around it
    tested_before   indices directly in it that are tested for all iterations at once
    tested_each     indices directly in it that are tested at each access
    """

    place: SourceLine | None
    counted: bool
    parallel: bool
    why: str
    depth: int
    tested_before: int
    tested_each: int

    def tests(self) -> list[str]:
        """Which indices are tested when, in words."""
        return [f"{count} {'index' if count == 1 else 'indices'} tested {when}" for count, when in (
            (self.tested_before, "for all iterations at once"), (self.tested_each, "at each access")) if count]


@dataclass(frozen=True)
class KernelExplanation:
    """What becomes of a kernel. `str()` of it is a page of text; `as_dict()` is for programs."""

    name: str
    target: str
    arrays: tuple[ExplainedArray, ...]
    numbers: tuple[str, ...]
    loops: tuple[ExplainedLoop, ...]
    one_thread: str
    """Why threads do not share its work; empty where they do, if it takes long or is asked to (`parallel=`)."""
    calls: int
    replayed: int

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return "\n".join(_text(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from pyflat.inspection.fragments import of_kernel

        return of_kernel(self)


def explain_kernel(version: Any, target: str, name: str, stats: Stats) -> KernelExplanation:
    """What a version of a kernel (`pyflat.runtime.kernels`) becomes on a target."""
    kernel: SourceKernel = version.kernel
    layouts = getattr(version.compiled, "layouts", {})
    numbers = tuple(n for n, argument in kernel.arguments.items() if not isinstance(argument, ArrayArgument))
    how, memory = targets.of(target).costs().decided(kernel, layouts)
    return KernelExplanation(name, target, tuple(_arrays(kernel, layouts, memory)), numbers,
                             tuple(_loops(kernel, layouts, target, how)), version.sharing.one_thread(),
                             stats.calls, stats.replayed)


# --- arrays
def _arrays(kernel: SourceKernel, layouts: dict[str, str], memory: dict[str, int | str]) -> Iterator[ExplainedArray]:
    ops = list(all_ops(kernel.function.body))
    used = {"load": {name for op in ops for name in arrays_read(op)},
            "store": {op.attr("array") for op in ops if op.opcode == "store"}}
    lengths = names_of_lengths(kernel)

    def row(name: str, where: str, dtype: str, sizes: Sequence[str], layout: str,
            place: SourceLine | None = None) -> ExplainedArray:
        return ExplainedArray(name, where, str(np.dtype(dtype)), len(sizes), _bytes(dtype, sizes), name in used["load"],
                              name in used["store"] or where == "local", layout, place)

    for name, argument in kernel.arguments.items():
        if isinstance(argument, ArrayArgument):
            sizes = [f"{name}.shape[{axis}]" for axis in range(argument.rank)]
            layout = _LAYOUTS.get(layouts.get(name, ""), "any layout")
            yield row(name, "argument", argument.dtype, sizes, layout)
    there = {op.attr("array"): op for op in ops if op.kind is MEMORY and op.opcode in ("alloc", "routine")}
    for name, mode in kernel.modes(memory).items():
        made, op = kernel.local[name], there.get(name)
        if op is None and "read" not in made.places and name not in kernel.decided:
            continue
        sizes = list(made.lengths) if op is None else [shown_length(size, lengths) for size in extents_made(op)]
        found = row(name, "local", made.dtype, sizes, _LAYOUTS["C"], source_line(made.places.get("made")))
        yield dataclasses.replace(found, kept="; ".join(_kept(mode, kernel.decided.get(name), made.dtype, sizes)))


def _kept(mode: ArrayMode, decision: Decision | None, dtype: str, sizes: Sequence[str]) -> Iterator[str]:
    """What becomes of an array, and why."""
    yield f"buffer of {mode.rows} {'row' if mode.rows == 1 else 'rows'}" if mode.mode == "buffer" else mode.mode
    yield from map(reason_text, mode.reasons)
    if decision is not None:
        yield "an element is read repeatedly in a loop" if decision.reads >= REPEATED else \
            f"an element is read {decision.reads} {'time' if decision.reads == 1 else 'times'}"
        yield decision.complexity
    if mode.mode == "virtual":
        yield f"saves {_bytes(dtype, sizes)} bytes"
    elif mode.mode == "buffer":
        yield f"saves {_bytes(dtype, [f'({sizes[0]} - {mode.rows})', *sizes[1:]])} bytes"


def _bytes(dtype: str, sizes: Sequence[str]) -> str:
    size = np.dtype(dtype).itemsize
    return f"{size * int(np.prod(list(map(int, sizes)))):,}" if all(each.isdigit() for each in sizes) else \
        " * ".join([str(size), *sizes])


# --- loops
def _loops(kernel: SourceKernel, layouts: dict[str, str], target: str, how: dict[Loop, str]) -> Iterator[ExplainedLoop]:
    around = kernel.surroundings()
    lanes, inside = _parallel(kernel.function.body, around)
    costs = targets.of(target).costs()
    before = costs.tested_before(kernel, layouts, lanes | inside)
    never = costs.never_tested(kernel)
    for found in SourceMap(kernel.function).loops:
        indices = [op for op in _own_ops(found.node.body) if op.opcode == "index" and op not in never]
        at_once = sum(op in before for op in indices)
        parallel = found.node in lanes
        lanes_become = has_loop(found.node.body) and costs.parallel_around or costs.parallel_loops
        why = lanes_become if parallel else _reason(found, around)
        if found.node in how:
            why = f"{why}; {how[found.node]}" if not parallel else how[found.node]
        if not found.node.results and not any(op.kind is MEMORY for op in all_ops(found.node.body)):
            why = f"elements that nothing reads, as they may warn; {why}"
        if found.node in inside:
            why += costs.loops_inside
        yield ExplainedLoop(found.place, recognise_counted(found.node) is not None, parallel, why, found.depth, at_once,
                            len(indices) - at_once)


def _parallel(items: list[Item], around: Surroundings) -> tuple[set[Loop], set[Loop]]:
    """The loops whose iterations are lanes, and those that run inside of lanes."""
    lanes: set[Loop] = set()
    inside: set[Loop] = set()
    for item in items:
        if isinstance(item, Loop) and (nest := nest_of(item, around)) is not None:
            lanes |= set(nest.loops)
            inside |= {each for each in walk(nest.body) if isinstance(each, Loop)}
        elif not isinstance(item, Block):
            for inner in child_lists(item):
                found = _parallel(inner, around)
                lanes, inside = lanes | found[0], inside | found[1]
    return lanes, inside


def _own_ops(items: list[Item]) -> Iterator[Op]:
    """The operations of a list, without those of loops in it."""
    for item in items:
        if isinstance(item, Block):
            yield from item.ops
        elif not isinstance(item, Loop):
            for inner in child_lists(item):
                yield from _own_ops(inner)


def _reason(found: SourceLoop, around: Surroundings) -> str:
    """Why the iterations of a loop run one after the other."""
    loop = found.node
    counted = recognise_counted(loop)
    if counted is None:
        return "its iteration count is not known in advance"
    carried = [param for param in loop.params if param is not counted.iv and param.kind is not MEMORY]
    reads = set(uses([loop.body[0], *loop.body[2:]]))
    names = [param.name.split(" ")[0] or "a value" for param in carried if param in reads]
    if names:
        return f"an iteration takes {', '.join(f'`{name}`' for name in dict.fromkeys(names))} from the one before"
    if _leaves(loop):
        return "it may end early (break, return)"
    if any(op.opcode == "alloc" for op in all_ops(loop.body)):
        return "it makes an array in each iteration"
    if any(op.opcode in ("call", "routine", "ufunc") for op in all_ops(loop.body)):
        return "it calls a function that runs one element at a time"
    meeting = sorted(meeting_arrays(loop, counted, around))
    if loop in around.undecided:
        arrays = ", ".join(f"`{name}`" for name in meeting)
        return f"whether iterations meet in {arrays} was not found {around.undecided[loop]}"
    if meeting:
        return f"iterations may meet in {', '.join(f'`{name}`' for name in meeting)}"
    if is_around_ragged(loop, counted, around):
        return "the loops in it are vectorised, and their lengths vary by iteration"
    return "its iterations could not be shown to be independent"


def _leaves(loop: Loop) -> bool:
    """Something leaves it elsewhere than at its test."""
    own: set[Label] = {FAULT, loop.again}
    for item in walk(loop.body):
        if isinstance(item, Loop | Region):
            own.add(item.label)
        if isinstance(item, Loop):
            own.add(item.again)
    rest = loop.body[2:]
    return any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label not in own
               for item in walk(rest))


# --- the page
def _text(found: KernelExplanation) -> Iterator[str]:
    yield f"{found.name} on {found.target}: a kernel over {len(found.arrays)} arrays, run once for each call"
    yield ""
    width = max((len(array.name) for array in found.arrays), default=0)
    yield "arrays"
    for array in found.arrays:
        uses = " and ".join(what for what, does in (("read", array.read), ("written", array.written)) if does)
        axes = ", ".join([":"] * array.rank)
        made = f", made in line {array.place.line}: {array.place.text}" if array.place is not None else ""
        where = f"{array.where} ({array.kept})" if array.kept else array.where
        yield (f"  {array.name:{width}}  {where}, {array.dtype}[{axes}], {uses or 'unused'}, {array.size} bytes, "
               f"{array.layout}{made}")
    if found.numbers:
        yield f"the same for all iterations: {', '.join(found.numbers)}"
    yield from ("", "loops" if found.loops else "no loops")
    for loop in found.loops:
        yield from _loop_text(loop)
    yield f"on one thread, as {found.one_thread}" if found.one_thread else "threads share its iterations"
    if found.calls:
        yield ""
        yield f"so far {found.calls:,} calls, {found.replayed:,} of them run by the original"


def _loop_text(loop: ExplainedLoop) -> Iterator[str]:
    where = f"line {loop.place.line}" if loop.place else "?"
    how = "lanes" if loop.parallel else "one after the other"
    text = loop.place.text if loop.place is not None else ""
    yield f"  {where:>9}  {'  ' * loop.depth}{text}"
    yield f"             {'  ' * loop.depth}{how}: {loop.why}"
    if tests := loop.tests():
        yield f"             {'  ' * loop.depth}{', '.join(tests)}"
