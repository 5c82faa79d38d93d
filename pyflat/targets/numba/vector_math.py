"""The vector math of `pyflat.functions.vmath` in LLVM's IR: each function becomes a small function of the module,
which is inlined, or called where there are many of it (`called_functions`).

A body holds no call but of LLVM's exact intrinsics, no branch and no conversion between float and integer that AVX2
lacks: it computes vectors of lanes. Lanes that it leaves in doubt are settled behind it, by a branch to a call of the
C library's function, or after a block (`doubtful_lanes`). `llvm.fma` is exact by definition: one instruction where the
computer has it, the C library's function where it has not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from pyflat.analysis.ranged_machine import Special, special
from pyflat.analysis.ranges import Interval
from pyflat.functions import libm, vmath
from pyflat.functions.vmath import exact, power
from pyflat.functions.vmath.exact import trigonometric
from pyflat.functions.vmath.exact.tables import LibraryTable
from pyflat.functions.vmath.glibc import LibraryFunction
from pyflat.functions.vmath.machine import F4, F8, Format, Number
from pyflat.ir.types import BOOL
from pyflat.targets.numba.called_functions import emit_call
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.library import multiplies_and_adds
from pyflat.targets.numba.llvm import F32, F64, I1, I32, Splat, internal_function, joined, parted, suffix
from pyflat.targets.numba.table_rows import permuted, read_rows

if TYPE_CHECKING:
    from pyflat.targets.numba.emitter import Emitter


Within = Sequence[Interval]
"""Where the operands of a function lie in the lanes that need it; empty where nothing is known."""


def _constant(type_: ir.Type, number: float) -> ir.Constant:
    """A number as a constant of a scalar type, or in every lane of a vector type."""
    if isinstance(type_, ir.VectorType):
        return Splat(ir.Constant(type_.element, number), type_.count)
    return ir.Constant(type_, number)


def _element(type_: ir.Type) -> ir.Type:
    return type_.element if isinstance(type_, ir.VectorType) else type_


def _operator(on_float: str, on_int: str, swapped: bool = False) -> Callable[[_Value, Number], _Value]:
    """The method of an operator, by the builder's methods for floats and integers."""

    def method(self: _Value, other: Number) -> _Value:
        operands = [self.value, self._lift(other)]
        operation = on_int if self._is_int else on_float
        return _Value(self.builder, getattr(self.builder, operation)(*(operands[::-1] if swapped else operands)))

    return method


def _comparison(sign: str) -> Callable[[_Value, Number], _Value]:
    def method(self: _Value, other: Number) -> _Value:
        compare = self.builder.icmp_signed if self._is_int else self.builder.fcmp_ordered
        return _Value(self.builder, compare(sign, self.value, self._lift(other)))

    return method


class _Value:
    """A value while code is emitted, with Python's operators; what an operator means follows from its type."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: ir.IRBuilder, value: Any):
        self.builder, self.value = builder, value

    @property
    def _is_int(self) -> bool:
        return isinstance(_element(self.value.type), ir.IntType)

    def _lift(self, other: Number) -> Any:
        return other.value if isinstance(other, _Value) else _constant(self.value.type, other)

    def __neg__(self) -> _Value:
        return _Value(self.builder, self.builder.fneg(self.value))

    def __invert__(self) -> _Value:
        return self ^ -1

    __add__, __radd__ = _operator("fadd", "add"), _operator("fadd", "add", swapped=True)
    __sub__, __rsub__ = _operator("fsub", "sub"), _operator("fsub", "sub", swapped=True)
    __mul__, __rmul__ = _operator("fmul", "mul"), _operator("fmul", "mul", swapped=True)
    __truediv__, __rtruediv__ = _operator("fdiv", ""), _operator("fdiv", "", swapped=True)
    __and__, __or__, __xor__ = _operator("", "and_"), _operator("", "or_"), _operator("", "xor")
    __lt__, __le__, __gt__, __ge__ = (_comparison(sign) for sign in ("<", "<=", ">", ">="))
    equal = _comparison("==")


class _LlvmMachine:
    """The machine whose numbers are values of LLVM's IR (see `pyflat.functions.vmath.machine`), of the type `real`."""

    def __init__(self, real: ir.Type, builder: ir.IRBuilder, symbols: dict[str, int] | None = None):
        """`symbols` get the addresses of the tables that are read."""
        self.format, self.builder, self._float = _format(real), builder, real
        self._symbols = {} if symbols is None else symbols
        whole = ir.IntType(self.format.width)
        self._int = ir.VectorType(whole, real.count) if isinstance(real, ir.VectorType) else whole

    def _lift(self, x: Number) -> Any:
        return x.value if isinstance(x, _Value) else _constant(self._float, x)

    def _intrinsic(self, name: str, *args: Number) -> _Value:
        full = f"llvm.{name}.{suffix(self._float)}"
        module = self.builder.module
        prototype = ir.FunctionType(self._float, [self._float] * len(args))
        function = module.globals.get(full) or ir.Function(module, prototype, full)
        return _Value(self.builder, self.builder.call(function, [self._lift(x) for x in args]))

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        return self._intrinsic("fma", a, b, c)

    def select(self, condition: Number, a: Number, b: Number) -> Number:
        plain = self._int if isinstance(a, int) and isinstance(b, int) else self._float
        kind = next((x.value.type for x in (a, b) if isinstance(x, _Value)), plain)
        yes, no = (x.value if isinstance(x, _Value) else _constant(kind, x) for x in (a, b))
        return _Value(self.builder, self.builder.select(condition.value, yes, no))

    def equal(self, a: Number, b: Number) -> Number:
        return a.equal(b)

    def bits(self, x: Number) -> Number:
        return _Value(self.builder, self.builder.bitcast(x.value, self._int))

    def floats(self, i: Number) -> Number:
        return _Value(self.builder, self.builder.bitcast(i.value, self._float))

    def left(self, i: Number, count: int) -> Number:
        return _Value(self.builder, self.builder.shl(i.value, _constant(self._int, count)))

    def right(self, i: Number, count: int) -> Number:
        return _Value(self.builder, self.builder.lshr(i.value, _constant(self._int, count)))

    def abs(self, x: Number) -> Number:
        return self._intrinsic("fabs", x)

    def sqrt(self, x: Number) -> Number:
        return self._intrinsic("sqrt", x)

    def rint(self, x: Number) -> Number:
        return self._intrinsic("rint", x)

    def floor(self, x: Number) -> Number:
        return self._intrinsic("floor", x)

    def trunc(self, x: Number) -> Number:
        return self._intrinsic("trunc", x)

    def copysign(self, x: Number, sign: Number) -> Number:
        return self._intrinsic("copysign", x, sign)

    def near(self, value: Number, function: Callable[[float], float], x: Number) -> Number:
        return value

    @property
    def scales(self) -> bool:
        return isinstance(self._float, ir.VectorType) and self._bits() % 512 == 0 and processor().vector_bytes == 64

    def _bits(self) -> int:
        return int(self._float.count) * self.format.width

    def scaled(self, x: Number, n: Number) -> Number:
        """By AVX-512's vscalef, a register at a time."""
        lanes = 512 // self.format.width
        parts = zip(parted(self.builder, x.value, lanes), parted(self.builder, n.value, lanes), strict=True)
        return _Value(self.builder, joined(self.builder, [self._scaled(a, b, lanes) for a, b in parts]))

    def _scaled(self, x: Any, n: Any, lanes: int) -> Any:
        mask, module = ir.IntType(lanes), self.builder.module
        name = f"llvm.x86.avx512.mask.scalef.{'pd' if self.format is F8 else 'ps'}.512"
        prototype = ir.FunctionType(x.type, [x.type] * 3 + [mask, I32])
        function = module.globals.get(name) or ir.Function(module, prototype, name)
        nearest = ir.Constant(I32, 4)  # by the rounding mode in force
        return self.builder.call(function, [x, n, x, ir.Constant(mask, (1 << lanes) - 1), nearest])

    def rows(self, table: LibraryTable, index: Number, columns: int) -> Sequence[Number]:
        symbol = f"pyflat_table_{table.name}"
        self._symbols[symbol] = table.rows.ctypes.data
        found = read_rows(self.builder, symbol, table.rows.shape[1], index.value, columns)
        return [_Value(self.builder, value) for value in found]

    def chosen(self, index: Number, numbers: Sequence[float]) -> Number:
        if not isinstance(self._float, ir.VectorType) or self._bits() % 512 or processor().vector_bytes != 64:
            result: Number = numbers[-1]
            for k in reversed(range(len(numbers) - 1)):
                if numbers[k] != result:
                    result = self.select(index.equal(k), numbers[k], result)
            return result
        return _Value(self.builder, permuted(self.builder, index.value, numbers))

    def wide(self) -> _LlvmMachine:
        vector = isinstance(self._float, ir.VectorType)
        return _LlvmMachine(ir.VectorType(F64, self._float.count) if vector else F64, self.builder, self._symbols)

    def widen(self, x: Number) -> Number:
        return _Value(self.builder, self.builder.fpext(x.value, self.wide()._float))

    def narrow(self, x: Number) -> Number:
        return _Value(self.builder, self.builder.fptrunc(x.value, self._float))


def _format(real: ir.Type) -> Format:
    return {F64: F8, F32: F4}[_element(real)]


def _special(algorithm: Callable[..., Any], real: ir.Type, within: Within, name: str) -> Special:
    """The algorithm of a function for operands in these intervals."""
    if not within:
        return Special(algorithm)
    machine = _LlvmMachine(real, ir.IRBuilder())
    return special(algorithm, tuple(within), _nans(name, within), format=machine.format, scales=machine.scales)


def is_without_branch(name: str, within: Within, real: ir.Type) -> bool:
    """Whether the vector function `name` reaches all operands of these intervals."""
    far = vmath.TABLE[name].far
    return far is None or _special(far, real, within, name).never == (True,)


def _nans(name: str, within: Within) -> tuple[bool, ...]:
    """For each operand whether its nan gives nan."""
    if name == "pow" and len(within) == 2:  # else the exponent is a literal, and not 0
        x, y = within
        return not y.has(0.0), not x.has(1.0)
    return tuple([name != _OUTSIDE] * len(within))


_INLINED, _RARE = ("alwaysinline", "nounwind"), ("noinline", "cold", "nounwind")
_OUTSIDE = "not_ordinary"
"""No function, but where one cannot be."""


def function_of(module: ir.Module, row: vmath.VectorFunction, real: ir.Type, within: Within = ()) -> ir.Function:
    """The module's function pyflat.vec_<name> on numbers of the type `real`: double, float or a vector of them."""
    algorithm = _special(row.algorithm, real, within, row.name)
    symbol = f"pyflat.vec_{row.name}{algorithm.name}.{suffix(real)}"
    known = module.globals.get(symbol)
    if known is not None:
        return known
    function = internal_function(module, ir.FunctionType(real, [real] * row.operands), symbol, *_INLINED)
    builder = ir.IRBuilder(function.append_basic_block())
    result = algorithm(_LlvmMachine(real, builder), *[_Value(builder, x) for x in function.args])
    builder.ret(result.value)
    return function


def emit_vector(builder: ir.IRBuilder, name: str, *args: Any, within: Within = ()) -> Any:
    """Emit the vector function `name` of LLVM values: right but where it is `far` (see `vmath.VectorFunction`)."""
    return builder.call(function_of(builder.module, vmath.TABLE[name], args[0].type, within), list(args))


def emit_everywhere(e: Emitter, name: str, *args: Any, within: Within = ()) -> Any:
    """Emit the vector function `name` of values of `e`'s lanes; a branch, taken where some lane is far, calls the
    function with CPython's bits: vector code that leaves no lane out, where there is such, or lane by lane."""
    quick = emit_vector(e.builder, name, *args, within=within)
    far = vmath.TABLE[name].far
    if far is None or is_without_branch(name, within, args[0].type):
        return quick
    distant = far(_LlvmMachine(args[0].type, e.builder), *[_Value(e.builder, x) for x in args]).value
    row = exact.kernel_for(name) if e.width > 1 and multiplies_and_adds() else None
    if row is None or not row.total:
        return _unless_called(e, name, args, distant, quick)
    mask = e.masked(distant)
    return e.where_any(mask, quick, lambda: e.builder.select(
        mask, e.builder.call(_exact_function(e, row, args[0].type), list(args)), quick))


def emit_power(e: Emitter, x: Any, y: Any, known: float, within: Within = ()) -> Any:
    """x**y for a finite literal y, the number `known`: in line for normal positive numbers; for others, which are rare,
    the whole function is called."""
    builder, machine = e.builder, _LlvmMachine(x.type, e.builder)
    quick = power.ordinary_pow(machine, _Value(builder, x), known).value
    if _special(power.not_ordinary, x.type, within[:1], _OUTSIDE).never == (True,):
        return quick
    mask = e.masked(power.not_ordinary(machine, _Value(builder, x)).value)
    whole = _out_of_line(builder.module, vmath.TABLE["pow"], x.type)
    return e.where_any(mask, quick, lambda: builder.select(mask, builder.call(whole, [x, y]), quick))


def _out_of_line(module: ir.Module, row: vmath.VectorFunction, real: ir.Type) -> ir.Function:
    """`function_of`, as a function that is called."""
    return _rare(module, row.name, real, row.operands, lambda builder, *args: emit_vector(builder, row.name, *args))


def _exact_function(e: Emitter, row: LibraryFunction, real: ir.Type) -> ir.Function:
    """The vector code of `row`, which leaves no lane out, as a function that is called; float32 lanes in float64."""
    wide = ir.VectorType(F64, real.count)

    def emit(builder: ir.IRBuilder, *args: Any) -> Any:
        told = _told_function(builder.module, Special(row.algorithm), row.operands, wide, e.symbols)
        widened = args if real == wide else [builder.fpext(x, wide) for x in args]
        value = builder.extract_value(builder.call(told, widened), 0)
        return value if real == wide else builder.fptrunc(value, real)

    return _rare(e.builder.module, f"exact_{row.name}", real, row.operands, emit)


def _rare(module: ir.Module, name: str, real: ir.Type, operands: int, emit: Callable[..., Any]) -> ir.Function:
    """The module's function out of the way of what calls it."""
    symbol = f"pyflat.rare_{name}.{suffix(real)}"
    known = module.globals.get(symbol)
    if known is not None:
        return known
    function = internal_function(module, ir.FunctionType(real, [real] * operands), symbol, *_RARE)
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(emit(builder, *function.args))
    return function


def emit_library(e: Emitter, name: str, *args: Any, within: Within = ()) -> Any:
    """Emit a function with the C library's bits; doubtful lanes are noted and settled by other code, or a branch calls
    the C library's function for them."""
    row = exact.kernel_for(name)
    assert row is not None
    if e.doubts is None or exact.is_followed(name):
        return emit_told(e, row, *args, within=within)
    if not e.doubts.are_settled:
        value, doubtful = _told(e, row, _algorithm_of(row, args, within), args)
        if doubtful is not None:
            e.doubts.note(e, e.masked(doubtful))
        return value
    if exact.is_followed(row.name):
        return emit_told(e, exact.TABLE[row.name], *args)
    return e.each(_call_of(e, row.name, F64, None), F64, *args)


def emit_told(e: Emitter, row: LibraryFunction, *args: Any, within: Within = ()) -> Any:
    """Emit the function of a row of a table of such functions."""
    if row.name in e.calls and e.width > 1:
        algorithm = _algorithm_of(row, args, within)
        name = "_".join([row.name, *([] if row.exponent is None else [f"{row.exponent:g}"]), algorithm.title])
        return emit_call(e, name, args[: row.operands], lambda inner, *same: _emit_told(inner, row, algorithm, same))
    return _emit_told(e, row, _algorithm_of(row, args, within), args)


def _emit_told(e: Emitter, row: LibraryFunction, algorithm: Special, args: Sequence[Any]) -> Any:
    value, doubtful = _told(e, row, algorithm, args)
    if doubtful is None:
        return value
    return _unless_called(e, row.name, args[: row.operands], doubtful, value, row.exponent)


def _algorithm_of(row: LibraryFunction, args: Sequence[Any], within: Within) -> Special:
    return _special(row.algorithm, args[0].type, within[: row.operands], row.name)


def _told(e: Emitter, row: LibraryFunction, algorithm: Special, args: Sequence[Any]) -> tuple[Any, Any]:
    """The value and where it is doubtful, None where it cannot be."""
    builder, real = e.builder, args[0].type
    function = _told_function(builder.module, algorithm, row.operands, real, e.symbols)
    told = builder.call(function, args[: row.operands])
    value, doubtful = (builder.extract_value(told, k) for k in range(2))
    return value, None if row.total or algorithm.never[1:] == (True,) else doubtful


def emit_of_pair(e: Emitter, name: str, place: int, x: Any, within: Within = ()) -> Any:
    """Emit the sine (0) or the cosine (1) of an angle of which both are wanted. Each is one call of a function
    for both, which depends on nothing but the angle: LLVM keeps one of the calls."""
    builder = e.builder
    prototype = ir.LiteralStructType([x.type, x.type, _truth(x.type)])
    algorithm = _special(trigonometric.sin_and_cos, x.type, within, name)
    both = _function_of(builder.module, algorithm, 1, prototype, x.type, e.symbols)
    told = builder.call(both, [x])
    value = builder.extract_value(told, place)
    if algorithm.never[2:] == (True,):
        return value
    return _unless_called(e, name, [x], builder.extract_value(told, 2), value)


def _told_function(module: ir.Module, algorithm: Special, operands: int, real: ir.Type, symbols: dict[str, int]
                   ) -> ir.Function:
    """The module's function with the C library's bits on numbers of the type `real`: a value, and whether it is
    doubtful."""
    return _function_of(module, algorithm, operands, ir.LiteralStructType([real, _truth(real)]), real, symbols)


def _truth(real: ir.Type) -> ir.Type:
    return ir.VectorType(I1, real.count) if isinstance(real, ir.VectorType) else I1


def _function_of(module: ir.Module, algorithm: Special, operands: int, results: Any, real: ir.Type,
                 symbols: dict[str, int]) -> ir.Function:
    symbol = f"pyflat.told_{algorithm.algorithm.__name__}{algorithm.name}.{suffix(real)}"
    known = module.globals.get(symbol)
    if known is not None:
        return known
    function = internal_function(module, ir.FunctionType(results, [real] * operands), symbol, *_INLINED, "readnone")
    builder = ir.IRBuilder(function.append_basic_block())
    told = ir.Constant(results, ir.Undefined)
    machine, args = _LlvmMachine(real, builder, symbols), [_Value(builder, x) for x in function.args]
    for k, found in enumerate(algorithm(machine, *args)):
        value = _constant(results.elements[k], False) if found is False else found.value
        told = builder.insert_value(told, value, k)
    builder.ret(told)
    return function


def _unless_called(e: Emitter, name: str, args: Sequence[Any], where: Any, quick: Any, exponent: float | None = None
                   ) -> Any:
    """`quick`, but in the lanes of a mask what the C library says."""
    mask = e.masked(where)
    if e.width == 1:
        return e.where_any(mask, quick, lambda: _call_of(e, name, args[0].type, exponent)(*args))
    return e.where_any(mask, quick, lambda: e.builder.call(
        _far_function(e, name, args[0].type, len(args), exponent), [*args, mask, quick]))


def _far_function(e: Emitter, name: str, real: ir.Type, operands: int, exponent: float | None) -> ir.Function:
    """The module's function that calls the C library's for the lanes of a mask: out of the way of the code around it,
    whose values stay in registers. `exponent` is a last operand that is the same in all lanes."""
    symbol = f"pyflat.far_{name}{'' if exponent is None else f'_{exponent:g}'}.{suffix(real)}"
    known = e.builder.module.globals.get(symbol)
    if known is not None:
        return known
    prototype = ir.FunctionType(real, [*[real] * operands, e.types[BOOL], real])
    function = internal_function(e.builder.module, prototype, symbol, *_RARE)
    inner = type(e)(ir.IRBuilder(function.append_basic_block("entry")), e.symbols, e.width, e.scalars)
    *args, distant, quick = function.args
    call = _call_of(inner, name, _element(real), exponent)
    inner.builder.ret(inner.each(call, _element(real), *args, where=distant, rest=quick))
    return function


def _call_of(e: Emitter, name: str, real: ir.Type, exponent: float | None) -> Callable[..., Any]:
    """What calls the C library's function of scalars of a type."""
    def call(*scalars: Any) -> Any:
        wide = [x if x.type is F64 else e.builder.fpext(x, F64) for x in scalars]
        wide += [] if exponent is None else [ir.Constant(F64, exponent)]
        value = e.call(name, libm.address(name), *wide, pure=name in libm.NAMES and libm.from_library(name))
        return value if real is F64 else e.builder.fptrunc(value, F32)

    return call
