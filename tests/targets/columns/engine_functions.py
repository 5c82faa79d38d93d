"""Functions for the query engines and array namespaces, and rows for them: ordinary ones, and edges."""

from __future__ import annotations

import colorsys
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

INF, NAN = math.inf, math.nan


def income_tax(income: float, children: int) -> float:
    """A tariff with zones, an allowance for each child, rounded to cents."""
    if income < 0.0:
        raise ValueError("income")
    rest = income - 11604.0 - 3192.0 * min(children, 6)
    if rest <= 0.0:
        return 0.0
    if rest < 5402.0:
        tax = (922.98 * rest / 10000.0 + 1400.0) * rest / 10000.0
    elif rest < 50000.0:
        tax = rest * 0.3 - 204.5
    else:
        tax = rest * 0.42 - 6204.5
    return round(tax, 2)


def brackets(income: float) -> float:
    total = 0.0
    for low, high, rate in ((0.0, 11000.0, 0.1), (11000.0, 44725.0, 0.12), (44725.0, 95375.0, 0.22),
                            (95375.0, 182100.0, 0.24), (182100.0, INF, 0.32)):
        if income <= low:
            break
        total += (min(income, high) - low) * rate
    return total


def heat_index(t: float, rh: float) -> float:
    """Rothfusz's regression with the adjustments of the US weather service, in Fahrenheit."""
    simple = 0.5 * (t + 61.0 + (t - 68.0) * 1.2 + rh * 0.094)
    if (simple + t) / 2.0 < 80.0:
        return simple
    hi = (-42.379 + 2.04901523 * t + 10.14333127 * rh - 0.22475541 * t * rh - 6.83783e-3 * t * t
          - 5.481717e-2 * rh * rh + 1.22874e-3 * t * t * rh + 8.5282e-4 * t * rh * rh - 1.99e-6 * t * t * rh * rh)
    if rh < 13.0 and 80.0 <= t <= 112.0:
        hi -= (13.0 - rh) / 4.0 * math.sqrt((17.0 - abs(t - 95.0)) / 17.0)
    elif rh > 85.0 and 80.0 <= t <= 87.0:
        hi += (rh - 85.0) / 10.0 * (87.0 - t) / 5.0
    return hi


def wind_chill(t: float, v: float) -> float:
    if t > 10.0 or v < 4.8:
        return t
    return 13.12 + 0.6215 * t - 11.37 * v**0.16 + 0.3965 * t * v**0.16


def dew_point(t: float, rh: float) -> float:
    if rh <= 0.0 or rh > 100.0:
        return NAN
    g = math.log(rh / 100.0) + 17.62 * t / (243.12 + t)
    return 243.12 * g / (17.62 - g)


def shipping(weight: float, zone: int, express: bool) -> float:
    rates = (4.99, 7.49, 11.99, 19.99)
    price = rates[zone]
    if weight > 2.0:
        price += math.ceil((weight - 2.0) / 0.5) * 0.75
    if express:
        price *= 1.5 if zone < 2 else 2.0
    return price


def quantity_price(n: int, unit: float) -> float:
    full, rest = n // 12, n % 12
    return full * 10 * unit + rest * unit if n >= 12 else n * unit


def leap_year(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def weekday(y: int, m: int, d: int) -> int:
    """Sakamoto's."""
    if m < 1 or m > 12:
        raise ValueError("month")
    if m < 3:
        y -= 1
    return (y + y // 4 - y // 100 + y // 400 + (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[m - 1] + d) % 7


def easter_golden(year: int) -> int:
    a, b, c = year % 19, year // 100, year % 100
    d, e, f = b // 4, b % 4, (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    w = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * w) // 451
    return (h + w - 7 * m + 114) // 31 * 100 + (h + w - 7 * m + 114) % 31 + 1


def mixed_sum(a: int, b: int) -> int:
    return a + b - 3 * (a - b) if a > b else abs(a) - b


def overflowing(a: int, b: int) -> int:
    return a * b if b != 0 else -a


def floored(a: int, b: int) -> int:
    return a // b + a % b


def chained(n: int) -> int:
    """Each value from the one before, twice: as a tree it has a million operations."""
    for _ in range(20):
        n = (n + 3) * (n % 7) % 1000003
    return n


def truncated(x: float) -> int:
    return int(x) + math.floor(x * 2.0) - round(x)


def divided(x: float, y: float) -> float:
    return x / y if x > 1.0 else y


def wrapped_angle(x: float) -> float:
    return x % 360.0 if x < 720.0 else x // 90.0


def modulus(x: float, y: float) -> float:
    return x % y + x // y


def clamp(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def compared(x: float, y: float) -> int:
    score = 0
    if x < y:
        score += 1
    if not x <= y:
        score += 2
    if x == y:
        score += 4
    if x != x or not (y > 0.0):
        score += 8
    return score


def letter(points: float) -> int:
    for k, limit in enumerate((50.0, 65.0, 80.0, 90.0)):
        if points < limit:
            return k
    return 4


def annuity(rate: float, n: int, amount: float) -> float:
    if rate == 0.0:
        return amount / n
    q = (1.0 + rate) ** n
    return amount * rate * q / (q - 1.0)


def loan_years(rate: float, payment: float) -> int:
    debt, years = 1000.0, 0
    for _ in range(12):
        if debt <= 0.0:
            break
        debt = debt * (1.0 + rate) - payment
        years += 1
    return years


def money(x: float) -> float:
    return round(x, 2)


@dataclass(frozen=True)
class Case:
    """`columns` are the names of ordinary columns (`ORDINARY`); `ulps`: 0 where every bit has to agree."""

    fn: Callable[..., Any]
    columns: tuple[str, ...]
    ulps: int = 0


ORDINARY: dict[str, Callable[[random.Random], Any]] = {
    "income": lambda r: round(r.uniform(0.0, 250000.0), 3), "children": lambda r: r.randrange(9),
    "fahrenheit": lambda r: r.uniform(40.0, 120.0), "percent": lambda r: r.uniform(0.0, 100.0),
    "celsius": lambda r: r.uniform(-40.0, 30.0), "speed": lambda r: r.uniform(0.0, 90.0),
    "weight": lambda r: r.uniform(0.0, 20.0), "zone": lambda r: r.randrange(-4, 5), "bool": lambda r: r.random() < 0.5,
    "count": lambda r: r.randrange(-50, 500), "year": lambda r: r.randrange(-400, 3000),
    "month": lambda r: r.randrange(0, 14), "unit": lambda r: r.random(), "any": lambda r: r.uniform(-1000.0, 1000.0),
    "small": lambda r: r.choice((-2.0, -0.3, 0.1, 0.3, 1.0, 7.0, 0.0)), "n": lambda r: r.randrange(1, 40),
    "rate": lambda r: r.choice((0.0, 0.01, 0.035, 0.2)), "cents": lambda r: r.randrange(10**7) / 1000.0,
}
UNIT = ("unit", "unit", "unit")
CASES = [
    Case(income_tax, ("income", "children")), Case(brackets, ("income",)), Case(heat_index, ("fahrenheit", "percent")),
    Case(wind_chill, ("celsius", "speed"), 64), Case(dew_point, ("celsius", "percent"), 64),
    Case(shipping, ("weight", "zone", "bool")), Case(quantity_price, ("count", "unit")), Case(leap_year, ("year",)),
    Case(weekday, ("year", "month", "n")), Case(easter_golden, ("year",)), Case(mixed_sum, ("count", "year")),
    Case(overflowing, ("count", "year")), Case(floored, ("count", "year")), Case(chained, ("count",)), Case(truncated, ("any",)), Case(divided, ("small", "any")),
    Case(wrapped_angle, ("any",)), Case(modulus, ("any", "small")), Case(clamp, ("any", "small", "unit")),
    Case(compared, ("small", "small")), Case(letter, ("percent",)), Case(annuity, ("rate", "n", "income"), 4096),
    Case(loan_years, ("rate", "weight")), Case(money, ("cents",)),
    *(Case(getattr(colorsys, name), UNIT) for name in (
        "rgb_to_hsv", "hsv_to_rgb", "rgb_to_hls", "hls_to_rgb", "rgb_to_yiq", "yiq_to_rgb")),
]
EDGES: dict[str, list[Any]] = {
    "f8": [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 0.1, 0.015, 2.675, 1e-320, 1e300, -1e300, 1e16, 2.0**52, INF, -INF, NAN,
           360.0, -90.0, 65.0, None],
    "i8": [0, 1, -1, 2, -2, 7, 12, 100, 400, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1, None],
    "b": [False, True, None],
}


def rows_of(kinds: tuple[str, ...], columns: tuple[str, ...], count: int = 150) -> tuple[list[Any], list[Any]]:
    """Ordinary rows, and rows of edges."""
    random_ = random.Random(20)
    ordinary = [tuple(ORDINARY[name](random_) for name in columns) for _ in range(count)]
    pools = [EDGES[kind] for kind in kinds]
    edges = list(itertools.product(*pools))
    return ordinary, edges if len(edges) <= 500 else random_.sample(edges, 500)


def expected(fn: Callable[..., Any], row: tuple[Any, ...]) -> Any:
    """What Python gives; None for a null and where it raises, or where no lane can hold it."""
    if None in row:
        return None
    try:
        value = fn(*row)
    except (ArithmeticError, ValueError, LookupError, AssertionError, NameError, TypeError, RuntimeError):
        return None
    flat = value if isinstance(value, tuple) else (value,)
    if any(isinstance(number, complex) or isinstance(number, int) and not -(2**63) <= number < 2**63 for number in flat):
        return None
    return value
