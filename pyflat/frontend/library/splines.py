"""Evaluation of B-splines as FITPACK does it (P. Dierckx, Curve and surface fitting with splines, 1993), which is
behind scipy.interpolate.splev and bisplev: plain Python that is inlined, with constant knots and coefficients.

The order of the floating-point operations is FITPACK's, so that the bits are.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

DERIVATIVES = ("der", "dx", "dy")
"""Parameters that ask for a derivative, which is not written here: they have to be zero."""


def splev(x: float, tck: Any, der: int = 0, ext: int = 0) -> float:
    """A spline of the knots, coefficients and degree `tck` at x."""
    knots, coefficients, degree = tck
    first, last = knots[degree], knots[len(knots) - degree - 1]
    if x < first or x > last:
        if ext == 1:
            return 0.0
        if ext == 2:
            raise ValueError("Found x value not in the domain")
        if ext == 3:
            x = first if x < first else last
    span = _span(knots, degree, x)
    basis = _basis(knots, degree, x, span)
    total = 0.0
    for k in range(degree + 1):
        total = total + coefficients[span - degree + k] * basis[k]
    return total


def bisplev(x: float, y: float, tck: Any, dx: int = 0, dy: int = 0) -> float:
    """A spline surface at (x, y), which are moved to the edge of its domain."""
    x_knots, y_knots, coefficients, x_degree, y_degree = tck
    x, y = _inside(x_knots, x_degree, x), _inside(y_knots, y_degree, y)
    x_span, y_span = _span(x_knots, x_degree, x), _span(y_knots, y_degree, y)
    x_basis, y_basis = _basis(x_knots, x_degree, x, x_span), _basis(y_knots, y_degree, y, y_span)
    columns = len(y_knots) - y_degree - 1
    corner = (x_span - x_degree) * columns + (y_span - y_degree)
    total = 0.0
    for i in range(x_degree + 1):
        for j in range(y_degree + 1):
            total = total + coefficients[corner + i * columns + j] * x_basis[i] * y_basis[j]
    return total


def _inside(knots: Sequence[float], degree: int, x: float) -> float:
    first, last = knots[degree], knots[len(knots) - degree - 1]
    return min(max(x, first), last)


def _span(knots: Sequence[float], degree: int, x: float) -> int:
    """The number of the knot interval that x lies in, among those of the domain; the first one for nan."""
    if x != x:
        return degree
    return bisect.bisect_right(knots, x, degree + 1, len(knots) - degree - 1) - 1


def _basis(knots: Sequence[float], degree: int, x: float, span: int) -> list[float]:
    """The degree + 1 B-splines that are not zero at x, by the recurrence of de Boor and Cox."""
    basis = [1.0]
    for j in range(1, degree + 1):
        before, basis = basis, [0.0]
        for i in range(j):
            right, left = knots[span + i + 1], knots[span + i + 1 - j]
            if right == left:
                basis.append(0.0)
            else:
                part = before[i] / (right - left)
                basis[i] = basis[i] + part * (right - x)
                basis.append(part * (x - left))
    return basis
