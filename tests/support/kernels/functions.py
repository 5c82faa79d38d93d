"""Helpers that take arrays: written through, returned, recursive, with defaults; names that mean two things."""

from __future__ import annotations

import math

import numpy as np

from tests.support.kernels import on


def at(v, i):
    return v[i]


def put(v, i, x):
    v[i] = x


def doubled(v):
    for i in range(len(v)):
        v[i] *= 2.0
    return v


def fresh(n):
    return np.zeros(n)


def mean(v):
    s = 0.0
    for i in range(len(v)):
        s += v[i]
    return s / len(v)


def first_above(v, x):
    for i in range(len(v)):
        if v[i] > x:
            return i
    return -1


def total(v, n):
    return 0.0 if n == 0 else v[n - 1] + total(v, n - 1)


def halves(v, low, high):
    if high - low < 2:
        return v[low] if high > low else 0.0
    middle = (low + high) // 2
    return halves(v, low, middle) + halves(v, middle, high)


def limited(x, low=0.0, high=3.0):
    return min(max(x, low), high)


def swap(v, i, j):
    v[i], v[j] = v[j], v[i]


def norm(*values):
    return math.sqrt(sum(v * v for v in values))


@on("np.arange(5.0)", "np.zeros(0)")
def case_reads_in_a_helper(a):
    s = 0.0
    for i in range(len(a)):
        s += at(a, i) + at(a, -1)
    return s


@on("np.arange(5.0)")
def case_helper_reads_too_far(a):
    for i in range(len(a)):
        a[i] = at(a, i + 1)


@on("np.arange(5.0)")
def case_writes_in_a_helper(a):
    for i in range(len(a)):
        put(a, i, i * 3.0)
    put(a, 0, -1)


@on("np.arange(5.0)", "np.arange(5)")
def case_helper_returns_its_argument(a):
    b = doubled(a)
    b[0] = 17.0
    return b is a, b


@on("np.arange(12.0).reshape(3, 4)")
def case_rows_given_to_a_helper(a):
    for i in range(3):
        doubled(a[i])
        a[i, 0] = mean(a[i])
    doubled(a[:, 1])


@on("np.arange(5.0)")
def case_helper_makes_an_array(a):
    t = fresh(len(a))
    u = fresh(2)
    for i in range(len(a)):
        put(t, i, a[i])
    return t, u


@on("np.arange(5.0)", "np.zeros(0)")
def case_mean_of_nothing(a):
    return mean(a)


@on("np.arange(5.0), 2.5", "np.arange(5.0), 99.0", "np.zeros(0), 0.0")
def case_returns_early_in_a_helper(a, x):
    k = first_above(a, x)
    a[k] = -1.0
    return k


@on("np.arange(5.0)", "np.zeros(0)")
def case_recursion_on_an_array(a):
    return total(a, len(a))


@on("np.arange(8.0)", "np.zeros(0)", "np.arange(5.0)")
def case_recursion_in_halves(a):
    return halves(a, 0, len(a))


@on("np.arange(5.0) * 2")
def case_defaults_and_keywords(a):
    for i in range(len(a)):
        a[i] = limited(a[i], high=4.0) + limited(a[i], 1.0) + limited(x=a[i])


@on("np.arange(6.0)")
def case_swaps_in_a_helper(a):
    for i in range(len(a) // 2):
        swap(a, i, -i - 1)


@on("np.arange(6.0), np.arange(6.0) + 1")
def case_arguments_exchanged(a, b):
    def difference(b, a):
        return a[1] - b[2]
    return difference(a, b), difference(b, a)


@on("np.arange(6.0)")
def case_closure_over_an_array(a):
    k = 2

    def get(i):
        return a[i + k]
    return get(0) + get(-1)


@on("np.arange(6.0)")
def case_closure_writes(a):
    def add(i, x):
        a[i] += x
    for i in range(6):
        add(i, 1.5)


@on("np.arange(6.0)")
def case_lambda(a):
    f = lambda i: a[i] * 2.0  # noqa: E731
    return f(2) + f(-1)


@on("np.arange(6.0)")
def case_star_arguments(a):
    return norm(a[1], a[2]), norm(*(a[i] for i in range(3)))


@on("np.arange(6.0), 2, 3", "np.arange(6.0), 3, 2", "np.arange(6.0), 0, 5")
def case_names_shadow(a, i, n):
    total = 0.0
    for i in range(n):
        total += a[i]
    n = total
    a[0] = n
    return i, n


@on("np.arange(6.0)")
def case_parameter_rebound_to_a_view(a):
    a = a[2:]
    a[0] = -1.0
    a = a * 1.0
    a[1] = -2.0
    return a


@on("np.arange(6.0)", "np.arange(6)")
def case_parameter_rebound_to_a_new_array(a):
    x = a[1]
    a = np.zeros(3)
    for i in range(3):
        a[i] = i + x
    return a


@on("np.arange(6.0), np.zeros(6)")
def case_same_helper_on_two_arrays(a, b):
    put(a, 0, 5)
    put(b, 1, at(a, 1))
    doubled(b)
    return mean(a) + mean(b)


@on("np.arange(6.0), np.arange(6, dtype=np.int32)")
def case_same_helper_on_two_dtypes(a, b):
    put(a, 0, 5)
    put(b, 0, 5.7)
    return at(a, 1), at(b, 1), mean(b)


@on("np.arange(6.0)")
def case_print_in_a_kernel(a):
    a[0] = 1.0
    if a[0] > 2.0:
        print(a[0])
    return a[0]
