"""Ways: each can be forced, each value of each runs other code, and results are those of the original."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.runtime.compiled import compilations
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.library import has_library_vectors
from pyflat.targets.numpy import engine as numpy_target
from tests.generator.kept import own_cache
from tests.generator.ways import COVERING, run_of

WAYS = list(ways.REGISTRY.values())
X = np.random.default_rng(0).uniform(-5.0, 5.0, 3000)
Y = np.abs(X[::-1]) + 0.5
N = np.arange(3000) % 50


def arms(x: float, y: float):
    if x > 3.0:
        return math.sin(x) * math.exp(y) + math.log(x) * math.atan2(x, y) + math.cosh(y)
    return x + y


def loop(x: float, y: float):
    n = 0
    while x < 50.0 and n < 1000:
        x = x * 1.1 + y
        n += 1
    return x + n


def roots(x: float, y: float):
    return math.pow(y, 1.7) + math.pow(y, 2.3), math.log(y) * x


def ints(x: float, n: int):
    m = n & 255
    for k in range(8):
        m = (m * 7 + k) & 1023
    return x + m


def scalars(x: float, a: float, b: float, c: float):
    return x * a + b - c


def nest(a, b, out):
    for i in range(1, a.shape[1] - 1):
        total = 0.0
        for j in range(a.shape[0]):
            total += math.exp(a[j, i]) * b[j, i + 1]
        out[i] = total + math.sqrt(abs(b[0, i]))


def running(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        total = total * 0.5 + math.exp(x[i])
        out[i] = total


def after(x, out):
    t = np.empty((x.shape[0], x.shape[1]))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t[i, j] = x[i, j] * 2.0
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = t[i, j] + t[i - 1, j]


CASES = {
    arms: (X, Y), loop: (X, Y), roots: (X, Y), ints: (X, N), scalars: (X, 2.0, 3.0, 4.0),
    nest: (X[:600].reshape(20, 30) / 8.0, Y[:600].reshape(20, 30), np.zeros(30)),
    running: (X, np.zeros(3000)), after: (X.reshape(50, 60), np.zeros((50, 60))),
}
KERNELS = (nest, running, after)
STORED = {arms: (X.astype(np.float32), Y), ints: (X, N.astype(np.int16))}


FUNCTIONS = (ways.FUNCTIONS, ways.DIGITS, ways.KERNEL_LANES, ways.KERNEL_SPLITS)
"""Ways of vector code with functions in it."""
BY_CALL = (ways.THREADS, ways.CALLS, ways.ORIGIN, ways.KERNEL_RUNS)
"""Ways that are no other code, but other steps: what is noted says it."""


def ran(fn, args, target: str, way: ways.Way, value: str):
    """What code a twin has, after some calls."""
    needs = {"digits": "bounded"} if way is ways.DOUBTS else {}
    with ways.forced(**{way.name: value}, **needs):
        twin = pyflat.twin(fn, target=target)
        for _ in range(3):
            twin(*args)
        if way in BY_CALL:
            return twin.stats.ways.get(way.name)
        if target == "numba":
            return twin.inspect_llvm()
        patterns = compilations(fn).last(twin.options.as_built).engine._patterns._made.values()
        return [(made.text(style), made.function(style)[1], numpy_target.patience())
                for made in patterns for style in made.styles]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_each_value_of_a_way_is_other_code(way):
    if way in (ways.REGROUP, ways.DOUBTS, ways.STORES) and processor().vector_bytes < 64:
        pytest.skip("needs vectors of 512 bits")
    if way in FUNCTIONS and not has_library_vectors():
        pytest.skip("functions are called lane by lane here")
    target = "numpy" if "(NumPy)" in way.about else "numba"
    for a, b in itertools.combinations(way.values, 2):
        if way is ways.LIBRARY:
            assert _library(a) != _library(b)
        elif way is ways.DENSE:
            assert _dense(a) != _dense(b)
        elif way is ways.PACKED:
            assert _packed(a) != _packed(b)
        elif way is ways.GAPS:
            assert _gaps(a) != _gaps(b)
        elif way is ways.KERNEL_WATCH:
            assert _careful(a) != _careful(b)
        else:
            given = [(fn, args) for fn, args in [*CASES.items(), *STORED.items()]
                     if target == "numba" or fn not in KERNELS or way is ways.KERNEL_RUNS]
            around = own_cache() if way is ways.ORIGIN else ways.forced()
            with around:
                assert any(ran(fn, args, target, way, a) != ran(fn, args, target, way, b) for fn, args in given), (a, b)


def _gaps(value: str) -> tuple[str, ...]:
    pd = pytest.importorskip("pandas")

    def doubled(x):
        return 0.0 if pd.isna(x) else x * 2.0

    with ways.forced(gaps=value):
        twin = pyflat.twin(doubled)
        assert twin(pd.Series([1.5, None, 2.5] * 200, dtype="Float64"))[1] == 0.0
        return twin.stats.ways["gaps"]


def _library(value: str) -> list[bool]:
    from pyflat.targets.numpy.library import library_function

    with ways.forced(library=value):
        function = library_function("exp", None, (False,), pyflat.ir.formats.F8)
        function(X, np.empty_like(X))
        return [function._call == function._count]


def _entry(value: str, name: str):
    with ways.forced(**{name: value}):
        twin = pyflat.twin(scalars, target="numba")
        twin(*CASES[scalars])
        engine = compilations(scalars).last(twin.options.as_built).engine
        return engine.entry_point([np.dtype(float), None, None, None])


def _dense(value: str) -> bool:
    entry = _entry(value, "dense")
    with ways.forced(dense=value):
        return entry.dense([None, float, float, float], 100) is None


def _packed(value: str) -> bool:
    return _entry(value, "packed").blocks is None


def _careful(value: str) -> list[bool]:
    with ways.forced(kernel_watch=value):
        twin = pyflat.twin(running, target="numba")
        twin(*CASES[running])
        return list(twin._caller.kernels.latest_for(twin.options).compiled._versions)


@pytest.mark.turns(3)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("row", range(len(COVERING)))
def test_results_do_not_depend_on_the_way(target, row):
    for fn, args in [*CASES.items(), *STORED.items()]:
        given = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        is_kernel = fn in KERNELS
        if is_kernel:
            fn(*given)
            wanted = given[-1]
        else:
            lanes = np.broadcast_arrays(*given)
            wanted = [fn(*lane) for lane in zip(*[lane.tolist() for lane in lanes], strict=True)]
        with run_of(3 * row + 1).forced(), ways.forced(**COVERING[row]):
            twin = pyflat.twin(fn, target=target)
            for _ in range(3):
                given = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
                found = twin(*given)
                if is_kernel:
                    assert given[-1].tobytes() == wanted.tobytes()
                else:
                    found = list(zip(*found, strict=True)) if isinstance(found, tuple) else found.tolist()
                    assert found == wanted


def test_every_pair_of_values_is_in_a_row():
    for a, b in itertools.combinations(WAYS, 2):
        met = {(row[a.name], row[b.name]) for row in COVERING}
        assert met == set(itertools.product(a.values, b.values)), (a, b)
    assert len(COVERING) < 30


def test_a_block_ends_what_it_forced():
    with pytest.raises(ZeroDivisionError), ways.forced(arms="branch", kernel_lanes="in order"):
        1 / (ways.key() != ("arms=branch", "kernel lanes=in order"))
    assert ways.key() == ()


@pytest.mark.parametrize(("choices", "message"), [
    ({"arm": "branch"}, "'arm' is not a way; the ways are arms, refill"),
    ({"arms": "plain"}, "arms='plain': expected one of 'branch', 'select'"),
])
def test_wrong_ways_are_named(choices, message):
    with pytest.raises(ValueError, match=message), ways.forced(**choices):
        pass


def test_the_environment_forces_ways():
    code = "from pyflat.functions import ways; print(*ways.key(), sep=';')"
    run = [sys.executable, "-c", code]
    there = {**os.environ, "PYFLAT_WAYS": "arms=branch, kernel lanes=in order"}
    assert subprocess.run(run, env=there, capture_output=True, text=True, check=True).stdout == "arms=branch;kernel lanes=in order\n"
    wrong = subprocess.run(run, env={**os.environ, "PYFLAT_WAYS": "arms=no"}, capture_output=True, text=True, check=False)
    assert "ValueError: arms='no': expected one of" in wrong.stderr


UNTOLD = {"stores", "digits", "gaps"}
"""What addresses decide in each call; what `stats.functions` says; what is of frames."""


def test_stats_tell_all_ways():
    several = [*CASES.items(), *STORED.items(), (scalars, (X.astype(np.float32), 2.0, 3.0, 4.0))]
    met: dict[str, set[str]] = {}
    with ways.forced(digits="bounded"):
        for target, (fn, args) in itertools.product(("numpy", "numba"), several):
            twin = pyflat.twin(fn, target=target)
            for _ in range(4):
                twin(*args)
            for name, values in twin.stats.ways.items():
                met.setdefault(name, set()).update(values)
    possible = set(ways.REGISTRY) - UNTOLD
    if processor().vector_bytes < 64:
        possible -= {"regroup"}
    assert set(met) == possible


def test_stats_say_which_ran():
    twin = pyflat.twin(loop, target="numba")
    assert twin.stats.ways == {}
    twin(X, Y)
    assert twin.stats.ways["calls"] == ("long",) and twin.stats.ways["few"] == ("many",)
    twin(X, Y)
    assert twin.stats.ways["calls"] == ("plan", "long")
    with ways.forced(refill="refilled"):
        other = pyflat.twin(loop, target="numba")
        other(X, Y)
    assert other.stats.ways["refill"] == ("refilled",)
    assert "refilled" not in pyflat.twin(loop, target="numpy").stats.ways
    assert ways.merged([{"few": {"many"}}, {"few": {"few"}, "arms": {"select"}}]) == {"arms": ("select",), "few": ("few", "many")}
