"""Named tuples, decorated and partial functions, recursion, code that never runs."""

from __future__ import annotations

import functools
from typing import NamedTuple


class NT(NamedTuple):
    a: float
    b: float = 2.0

    def tot(self):
        return self.a + self.b

    @property
    def pr(self):
        return self.a


def case_nt(x: float):
    return NT(x).tot() + NT(x).pr


def case_nt_eq2(x: float):
    return NT(1.0, x) == (1.0, 2.0)


def case_nt_add(x: float):
    return len(NT(x) + (1.0,))


def case_nt_asdict(x: float):
    return NT(x)._asdict()["a"]


def case_nt_unpack(x: float):
    a, b = NT(x)
    return a * b


def case_nt_slice(x: float):
    return NT(x)[1:]


def case_nt_lt(x: float, y: float):
    return NT(x) < NT(y)


def case_nt_res(x: float):
    return NT(x)


def case_nt_in(x: float):
    return 2.0 in NT(x)


def case_nt_type(x: float):
    return type(NT(x)) is NT


def case_nt_mul(x: float):
    return len(NT(x) * 2)


class CntNT(NamedTuple):
    count: float
    index: float


def case_nt_shadow(x: float):
    return CntNT(x, 1.0).count


class Res:
    def __init__(self, a):
        self.a = a


def case_obj_result(x: float):
    return Res(x).a


class Pw:
    def __pow__(self, o):
        return 5.0

    def __rpow__(self, o):
        return 6.0

    def __matmul__(self, o):
        return 7.0

    def __floordiv__(self, o):
        return 8.0

    def __divmod__(self, o):
        return (1.0, 2.0)

    def __round__(self, n=None):
        return 3.0

    def __int__(self):
        return 4

    def __index__(self):
        return 1

    def __hash__(self):
        return 1

    def __invert__(self):
        return 2.0

    def __pos__(self):
        return 9.0

    def __floor__(self):
        return 10


def case_pw1(x: float):
    return Pw() ** x


def case_pw2(x: float):
    return x ** Pw()


def case_pw3(x: float):
    return Pw() @ x


PW = Pw()






def case_pws8(x: float):
    return ~PW + x


def deco(f):

    @functools.wraps(f)
    def w(*a):
        return f(*a) + 1

    return w


@deco
def case_decorated(x: float):
    return x * 2


@deco
def hlp(v):
    return v * 3


def case_dechelper(x: float):
    return hlp(x)


part = functools.partial(lambda a, b, c=1: a * 100 + b * 10 + c, 1, c=5)


def case_partial(n: int):
    return part(n % 7)


def case_partial2(n: int):
    return part(n % 7, c=3)


def fact(k):
    return 1 if k <= 0 else k * fact(k - 1)


def case_fact(x: float):
    return fact(5) * x


def even(k):
    return True if k == 0 else odd(k - 1)


def odd(k):
    return False if k == 0 else even(k - 1)


def case_mutual(x: float):
    return x if even(6) else 0.0


def case_dead_yield(x: float):
    return x
    y = lambda: (yield)


def case_dead_code(x: float):
    return x
    with open("a") as f:
        pass


def case_cond_import(x: float):
    if x > 0:
        import math as mm

        return mm.floor(1.5)
    return 0
