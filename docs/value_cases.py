"""The rules of values and kinds as functions with inputs: docs/reference/values.md is what they do.

Every row is run in Python lane by lane, by the twin on NumPy and on numba, and by plain numba (njit of the unmodified
function). The page is generated from what they gave, and a test says that it is current and that twins are Python.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NAN, INF = math.nan, math.inf
INT_MIN = -(2**63)


@dataclass(frozen=True)
class Case:
    """One expression. `arbitrary`: what plain numba gives where it is wrong depends on the processor."""

    rule: str
    function: Callable[..., Any]
    rows: Sequence[tuple[Any, ...]]
    arbitrary: bool = False

    @property
    def text(self) -> str:
        """The expression, or the name of a longer function."""
        lines = inspect.getsource(self.function).splitlines()
        return lines[1].strip().removeprefix("return ") if len(lines) == 2 else f"{self.function.__name__}(...)"


def times(a, b):
    return a * b


def negative(n):
    return -n


def magnitude(n):
    return abs(n)


def quotient(a, b):
    return a / b


def floor_quotient(a, b):
    return a // b


def remainder(a, b):
    return a % b


def modular(a, b):
    return (a * b) % 1000


def stirred(n):
    return (n * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFF


def both(a, b):
    return divmod(a, b)


def cubed(n):
    return n ** 3


def to_minus_two(n):
    return n ** -2


def power(a, b):
    return a ** b


def root_by_power(x):
    return x ** 0.5


def difference(a, b):
    return a - b


def logarithm(x):
    return math.log(x) * 0.0


def square_root(x):
    return math.sqrt(x)


def exponential(x):
    return math.exp(x) * 0.0


def arc(x):
    return math.acos(x) * 0.0


def sine(x):
    return math.sin(x) * 0.0


def whole(x):
    return int(x)


def floor(x):
    return math.floor(x)


def rounded(x):
    return round(x)


def cents(x):
    return round(x, 2)


def smaller(a, b):
    return min(a, b)


def larger(a, b):
    return max(a, b)


def left(n, count):
    return n << count


def right(n, count):
    return n >> count


def equal(n, x):
    return n == x


def between(x):
    return 0.0 <= x < 1.0


def member(x):
    return x in (1.0, 2.0)


def either(x, y):
    return x or y


def neither(x):
    return not x


def counted(a, b):
    return a + b


def joined(x):
    return 0 if x > 1.0 else 0.5


def hypotenuse(a, b):
    return math.hypot(a, b)


def total(a, b, c):
    return sum((a, b, c))


def unbound(x):
    if x > 0.0:
        sign = 1.0
    return sign


def table(i):
    return (10, 20, 30)[i]


def plus(a, b):
    return a + b


def wrapped_shift(n):
    return (n << 40) & 0xFFFFFFFFFFFF


def ceiling(x):
    return math.ceil(x)


def truncated(x):
    return math.trunc(x)


def rounded_int(n):
    return round(n)


def mixed_sign(x):
    return -(0 if x > 1.0 else x)


def log_factorial(x):
    return math.lgamma(x)


def factorial(x):
    return math.gamma(x)


CASES = (
    Case("ints: overflow is an error", times, ((3, 5), (2**32 + 1, 2**32 + 1))),
    Case("ints: overflow is an error", plus, ((3, 5), (2**62, 2**62))),
    Case("ints: overflow is an error", difference, ((3, 5), (INT_MIN, 1))),
    Case("ints: overflow is an error", negative, ((5,), (INT_MIN,))),
    Case("ints: overflow is an error", magnitude, ((-5,), (INT_MIN,))),
    Case("ints: intermediate overflow falls back to Python", modular, ((3, 5), (2**40, 2**40 + 1))),
    Case("ints: a low-bit mask wraps exactly", stirred, ((1,), (2**62 + 3,))),
    Case("ints: a low-bit mask wraps exactly", wrapped_shift, ((3,), (2**40 + 5,), (-1,))),
    Case("`/` of ints is a float, exact beyond 2**53 too", quotient, ((1, 3), (2**53 + 1, 3), (1, 0))),
    Case("division by zero is an error, also for floats", quotient, ((1.0, 4.0), (1.0, 0.0), (NAN, -0.0))),
    Case("floor semantics, bit for bit", floor_quotient, ((-7, 2), (INT_MIN, -1), (7, 0))),
    Case("floor semantics, bit for bit", floor_quotient, ((-7.5, 2.0), (1.0, -INF), (0.0, 0.0))),
    Case("floor semantics, bit for bit", remainder, ((-7, 3), (7, -3), (7, 0))),
    Case("floor semantics, bit for bit", remainder,
         ((-1e-20, 1.0), (-0.0, 3.0), (5.0, INF), (-5.0, INF), (1.0, 0.0))),
    Case("floor semantics, bit for bit", both, ((-7, 2), (7, -2), (7, 0))),
    Case("floor semantics, bit for bit", both, ((-7.5, 2.0), (1.0, -INF), (7.0, 0.0))),
    Case("`**`: literal exponents of ints are exact", cubed, ((-7,), (2097151,), (2097152,))),
    Case("`**`: literal exponents of ints are exact", to_minus_two, ((4,), (0,))),
    Case("`**` of ints: an int or a float by the sign of the exponent", power, ((2, 10), (2, -1), (1, -1), (0, 0))),
    Case("`**`: 0**negative, overflow, complex are errors", power,
         ((4.0, 0.5), (0.0, -1.0), (10.0, 400.0), (-8.0, 0.5))),
    Case("`x ** .5` differs from sqrt", root_by_power, ((4.0,), (-0.0,), (-INF,))),
    Case("float overflow is a value", times, ((1e200, 1e200), (INF, 0.0))),
    Case("float overflow is a value", difference, ((INF, INF), (1e308, -1e308))),
    Case("domain and range errors are errors", logarithm, ((2.0,), (0.0,), (-1.0,))),
    Case("domain and range errors are errors", square_root, ((2.25,), (-1.0,), (-0.0,))),
    Case("domain and range errors are errors", exponential, ((1.0,), (1000.0,), (-1000.0,))),
    Case("domain and range errors are errors", arc, ((0.5,), (2.0,))),
    Case("domain and range errors are errors", sine, ((1.0,), (INF,), (NAN,))),
    Case("the int of nan, inf and beyond 64 bits is an error", whole, ((-2.5,), (NAN,), (INF,), (1e300,)),
         arbitrary=True),
    Case("the int of nan, inf and beyond 64 bits is an error", floor, ((-2.5,), (-INF,), (1e19,)),
         arbitrary=True),
    Case("the int of nan, inf and beyond 64 bits is an error", ceiling, ((-2.5,), (NAN,), (-1e19,)), arbitrary=True),
    Case("the int of nan, inf and beyond 64 bits is an error", truncated, ((-2.5,), (NAN,), (1e19,)), arbitrary=True),
    Case("round is half-even, decimal ties as CPython", rounded_int, ((7,), (2**53 + 1,))),
    Case("round is half-even, decimal ties as CPython", rounded, ((2.5,), (3.5,), (-0.5,), (NAN,)), arbitrary=True),
    Case("round is half-even, decimal ties as CPython", cents, ((2.675,), (1.005,), (0.125,), (-0.001,))),
    Case("min and max are Python's, in order", smaller, ((1.0, NAN), (NAN, 1.0), (0.0, -0.0), (-0.0, 0.0))),
    Case("min and max are Python's, in order", larger, ((1.0, NAN), (NAN, 1.0), (0.0, -0.0), (-0.0, 0.0))),
    Case("min and max are Python's, in order", smaller, ((2, 1.5), (1, 1.5), (1, NAN))),
    Case("shifts: negative counts are faults, large ones are Python's", left, ((1, 3), (1, -1), (1, 63), (0, 70)),
         arbitrary=True),
    Case("shifts: negative counts are faults, large ones are Python's", right, ((-8, 1), (1, 64), (-1, 100), (1, -1)),
         arbitrary=True),
    Case("int against float is exact", equal, ((3, 3.0), (2**53 + 1, 2.0**53), (2**63 - 1, 2.0**63))),
    Case("chained comparison, membership", between, ((0.0,), (1.0,), (NAN,))),
    Case("chained comparison, membership", member, ((2.0,), (3.0,), (-1.0,))),
    Case("and, or give an operand; nan is true", either, ((0.0, 2.0), (NAN, 2.0), (-0.0, 3.0))),
    Case("and, or give an operand; nan is true", neither, ((0.0,), (NAN,), (2.0,))),
    Case("bool arithmetic is int arithmetic", counted, ((True, True), (True, False))),
    Case("joins have the wider kind", joined, ((2.0,), (1.0,))),
    Case("joins have the wider kind", mixed_sign, ((2.0,), (0.0,), (-1.5,))),
    Case("hypot is CPython's", hypotenuse, ((3.0, 4.0), (INF, NAN), (5e-324, 0.0))),
    Case("gamma and lgamma are the C library's", factorial, ((5.0,), (0.0,), (-1.5,), (200.0,))),
    Case("gamma and lgamma are the C library's", log_factorial, ((0.5,), (-1.0,), (1e306,))),
    Case("sum is in source order", total, ((1.0, 2.0, 4.0), (INF, -INF, 1.0))),
    Case("names bound on some paths only are faults elsewhere", unbound, ((2.0,), (-2.0,))),
    Case("indices count from the end, others are errors", table, ((0,), (-1,), (3,), (-4,)), arbitrary=True),
)
