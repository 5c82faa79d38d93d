"""Exported twins of random programs, run where pyflat cannot be imported, against their originals."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyflat.errors import FlattenError
from pyflat.inspection.publishing.export import NotExported, export, file_text
from pyflat.inspection.publishing.project import Shipped
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.differential import columns, loaded
from tests.generator.lanes import lanes_for
from tests.generator.outcomes import Expected, Raised, Returned, observe
from tests.generator.program import Program

RUN = '''
import importlib.util, pickle, sys
sys.modules["pyflat"] = None
import numpy as np

def observed(fn, args):
    try:
        return "returns", fn(*args)
    except Exception as error:
        return type(error).__name__, str(error)

tasks, results = pickle.load(sys.stdin.buffer), []
for file, rows, columns in tasks:
    spec = importlib.util.spec_from_file_location("exported", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results.append(([observed(module.main, row) for row in rows], observed(module.main, columns)))
sys.stdout.buffer.write(pickle.dumps(results))
'''
KINDS = {"f": "f8", "i": "i8", "b": "b"}
DOUBT = ("OverflowError", "ArithmeticError")


def run_alone(tasks: Sequence[tuple[str, Any, Any]]) -> list[Any]:
    """What `main` of each of these files gives for each row, and for the columns, in a process without pyflat."""
    done = subprocess.run([sys.executable, "-c", RUN], input=pickle.dumps(list(tasks)), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return list(pickle.loads(done.stdout))


def check_exported(programs: Sequence[Program], folder: Path, count: int = 24) -> tuple[Counter[str], list[str]]:
    """How many programs and lanes there were of each sort, and every difference."""
    counts: Counter[str] = Counter()
    tasks, wanted = [], []
    for number, program in enumerate(programs):
        rows = lanes_for(program, count)
        with loaded(program.source) as fn, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = [observe(fn, row) for row in rows]
            try:
                found = export(Shipped("random:main", ",".join(KINDS[kind] for kind in program.kinds), frozen=True), fn)
            except (FlattenError, NotExported) as error:
                reason = error.code if isinstance(error, FlattenError) else str(error)
                counts[f"left out: {reason}"] += 1
                continue
        file = folder / f"exported_{number}.py"
        file.write_text(file_text([found], ""))
        clean = [row for row, each in zip(rows, expected, strict=True) if isinstance(each, Returned)]
        tasks.append((str(file), rows, columns(clean, program.kinds)))
        wanted.append((program, rows, expected))
    counts["exported"] = len(tasks)
    differences = []
    for (program, rows, expected), (single, together), (file, *_) in zip(wanted, run_alone(tasks), tasks, strict=True):
        for row, want, got in zip(rows, expected, single, strict=True):
            counts[sort := _sort(want, got)] += 1
            if sort == "differs":
                differences.append(f"{file} {row}: {want}, exported {got}\n{program.source}")
        returned = [each for each, (how, _) in zip(expected, single, strict=True) if isinstance(each, Returned)]
        differences += _together(returned, single, expected, together, file)
    return counts, differences


def _sort(want: Expected, got: tuple[str, Any]) -> str:
    how, value = got
    if isinstance(want, Raised):
        return "raises the same" if how == want.error.__name__ else "in doubt, raises" if how in DOUBT else "differs"
    if how in DOUBT or how == "ZeroDivisionError" and "-2**63" in value:
        return "in doubt, returns"
    return "same bits" if how == "returns" and same_bits(in_kind(want.value, value, value), value) else "differs"


def _together(returned: Any, single: Any, expected: Any, together: Any, file: str) -> list[str]:
    """The lanes that return, as arrays: where none is in doubt, the same bits."""
    alone = [got for want, got in zip(expected, single, strict=True) if isinstance(want, Returned)]
    first = next((got for got in alone if got[0] != "returns"), None)
    if first is not None or not alone:
        wrong = bool(alone) and together[0] != first[0]
        return [f"{file}: {first} in the first lane in doubt, {together} together"] * wrong
    if together[0] != "returns":
        return [f"{file}: lanes that return raise together: {together}"]
    return [f"{file} lane {k}: {value!r} alone, {lane_of(together[1], k, len(alone))!r} in an array"
            for k, (_, value) in enumerate(alone) if not same_bits(value, lane_of(together[1], k, len(alone)))]
