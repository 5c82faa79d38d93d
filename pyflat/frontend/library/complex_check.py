"""Whether the complex library computes what this CPython computes: compared at the first use, on a table of edges.

The algorithms are those of CPython 3.11. Where a version differs (3.14 does not make a real number complex before it
is multiplied by a complex one), complex lanes are refused, and never wrong.
"""

from __future__ import annotations

import cmath
import itertools
import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from pyflat.frontend.library import complex_library as library
from pyflat.frontend.state.frames import Evaluator

_EDGES = (0.0, -0.0, 1.5, -2.0, 1e200, math.inf, math.nan)
_PARTS = (*_EDGES, -1.5, 0.3, 5e-324, 1e-160, 709.0, -math.inf)


def _outcome(fn: Callable[..., Any], *args: Any) -> str:
    try:
        return repr(fn(*args))
    except (ArithmeticError, ValueError) as error:
        return type(error).__name__


def _agree(ours: Callable[..., tuple[float, float]], python: Callable[..., complex], *row: float) -> bool:
    z, w = complex(*row[:2]), complex(*row[2:])
    made = _outcome(lambda: complex(*ours(*row)))
    return made == _outcome(python, z, w) and (
        made == _outcome(python, row[0], w) if row[1] == 0.0 < math.copysign(1.0, row[1]) else True)


@cache
def arithmetic_is_known() -> bool:
    """The operators, also those of a real and a complex number."""
    rows = list(itertools.product(_EDGES, repeat=4))
    known = all(_agree(library.product, operator.mul, *row) and _agree(library.quotient, operator.truediv, *row)
                for row in rows)
    known = known and all(_agree(lambda a, b, c, d: (a + c, b + d), operator.add, *row)
                          and _agree(lambda a, b, c, d: (a - c, b - d), operator.sub, *row) for row in rows[::5])
    powers = itertools.product((0.0, 1.5, -2.0), (0.0, -0.75), (2.0, -3.0, 0.5, 101.0), (0.0, 1.25))
    return known and all(_agree(library.power, operator.pow, *row) for row in powers) \
        and sum((1e16 + 0j, 1 + 0j, -1e16 + 0j)) == 0


@cache
def function_is_known(name: str) -> bool:
    """A function of cmath of one number."""
    ours, python = getattr(library, name), getattr(cmath, name)
    return all(_outcome(lambda z: _whole(ours(z.real, z.imag)), z) == _outcome(lambda z: _whole(python(z)), z)
               for z in itertools.starmap(complex, itertools.product(_PARTS, repeat=2)))


def _whole(value: Any) -> Any:
    if isinstance(value, complex):
        return value.real, value.imag
    return value


def require(s: Evaluator, known: bool, what: str) -> None:
    """Refuses what this version of Python computes in another way."""
    if not known:
        raise s.refuse("flatten/not-yet", f"{what} of complex numbers in this version of Python",
                       why="its results differ from the algorithm that pyflat knows",
                       help="write it with the real and imaginary parts, or use Python 3.11")
