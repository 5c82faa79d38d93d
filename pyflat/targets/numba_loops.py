"""Gangs of lanes inside a compiled kernel: straight-line code for all of them, and loops that they run together.

A gang is a few vector registers full of lanes. A loop runs while any lane of the gang goes on:

    head:  x = phi(init, select(go, next, x))       header, for all lanes
           go = condition & active
           if no lane goes on: end
    rest:  rest of the body, under the mask `go`; then head
    end:   the results are what the header has computed

A lane that is done keeps its state, and a header is a function of the state, so that each further trip computes the
same for it: the last header has the results of all lanes, and no mask has to be carried. A loop inside is run by the
lanes that are active around it. Several registers give the processor independent work while a chain of dependent
operations waits, and share the test.

A loop may run for minutes, and the kernel holds no GIL: once in `PATIENCE` trips it asks CPython whether a signal has
come. What a signal handler raised (KeyboardInterrupt, mostly) is fetched, the kernel is left, and `State` raises it
when Python is back.
"""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import Block, Const, Item, Loop, Value
from pyflat.targets.numba_ir import I8, I32, I64, POINTER, element_at, i64, stack
from pyflat.targets.numba_ops import Emitter, Lane, emit

PATIENCE = 2**16
"""Trips between two looks at the signals: below a millisecond for small bodies, a second for the largest."""

SUSPECTS, INTERRUPTED, FETCHED = 0, 1, 2
"""Slots of the state: how often suspect lanes were seen, whether a signal made the kernel leave, and what the handler
raised (type, value, traceback)."""


LEFT_EARLY = 2
"""What a function returns that was left because of a signal, together with 1 for suspect lanes."""


class State:
    """Memory that a kernel and Python share. CPython runs signal handlers in the main thread only."""

    __slots__ = ("words",)

    def __init__(self) -> None:
        self.words = array("q", [0] * 5)

    @property
    def address(self) -> int:
        return self.words.buffer_info()[0]

    def raise_interrupt(self) -> None:
        """Raise what a signal handler raised inside the kernel."""
        if not self.words[INTERRUPTED] or threading.current_thread() is not threading.main_thread():
            return
        raised = [ctypes.c_void_p(self.words[FETCHED + k] or None) for k in range(3)]
        for slot in range(INTERRUPTED, FETCHED + 3):
            self.words[slot] = 0
        restore = ctypes.pythonapi.PyErr_Restore
        restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
        restore(*raised)


class Interrupts:
    """Counts the trips of all loops of a function together; `leave` is where an interrupted one goes, with the byte
    `left_early` set."""

    def __init__(self, emitter: Emitter, state: Any, leave: Any):
        self.emitter = emitter
        self.state = state
        self.leave = leave
        self.left_early = stack(emitter.builder, I8)
        emitter.builder.store(ir.Constant(I8, 0), self.left_early)
        self.left = stack(emitter.builder, I32)
        emitter.builder.store(ir.Constant(I32, PATIENCE), self.left)

    def count_trip(self) -> None:
        builder = self.emitter.builder
        left = builder.sub(builder.load(self.left, typ=I32), ir.Constant(I32, 1))
        builder.store(left, self.left)
        with builder.if_then(builder.icmp_signed("==", left, ir.Constant(I32, 0)), likely=False):
            builder.store(ir.Constant(I32, PATIENCE), self.left)
            self._look()

    def _look(self) -> None:
        """NumPy keeps the GIL for a few hundred lanes: other threads, which may want to send the signal, get it here."""
        builder = self.emitter.builder
        held = self._python("PyGILState_Ensure", I32)
        raised = builder.icmp_signed("!=", self._python("PyErr_CheckSignals", I32), ir.Constant(I32, 0))
        with builder.if_then(raised, likely=False):
            self._python("PyErr_Fetch", ir.VoidType(), *[self._slot(FETCHED + k) for k in range(3)])
            builder.store(i64(1), self._slot(INTERRUPTED))
            builder.store(ir.Constant(I8, LEFT_EARLY), self.left_early)
        self._python("PyEval_RestoreThread", ir.VoidType(), self._python("PyEval_SaveThread", POINTER))
        self._python("PyGILState_Release", ir.VoidType(), held)
        with builder.if_then(raised, likely=False):
            builder.branch(self.leave)

    def _slot(self, number: int) -> Any:
        return element_at(self.emitter.builder, self.state, i64(number), I64)

    def _python(self, name: str, result: ir.Type, *args: Any) -> Any:
        location = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        assert location is not None
        return self.emitter.call(name, location, *args, result=result, pure=False)


class Gang:
    """The lanes that run together: `registers` times the emitter's width. `sets` has the values of each register,
    `active` their masks (None: all lanes)."""

    def __init__(self, emitter: Emitter, registers: int, interrupts: Interrupts | None, shared: dict[Value, Lane]):
        self.emitter = emitter
        self.registers = range(registers)
        self.interrupts = interrupts
        self.sets: list[dict[Value, Lane]] = [dict(shared) for _ in self.registers]
        self.active: list[Any] = [None] * registers

    def read(self, register: int, value: Value) -> Lane:
        if isinstance(value, Const):
            return self.emitter.const(value.kind, value.value)
        return self.sets[register][value]

    def emit(self, items: Sequence[Item]) -> None:
        """Write a list of a flat or masked function at the builder's place."""
        for item in items:
            match item:
                case Block():
                    self._block(item)
                case Loop():
                    self._loop(item)

    def _block(self, block: Block) -> None:
        for register, lanes in enumerate(self.sets):
            self.emitter.active = self.active[register]
            for op in block.ops:
                lanes[op] = emit(self.emitter, op, [self.read(register, arg) for arg in op.args])

    def _loop(self, loop: Loop) -> None:
        assert self.interrupts is not None
        builder, parts, around = self.emitter.builder, take_apart(loop), self.active
        inits = [[self.read(r, value).value for value in loop.inits] for r in self.registers]
        head, rest, end = (builder.append_basic_block(name) for name in ("head", "rest", "end"))
        before = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        carried = [[self._carried(r, param, init, before) for param, init in zip(loop.params, inits[r], strict=True)]
                   for r in self.registers]
        self.emit(parts.header)
        go = [self._masked(r, self.read(r, parts.go).value) for r in self.registers]
        leave = [[self.read(r, value) for value in parts.leave] for r in self.registers]
        builder.cbranch(self.emitter.any(reduce(builder.or_, go)), rest, end)
        builder.position_at_end(rest)
        alone = self.emitter.width == 1 and len(go) == 1
        self.active = [None] if alone else go
        self.emit(parts.rest)
        self.interrupts.count_trip()
        for r, phis in enumerate(carried):
            for phi, value in zip(phis, parts.next, strict=True):
                after = self.read(r, value).value
                phi.add_incoming(after if alone else builder.select(go[r], after, phi), builder.block)
        builder.branch(head)
        builder.position_at_end(end)
        self.active = around
        for lanes, values in zip(self.sets, leave, strict=True):
            lanes.update(zip(loop.results, values, strict=True))

    def _carried(self, register: int, param: Value, init: Any, before: Any) -> Any:
        phi = self.emitter.builder.phi(self.emitter.types[param.kind])
        phi.add_incoming(init, before)
        self.sets[register][param] = Lane(self.emitter, param.kind, phi)
        return phi

    def _masked(self, register: int, mask: Any) -> Any:
        active = self.active[register]
        return mask if active is None else self.emitter.builder.and_(mask, active)
