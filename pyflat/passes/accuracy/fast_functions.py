"""Which fast functions may stand for the C library's, and how far their values may be from CPython's.

A target's table says, for each operation of accuracy LIBM that it can compute faster, the fast operation and the
distance in ulp: `targets.numba.costs.VECTOR_MATH`, `targets.numpy.costs.NUMPY_MATH`. The distance is to CPython's own
value: the largest error of the fast function (2 ulp for the vector math, 4 for NumPy's) and of the C library's together
(`functions.records`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyflat.functions.records import RECORDS, Accuracy, Adds, of_accuracy
from pyflat.ir.build import const
from pyflat.ir.loops import end_of, take_apart
from pyflat.ir.nodes import Block, Const, Function, If, Item, Loop, Op, Value, walk
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import FLOAT

VECTOR_ULPS = 2
NUMPY_ULPS = 4

LIBRARY_ULPS: dict[str, int] = {
    record.name: record.ulp for record in of_accuracy(Accuracy.LIBM, Accuracy.CALL) if record.ulp}
"""How far the C library's functions, and CPython's and NumPy's own that are called, are from the truth, at most."""

UNDERFLOWS = frozenset(record.name for record in RECORDS.values() if record.underflows)
"""Functions whose result may be subnormal, where an ulp is no relative error."""


_LIBRARY_COST, _FAST_COST = Adds(15), Adds(10)


@dataclass(frozen=True, slots=True)
class Fast:
    """A fast operation, its distance from CPython's value in ulp, and how many additions it takes as long as, the
    library's function and itself. `small_power` is that of a power with a literal exponent that is a product with the C
    library's bits (`functions.vmath.glibc`), where the target has some."""

    opcode: str
    ulps: int
    library_cost: Adds = _LIBRARY_COST
    cost: Adds = _FAST_COST
    small_power: Adds | None = None


FastFunctions = Mapping[str, Fast]
"""Opcode of accuracy LIBM -> what may stand for it."""

_NUMPY_FUNCTIONS = {record.name: record.like for record in of_accuracy(Accuracy.NUMPY) if record.like in LIBRARY_ULPS}
"""Operation of NumPy's own -> the function that it computes."""


def elementary_function(opcode: str) -> str | None:
    """The elementary function that an operation computes."""
    return opcode if opcode in LIBRARY_ULPS else _NUMPY_FUNCTIONS.get(opcode)


_SMALL_POWER = "small power"

def inexact_results(fn: Function) -> list[bool]:
    """Which results of a flat or masked function have digits of elementary functions that fast ones may stand for.
    Decisions have not: they are CPython's."""
    inexact, before = set[Value](), -1
    while len(inexact) != before:
        before = len(inexact)
        for item in walk(fn.body):
            inexact.update(value for value, sources in _sources(item) if value.kind is FLOAT and (
                not inexact.isdisjoint(sources)
                or isinstance(value, Op) and (
                    value.opcode in LIBRARY_ULPS or OPERATIONS[value.opcode].accuracy is Accuracy.LIBM)))
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
    known = fast | library
    if "pow" in math and (small := math["pow"].small_power) is not None:
        known[_SMALL_POWER] = small
    return _cost(fn.body, known)


def _named(op: Op, known: Mapping[str, Adds]) -> str:
    """What an operation is called in a table of costs."""
    is_small = op.opcode == "pow" and _SMALL_POWER in known and small_power(*op.args) in (2.0, 3.0, 0.5, -1.0)
    return _SMALL_POWER if is_small else op.opcode


def _cost(items: Sequence[Item], known: Mapping[str, Adds]) -> float:
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
