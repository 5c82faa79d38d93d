"""Arrays that a kernel makes inside have the names of the variables that they are first bound to."""

from __future__ import annotations

import numpy as np
import pytest

import pyflat

A = np.arange(6.0)


def doubled(a):
    tmp = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        tmp[i] = a[i] * 2.0
    return tmp


def one(a):
    t = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        t[i] = a[i] + 1.0
    return t.sum()


def two_at_once(a):
    t, u = np.zeros(a.shape[0]), np.ones(a.shape[0])
    return t + a[0], u


def bound_twice(a):
    t = np.zeros(a.shape[0])
    same = t
    same[0] = a[0]
    return same


def bound_anew(a):
    t = np.cumsum(a)
    s = t.sum()
    t = np.cumsum(t)
    return t, s


def named_by_helper(a):
    tmp = doubled(a)
    return doubled(tmp)


def named_as_argument(a):
    b = doubled(a)
    return helped(b)


def helped(x):
    a = np.cumsum(x)
    return a


def nameless(a):
    return np.cumsum(a * 2.0)


def expression(a):
    twice = a * 2.0
    return np.cumsum(twice)


def either(a):
    if a[0] > 0.0:
        t = np.ones(a.shape[0])
    else:
        t = np.zeros(a.shape[0])
    return t


NAMES = {
    one: ["t"], two_at_once: ["t", "u", "array 1"], bound_twice: ["t"], bound_anew: ["t", "t 2"],
    named_by_helper: ["tmp", "tmp 2"], named_as_argument: ["tmp", "a 2"], nameless: ["array 1", "array 2"],
    expression: ["twice", "array 1"], either: ["t", "t 2"],
}


@pytest.mark.parametrize("kernel", NAMES, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_arrays_have_the_names_of_variables(kernel, target):
    twin = pyflat.twin(kernel, arrays="a", target=target)
    results, wanted = twin(A), kernel(A)
    pairs = zip(results, wanted, strict=True) if isinstance(wanted, tuple) else [(results, wanted)]
    for one_result, other in pairs:
        np.testing.assert_array_equal(one_result, other)
    local = [array.name for array in twin.explain().arrays if array.where == "local"]
    assert local == NAMES[kernel]


def test_the_numpy_text_has_the_name_of_a_variable_of_a_helper():
    twin = pyflat.twin(named_by_helper, arrays="a")
    twin(A)
    assert "tmp_2 = np.empty(" in str(twin.show())
