"""Functions of vector code that are called: the same bits, compiled once for all that call them."""

import math
import subprocess
import sys

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba import called_functions, compilation, disk_cache, jit, library

if not library.has_library_vectors():
    pytest.skip("no vector code with the C library's bits here", allow_module_level=True)

X = np.concatenate([np.linspace(-3.0, 40.0, 1_000), [5e-324, 1e-310, 1e100, 0.0, -0.0, 1.0]])


def powers(x):
    if x < -2.0:
        return 0.25
    return abs(x) ** 1.37 + math.exp(-abs(x)) * abs(x) ** 0.125 + math.sin(x) + x ** 2


def other(x):
    if x < -1.0:
        return 0.5
    return abs(x) ** 2.625 + math.exp(-abs(x)) + math.atan2(x, 2.0)


@pytest.fixture
def modules(monkeypatch, tmp_path):
    """The functions that were called by what was compiled; all are called, and nothing is kept that was there before."""
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("PYFLAT_CACHE", raising=False)
    monkeypatch.setattr(called_functions, "MOST_INLINED", 0)
    monkeypatch.setattr(jit, "_functions", {})
    disk_cache._opened_at.cache_clear()
    seen, compile_ir = [], compilation.compile_ir

    def compiled(*given, called, **more):
        seen.append(set(called))
        return compile_ir(*given, called=called, **more)

    monkeypatch.setattr(compilation, "compile_ir", compiled)
    return seen


def run(fn, x=X, **options):
    return pyflat.twin(fn, target="numba", math="exact", cache=False, **options)(x)


@pytest.mark.parametrize("fn", [powers, other])
@pytest.mark.parametrize("lanes", [1, 8, 16, len(X)])
def test_the_same_bits_as_the_original(fn, lanes, modules):
    x = X[-lanes:]
    assert run(fn, x).tolist() == [fn(value) for value in x.tolist()]
    assert any("called_pow" in name for called in modules for name in called)


def test_float32_lanes(modules):
    x = np.linspace(0.0, 9.0, 1_000, dtype=np.float32)
    called = run(powers, x)
    called_functions.MOST_INLINED = 99  # the fixture puts it back
    assert np.array_equal(called, run(powers, x))


def test_functions_without_many_calls_are_inlined(modules):
    called_functions.MOST_INLINED = 8
    run(powers)
    assert modules == [set()]


def test_a_function_is_translated_once_for_all_twins(modules, monkeypatch):
    made, translate = [], jit._translated
    monkeypatch.setattr(jit, "_translated", lambda *given: (made.append(given[0]), translate(*given))[1])
    run(powers, X[:8])
    first = len(made)
    run(other, X[:8])
    shared = modules[0] & modules[1]
    assert any("called_exp" in name for name in shared)
    assert len(made) - first == 1 + len(modules[1] - shared)


@pytest.mark.parametrize("keep", ["nothing", "the kernel", "functions"])
def test_damaged_entries_are_translated_again(keep, modules, tmp_path):
    expected = run(powers, X[:8])
    entries = sorted(tmp_path.glob("*" + disk_cache.SUFFIX), key=lambda path: path.stat().st_size)
    assert len(entries) > len(modules[0]) > 0
    spoiled = {"nothing": entries, "the kernel": entries[:-1], "functions": entries[-1:]}[keep]
    for path in spoiled:
        path.write_bytes(path.read_bytes()[:-3] + b"xyz")
    jit._functions.clear()
    disk_cache._opened_at.cache_clear()
    assert run(powers, X[:8]).tolist() == expected.tolist()


def test_another_processor_has_other_functions(modules, monkeypatch):
    run(powers, X[:8])
    before = set(jit._functions)
    monkeypatch.setenv("NUMBA_CPU_NAME", "broadwell")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx,+avx2,+fma,+bmi,+bmi2,+sse4.2,+popcnt")
    assert run(powers, X[:8]).tolist() == [powers(value) for value in X[:8].tolist()]
    assert set(jit._functions) > before


def test_what_is_shown_has_the_functions(modules):
    twin = pyflat.twin(powers, target="numba", math="exact")
    twin(X)
    assert "define" in twin.inspect_llvm().split("called_pow", 1)[1]
    assert "called_pow" in twin.inspect_asm()


PROGRAM = """
import math, sys
import numpy as np
import pyflat
from pyflat.targets.numba import jit

made, translate = [], jit._translated
jit._translated = lambda *given: (made.append(1), translate(*given))[1]

def f(x):
    if x < 0.0:
        return 1.0
    return x ** 1.37 + math.exp(-x) * x ** 0.125 + math.log(x + 1.0) + math.sin(x) + math.cos(x * 0.5) * x ** 3.3

x = np.linspace(0.0, 9.0, 8)
assert pyflat.twin(f, target="numba", math="exact")(x).tolist() == [f(value) for value in x.tolist()]
print(len(made))
"""


def test_a_second_process_translates_nothing(modules, tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    counts = [int(subprocess.run([sys.executable, str(program)], check=True, capture_output=True, text=True).stdout)
              for _ in range(2)]
    assert counts[0] > 2 and counts[1] == 0
