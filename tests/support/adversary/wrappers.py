"""Decorators, try and finally, recursion, iterators, formats."""

import contextlib
import inspect
import math
import typing
from functools import lru_cache, partial, reduce, singledispatch, wraps

from tests.support.adversary import small


def deco(f):
    @wraps(f)
    def inner(*a, **k):
        return f(*a, **k) + 1

    return inner


def deco_arg(k=2):
    def d(f):
        @wraps(f)
        def inner(x, *a, **kw):
            return f(x * k, *a, **kw)

        return inner

    return d


def sigdeco(f):
    sig = inspect.signature(f)

    @wraps(f)
    def inner(*a, **k):
        b = sig.bind(*a, **k)
        b.apply_defaults()
        return f(*b.args, **b.kwargs)

    return inner


def check_pos(f):
    @wraps(f)
    def inner(x, *a):
        if x < 0:
            raise ValueError("neg")
        return f(x, *a)

    return inner


def twice(f):
    def g(x):
        return f(f(x))

    return g


class Deco:
    def __init__(self, f):
        self.f = f

    def __call__(self, x):
        return self.f(x) * 3


@deco
@deco_arg(3)
def h1(x, y=1.0):
    return x + y


@sigdeco
def h2(x, y=2.0, *, z=3.0):
    return x * y + z


@check_pos
def h3(x, y):
    return x / y


@lru_cache(None)
def h4(x):
    return x * x + 1 if x > 0 else 2.0 - x


@twice
def h5(x):
    return x * 2 + 1


@Deco
def h6(x):
    return x + 1


@singledispatch
def sd(x):
    return -1.0


@sd.register
def _(x: float):
    return x * 2


@sd.register(int)
def _(x):
    return x * 3


@typing.overload
def ov(x: int) -> int: ...
@typing.overload
def ov(x: float) -> float: ...
def ov(x):
    return x + 1


h7 = partial(h2, z=10.0)


def case_d1(x: "float"):
    return h1(x), h1(x, y=5.0)


def case_d2(x: "float"):
    return h2(x), h2(x, 1.0, z=x)


def case_d3(x: "float", y: "float"):
    return h3(x, y)


def case_d4(x: "float"):
    return h4(x) + h4(x)


def case_d5(x: "float"):
    return h5(x)


def case_d6(x: "float"):
    return h6(x)


def case_sd(x: "float", n: "small"):
    return sd(x), sd(n)


def case_sdb(b: "bool"):
    return sd(b)


def case_ov(x: "float"):
    return ov(x)


def case_part(x: "float"):
    return h7(x, y=x)


def case_reduce(x: "float"):
    return reduce(lambda a, b: a * x + b, [1.0, 2.0, 3.0], 0.0)


def case_finally(x: "float"):
    try:
        return x / 2
    finally:
        x = 0.0


def case_finally_ov(x: "float"):
    try:
        if x > 0:
            return 1.0
        return 1 / x
    finally:
        if x != x:
            return 5.0


def case_finally_exc(x: "float"):
    t = 0.0
    try:
        t = 1 / x
    except ZeroDivisionError:
        t = -1.0
    else:
        t += 1
    finally:
        t *= 2
    return t


def case_nested_try(x: "float"):
    try:
        try:
            return math.sqrt(x)
        finally:
            y = math.log(x)
    except ValueError:
        return -1.0


def case_try_order(x: "float"):
    r = []
    try:
        r.append(1)
        v = 1 / x
        r.append(2)
    except (ZeroDivisionError, OverflowError):
        r.append(3)
    finally:
        r.append(4)
    return sum(r) + len(r) * 100


def case_raise_from(x: "float"):
    try:
        return math.log(x)
    except ValueError as e:
        raise KeyError("no") from e


def case_reraise(x: "float"):
    try:
        return math.acos(x)
    except ValueError:
        if x > 5:
            raise
        return 0.0


def case_exc_in_finally(x: "float"):
    try:
        return 1.0
    finally:
        1 / x


def case_loop_finally(n: "small"):
    s = 0
    for i in range(4):
        try:
            if i == n:
                continue
            if i == n + 2:
                break
            s += i
        finally:
            s += 10
    return s


def case_suppress(x: "float"):
    r = -1.0
    with contextlib.suppress(ZeroDivisionError):
        r = 1 / x
    return r


def case_nullctx(x: "float"):
    with contextlib.nullcontext():
        return x + 1


def refused_arange(n: "small"):
    import numpy as np

    return float(np.arange(n).sum()) if 0 <= n < 10 else -1.0


def case_tail(n: "small"):
    return tail(abs(n), 1)


def tail(n, a):
    if n <= 1:
        return a
    return tail(n - 1, a * n)


def case_tail2(n: "small", x: "float"):
    return gcd2(abs(n) + 12, abs(n) * 2) + x


def gcd2(a, b):
    return a if b == 0 else gcd2(b, a % b)


def refused_even(n: "small"):
    return even(abs(n))


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def case_digits(n: "int"):
    return sum(map(int, str(n).lstrip("-")))


def case_strdig(n: "small"):
    return str(n) == "-1", str(n)[0] == "-", len(str(n * 100))


def case_walrus(x: "float"):
    if (y := x * 2) > 1 and (z := y + 1) > 3:
        return y, z
    return y, 0.0


def case_ternchain(x: "float"):
    return 1 if x > 1 else 2 if x > 0 else 3 if x == 0 else 4


def case_chaincmp(x: "float"):
    return 0 < x <= 1 != 0.5


def case_andor(x: "float", y: "float"):
    return x and y, x or y, not x and y, (x or y) and 3


def case_starargs(x: "float"):
    def g(a, *b, c=1.0, **d):
        return a + sum(b) + c + d.get("q", 0.0)

    return g(x, 1.0, 2.0, c=3.0), g(*[x, 1.0], **{"q": x})


def case_kwonly(x: "float"):
    def g(*, a, b=2.0):
        return a * b

    return g(a=x), g(b=x, a=1.0)


def case_global_fn(x: "float"):
    return (lambda f, *a: f(*a))(h5, x)


def case_map(x: "float"):
    return list(map(lambda a, b: a + b, [x, 1.0], [2.0, x])), list(filter(lambda v: v > 0, [x, -x, 1.0]))[-1]


def case_enum(x: "float"):
    return [i * v for i, v in enumerate([x, x], start=2)]


def case_rangeneg(n: "small"):
    return sum(range(n, -3, -2)), len(range(0, n, 2)), list(range(3))[n]


def case_inrange(n: "small"):
    return n in range(0, 5, 2), range(3)[n], range(5).index(n)


def case_while_else(n: "small"):
    i = 0
    while i < n:
        i += 1
        if i == 4:
            break
    else:
        return -i
    return i


def case_matchseq(x: "float", y: "float"):
    match (x, y):
        case (0.0, _):
            return 1
        case (a, b) if a > b:
            return 2
        case [_, 1.0] | [1.0, _]:
            return 3
        case _:
            return 4


def case_round(x: "float"):
    return round(x, 1), round(x), round(x, None), round(x, -300)


def case_intstr(x: "float"):
    return float(str(x)), float(repr(x))


def case_fmt(x: "float"):
    return float("%.3f" % x), float("{:.1f}".format(x)), float(f"{x:.4e}")


def case_frac(x: "float"):
    return math.modf(x), math.frexp(x), math.ldexp(x, 3)


def case_divzero(x: "float"):
    try:
        return 1 / x, 1 // x, 1 % x
    except ZeroDivisionError:
        return 0.0, 0.0, 0.0


def case_int_inf(x: "float"):
    try:
        return int(x)
    except OverflowError:
        return -1
    except ValueError:
        return -2


def case_unbound(x: "float"):
    if x > 0:
        y = 1.0
    return y


def case_delname(x: "float"):
    y = x
    if x > 0:
        del y
    return y


def case_assertmsg(x: "float"):
    assert x > 0, "bad"
    return x


def case_stopiter(x: "float"):
    it = iter([x, 1.0])
    a = next(it)
    b = next(it)
    c = next(it, 9.0)
    return a, b, c


def case_stopiter2(x: "float"):
    it = iter([x])
    next(it)
    if x > 0:
        next(it)
    return x


def refused_genexp(x: "float"):
    g = (v * x for v in range(3))
    next(g)
    return list(g)


def case_generator(x: "float"):
    def g():
        yield x
        if x > 0:
            yield 1.0
        yield 2.0

    return sum(g())
