"""`memory=`: what was asked for is what an array is, or the refusal names the option and the line in its way."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat

A = np.arange(12.0).reshape(4, 3)


def returned(a):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i, 0] + 1.0
    return t  # here


def rows(a, out):
    t = np.empty(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * 2.0
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = t[i, j] - t[i - 1, j]


def routine(a):
    t = np.cumsum(a[0])  # here
    return t.sum()



@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("kernel", "mode", "why", "place"), [
    (returned, "virtual", "it is returned", 4), (routine, "virtual", "a routine of NumPy's", 1),
], ids=["returned", "routine"])
def test_a_conflict_names_the_option_and_the_line(kernel, mode, why, place, target):
    twin = pyflat.twin(kernel, memory={"t": mode}, target=target, arrays="a")
    with pytest.raises(pyflat.FlattenError, match=f"'t' of {kernel.__name__} cannot be {mode}") as error:
        twin(A)
    found = error.value.diagnostic
    first = kernel.__code__.co_firstlineno
    assert found.code == "flatten/memory-mode"
    assert (found.span.line, why in found.why) == (first + place, True)
    option, made = found.notes
    assert "memory={'t': '" + mode + "'}" in option.message and option.span.line == first
    assert made.span.line == first + 1


@pytest.mark.parametrize(("target", "why"), [("numpy", "keeps whole arrays"), ("numba", "it is returned")])
def test_rows_that_cannot_be_kept(target, why):
    with pytest.raises(pyflat.FlattenError, match="cannot be buffer") as error:
        pyflat.twin(returned, memory={"t": "buffer"}, target=target)(A)
    assert why in error.value.diagnostic.why


@pytest.mark.parametrize("memory", [{"t": "buffer"}, {"t": "stored"}], ids=["buffer", "stored"])
@pytest.mark.parametrize("device_only", [False, True])
def test_what_was_asked_for_is(memory, device_only):
    twin = pyflat.twin(rows, memory=memory, target="numba", enable_device_only=device_only)
    out, wanted = np.zeros_like(A), np.zeros_like(A)
    twin(A, out)
    rows(A, wanted)
    np.testing.assert_array_equal(out, wanted)
    kept = next(array.kept for array in twin.explain().arrays if array.name == "t")
    if memory["t"] == "stored":
        assert kept.startswith("stored; 206 asked: ")
    else:
        assert kept.startswith("buffer of 2 rows") and "saves 8 * (a.shape[0] - 2) * a.shape[1] bytes" in kept


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_an_unknown_name_is_told_the_names(target):
    with pytest.raises(pyflat.FlattenError, match="memory= names 'u', which is not an array made by returned") as error:
        pyflat.twin(returned, memory={"u": "stored"}, target=target)(A)
    assert error.value.code == "flatten/memory-mode"
    assert error.value.diagnostic.help == "its arrays are 't'"


def test_versions_are_kept_apart():
    twin = pyflat.twin(rows, target="numba", inline_simple_computations=False, inline_complex_computations=False)
    for options, kept in (({}, "buffer of 2 rows"), ({"memory": {"t": "stored"}}, "stored; 206 asked"), ({}, "buffer of 2 rows"),
                          ({"enable_device_only": False}, "stored; 209 complex")):
        with pyflat.options(**options):
            twin(A, np.zeros_like(A))
            twin(A, np.zeros_like(A))
            assert next(a.kept for a in twin.explain(kinds="f8[:,:],f8[:,:]").arrays if a.name == "t").startswith(kept)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_kernel_over_a_container_has_its_settings(target):
    pd = pytest.importorskip("pandas")
    twin = pyflat.twin(summed, memory={"t": "stored"}, max_tracing_dim=1, target=target)
    twin.compile("f8[:]")
    assert twin(pd.Series(A[0])) == summed(A[0])


def summed(a):
    t = np.cumsum(a)
    s = 0.0
    for i in range(a.shape[0]):
        s += t[i] * 0.5
    return s


def test_lanes_keep_no_arrays():
    pd = pytest.importorskip("pandas")
    twin = pyflat.twin(lambda x: x + 1.0, memory={"t": "stored"})
    for given in (A[0], pd.Series(A[0]), A[0].tolist()):
        with pytest.raises(pyflat.FlattenError, match="memory=.* does not go with") as error:
            twin(given)
        assert error.value.code == "flatten/option"
