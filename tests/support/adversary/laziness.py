"""Iterators that read late, nested handlers, closures of loops."""

from __future__ import annotations

import math


def case_zip_late(x: float):
    l = [x]
    z = zip(l, (1, 2))
    l.append(3.0)
    return sum((a * b for a, b in z))


def case_enum_late(x: float):
    l = [x]
    z = enumerate(l)
    l.append(3.0)
    return sum((a * b for a, b in z))


def case_rev_late(x: float):
    l = [x, 1.0]
    z = reversed(l)
    l.append(3.0)
    return sum(z)


def case_map_late(x: float):
    k = 1.0
    z = map(lambda v: v * k, (x, 1.0))
    k = 2.0
    return sum(z)


def case_for_rev_mut(x: float):
    l = [x, 1.0, 2.0]
    s = 0.0
    for v in reversed(l):
        s = s * 2 + v
        l[0] = 9.0
    return s


def case_index_nan_try(x: float, y: float):
    t = [x, y]
    return t.index(min(t))


def case_count_f(x: float, y: float):
    return [x, 1.0, y].count(1)


def case_list_lt(x: float, y: float):
    return [x, 1] < [y, 0]


def case_list_minus(x: float):
    return [x] == [1.0] or [x, 1] == [x]


def case_raise_order(x: float, y: float):
    try:
        if x > 0:
            raise ValueError(math.sqrt(y))
        return 0
    except ValueError as e:
        return 1


def case_raise_func(x: float):

    def mk():
        return ValueError("a")

    try:
        if x > 0:
            raise mk()
    except ValueError:
        return 1
    return 0


def case_dict_in_order(x: float):
    d = {}
    d[2] = x
    d[1] = 1.0
    return [k for k in d][0]


def case_dict_items_mut(x: float):
    d = {1: x, 2: 1.0}
    for k, v in d.items():
        d[k] = v + 1
    return d[1] + d[2]


def case_list_extend_self(x: float):
    l = [x]
    l.extend(l)
    l += l
    return len(l)


def case_choice_tuple_aug(c: bool, x: float):
    a = (x,) if c else (x, 1.0)
    b = a
    a += (2.0,)
    return len(b)


def case_loop_lambda_call(x: float):
    s = 0.0
    for k in (1, 2):
        f = lambda: k * x
        s += f()
    return s


def case_inner_def_loop(x: float):
    fs = []
    for k in (1, 2):

        def f():
            return k * x

        fs.append(f)
    return fs[0]()
