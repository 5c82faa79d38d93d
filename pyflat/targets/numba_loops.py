"""Loops inside a compiled kernel: one lane at a time, with a branch on the condition to go on.

A loop may run for minutes, and the kernel holds no GIL: once in `PATIENCE` trips it asks CPython whether a signal has
come. What a signal handler raised (KeyboardInterrupt, mostly) is fetched, the kernel is left, and `raise_interrupt`
raises it when Python is back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import Const, Item, Loop, Value
from pyflat.targets.numba_ops import I32, I64, TYPES, Emitter, Lane

PATIENCE = 2**16
"""Trips between two looks at the signals: below a millisecond for small bodies, a second for the largest."""

INTERRUPTED = 2
"""The flag of a kernel that was left because of a signal."""

_fetched = (ctypes.c_void_p * 3)()
"""Type, value and traceback of what the handler raised. CPython runs handlers in the main thread only."""


def raise_interrupt() -> None:
    """Raise what a signal handler raised inside a kernel."""
    restore = ctypes.pythonapi.PyErr_Restore
    restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
    kind, value, traceback = _fetched
    _fetched[:] = [None] * 3
    restore(kind, value, traceback)


class Interrupts:
    """Counts the trips of all loops of a kernel together; `leave` is where an interrupted kernel goes."""

    def __init__(self, emitter: Emitter, flag: Any, leave: Any):
        self.emitter = emitter
        self.flag = flag
        self.leave = leave
        self.left = cgutils.alloca_once_value(emitter.builder, ir.Constant(I32, PATIENCE))

    def count_trip(self) -> None:
        builder = self.emitter.builder
        left = builder.sub(builder.load(self.left), ir.Constant(I32, 1))
        builder.store(left, self.left)
        with builder.if_then(builder.icmp_signed("==", left, ir.Constant(I32, 0)), likely=False):
            builder.store(ir.Constant(I32, PATIENCE), self.left)
            self._look()

    def _look(self) -> None:
        builder = self.emitter.builder
        state = self._python("PyGILState_Ensure", I32)
        raised = builder.icmp_signed("!=", self._python("PyErr_CheckSignals", I32), ir.Constant(I32, 0))
        with builder.if_then(raised, likely=False):
            size, start = ctypes.sizeof(ctypes.c_void_p), ctypes.addressof(_fetched)
            self._python("PyErr_Fetch", ir.VoidType(), *[ir.Constant(I64, start + k * size) for k in range(3)])
            builder.store(ir.Constant(self.flag.type.pointee, INTERRUPTED), self.flag)
        self._python("PyGILState_Release", ir.VoidType(), state)
        with builder.if_then(raised, likely=False):
            builder.branch(self.leave)

    def _python(self, name: str, result: ir.Type, *args: Any) -> Any:
        location = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        assert location is not None
        return self.emitter.call(name, location, *args, result=result, pure=False)


def emit_loop(
    loop: Loop,
    emitter: Emitter,
    lanes: dict[Value, Lane],
    interrupts: Interrupts,
    emit_list: Callable[[Sequence[Item]], None],
) -> None:
    """Emit a canonical loop at the builder's place; `lanes` are the values emitted so far, `emit_list` adds to them."""

    def read(value: Value) -> Lane:
        return emitter.const(value.kind, value.value) if isinstance(value, Const) else lanes[value]

    builder, parts = emitter.builder, take_apart(loop)
    inits = [read(value).value for value in loop.inits]
    head, rest, end = (builder.append_basic_block(name) for name in ("head", "rest", "end"))
    before = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    carried = []
    for param, init in zip(loop.params, inits, strict=True):
        phi = builder.phi(TYPES[param.kind])
        phi.add_incoming(init, before)
        lanes[param] = Lane(emitter, param.kind, phi)
        carried.append(phi)
    emit_list(parts.header)
    leave = [read(value) for value in parts.leave]
    builder.cbranch(read(parts.go).value, rest, end)
    builder.position_at_end(rest)
    emit_list(parts.rest)
    interrupts.count_trip()
    after = [read(value).value for value in parts.next]
    for phi, value in zip(carried, after, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(end)
    lanes.update(zip(loop.results, leave, strict=True))
