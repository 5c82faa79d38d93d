"""The NumPy target's elementary functions: the C library's bits, by calls at first and by vector code for many lanes,
which is compiled once on a machine."""

import math
import operator
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyflat
from pyflat.functions import libm, ways
from pyflat.functions.vmath import rounding
from pyflat.ir.formats import F4, F8, dtypes
from pyflat.ir.types import FLOAT, INT
from pyflat.targets.numba import library as numba_library
from pyflat.targets.numpy import library as numpy_library
from tests.support.processors import made_for

needs_vectors = pytest.mark.skipif(not numba_library.has_library_vectors(), reason="needs the GNU C library and an FMA")


@pytest.fixture(autouse=True)
def _forget():
    numpy_library._function.cache_clear()
    yield
    numpy_library._function.cache_clear()


def mixed(x: float, y: float, k: float) -> float:
    if x > y:
        return math.sin(x) * math.exp(-y) + (x - y) ** 2
    return math.log(x) ** 3 + x**y - x**0.5 / math.cos(k) + x**k + y**-1


def expected(*columns):
    return np.array([mixed(*lane) for lane in zip(*(c.tolist() for c in columns), strict=True)])


def lanes(n, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(0.1, 9, n), random.uniform(0.1, 9, n), random.uniform(-2, 2, n)


def nothing_is_kept(monkeypatch):
    """All is compiled at once."""
    for name in ("SOON", "PATIENCE", "ALONE"):
        monkeypatch.setattr(numpy_library, name, 0)
    monkeypatch.setattr(numpy_library, "kept", lambda *key: None)


@pytest.mark.parametrize("n", [1, 7, 300, 5_000, 40_000])
@needs_vectors
def test_vector_code_has_the_bits_of_the_library(monkeypatch, n):
    nothing_is_kept(monkeypatch)
    made = []
    compiled = numpy_library.compiled
    monkeypatch.setattr(numpy_library, "compiled", lambda *key: made.append(key) or compiled(*key))
    columns = lanes(n)
    twin = pyflat.twin(mixed, target="numpy", math="exact", max_trips=1000 + n)  # an engine of its own
    for _ in range(3):
        assert np.array_equal(twin(*columns), expected(*columns))
    assert np.array_equal(twin(columns[0], columns[1], 1.5), expected(*columns[:2], np.full(n, 1.5)))
    made = [key for key in made if key[0] in libm.NAMES]
    opcodes = {key[:2] for key in made}
    if n >= 5_000:
        assert {("sin", None), ("exp", None), ("log", None), ("cos", None), ("pow", None)} <= opcodes
        assert {("pow", 2.0), ("pow", 3.0), ("pow", 0.5), ("pow", -1.0)} <= opcodes
        assert len(made) == len(set(made)), "each is compiled once"
    if n < 256:
        assert not made


def test_few_lanes_compile_nothing(monkeypatch):
    def compiled(*key):
        raise AssertionError(key)

    monkeypatch.setattr(numpy_library, "compiled", compiled)
    monkeypatch.setattr(numpy_library, "kept", lambda *key: None)
    columns = lanes(10_000)
    twin = pyflat.twin(mixed, target="numpy", math="exact", max_trips=10)
    assert np.array_equal(twin(*columns), expected(*columns))


def test_without_vector_code_the_library_goes_on(monkeypatch):
    nothing_is_kept(monkeypatch)
    monkeypatch.setattr(numpy_library, "compiled", lambda *key: None)
    columns = lanes(10_000)
    twin = pyflat.twin(mixed, target="numpy", math="exact", max_trips=11)
    for _ in range(2):
        assert np.array_equal(twin(*columns), expected(*columns))


@needs_vectors
@pytest.mark.parametrize("name", sorted(rounding.TABLE))
def test_float32_lanes_are_the_rounded_results_of_float64(name):
    row = rounding.TABLE[name]
    call = numpy_library.compiled(row.name, row.exponent, (False,) * row.operands, FLOAT, F4)
    rng, plain = np.random.default_rng(3), libm.ufunc(row.name)
    powers = np.float32(10.0) ** rng.uniform(-12, 12, (2, 20_000)).astype(np.float32)
    edges = np.float32([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-45, 3e38, -3e38])
    columns = [np.concatenate([rng.uniform(-3, 3, 20_000).astype(np.float32), some, np.roll(edges, k)])
               for k, some in enumerate(powers)][: row.operands]
    wide = [column.astype(np.float64) for column in columns]
    with np.errstate(all="ignore"):
        exact = plain(*wide, *([] if row.exponent is None else [row.exponent]), np.empty_like(wide[0]))
        expected = exact.astype(np.float32)
        found = call(*columns, np.empty_like(columns[0]))
    ordered = expected == expected
    assert np.array_equal(np.isnan(found), ~ordered)
    assert np.array_equal(found[ordered].view(np.int32), expected[ordered].view(np.int32))


@needs_vectors
def test_float32_functions_are_compiled_for_float32(monkeypatch):
    made = []
    monkeypatch.setattr(numpy_library, "compiled", lambda *key: made.append(key))
    nothing_is_kept(monkeypatch)
    nothing_is_kept(monkeypatch)
    pyflat.twin(mixed, target="numpy", dtype="float32", max_trips=12)(*[x.astype(np.float32) for x in lanes(20_000)])
    assert {key[4] for key in made if key[0] in libm.NAMES} == {F4}


@needs_vectors
def test_in_place_and_overlapping():
    """The engine writes results over operands."""
    x = np.random.default_rng(1).uniform(-9, 9, 10_001)
    for opcode, exponent in (("sin", None), ("exp", None), ("pow", 2.0)):
        call = numpy_library.compiled(opcode, exponent, (False,))
        whole = call(x, np.empty_like(x))
        again = x.copy()
        call(again, again)
        assert np.array_equal(whole, again)


@needs_vectors
def test_that_a_function_was_called_is_not_kept():
    """What was decided under a forced way, or for another processor, says nothing of the next call."""
    asked = "cosh", None, (False,)
    with ways.forced(digits="called"):
        assert numpy_library.compiled(*asked) is None
    with made_for("x86-64-v2"):
        assert numpy_library.compiled(*asked) is None
    assert numpy_library.compiled(*asked) is not None


PROGRAM = """
import math, sys
import numpy as np
import pyflat
if {blocked}:
    sys.modules["llvmlite"] = sys.modules["numba"] = None

@pyflat.flatten(target="numpy", math="exact")
def f(x: float) -> float:
    return math.exp(x) if x > 0.5 else math.sin(x)

xs = np.random.default_rng(0).uniform(-2, 2, {lanes})
for _ in range({calls}):
    found = f.flat(xs)
assert found.tolist() == [f(x) for x in xs.tolist()]
from pyflat.ir import formats
from pyflat.targets.numpy import library
print("llvmlite.binding" in sys.modules, "pyflat.targets.numba.kernel" in sys.modules,
      type(library.library_function("exp", None, (False,), formats.F8)._call).__name__)
"""


def outcome(folder, lanes, calls=1, blocked=False):
    """Of a process: whether it has imported llvmlite, and the compiler, and what computes exp."""
    cache, file = folder / "cache", folder / "program.py"
    package = str(Path(pyflat.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "PYFLAT_CACHE_DIR": str(cache), "PYFLAT_CACHE": "1"}
    file.write_text(PROGRAM.format(lanes=lanes, calls=calls, blocked=blocked))
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return tuple(done.stdout.split())


@needs_vectors
def test_an_earlier_process_has_compiled_it(tmp_path):
    assert outcome(tmp_path, 4_000) == ("True", "False", "method"), "too few lanes for compiling"
    assert outcome(tmp_path, 40_000, 8) == ("True", "True", "ufunc"), "compiled"
    assert outcome(tmp_path, 4_000) == ("True", "False", "ufunc"), "found on disk, without the compiler's modules"
    assert outcome(tmp_path, 100, 100) == ("False", "False", "method"), "few lanes import nothing"
    for path in (tmp_path / "cache").glob("*.code"):
        path.write_bytes(b"")
    assert outcome(tmp_path, 4_000) == ("True", "False", "method"), "what is not this user's entry is not taken"


def test_without_llvmlite_the_library_is_called(tmp_path):
    assert outcome(tmp_path, 40_000, 4, blocked=True) == ("False", "False", "method")


@pytest.mark.parametrize("uniform", [(False,) * 3, (False, True, False), (False, False, True)])
@pytest.mark.parametrize(("kind", "floats"), [(FLOAT, F8), (FLOAT, F4), (INT, F8), (INT, F4)])
def test_compiled_selects_copy_the_bits(uniform, kind, floats):
    """Of nans and zeros too, in place and strided."""
    call = numpy_library.compiled("select", None, uniform, kind, floats)
    dtype = dtypes(floats)[kind]
    random = np.random.default_rng(0)
    for n in (1, 7, 64, 1_001):
        condition = random.random(2 * n) < 0.5
        first, second = (random.integers(-2**31, 2**31, 2 * n * dtype.itemsize // 4, np.int64).astype(np.int32).view(dtype)
                         for _ in range(2))
        a, b = (np.asarray(x[0]) if same else x for x, same in zip((first, second), uniform[1:], strict=True))
        wanted = np.where(condition, a, b).tobytes()
        assert call(condition, a, b, np.empty(2 * n, dtype)).tobytes() == wanted
        own = (a if a.ndim else b).copy()
        call(condition, *(own if x is (a if a.ndim else b) else x for x in (a, b)), own)
        assert own.tobytes() == wanted
        strided = call(condition[::2], *(x[::2] if x.ndim else x for x in (a, b)))
        assert strided.tobytes() == np.frombuffer(wanted, dtype)[::2].tobytes()


@pytest.mark.parametrize("comparison", ["lt", "le", "gt", "ge"])
def test_compiled_extremes_are_pythons(comparison):
    call = numpy_library.compiled(comparison, None, (False, False))
    edges = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324]
    rows = [(a, b) for a in edges for b in edges] * 9
    holds = getattr(operator, comparison)
    found = call(*(np.array(column) for column in zip(*rows, strict=True)))
    assert found.tobytes() == np.array([a if holds(a, b) else b for a, b in rows]).tobytes()
