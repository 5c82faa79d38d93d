"""The operation table: every primitive, its meaning in Python, its kinds, and when it faults.

`PRIMITIVES` is the one list. A row says
  signatures  operand kinds -> result kind;
  python      the strict meaning on Python scalars: what CPython computes, or the exception it raises;
  faults      the rule (in `ir.faults`) that tells, from the operands and the result, the lanes in which
              `python` raises or leaves int64. A rule may be conservative, it never misses;
  accuracy    EXACT: every target gives the same bits; LIBM: the C library's function (the target chooses which);
              NUMPY: NumPy's own ufunc; CALL: only CPython's own code gives these bits,
              so that targets call it lane by lane (slow, and shown by explain);
              VECTOR: the function of pyflat.functions.vmath, within 2 ulp, the same bits wherever it is computed;
  operator    Python's operator, for the printer and for source matching;
  native      operand kinds for which that operator on NumPy arrays computes the same bits, so that a source
              text may be kept as it is;
  cost        a rough number of machine operations, for cost models.

Adding a primitive is one row here and one spelling per target.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from pyflat.functions import external_ufuncs as foreign
from pyflat.ir.types import BOOL, FLOAT, INT, PACK, VOID, Kind


class Accuracy(Enum):
    EXACT = "exact"
    LIBM = "libm"
    NUMPY = "numpy"
    CALL = "call"
    VECTOR = "vector"


Signature = tuple[tuple[Kind, ...], Kind]


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    signatures: tuple[Signature, ...]
    python: Callable[..., Any]
    faults: str = ""
    accuracy: Accuracy = Accuracy.EXACT
    operator: str = ""
    native: tuple[tuple[Kind, ...], ...] = ()
    cost: int = 1

    def result_kind(self, kinds: tuple[Kind, ...]) -> Kind | None:
        for operands, result in self.signatures:
            if operands == kinds:
                return result
        return None


PRIMITIVES: dict[str, Primitive] = {}


def _row(name: str, signatures: tuple[Signature, ...], python: Callable[..., Any], **rest: Any) -> None:
    PRIMITIVES[name] = Primitive(name, signatures, python, **rest)


_B, _I, _F = (BOOL,), (INT,), (FLOAT,)
_BB, _II, _FF = _B * 2, _I * 2, _F * 2


class OutOfLane(ArithmeticError):
    """The Python value exists but no lane holds it (an int beyond 64 bits, a complex number)."""


# --- arithmetic
_row("add", ((_II, INT), (_FF, FLOAT)), operator.add, faults="add", operator="+", native=(_II, _FF))
_row("sub", ((_II, INT), (_FF, FLOAT)), operator.sub, faults="sub", operator="-", native=(_II, _FF))
_row("mul", ((_II, INT), (_FF, FLOAT)), operator.mul, faults="mul", operator="*", native=(_II, _FF))
_row("truediv", ((_FF, FLOAT),), operator.truediv, faults="zero_divisor", operator="/", native=(_FF,), cost=4)
_row("floordiv", ((_II, INT), (_FF, FLOAT)), operator.floordiv, faults="floordiv", operator="//", native=(_II, _FF),
     cost=20)
_row("mod", ((_II, INT), (_FF, FLOAT)), operator.mod, faults="zero_divisor", operator="%", native=(_II, _FF), cost=20)
_row("neg", ((_I, INT), (_F, FLOAT)), operator.neg, faults="int_min", operator="-", native=(_I, _F))
_row("abs", ((_I, INT), (_F, FLOAT)), abs, faults="int_min")


def _float_pow(a: float, b: float) -> float:
    if a < 0 and math.isfinite(a) and math.isfinite(b) and b != math.floor(b):
        raise OutOfLane("a negative number to a fractional power is complex")
    result = a**b
    return float(result)


_row("pow", ((_FF, FLOAT),), _float_pow, faults="pow", accuracy=Accuracy.LIBM, operator="**", cost=60)


def _int_pow(a: int, b: int) -> int:
    if b < 0:
        raise OutOfLane("an int to a negative power is a float")
    if abs(a) > 1 and b > 64:
        raise OutOfLane("int power beyond 64 bits")
    return int(a**b)


_row("ipow", ((_II, INT),), _int_pow, faults="ipow", operator="**", cost=20)

# --- bits and truth
_row("and", ((_BB, BOOL), (_II, INT)), operator.and_, operator="&", native=(_II, _BB))
_row("or", ((_BB, BOOL), (_II, INT)), operator.or_, operator="|", native=(_II, _BB))
_row("xor", ((_BB, BOOL), (_II, INT)), operator.xor, operator="^", native=(_II, _BB))
_row("not", ((_B, BOOL),), operator.not_)
_row("invert", ((_I, INT),), operator.invert, operator="~", native=(_I,))


def _shl(a: int, b: int) -> int:
    if b > 64 and a != 0:
        raise OutOfLane("shift beyond 64 bits")
    return a << min(b, 64)


_row("shl", ((_II, INT),), _shl, faults="shl", operator="<<", native=(_II,), cost=3)
_row("shr", ((_II, INT),), operator.rshift, faults="negative_count", operator=">>", native=(_II,), cost=3)

# --- comparison
for _name, _sign, _fn in (("eq", "==", operator.eq), ("ne", "!=", operator.ne), ("lt", "<", operator.lt),
                          ("le", "<=", operator.le), ("gt", ">", operator.gt), ("ge", ">=", operator.ge)):
    _row(_name, ((_BB, BOOL), (_II, BOOL), (_FF, BOOL)), _fn, operator=_sign, native=(_II, _FF, _BB))


def _select(cond: bool, a: Any, b: Any) -> Any:
    return a if cond else b


_row("select", tuple(((BOOL, k, k), k) for k in (BOOL, INT, FLOAT)), _select)

# --- conversion

_row("to_float", ((_B, FLOAT), (_I, FLOAT)), float)


def _exact_float(i: int) -> float:
    if abs(i) > 2**53:
        raise OutOfLane("an int beyond 2**53 is not a float exactly")
    return float(i)


_row("exact_float", ((_I, FLOAT),), _exact_float, faults="beyond_exact")
_row("to_int", ((_B, INT), (_F, INT)), int, faults="int_range")
_row("floor_int", ((_F, INT),), math.floor, faults="int_range")
_row("ceil_int", ((_F, INT),), math.ceil, faults="int_range")
_row("round_int", ((_F, INT),), round, faults="int_range")

# --- float to float, exact
_row("floor", ((_F, FLOAT),), lambda x: float(np.floor(x)))
_row("ceil", ((_F, FLOAT),), lambda x: float(np.ceil(x)))
_row("trunc", ((_F, FLOAT),), lambda x: float(np.trunc(x)))
_row("rint", ((_F, FLOAT),), lambda x: float(np.rint(x)))
_row("isnan", ((_F, BOOL),), math.isnan)
_row("isinf", ((_F, BOOL),), math.isinf)
_row("isfinite", ((_F, BOOL),), math.isfinite)
_row("copysign", ((_FF, FLOAT),), math.copysign, faults="nan_sign")
_row("sqrt", ((_F, FLOAT),), math.sqrt, faults="negative", cost=8)
_row("fmod", ((_FF, FLOAT),), math.fmod, faults="fmod", cost=40)
_row("remainder", ((_FF, FLOAT),), math.remainder, faults="fmod", cost=40)
_row("nextafter", ((_FF, FLOAT),), math.nextafter, cost=10)
_row("ldexp", (((FLOAT, INT), FLOAT),), math.ldexp, faults="nonfinite_of_first", cost=10)
_row("exponent", ((_F, INT),), lambda x: math.frexp(x)[1])
"""frexp's exponent of a finite number that is not zero; of others any number."""
_row("round_digits", (((FLOAT, INT), FLOAT),), round, faults="nonfinite_of_first", accuracy=Accuracy.CALL, cost=200)

# --- the C library
_ELEMENTARY = {
    "exp": "overflow", "expm1": "overflow", "exp2": "overflow", "log": "not_positive", "log2": "not_positive",
    "log10": "not_positive", "log1p": "not_above_minus_one", "sin": "infinite", "cos": "infinite",
    "tan": "infinite", "asin": "beyond_one", "acos": "beyond_one", "atan": "", "sinh": "nonfinite",
    "cosh": "overflow", "tanh": "", "asinh": "", "acosh": "below_one", "atanh": "not_inside_one",
    "cbrt": "", "erf": "", "erfc": "",
}
for _name, _rule in _ELEMENTARY.items():
    _row(_name, ((_F, FLOAT),), getattr(math, _name), faults=_rule, accuracy=Accuracy.LIBM, cost=40)
_row("atan2", ((_FF, FLOAT),), math.atan2, accuracy=Accuracy.LIBM, cost=60)
_row("gamma", ((_F, FLOAT),), math.gamma, faults="nonfinite", accuracy=Accuracy.CALL, cost=200)
_row("lgamma", ((_F, FLOAT),), math.lgamma, faults="nonfinite", accuracy=Accuracy.CALL, cost=200)
_row("hypot", ((_FF, FLOAT),), math.hypot, accuracy=Accuracy.CALL, cost=200)


def _library_hypot(x: float, y: float) -> float:
    """abs() of a complex number: the C library's hypot, not math.hypot. CPython 3.11 does not clear errno
    before abs() of a nan, and may raise what an earlier operation has left there."""
    if math.isinf(x) or math.isinf(y):
        return math.inf
    return math.nan if x != x or y != y else abs(complex(x, y))


_row("library_hypot", ((_FF, FLOAT),), _library_hypot, faults="beyond_largest", accuracy=Accuracy.LIBM, cost=40)

# --- NumPy's own scalar functions: never raise, NumPy's bits (their domain errors are values)
NUMPY_UNARY = ("exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
               "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt")
NUMPY_BINARY = ("arctan2", "power", "float_power", "hypot", "logaddexp", "fmod")


def _quiet(ufunc: Callable[..., Any]) -> Callable[..., float]:
    def call(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(ufunc(*args))

    return call


for _name in NUMPY_UNARY:
    _row("np_" + _name, ((_F, FLOAT),), _quiet(getattr(np, _name)), accuracy=Accuracy.NUMPY, cost=20)
for _name in NUMPY_BINARY:
    _row("np_" + _name, ((_FF, FLOAT),), _quiet(getattr(np, _name)), accuracy=Accuracy.NUMPY, cost=40)
_row("np_powers", ((_FF, FLOAT),), _quiet(lambda x, y: np.power(np.array([x]), np.array([y]))[0]),
     accuracy=Accuracy.NUMPY, cost=40)
"""np.power with an array of exponents, which NumPy computes without looking for 0.5 or 2."""
_row("np_sqrt", ((_F, FLOAT),), _quiet(np.sqrt), cost=8)

NUMPY_LOOPS = {"np_" + name: name for name in (*NUMPY_UNARY, *NUMPY_BINARY) if name != "fmod"} | {"np_powers": "power"}
"""Operation -> NumPy's function whose bits only its own inner loop has; np.fmod is exact by definition."""

MAX_DOT = 15
"""Terms of a dot product; the kernels of BLAS take more in blocks."""


def _dot(*operands: float) -> float:
    terms, total = len(operands) // 2, 0.0
    for x, y in zip(operands[:terms], operands[terms:], strict=True):
        total = _fused_multiply_add(x, y, total)
    return total + 0.0


_row("np_dot", tuple((_F * (2 * terms), FLOAT) for terms in range(2, MAX_DOT + 1)), _dot, cost=20)
"""A dot product as BLAS computes it where `frontend.space.blas` has found that out; it is built nowhere else. Operands:
first all elements of one vector, then those of the other. 0.0 plus a chain of fused multiply-adds from 0.0."""

_row("ufunc", tuple((kinds, FLOAT) for count in range(1, foreign.MOST_OPERANDS + 1)
                    for kinds in itertools.product((FLOAT, INT), repeat=count)), foreign.call, cost=100)
"""A compiled function of another package (`functions.external_ufuncs`); attrs `loop`, `part` and `ufunc`."""

# --- tables and faults
_row("gather", ((_I, BOOL), (_I, INT), (_I, FLOAT)), lambda i, table: table[i], faults="index", cost=4)
"""table[i] with the constant tuple `table` (attr, all of the result kind) and Python's negative indices."""


def _raise_fault(cond: bool, fault: Any) -> None:
    raise AssertionError("the interpreter handles fault itself")


_row("fault", ((_B, VOID),), _raise_fault)
"""Marks the lanes where the operand is true as faults; attr `fault` (a Fault) says which."""

CONVERGENT: dict[str, Primitive] = {
    "lane_any": Primitive("lane_any", ((_B, BOOL),), bool),
}
"""Operations that the lanes of a block do together, where all of them are (`ir.validate` checks it): the IR's own,
which stand for no Python and which a target spells, if it knows them, where it runs lanes side by side.

lane_any(b) is true in every lane if b is true in some lane. For one lane it is b itself: what `python` says."""


def _fused_multiply_add(x: float, y: float, z: float) -> float:
    """x*y + z with one rounding."""
    from pyflat.functions.vmath import fused  # a package of its own, needed where such an operation is

    return fused.exact(x, y, z)


def _sum(terms: Iterable[float]) -> float:
    first, *rest = terms
    for term in rest:
        first += term
    return first


def _kept(*_: Any, **__: Any) -> Any:
    raise AssertionError("a kept call means what its name means, see ir.kept")


_VECTORS = tuple((_F * n, PACK) for n in range(2, 17))
FUSED: dict[str, Primitive] = {row.name: row for row in (
    Primitive("call", (), _kept, accuracy=Accuracy.CALL, cost=40),
    Primitive("part", (((PACK,), FLOAT), ((PACK,), INT), ((PACK,), BOOL)), lambda pack, index: pack[index], cost=0),
    Primitive("pack", _VECTORS, lambda *lanes: lanes, cost=0),
    Primitive("min", ((_II, INT), (_FF, FLOAT)), min),
    Primitive("max", ((_II, INT), (_FF, FLOAT)), max),
    Primitive("clamp", ((_I * 3, INT), (_F * 3, FLOAT)), lambda x, low, high: min(max(x, low), high)),
    Primitive("mad", ((_F * 3, FLOAT),), lambda x, y, z: x * y + z),
    Primitive("fma", ((_F * 3, FLOAT),), _fused_multiply_add),
    Primitive("lerp", ((_F * 3, FLOAT),), lambda x, y, t: x + t * (y - x), cost=2),
    Primitive("recip", ((_F, FLOAT),), lambda x: 1.0 / x, cost=4),
    Primitive("dot", (((PACK, PACK), FLOAT),), lambda a, b: _sum(x * y for x, y in zip(a, b, strict=True)), cost=2),
    Primitive("hadd", (((PACK,), FLOAT),), _sum),
)}
"""Operations that only backends see: calls that are kept, and what `pyflat.backend` fuses operations into. `min`, `max`
and `clamp` are Python's (`b if b < a else a`), bit for bit; the others belong to fast math. `pack` makes a vector of
numbers, `part` takes one out."""


_VECTOR_COSTS = {
    "exp": 30, "exp2": 30, "expm1": 36, "log": 38, "log2": 46, "log10": 50, "log1p": 50, "pow": 120, "cbrt": 52,
    "sin": 44, "cos": 44, "tan": 60, "asin": 34, "acos": 42, "atan": 44, "atan2": 60, "sinh": 60, "cosh": 46,
    "tanh": 52, "asinh": 80, "acosh": 70, "atanh": 70, "erf": 80, "erfc": 80,
    "gamma": 380, "lgamma": 350,
}
"""Machine operations of each vector function, a division counted as eight."""


NEAR_LARGEST = 1.7976931348623157e308 * (1 - 2.0**-46)
"""From here on the C library's function may have overflowed although the vector function has not."""


_NEAR_RULES = {"nonfinite": "near_overflow", "pow": "near_overflow", "overflow": "near_overflow_up"}


def _vector(name: str) -> Primitive:
    """The row vec_<name>: where the vector function has no finite value, or hardly, the C library's row decides."""
    row = PRIMITIVES[name]

    def python(*args: float) -> float:
        from pyflat.functions import vmath  # a package of its own, needed where such an operation is

        value = vmath.reference(name)(*args)
        return value if abs(value) < NEAR_LARGEST else float(row.python(*args))

    faults = _NEAR_RULES.get(row.faults, row.faults)
    return Primitive("vec_" + name, row.signatures, python, faults, Accuracy.VECTOR, cost=_VECTOR_COSTS[name])


VECTOR: dict[str, Primitive] = {row.name: row for row in map(_vector, _VECTOR_COSTS)}
"""The vector math of the numba target: the IR's own, put in the place of the C library's functions."""

OPERATIONS: dict[str, Primitive] = {**PRIMITIVES, **CONVERGENT, **FUSED, **VECTOR}
"""Every operation that the IR may hold."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor", "eq", "ne"})
