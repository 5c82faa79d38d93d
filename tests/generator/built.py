"""Random programs in an extension module, run where pyflat cannot be imported, against their originals."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyflat.cli.specs import find_function
from pyflat.inspection.publishing.build import build_file
from pyflat.inspection.publishing.project import Shipped, extension_path
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.differential import columns
from tests.generator.exported import KINDS
from tests.generator.lanes import lanes_for
from tests.generator.outcomes import Expected, Raised, Returned, observe
from tests.generator.program import Program
from tests.support.processors import OWN, levels

RUN = '''
import pickle, sys
for name in ("pyflat", "numba", "llvmlite"):
    sys.modules[name] = None
import numpy as np
import built

def observed(fn, args):
    try:
        with np.errstate(all="ignore"):
            return "returns", fn(*args)
    except Exception as error:
        return type(error).__name__, str(error)

tasks, results = pickle.load(sys.stdin.buffer), []
for name, rows, columns in tasks:
    fn = getattr(built, name)
    results.append(([observed(fn, row) for row in rows], observed(fn, columns)))
sys.stdout.buffer.write(pickle.dumps((built.__level__, results)))
'''
BEYOND = ("OverflowError", "TypeError")
"""Where an original returns what no lane of its kind holds: an int beyond 64 bits, a complex number, None."""


def run_alone(folder: Path, tasks: Sequence[tuple[str, Any, Any]], level: str) -> list[Any]:
    """What each function of the extension gives for each row, and for the columns, in a process without pyflat."""
    done = subprocess.run([sys.executable, "-c", RUN], input=pickle.dumps(list(tasks)), capture_output=True, cwd=folder,
                          env={**os.environ, "PYFLAT_LEVEL": level, "PYTHONPATH": str(folder)}, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found, results = pickle.loads(done.stdout)
    assert found == level
    return list(results)


def check_built(programs: Sequence[Program], folder: Path, count: int = 24) -> tuple[Counter[str], list[str]]:
    """How many programs and lanes there were of each sort, and every difference."""
    counts: Counter[str] = Counter()
    wanted = []
    for number, program in enumerate(programs):
        name = f"main_{number}"
        (folder / f"random_{number}.py").write_text(re.sub(r"\bmain\b", name, program.source))
        wanted.append(Shipped(f"random_{number}:{name}", ",".join(KINDS[kind] for kind in program.kinds), frozen=True))
    sys.path.insert(0, str(folder))
    try:
        found = [(each, find_function(each.function)) for each in wanted]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reasons, counts["built"] = build_file(found, folder / "built", extension_path(folder / "built"), "")
            rows = [lanes_for(program, count) for program in programs]
            expected = [[observe(fn, row) for row in each] for (_, fn), each in zip(found, rows, strict=True)]
    finally:
        sys.path.remove(str(folder))
        for each in wanted:
            sys.modules.pop(each.function.partition(":")[0], None)
    left = {reason.partition(": ")[0] for reason in reasons}
    for reason in reasons:
        counts["left out: " + reason.partition(": ")[2].partition("\n")[0][-90:]] += 1
    kept = [k for k, each in enumerate(wanted) if each.function not in left]
    tasks = []
    for k in kept:
        clean = [row for row, each in zip(rows[k], expected[k], strict=True) if isinstance(each, Returned)]
        tasks.append((f"main_{k}", rows[k], columns(clean, programs[k].kinds)))
    differences = []
    for level in [each for each in levels() if each != OWN]:
        for k, (single, together) in zip(kept, run_alone(folder, tasks, level), strict=True):
            for row, want, got in zip(rows[k], expected[k], single, strict=True):
                counts[sort := _sort(want, got)] += 1
                if sort == "differs":
                    differences.append(f"{level} {row}: {want}, built {got}\n{programs[k].source}")
            returned = [got for want, got in zip(expected[k], single, strict=True) if isinstance(want, Returned)]
            differences += [f"{level} {programs[k].source}\n{each}" for each in _together(returned, together)]
    return counts, differences


def _sort(want: Expected, got: tuple[str, Any]) -> str:
    how, value = got
    if isinstance(want, Raised):
        return "raises the same" if how == want.error.__name__ else "differs"
    if how in BEYOND:
        return "no lane holds it"
    return "same bits" if how == "returns" and same_bits(in_kind(want.value, value, value), value) else "differs"


def _together(alone: list[tuple[str, Any]], together: tuple[str, Any]) -> list[str]:
    """The lanes that return, as arrays: the same bits, unless no lane holds a result."""
    if any(how != "returns" for how, _ in alone) or not alone:
        return []
    if together[0] != "returns":
        return [f"lanes that return raise together: {together}"]
    return [f"lane {k}: {value!r} alone, {lane_of(together[1], k, len(alone))!r} in an array"
            for k, (_, value) in enumerate(alone) if not same_bits(value, lane_of(together[1], k, len(alone)))]
