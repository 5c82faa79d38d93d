"""Ways out of a block: `finally` around jumps and inside of a try, context managers in Python, suppress, locks."""

import contextlib
import math
import threading

import numpy as np

_LOCK = threading.Lock()


def return_through_finally(x):
    try:
        return 1 / x
    finally:
        x = 2


def finally_changes_what_is_read_later(x):
    depth, out = 0, 0.0
    try:
        depth += 1
        if x > 0:
            return x * depth
        out = -x
    finally:
        depth -= 1
    return out + depth


def returned_value_is_from_before(x):
    v = x
    try:
        return v
    finally:
        v = 100.0


def returned_list_is_changed(x):
    items = [x, 1.0]
    try:
        return items
    finally:
        items[1] = 2.0


def break_through_finally(x):
    total = 0.0
    for i in range(4):
        try:
            if i > x:
                break
            total += i
        finally:
            total += 0.5
    return total


def continue_through_finally(x):
    total = 0.0
    for i in range(3):
        try:
            if i == 1 or x > 5:
                continue
            total += x
        finally:
            total *= 2
    return total


def break_inside_of_finally_only(x):
    total = 0.0
    try:
        for i in range(5):
            if i > x:
                break
            total += 1
    finally:
        for i in range(3):
            if i > 1:
                break
            total += 10
    return total


def return_from_a_kept_loop(x):
    n = 0
    while x > 1:
        try:
            x /= 2
            if n > 5:
                return x
        finally:
            n += 1
    return n


def break_from_a_kept_loop(x):
    n, y = 0, min(x, 1e6)
    while y > 1:
        try:
            if n == 4:
                break
        finally:
            n += 1
            y /= 3
    return n, y


def handler_and_finally(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return -1.0
    finally:
        x = 1


def handler_then_finally_falls_through(x):
    y = 0.0
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = 5.0
    else:
        y += 1
    finally:
        y *= 2
    return y


def two_finally(x):
    log = 0
    try:
        try:
            if x > 1:
                return log
            log += 1
        finally:
            log = log * 10 + 1
    finally:
        log = log * 10 + 2
    return log


def finally_inside_of_a_try(x):
    done = 0.0
    try:
        try:
            return 1 / x
        finally:
            done += 1
    except ZeroDivisionError:
        return done


def finally_twice_inside_of_a_try(x):
    log = 0
    try:
        try:
            try:
                if x > 2:
                    raise KeyError(x)
                log = int(1 / x > 0)
            finally:
                log = log * 10 + 3
        finally:
            log = log * 10 + 4
    except (ZeroDivisionError, KeyError):
        return log + 1000
    return log


def exception_in_a_handler_passes_finally(x):
    log = 0.0
    try:
        try:
            log = 1 / x
        except ZeroDivisionError:
            raise KeyError("none") from None
        finally:
            log += 1
    except KeyError:
        return -log
    return log


def finally_calls_what_raises(x):
    try:
        try:
            return x
        finally:
            math.sqrt(x)
    except ValueError:
        return -5.0


def cleanup_that_raises_runs_once(x):
    log = 0
    try:
        try:
            return x
        finally:
            log += 1
            math.sqrt(x)
    except ValueError:
        return -log


def _closing(x):
    try:
        if x > 1:
            return x * 2
        return 1 / x
    finally:
        x = 0


def finally_in_a_helper(x):
    try:
        return _closing(x) + _closing(2.0)
    except ZeroDivisionError:
        return 9.0


def finally_with_a_nonlocal_count(x):
    depth = 0

    def inside(v):
        nonlocal depth
        depth += 1
        try:
            if v > 1:
                return v
            return -v
        finally:
            depth -= 1

    return inside(x) + inside(2.0) + depth


def return_in_finally(x):
    try:
        return 1 / x
    finally:
        return 3.0  # noqa: B012


class _Counted:
    k = 2.0

    def __init__(self):
        self.depth = self.left = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, cls, error, trace):
        self.depth -= 1
        self.left += 1
        return False


class _Swallowing:
    def __enter__(self):
        return 4.0

    def __exit__(self, cls, error, trace):
        return cls is ZeroDivisionError


def own_context(x):
    with _Counted() as c:
        y = x * c.k + c.depth
    return y + c.depth * 10 + c.left


def own_context_left_by_return(x):
    c = _Counted()
    for i in range(3):
        with c:
            if i > x:
                return c.depth + c.left
    return c.left * 100 + c.depth


def own_context_left_by_break_and_continue(x):
    c = _Counted()
    for i in range(4):
        with c:
            if i == 1:
                continue
            if i > x:
                break
    return c.left * 10 + c.depth


def two_contexts(x):
    a = _Counted()
    with a, a as b, contextlib.nullcontext(x) as v:
        if x > 0:
            return b.depth + v
    return a.left


def context_that_swallows(x):
    y = 0.0
    with _Swallowing() as k:
        y = k
        y = 1 / x
    return y


def suppressed(x):
    y = 3.0
    with contextlib.suppress(ZeroDivisionError, ValueError):
        y = 1 / x
        y = math.sqrt(x)
        y += 1
    return y


def suppressed_return(x):
    with contextlib.suppress(ZeroDivisionError):
        return 1 / x
    return -2.0


def suppressed_in_a_loop(x):
    total = 0.0
    for i in range(3):
        with contextlib.suppress(ZeroDivisionError):
            total += 1 / (x - i)
            total += 0.5
    return total


def suppressed_by_name(x):
    from contextlib import suppress

    with suppress(KeyError):
        if x > 1:
            raise KeyError(x)
        return x
    return 0.0


def not_suppressed(x):
    with contextlib.suppress(KeyError):
        return 1 / x
    return 1.0


def lock(x):
    with _LOCK:
        return x + 1


def REFUSED_own_context_inside_of_a_try(x):
    try:
        with _Swallowing():
            return 1 / x
    except ZeroDivisionError:
        return 1.0


@contextlib.contextmanager
def _generated():
    yield 1.0


def REFUSED_generated_context(x):
    with _generated() as v:
        return x + v


def round_to_tens(x):
    n = int(x) if abs(x) < 1e18 else 15
    return round(n, -1) + round(n * 5, -1), round(n, -2), round(-n * 25, -1)


def round_to_more_than_an_int(x):
    n = int(x) if abs(x) < 1e18 else 4 * 10**18
    return round(n, -18), round(n, -19), round(n, -25), round(x > 0, -1)


def rounded_texts(x):
    return float(f"{x:.2f}") + float(format(x, ".1f")), float("%.3f" % x), float("{:.0f}".format(x))  # noqa: UP031, UP032


def rounded_text_of_an_int(x):
    return float(f"{int(x) if abs(x) < 1e6 else 7:.2f}")


def _text(v, digits):
    return f"{v:.3f}" if digits == 3 else f"{v:.1f}"


def rounded_texts_of_a_helper(x):
    return float(_text(x, 3)) - float(_text(x + 0.25, 3)) + float(_text(x, 1))


def text_of_either_number(x):
    return float(f"{x:.2f}" if x > 1 else f"{x:.1f}")


def scientific_text(x):
    return float(f"{x:.3e}")


def cast_of_a_numpy_scalar(x):
    y = x if abs(x) < 1e9 else 2.0
    return np.floor(y).astype(int) + np.float64(y).astype(np.int64) * 2, (np.floor(y) + 1).astype(float)


def REFUSED_cast_of_a_python_number(x):
    return x.astype(int)
