"""The functions of a shading language, for scalars and vectors alike, as plain Python.

Where a name is GLSL's and WGSL's, so is the meaning, with two differences that come with Python: what has no value
raises (`sqrt(-1.0)`, `normalize(vec3(0.0))`), and `mod` is Python's `%`, which is GLSL's `mod`.
"""

from __future__ import annotations

import builtins
import math
from typing import Any, TypeVar

from pyflat.vec.vectors import Scalar, V, Vec2, Vec3, Vec4, Vector

T = TypeVar("T", float, Vec2, Vec3, Vec4)


def _map(f: Any, a: Any) -> Any:
    return a.each(f) if isinstance(a, Vector) else f(a)


def _zip(f: Any, a: Any, b: Any) -> Any:
    if isinstance(a, Vector):
        return a.pairs(f, b)
    if isinstance(b, Vector):
        return b.pairs_after(f, a)
    return f(a, b)


# --- one component at a time
def _floor(a: float) -> float:
    return float(math.floor(a))


def _ceil(a: float) -> float:
    return float(math.ceil(a))


def _trunc(a: float) -> float:
    return float(math.trunc(a))


def _round(a: float) -> float:
    return float(builtins.round(a))


def _fract(a: float) -> float:
    return a - float(math.floor(a))


def _sign(a: float) -> float:
    return 1.0 if a > 0.0 else -1.0 if a < 0.0 else 0.0


def _smaller(a: float, b: float) -> float:
    return b if b < a else a  # noqa: FURB136 - `min` is another function here


def _larger(a: float, b: float) -> float:
    return b if b > a else a  # noqa: FURB136


def _step(edge: float, a: float) -> float:
    return 0.0 if a < edge else 1.0


def _inversesqrt(a: float) -> float:
    return 1.0 / math.sqrt(a)


def _exp2(a: float) -> float:
    return 2.0**a  # type: ignore[no-any-return]


def _power(a: float, b: float) -> float:
    return a**b  # type: ignore[no-any-return]


def _remainder(a: float, b: float) -> float:
    return a % b


def abs(a: T) -> T:
    return _map(builtins.abs, a)  # type: ignore[no-any-return]


def sign(a: T) -> T:
    """1.0, -1.0 or 0.0."""
    return _map(_sign, a)  # type: ignore[no-any-return]


def floor(a: T) -> T:
    """As a float. Raises OverflowError or ValueError for infinities and nan."""
    return _map(_floor, a)  # type: ignore[no-any-return]


def ceil(a: T) -> T:
    return _map(_ceil, a)  # type: ignore[no-any-return]


def trunc(a: T) -> T:
    return _map(_trunc, a)  # type: ignore[no-any-return]


def round(a: T) -> T:
    """To the nearest whole number, ties to the even one."""
    return _map(_round, a)  # type: ignore[no-any-return]


def fract(a: T) -> T:
    """a - floor(a)."""
    return _map(_fract, a)  # type: ignore[no-any-return]


def sqrt(a: T) -> T:
    return _map(math.sqrt, a)  # type: ignore[no-any-return]


def inversesqrt(a: T) -> T:
    return _map(_inversesqrt, a)  # type: ignore[no-any-return]


def exp(a: T) -> T:
    return _map(math.exp, a)  # type: ignore[no-any-return]


def exp2(a: T) -> T:
    return _map(_exp2, a)  # type: ignore[no-any-return]


def log(a: T) -> T:
    return _map(math.log, a)  # type: ignore[no-any-return]


def log2(a: T) -> T:
    return _map(math.log2, a)  # type: ignore[no-any-return]


def sin(a: T) -> T:
    return _map(math.sin, a)  # type: ignore[no-any-return]


def cos(a: T) -> T:
    return _map(math.cos, a)  # type: ignore[no-any-return]


def tan(a: T) -> T:
    return _map(math.tan, a)  # type: ignore[no-any-return]


def asin(a: T) -> T:
    return _map(math.asin, a)  # type: ignore[no-any-return]


def acos(a: T) -> T:
    return _map(math.acos, a)  # type: ignore[no-any-return]


def atan(a: T) -> T:
    return _map(math.atan, a)  # type: ignore[no-any-return]


def tanh(a: T) -> T:
    return _map(math.tanh, a)  # type: ignore[no-any-return]


def radians(a: T) -> T:
    return a * (math.pi / 180.0)


def degrees(a: T) -> T:
    return a * (180.0 / math.pi)


# --- two components at a time
def atan2(y: T, x: T) -> T:
    return _zip(math.atan2, y, x)  # type: ignore[no-any-return]


def pow(a: T, b: T | Scalar) -> T:
    """a**b with Python's meaning: a negative number to a fractional power is an error, here and in the twin."""
    return _zip(_power, a, b)  # type: ignore[no-any-return]


def mod(a: T, b: T | Scalar) -> T:
    """a % b: the sign is b's."""
    return _zip(_remainder, a, b)  # type: ignore[no-any-return]


def min(a: T, b: T | Scalar) -> T:
    return _zip(_smaller, a, b)  # type: ignore[no-any-return]


def max(a: T, b: T | Scalar) -> T:
    return _zip(_larger, a, b)  # type: ignore[no-any-return]


def step(edge: T | Scalar, a: T) -> T:
    """0.0 where a < edge, else 1.0."""
    return _zip(_step, edge, a)  # type: ignore[no-any-return]


# --- of these
def clamp(a: T, low: T | Scalar, high: T | Scalar) -> T:
    """a, but not below `low` and not above `high`."""
    return min(max(a, low), high)


def saturate(a: T) -> T:
    """a within 0.0 and 1.0."""
    return clamp(a, 0.0, 1.0)


def mix(a: T, b: T, t: T | Scalar) -> T:
    """a where t is 0.0, b where it is 1.0, linear between and beyond."""
    return a * (1.0 - t) + b * t


def smoothstep(low: T | Scalar, high: T | Scalar, a: T) -> T:
    """0.0 up to `low`, 1.0 from `high`, Hermite's cubic between. Raises ZeroDivisionError for low == high."""
    t = saturate((a - low) / (high - low))
    return t * t * (3.0 - 2.0 * t)


# --- geometry
def dot(a: V, b: V) -> float:
    total = a.x * b.x + a.y * b.y
    if isinstance(a, Vec2):
        return total
    total = total + a.z * b.z
    if isinstance(a, Vec3):
        return total
    return total + a.w * b.w


def cross(a: Vec3, b: Vec3) -> Vec3:
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def length(a: V) -> float:
    return math.sqrt(dot(a, a))


def distance(a: V, b: V) -> float:
    return length(a - b)


def normalize(a: V) -> V:
    """The vector of length 1. Raises ZeroDivisionError for the zero vector."""
    return a / length(a)


def reflect(incident: V, normal: V) -> V:
    """The direction that a ray takes off a surface with this (normalised) normal."""
    return incident - normal * (2.0 * dot(normal, incident))


def refract(incident: V, normal: V, eta: float) -> V:
    """The direction into a medium with this ratio of indices; the zero vector on total reflection."""
    cosine = dot(normal, incident)
    k = 1.0 - eta * eta * (1.0 - cosine * cosine)
    if k < 0.0:
        return incident * 0.0
    return incident * eta - normal * (eta * cosine + math.sqrt(k))


def faceforward(normal: V, incident: V, reference: V) -> V:
    """The normal, turned so that it points against the incident ray."""
    return normal if dot(reference, incident) < 0.0 else -normal
