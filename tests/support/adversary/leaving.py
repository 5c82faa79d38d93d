# ruff: noqa: FURB161
"""return in try and finally, harmless contexts, rounding by text, digits, short aranges, tail recursion."""

import decimal
import math
import warnings
from contextlib import ExitStack, contextmanager, nullcontext, suppress

import numpy as np

from tests.support.adversary import small


class Quiet:
    def __enter__(self):
        return 5.0

    def __exit__(self, *exc):
        return False


class Swallow:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.seen += 1
        return kind is not None and issubclass(kind, self.kinds)


@contextmanager
def scaled(k):
    yield k * 2


@contextmanager
def caught():
    try:
        yield
    except ZeroDivisionError:
        pass


def case_return_in_try(x: "float"):
    try:
        return 1 / x
    except ZeroDivisionError:
        return 0.0
    finally:
        x = 5.0


def case_return_value_before_finally(x: "float"):
    v = x
    try:
        return v
    finally:
        v = 100.0


def case_return_list_before_finally(x: "float"):
    v = [x]
    try:
        return v
    finally:
        v.append(1.0)


def case_return_in_finally(x: "float"):
    try:
        return 1 / x
    finally:
        return -1.0


def case_return_in_finally_conditional(x: "float"):
    try:
        v = 1 / x
    except ZeroDivisionError:
        v = 9.0
    finally:
        if x > 1:
            return -1.0
    return v


def case_break_in_finally(x: "float"):
    t = 0.0
    for k in range(3):
        try:
            t += 1 / (x - k)
        finally:
            break
    return t


def case_continue_in_finally(x: "float"):
    t = 0.0
    for k in range(3):
        try:
            t += 1 / (x - k)
        finally:
            continue
    return t


def case_raise_in_finally(x: "float"):
    try:
        return 1.0
    finally:
        if x < 0:
            raise KeyError(x)


def case_finally_around_loop(n: "small"):
    t = 0
    try:
        for k in range(5):
            if k == n:
                return t
            t += k
    finally:
        t = -1
    return t


def case_finally_in_loop(n: "small"):
    t = 0
    for k in range(5):
        try:
            if k == n:
                return t * 100
            if k > n + 2:
                break
        finally:
            t += k
    return t


def case_nested_finally(x: "float"):
    log = []
    try:
        try:
            log.append(1)
            1 / x
        finally:
            log.append(2)
    except ZeroDivisionError:
        log.append(3)
    finally:
        log.append(4)
    return log[0] * 1000 + sum(log)


def case_else_and_finally(x: "float"):
    t = 0
    try:
        v = math.sqrt(x)
    except ValueError:
        t += 1
    else:
        t += 10 if v > 1 else 20
    finally:
        t += 100
    return t


def case_exception_in_handler(x: "float"):
    try:
        try:
            return 1 / x
        except ZeroDivisionError:
            return math.sqrt(x - 1)
    except ValueError:
        return -2.0


def case_exception_in_else(x: "float"):
    try:
        y = x - 1
    except ZeroDivisionError:
        return 1.0
    else:
        y = 1 / y
    return y


def case_handler_order(x: "float"):
    try:
        return math.exp(x) / x
    except (OverflowError, ZeroDivisionError) as e:
        return 1.0 if isinstance(e, OverflowError) else 2.0


def case_handler_name_goes(x: "float"):
    e = 5.0
    try:
        1 / x
    except ZeroDivisionError as e:
        pass
    try:
        return e
    except UnboundLocalError:
        return -1.0


def case_bare_raise_twice(x: "float"):
    try:
        try:
            1 / x
        except ZeroDivisionError:
            raise
    except ArithmeticError:
        return 1
    return 2


def case_try_in_while(n: "small"):
    k, t = n, 0
    while k != 0:
        try:
            t += 12 // (k - 1)
        except ZeroDivisionError:
            t += 1000
        k -= 1 if k > 0 else -1
    return t


def case_with_class(x: "float"):
    with Quiet() as k:
        return x * k


def case_with_class_raises(x: "float"):
    with Quiet():
        return 1 / x


def case_with_swallow(x: "float"):
    r = -1.0
    with Swallow(ZeroDivisionError) as s:
        r = 1 / x
    return r, s.seen


def case_with_swallow_other(x: "float"):
    with Swallow(KeyError):
        return math.sqrt(x)
    return 0.0


def case_with_two(x: "float"):
    with Quiet() as a, Swallow(ValueError) as b:
        return math.log(x) + a
    return b.seen


def case_with_nested_return(x: "float"):
    with Quiet():
        with Quiet() as k:
            if x > 0:
                return k
        return -k


def case_with_loop(n: "small"):
    t = 0
    for k in range(4):
        with Swallow(ZeroDivisionError):
            if k == 3:
                continue
            t += 6 // (k - n)
            if t > 10:
                break
            t += 1
    return t


def refused_with_contextmanager(x: "float"):
    """flatten/unsupported-statement"""
    with scaled(x) as k:
        return k + 1


def refused_with_contextmanager_catches(x: "float"):
    """flatten/unsupported-statement"""
    r = 0.0
    with caught():
        r = 1 / x
    return r


def case_suppress_two(x: "float"):
    with suppress(ZeroDivisionError, ValueError):
        return math.sqrt(1 / x)
    return -1.0


def case_suppress_nested(x: "float"):
    r = 0
    with suppress(ZeroDivisionError):
        r = 1
        with suppress(ValueError):
            r = 2
            math.sqrt(x)
            r = 3
            1 / x
            r = 4
        r += 10
    return r


def case_nullcontext_value(x: "float"):
    with nullcontext(x) as v:
        return v * 2


def case_catch_warnings(x: "float"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x / 2


def case_errstate(x: "float"):
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(x)) if x > 0 else -1.0


def case_errstate_division(x: "float"):
    with np.errstate(all="ignore"):
        return float(np.float64(1.0) / x)


def refused_localcontext(x: "float"):
    """flatten/unsupported-statement"""
    with decimal.localcontext():
        return x + 1


def refused_exit_stack(x: "float"):
    """flatten/unsupported-statement"""
    with ExitStack() as stack:
        stack.enter_context(Quiet())
        return x


def case_closing(x: "float"):
    class_ = [x]
    with nullcontext(class_) as c:
        c.append(1.0)
    return len(class_)


def case_round_tens(n: "int"):
    return round(n, -2), round(n, -1)


def case_round_tens_half(n: "small"):
    return round(n * 50, -2), round(n * 5, -1), round(n * 25 + 25, -1)


def case_round_far(n: "int"):
    return round(n, -18), round(n, -19), round(n, -30)


def case_round_positive(n: "int"):
    return round(n, 2), round(n), round(n, None)


def case_round_lane_digits(x: "float", n: "small"):
    return round(x, n)


def case_round_bool(b: "bool"):
    return round(b), round(b, -1), round(b, 1)


def case_float_text(x: "float"):
    return float(f"{x:.2f}")


def case_float_text_zero(x: "float"):
    return float(f"{x:.0f}"), float(f"{x:.1f}") * 2


def case_float_text_percent(x: "float"):
    return float("%.2f" % x)


def case_float_text_format(x: "float"):
    return float(format(x, ".3f")), float("{:.2f}".format(x))


def case_float_text_plus(x: "float"):
    return float(f"{x:+.2f}")


def case_float_text_int(n: "int"):
    return float(f"{n:.2f}"), float(str(n)), int(f"{n}")


def refused_text_compared(x: "float"):
    """flatten/unsupported-expression"""
    return f"{x:.1f}" == "1.5", f"{x:.1f}" == f"{x + 0.01:.1f}"


def refused_text_of_round(x: "float"):
    """flatten/unsupported-expression"""
    return str(round(x, 1)) == "0.5"


def case_digit_sum(n: "small"):
    return sum(int(c) for c in str(abs(n) * 37))


def refused_digits_sorted(n: "small"):
    """flatten/too-large"""
    return int("".join(sorted(str(abs(n) * 91 + 10))))


def case_digits_reversed(n: "small"):
    return int(str(abs(n) * 120 + 7)[::-1])


def case_digits_counted(n: "small"):
    return str(n * 111).count("1"), len(str(n)), str(n).isdigit()


def case_palindrome(n: "small"):
    t = str(abs(n) * 11)
    return t == t[::-1]


def case_digit_at(n: "small"):
    return int(str(abs(n) + 100)[1]), str(n)[-1] == "2"


def case_digits_loop(n: "int"):
    t, k = 0, abs(n)
    while k:
        t, k = t + k % 10, k // 10
    return t


def case_digits_binary(n: "small"):
    return bin(abs(n)).count("1"), int(bin(abs(n)), 2), len(f"{abs(n):b}")


def case_digits_padded(n: "small"):
    return str(abs(n)).zfill(3) == "002", len(f"{abs(n):03d}")


def case_digits_of_negative(n: "small"):
    return int(str(n)), int(str(n).replace("-", "0"))


def case_astype(x: "float"):
    return np.float64(x).astype(int) if -100 < x < 100 else np.int64(0)


def case_astype_of_sqrt(n: "small"):
    return np.sqrt(abs(n)).astype(int) + 1


def case_astype_bool(x: "float"):
    return (np.array([x, 1.0]) > 0).astype(int).sum()


def case_astype_array(x: "float"):
    return np.array([x, 2.5, -1.5]).astype(int).tolist() if abs(x) < 1e6 else []


def case_astype_float(n: "small"):
    return np.array([n, 1]).astype(float) / 2


def case_int_of_floor(x: "float"):
    return int(np.floor(x)) if abs(x) < 1e9 else 0


def refused_arange_lane(n: "small"):
    """flatten/lane-to-object"""
    return np.arange(max(n, 0)).sum() if n < 6 else 0


def refused_arange_lane_list(n: "small"):
    """flatten/lane-to-object"""
    return sum(np.arange(min(max(n, 0), 4)).tolist())


def case_arange_known(x: "float"):
    return (np.arange(4) * x).sum(), len(np.arange(0, 1, 0.25))


def refused_arange_step(x: "float"):
    """flatten/lane-to-object"""
    return np.arange(x, x + 3).tolist() if abs(x) < 100 else []


def case_linspace_lane(x: "float"):
    return np.linspace(0.0, x, 5)[3] if abs(x) < 1e3 else 0.0


def case_range_lane(n: "small"):
    return [k * k for k in range(min(max(n, 0), 3))] + [0]


def _power(b, e, acc=1):
    if e <= 0:
        return acc
    return _power(b, e - 1, acc * b)


def case_tail_power(n: "small"):
    return _power(n, 5), _power(2, n)


def _collatz(n, steps=0):
    if n <= 1:
        return steps
    return _collatz(n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1)


def case_tail_collatz(n: "small"):
    return _collatz(n)


def _newton(x, g, k):
    return g if k == 0 else _newton(x, (g + x / g) / 2, k - 1)


def case_tail_newton(x: "float"):
    return _newton(x, 1.0, 6)


def _find(x, low, high):
    mid = (low + high) / 2
    if high - low < 0.25:
        return mid
    if mid * mid > x:
        return _find(x, low, mid)
    return _find(x, mid, high)


def case_tail_bisection(x: "float"):
    return _find(x, 0.0, 8.0)


def _tail_raises(n):
    if n == 0:
        raise ValueError("end")
    return _tail_raises(n - 1)


def case_tail_raises(n: "small"):
    try:
        return _tail_raises(abs(n))
    except ValueError:
        return -1


def _tail_tuple(n, a, b):
    if n <= 0:
        return a, b
    return _tail_tuple(n - 1, b, a + b)


def case_tail_fibonacci(n: "small"):
    return _tail_tuple(n, 0, 1)


def _tail_none(n):
    if n > 0:
        return _tail_none(n - 2)
    return None if n == 0 else "odd"


def case_tail_none(n: "small"):
    return _tail_none(n)


def _tail_and(n):
    return n <= 0 or (n != 5 and _tail_and(n - 1))


def case_tail_and(n: "small"):
    """flatten/recursion"""
    return _tail_and(n)


def _tail_finally(n, t):
    try:
        return t if n <= 0 else _tail_finally(n - 1, t + n)
    finally:
        t = 0


def refused_tail_finally(n: "small"):
    """flatten/recursion"""
    return _tail_finally(n, 0)


def _sum_to(n):
    return 0 if n <= 0 else n + _sum_to(n - 1)


def case_linear_recursion(n: "small"):
    return _sum_to(n)


def _gcd(a, b):
    while b:
        a, b = b, a % b
    return a if a >= 0 else -a


def case_gcd_loop(n: "int"):
    return _gcd(n, 12), math.gcd(n, 12)


def case_local_tail(n: "small"):
    def down(k, t):
        return t if k <= 0 else down(k - 1, t * 2 + n)

    return down(n, 1)
