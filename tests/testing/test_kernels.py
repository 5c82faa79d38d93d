"""Verifying kernels over arrays: which kinds they are tried with, and what is said where nothing can be compared."""

import numpy as np
import pytest

import pyflat
from pyflat.inspection import verify as verification
from pyflat.testing import DifferenceError, kernels, verify
from pyflat.testing.flattened import NotVerifiableError


def smooth(a, out, w: float = 0.5):
    for i in range(1, len(a) - 1):
        out[i] = (a[i - 1] + a[i + 1]) * w


def corner(a, i: int):
    return a[i, 0] + a.shape[1]


def picked(a, indices):
    return a[indices[0]]


def positional(a, /, n: int):
    return a[n]


def never(a):
    raise ValueError(a[0])


def joined(a, b):
    return np.concatenate((a, b, np.linalg.svd(a)[1]))


@pytest.mark.parametrize(("fn", "kinds", "wanted"), [
    (smooth, None, {"a": (1, "f8"), "out": (1, "f8")}), (corner, None, {"a": (2, "f8")}),
    (corner, "f8[:,:],i8", {"a": (2, "f8")}), (picked, ["f4[:]", "i8[:]"], {"a": (1, "f4"), "indices": (1, "i8")}),
    (smooth, {"a": "f8[:]", "out": "f4[:]", "w": float}, {"a": (1, "f8"), "out": (1, "f4")}),
    (positional, None, {"a": (1, "f8")})])
def test_kernels_are_compared_on_arrays_of_their_kinds(fn, kinds, wanted, monkeypatch):
    seen = []
    compare = verification.compare

    def spy(caller, args, kwargs, options):
        given = {**dict(zip("a", args, strict=False)), **kwargs}
        seen.append({name: (x.ndim, x.dtype.str[1:]) for name, x in given.items() if isinstance(x, np.ndarray)})
        return compare(caller, args, kwargs, options)

    monkeypatch.setattr(verification, "compare", spy)
    verify(fn, kinds=kinds, examples=7)
    assert seen.count(wanted) == 2 * 7


def test_a_difference_of_a_kernel_is_found(monkeypatch):
    run = pyflat.runtime.kernels.made
    monkeypatch.setattr(pyflat.runtime.kernels, "made", lambda *given: run(*given) * 2.0)
    with pytest.raises(DifferenceError, match="the numpy kernel corner_flat differs from its original in its result"):
        verify(corner, kinds="f8[:,:],i8", target="numpy", examples=7)


def test_what_cannot_be_compared_is_said():
    with pytest.raises(NotVerifiableError, match=r"never raises an exception for all arrays .* a: f8\[:\]"):
        verify(never, examples=7)
    with pytest.raises(NotVerifiableError, match=r'picked raises .*kinds="f8\[:\],f8\[:\]"'):
        verify(picked, examples=7)
    with pytest.raises(NotVerifiableError, match=r"numpy\.linalg\.svd cannot be flattened"):
        verify(joined, examples=7)
    with pytest.raises(pyflat.FlattenError, match=r"numpy\.linalg\.svd cannot be flattened"):
        verify(joined, kinds="f8[:],f8[:]", examples=7)


@pytest.mark.parametrize(("kinds", "error", "message"), [
    ("f8[:],f8", TypeError, r"2 kinds for 3 arguments \(a, out, w\)"),
    ("f8,f8,f8", TypeError, r"no kind for 'a', an array of a kernel, as 'f8\[:\]'"),
    ({"a": "f8[:]"}, TypeError, "no kind for 'out', an array of a kernel"),
    ({"a": "f8[:]", "out": "f8[:]"}, TypeError, "no kind for 'w', as 'f8'"),
    ({"b": "f8[:]"}, TypeError, "names 'b'"), ("f8[:]x,f8[:],f8", ValueError, r"'f8\[:\]x' is not a kind")])
def test_wrong_kinds_name_what_is_wrong(kinds, error, message):
    with pytest.raises(error, match=message):
        verify(smooth, kinds=kinds, examples=7)


def test_as_many_kinds_as_lanes():
    def product(x, y):
        return x * y

    verify(product, kinds="f8,i8", examples=2)
    verify(product, kinds=["f8", "i8"], examples=2)
    with pytest.raises(TypeError, match=r"1 kinds for 2 arguments \(x, y\)"):
        verify(product, kinds=["f8"], examples=2)


def test_axes_have_one_length():
    drawn = np.random.default_rng(1)
    assert kernels._drawn(drawn, "f8[:,:]", 3).shape == (3, 3)
    assert kernels._drawn(drawn, "b[:]", 3).dtype == bool
    assert type(kernels._drawn(drawn, "i8", 3)) is int
