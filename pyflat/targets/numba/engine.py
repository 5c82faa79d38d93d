"""The numba way out: one compiled loop over the lanes, straight-line code inside.

The loop is written in LLVM's IR by an `@intrinsic` (the operations by `ops`), numba compiles it, passes the
arrays and releases the GIL. Uniform arguments and what depends only on them are computed before the loop. The
kernel writes the results and ORs the suspect bit of all lanes into one flag, its result; only when that is set a
second kernel, compiled then, computes the bit of each lane. A long function, where one more store costs nothing and
a second compilation much, stores the bits at once.

LLVM's time, measured on a 2-core machine for arithmetic with selects: 0.05 s for 20 operations, 0.5 s for 2,000, 3 s
for 20,000, 12 s for 40,000.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pyflat.analysis.liveness import sliced
from pyflat.errors import refuse
from pyflat.functions import libm
from pyflat.ir.formats import dtypes
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Block, Const, Function, Op, Value, walk
from pyflat.ir.ops import OPERATIONS, Accuracy
from pyflat.ir.print import format_function
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.types import BOOL
from pyflat.ir.uses import results_of
from pyflat.targets import threads
from pyflat.targets.numba.jit import MAX_OPERANDS, Direct, MachineCode, Ufunc, compile_ir, processor
from pyflat.targets.numba.kernel import ENTRY, Kernel, Pattern, choose_shape, write_kernel
from pyflat.targets.numba.loops import INTERRUPTED, STOPPED, SUSPECTS, SharedState
from pyflat.targets.target import Request

MAX_OPERATIONS = 50_000
"""LLVM's time grows faster than the function; this many operations take it tens of seconds."""

MAX_CHAIN = 600
"""Masks that depend on each other, one after the other: 512 compile in 20 s, twice as many take three times that."""

STORED_MASK = 1_000
"""With more operations than this the values' kernel stores the suspect bits too."""

CALL_WORK = 2**27
"""Operations times lanes in one call of a kernel, so that Python gets to see Ctrl-C."""

LaneArgument = np.ndarray | np.generic


class CompiledKernel:
    """A kernel's machine code for one pattern of uniform arguments, ready to be called with its operands."""

    __slots__ = ("code", "step", "_call", "_state", "_ufunc", "_words")

    def __init__(self, kernel: Kernel, pattern: Pattern):
        cpu = processor()
        text, symbols = write_kernel(kernel, pattern, choose_shape(kernel, cpu.vector_bytes))
        self.code: MachineCode = compile_ir(text, ENTRY, symbols, cpu)
        self.step = max(CALL_WORK // (kernel.size + 1), 1)
        """Lanes in one call, so that Python gets to see Ctrl-C."""
        self._state = SharedState()
        self._words = self._state.words
        inputs, outputs = _operands(kernel)
        self._call: Any
        if inputs and outputs and len(inputs) + len(outputs) <= MAX_OPERANDS:
            self._ufunc: Ufunc | None = Ufunc(
                "twin", self.code.address, self._state.address, inputs, outputs, self.code, self._state)
            self._call = self._ufunc.call
        else:
            self._ufunc = None
            self._call = Direct(self.code.address, self._state.address, self.code, self._state)

    def entry_point(self, kernel: Kernel, dtypes: tuple[np.dtype[Any], ...]) -> KernelEntry | None:
        """The code as a ufunc with a state of its own; None where only `Direct` can call it."""
        if self._ufunc is None:
            return None
        state = SharedState()
        ufunc = Ufunc("twin", self.code.address, state.address, *_operands(kernel), self.code, state)
        return KernelEntry(ufunc.call, state, self.step, has_loop(list(kernel.items)), dtypes,
                           len(kernel.roots) - len(dtypes), ufunc)

    def _after_interrupt(self, n: int, operands: Sequence[Any]) -> None:
        """Raise what a signal handler raised here. Another thread's kernel may have left for the same reason: it runs
        again when that is over, unless its work has been given up."""
        while self._words[INTERRUPTED]:
            self._state.raise_interrupt()
            threads.raise_if_given_up()
            time.sleep(1e-3)
            if not self._words[INTERRUPTED]:
                self._call(*operands) if self._ufunc is not None else self._call(n, operands)

    def stop(self, stopped: bool) -> None:
        """Make all that run this kernel leave their loops, or let them run again."""
        self._words[INTERRUPTED] = STOPPED if stopped else 0

    @property
    def state(self) -> int:
        """The address of the state."""
        return self._state.address

    def raise_interrupt(self) -> None:
        """Raise what a signal handler raised inside the kernel."""
        self._state.raise_interrupt()

    def run(self, n: int, operands: Sequence[Any]) -> bool:
        """Compute `n` lanes; whether any is suspect. Raises what came up inside and could not be raised there."""
        words = self._words
        before = words[SUSPECTS]
        self._call(*operands) if self._ufunc is not None else self._call(n, operands)
        if words[INTERRUPTED]:
            self._after_interrupt(n, operands)
        libm.raise_pending()
        return words[SUSPECTS] != before


def _operands(kernel: Kernel) -> tuple[list[np.dtype[Any]], list[np.dtype[Any]]]:
    """The dtypes of what a kernel reads and writes."""
    known = dtypes(kernel.floats)
    return [known[v.kind] for v in kernel.params], [known[v.kind] for v in kernel.roots]


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel for callers who look at the state themselves (`pyflat.runtime.plans`). The count of suspects starts at
    0."""

    call: np.ufunc
    state: SharedState
    step: int
    """Lanes in one call at most."""
    loops: bool
    """A signal may end a call."""
    dtypes: tuple[np.dtype[Any], ...]
    hidden: int
    """So many outputs after the results are none."""
    kept: Ufunc
    """What `call` points into."""


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """The machine code of a kernel with all operands varying, as NumPy calls inner loops: addresses of the code and of
    its last operand, the state, in which it counts the suspect lanes."""

    address: int
    state: int
    compiled: CompiledKernel

    def raise_interrupt(self) -> None:
        """Raise what a signal handler raised inside the kernel."""
        self.compiled.raise_interrupt()


@dataclass(slots=True)
class NumbaEngine:
    """A function to compile and its compiled kernels; call it with lanes and their number."""

    fused: Function
    values: Kernel
    mask: Kernel | None
    dtypes: tuple[np.dtype[Any], ...]
    pace: float = math.inf
    """Seconds that a lane has taken, as far as that was measured."""
    shares: ClassVar[bool] = True
    _compiled: dict[tuple[int, Pattern], CompiledKernel] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def source(self) -> str:
        """The operations of the loop's body, as IR text."""
        return format_function(self.fused)

    def __call__(self, lanes: Sequence[LaneArgument], n: int) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Run `n` lanes: the result arrays, and the mask of suspect lanes or None when there is none.

        `lanes` are arrays of length n or NumPy scalars, of bool_, int64 or float64, in the order of the parameters.
        """
        results = [np.empty(n, dtype) for dtype in self.dtypes]
        return results, self.into(lanes, n, results)

    def into(self, lanes: Sequence[LaneArgument], n: int, results: list[np.ndarray]) -> np.ndarray | None:
        """The same, with the results written into these arrays; gives the mask."""
        if self.mask is not None and self.mask is self.values:
            suspects = np.empty(n, dtype=np.bool_)
            return suspects if self._run(self.values, lanes, n, [*results, suspects]) else None
        if not self._run(self.values, lanes, n, results) or self.mask is None:
            return None
        suspects = np.empty(n, dtype=np.bool_)
        self._run(self.mask, lanes, n, [suspects])
        return suspects

    def _run(self, kernel: Kernel, lanes: Sequence[LaneArgument], n: int, outputs: list[np.ndarray]) -> bool:
        """Run the kernel in calls of bounded length; whether any lane is suspect."""
        pattern = tuple([not isinstance(lane, np.ndarray) for lane in lanes])
        compiled = self._compiled.get((id(kernel), pattern)) or self._compile(kernel, pattern)
        step = compiled.step
        if n <= step:
            return compiled.run(n, [*lanes, *outputs])
        suspect = False
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            inputs = [lane[part] if isinstance(lane, np.ndarray) else lane for lane in lanes]
            suspect |= compiled.run(part.stop - start, [*inputs, *[output[part] for output in outputs]])
        return suspect

    def _compile(self, kernel: Kernel, pattern: Pattern) -> CompiledKernel:
        key = id(kernel), pattern
        with self._lock, room_to_recurse(self.fused):
            if key not in self._compiled:
                self._compiled[key] = CompiledKernel(kernel, pattern)
            return self._compiled[key]

    def stop(self, stopped: bool) -> None:
        """Make all kernels leave their loops: what they compute is given up."""
        for compiled in tuple(self._compiled.values()):
            compiled.stop(stopped)

    def entry_point(self, pattern: Pattern) -> KernelEntry | None:
        """The values' kernel for this pattern by itself; None before a call compiles it, and where it calls Python."""
        compiled = self._compiled.get((id(self.values), pattern))
        if compiled is None or any(_calls_python(op) for op in all_ops(list(self.values.items))):
            return None
        return compiled.entry_point(self.values, self.dtypes)

    def inner_loop(self) -> InnerLoop | None:
        """The values' kernel by itself, None where it calls back into Python, which cannot raise there."""
        kernel = self.values
        if any(_calls_python(op) for op in all_ops(list(kernel.items))):
            return None
        if kernel is self.mask:
            kernel = Kernel(kernel.params, kernel.items, kernel.roots[:-1], kernel.suspect, kernel.floats)
        with room_to_recurse(self.fused):
            compiled = CompiledKernel(kernel, (False,) * len(kernel.params))
        return InnerLoop(compiled.code.address, compiled.state, compiled)

    def inspect_llvm(self) -> str:
        """The optimised LLVM IR of the kernels that have been compiled."""
        return "\n".join(compiled.code.llvm for compiled in self._compiled.values())

    def inspect_asm(self) -> str:
        """The machine code of the kernels that have been compiled, as text."""
        return "\n".join(compiled.code.assembly() for compiled in self._compiled.values())


def _calls_python(op: Op) -> bool:
    """Whether CPython's own function is called."""
    if op.opcode == "round_digits":
        return True
    accuracy = OPERATIONS[op.opcode].accuracy
    return accuracy is Accuracy.CALL or (accuracy is Accuracy.LIBM and not libm.from_library(op.opcode))


def longest_mask_chain(fused: Function) -> int:
    """How many and/or of bools follow on each other: an unrolled loop with a break in it has one for each copy."""
    depth: dict[Value, int] = {}
    for item in walk(fused.body):
        for op in item.ops if isinstance(item, Block) else ():
            if op.opcode in ("and", "or") and op.kind is BOOL:
                depth[op] = 1 + max(depth.get(arg, 0) for arg in op.args)
    return max(depth.values(), default=0)


def engine(request: Request) -> NumbaEngine:
    """The target "numba"."""
    return compile(request.fused(), unchecked=request.unchecked)


def compile(fused: Function, *, unchecked: bool = False) -> NumbaEngine:
    """The engine of a fused function: its last result is the suspect bit, which `unchecked` leaves out.

    Kernels are compiled at the first call, one for each pattern of uniform arguments.
    """
    *roots, suspect = results_of(fused)
    checked = not unchecked and not (isinstance(suspect, Const) and not suspect.value)
    params = tuple(fused.params)
    items = tuple(sliced(fused.body, [*roots, suspect] if checked else roots))
    count = Kernel(params, items, (), None).size
    if count > MAX_OPERATIONS:
        raise refuse(
            "flatten/too-large", f"the twin has {count:,} operations, the numba target takes {MAX_OPERATIONS:,}",
            help='use target="numpy", shorten the loop, or flatten the inner function on its own',
        )
    chain = longest_mask_chain(fused)
    if chain > MAX_CHAIN:
        raise refuse(
            "flatten/too-large", f"the twin has a chain of {chain:,} live masks, the numba target takes {MAX_CHAIN:,}",
            why="LLVM's time grows with more than the square of the chain",
            help='let the loop stay a loop (loops="auto"), or use target="numpy"',
        )
    floats = fused.floats
    made = tuple(dtypes(floats)[root.kind] for root in roots)
    if not checked:
        return NumbaEngine(fused, Kernel(params, items, tuple(roots), None, floats), None, made)
    if count > STORED_MASK or fused.form == "masked":
        both = Kernel(params, items, (*roots, suspect), suspect, floats)
        return NumbaEngine(fused, both, both, made)
    mask = Kernel(params, tuple(sliced(fused.body, [suspect])), (suspect,), None, floats)
    return NumbaEngine(fused, Kernel(params, items, tuple(roots), suspect, floats), mask, made)
