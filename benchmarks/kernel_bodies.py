"""Functions as lanes and inside an index loop: `python -m benchmarks.kernel_bodies [--random 50 --seed 0]`.

    for i in range(len(out)):           out = twin of main(a, b)
        out[i] = main(a[i], b[i])

Both are made of one source, run on one thread in one process, and take turns; the shortest turn of each is its time.
The ratio of loop to lanes is to be at most `MOST`. Bits must be the same. `--random` draws functions of the generator
(`tests.generator`) with one float or int for a result, and elements for which the original returns the same, without a
warning, for numbers of Python's and NumPy's. The exit status is 1 where bits differ.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyflat
from benchmarks.environment import pin
from benchmarks.measuring import geomean
from benchmarks.threads import taken
from pyflat.errors import FlattenError
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from tests.generator import generate
from tests.generator.differential import Slow, columns, loaded, shape_of, time_limit
from tests.generator.kernels.differential import bits
from tests.generator.lanes import lanes_for

MOST = 1.25
TARGETS = ("numba", "numpy")
LANES, RANDOM_LANES = 200_000, 50_000
REPEATS, BUDGET = 200, 0.3
LONGEST = 60.0
"""Seconds after which a random function is given up."""
Column = np.ndarray[Any, Any]
_RNG = np.random.default_rng(1)


# --- ten functions


def rare(x):
    if x > 0.99:
        return math.exp(math.sin(x) * 3.0) + math.pow(x, 1.7)
    return x * 2.0 + 1.0


def steps(x):
    n = 0
    while x > 1.0 and n < 60:
        x = x * 0.7
        n += 1
    return n


def tax(x):
    if x <= 9000.0:
        return 0.0
    if x <= 15000.0:
        return (x - 9000.0) * 0.14
    if x <= 58000.0:
        return 840.0 + (x - 15000.0) * 0.24
    return x * 0.42 - 9000.0


def norm_cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * abs(x))
    series = 0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    y = 1.0 - 0.39894228 * math.exp(-0.5 * x * x) * t * series
    return y if x >= 0.0 else 1.0 - y


def newton(x):
    y = max(1.0, x)
    for _ in range(50):
        z = 0.5 * (y + x / y)
        if abs(z - y) < 1e-12:
            break
        y = z
    return y


def hue(x):
    h = (x * 6.0) % 6.0
    i = int(h)
    f = h - i
    if i == 0:
        return f
    if i == 1:
        return 1.0
    if i == 2:
        return 1.0 - f
    if i == 3:
        return 0.0
    return f * 0.5 if i == 4 else 0.25


def collatz(x):
    n = int(x) % 1000 + 1
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


def kepler(x):
    e = 0.3
    at = x
    for _ in range(30):
        d = (at - e * math.sin(at) - x) / (1.0 - e * math.cos(at))
        at -= d
        if abs(d) < 1e-12:
            break
    return at


def poly(x):
    return ((x * 0.5 + 1.0) * x - 2.0) * x + 0.25


def saturation(x):
    t = x * 100.0
    if t < 0.0:
        return 611.15 * math.exp((23.036 - t / 333.7) * (t / (279.82 + t)))
    if t > 90.0:
        return 610.0 * math.pow(10.0, 7.5 * t / (237.3 + t))
    return 611.21 * math.exp((18.678 - t / 234.5) * (t / (257.14 + t)))


FUNCTIONS: dict[Callable[..., Any], Callable[[int], Column]] = {
    rare: _RNG.random, steps: lambda n: np.exp(_RNG.random(n) * 12.0), tax: lambda n: _RNG.random(n) * 8e4,
    norm_cdf: lambda n: _RNG.normal(size=n), newton: lambda n: _RNG.random(n) * 1e4, hue: _RNG.random,
    collatz: lambda n: _RNG.random(n) * 1e5, kepler: _RNG.random, poly: _RNG.random, saturation: _RNG.random,
}
"""Function -> so many of its lanes."""


# --- both ways


@dataclass(frozen=True, slots=True)
class Found:
    """Nanoseconds an element of both ways; whether they have the original's bits; whether the original ran the loop."""

    name: str
    target: str
    lanes: float
    loop: float
    same: bool
    replayed: bool

    @property
    def ratio(self) -> float:
        return self.loop / self.lanes

    def __str__(self) -> str:
        return (f"{self.target:6} {self.name:12} lanes {self.lanes:9.2f}  loop {self.loop:9.2f}  "
                f"ratio {self.ratio:6.2f}{'  the original ran' * self.replayed}{'' if self.same else '  OTHER BITS'}")


def looped(source: str, count: int) -> str:
    """A module whose `main` has so many parameters, and its loop."""
    names = [f"x{k}" for k in range(count)]
    return (f"{source}\n\ndef loop({', '.join(names)}, out):\n    for i in range(len(out)):\n"
            f"        out[i] = main({', '.join(f'{name}[i]' for name in names)})\n")


def measure(name: str, main: Callable[..., Any], lanes: Sequence[Column], target: str, distinct: int) -> Found:
    """`distinct`: so many of the first lanes are compared with the original's loop."""
    loop = main.__globals__["loop"]
    of_lanes = pyflat.twin(main, target=target, parallel=False)
    of_loop = pyflat.twin(loop, target=target, parallel=False)
    wanted = np.asarray(of_lanes(*lanes))
    out, other = np.empty_like(wanted), np.empty_like(wanted)
    original = np.empty_like(wanted[:distinct])
    loop(*[lane[:distinct].copy() for lane in lanes], original)
    for _ in range(3):
        of_loop(*lanes, out)
        of_lanes(*lanes, out=other)
    same = bits(out) == bits(wanted) == bits(other) and bits(out[:distinct].copy()) == bits(original)
    runs = {"lanes": lambda: of_lanes(*lanes, out=other), "loop": lambda: of_loop(*lanes, out)}
    seconds = taken(runs, REPEATS, BUDGET)
    return Found(name, target, *(seconds[way] / len(wanted) * 1e9 for way in runs), same, of_loop.stats.replayed > 0)


def ten(target: str, lanes: int = LANES) -> Iterator[Found]:
    for function, drawn in FUNCTIONS.items():
        source = inspect.getsource(function).replace(f"def {function.__name__}(", "def main(", 1)
        with loaded(looped(f"import math\n\n\n{source}", 1)) as main:
            yield measure(function.__name__, main, [drawn(lanes)], target, 500)


# --- random functions


def drawn(seed: int, target: str, lanes: int = RANDOM_LANES) -> Found | None:
    """The function of a seed; None where it has another result or an `out` of its own, is refused, or returns in too
    few lanes."""
    program = generate(seed)
    with loaded(looped(program.source, len(program.kinds))) as main:
        try:
            if "out" in inspect.signature(main).parameters or shape_of(main, program) not in (Leaf(FLOAT), Leaf(INT)):
                return None
            given = [row for row in lanes_for(program, 400) if _returns(main, row)]
            if len(given) < 20:
                return None
            chosen = np.random.default_rng(seed).integers(len(given), size=lanes)
            chosen[:len(given)] = range(len(given))
            made = [each[chosen] for each in columns(given, program.kinds)]
            with time_limit(LONGEST):
                return measure(f"seed {seed}", main, made, target, len(given))
        except (FlattenError, Slow):
            return None


def _returns(main: Callable[..., Any], row: Sequence[Any]) -> bool:
    """The same number, without a warning, for numbers of NumPy's."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        try:
            with time_limit(1.0):
                found, other = main(*row), main(*[np.asarray(number)[()] for number in row])
        except (Exception, Slow):  # noqa: BLE001 - whatever it raises
            return False
    inside = isinstance(found, float) or isinstance(found, int) and -2**63 <= found < 2**63
    return inside and bits(np.asarray(found)) == bits(np.asarray(other))


def table(found: Sequence[Found], others: int = 0) -> str:
    """Geometric means, the worst ratio, what is above `MOST`, and where bits differ."""
    def mean(some: Iterable[Found]) -> str:
        return f"{geomean([each.ratio for each in some]):.2f}"

    def names(some: Iterable[Found]) -> str:
        return ", ".join(each.name for each in some) or "none"

    worst = max(found, key=lambda each: each.ratio)
    replayed = [each for each in found if each.replayed]
    rest = f", without the {len(replayed)} that the original ran {mean(one for one in found if not one.replayed)}"
    drawings = f" ({others} others drawn)" if others else ""
    return (f"{found[0].target}: {len(found)} functions{drawings}, geomean {mean(found)}{rest if replayed else ''}, "
            f"worst {worst.ratio:.2f} ({worst.name})\n"
            f"above {MOST}: {names(one for one in found if one.ratio > MOST)}\n"
            f"other bits: {names(one for one in found if not one.same)}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--random", type=int, default=0, metavar="N",
                        help="so many functions of the generator, in place of the ten")
    parser.add_argument("--seed", type=int, default=0, help="the first of those")
    parser.add_argument("--lanes", type=int, help=f"{LANES:,}, and {RANDOM_LANES:,} of random functions")
    options = parser.parse_args(argv)
    pin()
    warnings.simplefilter("ignore")
    same = True
    for target in options.targets.split(","):
        found, drawings = list[Found](), 0
        if options.random:
            each: Iterator[Found | None] = (drawn(seed, target, options.lanes or RANDOM_LANES)
                                            for seed in itertools.count(options.seed))
        else:
            each = ten(target, options.lanes or LANES)
        for one in each:
            drawings += one is None
            if one is not None:
                print(one, flush=True)
                found.append(one)
            if options.random and len(found) == options.random:
                break
        print(f"\n{table(found, drawings)}\n", flush=True)
        same &= all(one.same for one in found)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
