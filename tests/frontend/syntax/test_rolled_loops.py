"""State that a kept loop carries: numbers, tuples, names that get bound, items of lists, dicts and objects."""

from __future__ import annotations

import pytest

from tests.support.twins import agree


def items_of_a_list(n: int, x: float):
    if n > 6:
        n = 6
    a = [0, 10, 20]
    i = 0
    while i < n:
        a[i % 3] += i
        if a[0] > 5:
            a[1] = x
        i += 1
    return a[0] + a[1] * 2 + a[2]


class V:
    def __init__(self, x):
        self.x = x
        self.n = 0

    def step(self):
        self.x = self.x * 0.5
        self.n += 1


def attributes_through_a_method(x: float):
    v = V(x)
    while v.x > 1 and v.n < 40:
        v.step()
    return v.x, v.n


def swapped_items_of_a_dict(n: int):
    if n > 5:
        n = 5
    d = {"a": 1, "b": 2.5}
    for i in range(n):
        d["a"], d["b"] = d["b"], d["a"] + i
    return d["a"]


def an_inner_loop_over_all_items(n: int, x: float):
    if n > 5:
        n = 5
    A = [1.0, 2.0, 3.0]
    for i in range(n):
        for j in range(3):
            A[j] = A[j] * 0.5 + x
        if A[0] > 3:
            break
    return sum(A)


def an_alias(n: int):
    if n > 8:
        n = 8
    a = [0, 0, 0]
    b = a
    k = 0
    while k < n:
        b[k % 3] = a[(k + 1) % 3] + 1
        k += 1
    return a[0] + 10 * a[1] + 100 * a[2]


def steps_of_collatz(n: int):
    if n < 1 or n > 1000:
        return 0
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


def range_of_a_lane(n: int, x: float):
    if n > 20:
        n = 20
    s = 0
    for i in range(n):
        if i == 7:
            continue
        s += x * i
        if s > 100:
            break
    else:
        s = -s - 1
    return s


def triangle(n: int):
    if n > 10:
        n = 10
    t = 0
    for i in range(n):
        for j in range(i):
            if (i + j) % 3 == 0:
                continue
            t += i * j
    return t


def return_in_while_true(n: int):
    if n > 50:
        n = 50
    i = 0
    while True:
        i += 1
        if i * i > n:
            return i


def loop_variable_unbound(n: int):
    if n > 10:
        n = 10
    for i in range(n):
        last = i * 2
    return last


def tuples_as_state(n: int):
    if n > 20:
        n = 20
    a, b = 0, 1
    p = (0, 1.5)
    while n > 0:
        a, b = b, a + b
        p = (p[1], p[0] + a)
        n -= 1
    return a, p


def none_until_a_number(x: float, n: int):
    if n > 6:
        n = 6
    p = None
    i = 0
    while i < n:
        if p is None:
            p = x
        else:
            p = p + 1.0
        i += 1
    return p if p is not None else -1.0


def int_or_float_by_iteration(x: float, n: int):
    if n > 8:
        n = 8
    s = 0
    while n > 0:
        s = -s
        if n % 3 == 0:
            s += x
        elif isinstance(s, int):
            s += 2
        n -= 1
    return s, s * 2


def int_then_float(x: float, n: int):
    if n > 8:
        n = 8
    best = -1
    i = 0
    while i < n:
        if x * i > best:
            best = x * i
        i += 1
    return best // 2, -best


CASES = [
    (items_of_a_list, "if"),
    (attributes_through_a_method, "f"),
    (swapped_items_of_a_dict, "i"),
    (an_inner_loop_over_all_items, "if"),
    (an_alias, "i"),
    (steps_of_collatz, "i"),
    (range_of_a_lane, "if"),
    (triangle, "i"),
    (return_in_while_true, "i"),
    (loop_variable_unbound, "i"),
    (tuples_as_state, "i"),
    (none_until_a_number, "fi"),
    (int_or_float_by_iteration, "fi"),
    (int_then_float, "fi"),
]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("fn", "kinds"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_a_kept_loop_is_pythons(fn, kinds, target):
    agree(fn, kinds, target=target)
