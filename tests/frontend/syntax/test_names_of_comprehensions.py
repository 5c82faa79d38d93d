"""Variables of comprehensions are their own, also where the function means something else by the name; on Python 3.12 and
newer, code objects have them among the local names."""

import types

import numpy as np
import pytest

import pyflat
from pyflat.frontend import capture
from pyflat.frontend.syntax import scopes

q = 5.0
TABLE = (2.0, 3.0)


def global_after(x):
    ys = [q * x for q in (1.0, 2.0)]
    return q + ys[0]


def global_before(x):
    total = q
    return total + sum([q * x for q in (1.0, 2.0)])


def global_in_the_source(x):
    return sum([q * x for q in (q, 2.0)]) + len({TABLE for TABLE in TABLE})


def builtin(x):
    ys = {abs: abs * x for abs in (1.0, 2.0)}
    return abs(x) + ys[2.0]


def read_by_a_nested_function(x):
    first = [q for q in (x, 1.0)][0]

    def nested():
        return q

    return nested() + first


def in_another(x):
    return [[q + r for q in (r, x)] for r in (q, 1.0)][0][1]


def in_a_kept_loop(x):
    n = 0.0
    while n < abs(x) and n < 40:
        n += sum([q for q in (1.0, 0.5)]) + q
    return n


def with_a_walrus(x):
    ys = [(last := q * x) for q in (1.0, 2.0)]
    return last + q + ys[0]


def local_as_well(x):
    q = x
    ys = [q for q in (1.0, 2.0)]
    return q + ys[1]


def rest_of_a_mapping(x):
    match {"a": x, "b": 2.0}:
        case {"a": a, **rest}:
            return a + rest["b"] + sum([rest for rest in (1.0, 2.0)])


def rest_in_a_nested_function(x):
    def nested(y):
        match {"a": y, "b": 2.0}:
            case {"a": a, **rest}:
                return a + rest["b"]

    return nested(x)


def enclosing():
    w = 4.0

    def closure(x):
        ys = [w * x for w in (1.0, 2.0)]
        return ys[0] + w + sum([w for w in (w, x)])

    return closure


FUNCTIONS = (global_after, global_before, global_in_the_source, builtin, read_by_a_nested_function, in_another, in_a_kept_loop,
             with_a_walrus, local_as_well, rest_of_a_mapping, rest_in_a_nested_function, enclosing())


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    x = np.array([0.0, -1.0, 2.5, 7.25, 1e16, np.inf])
    assert pyflat.twin(fn, target=target)(x).tolist() == [fn(v) for v in x.tolist()]


def bindings(x, *rest, key=1, **named):
    import os.path as path
    import sys
    with open(x) as file, open(x) as (one, [two, *three]):
        annotated: int
    try:
        del x, annotated  # noqa: F821
    except ValueError as error:
        counted += 1  # noqa: F821
    match rest:
        case [captured, *stars] | {"a": captured, **stars}:
            pass
        case str() as whole:
            pass
    for i, (j, k) in rest:
        TABLE[i] = rest

    @(decorator := path)
    def nested(a=(default := 1)):
        inside = 1

    class Nested(base := sys):
        member = 1

    return lambda b=(given := 2): b, any((walrus := hidden) for hidden in ())


def test_names_are_those_of_the_code():
    """Of one without a comprehension that Python 3.12 inlines."""
    assert isinstance(bindings, types.FunctionType)
    code = bindings.__code__
    assert scopes.local_names(capture.capture(bindings).tree) == {*code.co_varnames, *code.co_cellvars}
