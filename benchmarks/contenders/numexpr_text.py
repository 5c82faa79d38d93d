"""numexpr on one thread, for the kernels without loops and tables.

Constants are of the type of the lanes: literals in an expression would make it compute in float64, and so would
`maximum` and `minimum`, which know no float32.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.contenders.record import Columns, Contender, Run, UnavailableError, optional, real_type
from benchmarks.kernels import Kernel, prices, sciences


def _cdf(x: str) -> str:
    k = f"(1.0 / (1.0 + 0.2316419 * abs({x})))"
    series = (f"{k} * (0.319381530 + {k} * (-0.356563782 + {k} * (1.781477937 + {k} * (-1.821255978 + {k} * "
              "1.330274429))))")
    return f"0.3989422804014327 * exp(-0.5 * {x} * {x}) * ({series})"


def _tax() -> str:
    text = "0.0 * share"
    for (start, rate), (end, _) in zip(prices.BRACKETS, prices.BRACKETS[1:], strict=False):
        text += f" + where(share > {start}, (where(share < {end}, share, {end}) - {start}) * {rate}, 0.0)"
    start, rate = prices.BRACKETS[-1]
    return f"{text} + where(share > {start}, (share - {start}) * {rate}, 0.0)"


def _saturation(n: tuple[float, ...]) -> str:
    return (f"(2.0 * ({n[5]} * theta * theta + {n[6]} * theta + {n[7]}) / (-b + sqrt(b * b - 4.0 * (theta * theta "
            f"+ {n[0]} * theta + {n[1]}) * ({n[5]} * theta * theta + {n[6]} * theta + {n[7]}))))")


N, B = sciences.SATURATION, sciences.BOUNDARY
TEXTS: dict[str, tuple[str, str]] = {
    "bs": ("side spot strike years volatility", f"""
        spread = volatility * sqrt(years);
        d1 = (log(spot / strike) + ({prices.RATE} + 0.5 * volatility * volatility) * years) / spread;
        d2 = d1 - spread;
        way = where(side > 0.0, 1.0, -1.0);
        t1 = {_cdf('d1')};
        t2 = {_cdf('d2')};
        n1 = where(way * d1 > 0.0, 1.0 - t1, t1);
        n2 = where(way * d2 > 0.0, 1.0 - t2, t2);
        gain = way * (spot - strike);
        result = where(years <= 0.0, where(gain > 0.0, gain, 0.0),
                       way * (spot * n1 - strike * exp(-{prices.RATE} * years) * n2))"""),
    "srgb": ("c", """
        result = where(c <= 0.0, 0.0, where(c >= 1.0, 1.0, where(c <= 0.04045, c / 12.92,
                       ((c + 0.055) / 1.055) ** 2.4)))"""),
    "hsv": ("r g b", """
        largest = where(r > g, where(r > b, r, b), where(g > b, g, b));
        smallest = where(r < g, where(r < b, r, b), where(g < b, g, b));
        hue = where(r == largest, ((largest - b) - (largest - g)) / (largest - smallest), where(g == largest,
                    2.0 + ((largest - r) - (largest - b)) / (largest - smallest),
                    4.0 + ((largest - g) - (largest - r)) / (largest - smallest))) / 6.0;
        result = where(smallest == largest, largest,
                       where(hue < 0.0, hue + 1.0, hue) + (largest - smallest) / largest + largest)"""),
    "haversine": ("la1 lo1 la2 lo2", """
        a = sin((la2 - la1) * 0.008726646259971648) ** 2 + cos(la1 * 0.017453292519943295)
            * cos(la2 * 0.017453292519943295) * sin((lo2 - lo1) * 0.008726646259971648) ** 2;
        result = where((la1 > 90.0) | (la1 < -90.0) | (la2 > 90.0) | (la2 < -90.0), -1.0,
                       where((la1 == la2) & (lo1 == lo2), 0.0,
                             where(a >= 1.0, 20015.086796020572, 12742.0 * arcsin(sqrt(a)))))"""),
    "piecewise": ("x", """
        result = where(x < -2.0, 0.25 * x - 1.0, where(x < -1.0, x * x + 2.0 * x, where(x < 0.0,
                       ((x + 0.5) * x - 0.25) * x, where(x < 1.0, (0.3 * x * x + 0.1) * x, where(x < 2.0,
                       1.0 - (x - 1.5) * (x - 0.5), 0.125 * x + 0.75)))))"""),
    "comfort": ("t r", """
        simple = 0.5 * (t + 61.0 + (t - 68.0) * 1.2 + r * 0.094);
        index = -42.379 + 2.04901523 * t + 10.14333127 * r - 0.22475541 * t * r - 0.00683783 * t * t
                - 0.05481717 * r * r + 0.00122874 * t * t * r + 0.00085282 * t * r * r - 0.00000199 * t * t * r * r;
        result = where((simple + t) / 2.0 < 80.0, simple, where((r < 13.0) & (t >= 80.0) & (t <= 112.0),
                       index - (13.0 - r) / 4.0 * sqrt((17.0 - abs(t - 95.0)) / 17.0),
                       where((r > 85.0) & (t >= 80.0) & (t <= 87.0),
                             index + (r - 85.0) / 10.0 * ((87.0 - t) / 5.0), index)))"""),
    "tax": ("income spouse married children", f"""
        total = where(married > 0.5, income + spouse, income);
        taxable = total - where(married > 0.5, 27700.0, 13850.0);
        share = where(married > 0.5, taxable / 2.0, taxable);
        due = {_tax()};
        above = total - where(married > 0.5, 400000.0, 200000.0);
        left = 2000.0 * children - 50.0 * ceil(above / 1000.0);
        credit = where(above > 0.0, where(left > 0.0, left, 0.0), 2000.0 * children);
        rest = where(married > 0.5, 2.0 * due, due) - credit;
        result = where((taxable <= 0.0) | (rest < 0.0), 0.0, rest)"""),
    "steam": ("p t", f"""
        theta = t + {N[8]} / (t - {N[9]});
        b = {N[2]} * theta * theta + {N[3]} * theta + {N[4]};
        q = {_saturation(N)};
        result = where((t < 273.15) | (t > 2273.15) | (p <= 0.0) | (p > 100.0), 0, where(t <= 623.15,
                       where(p >= q * q * q * q, 1, 2), where(t <= 863.15,
                       where(p > {B[0]} + {B[1]} * t + {B[2]} * t * t, 3, 2), where(t <= 1073.15, 2,
                       where(p <= 50.0, 5, 0)))))"""),
}
"""Kernel -> the names of its lanes, and assignments; the last one is the result."""

_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?")


def _make(kernel: Kernel, lanes: Columns) -> Run:
    numexpr = optional("numexpr")
    if kernel.name not in TEXTS:
        raise UnavailableError("has a loop or a table")
    names, text = TEXTS[kernel.name]
    numexpr.set_num_threads(1)
    scope: dict[str, Any] = dict(zip(names.split(), lanes, strict=True))
    real = real_type(lanes).type
    numbers: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        name = numbers.setdefault(found[0], f"number_{len(numbers)}")
        scope[name] = real(found[0])
        return name

    if real is np.float32:
        text = _NUMBER.sub(named, text)
    steps = [" ".join(statement.split()).partition(" = ") for statement in text.split(";")]

    def call() -> Any:
        values = dict(scope)
        for target, _, expression in steps:
            values[target] = numexpr.evaluate(expression, values)
        return values["result"]

    return call


def _versions() -> Mapping[str, str]:
    return {"numexpr": str(optional("numexpr").__version__)}


CONTENDERS = (Contender("numexpr", _make, versions=_versions),)
