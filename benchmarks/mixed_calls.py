"""Random calls with columns and arrays of other libraries, against the same calls with NumPy's arrays.

    python -m benchmarks.mixed_calls --calls 1000 --seed 0

Each call draws a function, columns of edge values of which some are missing, and a library; each argument is one of
the ways in which that library has such a column, an array, a list or a number. What has to be: bit for bit the values
of the plain call in lanes that have all arguments, the kind and the labels of what was passed, and where a lane fails
the same exception with the same lane. In the other lanes pandas' columns give what the function makes of their NA and
None, those of other libraries nothing.
"""

from __future__ import annotations

import argparse
import importlib
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import pyflat

Array = npt.NDArray[Any]
FLOATS = (-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, 1e300, math.inf)
INTS = (-7, -1, 0, 1, 2, 9, 2**40)


def blend(x: float, y: float) -> float:
    return x * 0.5 + y if x > y else y - x


def quotient(x: float, n: int) -> float:
    return x / n if x > 0.0 else float(n)


def remainder(m: int, n: int) -> int:
    return m % n if m > 1 else n


def either(m: int, x: float, y: float) -> bool:
    return x < y and m > 0


def both(x: float, n: int) -> tuple[float, int]:
    return (math.sqrt(x), n + 1) if x > -2.0 else (x, n)


def verdict(x: float, n: int) -> str:
    return "steep" if x / n > 1.0 else "flat"


def perhaps(n: int, x: float) -> int | None:
    return n * 2 if x > 0.0 else None


def unread(n: int, x: float) -> float:
    return x * 2.0 if x > 0.0 else -x


FUNCTIONS: dict[Callable[..., Any], str] = {blend: "ff", quotient: "fi", remainder: "ii", either: "iff", both: "fi",
                                            unread: "if"}
OBJECTS: dict[Callable[..., Any], str] = {verdict: "fi", perhaps: "if"}
"""Functions whose results are no numbers: for libraries that have missing values."""


@dataclass(frozen=True)
class Column:
    """The values of an argument, and where they are missing."""

    values: Array
    missing: npt.NDArray[np.bool_]

    @property
    def listed(self) -> list[Any]:
        return [None if m else v for v, m in zip(self.values.tolist(), self.missing.tolist(), strict=True)]


@dataclass(frozen=True)
class Kit:
    """A library: how it has a column (the ways that keep missing values first), and a column's values and gaps."""

    module: str
    nullable: Mapping[str, Callable[[Any, Column], Any]]
    whole: Mapping[str, Callable[[Any, Column], Any]]
    read: Callable[[Any, Any], tuple[list[Any], list[bool]]]
    kind: Callable[[Any, Any], object]
    """What is the same of arguments and results."""


def _index(count: int) -> list[str]:
    return [f"r{k}" for k in range(count)]


def _pandas(dtype: Callable[[Column], str]) -> Callable[[Any, Column], Any]:
    return lambda pd, c: pd.Series(c.listed, index=_index(len(c.values)), name="c", dtype=dtype(c))


_NULLABLE = {"f": "Float64", "i": "Int64"}
_ARROW = {"f": "double[pyarrow]", "i": "int64[pyarrow]"}
KITS = {
    "pandas": Kit(
        "pandas",
        {"nullable": _pandas(lambda c: _NULLABLE[c.values.dtype.kind]),
         "arrow": _pandas(lambda c: _ARROW[c.values.dtype.kind]), "objects": _pandas(lambda c: "object")},
        {"series": _pandas(lambda c: c.values.dtype.name)},
        lambda pd, v: (v.to_numpy(object, na_value=None).tolist(), v.isna().tolist()),
        lambda pd, v: (type(v), v.index.tolist(), v.name)),
    "polars": Kit(
        "polars", {"series": lambda pl, c: pl.Series("c", c.listed, _polars_type(pl, c))}, {},
        lambda pl, v: (v.to_list(), v.is_null().to_list()), lambda pl, v: (type(v), v.name)),
    "pyarrow": Kit(
        "pyarrow", {"array": lambda pa, c: pa.array(c.listed, pa.from_numpy_dtype(c.values.dtype))}, {},
        lambda pa, v: (v.to_pylist(), v.is_null().to_pylist()), lambda pa, v: isinstance(v, pa.Array)),
    "astropy": Kit(
        "astropy.table", {"masked": lambda at, c: at.MaskedColumn(c.values, "c", c.missing)},
        {"column": lambda at, c: at.Column(c.values, "c")},
        lambda at, v: (v.tolist(), np.ma.getmaskarray(v).tolist()), lambda at, v: (isinstance(v, at.Column), v.name)),
    "xarray": Kit(
        "xarray", {},
        {"array": lambda xr, c: xr.DataArray(c.values, dims="row", coords={"row": _index(len(c.values))})},
        lambda xr, v: (v.values.tolist(), [False] * v.size),
        lambda xr, v: (type(v), v.dims, v.row.values.tolist())),
    "array_api_strict": Kit(
        "array_api_strict", {}, {"array": lambda xp, c: xp.asarray(c.values)},
        lambda xp, v: (np.asarray(v).tolist(), [False] * v.size), lambda xp, v: type(v)),
    "pint": Kit(
        "pint", {}, {"dimensionless": lambda pint, c: pint.Quantity(c.values, "")},
        lambda pint, v: (v.tolist(), [False] * v.size), lambda pint, v: None),
}


def _polars_type(pl: Any, column: Column) -> Any:
    return pl.Float64 if column.values.dtype.kind == "f" else pl.Int64


def installed() -> Iterator[str]:
    """The libraries that are there."""
    for name, kit in KITS.items():
        try:
            importlib.import_module(kit.module)
        except ImportError:
            continue
        yield name


def columns(rng: random.Random, kinds: str, count: int, gaps: bool) -> list[Column]:
    """A column for each letter of `kinds`."""
    found = []
    for kind in kinds:
        numbers, dtype = (FLOATS, np.float64) if kind == "f" else (INTS, np.int64)
        values = np.array([rng.choice(numbers) for _ in range(count)], dtype)
        missing = np.array([gaps and rng.random() < 0.2 for _ in range(count)], np.bool_)
        found.append(Column(values, missing))
    return found


def arguments(rng: random.Random, kit: Kit, library: Any, given: Sequence[Column]) -> tuple[list[Any], list[Column]]:
    """The arguments, of which one is the library's at least, and the columns that they have."""
    made, used = [], []
    first = rng.randrange(len(given))
    for position, column in enumerate(given):
        ways = {**kit.nullable, **({} if column.missing.any() else kit.whole)}
        other = rng.choice(("array", "list", "number")) if position != first and rng.random() < 0.4 else ""
        if other:
            column = Column(column.values, np.zeros_like(column.missing))
            if other == "number":
                column = Column(np.repeat(column.values[:1], len(column.values)), column.missing)
            value = column.values if other == "array" else column.values.tolist()
            made.append(value[0] if other == "number" else value)
        else:
            made.append(ways[rng.choice(sorted(ways))](library, column))
        used.append(column)
    return made, used


def check(rng: random.Random, name: str) -> str:
    """One call of a library. AssertionError where it is not as the plain call; else what came of it."""
    kit, library = KITS[name], importlib.import_module(KITS[name].module)
    functions = {**FUNCTIONS, **(OBJECTS if kit.nullable else {})}
    function = rng.choice(list(functions))
    count = rng.choice((1, 2, 5, 9))
    given = columns(rng, functions[function], count, bool(kit.nullable) and rng.random() < 0.7)
    args, used = arguments(rng, kit, library, given)
    twin = pyflat.twin(function, target=rng.choice(("numpy", "numba")))
    present = ~np.logical_or.reduce([column.missing for column in used])
    values, faults = pyflat.twin(function, errors="mask", none="object")(*[column.values[present] for column in used])
    several = values if isinstance(values, tuple) else (values,)
    outcomes: dict[int, Any] = dict(enumerate(zip(*[part.tolist() for part in several], strict=True)))
    outcomes.update({failure.lane: failure for failure in faults})
    outcomes = dict(zip(np.flatnonzero(present).tolist(), [outcomes[k] for k in range(len(outcomes))], strict=True))
    if name == "pandas":
        outcomes.update((lane, _original(function, args, lane)) for lane in np.flatnonzero(~present).tolist())
    what = f"{function.__name__}({', '.join(map(repr, args))})"
    failing = sorted(lane for lane, outcome in outcomes.items() if hasattr(outcome, "message"))
    if failing and not (kit.nullable and rng.random() < 0.5):
        _fails(twin, args, outcomes[failing[0]], failing[0], what)
        return "failed"
    found = twin.with_options(errors="nan")(*args) if failing else twin(*args)
    plain = (np.generic, int, float, list)
    like = next(arg for arg in args if type(arg) is not np.ndarray and not isinstance(arg, plain))
    for part, result in enumerate(found if isinstance(values, tuple) else (found,)):
        listed, missing = kit.read(library, result)
        wanted = [_item(outcomes.get(lane), part) for lane in range(count)]
        assert missing == [value is None for value in wanted], what
        here = [None if gone else value for gone, value in zip(missing, listed, strict=True)]
        assert repr(here) == repr(wanted), f"{what}\n{result}\n{wanted}"
        assert name == "pint" or kit.kind(library, result) == kit.kind(library, like), what
    return "nan" if failing else "gaps" if not present.all() else "whole"


@dataclass(frozen=True)
class Raised:
    """What the original raises in a lane."""

    type: type[Exception]
    message: str


def _original(function: Callable[..., Any], args: Sequence[Any], lane: int) -> Any:
    """What the original makes of one lane with gaps in columns of pandas: its results, or what it raises."""
    row = [arg.astype(object).iloc[lane] if hasattr(arg, "iloc") else
           np.ravel(arg).tolist()[lane if np.ndim(arg) else 0] for arg in args]
    try:
        returned = function(*row)
    except Exception as error:  # noqa: BLE001 - whatever is raised is compared
        return Raised(type(error), str(error))
    return returned if isinstance(returned, tuple) else (returned,)


def _item(outcome: Any, part: int) -> Any:
    """One result of a lane, None where it has none."""
    item = outcome[part] if isinstance(outcome, tuple) else None
    return None if type(item).__name__ == "NAType" else item


def _fails(twin: Any, args: Sequence[Any], first: Any, lane: int, what: str) -> None:
    """The call raises what the first lane that fails raises, and names it."""
    raised: Exception | None = None
    try:
        twin(*args)
    except Exception as error:  # noqa: BLE001 - whatever is raised is compared
        raised = error
    assert (type(raised), str(raised)) == (first.type, first.message), f"{what}: {raised!r}, {first}"
    notes = getattr(raised, "__notes__", [""])
    assert notes[0].startswith(f"lane {lane} ("), f"{what}: {notes}"


def run(calls: int, seed: int) -> dict[str, int]:
    """So many calls; how many there were of each kind. AssertionError for the first that is wrong."""
    rng, counts, libraries = random.Random(seed), dict[str, int](), list(installed())
    for number in range(calls):
        name = libraries[number % len(libraries)]
        kind = f"{name}, {check(rng, name)}"
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for kind, count in run(given.calls, given.seed).items():
        print(f"{count:6,} {kind}")


if __name__ == "__main__":
    main()
