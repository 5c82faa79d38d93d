"""Which fast functions may stand for the C library's, and how far their values may be from CPython's.

A target's table says, for each operation of accuracy LIBM that it can compute faster, the fast operation and the
distance in ulp. The distance is to CPython's own value: the largest error of the fast function (2 ulp for the vector
math, 4 for NumPy's) and of the C library's together. The C library's is what the manual of the GNU C library lists
(section 19.7, "Known Maximum Errors in Math Functions"), the largest number of all its platforms for this function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyflat.ir.build import const
from pyflat.ir.loops import end_of, take_apart
from pyflat.ir.nodes import Block, Const, Function, If, Item, Loop, Op, Value, walk
from pyflat.ir.ops import OPERATIONS, PRIMITIVES, Accuracy
from pyflat.ir.types import FLOAT

VECTOR_ULPS = 2
NUMPY_ULPS = 4

LIBRARY_ULPS: dict[str, int] = {
    "exp": 1, "exp2": 1, "expm1": 2, "log": 1, "log2": 2, "log10": 2, "log1p": 2, "sin": 1, "cos": 1, "tan": 1,
    "asin": 1, "acos": 1, "atan": 1, "atan2": 1, "sinh": 3, "cosh": 2, "tanh": 3, "asinh": 3, "acosh": 3, "atanh": 3,
    "cbrt": 4, "erf": 1, "erfc": 5, "pow": 1,
}
"""How far the C library's functions are from the truth, at most."""

UNDERFLOWS = frozenset({"exp", "exp2", "pow", "erf", "erfc"})
"""Functions whose result may be subnormal, where an ulp is no relative error. The other functions are tiny for tiny
operands only, and both give the operand itself there."""


VECTOR_COSTS: dict[str, tuple[int, int]] = {
    "exp": (57, 16), "exp2": (80, 19), "expm1": (156, 21), "log": (74, 29), "log2": (105, 32), "log10": (179,
    39), "log1p": (176, 45), "sin": (100, 22), "cos": (100, 22), "tan": (276, 50), "asin": (131, 22), "acos":
    (136, 26), "atan": (246, 32), "atan2": (362, 46), "sinh": (267, 47), "cosh": (166, 32), "tanh": (281, 40),
    "asinh": (339, 80), "acosh": (283, 63), "atanh": (319, 66), "cbrt": (328, 52), "erf": (109, 81), "erfc":
    (119, 88), "pow": (108, 77),
}
"""How many additions of a register take as long as the C library's function for eight lanes, by calls or by vector code
with the same bits, and as the vector function (`targets.numba.costs`)."""

SMALL_POWER, SMALL_POWER_COST = "small power", 44
"""The same for a power with a literal exponent that is a product with the C library's bits
(`functions.vmath.glibc`)."""


@dataclass(frozen=True, slots=True)
class Fast:
    """A fast operation, its distance from CPython's value in ulp, and how many additions it takes as long as, the
    library's function and itself."""

    opcode: str
    ulps: int
    library_cost: int = 15
    cost: int = 10


FastFunctions = Mapping[str, Fast]
"""Opcode of accuracy LIBM -> what may stand for it."""

_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
                "atanh": "arctanh", "atan2": "arctan2", "pow": "powers"}


_NUMPY_OPCODES = {"np_" + _NUMPY_NAMES.get(name, name): name for name in LIBRARY_ULPS}
NUMPY_FUNCTIONS = {opcode: name for opcode, name in _NUMPY_OPCODES.items() if opcode in PRIMITIVES}
NUMPY_FUNCTIONS |= {"np_power": "pow", "np_float_power": "pow"}
"""Operation of NumPy's own -> the function that it computes."""


def elementary_function(opcode: str) -> str | None:
    """The elementary function that an operation computes."""
    return opcode if opcode in LIBRARY_ULPS else NUMPY_FUNCTIONS.get(opcode)


def _table(prefix: str, names: Mapping[str, str], ulps: int, costs: Mapping[str, tuple[int, int]]) -> dict[str, Fast]:
    found = {}
    for row in PRIMITIVES.values():
        opcode = prefix + names.get(row.name, row.name)
        if row.accuracy is Accuracy.LIBM and opcode in OPERATIONS:
            found[row.name] = Fast(opcode, ulps + LIBRARY_ULPS[row.name], *costs.get(row.name, (15, 10)))
    return found


NUMPY_MATH: FastFunctions = _table("np_", _NUMPY_NAMES, NUMPY_ULPS, {})
"""NumPy's own ufuncs: SIMD code where NumPy has some for this processor."""

VECTOR_MATH: FastFunctions = _table("vec_", {}, VECTOR_ULPS, VECTOR_COSTS)
"""The vector math of the numba target."""

FAST_FUNCTIONS: Mapping[str, FastFunctions] = {"numpy": NUMPY_MATH, "numba": VECTOR_MATH}
"""By target."""


def inexact_results(fn: Function) -> list[bool]:
    """Which results of a flat or masked function have digits of elementary functions that fast ones may stand for.
    Decisions have not: they are CPython's."""
    inexact, before = set[Value](), -1
    while len(inexact) != before:
        before = len(inexact)
        for item in walk(fn.body):
            inexact.update(value for value, sources in _sources(item) if value.kind is FLOAT and (
                not inexact.isdisjoint(sources)
                or isinstance(value, Op) and OPERATIONS[value.opcode].accuracy is Accuracy.LIBM))
    return [value in inexact for value in end_of(fn.body).values]


def _sources(item: Item) -> Iterator[tuple[Value, Sequence[Value]]]:
    """What an item defines, each with what it is made of."""
    match item:
        case Block():
            yield from ((op, op.args) for op in item.ops)
        case Loop():
            parts = take_apart(item)
            yield from zip(item.params, zip(item.inits, parts.next, strict=True), strict=True)
            yield from ((result, (value,)) for result, value in zip(item.results, parts.leave, strict=True))


TRIPS = 8
"""So many trips a loop is taken to make."""


def cost(fn: Function, math: FastFunctions) -> float:
    """What a flat or masked function costs, in additions: an estimate that knows nothing of arms that lanes skip."""
    fast = {row.opcode: row.cost for row in math.values()}
    library = {name: row.library_cost for name, row in math.items()}
    powers = {SMALL_POWER: SMALL_POWER_COST} if math is VECTOR_MATH else {}
    return _cost(fn.body, fast | library | powers)


def _named(op: Op, known: Mapping[str, int]) -> str:
    """What an operation is called in a table of costs."""
    is_small = op.opcode == "pow" and SMALL_POWER in known and small_power(*op.args) in (2.0, 3.0, 0.5, -1.0)
    return SMALL_POWER if is_small else op.opcode


def _cost(items: Sequence[Item], known: Mapping[str, int]) -> float:
    total = 0.0
    for item in items:
        match item:
            case Block():
                total += sum(known.get(_named(op, known), OPERATIONS[op.opcode].cost) for op in item.ops)
            case Loop():
                total += TRIPS * _cost(item.body, known)
            case If():
                total += _cost(item.then, known) + _cost(item.orelse, known)
    return total


# --- powers with a small literal exponent: x ** 2, x ** 3, x ** 4, x ** 0.5, x ** -1 and x ** -2 as products


def small_power(base: Value, exponent: Value) -> float | None:
    """The exponent of such a power, None for any other."""
    known = exponent.value if isinstance(exponent, Const) and not isinstance(base, Const) else None
    return float(known) if known in (2.0, 3.0, 4.0, 0.5, -1.0, -2.0) else None


def as_product(emit: Callable[..., Value], base: Value, exponent: float) -> tuple[Op, int]:
    """Such a power, and its distance from CPython's in ulp."""
    value, ulps = base, 3
    if abs(exponent) in (2.0, 4.0):
        value = emit("mul", base, base)
    if abs(exponent) == 4.0:
        value, ulps = emit("mul", value, value), 4
    elif exponent == 3.0:
        value = emit("mul", emit("mul", base, base), base)
    elif exponent == 0.5:
        value = emit("add", emit("sqrt", base), const(0.0))
    if exponent < 0:
        value = emit("truediv", const(1.0), value)
    assert isinstance(value, Op)
    return value, ulps
