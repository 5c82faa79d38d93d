"""A variable of a loop that stays a loop may be a bool in some iterations, and an int or a float in others."""

import numpy as np
import pytest

import pyflat


def asks(x, n):
    total, each, k = 0.0, x, 0
    while k < n:
        k += 1
        total += 3 if isinstance(each, bool) else each * 0.25
        each = True
    return total


def ends_as_bool(x, n):
    last = x
    for k in range(n):
        last = k > 2
    return isinstance(last, bool), str(last)


def same_object(x, n):
    each, total = x, 0
    for k in range(n):
        total = total * 10 + (each is True)
        each = k > 0
    return total


def three_kinds(x, n):
    each, total, k = n, 0, 0
    while k < n:
        k += 1
        total = total * 7 + (5 if isinstance(each, bool) else each) + (each & 1 if isinstance(each, int) else 0)
        each = True if k % 3 == 0 else k if k % 3 == 1 else x
        if not isinstance(each, float):
            total += ~each
    return total, str(each)


def found(x, n):
    best = False
    for k in range(n):
        if k > 1:
            best = x
        elif k == 1:
            best = 3
    return repr(best), best is False, best + 1, not best


def items(x, n):
    pair = [x, n]
    for _ in range(n):
        pair[0] = pair[0] > 1
        pair[1] = isinstance(pair[0], bool)
    return str(pair[0]), str(pair[1])


def calls_itself(x, n):
    if n < 2:
        return str(x)
    return calls_itself(isinstance(x, bool) or x, n - 2)


ROWS = [(x, n) for x in (0.5, -1.0, 2.0, -0.0) for n in range(6)]


@pytest.mark.parametrize("loops", ["auto", "masked"])
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [asks, ends_as_bool, same_object, three_kinds, found, items, calls_itself])
def test_a_variable_keeps_the_kind_of_each_iteration(fn, target, loops):
    got = pyflat.twin(fn, target=target, loops=loops)(*map(np.array, zip(*ROWS, strict=True)))
    columns = got if isinstance(got, tuple) else (got,)
    expected = [fn(*row) for row in ROWS]
    assert list(zip(*[column.tolist() for column in columns], strict=True)) == [
        row if isinstance(row, tuple) else (row,) for row in expected]
