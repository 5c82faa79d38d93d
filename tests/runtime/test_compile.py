"""Compiling ahead of a call: a call afterwards compiles nothing, and what a call refuses is refused."""

from __future__ import annotations

import builtins
import logging
import math
from collections import namedtuple
from types import FunctionType

import numpy as np
import pytest

import pyflat
from pyflat.runtime import compiled
from pyflat.targets.numba import jit

XS = np.linspace(0.5, 4.0, 50)
Point = namedtuple("Point", "x y")


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """What is flattened, translated by LLVM, and compiled by Python while the test runs."""
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path / "kernels"))
    made: list[str] = []
    for holder, name in ((compiled, "_build"), (jit, "_translated"), (builtins, "compile")):
        def counting(*given, _name=name, _do=getattr(holder, name), **more):
            made.append(_name)
            return _do(*given, **more)
        monkeypatch.setattr(holder, name, counting)
    return made


@pytest.fixture(params=["numpy", "numba"])
def twin(request):
    if request.param == "numba":
        pytest.importorskip("numba")

    def make(function, **options):
        fresh = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                             function.__closure__)  # twins of one function share what is compiled
        fresh.__annotations__ = function.__annotations__
        return pyflat.twin(fresh, target=request.param, **options)

    return make


def ratio(x, y):
    return math.sqrt(x) / y if x > 1.0 else x - y


def until(x, n):
    trips = 0
    while x > 1.0 and trips < n:
        x = x * 0.75
        trips += 1
    return x + trips


CASES = {
    "an array and a number": (ratio, (XS, 2.0), (XS + 1.0, 3.0)),
    "other lengths": (ratio, (XS[:1], XS), (XS[:1], XS[:7])),
    "dtypes": (ratio, (float, np.float64), (XS, XS + 1.0)),
    "a dtype and a number": (ratio, ("f4", 2.0), (XS.astype("f4"), 2.0)),
    "a dtype beside an array": (ratio, (XS, np.dtype("i4")), (XS, np.arange(1, 51, dtype="i4"))),
    "integers and bools": (ratio, (int, bool), (np.arange(2, 9), np.ones(7, bool))),
    "numbers": (ratio, (2.0, 3), (7.0, 4)),
    "a loop": (until, (float, 30), (XS, 20)),
    "a loop over numbers": (until, (2.0, 30), (3.0, 20)),
    "lanes apart": (ratio, (XS[::2], XS[::-2]), (XS[::2], XS[::-2])),
    "no lanes": (ratio, (XS[:0], 2.0), (XS, 2.0)),
    "a swapped dtype": (ratio, (">f8", 2.0), (XS.astype(">f8"), 2.0)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_call_afterwards_compiles_nothing(twin, counted, case):
    function, examples, arguments = CASES[case]
    made = twin(function)
    assert made.compile(*examples) is made
    assert "_build" in counted
    counted.clear()
    for _ in range(3):
        found = np.asarray(made(*arguments))
    lanes = np.broadcast(*arguments)
    assert found.ravel().tolist() == [function(*(item.item() if isinstance(item, np.generic) else item
                                                 for item in lane)) for lane in lanes]
    assert counted == []


def test_lanes_that_fail_compile_nothing_either(twin, counted):
    made = twin(ratio, errors="mask").compile(XS, float)
    counted.clear()
    _, faults = made(XS, np.where(XS > 3.0, 0.0, 1.0))
    assert len(faults) == np.count_nonzero(XS > 3.0) and counted == []


def test_few_lanes_and_many_are_compiled(twin, counted):
    made = twin(ratio).compile(float, float)
    counted.clear()
    for count in (1, 2, 100, 3_000, 100_000):
        xs = np.linspace(2.0, 3.0, count)
        assert np.array_equal(made(xs, np.ones(count)), np.sqrt(xs))
    assert counted.count("_build") == 0 and counted.count("_translated") <= 1, "one number alone is a scalar"


def test_the_function_does_not_run(twin):
    ran = []

    def watched(x):
        ran.append(x)
        return 1.0

    with pytest.raises(pyflat.FlattenError) as refused:
        twin(watched).compile(XS)
    assert refused.value.code == "flatten/effect" and ran == []

    def endless(x, limit):
        while x < limit:
            x = x * 1.0
        return x

    assert twin(endless).compile(0.5, 1.0) is not None, "the examples would never end"


def test_keywords_options_and_static_arguments(twin, counted):
    def scaled(x, mode="double", power=2):
        return x * 2.0 if mode == "double" else x**power

    made = twin(scaled, static="power").compile(x=float, mode="f8", power=3)
    counted.clear()
    assert made(x=XS, mode="f8", power=3).tolist() == [x**3 for x in XS.tolist()]
    assert counted == []


def test_a_dtype_in_a_tuple_and_a_record_by_example(twin, counted):
    def length(p):
        return math.hypot(p[0], p[1])

    made = twin(length).compile((float, float)).compile(Point(XS, XS))
    counted.clear()
    assert made((XS, XS)).tolist() == made(Point(XS, XS)).tolist() == [math.hypot(x, x) for x in XS.tolist()]
    assert counted == []


def test_a_column_of_strings(twin, counted):
    def priced(x, how: str):
        return x * 1.5 if how == "gross" else x + 1.0

    made = twin(priced).compile(XS, np.array(["gross", "net"] * 25))
    counted.clear()
    how = np.array(["net", "gross"] * 25)
    assert made(XS, how).tolist() == [priced(x, h) for x, h in zip(XS.tolist(), how.tolist(), strict=True)]
    assert counted == []
    with pytest.raises(TypeError, match="'how' is the dtype <U3"):
        made.compile(XS, np.dtype("U3"))


@pytest.mark.parametrize(("examples", "named"), [
    ((XS,), {}), ((XS, XS, XS), {}), ((XS, XS[:3]), {}), ((XS, XS.astype(object)), {}), ((XS, [1.0, 2.0]), {}),
    ((XS, np.ma.masked_array(XS)), {}), ((XS,), {"z": 1.0}), ((XS, {1, 2}), {}), ((XS, np.dtype("M8[s]")), {}),
])
def test_errors_are_those_of_a_call(twin, examples, named):
    def given(value):
        return np.zeros(50, value) if isinstance(value, np.dtype) else value

    with pytest.raises((TypeError, ValueError, pyflat.FlattenError)) as of_call:
        twin(ratio)(*map(given, examples), **named)
    with pytest.raises(type(of_call.value)) as ahead:
        twin(ratio).compile(*examples, **named)
    assert str(ahead.value) == str(of_call.value)


def test_a_result_that_cannot_be_nan_is_refused(twin):
    with pytest.raises(pyflat.FlattenError, match='errors="nan"'):
        twin(lambda x: x > 1.0, errors="nan").compile(XS)


def test_disabled_twins_compile_nothing(twin, counted, monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    twin(ratio).compile(XS, 2.0)
    assert counted == []


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_the_log_tells_what_the_first_call_does(target, caplog, tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path))
    caplog.set_level(logging.INFO, "pyflat")

    def halved(x):
        return x / 2.0 if x > 1.0 else x

    twin = pyflat.twin(halved, target=target)
    twin(np.arange(3.0))
    said = [record.message for record in caplog.records if "halved flattened" in record.message]
    assert len(said) == 1
    assert f"for {target} in " in said[0]
    assert target == "numpy" or any("compiled by LLVM in" in record.message for record in caplog.records)
    caplog.clear()
    twin(np.arange(4.0))
    assert not caplog.records
