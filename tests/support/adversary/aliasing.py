"""Local containers and who else sees them change."""
# ruff: noqa: F601, F821, FURB171, FURB192

from __future__ import annotations

import collections

import numpy as np

GEN = (v for v in (1.0, 2.0))

DQ = collections.deque([1.0])




def case_local_np2(x: float):
    a = np.array([x, 1.0])
    return a.sum()


def case_local_np3(x: float):
    a = np.array([x, 1.0]) * 2
    return a[0]


def case_local_dict2(x: float):
    d = {"a": x}
    e = dict(d)
    e["a"] = 1.0
    return d["a"]


def case_local_dict3(x: float):
    d = {"a": [x]}
    e = d.copy()
    e["a"].append(1.0)
    return len(d["a"])


def case_dict_key_true(x: float):
    return {1: x, True: 5.0}[1] + len({1: 1, True: 2, 1.0: 3})


def case_dict_order(x: float):
    d = {"b": x, "a": 1.0}
    d["b"] = 3.0
    return [v for v in d.values()][0]


def case_dict_unpack(x: float):
    a, b = {1.0: x, 2.0: 3}
    return a + b


def case_lists_join_alias(c: bool, x: float):
    a = [x]
    b = [a]
    if c:
        b[0] = [5.0]
    b[0][0] += 1
    return a[0]


def case_lists_join2(c: bool, d: bool, x: float):
    a = [x]
    b = [2.0]
    p = a if c else b
    q = b if d else a
    p[0] = 10.0
    q[0] += 1
    return a[0] * 100 + b[0]


def case_lists_swapnames(c: bool, x: float):
    a = [x]
    b = [2.0]
    if c:
        a, b = (b, a)
    a[0] = 7.0
    return b[0]


def case_list_is(c: bool, x: float):
    a = [x]
    b = [x]
    p = a if c else b
    return p is a


def case_list_nested_loop(n: int, x: float):
    rows = [[0.0, 0.0], [0.0, 0.0]]
    for r in rows:
        r[n % 2] = x
    return rows[1][0] + rows[0][1]


def case_list_lane_row(n: int, x: float):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    rows[n % 2][1] = x
    return rows[0][1] - rows[1][1]


def case_list_lane_row_alias(n: int, x: float):
    r = [1.0, 2.0]
    rows = [r, r]
    rows[n % 2][0] = x
    return rows[0][0] + rows[1][0]


def case_list_ret_alias(x: float):
    l = [x]
    return (l, l)


def mod_list(l):
    l[0] += 1
    l.append(2.0)
    return l


def case_callee_mut(x: float):
    a = [x]
    b = mod_list(a)
    return (a is b, a[0], len(a))


def case_callee_mut_branch(c: bool, x: float):
    a = [x, 0.0]

    def bump(l):
        if c:
            l[0] = 9.0
        else:
            l[1] = 8.0

    bump(a)
    return (a[0], a[1])


def case_tuple_aug(x: float):
    t = u = (x,)
    t += (1.0,)
    return len(u)


def case_tuple_item_aug(x: float):
    t = ([x],)
    try:
        t[0] += [1.0]
    except TypeError:
        pass
    return len(t[0])
