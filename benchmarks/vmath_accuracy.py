"""The largest errors of the vector math, against mpmath: `python -m benchmarks.vmath_accuracy`.

  --docs          write docs/contributors/vmath.md, with the table of `benchmarks.vmath_speed`
  --points N      operands of each kind of operands (default 2,000)
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mpf

from benchmarks import vmath_float32, vmath_kernels, vmath_speed
from benchmarks.vmath_points import DTYPES, operands
from pyflat.functions import vmath
from pyflat.functions.vmath.machine import FORMATS, NumpyMachine

PAGE = Path(__file__).resolve().parent.parent / "docs" / "contributors" / "vmath.md"
LIMIT = 2.0
"""Units in the last place that no function may exceed."""

_PRECISION = 220
Real = Callable[..., mpf]


def _erf(x: mpf) -> mpf:
    return mpmath.erf(x) if abs(x) < 40 else mpmath.sign(x)


def _erfc(x: mpf) -> mpf:
    if x > 60:
        return mpf(10) ** -1500
    return mpmath.erfc(x) if x > -40 else mpf(2)


def _fmod(x: mpf, y: mpf) -> mpf:
    with mpmath.workprec(2400):
        return x - y * mpmath.floor(abs(x / y)) * mpmath.sign(x) * mpmath.sign(y)


def _gamma(x: mpf) -> mpf:
    if x > 1000:
        return mpf(10) ** 1500
    if x < -300:
        return None if x == mpmath.floor(x) else mpf(10) ** -1500 * (-1) ** (int(mpmath.floor(x)) % 2)
    return mpmath.gamma(x)


TRUTH: dict[str, Real] = {
    "gamma": _gamma, "lgamma": mpmath.loggamma,
    "exp2": lambda x: mpmath.power(2, x), "log2": lambda x: mpmath.log(x) / mpmath.log(2), "pow": mpmath.power,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), "erf": _erf, "erfc": _erfc, "fmod": _fmod,
}
"""What mpmath does not have under the same name."""


def truth(name: str, args: Sequence[float]) -> mpf | None:
    """The function's value to 220 bits, None where it is no real number."""
    function = TRUTH.get(name) or getattr(mpmath, name)
    with mpmath.workprec(_PRECISION):
        try:
            value = function(*map(mpf, args))
        except (ValueError, ZeroDivisionError):
            return None
    return value if isinstance(value, mpf) and mpmath.isfinite(value) else None


def error_in_ulp(got: float, true: mpf | None, width: str) -> float:
    """|got - true| in units in the last place of the true value; infinite where one has a value and the other none."""
    info = np.finfo(DTYPES[width])
    if true is None:
        return 0.0 if not math.isfinite(got) else math.inf
    if math.isnan(got):
        return math.inf
    with mpmath.workprec(_PRECISION):
        lowest = info.minexp - info.nmant
        unit = mpf(2) ** (max(mpmath.frexp(true)[1] - info.nmant - 1, lowest) if true else lowest)
        limit = mpf(2) ** info.maxexp
        if math.isinf(got):
            # Infinity stands for the first number beyond the format.
            return max(float((limit - abs(true)) / unit), 0.0) if (got > 0) == (true > 0) else math.inf
        return float(abs(mpf(got) - min(max(true, -limit), limit)) / unit)


@dataclass(frozen=True, slots=True)
class Measured:
    """The largest error of a function in one format, where it is, and at how many operands it was looked for."""

    name: str
    width: str
    largest: float
    at: tuple[float, ...]
    points: int


def measure(name: str, width: str, count: int, seed: int = 0) -> Measured:
    """Compare compiled lanes with mpmath, where the algorithm reaches."""
    lanes = operands(name, width, count, seed)
    far = vmath.TABLE[name].far
    keep = np.all([np.isfinite(a) for a in lanes], axis=0)
    if far is not None:
        with np.errstate(all="ignore"):
            keep &= ~far(NumpyMachine(FORMATS[width]), *lanes)
    lanes = tuple(a[keep] for a in lanes)
    values = vmath_kernels.library(width).kernel(name)(*lanes)
    rows = list(zip(*[a.tolist() for a in lanes], strict=True))
    errors = [error_in_ulp(got, truth(name, args), width) for got, args in zip(values.tolist(), rows, strict=True)]
    worst = int(np.argmax(errors))
    return Measured(name, width, errors[worst], rows[worst], len(rows))


EVERY = 257
"""Of float32 functions every so-manieth number of the format is looked at for the page."""


def with_the_whole_format(row: Measured) -> Measured:
    """The worse of `row` and of what `vmath_float32` finds."""
    worst, place = vmath_float32.largest_error(row.name, EVERY)
    points = row.points + 2**32 // EVERY
    if worst <= row.largest:
        return replace(row, points=points)
    return replace(row, largest=worst, at=(place,), points=points)


# --- the page

_RANGES = {
    "lgamma": {"f8": "x >= 0", "f4": "x >= 0"},
    "sin": {"f8": "abs(x) <= 2**45", "f4": "abs(x) <= 2**17"},
    "fmod": {"f8": "abs(x / y) < 2**53", "f4": "abs(x / y) < 2**24"},
}
_RANGES["cos"] = _RANGES["tan"] = _RANGES["sin"]

_INTRODUCTION = """\
# Vector math

<!-- written by `python -m benchmarks.vmath_accuracy --docs`; do not edit -->

The functions of `pyflat.functions.vmath` have no branch, no call and no table, so that a loop around them becomes SIMD
code (AVX2, AVX-512, NEON). Each is written once and computes **the same bits on every computer**: every step is an
operation that IEEE 754 rounds, a fused multiply-add among them (exact also where the C library has to compute it,
for want of an instruction, and then slower than the C library's functions: `math="exact"` is for such processors).

- Every error is below {limit:g} units in the last place of the result (ulp), over the whole range of the operands, the
  subnormal results included. The table has the largest error found against mpmath, on operands spread over the whole
  format in log scale, uniformly where the function has its shape, and next to the places where such functions go wrong
  (`benchmarks/vmath_points.py`). Of float32 functions also on every {every}th number of the format, against the float64
  function (`benchmarks/vmath_float32.py`).
- 0, -0.0, subnormals, infinities and nan give what IEEE 754 and C prescribe. Subnormals are never flushed to zero.
- *Range*: beyond it the lane is computed by the C library's function (in float32: of the widened operand, rounded).
  Beyond 2**45 neighbouring float64 numbers are 1/128 apart.
- Of an operand that is known to lie in an interval, what cannot happen there is left out, with the same bits
  ([design](design/targets-numba.md#functions-leave-out-what-cannot-happen), `python -m benchmarks.operand_ranges`).
- `fmod` has no error: it is exact by definition. `sqrt` is LLVM's, which is correctly rounded.
- Where the C library's function would make Python raise, the lane is suspect, as with the library's function itself.
- They stand for the functions of `math` and for `**`. NumPy's functions in the source are NumPy's own
  ([semantics.md](../reference/semantics.md#exactness)).

The coefficients are computed by `python -m benchmarks.vmath_fit`.
"""


def page(rows: list[Measured]) -> str:
    lines = [_INTRODUCTION.format(limit=LIMIT, every=EVERY),
             "| function | type | range | largest error, ulp | at | operands |", "|---|---|---|---|---|---|"]
    for row in rows:
        within = _RANGES.get(row.name, {}).get(row.width, "all")
        place = ", ".join(repr(x) for x in row.at)
        kind = {"f8": "float64", "f4": "float32"}[row.width]
        lines.append(f"| `{row.name}` | {kind} | {within} | {row.largest:.3f} | {place} | {row.points:,} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=list(vmath.TABLE))
    options = parser.parse_args()
    rows = []
    for name in options.only:
        for width in FORMATS:
            row = measure(name, width, options.points)
            if options.docs and width == "f4" and vmath.TABLE[name].operands == 1:
                row = with_the_whole_format(row)
            rows.append(row)
            print(f"{name:6} {width}  {row.largest:.3f} ulp at {row.at}, {row.points:,} operands", flush=True)
    if options.docs:
        PAGE.write_text(page(rows) + vmath_speed.page(vmath_speed.measure()), encoding="utf-8")


if __name__ == "__main__":
    main()
