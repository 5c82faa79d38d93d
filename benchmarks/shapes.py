"""Every shape of program at every size on every way out: `python -m benchmarks.shapes --sizes 10 100 1000 5000`.

Each runs in a process of its own, stopped after `--seconds`, that may hold `--mebibytes`. The table says what came
of it (right, too-large, refused: what this target does not have), seconds and MiB. The exit status is 1 where a twin is
wrong, an exception is raw, or a limit is reached.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import pyflat
from tests.generator.shapes import SHAPES, UNROLLED, Shape, differences, make

RUN = ("numpy", "numba", "unroll", "float32")
TEXTS = ("show", "show-numpy", "wgsl", "glsl", "dataflow", "explain", "profile", "polars", "duckdb", "sqlite", "xp")
MANY = 200
FAILED = ("WRONG", "RAW", "SLOW", "DIED", "MEMORY")


def outcome(name: str, size: int, target: str, folder: Path) -> str:
    """One word: right, text, too-large, refused, none (CPython does not compile it), WRONG or RAW."""
    shape = make(name, size, folder)
    if shape is None:
        return "none"
    try:
        return _run(shape, target) if target in RUN else _text(shape, target)
    except pyflat.FlattenError as error:
        return "too-large" if error.code == "flatten/too-large" else f"refused {error.code}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"RAW {type(error).__name__}"


def _run(shape: Shape, target: str) -> str:
    options: dict[str, Any] = {"unroll": {"loops": "unroll"}, "float32": {"dtype": "float32"}}.get(
        target, {"target": target})
    values, faults = pyflat.twin(shape.main, errors="mask", math="exact", **options)(*shape.arguments(MANY))
    if target == "float32":
        return "text"
    return "WRONG" if differences(shape, values, faults) else "right"


def _text(shape: Shape, target: str) -> str:
    twin: Any = pyflat.twin(shape.main)
    if target in ("polars", "duckdb", "sqlite", "xp"):
        return _elsewhere(shape, target)
    if target == "profile":
        str(twin.profile(*shape.arguments()))
    elif target == "explain":
        str(twin.explain())
    elif target in ("show", "show-numpy"):
        text = twin.show(target="numpy" if target == "show-numpy" else None)
        if not text.startswith("# A loop"):
            compile(text, "<twin>", "exec")
    else:
        twin.show(target=target)
    return "text"


def _elsewhere(shape: Shape, target: str) -> str:
    if target == "polars":
        from pyflat.targets import polars

        polars.source(shape.main)
    elif target == "xp":
        from pyflat.targets import xp

        xp.function(shape.main, np)(*shape.arguments())
    else:
        from pyflat.targets import sql

        sql.query(shape.main, "lanes", dialect=target)  # type: ignore[arg-type]
    return "text"


def measured(name: str, size: int, target: str, seconds: float, mebibytes: int) -> tuple[str, float, int]:
    """The outcome in a process of its own, its seconds (imports included) and its MiB."""
    command = [sys.executable, "-m", "benchmarks.shapes", "--one", name, str(size), target]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "SLOW", time.perf_counter() - start, 0
    spent = time.perf_counter() - start
    if done.returncode != 0:
        return f"DIED {done.returncode}", spent, 0
    found, peak = done.stdout.strip().rsplit(" ", 1)
    return ("MEMORY" if int(peak) > mebibytes else found), spent, int(peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1_000, 5_000])
    parser.add_argument("--targets", nargs="+", default=[*RUN, *TEXTS], choices=[*RUN, *TEXTS])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--mebibytes", type=int, default=1_024)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, size, target = given.one
        with tempfile.TemporaryDirectory() as folder:
            found = outcome(name, int(size), target, Path(folder))
        print(found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    failed = 0
    for target in given.targets:
        for size in given.sizes:
            for name in given.shapes if target != "unroll" else UNROLLED:
                found, spent, peak = measured(name, size, target, given.seconds, given.mebibytes)
                failed += found.startswith(FAILED)
                print(f"{name:28} {size:5,} {target:12} {found:32} {spent:5.1f} s {peak:5,} MiB", flush=True)
    print(f"{failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
