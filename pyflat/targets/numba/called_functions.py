"""Functions of vector code that are called and not inlined, each a module of its own.

    v16f64 pyflat.called_pow...(v16f64 x, double y, v16i1 active)    the function, and the branch for lanes that are far

A module is compiled once on a machine, for all twins that call the function (`jit.compile_ir`); the code of a twin has
a copy of the object file. A call costs some nanoseconds for a gang, and LLVM compiles a function of a hundred
instructions once where it would compile it at each place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from pyflat.ir.nodes import Op
from pyflat.targets.numba.llvm import ALIGNMENT, Splat, spread, suffix

if TYPE_CHECKING:
    from pyflat.targets.numba.emitter import Emitter

MOST_INLINED = 8
"""So many operations of one opcode are inlined in code that many lanes run. On a Xeon with AVX-512 code of 123 cosines
runs as fast with calls, and LLVM takes a sixth of the time; nine powers take 3 to 4 % longer and 0.19 instead of
0.46 s of LLVM. With three calls Black and Scholes is 2 % faster, the implied volatility 3 % slower, and a single
logarithm that is called makes the former 12 % slower."""


class _All:
    """What every name is in."""

    def __contains__(self, name: object) -> bool:
        return True


ALL: Container[str] = _All()
"""All functions are called: in code that few lanes run."""


def called_often(ops: Iterable[Op]) -> frozenset[str]:
    """The opcodes of functions that are called, in code that many lanes run."""
    return frozenset(name for name, count in Counter(op.opcode for op in ops).items() if count > MOST_INLINED)


def emit_call(e: Emitter, name: str, args: Sequence[Any], emit: Callable[..., Any]) -> Any:
    """Emit a call of the function that computes `emit(emitter, *args)`. Two functions of one name, for operands of the
    same types, are the same operations. A number that is the same in all lanes is passed as one."""
    passed = [arg.constant if isinstance(arg, Splat) else arg for arg in args]
    types = [arg.type for arg in passed]
    masks = [] if e.active is None else [e.active]
    symbol = ".".join([f"pyflat.called_{name}", *map(suffix, types), *["active" for _ in masks]])
    prototype = ir.FunctionType(args[0].type, [*types, *[mask.type for mask in masks]])
    if symbol not in e.symbols.modules:
        e.symbols.modules[symbol] = _module(e, symbol, prototype, [arg.type for arg in args], emit)
    function = e.builder.module.globals.get(symbol)
    if function is None:
        function = ir.Function(e.builder.module, prototype, symbol)
        function.attributes.add("nounwind")
    return e.builder.call(function, [*passed, *masks])


def _module(e: Emitter, symbol: str, prototype: ir.FunctionType, types: Sequence[ir.Type], emit: Callable[..., Any]
            ) -> str:
    module = ir.Module(symbol)
    function = ir.Function(module, prototype, symbol)
    function.attributes.add("nounwind")
    function.attributes.alignstack = ALIGNMENT  # registers that are spilled would lie across cache lines
    inner = type(e)(ir.IRBuilder(function.append_basic_block("entry")), e.symbols, e.width, e.scalars)
    args = [arg if arg.type == type_ else spread(inner.builder, arg, type_.count)
            for arg, type_ in zip(function.args, types, strict=False)]
    if len(function.args) > len(types):
        inner.active = function.args[-1]
    inner.builder.ret(emit(inner, *args))
    return str(module)
