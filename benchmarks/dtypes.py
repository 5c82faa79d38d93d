"""What the dtype and the layout of arguments cost: each dtype and layout by number of lanes and target.

    python -m benchmarks.dtypes [--quick] [--sizes 1000,280000] [--cases "int32;fields of a table"] [--go-on] [--docs]

The unit is the same twin on dense arrays of the dtypes that it computes with (int64, float64) and of the same shape;
peers are numba.vectorize of the same function, and np.where as one writes it by hand without int32 that wraps, on the
same arrays. The contenders of a row run in one process and take turns; the shortest turn of each counts, in processor
time. `--quick` measures a few rows without patience, `--docs` writes docs/contributors/dtypes.md. Rows are kept in
out/dtypes.jsonl as they come; `--go-on` measures those that it lacks.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from types import FunctionType
from typing import Any

import numba
import numpy as np

import pyflat
from benchmarks.environment import ROOT, describe
from benchmarks.measuring import Run, geomean, keep_freed_memory, round_robin
from benchmarks.report import markdown

PAGE = ROOT / "docs" / "contributors" / "dtypes.md"
ROWS = ROOT / "out" / "dtypes.jsonl"
SIZES = (1, 100, 1_000, 20_000, 280_000, 16_000_000)
QUICK_SIZES, QUICK_CASES = (100, 1_000), ("int32", "float32", "channels of an image")
TARGETS = ("numpy", "numba")
PEERS = ("numba.vectorize", "np.where")

Array = np.ndarray[Any, Any]


def change(n: int, m: int) -> int:
    """Two kinds of arithmetic on ints."""
    if n > m:
        return n * m + 1
    return n - m


def fee(x: float, y: float) -> float:
    """The same on floats."""
    if x > y:
        return x * 0.5 + y
    return y - x * x


def grey(red: int, green: int, blue: int) -> int:
    """The lightness of a pixel, 0 where it is nearly black."""
    light = red * 299 + green * 587 + blue * 114
    return light // 1000 if light > 16_000 else 0


def total(quantity: int, price: float, paid: bool) -> float:
    """A row of a table of sales."""
    return 0.0 if paid else quantity * price * (0.9 if quantity >= 50 else 1.0)


def change_by_hand(n: Array, m: Array) -> Array:
    n, m = n.astype(np.int64), m.astype(np.int64)
    return np.where(n > m, n * m + 1, n - m)


def fee_by_hand(x: Array, y: Array) -> Array:
    x, y = x.astype(np.float64), y.astype(np.float64)
    return np.where(x > y, x * 0.5 + y, y - x * x)


def grey_by_hand(red: Array, green: Array, blue: Array) -> Array:
    light = red.astype(np.int64) * 299 + green.astype(np.int64) * 587 + blue.astype(np.int64) * 114
    return np.where(light > 16_000, light // 1000, 0)


def total_by_hand(quantity: Array, price: Array, paid: Array) -> Array:
    full = quantity * price.astype(np.float64)
    return np.where(paid, 0.0, full * np.where(quantity >= 50, 0.9, 1.0))


@dataclass(frozen=True)
class Case:
    """A row: a function, and its arguments for a number of lanes."""

    name: str
    function: FunctionType
    by_hand: Callable[..., Array]
    arguments: Callable[[int], Sequence[Array]]


def numbers(count: int, dtype: str, how_many: int = 2) -> list[Array]:
    rng = np.random.default_rng(count)
    if np.dtype(dtype).kind == "f":
        return [rng.normal(size=count).astype(dtype) for _ in range(how_many)]
    return [rng.integers(0, 100, count, dtype=np.int8).astype(dtype) for _ in range(how_many)]


def width(count: int) -> int:
    """Of a matrix of so many items: near the square root."""
    return next(k for k in range(math.isqrt(count), 0, -1) if count % k == 0)


def matrices(count: int, dtype: str) -> list[Array]:
    return [a.reshape(-1, width(count)) for a in numbers(count, dtype)]


def image(count: int) -> list[Array]:
    pixels = np.random.default_rng(count).integers(0, 255, (count // width(count), width(count), 3), np.uint8)
    return [pixels[..., channel] for channel in range(3)]


def fields(count: int) -> list[Array]:
    table = np.zeros(count, [("id", "i8"), ("quantity", "i4"), ("price", "f4"), ("paid", "?"), ("shop", "u1")])
    rng = np.random.default_rng(count)
    table["quantity"], table["price"] = rng.integers(0, 100, count), rng.uniform(1, 9, count)
    table["paid"] = rng.random(count) < 0.3
    return [table[name] for name in ("quantity", "price", "paid")]


def columns(count: int) -> list[Array]:
    table = np.random.default_rng(count).normal(size=(count, 4))
    return [table[:, 0], table[:, 2]]


def of_ints(dtype: str, name: str = "") -> Case:
    return Case(name or np.dtype(dtype).name, change, change_by_hand, lambda count: numbers(count, dtype))


def of_floats(dtype: str, name: str = "") -> Case:
    return Case(name or np.dtype(dtype).name, fee, fee_by_hand, lambda count: numbers(count, dtype))


CASES = (
    *[of_ints(dtype) for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "u8")],
    of_ints(">i4", "int32, other byte order"), of_floats("f2"), of_floats("f4"),
    of_floats(">f8", "float64, other byte order"),
    Case("int32, backwards", change, change_by_hand, lambda count: [a[::-1] for a in numbers(count, "i4")]),
    Case("float64, every third", fee, fee_by_hand, lambda count: [a[::3] for a in numbers(3 * count, "f8")]),
    Case("int32, Fortran's order", change, change_by_hand,
         lambda count: [np.asfortranarray(a) for a in matrices(count, "i4")]),
    Case("int32, a row beside a matrix", change, change_by_hand,
         lambda count: [matrices(count, "i4")[0], matrices(count, "i4")[1][0]]),
    Case("channels of an image", grey, grey_by_hand, image),
    Case("fields of a table", total, total_by_hand, fields),
    Case("columns of a matrix", fee, fee_by_hand, columns),
)


@dataclass(frozen=True)
class Measured:
    """One row with one number of lanes."""

    case: str
    lanes: int
    seconds: dict[str, float]
    """Of a call: of each target, with " native" behind it for dense arrays, and of the peers that take these arrays."""
    held: dict[str, float]
    """By target: bytes a lane that a call takes at most, less its result."""

    def to_native(self, target: str) -> float:
        """How many times as long as the native dtype."""
        return self.seconds[target] / self.seconds[f"{target} native"]

    def to_peer(self, target: str, peer: str) -> float | None:
        """How many times as fast as a peer."""
        return self.seconds[peer] / self.seconds[target] if peer in self.seconds else None


def native(arrays: Sequence[Array]) -> list[Array]:
    """Dense arrays of the dtypes of lanes, of the shape that these have together."""
    lanes = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
    return [np.array(a, lanes[a.dtype.kind], order="C") for a in np.broadcast_arrays(*arrays)]


def contenders(case: Case, arrays: Sequence[Array]) -> Iterator[tuple[str, Run]]:
    """Those that give the same lanes."""
    dense = native(arrays)
    wanted = np.asarray(case.by_hand(*dense))
    for target in TARGETS:
        for name, given in ((f"{target} native", dense), (target, arrays)):
            twin = twin_of(case, name, target)
            for _ in range(2):  # the second call has its plan
                if not np.array_equal(twin(*given), wanted):
                    raise AssertionError(f"{case.name}: {name} gives other lanes")
            yield name, lambda twin=twin, given=given: twin(*given)
    yield "np.where", lambda: case.by_hand(*arrays)
    vectorised = vectorize(case.function)
    try:
        agrees = np.array_equal(vectorised(*arrays), wanted)
    except (TypeError, NotImplementedError, numba.core.errors.NumbaError):  # byte orders and float16 on a processor
        return
    if agrees:
        yield "numba.vectorize", lambda: vectorised(*arrays)


@cache
def twin_of(case: Case, contender: str, target: Any) -> Any:
    """Of a function of its own: twins of one function share their plans, and users have one kind of arrays."""
    function = case.function
    own = FunctionType(function.__code__, function.__globals__, contender)
    return pyflat.twin(own, target=target, parallel=False)


@cache
def vectorize(function: FunctionType) -> Any:
    return numba.vectorize(function)


def held(run: Run, lanes: int) -> float:
    """Bytes a lane that a call takes at most, less its result."""
    tracemalloc.start()
    try:
        result = run()
        return (tracemalloc.get_traced_memory()[1] - result.nbytes) / lanes
    finally:
        tracemalloc.stop()


def measure(case: Case, lanes: int, repeats: int, budget: float) -> Measured:
    """`repeats` turns of each contender, fewer where they take more than `budget` seconds."""
    runs = dict(contenders(case, case.arguments(lanes)))
    seconds = {name: taken.best for name, taken in round_robin(runs, repeats, budget, turns=2).items()}
    return Measured(case.name, lanes, seconds, {target: held(runs[target], lanes) for target in TARGETS})


def grid(found: Sequence[Measured], cell: Callable[[Measured], str], last: Callable[[list[Measured]], str]) -> str:
    """A line for each case, a column for each number of lanes."""
    sizes = list(dict.fromkeys(one.lanes for one in found))
    by_place = {(one.case, one.lanes): one for one in found}
    lines = [["", *[f"{size:,}" for size in sizes]]]
    for case in dict.fromkeys(one.case for one in found):
        row = [by_place.get((case, size)) for size in sizes]
        lines.append([case, *["" if one is None else cell(one) for one in row]])
    lines.append(["geometric mean", *[last([one for one in found if one.lanes == size]) for size in sizes]])
    return markdown(lines)


def ratios(numbers: Sequence[float | None]) -> str:
    return ", ".join("-" if number is None else f"{number:.2f}" for number in numbers)


def mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return geomean(known) if known else None


def natives(found: Sequence[Measured]) -> str:
    """Time over that of the native dtype: both targets in a cell."""
    return grid(found, lambda one: ratios([one.to_native(target) for target in TARGETS]),
                lambda some: ratios([mean([one.to_native(target) for one in some]) for target in TARGETS]))


def peers(found: Sequence[Measured], target: str) -> str:
    """Speed over that of the peers: both in a cell."""
    return grid(found, lambda one: ratios([one.to_peer(target, peer) for peer in PEERS]),
                lambda some: ratios([mean([one.to_peer(target, peer) for one in some]) for peer in PEERS]))


def memory(found: Sequence[Measured]) -> str:
    """The most that a call of many lanes takes beside its result."""
    lanes = max(one.lanes for one in found)
    largest = max((one for one in found if one.lanes == lanes), key=lambda one: max(one.held.values()))
    most = ", ".join(f"{target} {largest.held[target]:.2f}" for target in TARGETS)
    return f"Memory beside the result, of {lanes:,} lanes, at most: {most} bytes a lane ({largest.case})."


def page(found: Sequence[Measured], facts: dict[str, str]) -> str:
    about = """\
What the dtype and the layout of arguments cost, by the number of lanes, on one thread. The function of ints is
`n * m + 1 if n > m else n - m`, that of floats `x * 0.5 + y if x > y else y - x * x`; an image has three channels of
uint8, `image[..., c]`, the table is a record array of int32, float32 and bool. Ratios are of shortest turns in one
process; `python -m benchmarks.dtypes` measures them."""
    against = """\
Times as fast as numba.vectorize of the same function, as np.where by hand, on the same arrays; `-` where numba does not
take them, or gives other lanes."""
    return "\n\n".join([
        "# Dtypes", "<!-- written by `make bench-dtypes`; do not edit -->", about,
        "## Beside the native dtype",
        "Time over that of dense arrays of int64 or float64 with the same lanes: `numpy`, `numba`. Less is faster.",
        natives(found),
        "## Beside peers",
        against,
        *[part for target in reversed(TARGETS) for part in (f"The target `{target}`:", peers(found, target))],
        "## Memory", memory(found),
        "## Measured with", "\n".join(f"- {name}: {value}" for name, value in facts.items())]) + "\n"


def read() -> dict[tuple[str, int], Measured]:
    """The rows that were measured before."""
    if not ROWS.exists():
        return {}
    found = [Measured(**json.loads(line)) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    return {(one.case, one.lanes): one for one in found}


def chosen(names: str) -> list[Case]:
    known = {case.name: case for case in CASES}
    return [known[name] for name in names.split(";")] if names else list(CASES)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few rows, without patience")
    parser.add_argument("--sizes", help="numbers of lanes, with commas between them")
    parser.add_argument("--cases", help="names of rows, with semicolons between them")
    parser.add_argument("--docs", action="store_true", help="write docs/contributors/dtypes.md")
    parser.add_argument("--go-on", action="store_true", help="take what out/dtypes.jsonl has")
    options = parser.parse_args(argv)
    sizes = QUICK_SIZES if options.quick else SIZES
    sizes = tuple(map(int, options.sizes.split(","))) if options.sizes else sizes
    cases = chosen(options.cases or (";".join(QUICK_CASES) if options.quick else ""))
    repeats, budget = (2, 0.01) if options.quick else (40, 0.3)
    keep_freed_memory()
    kept = read() if options.go_on else {}
    ROWS.parent.mkdir(exist_ok=True)
    with ROWS.open("a" if options.go_on else "w", encoding="utf-8") as rows:
        for size in sizes:
            for case in cases:
                if (case.name, size) not in kept:
                    kept[case.name, size] = one = measure(case, size, repeats, budget)
                    print(json.dumps(asdict(one)), file=rows, flush=True)
                    print(f"{size:,} lanes, {case.name}: {ratios([one.to_native(target) for target in TARGETS])}",
                          file=sys.stderr, flush=True)
    found = [kept[case.name, size] for size in sizes for case in cases]
    text = page(found, describe())
    print(text)
    if options.docs:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
