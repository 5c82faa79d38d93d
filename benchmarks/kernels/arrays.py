"""The kernels as people write them by hand for whole arrays: `where` instead of branches, a live mask in loops.

One text for NumPy, JAX and Dr.Jit; what they spell differently is in a `Library` (`benchmarks.contenders`). Scalars in
the text take the type of the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.kernels import images, prices, sciences

Lanes = Any
Function = Callable[..., Any]
Step = Callable[..., tuple[tuple[Lanes, ...], Lanes]]


@dataclass(frozen=True)
class Library:
    """How a library of arrays spells what the texts use.

    loop        (trips, live, step, *state) -> state: `step(*state)` gives the next state and the lanes that go on;
                lanes that have stopped keep their state, and so does one that is not live at first
    real        (number, lanes) -> the number in the type of the lanes
    whole       (number, lanes) -> the number in the type of integers that goes with the lanes
    counts      lanes -> as many zeros of that type of integers
    wrapped     floats without fraction -> unsigned 32-bit ints, modulo 2**32
    take        (table, unsigned ints) -> the table's items
    """

    where: Function
    abs: Function
    arcsin: Function
    ceil: Function
    cos: Function
    exp: Function
    floor: Function
    log: Function
    maximum: Function
    minimum: Function
    power: Function
    sin: Function
    sqrt: Function
    loop: Callable[..., tuple[Lanes, ...]]
    real: Function
    whole: Function
    counts: Function
    wrapped: Function
    take: Function


# --- prices


def _cdf(xp: Library, x: Lanes) -> Lanes:
    size = xp.abs(x)
    k = 1.0 / (1.0 + 0.2316419 * size)
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * xp.exp(-0.5 * size * size) * series
    return xp.where(x > 0.0, 1.0 - tail, tail)


def bs(xp: Library, side: Lanes, spot: Lanes, strike: Lanes, years: Lanes, volatility: Lanes) -> Lanes:
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (prices.RATE + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * xp.exp(-prices.RATE * years)
    sign = xp.where(side > 0.0, 1.0, xp.real(-1.0, side))  # one formula for calls and puts
    alive = sign * (spot * _cdf(xp, sign * d1) - discounted * _cdf(xp, sign * d2))
    return xp.where(years <= 0.0, xp.maximum(sign * (spot - strike), 0.0), alive)


def implied(xp: Library, price: Lanes, spot: Lanes, strike: Lanes, years: Lanes) -> Lanes:
    discounted = strike * xp.exp(-prices.RATE * years)
    none = (price <= xp.maximum(spot - discounted, 0.0)) | (price >= spot)
    root, moneyness = xp.sqrt(years), xp.log(spot / strike)

    def step(low: Lanes, high: Lanes, guess: Lanes) -> tuple[tuple[Lanes, ...], Lanes]:
        spread = guess * root
        d1 = (moneyness + (prices.RATE + 0.5 * guess * guess) * years) / spread
        error = spot * _cdf(xp, d1) - discounted * _cdf(xp, d1 - spread) - price
        on = ~(xp.abs(error) < 1e-7)
        high, low = xp.where(on & (error > 0.0), guess, high), xp.where(on & ~(error > 0.0), guess, low)
        vega = spot * root * 0.3989422804014327 * xp.exp(-0.5 * d1 * d1)
        newton = guess - error / vega
        halved = (vega <= 1e-8) | (newton <= low) | (newton >= high)
        return (low, high, xp.where(on, xp.where(halved, 0.5 * (low + high), newton), guess)), on

    start = 0.0 * price
    return xp.where(none, -1.0, xp.loop(40, ~none, step, start + 1e-4, start + 5.0, start + 0.3)[2])


def tax(xp: Library, income: Lanes, spouse_income: Lanes, married: Lanes, children: Lanes) -> Lanes:
    both = married > 0.5
    total = xp.where(both, income + spouse_income, income)
    taxable = total - xp.where(both, 27_700.0, xp.real(13_850.0, total))
    share = xp.where(both, taxable / 2.0, taxable)
    due = 0.0 * share
    for (start, rate), (end, _) in zip(prices.BRACKETS, prices.BRACKETS[1:], strict=False):
        due = due + xp.where(share > start, (xp.minimum(share, end) - start) * rate, 0.0)
    start, rate = prices.BRACKETS[-1]
    due = due + xp.where(share > start, (share - start) * rate, 0.0)
    due = xp.where(both, due * 2.0, due)
    above = total - xp.where(both, 400_000.0, xp.real(200_000.0, total))
    credit = 2_000.0 * children
    credit = xp.where(above > 0.0, xp.maximum(credit - 50.0 * xp.ceil(above / 1_000.0), 0.0), credit)
    return xp.where(taxable <= 0.0, 0.0, xp.maximum(due - credit, 0.0))


# --- images


def srgb(xp: Library, c: Lanes) -> Lanes:
    curve = xp.where(c <= 0.04045, c / 12.92, xp.power(xp.maximum((c + 0.055) / 1.055, 0.0), 2.4))
    return xp.where(c <= 0.0, 0.0, xp.where(c >= 1.0, 1.0, curve))


def hsv(xp: Library, r: Lanes, g: Lanes, b: Lanes) -> Lanes:
    largest = xp.maximum(xp.maximum(r, g), b)
    smallest = xp.minimum(xp.minimum(r, g), b)
    spread = largest - smallest
    red, green, blue = (largest - r) / spread, (largest - g) / spread, (largest - b) / spread
    hue = xp.where(r == largest, blue - green, xp.where(g == largest, 2.0 + red - blue, 4.0 + green - red)) / 6.0
    hue = xp.where(hue < 0.0, hue + 1.0, hue)
    return xp.where(smallest == largest, largest, hue + spread / largest + largest)


def _gradient(xp: Library, h: Lanes, x: Lanes, y: Lanes) -> Lanes:
    low = (h & 4) == 0
    u, v = xp.where(low, x, y), 2.0 * xp.where(low, y, x)
    return xp.where((h & 1) != 0, -u, u) + xp.where((h & 2) != 0, -v, v)


def _hash(i: Lanes, j: Lanes) -> Lanes:
    h = i * 374761393 + j * 668265263
    h = (h ^ (h >> 13)) * 1274126177
    return (h ^ (h >> 16)) >> 3


def _fade(t: Lanes) -> Lanes:
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


def noise(xp: Library, x: Lanes, y: Lanes) -> Lanes:
    left, below = xp.floor(x), xp.floor(y)
    i, j = xp.wrapped(left), xp.wrapped(below)
    fx, fy = x - left, y - below
    u, v = _fade(fx), _fade(fy)
    n00, n10 = _gradient(xp, _hash(i, j), fx, fy), _gradient(xp, _hash(i + 1, j), fx - 1.0, fy)
    n01, n11 = _gradient(xp, _hash(i, j + 1), fx, fy - 1.0), _gradient(xp, _hash(i + 1, j + 1), fx - 1.0, fy - 1.0)
    a, b = n00 + u * (n10 - n00), n01 + u * (n11 - n01)
    return a + v * (b - a)


def _mandelbrot(xp: Library, cr: Lanes, ci: Lanes, trips: int) -> Lanes:
    def step(zr: Lanes, zi: Lanes, n: Lanes) -> tuple[tuple[Lanes, ...], Lanes]:
        zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        return (zr, zi, n + 1), zr * zr + zi * zi <= 4.0

    return xp.loop(trips, cr == cr, step, 0.0 * cr, 0.0 * ci, xp.counts(cr))[2]


def mand32(xp: Library, cr: Lanes, ci: Lanes) -> Lanes:
    return _mandelbrot(xp, cr, ci, 32)


def mand256(xp: Library, cr: Lanes, ci: Lanes) -> Lanes:
    return _mandelbrot(xp, cr, ci, 256)


def _distance(xp: Library, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    ball, floor = xp.sqrt(x * x + y * y + z * z) - 1.0, y + 1.0
    h = 0.5 + 2.0 * (floor - ball)
    blend = floor + (ball - floor) * h - 0.25 * h * (1.0 - h)
    return xp.where(h < 0.0, floor, xp.where(h > 1.0, ball, blend))


def raymarch(xp: Library, u: Lanes, v: Lanes) -> Lanes:
    scale = 1.0 / xp.sqrt(u * u + v * v + 2.25)
    dx, dy, dz = u * scale, v * scale, 1.5 * scale

    def step(t: Lanes) -> tuple[tuple[Lanes, ...], Lanes]:
        d = _distance(xp, t * dx, t * dy, t * dz - 4.0)
        hit, far = d < 0.001, t + d > 20.0
        return (xp.where(hit, t, xp.where(far, -1.0, t + d)),), ~(hit | far)

    return xp.loop(64, u == u, step, 0.0 * u)[0]


def _slope(xp: Library, h: Lanes, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    h = h & 15
    u, v = xp.where(h < 8, x, y), xp.where(h < 4, y, xp.where((h == 12) | (h == 14), x, z))
    return xp.where((h & 1) != 0, -u, u) + xp.where((h & 2) != 0, -v, v)


def perlin(xp: Library, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    left, below, near = xp.floor(x), xp.floor(y), xp.floor(z)
    i, j, k = xp.wrapped(left) & 255, xp.wrapped(below) & 255, xp.wrapped(near) & 255
    x, y, z = x - left, y - below, z - near
    u, v, w = _fade(x), _fade(y), _fade(z)

    def table(index: Lanes) -> Lanes:
        return xp.take(images.PERMUTATION, index)

    a, b = table(i) + j, table(i + 1) + j
    aa, ab, ba, bb = table(a) + k, table(a + 1) + k, table(b) + k, table(b + 1) + k
    layers = []
    for above, depth in ((0, z), (1, z - 1.0)):
        corners = [
            _slope(xp, table(corner + above), cx, cy, depth)
            for corner, cx, cy in ((aa, x, y), (ba, x - 1.0, y), (ab, x, y - 1.0), (bb, x - 1.0, y - 1.0))
        ]
        front, back = corners[0] + u * (corners[1] - corners[0]), corners[2] + u * (corners[3] - corners[2])
        layers.append(front + v * (back - front))
    return layers[0] + w * (layers[1] - layers[0])


# --- sciences


def haversine(xp: Library, la1: Lanes, lo1: Lanes, la2: Lanes, lo2: Lanes) -> Lanes:
    p1, p2 = la1 * 0.017453292519943295, la2 * 0.017453292519943295
    sdp, sdl = xp.sin((p2 - p1) * 0.5), xp.sin((lo2 - lo1) * 0.008726646259971648)
    a = sdp * sdp + xp.cos(p1) * xp.cos(p2) * sdl * sdl
    far = xp.where(a >= 1.0, 20015.086796020572, 12742.0 * xp.arcsin(xp.sqrt(xp.minimum(a, 1.0))))
    same = xp.where((la1 == la2) & (lo1 == lo2), 0.0, far)
    return xp.where((la1 > 90.0) | (la1 < -90.0) | (la2 > 90.0) | (la2 < -90.0), -1.0, same)


def kepler(xp: Library, m: Lanes, e: Lanes) -> Lanes:
    def step(x: Lanes) -> tuple[tuple[Lanes, ...], Lanes]:
        d = (x - e * xp.sin(x) - m) / (1.0 - e * xp.cos(x))
        return (x - d,), ~(xp.abs(d) < 1e-6)

    return xp.loop(20, m == m, step, m + e * xp.sin(m))[0]


def orbit(xp: Library, x: Lanes, y: Lanes, vx: Lanes, vy: Lanes) -> Lanes:
    step, down = 20.0, x != x
    for _ in range(12):
        r2 = x * x + y * y
        r = xp.sqrt(r2)
        down = down | (r < 6371.0)
        pull = -398600.4418 / (r2 * r)
        speed, depth = xp.sqrt(vx * vx + vy * vy), (6571.0 - r) / 200.0
        drag = xp.where(r < 6571.0, 1e-4 * (depth * depth) * speed, 0.0)
        vx, vy = vx + (pull * x - drag * vx) * step, vy + (pull * y - drag * vy) * step
        x, y = x + vx * step, y + vy * step
    return xp.where(down, -1.0, xp.sqrt(x * x + y * y) - 6371.0)


def steam(xp: Library, p: Lanes, t: Lanes) -> Lanes:
    n, (b0, b1, b2) = sciences.SATURATION, sciences.BOUNDARY
    theta = t + n[8] / (t - n[9])
    a = theta * theta + n[0] * theta + n[1]
    b = n[2] * theta * theta + n[3] * theta + n[4]
    c = n[5] * theta * theta + n[6] * theta + n[7]
    q = 2.0 * c / (-b + xp.sqrt(xp.maximum(b * b - 4.0 * a * c, 0.0)))
    cold = xp.where(p >= (q * q) * (q * q), 1, xp.whole(2, p))
    warm = xp.where(p > b0 + b1 * t + b2 * t * t, 3, xp.whole(2, p))
    hot = xp.where(t <= 1073.15, 2, xp.where(p <= 50.0, 5, xp.whole(0, p)))
    region = xp.where(t <= 623.15, cold, xp.where(t <= 863.15, warm, hot))
    return xp.where((t < 273.15) | (t > 2273.15) | (p <= 0.0) | (p > 100.0), 0, region)


def comfort(xp: Library, t: Lanes, r: Lanes) -> Lanes:
    simple = 0.5 * (t + 61.0 + (t - 68.0) * 1.2 + r * 0.094)
    index = (-42.379 + 2.04901523 * t + 10.14333127 * r - 0.22475541 * t * r - 0.00683783 * t * t
             - 0.05481717 * r * r + 0.00122874 * t * t * r + 0.00085282 * t * r * r - 0.00000199 * t * t * r * r)
    dry = (13.0 - r) / 4.0 * xp.sqrt(xp.maximum((17.0 - xp.abs(t - 95.0)) / 17.0, 0.0))
    damp = (r - 85.0) / 10.0 * ((87.0 - t) / 5.0)
    index = xp.where((r < 13.0) & (t >= 80.0) & (t <= 112.0), index - dry,
                     xp.where((r > 85.0) & (t >= 80.0) & (t <= 87.0), index + damp, index))
    return xp.where((simple + t) / 2.0 < 80.0, simple, index)


def piecewise(xp: Library, x: Lanes) -> Lanes:
    return xp.where(
        x < -2.0, 0.25 * x - 1.0, xp.where(
            x < -1.0, x * x + 2.0 * x, xp.where(
                x < 0.0, ((x + 0.5) * x - 0.25) * x, xp.where(
                    x < 1.0, (0.3 * x * x + 0.1) * x, xp.where(
                        x < 2.0, 1.0 - (x - 1.5) * (x - 0.5), 0.125 * x + 0.75)))))


def collatz(xp: Library, n: Lanes) -> Lanes:
    def step(n: Lanes, steps: Lanes) -> tuple[tuple[Lanes, ...], Lanes]:
        n = xp.where((n & 1) == 0, n >> 1, 3 * n + 1)
        return (n, steps + 1), n != 1

    return xp.loop(256, n != 1, step, n, xp.counts(n))[1]


TEXTS: dict[str, Callable[..., Lanes]] = {function.__name__: function for function in (
    bs, srgb, hsv, haversine, piecewise, noise, mand32, mand256, raymarch, kepler, collatz, steam, orbit, comfort, tax,
    perlin, implied)}
