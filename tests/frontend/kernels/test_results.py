"""What kernels return where paths differ: numbers of several dtypes and kinds, None, strings, arrays, tuples of these."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError
from tests.generator.kernels.differential import bits

DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
FAR = np.float64(0.25)
TABLE = np.array([0.5, 1.0])


class Peak(NamedTuple):
    at: int
    height: float


def first_negative(a):
    for i in range(len(a)):
        if a[i] < 0:
            return a[i]
    return 0


def place_or_none(a):
    for i in range(len(a)):
        if a[i] < 0:
            return i
    return None


def place_or_float(a):
    for i in range(len(a)):
        if a[i] < 0:
            return i
    return -1.0


def of_two_arrays(a, b, out):
    if a[0] > b[0]:
        return a[0]
    return b[0] if out[0] > 0 else 2


def truth_or_number(a):
    if a[0] > 0:
        return a[0] > 1
    return a[0]


def word(a):
    for i in range(len(a)):
        if a[i] < 0:
            return "negative", i
    return "none", None


def found_later(a):
    found = None
    for i in range(len(a)):
        if a[i] > 0:
            found = i
    return found


def pair_or_number(a):
    if a[0] > 0:
        return a[0], 1
    return 3


def peak(a):
    at = -1
    for i in range(len(a)):
        if at < 0 or a[i] > a[at]:
            at = i
    return Peak(at, a[at]) if at >= 0 else None


def by_a_global(a):
    return FAR if a[0] > 0 else a[0]


def of_ifs(a):
    r = 0
    if a[0] > 0:
        r = a[0]
        if a[1] > 0:
            r = 2.5
    return r, -1


def copy_or_itself(a):
    if a[0] < 0:
        b = np.zeros(len(a))
        for i in range(len(a)):
            b[i] = a[i] * 2
        return b
    return a


def exchanged(a):
    b = a.copy()
    for i in range(len(a)):
        b[i] = i
    if a[0] > 0:
        a, b = b, a
    return a, b


def parts(a):
    if a[0] > 1:
        return a[::-1]
    if a[0] > 0:
        return a[:2]
    return a if a[1] > 0 else a[0]


def captured_or_itself(a):
    if a[0] > 0:
        return TABLE, a[0]
    return a, TABLE


ONE = (captured_or_itself, first_negative, place_or_none, place_or_float, truth_or_number, word, found_later, pair_or_number, peak,
       by_a_global, of_ifs, copy_or_itself, exchanged, parts)


def check(fn, arguments, target):
    given = [[each.copy() if isinstance(each, np.ndarray) else each for each in arguments] for _ in range(2)]
    twin = pyflat.twin(fn).with_options(target=target)
    for _ in range(4):  # the third call may have a plan
        expected, got = fn(*given[0]), twin(*given[1])
        assert bits(expected) == bits(got)
        assert [bits(one) for one in given[0]] == [bits(one) for one in given[1]]
        shared = [[each is one for one in arrays] for each, arrays in ((expected, given[0]), (got, given[1]))]
        assert shared[0] == shared[1]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", ONE)
def test_what_is_returned_depends_on_the_path(fn, target):
    for dtype in ("float64", "float32", "int32"):
        for values in ([1, 2, 3], [2, -2, 3], [-1, -2, 0], [0, 1, 2]):
            check(fn, [np.array(values, dtype)], target)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_a_number_is_of_the_array_that_it_is_from(first, second, target):
    for out in (0, 1):
        for a, b in ((1, 0), (0, 1)):
            check(of_two_arrays, [np.array([a], first), np.array([b], second), np.array([out])], target)


def test_a_captured_array_is_returned_itself(monkeypatch):
    twin = pyflat.twin(captured_or_itself)
    assert twin(np.ones(2))[0] is TABLE
    monkeypatch.setitem(globals(), "TABLE", TABLE.copy())
    assert twin(np.ones(2))[0] is TABLE


def test_a_small_new_array_is_no_captured_one():
    def fresh(a):
        return a if a[0] > 0 else np.array([1.0, 2.0])

    with pytest.raises(FlattenError, match="the kernel returns an array"):
        pyflat.twin(fresh)(np.zeros(2))


@dataclasses.dataclass
class Summary:
    low: float
    high: float
    names: list


def records(a, n):
    if n > 2:
        return [a[0], n]
    if n > 1:
        return {"first": a[0], "rest": (a[1:], None)}
    if n > 0:
        return Summary(float(a[0]), a[1], [f"{n} of {float(a[0])}", "low"])
    return complex(a[0], n)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_lists_dicts_objects_and_texts_are_returned(target, n):
    twin, a = pyflat.twin(records, target=target), np.arange(1.0, 4.0)
    for _ in range(3):  # the third call takes the plan
        got, wanted = twin(a, n), records(a, n)
        assert type(got) is type(wanted) and repr(got) == repr(wanted)
    if n == 2:
        assert np.shares_memory(got["rest"][0], a)


def unsigned_or_negative(a, n):
    return a[0] if n > 1 else -1 if n > 0 else a


def large_or_negative(a, n):
    return 2**63 if n > 1 else -1 if n > 0 else a[0]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [unsigned_or_negative, large_or_negative])
def test_a_number_of_uint64_is_returned_or_a_negative_int(fn, target):
    twin, a = pyflat.twin(fn, target=target), np.array([2**64 - 5, 1], np.uint64)
    for n in (0, 1, 2):
        got, wanted = twin(a, n), fn(a, n)
        assert type(got) is type(wanted) and repr(got) == repr(wanted)


def test_an_object_of_a_class_with_rules_of_its_own_is_refused_by_name():
    def failed(a):
        return ValueError(a[0])

    with pytest.raises(FlattenError, match="the kernel returns"):
        pyflat.twin(failed)(np.arange(3.0))


def test_a_gufunc_has_outputs_of_one_dtype():
    def either(a, b):
        return a[0] if a[0] > 0 else b[0]

    twin = pyflat.twin(either).with_options(signature="(n),(n)->()")
    assert twin(np.ones((2, 3)), np.ones((2, 3))).tolist() == [1.0, 1.0]
    with pytest.raises(FlattenError, match="returns a number of f4 or f8, and signature="):
        twin(np.ones((2, 3), np.float32), np.ones((2, 3)))


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("shape", [(0,), (1,), (4,), (0, 3), (3, 0)])
def test_views_of_read_only_arrays_are_read_only(shape, target):
    def rest(a):
        return a[1:]

    a = np.zeros(shape)
    a.flags.writeable = False
    got, wanted = pyflat.twin(rest, target=target)(a), rest(a)
    assert got.shape == wanted.shape and not got.flags.writeable


def lowest_three(a):
    p = q = r = np.inf
    for x in a:
        if x < r:
            r = x
            if r < q:
                q, r = r, q
            if q < p:
                p, q = q, p
    return p, q, r


def rotated(a):
    p = q = r = s = 1.0
    for x in a:
        for z in a:
            if z < x:
                p = x
            p, q, r, s = q, s, p, r
        if x < 3:
            p, s = s, p
    return p, q, r, s


def carried_on(a):
    p, i = 1.0, 0
    while True:
        y = p * 2
        if i >= len(a):
            return y
        p = a[i] if a[i] < 5 else y
        i += 1


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [lowest_three, rotated, carried_on])
def test_numbers_that_change_places_keep_their_dtypes(fn, target):
    for dtype in ("float32", "float64", "int32"):
        for numbers in ([], [6.5], [0.5], [1, 7, 0.5], [8, 9, 1, 10], [7, 1, 7, 7], [3, 2, 1, 5, 4]):
            check(fn, [np.array(numbers, dtype)], target)


def crossings(a):
    on, count = None, 0
    for x in a:
        if on is None:
            on = x > 0
        elif on and x < -1 or not on and x > 1:
            on, count = not on, count + 1
    return count, on is None


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_bool_of_numpy_is_not_none(target):
    for numbers in ([], [1.0], [-2.0, 2.0, 0.5, -3.0, -1.0, 4.0]):
        check(crossings, [np.array(numbers)], target)


def known_tuples(a):
    if len(a) and a[0] > 0:
        return None, None
    return None, ("far", None), None


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_known_tuples_are_returned_by_every_call(target):
    twin = pyflat.twin(known_tuples, target=target)
    for numbers in ([1.0], [-1.0], [], [2.0]) * 3:
        assert twin(np.array(numbers)) == known_tuples(np.array(numbers))


def zero_or_more(a):
    s = np.zeros(())
    for x in a:
        s += x
    return s + 0.0


def first_as_array(a):
    return 1, np.asarray(a[0])


def changed_through_another_name(x):
    s = np.asarray(x)
    t = s
    s += 1.0
    return float(t)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_arrays_without_axes_are_neither_changed_in_place_nor_returned(target):
    for fn, given in ((zero_or_more, np.ones(3)), (first_as_array, np.ones(3)), (changed_through_another_name, 2.0)):
        with pytest.raises(pyflat.FlattenError, match="an array without axes"):
            pyflat.twin(fn, target=target)(given)


def last_of_counts(a):
    s, p = a[0], a[-1]
    for i in range(len(a)):
        s, p = 2 - i, s
    return s, p


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_negative_ints_of_pythons_that_follow_numbers_of_uint64(size, target):
    numbers = np.array([2**64 - 1, 7, 2**63, 0, 1, 2**64 - 2][:size], np.uint64)
    twin = pyflat.twin(last_of_counts, target=target)
    for _ in range(20):
        wanted, got = last_of_counts(numbers), twin(numbers)
        assert [(type(x), x) for x in got] == [(type(x), x) for x in wanted]
