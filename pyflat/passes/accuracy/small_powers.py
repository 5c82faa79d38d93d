"""Powers with a small literal exponent as products: x ** 2 is x * x, within 3 ulp of what the C library says.

    x ** 2      x ** 3      x ** 4      x ** 0.5 (the root of -0.0 is 0.0)      x ** -1      x ** -2
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Op, Value


def small_power(base: Value, exponent: Value) -> float | None:
    """The exponent of such a power, None for any other."""
    known = exponent.value if isinstance(exponent, Const) and not isinstance(base, Const) else None
    return float(known) if known in (2.0, 3.0, 4.0, 0.5, -1.0, -2.0) else None


def as_product(emit: Callable[..., Value], base: Value, exponent: float) -> tuple[Op, int]:
    """Such a power, and its distance from CPython's in ulp."""
    value, ulps = base, 3
    if abs(exponent) in (2.0, 4.0):
        value = emit("mul", base, base)
    if abs(exponent) == 4.0:
        value, ulps = emit("mul", value, value), 4
    elif exponent == 3.0:
        value = emit("mul", emit("mul", base, base), base)
    elif exponent == 0.5:
        value = emit("add", emit("sqrt", base), const(0.0))
    if exponent < 0:
        value = emit("truediv", const(1.0), value)
    assert isinstance(value, Op)
    return value, ulps
