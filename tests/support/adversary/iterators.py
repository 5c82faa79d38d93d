"""Iterators give their items once; lists that zip() reads are read when the loop gets there; cyclic objects."""
# ruff: noqa: B007, B905

from __future__ import annotations

import functools
import itertools

import numpy as np


class Node:
    def __init__(self, a, b=None):
        self.a = a
        self.b = b


def refused_map_twice(n: int):
    m = map(lambda i: i * 2, range(n % 9))
    return sum(m) + 1000 * sum(m)


def refused_enumerate_goes_on(n: int):
    m = enumerate(range(n % 9))
    t = 0
    for i, v in m:
        if i > 3:
            break
        t += v
    for i, v in m:
        t += 1000
    return t


def refused_zip_twice(n: int):
    m = zip(range(n % 9), range(2, n % 11))
    t = 0
    for i, v in m:
        t += v
    for i, v in m:
        t += 1000
    return t


def refused_reversed_twice(n: int):
    r = reversed(range(n % 9))
    t = sum(r)
    return t + sum(r)


def refused_any_then_sum(n: int):
    m = map(lambda i: i * 2, range(n % 9))
    return any(v > 4 for v in m) + 10 * sum(m)


def refused_inside_kept_loop(n: int):
    m = map(lambda i: i, range(n % 9))
    for k in range(n % 9):
        for v in m:
            if v == 3 and k == 1:
                return k
    return -1


def refused_generator_inside_kept_loop(n: int, x: float):
    m = (v * x for v in (0.0, 1.0, 0.0))
    for k in range(n % 9):
        if any(m) and k == 1:
            return k
    return -1


def case_made_inside_kept_loop(n: int):
    t = 0
    for k in range(n % 9):
        for i, v in enumerate(range(k)):
            t += i * v
        t += sum(map(lambda v: v * k, (1, 2)))
    return t


def refused_zip_strict(n: int):
    try:
        t = 0
        for i, v in zip(range(n % 5), (1, 2, 3), strict=True):
            t += v
    except ValueError:
        return -1
    return t


def refused_zip_of_cycle(n: int):
    t = 0
    for i, v in zip(range(n % 9), itertools.cycle((1, -1))):
        t += i * v
    return t


def refused_zip_of_iterator(n: int):
    it = iter((1, 2, 3, 4, 5, 6))
    t = 0
    for i, v in zip(range(n % 4), it):
        t += v
    return (t, next(it))


def refused_zip_of_lazy_faults(n: int, x: float):
    t = 0.0
    try:
        for i, v in zip(range(n % 4), (1 / u for u in (2, x, 1))):
            t += v
    except ZeroDivisionError:
        return -5.0
    return t


def case_zip_reads_lists_late(n: int):
    k = [1, 2, 3]
    t = 0
    for i, v in zip(range(n % 9), k):
        t += v
        k[2] = 100
    return t


def refused_zip_before_append(n: int):
    k = [1]
    z = zip(range(n % 9), k)
    k[0] = 7
    k.append(5)
    return sum(b for a, b in z)


def refused_reversed_enumerate(n: int):
    return sum(i for i, v in reversed(enumerate(range(n % 9))))


def refused_reversed_map(n: int):
    return sum(reversed(map(lambda i: i, range(n % 9))))


def refused_len_of_reversed(n: int):
    return len(reversed(range(n % 9)))


def case_reduce(n: int, x: float):
    return functools.reduce(lambda a, b: a * b, range(1, n % 9), x)


def case_reduce_of_nothing(n: int):
    return functools.reduce(lambda a, b: b - a, (i * 7 % 5 for i in range(n % 9) if i != 2))


def case_in_range(n: int, x: float):
    k = n % 9
    return (x in range(k), x in range(-3, k), n in range(k, 5), x in range(k, 0, -1), (x > 1) in range(k))


def refused_cyclic(n: int, x: float):
    a, b = Node(1.0), Node(2.0)
    cur = a
    a.b = b
    b.b = a
    for i in range(n % 9):
        cur.a += x
        cur = cur.b
    return (a.a, b.a, cur is a, cur.b.a)


def case_rows_of_an_array(n: int, x: float):
    a = np.array([[x, 2.0], [3.0, 4.0]])
    t = 0.0
    for i, r in zip(range(n % 9), a):
        t += r[0]
    return (t, a[0, 1])


def case_row_at_the_counter(n: int, x: float):
    a = np.array([[x, 2.0], [3.0, 4.0]])
    t = 0.0
    for i in range(n % 9):
        r = a[i % 2]
        t += r[0] - r[1]
    return t


def case_array_in_a_tuple(n: int, x: float):
    t = 0
    for i in range(n % 9):
        r = (i, np.array([x, 1.0]))
        r[1][0] += i
        t += r[1][0]
    return t


def case_zip_of_an_array_that_changes(n: int, x: float):
    a = np.array([x, 2.0, 3.0])
    t = 0.0
    for i, v in zip(range(n % 9), a):
        t += v
        a[2] = 100
    return t


def case_product_reads_at_once(x: float):
    pool = [3.0, 1.0]
    pairs = itertools.product(pool, pool)
    pool[1] = x
    return sum(a * b for a, b in pairs)


def case_combinations_read_at_once(x: float):
    pool = [1.0, 2.0, 3.0]
    pairs = itertools.combinations(pool, 2)
    pool[1] = x
    return sum(a * b for a, b in pairs)


def refused_iter_before_a_write(x: float):
    items = [3.0, 1.0]
    it = iter(items)
    items[0] = x
    return next(it)


def refused_iter_of_an_array(x: float):
    items = np.array([3.0, 1.0])
    it = iter(items)
    items[0] = x
    return next(it)


def refused_iter_of_values(x: float):
    items = {"a": 3.0}
    it = iter(items.values())
    items["a"] = x
    return next(it)


def case_iter_of_a_generator(x: float):
    try:
        it = iter(1 / v for v in (2.0, x))
        a = next(it)
    except ZeroDivisionError:
        a = -1.0
    return a


def case_first_value(x: float):
    return next(iter({"a": x, "b": 1.0}.values())) + next(iter([x, 2.0]))
