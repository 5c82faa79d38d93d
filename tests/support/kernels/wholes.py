"""Expressions of whole arrays, masks, and arrays of indices; `//` and `%` of float32."""

from __future__ import annotations

import numpy as np

from tests.support.kernels import on

PAIRS = ("np.arange(1.0, 6.0), np.array([0.5, -2.0, 3.0, 1e308, 4.0])", "np.arange(5), np.arange(5.0)",
         "np.arange(5, dtype=np.float32), np.full(5, 0.1)", "np.arange(5, dtype=np.uint8), np.full(5, 100, np.uint8)",
         "np.zeros(0), np.zeros(0)", "np.zeros(3), np.zeros(4)", "np.full(3, 1e308), np.full(3, 1e308)")
GRIDS = ("np.arange(12.0).reshape(3, 4), np.ones((3, 4))", "np.arange(12).reshape(3, 4), np.arange(12).reshape(4, 3).T",
         "np.zeros((0, 4)), np.zeros((0, 4))", "np.arange(12.0, dtype=np.float32).reshape(3, 4), np.full((3, 4), 1.5)")


@on(*PAIRS)
def case_neighbours(a, b):
    b[1:] = a[1:] + a[:-1]
    return b[:-1] * 0.5


@on(*PAIRS)
def case_four_operators(a, b):
    return a[:] + b, a[:] - b, a[:] * b, a[:] / 7


@on(*PAIRS)
def case_numbers_beside_arrays(a, b):
    return 2 * a[:], 1.5 - b[:], a[:] * np.float32(0.1)


@on(*GRIDS)
def case_rows(a, b):
    for i in range(1, len(a)):
        b[i] = a[i] - a[i - 1] * 2
        b[i] += b[i - 1]


@on(*GRIDS)
def case_broadcast(a, b):
    return a[:] * b[:1], a[0][:, None] + b[:, 1][None, :]


@on("np.asfortranarray(np.ones((3, 4))), np.asfortranarray(np.ones((3, 4)))", "np.asfortranarray(np.ones((3, 4))), np.ones((3, 4))",
    "np.ones((4, 3)).T, np.ones((1, 4))", "np.ones((3, 4))[::-1, ::2], np.asfortranarray(np.ones((3, 4)))[:, :2]",
    "np.ones((2, 3, 4)).transpose(1, 0, 2), np.ones((2, 3, 4)).transpose(1, 0, 2)", "np.ones((2, 3, 4)).transpose(2, 0, 1), np.ones(3)")
def case_the_order_of_axes(a, b):
    c = a[:] + b
    return c, c * 2.0, -a[1:], a.T * 1.5, np.array(a), a.astype(np.float32), a.copy(), a[:] > b, np.zeros_like(c), c[1:]


@on("np.arange(6.0)", "np.arange(6)", "np.zeros(0)", "np.arange(12.0)[::2]", "np.arange(12.0)[::-3]")
def case_parts_that_overlap(a):
    a[1:] = a[:-1]
    a[:] = a[::-1]
    a[:-1] += a[1:]
    a[1:] *= a[:-1]


@on(*PAIRS, "np.arange(3), np.arange(3)", "np.arange(3, dtype=np.int32), np.arange(3)", "b = np.arange(6.0); b[:5], b[1:]")
def case_in_place(a, b):
    a[:] -= b[:]
    a[:] *= 2
    b += a
    return a


@on("np.array([1.0, -2.0, np.nan, 0.0, -0.0])", "np.array([1.5, -2.5], np.float32)", "np.zeros(0)", "np.array([np.inf, -1.0])")
def case_one_operand(a):
    return -a[:], +a[:], np.abs(a[:]), np.sqrt(a[:]), np.floor(a), np.rint(a), np.isnan(a)


@on("np.array([1, -2, 3])", "np.array([1, 255, 0], np.uint8)", "np.array([True, False])", "np.array([-128], np.int8)")
def case_ints_inverted(a):
    return ~a[:], a[:] ^ a[::-1], a[:] & 1


@on(*PAIRS, "np.array([np.nan, 1.0]), np.array([1, 1])", "np.array([2**53 + 1]), np.array([2.0**53])",
    "np.array([0.1], np.float32), np.array([0.1])")
def case_comparisons(a, b):
    return a[:] < b, a[:] == b[:], a[:] >= 1, 0.1 != a[:]


@on(*PAIRS, *GRIDS, "np.arange(3.0), np.zeros((3, 2))")
def case_masks(a, b):
    a[a[:] > 2] = 0
    m = (b[:] > 1) & ~(b[:] > 3)
    b[m] = 7
    return m


@on("np.arange(5.0), np.array([True, False, True, False, True])", "np.arange(5), np.array([False] * 5)",
    "np.arange(6.0).reshape(3, 2), np.array([True, False, True])", "np.arange(5.0), np.array([True] * 4)")
def case_masks_given(a, m):
    a[m] = -1
    a[~m] = 2.5


@on("np.arange(5.0), np.array([4, 0, -1, 0])", "np.arange(5), np.array([1, 5])", "np.arange(6.0).reshape(3, 2), np.array([2, -3])",
    "np.arange(5.0), np.array([], np.int64)", "np.arange(5.0), np.array([[1, 2], [3, 4]])", "np.arange(5.0), np.array([1, 2], np.uint8)",
    "np.arange(5.0), np.array([1.0])")
def case_arrays_of_indices(a, i):
    c = a[i]
    a[i] = 9
    return c


@on("np.arange(5.0), np.array([1, 2, 9])", "np.arange(5.0), np.array([-6])")
def case_nothing_is_written_before_an_index_outside(a, i):
    a[i] = 9


@on("np.array([7.5, -7.5, 0.1, 1e30, -0.0, 3.0], np.float32), np.array([2.0, 2.0, -0.3, 1e-3, 5.0, -3.0], np.float32)",
    "np.array([1.0, np.inf], np.float32), np.array([0.0, 2.0], np.float32)", "np.array([1e38], np.float32), np.array([1e-5], np.float32)",
    "np.array([-1.0, 1.0], np.float32), np.array([np.inf, -np.inf], np.float32)")
def case_narrow_quotients(a, b):
    q = a.copy()
    for i in range(len(a)):
        q[i] = a[i] // b[i]
        b[i] = a[i] % b[i]
        a[i] %= 3
        a[i] //= 0.25
    return q


@on("np.arange(3.0)")
def case_sum_of_floats(a):
    return np.sum(a[:])


@on("np.arange(3.0)")
def case_exponentials(a):
    return np.exp(a[:])


@on("np.arange(3.0), np.array([True, False, True])")
def case_elements_of_a_mask(a, m):
    return a[m]


@on("np.arange(3), np.arange(3.0)")
def refused_cast_in_place(a, b):
    a[:] += b


@on("np.zeros((0, 0)), np.zeros(0)", "np.zeros((2, 3)), np.zeros(2)", "np.zeros((2, 0)), np.zeros(1)")
def case_an_index_outside_after_a_loop(a, b):
    for _ in range(1, a.shape[1]):
        pass
    else:
        row = b[1]
    return 0
