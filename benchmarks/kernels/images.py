"""Pixels: colours, noise, fractals, a ray that marches to a surface."""

from __future__ import annotations

import math


def srgb_to_linear(c: float) -> float:
    """IEC 61966-2-1."""
    if c <= 0.0:
        return 0.0
    if c >= 1.0:
        return 1.0
    if c <= 0.04045:
        return c / 12.92
    return ((c + 0.055) / 1.055) ** 2.4


def hsv_score(r: float, g: float, b: float) -> float:
    """Hue, saturation and value, added up."""
    largest = max(r, g, b)
    smallest = min(r, g, b)
    if smallest == largest:
        return largest
    spread = largest - smallest
    saturation = spread / largest
    red = (largest - r) / spread
    green = (largest - g) / spread
    blue = (largest - b) / spread
    if r == largest:
        hue = blue - green
    elif g == largest:
        hue = 2.0 + red - blue
    else:
        hue = 4.0 + green - red
    hue = hue / 6.0
    if hue < 0.0:
        hue = hue + 1.0
    return hue + saturation + largest


def gradient(h: int, x: float, y: float) -> float:
    h = h & 7
    if h < 4:
        u = x
        v = 2.0 * y
    else:
        u = y
        v = 2.0 * x
    if h & 1:
        u = -u
    if h & 2:
        v = -v
    return u + v


def hash_corner(i: int, j: int) -> int:
    h = (i * 374761393 + j * 668265263) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 1274126177) & 0xFFFFFFFF
    return (h ^ (h >> 16)) >> 3


def fade(t: float) -> float:
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


def noise(x: float, y: float) -> float:
    """Gradient noise with a hashed lattice."""
    i = math.floor(x)
    j = math.floor(y)
    fx = x - i
    fy = y - j
    u = fade(fx)
    v = fade(fy)
    n00 = gradient(hash_corner(i, j), fx, fy)
    n10 = gradient(hash_corner(i + 1, j), fx - 1.0, fy)
    n01 = gradient(hash_corner(i, j + 1), fx, fy - 1.0)
    n11 = gradient(hash_corner(i + 1, j + 1), fx - 1.0, fy - 1.0)
    a = n00 + u * (n10 - n00)
    b = n01 + u * (n11 - n01)
    return a + v * (b - a)


PERMUTATION = tuple((k * 167 + 53) % 256 for k in range(256)) * 2


def perlin(x: float, y: float, z: float) -> float:
    """Perlin's improved noise (2002), with a permutation table."""
    i = math.floor(x) & 255
    j = math.floor(y) & 255
    k = math.floor(z) & 255
    x -= math.floor(x)
    y -= math.floor(y)
    z -= math.floor(z)
    u, v, w = fade(x), fade(y), fade(z)
    a = PERMUTATION[i] + j
    b = PERMUTATION[i + 1] + j
    aa = PERMUTATION[a] + k
    ab = PERMUTATION[a + 1] + k
    ba = PERMUTATION[b] + k
    bb = PERMUTATION[b + 1] + k
    low = mix(v, mix(u, slope(PERMUTATION[aa], x, y, z), slope(PERMUTATION[ba], x - 1.0, y, z)),
              mix(u, slope(PERMUTATION[ab], x, y - 1.0, z), slope(PERMUTATION[bb], x - 1.0, y - 1.0, z)))
    high = mix(v, mix(u, slope(PERMUTATION[aa + 1], x, y, z - 1.0), slope(PERMUTATION[ba + 1], x - 1.0, y, z - 1.0)),
               mix(u, slope(PERMUTATION[ab + 1], x, y - 1.0, z - 1.0),
                   slope(PERMUTATION[bb + 1], x - 1.0, y - 1.0, z - 1.0)))
    return mix(w, low, high)


def mix(t: float, a: float, b: float) -> float:
    return a + t * (b - a)


def slope(h: int, x: float, y: float, z: float) -> float:
    h = h & 15
    u = x if h < 8 else y
    v = y if h < 4 else (x if h in (12, 14) else z)
    if h & 1:
        u = -u
    if h & 2:
        v = -v
    return u + v


def mandelbrot_32(cr: float, ci: float) -> int:
    zr = 0.0
    zi = 0.0
    n = 32
    for i in range(32):
        zr2 = zr * zr
        zi2 = zi * zi
        if zr2 + zi2 > 4.0:
            n = i
            break
        zi = 2.0 * zr * zi + ci
        zr = zr2 - zi2 + cr
    return n


def mandelbrot_256(cr: float, ci: float) -> int:
    zr = 0.0
    zi = 0.0
    n = 256
    for i in range(256):
        zr2 = zr * zr
        zi2 = zi * zi
        if zr2 + zi2 > 4.0:
            n = i
            break
        zi = 2.0 * zr * zi + ci
        zr = zr2 - zi2 + cr
    return n


def distance(x: float, y: float, z: float) -> float:
    """To a ball and a floor, blended where they meet."""
    ball = math.sqrt(x * x + y * y + z * z) - 1.0
    floor = y + 1.0
    h = 0.5 + 2.0 * (floor - ball)
    if h < 0.0:
        return floor
    if h > 1.0:
        return ball
    return floor + (ball - floor) * h - 0.25 * h * (1.0 - h)


def raymarch(u: float, v: float) -> float:
    """How far a ray through the pixel (u, v) goes; -1.0 into the sky."""
    scale = 1.0 / math.sqrt(u * u + v * v + 2.25)
    dx = u * scale
    dy = v * scale
    dz = 1.5 * scale
    t = 0.0
    for _ in range(64):
        d = distance(t * dx, t * dy, t * dz - 4.0)
        if d < 0.001:
            break
        t = t + d
        if t > 20.0:
            t = -1.0
            break
    return t
