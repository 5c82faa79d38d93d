"""Exceptions in loops and callees, rolled loops."""

from __future__ import annotations

import math

GEN = (v for v in (1.0, 2.0))


def case_nested_fn_try(x: float, y: float):

    def f(v):
        try:
            return 1 / v
        except ZeroDivisionError:
            return g(v)

    def g(v):
        return 1 / (v + y)

    try:
        return f(x)
    except ZeroDivisionError:
        return -9.0


def case_try_in_loop_break(n: int):
    for i in (2, 1, 0, -1):
        try:
            r = n // i
        except ZeroDivisionError:
            r = -5
            break
        if r == 3:
            break
    else:
        return 100
    return r * 10 + i


def case_try_return_loop(n: int):
    for i in range(3):
        try:
            return (10, 20)[n + i]
        except IndexError:
            continue
    return -1


def case_try_while(n: int):
    k = 0
    while k < 3:
        try:
            k += 1
            if 6 // (n - k) == 2:
                return k
        except ZeroDivisionError:
            k += 10
    return k


def case_try_finally(x: float):
    l = []
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = 0.0
    finally:
        l.append(1)
    return y + len(l)


def case_try_finally2(x: float, y: float):
    s = 0.0
    try:
        s += 1 / x
    finally:
        s += 1
    return s


def case_try_finally_fault(x: float, y: float):
    try:
        r = 1 / x
    finally:
        r = 1 / y
    return r


def case_assert_in_callee(x: float):

    def f(v):
        assert v > 0
        return v

    try:
        return f(x)
    except AssertionError:
        return 0.0


def case_raise_cond(x: float):
    if not x > 0:
        raise ValueError("x")
    return math.sqrt(x)


def case_raise_cls_var(x: float):
    E = ValueError if x > 1 else KeyError
    if x > 0:
        raise E("a")
    return x


def case_raise_cls_caught(x: float):
    E = ValueError if x > 1 else KeyError
    try:
        if x > 0:
            raise E("a")
        return x
    except KeyError:
        return -1.0
    except ValueError:
        return -2.0


def case_except_tuple_var(x: float):
    EX = (ValueError, ZeroDivisionError)
    try:
        return 1 / x
    except EX:
        return -1.0


def case_raise_in_else(x: float, y: float):
    try:
        r = 1 / x
    except ZeroDivisionError:
        r = 5.0
    else:
        if y > 0:
            raise ValueError
    return r


def case_raise_in_handler(x: float, y: float):
    try:
        try:
            r = 1 / x
        except ZeroDivisionError:
            raise KeyError
    except KeyError:
        r = 3.0
    return r


def case_stopiter(x: float):
    try:
        raise StopIteration(3)
    except StopIteration as e:
        return x


def case_overflow_try(x: float):
    try:
        return math.exp(x) * 0
    except OverflowError:
        return 1.0


def case_intflat_try(x: float):
    try:
        n = int(x)
    except (ValueError, OverflowError):
        n = -1
    return n % 7


def case_loop_trip_try(n: int):
    k = 0
    try:
        while k < n % 5:
            k += 1
        return 1 // (k - 3)
    except ZeroDivisionError:
        return 99


def case_loop_kind(n: int):
    s = 0
    for i in range(n % 4):
        s = s + 0.5 if i > 1 else s + 1
    return s


def case_loop_kind2(n: int):
    s = 0
    k = 0
    while k < n % 4:
        s = s / 2 if k == 2 else s
        k += 1
    return s // 2


def case_loop_none(n: int):
    best = None
    for i in range(n % 5):
        if best is None or i * 7 % 5 > best:
            best = i * 7 % 5
    return -1 if best is None else best


def case_loop_unbound(n: int):
    for i in range(n % 4):
        last = i * i
    return last


def case_loop_fault_after(n: int, m: int):
    s = 0
    for i in range(n % 5):
        if i == 3:
            break
        s += 10 // (m - i)
    return s


def case_loop_tuple(n: int):
    a, b = (0, 1)
    for _ in range(n % 30):
        a, b = (b, a + b)
    return a


def case_loop_closure(n: int):
    fs = lambda v: v + i
    s = 0
    for i in range(n % 4):
        s = fs(s)
    return s


def case_loop_return(n: int, m: int):
    for i in range(n % 7):
        for j in range(m % 5):
            if i * j == 6:
                return i * 10 + j
    return -1


def case_while_and(n: int, m: int):
    i = 0
    while i < 10 and n // (m - i if m != i else 1) > i:
        i += 1
    return i


def case_while_faultcond(n: int):
    i = 0
    while 12 // (3 - i) > n:
        i += 1
    return i


def case_loop_float(x: float):
    k = 0
    while x > 1 and k < 2000:
        x /= 2
        k += 1
    return (k, x)
