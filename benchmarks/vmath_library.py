"""Looks for results of the C library that its vector code (`pyflat.functions.vmath.glibc`) does not give, among many
lanes.

    python -m benchmarks.vmath_library [--lanes 100000000] [--functions exp,pow] [--seed 0] [--docs]

For each function: lanes, how many of a thousand are doubtful, which the library itself computes; how many of the others
have other bits than the library's (none may); and the same if the error bound were 3/4, 1/2, 1/4 of what it is, or
nothing. So the bound's margin shows: where the first lanes are wrong is what the library really leaves. `--docs` writes
docs/contributors/vmath-library.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks import environment
from benchmarks.vmath_kernels import Kernel, Library
from benchmarks.vmath_points import operands
from pyflat.functions import libm
from pyflat.functions.vmath import VectorFunction, glibc
from pyflat.functions.vmath.machine import Machine, Number

SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
BLOCK = 1 << 16
_ABOUT = ("date", "commit", "processor", "system", "python")
PAGE = environment.ROOT / "docs" / "contributors" / "vmath-library.md"
Array = np.ndarray
Lanes = Callable[[np.random.Generator, int], list[Array]]


def _ranges(*ranges: tuple[float, float]) -> Lanes:
    return lambda random, n: [random.uniform(low, high, n) for low, high in ranges]


def _scaled(low: int, high: int, signed: bool = False) -> Lanes:
    """Random digits and a random exponent."""
    def make(random: np.random.Generator, n: int) -> list[Array]:
        x = np.ldexp(random.uniform(1, 2, n), random.integers(low, high, n))
        return [x * random.choice([1.0, -1.0], n) if signed else x]
    return make


def _powers(random: np.random.Generator, n: int) -> list[Array]:
    base = np.ldexp(random.uniform(1, 2, n), random.integers(-12, 12, n))
    return [base, random.uniform(-12, 12, n) * np.where(random.random(n) < 0.2, 8.0, 1.0)]


LANES: dict[str, tuple[Lanes, ...]] = {
    "square": (_scaled(-2, 2), _scaled(-69, 69, signed=True)),
    "cube": (_scaled(-2, 2), _scaled(-46, 46, signed=True)),
    "fourth": (_scaled(-2, 2), _scaled(-35, 34, signed=True)),
    "fifth": (_scaled(-2, 2), _scaled(-28, 27, signed=True)),
    "root": (_scaled(-2, 2), _scaled(-270, 270)),
    "reciprocal": (_scaled(-2, 2), _scaled(-139, 139, signed=True)),
    "reciprocal_of_square": (_scaled(-2, 2), _scaled(-69, 69, signed=True)),
    "exp": (_ranges((-1, 1)), _ranges((-30, 30)), _ranges((-708, 709))),
    "log": (_ranges((0.5, 2)), _scaled(-30, 30), _scaled(-1022, 1023), _ranges((0.9, 1.1))),
    "pow": (_powers, _ranges((0.5, 2), (-700, 700)), _ranges((0.25, 4), (-600, 600))),
    "sin": (_ranges((-1, 1)), _ranges((-7, 7)), _ranges((-1000, 1000)), _ranges((-1e6, 1e6))),
    "cos": (_ranges((-1, 1)), _ranges((-7, 7)), _ranges((-1000, 1000)), _ranges((-1e6, 1e6))),
}
"""Where each function is tried, by turns."""


@dataclass
class Found:
    """What a function's lanes have shown; `wrong` for each of SHARES."""

    name: str
    lanes: int = 0
    doubtful: int = 0
    wrong: list[int] = field(default_factory=lambda: [0] * len(SHARES))
    example: tuple[float, ...] = ()


def _told(name: str, share: float) -> VectorFunction:
    """A function that is nan where its value is doubtful."""
    row = glibc.TABLE[name]

    def algorithm(m: Machine, *args: Number) -> Number:
        tested, near = glibc.tested, glibc.near_middle
        glibc.tested = lambda m, high, low, error, unit: tested(m, high, low, error * share, unit)
        glibc.near_middle = lambda m, size, rest, scale, error: near(m, size, rest, scale, error * share)
        try:
            value, doubtful = row.algorithm(m, *args)
        finally:
            glibc.tested, glibc.near_middle = tested, near
        return m.select(doubtful, math.nan, value)

    return VectorFunction(name, algorithm, row.operands)


def kernels(name: str) -> list[Kernel]:
    """Compiled, one for each of SHARES."""
    return [Library([name], "f8", rows={name: _told(name, share)}).kernel(name) for share in SHARES]


def library(name: str, args: Sequence[Array]) -> Array:
    """What the C library says."""
    row = glibc.TABLE[name]
    exponent = [] if row.exponent is None else [np.float64(row.exponent)]
    with np.errstate(all="ignore"):
        return np.asarray(libm.ufunc(row.name)(*args, *exponent))


def blocks(name: str, lanes: int, seed: int) -> Iterator[list[Array]]:
    """Operands, the adversarial ones first."""
    row = glibc.TABLE[name]
    yield list(operands(row.name, "f8", 2000, seed))[: row.operands]
    random = np.random.default_rng(seed)
    for k in range(-(-lanes // BLOCK)):
        makers = LANES[name]
        yield makers[k % len(makers)](random, BLOCK)


def look(name: str, lanes: int, seed: int = 0) -> Found:
    """Compare a function with the library on so many lanes, and some more."""
    found, compiled = Found(name), kernels(name)
    for args in blocks(name, lanes, seed):
        expected = library(name, args)
        found.lanes += len(expected)
        for k, kernel in enumerate(compiled):
            value = kernel(*args)
            told = ~np.isnan(value)
            wrong = told & (value.view(np.int64) != expected.view(np.int64))
            found.wrong[k] += int(wrong.sum())
            if k == 0:
                found.doubtful += int((~told & ~np.isnan(expected)).sum())
                if wrong.any() and not found.example:
                    found.example = tuple(float(a[wrong][0]) for a in args)
    return found


def table(found: Sequence[Found]) -> str:
    """As Markdown."""
    heads = " | ".join(f"wrong at {share:g}" for share in SHARES)
    lines = [f"| function | lanes | doubtful of 1000 | {heads} |", "|---|---|---|" + "---|" * len(SHARES)]
    lines += [f"| `{f.name}` | {f.lanes:,} | {1000 * f.doubtful / f.lanes:.1f} | "
              + " | ".join(f"{count:,}" for count in f.wrong) + " |" for f in found]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=20_000_000)
    parser.add_argument("--functions", default=",".join(glibc.TABLE))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    found = []
    for name in options.functions.split(","):
        found.append(look(name, options.lanes, options.seed))
        print(table(found[-1:]).splitlines()[-1], found[-1].example or "", flush=True)
    if options.docs:
        about = ", ".join(f"{key}: {value}" for key, value in environment.describe().items() if key in _ABOUT)
        PAGE.write_text(_PAGE.format(table=table(found), about=f"Measured with {about}."), encoding="utf-8")
    if any(f.wrong[0] for f in found):
        raise SystemExit("some lanes have other bits than the C library's")


_PAGE = """\
# The C library's bits by vector code

<!-- written by `python -m benchmarks.vmath_library --docs`; do not edit -->

Where the C library is one that has been verified, exact twins of the numba target follow its functions operation by
operation ([design](design/functions.md#the-c-librarys-bits-in-vector-code)).
Where it is another GNU C library, and for powers with
a literal exponent, a register of lanes is computed by vector code all the same (`pyflat/functions/vmath/glibc.py`), if
the processor has a fused multiply-add:

- The value is computed as a sum of two numbers, to some 2^-60 of itself, and rounded.
- The library says how far its own result may be from the truth: 0.511 ulp for `exp`, 0.52 for `log` and `pow`, 0.518
  for `sin` and `cos`; its result is the rounded sum, unless the sum is that near to the middle between two numbers.
  This is the test by which A. Ziv rounds elementary functions correctly (ACM Transactions on Mathematical Software 17,
  1991, page 410).
- In the lanes that are left, some of a hundred, the library's function itself runs (followed, where it is verified),
  and beyond the range of the code: subnormal results of `exp` and `pow`, angles above 2^20, powers beyond 2^140 of
  those with a literal exponent (`square` is `x ** 2`, `cube` `x ** 3`, `root` `x ** 0.5`, `reciprocal` `x ** -1` and so
  on).

Other libraries and processors call the function for each lane. The table counts lanes with other bits than the
library's, on random operands of several ranges and on adversarial ones: with the error bounds as they are (none may
be), and with 3/4, 1/2, 1/4 of them, and without, which shows how much of each bound the library really uses.

{table}

{about}
"""

if __name__ == "__main__":
    main()
