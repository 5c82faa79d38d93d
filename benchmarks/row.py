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
from benchmarks.measuring import Run, keep_freed_memory, once, part_of, round_robin

SAMPLE = 2_000
"""Lanes for np.vectorize, and for the comparison with the original."""
MANY = 1 << 20
"""Beyond so many lanes, contenders are compared on a part of so many, each turn counts, and there are fewer of them."""
SLOW = 0.5
"""Seconds beyond which a call on many lanes is not made by who takes as long for a lane of the part."""
TRIED = 1 << 16
"""Lanes that others are tried on first, so that a slow one can be left out."""
FEW_REPEATS, FEW_TURNS = 3, 2
TYPES = {"f8": (np.dtype(np.float64), np.dtype(np.int64)), "f4": (np.dtype(np.float32), np.dtype(np.int32))}


@dataclass(frozen=True, slots=True)
class Limits:
    """repeats: turns of each contender; budget: seconds for those of one; longest: seconds that one call may take, with
    many lanes."""

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
    part = [part_of(column, MANY) for column in lanes]
    chosen, few = some(part, SAMPLE)
    wanted = np.array([kernel.function(*row) for row in zip(*[column.tolist() for column in few], strict=True)])
    allowed = tolerance(kernel.name, kind == "f4")
    everywhere: np.ndarray | None = None
    runs: dict[str, Run] = {}
    counts: dict[str, int] = {}
    notes: dict[str, str] = {}
    bits: dict[str, int] = {}
    for name in names:
        contender = CONTENDERS[name]
        say(f"start {name}")
        try:
            run, counts[name] = prepared(contender, kernel, lanes, part, few, limits)
            found = np.asarray(run())
        except UnavailableError as error:
            notes[name] = str(error)
            continue
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its note, and the others go on
            notes[name] = f"failed: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            continue
        if found.shape != (counts[name],):
            notes[name] = f"wrong results: of the shape {found.shape}"
            continue
        if not contender.sampled and counts[name] == count:
            found = part_of(found, MANY)
        compared = found if contender.sampled else found[chosen]
        beyond = share_beyond(compared, wanted, allowed)
        if everywhere is not None and not contender.sampled:
            beyond = max(beyond, share_beyond(found, everywhere, allowed))
        if beyond > allowed.share:
            notes[name] = f"wrong results: {beyond:.2%} of lanes"
            continue
        runs[name] = run
        bits[name] = int(np.count_nonzero((compared != wanted) & ~((compared != compared) & (wanted != wanted))))
        everywhere = found if name == UNIT else everywhere
        del found
    few_turns = (min(limits.repeats, FEW_REPEATS), limits.budget, FEW_TURNS)
    times = round_robin(runs, *((limits.repeats, limits.budget) if count <= MANY else few_turns))
    return {
        "kernel": kernel.name, "type": kind, "lanes": count, "asked": list(names),
        "seconds": {name: asdict(times[name].over(counts[name])) for name in runs},
        "parts": {name: counts[name] for name in runs if counts[name] < count},
        "choices": {name: run.choice for name, run in runs.items() if hasattr(run, "choice")},
        "bits": bits, "notes": notes, "environment": describe() | _versions(runs),
    }


def prepared(contender: Contender, kernel: Kernel, lanes: Sequence[np.ndarray], part: Sequence[np.ndarray],
             few: Sequence[np.ndarray], limits: Limits) -> tuple[Run, int]:
    """A run, and the number of its lanes: all, or fewer where that tells the same sooner."""
    count = len(lanes[0])
    if contender.sampled:
        return contender.make(kernel, few), len(few[0])
    if count <= MANY:
        return contender.make(kernel, lanes), count
    if contender.local:
        run = contender.make(kernel, part)
        run()
        if once(run) * (count / len(part[0])) > SLOW:
            return run, len(part[0])
        return contender.make(kernel, lanes), count
    run = contender.make(kernel, some(lanes, TRIED)[1])
    run()
    expected = once(run) * (count / TRIED)
    if expected > limits.longest:
        raise UnavailableError(f"one call would take {expected:.0f} s")
    return contender.make(kernel, lanes), count


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
