"""erf and erfc for engines that have neither, by way of their `exp`: the series of `pyflat.functions.vmath.error`
without fused operations. Where the engine's exp is right within 1 ulp, both are within 4 ulp (`erfc` where it is not
subnormal)."""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.functions.vmath.coefficients import ERF, ERFC
from pyflat.targets.columns.terms import Term, Terms

NEAR_ZERO = 0.4765
FAR = 28.0
"""erfc is 0 from here on."""
PARTS = 2.0**20


def erf(t: Terms, x: Term) -> Term:
    size = t.op("abs", x)
    far = t.op("sub", 1.0, _complement(t, size))
    signed = t.op("select", t.op("lt", x, 0.0), t.op("neg", far), far)
    return t.op("select", t.op("lt", size, NEAR_ZERO), _near(t, x, size), signed)


def erfc(t: Terms, x: Term) -> Term:
    size = t.op("abs", x)
    far = _complement(t, size)
    near = t.op("sub", 1.0, _near(t, x, size))
    signed = t.op("select", t.op("lt", x, 0.0), t.op("sub", 2.0, far), far)
    return t.op("select", t.op("lt", size, NEAR_ZERO), near, signed)


def _near(t: Terms, x: Term, size: Term) -> Term:
    """erf of a number below NEAR_ZERO; of 0 where it is not."""
    x = t.op("select", t.op("lt", size, NEAR_ZERO), x, 0.0)
    return t.op("add", x, t.op("mul", x, _polynomial(t, t.op("mul", x, x), ERF[0])))


def _complement(t: Terms, size: Term) -> Term:
    """erfc of a number that is at least NEAR_ZERO. e**(-a**2) is the product for a's first digits, whose square is
    exact, and for the rest."""
    a = t.op("select", t.op("gt", size, FAR), FAR, size)
    first = t.op("truediv", t.op("floor", t.op("mul", a, PARTS)), PARTS)
    rest = t.op("mul", t.op("sub", first, a), t.op("add", first, a))
    power = t.op("mul", t.op("exp", t.op("neg", t.op("mul", first, first))), t.op("exp", rest))
    z = t.op("truediv", t.op("sub", a, 3.0), t.op("add", a, 3.0))
    constant, _, *others = ERFC[0]
    series = t.op("add", constant, t.op("mul", z, _polynomial(t, z, others)))
    return t.op("truediv", t.op("mul", power, series), t.op("add", 1.0, t.op("mul", 2.0, a)))


def _polynomial(t: Terms, x: Term, coefficients: Sequence[float]) -> Term:
    """Horner's rule, the constant first."""
    *lower, total = coefficients
    made = t.const(total)
    for coefficient in reversed(lower):
        made = t.op("add", t.op("mul", made, x), coefficient)
    return made
