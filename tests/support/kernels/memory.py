"""Arrays made inside, shapes, empty arrays, rank 0, what is captured, whole-array expressions."""

from __future__ import annotations

import numpy as np

from tests.support.kernels import on

TABLE = np.array([1.0, 10.0, 100.0])
BITS = np.array([1, 2, 4, 8], np.uint8)
GRID = np.arange(6.0).reshape(2, 3)
SMALL = [2.0, 3.0, 5.0]


@on("np.arange(5.0)", "np.zeros(0)")
def case_temporary(a):
    t = np.zeros(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2.0
    for i in range(len(a)):
        a[i] = t[i] + t[-i - 1]


@on("np.arange(5.0)", "np.zeros(1)")
def case_the_example_of_the_design(a):
    out = np.empty(len(a))
    t = np.empty(len(a))
    for i in range(len(a)):
        t[i] = a[i] * 2
        out[i] = t[i] + 1
    return out


@on("np.arange(12.0).reshape(3, 4), np.arange(4.0)")
def case_product_then_square(a, b):
    c = np.zeros(3)
    for i in range(3):
        for k in range(4):
            c[i] += a[i, k] * b[k]
    d = np.zeros(3)
    for i in range(3):
        d[i] = c[i] * c[i]
    return d


@on("np.arange(6.0)", "np.arange(2.0)")
def case_temporary_one_longer(a):
    t = np.zeros(len(a) + 1)
    for i in range(len(a)):
        t[i + 1] = t[i] + a[i]
    return t


@on("np.arange(6.0)")
def case_temporary_one_shorter(a):
    t = np.zeros(len(a) - 1)
    for i in range(len(a)):
        t[i] = a[i]
        a[i] = 0.0


@on("np.arange(6.0), 6", "np.arange(6.0), 0", "np.arange(6.0), -1", "np.arange(6.0), 2.0", "np.arange(6.0), np.int64(3)")
def case_length_is_an_argument(a, n):
    a[0] = 50.0
    t = np.zeros(n)
    return t


@on("np.arange(6.0)")
def case_new_in_each_iteration(a):
    for i in range(3):
        t = np.zeros(2)
        t[0] += a[i]
        t[1] = t[0] * 2.0
        a[i] = t[1]
    return t


@on("np.arange(6.0)")
def case_temporary_keeps_its_values_between_iterations(a):
    t = np.zeros(2)
    for i in range(4):
        t[i % 2] += a[i]
        a[i] = t[1 - i % 2]
    return t


@on("np.arange(6.0)")
def case_rolling_rows(a):
    before, now = np.zeros(6), np.ones(6)
    for _ in range(4):
        for i in range(1, 6):
            before[i] = now[i - 1] + a[i] * before[i - 1]
        before, now = now, before
    return now


@on("np.arange(6.0)", "np.arange(6)")
def case_fills(a):
    b = np.full(3, 2)
    c = np.full((2, 2), 0.5, np.float32)
    d = np.full_like(a, 7)
    e = np.ones(3, np.bool_)
    b[0] = 9
    c[1, 1] = a[2]
    e[0] = a[0] > 1
    return b, c, d, e


@on("np.arange(6.0).reshape(2, 3)", "np.asfortranarray(np.arange(6.0).reshape(2, 3))", "np.arange(6.0).reshape(3, 2).T", "np.zeros((0, 3))")
def case_like_an_array(a):
    b, c = np.zeros_like(a), np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j]
            c[i, j] = -a[i, j]
    return b, c


@on("np.arange(6.0).reshape(2, 3)", "np.zeros((0, 5))", "np.zeros((4, 0))")
def case_shapes(a):
    n, m = a.shape
    t = np.zeros(a.shape)
    u = np.zeros((m, n))
    for i in range(n):
        for j in range(m):
            t[i, j] = a[i, j] + u[j, i]
    return len(a), a.size, a.ndim, a.shape, t.shape[0], len(a.shape)


@on("np.arange(6.0).reshape(2, 3)", "np.zeros(4)", "np.zeros((1, 2, 3))")
def case_shape_does_not_unpack(a):
    n, m = a.shape
    return n * m


@on("np.arange(6.0)", "np.arange(6.0).reshape(2, 3)", "np.zeros((1, 1, 2))")
def case_rank_decides(a):
    if a.ndim == 1:
        return a[1]
    if a.ndim == 2:
        return a[1, 1]
    return a[0, 0, 1]


@on("np.array(3.0)", "np.array(3)", "np.zeros(1)")
def case_rank_zero(a):
    a[()] = 5.0
    return a[()]


@on("np.array(3.0)", "np.arange(3.0)")
def case_len_of_rank_zero(a):
    return len(a)


@on("np.array(3.0)", "np.arange(3.0)")
def case_index_of_rank_zero(a):
    return a[0]


@on("np.zeros(3)")
def case_reads_a_captured_array(a):
    for i in range(3):
        a[i] = TABLE[i] + TABLE[-1]
    return GRID[1, 2] + BITS[3]


@on("np.zeros(4)")
def case_reads_a_captured_array_too_far(a):
    for i in range(4):
        a[i] = TABLE[i]


@on("np.zeros(3, np.int64), np.array([0, 2, 1])", "np.zeros(3, np.int64), np.array([0, 3, 1])")
def case_gathers_from_a_captured_array(a, idx):
    for i in range(3):
        a[i] = TABLE[idx[i]] + SMALL[i]


@on("np.arange(3.0)")
def refused_writes_a_captured_array(a):
    for i in range(3):
        TABLE[i] = a[i]


@on("np.arange(3.0)")
def refused_updates_a_captured_array(a):
    TABLE[0] += a[0]


@on("np.arange(3.0)")
def refused_writes_a_view_of_a_captured_array(a):
    row = GRID[1]
    row[0] = a[0]


@on("np.arange(3.0)", "np.zeros(0)", "np.arange(3)")
def case_list_display(a):
    t = [0.0] * 4
    for i in range(len(a)):
        t[i] = a[i]
    t[3] = 5.0
    return t[0] + t[3]


@on("np.arange(3.0)")
def case_tuple_of_arrays(a):
    pair = (a, np.ones(3))
    for k in range(2):
        for i in range(3):
            pair[k][i] += pair[1 - k][i]
    return pair[1]


@on("(np.arange(3.0), np.arange(3.0) + 1),", "[np.arange(3.0), np.arange(3.0) + 1],")
def case_arrays_in_a_container(pair):
    s = 0.0
    for i in range(3):
        s += pair[0][i] * pair[1][i]
        pair[0][i] = s
    return s


@on("[1.0, 2.0, 3.0], np.zeros(3)", "(1.0, 2.0, 3.0), np.zeros(3)", "range(3), np.zeros(3)")
def case_list_where_an_array_is_expected(a, out):
    for i in range(3):
        out[i] = a[i] * 2.0


@on("[1.0, 2.0, 3.0],")
def case_list_is_written(a):
    for i in range(3):
        a[i] = a[i] * 2.0
    return a[0]


@on("np.arange(4.0)", "np.zeros(0)", "np.full(100, 0.1)", "np.full(100, 0.1, np.float32)", "np.arange(9, dtype=np.uint8)")
def case_sum_of_numpy(a):
    return np.sum(a), a.sum()


@on("np.arange(4.0)", "np.zeros(0)", "np.array([1.0, np.nan])", "np.array([3, 1, 2])")
def case_extremes_of_numpy(a):
    return a.max(), np.min(a)


@on("np.arange(4.0), np.arange(4.0)", "np.arange(4), np.ones(4)", "np.arange(4, dtype=np.float32), np.ones(4)")
def case_whole_array_in_place(a, b):
    a += b
    a[1:3] *= 2.0
    a[::2] = b[1::2]


@on("np.arange(6.0).reshape(2, 3), np.arange(3.0)", "np.arange(6.0).reshape(2, 3), np.arange(2.0)", "np.ones((20, 30)), np.full(30, 0.1)")
def case_matrix_times_vector(a, b):
    return a @ b


@on("np.arange(3.0), np.arange(3.0)", "np.full(50, 0.1), np.full(50, 0.3)")
def case_dot(a, b):
    return np.dot(a, b), a @ b


@on("np.arange(6.0)")
def case_reads_its_own_shape_after_a_slice(a):
    b = a[2:]
    c = a[1:100]
    d = a[4:2]
    return b.shape[0], len(c), d.size, b[0]


@on("np.arange(6.0), 2", "np.arange(6.0), -2", "np.arange(6.0), 100", "np.arange(6.0), 0")
def case_slices_by_an_argument(a, k):
    b = a[k:]
    c = a[:k]
    for i in range(len(b)):
        b[i] = -1.0
    return len(b), len(c)


@on("np.arange(12.0).reshape(3, 4)")
def case_slices_in_two_axes(a):
    inner = a[1:, 1:-1]
    n, m = inner.shape
    for i in range(n):
        for j in range(m):
            inner[i, j] = 0.0
    a.T[0, 2] = 44.0
    return inner[0, 0], a.T.shape


@on("np.arange(6.0)", "np.arange(5.0)")
def case_reshapes(a):
    b = a.reshape(2, 3)
    b[1, 0] = 70.0
    return a[3], b.ravel()


@on("np.arange(6.0)")
def case_appends(a):
    found = []
    for i in range(len(a)):
        if a[i] > 2.0:
            found.append(a[i])
    return len(found)


@on("np.arange(6.0)")
def case_arange_and_linspace(a):
    b = np.arange(6)
    c = np.arange(1.0, 4.0)
    s = 0.0
    for i in range(3):
        s += b[i] * c[i] + a[i]
    return s


@on("np.array([3, 1], object),", "np.array(['a', 'b']),", "np.zeros(2, 'i4,f8'),", "np.array(['2020-01-01'], 'M8[D]'),", "np.ma.array([1.0, 2.0]),",
    "np.array([1, 2], 'm8[s]'),")
def case_dtypes_that_are_no_numbers(a):
    x = a[0]
    a[1] = x
    return x


@on("np.arange(4.0), 'x'", "None, 1", "3.0, 1", "np.float64(3.0), 1", "'abc', 1")
def case_no_array_at_all(a, k):
    return a[0]


@on("np.zeros((2, 2)), np.zeros(2)", "np.zeros(2), np.zeros((2, 2))", "np.zeros(2), np.zeros(2)", "np.zeros((2, 2)), np.zeros((2, 2))")
def case_wrong_rank(a, b):
    b[0] = 1.0
    a[0, 1] = 2.0
    return a[0, 0]


@on("np.arange(4.0), np.zeros((4, 4))")
def case_element_from_an_array(a, out):
    out[0, 0] = 1.0
    out[1] = a
    out[2, 1] = a


@on("np.arange(4.0)")
def case_truth_of_an_array(a):
    a[0] = 1.0
    if a:
        return 1
    return 0


@on("np.arange(4.0), np.arange(4.0)")
def case_comparison_of_arrays(a, b):
    a[0] = 1.0
    return a == b


@on("np.arange(4.0)")
def case_attribute_that_is_missing(a):
    a[0] = 1.0
    return a.length
