"""dask: lazy, block by block, and on a cluster of processes."""

import dataclasses
import math
import operator
from collections import Counter

import numpy as np
import pytest

import pyflat
from pyflat.runtime.containers.dask import ArrayBlock
from tests.runtime import functions as f

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
XS = np.linspace(-3.0, 30.0, 600).reshape(20, 30)
YS = np.arange(30.0)
SCALE = 2.0


@dataclasses.dataclass
class Pair:
    a: float
    b: float


def root(x, y, k=3):
    if x > 1.0:
        return math.sqrt(x) * SCALE + y * k
    return x - y


def both(x, y):
    return (root(x, y), x > y)


def blocks(array, *chunks):
    return da.from_array(array, chunks=chunks)


def same(found, wanted):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    computed = found.compute(scheduler="sync")
    assert computed.dtype == wanted.dtype
    assert np.array_equal(computed, wanted, equal_nan=True)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_one_result(target):
    twin = pyflat.twin(root, target=target)
    for given in ((blocks(XS, 7, 11), YS), (XS, blocks(YS, 8)), (blocks(XS, 7, 11), blocks(YS, 8), 5),
                  (blocks(XS, 7, 11), blocks(XS[:, :1], 3, 1)), (blocks(XS[:1], 1, 4), blocks(XS, 6, 30)), (blocks(XS, 7, 11), 2),
                  (blocks(np.arange(10), 3), np.int32(2)), (blocks(np.zeros((0, 3)), 1, 1), 1.0),
                  (da.from_array(np.array(4.0)), 1.0), (blocks(XS.astype("f4"), 7, 30), True)):
        plain = [value.compute() if isinstance(value, da.Array) else value for value in given]
        same(twin(*given), np.asarray(twin(*plain)))
    same(twin(y=1.0, x=blocks(XS, 7, 11)), twin(XS, 1.0))


def test_blocks_of_unknown_length():
    long = blocks(XS.ravel(), 100)
    same_values = pyflat.twin(root)(long[long > 2.0], 1.0).compute(scheduler="sync")
    assert np.array_equal(same_values, pyflat.twin(root)(XS[XS > 2.0], 1.0))


def test_several_results_are_computed_once(monkeypatch):
    calls: list[object] = []
    below = ArrayBlock.__call__
    monkeypatch.setattr(ArrayBlock, "__call__", lambda *args: [calls.append(1), below(*args)][1])
    twin = pyflat.twin(both)
    found, wanted = twin(blocks(XS, 7, 11), YS), twin(XS, YS)
    for one, other in zip(found, wanted, strict=True):
        same(one, other)
    calls.clear()
    computed = dask.compute(*found, scheduler="sync")
    assert len(calls) == 9
    assert all(map(np.array_equal, computed, wanted))


def test_records_of_arrays():
    def shift(p, q):
        return Pair(p.a * q, p.b + 1.0)

    found = pyflat.twin(shift)(Pair(blocks(XS, 7, 30), 2.0), blocks(YS, 10))
    wanted = pyflat.twin(shift)(Pair(XS, 2.0), YS)
    assert type(found) is Pair
    same(found.a, wanted.a)
    same(found.b, wanted.b)


def test_the_function_is_never_run_on_values_that_nobody_gave(monkeypatch):
    calls = Counter()

    def noted(x):
        if x < 0:
            raise ValueError(calls.update("x"))
        return 1.0 / x

    lazy = pyflat.twin(noted)(blocks(np.array([-1.0, 2.0]), 1))
    assert not calls
    monkeypatch.setattr(math, "sqrt", None)
    assert lazy.dtype == np.float64


def test_exceptions_name_the_lane_of_the_whole_array():
    def inverse(x, y):
        return y / x

    whole = XS - XS[13, 17]
    for array, given in ((whole, blocks(whole, 7, 11)), (whole[13], blocks(whole[13], 8))):
        with pytest.raises(ZeroDivisionError) as of_dask:
            pyflat.twin(inverse)(given, 1.0).compute(scheduler="sync")
        with pytest.raises(ZeroDivisionError) as of_arrays:
            pyflat.twin(inverse)(array, 1.0)
        place = of_arrays.value.__notes__[0].partition(";")[0]
        assert of_dask.value.__notes__[0].startswith(f"{place};")
        assert f"{array.size:,} lanes" in of_dask.value.__notes__[0]


def test_options():
    given = blocks(XS, 7, 11)
    same(pyflat.twin(f.inverse, errors="nan")(given), pyflat.twin(f.inverse, errors="nan")(XS))
    with pyflat.options(errors="nan", target="numba"):
        lazy = pyflat.twin(f.inverse)(given - given)
    assert np.isnan(lazy.compute(scheduler="sync")).all()
    with pytest.raises(ValueError, match='errors="mask" returns the faults of a finished call'):
        pyflat.twin(f.inverse, errors="mask")(given)
    with pytest.raises(TypeError, match="out= needs an existing array"):
        pyflat.twin(f.inverse)(given, out=XS.copy())
    with pytest.raises(ValueError, match="broadcast|Chunks"):
        pyflat.twin(root)(given, np.zeros(7))


def frames():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"x": np.linspace(-3.0, 30.0, 60), "y": np.arange(60.0) + 1,
                          "n": pd.array([1, None] * 30, dtype="Int64")}, index=np.arange(60) * 2)
    return pd.testing, frame, dd.from_pandas(frame, npartitions=3)


def test_series():
    testing, frame, lazy = frames()
    twin, ratio = pyflat.twin(both), pyflat.twin(lambda x, y=2.0: x / y)
    found, wanted = twin(lazy.x, lazy.y), twin(frame.x, frame.y)
    for one, other, computed in zip(found, wanted, dask.compute(*found, scheduler="sync"), strict=True):
        assert one.dtype == other.dtype
        testing.assert_series_equal(computed, other)
    for name in "xn":
        testing.assert_series_equal(ratio(lazy[name]).compute(scheduler="sync"), ratio(frame[name]))
    testing.assert_frame_equal(twin.by_name(lazy, x="y", y="x").compute(scheduler="sync"), twin.by_name(frame, x="y", y="x"))


def test_series_that_do_not_fit():
    _, frame, lazy = frames()
    ratio = pyflat.twin(lambda x, y=2.0: x / y)
    with pytest.raises(ValueError, match=r"x has 3, y has 2; use \.repartition"):
        ratio(lazy.x, lazy.repartition(npartitions=2).y)
    with pytest.raises(TypeError, match="'y' is an array among dask series"):
        ratio(lazy.x, np.ones(60))
    with pytest.raises(TypeError, match="by_name"):
        ratio(lazy)


def test_names_follow_source_values_and_options():
    def named(fn, *args, **options):
        return pyflat.twin(fn, **options)(blocks(XS, 7, 11), *args).name

    def make(k):
        return lambda x: x * k

    assert named(make(2.0)) == named(make(2.0))
    names = [named(make(2.0)), named(make(3.0)), named(make(2.0), math="fast"), named(root, 1.0), named(root, 2.0)]
    assert len(set(names)) == len(names)
    assert names[0].startswith("lambda_flat-") and names[3].startswith("root_flat-")
    twins = [pyflat.twin(make(2.0)), pyflat.twin(make(2.0)), pyflat.twin(make(3.0))]
    tokens = [dask.base.tokenize(twin) for twin in twins]
    assert tokens[0] == tokens[1] != tokens[2]


def cluster_functions():
    """A function of a module, of `__main__`, a lambda, a closure, and one whose result is a record."""
    scope = {"__name__": "__main__", "math": math, "Pair": Pair}
    from tests.runtime.test_pickling import cell

    cell(scope, "RATE = 0.5\ndef helper(x):\n    return math.exp(-x) * RATE\n", "cluster-1")
    cell(scope, "def of_main(x, y):\n    return helper(x) + y if x > y else x\n", "cluster-2")
    k = 2.5

    def closure(x, y):
        return root(x, y) * k

    return root, scope["of_main"], lambda x, y: x if x > y else root(y, x), closure, lambda x, y: Pair(x + k, y * k)


def test_a_cluster_of_processes():
    distributed = pytest.importorskip("distributed")
    given = blocks(XS, 7, 11), blocks(YS, 11)
    with (distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
          distributed.Client(cluster) as client):
        for fn in cluster_functions():
            twin = pyflat.twin(fn, target="numba")
            wanted = twin(XS, YS)
            lazy = twin(*given)
            parts = [(lazy.a, wanted.a), (lazy.b, wanted.b)] if isinstance(wanted, Pair) else [(lazy, wanted)]
            computed = client.gather(client.compute([part for part, _ in parts]))
            assert all(np.array_equal(a, b) for a, (_, b) in zip(computed, parts, strict=True))
            sent = client.submit(twin, XS, YS).result()
            assert type(sent) is type(wanted)
        total = client.submit(operator.call, pyflat.twin(root).ufunc, XS, 1.0, 3).result()
        assert np.array_equal(total, pyflat.twin(root).ufunc(XS, 1.0, 3))
        with pytest.raises(ZeroDivisionError) as raised:
            pyflat.twin(lambda x: 1.0 / (x - 30.0))(given[0]).compute()
        assert raised.value.__notes__[0].startswith("lane (19, 29) (x=30.0)")
