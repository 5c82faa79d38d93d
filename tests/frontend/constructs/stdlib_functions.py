"""Functions of the standard library on lanes."""

import bisect
import collections
import dataclasses
import functools
import math
import statistics

_KNOTS = (0.0, 1.0, 2.0, 5.0, 9.0)
_VALUES = (1.0, 4.0, 2.0, 8.0, 3.0)
_NAMED = {"a": 1.5, "b": 2.5}
_GRID = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0, (1, 1): 4.0}


def exact_sum(x):
    return math.fsum([x, 1.0, x * 2, 1e-20])


def distance(x):
    return math.dist((x, 1.0), (2.0, x))


def distance_in_space(x):
    return math.dist((x, 1.0, 2.0), (2.0, x, x))


def norm_of_three(x):
    return math.hypot(x, 1.0, 2.0)


def combinations_of_lanes(n):
    return math.comb(abs(int(n)) % 8, 2)


def combinations_by_lanes(n):
    return math.comb(8, abs(int(n)) % 9)


def permutations(n):
    return math.perm(abs(int(n)) % 8, 2)


def mantissa_and_exponent(x):
    m, e = math.frexp(x)
    return m + e


def unit_in_the_last_place(x):
    return math.ulp(x)


def least_common_multiple(n):
    return math.lcm(int(n) % 7 + 1, 6)


def a_tuple_as_a_key(x):
    i = int(x > 0)
    j = int(x > 1)
    return _GRID[(i, j)]


def two_subscripts(x):
    i = int(x > 0)
    j = int(x > 1)
    return _GRID[i, j]


def get_by_a_tuple(x):
    return _GRID.get((int(x > 0), int(x > 1)), 0.0)


def setdefault_and_pop(x):
    d = {}
    d.setdefault("a", x)
    d.setdefault("a", 2 * x)
    return d["a"] + d.pop("zz", 1.0) + d.pop("a")


@dataclasses.dataclass(frozen=True)
class _Record:
    a: float
    b: float = 2.0


def dataclass_replace(x):
    d = dataclasses.replace(_Record(x), b=x * 2)
    return d.a + d.b


_Named = collections.namedtuple("_Named", "a b")


def namedtuple_asdict(x):
    d = _Named(x, 1.0)._asdict()
    return d["a"] + d["b"]


def dataclass_astuple(x):
    return sum(dataclasses.astuple(_Record(x)))


def dataclass_asdict(x):
    return dataclasses.asdict(_Record(x))["a"]


@functools.singledispatch
def _dispatched(v):
    return 1.0


@_dispatched.register
def _(v: float):
    return v * 2


@_dispatched.register(int)
def _(v):
    return v * 3


def by_singledispatch(x):
    return _dispatched(x) + _dispatched(int(x > 0))


def median(x):
    return statistics.median([x, 1.0, 2.0])


def sorted_in_reverse(x):
    return sorted([x, 1.0, 2.0], reverse=True)[1]


def bisect_left_of_a_table(x):
    return _VALUES[min(bisect.bisect_left(_KNOTS, x), 4)]


def bisect_of_a_table(x):
    return bisect.bisect(_KNOTS, x)


def min_by_distance(x):
    return min(_KNOTS, key=lambda t: abs(t - x))


def max_of_a_comprehension(x):
    return max([v for v in _KNOTS if v > 3], default=x)


def ones_of_an_int(x):
    return (int(abs(x)) % 1000 if abs(x) < 1e9 else 0).bit_count()


def a_string_as_a_key(x):
    m = "a" if x > 0 else "b"
    return _NAMED[m]


def a_string_made_of_two(x):
    m = "a" if x > 0 else "b"
    return {"xa": 1.0, "xb": 2.0}["x" + m]


def reduce(x):
    return functools.reduce(lambda a, b: a * b, [x, 2.0, 3.0])


def zip_of_rows(x):
    a = list(zip(*[(x, 1.0), (2.0, 3.0)]))
    return a[0][1] + a[1][0]


def a_grid_of_lists(x):
    g = [[0.0] * 3 for _ in range(3)]
    g[1][2] = x
    g[0][0] = 2 * x
    return sum(map(sum, g))


def an_item_by_a_lane(x):
    i = int(x) % 5 if abs(x) < 1e9 else 0
    a = [0.0] * 5
    a[i] = x
    return a[2] + a[0]
