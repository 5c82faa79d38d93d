"""The code of a kernel is the same in each process: it is kept on disk under a hash of itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import hashlib, os, random
import numpy as np
import pyflat
from benchmarks.kernels import KERNELS
from pyflat.ir.nodes import Value
from pyflat.targets.numba import compilation

def stop(text, *others, **more):
    print(name, math, hashlib.sha256(text.encode()).hexdigest())
    raise KeyboardInterrupt

numbers, hashes = random.Random(os.environ["PYTHONHASHSEED"]), {}
Value.__hash__ = lambda value: hashes.setdefault(id(value), numbers.getrandbits(60))
compilation.compile_ir = stop
for name, kernel in KERNELS.items():
    for math in ("fast", "exact"):
        try:
            pyflat.twin(kernel.function, target="numba", math=math)(*kernel.lanes(8))
        except KeyboardInterrupt:
            pass
"""


def test_hashes_of_sets_do_not_show_in_the_code():
    """Sets come in another order in each process, by the addresses of objects and the seed of strings. Here they
    certainly do: addresses are alike in processes that do the same."""
    runs = [subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True,
                           env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}) for seed in ("1", "2")]
    first, second = (run.stdout.splitlines() for run in runs)
    assert len(first) == 34
    assert first == second
