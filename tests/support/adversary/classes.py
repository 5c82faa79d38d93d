# ruff: noqa: FURB192
"""Objects that a function makes, with special methods, and their classes."""

import enum
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from tests.support.adversary import small


class V(NamedTuple):
    x: float
    y: float

    def __add__(self, o):
        return V(self.x + o.x, self.y + o.y)

    def __mul__(self, k):
        return V(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return V(-self.x, -self.y)

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __bool__(self):
        return self.x != 0 or self.y != 0

    @property
    def r(self):
        return abs(self)


class W(V):
    def __new__(cls, x, y=1.0):
        return super().__new__(cls, x * 2, y)

    def __add__(self, o):
        b = super(W, self).__add__(o)
        return W(b.x, b.y)


class Base:
    k = 2.0

    def __init__(self, x):
        self.x = x
        self.log = []

    def f(self):
        return self.x * self.k

    def g(self):
        return self.f() + 1

    @classmethod
    def make(cls, x):
        return cls(x)

    @staticmethod
    def st(x):
        return x - 1


class Der(Base):
    k = 3.0

    def f(self):
        return super().f() + self.k


class Der2(Der):
    def __init__(self, x):
        super().__init__(x + 1)
        self.k = self.x

    def f(self):
        return super(Der, self).f()


class Num:
    def __init__(self, v):
        self.v = v

    def __int__(self):
        return int(self.v) + 1

    def __float__(self):
        return self.v * 2.0

    def __bool__(self):
        return self.v > 0

    def __index__(self):
        return 2

    def __lt__(self, o):
        return self.v < o.v

    def __eq__(self, o):
        return isinstance(o, Num) and self.v == o.v

    def __hash__(self):
        return 1

    def __call__(self, a, b=2):
        return self.v + a * b

    def __getitem__(self, i):
        return self.v * i

    def __len__(self):
        return 3

    def __contains__(self, a):
        return a == self.v

    def __round__(self, n=0):
        return round(self.v) + n

    def __radd__(self, o):
        return self.v + o + 100

    def __iadd__(self, o):
        self.v += o
        return self

    def __matmul__(self, o):
        return self.v * o.v

    def __pow__(self, e):
        return self.v**e if e < 3 else 0.0


@dataclass
class Pt:
    x: float
    y: float = 2.0
    h: list = field(default_factory=list)

    def shift(self, d):
        self.x += d
        return self

    def __post_init__(self):
        self.s = self.x + self.y


@dataclass(frozen=True, order=True)
class Fz:
    a: float
    b: float = 0.0

    @cached_property
    def c(self):
        return self.a * self.b


class Lv(enum.IntEnum):
    LO = 1
    MID = 2
    HI = 4

    @classmethod
    def of(cls, n):
        return cls(n)

    def up(self):
        return Lv(self * 2) if self < 4 else self


class Desc:
    def __get__(self, o, t=None):
        return 5 if o is None else o.x * 10


class HasD:
    d = Desc()

    def __init__(self, x):
        self.x = x


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a
        self.b = a + 1


class Prop:
    def __init__(self, x):
        self._x = x

    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, v):
        if v < 0:
            raise ValueError("neg")
        self._x = v * 2


class Mixin:
    def area(self):
        return self.w * self.h


class Rect(Mixin):
    def __init__(self, w, h):
        self.w, self.h = w, h


class A1:
    def m(self):
        return 1


class B1(A1):
    def m(self):
        return 10 + super().m()


class C1(A1):
    def m(self):
        return 100 + super().m()


class D1(B1, C1):
    def m(self):
        return 1000 + super().m()


class Ga:
    def __getattr__(self, n):
        return len(n)


def case_v1(x: "float", y: "float"):
    return abs(V(x, y) + 2 * V(y, 1.0))


def case_v2(x: "float"):
    return V(x, 1.0) * 3


def case_v3(x: "float"):
    return 1 if V(x, 0.0) else 2


def case_v4(x: "float"):
    return -V(x, 2.0)


def case_w1(x: "float"):
    return W(x) + V(1.0, x)


def case_w2(x: "float"):
    return W(x, y=x).r


def case_w3(x: "float"):
    return W(x) == (x * 2, 1.0), isinstance(W(x), V), type(W(x)) is V


def case_w4(x: "float"):
    return W(x)._replace(y=3.0)


def case_b1(x: "float"):
    return Base(x).g(), Der(x).g()


def case_d2(x: "float"):
    return Der2(x).g()


def case_cm(x: "float"):
    return Der.make(x).f() + Base.st(x)


def case_dyn(x: "float"):
    o = Base(x) if x > 0 else Der(x)
    return o.g()


def case_k(x: "float"):
    o = Der(x)
    o.k = 7.0
    return o.f(), Der.k


def case_int(x: "float"):
    return int(Num(x)) if -1e9 < x < 1e9 else 0


def case_float(x: "float"):
    return float(Num(x))


def case_bool(x: "float"):
    return 1 if Num(x) else 0, not Num(x), bool(Num(x))


def case_index(x: "float"):
    return [1, 2, 3][Num(x)]


def case_lt(x: "float", y: "float"):
    return Num(x) < Num(y), Num(x) == Num(y), Num(x) != Num(y), Num(x) == 3


def case_call(x: "float"):
    return Num(x)(3, b=x)


def case_getitem(x: "float"):
    return Num(x)[4]


def case_len(x: "float"):
    return len(Num(x))


def case_in(x: "float"):
    return 1.0 in Num(x)


def case_roundm(x: "float"):
    return round(Num(x), 2) if abs(x) < 1e9 else 0


def case_radd(x: "float"):
    return 1.0 + Num(x)


def case_iadd(x: "float"):
    n = Num(x)
    m = n
    n += 2
    return m.v, n is m


def case_matmul(x: "float", y: "float"):
    return Num(x) @ Num(y)


def case_powm(x: "float"):
    return Num(x) ** 2, Num(x) ** 3


def case_max(x: "float", y: "float"):
    return max(Num(x), Num(y), key=lambda q: -q.v).v


def case_sorted(x: "float", y: "float"):
    return sorted([Num(x), Num(y)])[0].v


def case_pt(x: "float"):
    p = Pt(x)
    q = p
    p.shift(1.0).shift(x)
    return q.x, q.s, q == Pt(q.x), p.h


def case_replace(x: "float"):
    p = Pt(x)
    q = replace(p, y=x)
    return q.s, p.y, q is p


def case_fz(x: "float", y: "float"):
    return Fz(x, y) < Fz(y, x), Fz(x, y) == Fz(x, y), Fz(x, y).c


def case_fzset(x: "float"):
    p = Fz(x)
    p.a = 2.0
    return p.a


def case_lv(n: "small"):
    return Lv(n)


def case_lv2(n: "small"):
    return Lv.of(n).up()


def case_lv3(n: "small"):
    return Lv.MID + n, Lv.HI > n, Lv.LO == n


def case_lvname(n: "small"):
    return Lv(n).name if n in (1, 2, 4) else "?"


def case_lvloop(n: "small"):
    return sum(l for l in Lv if l > n)


def case_desc(x: "float"):
    return HasD(x).d, HasD.d


def case_slots(x: "float"):
    s = Slots(x)
    s.a = s.b
    return s.a


def case_prop(x: "float"):
    p = Prop(x)
    p.x = x
    return p.x


def case_mixin(x: "float", y: "float"):
    return Rect(x, y).area()


def case_mro(x: "float"):
    return D1().m() + x


def case_hasattr(x: "float"):
    return hasattr(Prop(x), "x"), getattr(Prop(x), "q", x), hasattr(x, "real")


def refused_ga(x: "float"):
    return Ga().hello + x


def case_isinst(x: "float"):
    return isinstance(x, float), isinstance(x, (int, bool)), issubclass(Der2, Base)


def case_list_attr(x: "float"):
    b = Base(x)
    b.log.append(x)
    b.log.append(1.0)
    return b.log[0] + len(b.log), Base(x).log


def refused_two_objs(x: "float"):
    a = Base(x)
    b = a if x > 0 else Base(2.0)
    b.x = 9.0
    return a.x


def case_obj_in_list(x: "float"):
    l = [Base(x), Base(1.0)]
    l[0].x += 1
    l.reverse()
    return l[1].x


def case_obj_dict(x: "float"):
    d = {"p": Base(x)}
    d["p"].x *= 2
    e = dict(d)
    e["p"].x += 1
    return d["p"].x


def case_eq_default(x: "float"):
    a = Base(x)
    return a == a, a == Base(x), a != Base(x)


def case_class_body(x: "float"):
    class L:
        z = 3.0

        def __init__(s, q):
            s.q = q + L.z

    return L(x).q


def refused_del(x: "float"):
    b = Base(x)
    if x > 0:
        del b.x
    return b.x


def refused_del2(x: "float"):
    o = Der(x)
    o.k = 1.0
    del o.k
    return o.k


class Sign(NamedTuple):
    x: float

    def __bool__(self):
        return self.x > 0


class Inner(V):
    def __bool__(self):
        return super().__bool__() and self.x < 5


NOTHING = V(0.0, 0.0)


def case_truth_and_or(x: "float", y: "float"):
    return (Sign(x) and Sign(y)).x, (Sign(x) or Sign(y)).x, not Sign(x)


def case_truth_of_several(x: "float", y: "float"):
    return any([Sign(x), Sign(y)]), all((Sign(x), V(y, 0.0))), len(list(filter(None, [Sign(x), Sign(y)])))


def case_truth_in_a_loop(x: "float"):
    n, v = 0, Sign(x)
    while v and n < 3:
        v = Sign(v.x - 1)
        n += 1
    return n


def case_truth_by_super(x: "float", y: "float"):
    v = Inner(x, y) if y > 0 else Sign(x)
    return 1 if v else 0


def case_truth_of_a_captured_one(x: "float"):
    return x if NOTHING else -x


def case_a_list_of_such_is_true(x: "float"):
    return bool([Sign(x)]), bool((Sign(-1.0),))
