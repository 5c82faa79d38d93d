"""Classes: operators, properties, dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar


class V:
    K = 3.0

    def __init__(self, a, b=1.0):
        self.a = a
        self.b = b

    def __add__(self, o):
        if not isinstance(o, V):
            return NotImplemented
        return V(self.a + o.a, self.b + o.b)

    def __radd__(self, o):
        return V(self.a + o, 0.0)

    def __eq__(self, o):
        if not isinstance(o, V):
            return NotImplemented
        return self.a == o.a

    def __iadd__(self, o):
        self.a += 100.0
        return self

    def __neg__(self):
        return V(-self.a)

    def __abs__(self):
        return abs(self.a)

    def __len__(self):
        return 2

    def __bool__(self):
        return self.a > 0

    def __getitem__(self, i):
        return (self.a, self.b)[i]

    def __call__(self, q):
        return self.a * q

    def __contains__(self, q):
        return q == self.a

    def __lt__(self, o):
        return self.a < o.a

    def __mul__(self, k):
        return V(self.a * k)

    @property
    def p(self):
        return self.a * 2

    @p.setter
    def p(self, v):
        self.a = v

    @classmethod
    def mk(cls, a):
        return cls(a)

    @staticmethod
    def sm(a):
        return a + 1

    def __float__(self):
        return 9.0

    def __iter__(self):
        return iter((self.a, self.b))


def case_v_add(x: float):
    return (V(x) + V(1.0)).a


def case_v_radd(x: float):
    return (1.0 + V(x)).a


def case_v_eq(x: float):
    return V(x) == V(1.0)


def case_v_abs(x: float):
    return abs(V(x))


def case_v_len(x: float):
    return len(V(x))


def case_v_item(x: float):
    return V(x)[1] + V(x)[0]


def case_v_call(x: float):
    return V(x)(2.0)


def case_v_lt(x: float, y: float):
    return V(x) < V(y)


def case_v_mul(x: float):
    return (V(x) * 2).a


def case_v_p(x: float):
    v = V(x)
    v.p = v.p + 1
    return v.a


def case_v_mk(x: float):
    return V.mk(x).a + V.sm(x)


def case_v_sum(x: float):
    return sum([V(x), V(1.0)]).a


def case_v_clsattr(x: float):
    v = V(x)
    v.K = x
    return V.K + v.K


def case_v_alias(x: float):
    v = V(x)
    u = v
    u.a = 3.0
    return v.a


def case_v_isnot(x: float):
    return V(x) is V(x)


class Base:
    def __init__(self, a):
        self.a = a

    def f(self):
        return self.a + 1

    def g(self):
        return self.f() * 2


class Der2(Base):
    def __init__(self, a):
        Base.__init__(self, a)
        self.c = 1.0

    def f(self):
        return Base.f(self) + self.c


def case_super2(x: float):
    return Der2(x).g()


@dataclass(frozen=True)
class Fz:
    a: float
    b: float = 2.0


def case_frozen(x: float):
    return Fz(x).a + Fz(x, x).b


@dataclass
class Df:
    a: float
    l: list = field(default_factory=list)
    n: int = field(init=False, default=3)
    k: ClassVar[int] = 9

    def __post_init__(self):
        self.l.append(self.a)


def case_dc_factory(x: float):
    p = Df(x)
    q = Df(x)
    p.l.append(1.0)
    return len(p.l) * 10 + len(q.l) + p.n + Df.k


@dataclass(kw_only=True)
class Dk:
    a: float
    b: float


def case_dc_kw(x: float):
    return Dk(b=x, a=1.0).b


@dataclass
class DB:
    a: float = 1.0


@dataclass
class DC(DB):
    b: float = 2.0

    def __post_init__(self):
        self.a += 1


def case_dc_inh(x: float):
    return DC(x, x).a + DC(b=x).b
