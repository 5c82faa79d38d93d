"""A kernel over arrays, called by machine code once for each index of an outer loop: the inner loop of a gufunc.

    i64 drive(block, results, places, steps, n)
        for each k: the addresses of the operands into the slots of the kernel's arguments, numbers loaded there; the
        kernel; numbers of its result stored. It ends with 1 after the first call that has met anything.

The kernel is the one without tests for warnings: where a flag of the processor is raised in a part of the calls, or one
has met a fault, `run` says so, and what the outputs of that part hold is undefined.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat.functions import libm
from pyflat.ir.kernel_results import NumberResult, RecordResult
from pyflat.targets import threads
from pyflat.targets.numba.jit import compile_ir, processor
from pyflat.targets.numba.kernels.boxes import ArgumentSlot
from pyflat.targets.numba.kernels.engine import NumbaKernel

PART = 512
"""So many calls are done again where one of them meets something."""
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, ctypes.c_int64)
_FLAGS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


@dataclass(frozen=True, slots=True)
class LoopOperand:
    """An operand of the outer loop: the parameter that it is, None for a number that the kernel returns; whether it is
    one number in each call."""

    name: str | None
    dtype: np.dtype[Any]
    single: bool


class OuterLoop:
    """The loop around one version of a kernel. `fits` says whether there is one."""

    def __init__(self, engine: NumbaKernel, operands: Sequence[LoopOperand]):
        self.slots, self.kinds = engine.slots, len(engine.kinds)
        code = engine.version(False)
        places = {slot.name: number for number, slot in enumerate(engine.slots) if slot.what in ("pointer", "value")}
        numbers = _positions(engine)
        lines = ["declare i64 @kernel(i64, ptr, ptr)",
                 "define i64 @drive(ptr %block, ptr %results, ptr %places, ptr %steps, i64 %n) {",
                 "entry:", "  br label %each", "each:", "  %k = phi i64 [0, %entry], [%next, %keep]"]
        for number, operand in enumerate(operands):
            lines += _address(number)
            if operand.name is not None:
                lines += _argument(number, operand, places[operand.name])
        lines += ["  %status = call i64 @kernel(i64 0, ptr %block, ptr %results)", "  %fine = icmp eq i64 %status, 0",
                  "  br i1 %fine, label %keep, label %stop", "keep:"]
        for number, operand in enumerate(operands):
            if operand.name is None:
                lines += _result(number, operand.dtype, next(numbers))
        lines += ["  %next = add i64 %k, 1", "  %more = icmp slt i64 %next, %n",
                  "  br i1 %more, label %each, label %done", "done:", "  ret i64 0", "stop:", "  ret i64 1", "}"]
        self._kept = code
        self._pace: float | None = None
        symbols = {"kernel": code.machine.address}
        self._machine = compile_ir("\n".join(lines) + "\n", "drive", symbols, processor())
        self._drive = _PROTOTYPE(self._machine.address)

    @staticmethod
    def fits(engine: object) -> bool:
        """Whether the kernel makes no arrays, which is Python's work."""
        return isinstance(engine, NumbaKernel) and not engine.version(False).sites

    def run(self, first: Mapping[str, Any], places: Sequence[int], steps: Sequence[int], n: int, *, watch: bool,
            parallel: bool | None) -> list[tuple[int, int]]:
        """Call the kernel n times; gives the parts, from and to, in which something was met."""
        block = np.array([_slot_value(slot, first[slot.name]) for slot in self.slots] or [0], np.int64)
        apart, met = np.array(steps, np.int64), list[tuple[int, int]]()
        clear, test = (_FLAGS(libm.library_symbol(name)) for name in ("feclearexcept", "fetestexcept"))

        def run(begin: int, end: int) -> bool:
            own, results = block.copy(), np.zeros(max(self.kinds, 1), np.int64)
            for start in range(begin, end, PART):
                stop = min(start + PART, end)
                here = np.array(places, np.int64) + start * apart
                clear(libm.WATCHED)
                failed = self._drive(own.ctypes.data, results.ctypes.data, here.ctypes.data, apart.ctypes.data,
                                     stop - start)
                if failed or watch and test(libm.WATCHED):
                    met.append((start, stop))
            return True

        self._pace = threads.run_parts(run, n, self._pace, False if self._kept.calls else parallel)
        return sorted(met)


def _slot_value(slot: ArgumentSlot, value: Any) -> int:
    """What stays the same in all calls, and room for what does not."""
    match slot.what:
        case "extent":
            return int(value.shape[slot.axis])
        case "stride":
            return int(value.strides[slot.axis])
        case "value" if isinstance(value, float | np.floating):
            return int(np.float64(value).view(np.int64))
        case "value":
            return int(value)
    return 0


def _positions(engine: NumbaKernel) -> Iterator[int]:
    """Where the numbers of the result are."""
    result, at = engine.kernel.result, 0
    for item in result.items if isinstance(result, RecordResult) else (result,):
        if isinstance(item, NumberResult):
            yield at
            at += item.leaves()


def _address(k: int) -> list[str]:
    return [f"  %place_at{k} = getelementptr i64, ptr %places, i64 {k}", f"  %place{k} = load i64, ptr %place_at{k}",
            f"  %step_at{k} = getelementptr i64, ptr %steps, i64 {k}", f"  %step{k} = load i64, ptr %step_at{k}",
            f"  %far{k} = mul i64 %k, %step{k}", f"  %at{k} = add i64 %place{k}, %far{k}",
            f"  %here{k} = inttoptr i64 %at{k} to ptr"]


def _argument(k: int, operand: LoopOperand, slot: int) -> list[str]:
    lines = [f"  %slot{k} = getelementptr i64, ptr %block, i64 {slot}"]
    if not operand.single:
        return [*lines, f"  store i64 %at{k}, ptr %slot{k}"]
    type_, wide = _types(operand.dtype)
    if type_ == wide:
        return [*lines, f"  %number{k} = load {wide}, ptr %here{k}", f"  store {wide} %number{k}, ptr %slot{k}"]
    how = "fpext" if wide == "double" else "sext" if operand.dtype.kind == "i" else "zext"
    return [*lines, f"  %narrow{k} = load {type_}, ptr %here{k}", f"  %number{k} = {how} {type_} %narrow{k} to {wide}",
            f"  store {wide} %number{k}, ptr %slot{k}"]


def _result(k: int, dtype: np.dtype[Any], position: int) -> list[str]:
    type_, wide = _types(dtype)
    lines = [f"  %from{k} = getelementptr i64, ptr %results, i64 {position}",
             f"  %number{k} = load {wide}, ptr %from{k}"]
    if type_ == wide:
        return [*lines, f"  store {wide} %number{k}, ptr %here{k}"]
    how = "fptrunc" if wide == "double" else "trunc"
    return [*lines, f"  %narrow{k} = {how} {wide} %number{k} to {type_}", f"  store {type_} %narrow{k}, ptr %here{k}"]


def _types(dtype: np.dtype[Any]) -> tuple[str, str]:
    """What an element is in memory, and what a number is in a slot."""
    if dtype.kind == "f":
        return "double" if dtype.itemsize == 8 else "float", "double"
    return f"i{8 * dtype.itemsize}", "i64"
