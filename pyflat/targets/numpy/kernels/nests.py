"""Parallel nests of loops: their iterations are lanes, their arrays slices, a block of the outermost loop at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import LoopNest, continues, may_fault_outside, varying_in
from pyflat.ir.affine import affine, places
from pyflat.ir.faults import can_fault
from pyflat.ir.loops import all_ops, last_end
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Loop, Op, Param, Value, walk
from pyflat.ir.types import INT, MEMORY
from pyflat.passes.outline import Outlined
from pyflat.targets.numpy.kernels.bodies import Body, body_of
from pyflat.targets.numpy.kernels.boxes import Slices, boxes_of, certain_in, is_nonnegative
from pyflat.targets.numpy.kernels.operations import Mask, Operations
from pyflat.targets.numpy.kernels.writer import counter_wish, joined, literal, spelled

Given = tuple[Sequence[Value], Mask] | None
"""What a list yields and the lanes that come to its end, None where nothing does."""


class Nests(Operations):
    """Writes a nest."""

    def __init__(self, kernel: Kernel, *, lanes: bool):
        super().__init__(kernel, lanes=lanes)
        self.flat: Outlined | None = None
        self.counts: list[str] = []
        """The lengths of the nest's axes."""
        self.reordered = False
        """An iteration may have stored though one before it raises."""
        self.bodies: dict[str, Body] = {}
        """What the text calls, by its names."""
        self.body_lines: list[str] = []

    def items(self, items: list[Item], mask: Mask) -> Given:
        raise NotImplementedError

    def masked_body(self, items: list[Item], loop: Loop) -> Sequence[Value]:
        raise NotImplementedError

    def plain_loop(self, loop: Loop, mask: Mask) -> None:
        raise NotImplementedError

    def put_nest(self, loop: Loop, nest: LoopNest) -> None:
        """The nest under the test that it has an iteration; its results have variables."""
        names = self.variables(loop.results)
        for each in nest.counted:
            self._ready(each.lower)
            self._ready(each.upper)
        counts = [self._count(nest, axis) for axis in range(len(nest.loops))]
        self.nest, self.ranges = nest, [None] * len(nest.loops)
        self.varying.update(each.iv for each in nest.counted)
        inside = varying_in(nest.loops[0], self.varying)
        self.boxes = boxes_of(nest, inside, self.nonnegative)
        self.flat = None if any(names) else body_of(self.kernel, nest, self.boxes)
        in_order = self.flat is not None and all(op in self.boxes.slices for op in self.flat.stores)
        untested = any(op.opcode == "index" and op not in inside and op not in self.kernel.indices.here
                       for op in all_ops(nest.body))
        self.reordered |= not in_order and (untested or self.may_raise())
        self._skip(nest)
        for inner, counted in zip(nest.loops, nest.counted, strict=True):
            self.skipped.update(self.steps(inner, counted))
        otherwise = any(names) or may_fault_outside(nest)
        guard = [] if not otherwise and self._is_harmless(nest) else self._guards(nest, counts)
        if guard:
            self.reading.update(nest.loops)
            with self.block(f"if {' and '.join(guard)}:"):
                self._lanes(nest, counts, names)
        else:
            self._lanes(nest, counts, names)
        if otherwise and guard:
            with self.block("else:"):
                known, self.lanes = dict(self.names), False
                self.plain_loop(loop, "None")
                self.set_to([(n, self.bare(r)) for n, r in zip(names, loop.results, strict=True) if n])
                self.names, self.lanes = known, True
        self.name_params(loop.results, names)

    def may_raise(self) -> bool:
        """Whether an iteration of the nest may raise, but for an index that is tested before it."""
        assert self.nest is not None
        body = self.nest.loops[0].body
        ends = [item.end for item in walk(body) if isinstance(item, Block)]
        if any(isinstance(end, Exit) and end.label is FAULT for end in ends):
            return True
        return any(op.opcode in ("load", "store") and op not in self.boxes.slices or op.opcode != "index"
                   and op not in self.small and can_fault(op) for op in all_ops(body))

    def _ready(self, value: Value) -> None:
        """Compute what does not change in a nest before it."""
        if isinstance(value, Op) and value not in self.names:
            for arg in value.args:
                self._ready(arg)
            self.op(value, "None")
        form = affine(value)
        for each in form[0] if form is not None else ():
            if each is not value:
                self._ready(each)

    # --- before the lanes
    def _count(self, nest: LoopNest, axis: int) -> str:
        """How many iterations a loop has."""
        each = nest.counted[axis]
        if each.step != 1:
            name = self.fresh("n")
            self.put(f"{name} = len(range({self._twice(each.lower)}, {self._twice(each.upper)}, {each.step}))")
            return name
        lower, upper = self.sum_text(each.lower, 0), self.sum_text(each.upper, 0)
        if isinstance(each.lower, Const):
            return self.sum_text(each.upper, -int(each.lower.value or 0))
        return f"{upper} - ({lower})" if " " in lower else f"{upper} - {lower}"

    def _twice(self, value: Value) -> str:
        self.settle(value)
        return self.operand(value)

    def _guards(self, nest: LoopNest, counts: Sequence[str]) -> list[str]:
        found = []
        for each, count in zip(nest.counted, counts, strict=True):
            if each.step != 1:
                found.append(f"{count} > 0")
            else:
                found.append(f"{self.sum_text(each.lower, 0)} < {self.sum_text(each.upper, 0)}")
        return found

    def _is_harmless(self, nest: LoopNest) -> bool:
        """Without iterations all slices are empty, and nothing else is done."""
        accesses = [op for op in all_ops(nest.loops[0].body) if op.opcode in ("load", "store")]
        tests = nest.longer or self.boxes.above or self.boxes.unsure or self.boxes.below
        return not tests and all(op in self.boxes.slices for op in accesses) and all(
            each.step == 1 and is_nonnegative(
                affine(each.lower), self.nonnegative) and is_nonnegative(affine(each.upper), self.nonnegative)
            for each in nest.counted) and all(isinstance(item, Block) for item in nest.body)

    def _skip(self, nest: LoopNest) -> None:
        """Indices, and sums in them, that only slices use."""
        slices = self.boxes.slices
        for op in reversed(list(all_ops(nest.body))):
            users = self.users.get(op, [])
            if op.opcode not in ("index", "add", "sub") or op.kind is not INT or not users:
                continue
            known = all(isinstance(user, Op) and (
                user in self.skipped or user in slices and op not in user.args[len(places(user)) + 1:])
                for user in users)
            if known and not (op.opcode == "index" and any(user in slices and self._is_uniform_in(op, user)
                                                      for user in users)):
                self.skipped.add(op)

    def _is_uniform_in(self, op: Op, access: Op) -> bool:
        """The index is the same for all lanes: it stands in the subscript."""
        return any(place is op and axis is None
                   for place, axis in zip(places(access), self.boxes.slices[access], strict=True))

    def _tests(self, nest: LoopNest) -> None:
        def beyond(axis: int, shift: int, extent: Value) -> str:
            return f"{self.sum_text(nest.counted[axis].upper, shift)} > {self.sum_text(extent, 0)}"

        def below(axis: int, shift: int) -> str:
            return f"{self.sum_text(nest.counted[axis].lower, shift)} < 0"

        boxes = self.boxes
        sequential = [f"{self.sum_text(length, 0)} <= {gap}" for length, gap in nest.longer.items()]
        sequential += [below(*each) for each in boxes.below.items()]
        sequential += [beyond(axis, shift, extent) for (axis, extent), shift in boxes.unsure.items()
                       if boxes.above.get((axis, extent), -1) < shift]
        certain = [beyond(axis, shift, extent) for (axis, extent), shift in boxes.above.items()]
        for tests, what in ((sequential, "s.Wraps"), (certain, 'IndexError("index out of bounds")')):
            if tests:
                with self.block(f"if {' or '.join(dict.fromkeys(tests))}:"):
                    self.put(f"raise {what}")

    # --- the lanes
    def _lanes(self, nest: LoopNest, counts: Sequence[str], names: Sequence[str]) -> None:
        self._tests(nest)
        if any(names) or nest.counted[0].step != 1 or not self._is_much(nest):
            self._body(nest, list(counts), names)
        else:
            start, stop = self.fresh("start"), self.fresh("stop")
            each = " * ".join(f"({count})" if " " in count else count for count in counts[1:]) or "1"
            lower, upper = self.sum_text(nest.counted[0].lower, 0), self.sum_text(nest.counted[0].upper, 0)
            each = each[1:-1] if len(counts) == 2 and each[0] == "(" else each
            self.reading.update(nest.loops)
            with self.block(f"for {start}, {stop} in s.blocks({lower}, {upper}, {each}):"):
                self.ranges[0] = start, stop
                self._body(nest, [f"{stop} - {start}", *counts[1:]], names)
        self.nest, self.boxes, self.ranges = None, Slices(), []
        self.skipped.clear()

    def _is_much(self, nest: LoopNest) -> bool:
        """Whether there are temporaries of all lanes."""
        inside = [op for op in all_ops(nest.body) if op.kind is not MEMORY and op not in self.skipped]
        apart = any(op not in self.boxes.slices for op in all_ops(nest.body) if op.opcode in ("load", "store"))
        if self.flat is not None:  # which takes blocks itself
            return apart
        return apart or sum(op.opcode not in ("load", "index") for op in inside) > 1 or any(
            not isinstance(item, Block) for item in nest.body)

    def _body(self, nest: LoopNest, counts: list[str], names: Sequence[str]) -> None:
        start, self.counts = len(self.lines), counts
        lines = []
        for axis, (loop, each, count) in enumerate(zip(nest.loops, nest.counted, counts, strict=True)):
            name = self.fresh(counter_wish(loop, each))
            block = self.ranges[axis]
            lower = block[0] if block is not None else self._twice(each.lower)
            lines.append((name, f"{name} = s.Line({lower}, {each.step}, {count}, {axis}, {len(counts)})"))
            self.names[each.iv] = name
            self.counters.add(each.iv)
            self.modest.add(each.iv)
            for param, init in zip(loop.params, loop.inits, strict=True):
                if param is not each.iv:
                    self.settle(init)
                    self.names[param] = "None" if param.kind is MEMORY else self.bare(init)
        carried = [(loop, self._one_level(loop, inner))
                   for loop, inner in zip(nest.loops, [*nest.loops[1:], None], strict=True)]
        self._finish(nest, carried, names)
        text = "\n".join(self.lines[start:])
        for name, line in reversed(lines):
            if re.search(rf"\b{name}\b", text):
                self.put_before(start, line)

    def _one_level(self, loop: Loop, inner: Loop | None) -> Sequence[Value]:
        """What one level of the nest does before the next one; what an iteration gives to the next one."""
        head, body = loop.body[0], loop.body[2:]
        assert isinstance(head, Block)
        used = {arg for op in all_ops(body) for arg in op.args}
        for op in head.ops:
            if op in used:
                self.op(op, "None")
        if inner is None:
            if self.flat is not None:
                return self._call_body(self.flat, body)
            if continues(body, loop.again):
                return self.masked_body(body, loop)
            found = self.items(body, "None")
            assert found is not None
            return found[0]
        for item in body:
            if isinstance(item, Block):
                self._known_ops(item)
        return last_end(body).values

    def _call_body(self, plan: Outlined, body: Sequence[Item]) -> Sequence[Value]:
        """The innermost body as a call of its flat function."""
        assert self.nest is not None
        memories = {op.attr("array"): self.array_name_of_memory(op.attr("array")) for op in [*plan.loads, *plan.stores]}
        stored = [memories[op.attr("array")] for op in plan.stores]
        apart = len({*stored}) == len(stored) and {*stored}.isdisjoint(memories[op.attr("array")] for op in plan.loads)
        certain = certain_in(self.nest)
        for access in [*plan.loads, *plan.stores]:
            axes: Sequence[object] = self.boxes.slices.get(access, [None] * len(places(access)))
            for place, axis in zip(places(access), axes, strict=True):
                if axis is None:
                    self._position(place, certain)
        for value in plan.given:
            self.settle(value)
        name = self.fresh("body")
        self.bodies[name] = Body(plan, apart)
        self.reading.update(self.nest.loops, plan.loads, plan.stores)
        operands = [*map(self._elements, plan.loads), *map(self.bare, plan.given)]
        values = [Param(op.args[-1].kind) for op in plan.stores]
        outs, left = list[str](), list[tuple[str, Op]]()
        for op, value in zip(plan.stores, values, strict=True):
            boxed = op in self.boxes.slices
            outs.append(self.subscripted(op) if boxed else "None")
            if not boxed:
                self.names[value] = self.fresh("t")
                left.append((self.names[value], Op("store", (*op.args[:-1], value), MEMORY, attrs=op.attrs)))
        shape = f"({joined(self.counts)})"
        results = f"{', '.join(name for name, _ in left)} = " if left else ""
        self.put(f"{results}{name}({shape}, ({joined(operands)}), ({joined(outs)}))")
        for _, store in left:
            self.op(store, "None")
        return last_end(body).values

    def _elements(self, op: Op) -> str:
        """What an access is to, in all lanes."""
        if op in self.boxes.slices:
            return self.subscripted(op)
        return f"s.read({self.array(op.attr('array'))}, ({joined([*map(self.bare, places(op))])}), {len(self.ranges)})"

    def _position(self, place: Value, certain: set[Op]) -> None:
        """A place that is computed in the body."""
        if not isinstance(place, Op) or place in self.names:
            return
        for arg in place.args:
            self._position(arg, certain)
        if place.opcode == "index" and place not in certain:
            self.names[place] = f"s.near({self.bare(place.args[0])}, {self.bare(place.args[1])})"
        else:
            self.op(place, "None")

    def _known_ops(self, block: Block) -> None:
        """The operations of a block whose operands there are."""
        for op in block.ops:
            if op not in self.names and all(isinstance(arg, Const) or arg in self.names for arg in op.args):
                self.op(op, "None")

    # --- after the lanes
    def _finish(self, nest: LoopNest, carried: Sequence[tuple[Loop, Sequence[Value]]], names: Sequence[str]) -> None:
        """The results of the loops, from the inside: what the last iteration has left."""
        ivs = {each.iv: each.step for each in nest.counted}
        if not any(names):
            for loop, values in carried:
                for param, value in zip(loop.params, values, strict=True):
                    if param not in ivs:
                        self.settle(value)
            return
        after: dict[Value, str] = {}

        def known(value: Value) -> str:
            return literal(value) if isinstance(value, Const) else after.get(value) or self._last_text(value)

        for loop, values in reversed(carried):
            test = loop.body[1]
            assert isinstance(test, If)
            for item in loop.body[2:]:
                if isinstance(item, Block):
                    self._known_ops(item)
            inner = dict(after)
            for param, value in zip(loop.params, values, strict=True):
                if param in ivs:
                    after[param] = f"(s.last({self.names[param]}) + {ivs[param]})"
                elif param.kind is not MEMORY:
                    text = literal(value) if isinstance(value, Const) else inner.get(value) or self._last_text(value)
                    after[param] = text if text == "None" else f"s.last({text})"
            ending = test.orelse[-1]
            assert isinstance(ending, Block) and ending.end is not None
            for op in ending.ops:
                after[op] = f"({spelled(op, lambda value, _: known(value), lanes=False)[0]})"
            for result, value in zip(loop.results, ending.end.values, strict=True):
                if result.kind is not MEMORY:
                    after[result] = self.names[result] = known(value)
        self.set_to([(name, after[r]) for name, r in zip(names, nest.loops[0].results, strict=True) if name])

    def _last_text(self, value: Value) -> str:
        self.settle(value)
        return self.operand(value) if value in self.names else "None"
