"""Decorators and what they make of a function."""

import functools
import inspect
import math
import operator
import typing
from functools import (
    cache,
    partial,
    partialmethod,
    singledispatch,
    total_ordering,
    update_wrapper,
    wraps,
)

import numpy as np

from tests.support.adversary import small


def ident(f):
    return f


def reg(f):
    REG[f.__name__] = f
    return f


REG = {}


def clamp(lo, hi):
    def d(f):
        @wraps(f)
        def w(*a, **k):
            return min(max(f(*a, **k), lo), hi)

        return w

    return d


def retry(f):
    @wraps(f)
    def w(x):
        try:
            return f(x)
        except (ZeroDivisionError, ValueError):
            return -1.0

    return w


def nanguard(f):
    @wraps(f)
    def w(*args, **kw):
        if any(a != a for a in args):
            return math.nan
        return f(*args, **kw)

    return w


def coerce(*types):
    def d(f):
        @wraps(f)
        def w(*a):
            return f(*[t(v) for t, v in zip(types, a)])

        return w

    return d


def with_defaults(**dk):
    def d(f):
        def w(*a, **k):
            return f(*a, **{**dk, **k})

        return w

    return d


def compose(*fs):
    def c(x):
        for f in fs:
            x = f(x)
        return x

    return c


def counted(f):
    def w(x):
        w.n += 1
        return f(x)

    w.n = 0
    return w


def by_sig(f):
    names = list(inspect.signature(f).parameters)

    @wraps(f)
    def w(*a, **k):
        b = dict(zip(names, a))
        b.update(k)
        return f(**b)

    return w


def units(**u):
    def d(f):
        sig = inspect.signature(f)

        @wraps(f)
        def w(*a, **k):
            b = sig.bind(*a, **k)
            for n, s in u.items():
                if n in b.arguments:
                    b.arguments[n] *= s
            return f(*b.args, **b.kwargs)

        return w

    return d


def optional(f=None, *, k=2.0):
    if f is None:
        return partial(optional, k=k)

    @wraps(f)
    def w(x):
        return f(x) * k

    return w


class Klass:
    def __init__(self, k):
        self.k = k

    def __call__(self, f):
        @wraps(f)
        def w(x):
            return f(x) + self.k

        return w


class Memo:
    def __init__(self, f):
        self.f = f
        update_wrapper(self, f)

    def __call__(self, *a):
        return self.f(*a)


@ident
@reg
def g1(x):
    return x + 1


@clamp(0.0, 5.0)
def g2(x):
    return x * 2


@retry
def g3(x):
    return math.sqrt(1 / x)


@nanguard
def g4(x, y):
    return max(y, x)


@coerce(float, int)
def g5(x, n):
    return x + n


@with_defaults(b=3.0)
def g6(a, b, c=1.0):
    return a * b + c


g7 = compose(g1, g2, math.fabs)


@counted
def g8(x):
    return x * 3


@by_sig
def g9(x, y=2.0):
    return x - y


@units(x=1000.0)
def g10(x, y=1.0):
    return x + y


@optional
def g11(x):
    return x + 1


@optional(k=3.0)
def g12(x):
    return x + 1


@Klass(7.0)
def g13(x):
    return -x


@Memo
def g14(x, y=1.0):
    return x / y


@cache
def g15(x):
    return x * x + 1


@clamp(-1.0, 1.0)
@retry
@Klass(0.5)
def g16(x):
    return 1 / x


@singledispatch
def g17(x):
    raise TypeError("no")


@g17.register
def _(x: int):
    return x + 1


@g17.register
def _(x: float):
    return x * 0.5


@g17.register(bool)
def _(x):
    return 10


g18 = partial(partial(g6, 2.0), c=5.0)
g19 = operator.methodcaller("__add__", 1.0)
g20 = staticmethod(g1)


@total_ordering
class TO:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


class Meth:
    k = 2.0

    def base(self, x, p=1.0):
        return x * self.k + p

    twice = partialmethod(base, p=2.0)

    @staticmethod
    @clamp(0.0, 3.0)
    def st(x):
        return x

    @classmethod
    def cm(cls, x):
        return cls.k + x

    @property
    @functools.lru_cache(None)
    def pr(self):
        return 4.0

    @wraps(g1)
    def wr(self, x):
        return x - 1


@np.vectorize
def nv(x):
    return x + 1 if x > 0 else 0.0


def case_g1(x: "float"):
    return g1(x)


def case_reg(x: "float"):
    return REG["g1"](x)


def case_g2(x: "float"):
    return g2(x)


def case_g3(x: "float"):
    return g3(x)


def case_g4(x: "float", y: "float"):
    return g4(x, y), g4(x, y=y)


def case_g5(x: "float", n: "small"):
    return g5(x, n)


def case_g5b(x: "float"):
    return g5(1, x)


def case_g6(x: "float"):
    return g6(x), g6(x, c=x), g6(a=x, b=x)


def case_g7(x: "float"):
    return g7(x)


def case_g8(x: "float"):
    return g8(x)


def case_g9(x: "float"):
    return g9(x), g9(y=x, x=1.0), g9(x, y=x)


def case_g10(x: "float"):
    return g10(x), g10(x, x), g10(y=1.0, x=x)


def case_g11(x: "float"):
    return g11(x), g12(x)


def case_g13(x: "float"):
    return g13(x)


def case_g14(x: "float", y: "float"):
    return g14(x, y)


def case_g15(x: "float"):
    return g15(x)


def case_g16(x: "float"):
    return g16(x)


def case_g17(x: "float", n: "small", b: "bool"):
    return g17(x), g17(n), g17(b)


def case_g17s(x: "float"):
    return g17("a") if x > 0 else x


def case_g18(x: "float"):
    return g18(b=x)


def refused_g19(x: "float"):
    return g19(x)


def case_wrapped(x: "float"):
    return g2.__wrapped__(x)


def case_to(x: "float", y: "float"):
    return TO(x) >= TO(y), TO(x) < TO(y), TO(x) > TO(y)


def case_pm(x: "float"):
    return Meth().twice(x)


def case_st(x: "float"):
    return Meth.st(x), Meth().st(x)


def case_cmeth(x: "float"):
    return Meth.cm(x), Meth().cm(x)


def refused_pr(x: "float"):
    return Meth().pr + x


def case_wr(x: "float"):
    return Meth().wr(x)


def case_local_deco(x: "float"):
    def d(f):
        return lambda v: f(v) + 1

    @d
    @d
    def h(v):
        return v * x

    return h(2.0)


def case_local_wraps(x: "float"):
    def d(f):
        @wraps(f)
        def w(*a):
            return -f(*a)

        return w

    h = d(d(g1))
    return h(x)


def refused_op(x: "float", y: "float"):
    return operator.sub(x, y), operator.itemgetter(1)([x, y]), operator.attrgetter("v")(TO(x))


def case_kwonly(x: "float"):
    def h(a, /, b, *, c=3.0):
        return a + b * c

    return h(x, b=1.0), h(x, 2.0, c=x)


def case_posonly_kw(x: "float"):
    def h(a, /, **k):
        return a + k["a"]

    return h(x, a=1.0)


def refused_too_many(x: "float"):
    return g1(x, 2.0)


def refused_missing(x: "float"):
    return g4(x)


def case_nv(x: "float"):
    return float(nv(x))


def refused_recur_deco(n: "small"):
    return fact(abs(n))


@clamp(0, 100)
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)


def case_cast(x: "float"):
    return typing.cast(float, x) + 1


def case_name(x: "float"):
    return len(g2.__name__) + x


def case_isfn(x: "float"):
    return callable(g2), callable(x)


def case_map_deco(x: "float"):
    return list(map(g2, [x, 1.0])), sum(map(g1, (x, x)))


@ident
def thrice(x):
    return x * 2


def dplus(f):
    @wraps(f)
    def w(x):
        return f(x) + 1

    return w


thrice = dplus(dplus(dplus(thrice)))


def case_stacked(x: "float"):
    return thrice(x)


def case_church(x: "float"):
    two = lambda f: lambda v: f(f(v))
    return two(two(lambda v: v * 2 + 1))(x)


def case_curry(x: "float"):
    def add(k):
        return lambda v: v + k

    return add(add(1.0)(x))(add(2.0)(x))


def refused_endless(x: "float"):
    def d(f):
        return lambda v: d(f)(v)

    return d(lambda v: v)(x)
