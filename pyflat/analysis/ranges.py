"""In which interval the result of an operation lies, from those of its operands.

Bounds are inclusive and of the value's own kind. Float bounds come from the operation itself applied to the operands'
bounds: rounding to nearest is monotone, so they are safe. Where an operation may fault, its value is arbitrary, and its
interval is everything. The sign of zero plays no role (-0.0 == 0.0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pyflat.functions.records import RECORDS, MathFunction
from pyflat.ir.ops import PRIMITIVES, ROUNDED
from pyflat.ir.tables import Table, table_of
from pyflat.ir.types import EXACT_INT, FLOAT, INT, INT_MAX, INT_MIN, Kind

Number = int | float
SLACK, TINY = 1e-6, 1e-30
"""How far the functions of libraries may be from CPython's, as a share; below, results may be 0."""


class Interval(NamedTuple):
    """Every lane that is not nan lies in [low, high]."""

    low: Number
    high: Number
    nan: bool = False

    @property
    def finite(self) -> bool:
        return not self.nan and math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def bounds(self) -> tuple[Number, Number]:
        return self.low, self.high

    def has(self, number: Number) -> bool:
        return self.low <= number <= self.high


ANY_INT = Interval(INT_MIN, INT_MAX)
ANY_FLOAT = Interval(-math.inf, math.inf, nan=True)
_BIT = Interval(0, 1)
Transfer = Callable[[Sequence[Any], Interval, Interval], Interval | None]
"""The interval of an operation with these operands from those of the first and the last one."""


def anything(kind: Kind) -> Interval:
    return ANY_FLOAT if kind is FLOAT else ANY_INT if kind is INT else _BIT


def union(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), max(a.high, b.high), a.nan or b.nan)


def hull(values: Iterable[Number], nan: bool = False) -> Interval | None:
    """The smallest interval around `values`; None when one of them is nan."""
    found = list(values)
    if any(map(math.isnan, found)):
        return None
    return Interval(min(found), max(found), nan)


def of_table(table: tuple[Number, ...]) -> Interval | None:
    """An index out of range gives any item, but an item."""
    if (long := table_of(table)) is not None:
        return _of_long(long)
    if table and not any(map(math.isnan, table)):
        return Interval(min(table), max(table), False)
    numbers = [v for v in table if not math.isnan(v)]
    return hull(numbers, nan=len(numbers) < len(table)) if numbers else None


@lru_cache(maxsize=8)
def _of_long(table: Table) -> Interval | None:
    numbers = table.array
    nan = numbers.dtype.kind == "f" and bool(np.isnan(numbers).any())
    known = numbers[~np.isnan(numbers)] if nan else numbers
    return Interval(known.min().item(), known.max().item(), nan) if len(known) else None


# --- intervals of int operations (what leaves int64 is dropped by `note`)
def _int_product(args: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if args[0] is args[1]:
        high = max(abs(a.low), abs(a.high)) ** 2
        return Interval(0 if a.has(0) else min(a.low**2, a.high**2), high)
    return hull(x * y for x in a.bounds for y in b.bounds)


def _int_floordiv(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    return hull(x // y for x in a.bounds for y in b.bounds) if b.low > 0 else None


def _int_mod(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if b.low > 0:
        if a.low >= 0 and a.high < b.low:
            return a
        return Interval(0, min(a.high, b.high - 1) if a.low >= 0 else b.high - 1)
    return Interval(b.low + 1, 0) if b.high < 0 else None


def _int_and(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if a.low >= 0 or b.low >= 0:
        return Interval(0, min(x.high for x in (a, b) if x.low >= 0))
    return Interval(INT_MIN, -1) if a.high < 0 and b.high < 0 else None


def _int_or(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if a.low >= 0 and b.low >= 0:
        return Interval(max(a.low, b.low), _all_ones(a, b))
    return Interval(INT_MIN, -1) if a.high < 0 or b.high < 0 else None


def _int_xor(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if a.low >= 0 and b.low >= 0:
        return Interval(0, _all_ones(a, b))
    if a.high < 0 and b.high < 0:
        return Interval(0, INT_MAX)
    return Interval(INT_MIN, -1) if (a.high < 0 and b.low >= 0) or (b.high < 0 and a.low >= 0) else None


def _all_ones(a: Interval, b: Interval) -> int:
    return int(2 ** int(max(a.high, b.high)).bit_length() - 1)


def _shl(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if b.low < 0 or b.high > 63:
        return None
    return hull(int(x) << int(n) for x in a.bounds for n in b.bounds)


def _shr(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if b.low < 0:
        return None
    return hull(int(x) >> min(int(n), 63) for x in a.bounds for n in b.bounds)


def _ipow(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if b.low < 0 or b.high > 64:
        return None
    size = max(abs(a.low), abs(a.high), 1) ** b.high
    if a.low >= 0:
        return Interval(0, size)
    return Interval(-size, size)


def _int_abs(_: Sequence[Any], a: Interval, __: Interval) -> Interval | None:
    if a.low == INT_MIN:
        return None
    return Interval(0 if a.has(0) else min(abs(a.low), abs(a.high)), max(abs(a.low), abs(a.high)))


def _rounded(rounding: Callable[[Number], int]) -> Transfer:
    def transfer(args: Sequence[Any], a: Interval, _: Interval) -> Interval | None:
        if not a.finite or args[0].kind is not FLOAT:
            return a if args[0].kind is not FLOAT else None
        return Interval(rounding(a.low), rounding(a.high))

    return transfer


INT_RULES: dict[str, Transfer] = {
    "add": lambda _, a, b: Interval(a.low + b.low, a.high + b.high),
    "sub": lambda _, a, b: Interval(a.low - b.high, a.high - b.low),
    "mul": _int_product,
    "floordiv": _int_floordiv,
    "mod": _int_mod,
    "neg": lambda _, a, __: Interval(-a.high, -a.low),
    "abs": _int_abs,
    "ipow": _ipow,
    "and": _int_and,
    "or": _int_or,
    "xor": _int_xor,
    "invert": lambda _, a, __: Interval(-a.high - 1, -a.low - 1),
    "shl": _shl,
    "shr": _shr,
    **{name: _rounded(PRIMITIVES[name].python) for name in ROUNDED},
}


# --- intervals of float operations
# Of most operands nothing is known, and so of the result: the rules for them would find that in ten times the time.
def _float_sum(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if a is ANY_FLOAT or b is ANY_FLOAT:
        return None
    opposed = (a.high == math.inf and b.low == -math.inf) or (a.low == -math.inf and b.high == math.inf)
    return hull((a.low + b.low, a.high + b.high), nan=a.nan or b.nan or opposed)


def _float_difference(args: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if args[0] is args[1]:
        return Interval(0.0, 0.0, a.nan or not _bounded(a))
    return None if b is ANY_FLOAT else _float_sum(args, a, Interval(-b.high, -b.low, b.nan))


def _float_product(args: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if args[0] is args[1]:
        squares = (a.low * a.low, a.high * a.high)
        return Interval(0.0 if a.has(0.0) else min(squares), max(squares), a.nan)
    if a is ANY_FLOAT and (b.low or b.high) or b is ANY_FLOAT and (a.low or a.high):
        return None
    endless = (a.has(0.0) and not _bounded(b)) or (b.has(0.0) and not _bounded(a))
    return hull((_times(x, y) for x in a.bounds for y in b.bounds), nan=a.nan or b.nan or endless)


def fused(args: Sequence[Any], a: Interval, b: Interval, c: Interval, *, narrow: bool) -> Interval | None:
    """Where a * b + c lies, rounded once. A bound of the product is rounded here, and another step outwards covers
    that; so does one of the sum in float32, which is rounded twice here."""
    product = _float_product(args, a, b)
    if product is None:
        return None
    wide = _wider(product, 2.0**-52, 2.0**-1074)
    if args[0] is args[1] or (a.low >= 0 and b.low >= 0):
        wide = Interval(max(wide.low, 0.0), wide.high, wide.nan)
    found = _float_sum(args, wide, c)
    if found is None or not narrow:
        return found
    positive = wide.low >= 0 and c.low >= 0
    found = _wider(found, 2.0**-22, 2.0**-149)
    return Interval(max(found.low, 0.0), found.high, found.nan) if positive else found


def _wider(a: Interval, share: float, least: float) -> Interval:
    """Both ends farther out; infinity stays."""
    low, high = (0.0 if math.isinf(x) else abs(x) * share + least for x in a.bounds)
    return Interval(a.low - low, a.high + high, a.nan)


def _times(x: Number, y: Number) -> Number:
    """The product of two bounds: zero times infinity bounds products with zero, the nan is noted apart."""
    return 0.0 if x == 0 or y == 0 else x * y


def _bounded(a: Interval) -> bool:
    return math.isfinite(a.low) and math.isfinite(a.high)


def _float_quotient(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    if b.has(0.0) or not (_bounded(a) or _bounded(b)):
        return None
    return hull((x / y for x in a.bounds for y in b.bounds), nan=a.nan or b.nan)


def _float_mod(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    """The sign of the divisor; a tiny negative operand rounds up to the divisor itself."""
    nan = a.nan or b.nan or not _bounded(a)
    if b.low > 0:
        return Interval(0.0, b.high, nan)
    return Interval(b.low, 0.0, nan) if b.high < 0 else None


def _float_abs(_: Sequence[Any], a: Interval, __: Interval) -> Interval:
    sizes = (abs(a.low), abs(a.high))
    return Interval(0.0 if a.has(0.0) else min(sizes), max(sizes), a.nan)


def _to_float(_: Sequence[Any], a: Interval, __: Interval) -> Interval:
    return Interval(float(a.low), float(a.high))


def _exact_float(args: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    return _to_float(args, a, b) if a.low >= -EXACT_INT and a.high <= EXACT_INT else None


def _whole(rounding: Callable[[float], int]) -> Transfer:
    def transfer(_: Sequence[Any], a: Interval, __: Interval) -> Interval:
        low, high = (x if math.isinf(x) else float(rounding(float(x))) for x in a.bounds)
        return Interval(low, high, a.nan)

    return transfer


def _sqrt(_: Sequence[Any], a: Interval, __: Interval) -> Interval | None:
    if a.high < 0:
        return None
    return Interval(math.sqrt(max(a.low, 0.0)), math.sqrt(a.high), a.nan or a.low < 0)


def _pow(_: Sequence[Any], a: Interval, b: Interval) -> Interval | None:
    """A little more than the bound covers every C library, and vector code of float32."""
    if b.low == b.high and not float(b.low).is_integer() and a.low < 0:
        a = Interval(0.0, max(a.high, 0.0), nan=True)  # negative numbers to fractional powers are faults
    if b.low == b.high and b.low in (2, 4, 6, 8):
        most = max(abs(a.low), abs(a.high))
        return Interval(0.0, max(1.0, most**b.low) * (1 + SLACK) if most < 1e30 else math.inf, nan=True)
    if a.low < 0:
        return None
    if b.low < 0 or not (_bounded(a) and b.finite):
        return Interval(0.0, math.inf, nan=True)
    try:
        return Interval(0.0, max(1.0, a.high**b.high) * (1 + SLACK), a.nan)
    except OverflowError:
        return Interval(0.0, math.inf, nan=True)


def _rising(record: MathFunction, vector: bool = False) -> Transfer:
    """The interval of a function that rises: from its value at one end to the other's, and more for other libraries and
    for float32. `vector`: code within 2 ulp, which may leave the function's range."""
    function, first = record.function(), record.rises_from
    assert first is not None
    least, most = record.range if record.range is not None and not vector else (-math.inf, math.inf)

    def transfer(_: Sequence[Any], a: Interval, __: Interval) -> Interval:
        if a.high <= first > -math.inf:
            return ANY_FLOAT
        low = -math.inf if a.low <= first > -math.inf else _outwards(_value(function, a.low, -math.inf), -1.0)
        high = _outwards(_value(function, a.high, math.inf), 1.0)
        overflows = math.isinf(high) and record.faults == "overflow"
        return Interval(max(low, least), min(high, most), a.nan or a.low < first or overflows)

    return transfer


def _value(function: Callable[[float], float], x: Number, otherwise: float) -> float:
    try:
        return function(float(x))
    except (ValueError, OverflowError):
        return otherwise


def _outwards(x: float, sign: float) -> float:
    """A number that is a little farther on; of a tiny one only the sign counts."""
    if abs(x) < TINY:
        return 0.0 if x * sign <= 0 else sign * TINY
    return x + sign * abs(x) * SLACK if math.isfinite(x) else x


def _between(low: float, high: float) -> Transfer:
    """All that a function gives where it does not fault: its range, rounded."""
    return lambda _, __, ___: Interval(low, high, nan=True)


FLOAT_RULES: dict[str, Transfer] = {
    "add": _float_sum,
    "sub": _float_difference,
    "mul": _float_product,
    "truediv": _float_quotient,
    "mod": _float_mod,
    "neg": lambda _, a, __: Interval(-a.high, -a.low, a.nan),
    "abs": _float_abs,
    "to_float": _to_float,
    "exact_float": _exact_float,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "rint": _whole(round),
    "sqrt": _sqrt,
    "np_sqrt": _sqrt,
    "pow": _pow,
    "vec_pow": _pow,
    **{record.name: _between(*record.range) for record in RECORDS.values() if record.range is not None},
    **{record.name: _rising(record) for record in RECORDS.values() if record.rises_from is not None},
    **{"vec_" + record.name: _rising(record, vector=True) for record in RECORDS.values()
       if record.rises_from is not None and record.vector is not None},
}
