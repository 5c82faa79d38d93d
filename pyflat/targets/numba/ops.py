"""How each operation is written in LLVM's IR, for the numba target.

Every emitted operation is total: no trap (division by zero, INT_MIN // -1), and no *poison* (a shift by 64, a
conversion out of range), because poison in a lane that is not taken would spread through the suspect bit. There is
no fast-math flag anywhere, so that LLVM neither reorders nor contracts.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from pyflat.analysis.intervals import ANY_FLOAT, Interval
from pyflat.errors import InternalError
from pyflat.functions import lanes, libm, norms, vmath
from pyflat.functions.vmath.glibc import POWERS
from pyflat.ir.nodes import Op
from pyflat.ir.ops import COMPARISONS, LOW_BITS, NUMPY_LOOPS, PRIMITIVES, ROUNDED, SIGNS, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numba.emitter import Emitter, Lane, size_of
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.library import float32_function, library_function
from pyflat.targets.numba.llvm import F32, F64, I32
from pyflat.targets.numba.numpy_loops import call_narrow, call_numpy, call_ufunc
from pyflat.targets.numba.vector_math import emit_everywhere, emit_library, emit_of_pair, emit_power, emit_told

_POWER_BITS = 6
_OF_PAIR = ("sin", "cos")


Emit = Callable[..., Lane]


def _compared(sign: str, a: Lane, b: Lane) -> Lane:
    return a.compare(sign, b)


OPERATORS: dict[str, Emit] = {
    **{name: PRIMITIVES[name].python for name in (*LOW_BITS, "truediv", "abs")},
    **{name: functools.partial(_compared, SIGNS[name]) for name in COMPARISONS},
    "not": operator.invert,
    "low64": lambda x: x,
    "isnan": lambda x: x.compare("!=", x),
    "isinf": lambda x: abs(x).compare("==", float("inf")),
    "isfinite": lambda x: abs(x).compare("<", float("inf")),
}
"""Opcode -> function of the operands' lanes."""


def _rounded(rounding: str, e: Emitter, x: Lane, *, whole: bool) -> Lane:
    rounded = e.intrinsic(f"llvm.{rounding}", x)
    return e.to_int(rounded) if whole else rounded


EMITTERS: dict[str, Emit] = {
    "select": Emitter.select,
    **{name: functools.partial(_rounded, rounding, whole=True) for name, rounding in ROUNDED.items()},
    **{name: functools.partial(_rounded, name, whole=False) for name in ROUNDED.values()},
    "sqrt": Emitter.sqrt,
    "np_sqrt": Emitter.sqrt,
    "copysign": lambda e, x, y: e.intrinsic("llvm.copysign", x, y),
}
"""Opcode -> function of the emitter and the operands' lanes."""


def _emitter(function: Emit) -> Emit:
    EMITTERS[function.__name__.strip("_")] = function
    return function


def emit(e: Emitter, op: Op, args: list[Lane]) -> Lane:
    """Emit `op` and return its value."""
    if op.opcode in OPERATORS:
        return OPERATORS[op.opcode](*args)
    if op in e.ranges:
        args = [arg.lying(within) for arg, within in zip(args, e.ranges[op], strict=True)]
    if e.narrow and e.width > 1 and (row := float32_function(op)) is not None:
        return Lane(e, FLOAT, emit_told(e, row, *[arg.value for arg in args], within=_within(args)))
    emitter = EMITTERS.get(op.opcode)
    name = library_function(op)
    if name is not None and (e.width > 1 or name in POWERS.values()):
        emitter = _library_vectors(name, name in _OF_PAIR and op.args[0] in e.angles)
    if emitter is None:
        raise InternalError(f"the numba target cannot emit {op.opcode}")
    if op.opcode == "gather":
        return emitter(e, *args, table=op.attr("table"), kind=op.kind)
    if e.narrow and _is_wide(op.opcode):
        return e.widely(lambda wide, *lanes: emitter(wide, *lanes, **dict(op.attrs)), *args)
    return emitter(e, *args, **dict(op.attrs))


def _is_wide(opcode: str) -> bool:
    """What float32 lanes compute as the float64 function of the widened operands, rounded."""
    row = PRIMITIVES.get(opcode)
    return opcode in _WIDE or (row is not None and row.accuracy in (Accuracy.LIBM, Accuracy.CALL))


_WIDE = frozenset({"remainder", "ldexp", "exponent", "ufunc", "np_float_power"})


# --- NumPy's numbers in kernels (`ir.memory`)


@_emitter
def _divide(e: Emitter, x: Lane, y: Lane) -> Lane:
    return x / y


@_emitter
def _fitted(e: Emitter, x: Lane, dtype: str) -> Lane:
    return x


def _in_float32(e: Emitter, x: Lane, dtype: str) -> Lane:
    narrow = e.builder.fptrunc if x.kind is FLOAT else e.builder.sitofp
    return Lane(e, FLOAT, e.builder.fpext(narrow(x.value, e.widened(F32)), e.types[FLOAT]))


EMITTERS["rounded"] = _in_float32


# --- conversions


@_emitter
def _to_float(e: Emitter, x: Lane) -> Lane:
    convert = e.builder.uitofp if x.kind is BOOL else e.builder.sitofp
    return Lane(e, FLOAT, convert(x.value, e.types[FLOAT]))


EMITTERS["exact_float"] = _to_float


@_emitter
def _to_int(e: Emitter, x: Lane) -> Lane:
    return Lane(e, INT, e.builder.zext(x.value, e.types[INT])) if x.kind is BOOL else e.to_int(x)


# --- integers


@_emitter
def _shl(e: Emitter, x: Lane, count: Lane) -> Lane:
    return e.shift("shl", x, count & 63)


@_emitter
def _shr(e: Emitter, x: Lane, count: Lane) -> Lane:
    beyond = Lane(e, BOOL, e.builder.icmp_unsigned(">", count.value, e.const(INT, 63).value))
    return e.shift("ashr", x, e.select(beyond, 63, count))


def _int_divide(e: Emitter, a: Lane, b: Lane) -> tuple[Lane, Lane]:
    """The quotient rounded down and the remainder with the divisor's sign; never traps. By a power of two, which is
    common, both are single instructions that LLVM does not find itself."""
    known = 0 if b.known is None else int(b.known)
    if known > 0 and known & (known - 1) == 0:
        return e.shift("ashr", a, e.const(INT, known.bit_length() - 1)), a & (known - 1)
    traps = b.compare("==", 0) | (a.compare("==", e.lowest_int) & b.compare("==", -1))
    divisor = e.select(traps, 1, b)
    quotient = Lane(e, INT, e.builder.sdiv(a.value, divisor.value))
    rest = a - quotient * divisor
    round_down = rest.compare("!=", 0) & (rest ^ divisor).compare("<", 0)
    return e.select(round_down, quotient - 1, quotient), e.select(round_down, rest + divisor, rest)


def _float_divide(e: Emitter, a: Lane, b: Lane) -> tuple[Lane, Lane]:
    """`_float_div_mod` of CPython (Objects/floatobject.c)."""
    rest = EMITTERS["fmod"](e, a, b)
    quotient = (a - rest) / b
    is_zero = rest.compare("==", 0.0)
    other_sign = ~is_zero & (b.compare("<", 0.0) ^ rest.compare("<", 0.0))
    signed = e.select(other_sign, rest + b, rest)
    remainder = e.select(is_zero, EMITTERS["copysign"](e, e.const(FLOAT, 0.0), b), signed)
    quotient = e.select(other_sign, quotient - 1.0, quotient)
    down = e.intrinsic("llvm.floor", quotient)
    nearest = e.select((quotient - down).compare(">", 0.5), down + 1.0, down)
    ratio = a / b
    zero = EMITTERS["copysign"](e, e.const(FLOAT, 0.0), ratio)
    quotient = e.select(quotient.compare("==", 0.0), zero, nearest)
    if not e.narrow:
        return quotient, remainder
    by_zero = b.compare("==", 0.0)  # a float32 lane that divides by zero may keep its value
    return e.select(by_zero, ratio, quotient), e.select(by_zero, float("nan"), remainder)


@_emitter
def _floordiv(e: Emitter, a: Lane, b: Lane) -> Lane:
    return (_int_divide if a.kind is INT else _float_divide)(e, a, b)[0]


@_emitter
def _mod(e: Emitter, a: Lane, b: Lane) -> Lane:
    return (_int_divide if a.kind is INT else _float_divide)(e, a, b)[1]


@_emitter
def _ipow(e: Emitter, base: Lane, exponent: Lane) -> Lane:
    """Squaring, without a branch. A larger exponent is replaced by 62 or 63, which gives the same for 0, 1 and -1;
    for other bases the result leaves int64 anyway."""
    large = exponent.compare(">", 63)
    count = e.select(large, (exponent & 1) + 62, exponent)
    result, square = e.const(INT, 1), base
    for bit in range(_POWER_BITS):
        taken = (count & (1 << bit)).compare("!=", 0)
        result = e.select(taken, result * square, result)
        square = square * square
    return result


def emit_unsigned(e: Emitter, op: Op, args: list[Lane]) -> Lane:
    """Emit `op`, of which the ints are unsigned numbers: what differs from signed ones."""
    x = args[0]
    match op.opcode:
        case opcode if opcode in COMPARISONS:
            return Lane(e, BOOL, e.builder.icmp_unsigned(SIGNS[opcode], x.value, args[1].value))
        case "to_float" | "exact_float":
            return _u_float(e, x)
        case "shr":
            return e.shift("lshr", x, args[1])
        case "floordiv" | "mod":
            return EMITTERS["u_div" if op.opcode == "floordiv" else "u_mod"](e, *args)
    raise InternalError(f"the numba target cannot emit {op.opcode} of unsigned numbers")


@_emitter
def _ufunc(e: Emitter, *operands: Lane, loop: str, part: str, ufunc: str) -> Lane:
    return Lane(e, FLOAT, call_ufunc(e, ufunc, loop, part, *[x.value for x in operands]))


def _of_uint64(opcode: str, instruction: str) -> Emit:
    def emit(e: Emitter, x: Lane, y: Lane) -> Lane:
        return Lane(e, INT, getattr(e.builder, instruction)(x.value, y.value))

    def divided(e: Emitter, x: Lane, y: Lane) -> Lane:
        return emit(e, x, e.select(y.compare("==", 0), 1, y))  # 0 in a lane that does not run would trap

    def shifted(e: Emitter, x: Lane, y: Lane) -> Lane:
        beyond = Lane(e, BOOL, e.builder.icmp_unsigned(">=", y.value, e.const(INT, 64).value))
        return e.select(beyond, 0, emit(e, x, e.select(beyond, 0, y)))

    return divided if opcode in ("u_div", "u_mod") else shifted if opcode in ("u_shl", "u_shr") else emit


EMITTERS.update({opcode: _of_uint64(opcode, instruction) for opcode, instruction in {
    "u_add": "add", "u_sub": "sub", "u_mul": "mul", "u_div": "udiv", "u_mod": "urem", "u_shl": "shl",
    "u_shr": "lshr"}.items()})


@_emitter
def _u_float(e: Emitter, x: Lane) -> Lane:
    return Lane(e, FLOAT, e.builder.uitofp(x.value, e.types[FLOAT]))


def wraps(e: Emitter, op: Op, args: Sequence[Lane]) -> Any:
    """In which lanes an operation of uint64 leaves 64 bits; None of other operations."""
    name = {"u_add": "uadd", "u_sub": "usub", "u_mul": "umul"}.get(op.opcode)
    if name is None:
        return None
    type_ = e.types[INT]
    pair = ir.LiteralStructType([type_, e.types[BOOL]])
    suffix = "i64" if e.width == 1 else f"v{e.width}i64"
    return e.builder.extract_value(e.llvm(f"llvm.{name}.with.overflow.{suffix}", pair, *[x.value for x in args]), 1)


@_emitter
def _narrow(e: Emitter, *operands: Lane, function: str) -> Lane:
    return call_narrow(e, function, *operands)


@_emitter
def _gather(e: Emitter, index: Lane, *, table: tuple[Any, ...], kind: Kind) -> Lane:
    size = len(table)
    wrapped = e.select(index.compare("<", 0), index + size, index)
    outside = wrapped.compare("<", 0) | wrapped.compare(">=", size)
    return e.element(kind, table, e.select(outside, 0, wrapped))


# --- floats


@_emitter
def _ldexp(e: Emitter, x: Lane, exponent: Lane) -> Lane:
    location = libm.library_symbol("ldexp")
    limit = 5000
    low = e.select(exponent.compare("<", -limit), -limit, exponent)
    count = e.select(low.compare(">", limit), limit, low)

    def call(number: Any, power: Any) -> Any:
        return e.call("ldexp", location, number, e.builder.trunc(power, I32))

    return Lane(e, FLOAT, e.each(call, F64, x.value, count.value))


@_emitter
def _hypot(e: Emitter, x: Lane, y: Lane) -> Lane:
    """As `lanes.vector_norm`."""
    if not lanes.hypot_is_known():
        return e.called("hypot", x, y)
    x, y = abs(x), abs(y)
    largest = e.select(x.compare("<", y), y, x)
    exponent = _binary_exponent(e, largest)
    scaled, of_tiny = norms.algorithm()
    norm = scaled((x, y), _power_of_two(e, -exponent), e.sqrt)
    norm = e.select(exponent.compare("<", -1023), of_tiny((x, y), largest, exponent, _NormsOfLanes(e)), norm)
    norm = e.select(largest.compare("==", 0.0), 0.0, norm)
    # A nan in either operand goes through the formula; an infinity wins over it.
    norm = e.select(x.compare("!=", x) | y.compare("!=", y), float("nan"), norm)
    infinite = x.compare("==", float("inf")) | y.compare("==", float("inf"))
    return e.select(infinite, float("inf"), norm)


class _NormsOfLanes:
    """What `norms` asks of lanes."""

    def __init__(self, e: Emitter):
        self.sqrt = e.sqrt
        self.power_of_two = functools.partial(_power_of_two, e)


def _binary_exponent(e: Emitter, x: Lane) -> Lane:
    """frexp's exponent of a positive number."""
    subnormal = x.compare("<", 2.0**-1022)
    field = e.shift("lshr", e.bits(e.select(subnormal, x * 2.0**54, x)), e.const(INT, 52))
    return field - e.select(subnormal, e.const(INT, 1022 + 54), e.const(INT, 1022))


@_emitter
def _exponent(e: Emitter, x: Lane) -> Lane:
    """frexp's: 0 for zeros, infinities and nan."""
    size = abs(x)
    return e.select(size.compare(">", 0.0) & size.compare("<", float("inf")), _binary_exponent(e, size), 0)



def _power_of_two(e: Emitter, exponent: Lane) -> Lane:
    """2.0**exponent for -1024 <= exponent <= 1023, otherwise any number; two of them are subnormal."""
    normal = e.shift("shl", (exponent + 1023) & 0x7FF, e.const(INT, 52))
    bits = e.select(exponent.compare("==", -1023), 1 << 51, normal)
    return e.bits(e.select(exponent.compare("==", -1024), 1 << 50, bits))


@_emitter
def _round_digits(e: Emitter, x: Lane, digits: Lane) -> Lane:
    """As `lanes.round_digits`: decided by an exact product, and a call of Python's round for what that leaves."""
    size = len(lanes.TENS)
    within = digits.compare(">=", 0) & digits.compare("<", size)
    ten = e.element(FLOAT, tuple(lanes.TENS.tolist()), e.select(within, digits, 0))
    product = x * ten
    error = norms.product_error(x, ten, product)
    whole = e.intrinsic("llvm.rint", product)
    rest = product - whole
    up = rest.compare("==", 0.5) & error.compare(">", 0.0)
    down = rest.compare("==", -0.5) & error.compare("<", 0.0)
    whole = e.select(up, whole + 1.0, e.select(down, whole - 1.0, whole))
    decided = within & abs(product).compare("<", 2.0**51)
    quick = EMITTERS["copysign"](e, e.select(decided, whole / ten, x), x)
    unsure = ~(decided | (within & ~abs(x).compare("<", 2.0**52)))

    def call(number: Any, count: Any) -> Any:
        return e.call("round_digits", libm.round_digits_address(), number, count, pure=False)

    return Lane(e, FLOAT, e.where_any(unsure.value, quick.value, lambda: e.each(
        call, F64, x.value, digits.value, where=unsure.value, rest=quick.value)))


# --- the C library's functions, and NumPy's


def _within(args: Sequence[Lane]) -> tuple[Interval, ...]:
    """Where the operands lie; empty where nothing is known."""
    known = tuple([ANY_FLOAT if arg.within is None else arg.within for arg in args])
    return () if all(each is ANY_FLOAT for each in known) else known


def _library_vectors(name: str, paired: bool) -> Emit:
    if paired:
        return lambda e, x: Lane(e, FLOAT, emit_of_pair(e, name, _OF_PAIR.index(name), x.value, within=_within([x])))
    return lambda e, *args: Lane(e, FLOAT, emit_library(e, name, *[a.value for a in args], within=_within(args)))


def _library_call(name: str) -> Emit:
    return lambda e, *args: e.called(name, *args)


def _numpy_call(opcode: str) -> Emit:
    return lambda e, *args: call_numpy(e, opcode, *args)


@_emitter
def _nextafter(e: Emitter, x: Lane, y: Lane) -> Lane:
    if not e.narrow:
        return e.called("nextafter", x, y)
    location = libm.library_symbol("nextafterf")

    def call(*scalars: Any) -> Any:
        return e.call("nextafterf", location, *scalars, result=F32)

    return Lane(e, FLOAT, e.each(call, F32, x.value, y.value))


for _name in libm.NAMES | libm.CALLED:
    EMITTERS.setdefault(_name, _library_call(_name))
EMITTERS.update({opcode: _numpy_call(opcode) for opcode in NUMPY_LOOPS})


def _vector_call(name: str) -> Emit:
    return lambda e, *args: Lane(e, FLOAT, emit_everywhere(e, name, *[a.value for a in args], within=_within(args)))


for _name in vmath.TABLE:
    EMITTERS["vec_" + _name] = _vector_call(_name)


@_emitter
def _vec_pow(e: Emitter, x: Lane, y: Lane) -> Lane:
    """A literal exponent is worth a branch for rare numbers: sRGB becomes 1.2 times as fast by it on a Zen 5."""
    if e.width > 1 and y.known is not None and abs(y.known) < float("inf"):
        return Lane(e, FLOAT, emit_power(e, x.value, y.value, float(y.known), within=_within([x, y])))
    return Lane(e, FLOAT, emit_everywhere(e, "pow", x.value, y.value, within=_within([x, y])))


EMITTERS["fmod"] = EMITTERS["np_fmod"] = EMITTERS["vec_fmod"]  # exact


def _numpy_dot(e: Emitter, *operands: Lane) -> Lane:
    """A chain of fused multiply-adds, as BLAS computes it."""
    terms = len(operands) // 2
    total = e.const(FLOAT, 0.0)
    for x, y in zip(operands[:terms], operands[terms:], strict=True):
        total = e.intrinsic("llvm.fma", x, y, total)
    return total + 0.0


EMITTERS["np_dot"] = _numpy_dot
NOT_NORMAL = 0xBF
"""All classes of floats but one, as AVX-512 counts them."""


@_emitter
def _isnormal(e: Emitter, x: Lane) -> Lane:
    """One instruction where vectors are AVX-512's."""
    if e.width * size_of(e.scalars[FLOAT]) == 64 == processor().vector_bytes:
        name = f"llvm.x86.avx512.fpclass.p{'s' if e.narrow else 'd'}.512"
        return ~Lane(e, BOOL, e.llvm(name, e.types[BOOL], x.value, ir.Constant(I32, NOT_NORMAL)))
    size = abs(x)
    smallest = 2.0**-126 if e.narrow else 2.0**-1022
    return size.compare(">=", smallest) & size.compare("<", float("inf"))


EMITTERS["fma"] = lambda e, x, y, z: e.intrinsic("llvm.fma", x, y, z)
SPELLED = frozenset([*OPERATORS, *EMITTERS, "fault"])
