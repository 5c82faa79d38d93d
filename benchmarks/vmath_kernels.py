"""The vector math compiled, one loop over arrays for each function, in one LLVM module: what tests compare with the
reference and what the speed table times."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir

from pyflat.functions import vmath
from pyflat.functions.vmath import VectorFunction
from pyflat.targets.numba.vector_math import function_of

_I64, _POINTER = ir.IntType(64), ir.PointerType()
REALS = {"f8": ir.DoubleType(), "f4": ir.FloatType()}
DTYPES = {"f8": np.float64, "f4": np.float32}
Kernel = Callable[..., np.ndarray]


def _emit_loop(module: ir.Module, row: VectorFunction, width: str, from_library: bool) -> None:
    """void name.width(i64 n, out, inputs...): for each lane out = name(inputs)."""
    name, operands = row.name, row.operands
    prototype = ir.FunctionType(ir.VoidType(), [_I64] + [_POINTER] * (operands + 1))
    function = ir.Function(module, prototype, f"{name}.{width}")
    for pointer in function.args[1:]:
        pointer.attributes.add("noalias")
    entry, body, done = (function.append_basic_block(n) for n in ("entry", "body", "done"))
    builder, count = ir.IRBuilder(entry), function.args[0]
    builder.cbranch(builder.icmp_signed(">", count, _I64(0)), body, done)
    builder.position_at_end(body)
    index = builder.phi(_I64)
    index.add_incoming(_I64(0), entry)
    real = REALS[width]
    inputs = [builder.load(builder.gep(p, [index], source_etype=real), typ=real) for p in function.args[2:]]
    if from_library:
        called = ir.Function(module, ir.FunctionType(real, [real] * operands), f"c_{name}_{width}")
        result = builder.call(called, inputs)
    else:
        result = builder.call(function_of(module, row, real), inputs)
    builder.store(result, builder.gep(function.args[1], [index], source_etype=real))
    following = builder.add(index, _I64(1))
    index.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, count), body, done)
    builder.position_at_end(done)
    builder.ret_void()


class Library:
    """Compiled functions of one width; `features` as LLVM writes them, this computer's by default."""

    def __init__(self, names: Iterable[str], width: str, cpu: str = "", features: str = "",
                 from_library: bool = False, rows: Mapping[str, VectorFunction] = vmath.TABLE):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.width, self.names, self.rows = width, tuple(names), rows
        module = ir.Module("vmath")
        module.triple = llvm.get_process_triple()
        for name in self.names:
            _emit_loop(module, rows[name], width, from_library)
        self.llvm = str(module)
        parsed = llvm.parse_assembly(self.llvm)
        parsed.verify()
        if not cpu:
            cpu, features = llvm.get_host_cpu_name(), features or llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=3)
        parsed.data_layout = str(target.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        passes = llvm.create_pass_builder(target, options)
        passes.getModulePassManager().run(parsed, passes)
        self.optimized = str(parsed)
        self.assembly = target.emit_assembly(parsed)
        self._engine = llvm.create_mcjit_compiler(parsed, target)
        self._engine.finalize_object()

    def kernel(self, name: str) -> Kernel:
        """The loop: arrays of this width (contiguous, one length) -> a new array, or `out`."""
        operands = self.rows[name].operands
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (operands + 1))
        loop = prototype(self._engine.get_function_address(f"{name}.{self.width}"))
        dtype = DTYPES[self.width]

        def call(*arrays: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
            inputs = [np.ascontiguousarray(a, dtype=dtype) for a in arrays]
            result = np.empty(inputs[0].shape, dtype) if out is None else out
            loop(result.size, result.ctypes.data, *[a.ctypes.data for a in inputs])
            assert self._engine is not None  # the machine code lives as long as the engine
            return result

        return call


def library_loop(name: str, width: str) -> Kernel:
    """The same loop around the C library's scalar function (`exp`, `expf`)."""
    return _library_loops(width).kernel(name)


@cache
def _library_loops(width: str) -> Library:
    for name in vmath.TABLE:
        symbol = {"gamma": "tgamma"}.get(name, name) + ("" if width == "f8" else "f")
        llvm.add_symbol(f"c_{name}_{width}", ctypes.cast(getattr(_c_library(), symbol), ctypes.c_void_p).value)
    return Library(vmath.TABLE, width, from_library=True)


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m"))


@cache
def library(width: str) -> Library:
    """All functions of one width, for this computer."""
    return Library(vmath.TABLE, width)
