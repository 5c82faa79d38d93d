"""The hash of what a function computes with: equal for equal contents, another one for any other."""

import dataclasses
import enum
import functools
import math

import numpy as np

import pyflat
from pyflat.runtime.content import content_hash


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Point:
    x: float
    parts: object = None

    def size(self):
        return abs(self.x)


def function(text, **scope):
    """The function `f` of a text, which no file has."""
    scope = {"__name__": "__main__", "math": math, "np": np, **scope}
    exec(text, scope)
    return scope["f"]


BY_HELPER = "def g(x):\n    return x {} 1.0\ndef f(x):\n    return g(x)\n"
CAPTURED = [None, True, 1, 1.0, -0.0, 0.0, math.nan, 1j, "1", b"1", (), (1, 2), [1, 2], {1, 2}, {"a": 1, "b": 2},
            {"a": 1, "b": 3}, {"b": 2, "a": 1}, np.float64(1), np.float32(1), np.arange(3), np.arange(3.0),
            np.arange(4).reshape(2, 2), np.arange(4), np.array([1, None]), Point(1.0), Point(2.0), Point(1.0, Point(1.0)),
            Point, Colour.RED, Colour.BLUE, math, np, math.sin, math.cos, np.sin, np.cos, functools.partial(math.pow, 2),
            functools.partial(math.pow, 3), Point(1.0).size, Point(2.0).size, math.pi.is_integer, range(3), range(4)]


def test_any_other_value_is_another_hash():
    hashes = [content_hash(function("def f(x):\n    return x if c else 1", c=value)) for value in CAPTURED]
    assert len(set(hashes)) == len(CAPTURED)
    again = [content_hash(function("def f(x):\n    return x if c else 1", c=value)) for value in CAPTURED]
    assert hashes == again


def test_source_defaults_helpers_and_annotations_count():
    texts = ["def f(x):\n    return x", "def f(x):\n    return -x", "def f(x=1):\n    return x", "def f(x: int):\n    return x",
             "def f(*, x=1):\n    return x", "def f(*, x=2):\n    return x", "def f(x: 'int'):\n    return x",
             "f = lambda x: x", BY_HELPER.format("+"), BY_HELPER.format("-"), BY_HELPER.format("+ 1 +"),
             "def make(a):\n    return lambda x: x + a\nf = make(1)", "def make(a):\n    return lambda x: x + a\nf = make(2)"]
    hashes = [content_hash(function(text)) for text in texts]
    assert len(set(hashes)) == len(texts)
    assert hashes == [content_hash(function(text)) for text in texts]


def test_names_that_are_not_read_do_not_count():
    text = "def f(x):\n    return math.sin(x)"
    assert content_hash(function(text, c=1)) == content_hash(function(text, c=2)) != content_hash(function(text, math=np))


def test_members_of_modules_count_where_they_are_read():
    import types

    def module(**members):
        made = types.ModuleType("of_the_user")
        vars(made).update(members)
        return made

    text = "def f(x):\n    return x * m.rate"
    same, other, beside = module(rate=1.0, k=1), module(rate=2.0, k=1), module(rate=1.0, k=2)
    assert content_hash(function(text, m=same)) == content_hash(function(text, m=beside))
    assert content_hash(function(text, m=same)) != content_hash(function(text, m=other))


def test_cycles_end():
    items = [1.0]
    items.append(items)
    text = "def f(x):\n    return f(x) + c[0]"
    assert content_hash(function(text, c=items)) == content_hash(function(text, c=items))


def test_options_of_twins_count():
    def f(x):
        return x

    hashes = {content_hash(pyflat.twin(f, **given)) for given in ({}, {"errors": "nan"}, {"math": "fast"})}
    assert len(hashes) == 3
    tokens = [pyflat.twin(f).__dask_tokenize__()]
    with pyflat.options(errors="nan"):
        tokens.append(pyflat.twin(f).__dask_tokenize__())
    assert tokens[0] != tokens[1]
