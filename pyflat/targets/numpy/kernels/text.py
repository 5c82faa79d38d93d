"""A kernel as a Python function over NumPy arrays.

Loops whose iterations are apart (`parallel`) are lanes: their body is written once, for all iterations; what runs in
some of them only stands under a mask. Other loops are loops. The text calls `support`, under the name `s`:

    def jacobi(b, a, b_0, a_0):
        n0 = len(range(1, a_0 - 1))
        if n0 > 0:
            i0 = s.Line(1, 1, n0, 0, 1)
            v1 = s.inside(i0 - 1, a_0, None)
            v2 = s.read(a, (v1,), 1)
            ...
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.frontend.kernels import Kernel
from pyflat.frontend.kernels.results import names as returned_names
from pyflat.ir.build import Builder
from pyflat.ir.faults import fault_condition
from pyflat.ir.loops import all_ops, recognise_counted
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import FAULT, Block, Const, Exit, If, Item, Label, Loop, Op, Param, Region, Value, Yield, walk
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numpy.kernels.parallel import Nest, nest_of
from pyflat.targets.numpy.kernels.varying import (
    exits_vary,
    leaves_elsewhere,
    may_fault_outside,
    next_values,
    varying_in,
)
from pyflat.targets.numpy.spelling import spelling

_PYTHON = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "eq": "==", "ne": "!=",
           "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
Mask = str
"""The name of an array that says which lanes run, "None" for all of them."""


@dataclass(slots=True)
class _Way:
    """Where a label leads: the variables that its values go to, and the Python loop that it belongs to."""

    names: list[str]
    depth: int
    again: bool = False
    masks: str = ""
    """In lanes: the variable that has the lanes which have left."""


class KernelText:
    """Writes the function. `lanes` is false for the version without any: every loop is a loop."""

    def __init__(self, kernel: Kernel, *, lanes: bool):
        self.kernel, self.lanes = kernel, lanes
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[Value, str] = {}
        self.modest: set[Value] = set()
        self.varying: set[Value] = set()
        self.ways: dict[Label, _Way] = {}
        self.nest: Nest | None = None
        self.depth = 0
        self.count = 0
        self.functions: dict[str, Any] = {}
        self.far: list[set[Label]] = []
        self.by_python = _checked_by_python(kernel)
        """Indices that Python's own subscripts check."""

    # --- lines
    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.put(head)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.put("pass")
        self.indent -= 1

    def fresh(self, stem: str = "t") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def name(self, value: Value) -> str:
        if isinstance(value, Const):
            return _literal(value)
        return self.names[value]

    def new(self, value: Value) -> str:
        self.names[value] = found = self.fresh()
        return found

    @property
    def axes(self) -> int:
        return len(self.nest.loops) if self.nest is not None else 0

    # --- the function
    def text(self) -> str:
        fn = self.kernel.function
        params = iter(fn.params)
        given: list[str] = []
        memories: set[int] = set()
        for name, argument in self.kernel.arguments.items():
            if isinstance(argument, ArrayArgument):
                if argument.memory not in memories:
                    memories.add(argument.memory)
                    self.names[next(params)] = "None"
                given.append(_array_name(name))
                for axis in range(argument.rank):
                    param = next(params)
                    self.names[param] = f"{_array_name(name)}_{axis}"
                    self.modest.add(param)
            elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
                param = next(params)
                self.names[param] = f"x_{name}"
                given.append(f"x_{name}")
        for name, argument in self.kernel.arguments.items():
            if isinstance(argument, ArrayArgument):
                for axis in range(argument.rank):
                    self.put(f"{_array_name(name)}_{axis} = {_array_name(name)}.shape[{axis}]")
        values = self.items(fn.body, "None")
        if values is not None:
            self._return(values[0])
        safe = fn.name if fn.name.isidentifier() else "kernel"
        return f"def {safe}({', '.join(given)}):\n" + "\n".join(self.lines) + "\n"

    def _return(self, values: Sequence[Value]) -> None:
        kinds = self.kernel.function.result_kinds
        numbers = [self.name(v) for v, kind in zip(values, kinds, strict=True) if kind is not MEMORY]
        arrays = [f"{name!r}: {_array_name(name)}" for name in dict.fromkeys(returned_names(self.kernel.result))
                  if name not in self.kernel.arguments]
        self.put(f"return [{', '.join(numbers)}], {{{', '.join(arrays)}}}")

    # --- lists and nodes
    def items(self, items: list[Item], mask: Mask) -> tuple[Sequence[Value], Mask] | None:
        """A list; what it yields and the lanes that come to its end, None where nothing does."""
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.op(op, mask)
                    if isinstance(item.end, Exit):
                        self._exit(item.end, mask)
                        return None
                    if isinstance(item.end, Yield):
                        return item.end.values, mask
                case If():
                    mask = self._if(item, mask)
                case Region():
                    mask = self._region(item, mask)
                case Loop():
                    mask = self._loop(item, mask)
            if mask == "never":
                return None
        raise InternalError("control fell off a list without an end")

    def _vary(self, values: Sequence[Value]) -> bool:
        return self.nest is not None and any(value in self.varying for value in values)

    def _assign(self, names: Sequence[str], values: Sequence[Value], mask: Mask = "None") -> None:
        pairs = [(n, self.name(v)) for n, v in zip(names, values, strict=True) if n]
        if not pairs:
            return
        right = [v if mask == "None" else f"s.kept({mask}, {v}, {n})" for n, v in pairs]
        self.put(f"{', '.join(n for n, _ in pairs)} = {', '.join(right)}")

    def _results(self, params: Sequence[Param], *, varying: bool) -> list[str]:
        names = ["" if p.kind is MEMORY else self.fresh() for p in params]
        for param, name in zip(params, names, strict=True):
            self.names[param] = name or "None"
            if varying and name:
                self.varying.add(param)
        return names

    def _if(self, node: If, mask: Mask) -> Mask:
        if self._vary([node.cond]):
            return self._masked_if(node, mask)
        if _only_leaves(node):
            with self.block(f"if not ({self.name(node.cond)}):"):
                self.items(node.orelse, mask)
            return mask
        names = ["" if p.kind is MEMORY else self.fresh() for p in node.results]
        ends: list[tuple[Sequence[Value], Mask] | None] = []
        after = mask
        if mask != "None" or self.nest is not None:
            after = self.fresh("m")
        for head, items in ((f"if {self.name(node.cond)}:", node.then), ("else:", node.orelse)):
            with self.block(head):
                found = self.items(items, mask)
                if found is not None:
                    self._assign(names, found[0])
                    if after != mask:
                        self.put(f"{after} = {found[1]}")
                elif after != mask:
                    self.put(f"{after} = False")
                ends.append(found)
        varying = any(end is not None and self._vary([end[0][k]]) for end in ends for k in range(len(names)))
        for param, name in zip(node.results, names, strict=True):
            self.names[param] = name or "None"
            if varying and name:
                self.varying.add(param)
        if all(end is None for end in ends):
            return "never"
        if after != mask and all(end is not None and end[1] == mask for end in ends):
            return mask
        return after

    def _masked_if(self, node: If, mask: Mask) -> Mask:
        names = ["" if p.kind is MEMORY else self.fresh() for p in node.results]
        arms = []
        condition = self.name(node.cond)
        for call, items in (("both", node.then), ("without", node.orelse)):
            arm = self.fresh("m")
            self.put(f"{arm} = s.{call}({mask}, {condition})")
            found = self.items(items, arm)
            arms.append((arm, found))
        ends = [(arm, found) for arm, found in arms if found is not None]
        for param, name in zip(node.results, names, strict=True):
            self.names[param] = name or "None"
            if name:
                self.varying.add(param)
        if not ends:
            return "never"
        for number, name in enumerate(names):
            if not name:
                continue
            if len(ends) == 1:
                self.put(f"{name} = {self.name(ends[0][1][0][number])}")
            else:
                first, second = (self.name(found[0][number]) for _, found in ends)
                self.put(f"{name} = np.where({ends[0][0]}, {_lanes(first)}, {_lanes(second)})")
        masks = [found[1] for _, found in ends]
        if len(masks) == 2 and masks == [arm for arm, _ in ends]:
            return mask
        if len(masks) == 1:
            return masks[0]
        joined = self.fresh("m")
        self.put(f"{joined} = {masks[0]} | {masks[1]}")
        return joined

    def _exit(self, end: Exit, mask: Mask) -> None:
        if end.label is FAULT:
            self.put("raise s.Faulted" if mask == "None" else f"if s.running({mask}): raise s.Faulted")
            return
        if end.label is self.kernel.function.label:
            self._return(end.values)
            return
        way = self.ways[end.label]
        if way.masks:
            self._assign(way.names, end.values, mask)
            self.put(f"{way.masks} = {way.masks} | {'True' if mask == 'None' else mask}")
            return
        self._assign(way.names, end.values)
        if way.depth == self.depth:
            self.put("continue" if way.again else "break")
            return
        self.put(f"leave = {end.label.name!r}")
        self.put("break")
        for inner in self.far[way.depth:]:
            inner.add(end.label)

    @contextmanager
    def _python_loop(self) -> Iterator[set[Label]]:
        self.depth += 1
        far: set[Label] = set()
        self.far.append(far)
        yield far
        self.far.pop()
        self.depth -= 1

    def _go_on(self, far: set[Label]) -> None:
        """After a Python loop: what has left it for a place further out goes on."""
        for label in far:
            way = self.ways.get(label)
            if way is None:
                continue
            with self.block(f"if leave == {label.name!r}:"):
                if way.depth == self.depth:
                    self.put("leave = ''")
                    self.put("continue" if way.again else "break")
                else:
                    self.put("break")

    def _region(self, node: Region, mask: Mask) -> Mask:
        names = ["" if p.kind is MEMORY else self.fresh() for p in node.results]
        if self.nest is not None:
            return self._masked_region(node, names, mask)
        self.put("leave = ''")
        with self._python_loop() as far, self.block("while True:"):
            self.ways[node.label] = _Way(names, self.depth)
            found = self.items(node.body, mask)
            if found is not None:
                self._assign(names, found[0])
                self.put("break")
        self._name_results(node.results, names)
        self._go_on(far)
        return mask

    def _zeros(self, names: Sequence[str], params: Sequence[Param]) -> None:
        for name, param in zip(names, params, strict=True):
            if name:
                self.put(f"{name} = {_literal(Const(param.kind, None))}")

    def _name_results(self, results: Sequence[Param], names: Sequence[str]) -> None:
        for param, name in zip(results, names, strict=True):
            self.names[param] = name or "None"

    def _masked_region(self, node: Region, names: list[str], mask: Mask) -> Mask:
        left = self.fresh("m")
        self.put(f"{left} = False")
        self._zeros(names, node.results)
        self.ways[node.label] = _Way(names, self.depth, masks=left)
        found = self.items(node.body, mask)
        if found is not None:
            self._assign(names, found[0], found[1])
            self.put(f"{left} = {left} | {'True' if found[1] == 'None' else found[1]}")
        self._name_results(node.results, names)
        self.varying.update(p for p in node.results if p.kind is not MEMORY)
        after = self.fresh("m")
        self.put(f"{after} = s.both({mask}, {left})")
        return after

    # --- loops
    def _loop(self, loop: Loop, mask: Mask) -> Mask:
        if self.nest is not None:
            return self._loop_in_lanes(loop, mask)
        nest = nest_of(loop) if self.lanes else None
        if nest is None:
            self._plain_loop(loop, mask)
            return mask
        names = ["" if p.kind is MEMORY else self.fresh() for p in loop.results]
        counts = []
        for each in nest.counted:
            self._ready(each.lower)
            self._ready(each.upper)
            counts.append(self.fresh("n"))
            self.put(f"{counts[-1]} = len(range({self.name(each.lower)}, {self.name(each.upper)}, {each.step}))")
        with self.block("if " + " and ".join(f"{count} > 0" for count in counts) + ":"):
            self._nest(nest, counts, names)
        if any(names) or may_fault_outside(nest):
            with self.block("else:"):
                known, self.lanes = dict(self.names), False
                self._plain_loop(loop, mask)
                self._assign(names, loop.results)
                self.names, self.lanes = known, True
        self._name_results(loop.results, names)
        return mask

    def _ready(self, value: Value) -> None:
        """Compute what does not change in a nest before it."""
        if isinstance(value, Op) and value not in self.names:
            for arg in value.args:
                self._ready(arg)
            self.op(value, "None")

    def _plain_loop(self, loop: Loop, mask: Mask) -> None:
        inits = [self.name(v) if v.kind is not MEMORY else "" for v in loop.inits]
        names = ["" if p.kind is MEMORY else self.fresh() for p in loop.params]
        self._name_results(loop.params, names)
        self._modest_counter(loop)
        results = ["" if p.kind is MEMORY else self.fresh() for p in loop.results]
        pairs = [(n, i) for n, i in zip(names, inits, strict=True) if n]
        if pairs:
            self.put(f"{', '.join(n for n, _ in pairs)} = {', '.join(i for _, i in pairs)}")
        self.put("leave = ''")
        with self._python_loop() as far, self.block("while True:"):
            self.ways[loop.label] = _Way(results, self.depth)
            self.ways[loop.again] = _Way(names, self.depth, again=True)
            found = self.items(loop.body, mask)
            if found is not None:
                self._assign(names, found[0])
        self._name_results(loop.results, results)
        self._go_on(far)

    def _modest_counter(self, loop: Loop) -> None:
        counted = recognise_counted(loop)
        if counted is not None:  # below its bound, or above it
            self.modest.add(counted.iv)

    def _nest(self, nest: Nest, counts: Sequence[str], names: Sequence[str]) -> None:
        self.nest = nest
        axes = len(nest.loops)
        for axis, (each, count) in enumerate(zip(nest.counted, counts, strict=True)):
            line = self.fresh("i")
            self.put(f"{line} = s.Line({self.name(each.lower)}, {each.step}, {count}, {axis}, {axes})")
            self.names[each.iv] = line
            self.varying.add(each.iv)
            self.modest.add(each.iv)
        for loop, each in zip(nest.loops, nest.counted, strict=True):
            for param, init in zip(loop.params, loop.inits, strict=True):
                if param is not each.iv:
                    self.names[param] = "None" if param.kind is MEMORY else self.name(init)
        own = self.ways
        carried: list[tuple[Loop, Sequence[Value]]] = []
        for loop, inner in zip(nest.loops, [*nest.loops[1:], None], strict=True):
            carried.append((loop, self._one_level(loop, inner)))
        self.ways = own
        self._finish_nest(nest, carried, names)
        self.nest = None

    def _one_level(self, loop: Loop, inner: Loop | None) -> Sequence[Value]:
        """What one level of the nest does before the next one; what an iteration gives to the next one."""
        head, body = loop.body[0], loop.body[2:]
        assert isinstance(head, Block)
        used = {arg for op in all_ops(body) for arg in op.args}
        for op in head.ops:
            if op in used:
                self.op(op, "None")
        if inner is None:
            found = self.items(body, "None")
            assert found is not None
            return found[0]
        for item in body:
            if isinstance(item, Block):
                for op in item.ops:
                    if op not in self.names and all(isinstance(arg, Const) or arg in self.names for arg in op.args):
                        self.op(op, "None")
        last = body[-1]
        assert isinstance(last, Block) and last.end is not None
        return last.end.values

    def _finish_nest(self, nest: Nest, carried: Sequence[tuple[Loop, Sequence[Value]]], names: Sequence[str]) -> None:
        """The results of the loops, from the inside: what the last iteration has left."""
        after: dict[Value, str] = {}
        for loop, values in reversed(carried):
            test = loop.body[1]
            assert isinstance(test, If)
            for op in (op for item in loop.body[2:] if isinstance(item, Block) for op in item.ops):
                if op not in self.names and all(isinstance(a, Const) or a in self.names for a in op.args):
                    self.op(op, "None")
            inner = dict(after)
            for param, value in zip(loop.params, values, strict=True):
                if param.kind is MEMORY:
                    continue
                text = _literal(value) if isinstance(value, Const) else inner.get(value) or self.names.get(value)
                after[param] = "None" if text is None else f"s.last({text})"
            ending = test.orelse[-1]
            assert isinstance(ending, Block) and ending.end is not None
            for op in ending.ops:
                after[op] = self._after_op(op, after)
            for result, value in zip(loop.results, ending.end.values, strict=True):
                if result.kind is not MEMORY:
                    known = _literal(value) if isinstance(value, Const) else after.get(value) or self.names.get(value)
                    after[result] = known or "None"
                    self.names[result] = after[result]
        for name, result in zip(names, nest.loops[0].results, strict=True):
            if name:
                self.put(f"{name} = {after[result]}")

    def _after_op(self, op: Op, after: dict[Value, str]) -> str:
        parts = [_literal(a) if isinstance(a, Const) else after.get(a) or self.names.get(a, "None") for a in op.args]
        return "(" + _spelled(op, parts, lanes=False) + ")"

    def _loop_in_lanes(self, loop: Loop, mask: Mask) -> Mask:
        """A loop of every lane: it runs as long as one of them does."""
        names = ["" if p.kind is MEMORY else self.fresh() for p in loop.params]
        results = ["" if p.kind is MEMORY else self.fresh() for p in loop.results]
        pairs = [(n, self.name(v)) for n, v in zip(names, loop.inits, strict=True) if n]
        if pairs:
            self.put(f"{', '.join(n for n, _ in pairs)} = {', '.join(i for _, i in pairs)}")
        self._name_results(loop.params, names)
        uniform = self._settle_varying(loop)
        if uniform:
            self._modest_counter(loop)
            with self._python_loop(), self.block("while True:"):
                self.ways[loop.label] = _Way(results, self.depth)
                self.ways[loop.again] = _Way(names, self.depth, again=True)
                found = self.items(loop.body, mask)
                if found is not None:
                    self._assign(names, found[0])
            self._name_results(loop.results, results)
            self.varying.update(p for p in loop.results if p.kind is not MEMORY)
            return mask
        left, run = self.fresh("m"), self.fresh("m")
        self.put(f"{left} = False")
        self.put(f"{run} = {'True' if mask == 'None' else mask}")
        self._zeros(results, loop.results)
        with self._python_loop(), self.block(f"while np.any({run}):"):
            again = self.fresh("m")
            self.put(f"{again} = False")
            carried = ["" if not n else self.fresh() for n in names]
            self._zeros(carried, loop.params)
            self.ways[loop.label] = _Way(results, self.depth, masks=left)
            self.ways[loop.again] = _Way(carried, self.depth, masks=again)
            found = self.items(loop.body, run)
            if found is not None:
                self._assign(carried, found[0], found[1])
                self.put(f"{again} = {again} | {found[1]}")
            self.put(f"{run} = {again}")
            moved = [(n, c) for n, c in zip(names, carried, strict=True) if n]
            if moved:
                with self.block(f"if np.any({run}):"):
                    self.put(f"{', '.join(n for n, _ in moved)} = {', '.join(c for _, c in moved)}")
        self._name_results(loop.results, results)
        self.varying.update(p for p in loop.results if p.kind is not MEMORY)
        after = self.fresh("m")
        self.put(f"{after} = s.both({mask}, {left})")
        return after if leaves_elsewhere(loop) else mask

    def _settle_varying(self, loop: Loop) -> bool:
        """Mark what varies among what a loop carries; whether all lanes leave it together."""
        marked = {p for p, v in zip(loop.params, loop.inits, strict=True) if v in self.varying}
        while True:
            varying = varying_in(loop, self.varying | marked)
            more = {p for p, ways in next_values(loop).items() if any(v in varying for v in ways)} | marked
            apart = exits_vary(loop.body, varying)
            if apart:
                more = {p for p in loop.params if p.kind is not MEMORY}
            if more == marked:
                break
            marked = more
        self.varying |= marked
        return not apart

    # --- operations
    def op(self, op: Op, mask: Mask) -> None:
        varying = self._vary(op.args)
        if op.opcode == "store":
            self._store(op, mask)
            self.names[op] = "None"
            return
        if op.opcode == "alloc":
            self._alloc(op)
            self.names[op] = "None"
            return
        args = [self.name(arg) for arg in op.args]
        if varying:
            self.varying.add(op)
        if self._is_modest(op):
            self.modest.add(op)
        if op in self.by_python and self.nest is None:
            self.names[op] = args[0]
            return
        name = self.new(op)
        match op.opcode:
            case "index":
                self.put(f"{name} = s.inside({args[0]}, {args[1]}, {mask})")
                return
            case "load":
                self._load(op, name, varying)
                return
            case "fitted":
                limits = np.iinfo(op.attr("dtype"))
                self.put(f"{name} = s.fitted({args[0]}, {limits.min}, {min(int(limits.max), 2**63 - 1)}, {mask})")
                return
        self.put(f"{name} = {self._expression(op, args, varying)}")
        if op not in self.modest:
            self._check(op, mask, varying)

    def _expression(self, op: Op, args: list[str], varying: bool) -> str:
        if op.opcode == "select" and op.args[1] is op.args[2]:
            return args[1]
        if varying:
            args = [_lanes(a) if a.startswith("i") or op.opcode not in ("add", "sub", "mul") else a for a in args] \
                if op not in self.modest else args
        if not varying and op.opcode not in _PYTHON and op.opcode not in _OWN and op.opcode != "select":
            return self._python_call(op, args)
        return _spelled(op, args, lanes=varying)

    def _python_call(self, op: Op, args: list[str]) -> str:
        """The strict function of Python's scalars; NumPy's own where that may warn."""
        if op.opcode.startswith("np_"):
            return spelling(op).format(*args)
        from pyflat.ir.ops import OPERATIONS

        stem = f"python_{op.opcode}"
        attrs = dict(op.attrs)
        if attrs:
            function = OPERATIONS[op.opcode].python
            stem = f"{stem}_{len(self.functions)}"
            self.functions[stem] = lambda *values: function(*values, **attrs)
        else:
            self.functions[stem] = OPERATIONS[op.opcode].python
        return f"{stem}({', '.join(args)})"

    def _is_modest(self, op: Op) -> bool:
        if op.kind is not INT or op.opcode not in ("add", "sub", "mul", "index", "select"):
            return False
        if op.opcode == "index":
            return True
        if op.opcode == "select":
            return all(self._small(a) for a in op.args[1:])
        return all(map(self._small, op.args)) and (op.opcode != "mul" or any(isinstance(a, Const) for a in op.args))

    def _small(self, value: Value) -> bool:
        return value in self.modest or isinstance(value, Const) and abs(int(value.value or 0)) < 2**16

    def _check(self, op: Op, mask: Mask, varying: bool) -> None:
        if not varying:
            if op.kind is INT and op.opcode not in _WITHIN:
                self.put(f"{self.names[op]} = s.fit({self.names[op]})")
            return
        build = Builder()
        condition = fault_condition(build, op)
        if condition is None:
            return
        for each in build.block.ops:
            parts = [_lanes(self.name(a)) for a in each.args]
            vary = self._vary(each.args)
            if vary:
                self.varying.add(each)
            self.put(f"{self.new(each)} = {_spelled(each, parts, lanes=True)}")
        self.put(f"s.hit({self.name(condition)}, {mask})")

    # --- memory
    def _load(self, op: Op, name: str, varying: bool) -> None:
        array, dtype = _array_name(op.attr("array")), op.attr("dtype")
        places = [self.name(arg) for arg in op.args[1:]]
        if not varying:
            text = f"{array}[{', '.join(places) or '()'}]"
            self.put(f"{name} = {_as_scalar(text, dtype)}")
            return
        text = f"s.read({array}, ({', '.join(places)},), {self.axes})"
        if dtype == "f4":
            text += ".astype(np.float64)"
        elif dtype[0] in "iu" and dtype != "i8":
            text += ".astype(np.int64)"
        elif self._is_stored(op.attr("array")):
            text += ".copy()"
        self.put(f"{name} = {text}")

    def _is_stored(self, array: str) -> bool:
        assert self.nest is not None
        return any(op.opcode == "store" and op.attr("array") == array for op in all_ops(self.nest.loops[0].body))

    def _store(self, op: Op, mask: Mask) -> None:
        array = _array_name(op.attr("array"))
        places = [self.name(arg) for arg in op.args[1:-1]]
        value = self.name(op.args[-1])
        if self.nest is None:
            self.put(f"{array}[{', '.join(places) or '()'}] = {value}")
            return
        self.put(f"s.write({array}, ({', '.join(places)},), {value}, {mask}, {self.axes})")

    def _alloc(self, op: Op) -> None:
        *sizes, fill = op.args
        shape = f"({', '.join(self.name(size) for size in sizes)},)"
        name, dtype = _array_name(op.attr("array")), f"np.{np.dtype(op.attr('dtype')).name}"
        dtype = "np.bool_" if op.attr("dtype") == "b1" else dtype
        if isinstance(fill, Const) and fill.value is None:
            self.put(f"{name} = np.empty({shape}, {dtype})")
        elif isinstance(fill, Const) and not fill.value and str(fill.value) != "-0.0":
            self.put(f"{name} = np.zeros({shape}, {dtype})")
        else:
            self.put(f"{name} = np.full({shape}, {self.name(fill)}, {dtype})")


_WITHIN = frozenset({"and", "or", "xor", "invert", "mod", "shr", "select", "fitted", "load", "index", "gather"})
"""Operations of ints that give one of 64 bits."""
_OWN = frozenset({"not", "neg", "invert", "rounded", "divide", "to_float", "exact_float", "abs"})


def _spelled(op: Op, args: Sequence[str], *, lanes: bool) -> str:
    """An operation of lanes, or of Python's numbers."""
    match op.opcode:
        case "rounded":
            return f"s.narrowed({args[0]})"
        case "index":
            return f"s.inside({args[0]}, {args[1]}, None)"
        case "divide":
            return f"s.divide({args[0]}, {args[1]})"
        case "select" if not lanes:
            return f"{args[1]} if {args[0]} else {args[2]}"
        case "not" if not lanes:
            return f"not {args[0]}"
        case "to_float" | "exact_float" if not lanes:
            return f"float({args[0]})"
        case "neg" | "invert" | "abs" if not lanes:
            return {"neg": "-{}", "invert": "~{}", "abs": "abs({})"}[op.opcode].format(args[0])
    if op.opcode in _PYTHON:
        return f"{args[0]} {_PYTHON[op.opcode]} {args[1]}"
    if op.opcode == "gather":
        return spelling(op).format(*args, table=repr(op.attr("table")))
    return spelling(op).format(*args)


def _lanes(text: str) -> str:
    return f"s.lanes_of({text})" if text[:1] in "it" else text


def _as_scalar(text: str, dtype: str) -> str:
    if dtype == "f8":
        return text
    if dtype == "f4":
        return f"np.float64({text})"
    return f"bool({text})" if dtype == "b1" else f"int({text})"


def _array_name(name: str) -> str:
    return "a_" + "".join(c if c.isalnum() else "_" for c in name)


def _literal(value: Const) -> str:
    number = value.value
    if number is None:
        return {BOOL: "False", INT: "0", FLOAT: "0.0", MEMORY: "None"}[value.kind]
    if isinstance(number, float) and not math.isfinite(number):
        return f"np.float64('{number}')"
    return f"({number!r})" if number < 0 else repr(number)


def _only_leaves(node: If) -> bool:
    """One arm leaves, and the other does nothing: the test of a loop."""
    (first, *rest), last = node.then, node.orelse[-1]
    empty = not rest and isinstance(first, Block) and not first.ops and isinstance(first.end, Yield)
    return empty and not node.results and isinstance(last, Block) and isinstance(last.end, Exit)


def _checked_by_python(kernel: Kernel) -> set[Op]:
    """Indices that are used for an axis of their length, and nothing else: subscripts of Python check them."""
    fn = kernel.function
    params = iter(fn.params)
    extents: dict[str, Sequence[Value]] = {}
    memories: set[int] = set()
    for name, argument in kernel.arguments.items():
        if isinstance(argument, ArrayArgument):
            if argument.memory not in memories:
                memories.add(argument.memory)
                next(params)
            extents[name] = [next(params) for _ in range(argument.rank)]
        elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
            next(params)
    ops = list(all_ops(fn.body))
    extents.update((op.attr("array"), op.args[:-1]) for op in ops if op.opcode == "alloc")
    found = {arg for op in ops if op.opcode in ("load", "store") for arg in op.args
             if isinstance(arg, Op) and arg.opcode == "index"}
    for item in walk(fn.body):
        if isinstance(item, Block) and item.end is not None:
            found.difference_update(v for v in item.end.values if isinstance(v, Op))
    for op in ops:
        places = op.args[1:-1] if op.opcode == "store" else op.args[1:] if op.opcode == "load" else ()
        sizes = extents[op.attr("array")] if places else ()
        for arg in op.args:
            if isinstance(arg, Op) and arg in found and not (
                    arg in places and all(arg.args[1] is size for place, size in zip(places, sizes, strict=True)
                                          if place is arg)):
                found.discard(arg)
    return found
