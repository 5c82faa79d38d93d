"""Loops, regions and branches of a kernel: statements of Python where all lanes go one way, masks where they do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import exits_vary, leaves_elsewhere, nest_of, next_values, varying_in
from pyflat.ir.affine import affine
from pyflat.ir.loops import Counted, all_ops, recognise_counted
from pyflat.ir.nodes import Block, Const, Exit, If, Item, Label, Loop, Param, Region, Value
from pyflat.ir.types import MEMORY
from pyflat.targets.numpy.kernels.boxes import is_nonnegative
from pyflat.targets.numpy.kernels.nests import Nests
from pyflat.targets.numpy.kernels.operations import Mask
from pyflat.targets.numpy.kernels.writer import ENDLESS, literal, masked


@dataclass(slots=True)
class LabelVariables:
    """Where a label leads: the variables that its values go to, and the Python loop that it belongs to."""

    names: list[str]
    depth: int
    again: bool = False
    masks: str = ""
    """In lanes: the variable that has the lanes which have left."""


class LoopWriter(Nests):
    """Writes loops and regions."""

    def __init__(self, kernel: Kernel, *, lanes: bool):
        super().__init__(kernel, lanes=lanes)
        self.ways: dict[Label, LabelVariables] = {}
        self.around = kernel.surroundings()
        self.depth = 0
        self.far: list[set[Label]] = []
        self.in_order: list[Loop] = []
        """Those that are one of Python's."""
        self.most_at_once = 0
        """Loops of a nest that runs as lanes."""
        self.left: set[Label] = set()
        """Labels that something has left by `break`."""

    def assign(self, names: Sequence[str], values: Sequence[Value], mask: Mask = "None") -> None:
        pairs = [(name, value) for name, value in zip(names, values, strict=True) if name]
        for _, value in pairs:
            self.settle_view(value)
        texts = [(name, self.lanes_text(value)) for name, value in pairs]
        self.set_to([(n, text if mask == "None" else f"s.kept({mask}, {text}, {n})") for n, text in texts])

    def _zeros(self, names: Sequence[str], params: Sequence[Param]) -> None:
        for name, param in zip(names, params, strict=True):
            if name:
                self.put(f"{name} = {literal(Const(param.kind, None))}")

    def exit(self, end: Exit, mask: Mask) -> None:
        """To a label of a node around."""
        way = self.ways[end.label]
        if way.masks:
            self.assign(way.names, end.values, mask)
            self.put(f"{way.masks} = {way.masks} | {'True' if mask == 'None' else mask}")
            return
        self.assign(way.names, end.values)
        self.left.add(end.label)
        if way.depth == self.depth:
            self.put("continue" if way.again else "break")
            return
        self.put(f"leave = {end.label.name!r}")
        self.put("break")
        for inner in self.far[way.depth:]:
            inner.add(end.label)

    # --- regions
    def put_region(self, node: Region, mask: Mask) -> Mask:
        names = self.variables(node.results)
        if self.nest is not None:
            return self._masked_region(node, names, mask)
        with self._python_loop(ENDLESS) as far:
            self.ways[node.label] = LabelVariables(names, self.depth)
            found = self.items(node.body, mask)
            if found is not None:
                self.assign(names, found[0])
                self.put("break")
        self.name_params(node.results, names)
        self._go_on(far)
        return mask

    def _masked_region(self, node: Region, names: list[str], mask: Mask) -> Mask:
        left = self._masked(node.body, node.label, names, node.results, mask)
        self.name_params(node.results, names, varying=True)
        after = self.fresh("mask")
        self.put(f"{after} = {masked(mask, left)}")
        return after

    def _masked(self, items: list[Item], label: Label, names: list[str], params: Sequence[Param], mask: Mask) -> str:
        """A list that lanes leave for its end at several places; which have come there."""
        left = self.fresh("done")
        self.put(f"{left} = False")
        self._zeros(names, params)
        self.ways[label] = LabelVariables(names, self.depth, masks=left)
        found = self.items(items, mask)
        if found is not None:
            self.assign(names, found[0], found[1])
            self.put(f"{left} = {left} | {'True' if found[1] == 'None' else found[1]}")
        return left

    def masked_body(self, items: list[Item], loop: Loop) -> Sequence[Value]:
        """The body of a nest with `continue` in it."""
        assert self.nest is not None
        counter = self.nest.counted[-1].iv
        after = [Param(MEMORY if p is counter else p.kind, p.name) for p in loop.params]
        names = self.variables(after)
        self._masked(items, loop.again, names, after, "None")
        self.name_params(after, names, varying=True)
        return after

    # --- Python's loops
    @contextmanager
    def _python_loop(self, head: str) -> Iterator[set[Label]]:
        start = len(self.lines)
        self.depth += 1
        far: set[Label] = set()
        self.far.append(far)
        with self.block(head):
            yield far
        self.far.pop()
        self.depth -= 1
        if far:
            self.put_before(start, "leave = ''")

    def _go_on(self, far: set[Label]) -> None:
        """After a Python loop: what has left it for a place further out goes on."""
        for label in sorted(far, key=lambda each: each.name):
            way = self.ways.get(label)
            if way is None:
                continue
            with self.block(f"if leave == {label.name!r}:"):
                if way.depth == self.depth:
                    self.put("leave = ''")
                    self.put("continue" if way.again else "break")
                else:
                    self.put("break")

    def put_loop(self, loop: Loop, mask: Mask) -> Mask:
        if self.nest is not None:
            return self._loop_in_lanes(loop, mask)
        nest = nest_of(loop, self.around) if self.lanes else None
        if nest is None:
            self.in_order.append(loop)
            self.plain_loop(loop, mask)
        else:
            self.most_at_once = max(self.most_at_once, len(nest.loops))
            before = len(self.in_order)
            self.put_nest(loop, nest)
            del self.in_order[before:]  # where there is no iteration
        return mask

    def plain_loop(self, loop: Loop, mask: Mask) -> None:
        """A loop that all lanes go through together."""
        counted = recognise_counted(loop)
        if counted is not None:  # below its bound, or above it
            self.modest.add(counted.iv)
            if counted.step > 0 and is_nonnegative(affine(counted.lower), self.nonnegative):
                self.nonnegative.add(counted.iv)
        if counted is not None and _is_for(loop, counted):
            self._for_loop(loop, counted, mask)
            return
        names, results = self.variables(loop.params), self.variables(loop.results)
        self.assign(names, loop.inits)
        self.name_params(loop.params, names)
        self.reading.add(loop)
        with self._python_loop(ENDLESS) as far:
            self.ways[loop.label] = LabelVariables(results, self.depth)
            self.ways[loop.again] = LabelVariables(names, self.depth, again=True)
            found = self.items(loop.body, mask)
            if found is not None:
                self.assign(names, found[0])
        self.name_params(loop.results, results)
        self._go_on(far)

    def _for_loop(self, loop: Loop, counted: Counted, mask: Mask) -> None:
        counter = self.counter(loop, counted)
        names = ["" if p is counted.iv else name for p, name in zip(loop.params, self.variables(
            [p if p is not counted.iv else Param(MEMORY) for p in loop.params]), strict=True)]
        results = self.variables(loop.results)
        bounds = [self.bare(counted.lower), self.bare(counted.upper)]
        self.assign(names, loop.inits)
        self.name_params(loop.params, names)
        self.names[counted.iv] = counter
        parts = bounds[1:] if bounds[0] == "0" and counted.step == 1 else bounds
        parts = [*parts, str(counted.step)] if counted.step != 1 else parts
        self.skipped.update(self.steps(loop, counted))
        test = loop.body[1]
        assert isinstance(test, If)
        ending = test.orelse[-1]
        assert isinstance(ending, Block) and ending.end is not None
        self.reading.add(loop)
        with self._python_loop(f"for {counter} in range({', '.join(parts)}):") as far:
            self.ways[loop.label] = LabelVariables(results, self.depth)
            self.ways[loop.again] = LabelVariables(names, self.depth, again=True)
            found = self.items(loop.body[2:], mask)
            if found is not None:
                self.assign(names, found[0])
        if loop.label in self.left and any(results):
            with self.block("else:"):
                self.assign(results, ending.end.values)
        else:
            self.assign(results, ending.end.values)
        self.name_params(loop.results, results)
        self._go_on(far)

    # --- loops of lanes
    def _loop_in_lanes(self, loop: Loop, mask: Mask) -> Mask:
        """A loop of every lane: it runs as long as one of them does."""
        if self._settle_varying(loop):
            self.plain_loop(loop, mask)
            self.varying.update(p for p in loop.results if p.kind is not MEMORY)
            return mask
        names, results = self.variables(loop.params), self.variables(loop.results)
        self.assign(names, loop.inits)
        self.name_params(loop.params, names)
        left, run = self.fresh("done"), self.fresh("running")
        self.put(f"{left} = False")
        self.put(f"{run} = {'True' if mask == 'None' else mask}")
        self._zeros(results, loop.results)
        self.reading.add(loop)
        goes_on = f"np.any({run})"
        if self.may_raise():
            turns = self.fresh("turns")
            self.put(f"{turns} = s.patiently()")
            goes_on += f" and next({turns})"
        with self._python_loop(f"while {goes_on}:"):
            again = self.fresh("again")
            self.put(f"{again} = False")
            carried = self.variables([Param(p.kind, p.name) for p in loop.params])
            self._zeros(carried, loop.params)
            self.ways[loop.label] = LabelVariables(results, self.depth, masks=left)
            self.ways[loop.again] = LabelVariables(carried, self.depth, masks=again)
            found = self.items(loop.body, run)
            if found is not None:
                self.assign(carried, found[0], found[1])
                self.put(f"{again} = {again} | {found[1]}")
            self.put(f"{run} = {again}")
            self.set_to(list(zip(names, carried, strict=True)))
        self.name_params(loop.results, results, varying=True)
        after = self.fresh("mask")
        self.put(f"{after} = {masked(mask, left)}")
        return after if leaves_elsewhere(loop) else mask

    def _settle_varying(self, loop: Loop) -> bool:
        """Mark what varies among what a loop carries; whether all lanes leave it together, and for what follows it:
        what leaves it for a region around is in a mask, and Python's loop would go on."""
        elsewhere = leaves_elsewhere(loop)
        marked = {p for p, v in zip(loop.params, loop.inits, strict=True) if v in self.varying}
        while True:
            varying = varying_in(loop, self.varying | marked)
            more = {p for p, ways in next_values(loop).items() if any(v in varying for v in ways)} | marked
            apart = elsewhere or exits_vary(loop.body, varying)
            if apart:
                more = {p for p in loop.params if p.kind is not MEMORY}
            if more == marked:
                break
            marked = more
        self.varying |= marked
        return not apart


def _is_for(loop: Loop, counted: Counted) -> bool:
    """Nothing but the test is before the body, and nothing after the loop needs what ended it."""
    head, test = loop.body[0], loop.body[1]
    assert isinstance(head, Block) and isinstance(test, If)
    first, ending = test.then[0], test.orelse[-1]
    if len(test.then) != 1 or not isinstance(first, Block) or first.ops or test.results or len(test.orelse) != 1:
        return False
    if not isinstance(ending, Block) or ending.ops or ending.end is None or counted.iv in ending.end.values:
        return False
    if not isinstance(ending.end, Exit) or ending.end.label is not loop.label:
        return False
    own = set(head.ops)
    used = {arg for op in all_ops(loop.body) for arg in op.args}
    return own <= {test.cond} and not own & used and counted.upper not in own and not own & set(ending.end.values)
