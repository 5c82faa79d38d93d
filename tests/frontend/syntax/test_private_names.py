"""Private names mean what they mean in the class that they stand in."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits

XS = np.array([-2.0, 0.0, 0.5, 3.0])
__LIMIT = 7.0


class Account:
    __rate = 0.5

    def __init__(self, balance):
        self.__balance = balance

    def own(self):
        return self.__balance

    def interest(self, x):
        return self.__twice(x) * self.__rate + Account.__rate

    def __twice(self, x):
        return x * 2.0

    @staticmethod
    def __half(x):
        return x / 2.0

    @property
    def __shown(self):
        return self.__balance + 1.0

    def shown(self):
        return self.__shown + self.__half(4.0)


class __Saving(Account):
    __rate = 0.25

    def __init__(self, balance, bonus):
        super().__init__(balance)
        self.__balance = bonus

    def total(self):
        return self.own() * 10.0 + self.__balance

    def __twice(self, x):
        return x * 100.0

    def both(self, x):
        return self.__twice(x) + self.interest(x) + self.__rate


Saving = __Saving


@dataclasses.dataclass
class Point:
    __x: float
    y: float

    def size(self):
        return abs(self.__x) + self.y


class _:
    """A class of underscores only has no private names."""

    __a = 3.0

    def get(self, x):
        return self.__a + x


def total(x):
    return Saving(x, x / 4.0).total()


def both(x):
    return Saving(x, 1.0).both(x)


def shown(x):
    return Account(x).shown()


def dataclass(x):
    return Point(x, 2.0).size()


def in_underscores(x):
    return _().get(x)


def outside(x):
    return x + __LIMIT


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [total, both, shown, dataclass, in_underscores, outside])
def test_private_attributes_of_a_class_and_its_subclass_are_two(fn, target):
    got = pyflat.twin(fn, target=target, math="exact")(XS).tolist()
    assert all(same_bits(value, fn(x)) for value, x in zip(got, XS.tolist(), strict=True))


class Names:
    """Every place in which a name may stand."""

    def parameter(self, __x, *, __k=1.0):
        return __x + __k

    def local(self, x):
        __a = x + 1.0
        __a += 1.0
        for __i in (1.0, 2.0):
            __a = __a * __i
        (__b, __c) = (__a, x)
        return [__d * 2.0 for __d in (__b, __c)][0]

    def nested(self, x):
        __a = x

        def __inner(__y, __z=2.0):
            return __y * __z + __a

        return __inner(x) + (lambda __v: __v + __a)(1.0)

    def recursive(self, x):
        def __down(n):
            return 0.0 if n < 1 else 1.0 + __down(n - 1)

        return x + __down(3)

    def walrus(self, x):
        return (__w := x + 1.0) * __w

    def caught(self, x):
        try:
            return 1.0 / x
        except ZeroDivisionError as __error:
            return 0.5

    def imported(self, x):
        import math as __m
        from math import fabs as __f

        return __f(x) + __m.floor(x)

    def matched(self, x):
        match (x, 1.0):
            case (__p, __q):
                return __p + __q

    def keyword(self, x):
        return takes(__x=x)

    def dunder(self, x):
        return x + (1.0 if __name__ else 2.0) + self.__class__.__weight__

    __weight__ = 4.0

    def factory(self):
        __scale = 3.0
        return lambda x: x * __scale


def takes(__x):
    return __x + 1.0


@pytest.mark.parametrize("name", [name for name in vars(Names) if not name.startswith("__") and name != "factory"])
def test_private_names_of_every_kind(name):
    method = getattr(Names(), name)
    got = pyflat.twin(method)(XS).tolist()
    assert all(same_bits(value, method(x)) for value, x in zip(got, XS.tolist(), strict=True))


def test_a_private_variable_of_an_enclosing_method():
    fn = Names().factory()
    assert pyflat.twin(fn)(XS).tolist() == [fn(x) for x in XS.tolist()]


def test_a_private_parameter_by_its_name():
    with pytest.raises(TypeError):
        Names().parameter(__x=1.0)
    assert pyflat.twin(Names().parameter)(XS, _Names__k=2.0).tolist() == (XS + 2.0).tolist()


def test_the_text_of_a_twin_stands_outside_of_the_class():
    twin = pyflat.twin(Names().local)
    scope: dict = {"np": np}
    exec(twin.show(target="numpy"), scope)
    assert np.array_equal(scope["local_flat"](None, XS), twin(XS))
    assert "__a += 1.0" in twin.show(stage="captured")
