"""The numba way out: one compiled loop over the lanes, straight-line code inside.

The loop is written in LLVM's IR by an `@intrinsic` (the operations by `numba_ops`), numba compiles it, passes the
arrays and releases the GIL. Uniform arguments and what depends only on them are computed before the loop. The
kernel writes the results and ORs the suspect bit of all lanes into one flag, its result; only when that is set a
second kernel, compiled then, computes the bit of each lane. A long function, where one more store costs nothing and
a second compilation much, stores the bits at once.

LLVM's time, measured on a 2-core machine for arithmetic with selects: 0.05 s for 20 operations, 0.5 s for 2,000, 3 s
for 20,000, 12 s for 40,000.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from pyflat import libm
from pyflat.errors import refuse
from pyflat.ir.liveness import outer_values, sliced
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Block, Const, Function, Item, Loop, Param, Value, walk
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.ir.uses import results_of
from pyflat.targets.numba_blocks import Blocks, is_wide
from pyflat.targets.numba_loops import INTERRUPTED, Interrupts, emit_loop, raise_interrupt
from pyflat.targets.numba_ops import I1, I8, I32, I64, TYPES, Emitter, Lane, emit

MAX_OPERATIONS = 50_000
"""LLVM's time grows faster than the function; this many operations take it tens of seconds."""

MAX_CHAIN = 600
"""Masks that depend on each other, one after the other: 512 compile in 20 s, twice as many take three times that."""

STORED_MASK = 1_000
"""With more operations than this the values' kernel stores the suspect bits too."""

CALL_WORK = 2**27
"""Operations times lanes in one call of a kernel, so that Python gets to see Ctrl-C."""

LaneArgument = np.ndarray | np.generic
Pattern = tuple[bool, ...]
"""Which arguments are uniform."""

DTYPES: dict[Kind, type[np.generic]] = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}
_SCALARS = {BOOL: types.boolean, INT: types.int64, FLOAT: types.float64}


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one compiled loop computes: `roots` are stored, `suspect` is ORed into the flag."""

    params: tuple[Param, ...]
    items: tuple[Item, ...]
    roots: tuple[Value, ...]
    suspect: Value | None

    @property
    def size(self) -> int:
        return sum(1 for _ in all_ops(list(self.items)))


@dataclass(slots=True)
class Engine:
    """A function to compile and its compiled kernels; call it with lanes and their number."""

    fused: Function
    values: Kernel
    mask: Kernel | None
    dtypes: tuple[np.dtype[Any], ...]
    _compiled: dict[tuple[int, Pattern], Callable[..., int]] = field(default_factory=dict)
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
        if self.mask is not None and self.mask is self.values:
            suspects = np.empty(n, dtype=np.bool_)
            return results, suspects if self._run(self.values, lanes, n, [*results, suspects]) else None
        if not self._run(self.values, lanes, n, results) or self.mask is None:
            return results, None
        suspects = np.empty(n, dtype=np.bool_)
        self._run(self.mask, lanes, n, [suspects])
        return results, suspects

    def _run(self, kernel: Kernel, lanes: Sequence[LaneArgument], n: int, outputs: list[np.ndarray]) -> bool:
        """Run the kernel in calls of bounded length; whether any lane is suspect."""
        pattern = tuple([not isinstance(lane, np.ndarray) for lane in lanes])
        compiled = self._compiled.get((id(kernel), pattern)) or self._compile(kernel, pattern)
        step = max(CALL_WORK // (kernel.size + 1), 1)
        if n <= step:
            return bool(_run(compiled, n, lanes, outputs))
        flag = 0
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            inputs = [lane[part] if isinstance(lane, np.ndarray) else lane for lane in lanes]
            flag |= _run(compiled, part.stop - start, inputs, [output[part] for output in outputs])
        return bool(flag)

    def _compile(self, kernel: Kernel, pattern: Pattern) -> Callable[..., int]:
        key = id(kernel), pattern
        with self._lock:
            if key not in self._compiled:
                self._compiled[key] = build(kernel, pattern)
            return self._compiled[key]


def _run(compiled: Callable[..., int], n: int, lanes: Sequence[LaneArgument], outputs: Sequence[np.ndarray]) -> int:
    """One call of a kernel; raises what came up inside and could not be raised there."""
    flag = compiled(n, *lanes, *outputs)
    if flag & INTERRUPTED:
        raise_interrupt()
    libm.raise_pending()
    return flag


def longest_mask_chain(fused: Function) -> int:
    """How many and/or of bools follow on each other: an unrolled loop with a break in it has one for each copy."""
    depth: dict[Value, int] = {}
    for item in walk(fused.body):
        for op in item.ops if isinstance(item, Block) else ():
            if op.opcode in ("and", "or") and op.kind is BOOL:
                depth[op] = 1 + max(depth.get(arg, 0) for arg in op.args)
    return max(depth.values(), default=0)


def compile(fused: Function, *, unchecked: bool = False) -> Engine:
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
    dtypes = tuple(np.dtype(DTYPES[root.kind]) for root in roots)
    if not checked:
        return Engine(fused, Kernel(params, items, tuple(roots), None), None, dtypes)
    if count > STORED_MASK or fused.form == "masked":
        both = Kernel(params, items, (*roots, suspect), suspect)
        return Engine(fused, both, both, dtypes)
    mask = Kernel(params, tuple(sliced(fused.body, [suspect])), (suspect,), None)
    return Engine(fused, Kernel(params, items, tuple(roots), suspect), mask, dtypes)


# --- building one kernel


def build(kernel: Kernel, pattern: Pattern) -> Callable[..., int]:
    """Compile `kernel(n, *lanes, *results) -> flag` for one pattern of uniform arguments."""

    def typed(*args: Any) -> tuple[Any, Any]:
        return types.int64(*args), generate

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _Loop(kernel, pattern, context, builder).write(signature.args, values)

    inputs, outputs = [f"a{k}" for k in range(len(kernel.params))], [f"r{k}" for k in range(len(kernel.roots))]
    names = ", ".join(["n", *inputs, *outputs])
    namespace: dict[str, Any] = {"intrinsic": intrinsic, "typed": typed}
    exec(_TEMPLATE.format(names=names), namespace)
    arrays = [_SCALARS[p.kind] if uniform else types.Array(_SCALARS[p.kind], 1, "C", readonly=True)
              for p, uniform in zip(kernel.params, pattern, strict=True)]
    results = [types.Array(_SCALARS[root.kind], 1, "C") for root in kernel.roots]
    signature = types.int64(types.int64, *arrays, *results)
    compiled: Callable[..., int] = njit(
        signature, error_model="numpy", nogil=True, boundscheck=False, fastmath=False)(namespace["kernel"])
    return compiled


_TEMPLATE = """
@intrinsic
def loop(context, {names}):
    return typed({names})

def kernel({names}):
    return loop({names})
"""
"""numba packs `*args` of an intrinsic into a tuple, so that the parameters are written out."""


class _Loop:
    """Writes the loop of a kernel at the builder's place."""

    def __init__(self, kernel: Kernel, pattern: Pattern, context: Any, builder: Any):
        self.kernel = kernel
        self.pattern = pattern
        self.context = context
        self.builder = builder
        self.emitter = Emitter(builder)
        self.lanes: dict[Value, Lane] = {}
        self.interrupts: Interrupts | None = None

    def write(self, arg_types: Sequence[Any], values: Sequence[Any]) -> Any:
        builder, kernel = self.builder, self.kernel
        count, data = values[0], [self._data(t, v) for t, v in zip(arg_types[1:], values[1:], strict=True)]
        inputs, outputs = data[: len(kernel.params)], data[len(kernel.params) :]
        uniform = {p for p, is_uniform in zip(kernel.params, self.pattern, strict=True) if is_uniform}
        for param, value in zip(kernel.params, inputs, strict=True):
            if param in uniform:
                self.lanes[param] = Lane(self.emitter, param.kind, self._from_memory(param.kind, value))
        hoisted, inner = _split_uniform(kernel.items, uniform)
        status = self._save_status()
        flag = cgutils.alloca_once_value(builder, ir.Constant(I8, 0))
        finish = builder.append_basic_block("finish")
        self.interrupts = Interrupts(self.emitter, flag, finish) if has_loop(list(kernel.items)) else None
        self._emit(hoisted)
        pointers = dict(zip(kernel.params, inputs, strict=True))

        def store(index: Any) -> None:
            for number, (root, pointer) in enumerate(zip(kernel.roots, outputs, strict=True)):
                self._store(self._read(root), pointer, index, number)
            if kernel.suspect is not None:
                bit = builder.zext(self._read(kernel.suspect).value, I8)
                builder.store(builder.or_(builder.load(flag), bit), flag)

        if self.interrupts is not None and any(isinstance(item, Loop) and is_wide(item) for item in inner):
            blocks = Blocks(self.emitter, self.lanes, self.interrupts, self._emit,
                            lambda param, index: self._load(param, pointers[param], index))
            roots = [*kernel.roots, *([] if kernel.suspect is None else [kernel.suspect])]
            blocks.write(inner, count, roots, store)
        else:
            with cgutils.for_range(builder, count, intp=I64) as loop:
                for param, pointer in pointers.items():
                    if param not in uniform:
                        self.lanes[param] = self._load(param, pointer, loop.index)
                self._emit(inner)
                store(loop.index)
        builder.branch(finish)
        builder.position_at_end(finish)
        result = builder.zext(builder.load(flag), I64)
        self._status_call("fesetenv", status)
        return result

    def _data(self, numba_type: Any, value: Any) -> Any:
        if isinstance(numba_type, types.Array):
            return self.context.make_array(numba_type)(self.context, self.builder, value).data
        return value

    def _read(self, value: Value) -> Lane:
        if isinstance(value, Const):
            return self.emitter.const(value.kind, value.value)
        return self.lanes[value]

    def _emit(self, items: Sequence[Item]) -> None:
        for item in items:
            match item:
                case Block():
                    for op in item.ops:
                        self.lanes[op] = emit(self.emitter, op, [self._read(a) for a in op.args])
                case Loop():
                    assert self.interrupts is not None
                    emit_loop(item, self.emitter, self.lanes, self.interrupts, self._emit)

    # --- memory: bool lanes are bytes there; the results overlap nothing, which LLVM cannot know by itself

    def _from_memory(self, kind: Kind, value: Any) -> Any:
        if kind is not BOOL or value.type == I1:
            return value
        return self.builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))

    def _load(self, param: Param, pointer: Any, index: Any) -> Lane:
        element = I8 if param.kind is BOOL else TYPES[param.kind]
        loaded = self.builder.load(self.builder.gep(pointer, [index], source_etype=element), typ=element)
        loaded.set_metadata("noalias", self._scopes(range(len(self.kernel.roots))))
        return Lane(self.emitter, param.kind, self._from_memory(param.kind, loaded))

    def _store(self, lane: Lane, pointer: Any, index: Any, number: int) -> None:
        element = I8 if lane.kind is BOOL else TYPES[lane.kind]
        value = self.builder.zext(lane.value, I8) if lane.kind is BOOL else lane.value
        store = self.builder.store(value, self.builder.gep(pointer, [index], source_etype=element))
        store.set_metadata("alias.scope", self._scopes([number]))
        store.set_metadata("noalias", self._scopes(k for k in range(len(self.kernel.roots)) if k != number))

    def _scopes(self, numbers: Any) -> Any:
        module = self.builder.module
        domain = module.add_metadata([ir.MetaDataString(module, "pyflat")])
        scopes = [module.add_metadata([ir.MetaDataString(module, f"result {k}"), domain]) for k in numbers]
        return module.add_metadata(scopes)

    # --- the floating-point status of the thread: what a kernel raises, stays inside

    def _save_status(self) -> Any:
        buffer = cgutils.alloca_once(self.builder, I64, size=libm.FENV_BYTES // 8)
        self._status_call("fegetenv", buffer)
        return buffer

    def _status_call(self, name: str, buffer: Any) -> None:
        self.emitter.call(name, libm.library_symbol(name), buffer, result=I32, pure=False)


def _split_uniform(items: Sequence[Item], uniform: set[Param]) -> tuple[list[Item], list[Item]]:
    """What depends only on operands that are the same in all lanes, and the rest; loops as a whole."""
    known: set[Value] = set(uniform)
    hoisted: list[Item] = []
    inner: list[Item] = []
    for item in items:
        match item:
            case Block():
                early, late = Block(), Block()
                for op in item.ops:
                    same = all(isinstance(a, Const) or a in known for a in op.args)
                    (early if same else late).ops.append(op)
                    known.update([op] if same else [])
                hoisted.append(early)
                inner.append(late)
            case Loop():
                outer = outer_values([item], [])
                same = known.issuperset(outer)
                (hoisted if same else inner).append(item)
                known.update(item.results if same else [])
    return hoisted, inner
