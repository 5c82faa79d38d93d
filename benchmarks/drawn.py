"""Functions that were drawn at random from other people's packages, for `benchmarks.scoreboard`.

A function can be drawn where Python alone returns one number for it in all elements around some arguments: those of
the first example in its docstring, or else some that a search finds. No contender is asked. The packages take turns,
so that a large one does not crowd out the others.

    python -m benchmarks.drawn [--seed N] [--functions 20]     draw, and write benchmarks/drawn.json
    python -m benchmarks.drawn NAME [--contenders ...]          one row, as benchmarks.row, with what differs
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import random
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from benchmarks.contenders import CONTENDERS, Contender
from benchmarks.environment import ROOT, pin
from benchmarks.kernels import Kernel
from benchmarks.measuring import keep_freed_memory
from benchmarks.real_sample import SPREADS, TRIED, Chosen, example
from benchmarks.row import Limits, measure

PACKAGES = {"calendar": int, "chemicals": None, "fluids": None, "ht": None, "iapws": float, "pymap3d": float,
            "pysolar": float, "utm": float}
"""None: docstrings have examples, and a function without one is left out. Else what a search gives the functions."""
FILE = ROOT / "benchmarks" / "drawn.json"
SEED = 45
SEARCHED = 300
"""Arguments that are tried where there is no example."""
SLOWEST = 1e-3
"""Seconds that the original may take for an element."""
NORMAL, ULPS, ALIKE = 200, 4, 16
EDGES: tuple[Callable[[Any], Any], ...] = (lambda v: v * 0, lambda v: -v, lambda v: v * 10**7, lambda v: v / 10**7)
"""What becomes of one argument, the others being as they are; of an int, an int."""
Outcome = float | str
"""A number, or the name of the exception."""


# --- drawing


def functions(package: str) -> list[tuple[str, str]]:
    """(module, function): the public functions of a package, in the order of their names."""
    top = importlib.import_module(package)
    names = [package, *(f"{package}.{each.name}" for each in pkgutil.iter_modules(getattr(top, "__path__", [])))]
    found = []
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found += [(name, key) for key, value in vars(module).items()
                  if inspect.isfunction(value) and value.__module__ == name and not key.startswith("_")]
    return sorted(found)


def draw(count: int, seed: int) -> tuple[list[Chosen], dict[str, int]]:
    """The first ones in a random order of each package, by turns, and why others were left out."""
    rng = random.Random(seed)
    piles = []
    for package in PACKAGES:
        pile = functions(package)
        rng.shuffle(pile)
        piles.append(pile)
    chosen: list[Chosen] = []
    rejected: dict[str, int] = {}
    while len(chosen) < count and any(piles):
        for pile in piles:
            while pile and len(chosen) < count:
                module, name = pile.pop()
                found = candidate(module, name, PACKAGES[module.partition(".")[0]])
                if isinstance(found, Chosen):
                    chosen.append(found)
                    print(f"{len(chosen):>4} {found.module}.{found.function} {dict(found.numbers)}", flush=True)
                    break
                rejected[found] = rejected.get(found, 0) + 1
    return chosen, rejected


def candidate(module: str, name: str, kind: type[float] | None) -> Chosen | str:
    """The function and arguments, or why it is left out."""
    function = getattr(importlib.import_module(module), name)
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters) or not parameters:
        return "other parameters than positional ones"
    given = example(function)
    needed = [one.name for one in parameters if one.default is one.empty]
    tried = [given] if given else _searched(name, needed, kind) if needed and kind else []
    why = "no arguments with which it returns a number"
    for numbers in tried:
        if list(numbers) != [one.name for one in parameters][:len(numbers)]:
            return "an example with other than the first arguments"
        for spread in SPREADS:
            chosen = Chosen(module, name, numbers, spread)
            why = _tried(function, list(chosen.columns(TRIED).values()))
            if not why:
                return chosen
            if "raises" in why and not given:
                break
    return why


def _searched(name: str, needed: Sequence[str], kind: type[float]) -> Iterator[dict[str, float]]:
    rng = random.Random(name)
    for _ in range(SEARCHED):
        yield {each: kind(10 ** rng.uniform(-1, 3)) for each in needed}


def _tried(function: Callable[..., Any], columns: Sequence[np.ndarray]) -> str:
    """Why it cannot be measured on these; empty where it can."""
    started = time.perf_counter()
    kinds = set()
    for row in zip(*[column.tolist() for column in columns], strict=True):
        try:
            value = function(*row)
        except Exception:  # noqa: BLE001 - whatever another package raises for such numbers
            return "raises around its example"
        if not isinstance(value, int | float) or not np.isfinite(value):
            return "no number"
        kinds.add(float if isinstance(value, float) else int)
        if time.perf_counter() - started > SLOWEST * TRIED:
            return "slow"
    return "" if len(kinds) == 1 else "ints and floats"


def kernel_of(chosen: Chosen) -> Kernel:
    return Kernel(f"{chosen.module}.{chosen.function}", chosen.original(),
                  lambda n: list(chosen.columns(n).values()), core=False)


@cache
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def drawn() -> dict[str, Chosen]:
    """By their full names."""
    return {f"{each['module']}.{each['function']}": Chosen(**each) for each in record()["chosen"]}


# --- what differs


def rows_of(kernel: Kernel) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of arguments: normal ones, and those in which one argument is at an edge."""
    columns = kernel.lanes(NORMAL)
    normal = list(zip(*[column.tolist() for column in columns], strict=True))
    edges = []
    for k in range(len(columns)):
        for edge in EDGES:
            row = list(normal[k])
            row[k] = type(row[k])(edge(row[k]))
            edges.append(tuple(row))
        if isinstance(normal[k][k], float):
            edges.append((*normal[k][:k], float("nan"), *normal[k][k + 1:]))
    return normal, edges


def outcome(call: Callable[[], Any]) -> Outcome | None:
    """None for a result that is no number."""
    try:
        value = call()
    except Exception as error:  # noqa: BLE001 - that it raises is what is compared
        return type(error).__name__
    return float(value) if isinstance(value, int | float | np.number | np.bool_) else None


def outcomes(contender: Contender, kernel: Kernel, rows: Sequence[tuple[Any, ...]]) -> list[Outcome | None]:
    """Each of arrays in which all elements are this row: blosc2 takes none with one element."""
    cells = [np.repeat(column[:1], ALIKE) for column in kernel.lanes(NORMAL)]
    run = contender.make(kernel, cells)
    found = []
    for row in rows:
        for cell, value in zip(cells, row, strict=True):
            cell[:] = value
        found.append(outcome(lambda: np.asarray(run())[0]))
    return found


def same(found: Outcome | None, wanted: Outcome) -> bool:
    """The same exception, or a number within `ULPS` units in the last place."""
    if isinstance(found, str) or isinstance(wanted, str) or found is None:
        return found == wanted
    with np.errstate(all="ignore"):
        return bool(found == wanted or (found != found and wanted != wanted)
                    or abs(found - wanted) <= ULPS * np.spacing(abs(wanted)))


def compare(kernel: Kernel, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Contender -> of how many normal and edge rows its outcome is another than Python's."""
    found = {}
    parts = [[(row, wanted) for row in rows if (wanted := outcome(lambda row=row: kernel.function(*row))) is not None]
             for rows in rows_of(kernel)]
    for name in names:
        print(f"start {name}", flush=True)
        mine = [outcomes(CONTENDERS[name], kernel, [row for row, _ in part]) for part in parts]
        wrong = [sum(not same(one, wanted) for one, (_, wanted) in zip(results, part, strict=True))
                 for results, part in zip(mine, parts, strict=True)]
        found[name] = {"values": wrong[0], "of values": len(parts[0]), "edges": wrong[1], "of edges": len(parts[1])}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("type", nargs="?")
    parser.add_argument("lanes", nargs="?", type=int, default=262144)
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--functions", type=int, default=20)
    for limit, default in asdict(Limits()).items():
        parser.add_argument(f"--{limit}", type=type(default), default=default)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if options.name is None:
        chosen, rejected = draw(options.functions, options.seed)
        here = {name: importlib.metadata.version(name) for name in PACKAGES if name != "calendar"}
        FILE.write_text(json.dumps({"seed": options.seed, "packages": here, "rejected": rejected,
                                    "chosen": [asdict(each) for each in chosen]}, indent=1) + "\n", encoding="utf-8")
        return
    pin()
    keep_freed_memory()
    kernel = kernel_of(drawn()[options.name])
    limits = Limits(options.repeats, options.budget, options.longest)
    found: Mapping[str, Any] = measure(kernel, "f8", options.lanes, options.contenders.split(","), limits,
                                       lambda text: print(text, flush=True))
    took = [name for name in found["asked"] if name in found["seconds"] or "wrong" in found["notes"].get(name, "")]
    print("result", json.dumps({**found, "differs": compare(kernel, took)}), flush=True)


if __name__ == "__main__":
    main()
