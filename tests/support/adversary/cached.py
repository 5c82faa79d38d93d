# ruff: noqa: FURB171
"""What functions in functools.cache give is one object for all calls with equal arguments."""

import functools
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from tests.support.adversary import small


class Box:
    def __init__(self, v):
        self.v = v

    @lru_cache(None)
    def area(self):
        return self.v * 2

    @functools.cached_property
    def kept(self):
        return [self.v]

    @staticmethod
    @cache
    def shared(v):
        return [v]


class Equal:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Key:
    a: int
    note: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Plain:
    a: int
    b: int = 2


@dataclass
class Unhashable:
    a: int


@cache
def pair(n):
    return [n, 1]


@lru_cache(None)
def table(n):
    return {"a": n}


@cache
def box(n):
    return Box(n)


@cache
def nested(n):
    return ([n], {"k": [n]})


@cache
def iterator(n):
    return iter([n, n + 1])


@cache
def doubled(n):
    return (i * n for i in (1, 2))


@cache
def array(n):
    return np.array([n, 1])


@cache
def row(n):
    return (n, 1)


@cache
def stepper(n):
    c = 0

    def step():
        nonlocal c
        c += 1
        return c + n

    return step


@cache
def adder(n):
    return lambda v: v + n


@cache
def bumped(b):
    b.v += 1
    return b.v


@cache
def value_of(b):
    return b.v


@cache
def first(values):
    return values[0]


@cache
def applied(f, v):
    return f(v)


@cache
def either(n):
    return [n] if n > 0 else None


SCRATCH = [0]


@cache
def put(k):
    SCRATCH[0] = k
    return k


@cache
def scaled(k):
    return SCRATCH[0] * k


def grow(values):
    values.append(2)
    return len(values)


def total(values):
    return sum(values)


def case_read(n: "small"):
    return pair(n)[0] + table(n)["a"] + sum(pair(n)) + nested(n)[1]["k"][0] + box(n).v


def case_helper_reads(n: "small"):
    return total(pair(n)) + total(pair(n))


def case_copied(n: "small"):
    l = list(pair(n))
    l.append(1)
    d = dict(table(n))
    d["b"] = 2
    return len(l) + len(pair(n)) + len(d) + len(table(n))


def case_sliced(n: "small"):
    l = pair(n)[:]
    l[0] = 9
    return l[0] + pair(n)[0]


def case_concatenated(n: "small"):
    l = pair(n) + [2]
    l.append(3)
    return len(l), len(pair(n))


def case_equal(n: "small"):
    return pair(n) == pair(n), table(n) == {"a": 1}, row(n) == row(n), array(n)[0] == n


def case_unpacked(n: "small"):
    [*r] = pair(n)
    r.append(1)
    a, b = pair(n)
    return len(r), a, b


def case_array_read(n: "small"):
    v = array(n) * 2
    v[0] += 1
    return v[0], array(n)[0]


def case_array_copied(n: "small"):
    v = array(n).copy()
    v[0] = 7
    return v[0] + array(n)[0]


def case_loop(n: "small"):
    t = 0
    for i in range(abs(n) % 5 + 300):
        l = pair(i)
        t += l[0]
    return t


def case_comprehension(n: "small"):
    return sum(v for k in range(3) for v in pair(n + k))


def case_without_cache(n: "small"):
    l = pair.__wrapped__(n)
    l.append(1)
    return len(l) + len(pair(n))


def case_method(n: "small"):
    b = Box(n)
    return b.area() + b.area()


def case_method_after_write(n: "small"):
    b = Box(n)
    b.v += 1
    return b.area()


def case_kept(n: "small"):
    b = Box(n)
    b.kept.append(2)
    return len(b.kept)


def case_closure_of_cache(n: "small"):
    return adder(n)(1) + adder(n)(2)


def case_either(n: "small"):
    return either(n) is None, 0 if either(n) is None else either(n)[0]


def case_unhashable_list(n: "small"):
    if n > 0:
        return first((n, 1))
    return first([n])


def case_unhashable_dict(n: "small"):
    try:
        return first({0: n})
    except TypeError:
        return -1


def case_unhashable_inside(n: "small"):
    try:
        return first(([n],))[0]
    except TypeError:
        return -1


def case_unhashable_dataclass(n: "small"):
    try:
        return value_of(Unhashable(n))
    except TypeError:
        return -1


def case_unhashable_array(n: "small"):
    try:
        return first(np.array([n]))
    except TypeError:
        return -1


def case_unhashable_set(n: "small"):
    try:
        return first({n})
    except TypeError:
        return -1


def case_unhashable_or_not(n: "small"):
    key = (n, 1) if n > 0 else [n]
    try:
        return first(key)
    except TypeError:
        return -1


def case_key_of_a_dataclass(n: "small"):
    return first((Plain(n).a, Plain(n))), value_of.__wrapped__(Box(n))


def case_key_of_a_namedtuple(n: "small"):
    return first(Point(n, 1)) + first(Point(n, 2))


def case_key_of_a_function(n: "small"):
    return applied(abs, n)


def case_local(n: "small"):
    @cache
    def g(k):
        return n * k

    return g(2) + g(2) + g(3)


def case_local_by_lane(n: "small"):
    @lru_cache(maxsize=2)
    def g(k, m=n):
        return k * m

    return g(n) + g(k=n + 1)


def case_local_in_a_loop(n: "small"):
    t = 0
    for i in range(3):

        @cache
        def g(k):
            return k * i

        t += g(n) + g(n)
    return t


def case_box_before(n: "small"):
    t = 0

    def inc():
        nonlocal t
        t += 1

    @cache
    def g(k):
        return t + k

    inc()
    return g(1) + g(1) + n


@cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def case_many_calls(n: "small"):
    return fib(60) % 1000 + n


def case_many_local_calls(n: "small"):
    @cache
    def ways(k, step=2):
        return 1 if k < step else ways(k - 1) + ways(k - step)

    return ways(50) + n


def case_decided_by_a_condition(n: "small"):
    @cache
    def g(k):
        return k if n > 0 else -k

    a = 0
    if n > 0:
        a = g(2)
    return a + g(2)


def case_decided_by_a_default(n: "small"):
    @cache
    def g(k, m=n):
        return k if m > 0 else -k

    a = g(2) if n > 0 else 0
    return a * 10 + g(2)


def case_decided_in_a_helper(n: "small"):
    def positive():
        return n > 0

    @cache
    def g(k):
        return k if positive() else -k

    a = g(2) if n > 0 else 0
    return a * 10 + g(2)


def case_numbers_of_other_kinds(n: "small"):
    @cache
    def half(k):
        return k / 2 if isinstance(k, float) else k // 2

    return half(3) + n, half("a" if n > 9 else 5)


def refused_written_item(n: "small"):
    """flatten/effect"""
    pair(n)[0] += 1
    return pair(n)[0]


def refused_append(n: "small"):
    """flatten/effect"""
    pair(n).append(3)
    return len(pair(n))


def refused_alias(n: "small"):
    """flatten/effect"""
    a = pair(n)
    b = a
    b.append(1)
    return len(a)


def refused_helper(n: "small"):
    """flatten/effect"""
    return grow(pair(n)) + len(pair(n))


def refused_sort(n: "small"):
    """flatten/effect"""
    pair(n).sort()
    return pair(n)[0]


def refused_reverse(n: "small"):
    """flatten/effect"""
    pair(n).reverse()
    return pair(n)[0]


def refused_del(n: "small"):
    """flatten/effect"""
    del pair(n)[0]
    return len(pair(n))


def refused_extended(n: "small"):
    """flatten/effect"""
    l = pair(n)
    l += [1]
    return len(pair(n))


def refused_in_a_loop(n: "small"):
    """flatten/effect"""
    t = 0
    for i in range(abs(n) % 5 + 300):
        pair(1).append(i)
        t += len(pair(1))
    return t


def refused_carried_in_a_loop(n: "small"):
    l = pair(0)
    for i in range(abs(n) % 5 + 300):
        l[0] += 1
        l = pair(i)
    return l[0]


def refused_dict_item(n: "small"):
    """flatten/effect"""
    table(n)["b"] = 1
    return len(table(n))


def refused_dict_update(n: "small"):
    """flatten/effect"""
    table(n).update(b=1)
    return len(table(n))


def refused_dict_pop(n: "small"):
    """flatten/effect"""
    return table(n).pop("a") + len(table(n))


def refused_attribute(n: "small"):
    """flatten/effect"""
    box(n).v += 1
    return box(n).v


def refused_setattr(n: "small"):
    """flatten/effect"""
    setattr(box(n), "v", 5)
    return box(n).v


def refused_attribute_of_an_alias(n: "small"):
    """flatten/effect"""
    held = [box(n)]
    for b in held:
        b.v = 3
    return box(n).v


def refused_kept_of_a_cached_object(n: "small"):
    """flatten/effect"""
    return box(n).kept[0]


def refused_nested_list(n: "small"):
    """flatten/effect"""
    nested(n)[0].append(1)
    return len(nested(n)[0])


def refused_nested_dict(n: "small"):
    """flatten/effect"""
    nested(n)[1]["k"].append(1)
    return len(nested(n)[1]["k"])


def refused_array_item(n: "small"):
    """flatten/effect"""
    array(n)[0] += 1
    return array(n)[0]


def refused_array(n: "small"):
    """flatten/effect"""
    a = array(n)
    a += 1
    return array(n)[0]


def refused_array_view(n: "small"):
    """flatten/effect"""
    a = array(n)[1:]
    a[0] = n
    return array(n)[1]


def refused_joined(n: "small"):
    """flatten/effect"""
    l = pair(n) if n > 0 else [n]
    l.append(1)
    return len(l)


def refused_static_method(n: "small"):
    """flatten/effect"""
    Box.shared(n).append(1)
    return len(Box.shared(n))


def refused_identity(n: "small"):
    """flatten/unsupported-expression"""
    return pair(n) is pair(n)


def refused_identity_of_objects(n: "small"):
    """flatten/unsupported-expression"""
    return box(n) == box(n)


def refused_identity_in(n: "small"):
    """flatten/unsupported-expression"""
    return box(n) in [box(n)]


def refused_identity_of_tuples(n: "small"):
    """flatten/unsupported-expression"""
    return row(n) is row(n)


def refused_identity_of_functions(n: "small"):
    """flatten/unsupported-expression"""
    return adder(n) is adder(n)


def refused_iterator(n: "small"):
    """flatten/unsupported-expression"""
    return next(iterator(n)) + next(iterator(n))


def refused_generator(n: "small"):
    """flatten/unsupported-expression"""
    return sum(doubled(n)) + sum(doubled(n))


def refused_state_of_a_function(n: "small"):
    """flatten/effect"""
    return stepper(n)() + stepper(n)()


def refused_written_argument(n: "small"):
    """flatten/effect"""
    b = Box(n)
    return bumped(b) + bumped(b)


def refused_argument_written_later(n: "small"):
    """flatten/effect"""
    b = Box(n)
    a = value_of(b)
    b.v += 1
    return a + value_of(b)


def refused_method_then_write(n: "small"):
    """flatten/effect"""
    b = Box(n)
    a = b.area()
    b.v = 7
    return a + b.area()


def refused_key_with_its_own_equality(n: "small"):
    """flatten/unsupported-expression"""
    return value_of(Equal(n)) + value_of(Equal(3))


def refused_key_without_a_field(n: "small"):
    """flatten/unsupported-expression"""
    return applied(lambda k: k.note, Key(1, n))


def refused_variable(n: "small"):
    """flatten/effect"""
    t = n

    @cache
    def g(k):
        return t * k

    a = g(2)
    t = 5
    return a + g(2)


def refused_variable_behind(n: "small"):
    """flatten/effect"""

    @cache
    def g(k):
        return t * k

    t = n
    a = g(1)
    t = 3
    return a + g(1)


def refused_variable_of_a_helper(n: "small"):
    """flatten/effect"""
    t = n

    def h(k):
        return t + k

    @cache
    def g(k):
        return h(k)

    a = g(1)
    t = 2
    return a + g(1)


def refused_function_argument(n: "small"):
    """flatten/effect"""
    t = n
    h = lambda v: v + t
    a = applied(h, 1)
    t = 5
    return a + applied(h, 1)


def refused_loop_variable(n: "small"):
    """flatten/effect"""
    t = 0

    @cache
    def g(k):
        return t + k

    for i in range(abs(n) + 300):
        t += g(1)
    return t


def refused_scratch_write(n: "small"):
    """flatten/effect"""
    put(1)
    SCRATCH[0] = n
    put(1)
    return SCRATCH[0]


def refused_scratch_read(n: "small"):
    """flatten/effect"""
    SCRATCH[0] = n
    a = scaled(2)
    SCRATCH[0] = n + 1
    return a + scaled(2)


def refused_nonlocal_in_a_cache(n: "small"):
    """flatten/effect"""
    t = 0

    @cache
    def g(k):
        nonlocal t
        t += 1
        return k

    g(1)
    g(1)
    return t + n


def refused_nonlocal_after(n: "small"):
    """flatten/effect"""
    t = 0

    def inc():
        nonlocal t
        t += 1

    @cache
    def g(k):
        return t + k

    inc()
    a = g(1)
    inc()
    return a + g(1) + n


def refused_cache_info(n: "small"):
    """flatten/unknown-call"""
    pair(n)
    return pair.cache_info().hits
