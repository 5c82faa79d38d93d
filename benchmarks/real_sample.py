"""Functions of scientific packages, chosen at random among those that `pyflat survey` says flatten: what
`benchmarks.real_functions sample` measures.

A function counts where it takes numbers only, has an example in its docstring (which says what numbers it is made for),
returns numbers there, and numba compiles it. Its columns are the numbers of the example, each times something around 1.
"""

from __future__ import annotations

import ast
import doctest
import importlib.metadata
import importlib.util
import inspect
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

import pyflat
from benchmarks.contenders.originals import compiled
from benchmarks.real_functions import Case, different_lanes
from pyflat.inspection.survey import survey
from pyflat.inspection.survey.attempt import Row

PACKAGES = ("chemicals", "fluids", "thermo", "ht", "iapws", "psychrolib", "pymap3d", "pysolar", "haversine", "pvlib")
SIZES = ((1_000, "positional"), (20_000, "keyword"), (300_000, "positional"))
SPREADS = (0.5, 0.1, 0.01)
"""How far around the numbers of its example a function is tried, until it returns in all lanes."""
TRIED = 200
"""Lanes that the original computes."""
MOST_SECONDS = 30.0
"""To compile a function and try it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A function, the numbers of its example by parameter, and what its columns are made of."""

    module: str
    function: str
    numbers: Mapping[str, float]
    spread: float

    def original(self) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(importlib.import_module(self.module), self.function)
        return found

    def columns(self, lanes: int) -> dict[str, np.ndarray]:
        """Ints stay ints."""
        random_numbers = np.random.default_rng(lanes)
        factors = {name: random_numbers.uniform(1 - self.spread, 1 + self.spread, lanes) for name in self.numbers}
        return {name: np.round(number * factors[name]).astype(np.int64) if isinstance(number, int)
                else number * factors[name] for name, number in self.numbers.items()}


def chosen_functions(count: int, seed: int, file: Path) -> list[Chosen]:
    """A random choice among the functions of the packages that are here, which is kept in a file: to look at a thousand
    functions takes minutes."""
    here = [name for name in PACKAGES if importlib.util.find_spec(name) is not None]
    if not here:
        sys.exit(f"none of the packages is here: pip install {' '.join(PACKAGES)}")
    key = [count, seed, [[name, importlib.metadata.version(name)] for name in here]]
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if kept.get("key") != key:
        chosen, rejected = _choose(here, count, seed)
        kept = {"key": key, "rejected": rejected, "chosen": [asdict(each) for each in chosen]}
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{len(kept['chosen'])} functions, seed {seed}; left out on the way: {kept['rejected']}", flush=True)
    return [Chosen(**each) for each in kept["chosen"]]


def _choose(packages: Sequence[str], count: int, seed: int) -> tuple[list[Chosen], dict[str, int]]:
    """The first ones in a random order that can be measured, and why others were left out."""
    rows = [row for name in packages for row in survey(name).rows]
    rows = [row for row in rows if row.verdict == "flattens" and not row.static and row.kinds]
    random.Random(seed).shuffle(rows)
    chosen: list[Chosen] = []
    rejected: dict[str, int] = {}
    seen = set()
    for row in rows:
        if len(chosen) == count:
            break
        if row.function in seen:
            continue
        seen.add(row.function)
        found = _trial(row)
        if isinstance(found, str):
            rejected[found] = rejected.get(found, 0) + 1
        else:
            chosen.append(found)
            print(f"{len(chosen):>4} {row.module}.{row.function}", flush=True)
    return chosen, rejected


def _trial(row: Row) -> Chosen | str:
    """The function with columns on which all contenders return numbers, or why there are none."""
    started = time.perf_counter()
    original = getattr(importlib.import_module(row.module), row.function, None)
    if original is None:
        return "a method"
    numbers = example(original, row.kinds)
    if not numbers:
        return "no example with numbers only"
    for spread in SPREADS:
        chosen = Chosen(row.module, row.function, numbers, spread)
        if not _returns(original, chosen.columns(TRIED)):
            continue
        try:
            case = next(chosen_cases(chosen, ((20_000, "keyword"),)))
            case.loop()
        except (ArithmeticError, ValueError):
            continue
        except pyflat.FlattenError as error:
            return error.code
        except Exception:  # noqa: BLE001 - numba has errors of many types for what it does not know
            return "numba does not compile it"
        return chosen if time.perf_counter() - started < MOST_SECONDS else "takes too long to compile"
    return "raises around its example"


def example(function: Callable[..., Any], kinds: Mapping[str, str] | None = None) -> dict[str, float] | None:
    """The numbers of the first example in the docstring that calls the function with nothing else; of the types that
    they have there, where none are given."""
    try:
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(function) or "")
        signature = inspect.signature(function)
    except ValueError:
        return None
    for each in examples:
        for call in _calls(each.source, function.__name__):
            try:
                arguments = signature.bind(*[ast.literal_eval(arg) for arg in call.args],
                                           **{word.arg or "": ast.literal_eval(word.value) for word in call.keywords})
            except (ValueError, TypeError):
                continue
            numbers = {name: _typed(value, kinds.get(name) if kinds else type(value).__name__)
                       for name, value in arguments.arguments.items()}
            if numbers and all(number is not None for number in numbers.values()):
                return {name: number for name, number in numbers.items() if number is not None}
    return None


def _calls(source: str, name: str) -> list[ast.Call]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name]


def _typed(value: Any, kind: str | None) -> float | None:
    if type(value) not in (int, float) or kind not in ("int", "float"):
        return None
    return int(value) if kind == "int" else float(value)


def _returns(original: Callable[..., Any], columns: Mapping[str, np.ndarray]) -> bool:
    """Whether the original gives finite numbers in all lanes."""
    try:
        found = _in_lanes(original, columns)
    except Exception:  # noqa: BLE001 - whatever somebody else's function raises for such numbers
        return False
    return all(column.dtype.kind in "bif" and np.isfinite(column).all() for column in found)


def _in_lanes(original: Callable[..., Any], columns: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    rows = [original(**dict(zip(columns, row, strict=True)))
            for row in zip(*[column.tolist() for column in columns.values()], strict=True)]
    results = [row if isinstance(row, tuple) else (row,) for row in rows]
    if any(type(value) not in (bool, int, float) for row in results for value in row):
        raise TypeError("not a number")
    return [np.array(column) for column in zip(*results, strict=True)]


def sample_cases(count: int, seed: int, part: str, only: str, file: Path, math: str) -> Iterator[Case]:
    """The cases of a part of the sample: every function at every size."""
    number, parts = (int(each) for each in part.split("/"))
    for k, chosen in enumerate(chosen_functions(count, seed, file)):
        if k % parts == number - 1 and only in chosen.function:
            yield from chosen_cases(chosen, SIZES, math)


def chosen_cases(chosen: Chosen, sizes: Sequence[tuple[int, str]], math: str = "exact") -> Iterator[Case]:
    original = chosen.original()
    twin = pyflat.twin(original, target="numba").with_options(math=math)
    loop = compiled(original)
    name = f"{chosen.module.partition('.')[0]}.{chosen.function}"
    right = None
    for lanes, form in sizes:
        columns = chosen.columns(lanes)
        run = partial(_as_tuple, partial(twin, **columns) if form == "keyword" else
                      partial(twin, *_positional(original, columns)))
        if right is None:
            few = {name: column[:TRIED] for name, column in columns.items()}
            right = different_lanes([column[:TRIED] for column in run()], _in_lanes(original, few)) == 0
        yield Case(name, form, lanes, run, _loop(loop, columns, run()), right)


def _positional(original: Callable[..., Any], columns: Mapping[str, np.ndarray]) -> list[Any]:
    """The columns in the order of the parameters, with defaults between them."""
    parameters = inspect.signature(original).parameters
    last = max(list(parameters).index(name) for name in columns)
    return [columns.get(name, parameter.default) for name, parameter in list(parameters.items())[:last + 1]]


def _as_tuple(run: Callable[[], Any]) -> tuple[np.ndarray, ...]:
    found = run()
    return found if isinstance(found, tuple) else (found,)


def _loop(compiled_function: Any, columns: Mapping[str, np.ndarray], results: Sequence[np.ndarray]
          ) -> Callable[[], tuple[np.ndarray, ...]]:
    """numba's loop over the columns, into new arrays like the twin's results."""
    names = [f"a{k}" for k in range(len(columns))]
    outs = [f"o{k}" for k in range(len(results))]
    call = ", ".join(f"{name}={column}[i]" for name, column in zip(columns, names, strict=True))
    store = "; ".join(f"{out}[i] = r[{k}]" for k, out in enumerate(outs)) if len(outs) > 1 else "o0[i] = r"
    lines = [f"def run({', '.join(names + outs)}):", "    for i in range(len(o0)):", f"        r = fn({call})",
             f"        {store}"]
    scope = {"fn": compiled_function}
    exec("\n".join(lines), scope)
    run = numba.njit(scope["run"])

    def calls() -> tuple[np.ndarray, ...]:
        into = tuple(np.empty_like(result) for result in results)
        run(*columns.values(), *into)
        return into

    return calls
