"""Scalar functions of several fields, and arguments to try them on: what `examples/gallery_accuracy.py` runs as compute
shaders. The colour models are the standard library's own."""

from __future__ import annotations

import calendar
import colorsys
import math
from collections.abc import Callable
from typing import Any

import numpy as np


# --- comfort
def heat_index(fahrenheit: float, humidity: float) -> float:
    """Apparent temperature of the US National Weather Service (Rothfusz, with its two adjustments)."""
    simple = 0.5 * (fahrenheit + 61.0 + (fahrenheit - 68.0) * 1.2 + humidity * 0.094)
    if (simple + fahrenheit) / 2.0 < 80.0:
        return simple
    t, r = fahrenheit, humidity
    index = (-42.379 + 2.04901523 * t + 10.14333127 * r - 0.22475541 * t * r - 0.00683783 * t * t
             - 0.05481717 * r * r + 0.00122874 * t * t * r + 0.00085282 * t * r * r - 0.00000199 * t * t * r * r)
    if r < 13.0 and 80.0 <= t <= 112.0:
        return index - (13.0 - r) / 4.0 * math.sqrt((17.0 - abs(t - 95.0)) / 17.0)
    if r > 85.0 and 80.0 <= t <= 87.0:
        return index + (r - 85.0) / 10.0 * (87.0 - t) / 5.0
    return index


def wind_chill(celsius: float, kmh: float) -> float:
    """Environment Canada's index; calm air is not chilled."""
    if kmh < 5.0:
        return celsius + (-1.59 + 0.1345 * celsius) / 5.0 * kmh
    power = kmh**0.16
    return 13.12 + 0.6215 * celsius - 11.37 * power + 0.3965 * celsius * power


def dew_point(celsius: float, humidity: float) -> float:
    """Magnus, with other constants below freezing."""
    b, c = (17.62, 243.12) if celsius >= 0.0 else (22.46, 272.62)
    gamma = math.log(humidity / 100.0) + b * celsius / (c + celsius)
    return c * gamma / (b - gamma)


# --- money
def normal_cdf(x: float) -> float:
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def option_price(spot: float, strike: float, years: float, rate: float, volatility: float, is_put: bool) -> float:
    """Black and Scholes."""
    if years <= 0.0:
        return max(strike - spot, 0.0) if is_put else max(spot - strike, 0.0)
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * math.exp(-rate * years)
    if is_put:
        return discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return spot * normal_cdf(d1) - discounted * normal_cdf(d2)


def income_tax(income: float, joint: bool) -> float:
    """Progressive brackets over a literal table."""
    share = 2.0 if joint else 1.0
    due, below = 0.0, 0.0
    for limit, rate in ((11_600.0, 0.1), (47_150.0, 0.12), (100_525.0, 0.22), (191_950.0, 0.24), (math.inf, 0.32)):
        top = limit * share
        if income <= below:
            break
        due += (min(income, top) - below) * rate
        below = top
    return due


def loan_payment(principal: float, yearly_rate: float, years: int) -> float:
    """The monthly payment; without interest the even share."""
    months = years * 12
    rate = yearly_rate / 12.0
    if rate < 1e-6:
        return principal / months
    return principal * rate / -math.expm1(-months * math.log1p(rate))


def bond_price(face: float, coupon: float, market: float) -> float:
    """Ten yearly coupons, discounted."""
    total = 0.0
    for year in range(1, 11):
        total += face * coupon / (1.0 + market) ** year
    return total + face / (1.0 + market) ** 10


# --- sky and earth
def eccentric_anomaly(mean: float, eccentricity: float) -> float:
    """Kepler's equation by Newton's method, to 1e-5."""
    e = mean if eccentricity < 0.8 else math.pi
    for _ in range(20):
        step = (e - eccentricity * math.sin(e) - mean) / (1.0 - eccentricity * math.cos(e))
        e -= step
        if abs(step) < 1e-5:
            break
    return e


def great_circle(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Kilometres on the sphere, in Vincenty's form: good for neighbours and antipodes alike."""
    p, q = math.radians(latitude), math.radians(other_latitude)
    turn = math.radians(other_longitude - longitude)
    across = math.hypot(math.cos(q) * math.sin(turn),
                        math.cos(p) * math.sin(q) - math.sin(p) * math.cos(q) * math.cos(turn))
    along = math.sin(p) * math.sin(q) + math.cos(p) * math.cos(q) * math.cos(turn)
    return 6371.0 * math.atan2(across, along)


def air_density(metres: float) -> float:
    """The standard atmosphere up to 20 km."""
    if metres < 11_000.0:
        kelvin = 288.15 - 0.0065 * metres
        pascal = 101_325.0 * (kelvin / 288.15) ** 5.25588
    else:
        kelvin = 216.65
        pascal = 22_632.1 * math.exp(-0.000157688 * (metres - 11_000.0))
    return pascal / (287.053 * kelvin)


# --- colour
def lightness(red: float, green: float, blue: float) -> float:
    """CIE L* of an sRGB colour."""
    def linear(c: float) -> float:
        return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4

    y = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    return 116.0 * y ** (1.0 / 3.0) - 16.0 if y > 216.0 / 24389.0 else y * 24389.0 / 27.0


# --- whole numbers
def greatest_divisor(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def weekday(year: int, month: int, day: int) -> int:
    """Sakamoto: 0 is Sunday."""
    if month < 3:
        year -= 1
    return (year + year // 4 - year // 100 + year // 400 + (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[month - 1] + day) % 7


def days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if calendar.isleap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def collatz_steps(n: int) -> int:
    steps = 0
    while n != 1 and steps < 200:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


# --- curves
def ease_out_bounce(t: float) -> float:
    """Penner's bounce, in its four parabolas."""
    if t < 1.0 / 2.75:
        return 7.5625 * t * t
    if t < 2.0 / 2.75:
        t -= 1.5 / 2.75
        return 7.5625 * t * t + 0.75
    if t < 2.5 / 2.75:
        t -= 2.25 / 2.75
        return 7.5625 * t * t + 0.9375
    t -= 2.625 / 2.75
    return 7.5625 * t * t + 0.984375


def larger_root(a: float, b: float, c: float) -> float:
    """Of a quadratic, without cancellation; nan where there is none."""
    d = b * b - 4.0 * a * c
    if d < 0.0:
        return math.nan
    q = -0.5 * (b + math.copysign(math.sqrt(d), b))
    return max(q / a, c / q)


def wrapped_angle(degrees: float) -> float:
    """Within -180 and 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def triangle_area(a: float, b: float, c: float) -> float:
    """Heron, in Kahan's order; 0.0 for sides that make no triangle."""
    if b > a:
        a, b = b, a
    if c > a:
        a, c = c, a
    if c > b:
        b, c = c, b
    if c - (a - b) <= 0.0:
        return 0.0
    return 0.25 * math.sqrt((a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c)))


Columns = Callable[[np.random.Generator, int], list[Any]]


def floats(*ranges: tuple[float, float]) -> Columns:
    """Columns of numbers from these ranges, as 32 bits have them, the ends of the ranges among them."""
    def columns(rng: np.random.Generator, n: int) -> list[Any]:
        made = [rng.uniform(low, high, n) for low, high in ranges]
        for column, (low, high) in zip(made, ranges, strict=True):
            column[rng.integers(0, n, n // 50)] = low
            column[rng.integers(0, n, n // 50)] = high
        return [column.astype(np.float32).astype(np.float64) for column in made]

    return columns


def ints(*ranges: tuple[int, int]) -> Columns:
    """Columns of whole numbers, both ends included."""
    return lambda rng, n: [rng.integers(low, high + 1, n) for low, high in ranges]


def then(first: Columns, *others: Columns) -> Columns:
    return lambda rng, n: [column for each in (first, *others) for column in each(rng, n)]


def bools(rng: np.random.Generator, n: int) -> list[Any]:
    return [rng.random(n) < 0.5]


UNIT = (0.0, 1.0)
FUNCTIONS: tuple[tuple[Callable[..., Any], Columns], ...] = (
    (colorsys.rgb_to_hsv, floats(UNIT, UNIT, UNIT)),
    (colorsys.hsv_to_rgb, floats(UNIT, UNIT, UNIT)),
    (colorsys.rgb_to_hls, floats(UNIT, UNIT, UNIT)),
    (colorsys.hls_to_rgb, floats(UNIT, UNIT, UNIT)),
    (colorsys.rgb_to_yiq, floats(UNIT, UNIT, UNIT)),
    (colorsys.yiq_to_rgb, floats(UNIT, (-0.6, 0.6), (-0.5, 0.5))),
    (lightness, floats(UNIT, UNIT, UNIT)),
    (heat_index, floats((60.0, 115.0), (5.0, 100.0))),
    (wind_chill, floats((-40.0, 10.0), (0.0, 90.0))),
    (dew_point, floats((-30.0, 45.0), (1.0, 100.0))),
    (option_price, then(floats((40.0, 160.0), (50.0, 150.0), (0.0, 3.0), (0.0, 0.1), (0.05, 0.8)), bools)),
    (income_tax, then(floats((0.0, 500_000.0)), bools)),
    (loan_payment, then(floats((1_000.0, 900_000.0), (0.0, 0.15)), ints((1, 40)))),
    (bond_price, floats((100.0, 1_000.0), (0.0, 0.12), (0.0, 0.15))),
    (eccentric_anomaly, floats((0.0, 6.28), (0.0, 0.95))),
    (great_circle, floats((-90.0, 90.0), (-180.0, 180.0), (-90.0, 90.0), (-180.0, 180.0))),
    (air_density, floats((0.0, 20_000.0))),
    (greatest_divisor, ints((0, 100_000), (0, 100_000))),
    (weekday, ints((1583, 2400), (1, 12), (1, 28))),
    (days_in_month, ints((1583, 2400), (1, 12))),
    (collatz_steps, ints((1, 3_000))),
    (ease_out_bounce, floats(UNIT)),
    (larger_root, floats((0.5, 4.0), (-9.0, 9.0), (-4.0, 4.0))),
    (wrapped_angle, floats((-1_000.0, 1_000.0))),
    (triangle_area, floats((0.1, 9.0), (0.1, 9.0), (0.1, 9.0))),
)  # fmt: skip
