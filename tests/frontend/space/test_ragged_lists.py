"""Lists whose length differs from lane to lane: filtered, appended to under a condition, shortened, sorted."""

import math
import statistics
from types import FunctionType

import pytest

import pyflat
from tests.frontend.constructs.test_constructs import XS, lanes_are_pythons

CODES = ("flatten/list-mutation", "flatten/result-kind")

_TABLE = (3.0, -1.0, 0.5, 2.0, -4.0)


def _three(x):
    return [x, x * 0.5 - 1.0, 2.0 - x]


def length_of_a_filter(x):
    return len([v for v in _three(x) if v > 0])


def sum_of_a_filter(x):
    return sum([v for v in _three(x) if v > 0])


def mean_of_a_filter(x):
    good = [v for v in _three(x) if v > 0]
    if not good:
        return 0.0
    return sum(good) / len(good)


def mean_that_divides_by_zero(x):
    good = [v for v in _three(x) if v > 1e9]
    return sum(good) / len(good)


def first_or_default(x):
    good = [v for v in _three(x) if v > 0.75]
    return good[0] if good else -1.0


def last_of_a_filter(x):
    return [v for v in _three(x) if v > 0][-1]


def an_index_that_may_be_missing(x):
    good = [v for v in _three(x) if v != 0.5]
    try:
        return good[2]
    except IndexError:
        return -7.0


def appended_by_branches(x):
    out = []
    if x > 0:
        out.append(x)
    if x > 1:
        out.append(x * 2)
    elif x < -1:
        out.append(-x)
        out.append(1.0)
    return len(out) * 10 + sum(out)


def appended_in_a_loop(x):
    out = []
    for t in _TABLE:
        if t > x:
            out.append(t - x)
    total = 1.0
    for v in out:
        total *= v
    return total


def REFUSED_appended_while_iterating(x):
    out = [x]
    for v in out:
        if v > 1 and len(out) < 5:
            out.append(v * 0.5)
    return sum(out)


def other_items_in_both_branches(x):
    out = [1.0]
    if x > 0:
        out.append(x)
        out.append(2.0)
    else:
        out.append(-x)
    return out[1] + out[-1]


def extended(x):
    out = [0.0]
    if x > 0:
        out.extend([x, 1.0])
    out.extend(v for v in _three(x) if v < 0)
    out += [v for v in (x, 4.0) if v > 2]
    return len(out), out[-1]


def a_stack(x):
    stack = []
    for v in _three(x):
        if v > 0:
            stack.append(v)
        elif stack:
            stack.pop()
    return len(stack)


def pop_of_what_may_be_empty(x):
    out = [v for v in _three(x) if v > 1]
    return out.pop() + len(out)


def pop_from_the_front(x):
    out = [v for v in _three(x) if v == v]
    taken = out.pop(0)
    return taken, len(out)


def remove_the_extremes(x):
    values = [x, 0.25, x * x, 3.0]
    values.remove(max(values))
    values.remove(min(values))
    return sum(values) / len(values)


def remove_what_is_not_there(x):
    values = [x, 2.0, 3.0]
    values.remove(1.0)
    return len(values)


def remove_in_a_branch(x):
    values = [1.0, 2.0, 3.0]
    if x in values:
        values.remove(x)
    return len(values) * 100 + values[0] * 10 + values[-1]


def pop_at_a_lane(x):
    values = [1.0, 2.0, 4.0, 8.0]
    taken = values.pop(int(max(-4.0, min(x, 3.0))) if x == x else 0)
    return taken * 100 + values[0] + values[2] * 10


def pop_outside(x):
    values = [1.0, 2.0]
    return values.pop(math.floor(x)) if abs(x) < 5 else 0.0


def delete_at_a_lane(x):
    values = [1.0, 2.0, 4.0]
    del values[2 if x > 0 else -3]
    return values[0] * 10 + values[1]


def insert_at_a_lane(x):
    values = [1.0, 2.0, 4.0]
    values.insert(int(x) if abs(x) < 1e6 else 1, 9.0)
    return values[0] + values[1] * 10 + values[2] * 100 + values[3] * 1000


def insert_in_a_filter(x):
    values = [v for v in _three(x) if v > 0]
    values.insert(1, 7.0)
    return values[-1] + len(values)


def index_of_a_filter(x):
    values = [v for v in (x, 1.0, 2.0) if v > 0.5]
    return values.index(2.0)


def count_of_a_filter(x):
    values = [v for v in (x, 1.0, 2.0, 2.0) if v > x]
    return values.count(2.0)


def membership(x):
    values = [v for v in (x, 1.0, 2.0) if v >= 1]
    return 2.0 in values and x not in values


def membership_of_nothing(x):
    return x in [v for v in (1.0, 2.0) if v > x]


def sorted_filter(x):
    values = sorted([v for v in (x, 1.0, -x, 0.5) if v > 0])
    return values[0] + values[-1] * 3


def sorted_by_key(x):
    values = sorted((v for v in (x, 1.0, -x, 0.5) if v < 2), key=lambda v: (v - 0.7) * (v - 0.7), reverse=True)
    return values[0] if values else 99.0


def sorted_in_place(x):
    values = [v for v in (x, 1.0, 0.25, 5.0) if v <= 2]
    values.sort(reverse=True)
    return values[1] - values[0]


def median_of_a_filter(x):
    values = [v for v in (x, 1.0, -x, 0.5) if v > 0]
    return statistics.median(values)


def extremes_of_a_filter(x):
    values = [v for v in _three(x) if v > 0]
    return max(values, default=0.0) - min(values, default=1.0)


def extreme_of_what_may_be_empty(x):
    return max([v for v in _three(x) if v > 1])


def product_of_a_filter(x):
    return math.prod([v for v in _three(x) if v > 0])


def filter_of_a_filter(x):
    values = [v for v in _three(x) if v > 0]
    return sum([v * 2 for v in values if v < 1]), len([v for v in values if v < 1])


def mapped_filter(x):
    values = [v for v in _three(x) if v > 0]
    return sum(map(math.sqrt, values)), len(list(filter(lambda v: v > 1, values)))


def numbered_filter(x):
    total = 0.0
    for i, v in enumerate([v for v in _three(x) if v > 0], 1):
        total += i * v
    return total


def reversed_filter(x):
    total = 0.0
    for v in reversed([v for v in _three(x) if v > 0]):
        total = total * 10 + v
    return total


def breaks_inside(x):
    total = 0.0
    for v in [v for v in _three(x) if v > 0]:
        if v > 2:
            break
        if v < 0.5:
            continue
        total += v
    else:
        total += 100
    return total


def a_fault_only_for_items_that_are_there(x):
    values = [v for v in _three(x) if v != 0]
    return sum([1.0 / v for v in values])


def all_and_any(x):
    values = [v for v in _three(x) if v > 0]
    return all([v < 3 for v in values]), any(v > 1 for v in values)


def slices(x):
    values = [v for v in (x, 1.0, 2.0, -x) if v > 0]
    return sum(values[1:]) + len(values[:-1]) * 100


def equal_lists(x):
    return [v for v in (x, 1.0) if v > 0.5] == [1.0]


def concatenated(x):
    values = [v for v in (x, 1.0) if v > 1] + [2.0]
    return values[0] + len(values)


def stored_into(x):
    values = [v for v in (x, 1.0, 3.0) if v > 0.9]
    values[0] = 7.0
    values[-1] += 0.5
    return sum(values)


def _longer(values, x):
    if x > 2:
        values.append(x)
    return len(values)


def changed_by_another_function(x):
    values = [v for v in (x, 1.0) if v > 0.9]
    before = _longer(values, x)
    return before * 10 + _longer(values, -x)


def an_alias_sees_it(x):
    values = [1.0]
    other = values
    if x > 0:
        other.append(x)
    return len(values), values is other


def a_copy_does_not(x):
    values = [1.0]
    other = list(values)
    third = values.copy()
    if x > 0:
        values.append(x)
    return len(values) * 100 + len(other) * 10 + len(third)


def cleared_in_a_branch(x):
    values = [x, 1.0]
    if x > 0:
        values.clear()
    values.append(5.0)
    return values[0], len(values)


def tuples_among_them(x):
    values = [(v, 2 * v) for v in _three(x) if v > 0]
    return sum(a * b for a, b in values), values[0][1] if values else 0.0


def ints_and_floats(x):
    values = []
    if x > 0:
        values.append(1)
    if x > 1:
        values.append(2.5)
    return sum(values)


def names_among_them(x):
    names = []
    if x > 0:
        names.append("positive")
    if x > 2:
        names.append("large")
    return "large" in names, names[0] if names else "none"


def comprehension_over_a_filter(x):
    values = [v for v in _three(x) if v > 0]
    return sum([a - b for a in values for b in values if a > b])


def loop_until_it_is_empty(x):
    values = [v for v in _three(x) if v > 0]
    total = 0.0
    for _ in range(3):
        if values:
            total = total * 2 + values.pop()
    return total


def length_of_a_filtered_range(x):
    n = int(abs(x)) % 12 if abs(x) < 1e6 else 0
    return len([d for d in range(1, n + 1) if n % d == 0])


def length_that_faults(x):
    n = int(abs(x)) % 12 if abs(x) < 1e6 else 0
    return len([12 // (5 - d) for d in range(n) if d != 4])


def REFUSED_iterated_and_shortened(x):
    values = [x, 1.0, 2.0]
    for v in values:
        if v < 1.5:
            values.remove(v)
    return len(values)


ALL = [fn for name, fn in list(globals().items()) if isinstance(fn, FunctionType) and fn.__module__ == __name__ and name[0] != "_"]
REFUSED = [fn for fn in ALL if fn.__name__.startswith("REFUSED_")]


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [fn for fn in ALL if fn not in REFUSED], ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    lanes_are_pythons(fn, target)


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_what_has_no_twin_is_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(XS)
    assert caught.value.code in CODES
