"""Decorators: signatures, chains of wraps, caches, dispatch, overloads, and functions that other compilers have."""

import functools
import inspect
import math
import typing
from contextlib import suppress
from functools import cache, lru_cache, partial, singledispatch, singledispatchmethod, update_wrapper, wraps

import numba

from tests.support.adversary import small


def logged(f):
    @wraps(f)
    def inner(*args, **kwargs):
        result = f(*args, **kwargs)
        return result

    inner.calls = 0
    return inner


def bound(f):
    sig = inspect.signature(f)

    @wraps(f)
    def inner(*args, **kwargs):
        b = sig.bind(*args, **kwargs)
        b.apply_defaults()
        values = {name: abs(v) for name, v in b.arguments.items()}
        return f(**values)

    return inner


def by_annotation(f):
    hints = typing.get_type_hints(f)

    @wraps(f)
    def inner(*args):
        names = list(inspect.signature(f).parameters)
        return f(*[hints.get(name, lambda v: v)(v) for name, v in zip(names, args)])

    return inner


def positive(*names):
    def decorate(f):
        sig = inspect.signature(f)

        @wraps(f)
        def inner(*args, **kwargs):
            given = sig.bind(*args, **kwargs).arguments
            for name in names:
                if given.get(name, 1) < 0:
                    raise ValueError(name)
            return f(*args, **kwargs)

        return inner

    return decorate


def default(value):
    def decorate(f):
        @wraps(f)
        def inner(*args, **kwargs):
            try:
                return f(*args, **kwargs)
            except (ZeroDivisionError, ValueError, OverflowError):
                return value

        return inner

    return decorate


def repeated(k):
    def decorate(f):
        @wraps(f)
        def inner(x):
            for _ in range(k):
                x = f(x)
            return x

        return inner

    return decorate


def rounded(f=None, /, *, digits=1):
    if f is None:
        return lambda g: rounded(g, digits=digits)

    @wraps(f)
    def inner(*a):
        return round(f(*a), digits)

    return inner


def guarded(test):
    def decorate(f):
        def inner(*a):
            return f(*a) if test(*a) else None

        return update_wrapper(inner, f)

    return decorate


def unary(f):
    return functools.reduce(lambda g, _: wraps(g)(lambda v: g(v) + 1), range(3), f)


class Registry:
    def __init__(self):
        self.known = {}

    def add(self, name):
        def decorate(f):
            self.known[name] = f
            return f

        return decorate

    def call(self, name, *a):
        return self.known[name](*a)


RULES = Registry()


@RULES.add("double")
def _double(x):
    return x * 2


@RULES.add("half")
def _half(x):
    return x / 2


class Counted:
    def __init__(self, f):
        update_wrapper(self, f)
        self.f, self.n = f, 0

    def __call__(self, *a, **k):
        self.n += 1
        return self.f(*a, **k)

    def __get__(self, obj, cls=None):
        return self if obj is None else partial(self.f, obj)


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, f):
        @wraps(f)
        def inner(*a):
            return f(*a) * self.k

        return inner


class Typed:
    @singledispatchmethod
    def of(self, v):
        return -1.0

    @of.register
    def _(self, v: int):
        return v + 1

    @of.register
    def _(self, v: float):
        return v * 2

    @logged
    def method(self, v):
        return v + 1

    @staticmethod
    @logged
    def plain(v):
        return v * 3

    @classmethod
    @default(-7.0)
    def made(cls, v):
        return 1 / v

    @property
    @default(0.0)
    def prop(self):
        return math.sqrt(self.v)

    @functools.cached_property
    def kept(self):
        return self.v * 2


@logged
@logged
def p1(x, y=2.0):
    return x * y


@bound
def p2(x, y=-3.0):
    return x + y


@by_annotation
def p3(a: float, b: int):
    return a + b


@positive("x")
@positive("y")
def p4(x, y=1.0):
    return math.sqrt(x) + y


@default(-1.0)
def p5(x):
    return math.log(x) / x


@repeated(3)
def p6(x):
    return x * 0.5 + 1


@rounded
def p7(x):
    return x / 3


@rounded(digits=0)
def p8(x, y):
    return x + y


@guarded(lambda x: x == x)
def p9(x):
    return x * 2


@unary
def p10(x):
    return x * 10


@Counted
def p11(x, k=1.0):
    return x - k


@Scaled(3.0)
@Scaled(-1.0)
def p12(x):
    return x + 1


@lru_cache(maxsize=8, typed=True)
def p13(x, k=2):
    return x**2 + k


@cache
def p14(n):
    return 1 if n < 2 else n * p14(n - 1)


@lru_cache
def p15(s):
    return {"a": 1.0, "b": None}.get(s, 2.0)


@cache
def p16(x, y):
    if y == 0:
        raise ValueError("zero")
    return x / y


@default(9.0)
@cache
def p17(x):
    return 1 / x


@cache
@default(9.0)
def p18(x):
    return 1 / x


@singledispatch
def kind(v):
    return "other"


@kind.register(bool)
def _(v):
    return "bool"


@kind.register
def _(v: int):
    return "int"


@kind.register
def _(v: float):
    return "float"


@kind.register
def _(v: str):
    return "text"


@kind.register(type(None))
def _(v):
    return "none"


@kind.register(list)
@kind.register(tuple)
def _(v):
    return "row"


@singledispatch
def area(shape, k=1.0):
    raise NotImplementedError


class Square:
    def __init__(self, s):
        self.s = s


class Big(Square):
    pass


@area.register
def _(shape: Square, k=1.0):
    return shape.s**2 * k


@area.register
def _(shape: Big, k=1.0):
    return area.dispatch(Square)(shape, k) + 100


@typing.overload
def both(x: int) -> int: ...
@typing.overload
def both(x: str) -> str: ...
def both(x):
    return x if isinstance(x, str) else x + 1


@numba.njit
def compiled(x, y):
    t = 0.0
    for k in range(3):
        t += x * k - y
    return t


@numba.njit
def compiled_inner(x):
    return compiled(x, 1.0) if x > 0 else -x


@numba.vectorize
def lanewise(x):
    return x + 1.0 if x > 0 else 0.0


@numba.njit(cache=False, fastmath=False)
def compiled_tuple(n):
    return n + 1, n * 0.5


def case_logged(x: "float"):
    return p1(x), p1(x, y=x), p1(y=1.0, x=x)


def case_bound(x: "float"):
    return p2(x), p2(x, x), p2(y=x, x=-1.0)


def case_by_annotation(x: "float"):
    return p3(x, 2.9), p3(1, x)


def case_positive(x: "float", y: "float"):
    return p4(x, y)


def case_positive_named(x: "float"):
    return p4(y=x, x=4.0), p4(x=x)


def case_default(x: "float"):
    return p5(x)


def case_repeated(x: "float"):
    return p6(x)


def case_rounded(x: "float"):
    return p7(x), p8(x, 0.25)


def case_guarded(x: "float"):
    return p9(x)


def case_unary(x: "float"):
    return p10(x)


def case_counted(x: "float"):
    return p11(x) + p11(x, k=3.0)


def case_scaled(x: "float"):
    return p12(x)


def case_cached_options(x: "float"):
    return p13(x), p13(x, k=x)


def case_cached_recursion(n: "small"):
    return p14(6) + n


def case_cached_recursion_of_a_lane(n: "small"):
    return p14(n)


def case_cached_text(s: "str"):
    return p15(s)


def case_cached_raises(x: "float", n: "small"):
    return p16(x, n)


def case_cached_raises_caught(x: "float", n: "small"):
    try:
        return p16(x, n)
    except ValueError:
        return -1.0


def case_cached_inside(x: "float"):
    return p17(x), p18(x)


def case_cached_default_of_two(x: "float"):
    return p16(x, y=2.0), p16(y=x, x=3.0) if x else 0.0


def case_cached_wrapped(x: "float"):
    return p13.__wrapped__(x)


def case_cached_method(x: "float"):
    class C:
        def __init__(self, v):
            self.v = v

    return C(x).v


def case_cached_local(x: "float"):
    @lru_cache(None)
    def h(k):
        return x * k if k else 0.0

    return h(1) + h(2) + h(1)


def case_cached_local_recursion(n: "small"):
    @cache
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(10) * n


def case_cached_by_call(x: "float"):
    h = cache(p10)
    return h(x) + h(x)


def case_kind(x: "float", n: "small", b: "bool", s: "str"):
    return kind(x), kind(n), kind(b), kind(s)


def case_kind_of_none(x: "float"):
    return kind(None if x > 0 else x)


def case_kind_of_containers(x: "float"):
    return kind([x]), kind((x, 1)), kind({1: x}), kind(kind)


def case_kind_of_union(x: "float"):
    return kind(1 if x > 0 else x), kind("a" if x > 0 else 2)


def case_area(x: "float"):
    return area(Square(x)), area(Big(x), 2.0)


def case_area_of_either(x: "float"):
    return area(Square(x) if x > 0 else Big(x), k=0.5)


def case_area_of_none(x: "float"):
    return area(x)


def refused_dispatched_by_hand(x: "float"):
    """flatten/unsupported-expression"""
    return kind.dispatch(float)(x), kind.registry[int](3)


def refused_method_dispatch(x: "float", n: "small"):
    """flatten/unknown-call"""
    return Typed().of(x), Typed().of(n)


def case_methods(x: "float"):
    return Typed().method(x), Typed.plain(x), Typed().plain(x), Typed.made(x)


def case_decorated_property(x: "float"):
    t = Typed()
    t.v = x
    return t.prop


def case_cached_property(x: "float"):
    t = Typed()
    t.v = x
    a = t.kept
    t.v = 5.0
    return a, t.kept


def case_cached_property_set(x: "float"):
    t = Typed()
    t.kept = x
    return t.kept


def case_overloaded(x: "float"):
    return both(x), both("a" if x > 0 else "b")


def case_registry(x: "float"):
    return RULES.call("double", x), RULES.known["half"](x)


def case_registry_by_lane(x: "float"):
    return RULES.call("double" if x > 0 else "half", x)


def case_registry_missing(x: "float"):
    try:
        return RULES.call("none", x)
    except KeyError:
        return -1.0


def case_compiled(x: "float", y: "float"):
    return compiled(x, y)


def case_compiled_inner(x: "float"):
    return compiled_inner(x)


def case_compiled_tuple(n: "small"):
    a, b = compiled_tuple(n)
    return a + b


def case_compiled_original(x: "float"):
    return compiled.py_func(x, 2.0)


def case_partial_of_wrapped(x: "float"):
    return partial(p1, y=3.0)(x), partial(p4, 4.0)(x)


def case_partial_twice(x: "float"):
    f = partial(p1, x)
    g = partial(f, y=2.0)
    return g(), g(y=3.0)


def refused_partial_parts(x: "float"):
    """flatten/unsupported-expression"""
    f = partial(p1, 2.0, y=x)
    return f.func is p1, f.args, f.keywords["y"]


def case_wrapped_chain(x: "float"):
    return p1.__wrapped__(x), p1.__wrapped__.__wrapped__(x, 3.0), inspect.unwrap(p1)(x)


def case_names(x: "float"):
    return p1.__name__, p9.__name__, p11.__name__, p12.__doc__


def case_signature_parameters(x: "float"):
    return len(inspect.signature(p1).parameters), inspect.signature(p2).parameters["y"].default + x


def case_bind_fails(x: "float"):
    try:
        return p2(x, 1.0, 2.0)
    except TypeError:
        return -5.0


def case_bind_missing(x: "float"):
    try:
        return inspect.signature(p1).bind(y=x).args[0]
    except TypeError:
        return x


def refused_too_many_for_wrapped(x: "float"):
    """flatten/bad-call"""
    return p1(x, 1.0, 2.0)


def case_local_chain(x: "float"):
    def add(k):
        def decorate(f):
            @wraps(f)
            def inner(*a, **kw):
                return f(*a, **kw) + k

            return inner

        return decorate

    @add(1.0)
    @add(x)
    @add(10.0)
    def h(v, *, m=2.0):
        return v * m

    return h(x), h(1.0, m=x)


def case_local_retry(x: "float"):
    def retry(times):
        def decorate(f):
            def inner(v):
                for _ in range(times):
                    try:
                        return f(v)
                    except ZeroDivisionError:
                        v += 1
                return v

            return inner

        return decorate

    @retry(2)
    def h(v):
        return 1 / (v * (v - 1))

    return h(x)


def case_local_state(x: "float"):
    def once(f):
        done = False
        kept = 0.0

        def inner(v):
            nonlocal done, kept
            if not done:
                kept, done = f(v), True
            return kept

        return inner

    h = once(lambda v: v * 2)
    return h(x), h(3.0)


def case_local_memo(x: "float"):
    def memo(f):
        seen = {}

        def inner(k):
            if k not in seen:
                seen[k] = f(k)
            return seen[k]

        return inner

    @memo
    def h(k):
        return x**k

    return h(2) + h(2) + h(1)


def refused_identity_decorator(x: "float"):
    """flatten/effect"""
    @typing.no_type_check
    @typing.final
    def h(v):
        return v + 1

    return h(x)


def refused_class_decorator(x: "float"):
    """flatten/effect"""
    def plus(cls):
        cls.extra = 5.0
        return cls

    return plus(Square)(x).s


def case_callable_instance(x: "float"):
    s = Scaled(2.0)
    return s(lambda v: v + 1)(x)


def refused_wraps_lambda(x: "float"):
    """flatten/unsupported-expression"""
    f = wraps(p1)(lambda *a: sum(a))
    return f(x, 1.0), f.__name__


def case_contextmanager_wrapper(x: "float"):
    def safe(f):
        def inner(v):
            with suppress(ZeroDivisionError):
                return f(v)
            return -3.0

        return inner

    return safe(lambda v: 1 / v)(x)
