"""Loops and branches: no trips, variables after the loop, else, break, return, changed bounds, while, exceptions."""

from __future__ import annotations

import numpy as np

from tests.support.kernels import on

LINE = ("np.arange(6.0)", "np.zeros(0)", "np.array([5.0, -1.0, 2.0])")


@on(*LINE)
def case_variable_after_the_loop(a):
    i = -7
    for i in range(len(a)):
        a[i] += 1.0
    return i


@on(*LINE)
def case_variable_after_a_loop_that_may_be_empty(a):
    for i in range(1, len(a)):
        a[i] += 1.0
    return i


@on(*LINE)
def case_value_after_a_loop_that_may_be_empty(a):
    for i in range(len(a)):
        last = a[i]
    return last


@on(*LINE)
def case_bound_changed_in_the_loop(a):
    n = len(a)
    for i in range(n):
        n = n - 1
        a[i] = n
    return n


@on(*LINE)
def case_variable_assigned_in_the_loop(a):
    for i in range(len(a)):
        a[i] = i
        i = i * 10
        a[-1] = i
    return a[-1]


@on(*LINE)
def case_else_without_break(a):
    for i in range(len(a)):
        a[i] = a[i] * 2.0
    else:
        return "done" if len(a) > 100 else len(a)
    return -1


@on(*LINE)
def case_else_with_break(a):
    for i in range(len(a)):
        if a[i] > 3.0:
            break
        a[i] = 9.0
    else:
        i = -1
    return i


@on(*LINE)
def case_while_else(a):
    i = 0
    while i < len(a):
        if a[i] < 0.0:
            break
        a[i] += 1.0
        i += 1
    else:
        return -1
    return i


@on("np.arange(12.0).reshape(3, 4)", "np.zeros((2, 0))")
def case_nested_breaks(a):
    count = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 5.0:
                break
            a[i, j] = -1.0
            count += 1
        else:
            count += 100
        if count > 103:
            break
    return count


@on("np.arange(12.0).reshape(3, 4)")
def case_continue_in_both(a):
    for i in range(3):
        if i == 1:
            continue
        for j in range(4):
            if j % 2 == 0:
                continue
            a[i, j] = 0.5


@on("np.arange(12.0).reshape(3, 4)", "np.zeros((3, 4))")
def case_return_from_the_inner_loop(a):
    for i in range(3):
        for j in range(4):
            if a[i, j] > 6.0:
                a[0, 0] = 99.0
                return i, j
            a[i, j] += 100.0
    return None


@on(*LINE)
def case_returns_arrays_or_numbers(a):
    for i in range(len(a)):
        if a[i] > 4.0:
            return a
    return 0.0


@on(*LINE)
def case_returns_nothing_in_the_middle(a):
    for i in range(len(a)):
        if a[i] > 2.0:
            return
        a[i] = 7.0


@on("np.arange(6.0), 0", "np.arange(6.0), 2", "np.arange(6.0), -2", "np.arange(6.0), 7")
def case_step_is_an_argument(a, step):
    for i in range(0, len(a), step):
        a[i] = -1.0


@on("np.arange(6.0), 0, 6, 2", "np.arange(6.0), 5, -1, -1", "np.arange(6.0), 5, 0, 1", "np.arange(6.0), -3, 3, 1", "np.arange(6.0), 0, 2**40, 2**38")
def case_range_of_arguments(a, start, stop, step):
    n = 0
    for i in range(start, stop, step):
        n += 1
        a[i] = n
    return n


@on("np.arange(6.0)")
def case_step_differs_by_iteration(a):
    for k in range(1, 4):
        for i in range(0, len(a), k):
            a[i] += k


@on("np.arange(6.0), 2.0", "np.arange(6.0), np.float64(3)", "np.arange(6.0), np.int64(3)", "np.arange(6.0), True", "np.arange(6.0), np.uint8(3)")
def case_range_of_other_types(a, n):
    for i in range(n):
        a[i] = i
    return i


@on("np.array([3, 0, 2, 5])", "np.array([3, 0, -2, 1], np.int8)", "np.array([3, 1], np.uint8)")
def case_trips_from_an_array(a):
    total = 0
    for i in range(len(a)):
        for j in range(a[i]):
            total += i * j + 1
        a[i] = total
    return total


@on("np.array([0, 2, 2, 5]), np.arange(5.0)", "np.array([0, 9]), np.arange(5.0)", "np.array([3, 1, 4]), np.arange(5.0)")
def case_ragged_rows(start, x):
    out = np.zeros(len(start) - 1)
    for i in range(len(start) - 1):
        s = 0.0
        for p in range(start[i], start[i + 1]):
            s += x[p]
        out[i] = s
    return out


@on("np.array([6, 27, 1, 97], np.int64)")
def case_while_per_element(a):
    for i in range(len(a)):
        n, steps = int(a[i]), 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            steps += 1
        a[i] = steps


@on("np.array([6.0, 27.0, 0.0, 2.0])", "np.array([-4.0])")
def case_newton(a):
    for i in range(len(a)):
        x = a[i]
        k = 0
        while abs(x * x - a[i]) > 1e-12 * a[i] and k < 50:
            x = 0.5 * (x + a[i] / x)
            k += 1
        a[i] = x


@on(*LINE)
def case_while_on_memory(a):
    k = 0
    while k < len(a) and a[k] < 100.0:
        a[k] += 60.0
        if a[k] >= 100.0:
            k += 1
    return k


@on("np.array([4.0, 1.0, 3.0, 2.0, 5.0, 0.0])", "np.array([3, 1, 2], np.uint8)", "np.array([1.0, np.nan, 0.5])", "np.zeros(0)")
def case_insertion_sort(a):
    for i in range(1, len(a)):
        x = a[i]
        j = i - 1
        while j >= 0 and a[j] > x:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = x


@on("np.array([1.0, 2.0, 4.0, 8.0]), 4.0", "np.array([1.0, 2.0, 4.0, 8.0]), 9.0", "np.zeros(0), 1.0", "np.array([1.0, 2.0]), np.nan")
def case_binary_search(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@on("np.arange(20) > 1")
def case_sieve(prime):
    n = len(prime)
    for i in range(2, n):
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
    count = 0
    for i in range(n):
        count += prime[i]
    return count


@on("np.arange(6.0)", "np.array([1.0, -1.0, 2.0])")
def case_raises_after_writes(a):
    for i in range(len(a)):
        if a[i] < 0.0:
            raise ValueError("negative")
        a[i] = 100.0


@on("np.arange(6.0)", "np.array([1.0, -1.0, 2.0])")
def case_raises_with_the_value(a):
    for i in range(len(a)):
        if a[i] < 0.0:
            raise ValueError(f"negative at {i}")
        a[i] = 100.0


@on("np.arange(6.0)", "np.array([1.0, -1.0, 2.0])")
def case_asserts(a):
    for i in range(len(a)):
        a[i] += 10.0
        assert a[i] >= 10.0
    return a[0]


@on("np.arange(6.0), 7", "np.arange(6.0), 3")
def case_catches_an_index_error(a, n):
    try:
        for i in range(n):
            a[i] = -1.0
    except IndexError:
        return -5
    return 0


@on("np.arange(6.0), np.zeros(6)", "np.arange(6.0), np.zeros(3)")
def case_fault_in_the_second_loop(a, out):
    for i in range(len(a)):
        a[i] += 1.0
    for i in range(len(a)):
        out[i] = a[i]


@on("np.arange(6.0), np.zeros((6, 2))", "np.arange(6.0), np.zeros((6, 1))")
def case_fault_before_the_second_store_of_an_iteration(a, out):
    for i in range(len(a)):
        out[i, 0] = a[i]
        out[i, 1] = a[i] * 2.0
        a[i] = -1.0


@on("np.arange(6.0), 0", "np.arange(6.0), 1")
def case_fault_in_the_value_before_the_store(a, z):
    for i in range(len(a)):
        a[i] = 5 // (i - 3 * z)


@on("np.arange(4.0)", "np.arange(2.0)")
def case_order_of_evaluation(a):
    k = 0
    a[k], k, a[k] = 1.0, 1, 2.0
    a[0] = a[3] = 9.0
    return k


@on("np.array([1.0, 2.0, 3.0])", "np.array([1.0, 0.0, 3.0])")
def case_short_circuit_guards(a):
    n = 0
    for i in range(4):
        if i < len(a) and a[i] != 0.0 and 6.0 / a[i] > 2.5:
            n += 1
    return n


@on("np.arange(6.0)")
def case_walrus(a):
    n = 0
    for i in range(len(a)):
        if (x := a[i] * 2.0) > 5.0:
            n += x
    return n, x


@on("np.arange(6.0)", "np.zeros(1)")
def case_ternary_store(a):
    for i in range(len(a)):
        a[i] = a[i - 1] if i % 2 else a[i + 1] if i + 1 < len(a) else 0.5


@on("np.array([1, 2, 3, 4])", "np.array([], np.int64)")
def case_iterates_over_elements(a):
    total = 0
    for v in a:
        total += v * v
    return total


@on("np.array([1.0, 2.0, 3.0])")
def case_iterates_while_writing(a):
    k = 0
    for v in a:
        a[k - 1] = v * 10.0
        k += 1


@on("np.arange(6.0).reshape(2, 3)")
def case_iterates_over_rows(a):
    s = 0.0
    for row in a:
        row[0] = 9.0
        for v in row:
            s += v
    return s


@on("np.array([1.0, 2.0, 3.0]), np.array([1, 2])", "np.zeros(0), np.zeros(3)")
def case_enumerate_and_zip(a, b):
    s = 0.0
    for i, v in enumerate(a):
        a[i] = v + i
    for u, w in zip(a, b):
        s += u * w
    for i, (u, w) in enumerate(zip(b, a), 1):
        s += i * u - w
    return s


@on("np.array([1.0, 2.0, 3.0])")
def case_reversed(a):
    s = 0.0
    for i in reversed(range(len(a))):
        s = s * 2.0 + a[i]
    for v in reversed(a):
        s = s * 3.0 + v
    return s


@on("np.arange(5.0)")
def case_comprehension(a):
    b = [a[i] * 2.0 for i in range(5)]
    c = np.array([v + 1.0 for v in a])
    return b[3], c, sum(x for x in a)


@on("np.arange(5.0), True", "np.arange(5.0), False", "np.arange(5.0), 0", "np.arange(5.0), None")
def case_flag_argument(a, flag):
    for i in range(len(a)):
        if flag:
            a[i] = 0.0
        else:
            a[i] += 1.0


@on("np.arange(5.0), 'up'", "np.arange(5.0), 'down'", "np.arange(5.0), 'sideways'")
def case_word_argument(a, mode):
    for i in range(len(a)):
        if mode == "up":
            a[i] += 1.0
        elif mode == "down":
            a[i] -= 1.0
        else:
            raise ValueError("mode")


@on("np.arange(6.0)")
def case_deletes_a_name(a):
    for i in range(3):
        x = a[i]
        a[i + 1] = x
        del x
    return i


@on("np.arange(4.0)")
def case_shadows_builtins(a):
    len = 3
    range_ = range
    for i in range_(len):
        a[i] = len
    return len


@on("np.arange(4.0), np.arange(4.0)")
def case_name_of_an_array_becomes_a_number(a, b):
    a = a[1] + b[0]
    for i in range(3):
        b[i] = a
    b = 5
    return a, b


@on("np.arange(4.0)", "np.zeros((2, 2))")
def case_number_becomes_an_array(a):
    x = 1.0
    for i in range(2):
        x = x + a[i]
    return x
