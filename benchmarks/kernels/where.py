"""The eleven kernels as people write them by hand for NumPy: `np.where`, and masks for the loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels import prices

Lanes = Any


def _cdf(x: Lanes) -> Lanes:
    size = np.abs(x)
    k = 1.0 / (1.0 + 0.2316419 * size)
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * np.exp(-0.5 * size * size) * series
    return np.where(x > 0.0, 1.0 - tail, tail)


def bs(side: Lanes, spot: Lanes, strike: Lanes, years: Lanes, volatility: Lanes) -> Lanes:
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (prices.RATE + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-prices.RATE * years)
    call = spot * _cdf(d1) - discounted * _cdf(d2)
    put = discounted * _cdf(-d2) - spot * _cdf(-d1)
    expired = np.where(side > 0.0, np.maximum(spot - strike, 0.0), np.maximum(strike - spot, 0.0))
    return np.where(years <= 0.0, expired, np.where(side > 0.0, call, put))


def srgb(c: Lanes) -> Lanes:
    curve = np.where(c <= 0.04045, c / 12.92, (np.maximum((c + 0.055) / 1.055, 0.0)) ** 2.4)
    return np.where(c <= 0.0, 0.0, np.where(c >= 1.0, 1.0, curve))


def hsv(r: Lanes, g: Lanes, b: Lanes) -> Lanes:
    largest = np.maximum(np.maximum(r, g), b)
    smallest = np.minimum(np.minimum(r, g), b)
    spread = largest - smallest
    red, green, blue = (largest - r) / spread, (largest - g) / spread, (largest - b) / spread
    hue = np.where(r == largest, blue - green, np.where(g == largest, 2.0 + red - blue, 4.0 + green - red)) / 6.0
    hue = np.where(hue < 0.0, hue + 1.0, hue)
    return np.where(smallest == largest, largest, hue + spread / largest + largest)


def haversine(la1: Lanes, lo1: Lanes, la2: Lanes, lo2: Lanes) -> Lanes:
    p1, p2 = la1 * 0.017453292519943295, la2 * 0.017453292519943295
    sdp, sdl = np.sin((p2 - p1) * 0.5), np.sin((lo2 - lo1) * 0.008726646259971648)
    a = sdp * sdp + np.cos(p1) * np.cos(p2) * sdl * sdl
    far = np.where(a >= 1.0, 20015.086796020572, 12742.0 * np.arcsin(np.sqrt(np.minimum(a, 1.0))))
    same = np.where((la1 == la2) & (lo1 == lo2), 0.0, far)
    return np.where((la1 > 90.0) | (la1 < -90.0) | (la2 > 90.0) | (la2 < -90.0), -1.0, same)


def piecewise(x: Lanes) -> Lanes:
    return np.where(
        x < -2.0, 0.25 * x - 1.0, np.where(
            x < -1.0, x * x + 2.0 * x, np.where(
                x < 0.0, ((x + 0.5) * x - 0.25) * x, np.where(
                    x < 1.0, (0.3 * x * x + 0.1) * x, np.where(
                        x < 2.0, 1.0 - (x - 1.5) * (x - 0.5), 0.125 * x + 0.75)))))


def _gradient(h: Lanes, x: Lanes, y: Lanes) -> Lanes:
    h = h & 7
    u, v = np.where(h < 4, x, y), np.where(h < 4, 2.0 * y, 2.0 * x)
    return np.where(h & 1, -u, u) + np.where(h & 2, -v, v)


def _hash(i: Lanes, j: Lanes) -> Lanes:
    h = (i * 374761393 + j * 668265263) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return (h ^ (h >> 16)) >> 3


def _fade(t: Lanes) -> Lanes:
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


def noise(x: Lanes, y: Lanes) -> Lanes:
    i, j = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    fx, fy = x - i, y - j
    u, v = _fade(fx), _fade(fy)
    n00, n10 = _gradient(_hash(i, j), fx, fy), _gradient(_hash(i + 1, j), fx - 1.0, fy)
    n01, n11 = _gradient(_hash(i, j + 1), fx, fy - 1.0), _gradient(_hash(i + 1, j + 1), fx - 1.0, fy - 1.0)
    a, b = n00 + u * (n10 - n00), n01 + u * (n11 - n01)
    return a + v * (b - a)


def _mandelbrot(cr: Lanes, ci: Lanes, limit: int) -> Lanes:
    zr, zi = np.zeros_like(cr), np.zeros_like(ci)
    n, live = np.full(cr.shape, limit), np.ones(cr.shape, bool)
    for i in range(limit):
        zr2, zi2 = zr * zr, zi * zi
        out = live & (zr2 + zi2 > 4.0)
        n = np.where(out, i, n)
        live &= ~out
        if not live.any():
            break
        zr, zi = np.where(live, zr2 - zi2 + cr, zr), np.where(live, 2.0 * zr * zi + ci, zi)
    return n


def mand32(cr: Lanes, ci: Lanes) -> Lanes:
    return _mandelbrot(cr, ci, 32)


def mand256(cr: Lanes, ci: Lanes) -> Lanes:
    return _mandelbrot(cr, ci, 256)


def _distance(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    ball, floor = np.sqrt(x * x + y * y + z * z) - 1.0, y + 1.0
    h = 0.5 + 2.0 * (floor - ball)
    blend = floor + (ball - floor) * h - 0.25 * h * (1.0 - h)
    return np.where(h < 0.0, floor, np.where(h > 1.0, ball, blend))


def raymarch(u: Lanes, v: Lanes) -> Lanes:
    scale = 1.0 / np.sqrt(u * u + v * v + 2.25)
    dx, dy, dz = u * scale, v * scale, 1.5 * scale
    t, live = np.zeros_like(u), np.ones(u.shape, bool)
    for _ in range(64):
        d = _distance(t * dx, t * dy, t * dz - 4.0)
        live &= ~(d < 0.001)
        t = np.where(live, t + d, t)
        far = live & (t > 20.0)
        t = np.where(far, -1.0, t)
        live &= ~far
        if not live.any():
            break
    return t


def kepler(m: Lanes, e: Lanes) -> Lanes:
    x, live = m + e * np.sin(m), np.ones(np.shape(m), bool)
    for _ in range(20):
        d = (x - e * np.sin(x) - m) / (1.0 - e * np.cos(x))
        x = np.where(live, x - d, x)
        live &= ~(np.abs(d) < 1e-6)
        if not live.any():
            break
    return x


def collatz(n: Lanes) -> Lanes:
    steps = np.zeros_like(n)
    for _ in range(256):
        live = n != 1
        if not live.any():
            break
        n = np.where(live, np.where(n % 2 == 0, n // 2, 3 * n + 1), n)
        steps = np.where(live, steps + 1, steps)
    return steps


WHERE = {function.__name__: function for function in (
    bs, srgb, hsv, haversine, piecewise, noise, mand32, mand256, raymarch, kepler, collatz)}
