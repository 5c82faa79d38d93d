"""`max_tracing_dim`: up to which length loops of kernels unroll, and arrays are numbers."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat

A = np.arange(30.0)


def weighted(a, out):
    w = np.zeros(20)
    for j in range(20):
        w[j] = a[j]
    for i in range(a.shape[0]):
        out[i] = w[3] * a[i]


def each_function(a, out):
    functions = [lambda x: x + 1.0, lambda x: x * 2.0, lambda x: x - 3.0]
    for i in range(a.shape[0]):
        for function in functions:
            out[i] += function(a[i])


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("most", "local", "loops"), [(19, [("w", "virtual")], 1), (20, [], 1)])
def test_arrays_up_to_it_are_numbers_and_loops_unroll(most, local, loops, target):
    twin = pyflat.twin(weighted, max_tracing_dim=most, target=target)
    out = np.zeros_like(A)
    twin(A, out)
    np.testing.assert_array_equal(out, A * 3.0)
    found = twin.explain()
    assert ([(array.name, array.kept.partition(";")[0]) for array in found.arrays if array.where == "local"], len(found.loops)) == (local, loops)


def test_a_loop_that_cannot_stay_one_says_the_option():
    with pytest.raises(pyflat.FlattenError, match="unrolling needs 3 iterations, the limit is 2") as error:
        pyflat.twin(each_function, max_tracing_dim=2)(A, np.zeros_like(A))
    assert "max_tracing_dim=3" in error.value.diagnostic.help
    out, wanted = np.zeros_like(A), np.zeros_like(A)
    pyflat.twin(each_function, max_tracing_dim=3)(A, out)
    each_function(A, wanted)
    np.testing.assert_array_equal(out, wanted)
