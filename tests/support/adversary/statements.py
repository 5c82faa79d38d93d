"""Assignment in all its forms, match, jumps, results of all shapes."""

from __future__ import annotations


def case_nested_mod(x: float):
    l = [x]

    def f():
        l.append(1.0)
        l[0] += 1

    f()
    f()
    return l[0] + len(l)


def case_shadow_builtin(x: float):
    max = min
    return max(x, 1.0)


def case_abs_shadow(x: float):

    def abs(v):
        return v

    return abs(x)


def case_ann(x: float):
    y: int
    y = x
    return y


def case_unpack_nested(x: float, y: float):
    (a, (b, c)), *d = ((x, (y, 1)), 2, 3)
    return (a, b, c, d[1])


def case_swap_idx(x: float, y: float):
    a = [x, y, 1.0]
    i = 0
    i, a[i] = (1, 9.0)
    return (a[0], a[1], i)


def case_swap2(n: int):
    a = [0, 1, 2]
    i = n % 3
    a[0], a[i] = (a[i], a[0])
    return (a[0], a[1], a[2])


def case_chain_assign(x: float):
    a = b = [x]
    a += [1.0]
    return len(b)


def case_chain_order(n: int):
    i = 0
    a = [0, 0, 0]
    i = a[i] = 2
    return (a[0], a[2])


def case_aug_order(x: float):
    a = [1.0, 2.0]

    def f():
        a[0] = 10.0
        return 1.0

    a[0] += f()
    return a[0] + x


def case_list_mul_alias(x: float):
    a = [[0.0]] * 2
    a[0][0] = x
    return a[1][0]


def case_list_copy(x: float):
    a = [[x]]
    b = a[:]
    b[0][0] = 4.0
    return a[0][0]


def case_list_slice_assign(x: float):
    a = [x, 1.0, 2.0]
    a[1:] = [5.0]
    return len(a) + a[1]


def case_match(n: int):
    match n:
        case 0 | 1:
            return 10
        case -1:
            return 20
        case k if k > 50:
            return k % 7
        case _:
            return 0


def case_match_t(x: float, y: float):
    match (x, y):
        case [0, 0]:
            return 1.0
        case [0, b]:
            return b
        case [a, 1.0]:
            return a
        case [a, b] if a == b:
            return 7.0
    return 9.0


def case_match_bool(b: bool):
    match b:
        case 1:
            return 5
        case True:
            return 6
        case 0:
            return 7


def case_match_none(x: float, c: bool):
    v = None if c else x
    match v:
        case None:
            return 1.0
        case 1.0:
            return 2.0
        case w:
            return w


def case_match_or_bind(n: int, m: int):
    match (n, m):
        case [0, k] | [k, 0]:
            return k
    return -1


def case_while_else(n: int):
    k = 0
    while k < 5:
        k += 1
        if k == n:
            break
    else:
        k = 100
    return k


def case_nested_break(n: int, m: int):
    s = 0
    for i in range(3):
        for j in range(3):
            if j == n:
                continue
            if i * j == m:
                break
            s += i * 3 + j
        else:
            s += 100
            continue
        if i == 1:
            break
    else:
        s += 1000
    return (s, i, j)


def case_ret_in_for(n: int):
    for i in range(4):
        if i == n:
            return i * 10
        for j in (1, 2):
            if i + j == n - 3:
                return j
    return -1


def case_cont_while(n: int):
    k = 0
    s = 0
    while k < 6:
        k += 1
        if k % 2 == n % 2:
            continue
        s += k
    return s


def case_assert_msg(x: float):
    assert x > 0, f"bad {1 / 0}"
    return x


def case_none_path(x: float):
    if x > 0:
        return x


def case_str_path(x: float):
    return x if x > 0 else "neg"


def case_big(n: int):
    return n * 2**62


def case_mixedk(n: int, x: float):
    return n if n > 0 else x


def case_bool_or_int(n: int):
    return n if n > 0 else True


def case_list_res(x: float):
    return [x, 1]


def case_nested_res(x: float):
    return (x, (1, [x, 2]))


def case_ellipsis(x: float):
    return ... if x > 0 else x
