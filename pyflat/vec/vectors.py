"""The vectors: named tuples of two, three or four floats with a shader's operators and swizzles.

    p = vec3(1.0, 2.0, 3.0)      vec3(0.5)        vec3(p.xy, 0.0)      the constructors of GLSL and WGSL
    p + q   2.0 * p   p / q      per component, a scalar is spread; vectors of two lengths do not mix
    p.xy    p.zyx     p.rgb      swizzles: a scalar, or a vector of two to four components
    p.replace(x=0.0, yz=q.xy)    the vector with some components written

A vector is a value: it never changes, so that `a = b` needs no copy, a function cannot write into its caller's
vector, and where two paths meet each component is one select. What a shader writes as `v.x = 1.0` is
`v = v.replace(x=1.0)`. As tuples, vectors unpack, iterate, index and compare.

The components are floats, or NumPy arrays of one length: a vector of arrays is one vector for each lane, which
is how vectors go into a twin and come out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy.typing as npt

from pyflat.vec.swizzles import PLACES, Swizzles2, Swizzles3, Swizzles4

Scalar: TypeAlias = float
Map = Callable[[float], float]
Zip = Callable[[float, float], float]


def _add(a: float, b: float) -> float:
    return a + b


def _sub(a: float, b: float) -> float:
    return a - b


def _mul(a: float, b: float) -> float:
    return a * b


def _truediv(a: float, b: float) -> float:
    return a / b


def _floordiv(a: float, b: float) -> float:
    return a // b


def _mod(a: float, b: float) -> float:
    return a % b


def _pow(a: float, b: float) -> float:
    return a**b  # type: ignore[no-any-return]


def _neg(a: float) -> float:
    return -a


class Vector:
    """What vectors of all lengths share. Not for instances of its own."""

    __slots__ = ()
    __array_ufunc__ = None  # an array on the left of an operator is a scalar of many lanes, not a sequence of them

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[float]: ...
        def each(self, f: Map) -> Self: ...
        def pairs(self, f: Zip, other: Any) -> Self: ...
        def pairs_after(self, f: Zip, other: Any) -> Self: ...

    def __add__(self, other: Self | Scalar) -> Self:
        return self.pairs(_add, other)

    def __radd__(self, other: Scalar) -> Self:
        return self.pairs_after(_add, other)

    def __sub__(self, other: Self | Scalar) -> Self:
        return self.pairs(_sub, other)

    def __rsub__(self, other: Scalar) -> Self:
        return self.pairs_after(_sub, other)

    def __mul__(self, other: Self | Scalar) -> Self:
        return self.pairs(_mul, other)

    def __rmul__(self, other: Scalar) -> Self:
        return self.pairs_after(_mul, other)

    def __truediv__(self, other: Self | Scalar) -> Self:
        return self.pairs(_truediv, other)

    def __rtruediv__(self, other: Scalar) -> Self:
        return self.pairs_after(_truediv, other)

    def __floordiv__(self, other: Self | Scalar) -> Self:
        return self.pairs(_floordiv, other)

    def __mod__(self, other: Self | Scalar) -> Self:
        return self.pairs(_mod, other)

    def __rmod__(self, other: Scalar) -> Self:
        return self.pairs_after(_mod, other)

    def __pow__(self, other: Self | Scalar) -> Self:
        return self.pairs(_pow, other)

    def __rpow__(self, other: Scalar) -> Self:
        return self.pairs_after(_pow, other)

    def __neg__(self) -> Self:
        return self.each(_neg)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self.each(abs)

    def replace(self, **parts: Any) -> Self:
        """The vector with components written: `v.replace(x=1.0, yz=w)`. A name is a component or a swizzle
        without repetition, its value a scalar or a vector of as many components. Raises TypeError otherwise."""
        values: list[float] = list(self)
        for name, value in parts.items():
            places = [PLACES[letter] for letter in name]
            given = tuple(value) if isinstance(value, Vector) else (value,)
            if len(given) != len(places) or len(set(places)) != len(places) or max(places) >= len(values):
                raise TypeError(f"{name}= does not name as many components as it is given")
            for place, item in zip(places, given, strict=True):
                values[place] = item * 1.0
        return type(self)(*values)


class _Pair(NamedTuple):
    x: float
    y: float


class _Triple(NamedTuple):
    x: float
    y: float
    z: float


class _Quadruple(NamedTuple):
    x: float
    y: float
    z: float
    w: float


class Vec2(Vector, Swizzles2, _Pair):  # type: ignore[misc]
    """Two components; `vec2` makes it."""

    __slots__ = ()

    def each(self, f: Map) -> Vec2:
        """`f` of each component."""
        return Vec2(f(self.x), f(self.y))

    def pairs(self, f: Zip, other: Any) -> Vec2:
        """`f` of each component and the one of `other`, or `other` itself where it is a scalar."""
        if isinstance(other, Vec2):
            return Vec2(f(self.x, other.x), f(self.y, other.y))
        if isinstance(other, tuple):
            return NotImplemented  # type: ignore[no-any-return]
        return Vec2(f(self.x, other), f(self.y, other))

    def pairs_after(self, f: Zip, other: Any) -> Vec2:
        """`f` of the scalar `other` and each component."""
        if isinstance(other, tuple):
            return NotImplemented  # type: ignore[no-any-return]
        return Vec2(f(other, self.x), f(other, self.y))


class Vec3(Vector, Swizzles3, _Triple):  # type: ignore[misc]
    """Three components; `vec3` makes it."""

    __slots__ = ()

    def each(self, f: Map) -> Vec3:
        """`f` of each component."""
        return Vec3(f(self.x), f(self.y), f(self.z))

    def pairs(self, f: Zip, other: Any) -> Vec3:
        """`f` of each component and the one of `other`, or `other` itself where it is a scalar."""
        if isinstance(other, Vec3):
            return Vec3(f(self.x, other.x), f(self.y, other.y), f(self.z, other.z))
        if isinstance(other, tuple):
            return NotImplemented  # type: ignore[no-any-return]
        return Vec3(f(self.x, other), f(self.y, other), f(self.z, other))

    def pairs_after(self, f: Zip, other: Any) -> Vec3:
        """`f` of the scalar `other` and each component."""
        if isinstance(other, tuple):
            return NotImplemented  # type: ignore[no-any-return]
        return Vec3(f(other, self.x), f(other, self.y), f(other, self.z))


class Vec4(Vector, Swizzles4, _Quadruple):  # type: ignore[misc]
    """Four components; `vec4` makes it."""

    __slots__ = ()

    def each(self, f: Map) -> Vec4:
        """`f` of each component."""
        return Vec4(f(self.x), f(self.y), f(self.z), f(self.w))

    def pairs(self, f: Zip, other: Any) -> Vec4:
        """`f` of each component and the one of `other`, or `other` itself where it is a scalar."""
        if isinstance(other, Vec4):
            return Vec4(f(self.x, other.x), f(self.y, other.y), f(self.z, other.z), f(self.w, other.w))
        if isinstance(other, tuple):
            return NotImplemented  # type: ignore[no-any-return]
        return Vec4(f(self.x, other), f(self.y, other), f(self.z, other), f(self.w, other))

    def pairs_after(self, f: Zip, other: Any) -> Vec4:
        """`f` of the scalar `other` and each component."""
        if isinstance(other, tuple):
            return NotImplemented  # type: ignore[no-any-return]
        return Vec4(f(other, self.x), f(other, self.y), f(other, self.z), f(other, self.w))


V = TypeVar("V", Vec2, Vec3, Vec4)
Part: TypeAlias = Scalar | Vec2 | Vec3 | Vec4 | npt.NDArray[Any]


def components(parts: tuple[Part, ...], size: int) -> list[Any]:
    """The `size` components that the arguments of a constructor make up, as floats. TypeError where they do not."""
    values: list[Any] = []
    for part in parts:
        if isinstance(part, Vector):
            values.extend(part)
        else:
            values.append(part * 1.0)
    if len(values) != size:
        raise TypeError(f"{size} components are expected, not {len(values)}")
    return values


def _spread(parts: tuple[Part, ...], size: int) -> list[Any]:
    """The components of a vector; one number is all of them."""
    if len(parts) == 1 and not isinstance(parts[0], Vector):
        return [parts[0] * 1.0] * size
    return components(parts, size)


def vec2(*parts: Part) -> Vec2:
    """Two components: vec2(x, y), vec2(both), or of vectors. Raises TypeError for another number of them."""
    return Vec2(*_spread(parts, 2))


def vec3(*parts: Part) -> Vec3:
    """Three components: vec3(x, y, z), vec3(all), vec3(xy, z), ... Raises TypeError for another number of them."""
    return Vec3(*_spread(parts, 3))


def vec4(*parts: Part) -> Vec4:
    """Four components: vec4(x, y, z, w), vec4(all), vec4(xyz, w), ... Raises TypeError for another number of them."""
    return Vec4(*_spread(parts, 4))
