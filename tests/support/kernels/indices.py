"""Indices: negative ones, the first and the last, beyond the end, of other types, many at once."""
# ruff: noqa: F821

from __future__ import annotations

from tests.support.kernels import on

LINE = "np.arange(5.0), np.zeros(5)"


@on(LINE, "np.zeros(0), np.zeros(0)", "np.ones(1), np.zeros(1)")
def case_wraps_at_the_start(a, out):
    for i in range(len(a)):
        out[i] = a[i - 1]


@on(LINE, "np.zeros(0), np.zeros(0)")
def case_one_too_far_at_the_end(a, out):
    for i in range(len(a)):
        out[i] = a[i + 1]


@on(LINE, "np.arange(5.0), np.zeros(4)", "np.arange(4.0), np.zeros(5)")
def case_exactly_at_the_extent(a, out):
    for i in range(len(a) + 1):
        out[i] = 2.0 * a[i]


@on(LINE, "np.arange(2.0), np.zeros(2)")
def case_wraps_too_far(a, out):
    for i in range(len(a)):
        out[i] = a[i - 3]


@on(LINE, "np.zeros(0), np.zeros(0)")
def case_minus_one(a, out):
    out[-1] = a[-1] + a[0]


@on(LINE, "np.zeros(3), np.zeros(3)")
def case_most_negative(a, out):
    n = len(a)
    for i in range(n):
        out[-n + i] = a[-i - 1]


@on(LINE)
def case_constant_outside(a, out):
    out[0] = 1.0
    out[1] = a[5]


@on(LINE, "np.arange(8.0), np.zeros(8)")
def case_constant_outside_in_a_branch(a, out):
    for i in range(len(a)):
        if len(a) > 7:
            out[i] = a[7]


@on(LINE + ", 3", LINE + ", 5", LINE + ", -5", LINE + ", -6", LINE + ", True", LINE + ", np.int8(2)", LINE + ", np.uint8(200)")
def case_index_is_an_argument(a, out, k):
    out[0] = a[k]


@on(LINE + ", 1.0", LINE + ", np.nan", LINE + ", np.float64(2)")
def case_float_index(a, out, k):
    out[0] = 1.0
    out[1] = a[k]


@on(LINE)
def case_float_index_by_division(a, out):
    for i in range(len(a)):
        out[i] = a[i / 1]


@on(LINE)
def case_true_as_an_index(a, out):
    for i in range(len(a)):
        out[int(i > 2)] = a[int(i == 1)]


@on("np.arange(5.0), np.array([0, 4, -1, -5, 2])", "np.arange(5.0), np.array([0, 4, 5])", "np.arange(5.0), np.array([0, -6, 1])",
    "np.arange(5.0), np.array([1, 2], np.uint8)", "np.arange(5.0), np.array([-1, -5], np.int8)",
    "np.arange(5.0), np.array([2**63], np.uint64)", "np.arange(5.0), np.array([3, 2**64 - 1], np.uint64)")
def case_gathers(a, idx):
    s = 0.0
    for i in range(len(idx)):
        s += a[idx[i]]
        a[0] = s
    return s


@on("np.zeros(4), np.array([1, 1, 3, 0, 1])", "np.zeros(4), np.array([1, 4, 1])", "np.zeros(0), np.array([0])")
def case_scatters_with_repeats(count, idx):
    for i in range(len(idx)):
        count[idx[i]] += i + 1.0


@on("np.arange(5.0), np.array([0.0, 1.0])", "np.arange(5.0), np.array([True, False])")
def case_indices_of_another_dtype(a, idx):
    s = 0.0
    for i in range(len(idx)):
        a[i] = 7.0
        s += a[idx[i]]
    return s


@on("np.arange(5.0), np.array([1.0, 2.9, -1.5])", "np.arange(5.0), np.array([1.0, np.nan])", "np.arange(5.0), np.array([np.inf])",
    "np.arange(5.0), np.array([1e300])")
def case_int_of_a_float_as_an_index(a, x):
    for i in range(len(x)):
        a[int(x[i])] += 10.0


@on("np.arange(4), 2**62", "np.arange(4), -(2**62)", "np.arange(4), 2**63", "np.arange(4), 0")
def case_index_overflows_int64(a, k):
    a[0] = 9
    return a[k * 4]


@on("np.arange(12.0).reshape(3, 4)", "np.zeros((0, 4))", "np.zeros((3, 0))", "np.zeros((1, 1))")
def case_wraps_in_both_axes(a):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            a[i, j] = a[i - 1, j - 1] + 1.0


@on("np.arange(12.0).reshape(3, 4), np.zeros((3, 4))", "np.arange(9.0).reshape(3, 3), np.zeros((3, 3))")
def case_axes_exchanged(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[j, i]


@on("np.arange(12.0).reshape(3, 4)")
def case_too_few_indices_give_a_row(a):
    row = a[1]
    row[2] = 50.0
    return row[-1]


@on("np.arange(12.0).reshape(3, 4)")
def case_too_many_indices(a):
    a[0, 0] = 5.0
    return a[0, 0, 0]


@on("np.arange(12.0).reshape(3, 4)")
def case_stores_into_a_row_from_a_number(a):
    for i in range(3):
        a[i] = i * 2.0


@on("np.arange(24.0).reshape(2, 3, 4)")
def case_chained_indices(a):
    for i in range(2):
        for j in range(3):
            for k in range(4):
                a[i][j][k] = a[i, j][k - 1] + a[i][j, k]


@on("np.arange(6.0)")
def case_index_after_the_loop(a):
    for i in range(3):
        a[i] = 0.0
    a[i] = 9.0
    a[i + 2] = 8.0


@on("np.arange(6.0), 6", "np.arange(6.0), 7", "np.arange(6.0), 100", "np.arange(6.0), 0", "np.arange(6.0), -4")
def case_bound_is_an_argument(a, n):
    for i in range(n):
        a[i] = a[i] * 2.0


@on("np.arange(8.0)", "np.arange(7.0)", "np.arange(1.0)")
def case_twice_the_index(a):
    for i in range(len(a) // 2):
        a[2 * i], a[2 * i + 1] = a[2 * i + 1], a[2 * i]


@on("np.arange(8.0)", "np.arange(5.0)")
def case_twice_the_index_beyond(a):
    for i in range(len(a)):
        a[2 * i] += 1.0


@on("np.arange(12.0), 3, 4", "np.arange(12.0), 4, 4", "np.arange(12.0), 0, 9")
def case_flattened_by_hand(a, n, m):
    for i in range(n):
        for j in range(m):
            a[i * m + j] = 10.0 * i + j


@on("np.arange(7.0), 0", "np.arange(7.0), 3", "np.arange(0.0), 3")
def case_modulo_of_the_extent(a, k):
    for i in range(5):
        a[(i * k + 2) % len(a)] += 1.0


@on("np.arange(7.0)")
def case_mirrored(a):
    n = len(a)
    for i in range(n):
        a[i] = a[n - 1 - i]


@on("np.arange(7.0)")
def case_mirrored_beyond(a):
    n = len(a)
    for i in range(n):
        a[i] = a[n - i]


@on("np.arange(7.0), np.arange(7) % 3", "np.arange(2.0), np.array([0, 1, 2])")
def case_index_written_in_the_loop(a, idx):
    for i in range(len(idx)):
        a[idx[i]] = i
        idx[i] = idx[idx[i] % len(idx)]


@on("np.arange(5.0), 2", "np.arange(5.0), np.int64(2)", "np.arange(5.0), np.array(2)")
def case_index_is_a_scalar_array(a, k):
    a[k] = 77.0
    return a[k + 1]


@on("np.arange(6.0)")
def case_compares_index_in_one_statement(a):
    for i in range(6):
        a[i if a[i] > 2.0 else -i - 1] = i


@on("np.arange(6.0)", "np.arange(3.0)")
def case_reads_only_where_it_exists(a):
    s = 0.0
    for i in range(len(a)):
        if i + 2 < len(a) and a[i + 2] > 1.0:
            s += a[i + 2]
    return s


@on("np.arange(6.0)", "np.arange(3.0)")
def case_reads_before_it_asks(a):
    s = 0.0
    for i in range(len(a)):
        if a[i + 2] > 1.0 and i + 2 < len(a):
            s += a[i + 2]
            a[i] = s
    return s


@on("np.arange(10.0)[::2]", "np.arange(10.0)[::-1]", "np.arange(10.0)[3:3]", "np.asfortranarray(np.arange(5.0))")
def case_strides(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]


@on("np.arange(30.0).reshape(5, 6)[1:4, ::2]", "np.asfortranarray(np.arange(30.0).reshape(5, 6))", "np.arange(30.0).reshape(5, 6).T",
    "np.arange(30.0).reshape(5, 6)[::-1, ::-1]")
def case_strides_in_two_axes(a):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1] - 1):
            a[i, j] = a[i - 1, j + 1] * 0.5 + a[i, j]
    return a[-1, 0]


@on("np.broadcast_to(np.arange(4.0), (3, 4)), np.zeros((3, 4))")
def case_broadcast_argument(a, out):
    for i in range(3):
        for j in range(4):
            out[i, j] = a[i, j] + i


@on("np.zeros(4), np.arange(4)", "np.zeros(4), [0, 1, 2]")
def case_fancy_index(a, idx):
    a[idx] = 3.0
    return a[idx]


@on("np.arange(4.0)")
def case_ellipsis_and_none(a):
    a[...] = 2.0
    return a[None, :]
