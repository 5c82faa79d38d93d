"""A compiled kernel, called with arrays: machine code for one layout of the arguments, made at the first call."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from pyflat.frontend.kernels import Kernel
from pyflat.frontend.kernels.results import names
from pyflat.functions import libm
from pyflat.functions.locks import translating
from pyflat.ir.memory import ArrayArgument, overlaps_itself
from pyflat.ir.types import BOOL, FLOAT, MEMORY
from pyflat.targets.numba.jit import MachineCode, compile_ir, processor
from pyflat.targets.numba.kernels.emit import (
    CONTIGUOUS,
    ENTRY,
    FAULTED,
    OVERLAPPING,
    ROWS,
    STRIDED,
    WARNED,
    KernelCode,
    argument_slots,
)

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_WATCHED = 0x01 | 0x04 | 0x08
"""The flags of invalid operations, divisions by zero and overflows (x86; glibc's fenv.h)."""


class _Arrays:
    """The arrays that calls under way have made: by the number of the call, then by their addresses."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._open: dict[int, tuple[Sequence[tuple[str, int]], dict[int, Any], list[BaseException]]] = {}
        self.callback = _ALLOCATE(self._make)

    def open(self, sites: Sequence[tuple[str, int]]) -> int:
        number = next(self._numbers)
        self._open[number] = (sites, {}, [])
        return number

    def close(self, number: int) -> tuple[dict[int, Any], list[BaseException]]:
        _, made, errors = self._open.pop(number)
        return made, errors

    def _make(self, call: int, site: int, shape: int) -> int:
        sites, made, errors = self._open[call]
        dtype, rank = sites[site >> 1]
        try:
            extents = tuple((ctypes.c_int64 * rank).from_address(shape)) if rank else ()
            array = (np.zeros if site & 1 else np.empty)(extents, dtype)
        except BaseException as error:  # noqa: BLE001 - the machine code in between must end first
            errors.append(error)
            return 0
        address = array.ctypes.data or id(array)
        made[address] = array
        return int(address)


_arrays = _Arrays()


class _Code:
    """One version of a kernel in memory."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str], returned: Sequence[str], *, careful: bool):
        code = KernelCode(kernel, layouts, returned, careful=careful)
        text = code.text()
        code.symbols["pyflat_allocate"] = ctypes.cast(_arrays.callback, ctypes.c_void_p).value or 0
        self.machine: MachineCode = compile_ir(text, ENTRY, code.symbols, processor(), (code.symbols,),
                                               scalar_loops=not careful)
        self.call = _PROTOTYPE(self.machine.address)
        self.kept = sum(code.kept)
        """Numbers behind the results that mean nothing."""
        self.sites = [(op.attr("dtype"), len(op.args) - 1) for op in code.sites]


class NumbaKernel:
    """A kernel for arguments that lie like the first ones. A call gives the status, the numbers of the result and the
    arrays that it returns."""

    in_order = True

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str]):
        self.kernel, self.layouts = kernel, dict(layouts)
        self.slots = argument_slots(kernel, layouts)
        self.returned = [name for name in dict.fromkeys(names(kernel.result)) if name not in kernel.arguments]
        self.kinds = [kind for kind in kernel.function.result_kinds if kind is not MEMORY]
        self._versions: dict[bool, _Code] = {}

    def version(self, careful: bool) -> _Code:
        with translating:
            if careful not in self._versions:
                self._versions[careful] = _Code(self.kernel, self.layouts, self.returned, careful=careful)
            return self._versions[careful]

    def run(self, arguments: Mapping[str, Any], *, careful: bool, watch: bool) -> tuple[str, list[Any], dict[str, Any]]:
        """"done", "fault" or "warning"; the numbers; the arrays made. Without `careful` a warning is a guess. Without
        `watch` there are none."""
        code = self.version(careful)
        block = self._block(arguments)
        results = np.zeros(len(self.kinds) + len(self.returned) + code.kept + 1, np.int64)
        call = _arrays.open(code.sites)
        try:
            clear, test = _flags()
            clear(_WATCHED)
            status = code.call(call, block.ctypes.data, results.ctypes.data)
            raised = test(_WATCHED)
        finally:
            made, errors = _arrays.close(call)
        if errors:
            raise errors[0]
        if status & FAULTED:
            return "fault", [], {}
        if watch and (status & WARNED or raised and not careful):
            return "warning", [], {}
        addresses = results[len(self.kinds):][:len(self.returned)].tolist()
        return "done", self._numbers(results), {
            name: made[address] for name, address in zip(self.returned, addresses, strict=False)}

    def _block(self, arguments: Mapping[str, Any]) -> Any:
        block = np.empty(max(len(self.slots), 1), np.int64)
        floats = block.view(np.float64)
        for number, slot in enumerate(self.slots):
            value = arguments[slot.name]
            match slot.what:
                case "pointer":
                    block[number] = value.ctypes.data
                case "extent":
                    block[number] = value.shape[slot.axis]
                case "stride":
                    block[number] = value.strides[slot.axis]
                case _ if isinstance(value, float | np.floating):
                    floats[number] = value
                case _:
                    block[number] = value
        return block

    def _numbers(self, results: Any) -> list[Any]:
        floats = results.view(np.float64)
        return [float(floats[i]) if kind is FLOAT else bool(results[i]) if kind is BOOL else int(results[i])
                for i, kind in enumerate(self.kinds)]

    def inspect_llvm(self) -> str:
        return "\n".join(code.machine.llvm for code in self._versions.values())

    def inspect_asm(self) -> str:
        return "\n".join(code.machine.assembly() for code in self._versions.values())


def layout_of(array: Any) -> str:
    """How an array lies in memory, as code is made for it."""
    if array.flags.c_contiguous:
        return CONTIGUOUS
    if overlaps_itself(array):
        return OVERLAPPING
    return ROWS if array.ndim > 1 and array.strides[-1] == array.itemsize else STRIDED


@cache
def _flags() -> tuple[Any, Any]:
    """feclearexcept and fetestexcept."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    return kind(libm.library_symbol("feclearexcept")), kind(libm.library_symbol("fetestexcept"))


def engine(kernel: Kernel, arguments: Mapping[str, Any]) -> NumbaKernel:
    """The kernel for arguments like these."""
    layouts = {name: layout_of(arguments[name]) for name, argument in kernel.arguments.items()
               if isinstance(argument, ArrayArgument)}
    return NumbaKernel(kernel, layouts)
