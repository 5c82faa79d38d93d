"""A compiled kernel, called with arrays: machine code for one layout of the arguments, made at the first call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.shared_loops import FIRST, LAST, shared_kernel
from pyflat.frontend.callables import NOT_GIVEN
from pyflat.functions import libm
from pyflat.functions.locks import translating
from pyflat.ir.kernel_results import Outcome, names
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import ArrayArgument, ScalarArgument, overlaps_itself
from pyflat.ir.nodes import Op
from pyflat.ir.shape import Fixed, Leaf
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numba.jit import MachineCode, Passes, compile_ir, processor
from pyflat.targets.numba.kernels.boxed import BoxedArgument, boxed
from pyflat.targets.numba.kernels.boxes import ENTRY, FAULTED, WAITED, WARNED, WRAPPED, argument_slots
from pyflat.targets.numba.kernels.emit import KernelCode
from pyflat.targets.numba.kernels.operations import ROOM
from pyflat.targets.numba.kernels.places import CONTIGUOUS, OVERLAPPING, ROWS, STRIDED
from pyflat.targets.numba.kernels.routines import THREAD, RunningCall
from pyflat.targets.numba.python_objects import ARRAY, INTEGER, RAW, SAME, TRUTH, address_of

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def _make(_: int, site: int, shape: int) -> int:
    call = THREAD.calls[-1]
    dtype, extents = (_BYTE, _extents(1)) if site == ROOM else call.sites[site >> 1]
    try:
        return call.keep((np.zeros if site & 1 and site != ROOM else np.empty)(extents.from_address(shape)[:], dtype))
    except BaseException as error:  # noqa: BLE001 - the machine code in between must end first
        call.errors.append(error)
        return 0


_make_array = _ALLOCATE(_make)
_BYTE = np.dtype("u1")


@cache
def _extents(rank: int) -> Any:
    return ctypes.c_int64 * rank


class _Code:
    """One version of a kernel in memory."""

    def __init__(self, code: KernelCode):
        text, careful = code.text(), code.careful
        code.symbols["pyflat_allocate"] = ctypes.cast(_make_array, ctypes.c_void_p).value or 0
        self.machine: MachineCode = compile_ir(text, ENTRY, code.symbols, processor(), (code.symbols,),
                                               passes=Passes.ALL if careful else Passes.VECTORS)
        self.call = _PROTOTYPE(self.machine.address)
        self.kept, self.met = sum(code.kept), len(code.met)
        """Numbers behind the results: some that mean nothing, and a flag for each warning."""
        self.sites = [(np.dtype(op.attr("dtype")), _extents(len(op.args) - 1)) if op.opcode == "alloc" else None
                      for op in code.sites]
        self.calls = "PyObject_Vectorcall" in code.symbols
        self.bodies = [plan.inner for plan in code.outlined.values()]


@dataclass(frozen=True, slots=True)
class _Making:
    """Calls of a kernel that has arrays made, or calls Python: where arrays are takes the place of its last numbers."""

    call: Callable[..., Any]
    code: _Code
    returned: Sequence[str]
    watch: bool

    def __call__(self, *arguments: Any) -> Any:
        with RunningCall(self.code.sites, self.watch, self.code.calls) as met:
            found = self.call(*arguments)
        if not self.returned or found is NotImplemented or found is ...:
            return found
        if type(found) is int:
            return met.made.get(found)
        first = len(found) - len(self.returned)
        return *found[:first], *[met.made.get(address) for address in found[first:]]


class NumbaKernel:
    """A kernel for arguments that lie like the first ones. A call gives the status, the numbers of the result and the
    arrays that it returns."""

    in_steps = None, 0

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str]):
        self.kernel, self.layouts = kernel, dict(layouts)
        self.slots = argument_slots(kernel, layouts)
        self.returned = [name for name in dict.fromkeys(names(kernel.result)) if name not in kernel.arguments]
        self.kinds = [kind for kind in kernel.function.result_kinds if kind is not MEMORY]
        self._written: dict[bool, KernelCode] = {}
        self._versions: dict[bool, _Code] = {}
        self._sites = [op for op in all_ops(kernel.function.body) if op.opcode in ("alloc", "routine")]

    def version(self, careful: bool) -> _Code:
        with translating:
            if careful not in self._versions:
                self._versions[careful] = _Code(self._code(careful))
            return self._versions[careful]

    @cached_property
    def ends(self) -> set[Op] | None:
        with translating:
            code = self._code(False)
            return None if any(plan.raises for plan in code.outlined.values()) else code.ends

    def _code(self, careful: bool) -> KernelCode:
        if careful not in self._written:
            self._written[careful] = KernelCode(self.kernel, self.layouts, self.returned, careful=careful)
        return self._written[careful]

    @cached_property
    def shared(self) -> NumbaKernel | str:
        """The kernel for some of the iterations, which threads share, or why there is none."""
        if OVERLAPPING in self.layouts.values():
            return "an argument overlaps itself"
        with translating:
            found = shared_kernel(self.kernel)
        if isinstance(found, str):
            return found
        return NumbaKernel(found, {**self.layouts, **dict.fromkeys(found.no_arrays(), CONTIGUOUS)})

    def run(self, arguments: Mapping[str, Any], *, careful: bool, watch: bool, strict: bool = False) -> Outcome:
        """`careful` and so on: see `runtime.kernel_threads.RunnableKernel`."""
        code = self.version(careful)
        block, results = self._block(arguments), self._room(code)
        with RunningCall(code.sites, watch, code.calls) as met:
            state = _ran(code, block, results, _watched(), careful=careful, watch=watch, strict=strict)
        first = len(self.kinds) + len(self.returned)
        if state in ("fault", "unclear") or state == "warning" and not careful:
            return Outcome(state)
        addresses = results[len(self.kinds):first].tolist()
        made = {name: met.made.get(address) for name, address in zip(self.returned, addresses, strict=True)}
        warnings = frozenset(np.flatnonzero(results[first + code.kept:]).tolist())
        return Outcome(state, self._numbers(results), made, warnings)

    def part(self, arguments: Mapping[str, Any], *, watch: bool, strict: bool) -> Callable[[int, int], str]:
        """Of a `shared` kernel: the state after iterations from one to another. Threads may call it at once, in other
        error states than the caller's."""
        code, block, watched = self.version(False), self._block({**arguments, FIRST: 0, LAST: 0}), _watched()

        def run(first: int, last: int) -> str:
            own = block.copy()
            own[-2:] = first, last
            return _ran(code, own, self._room(code), watched, careful=False, watch=watch, strict=strict)

        run.__dict__["kept"] = arguments
        return run

    def _room(self, code: _Code) -> Any:
        return np.zeros(len(self.kinds) + len(self.returned) + code.kept + code.met + 1, np.int64)

    def direct(self, given: Mapping[str, Any], saved: Collection[str], *, watch: bool, release: bool,
               limit: float = 0.0) -> Callable[..., Any] | None:
        """A function of arguments like these that runs the kernel at once: it gives the numbers of the result, alone or
        as a tuple, and the arrays made; NotImplemented where the arguments are of other types; Ellipsis for what the
        original is to say. None where there is none. `saved`: arrays to put back then; `release`: it takes long;
        `limit`: seconds after which it takes no arrays of that size any more, 0: there is none."""
        arguments = [self._given(name, value, name in saved) for name, value in given.items()]
        if None in arguments:
            return None
        code, watched = self.version(False), _watched() if watch else 0
        call = boxed(code.machine.address, [each for each in arguments if each is not None], len(self.slots),
                     [*self.kinds, *[INT] * len(self.returned)], code.kept, watch=watched, release=release, limit=limit,
                     kept=code)
        if call is None or not self._sites:
            return call
        return _Making(call, code, self.returned, watch)

    def _given(self, name: str, value: Any, saved: bool) -> BoxedArgument | None:
        argument = self.kernel.arguments.get(name)
        match argument:
            case ArrayArgument() if value.dtype is np.dtype(value.dtype.str):
                layout = self.layouts[name]
                gaps = layout != CONTIGUOUS
                if layout == OVERLAPPING or gaps and (saved or self.kernel.models):
                    return None  # what lies in gaps is not ours to put back
                written = name in self.kernel.written
                return BoxedArgument(ARRAY, value.dtype, argument.rank, written, saved, gaps, rows=layout == ROWS)
            case ScalarArgument() if type(value) in (np.float64, np.int64):
                return BoxedArgument(RAW, type(value))
            case Leaf():
                return BoxedArgument({FLOAT: RAW, INT: INTEGER, BOOL: TRUTH}[argument.kind], type(value))
            case None | Fixed() if value is NOT_GIVEN or value is None or type(value) in (str, bool, int, float):
                return BoxedArgument(SAME, value)
        return None

    def _block(self, arguments: Mapping[str, Any]) -> Any:
        block = np.empty(max(len(self.slots), 1), np.int64)
        floats = block.view(np.float64)
        for number, slot in enumerate(self.slots):
            value = arguments[slot.name]
            match slot.what:
                case "pointer":
                    block[number] = address_of(value)
                case "extent":
                    block[number] = value.shape[slot.axis]
                case "stride":
                    block[number] = value.strides[slot.axis]
                case _ if isinstance(value, float | np.floating):
                    floats[number] = value
                case _ if isinstance(value, np.uint64):
                    block[number] = value.astype(np.int64)  # the same bits
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


def _ran(code: _Code, block: Any, results: Any, watched: int, *, careful: bool, watch: bool, strict: bool) -> str:
    """Run it; how it has ended (`Outcome`)."""
    clear, test = _flags()
    clear(libm.WATCHED)
    status = code.call(int(strict), block.ctypes.data, results.ctypes.data)
    raised = test(libm.WATCHED)
    if status & FAULTED:
        for body in code.bodies:
            body.raise_interrupt()
        return "unclear" if status & WAITED else "fault"
    return "warning" if watch and (raised and not careful or status & watched) else "done"


def _watched() -> int:
    """Bits of what a kernel gives that count in NumPy's error state of now: overflows of ints may be ignored alone."""
    return WARNED if np.geterr()["over"] == "ignore" else WARNED | WRAPPED


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
