"""Intervals: between which numbers the lanes of a value lie, and which comparisons that decides.

`Intervals.note(op)` is called for each operation in order and knows the operands' intervals; `decide(op)` says
whether a comparison or nan test has the same outcome in every lane. So overflow tests, range tests and tests for
a zero divisor go where they provably cannot hold: `i % 10 + 1` never leaves int64, `1.0 + x * x` is never zero.

The meaning is that of the flat form, in which operations are total: where an operation may fault, its value is
arbitrary, and its interval is everything. Bounds are inclusive and of the value's own kind. Float bounds come
from the operation itself applied to the operands' bounds: rounding to nearest is monotone, so they are safe (and
rounded once more in a function of float32). The
sign of zero plays no role (-0.0 == 0.0). `nan` says that a lane may be nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import BOOL, EXACT_INT, FLOAT, INT, INT_MAX, INT_MIN, Kind

Number = int | float


@dataclass(frozen=True, slots=True)
class Interval:
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
Transfer = Callable[[Op, Interval, Interval], Interval | None]
"""The interval of the operation from those of its first two operands (the first twice if it has one)."""


def anything(kind: Kind) -> Interval:
    return ANY_FLOAT if kind is FLOAT else ANY_INT if kind is INT else _BIT


class Intervals:
    """What is known about the values of one block so far."""

    def __init__(self, ranges: Mapping[str, Interval] = MappingProxyType({}), floats: FloatFormat = F8) -> None:
        """`ranges` are assumed for the results of these operations, by opcode."""
        self._floats = floats
        self._known: dict[Value, Interval] = {}
        self._ranges = ranges

    def of(self, value: Value) -> Interval:
        if isinstance(value, Const):
            literal = value.value
            if literal is None or math.isnan(literal):
                return anything(value.kind)
            return self._rounded(value.kind, Interval(literal, literal))
        return self._known.get(value) or anything(value.kind)

    def _rounded(self, kind: Kind, interval: Interval) -> Interval:
        """Bounds in the format of the lanes: what lies between two numbers lies between them when all are rounded."""
        if self._floats is F8 or kind is not FLOAT:
            return interval
        return Interval(self._floats.rounded(interval.low), self._floats.rounded(interval.high), interval.nan)

    def note(self, op: Op) -> None:
        """Learn the interval of `op` from those of its operands."""
        if op.kind not in (INT, FLOAT):
            return
        if op.opcode == "select":
            found: Interval | None = self._chosen(op)
        elif op.opcode == "gather":
            found = _of_table(op.attr("table"))
        elif op.opcode in self._ranges:
            found = self._ranges[op.opcode]
        elif self._floats is not F8 and op.opcode in ("to_float", "exact_float"):
            of = self.of(op.args[0])  # rounded once: by way of float64 it may be another number
            found = Interval(self._floats.from_int(int(of.low)), self._floats.from_int(int(of.high)))
        else:
            transfer = (_INT if op.kind is INT else _FLOAT).get(op.opcode)
            found = transfer(op, self.of(op.args[0]), self.of(op.args[-1])) if transfer else None
        if found is not None and (op.kind is FLOAT or (found.low >= INT_MIN and found.high <= INT_MAX)):
            self._known[op] = self._rounded(op.kind, found)

    def narrow(self, value: Value, interval: Interval) -> None:
        """Take it from somebody who knows more that `value` also lies in `interval`."""
        before = self.of(value)
        low, high = max(before.low, interval.low), min(before.high, interval.high)
        self._known[value] = Interval(low, high, before.nan and interval.nan)

    def _chosen(self, op: Op) -> Interval:
        """Of a select; the smaller of two numbers is no larger than either."""
        cond, a, b = op.args
        x, y = self.of(a), self.of(b)
        both = _union(x, y)
        if isinstance(cond, Op) and cond.opcode in _ORDERS and {*map(_same, cond.args)} == {_same(a), _same(b)}:
            smaller = (cond.opcode in ("lt", "le")) == (_same(cond.args[0]) == _same(a))
            if smaller and not (x.nan and y.nan):
                return Interval(both.low, _least_high(x, y), both.nan)
            if not smaller and not (x.nan and y.nan):
                return Interval(_greatest_low(x, y), both.high, both.nan)
        return both

    def decide(self, opcode: str, args: tuple[Value, ...]) -> bool | None:
        """The outcome of a comparison, nan test or overflow test when it is the same in every lane."""
        if opcode in _DECIDE:
            outcome = _DECIDE[opcode](self.of(args[0]), self.of(args[-1]))
            return self._overflow_test(opcode, args) if outcome is None else outcome
        return None

    def assume(self, condition: Value) -> Mapping[Value, Interval]:
        """Learn that `condition` holds from here on; what was known before, for `restore`."""
        before = dict(self._known)
        for fact in _facts(condition):
            a, b = fact.args
            low, high = (a, b) if fact.opcode in ("lt", "le") else (b, a)
            gap = 1 if fact.opcode in ("lt", "gt") and low.kind is INT else 0
            below, above = self.of(low), self.of(high)
            self._narrow(low, Interval(below.low, min(below.high, above.high - gap)))
            self._narrow(high, Interval(max(above.low, below.low + gap), above.high))
        return before

    def _narrow(self, value: Value, interval: Interval) -> None:
        if not isinstance(value, Const) and interval.low <= interval.high:
            self._known[value] = interval

    def restore(self, before: Mapping[Value, Interval]) -> None:
        self._known = dict(before)

    def together(self, first: Value, second: Value) -> bool | None:
        """Whether `second` holds where `first` does, if that is the same in every such lane."""
        if not isinstance(second, Op) or second.opcode not in ("lt", "le", "gt", "ge") or not _facts(first):
            return None
        before = self.assume(first)
        outcome = self.decide(second.opcode, second.args)
        self.restore(before)
        return outcome

    def _overflow_test(self, opcode: str, args: tuple[Value, ...]) -> bool | None:
        """False for the sign test of `ir.faults` behind an add or sub that stays within int64."""
        if opcode != "lt" or not isinstance(args[0], Op) or self.of(args[1]) != Interval(0, 0):
            return None
        pair = args[0].args if args[0].opcode == "and" else (args[0], args[0])
        if any(not isinstance(p, Op) or p.opcode != "xor" for p in pair):
            return None
        mixed = [set(p.args) for p in pair if isinstance(p, Op)]
        for result in set().union(*mixed):
            if isinstance(result, Op) and result.kind is INT and result.opcode in ("add", "sub"):
                x, y = result.args
                wanted = [{x, result}, {y, result}] if result.opcode == "add" else [{x, y}, {x, result}]
                if (mixed in (wanted, wanted[::-1])) and self._exact(result):
                    return False
        return None

    def _exact(self, op: Op) -> bool:
        a, b = self.of(op.args[0]), self.of(op.args[1])
        low, high = (a.low + b.low, a.high + b.high) if op.opcode == "add" else (a.low - b.high, a.high - b.low)
        return low >= INT_MIN and high <= INT_MAX


def _facts(condition: Value) -> list[Op]:
    """The comparisons that hold where `condition` does."""
    if not isinstance(condition, Op):
        return []
    if condition.opcode == "and" and condition.kind is BOOL:
        return [fact for arg in condition.args for fact in _facts(arg)]
    ordered = condition.opcode in ("lt", "le", "gt", "ge") and condition.args[0].kind in (INT, FLOAT)
    return [condition] if ordered else []


_ORDERS = ("lt", "le", "gt", "ge")


def _same(value: Value) -> object:
    """Equal for the same value, and for equal literals."""
    return value.key if isinstance(value, Const) else value


def _least_high(a: Interval, b: Interval) -> Number:
    """A number that is compared with nan is chosen or dropped without regard to its size."""
    return min(a.high, b.high) if not (a.nan or b.nan) else b.high if a.nan else a.high


def _greatest_low(a: Interval, b: Interval) -> Number:
    return max(a.low, b.low) if not (a.nan or b.nan) else b.low if a.nan else a.low


def _union(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), max(a.high, b.high), a.nan or b.nan)


def _hull(values: Iterable[Number], nan: bool = False) -> Interval | None:
    """The smallest interval around `values`; None when one of them is nan."""
    found = list(values)
    if any(map(math.isnan, found)):
        return None
    return Interval(min(found), max(found), nan)


def _of_table(table: tuple[Number, ...]) -> Interval | None:
    """An index out of range gives any item, but an item."""
    if table and not any(map(math.isnan, table)):
        return Interval(min(table), max(table), False)
    numbers = [v for v in table if not math.isnan(v)]
    return _hull(numbers, nan=len(numbers) < len(table)) if numbers else None


# --- outcomes of comparisons; a nan makes all of them False except ne
def _less(a: Interval, b: Interval) -> bool | None:
    if a.low >= b.high:
        return False
    return True if a.high < b.low and not (a.nan or b.nan) else None


def _less_equal(a: Interval, b: Interval) -> bool | None:
    if a.low > b.high:
        return False
    return True if a.high <= b.low and not (a.nan or b.nan) else None


def _equal(a: Interval, b: Interval) -> bool | None:
    if a.low > b.high or b.low > a.high:
        return False
    return True if a.low == a.high == b.low == b.high and not (a.nan or b.nan) else None


def _unequal(a: Interval, b: Interval) -> bool | None:
    equal = _equal(a, b)
    return None if equal is None else not equal


_DECIDE: dict[str, Callable[[Interval, Interval], bool | None]] = {
    "lt": _less,
    "le": _less_equal,
    "gt": lambda a, b: _less(b, a),
    "ge": lambda a, b: _less_equal(b, a),
    "eq": _equal,
    "ne": _unequal,
    "isnan": lambda a, _: None if a.nan else False,
    "isinf": lambda a, _: False if math.isfinite(a.low) and math.isfinite(a.high) else None,
    "isfinite": lambda a, _: True if a.finite else None,
}


# --- intervals of int operations (what leaves int64 is dropped by `note`)
def _int_product(op: Op, a: Interval, b: Interval) -> Interval | None:
    if op.args[0] is op.args[1]:
        high = max(abs(a.low), abs(a.high)) ** 2
        return Interval(0 if a.has(0) else min(a.low**2, a.high**2), high)
    return _hull(x * y for x in a.bounds for y in b.bounds)


def _int_floordiv(_: Op, a: Interval, b: Interval) -> Interval | None:
    return _hull(x // y for x in a.bounds for y in b.bounds) if b.low > 0 else None


def _int_mod(_: Op, a: Interval, b: Interval) -> Interval | None:
    if b.low > 0:
        if a.low >= 0 and a.high < b.low:
            return a
        return Interval(0, min(a.high, b.high - 1) if a.low >= 0 else b.high - 1)
    return Interval(b.low + 1, 0) if b.high < 0 else None


def _int_and(_: Op, a: Interval, b: Interval) -> Interval | None:
    if a.low >= 0 or b.low >= 0:
        return Interval(0, min(x.high for x in (a, b) if x.low >= 0))
    return Interval(INT_MIN, -1) if a.high < 0 and b.high < 0 else None


def _int_or(_: Op, a: Interval, b: Interval) -> Interval | None:
    if a.low >= 0 and b.low >= 0:
        return Interval(max(a.low, b.low), _all_ones(a, b))
    return Interval(INT_MIN, -1) if a.high < 0 or b.high < 0 else None


def _int_xor(_: Op, a: Interval, b: Interval) -> Interval | None:
    if a.low >= 0 and b.low >= 0:
        return Interval(0, _all_ones(a, b))
    if a.high < 0 and b.high < 0:
        return Interval(0, INT_MAX)
    return Interval(INT_MIN, -1) if (a.high < 0 and b.low >= 0) or (b.high < 0 and a.low >= 0) else None


def _all_ones(a: Interval, b: Interval) -> int:
    return int(2 ** int(max(a.high, b.high)).bit_length() - 1)


def _shl(_: Op, a: Interval, b: Interval) -> Interval | None:
    if b.low < 0 or b.high > 63:
        return None
    return _hull(int(x) << int(n) for x in a.bounds for n in b.bounds)


def _shr(_: Op, a: Interval, b: Interval) -> Interval | None:
    if b.low < 0:
        return None
    return _hull(int(x) >> min(int(n), 63) for x in a.bounds for n in b.bounds)


def _ipow(_: Op, a: Interval, b: Interval) -> Interval | None:
    if b.low < 0 or b.high > 64:
        return None
    size = max(abs(a.low), abs(a.high), 1) ** b.high
    if a.low >= 0:
        return Interval(0, size)
    return Interval(-size, size)


def _int_abs(_: Op, a: Interval, __: Interval) -> Interval | None:
    if a.low == INT_MIN:
        return None
    return Interval(0 if a.has(0) else min(abs(a.low), abs(a.high)), max(abs(a.low), abs(a.high)))


def _rounded(rounding: Callable[[Number], int]) -> Transfer:
    def transfer(op: Op, a: Interval, _: Interval) -> Interval | None:
        if not a.finite or op.args[0].kind is not FLOAT:
            return a if op.args[0].kind is not FLOAT else None
        return Interval(rounding(a.low), rounding(a.high))

    return transfer


_INT: dict[str, Transfer] = {
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
    "to_int": _rounded(int),
    "floor_int": _rounded(math.floor),
    "ceil_int": _rounded(math.ceil),
    "round_int": _rounded(round),
}


# --- intervals of float operations
def _float_sum(_: Op, a: Interval, b: Interval) -> Interval | None:
    opposed = (a.high == math.inf and b.low == -math.inf) or (a.low == -math.inf and b.high == math.inf)
    return _hull((a.low + b.low, a.high + b.high), nan=a.nan or b.nan or opposed)


def _float_difference(op: Op, a: Interval, b: Interval) -> Interval | None:
    return _float_sum(op, a, Interval(-b.high, -b.low, b.nan))


def _float_product(op: Op, a: Interval, b: Interval) -> Interval | None:
    if op.args[0] is op.args[1]:
        squares = (a.low * a.low, a.high * a.high)
        return Interval(0.0 if a.has(0.0) else min(squares), max(squares), a.nan)
    endless = (a.has(0.0) and not _bounded(b)) or (b.has(0.0) and not _bounded(a))
    return _hull((_times(x, y) for x in a.bounds for y in b.bounds), nan=a.nan or b.nan or endless)


def _times(x: Number, y: Number) -> Number:
    """The product of two bounds: zero times infinity bounds products with zero, the nan is noted apart."""
    return 0.0 if x == 0 or y == 0 else x * y


def _bounded(a: Interval) -> bool:
    return math.isfinite(a.low) and math.isfinite(a.high)


def _float_quotient(_: Op, a: Interval, b: Interval) -> Interval | None:
    if b.has(0.0) or not (_bounded(a) or _bounded(b)):
        return None
    return _hull((x / y for x in a.bounds for y in b.bounds), nan=a.nan or b.nan)


def _float_mod(_: Op, a: Interval, b: Interval) -> Interval | None:
    """The sign of the divisor; a tiny negative operand rounds up to the divisor itself."""
    nan = a.nan or b.nan or not _bounded(a)
    if b.low > 0:
        return Interval(0.0, b.high, nan)
    return Interval(b.low, 0.0, nan) if b.high < 0 else None


def _float_abs(_: Op, a: Interval, __: Interval) -> Interval:
    sizes = (abs(a.low), abs(a.high))
    return Interval(0.0 if a.has(0.0) else min(sizes), max(sizes), a.nan)


def _to_float(_: Op, a: Interval, __: Interval) -> Interval:
    return Interval(float(a.low), float(a.high))


def _exact_float(op: Op, a: Interval, b: Interval) -> Interval | None:
    return _to_float(op, a, b) if a.low >= -EXACT_INT and a.high <= EXACT_INT else None


def _whole(rounding: Callable[[float], int]) -> Transfer:
    def transfer(_: Op, a: Interval, __: Interval) -> Interval:
        low, high = (x if math.isinf(x) else float(rounding(float(x))) for x in a.bounds)
        return Interval(low, high, a.nan)

    return transfer


def _sqrt(_: Op, a: Interval, __: Interval) -> Interval | None:
    if a.high < 0:
        return None
    return Interval(math.sqrt(max(a.low, 0.0)), math.sqrt(a.high), a.nan or a.low < 0)


def _pow(_: Op, a: Interval, b: Interval) -> Interval | None:
    """A few ulp more than the bound cover every C library."""
    if b.low == b.high and not float(b.low).is_integer() and a.low < 0:
        a = Interval(0.0, max(a.high, 0.0), nan=True)  # negative numbers to fractional powers are faults
    if b.low == b.high and b.low in (2, 4, 6, 8):
        most = max(abs(a.low), abs(a.high))
        return Interval(0.0, max(1.0, most**b.low) * (1 + 1e-12) if most < 1e30 else math.inf, nan=True)
    if a.low < 0:
        return None
    if b.low < 0 or not (_bounded(a) and b.finite):
        return Interval(0.0, math.inf, nan=True)
    try:
        return Interval(0.0, max(1.0, a.high**b.high) * (1 + 1e-12), a.nan)
    except OverflowError:
        return Interval(0.0, math.inf, nan=True)


def _exponential(most: float, function: Callable[[float], float]) -> Transfer:
    """Of a function that rises and is positive: at most its value at the upper end, and some more for other libraries
    and for float32."""
    def transfer(_: Op, a: Interval, __: Interval) -> Interval:
        return Interval(0.0, function(a.high) * (1 + 1e-6) if a.high <= most else math.inf, nan=True)

    return transfer


def _not_negative(_: Op, __: Interval, ___: Interval) -> Interval:
    return Interval(0.0, math.inf, nan=True)


def _between(low: float, high: float) -> Transfer:
    """All that a function gives where it does not fault: its range, rounded."""
    return lambda _, __, ___: Interval(low, high, nan=True)


_FLOAT: dict[str, Transfer] = {
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
    **dict.fromkeys(("exp", "vec_exp"), _exponential(700.0, math.exp)),
    **dict.fromkeys(("exp2", "vec_exp2"), _exponential(1000.0, lambda x: 2.0**x)),
    "cosh": _not_negative,
    "hypot": _not_negative,
    "library_hypot": _not_negative,
    **dict.fromkeys(("sin", "cos", "tanh", "erf"), _between(-1.0, 1.0)),
    **dict.fromkeys(("asin", "atan"), _between(-math.pi / 2, math.pi / 2)),
    "acos": _between(0.0, math.pi),
    "atan2": _between(-math.pi, math.pi),
    "erfc": _between(0.0, 2.0),
}
