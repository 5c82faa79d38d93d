"""The numba way out: one compiled loop over the lanes, straight-line code inside.

The loop is written in LLVM's IR (`kernel`, the operations by `ops`) and compiled by llvmlite (`jit`), without numba's
compiler. NumPy calls it as the inner loop of a ufunc, without the GIL. Uniform arguments and what depends only on
them are computed before the loop. The kernel writes the results and ORs the suspect bit of all lanes into one flag;
only when that is set a second kernel, compiled then, computes the bit of each lane. A long function or one with a kept
loop, where one more store costs little and a second compilation much, stores the bits at once.

LLVM's time, measured on a 2-core machine for arithmetic with selects: 0.3 s for 12,000 operations, 2 s for 48,000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import llvmlite
import numpy as np

from pyflat.functions import ways
from pyflat.functions.locks import translating
from pyflat.ir.formats import dtypes
from pyflat.ir.recursion import no_full_collections, room_to_recurse
from pyflat.targets.kept import Made, Shelf
from pyflat.targets.numba.compiled_kernel import (
    ENTRY,
    MOST_KERNELS,
    NO_BODY,
    CompiledKernel,
    InnerLoop,
    KernelBody,
    KernelEntry,
    KernelFacts,
    Pattern,
    Stored,
    few_lanes,
    stored_of,
)
from pyflat.targets.numba.jit import Processor, load_code, processor
from pyflat.targets.numba.symbols import notes_on, symbols_of
from pyflat.targets.operands import Operand, Spread
from pyflat.targets.target import Request

if TYPE_CHECKING:
    from pyflat.ir.nodes import Function
    from pyflat.targets.numba.kernel import LaneLoop

MAX_OPERATIONS = 50_000
"""So many take LLVM some seconds."""

STORED_MASK = 1_000
"""With more operations than this the values' kernel stores the suspect bits too."""

SPREAD_BLOCK = 2**14
"""Lanes that are copied at a time where an operand is no view with one axis."""


Role = Literal["values", "mask"]

_Key = tuple[str, Pattern, Stored]
"""What a kernel is for: its role, which arguments are scalars, and what is read as it is stored."""


class LaneKernels:
    """The kernels of a function, cut out of it when they are asked for. `mask` is the role of the kernel that stores
    which lanes are suspect; None where that is not asked for. `body`: of a kernel over arrays."""

    def __init__(self, function: Callable[[], Function], checked: bool, mask: Role | None,
                 body: KernelBody = NO_BODY):
        self._function, self._checked, self.mask, self._body = function, checked, mask, body
        self._made: dict[tuple[str, Stored], LaneLoop] = {}

    @property
    def fused(self) -> Function:
        return self._function()

    def of(self, role: str, read: Stored = ()) -> LaneLoop:
        """The kernel of a role, for lanes as they are, or read from other dtypes."""
        if (role, read) not in self._made:
            from pyflat.targets.numba.compilation import cut

            written = (role, self.mask) == ("values", "values")
            self._made[role, read] = cut(self.fused, role, read, checked=self._checked, masked=written,
                                             body=self._body)
        return self._made[role, read]

@dataclass(slots=True)
class NumbaEngine:
    """A function to compile and its compiled kernels; call it with lanes and their number."""

    kernels: LaneKernels
    facts: KernelFacts
    """Facts of the kernel of the values."""
    dtypes: tuple[np.dtype[Any], ...]
    cost: float = math.inf
    """The cost of a register of lanes in that kernel, in adds (`compiled_kernel`)."""
    shelf: Shelf | None = None
    """Where machine code is kept for another process."""
    pace: float = math.inf
    """Seconds that a lane has taken, as far as that was measured."""
    shares: ClassVar[bool] = True
    _compiled: dict[_Key, CompiledKernel] = field(default_factory=dict)
    _few: dict[_Key, CompiledKernel] = field(default_factory=dict)
    """Kernels for few lanes, where there are no others yet."""

    @property
    def fused(self) -> Function:
        return self.kernels.fused

    @property
    def values(self) -> LaneLoop:
        """The kernel that computes the values."""
        return self.kernels.of("values")

    @property
    def source(self) -> str:
        """The operations of the loop's body, as IR text."""
        from pyflat.ir.print import format_function

        return format_function(self.fused)

    def to_keep(self) -> dict[str, Any]:
        """What `restored` takes, as JSON has it."""
        return {"facts": self.facts, "dtypes": [dtype.str for dtype in self.dtypes], "mask": self.kernels.mask,
                "cost": self.cost}

    def __call__(self, lanes: Sequence[Operand], n: int) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Run `n` lanes: the result arrays, and the mask of suspect lanes or None when there is none.

        `lanes` are arrays of length n, of any numeric dtype, byte order and stride, a `Spread` of as many, or NumPy
        scalars of bool_, int64 or float64, in the order of the parameters.
        """
        results = [np.empty(n, dtype) for dtype in self.dtypes]
        return results, self.into(lanes, n, results)

    def prepare(self, lanes: Sequence[Operand]) -> None:
        """Compile the kernels that a run over lanes like these takes, that of the mask too."""
        pattern = tuple([isinstance(lane, np.generic) for lane in lanes])
        for role in dict.fromkeys(("values", self.kernels.mask)):
            if role is not None:
                compiled = self._compile(role, pattern, self._read(role, pattern, _arrays(lanes)))
                own = compiled.facts.operands[0]
                compiled.prepare(tuple([dtype if isinstance(lane, Spread) else lane.dtype
                                        for lane, dtype in zip(lanes, own, strict=True)]))

    def _read(self, role: str, pattern: Pattern, given: Sequence[np.dtype[Any] | None]) -> Stored:
        """What a kernel for operands of these dtypes (None: a scalar) reads as it is stored."""
        if role != "values" or self.cost == math.inf:
            return ()
        read = stored_of(self.cost, self.facts.operands[0], given)
        known = {*tuple(self._compiled), *tuple(self._few)}  # another thread may add some
        others = sum(bool(each[2]) and each[1] == pattern for each in known)
        return read if others < MOST_KERNELS or (role, pattern, read) in known else ()

    def into(self, lanes: Sequence[Operand], n: int, results: list[np.ndarray]) -> np.ndarray | None:
        """Run `n` lanes, with the results written into these arrays; gives the mask."""
        mask = self.kernels.mask
        if mask == "values":
            suspects = np.empty(n, dtype=np.bool_)
            return suspects if self._run("values", lanes, n, [*results, suspects]) else None
        if not self._run("values", lanes, n, results) or mask is None:
            return None
        suspects = np.empty(n, dtype=np.bool_)
        self._run(mask, lanes, n, [suspects])
        return suspects

    def _run(self, role: Role, lanes: Sequence[Operand], n: int, outputs: list[np.ndarray]) -> bool:
        """Run the kernel in calls of bounded length; whether any lane is suspect."""
        pattern = tuple([isinstance(lane, np.generic) for lane in lanes])
        read = self._read(role, pattern, _arrays(lanes))
        compiled = (self._compiled.get((role, pattern, read))
                    or self._compile(role, pattern, read, few=ways.FEW.first(n <= few_lanes())))
        buffers = {k: np.empty(min(n, SPREAD_BLOCK), dtype) for k, dtype in enumerate(compiled.facts.operands[0])
                   if isinstance(lanes[k], Spread)}
        step = min(compiled.step, SPREAD_BLOCK) if buffers else compiled.step
        if n <= step and not buffers:
            return compiled.run(n, [*lanes, *outputs])
        suspect = False
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            inputs = [lane if isinstance(lane, np.generic) else lane[part] for lane in lanes]
            inputs = [_copied(lane, buffers[k]) if isinstance(lane, Spread) else lane for k, lane in enumerate(inputs)]
            suspect |= compiled.run(part.stop - start, [*inputs, *[output[part] for output in outputs]])
        return suspect

    def _compile(self, role: str, pattern: Pattern, read: Stored = (), *, few: bool = False) -> CompiledKernel:
        key = role, pattern, read
        if few and key in self._few:
            return self._few[key]
        with translating, no_full_collections():
            found = self._compiled.get(key) or (self._few.get(key) if few else None)
            if found is None:
                found = self._found(*key, few)
                if found is None:
                    found = self._made(*key, few)
                    found = self._found(*key, few) or found if ways.ORIGIN.forced == "disk" else found
                (self._few if found.few else self._compiled)[key] = found
            return found

    def _found(self, role: str, pattern: Pattern, read: Stored, few: bool) -> CompiledKernel | None:
        return (self._kept(role, pattern, read, True) if few else None) or self._kept(role, pattern, read, False)

    def _made(self, role: str, pattern: Pattern, read: Stored, few: bool) -> CompiledKernel:
        from pyflat.targets.numba.compilation import compile_kernel, keeps_lanes

        with room_to_recurse(self.fused):
            if read and keeps_lanes(self.kernels.of(role), processor().vector_bytes):
                return self._compile(role, pattern, few=few)
            made, symbols = compile_kernel(self.kernels.of(role, read), pattern, read, few)
        kept_as = made.code.kept_as
        if self.shelf is not None and kept_as is not None and (found := notes_on(symbols)) is not None:
            notes, tables = found
            facts = {"code": kept_as, "symbols": notes, "facts": made.facts, "ways": made.noted}
            self.shelf.store(Made(facts, tables), *_label(role, pattern, read, made.few, processor()))
        return made

    def _kept(self, role: str, pattern: Pattern, read: Stored, few: bool) -> CompiledKernel | None:
        """What another process has compiled."""
        cpu = processor()
        found = None if self.shelf is None else self.shelf.load(*_label(role, pattern, read, few, cpu))
        if found is None:
            return None
        symbols = symbols_of(found.facts["symbols"], found.code)
        code = load_code(found.facts["code"], ENTRY, symbols, cpu, symbols.kept)
        if code is None:
            return None
        chosen = {name: set(values) for name, values in found.facts["ways"].items()}
        return CompiledKernel(KernelFacts(*found.facts["facts"]), pattern, code, read, few, chosen)

    def stop(self, stopped: bool) -> None:
        """Make all kernels leave their loops: what they compute is given up."""
        for compiled in self._all():
            compiled.stop(stopped)

    def _all(self) -> list[CompiledKernel]:
        """Those that have been compiled."""
        return [*tuple(self._compiled.values()), *tuple(self._few.values())]

    def entry_point(self, arguments: Sequence[np.dtype[Any] | None]) -> KernelEntry | None:
        """The values' kernel by itself for arguments of these dtypes, None for a scalar. None before a call compiles
        it."""
        pattern = tuple(dtype is None for dtype in arguments)
        key = "values", pattern, self._read("values", pattern, arguments)
        compiled = self._compiled.get(key) or self._few.get(key)
        return None if compiled is None else compiled.entry_point(arguments, self.dtypes)

    def inner_loop(self, pattern: Pattern = ()) -> InnerLoop | None:
        """The values' kernel by itself, None where it calls back into Python, which cannot raise there. `pattern`:
        which arguments are uniform, if some are."""
        if self.facts.calls_python:
            return None
        role = "values alone" if self.kernels.mask == "values" else "values"
        compiled = self._compile(role, pattern or (False,) * len(self.facts.inputs))
        return compiled.inner_loop()

    @property
    def ways(self) -> list[ways.Noted]:
        """What was chosen for the kernels that have been compiled."""
        return [compiled.ways for compiled in self._all()]

    def inspect_llvm(self) -> str:
        """The optimised LLVM IR of the kernels that have been compiled."""
        return "\n".join(compiled.code.llvm for compiled in self._all())

    def inspect_asm(self) -> str:
        """The machine code of the kernels that have been compiled, as text."""
        return "\n".join(compiled.code.assembly() for compiled in self._all())


def _arrays(lanes: Sequence[Operand]) -> list[np.dtype[Any] | None]:
    """Their dtypes, None for scalars."""
    return [None if isinstance(lane, np.generic) else lane.dtype for lane in lanes]


def _copied(lanes: Spread, buffer: np.ndarray) -> np.ndarray:
    """These lanes in a part of the buffer, in its dtype."""
    part = buffer[: lanes.size]
    with np.errstate(all="ignore"):
        lanes.copy_to(part)
    return part


def engine(request: Request) -> NumbaEngine:
    """The target "numba"."""
    return compile(request.fused(), unchecked=request.unchecked)


def compile(fused: Function, *, unchecked: bool = False, body: KernelBody = NO_BODY) -> NumbaEngine:
    """The engine of a fused function: its last result is the suspect bit, which `unchecked` leaves out. `body`: it is
    one of a kernel over arrays.

    Kernels are compiled at the first call, one for each pattern of uniform arguments.
    """
    from pyflat.ir.large import too_large
    from pyflat.ir.loops import all_ops
    from pyflat.ir.uses import results_of
    from pyflat.targets.numba.compilation import cost_of_lanes, facts_of, is_false

    *roots, suspect = results_of(fused)
    checked = not unchecked and not is_false(suspect)
    kernels = LaneKernels(lambda: fused, checked, "mask" if checked else None, body)
    count = kernels.of("values").size
    if count > MAX_OPERATIONS:
        raise too_large(f"the twin has {count:,} operations, the numba target takes {MAX_OPERATIONS:,}",
                        [op.origin for op in all_ops(fused.body)], other='target="numpy" takes more operations')
    if checked and ways.SUSPECTS.first(count > STORED_MASK or fused.form == "masked"):
        kernels = LaneKernels(lambda: fused, checked, "values", body)
    known, values = dtypes(fused.floats), kernels.of("values")
    return NumbaEngine(kernels, facts_of(values), tuple(known[root.kind] for root in roots), cost_of_lanes(values))


def restored(kept: Mapping[str, Any], shelf: Shelf) -> NumbaEngine:
    """The engine that another process has made."""
    kernels = LaneKernels(lambda: shelf.function, kept["mask"] is not None, kept["mask"])
    results = tuple(map(np.dtype, kept["dtypes"]))
    return NumbaEngine(kernels, KernelFacts(*kept["facts"]), results, kept["cost"], shelf)


def _label(role: str, pattern: Pattern, read: Stored, few: bool, cpu: Processor) -> tuple[object, ...]:
    """What machine code is known by besides the function."""
    return "numba", role, pattern, read, few, cpu.name, cpu.features, llvmlite.__version__, *ways.key()
