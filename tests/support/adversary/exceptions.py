"""try, except and raise, and what leaves a block early."""
# ruff: noqa: F601, F821, FURB171, FURB192

from __future__ import annotations

import math


def case_try_any_list(x: float, y: float):
    try:
        return 1.0 if any([1 / v > 0 for v in (x, y)]) else 2.0
    except ZeroDivisionError:
        return 5.0


def case_try_zip_lazy(x: float):
    try:
        for a, b in zip((1, 2), map(lambda v: 1 / v, (1.0, x))):
            if a == 1:
                return b
        return 3.0
    except ZeroDivisionError:
        return 9.0


def case_gen_try_outside(x: float):
    g = (1 / v for v in (x, 1))
    try:
        return sum(g)
    except ZeroDivisionError:
        return 2.0


def case_try_else_uncaught(x: float, y: float):
    try:
        r = 1 / x
    except ZeroDivisionError:
        return 0.0
    else:
        r = r / y
    return r


def case_try_partial(x: float):
    a = b = 0.0
    try:
        a = 1.0
        b = 1 / x
        a = 2.0
    except ZeroDivisionError:
        b = -1.0
    return (a, b)


def case_try_list(x: float):
    l = [0.0, 0.0]
    try:
        l[0] = 1.0
        l[1] = 1 / x
    except ZeroDivisionError:
        l[1] = 7.0
    return l[0] + l[1]


def case_try_evalorder(x: float, y: float):
    try:
        return 1 / x + math.sqrt(y)
    except ZeroDivisionError:
        return 100.0
    except ValueError:
        return 200.0


def case_try_evalorder2(x: float, y: float):
    try:
        return math.sqrt(y) + 1 / x
    except ZeroDivisionError:
        return 100.0
    except ValueError:
        return 200.0


def case_try_int(x: float):
    try:
        return int(x)
    except ValueError:
        return -1
    except OverflowError:
        return -2


def case_try_index(n: int):
    try:
        return (10, 20, 30)[n]
    except IndexError:
        return -1


def case_try_key(n: int):
    try:
        return {1: 10, 2: 20}[n]
    except KeyError:
        return -1


def case_try_lookup(n: int):
    try:
        return (10, 20, 30)[n]
    except LookupError:
        return -1


def case_try_pow(x: float, y: float):
    try:
        return x**y if not isinstance(x**y, complex) else 0.0
    except ZeroDivisionError:
        return -1.0
    except OverflowError:
        return -2.0


def case_try_shift(n: int, m: int):
    try:
        return n >> m
    except ValueError:
        return -77


def case_try_exp(x: float):
    try:
        return 1.0 if math.exp(x) > 1 else 0.0
    except OverflowError:
        return 9.0


def case_try_mod(n: int, m: int):
    try:
        return n % m
    except ZeroDivisionError:
        return 0


def case_try_floordiv(n: int, m: int):
    try:
        return n // m
    except ArithmeticError:
        return 0


def case_try_assert(x: float):
    try:
        assert x > 0
        return 1
    except AssertionError:
        return 0


def case_try_unbound(x: float):
    try:
        if x > 0:
            q = x
        return q
    except UnboundLocalError:
        return -1.0


def case_try_nested2(x: float, y: float):
    try:
        try:
            r = 1 / x
        except ZeroDivisionError:
            r = 1 / y
    except ZeroDivisionError:
        r = 9.0
    return r


def case_try_reraise(x: float):
    try:
        try:
            return 1 / x
        except ZeroDivisionError:
            raise
    except ArithmeticError:
        return 4.0


def case_try_loop(x: float, y: float):
    s = 0.0
    for v in (x, y, 2.0):
        try:
            s += 1 / v
        except ZeroDivisionError:
            s += 100
            continue
        if s > 1:
            break
    else:
        s -= 1000
    return s


def helper_raises(v):
    if v < 0:
        raise ValueError("neg")
    return math.sqrt(v)


def case_helper_caught(x: float):
    try:
        return helper_raises(x)
    except ValueError:
        return -1.0


def case_try_nan_sqrt(x: float):
    try:
        return math.log(x)
    except ValueError:
        return -1.0


def case_try_acos(x: float):
    try:
        return 1.0 if math.acos(x) > 1 else 0.0
    except ValueError:
        return -1.0


def case_try_sin(x: float):
    try:
        return 1.0 if math.sin(x) > 0 else 0.0
    except ValueError:
        return -1.0


def case_try_except_exception(x: float, n: int):
    try:
        return 1 / x + (1, 2)[n]
    except Exception:  # noqa: BLE001
        return -1.0


def case_try_divmod(n: int, m: int):
    try:
        return divmod(n, m)
    except ZeroDivisionError:
        return (0, 0)


def case_try_truediv_int(n: int, m: int):
    try:
        return n / m
    except ZeroDivisionError:
        return -1.0


class MyErr(Exception):
    pass


def case_custom(x: float):
    try:
        if x > 0:
            raise MyErr
        return x
    except MyErr:
        return -1.0


def case_raise_instance(x: float):
    e = MyErr("a")
    try:
        if x > 0:
            raise e
        return x
    except MyErr:
        return -1.0


def case_raise_from(x: float):
    try:
        try:
            return 1 / x
        except ZeroDivisionError as e:
            raise ValueError("a") from e
    except ValueError:
        return 3.0


def case_return_in_try_else(x: float):
    try:
        y = 1 / x
    except ZeroDivisionError:
        pass
    else:
        return y
    return 2.0


def case_try_chained_cmp(x: float, y: float):
    try:
        return 0 < 1 / x < 1 / y
    except ZeroDivisionError:
        return False


def case_try_shortcircuit(x: float, y: float):
    try:
        return x > 0 or 1 / y > 0
    except ZeroDivisionError:
        return False


def case_try_min(x: float, y: float):
    try:
        return min(1 / x, 1 / y)
    except ZeroDivisionError:
        return 0.0


def case_try_cond(x: float):
    try:
        return 1 / x if x > 1 else 5.0
    except ZeroDivisionError:
        return 0.0


def case_try_fold(x: float):
    try:
        q = 1 / x
    except ZeroDivisionError:
        q = None
    return 0.0 if q is None else q


def case_try_unpack(x: float, c: bool):
    try:
        a, *b = (x, 1, 2) if c else (x, 2, 3)
        return a + b[0]
    except ValueError:
        return -1.0


def case_try_deadresult(x: float):
    try:
        1 / x
    except ZeroDivisionError:
        return 1
    return 0


def case_try_gather_neg(n: int):
    T = (1.5, 2.5)
    try:
        return T[n] + T[n + 1]
    except IndexError:
        return -1.0


def case_try_overflow_first(n: int, m: int):
    try:
        return n * m // n
    except ZeroDivisionError:
        return -5


def case_try_mod_by_overflow(n: int, m: int):
    try:
        return n % (m * m)
    except ZeroDivisionError:
        return -5


def case_try_float_by_int(x: float, n: int):
    try:
        return x / n
    except ZeroDivisionError:
        return -5.0


def case_try_bool(c: bool, d: bool):
    try:
        return c / d
    except ZeroDivisionError:
        return -5.0


def case_try_hypot(x: float):
    try:
        return math.fmod(x, 2.0) + math.fmod(1.0, x)
    except ValueError:
        return -5.0


def case_try_remainder(x: float, y: float):
    try:
        return math.remainder(x, y)
    except ValueError:
        return -5.0


def case_try_pow_math(x: float, y: float):
    try:
        return 1.0 if math.pow(x, y) > 1 else 2.0
    except ValueError:
        return -5.0
    except OverflowError:
        return -6.0


def case_try_floor(x: float):
    try:
        return math.floor(x)
    except ValueError:
        return -5
    except OverflowError:
        return -6


def case_try_sqrtint(n: int):
    try:
        return math.sqrt(n)
    except ValueError:
        return -5.0


def case_try_log_int(n: int):
    try:
        return 1 if math.log(n) > 1 else 0
    except ValueError:
        return -5


def case_try_atanh(x: float):
    try:
        return 1 if math.atanh(x) > 1 else 0
    except ValueError:
        return -5


def case_try_acosh(x: float):
    try:
        return 1 if math.acosh(x) > 1 else 0
    except ValueError:
        return -5


def case_try_log1p(x: float):
    try:
        return 1 if math.log1p(x) > 1 else 0
    except ValueError:
        return -5
