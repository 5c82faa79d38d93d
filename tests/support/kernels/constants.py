"""Constants that are computed with at run time: NumPy warns, though a compiler could know the result."""

from __future__ import annotations

import numpy as np

from tests.support.kernels import on

A = "np.arange(1.0, 7.0)", "np.arange(-6.0, 0.0)"


@on(*A)
def case_read_back(a):
    a[0] = 1e308
    a[1] = a[0] * 10.0


@on(*A)
def case_read_back_after_a_branch(a):
    a[0] = 1e308
    if a[2] > 0:
        a[3] = 2.0
    a[1] = a[0] * 10.0


@on(*A)
def case_one_of_two(a):
    x = np.float64(1e308) if a[2] > 0 else np.float64(1e307)
    a[1] = x * 100.0


@on(*A)
def case_one_of_two_by_a_branch(a):
    if a[2] > 0:
        x = np.float64(1e308)
    else:
        x = np.float64(1e307)
    a[1] = x * 100.0


@on(*A)
def case_zero_by_zero(a):
    for i in range(len(a)):
        a[i] = 0.0
        a[i] = a[i] / a[i]


@on(*A)
def case_in_an_array_made_inside(a):
    t = np.zeros(len(a))
    t[0] = 1e308
    t[1] = t[0]*t[0]
    return t


@on(*A)
def case_read_back_in_the_next_iteration(a):
    for i in range(3):
        a[1] = a[0] * 100.0
        a[0] = 1e308


@on(*A)
def case_read_back_in_another_loop(a):
    for i in range(2):
        a[i] = 1e308
    for i in range(2):
        a[i+2] = a[i] * 10.0


@on(*A)
def case_zero_is_a_divisor(a):
    a[0] = 0.0
    a[1] = 1.0 / a[0]
    a[2] = 5.0


@on(*A)
def case_a_filled_array(a):
    a[:] = 1e308
    return a[0] * 10.0


@on(*A)
def case_read_back_in_a_while(a):
    i = 0
    while i < 2:
        a[i] = 1e308
        a[i+1] = a[i]*10.0
        i += 1


@on(*A)
def case_a_full_array(a):
    t = np.full(len(a), 1e308)
    return t[1]*10.0


@on(*A)
def case_float32(a):
    t = np.full(2, 1e308, np.float32)
    t[0]=3e38
    return t[0]*a.dtype.type(1), t[0]*np.float32(2)


@on(*A)
def case_multiplied_in_a_short_loop(a):
    s = np.float64(1e308)
    for i in range(3):
        s = s * 10.0
    return s + len(a)


@on(*A)
def case_multiplied_in_a_loop(a):
    s = np.float64(1e308)
    for i in range(len(a)):
        s = s * 10.0
    return s
