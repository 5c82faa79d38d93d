"""A call like one before it is a copy of what that one appended: the IR is that of evaluating each call."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError
from pyflat.frontend.specialise import specialise
from pyflat.frontend.syntax import repeated_calls
from pyflat.ir.nodes import Block, Function, walk
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT
from pyflat.testing import same_bits

LANES = [np.array([-2.5, -0.0, 0.5, 3.0, 7.25]), np.array([1.5, 0.0, -4.0, 0.5, 7.25])]
TABLE = [1.0, 2.0]
LOW = "low"


def norm(x: float) -> float:
    """Branches, returns early, names its variables."""
    if x < 0:
        x = -x
    half = x * 0.5
    if half > 3:
        return 1.0
    return half + x


def scaled(x: float, scale: Any = None) -> Any:
    return x if scale is None else x * scale


def sign_of(x: float, zero: float) -> float:
    return x + math.copysign(1.0, zero)


def is_same(a: Any, b: Any) -> float:
    return 1.0 if a is b else 0.0


def is_low(word: str) -> bool:
    return word is LOW


def first_doubled(v: list[float], x: float) -> float:
    v[0] = v[0] * 2.0 + x
    return v[-1]


def both(v: list[float], w: list[float]) -> float:
    v[0] = 1.0
    w[0] = 2.0
    return v[0]


def pair(a: float, b: float) -> list[float]:
    return [norm(a), b]


def chosen(v: list[float], w: list[float], x: float) -> list[float]:
    return v if x > 0 else w


def power(x: float, n: int) -> float:
    s = 1.0
    for _ in range(n):
        s = s * x
        if s > 100:
            break
    return s


def halved(x: float) -> float:
    while x > 1.0:
        x = x * 0.5
    return x


def rooted(x: float) -> float:
    if x < -100:
        raise ValueError("low")
    return math.sqrt(x + 100)


def listed(x: float, seen: list[float] = TABLE) -> float:
    return seen[1] * x


def applied(f: Callable[[float], float], x: float) -> float:
    return f(x) + f(x * 2)


def kind(x: Any) -> float:
    return 1.0 if isinstance(x, bool) else 2.0 if isinstance(x, int) else 3.0


def weighted(a: float, b: float, c: float) -> float:
    return a + 2.0 * b + 4.0 * c


def smooth(x: float) -> Any:
    return np.maximum(x, 0.5)


def root(x: float) -> Any:
    return np.sqrt(np.abs(x))


def rounded(x: Any) -> Any:
    return float(round(x, 1)) + abs(x)


def reflected(x: float) -> float:
    return -reflected(-x) if x < 0 else x * 2.0


def down(n: int, x: float) -> float:
    return x if n == 0 else down(n - 1, x * 0.5) + 1.0


def ping(n: int, x: float) -> float:
    return x if n == 0 else pong(n - 1, x * 0.5)


def pong(n: int, x: float) -> float:
    return ping(n, x + 1.0)


def found(x: float, table: tuple[float, ...]) -> float:
    return 1.0 if x in table else 0.0


def raised(x: float, n: Any) -> Any:
    return int(x) ** n


@dataclass
class Account:
    total: float
    count: int = 0

    def add(self, x: float) -> float:
        self.total = self.total + x
        self.count += 1
        return self.total


def account_of(x: float) -> Account:
    return Account(x)


def caught(x: float) -> float:
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return 7.0


def known(x: float) -> tuple[float, str]:
    return (x, "low") if isinstance(x, float) else (1.0, "high")


# --- the functions that are flattened: how many of their calls are copies
def plain(x, y):
    return norm(x) + norm(y) * norm(x + y)


def nested(x, y):
    a, b = pair(x, y), pair(y, x)
    return a[0] - b[0] * a[1]


def other_constants(x, y):
    return scaled(x) + scaled(y, 1) + scaled(y, True) + scaled(x, 1.0) + scaled(y, 2) + scaled(x, 1)


def signed_zeros(x, y):
    return sign_of(x, 0.0) * sign_of(y, -0.0) + sign_of(y, 0.0)


def one_lane_twice(x, y):
    return is_same([x], [x]) + is_same([x], [y])


def which_lane_twice(x, y):
    return weighted(x, y, x) - weighted(x, y, y) * weighted(y, x, y)


def lanes_of_kinds(x, y):
    return kind(x) + 10 * kind(int(x)) + 100 * kind(x > 0) + 1000 * kind(int(y))


def numpys_results(x, y):
    a, b, c = root(x), root(y), root(x + y)
    return float(a) + float(b) + a.ndim + b.size + c.ndim


def one_list_twice(x, y):
    v, w = [x], [y]
    return is_same(v, w) + 2 * is_same(v, v) + 4 * is_same(w, w) + 8 * is_same(w, v)


def shared_lists(x, y):
    v, w = [x, y], [y, x]
    return both(v, w) + 10 * both(v, v) + 100 * both(w, v) + 1000 * both(w, w) + v[0] + w[0]


def equal_strings(x, y):
    return (x if is_low("".join(("lo", "w"))) else y) + (y if is_low(LOW) else x)


def written(x, y):
    v, w = [x, y], [y, x]
    a = first_doubled(v, x) + first_doubled(w, y)
    return a + first_doubled(v, 1.0) + v[0] * w[0]


def results_are_apart(x, y):
    v, w = pair(x, y), pair(x, y)
    v[0] = 5.0
    return v[0] + w[0]


def choices(x, y):
    v, w = [x, 1.0], [y, 2.0]
    u = chosen(v, w, x)
    t = chosen([x, 1.0], [y, 2.0], y)
    return u[0] * t[0] + u[1]


def loops(x, y):
    return power(x, 3) + power(y, 3) + power(x, 2) + halved(y) + halved(x)


def inside_loops(x, y):
    s = 0.0
    for k in range(4):
        s = s + power(x, 3) + norm(y + k)
    while s > 2.0:
        s = norm(s) * 0.25 + halved(y)
    return s


def faults(x, y):
    return rooted(x) * rooted(y) - rooted(x - y)


def defaults(x, y):
    return listed(x) + listed(y) + listed(y, [x, 3.0]) + listed(x, [y, 3.0])


def functions(x, y):
    return applied(norm, x) + applied(norm, y) + applied(abs, x) + applied(lambda v: v - y, x) + applied(lambda v: v * y, y)


def kinds(x, y):
    return kind(1) + 10 * kind(True) + 100 * kind(1.0) + 1000 * kind(x) + 10000 * kind(y) + 0.5


def numpy_or_not(x, y):
    a = rounded(x) + rounded(y)
    b = rounded(float(smooth(x))) + rounded(float(smooth(y)))
    return a + b * 10 + rounded(x) * 100 + rounded(y) * 1000


def recursion(x, y):
    return reflected(x) + reflected(y) + down(3, x) + down(3, y) + down(2, x)


def recursion_through_another(x, y):
    return ping(2, x) + pong(2, y) + ping(2, y)


def nans(x, y):
    nan, other = math.nan, -math.nan
    return found(nan, (nan, 1.0)) + 2 * found(other, (nan, 1.0)) + 4 * found(other, (other, 1.0)) + x - y


def exponents(x, y):
    n = 2 if x > 0 else 3
    s = 0.5 + raised(x, n) + raised(y, n)
    if n > 2:
        s = s + raised(x, n)
    return s


def objects(x, y):
    a, b = account_of(x), account_of(y)
    s = a.add(y) + b.add(x) + a.add(1.0)
    return s + a.total * b.count


def handlers(x, y):
    try:
        s = caught(x) + norm(y) / x
    except ZeroDivisionError:
        s = norm(x) + norm(y)
    return s + caught(y)


def known_results(x, y):
    a, b = known(x), known(y)
    return a[0] + b[0] + (1.0 if a[1] == b[1] else 0.0) + known(1)[0]


def names(x, y):
    def inner(v):
        return norm(v) + y

    z = norm(x)
    first = z
    return inner(first) + inner(y) * z


FUNCTIONS = {
    plain: 2, nested: 1, other_constants: 1, signed_zeros: 1, one_lane_twice: 0,
    which_lane_twice: 1, lanes_of_kinds: 1, numpys_results: 1, one_list_twice: 2, shared_lists: 1,
    equal_strings: 0, written: 1, results_are_apart: 1, choices: 0, loops: 2, inside_loops: 8, faults: 2, defaults: 2,
    functions: 2, kinds: 1, numpy_or_not: 4, recursion: 2, recursion_through_another: 2, nans: 0, exponents: 0,
    objects: 2, handlers: 1, known_results: 1, names: 2,
}


def _told(function: Function) -> list[object]:
    """The text, and for each operation where it comes from."""
    ops = [op for item in walk(function.body) if isinstance(item, Block) for op in item.ops]
    origins = [o and (o.span, id(o.node), o.frame) for op in ops for o in (op.origin, op.statement)]
    return [format_function(function), origins]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    made: list[object] = []
    paste = repeated_calls._Copy.paste

    def counting(self: Any) -> Any:
        made.append(self.found)
        return paste(self)

    monkeypatch.setattr(repeated_calls._Copy, "paste", counting)
    return made


@pytest.mark.parametrize("loops", ["auto", "masked", "unroll"])
@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_the_ir_is_that_of_evaluating_every_call(fn: Callable[..., Any], loops: str) -> None:
    arguments = {"x": Leaf(FLOAT), "y": Leaf(FLOAT)}
    told = []
    for reuse in (True, False):
        try:
            told.append(_told(specialise(fn, arguments, loops=loops, reuse=reuse).function))
        except FlattenError as error:
            told.append([str(error)])
    assert told[0] == told[1]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_calls_that_are_alike_are_copied(fn: Callable[..., Any], copies: list[object]) -> None:
    specialise(fn, {"x": Leaf(FLOAT), "y": Leaf(FLOAT)})
    assert len(copies) == FUNCTIONS[fn]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_every_lane_has_the_value_of_the_original(fn: Callable[..., Any]) -> None:
    expected = [fn(*map(float, row)) for row in zip(*LANES, strict=True)]
    got = pyflat.twin(fn)(*LANES)
    assert all(map(same_bits, got.tolist(), expected))


def last(v: list[float]) -> float:
    return v[0] if len(v) == 1 else last_of(v[1:])


def last_of(v: list[float]) -> float:
    return last(v)


def test_recursion_is_judged_by_the_frames_around_a_call() -> None:
    """`last_of` of one item is evaluated outside of `last`, and called like that inside: there `last` calls itself with
    a list, of which recursion does not look at the length."""
    def lists(x, y):
        return last_of([x]) + last([y, x])

    refusals = []
    for reuse in (True, False):
        with pytest.raises(FlattenError) as refused:
            specialise(lists, {"x": Leaf(FLOAT), "y": Leaf(FLOAT)}, reuse=reuse)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]
    assert refused.value.code == "flatten/recursion"


def test_a_copy_counts_as_operations() -> None:
    def one(x):
        return x * 0.5 + 1.0

    def sixteen(f, x):
        return f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(x))))))))))))))))

    def many(x):
        a = sixteen(one, sixteen(one, x))
        return second(second(second(second(a))))

    def first(x):
        return sixteen(one, sixteen(one, sixteen(one, sixteen(one, x))))

    def second(x):
        return sixteen(third, sixteen(third, x))

    def third(x):
        return sixteen(first, sixteen(first, x))

    with pytest.raises(FlattenError, match="more than 400,000 operations") as refused:
        specialise(many, {"x": Leaf(FLOAT)})
    assert refused.value.code == "flatten/too-large"


def test_iterations_of_copies_count() -> None:
    """A nest of loops has as many iterations as its innermost ones, whether they were evaluated or copied."""
    def nest(x):
        s = 0.0
        for k in range(30):
            s = s + power(x + k, 5)
        return s

    arguments = {"x": Leaf(FLOAT)}
    specialise(nest, arguments, loops="unroll", max_unroll=150)
    with pytest.raises(FlattenError) as refused:
        specialise(nest, arguments, loops="unroll", max_unroll=149)
    assert refused.value.code == "flatten/loop-too-long"
