"""Twins in other processes: by reference where the function can be imported there, else by source."""

import functools
import linecache
import math
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import pyflat
from pyflat.runtime import pickling
from pyflat.runtime.content import content_hash
from tests.runtime import functions as f

XS = np.array([-1.5, 0.25, 3.0])
RATE = 0.25


def there(value):
    """What arrives: made anew even where the same bytes have arrived before."""
    data = pickle.dumps(value)
    pickling._arrived.clear()
    return pickle.loads(data)


def helper(x):
    return x * RATE if x > 0 else -x


def twice(fn):
    def both(x):
        return fn(fn(x))

    return both


def make(rate):
    @pyflat.flatten(errors="nan")
    def scaled(x, by=(1.0, 2.0), *, plus=0.5):
        """Scaled."""
        return helper(x) * rate + by[1] if x > 1 else x + plus

    if rate < 0:
        later = 1.0

    def early(x):
        return x if x < 100 else later

    return scaled, early


def assert_same_values(twin, *args):
    arrived = there(twin)
    assert arrived is not twin
    assert np.array_equal(arrived(*args), twin(*args), equal_nan=True)
    assert arrived.settings == twin.settings
    assert content_hash(arrived) == content_hash(twin)
    again = there(arrived)
    assert np.array_equal(again(*args), twin(*args), equal_nan=True)
    return arrived


def test_functions_without_a_home_travel():
    scaled, early = make(3.0)
    assert there(pyflat.twin(early)).original(2.0) == 2.0  # `later` has no value, there neither
    lambdas = [lambda x, t=(1.0, 2.0): x * t[1] if x > 0 else t[0], lambda x: x + 1]
    for fn in (scaled, *lambdas, twice(helper), twice(lambdas[1]), functools.partial(lambda k, x: x * k, 3.0),
               functools.partial(f.product, 2.0), f.Scale(3.0).apply):
        assert_same_values(pyflat.twin(fn), XS)
    for target in ("numpy", "numba"):
        assert_same_values(pyflat.twin(scaled, target=target), XS)


def test_what_arrives_is_the_function():
    scaled, _ = make(3.0)
    arrived = there(scaled.flat).original
    assert (arrived.__name__, arrived.__qualname__, arrived.__doc__) == ("scaled", scaled.__qualname__, "Scaled.")
    assert arrived(2.0, plus=1.0) == scaled(2.0, plus=1.0)
    assert arrived(0.5) == scaled(0.5)
    assert arrived.flat.settings == scaled.flat.settings
    assert arrived.flat.original is arrived
    assert arrived.__code__.co_firstlineno == scaled.__code__.co_firstlineno
    assert pyflat.twin(arrived).settings == scaled.flat.settings
    assert pickle.loads(pickle.dumps(scaled.flat)) is pickle.loads(pickle.dumps(scaled.flat))


def test_functions_that_call_each_other_travel():
    scope = {"__name__": "__main__"}
    cell(scope, "def even(n):\n    return True if n == 0 else odd(n - 1)\n"
                "def odd(n):\n    return False if n == 0 else even(n - 1)\n", "cell-1")
    arrived = there(pyflat.twin(scope["even"], static="n")).original
    assert arrived(10) and not arrived(7)
    assert arrived.__globals__["odd"].__globals__ is arrived.__globals__


def cell(scope, text, name):
    linecache.cache[f"<{name}>"] = len(text), None, text.splitlines(keepends=True), f"<{name}>"
    exec(compile(text, f"<{name}>", "exec"), scope)


def test_cells_of_a_notebook_travel():
    scope = {"__name__": "__main__"}
    cell(scope, "import math\nfrom dataclasses import dataclass\nRATE = 2.0\n@dataclass\nclass P:\n    a: float\n"
                "    def size(self):\n        return abs(self.a)\n", "cell-1")
    cell(scope, "def fn(p: 'P', scale=1.0):\n    return math.sqrt(p.size()) * RATE if p.a > 0 else -scale\n", "cell-2")
    twin = pyflat.twin(scope["fn"], target="numba")
    wanted = twin(scope["P"](XS)).tolist()
    pytest.importorskip("cloudpickle")
    arrived, made = there((twin, 1))[0], pickle.loads(pickling.dumps(scope["P"], "P"))
    linecache.cache.pop("<cell-2>")
    assert arrived(made(XS)).tolist() == wanted
    scope["RATE"] = 3.0
    assert arrived(made(XS)).tolist() == wanted


def test_what_cannot_travel_is_named():
    lock = threading.Lock()
    with pytest.raises(pickle.PicklingError, match=r"cannot pickle lambda_flat, which travels .*lock"):
        pickle.dumps(pyflat.twin(lambda x: x if lock else 0.0))


def test_text_that_is_gone_is_a_refusal_there(monkeypatch):
    scope = {"__name__": "__main__"}
    exec("def fn(x):\n    return x", scope)
    pytest.importorskip("cloudpickle")
    with pytest.raises(pyflat.FlattenError, match="cannot read the source"):
        there(pyflat.twin(scope["fn"]))(XS)


def test_another_function_there_is_told(monkeypatch):
    data = pickle.dumps(f.shade.flat)
    monkeypatch.setattr(f, "INK", 0.5, raising=False)
    assert pickle.loads(data) is f.shade.flat
    data = pickle.dumps(pyflat.twin(helper))
    monkeypatch.setattr(sys.modules[__name__], "RATE", 0.5)
    with pytest.warns(RuntimeWarning, match="comes from a process where helper, or something it reads, differs"):
        pickle.loads(data)


def test_another_library_there_is_told(monkeypatch):
    data = pickle.dumps([make(3.0)[0].flat, f.shade.flat])
    monkeypatch.setattr("pyflat.functions.loaded_library.identity", lambda: "another")
    pickling._arrived.clear()
    with pytest.warns(RuntimeWarning, match="another C library") as told:
        pickle.loads(data)
    assert len(told) == 2


def test_ufuncs_are_made_again():
    scaled, _ = make(3.0)
    for twin in (scaled.flat, pyflat.twin(helper, target="numba")):
        arrived = there(twin.ufunc)
        assert isinstance(arrived, np.ufunc) and arrived is not twin.ufunc
        rest = (1.0,) * (arrived.nin - 1)
        assert np.array_equal(arrived(XS, *rest), twin.ufunc(XS, *rest))
    assert there(np.add) is np.add and there(math.sqrt) is math.sqrt


def smoothed(a, w, out):
    for i in range(len(a)):
        out[i] = w * a[i] + (1.0 - w) * a[max(i - 1, 0)]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_kernels_and_their_gufuncs_travel(target):
    twin = pyflat.twin(smoothed, target=target)
    by_items = twin.with_options(signature="(n),()->(n)")
    lines = np.random.default_rng(0).normal(size=(3, 5))
    expected, found = np.empty(5), np.empty(5)
    smoothed(lines[0], 0.25, expected)
    there(twin)(lines[0], 0.25, found)
    assert found.tolist() == expected.tolist()
    for arrived in (there(by_items), there(by_items.gufunc)):
        assert np.array_equal(arrived(lines, 0.25), by_items(lines, 0.25))
    assert isinstance(there(by_items.gufunc), np.ufunc)


def test_joblib_computes_once_and_in_other_processes(tmp_path):
    joblib = pytest.importorskip("joblib")
    twin, xs = pyflat.twin(make(0.5)[0]), np.linspace(-2, 2, 5)
    calls = []

    def counted(twin, xs):
        calls.append(1)
        return twin(xs)

    memory = joblib.Memory(tmp_path, verbose=0)
    kept = memory.cache(counted)
    for each in (twin, pyflat.twin(make(0.5)[0]), twin):
        assert kept(each, xs).tolist() == twin(xs).tolist()
    assert len(calls) == 1
    kept(pyflat.twin(make(0.25)[0]), xs)
    assert len(calls) == 2
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(twin)(part) for part in (xs[:2], xs[2:]))
    assert np.concatenate(found).tolist() == twin(xs).tolist()


def test_sklearn_transforms_by_a_twin():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    made = preprocessing.FunctionTransformer(pyflat.twin(helper))
    xs = np.linspace(-2, 2, 6).reshape(3, 2)
    assert there(made).fit_transform(xs).tolist() == pyflat.twin(helper)(xs).tolist()
    assert type(made.get_params()["func"]) is type(pyflat.twin(helper))


def test_keys_of_joblib_follow_source_and_values():
    joblib = pytest.importorskip("joblib")
    keys = [joblib.hash(make(rate)[0].flat) for rate in (3.0, 3.0, 4.0)]
    assert keys[0] == keys[1] != keys[2]
    assert joblib.hash(f.shade.flat) == joblib.hash(f.shade.flat) != joblib.hash(pyflat.twin(f.shade, math="fast"))


SCRIPT = """
import dataclasses, math, multiprocessing, pickle, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import pyflat
from pyflat.runtime.content import content_hash

RATE, NAMES = 0.25, {"a", "b", "c"}

@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float

def helper(x):
    return x * RATE if x > 0 else -x

@pyflat.flatten
def shifted(x, k=3):
    return helper(x) + k if x > 1 and "a" in NAMES else x

def make(a):
    return lambda x: helper(x) * a if x > 2 else math.hypot(x, a)

points = pyflat.twin(lambda x: Point(x, 1.0) if x > 0 else Point(-x, 2.0))
twins = [shifted.flat, pyflat.twin(make(2.5), target="numba"), pyflat.twin(helper, errors="nan")]

if __name__ == "__main__":
    xs = np.linspace(-3, 3, 7)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for twin in twins:
            assert pool.submit(twin, xs).result().tolist() == twin(xs).tolist()
        found = pool.submit(points, xs).result()
        assert type(found) is Point and found.y.tolist() == points(xs).y.tolist()
    ufunc = shifted.flat.ufunc
    hashes = [content_hash(twin) for twin in (*twins, points)]
    sys.stdout.buffer.write(pickle.dumps((twins, ufunc, xs, [t(xs) for t in twins], ufunc(xs, 3), hashes)))
"""

THERE = """
import pickle, sys
{first}
from pyflat.runtime.content import content_hash
twins, ufunc, xs, wanted, by_ufunc, hashes = pickle.load(sys.stdin.buffer)
for twin, values in zip(twins, wanted):
    assert twin(xs).tolist() == values.tolist()
assert ufunc(xs, 3).tolist() == by_ufunc.tolist()
assert [content_hash(twin) for twin in twins] == hashes[:3]
"""


@pytest.mark.turns(2)
@pytest.mark.parametrize("first", ["", "sys.modules['cloudpickle'] = None"], ids=["cloudpickle", "pickle alone"])
def test_two_processes(tmp_path, monkeypatch, first):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("import pyflat\n", f"{first}\nimport pyflat\n", 1))
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    sent = subprocess.run([sys.executable, str(script)], capture_output=True, check=False)
    assert sent.returncode == 0, sent.stderr.decode()
    script.unlink()
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    done = subprocess.run([sys.executable, "-c", THERE.format(first=first)], input=sent.stdout, capture_output=True,
                          cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr.decode()
