"""Compares the vector code that follows the C library's functions (`pyflat.functions.vmath.exact`) with the one that
is loaded, and CPython's gamma and lgamma, bit for bit: `make verify-libm`.

    python -m benchmarks.library_bits [--functions exp,pow] [--lanes 1e9] [--seed 0] [--write [--library NAME]]

The code is that of the numba target for this processor, or for the one that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name.
`--write` enters the library with each function of which no lane differed, and the number of lanes, into the table of
verified builds (`pyflat/functions/verified_builds.json`); NAME says where the library comes from. Exit status 1 where a
lane differs: such a function gets Ziv's test there. With a billion lanes it takes some twenty minutes.

Another library than the system's, newer than the one that Python was linked with, runs under its own loader:

    FOLDER/ld-linux-x86-64.so.2 --library-path FOLDER:/lib/x86_64-linux-gnu .venv/bin/python -m benchmarks.library_bits
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.library_points import blocks
from pyflat.functions import gamma_check, libm, loaded_library
from pyflat.functions.vmath import exact
from pyflat.targets.numba.single_operations import library_ufunc

BLOCK = 1 << 16
ENOUGH = 1000
"""Wrong lanes, after which a function is not looked at further."""
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
    for args in blocks(name, lanes, BLOCK, int(random.integers(1 << 30))):
        with np.errstate(all="ignore"):
            value = np.empty_like(args[0])
            ours(*args, value)
            expected = called(name, args[0], value) if name in gamma_check.PARTS else libm.ufunc(name)(*args)
        wrong = differ(name, value, expected, args[0])
        found.lanes += len(value)
        found.wrong += int(wrong.sum())
        if wrong.any() and not found.example:
            found.example = tuple(float(a[wrong][0]).hex() for a in args)
        if found.wrong > ENOUGH:
            break
    return found


def called(name: str, x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """CPython's own function; it is asked carefully, which takes long, where it probably raises."""
    careful, ordinary, expected = libm.ufunc(name), np.isfinite(value), np.empty_like(x)
    expected[~ordinary] = careful(x[~ordinary])
    try:
        expected[ordinary] = [*map(getattr(math, name), x[ordinary].tolist())]
    except (ValueError, OverflowError):
        expected[ordinary] = careful(x[ordinary])
    return expected


def differ(name: str, value: np.ndarray, expected: np.ndarray, x: np.ndarray) -> np.ndarray:
    """In which lanes; where CPython's own function raises, whatever is not finite does."""
    same = (value.view(np.int64) == expected.view(np.int64)) | (np.isnan(value) & np.isnan(expected))
    if name in gamma_check.PARTS:
        same |= np.isfinite(x) & ~np.isfinite(value) & ~np.isfinite(expected)
    return ~same


def write(found: Compared, library: str) -> None:
    """Enter what was compared, or take out what differs. SystemExit where the library has no identity."""
    identity = loaded_library.library_of(found.name).identity
    if identity is None:
        raise SystemExit(f"the code of {found.name} that runs here cannot be recognised")
    builds = json.loads(BUILDS.read_text(encoding="utf-8"))
    build = builds.setdefault(identity, {"library": library, "functions": {}})
    build["functions"].pop(found.name, None)
    if not found.wrong:
        build["functions"][found.name] = found.lanes
    BUILDS.write_text(json.dumps(builds, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def loaded() -> str:
    """The version of the library that is loaded, as far as it says one."""
    version = getattr(ctypes.CDLL(None), "gnu_get_libc_version", None)
    if version is None:
        return platform.platform()
    version.restype = ctypes.c_char_p
    return f"glibc {version().decode()}, {platform.machine()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", default=",".join(exact.TABLE))
    parser.add_argument("--lanes", type=lambda text: int(float(text)), default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--library", default=loaded(), help="where it comes from")
    options = parser.parse_args()
    wrong = 0
    for name in options.functions.split(","):
        start = time.perf_counter()
        found = compare(name, options.lanes, options.seed)
        print(f"{name:6} {found.lanes:,} lanes, {found.wrong:,} differ {' '.join(found.example)}"
              f" ({time.perf_counter() - start:.1f} s)", flush=True)
        wrong += found.wrong
        if options.write and name not in gamma_check.PARTS:
            write(found, options.library)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
