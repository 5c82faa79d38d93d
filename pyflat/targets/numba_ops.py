"""How each operation is written in LLVM's IR, for the numba target.

`Lane` is a value with Python's operators, so that longer operations read like their formulas. The emitter says how
many lanes it holds: one (LLVM's scalars) or as many as fill a vector register; the formulas are the same.
Every emitted operation is total: no trap (division by zero, INT_MIN // -1), and no *poison* (a shift by 64, a
conversion out of range), because poison in a lane that is not taken would spread through the suspect bit. There is
no fast-math flag anywhere, so that LLVM neither reorders nor contracts; the C library's functions are called
under names of ours, so that LLVM cannot recognise them (it would turn pow(x, 0.5) into sqrt(x)).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from pyflat import lanes, libm, vmath
from pyflat.errors import InternalError
from pyflat.ir.nodes import Op
from pyflat.ir.ops import NUMPY_BINARY, NUMPY_UNARY
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MIN, Kind
from pyflat.targets.numba_ir import (
    F64,
    I1,
    I8,
    I32,
    I64,
    Splat,
    counted,
    element_at,
    freeze,
    i64,
    set_lanes,
    stack,
    suffix,
)
from pyflat.targets.numba_ufuncs import call_ufunc
from pyflat.targets.numba_vmath import emit_everywhere

TYPES: dict[Kind, ir.Type] = {BOOL: I1, INT: I64, FLOAT: F64}
"""The LLVM type of one value of each kind."""

_POWER_BITS = 6


class Lane:
    """One value while code is emitted: the LLVM value, its kind, the emitter that it belongs to, and the number that
    it is where that is known."""

    __slots__ = ("emit", "kind", "known", "value")

    def __init__(self, emit: Emitter, kind: Kind, value: Any, known: bool | int | float | None = None):
        self.emit, self.kind, self.value, self.known = emit, kind, value, known

    def _with(self, other: Lane | float, on_float: str, on_int: str) -> Lane:
        b = self.emit.lift(other, self.kind)
        name = on_float if self.kind is FLOAT else on_int
        return Lane(self.emit, self.kind, getattr(self.emit.builder, name)(self.value, b.value))

    def __add__(self, other: Lane | float) -> Lane:
        return self._with(other, "fadd", "add")

    def __sub__(self, other: Lane | float) -> Lane:
        return self._with(other, "fsub", "sub")

    def __mul__(self, other: Lane | float) -> Lane:
        return self._with(other, "fmul", "mul")

    def __truediv__(self, other: Lane | float) -> Lane:
        return Lane(self.emit, FLOAT, self.emit.builder.fdiv(self.value, self.emit.lift(other, FLOAT).value))

    def __radd__(self, other: float) -> Lane:
        return self.emit.lift(other, self.kind) + self

    def __rsub__(self, other: float) -> Lane:
        return self.emit.lift(other, self.kind) - self

    def __rmul__(self, other: float) -> Lane:
        return self.emit.lift(other, self.kind) * self

    def __rtruediv__(self, other: float) -> Lane:
        return self.emit.lift(other, FLOAT) / self

    def __neg__(self) -> Lane:
        if self.kind is FLOAT:
            return Lane(self.emit, FLOAT, self.emit.builder.fneg(self.value))
        return self.emit.const(self.kind, 0) - self

    def __abs__(self) -> Lane:
        if self.kind is FLOAT:
            return self.emit.intrinsic("llvm.fabs", self)
        return self.emit.select(self.compare("<", 0), -self, self)

    def __and__(self, other: Lane | float) -> Lane:
        return self._with(other, "", "and_")

    def __or__(self, other: Lane | float) -> Lane:
        return self._with(other, "", "or_")

    def __xor__(self, other: Lane | float) -> Lane:
        return self._with(other, "", "xor")

    def __invert__(self) -> Lane:
        return self ^ (True if self.kind is BOOL else -1)

    def compare(self, sign: str, other: Lane | float) -> Lane:
        """Python's comparison; False orders before True, nan is unequal to everything."""
        builder, b = self.emit.builder, self.emit.lift(other, self.kind)
        match self.kind:
            case Kind.FLOAT if sign != "!=":
                value = builder.fcmp_ordered(sign, self.value, b.value)
            case Kind.FLOAT:
                value = builder.fcmp_unordered(sign, self.value, b.value)
            case Kind.INT:
                value = builder.icmp_signed(sign, self.value, b.value)
            case _:
                value = builder.icmp_unsigned(sign, self.value, b.value)
        return Lane(self.emit, BOOL, value)


class Emitter:
    """Emits operations at the builder's place, on `width` lanes at a time.

    `scalars` are the LLVM types of one lane of each kind, `types` those of a Lane's value: the same for one lane,
    vectors of them for more. `active` is the mask of the lanes that run (None: all): the others get any value.
    `symbols` are the addresses of the functions that are called.
    """

    def __init__(self, builder: ir.IRBuilder, symbols: dict[str, int], width: int = 1,
                 scalars: dict[Kind, ir.Type] = TYPES):
        self.builder = builder
        self.symbols = symbols
        self.width = width
        self.scalars = scalars
        self.types = {kind: self.widened(scalar) for kind, scalar in scalars.items()}
        self.active: Any = None
        self._tables: dict[Any, Any] = {}
        self._places: dict[tuple[int | str, str], Any] = {}

    def widened(self, scalar: ir.Type) -> ir.Type:
        return scalar if self.width == 1 else ir.VectorType(scalar, self.width)

    def const(self, kind: Kind, value: bool | int | float | None) -> Lane:
        """A constant; undefined ones are zero."""
        known = 0 if value is None else value
        number = float(known) if kind is FLOAT else int(known)
        return Lane(self, kind, self.splat(ir.Constant(self.scalars[kind], number)), number)

    def splat(self, constant: ir.Constant) -> ir.Constant:
        """A scalar constant in every lane."""
        return constant if self.width == 1 else Splat(constant, self.width)

    def broadcast(self, kind: Kind, scalar: Any) -> Lane:
        """A computed scalar in every lane."""
        if self.width == 1:
            return Lane(self, kind, scalar)
        none = ir.Constant(self.types[kind], ir.Undefined)
        first = self.builder.insert_element(none, scalar, ir.Constant(I32, 0))
        zeros = ir.Constant(ir.VectorType(I32, self.width), None)
        return Lane(self, kind, self.builder.shuffle_vector(first, none, zeros))

    def lift(self, value: Lane | float, kind: Kind) -> Lane:
        return value if isinstance(value, Lane) else self.const(kind, value)

    def select(self, condition: Lane, a: Lane | float, b: Lane | float) -> Lane:
        kind = a.kind if isinstance(a, Lane) else b.kind if isinstance(b, Lane) else FLOAT
        yes, no = self.lift(a, kind), self.lift(b, kind)
        return Lane(self, kind, self.builder.select(condition.value, yes.value, no.value))

    def intrinsic(self, name: str, *args: Lane, kind: Kind = FLOAT) -> Lane:
        """One of LLVM's functions that are exact by definition, overloaded by the type of its operands."""
        return Lane(self, kind, self.llvm(f"{name}.{suffix(args[0].value.type)}", self.types[kind],
                                          *[a.value for a in args]))

    def llvm(self, name: str, result: ir.Type, *args: Any) -> Any:
        """A call of the intrinsic with this full name."""
        prototype = ir.FunctionType(result, [a.type for a in args])
        function = self.builder.module.globals.get(name) or ir.Function(self.builder.module, prototype, name)
        return self.builder.call(function, args)

    def any(self, mask: Any) -> Any:
        """Whether any lane of a mask is set, as one bit."""
        if self.width == 1:
            return mask
        bits = ir.IntType(self.width)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(mask, bits), ir.Constant(bits, 0))

    def call(self, name: str, location: int, *args: Any, result: ir.Type = F64, pure: bool = True) -> Any:
        """Call the C function at an address under a name of ours: LLVM only learns whether it touches memory."""
        symbol = "pyflat_" + name
        self.symbols[symbol] = location
        prototype = ir.FunctionType(result, [a.type for a in args])
        function = self.builder.module.globals.get(symbol) or ir.Function(self.builder.module, prototype, symbol)
        return self.builder.call(function, args, attrs=("nounwind", "readnone") if pure else ("nounwind",))

    def masked(self, mask: Any) -> Any:
        """A mask without the lanes that do not run."""
        return mask if self.active is None else self.builder.and_(mask, self.active)

    def each(self, call: Callable[..., Any], result: ir.Type, *args: Any, where: Any = None, rest: Any = None) -> Any:
        """`call` of the scalars of each active lane, one lane after the other; returns its results, of the type
        `result`. `where` (a mask) leaves lanes out, which get `rest` or, without it, anything."""
        builder = self.builder
        if self.width == 1 and where is None:  # the lane runs, or the branch would not be here
            return call(*args)
        mask = self.active if where is None else self.masked(where)
        operands = [self._stored(role, arg) for role, arg in enumerate(args)]
        results = self._stored("results", self.splat(ir.Constant(result, 0)) if rest is None else rest)
        lanes = counted(builder, i64(self.width), rolled=True) if mask is None else set_lanes(builder, self._bits(mask))
        with lanes as k:
            types = [_scalar(arg.type) for arg in args]
            scalars = [builder.load(element_at(builder, place, k, t), typ=t)
                       for place, t in zip(operands, types, strict=True)]
            builder.store(call(*scalars), element_at(builder, results, k, result))
        return builder.load(results, typ=self.widened(result))

    def _bits(self, mask: Any) -> Any:
        """A mask as the low bits of an int64."""
        return self.builder.zext(mask if self.width == 1 else self.builder.bitcast(mask, ir.IntType(self.width)), I64)

    def _stored(self, role: int | str, value: Any) -> Any:
        """`value` on the stack, in one place for all that are never there together."""
        key = role, str(value.type)
        if key not in self._places:
            self._places[key] = stack(self.builder, value.type)
        self.builder.store(value, self._places[key])
        return self._places[key]

    def called(self, name: str, *args: Lane) -> Lane:
        """The C library's function, or CPython's own, with CPython's bits; lane by lane."""
        pure = name in libm.NAMES and libm.from_library(name)
        location = libm.address(name)
        value = self.each(lambda *x: self.call(name, location, *x, pure=pure), F64, *[a.value for a in args])
        return Lane(self, FLOAT, value)

    def bits(self, x: Lane) -> Lane:
        """A float's bits as an int, an int's as a float."""
        kind = INT if x.kind is FLOAT else FLOAT
        return Lane(self, kind, self.builder.bitcast(x.value, self.types[kind]))

    def shift(self, name: str, x: Lane, count: Lane) -> Lane:
        """x shifted by a count that is known to be in 0..63: `shl`, `ashr` or `lshr`."""
        return Lane(self, INT, getattr(self.builder, name)(x.value, count.value))

    def to_int(self, x: Lane) -> Lane:
        """Rounds towards zero; beyond int64 and for nan it is some number, always the same one of a value."""
        return Lane(self, INT, freeze(self.builder, self.builder.fptosi(x.value, self.types[INT])))

    def sqrt(self, x: Lane) -> Lane:
        return self.intrinsic("llvm.sqrt", x)

    def table(self, kind: Kind, numbers: tuple[Any, ...]) -> Any:
        """A constant array in the module."""
        element = I8 if kind is BOOL else self.scalars[kind]
        key = (kind, tuple(map(repr, numbers)))
        if key not in self._tables:
            module = self.builder.module
            values = [ir.Constant(element, float(v) if kind is FLOAT else int(v)) for v in numbers]
            array = ir.ArrayType(element, len(numbers))
            variable = ir.GlobalVariable(module, array, module.get_unique_name("pyflat.table"))
            variable.linkage, variable.global_constant = "internal", True
            variable.initializer = ir.Constant(array, values)
            self._tables[key] = variable
        return self._tables[key]

    def element(self, kind: Kind, numbers: tuple[Any, ...], index: Lane) -> Lane:
        """numbers[index] for an index within the table."""
        table = self.table(kind, numbers)
        element = table.value_type.element
        places = element_at(self.builder, table, index.value, element)
        loaded = self.builder.load(places, typ=element) if self.width == 1 else self._gathered(element, places)
        return Lane(self, kind, self.builder.trunc(loaded, self.types[BOOL]) if kind is BOOL else loaded)

    def _gathered(self, element: ir.Type, places: Any) -> Any:
        result = self.widened(element)
        name = f"llvm.masked.gather.{suffix(result)}.v{self.width}p0"
        everywhere, alignment = self.splat(ir.Constant(I1, 1)), ir.Constant(I32, 1 if element is I8 else 8)
        return self.llvm(name, result, places, alignment, everywhere, ir.Constant(result, ir.Undefined))


def _scalar(type_: ir.Type) -> ir.Type:
    return type_.element if isinstance(type_, ir.VectorType) else type_


Emit = Callable[..., Lane]
OPERATORS: dict[str, Emit] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.invert,
    "invert": operator.invert,
    "eq": lambda a, b: a.compare("==", b),
    "ne": lambda a, b: a.compare("!=", b),
    "lt": lambda a, b: a.compare("<", b),
    "le": lambda a, b: a.compare("<=", b),
    "gt": lambda a, b: a.compare(">", b),
    "ge": lambda a, b: a.compare(">=", b),
    "isnan": lambda x: x.compare("!=", x),
    "isinf": lambda x: abs(x).compare("==", float("inf")),
    "isfinite": lambda x: abs(x).compare("<", float("inf")),
}
"""Opcode -> function of the operands' lanes."""

EMITTERS: dict[str, Emit] = {
    "select": Emitter.select,
    "floor_int": lambda e, x: e.to_int(e.intrinsic("llvm.floor", x)),
    "ceil_int": lambda e, x: e.to_int(e.intrinsic("llvm.ceil", x)),
    "round_int": lambda e, x: e.to_int(e.intrinsic("llvm.rint", x)),
    "floor": lambda e, x: e.intrinsic("llvm.floor", x),
    "ceil": lambda e, x: e.intrinsic("llvm.ceil", x),
    "trunc": lambda e, x: e.intrinsic("llvm.trunc", x),
    "rint": lambda e, x: e.intrinsic("llvm.rint", x),
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
    emitter = EMITTERS.get(op.opcode)
    if emitter is None:
        raise InternalError(f"the numba target cannot emit {op.opcode}")
    if op.opcode == "gather":
        return emitter(e, *args, table=op.attr("table"), kind=op.kind)
    return emitter(e, *args, **dict(op.attrs))


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
    traps = b.compare("==", 0) | (a.compare("==", INT_MIN) & b.compare("==", -1))
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
    zero = EMITTERS["copysign"](e, e.const(FLOAT, 0.0), a / b)
    return e.select(quotient.compare("==", 0.0), zero, nearest), remainder


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


@_emitter
def _ufunc(e: Emitter, *operands: Lane, loop: str, part: str, ufunc: str) -> Lane:
    return Lane(e, FLOAT, call_ufunc(e, ufunc, loop, part, *[x.value for x in operands]))


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
    norm = lanes.scaled_norm(x, y, _power_of_two(e, -exponent), e.sqrt)
    norm = e.select(exponent.compare("<", -1023), lanes.tiny_norm(x, y, largest, e.sqrt), norm)
    norm = e.select(largest.compare("==", 0.0), 0.0, norm)
    # A nan in either operand goes through the formula; an infinity wins over it.
    norm = e.select(x.compare("!=", x) | y.compare("!=", y), float("nan"), norm)
    infinite = x.compare("==", float("inf")) | y.compare("==", float("inf"))
    return e.select(infinite, float("inf"), norm)


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
    error = lanes.product_error(x, ten, product)
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

    before = e.builder.block
    with e.builder.if_then(e.any(unsure.value), likely=False):
        called = e.each(call, F64, x.value, digits.value, where=unsure.value, rest=quick.value)
        inside = e.builder.block
    joined = e.builder.phi(e.types[FLOAT])
    joined.add_incoming(quick.value, before)
    joined.add_incoming(called, inside)
    return Lane(e, FLOAT, joined)


# --- the C library's functions, and NumPy's by the C library's (within 4 ulp)


def _library_call(name: str) -> Emit:
    return lambda e, *args: e.called(name, *args)


_NUMPY_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
                "arctanh": "atanh", "arctan2": "atan2", "power": "pow"}

for _name in libm.NAMES | libm.CALLED:
    EMITTERS.setdefault(_name, _library_call(_name))
for _name in (*NUMPY_UNARY, *NUMPY_BINARY):
    _own = _NUMPY_NAMES.get(_name, _name)
    EMITTERS["np_" + _name] = EMITTERS[_own]


def _vector_call(name: str) -> Emit:
    return lambda e, *args: Lane(e, FLOAT, emit_everywhere(e, name, *[a.value for a in args]))


for _name in vmath.TABLE:
    EMITTERS["vec_" + _name] = _vector_call(_name)
EMITTERS["fmod"] = EMITTERS["np_fmod"] = EMITTERS["vec_fmod"]  # exact


def _numpy_power(e: Emitter, x: Lane, y: Lane) -> Lane:
    """As `lanes.power`."""
    return e.select(y.compare("==", 0.5), e.sqrt(x), e.called("pow", x, y))


EMITTERS["np_power"] = _numpy_power
EMITTERS["np_powers"] = EMITTERS["pow"]


def _numpy_dot(e: Emitter, *operands: Lane) -> Lane:
    """A chain of fused multiply-adds, as BLAS computes it."""
    terms = len(operands) // 2
    total = e.const(FLOAT, 0.0)
    for x, y in zip(operands[:terms], operands[terms:], strict=True):
        total = e.intrinsic("llvm.fma", x, y, total)
    return total + 0.0


EMITTERS["np_dot"] = _numpy_dot
