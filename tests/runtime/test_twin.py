"""The twin as an object: callables below it, identity, lifetime, pickling, threads."""

import colorsys
import copy
import functools
import gc
import pickle
import subprocess
import sys
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

import pyflat
from pyflat.runtime import compiled
from tests.runtime import functions as f
from tests.support.concurrency import on_threads

XS = np.array([1.0, 2.0])


def test_a_function_of_another_package_is_left_untouched():
    before = dict(vars(colorsys))
    assert pyflat.twin(colorsys.rgb_to_yiq)(1.0, 0.5, 0.25) == colorsys.rgb_to_yiq(1.0, 0.5, 0.25)
    assert vars(colorsys) == before
    assert vars(colorsys.rgb_to_yiq) == {}


def test_bound_methods_have_a_static_self(builds):
    scale = f.Scale(3.0)
    twin = pyflat.twin(scale.apply)
    assert twin(XS).tolist() == [3.0, 6.0]
    assert pyflat.twin(scale.apply) is twin
    assert pyflat.twin(f.Scale(4.0).apply)(XS).tolist() == [4.0, 8.0]
    assert len(builds) == 2


def test_partials_are_static_where_they_are_filled():
    assert pyflat.twin(functools.partial(f.product, 3.0))(XS).tolist() == [3.0, 6.0]
    assert pyflat.twin(functools.partial(f.product, b=3))(XS).tolist() == [3.0, 6.0]
    assert pyflat.twin(functools.partial(f.labelled, how="twice"))(XS).tolist() == [2.0, 4.0]
    assert pyflat.twin(functools.partial(f.labelled, how="twice"))(XS, how="plain").tolist() == [1.0, 2.0]
    assert pyflat.twin(functools.partial(f.spread, 1.0, 2.0))(XS).tolist() == [4.0, 5.0]
    assert pyflat.twin(functools.partial(f.Scale(3.0).apply))(XS).tolist() == [3.0, 6.0]
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(functools.partial(f.checked, y=0.0))(XS)


def test_callables_around_a_function():
    class Call:
        def __call__(self, x):
            return x + 1

    assert pyflat.twin(Call())(XS).tolist() == [2.0, 3.0]
    assert pyflat.twin(functools.lru_cache(f.inverse))(XS).tolist() == [1.0, 0.5]


def test_numba_dispatchers():
    numba = pytest.importorskip("numba")
    twin = pyflat.twin(numba.njit(f.inverse))
    assert twin(XS).tolist() == [1.0, 0.5]
    with pytest.raises(ZeroDivisionError):
        twin(np.zeros(2))


def test_twins_are_cached_by_function_and_options():
    twin = pyflat.twin(f.inverse)
    assert pyflat.twin(f.inverse) is twin
    assert pyflat.twin(f.inverse, static="x") is pyflat.twin(f.inverse, static=["x"])
    assert twin.to("numba") is pyflat.twin(f.inverse, target="numba")
    assert twin.with_options(max_unroll=3) is pyflat.twin(f.inverse, max_unroll=3)
    assert twin.with_options(max_unroll=3).to("numba").options.max_unroll == 3
    assert twin != twin.to("numba")
    assert len({twin, twin.to("numba"), pyflat.twin(f.inverse)}) == 2


def test_what_is_compiled_outlives_the_twin_object(builds):
    def g(x):
        return x + 1

    for _ in range(3):
        pyflat.twin(g)(XS)
        gc.collect()
    assert len(builds) == 1


def test_functions_are_not_kept_alive():
    def make():
        k = object()

        def g(x):
            return x if k else x

        return g

    g = make()
    alive = weakref.ref(g)
    pyflat.twin(g)
    pyflat.flatten(g)
    del g
    gc.collect()
    assert alive() is None


def test_a_new_function_never_gets_an_old_twin():
    def make(k):
        def g(x):
            return x + k
        return g

    for k in range(50):
        assert pyflat.twin(make(float(k)))(1.0) == 1.0 + k


def test_kinds_and_static_values_are_separate_entries(builds):
    def g(x, y):
        return x + y

    twin = pyflat.twin(g)
    assert twin(1, 2) == 3
    assert type(twin(1, 2.0)) is float
    twin(XS, 1)
    twin(XS, True)
    twin(2, 2.5)
    assert len(builds) == 4


def test_repr_shows_signature_target_and_state():
    def g(x, *, k=2):
        return x + k

    twin = pyflat.twin(g, target="numpy")
    assert repr(twin) == "<pyflat twin g_flat(x, *, k=2), target='numpy', not flattened yet>"
    twin(1.0)
    assert repr(twin).endswith("1 kind compiled>")
    twin(1)
    assert repr(twin).endswith("2 kinds compiled>")


def test_pickle_is_a_reference():
    for twin in (f.shade.flat, pyflat.twin(f.inverse, max_unroll=5), pyflat.twin(f.Scale.apply)):
        assert pickle.loads(pickle.dumps(twin)) is twin
    method = pickle.loads(pickle.dumps(pyflat.twin(f.Scale(3.0).apply)))
    assert method(XS).tolist() == [3.0, 6.0]
    partial = pickle.loads(pickle.dumps(pyflat.twin(functools.partial(f.product, 3.0))))
    assert partial(XS).tolist() == [3.0, 6.0]


def test_copies_are_the_twin_itself():
    twin = pyflat.twin(lambda x: x)
    assert copy.copy(twin) is twin
    assert copy.deepcopy({"t": twin})["t"] is twin


def test_unknown_attributes():
    with pytest.raises(AttributeError, match="'sourc'"):
        _ = pyflat.twin(f.inverse).sourc


def test_eight_threads_flatten_once(builds, monkeypatch):
    below = compiled.build

    def slow(*args):
        time.sleep(0.05)
        return below(*args)

    monkeypatch.setattr(compiled, "build", slow)
    scale = f.Scale(2.0)
    for fn in (lambda x: x * 2.0, scale.apply):
        builds.clear()
        start = threading.Barrier(8)
        got = []

        def call(_):
            start.wait()
            got.append(pyflat.twin(fn)(XS).tolist())

        on_threads(call, 8)
        assert got == [[2.0, 4.0]] * 8
        assert len(builds) == 1


class Switch:
    """Guards that can be made stale."""

    def __init__(self):
        self.changed = None

    def stale(self):
        return self.changed


def test_stale_guards_flatten_again(builds, monkeypatch):
    below = compiled.build
    guards = []

    def guarded(fn, arguments, options):
        made = below(fn, arguments, options)
        guards.append(Switch())
        return compiled.Built(made.engine, made.result, guards[-1], made.arguments)

    monkeypatch.setattr(compiled, "build", guarded)
    twin = pyflat.twin(lambda x: x + 1.0)
    twin(XS)
    twin(XS)
    assert len(builds) == 1
    guards[0].changed = "K"
    twin(XS)
    twin(XS)
    assert len(builds) == 2


def test_old_entries_are_dropped(builds, monkeypatch):
    monkeypatch.setattr(compiled, "MAX_ENTRIES", 3)
    twin = pyflat.twin(lambda x, n: x + n, static="n")
    for n in (0, 1, 2, 3, 3, 2, 0):
        assert twin(1.0, n) == 1.0 + n
    assert len(builds) == 4  # the first value of n has a plan still
    assert twin._caller.compilations.count(twin.options.as_built) == 3


@pytest.mark.parametrize("statement", ["import pyflat", "import pyflat; pyflat.flatten(lambda x: x)"])
def test_importing_and_decorating_load_nothing_heavy(statement):
    script = f"""
import sys, numpy
{statement}
heavy = {{"libcst", "numba", "click", "rich", "hypothesis"}}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names():
    for name in pyflat.__all__:
        assert getattr(pyflat, name) is not None
        assert name in dir(pyflat)
    own = {name for name in dir(pyflat) if not name.startswith("__")}
    modules = own - set(pyflat.__all__)
    assert modules == {"backend", "dataflow", "graphics", "ir", "prove", "survey", "targets", "testing", "vec"}
    assert all(getattr(pyflat, name).__name__.endswith(f".{name}") for name in modules)
    with pytest.raises(AttributeError, match="no attribute 'flaten'"):
        _ = pyflat.flaten


def test_targets_with_functions_are_attributes():
    script = "import pyflat, sys; print(sorted(n for n in dir(pyflat.targets) if n[0] != '_'), pyflat.targets.xp.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['Engine', 'Request', 'Target', 'jax', 'polars', 'register', 'sql', 'xp'] pyflat.targets.xp"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pyflat.targets.nothing


def test_a_refusal_has_no_lines_of_pyflat_above_it(monkeypatch):
    """The place that counts is in the message; PYFLAT_TRACEBACK=1 shows those of the compiler."""
    twin = pyflat.twin(lambda x: open(x))

    def frames():
        with pytest.raises(pyflat.FlattenError) as caught:
            twin(XS)
        return traceback.extract_tb(caught.value.__traceback__)

    assert [frame.name for frame in frames()] == ["frames"]
    monkeypatch.setenv("PYFLAT_TRACEBACK", "1")
    assert len(frames()) > 5


ENTRY_POINTS = {
    "by_name": lambda f: pyflat.twin(f).by_name({"x": XS}), "compile": lambda f: pyflat.twin(f).compile(float),
    "explain": lambda f: pyflat.twin(f).explain(), "faults": lambda f: pyflat.twin(f).faults(XS),
    "flatten": lambda f: pyflat.flatten(source="def g(): 0")(f), "function": lambda f: pyflat.twin(f).function,
    "gufunc": lambda f: pyflat.twin(f, signature="(n)->()", static="y").gufunc,
    "profile": lambda f: pyflat.twin(f).profile(XS),
    "replay": lambda f: pyflat.twin(f).replay(1.0), "roles": lambda f: pyflat.twin(f, arrays=("y",)).roles,
    "show": lambda f: pyflat.twin(f).show(), "source": lambda f: pyflat.twin(f).source,
    "twin": lambda f: pyflat.twin("x + 1"), "ufunc": lambda f: pyflat.twin(f).ufunc,
    "verify": lambda f: pyflat.twin(f).verify(XS),
}


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_a_refusal_by_an_entry_point_has_no_lines_of_pyflat(name, monkeypatch):
    def files():
        with pytest.raises(pyflat.FlattenError) as caught:
            ENTRY_POINTS[name](lambda x: open(x))
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        return {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}

    assert files() == {__file__}
    monkeypatch.setenv("PYFLAT_TRACEBACK", "1")
    assert files() > {__file__}


def third(x: float, limit: float) -> float:
    if x > limit:
        raise ValueError(x)
    return x / 3.0


def fill(values, count):
    for i in range(count):
        values[i] = 1 // count + len(values)
    return values[count]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("fn", "good", "bad"), [
    (third, (XS, 1e9), (XS, -1e9)), (fill, (np.zeros(3), 2), (np.zeros(3), 3)),
    (lambda x, limit: 2**62 * int(x > limit) * 4, (XS, 1e9), (XS, -1e9))], ids=["lanes", "kernel", "lane error"])
def test_an_exception_has_no_lines_of_pyflat_above_the_original(fn, good, bad, target, monkeypatch):
    """At the first call, and where a plan gives up."""
    twin = pyflat.twin(fn, target=target)

    def files():
        with pytest.raises((ValueError, IndexError)) as caught:
            twin(*bad)
        return [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]

    first = files()
    for _ in range(3):
        twin(*good)
    assert type(twin).__call__ is not pyflat.Twin.__call__, "no plan was made"
    assert {*first, *files()} == {__file__}
    monkeypatch.setenv("PYFLAT_TRACEBACK", "1")
    assert len(files()) > 5
