"""Decorators: what they ask of a function, and what they put around it; nested functions with nonlocal variables."""

import functools
import inspect
import math
import typing
import warnings


def _n(x):
    return int(x) % 5 if abs(x) < 1e6 else 3


def _positive(fn):
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if value < 0:
                raise ValueError(f"{name} is negative")
        return fn(*bound.args, **bound.kwargs)

    return wrapper


def _not_zero(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        for name, value in zip(inspect.signature(fn).parameters, args, strict=False):
            if name == "y" and value == 0:
                raise ZeroDivisionError(name)
        return fn(*args)

    return wrapper


def _within(**limits):
    def decorate(fn):
        names = list(inspect.signature(fn).parameters)

        @functools.wraps(fn)
        def inner(*args, **kwargs):
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            for name, (low, high) in limits.items():
                if name in given and not low <= given[name] <= high:
                    raise ValueError(name)
            return fn(*args, **kwargs)

        return inner

    return decorate


def _typed(fn):
    hints = typing.get_type_hints(fn)

    @functools.wraps(fn)
    def inner(*args):
        kinds = [hints[name] for name in typing.get_type_hints(fn) if name != "return"]
        return fn(*[kind(v) for kind, v in zip(kinds, args, strict=True)]) + len(hints)

    return inner


def _twice(fn):
    def inner(v):
        return fn(fn(v))

    return inner


def _plus(k):
    return lambda fn: lambda v: fn(v) + k


class _Wrapped:
    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __call__(self, *args):
        return self.fn(*args) * 2


@_positive
def _root(x, y=4.0, *, scale=1.0):
    return math.sqrt(x) * scale + y


@_not_zero
def _quotient(x, y):
    return x / y


@_within(x=(0, 100))
def _bounded(x, p=2.0):
    return math.sqrt(x) / p


@_typed
def _sum_of(a: float, b: int) -> float:
    return a + b


@_plus(1.0)
@_twice
@functools.lru_cache(maxsize=None)
def _chained(v):
    return v * 0.5


@_Wrapped
def _object(v):
    return v + 1


@functools.cache
def _fibonacci(n):
    return n if n < 2 else _fibonacci(n - 1) + _fibonacci(n - 2)


@typing.overload
def _over(v: int) -> int: ...
@typing.overload
def _over(v: float) -> float: ...
def _over(v):
    return v * 2


@functools.singledispatch
def _area(shape):
    raise TypeError("unknown")


@_area.register
def _of_float(shape: float):
    return shape * shape


@_area.register(int)
def _of_int(shape):
    return shape + 1


@_area.register(tuple)
def _of_tuple(shape):
    return shape[0] * shape[1]


def signature_bound_in_a_decorator(x):
    return _root(x) + _root(1.0, x, scale=2.0)


def signature_asked_in_the_call(x):
    return _quotient(1.0, x)


def limits_by_name(x):
    return _bounded(x) + _bounded(4.0, p=x)


def type_hints(x):
    return _sum_of(x, 2.5)


def chain_of_decorators(x):
    return _chained(x)


def object_as_a_decorator(x):
    return _object(x)


def cached_recursion(x):
    return _fibonacci(15) * x


def overloaded(x):
    return _over(x) + _over(_n(x))


def dispatched_on_classes(x):
    return _area(x) + _area(_n(x)) + _area((x, 2.0))


def wrapped_function_itself(x):
    return _bounded.__wrapped__(x) if x >= 0 else 0.0


def arguments_that_do_not_fit(x):
    if x > 1:
        return _root(1.0, 2.0, 3.0, 4.0)
    return x


def arguments_that_do_not_fit_are_caught(x):
    try:
        inspect.signature(_object.fn).bind(x, x)
    except TypeError:
        return x + 1
    return x


def partly_bound(x):
    bound = inspect.signature(_bounded).bind_partial(p=x)
    return bound.kwargs["p"] + len(bound.args) if bound.kwargs else bound.arguments["p"] + len(bound.args)


def bound_with_stars(x):
    bound = inspect.signature(_starred).bind(x, 1.0, 2.0, k=x, m=3.0)
    return bound.arguments["rest"][1] + bound.arguments["named"]["m"] + bound.args[2] + bound.kwargs["k"]


def _starred(first, *rest, k=0.0, **named):
    return first


def nested_cache(x):
    @functools.lru_cache(None)
    def go(n):
        return x if n == 0 else go(n - 1) * 0.5 + 1

    return go(4)


def nested_bare_cache(x):
    @functools.cache
    def square(v):
        return v * v

    return square(x) + square(2.0)


def nested_decorators(x):
    @_plus(x)
    @_twice
    def shifted(v):
        return v - 1

    return shifted(x)


def nested_wraps(x):
    def clipped(fn):
        @functools.wraps(fn)
        def inner(v):
            return max(0.0, min(1.0, fn(v)))

        return inner

    @clipped
    def scaled(v):
        return v * 0.5

    return scaled(x)


def REFUSED_warning_in_every_lane(x):
    warnings.warn("old", DeprecationWarning, stacklevel=2)
    return x


def nonlocal_sum(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 1:
            total += v
        else:
            total -= 1

    add(x)
    add(2.0)
    if x > 1:
        add(10.0)
    return total


def nonlocal_counter_in_a_search(x):
    calls, best = 0, None

    def f(v):
        nonlocal calls, best
        calls += 1
        found = v * v - x
        if best is None or abs(found) < abs(best):
            best = found
        return found

    low, high = 0.0, 2.0
    for _ in range(5):
        middle = (low + high) / 2
        if f(middle) > 0:
            high = middle
        else:
            low = middle
    return low + calls + best


def nonlocal_in_a_kept_loop(x):
    state = 1

    def draw():
        nonlocal state
        state = (state * 1103515245 + 12345) % 2147483648
        return state / 2147483648

    total = 0.0
    while total < x and total < 5:
        total += draw()
    return total, state


def nonlocal_of_two_makers(x):
    def make(start):
        count = start

        def more():
            nonlocal count
            count += x
            return count

        return more, lambda: count

    first, read = make(1.0)
    second, other = make(2.0)
    first()
    second()
    first()
    return read() - other()


def nonlocal_two_levels(x):
    a = 1.0

    def outer():
        def inner():
            nonlocal a
            a *= x

        inner()
        inner()

    outer()
    return a


def nonlocal_parameter(x, k=2.0):
    def change(v):
        nonlocal k
        k = v

    if x > 0:
        change(x)
    return k * x


def nonlocal_unbound(x):
    v: float

    def assign():
        nonlocal v
        v = x

    if x > 0:
        assign()
    return v + 1 if x > 0 else 0.0  # noqa: F821 - `assign` binds it


def nonlocal_in_recursion(x):
    count = 0

    def go(k):
        nonlocal count
        count += 1
        return x if k == 0 else go(k - 1) + count

    return go(3) + count


def nonlocal_in_a_comprehension(x):
    found = False

    def check(v):
        nonlocal found
        if v > x:
            found = True
            return 1
        return 0

    counted = sum(check(float(k)) for k in range(4))
    return counted if found else -1


def nonlocal_before_an_exception(x):
    tries = 0

    def attempt(v):
        nonlocal tries
        tries += 1
        return 1 / v

    try:
        return attempt(x) + tries
    except ZeroDivisionError:
        return -1.0 - tries


def nonlocal_tuple_and_walrus(x):
    pair, count = None, 0

    def keep():
        nonlocal pair, count
        if (count := count + 1) > 1:
            pair = (x, count)
        return count

    keep()
    keep()
    return pair[0] * pair[1]


def nonlocal_loop_variable(x):
    c = 0

    def run(k):
        nonlocal c
        for c in range(k):
            pass
        return c

    return run(3) + c + x


def comprehension_hides_from_others(x):
    i = 10.0

    def read():
        return i * x

    return sum([read() for i in range(3)]) + sum(read() for i in range(2))
