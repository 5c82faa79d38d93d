"""Orders that must be kept: of sums, of stores, of what fails first; warnings once for each line."""

from __future__ import annotations

import math

import numpy as np

from tests.support.kernels import on

MIXED = "np.array([1e16, 1.0, -1e16, 1.0, 1e-3, -1.0, 3.0, 1e8, 0.1])"


@on(MIXED, MIXED + ".astype(np.float32)", "np.zeros(0)")
def case_sum_in_order(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


@on(MIXED)
def case_sum_backwards(a):
    s = 0.0
    for i in range(len(a) - 1, -1, -1):
        s += a[i]
    return s


@on(MIXED)
def case_two_sums_in_one_loop(a):
    s, t = 0.0, 1.0
    for i in range(len(a)):
        s += a[i]
        t = t * 0.5 + s
    return s, t


@on(MIXED)
def case_sum_under_a_condition(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0.0:
            s += a[i]
        else:
            s *= 0.5
    return s


@on(MIXED + ".reshape(3, 3)")
def case_sum_over_rows_and_columns(a):
    rows, columns, whole = np.zeros(3), np.zeros(3), 0.0
    for i in range(3):
        for j in range(3):
            rows[i] += a[i, j]
            columns[j] += a[i, j]
            whole += a[i, j]
    return rows, columns, whole


@on(MIXED)
def case_no_contraction(a):
    s = -1.0
    for i in range(len(a)):
        s = a[i] * a[i - 1] + s * 0.1
    return s


@on("np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.zeros(5)")
def case_running_sum(a, out):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
        out[i] = s


@on("np.array([0.1, 0.2, 0.3, 0.4, 0.5])")
def case_recurrence_in_memory(a):
    for i in range(2, len(a)):
        a[i] = a[i - 1] * 0.5 + a[i - 2]


@on("np.arange(16.0).reshape(4, 4)")
def case_wavefront(a):
    for i in range(1, 4):
        for j in range(1, 4):
            a[i, j] = a[i - 1, j] + a[i, j - 1] - a[i - 1, j - 1]


@on("np.arange(16.0).reshape(4, 4)")
def case_dependence_against_the_inner_loop(a):
    for i in range(1, 4):
        for j in range(3):
            a[i, j] = a[i - 1, j + 1] + 1.0


@on("np.arange(10.0)")
def case_dependence_at_a_distance(a):
    for i in range(3, 10):
        a[i] = a[i - 3] + 1.0


@on("np.arange(10.0), 3", "np.arange(10.0), 0", "np.arange(10.0), -2")
def case_distance_is_an_argument(a, d):
    for i in range(3, 8):
        a[i] = a[i - d] + 1.0


@on("np.array([-0.0, -0.0])", "np.zeros(0)")
def case_sum_of_negative_zeros(a):
    s = -0.0
    for i in range(len(a)):
        s += a[i]
    return s, s + 0.0, s * 1, s - 0.0


@on("np.array([1.0, 0.0, 0.0, -1.0])")
def case_one_warning_for_a_line(a):
    for i in range(len(a)):
        a[i] = 1.0 / a[i]


@on("np.array([1.0, 0.0, 0.0, -1.0])")
def case_warnings_on_two_lines(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] / a[1]
        s -= a[i] / a[2]
    return s


@on("np.array([1.0, 0.0, 2.0])", "np.array([1.0, 3.0, 2.0])")
def case_no_warning_from_an_arm_not_taken(a):
    for i in range(len(a)):
        a[i] = 1.0 / a[i] if a[i] != 0.0 else 0.0


@on("np.array([1.0, 0.0, 2.0]), np.zeros(3)")
def case_warning_of_a_value_that_is_not_used(a, out):
    for i in range(len(a)):
        x = 1.0 / a[i]
        out[i] = i
    return x


@on("np.array([1e308, 1.0])", "np.array([3e38, 1.0], np.float32)")
def case_overflow_warns(a):
    return a[0] * 10.0, a[0] + a[0], -a[0] * 10.0


@on("np.array([1e-308, 1.0])", "np.array([1e-38, 1.0], np.float32)")
def case_underflow_does_not_warn(a):
    return a[0] * 1e-10, a[0] / 1e10


@on("np.array([np.inf, 1.0])")
def case_invalid_warns(a):
    return a[0] - a[0], a[0] * 0.0, a[0] % a[1]


@on("np.array([1.0, 0.0]), np.array([1, 0])")
def case_warning_then_error(a, b):
    a[0] = a[0] / a[1]
    b[0] = b[0] // b[1]
    a[1] = 5.0
    a[2] = 6.0


@on("np.arange(5.0), np.arange(3.0)")
def case_which_error_is_first(a, b):
    for i in range(5):
        a[i] = b[i] + math.sqrt(1.0 - i)


@on("np.arange(5.0), np.arange(3.0)")
def case_value_fails_before_the_store(a, b):
    for i in range(5):
        b[i] = math.sqrt(1.0 - i)


@on("np.arange(5.0), np.arange(5)")
def case_write_only_output_after_a_fault(out, k):
    for i in range(5):
        out[i] = 10.0 / float(3 - k[i])


@on("np.zeros((3, 3)), np.arange(3)")
def case_partial_rows(out, k):
    for i in range(3):
        for j in range(3):
            out[j, i] = 1.0
            if i == 1 and j == 1:
                out[i, j] = 1 // int(k[0])


@on("np.zeros(4), np.zeros(4)", "np.zeros(4), np.zeros(2)")
def case_stores_of_one_iteration_in_order(a, b):
    for i in range(4):
        a[i] = 1.0
        b[i] = 2.0
        a[i] = 3.0


@on("np.arange(4.0)")
def case_last_store_wins(a):
    for i in range(4):
        a[0] = i
        a[i // 2] = -i


@on("np.array([1.0, 2.0]), 0", "np.array([1.0, 2.0]), 1")
def case_exception_type_by_data(a, k):
    a[0] = 5.0
    if k:
        return a[2]
    return 1 // k


@on("np.array([0.5, 1.5, 2.5]), np.array([1, 2, 3], np.int32)")
def case_everything_at_once(a, b):
    s, n = 0.0, 0
    for i in range(len(a)):
        x = a[i] * b[i] - s
        if x > 1.0:
            n += 1
            continue
        s += x
        b[i] = x * 3.0
    return s, n
