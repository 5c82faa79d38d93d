"""Functions that call themselves with other lanes, and stop because of the conditions around the call."""

import math


def mirrored(x):
    if x < 0:
        return -mirrored(-x)
    return math.sqrt(x) if x < 1e300 else 1.0


def endless_at_one_half(x):
    if x > 1.0:
        return 1.0 - endless_at_one_half(1.0 / x) if x == x else 0.0
    if x >= 0.5:
        return math.pi - endless_at_one_half(1.0 - x)
    return x * x if x == x and abs(x) < 1e300 else 0.0


def _cumulative(x, s):
    if x > 0:
        return _cumulative(-x, s) + math.sinh(1e-3) * s
    return math.exp(max(x, -5.0)) * s


def mirrored_in_a_helper(x):
    return _cumulative(x, 2.0) if x == x else 0.0


def _days(y, m):
    if m > 12:
        return _days(y + 1, m - 12)
    if m < 1:
        return _days(y - 1, m + 12)
    return y * 365 + m * 30


def months_of_other_years(x):
    n = int(x) % 30 - 8 if abs(x) < 1e6 else 3
    return _days(2000, n)


def early_return_leaves_nan(x):
    if x >= 0:
        return x * 2
    return early_return_leaves_nan(-x)


def factorial(x):
    n = int(abs(x)) % 8 if abs(x) < 1e6 else 3
    return _factorial(n)


def _factorial(n):
    return 1 if n <= 1 else n * _factorial(n - 1)


def two_conditions(x):
    if x < 0 and x > -50:
        return two_conditions(-x)
    return x * 2


def left_loops_teach_nothing(x):
    n = 0
    while n < 5:
        if x < 0:
            break
        n += 1
    if x < 0:
        return left_loops_teach_nothing(-x) + n
    return x + 100 * n


def left_constant_loops_teach_nothing(x):
    for n in range(3):
        if x < 0:
            break
    if x < 0:
        return -left_constant_loops_teach_nothing(-x) - n
    return x + n


def caught_errors_teach_nothing(x):
    try:
        if x < 0:
            raise ValueError
        y = 1.0
    except ValueError:
        y = 2.0
    if x < 0:
        return y - caught_errors_teach_nothing(-x)
    return y + x
