"""Matrices: named tuples of two, three or four columns, with the products of GLSL and WGSL.

    m = mat3(x_axis, y_axis, z_axis)     columns; also mat3(2.0), a multiple of the identity, and nine numbers
    m * v   v * m   m * n                matrix times vector, row vector times matrix, matrix times matrix
    m * 2.0   m + n   -m                 per component
    m[1].x                               column 1, its first component
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from pyflat.vec.functions import cross, dot
from pyflat.vec.vectors import Part, Vec2, Vec3, Vec4, Vector, components


class Matrix:
    """What matrices of all sizes share. Not for instances of its own."""

    __slots__ = ()
    __array_ufunc__ = None

    if TYPE_CHECKING:

        def __len__(self) -> int: ...
        def __iter__(self) -> Any: ...
        def __getitem__(self, index: int) -> Any: ...

    def __add__(self, other: Self) -> Self:
        return type(self)(*[a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Self) -> Self:
        return type(self)(*[a - b for a, b in zip(self, other, strict=True)])

    def __neg__(self) -> Self:
        return type(self)(*[-column for column in self])

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Matrix):
            return type(other)(*[_applied(self, column) for column in other])
        if isinstance(other, Vector):
            return _applied(self, other)
        return type(self)(*[column * other for column in self])

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, Vector):
            return type(other)(*[dot(other, column) for column in self])
        return self * other

    def __truediv__(self, other: float) -> Self:
        return type(self)(*[column / other for column in self])


def _applied(m: Matrix, v: Any) -> Any:
    """Matrix times vector: the columns, weighted."""
    columns = [column * item for column, item in zip(m, v, strict=True)]
    total = columns[0]
    for column in columns[1:]:
        total = total + column
    return total


class _Columns2(NamedTuple):
    c0: Vec2
    c1: Vec2


class _Columns3(NamedTuple):
    c0: Vec3
    c1: Vec3
    c2: Vec3


class _Columns4(NamedTuple):
    c0: Vec4
    c1: Vec4
    c2: Vec4
    c3: Vec4


class Mat2(Matrix, _Columns2):  # type: ignore[misc]
    """Two columns of two; `mat2` makes it."""

    __slots__ = ()


class Mat3(Matrix, _Columns3):  # type: ignore[misc]
    """Three columns of three; `mat3` makes it."""

    __slots__ = ()


class Mat4(Matrix, _Columns4):  # type: ignore[misc]
    """Four columns of four; `mat4` makes it."""

    __slots__ = ()


M = TypeVar("M", Mat2, Mat3, Mat4)


def _entries(parts: tuple[Part, ...], size: int) -> list[Any]:
    """The entries column by column; one number is the diagonal."""
    if len(parts) == 1 and not isinstance(parts[0], Vector):
        one = parts[0] * 1.0
        return [one if row == column else 0.0 for column in range(size) for row in range(size)]
    return components(parts, size * size)


def mat2(*parts: Part) -> Mat2:
    """Two columns, four numbers column by column, or one for the diagonal. Raises TypeError for another number."""
    a = _entries(parts, 2)
    return Mat2(Vec2(a[0], a[1]), Vec2(a[2], a[3]))


def mat3(*parts: Part) -> Mat3:
    """Three columns, nine numbers column by column, or one for the diagonal. Raises TypeError for another number."""
    a = _entries(parts, 3)
    return Mat3(Vec3(a[0], a[1], a[2]), Vec3(a[3], a[4], a[5]), Vec3(a[6], a[7], a[8]))


def mat4(*parts: Part) -> Mat4:
    """Four columns, sixteen numbers column by column, or one for the diagonal. Raises TypeError for another number."""
    a = _entries(parts, 4)
    return Mat4(Vec4(*a[0:4]), Vec4(*a[4:8]), Vec4(*a[8:12]), Vec4(*a[12:16]))


def transpose(m: M) -> M:
    """Rows as columns."""
    return type(m)(*[type(column)(*row) for column, row in zip(m, zip(*m, strict=True), strict=True)])


def determinant(m: Mat2 | Mat3) -> float:
    """The determinant of two or three columns."""
    if isinstance(m, Mat2):
        return m.c0.x * m.c1.y - m.c1.x * m.c0.y
    return dot(m.c0, cross(m.c1, m.c2))


def inverse(m: M) -> M:
    """The inverse of two or three columns. Raises ZeroDivisionError where the determinant is zero, TypeError for four
    columns."""
    if isinstance(m, Mat2):
        return mat2(m.c1.y, -m.c0.y, -m.c1.x, m.c0.x) / determinant(m)
    if isinstance(m, Mat4):
        raise TypeError("inverse() takes two or three columns")
    rows = Mat3(cross(m.c1, m.c2), cross(m.c2, m.c0), cross(m.c0, m.c1))
    return transpose(rows) / determinant(m)


def rotation(angle: float) -> Mat2:
    """The rotation of the plane by an angle in radians, anticlockwise."""
    from pyflat.vec.functions import cos, sin

    return mat2(cos(angle), sin(angle), -sin(angle), cos(angle))
