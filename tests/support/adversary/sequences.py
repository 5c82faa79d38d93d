"""Loops over changing lists, comprehensions, text known while flattening, sorting, sums."""
# ruff: noqa: F601, F821, FURB171, FURB192

from __future__ import annotations

import math


def case_del_(x: float):
    a = x
    del a
    try:
        return a
    except UnboundLocalError:
        return 1.0


def case_del_branch(x: float):
    a = 1.0
    if x > 0:
        del a
    try:
        return a
    except NameError:
        return 2.0


def case_loopvar(n: int):
    for i in range(3):
        if i == n:
            break
    return i


def case_emptyloop(n: int):
    for i in ():
        pass
    return i


def case_loopvar_change(n: int):
    s = 0
    for i in range(4):
        s += i
        i = n
    return s + i


def case_loop_list_mut(x: float):
    l = [x, 1.0]
    s = 0.0
    for v in l:
        s += v
        if len(l) < 4:
            l.append(2.0)
    return s


def case_loop_list_pop(x: float):
    l = [x, 1.0, 2.0, 3.0]
    s = 0.0
    for v in l:
        s += v
        l.pop()
    return s


def case_lam_late2(x: float):
    fs = []
    for k in (1, 2):
        fs.append(lambda: k)
    return fs[0]()


def case_lam_def(x: float):
    fs = [lambda k=k: k for k in (1, 2)]
    return fs[0]()


def case_closure_late(x: float):
    k = 1.0
    f = lambda: k + x
    k = 2.0
    return f()


def case_mutdef(x: float):

    def g(v, acc=[]):
        acc.append(v)
        return len(acc)

    return g(x) * 10 + g(x)


def case_comp_scope(x: float):
    i = 5
    l = [i for i in range(3)]
    return i


def case_comp_walrus(x: float):
    l = [(j := i) for i in range(3)]
    return j


def case_comp_nested(x: float):
    return sum([i * j for i in range(3) for j in range(i)])


def case_gen_if(x: float, n: int):
    return sum((i for i in range(5) if i != n))


def case_comp_shadow(x: float):
    return [x for x in (x, 2.0)][1]


def case_fstr_key(n: int):
    k = 1
    return {"a1": n, "a2": 0}[f"a{k}"]


def case_str_cat(n: int):
    return len("a\nb")


def case_str_lt(c: bool):
    return ("a" if c else "b") < "b"


def case_star(x: float):

    def f(*a, k=1, **kw):
        return sum(a) + k + len(kw)

    return f(*(x, 1.0), k=2, q=3)


def case_sorted3(x: float, y: float, z: float):
    return sorted((x, y, z))[1]


def case_sorted3i(n: int, m: int, k: int):
    return sorted((n, m, k))[1]


def case_sorted_mixed(n: int, x: float):
    return sorted([n, x, 1])[0]


def case_sort(x: float, y: float, z: float):
    l = [x, y, z]
    l.sort()
    return (l[0], l[2])


def case_sum_negz(x: float):
    return sum([x])


def case_sum_negz2(x: float):
    return sum([x], -0.0)


def case_sum_bool(b: bool, c: bool):
    return sum([b, c])


def case_sum_mixed(n: int, x: float, b: bool):
    return sum([n, x, b])


def case_sum_start(n: int):
    return sum([n], 0.5)


def case_sum_lists(x: float):
    return len(sum([[x], [1]], []))


def case_prod(n: int, x: float):
    return math.prod([n, 2, x])


def case_min_empty(x: float):
    return min([], default=x)


def case_min_key(x: float, y: float):
    return min((x, y), key=lambda v: -v)


def case_max_key(x: float, y: float):
    return max(x, y, 0.0, key=abs)


def case_min3(x: float, y: float, n: int):
    return min(x, y, n)


def case_max_bool(b: bool, n: int):
    return max(b, n)


def case_min_list(x: float, y: float):
    return min([x, 1], [y, 2])[1]
