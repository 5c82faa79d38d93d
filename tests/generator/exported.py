"""Exported twins of random programs, run where pyflat cannot be imported, against their originals."""

from __future__ import annotations

import importlib
import pickle
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.inspection.publishing.build import build_file
from pyflat.inspection.publishing.export import NotExported, export, file_text
from pyflat.inspection.publishing.project import Shipped, extension_path
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.differential import columns, loaded
from tests.generator.kernels import Kernel
from tests.generator.kernels.differential import Difference, Outcome, compare
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


def check_built(kernels: Iterable[Kernel], folder: Path) -> tuple[Counter[str], list[tuple[Kernel, Difference]]]:
    """Random kernels in one extension: how many there were of each sort, and every difference."""
    drawn, wanted, path = list[tuple[Kernel, Any]](), list[tuple[Shipped, Any]](), folder / f"built_{folder.name}"
    sys.path.insert(0, str(folder))
    for kernel in kernels:
        name = f"random_{kernel.seed}"
        (folder / f"{name}.py").write_text(re.sub(r"\bmain\b", name, kernel.source))
        drawn.append((kernel, getattr(importlib.import_module(name), name)))
        sets = filter(None, {_kinds_of(inputs.arguments()): 1 for inputs in kernel.inputs})
        wanted += [(Shipped(f"{name}:{name}", kinds, frozen=True), drawn[-1][1]) for kinds in sets]
    reasons, count = build_file(wanted, path, extension_path(path), "")
    module, differences = vars(importlib.import_module(path.name)), list[tuple[Kernel, Difference]]()
    sys.path.remove(str(folder))
    outcome = Outcome(refusals=[reason.partition(": ")[2][:100] for reason in reasons])
    for kernel, original in drawn:
        for inputs in kernel.inputs if original.__name__ in module else ():
            compare(original, module[original.__name__], inputs, outcome)
        differences += [(kernel, outcome.failures.pop()) for _ in tuple(outcome.failures)]
    left_out = Counter(f"left out: {reason}" for reason in outcome.refusals)
    return left_out + Counter(built=count, sets=outcome.sets, raising=outcome.raising, warning=outcome.warning), differences


def _kinds_of(arguments: Iterable[Any]) -> str:
    kinds = [f"{value.dtype.str[1:]}[{','.join(':' * value.ndim)}]" if isinstance(value, np.ndarray) and value.ndim
             else {float: "f8", int: "i8", bool: "b"}.get(type(value), "") for value in arguments]
    return ",".join(kinds) if all(kinds) and any("[" in kind for kind in kinds) else ""
