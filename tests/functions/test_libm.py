"""libm: genuine ufuncs with CPython's bits, and what happens where the C library does not have them."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from pyflat.errors import InternalError
from pyflat.functions import libm
from pyflat.ir.ops import PRIMITIVES


@pytest.mark.parametrize("name", sorted(libm.NAMES))
def test_ufunc_has_cpythons_bits(name):
    rng = np.random.default_rng(len(name))
    operands = [rng.normal(size=3_000) * 10.0 ** rng.uniform(-3, 3, 3_000) for _ in range(libm.operand_count(name))]
    if name == "pow":
        operands = [np.abs(operands[0]), rng.normal(size=3_000) * 20]
    with np.errstate(all="ignore"):
        values = libm.ufunc(name)(*operands)
    for row, value in zip(zip(*(a.tolist() for a in operands), strict=True), values.tolist(), strict=True):
        try:
            expected = PRIMITIVES[name].python(*row)
        except (ArithmeticError, ValueError):
            assert not math.isfinite(value)
            continue
        assert libm.same_bits(value, expected), row


@pytest.mark.parametrize("name", sorted(libm.NAMES))
def test_edges_are_cpythons(name):
    function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * libm.operand_count(name))(libm.address(name))
    assert libm.agrees(name, function)


@pytest.mark.parametrize(("name", "args", "expected"), [
    ("log1p", (-0.0,), -0.0), ("atan2", (math.inf, math.inf), math.pi / 4), ("atan2", (0.0, -0.0), math.pi),
    ("pow", (1.0, math.nan), 1.0), ("pow", (math.nan, 0.0), 1.0), ("pow", (-1.0, math.inf), 1.0),
    ("pow", (-0.0, 3.0), -0.0), ("remainder", (-0.0, 1.0), -0.0), ("fmod", (-0.0, 1.0), -0.0),
    ("nextafter", (0.0, -0.0), -0.0), ("expm1", (-math.inf,), -1.0), ("erfc", (math.inf,), 0.0),
])
def test_special_values(name, args, expected):
    assert libm.same_bits(PRIMITIVES[name].python(*args), expected)
    assert libm.same_bits(float(libm.ufunc(name)(*args)), expected)


def test_ufuncs_are_genuine():
    exp = libm.ufunc("exp")
    if libm.from_library("exp"):
        assert isinstance(exp, np.ufunc)
        assert exp.__name__ == "exp"
        out = np.empty((2, 3))
        assert exp(np.ones((3, 2)).T, out=out) is out
        assert exp(np.ones((2, 3)), out=out, where=False) is out
    assert (libm.ufunc("exp")(np.arange(4, dtype=np.int32)) == [math.exp(k) for k in range(4)]).all()
    assert libm.ufunc("exp") is exp


def test_a_function_that_is_not_cpythons_is_found_out():
    assert not libm.agrees("exp", lambda x: math.inf if x > 700 else math.exp(x) * (1 + 2**-52))
    assert not libm.agrees("log1p", lambda x: math.log1p(x) + 0.0 if x > -1 else math.nan)
    assert not libm.agrees("log", lambda x: 0.0 if x <= 0 else math.log(x))
    assert libm.agrees("log", libm.total("log"))


def test_cpython_is_called_where_the_library_differs(monkeypatch):
    assert libm.from_library("gamma") is False
    monkeypatch.setattr(libm, "_library_address", lambda name: None)
    libm._ufunc.cache_clear()
    libm._address.cache_clear()
    try:
        with np.errstate(all="ignore"):
            values = libm.ufunc("exp")(np.array([0.0, 1.0, 1e9]))
        assert values.dtype == np.float64
        assert values[:2].tolist() == [1.0, math.e]
        assert values[2] == math.inf
        assert libm.ufunc("atan2")(1.0, np.array([1.0, 2.0])).shape == (2,)
        called = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(libm.address("exp"))
        assert called(1.0) == math.e
        assert called(1e9) == math.inf
    finally:
        libm._ufunc.cache_clear()
        libm._address.cache_clear()


def test_an_exception_in_a_callback_is_raised_afterwards():
    def broken(x):
        raise KeyError(x)

    called = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(libm.callback(broken, ctypes.c_double))
    assert math.isnan(called(2.0))
    with pytest.raises(KeyError):
        libm.raise_pending()
    libm.raise_pending()


def test_unknown_functions_are_our_bug():
    with pytest.raises(InternalError):
        libm.address("j0")
    with pytest.raises(InternalError):
        libm.ufunc("sqrt3")
    with pytest.raises(OSError, match="no_such_function"):
        libm.library_symbol("no_such_function")
