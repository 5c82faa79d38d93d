"""Science and numbers: distances on the earth, orbits, steam, comfort, a polynomial in pieces, Collatz."""

from __future__ import annotations

import math


def haversine(la1: float, lo1: float, la2: float, lo2: float) -> float:
    """The distance of two places in km; -1.0 where a latitude is none."""
    if la1 > 90.0 or la1 < -90.0 or la2 > 90.0 or la2 < -90.0:
        return -1.0
    if la1 == la2 and lo1 == lo2:
        return 0.0
    p1 = la1 * 0.017453292519943295
    p2 = la2 * 0.017453292519943295
    sdp = math.sin((p2 - p1) * 0.5)
    sdl = math.sin((lo2 - lo1) * 0.008726646259971648)
    a = sdp * sdp + math.cos(p1) * math.cos(p2) * sdl * sdl
    if a >= 1.0:
        return 20015.086796020572
    return 12742.0 * math.asin(math.sqrt(a))


def kepler(m: float, e: float) -> float:
    """The eccentric anomaly, by Newton's method."""
    x = m + e * math.sin(m)
    for _ in range(20):
        d = (x - e * math.sin(x) - m) / (1.0 - e * math.cos(x))
        x = x - d
        if abs(d) < 1e-6:
            break
    return x


def orbit_height(x: float, y: float, vx: float, vy: float) -> float:
    """Twelve leapfrog steps around the earth (km, s), with drag in the air; -1.0 on impact."""
    step = 20.0
    for _ in range(12):
        r2 = x * x + y * y
        r = math.sqrt(r2)
        if r < 6371.0:
            return -1.0
        pull = -398600.4418 / (r2 * r)
        ax = pull * x
        ay = pull * y
        if r < 6571.0:
            speed = math.sqrt(vx * vx + vy * vy)
            density = 1e-4 * ((6571.0 - r) / 200.0) ** 2
            ax = ax - density * speed * vx
            ay = ay - density * speed * vy
        vx = vx + ax * step
        vy = vy + ay * step
        x = x + vx * step
        y = y + vy * step
    return math.sqrt(x * x + y * y) - 6371.0


SATURATION = (1167.0521452767, -724213.16703206, -17.073846940092, 12020.82470247, -3232555.0322333, 14.91510861353,
              -4823.2657361591, 405113.40542057, -0.23855557567849, 650.17534844798)
BOUNDARY = (348.05185628969, -1.1671859879975, 0.0010192970039326)


def saturation_pressure(t: float) -> float:
    """IAPWS-IF97, region 4: MPa from K."""
    n = SATURATION
    theta = t + n[8] / (t - n[9])
    a = theta * theta + n[0] * theta + n[1]
    b = n[2] * theta * theta + n[3] * theta + n[4]
    c = n[5] * theta * theta + n[6] * theta + n[7]
    return float((2.0 * c / (-b + math.sqrt(b * b - 4.0 * a * c))) ** 4)


def steam_region(p: float, t: float) -> int:
    """The region of IAPWS-IF97 at a pressure in MPa and a temperature in K; 0 outside."""
    if t < 273.15 or t > 2273.15 or p <= 0.0 or p > 100.0:
        return 0
    if t <= 623.15:
        return 1 if p >= saturation_pressure(t) else 2
    if t <= 863.15:
        boundary = BOUNDARY[0] + BOUNDARY[1] * t + BOUNDARY[2] * t * t
        return 3 if p > boundary else 2
    if t <= 1073.15:
        return 2
    return 5 if p <= 50.0 else 0


def heat_index(fahrenheit: float, humidity: float) -> float:
    """The comfort index of the US National Weather Service, with its adjustments."""
    t, r = fahrenheit, humidity
    simple = 0.5 * (t + 61.0 + (t - 68.0) * 1.2 + r * 0.094)
    if (simple + t) / 2.0 < 80.0:
        return simple
    index = (-42.379 + 2.04901523 * t + 10.14333127 * r - 0.22475541 * t * r - 0.00683783 * t * t
             - 0.05481717 * r * r + 0.00122874 * t * t * r + 0.00085282 * t * r * r - 0.00000199 * t * t * r * r)
    if r < 13.0 and 80.0 <= t <= 112.0:
        index -= (13.0 - r) / 4.0 * math.sqrt((17.0 - abs(t - 95.0)) / 17.0)
    elif r > 85.0 and 80.0 <= t <= 87.0:
        index += (r - 85.0) / 10.0 * ((87.0 - t) / 5.0)
    return index


def piecewise(x: float) -> float:
    """Six polynomials."""
    if x < -2.0:
        return 0.25 * x - 1.0
    if x < -1.0:
        return x * x + 2.0 * x
    if x < 0.0:
        return ((x + 0.5) * x - 0.25) * x
    if x < 1.0:
        return (0.3 * x * x + 0.1) * x
    if x < 2.0:
        return 1.0 - (x - 1.5) * (x - 0.5)
    return 0.125 * x + 0.75


def collatz(n: int) -> int:
    """Steps down to 1, at most 256."""
    steps = 0
    while n != 1 and steps < 256:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps = steps + 1
    return steps
