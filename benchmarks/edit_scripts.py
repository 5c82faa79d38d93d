"""Many random edit scripts: `python -m benchmarks.edit_scripts --scripts 10000`.

After every step of every script the control-flow graph that followed the edits is compared with one computed
afresh; after a script SSA is repaired and the function validated.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter

from tests.ir.edit.edit_scripts import run_scripts

CHUNK = 100


def _run(start_stop: tuple[int, int]) -> Counter[str]:
    return run_scripts(range(*start_stop))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(argv)
    stop = options.seed + options.scripts
    chunks = [(first, min(first + CHUNK, stop)) for first in range(options.seed, stop, CHUNK)]
    started, done = time.monotonic(), Counter[str]()
    with multiprocessing.Pool(options.processes) as pool:
        for counted in pool.imap_unordered(_run, chunks):
            done += counted
    print(f"{options.scripts:,} scripts in {time.monotonic() - started:.0f} s, no difference")
    for name, count in done.most_common():
        print(f"{count:8,}  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
