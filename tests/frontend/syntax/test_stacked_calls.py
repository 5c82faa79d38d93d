"""Recursion that lanes end, as a loop over a stack: against Python in every lane, on both targets."""

import numpy as np
import pytest

import pyflat

NS = (-2, 0, 1, 2, 3, 5, 6, 7, 9, 12)
KS = (0, 1, 3, 2)


def hanoi(n, k):
    if n <= 0:
        return 0
    return 2 * hanoi(n - 1, k) + 1


def fibonacci(n, k):
    return n if n < 2 else fibonacci(n - 1, k) + fibonacci(n - 2, k)


def power(n, k):
    if k == 0:
        return 1
    if k < 0:
        return 1 / power(n, -k)
    half = power(n, k // 2)
    if k % 2:
        return half * half * n
    return half * half


def ackermann(n, k):
    if k <= 0:
        return n + 1
    if n <= 0:
        return ackermann(1, k - 1)
    return ackermann(ackermann(n - 1, k) % 5, k - 1)


def parameters_change(n, k):
    n -= 1
    k = k + n
    if n < 0:
        return k
    if n % 3 == 0:
        return -parameters_change(n, k)
    return parameters_change(n, k + 1) - k * n


def newton(n, k):
    if k == 0:
        return 1.5
    y = newton(n, k - 1)
    return (y + n / y) / 2


def calls_on_some_paths(n, k):
    if n < 0:
        return 0
    if n == 0:
        return 1
    a = calls_on_some_paths(n - 1, k)
    if n % 2:
        return a
    b = calls_on_some_paths(n - 2, k) if k > 1 else 3
    return a + b * calls_on_some_paths(n - 3, k)


def as_an_operand(n, k):
    if n <= 0:
        return k
    return max(as_an_operand(n - 1, k), as_an_operand(n - 2, k) + n % 4) and as_an_operand(n - 3, k) + 1


def closure(n, k):
    def binomial(a, b):
        if b == 0 or b >= a:
            return 1
        return binomial(a - 1, b - 1) + binomial(a - 1, b)

    return binomial(n, k) * 10


def two_kinds(n, k):
    if n <= 0:
        return 0
    return two_kinds(n - 1, k) + (0.5 if n % 2 else 1)


def of_strings(n, k):
    if n <= 0:
        return f"{k}"
    return of_strings(n - 1, k) + "," + str(n)


def faults_inside(n, k):
    if n == 3:
        return 1 // k
    return 0 if n <= 0 else 2 * faults_inside(n - 2, k) % 5 + 1


EVERY = [hanoi, fibonacci, power, ackermann, parameters_change, newton, calls_on_some_paths, as_an_operand, closure,
         two_kinds, of_strings]


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", EVERY, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    ns, ks = np.repeat(NS, len(KS)), np.tile(KS, len(NS))
    expected = [fn(n, k) for n, k in zip(ns.tolist(), ks.tolist(), strict=True)]
    assert pyflat.twin(fn, target=target)(ns, ks).tolist() == expected


def test_no_lane_of_these_is_run_by_the_original():
    twin = pyflat.twin(hanoi)
    twin(np.array(NS), 0)
    assert twin.stats.replayed == 0


def test_what_is_deeper_than_the_stack_is_the_originals():
    twin = pyflat.twin(hanoi)
    assert twin(np.array([3, 62, 5]), 0).tolist() == [7, 2**62 - 1, 31]
    deep = pyflat.twin(newton)
    assert deep(np.array([2, 3]), np.array([200, 3])).tolist() == [newton(2, 200), newton(3, 3)]


def test_a_lane_without_an_end_raises_pythons_exception():
    def endless(n):
        return 0 if n == 0 else 2 * endless(n - 1) + 1

    twin = pyflat.twin(endless, errors="mask")
    value, faults = twin(np.array([1, -1, 3]))
    assert faults.mask.tolist() == [False, True, False] and value.tolist()[::2] == [1, 7]
    with pytest.raises(RecursionError):
        pyflat.twin(endless)(np.array([1, -1, 3]))


def test_an_exception_inside_is_pythons():
    twin = pyflat.twin(faults_inside, errors="mask")
    value, faults = twin(np.array([5, 5, 4, 3]), np.array([0, 2, 0, 0]))
    assert faults.mask.tolist() == [True, False, False, True]
    assert value.tolist()[1:3] == [faults_inside(5, 2), faults_inside(4, 0)]


def REFUSED_in_a_loop(n):
    total = 1
    for k in range(n):
        total += REFUSED_in_a_loop(k)
    return total


def REFUSED_as_an_object(n):
    again = REFUSED_as_an_object
    return 0 if n <= 0 else 2 * again(n - 1) + 1


def REFUSED_pairs(n):
    if n <= 0:
        return 0, 1
    a, b = REFUSED_pairs(n - 1)
    return b, a + b


@pytest.mark.parametrize("fn", [REFUSED_in_a_loop, REFUSED_as_an_object, REFUSED_pairs], ids=lambda fn: fn.__name__)
def test_what_has_no_twin_is_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(np.arange(4))
    assert caught.value.code == "flatten/recursion"
