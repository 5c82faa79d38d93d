"""The operation table: every primitive, its meaning in Python, its kinds, and when it faults.

`PRIMITIVES` is the one list; the rows of mathematical functions are made of their records
(`pyflat.functions.records`). A row says
  signatures  operand kinds -> result kind;
  python      the strict meaning on Python scalars: what CPython computes, or the exception it raises;
  faults      the domain that its operands leave where `python` raises, or the rule (in `ir.faults`) that tells, from
              the operands and the result, the lanes in which `python` raises or leaves int64. A rule may be
              conservative, it never misses;
  accuracy    whose digits it has (`Accuracy`);
  operator    Python's operator, for the printer and for source matching;
  native      operand kinds for which that operator on NumPy arrays computes the same bits, so that a source
              text may be kept as it is;
  cost        an estimate in additions, for targets that have no measurement;
  rounding    of a float that becomes an int: the operation that rounds in this way and gives a float;
  ufunc       NumPy's, which computes it for arrays;
  commutes    whether the operands may change places;
  low_bits    whether the low bits of an int result are made of the same bits of the operands alone;
  opposite    of a comparison, and `mirrored`: see `OPPOSITE` and `MIRRORED`;
  written     the functions that a user calls for it, first the one that texts have.

Adding a mathematical function is one record. Adding a primitive is one row here, and one of what it becomes where it
has no spelling (`passes/rules/expansions.py`): CONTRIBUTING.md has the recipe. What passes and analyses know of an
operation beyond its row (intervals, rules, theorems, measured costs) stands with them, by its name. Of an operation
that they do not name they assume nothing, or what its row says.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pyflat.functions import external_ufuncs
from pyflat.functions.originals import original
from pyflat.functions.records import RECORDS, Adds, MathFunction, VectorCode, of_accuracy
from pyflat.functions.records import Accuracy as Accuracy  # noqa: PLC0414 - read from here, too
from pyflat.functions.records import OutOfLane as OutOfLane  # noqa: PLC0414
from pyflat.ir.memory import MEMORY_OPERATIONS, Signature
from pyflat.ir.memory import Primitive as Primitive  # noqa: PLC0414 - read from here, too
from pyflat.ir.types import BOOL, FLOAT, INT, PACK, VOID

PRIMITIVES: dict[str, Primitive] = {}


def _row(name: str, signatures: tuple[Signature, ...], python: Callable[..., Any], **rest: Any) -> None:
    PRIMITIVES[name] = Primitive(name, signatures, python, **rest)


_B, _I, _F = (BOOL,), (INT,), (FLOAT,)
_BB, _II, _FF = _B * 2, _I * 2, _F * 2


# --- arithmetic
_row("add", ((_II, INT), (_FF, FLOAT)), operator.add, faults="add", operator="+", native=(_II, _FF), ufunc="add",
     commutes=True, low_bits=True)
_row("sub", ((_II, INT), (_FF, FLOAT)), operator.sub, faults="sub", operator="-", native=(_II, _FF), ufunc="subtract",
     low_bits=True)
_row("mul", ((_II, INT), (_FF, FLOAT)), operator.mul, faults="mul", operator="*", native=(_II, _FF), ufunc="multiply",
     commutes=True, low_bits=True)
_row("truediv", ((_FF, FLOAT),), operator.truediv, faults="zero_divisor", operator="/", native=(_FF,), ufunc="divide",
     cost=4)
_row("floordiv", ((_II, INT), (_FF, FLOAT)), operator.floordiv, faults="floordiv", operator="//", native=(_II, _FF),
     ufunc="floor_divide", cost=20)
_row("mod", ((_II, INT), (_FF, FLOAT)), operator.mod, faults="zero_divisor", operator="%", native=(_II, _FF),
     ufunc="remainder", cost=20)
_row("neg", ((_I, INT), (_F, FLOAT)), operator.neg, faults="int_min", operator="-", native=(_I, _F), ufunc="negative",
     low_bits=True)
_row("abs", ((_I, INT), (_F, FLOAT)), operator.abs, faults="int_min", ufunc="absolute", written=("abs", "math.fabs"))


def _int_pow(a: int, b: int) -> int:
    if b < 0:
        raise OutOfLane("an int to a negative power is a float")
    if abs(a) > 1 and b > 64:
        raise OutOfLane("int power beyond 64 bits")
    return int(a**b)


_row("ipow", ((_II, INT),), _int_pow, faults="ipow", operator="**", cost=20)

# --- bits and truth
for _name, _sign, _fn in (("and", "&", operator.and_), ("or", "|", operator.or_), ("xor", "^", operator.xor)):
    _row(_name, ((_BB, BOOL), (_II, INT)), _fn, operator=_sign, native=(_II, _BB), ufunc=f"bitwise_{_name}",
         commutes=True, low_bits=True)
_row("not", ((_B, BOOL),), operator.not_, ufunc="logical_not")
_row("low64", ((_I, INT),), lambda a: (a + 2**63) % 2**64 - 2**63, ufunc="positive")
"""An int modulo 2**64, as a signed one: where 64 bits hold all ints, the same."""
_row("invert", ((_I, INT),), operator.invert, operator="~", native=(_I,), ufunc="invert", low_bits=True)


def _shl(a: int, b: int) -> int:
    if b > 64 and a != 0:
        raise OutOfLane("shift beyond 64 bits")
    return a << min(b, 64)


_row("shl", ((_II, INT),), _shl, faults="shl", operator="<<", native=(_II,), ufunc="left_shift", cost=3)
_row("shr", ((_II, INT),), operator.rshift, faults="negative_count", operator=">>", native=(_II,), ufunc="right_shift",
     cost=3)

# --- comparison
for _name, _sign, _ufunc, _opposite, _mirrored in (
        ("eq", "==", "equal", "ne", "eq"), ("ne", "!=", "not_equal", "eq", "ne"), ("lt", "<", "less", "ge", "gt"),
        ("le", "<=", "less_equal", "gt", "ge"), ("gt", ">", "greater", "le", "lt"),
        ("ge", ">=", "greater_equal", "lt", "le")):
    _row(_name, ((_BB, BOOL), (_II, BOOL), (_FF, BOOL)), getattr(operator, _name), operator=_sign,
         native=(_II, _FF, _BB), ufunc=_ufunc, commutes=_name == _mirrored, opposite=_opposite, mirrored=_mirrored)


def _select(cond: bool, a: Any, b: Any) -> Any:
    return a if cond else b


_row("select", tuple(((BOOL, k, k), k) for k in (BOOL, INT, FLOAT)), _select)

# --- conversion

_row("to_float", ((_B, FLOAT), (_I, FLOAT)), float, written=("float",))


def _exact_float(i: int) -> float:
    if abs(i) > 2**53:
        raise OutOfLane("an int beyond 2**53 is not a float exactly")
    return float(i)


_row("exact_float", ((_I, FLOAT),), _exact_float, faults="beyond_exact", written=("float",))
_row("to_int", ((_B, INT), (_F, INT)), int, faults="int_range", rounding="trunc", written=("int", "math.trunc"))
_row("floor_int", ((_F, INT),), math.floor, faults="int_range", rounding="floor", written=("math.floor",))
_row("ceil_int", ((_F, INT),), math.ceil, faults="int_range", rounding="ceil", written=("math.ceil",))
_row("round_int", ((_F, INT),), round, faults="int_range", rounding="rint", written=("round",))
ROUNDED = {name: row.rounding for name, row in PRIMITIVES.items() if row.rounding}

# --- float to float, exact
_row("floor", ((_F, FLOAT),), lambda x: float(np.floor(x)), ufunc="floor")
_row("ceil", ((_F, FLOAT),), lambda x: float(np.ceil(x)), ufunc="ceil")
_row("trunc", ((_F, FLOAT),), lambda x: float(np.trunc(x)), ufunc="trunc")
_row("rint", ((_F, FLOAT),), lambda x: float(np.rint(x)), ufunc="rint")
NAN_TESTS = ("isnan", "isinf", "isfinite")
for _name in NAN_TESTS:
    _row(_name, ((_F, BOOL),), getattr(math, _name), ufunc=_name, written=(f"math.{_name}",))
_row("exponent", ((_F, INT),), lambda x: math.frexp(x)[1])
"""frexp's exponent of a finite number that is not zero; of others any number."""

# --- the mathematical functions
_LETTERS = {"d": FLOAT, "l": INT}


def _of_record(record: MathFunction) -> Primitive:
    kinds = tuple(_LETTERS[letter] for letter in record.operands)
    return Primitive(record.name, ((kinds, FLOAT),), record.function(), record.faults, record.accuracy,
                     record.operator, cost=record.cost)


PRIMITIVES.update((record.name, _of_record(record)) for record in RECORDS.values())

NUMPY_LOOPS = {record.name: {"np_powers": "power"}.get(record.name, record.numpy)
               for record in of_accuracy(Accuracy.NUMPY) if record.name != "np_fmod"}
"""Operation -> NumPy's function whose bits only its own inner loop has; np.fmod is exact by definition."""

MAX_DOT = 15
"""Terms of a dot product; the kernels of BLAS take more in blocks."""


def _dot(*operands: float) -> float:
    terms, total = len(operands) // 2, 0.0
    for x, y in zip(operands[:terms], operands[terms:], strict=True):
        total = _fused_multiply_add(x, y, total)
    return total + 0.0


_row("np_dot", tuple((_F * (2 * terms), FLOAT) for terms in range(1, MAX_DOT + 1)), _dot, cost=20)
"""A dot product as BLAS computes it where `frontend.space.blas` has found that out; it is built nowhere else. Operands:
first all elements of one vector, then those of the other. 0.0 plus a chain of fused multiply-adds from 0.0."""

_row("ufunc", tuple((kinds, FLOAT) for count in range(1, external_ufuncs.MOST_OPERANDS + 1)
                    for kinds in itertools.product((FLOAT, INT), repeat=count)), external_ufuncs.call, cost=100)
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


def _opaque_call(*_: Any, **__: Any) -> Any:
    raise AssertionError("an opaque call means what its name means, see ir.opaque_calls")


_VECTORS = tuple((_F * n, PACK) for n in range(2, 17))
FUSED: dict[str, Primitive] = {row.name: row for row in (
    Primitive("call", (), _opaque_call, accuracy=Accuracy.CALL, cost=Adds(40)),
    Primitive("part", tuple(((PACK,), kind) for kind in (FLOAT, INT, BOOL)), lambda pack, index: pack[index],
              cost=Adds(0)),
    Primitive("pack", _VECTORS, lambda *lanes: lanes, cost=Adds(0)),
    Primitive("min", ((_II, INT), (_FF, FLOAT)), min),
    Primitive("max", ((_II, INT), (_FF, FLOAT)), max),
    Primitive("clamp", ((_I * 3, INT), (_F * 3, FLOAT)), lambda x, low, high: min(max(x, low), high)),
    Primitive("mad", ((_F * 3, FLOAT),), lambda x, y, z: x * y + z),
    Primitive("fma", ((_F * 3, FLOAT),), _fused_multiply_add),
    Primitive("isnormal", ((_F, BOOL),), lambda x: 2.0**-1022 <= abs(x) < math.inf),
    Primitive("lerp", ((_F * 3, FLOAT),), lambda x, y, t: x + t * (y - x), cost=Adds(2)),
    Primitive("recip", ((_F, FLOAT),), lambda x: 1.0 / x, cost=Adds(4)),
    Primitive("dot", (((PACK, PACK), FLOAT),), lambda a, b: _sum(x * y for x, y in zip(a, b, strict=True)),
              cost=Adds(2)),
    Primitive("hadd", (((PACK,), FLOAT),), _sum),
)}
"""Operations that only backends see (and `fma` and `isnormal`, `math="fast"`): calls that are kept, and what
`pyflat.backend` fuses operations into. `min`, `max` and `clamp` are Python's (`b if b < a else a`), bit for bit; the
others belong to fast math. `pack` makes a vector of numbers, `part` takes one out."""


NEAR_LARGEST = 1.7976931348623157e308 * (1 - 2.0**-46)
"""From here on the C library's function may have overflowed although the vector function has not."""


_NEAR_RULES = {"nonfinite": "near_overflow", "pow": "near_overflow", "overflow": "near_overflow_up",
               "gamma": "near_gamma"}


def _vector(record: MathFunction, vector: VectorCode) -> Primitive:
    """The row vec_<name>: where the vector function has no finite value, or hardly, the C library's row decides."""
    name, row = record.name, PRIMITIVES[record.name]

    def python(*args: float) -> float:
        from pyflat.functions import vmath  # a package of its own, needed where such an operation is

        value = vmath.reference(name)(*args)
        return value if abs(value) < NEAR_LARGEST else float(row.python(*args))

    faults = _NEAR_RULES.get(row.faults, row.faults) if isinstance(row.faults, str) else row.faults
    return Primitive("vec_" + record.name, row.signatures, python, faults, Accuracy.VECTOR, cost=vector.cost)


VECTOR: dict[str, Primitive] = {row.name: row for row in (
    _vector(record, record.vector) for record in of_accuracy(Accuracy.LIBM, Accuracy.CALL) if record.vector)}
"""The vector math of the numba target: the IR's own, put in the place of the C library's functions."""

CALLS: dict[str, Primitive] = {"invoke": Primitive("invoke", (), _opaque_call, cost=Adds(40))}
"""A call of a function of the same module, the attr `callee`: `ir.edit.module` inlines it before any pass."""

OPERATIONS: dict[str, Primitive] = {**PRIMITIVES, **CONVERGENT, **CALLS, **FUSED, **VECTOR, **MEMORY_OPERATIONS}
"""Every operation that the IR may hold."""

def functions_of_floats() -> dict[Callable[..., Any], Primitive]:
    """What a user calls for a primitive of floats, as `written` names it."""
    return {original(module, called): row for row in PRIMITIVES.values()
            if all(set(kinds) == {FLOAT} for kinds, _ in row.signatures)
            for name in row.written for module, _, called in [name.rpartition(".")] if module}


SIGNS = {name: row.operator for name, row in PRIMITIVES.items() if row.native and len(row.signatures[0][0]) == 2}
"""Operations of two operands -> Python's operator for them, which NumPy's arrays have as well."""
OPPOSITE = {name: row.opposite for name, row in PRIMITIVES.items() if row.opposite}
"""Comparison -> the one that is true where it is false, but for orders of nan."""
MIRRORED = {name: row.mirrored for name, row in PRIMITIVES.items() if row.mirrored}
"""Comparison -> the one of the same operands in the other order."""
COMPARISONS = tuple(OPPOSITE)
ORDERS = tuple(name for name in COMPARISONS if MIRRORED[name] != name)
COMMUTATIVE = frozenset(name for name, row in PRIMITIVES.items() if row.commutes)
LOW_BITS = frozenset(name for name, row in PRIMITIVES.items() if row.low_bits)
