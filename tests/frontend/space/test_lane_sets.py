"""Sets whose members differ from lane to lane, and dicts that are written at a key that does."""

from types import FunctionType

import pytest

import pyflat
from tests.frontend.constructs.test_constructs import XS, lanes_are_pythons

CODES = ("flatten/iterable-not-static", "flatten/unsupported-expression", "flatten/list-mutation", "flatten/result-kind")


def _n(x, most=5):
    return int(abs(x)) % most if abs(x) < 1e6 else 3


def distinct_of_three(x):
    return len({_n(x), _n(x * 2), 2})


def distinct_floats(x):
    return len({x, 1.0, x * x, 0})


def distinct_of_a_list(x):
    values = [_n(x), 1, _n(x + 1), 1]
    return len(set(values)) == len(values)


def kinds_of_triangles(x):
    sides = {_n(x, 9), _n(x * 3, 9), 3}
    if len(sides) == 1:
        return 1
    return 2 if len(sides) == 2 else 3


def membership(x):
    return 3 in {_n(x), _n(x / 2)}, _n(x) in {1, 2}, _n(x) not in {_n(x + 2), 0}


def seen_before(x):
    seen = set()
    for v in (_n(x), _n(x + 3), _n(x * 2), 4):
        if v in seen:
            return v
        seen.add(v)
    return -1


def added_under_a_condition(x):
    seen = set()
    if x > 0:
        seen.add(1)
    seen.add(_n(x))
    return len(seen), bool(seen)


def empty_or_not(x):
    seen = set()
    if x > 1:
        seen.add(x)
    return 1 if seen else 0


def discarded(x):
    seen = {_n(x), 1, 2}
    seen.discard(_n(x + 1))
    return len(seen)


def removed(x):
    seen = {_n(x), 1}
    seen.remove(2)
    return len(seen)


def removed_in_try(x):
    seen = {_n(x), 1}
    try:
        seen.remove(3)
    except KeyError:
        return -1
    return len(seen)


def extremes_and_sums(x):
    seen = {_n(x), _n(x * 2), 2}
    return max(seen) - min(seen), sum(seen)


def extremes_of_floats(x):
    y = x if x == x else 0.5  # with nan, Python's own result differs from call to call
    return max({y, 1.0, -y})


def sorted_set(x):
    values = sorted({x, 1.0, -x})
    return values[0] + values[-1] * 2


def by_a_comprehension(x):
    return len({v % 3 for v in (_n(x), _n(x * 2), 7) if v > 1})


def by_digits(x):
    return len(set(str(_n(x, 1000))))


def equal_sets(x):
    return {_n(x), 2} == {2, _n(x + 1)}, {_n(x), 2} != {_n(x)}


def a_copy(x):
    first = {_n(x)}
    second = first.copy()
    second.add(2)
    first.clear()
    return len(first) * 10 + len(second)


def passed_to_a_function(x):
    def both(members, v):
        members.add(v)
        return len(members)

    seen = {_n(x)}
    return both(seen, 2) * 10 + len(seen)


def pairs(x):
    return len({(_n(x), 1), (2, 1), (_n(x), _n(x))})


def counted(x):
    counts = {0: 0, 1: 0, 2: 0}
    for v in (_n(x), _n(x + 1), 4):
        counts[v % 3] += 1
    return counts[0] * 100 + counts[1] * 10 + counts[2]


def a_key_that_is_missing(x):
    counts = {0: 0, 1: 0, 2: 0}
    counts[_n(x)] += 1
    return sum(counts.values())


def a_new_key(x):
    book = {1: 1.0, 2: 2.0}
    book[_n(x)] = x
    return len(book), book[1]


def a_pair_as_a_key(x):
    book = {(0, 0): 1.0, (1, 0): 2.0}
    book[_n(x, 2), 0] += 0.5
    return book[0, 0] - book[1, 0]


def floats_as_keys(x):
    book = {1: 1.0, 2.0: 2.0}
    book[float(_n(x, 2) + 1)] = 9.0
    return book[1] * 10 + book[2]


def REFUSED_order(x):
    total = 0
    for v in {_n(x), 2}:
        total = total * 10 + v
    return total


def REFUSED_sum_of_floats(x):
    return sum({x, 1.0, 0.1})


def REFUSED_key(x):
    return min({x, 1.0, -x}, key=abs)


def REFUSED_list(x):
    return list({x, 1.0})[0]


def REFUSED_frozen(x):
    return len(frozenset((x, 1.0)))


def REFUSED_known_and_lanes(x):
    return {x, 1.0} == {1.0, 2.0}


def new_keys(x):
    counts = {}
    counts[_n(x)] = 1
    return len(counts)


def REFUSED_returned(x):
    return {x, 1.0}


ALL = [fn for name, fn in list(globals().items()) if isinstance(fn, FunctionType) and fn.__module__ == __name__ and name[0] != "_"]
REFUSED = [fn for fn in ALL if fn.__name__.startswith("REFUSED_")]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [fn for fn in ALL if fn not in REFUSED], ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    lanes_are_pythons(fn, target)


@pytest.mark.parametrize("fn", REFUSED, ids=lambda fn: fn.__name__)
def test_what_has_no_twin_is_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(XS)
    assert caught.value.code in CODES
