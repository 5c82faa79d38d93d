"""Compares the vector code that follows the C library's functions (`pyflat.functions.vmath.exact`) with the one that
is loaded, bit for bit: `make verify-libm`.

    python -m benchmarks.library_bits [--functions exp,pow] [--lanes 10000000] [--seed 0] [--write]

The code is that of the numba target for this processor, or for the one that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name.
`--write` enters the library with each function of which no lane differed, and the number of lanes, into the table of
verified builds (`pyflat/functions/verified_builds.json`). Exit status 1 where a lane differs.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.library_points import blocks
from pyflat.functions import libm, loaded_library
from pyflat.functions.vmath import exact
from pyflat.targets.numba.engine import library_ufunc

BLOCK = 1 << 16
BUILDS = Path(loaded_library.__file__).with_name(loaded_library.FILE)


@dataclass
class Compared:
    """What the lanes of a function have shown."""

    name: str
    lanes: int = 0
    wrong: int = 0
    example: tuple[str, ...] = ()
    """Operands in hexadecimal."""


def compare(name: str, lanes: int, seed: int = 0) -> Compared:
    """The function on at least so many lanes; any nan is equal to any other."""
    found, random = Compared(name), np.random.default_rng(seed)
    with exact.following():
        ours = library_ufunc(name, None, (False,) * libm.operand_count(name))
    if ours is None:
        raise SystemExit(f"there is no vector code for {name} on this machine")
    theirs = libm.ufunc(name)
    for args in blocks(name, lanes, BLOCK, int(random.integers(1 << 30))):
        with np.errstate(all="ignore"):
            value, expected = np.empty_like(args[0]), theirs(*args)
            ours(*args, value)
        wrong = (value.view(np.int64) != expected.view(np.int64)) & ~(np.isnan(value) & np.isnan(expected))
        found.lanes += len(value)
        found.wrong += int(wrong.sum())
        if wrong.any() and not found.example:
            found.example = tuple(float(a[wrong][0]).hex() for a in args)
    return found


def write(found: list[Compared]) -> None:
    """Enter what was compared."""
    builds = json.loads(BUILDS.read_text(encoding="utf-8"))
    library, version = platform.libc_ver()
    fresh = {"library": f"{library} {version}, {platform.machine()}", "functions": {}}
    build = builds.setdefault(loaded_library.identity(), fresh)
    for each in found:
        build["functions"].pop(each.name, None)
        if not each.wrong:
            build["functions"][each.name] = each.lanes
    BUILDS.write_text(json.dumps(builds, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(exact.TABLE))
    parser.add_argument("--lanes", type=lambda text: int(float(text)), default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = []
    for name in options.functions.split(","):
        start = time.perf_counter()
        found.append(compare(name, options.lanes, options.seed))
        print(f"{name:6} {found[-1].lanes:,} lanes, {found[-1].wrong} differ {' '.join(found[-1].example)}"
              f" ({time.perf_counter() - start:.1f} s)", flush=True)
    if options.write:
        write(found)
    if any(each.wrong for each in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
