"""Indexing, hashes, loops whose trips depend on lanes, guarded operations."""
# ruff: noqa: F601, F821, FURB171, FURB192

from __future__ import annotations

import math
import operator


def case_idx(n: int):
    return (1.5, 2.5, 3.5)[n]


def case_idxb(b: bool):
    return (1.5, 2.5)[b]


def case_idx_l(n: int, x: float):
    return [x, 1.0, 2.0][n]


def case_idx2(n: int, m: int):
    return ((1, 2), (3, 4))[n][m]


def case_idxmix(n: int):
    return (1, 2.5, True)[n]


def case_idxnone(n: int):
    return 1 if (None, 1)[n] is None else 0


def case_slice_(x: float):
    return (x, 1.0, 2.0)[::-1][0]


def case_store(n: int, x: float):
    a = [0.0, 1.0, 2.0]
    a[n] = x
    return a


def case_storeaug(n: int, x: float):
    a = [0.0, 1.0, 2.0]
    a[n] += x
    return a[0] - a[2]


def case_swap(n: int, m: int):
    a = [0, 1, 2, 3]
    i = n % 4
    j = m % 4
    a[i], a[j] = (a[j], a[i])
    return a


def case_dict_(n: int):
    return {1: 5, 2: 7}.get(n, -1)


def case_dict2(n: int):
    return {1: 5, 2: 7.5}[n]


def case_dictf(x: float):
    return {1: 5, 0.5: 7, True: 6}.get(x)


def case_dictin(n: int):
    return n in {1: 2, 3: 4}


def case_in_(x: float):
    return (x in (1, 2.5, 0), x not in [1])


def case_instr(n: int):
    return n in (1, "a", None)


def case_conv(x: float):
    return float(int(x)) if abs(x) < 10000000000.0 else 0.0


def case_lcg(n: int):
    s = n
    for _ in range(5):
        s = s * 1103515245 + 12345 & 2147483647
    return s


def case_xorshift(n: int):
    s = n & 4294967295
    for _ in range(3):
        s ^= s << 13 & 4294967295
        s ^= s >> 17
        s ^= s << 5 & 4294967295
    return s


def case_digits(n: int):
    n = abs(n) % 1000
    s = 0
    for _ in range(4):
        s += n % 10
        n //= 10
    return s


def case_collatz(n: int):
    n = n % 20 + 1
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


def case_gcdloop(n: int, m: int):
    while m:
        n, m = (m, n % m)
    return n


def case_forlane(n: int):
    s = 0
    for i in range(n % 10):
        s += i * i
    return s


def case_forlane2(n: int, m: int):
    s = 0
    for i in range(n % 5, m % 9):
        for j in range(i):
            if j == 3:
                break
            s += j
        else:
            s += 100
    return s


def case_newton(x: float):
    r = 1.0
    k = 0
    while abs(r * r - x) > 1e-09 and k < 50:
        r = 0.5 * (r + x / r)
        k += 1
    return k


def case_whilebreak(n: int):
    k = 0
    while True:
        if k * k > n or k > 20:
            break
        k += 1
    else:
        k = -1
    return k


def case_forelse(n: int):
    for i in range(n % 6):
        if i == 3:
            break
    else:
        return -1
    return i


def case_fltoverflow(x: float, y: float):
    return x * y - x * y


def case_dead(x: float):
    1 / x
    return 1.0


def case_dead2(n: int):
    d = n * 2**40
    return 1


def case_dead3(x: float):
    if x > 0:
        math.sqrt(-x)
    return x


def case_guard(x: float):
    return 1 / x if x else 0.0


def case_guard2(n: int, m: int):
    return n // m if m else 0


def case_guard3(n: int):
    return (1, 2, 3)[n] if 0 <= n < 3 else -1


def case_guard4(x: float):
    return int(x) if -1000000000.0 < x < 1000000000.0 else 0


def case_guard5(x: float, y: float):
    return x / y if x > 0 and y != 0 else math.sqrt(-x) if x < 0 else 1.0


def case_guard6(n: int, m: int):
    return n**m if 0 <= m < 5 and abs(n) < 100 else 0


def case_guard7(n: int):
    return n // 0 if n > 10**30 else n


def case_guard8(x: float):
    return math.log(x) > 0 if x > 0 else False


def case_early(x: float, y: float):
    if x == 0:
        return 0.0
    y = y / x
    if y != y:
        return -1.0
    return math.floor(y) if abs(y) < 1000000.0 else y


def case_ord_(n: int):
    return ord("a") + n


def case_opmod(n: int, m: int):
    return (operator.mod(n, m), operator.floordiv(n, m))


def case_intstr(n: int):
    return int("12") + n


def case_isinst(n: int, x: float, b: bool):
    return (
        isinstance(n, int),
        isinstance(b, int),
        isinstance(x, float),
        isinstance(n, float),
        isinstance(b, bool),
        isinstance(n, bool),
    )


def case_type_(n: int, b: bool):
    return (type(b) == int, type(n) is int)
