"""Kernels in an extension of `pyflat build`, where pyflat cannot be imported, against their originals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_show import pyflat
from tests.generator.exported import check_built
from tests.generator.kernels import generate

LIBRARY = '''\
import math, numpy as np
def diffuse(a, out, k=0.25):
    """One step."""
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            out[i, j] = a[i, j] + k * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4.0 * a[i, j])
def shifted(x, n):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i], x[i] = math.exp(-x[i]) * x[i + n], -1.0
    return y, n + 1, x, x[1:], "done"
def escape(c, out, most):
    for i in range(c.shape[0]):
        z, k = 0.0, 0
        while z < 4.0 and k < most:
            z, k = math.sin(z * z) * 3.0 + c[i], k + 1
        out[i] = k
def modulo(x, n):
    for i in range(len(x)): x[i] = x[i] % (n - i)
def first(x, wanted, up=True):
    for i in range(len(x)):
        if (x[i] > wanted) == up: return x[i]
def ratio(x, y): return x[0] / y[0]
'''
KINDS = ("ratio", "f8[:]"), ("diffuse", "f8[:,:],f8[:,:],f8"), ("diffuse", "f4[:,:],f4[:,:],f8"), ("shifted", "f8[:],i8"), (
    "escape", "f8[:],i4[:],i8"), ("modulo", "i8[:],i8"), ("first", "f8[:],f8,b"), *[("ratio", "f8[:],f8[:]")] * 2
PROJECT = f"""[tool.pyflat]\nbuild = "mylib/_fast"\nfunctions = [{", ".join(
    f'{{ function = "mylib.grid:{name}", kinds = "{kinds}" }}' for name, kinds in KINDS)}]\n"""
CASES = {  # a call -> whether the original runs for it
    "diffuse(A.copy(), A * 0.0, 0.3)": 0, "diffuse(A.astype('f4'), np.ones((90, 80), 'f4'))": 0,
    "diffuse(A.T, np.ones((90, 160)).T[::2], 0.3)": 0, "diffuse(A, A, 0.3)": 1, "diffuse(A[:40], A[20:60], 0.3)": 1,
    "diffuse(A[:0], A[:0].copy())": 0, "diffuse(A, np.ones((3, 3)))": 1, "diffuse(A, A * 0.0, np.float64(0.3))": 1,
    "modulo(np.arange(40), 20)": 1, "diffuse(np.frombuffer(b'1' * 65, 'f8', 8, 1).reshape(4, 2), np.ones((4, 2)))": 0,
    "shifted(A[0].copy(), 0)": 0, "shifted(A[0].copy(), 3)": 1, "shifted(A[:, 1].copy()[::-2], -5)": 0,
    "shifted(A[0].copy(), 2**70)": 1, "escape(A[0].copy(), np.zeros(80, 'i4'), 50)": 0,
    "escape(np.resize(A, 30_000), np.zeros(30_000, 'i4'), 9)": 0, "modulo(np.arange(40), 100)": 0,
    "modulo(np.arange(80)[::2], 7)": 1, "first(A[0], 0.5)": 0, "first(A[0], 2.0)": 0, "ratio(A[0], A[1] * 0.0)": 1}
ALONE = '''
import _thread, pickle, sys, threading, warnings
sys.modules.update(dict.fromkeys(["pyflat", "numba", "llvmlite"]))
import numpy as np, mylib.grid as g
runs, originals = [], {name: fn for name, fn in vars(g).items() if callable(fn)}
vars(g).update({name: lambda *args, _fn=fn: (runs.append(1), _fn(*args))[1] for name, fn in originals.items()})
import mylib._fast as f
def seen(functions, call):
    name, _, args = call[:-1].partition("(")
    given = eval("(" + args + ",)", {"np": np, "A": np.random.default_rng(1).random((90, 80))})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result = functions[name](*given)
        except Exception as error:
            result = repr(error)
    return pickle.dumps([result, given, [str(one.message) for one in found]])
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "mylib").mkdir()
    for name, text in (("mylib/__init__.py", ""), ("mylib/grid.py", LIBRARY), ("pyproject.toml", PROJECT)):
        (folder / name).write_text(text)
    run = pyflat("build", cwd=folder)
    assert run.returncode == 1 and run.stderr.count(b"\n") == 2 and b"another function ratio" in run.stderr
    return folder


def alone(folder: Path, program: str, level: str = "") -> str:
    run = subprocess.run([sys.executable, "-c", ALONE + program], cwd=folder, capture_output=True, text=True, check=False,
                         env={**os.environ, **({"PYFLAT_LEVEL": level} if level else {})})
    if "this processor has" in run.stderr:
        pytest.skip("a level that this processor does not have")
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_kernels_do_what_their_originals_do(library: Path, level: str) -> None:
    differ = "seen(originals, call) != (runs.clear() or seen(vars(f), call)) or len(runs) != by_original"
    program = f"print(f.__level__, [call for call, by_original in {CASES!r}.items() if {differ}])"
    assert alone(library, program, level) == f"{level} []\n"


@pytest.mark.parametrize(("program", "said"), [
    ("f.modulo(np.ones(3), 2)", "TypeError modulo() was built for 'x' as an array of int64, 1-dimensional, not ndarray of float64, 1-dimensional"),
    ("f.modulo(np.broadcast_to(3, 5), 5)", "ValueError assignment destination is read-only: modulo writes into 'x'"),
    ("np.seterr(all='ignore'); print(f.ratio(y=z, x=np.ones(3)), runs, f.diffuse.__doc__)", "inf [] One step."),
    ("np.seterr(all='raise'); f.ratio(np.ones(3), np.zeros(3))", "FloatingPointError divide by zero encountered"),
    ("threading.Timer(0.2, _thread.interrupt_main).start(); f.escape(z, z.astype('i4'), 2**60)", "KeyboardInterrupt")])
def test_calls_that_end_otherwise(library: Path, program: str, said: str) -> None:
    program = f"z = np.zeros(9)\ntry:\n    {program}\nexcept BaseException as error:\n    print(type(error)"
    assert alone(library, program + ".__name__, error)").startswith(said)


def test_random_kernels(tmp_path: Path) -> None:
    counts, differences = check_built(map(generate, range(80, 88)), tmp_path)
    assert not differences and counts["built"] > 5, (counts, differences)
