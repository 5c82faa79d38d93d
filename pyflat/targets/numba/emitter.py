"""Values and the emitter of the numba target: what an operation's formula is written with.

`Lane` is a value with Python's operators, so that longer operations read like their formulas. The emitter says how
many lanes it holds: one (LLVM's scalars) or as many as fill a vector register; the formulas are the same. The C
library's functions are called under names of ours, so that LLVM cannot recognise them (it would turn pow(x, 0.5) into
sqrt(x)).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from llvmlite import ir

from pyflat.analysis.intervals import Interval
from pyflat.functions import libm
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Op, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numba.doubtful_lanes import Doubts
from pyflat.targets.numba.llvm import (
    F32,
    F64,
    I1,
    I8,
    I32,
    I64,
    Splat,
    constants,
    counted,
    element_at,
    freeze,
    i64,
    phi_of,
    set_lanes,
    spread,
    stack,
    suffix,
)
from pyflat.targets.numba.symbols import Symbols

TYPES: dict[Kind, ir.Type] = {BOOL: I1, INT: I64, FLOAT: F64}
"""The LLVM type of one value of each kind."""

_NARROW_TYPES: dict[Kind, ir.Type] = {**TYPES, FLOAT: F32}


def types_of(floats: FloatFormat) -> dict[Kind, ir.Type]:
    """The LLVM type of one value of each kind, for float lanes of this format."""
    return TYPES if floats is F8 else _NARROW_TYPES


Ranges = Mapping[Op, Sequence[Interval]]
"""Where the operands of operations lie, in the lanes that need them."""


class Lane:
    """One value while code is emitted: the LLVM value, its kind, the emitter that it belongs to, the number that it is
    where that is known, and where it lies in the lanes that need it, where that is."""

    __slots__ = ("emit", "kind", "known", "value", "within")

    def __init__(self, emit: Emitter, kind: Kind, value: Any, known: bool | int | float | None = None):
        self.emit, self.kind, self.value, self.known = emit, kind, value, known
        self.within: Interval | None = None

    def lying(self, within: Interval) -> Lane:
        """This value, which lies there for one of its users."""
        lane = Lane(self.emit, self.kind, self.value, self.known)
        lane.within = within
        return lane

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


LONG_TABLE = 1_024
"""Entries above which a table is no part of the code, which knows its address: a million take LLVM seconds."""


class Emitter:
    """Emits operations at the builder's place, on `width` lanes at a time.

    `scalars` are the LLVM types of one lane of each kind, `types` those of a Lane's value: the same for one lane,
    vectors of them for more. `active` is the mask of the lanes that run (None: all): the others get any value.
    `symbols` are the addresses of the functions that are called, `angles` the values of which both sine and cosine are
    wanted; `ranges` say of operations where their operands lie. `doubts` note lanes in which a function is in doubt, or
    say that this code settles them; without them a branch does. `calls` are the functions of vector code that are
    called and not inlined.
    """

    def __init__(self, builder: ir.IRBuilder, symbols: Symbols, width: int = 1,
                 scalars: dict[Kind, ir.Type] = TYPES, angles: set[Value] | None = None, ranges: Ranges | None = None,
                 doubts: Doubts | None = None, calls: Container[str] = frozenset()):
        self.builder = builder
        self.symbols = symbols
        self.width = width
        self.scalars = scalars
        self.types = {kind: self.widened(scalar) for kind, scalar in scalars.items()}
        self.angles: set[Value] = set() if angles is None else angles
        self.ranges: Ranges = {} if ranges is None else ranges
        self.doubts = doubts
        self.calls = calls
        self.active: Any = None
        self._tables: dict[Any, Any] = {}
        self._places: dict[tuple[int | str, str], Any] = {}
        self._wide: Emitter | None = None

    @property
    def narrow(self) -> bool:
        """Float lanes are float32."""
        return self.scalars[FLOAT] is F32

    @property
    def lowest_int(self) -> int:
        """The least number that an int lane holds."""
        return -(1 << (int(self.scalars[INT].width) - 1))

    def short_ints(self) -> Emitter:
        """An emitter like this one with int lanes of 32 bits."""
        return Emitter(self.builder, self.symbols, self.width, {**self.scalars, INT: I32}, self.angles, self.ranges,
                       calls=self.calls)

    def widely(self, compute: Callable[..., Lane], *args: Lane) -> Lane:
        """`compute` of an emitter of float64 and the widened operands; a float result is rounded to float32."""
        wide = self._wide = self._wide or Emitter(self.builder, self.symbols, self.width, calls=self.calls)
        wide.active = self.active
        result = compute(wide, *[self._widened(wide, arg) for arg in args])
        if result.kind is not FLOAT:
            return Lane(self, result.kind, result.value)
        return Lane(self, FLOAT, self.builder.fptrunc(result.value, self.types[FLOAT]))

    def _widened(self, wide: Emitter, arg: Lane) -> Lane:
        if arg.kind is not FLOAT or arg.known is not None:
            return Lane(wide, arg.kind, arg.value, arg.known) if arg.kind is not FLOAT else wide.const(FLOAT, arg.known)
        lane = Lane(wide, FLOAT, self.builder.fpext(arg.value, wide.types[FLOAT]))
        return lane if arg.within is None else lane.lying(arg.within)

    def widened(self, scalar: ir.Type) -> ir.Type:
        return scalar if self.width == 1 else ir.VectorType(scalar, self.width)

    def const(self, kind: Kind, value: bool | int | float | None) -> Lane:
        """A constant; undefined ones are zero."""
        known = 0 if value is None else value
        number = float(known) if kind is FLOAT else int(known)
        return Lane(self, kind, self.splat(self._constant(kind, number)), number)

    def _constant(self, kind: Kind, number: float) -> ir.Constant:
        """The constant of one lane; an int modulo what the lane holds."""
        if kind is INT:
            number = (int(number) - self.lowest_int) % (-2 * self.lowest_int) + self.lowest_int
        return ir.Constant(self.scalars[kind], number)

    def splat(self, constant: ir.Constant) -> ir.Constant:
        """A scalar constant in every lane."""
        return constant if self.width == 1 else Splat(constant, self.width)

    def broadcast(self, kind: Kind, scalar: Any) -> Lane:
        """A computed scalar in every lane."""
        return Lane(self, kind, scalar if self.width == 1 else spread(self.builder, scalar, self.width))

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
        operands = [self.stored(role, arg) for role, arg in enumerate(args)]
        results = self.stored("results", self.splat(ir.Constant(result, 0)) if rest is None else rest)
        lanes = (counted(builder, i64(self.width), rolled=True) if mask is None
                 else set_lanes(builder, self.bits_of(mask)))
        with lanes as k:
            types = [_scalar(arg.type) for arg in args]
            scalars = [builder.load(element_at(builder, place, k, t), typ=t)
                       for place, t in zip(operands, types, strict=True)]
            builder.store(call(*scalars), element_at(builder, results, k, result))
        return builder.load(results, typ=self.widened(result))

    def where_any(self, mask: Any, rest: Any, compute: Callable[[], Any]) -> Any:
        """`compute()` behind a branch, taken where any lane of the mask is set; else `rest`."""
        before = self.builder.block
        with self.builder.if_then(self.any(mask), likely=False):
            computed = compute()
            inside = self.builder.block
        return phi_of(self.builder, (rest, before), (computed, inside))

    def set_bits(self, mask: Any) -> Any:
        """How many lanes of a mask are set."""
        return self.llvm("llvm.ctpop.i64", I64, self.bits_of(mask))

    def bits_of(self, mask: Any) -> Any:
        """A mask as the low bits of an int64."""
        return self.builder.zext(mask if self.width == 1 else self.builder.bitcast(mask, ir.IntType(self.width)), I64)

    def stored(self, role: int | str, value: Any) -> Any:
        """`value` on the stack."""
        place = self.place(role, value.type)
        self.builder.store(value, place)
        return place

    def place(self, role: int | str, kind: ir.Type) -> Any:
        """Room on the stack, the same for all that are never there together."""
        key = role, str(kind)
        if key not in self._places:
            self._places[key] = stack(self.builder, kind)
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
        """A constant array: in the module, or outside where it is long."""
        key = kind, id(numbers) if len(numbers) > LONG_TABLE else tuple(map(repr, numbers))
        if key not in self._tables:
            made = self._outside if len(numbers) > LONG_TABLE else self._inside
            self._tables[key] = made(kind, numbers)
        return self._tables[key]

    def _inside(self, kind: Kind, numbers: tuple[Any, ...]) -> Any:
        element = I8 if kind is BOOL else self.scalars[kind]
        return constants(self.builder.module, element, [
            int(v) if kind is BOOL else self._constant(kind, float(v) if kind is FLOAT else int(v)).constant
            for v in numbers])

    def _outside(self, kind: Kind, numbers: tuple[Any, ...]) -> Any:
        scalar, module = self.scalars[kind], self.builder.module
        name = self.symbols.of_table(numbers, {I1: "i1", I32: "i4", I64: "i8", F32: "f4", F64: "f8"}[scalar])
        if name not in module.globals:
            variable = ir.GlobalVariable(module, ir.ArrayType(I8 if kind is BOOL else scalar, len(numbers)), name)
            variable.global_constant = True
        return module.globals[name]

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
        everywhere, alignment = self.splat(ir.Constant(I1, 1)), ir.Constant(I32, size_of(element))
        return self.llvm(name, result, places, alignment, everywhere, ir.Constant(result, ir.Undefined))


def size_of(element: ir.Type) -> int:
    """Bytes of an element in memory."""
    return element.width // 8 if isinstance(element, ir.IntType) else 4 if element == F32 else 8


def _scalar(type_: ir.Type) -> ir.Type:
    return type_.element if isinstance(type_, ir.VectorType) else type_
