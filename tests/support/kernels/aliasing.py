"""The same memory by two names: arguments that overlap, views, swaps, what is read after it was written."""

from __future__ import annotations

from tests.support.kernels import on

SAME = "a = np.arange(6.0); a, a"
SHIFTED = "a = np.arange(7.0); a[:-1], a[1:]"
BACK = "a = np.arange(7.0); a[1:], a[:-1]"
REVERSED = "a = np.arange(6.0); a, a[::-1]"
APART = "np.arange(6.0), np.zeros(6)"
EVERY = (APART, SAME, SHIFTED, BACK, REVERSED)


@on(*EVERY)
def case_copies(a, out):
    for i in range(len(a)):
        out[i] = a[i]


@on(*EVERY)
def case_stencil(a, out):
    for i in range(1, len(a) - 1):
        out[i] = 0.5 * a[i - 1] + a[i] + 0.5 * a[i + 1]


@on(*EVERY)
def case_two_loops(a, out):
    for i in range(len(a)):
        out[i] = a[i] * 2.0
    for i in range(len(a)):
        a[i] = out[i] + 1.0


@on(*EVERY)
def case_read_after_write_in_one_iteration(a, out):
    for i in range(len(a)):
        out[i] = 10.0
        out[i] += a[i]
        a[i] = out[i - 1]


@on(*EVERY)
def case_sum_while_writing(a, out):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
        out[i] = s
    return s


@on(*EVERY)
def case_backwards(a, out):
    for i in range(len(a) - 1, -1, -1):
        out[i] = a[i] + a[-1]


@on(*EVERY)
def case_hoisting_is_wrong(a, out):
    for i in range(len(a)):
        out[i] = a[0] + 1.0


@on(*EVERY)
def case_swaps_names_in_a_loop(a, b):
    for _ in range(3):
        for i in range(1, len(a)):
            b[i] = a[i - 1] + 1.0
        a, b = b, a
    return a[0], b


@on(*EVERY)
def case_swaps_names_under_a_condition(a, b):
    for i in range(len(a)):
        if a[i] > 2.0:
            a, b = b, a
        a[i] += 1.0
    return a


@on(*EVERY)
def case_swaps_elements(a, b):
    for i in range(len(a)):
        a[i], b[i] = b[i], a[i]


@on(*EVERY)
def case_is_the_same_array(a, b):
    return a is b


@on("a = np.arange(9.0).reshape(3, 3); a, a.T", "a = np.arange(9.0).reshape(3, 3); a, a", "np.arange(9.0).reshape(3, 3), np.zeros((3, 3))")
def case_transposes(a, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = a[j, i] + 0.5


@on("a = np.arange(9.0).reshape(3, 3); a, a[1]", "a = np.arange(9.0).reshape(3, 3); a, a[:, 0]", "np.arange(9.0).reshape(3, 3), np.ones(3)")
def case_a_row_of_itself(a, v):
    for i in range(3):
        for j in range(3):
            a[i, j] -= v[j]


@on("a = np.arange(8, dtype=np.int64); a, a.view(np.float64)", "a = np.arange(8, dtype=np.int32); a, a.view(np.int16)[::2]")
def case_the_same_bytes_of_another_dtype(a, b):
    for i in range(len(a)):
        b[i] = 1
        a[i] = a[i] + 1


@on("np.arange(6.0)")
def case_view_of_a_view(a):
    v = a[1:][1:]
    v[0] = 100.0
    w = v[::-1]
    w[0] = 200.0
    return a[2] + w[-1]


@on("np.arange(12.0).reshape(3, 4)")
def case_row_is_written_through(a):
    for i in range(3):
        row = a[i]
        for j in range(1, 4):
            row[j] += row[j - 1]
        a[i, 0] = row[3]


@on("np.arange(12.0).reshape(3, 4)")
def case_rows_swapped_by_name(a):
    first, last = a[0], a[-1]
    for j in range(4):
        first[j], last[j] = last[j], first[j]
    first, last = last, first
    first[0] = -1.0


@on("np.arange(12.0).reshape(3, 4)")
def case_rows_swapped_as_values(a):
    a[0], a[1] = a[1], a[0]


@on("np.arange(6.0)")
def case_slice_overlaps_forwards(a):
    a[1:] = a[:-1]


@on("np.arange(6.0)")
def case_slice_overlaps_backwards(a):
    a[:-1] = a[1:]


@on("np.arange(6.0)")
def case_slice_reversed(a):
    a[:] = a[::-1]
    a[1:4] += a[2:5]


@on("np.arange(6.0)")
def case_copy_is_apart(a):
    b = a.copy()
    for i in range(1, len(a)):
        a[i] = b[i - 1]
    return b


@on("np.arange(6.0)")
def case_name_for_an_argument(a):
    b = a
    b[0] = 5.0
    return a[0], b is a


@on("np.arange(6.0)", "np.arange(6)")
def case_returns_the_argument(a):
    for i in range(3):
        a[i] = 0
    return a


@on("np.arange(6.0)")
def case_returns_a_view(a):
    a[0] = 1.0
    return a[1:4]


@on("np.arange(6.0)")
def case_returns_two_views(a):
    return a[::2], a[1::2]


@on("np.arange(12.0).reshape(3, 4)")
def case_returns_the_transposed(a):
    a[0, 1] = 55.0
    return a.T


@on("np.arange(12.0).reshape(3, 4)")
def case_returns_a_row(a):
    return a[1], a[:, 1]


@on("np.arange(6.0), np.arange(6.0)", SAME)
def case_chooses_an_array(a, b):
    c = a if a[0] > b[1] else b
    c[2] = -5.0
    for i in range(3):
        d = a if i % 2 else b
        d[i] += 7.0
    return c


@on("a = np.arange(6.0); a.flags.writeable = False; a, np.zeros(6)", "a = np.arange(6.0); b = a[:]; b.flags.writeable = False; a, b",
    "a = np.arange(6.0); a.flags.writeable = False; a, a")
def case_read_only_output(a, out):
    for i in range(len(a)):
        out[i] = a[i] + 1.0


@on("a = np.arange(6.0); a.flags.writeable = False; a, np.arange(6.0)")
def case_read_only_after_some_writes(a, out):
    for i in range(len(a)):
        out[i] = -1.0
        if i == 2:
            a[i] = 5.0


@on("a = np.zeros(0); a.flags.writeable = False; a,", "a = np.zeros(2); a.flags.writeable = False; a,")
def case_read_only_and_perhaps_never_written(a):
    for i in range(len(a)):
        a[i] = 1.0
    return len(a)


WHOLE = "np.array([1, 1, 2, 0, 3])"


@on(WHOLE)
def case_indices_that_are_written(a):
    a[a] = 0


@on(WHOLE)
def case_indices_in_a_part_of_what_is_written(a):
    a[1:][a[:-1]] = 2
    for i in range(2):
        a[a[i:i + 2]] = i


@on("a = np.array([1, 1, 2, 0, 3]); a, a", "a = np.array([1, 1, 2, 0, 3, 2]); a[1:], a[:-1]")
def case_indices_that_overlap(a, idx):
    a[idx] = 3
    idx[a % 2] = 1


@on("np.array([True, True, True, False])")
def case_masks_that_are_written(mask):
    mask[1:][mask[:-1]] = False
    mask[mask] = False
