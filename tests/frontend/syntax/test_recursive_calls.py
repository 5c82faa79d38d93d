"""Recursion whose depth differs from lane to lane, as a loop."""

from types import FunctionType

import pytest

import pyflat
from tests.frontend.constructs.test_constructs import XS, lanes_are_pythons

CODES = ("flatten/recursion",)


def _n(x, most=40):
    return int(abs(x)) % most if abs(x) < 1e6 else 7


def _gcd(a, b):
    if b == 0:
        return a
    return _gcd(b, a % b)


def greatest_divisor(x):
    return _gcd(_n(x * 12, 1000), _n(x * 18, 500))


def gcd_in_one_line(x):
    def divide(a, b):
        return a if b == 0 else divide(b, a % b)

    return divide(_n(x * 12, 1000), 36)


def _digit_sum(n):
    if n < 10:
        return n
    return n % 10 + _digit_sum(n // 10)


def digits_added(x):
    return _digit_sum(_n(x * 777, 10**6))


def _count_down(n, total=0):
    if n <= 0:
        return total
    return _count_down(n - 1, total + n)


def accumulated_by_a_default(x):
    return _count_down(_n(x))


def _mean(x, n):
    if n == 0:
        return x
    if x > 100:
        return _mean(x / 2, n - 1)
    return _mean(x + 1, n=n - 1)


def floats_that_go_around(x):
    return _mean(x, _n(x, 9)) if x == x else 0.0


def _collatz(n):
    if n == 1:
        return 0
    if n % 2 == 0:
        return 1 + _collatz(n // 2)
    return _collatz(3 * n + 1) + 1


def collatz(x):
    return _collatz(_n(x) + 1)


def _power(x, n):
    if n == 0:
        return 1
    if n % 2 == 0:
        return _power(x * x, n // 2)
    return x * _power(x, n - 1)


def power_of_ints(x):
    return _power(3, _n(x, 30))


def _subtracting(n):
    return 5 if n < 1 else _subtracting(n - 2) - n


def subtracted(x):
    return _subtracting(_n(x))


def _endless(n):
    return 0 if n == 0 else _endless(n - 1)


def endless_for_negative_ints(x):
    return _endless(int(x)) if abs(x) < 30 else 1


def _faulting(n):
    if n < 0:
        return 0
    return 12 // (3 - n) + _faulting(n - 1)


def faults_on_the_way(x):
    return _faulting(int(x)) if abs(x) < 9 else 1


def _ackermann_of_one(n):
    if n == 0:
        return 2
    k = n - 1
    return _ackermann_of_one(k) + 1


def local_names(x):
    return _ackermann_of_one(_n(x))


def _search(low, high, x):
    if low >= high:
        return low
    middle = (low + high) // 2
    if middle * middle < x:
        return _search(middle + 1, high, x)
    return _search(low, middle, x)


def binary_search(x):
    return _search(0, 1000, x)


def _is_even(n):
    if n == 0:
        return True
    if n == 1:
        return False
    return _is_even(n - 2)


def evenness(x):
    return _is_even(_n(x))


def _loops_inside(n):
    total = 0
    for i in range(3):
        if i > n:
            return total
        total += i
    return total + _loops_inside(n - 1)


def a_loop_inside(x):
    return _loops_inside(_n(x, 6))


def _pair(a, b, n):
    if n == 0:
        return a, b
    return _pair(b, a + b, n - 1)


def fibonacci_pair(x):
    return _pair(0, 1, _n(x, 20))


def floats_are_collected(x):
    def halves(y):
        return 0.0 if y < 1 else y + halves(y / 2)

    return halves(min(abs(x), 1e3))


def two_calls(x):
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    return fibonacci(_n(x, 9))


def a_call_in_an_argument(x):
    def twice(n):
        return 1 if n < 1 else twice(twice(n - 2) - 3)

    return twice(_n(x, 9))


def sums_and_products(x):
    def both(n):
        if n < 1:
            return 1
        return 2 * both(n - 1) if n % 2 else 1 + both(n - 1)

    return both(_n(x, 9))


def REFUSED_pairs(x):
    def both(n):
        if n < 1:
            return 0, 1
        a, b = both(n - 1)
        return b, a + b

    return both(_n(x, 9))[0]


def REFUSED_a_call_in_a_loop(x):
    def many(n):
        total = 1
        for k in range(n):
            total += many(k)
        return total

    return many(_n(x, 5))


ALL = [fn for name, fn in list(globals().items()) if isinstance(fn, FunctionType) and fn.__module__ == __name__ and name[0] != "_"]
REFUSED = [fn for fn in ALL if fn.__name__.startswith("REFUSED_")]


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [fn for fn in ALL if fn not in REFUSED], ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    lanes_are_pythons(fn, target)


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_what_has_no_twin_is_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(XS)
    assert caught.value.code in CODES
