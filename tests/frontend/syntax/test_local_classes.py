"""Classes that a function defines, against Python in every lane; what the statement would read of lanes is refused."""

from dataclasses import dataclass

import numpy as np
import pytest

import pyflat

XS = (-1.5, 0.0, 2.0, 7.25)


def rectangle(x):
    class Rectangle:
        """A rectangle."""

        sides = 4

        def __init__(self, width, height=1.0):
            self.width = width
            self.height = height

        @property
        def area(self):
            return self.width * self.height

        def scaled(self, by):
            return Rectangle(self.width * by, self.height * by)

    shape = Rectangle(x, 2).scaled(3)
    return shape.area + shape.sides


def point(x):
    scale = 3

    @dataclass
    class Point:
        x: float
        y: float = 2.0

        def norm(self):
            return self.x * scale + self.y

    return Point(x).norm()


def derived(x):
    class Animal:
        def legs(self):
            return 4

    class Bird(Animal):
        def legs(self):
            return super().legs() / 2

    return Bird().legs() * x if x > 0 else Animal().legs()


def counter(x):
    class Counter:
        def __init__(self):
            self.count = 0

        def tick(self):
            self.count += 1

    counts = Counter()
    while x > 0:
        counts.tick()
        x -= 1
    return counts.count


def static_parameter(x, k=3):
    class Times:
        def of(self, value):
            return value * k

    return Times().of(x)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [rectangle, point, derived, counter, static_parameter], ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn, target):
    assert pyflat.twin(fn, target=target)(np.array(XS)).tolist() == [fn(x) for x in XS]


def REFUSED_lane(x):
    class Held:
        def get(self):
            return x

    return Held().get()


def REFUSED_bound_again(x):
    k = 3

    class Held:
        def get(self):
            return k

    k = 5
    return Held().get() * x


def REFUSED_in_a_loop(x):
    total = 0
    for k in (1, 2):
        class Held:
            def get(self):
                return k

        total += Held().get() * x
    return total


def REFUSED_code_in_the_body(x):
    class Held:
        table = [k for k in range(3)]

    return Held.table[0] * x


def REFUSED_default_that_is_read(x):
    class Held:
        def get(self, value=len(XS)):
            return value

    return Held().get() * x


@pytest.mark.parametrize("fn", [REFUSED_lane, REFUSED_bound_again, REFUSED_in_a_loop, REFUSED_code_in_the_body,
                                REFUSED_default_that_is_read], ids=lambda fn: fn.__name__)
def test_what_has_no_twin_is_refused(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(np.array(XS))
    assert caught.value.code == "flatten/unsupported-statement"
