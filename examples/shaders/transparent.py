"""Shaders without branches, calls of helpers, or loops: flattening must not be seen in them.

The graph that a backend gets has the operations that stand in the source, one for one, and no exact step finds
anything to do.
"""

from __future__ import annotations

import math


def gradient(u: float, v: float) -> tuple[float, float, float]:
    return u, v, 0.5 * (u + v)


def luminance(r: float, g: float, b: float) -> float:
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def vignette(u: float, v: float, strength: float) -> float:
    x = u - 0.5
    y = v - 0.5
    return 1.0 - strength * (x * x + y * y)


def plasma(u: float, v: float, t: float) -> float:
    a = math.sin(10.0 * u + t)
    b = math.sin(8.0 * v - 0.7 * t)
    c = math.cos(math.sqrt(u * u + v * v) * 12.0 - t)
    return (a + b + c) / 3.0


def rotate(u: float, v: float, angle: float) -> tuple[float, float]:
    c = math.cos(angle)
    s = math.sin(angle)
    return u * c - v * s, u * s + v * c


def gamma_correct(r: float, g: float, b: float, exponent: float) -> tuple[float, float, float]:
    return r**exponent, g**exponent, b**exponent


def reinhard(x: float, white: float) -> float:
    return x * (1.0 + x / (white * white)) / (1.0 + x)


def lambert(nx: float, ny: float, nz: float, lx: float, ly: float, lz: float, ambient: float) -> float:
    cosine = nx * lx + ny * ly + nz * lz
    size = math.sqrt(lx * lx + ly * ly + lz * lz)
    return ambient + (1.0 - ambient) * (cosine / size)


def fog(depth: float, density: float, colour: float, sky: float) -> float:
    visible = math.exp(-density * depth)
    return colour * visible + sky * (1.0 - visible)


def wave_normal(x: float, z: float, t: float) -> tuple[float, float, float]:
    dx = 0.3 * math.cos(1.7 * x + t)
    dz = 0.2 * math.cos(2.3 * z - t)
    size = math.sqrt(dx * dx + dz * dz + 1.0)
    return -dx / size, 1.0 / size, -dz / size


SHADERS = (
    gradient, luminance, vignette, plasma, rotate, gamma_correct, reinhard, lambert, fog, wave_normal,
)  # fmt: skip
