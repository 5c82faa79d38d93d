"""Machine code is linked wherever memory is free."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import mmap
import random

from pyflat.targets.numba import jit

TEXT = '''
@table = internal constant [2 x double] [double 1.5, double {n}.0]
define double @code(i64 %place) {{
  %at = getelementptr double, ptr @table, i64 %place
  %number = load double, ptr %at
  %sum = fadd double %number, 123.45
  ret double %sum
}}
'''
NO_RESERVE = 0x4000
held, random_ = [], random.Random(1)
for n in range(200):
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    held.append(mmap.mmap(-1, 2**31 + 4096 * random_.randrange(1, 50), flags=flags))
    pages = [mmap.mmap(-1, 4096 * random_.randrange(1, 4)) for _ in range(5)]
    held.append(pages[::2])
    del pages
    jit.compile_ir(TEXT.format(n=n), "code", {}, jit.processor())
print("linked")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="maps memory without reserving it")
def test_large_arrays_between_pieces_of_free_memory(tmp_path):
    """Where there is no room for code beside its constants, LLVM's older linker ends the process."""
    pytest.importorskip("numba")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    environment = {**os.environ, "PYFLAT_CACHE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "linked\n", done.stderr[-2000:]
