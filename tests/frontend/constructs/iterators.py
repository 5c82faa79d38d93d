"""Generators, iterators and reductions, over tables and over ranges whose bounds are lanes."""

import itertools
import math

_TABLE = (0.0, 1.0, 2.0, 5.0, 9.0)


def _count(x, k=10):
    return int(abs(x)) % k if abs(x) < 1e6 else 0


def sum_with_a_filter(x):
    n = _count(x)
    return sum(i * x for i in range(n) if i != 3)


def sum_over_two_ranges(x):
    n = _count(x)
    return sum(i * j for i in range(n) for j in range(i))


def sum_over_a_range_and_a_table(x):
    n = _count(x)
    return sum(i * t for i in range(n) for t in _TABLE if t > i)


def min_with_default(x):
    n = _count(x)
    return min((abs(i - x / 2) for i in range(n)), default=-1.0)


def max_with_key(x):
    n = _count(x)
    return max(range(n + 1), key=lambda i: -abs(i - x / 3))


def all_stops_before_a_fault(x):
    n = _count(x)
    return all(x / (i - 3) < 5 for i in range(n))


def any_stops_before_a_fault(x):
    n = _count(x)
    return any(1 / (i - 4) > 0.3 for i in range(n))


def the_variable_of_a_generator_is_its_own(x):
    n = _count(x)
    i = 100.0
    s = sum(i for i in range(n))
    return s + i


def sum_of_sums(x):
    n = _count(x)
    return sum(sum(j * x for j in range(i)) for i in range(n))


def sum_with_start(x):
    n = _count(x)
    return sum((i * 0.5 for i in range(n)), x)


def max_of_tuples(x):
    n = _count(x)
    return max((i, -i) for i in range(n + 1))[1]


def sum_of_a_list_with_a_fault(x):
    n = _count(x)
    return sum([1 / (i - 3) for i in range(n)])


def sum_of_a_range(x):
    n = _count(x)
    return sum(range(n))


def length_of_a_range(x):
    n = _count(x)
    return n in range(3, 8), len(range(n))


def count_with_a_step(x):
    n = _count(x)
    return sum(1 for i in range(2, n, 3))


def max_of_a_range(x):
    n = _count(x)
    return max(range(n)) if n else -1


def enumerate_zip_and_reversed_ranges(x):
    n = _count(x)
    t = 0.0
    for k, i in enumerate(range(n)):
        t += k * i
    for i, v in zip(range(n), _TABLE):
        t += v * i
    for i in reversed(range(n)):
        t = t / 2 + i
    return t


def product_of_a_range(x):
    n = _count(x)
    return math.prod(1 + i for i in range(n))


def sum_of_a_filtered_table(x):
    return sum(t for t in _TABLE if t > x)


def iter_and_next(x):
    it = iter(_TABLE)
    next(it)
    return sum(t for t in it if t > x) + next((t for t in _TABLE if t > x), -1.0)


def first_of_a_range(x):
    n = _count(x)
    return next((i for i in range(n) if i * i > x), -1)


def next_without_default(x):
    return next(t for t in _TABLE if t > x)


def itertools_functions(x):
    s = 0.0
    for a, b in itertools.zip_longest((x, 1.0, 2.0), (3.0,), fillvalue=0.0):
        s += a * b
    for k in itertools.count(1):
        if k > 5:
            break
        s += k
    for v in itertools.takewhile(lambda v: v < 4, (1.0, 2.0, x, 3.0)):
        s += 1
    for a, b in itertools.permutations((1.0, 2.0, x), 2):
        s += a - b / 2
    for a, b in itertools.combinations_with_replacement((1.0, x), 2):
        s += a - b / 2
    for v in itertools.chain.from_iterable([(1.0, x), (2.0,)]):
        s += v
    for v in itertools.starmap(lambda a, b: a * b, [(1.0, x)]):
        s += v
    for k, v in zip(itertools.cycle((1.0, 2.0)), _TABLE):
        s += k * v
    for v in itertools.accumulate((x, 2.0, 3.0), lambda a, b: a * b):
        s += v
    return s


def tuple_of_a_generator(x):
    n = _count(x, 5)
    return tuple(i for i in range(3))[n % 3]


def loop_over_a_filtered_generator(x):
    s = 0.0
    for t in (t for t in _TABLE if t > x):
        if t > 6:
            continue
        s += t
        if s > 7:
            break
    return s


def loop_over_filter(x):
    s = 0.0
    for t in filter(lambda t: t < x, _TABLE):
        s = s * 2 + t
    return s


def loop_over_takewhile(x):
    s = 0.0
    for t in itertools.takewhile(lambda t: t < x, _TABLE):
        s = s * 2 + t
    return s


def return_from_a_filtered_generator(x):
    for t in (t for t in _TABLE if t > x):
        return t
    return -1.0
