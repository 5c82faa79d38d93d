"""Dtypes and flavours: fixed widths that wrap, float32, bools, numbers of Python beside those of NumPy."""

from __future__ import annotations

import math

import numpy as np

from tests.support.kernels import on

BYTES = "np.array([0, 1, 100, 200, 255], np.uint8)"
SHORT = "np.array([-128, -1, 0, 1, 127], np.int8)"
INTS = tuple(f"np.array([0, 1, 3, 100, 7], np.{d})" for d in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
FLOATS = ("np.array([0.1, -0.0, 3.7, np.inf, np.nan, 1e30], np.float32)", "np.array([0.1, -0.0, 3.7, np.inf, np.nan, 1e300])")
EVERY = (*INTS, *FLOATS, "np.array([True, False, True])")


@on(BYTES, SHORT, *INTS)
def case_wraps_on_addition(a):
    for i in range(len(a)):
        a[i] = a[i] + a[i]


@on(BYTES, SHORT, *INTS)
def case_wraps_on_multiplication(a):
    for i in range(len(a)):
        a[i] *= a[i]
    return a[1] * a[2]


@on(BYTES, SHORT, *INTS)
def case_unsigned_minus(a):
    for i in range(1, len(a)):
        a[i - 1] = a[i - 1] - a[i]
    return a[0] - a[1]


@on(BYTES, SHORT)
def case_python_int_that_fits(a):
    for i in range(len(a)):
        a[i] = a[i] + 100


@on(BYTES, SHORT, "np.array([1, 2], np.int16)")
def case_python_int_that_does_not_fit(a):
    a[0] = 1
    for i in range(len(a)):
        a[i] = a[i] + 300


@on(BYTES, SHORT, "np.array([1, 2], np.int16)", "np.array([1.5], np.float32)")
def case_stores_300(a):
    a[0] = 1
    a[-1] = 300


@on(BYTES, SHORT, "np.array([1], np.uint64)")
def case_stores_minus_one(a):
    for i in range(len(a)):
        a[i] = -1 + i


@on("np.zeros(2, np.int32), 2**31 - 1", "np.zeros(2, np.int32), 2**31", "np.zeros(2, np.int32), np.int64(2**31)", "np.zeros(2, np.int32), 2**70",
    "np.zeros(2, np.int64), 2**63", "np.zeros(2, np.uint64), 2**63", "np.zeros(2, np.uint64), 2**64", "np.zeros(2, np.float32), 2**70")
def case_stores_a_large_int(a, k):
    a[0] = 1
    a[1] = k
    return a[1]


@on("np.zeros(3, np.int64), 2.9", "np.zeros(3, np.int64), -2.9", "np.zeros(3, np.int64), np.nan", "np.zeros(3, np.int64), np.inf",
    "np.zeros(3, np.int8), 300.5", "np.zeros(3, np.uint8), -1.0", "np.zeros(3, np.int64), 1e300", "np.zeros(3, np.bool_), 0.5",
    "np.zeros(3, np.int64), np.float64(2.9)", "np.zeros(3, np.int64), np.float64(np.nan)", "np.zeros(3, np.int32), np.float32(7.5)",
    "np.zeros(3, np.uint8), np.float64(300.0)")
def case_stores_a_float_into_ints(a, x):
    a[0] = x
    a[1] = x + 1
    return a[0]


@on("np.array([0.1, 2.5, 1e30], np.float32), np.array([1e-8, 1.0, 1e38], np.float32)")
def case_float32_stays_float32(a, b):
    for i in range(len(a)):
        a[i] = a[i] * 0.1 + b[i]
    return a[0] * 0.1, a[0] + 1, a[2] * b[2]


@on("np.full(50, 0.1, np.float32)", "np.full(50, 0.1)", "np.zeros(0, np.float32)")
def case_sum_from_a_python_float(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


@on("np.full(50, 0.1, np.float32)", "np.zeros(0, np.float32)", "np.arange(5, dtype=np.uint8)")
def case_sum_from_a_python_int(a):
    s = 0
    for i in range(len(a)):
        s += a[i]
    return s


@on("np.full(300, 100, np.uint8)", "np.full(300, 100, np.int8)", "np.full(30, 2**30, np.int32)", "np.full(3, 2**62)")
def case_sum_wraps_in_the_width_of_elements(a):
    s = 0
    for i in range(len(a)):
        s += a[i]
    return s


@on("np.full(300, 100, np.uint8)", "np.full(30, 2**30, np.int32)", "np.full(3, 2**62)")
def case_sum_of_python_ints(a):
    s = 0
    for i in range(len(a)):
        s += int(a[i])
    return s % 1000003


@on("np.full(20, 0.1, np.float32)")
def case_sum_in_a_wide_accumulator(a):
    s = np.float64(0.0)
    for i in range(len(a)):
        s += a[i]
    t = np.zeros(1)
    for i in range(len(a)):
        t[0] += a[i]
    return s, t[0]


@on("np.array([True, False, True]), np.array([True, True, False])")
def case_bools_add_as_or(a, b):
    n = 0
    for i in range(len(a)):
        a[i] = a[i] + b[i]
        n += a[i]
    return n, a[0] * b[0], a[0] & b[1], a[1] ^ b[1], ~a[0]


@on("np.array([True, False, True]), np.array([True, True, False])")
def case_bools_do_not_subtract(a, b):
    a[1] = True
    return a[0] - b[0]


@on("np.array([True, False, True])")
def case_negative_bool(a):
    return -a[0]


@on("np.array([True, False, True])")
def case_not_a_bool(a):
    return not a[0], not a[1], a[0] and a[1], a[1] or 5, a[0] == 1, int(a[0]) + 1, a[0] + 1


@on(*EVERY)
def case_type_of_an_element(a):
    return a[0], a[0] + 1, a[0] * 1.0, a[0] == a[1], -a[2] if a.dtype != np.bool_ else None


@on(*EVERY)
def case_division_of_elements(a):
    return a[1] / a[2], a[2] / 2, 1 / a[2]


@on("np.array([2, 3], np.int32), np.array([1.5, 0.1], np.float32)", "np.array([2, 3], np.int8), np.array([1.5, 0.1], np.float32)",
    "np.array([2, 3], np.int64), np.array([1.5, 0.1], np.float32)", "np.array([2, 3], np.uint64), np.array([-1, 2])",
    "np.array([2, 3], np.uint8), np.array([-1, 2], np.int8)")
def case_mixed_dtypes(a, b):
    s = a[0] * b[1]
    for i in range(len(a)):
        s = s + a[i] * b[i]
        b[i] = a[i] + b[i]
    return s, a[0] + b[1], a[1] > b[0], a[0] // b[1]


@on("np.array([1, 2**63, 2**64 - 1], np.uint64)")
def case_large_unsigned(a):
    for i in range(len(a)):
        a[i] = a[i] ^ (a[i] >> 7)
        a[i] = a[i] * np.uint64(0x9E3779B97F4A7C15)
    return a[0] > 5, int(a[1]) + 1, a[2] & 0xFF


@on("np.array([2**63 - 1, -2**63])")
def case_int64_overflow_warns(a):
    return a[0] + 1, a[1] - 1, -a[1], abs(a[1]), a[0] * 2


@on("np.array([7, -7, 0]), np.array([2, -2, 3])", "np.array([7, -7, 0], np.int8), np.array([2, -2, 3], np.int8)",
    "np.array([7.5, -7.5, -0.0]), np.array([2.0, -2.0, 3.0])", "np.array([7.5, -7.5], np.float32), np.array([2.0, np.inf], np.float32)")
def case_floor_division_and_modulo(a, b):
    s = a[0] % b[1]
    for i in range(len(a)):
        s += a[i] // b[i]
        s += a[i] % b[i]
        a[i] = a[i] % b[i]
    return s, divmod(a[0], b[0])


@on("np.array([7, -7, 0]), np.array([0, 0, 0])", "np.array([7, 0], np.uint8), np.array([0, 0], np.uint8)",
    "np.array([7.5, -7.5, 0.0, np.nan]), np.zeros(4)", "np.array([7.5, 0.0], np.float32), np.array([-0.0, 0.0], np.float32)")
def case_division_by_zero_of_arrays(a, b):
    for i in range(len(a)):
        a[i] = a[i] // b[i]
        b[i] = a[i] % b[i]
    return a[0] / b[0], a[1] // b[1], a[0] % b[0]


@on("np.array([1.0, 0.0]), 0.0", "np.array([1.0, 0.0]), 0", "np.array([1, 0]), 0", "np.array([1, 0]), np.float64(0)")
def case_array_element_over_python_zero(a, z):
    return a[0] / z, z / a[0], a[1] / z


@on("np.array([1.0, 0.0]), 0.0", "np.array([1.0, 0.0]), 0")
def case_python_over_python_zero(a, z):
    for i in range(len(a)):
        a[i] = 5.0
        if i == 1:
            a[i] = 1.0 / z


@on("np.array([1.0, 0.0])", "np.array([0.0, 0.0])")
def case_float_of_an_element_raises(a):
    a[1] = 3.0
    return 1.0 / float(a[0])


@on("np.array([2, 3, -2]), 3", "np.array([2, 3, 5], np.int8), 7", "np.array([2.5, -1.5]), 2", "np.array([4.0, 2.0], np.float32), 0.5",
    "np.array([2, 3]), -1", "np.array([2.0, -3.0]), 0.5", "np.array([0.0, 1.0]), -1")
def case_powers(a, k):
    s = a[0] ** k
    for i in range(len(a)):
        a[i] = a[i] ** 2
    return s, a[1] ** 3, 2 ** a[0]


@on("np.array([3, 4], np.int64), np.array([2, 3], np.int64)", "np.array([3, 4], np.uint8), np.array([2, 3], np.uint8)",
    "np.array([3, 4]), np.array([-2, 3])", "np.array([3.0, 4.0]), np.array([-2, 3])")
def case_powers_of_elements(a, b):
    a[1] = 1
    return a[0] ** b[0]


@on("np.array([1, 2, 40], np.int32)", "np.array([1, 2, 40], np.uint8)", "np.array([1, 63, 64])", "np.array([1, -1, 64])")
def case_shifts(a):
    return a[0] << a[1], a[0] << a[2], a[2] >> a[0], a[2] >> a[2], 1 << a[0], a[0] << 3


@on("np.array([2.25, -1.0, np.inf, np.nan, 0.0])", "np.array([2.25, 4.0, 0.5], np.float32)", "np.array([1, 4, 9])", "np.array([4], np.uint8)")
def case_math_gives_python_floats(a):
    return math.sqrt(a[0]), math.exp(a[0]), math.floor(a[0]), math.sin(a[0]) + a[0], math.sqrt(a[0]) / 2


@on("np.array([2.25, -1.0, np.inf, np.nan, 0.0])", "np.array([2.25, 4.0, 0.5], np.float32)")
def case_math_raises_numpy_warns(a):
    b = np.zeros(2)
    b[0] = np.sqrt(a[1])
    b[1] = np.log(a[2])
    a[0] = math.sqrt(a[1])


@on("np.array([2.25, -2.5, 0.5, 1.5, 1e300])", "np.array([2.5, 0.1, -0.5], np.float32)", "np.array([5, 15, -25])", "np.array([5, 250], np.uint8)")
def case_round(a):
    return round(a[0]), round(a[1], 1), round(a[2]), round(a[1], -1)


@on("np.array([2.9, -2.9, 0.5])", "np.array([2.9, -2.9, 0.5], np.float32)", "np.array([5, 15, -25], np.int16)", "np.array([np.nan])", "np.array([np.inf])")
def case_int_and_float(a):
    return int(a[0]), float(a[0]), bool(a[0]), int(a[0]) / 2


@on("np.array([1.5, np.nan, -0.0, 2.0])", "np.array([1.5, np.nan, -0.0, 2.0], np.float32)")
def case_comparisons_with_nan(a):
    n = 0
    for i in range(len(a)):
        if a[i] != a[i]:
            n += 1
        if not a[i] > 0.0:
            n += 10
        if a[i] == 0.0:
            n += 100
    return n, min(a[0], a[1]), min(a[1], a[0]), max(a[1], a[0]), a[1] < 1.0


@on("np.array([3.0, 1.0]), np.array([1, 2])", "np.array([1.0, 1.0], np.float32), np.array([1, 2])")
def case_min_and_max_keep_the_type(a, b):
    return min(a[0], 2), max(a[0], 2), min(b[0], 0.5), max(b[0], a[1]), min(1, 2.0, a[1]), abs(a[0]), abs(-b[0])


@on("np.array([3.0, 1.0])", "np.array([-3.0, 1.0])", "np.array([3, 1])")
def case_flavour_depends_on_a_branch(a):
    s = 1.0
    if a[0] > 0:
        s = a[0]
    t = 0 if a[1] > 2 else a[1]
    return s, t, s / 2, 1 / s


@on("np.array([3.0, 0.0]), 0", "np.array([3.0, 0.0]), 1", "np.array([3, 0]), 0", "np.array([3, 0]), 3")
def case_flavour_depends_on_the_trips(a, n):
    s = 1.0
    for i in range(n):
        s = s * a[1]
    a[1] = 7
    return 1.0 / s


@on("np.array([3, 200], np.uint8), 0", "np.array([3, 200], np.uint8), 2")
def case_width_depends_on_the_trips(a, n):
    s = 200
    for i in range(n):
        s = s + a[i]
    return s + 100


@on("np.array([1.0, 2.0]), np.float32(0.1)", "np.array([1.0, 2.0], np.float32), np.float64(0.1)", "np.array([1.0], np.float32), 0.1",
    "np.array([1], np.uint8), np.int64(300)", "np.array([1], np.uint8), 300", "np.array([1, 2], np.int32), np.float32(0.5)")
def case_numpy_scalars_as_arguments(a, x):
    s = a[0] * x
    a[0] = s
    return s, x + 1, a[0]


@on("np.arange(5, dtype=np.int32)", "np.arange(5, dtype=np.uint8)", "np.arange(5.0, dtype=np.float32)")
def case_loop_variable_beside_elements(a):
    for i in range(len(a)):
        a[i] = a[i] * i + i // 2
    return a[1] + 1000 * 10


@on("np.arange(4, dtype=np.float32)", "np.arange(4, dtype=np.int16)")
def case_augmented_with_a_wider_number(a):
    for i in range(len(a)):
        a[i] += 0.5
        a[i] *= 3
    a[0] /= 2
    a[1] //= 2


@on("np.array([1 + 2j, 3 - 1j])", "np.array([1 + 2j], np.complex64)")
def case_complex(a):
    s = 0
    for i in range(len(a)):
        s += a[i] * a[i]
        a[i] = a[i].conjugate()
    return s, abs(a[0]), a[0].real


@on("np.array([1, 2, 3], '>i4')", "np.array([1.5, 2.5], '>f8')", "np.zeros(3, 'i1,f8')['f1']")
def case_other_byte_order_or_alignment(a):
    for i in range(len(a)):
        a[i] = a[i] + i
    return a[0]


@on("np.array([1.5, 2.0], np.float16)", "np.array([1.5, 2.0], np.longdouble)")
def case_widths_that_are_rare(a):
    for i in range(len(a)):
        a[i] = a[i] * 1.1
    return a[0] + 1


@on("np.zeros(3), np.zeros(3, np.float32)", "np.zeros(3, np.int64), np.zeros(3)")
def case_casts_by_name(a, b):
    for i in range(3):
        a[i] = np.float32(i) * np.float32(0.1)
        b[i] = float(np.int32(i) * 0.3)
    return np.uint8(3) + np.uint8(4), np.int64(3) / 2, np.float32(1) / 3


@on("np.arange(3)", "np.arange(3, dtype=np.uint8)", "np.arange(3.0)")
def case_dtype_is_asked_for(a):
    b = np.zeros(3, a.dtype)
    c = np.zeros_like(a)
    d = np.ones_like(a, dtype=np.float32)
    if a.dtype == np.int64:
        b[0] = 5
    for i in range(3):
        b[i] += a[i]
        c[i] = b[i] * 2
    return b, c, d, a.dtype == np.float64


@on("np.array([3, 1, 2])", "np.array([0.1, 0.2, 0.3], np.float32)")
def case_constants_of_numpy(a):
    best = np.inf
    for i in range(len(a)):
        if a[i] < best:
            best = a[i]
    return best, np.pi * a[0], a[0] * math.pi


@on("np.array([3.0, 1.0, 2.0])", "np.zeros(0)", "np.array([np.nan, 1.0])")
def case_smallest_and_where(a):
    best, where = math.inf, -1
    for i in range(len(a)):
        if a[i] < best:
            best, where = a[i], i
    return best, where
