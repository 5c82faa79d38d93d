"""`pyflat verify` and `pyflat prove`: what they print and their exit status."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = '''\
import pyflat

@pyflat.flatten
def clamp(x: float, high: float = 1.0) -> float:
    return high if x > high else x

@pyflat.flatten(static="n")
def power(x, n):
    return x ** n

def printing(x: float) -> float:
    return print(x)
'''


@pytest.fixture
def pyflat_command(tmp_path: Path):
    (tmp_path / "kernels.py").write_text(KERNELS)

    def run(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "pyflat", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


def test_verify_a_function(pyflat_command):
    code, out, _ = pyflat_command("verify", "kernels:clamp", "--target", "numpy", "--examples", "10")
    assert code == 0
    assert int(re.fullmatch(r"clamp: agrees with its original on numpy: ([\d,]+) values compared in \d+\.\d s\n", out)[1]
               .replace(",", "")) > 10


def test_verify_a_module(pyflat_command):
    code, out, _ = pyflat_command("verify", "kernels.py", "--target", "numpy", "--examples", "10", "--kinds", "f8,f8")
    assert code == 0
    assert re.sub(r": [\d,]+ values.*", "", out).splitlines() == [
        "clamp: agrees with its original on numpy",
        "power: skipped: the static argument 'n' of power has no default: verify(fn, static={'n': ...})",
    ]


def test_verify_with_static_values(pyflat_command):
    code, out, _ = pyflat_command("verify", "kernels:power", "--static", "n=3", "--target", "numpy", "--examples", "10")
    assert code == 0 and out.startswith("power: agrees with its original on numpy: ")


def test_a_difference_is_status_1(tmp_path, pyflat_command):
    (tmp_path / "wrong.py").write_text(
        "import pyflat\nfrom pyflat.runtime import twins\nright = twins.Twin.__call__\n"
        "twins.Twin.__call__ = lambda self, *args: right(self, *args) * 3.0\ndef f(x):\n    return 1.0\n")
    code, out, _ = pyflat_command("verify", "wrong:f", "--target", "numpy")
    assert code == 1
    assert out.startswith("f: the numpy twin differs in lane 0 (x=")


def test_refusals_and_wrong_names(pyflat_command):
    assert pyflat_command("verify", "kernels:printing", "--target", "numpy")[0] == 1
    for wrong in (("verify", "kernels:clamb"), ("verify", "nowhere"), ("prove", "kernels"), ("verify", "json"),
                  ("verify", "kernels:power", "--static", "n"), ("prove", "kernels:clamp", "--kinds", "f4")):
        code, out, err = pyflat_command(*wrong)
        assert (code, out, err.count("\n")) == (2, "", 1), wrong


def test_prove(pyflat_command):
    pytest.importorskip("z3")
    code, out, _ = pyflat_command("prove", "kernels:clamp")
    assert (code, out) == (0, "clamp: proved: every argument (x: float, high: float) gives the original's result or is handed back to the original\n")
    code, out, _ = pyflat_command("prove", "kernels:power", "--static", "n=2")
    assert code == 0
    code, out, _ = pyflat_command("prove", "kernels:printing")
    assert code == 4
    assert out.startswith("printing: outside the provable part, because the function is refused: ")


ARRAYS = '''
import pyflat

@pyflat.flatten
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s

def picked(a, indices):
    return a[indices[0]]
'''


def test_a_kernel_is_compared_or_the_status_is_not_0(tmp_path, pyflat_command):
    (tmp_path / "arrays.py").write_text(ARRAYS)
    code, out, _ = pyflat_command("verify", "arrays.py:total", "--examples", "10")
    assert code == 0 and out.startswith("total: agrees with its original on numpy and numba: ")
    code, out, _ = pyflat_command("verify", "arrays.py:picked", "--examples", "10")
    assert code == 4
    assert out.startswith("picked: skipped: picked raises an exception for all arrays that were drawn")
    code, out, _ = pyflat_command("verify", "arrays.py:picked", "--examples", "10", "--kinds", "f8[:],i8[:]")
    assert code == 0 and out.startswith("picked: agrees with its original on numpy and numba: ")
    code, out, err = pyflat_command("verify", "arrays.py:picked", "--kinds", "f8[:]")
    assert (code, out) == (2, "")
    assert "--kinds 'f8[:]': 1 kinds for 2 arguments (a, indices)" in err
    assert "as --kinds 'f8[:,:],i8'" in pyflat_command("show", "arrays.py:total")[2]
