"""One row of the table: a kernel, a type, a number of lanes; all contenders in this process.

Runs as a process of its own (`benchmarks.lanes` starts it), because a contender may end the process. Standard output
says which contender is about to run (`start NAME`), then the record (`result JSON`).

    python -m benchmarks.row bs f8 262144 --contenders numba,vector
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.agreement import share_beyond, tolerance
from benchmarks.contenders import CONTENDERS, UNIT, Contender, UnavailableError
from benchmarks.environment import describe, pin
from benchmarks.kernels import KERNELS, Kernel
from benchmarks.measuring import Run, keep_freed_memory, once, round_robin

SAMPLE = 2_000
"""Lanes for np.vectorize, and for the comparison with the original."""
MANY = 1 << 20
"""Lanes from which on a contender is tried on fewer first, so that a slow one can be left out."""
TRIED = 1 << 16
TYPES = {"f8": (np.dtype(np.float64), np.dtype(np.int64)), "f4": (np.dtype(np.float32), np.dtype(np.int32))}


@dataclass(frozen=True, slots=True)
class Limits:
    """repeats: turns of each contender; budget: seconds for those of one; longest: seconds that one call may take."""

    repeats: int = 9
    budget: float = 1.0
    longest: float = 2.0


def lanes_of(kernel: Kernel, kind: str, count: int) -> list[np.ndarray]:
    floats, ints = TYPES[kind]
    return [column.astype(floats if column.dtype.kind == "f" else ints) for column in kernel.lanes(count)]


def some(lanes: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Indices of `count` lanes from everywhere in ascending order, and these lanes."""
    total = len(lanes[0])
    chosen = np.sort(np.random.default_rng(0).choice(total, min(count, total), replace=False))
    return chosen, [column[chosen] for column in lanes]


def measure(kernel: Kernel, kind: str, count: int, names: Sequence[str], limits: Limits,
            say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """The record of a row: seconds per lane of each contender that ran and agreed, and notes on the others."""
    lanes = lanes_of(kernel, kind, count)
    chosen, few = some(lanes, SAMPLE)
    wanted = np.array([kernel.function(*row) for row in zip(*[column.tolist() for column in few], strict=True)])
    allowed = tolerance(kernel.name, kind == "f4")
    everywhere: np.ndarray | None = None
    runs: dict[str, Run] = {}
    notes: dict[str, str] = {}
    for name in names:
        contender = CONTENDERS[name]
        say(f"start {name}")
        try:
            if count > MANY and not contender.sampled and name != UNIT:
                expected = _expected(contender, kernel, lanes)
                if expected > limits.longest:
                    raise UnavailableError(f"one call would take {expected:.0f} s")
            run = contender.make(kernel, few if contender.sampled else lanes)
            found = np.asarray(run())
        except UnavailableError as error:
            notes[name] = str(error)
            continue
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its note, and the others go on
            notes[name] = f"failed: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            continue
        beyond = share_beyond(found if contender.sampled else found[chosen], wanted, allowed)
        if everywhere is not None and not contender.sampled:
            beyond = max(beyond, share_beyond(found, everywhere, allowed))
        if beyond > allowed.share:
            notes[name] = f"wrong results: {beyond:.2%} of lanes"
            continue
        runs[name] = run
        everywhere = found if name == UNIT else everywhere
        del found
    times = round_robin(runs, limits.repeats, limits.budget)
    counts = {name: len(few[0]) if CONTENDERS[name].sampled else count for name in runs}
    return {
        "kernel": kernel.name, "type": kind, "lanes": count,
        "seconds": {name: asdict(times[name].over(counts[name])) for name in runs},
        "choices": {name: run.choice for name, run in runs.items() if hasattr(run, "choice")},
        "notes": notes, "environment": describe() | _versions(runs),
    }


def _expected(contender: Contender, kernel: Kernel, lanes: Sequence[np.ndarray]) -> float:
    """Seconds for a call with all lanes."""
    run = contender.make(kernel, some(lanes, TRIED)[1])
    run()
    return once(run) / TRIED * len(lanes[0])


def _versions(names: Sequence[str] | dict[str, Run]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found |= CONTENDERS[name].versions()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", choices=KERNELS)
    parser.add_argument("type", choices=TYPES)
    parser.add_argument("lanes", type=int)
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    for limit, default in asdict(Limits()).items():
        parser.add_argument(f"--{limit}", type=type(default), default=default)
    options = parser.parse_args()
    pin()
    keep_freed_memory()
    record = measure(KERNELS[options.kernel], options.type, options.lanes, options.contenders.split(","),
                     Limits(options.repeats, options.budget, options.longest), lambda text: print(text, flush=True))
    print("result", json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
