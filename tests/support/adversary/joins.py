"""Values of different kinds, shapes or identities where paths meet."""

from __future__ import annotations

import math


def case_j_neg(c: bool, x: float):
    return -(0 if c else 0.0)


def case_j_floor(c: bool, x: float):
    return (7 if c else 7.5) // 2


def case_j_pow(c: bool, n: int):
    return (2 if c else 2.0) ** (n % 70)


def case_j_mod(c: bool, n: int):
    return (n if c else 0.5) % 3


def case_j_round(c: bool, n: int):
    return round(n if c else 0.5)


def case_j_round2(c: bool, n: int):
    return round(n if c else 0.25, 1)


def case_j_eq(c: bool, n: int):
    return (n if c else 0.5) == 2.0**53


def case_j_cmp(c: bool, n: int):
    return (n if c else 0.5) > 2.0**53


def case_j_bool_add(c: bool, b: bool):
    return (b if c else 3) + (b if c else 0.5)


def case_j_is(c: bool, b: bool):
    return (b if c else 1) is True


def case_j_and(c: bool, n: int, x: float):
    return (n if c else x) and (x or n)


def case_j_isinst(c: bool, n: int):
    return isinstance(n if c else 0.5, int)


def case_j_int_mul(c: bool, n: int):
    return (n if c else 0.5) * n


def case_j_int_div(c: bool, n: int):
    return (n if c else 0.5) / n


def case_j_min(c: bool, n: int, x: float):
    return min(n if c else x, x)


def case_j_nonefirst(c: bool, x: float):
    v = None if c else x
    return 0.0 if v is None else v + 1


def case_j_none_truth(c: bool, x: float):
    v = None if c else x
    return 1 if v else 2


def case_j_none_eq(c: bool, x: float):
    v = None if c else x
    return v == x


def case_j_str(c: bool, x: float):
    v = "a" if c else x
    return 1.0 if v == "a" else v


def case_j_tuple(c: bool, x: float, y: float):
    t = (x, y) if c else (y, 1)
    return t[0] + t[1]


def case_j_tuplelen(c: bool, x: float):
    t = (x, 1) if c else (x, 1, 2)
    return len(t)


def case_j_tuplelen2(c: bool, x: float):
    t = (x, 1) if c else ()
    return t[0] if t else 0.0


def case_j_fn(c: bool, x: float):
    f = math.floor if c else abs
    return f(x)


def case_j_lam(c: bool, x: float):
    f = (lambda v: v + 1) if c else lambda v: v * 2
    return f(x)


def case_j_list_store(c: bool, x: float):
    p = [x]
    q = [1.0]
    a = p if c else q
    a[0] = 5.0
    return p[0] - q[0]


def case_j_listid(c: bool, x: float):
    p = [x]
    q = p if c else [x]
    q[0] = 3.0
    return p[0]


def case_j_range(c: bool, x: float):
    s = 0
    for i in range(3) if c else range(5):
        s += i
    return s
