"""Every construct that can be flattened, and the code of every refusal."""

from __future__ import annotations

import asyncio
import collections
import colorsys
import dataclasses
import functools
import inspect
import math
import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pyflat
from tests.support.steps import steps_of
from tests.support.twins import agree, refused

# --- control flow


def elif_chain(x: float) -> float:
    if x < -1:
        y = -1.0
    elif x < 0:
        y = x
    elif x == 0:
        y = 0.5
    else:
        y = x * x
    return y


def conditional_expressions(x: float, y: float) -> float:
    return (x if x > y else y - 1) - (1 if x > 0 else 0.5)


def and_or_give_operands(x: float, y: float) -> float:
    return (x and y) * 10 + (x or y)


def not_of_numbers(x: float, n: int) -> bool:
    return not x or not n


def chained(x: float, y: float) -> bool:
    return -1 < x <= y != 3


def chained_with_call(x: float, y: float) -> bool:
    return x < abs(y) < 10


def range_forms(x: float) -> float:
    s = x
    for i in range(3):
        s += i
    for i in range(2, 5):
        s *= i
    for i in range(5, -1, -2):
        s -= i
    for i in range(0):
        s = 100.0
    for i in range(3, 1):
        s = 100.0
    return s + i


def over_literals(x: float) -> float:
    s = 0.0
    for v in (x, 2.0, x + 1):
        s += v
    for v in [1, 2, x]:
        s -= v
    for v in {1: 2, 3: 4}:
        s += v
    return s


WEIGHTS = (0.25, -0.5, 2.0)
TABLE = [3, 1, 2]


def over_tables(x: float) -> float:
    s = 0.0
    for i, w in enumerate(WEIGHTS):
        s += w * x**i
    for i, w in enumerate(TABLE, start=1):
        s += w * i
    for w, t in zip(WEIGHTS, TABLE):
        s += w * t
    for w in reversed(WEIGHTS):
        s = s * 0.5 + w
    for i, (w, t) in enumerate(zip(WEIGHTS, TABLE)):
        s -= i + w * t
    for i in reversed(range(3)):
        s = s + i * x
    return s


def break_continue_else(x: float) -> float:
    s = 0.0
    for i in range(4):
        if i > x:
            break
        if i == 1:
            continue
        s += i
    else:
        s = -s
    return s


def nested_loops(x: float) -> float:
    s = 0.0
    for i in range(3):
        for j in range(i + 1):
            if j * 0.5 > x:
                break
            s += i * j
        else:
            continue
        s += 100
    return s


def writing_the_loop_variable(x: float) -> float:
    s = 0.0
    for i in range(3):
        i = i * 10 + x
        s += i
    return s + i


def static_while(x: float) -> float:
    n, s = 0, 0.0
    while n < 4:
        n += 1
        if n == 2:
            continue
        s += n * x
    while True:
        n -= 1
        s -= 1
        if n == 0:
            break
    return s


def while_else(x: float) -> float:
    n = 2
    while n:
        n -= 1
        if x > n:
            break
    else:
        return -1.0
    return float(n)


def augmented(x: float, n: int) -> tuple[float, int]:
    x += 1
    x -= 0.5
    x *= 2
    x /= 3
    n += 1
    n ^= 3
    n |= 8
    n &= 15
    n <<= 2
    n >>= 1
    n //= 3
    n %= 5
    n **= 2
    return x, n


def swaps(x: float, y: float) -> float:
    x, y = y, x
    (a, b), c = (x, y), 1
    a, *rest = a, b, c
    return x - y + a * rest[0] + rest[1]


def annotations_and_pass(x: float) -> float:
    """Docstring."""
    y: float
    y = x
    z: float = y
    pass
    "text"
    return z


def walrus(x: float) -> float:
    if (y := x * 2) > 1 and (z := y + 1) > 4:
        return z
    return y


def walrus_masked(x: float) -> float:
    z = -1.0
    if x > 0 and (z := x) > 2:
        pass
    return z


# --- calls


def _scale(x: float, factor: float = 2.0, *, offset: float = 0.5) -> float:
    return x * factor + offset


def defaults_and_keywords(x: float, y: float) -> float:
    return _scale(x) + _scale(y, 3.0) + _scale(x, offset=y) + _scale(factor=x, x=y)


def _total(*values: float) -> float:
    s = 0.0
    for v in values:
        s += v
    return s / len(values)


def star_arguments(x: float, y: float) -> float:
    return _total(x) + _total(x, y) + _total(*(x, y, 1.0))


def lambdas_and_nested(x: float, y: float) -> float:
    def inner(v: float) -> float:
        if v > y:
            return v - y
        return v

    double = lambda v: v * 2
    return inner(x) + double(y) + inner(double(x))


def closure_sees_later_value(x: float) -> float:
    k = 1.0

    def f(v: float) -> float:
        return v * k

    k = 3.0
    return f(x)


def _apply(f: Callable[[float], float], x: float) -> float:
    return f(x) + f(-x)


def functions_as_arguments(x: float) -> float:
    return _apply(abs, x) + _apply(lambda v: v + 1 if v > 0 else v, x) + _apply(_total, x)


def _power(x: float, n: int) -> float:
    return 1.0 if n == 0 else x * _power(x, n - 1)


def static_recursion(x: float) -> float:
    return _power(x, 5)


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass(frozen=True)
class Pair:
    low: float
    high: float


def namedtuple_result(x: float, y: float) -> Point:
    if x > y:
        return Point(y, x)
    return Point(x, y)


def dataclass_inside(x: float, y: float) -> float:
    p = Pair(min(x, y), high=max(x, y))
    return p.high - p.low


@dataclasses.dataclass
class Doubled:
    """A dataclass keeps an `__init__` that the class wrote itself."""

    low: float
    scale: float = 3.0

    def __init__(self, low: float):
        self.low = low * 2


@dataclasses.dataclass
class Checked:
    low: float
    width: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if self.low < 0:
            raise ValueError("low")
        self.width = self.low + 1


def dataclass_with_its_own_init(x: float) -> float:
    d = Doubled(x)
    return d.low + d.scale


def dataclass_with_post_init(x: float) -> float:
    c = Checked(x)
    return c.low * c.width


class Model:
    """Methods of an object that does not change."""

    rate = 0.5

    def __init__(self, offset: float):
        self.offset = offset

    def value(self, x: float) -> float:
        return self.shifted(x) * self.rate if x > 0 else self.offset

    def shifted(self, x: float) -> float:
        return x + self.offset


def local_lists(x: float, y: float) -> float:
    a = [x, y, 0.0]
    b = a
    b[2] = x + y
    if x > 0:
        a[0] = -1.0
    a.append(y)
    return a[0] + b[2] * 10 + len(a) + a[-1]


def table_by_lane(n: int) -> float:
    return WEIGHTS[n]


# --- primitives


def arithmetic(x: float, y: float) -> float:
    return (x + y) * (x - y) / (abs(y) + 1) + x // 2 + x % 3


def floor_division(x: float, y: float) -> float:
    return x // y


def modulo(x: float, y: float) -> float:
    return x % y


def int_division(m: int, n: int) -> tuple[int, int]:
    return m // n, m % n


def true_division(m: int, n: int) -> float:
    return m / n


def int_overflow(m: int, n: int) -> int:
    return m * n + m - n


def powers(x: float, n: int) -> tuple[float, int]:
    return x**2 + x**3, n**2


def bit_operations(m: int, n: int) -> int:
    return (m & n) ^ (m | 3) + ~n


def shifts(m: int, n: int) -> int:
    return (m >> n) + (1 << n)


def comparisons_of_kinds(x: float, n: int) -> bool:
    return (x < n) == (n >= x) and n != x


def conversions(x: float, n: int) -> float:
    return float(n) + int(x) + bool(x) + int(bool(n))


def rounding(x: float) -> tuple[int, int, int, int]:
    return round(x), math.floor(x), math.ceil(x), math.trunc(x)


def round_to_digits(x: float) -> float:
    return round(x, 1)


def min_max(x: float, y: float) -> tuple[float, float, float]:
    return min(x, y), max(x, y), min(x, 1.0, y)


def mixed_kind_min(x: float, n: int) -> float:
    return max(n, x) + 0.5


def quotient_and_rest(m: int, n: int) -> tuple[int, int]:
    return divmod(m, n)


def folds(x: float, y: float) -> float:
    return sum((x, y, 1.0)) + sum([x, y], 2.0) + any((x > 0, y > 0)) + all([x > 0, y > 0]) + len((x, y))


def bool_arithmetic(x: float, y: float) -> int:
    return (x > 0) + (y > 0) * 2 - (x > y)


def membership(n: int) -> bool:
    return n in (1, 2, 3)


def math_exact(x: float) -> float:
    return math.copysign(math.fabs(x), -1.0) + math.fmod(x, 3.0)


def math_root(x: float) -> float:
    return math.sqrt(x)


def predicates(x: float) -> tuple[bool, bool, bool]:
    return math.isnan(x), math.isinf(x), math.isfinite(x)


def mixed_return(x: float) -> float:
    if x > 0:
        return 1
    return x


def bool_or_int(x: float) -> int:
    if x > 0:
        return True
    return 3


def constants_of_modules(x: float) -> float:
    return x * math.pi + math.e - math.inf * (x > 1e9)


def hash_that_wraps(n: int) -> int:
    h = (n * 2654435761 + 12345) & 0xFFFFFFFF
    h ^= h >> 16
    return h & 1023


CASES: list[tuple[Callable[..., Any], str]] = [
    (elif_chain, "f"), (conditional_expressions, "ff"), (and_or_give_operands, "ff"), (not_of_numbers, "fi"), (chained, "ff"),
    (chained_with_call, "ff"), (range_forms, "f"), (over_literals, "f"), (over_tables, "f"), (break_continue_else, "f"),
    (nested_loops, "f"), (writing_the_loop_variable, "f"), (static_while, "f"), (while_else, "f"), (augmented, "fi"),
    (swaps, "ff"), (annotations_and_pass, "f"), (walrus, "f"), (walrus_masked, "f"), (defaults_and_keywords, "ff"),
    (star_arguments, "ff"), (lambdas_and_nested, "ff"), (closure_sees_later_value, "f"), (functions_as_arguments, "f"),
    (static_recursion, "f"), (dataclass_inside, "ff"), (dataclass_with_its_own_init, "f"), (dataclass_with_post_init, "f"), (local_lists, "ff"), (table_by_lane, "i"), (arithmetic, "ff"),
    (floor_division, "ff"), (modulo, "ff"), (int_division, "ii"), (true_division, "ii"), (int_overflow, "ii"), (powers, "fi"),
    (bit_operations, "ii"), (comparisons_of_kinds, "fi"), (conversions, "fi"), (rounding, "f"),
    (round_to_digits, "f"), (min_max, "ff"), (mixed_kind_min, "fi"), (quotient_and_rest, "ii"), (folds, "ff"),
    (bool_arithmetic, "ff"), (membership, "i"), (math_exact, "f"), (math_root, "f"), (predicates, "f"), (mixed_return, "f"),
    (bool_or_int, "f"), (constants_of_modules, "f"), (hash_that_wraps, "i"),
]
BY_NAME = {fn.__name__: (fn, kinds) for fn, kinds in CASES}
ON_NUMBA = ("over_tables", "nested_loops", "augmented", "local_lists", "table_by_lane", "int_division", "floor_division", "modulo",
            "int_overflow", "rounding", "min_max", "membership", "hash_that_wraps")


@pytest.mark.parametrize("name", BY_NAME)
def test_construct_on_numpy(name: str) -> None:
    fn, kinds = BY_NAME[name]
    agree(fn, kinds)


@pytest.mark.parametrize("name", ON_NUMBA)
def test_construct_on_numba(name: str) -> None:
    fn, kinds = BY_NAME[name]
    agree(fn, kinds, target="numba")


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_shifts(target: str) -> None:
    counts = (-1, 0, 1, 5, 31, 62, 63, 64, 65, 80)
    rows = [(m, n) for m in (0, 1, -1, 12345, -98765, 2**62, 2**63 - 1, -(2**63)) for n in counts]
    agree(shifts, "ii", target=target, rows=rows)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tan", "atan", "tanh", "log10", "log2", "log1p", "expm1", "sinh", "cosh",
                                  "asin", "acos", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc"])
def test_elementary_functions_of_libm(name: str) -> None:
    fn = getattr(math, name)

    def call(x: float) -> float:
        return fn(x)

    agree(call, "f", math="exact")


def test_two_argument_functions_of_libm() -> None:
    def call(x: float, y: float) -> float:
        return math.atan2(x, y) + math.hypot(x, y)

    agree(call, "ff", math="exact")


def test_float_power() -> None:
    def call(x: float, y: float) -> float:
        return x**y

    rows = [(x, y) for x in (0.0, 0.5, 2.0, 10.0, math.inf, 1.0) for y in (0.0, 0.5, 1.0, -2.0, 3.5, 400.0, -math.inf)]
    agree(call, "ff", math="exact", rows=rows)


def test_numpy_functions_on_scalars() -> None:
    def call(x: float) -> float:
        return np.where(x > 0, np.sqrt(np.abs(x)), np.floor(x))

    xs = np.array([4.0, 2.25, -1.5, 0.0])
    assert pyflat.twin(call)(xs).tolist() == [2.0, 1.5, -2.0, 0.0]


def test_namedtuple_result_comes_back_as_one() -> None:
    result = pyflat.twin(namedtuple_result)(np.array([1.0, 5.0]), np.array([2.0, 3.0]))
    assert type(result) is Point
    assert result.x.tolist() == [1.0, 3.0]
    assert result.y.tolist() == [2.0, 5.0]


def test_bound_method() -> None:
    model = Model(2.0)
    assert pyflat.twin(model.value)(np.array([-1.0, 3.0])).tolist() == [2.0, 2.5]


def test_partial() -> None:
    twin = pyflat.twin(functools.partial(_scale, factor=10.0))
    assert twin(np.array([1.0, 2.0])).tolist() == [10.5, 20.5]


def test_static_argument_takes_its_arm_and_ignores_the_other() -> None:
    def price(x: float, method: str = "plain") -> float:
        if method == "plain":
            return x + 1
        with open(method) as file:
            return float(file.read())

    assert pyflat.twin(price, static="method")(np.array([1.0]), "plain").tolist() == [2.0]
    assert refused(price, np.array([1.0]), "other", static="method").code == "flatten/unsupported-statement"


# --- limits


def test_a_shared_argument_does_not_explode() -> None:
    """A helper that uses its argument four times, nested twelve deep: values are shared, 4**12 copies are not."""

    def quad(v: float) -> float:
        return v * v + v / (abs(v) + 1)

    def nested(x: float) -> float:
        return quad(quad(quad(quad(quad(quad(quad(quad(quad(quad(quad(quad(x))))))))))))

    twin = agree(nested, "f")
    assert twin.show("structured").count(" = ") < 100
    assert len(twin.source) < 10_000


def test_flattening_grows_linearly_with_the_unrolled_size() -> None:
    def steps(trips: int) -> int:
        def loop(x: float) -> float:
            s = x
            for i in range(trips):
                s = s * 0.5 + i
            return s

        return steps_of(lambda: pyflat.twin(loop)(np.ones(3)))

    steps(10)
    assert steps(2000) < 1.2 * 4 * steps(500)


def test_loop_too_long_says_how_long() -> None:
    def loop(x: float) -> float:
        for i in range(100):
            for j in range(100):
                x = x * 0.5 + i
        return x

    with pytest.raises(pyflat.FlattenError, match="10,000 iterations") as caught:
        pyflat.twin(loop, loops="unroll")(np.ones(2))
    assert caught.value.code == "flatten/loop-too-long"
    assert pyflat.twin(loop, loops="unroll", max_unroll=10_000)(np.ones(2)).tolist() == [loop(1.0)] * 2
    assert pyflat.twin(loop)(np.ones(2)).tolist() == [loop(1.0)] * 2


# --- refusals


def while_on_lanes(x: float) -> float:
    while x > 1:
        x = x / 2
    return x


def range_of_lane(n: int) -> int:
    s = 0
    for i in range(n):
        s += i
    return s


def _ping(n: int) -> int:
    return 0 if n <= 0 else mutual_recursion(n - 1)


def mutual_recursion(n: int) -> int:
    return 1 if n <= 0 else _ping(n - 1)


def prints(x: float) -> float:
    print(x)
    return x


def opens(x: float) -> float:
    return float(len(open("file").read())) + x


def unknown_builtin(x: float) -> float:
    return hash(x) + 1.0


COUNTER = 0


def writes_global(x: float) -> float:
    global COUNTER
    COUNTER = COUNTER + 1
    return x


def appends_to_captured(x: float) -> float:
    TABLE.append(3)
    return x


def stores_into_captured(x: float) -> float:
    TABLE[0] = 3
    return x


def generates(x: float) -> Any:
    yield x


async def coroutine(x: float) -> float:
    await asyncio.sleep(0)
    return x


def with_statement(x: float) -> float:
    with open("file"):
        return x


def deletes_captured(x: float) -> float:
    del TABLE[0]
    return x


def none_or_number(x: float) -> Any:
    if x > 0:
        return x
    return None


def tuple_or_number(x: float) -> Any:
    if x > 0:
        return x, x
    return x


def undefined_name(x: float) -> float:
    return x + not_defined_anywhere  # noqa: F821


def wrong_number_of_arguments(x: float) -> float:
    return _scale(x, 1.0, 2.0, 3.0)


VECTOR = np.array([1.0, 2.0])


def calls_unknown_c_function(x: float) -> float:
    return operator.itemgetter(0)((x,)) + collections.deque([x])[0]


def string_of_lane(x: float) -> int:
    return len(str(x))


def lane_as_key(n: int) -> int:
    return {1: 10, 2: 20}.get(n, 0) + len((0,) * n)


def large_constant(n: int) -> int:
    return n + 2**70


FLOAT, INT = np.array([1.0, 2.5, -1.0]), np.array([1, 2, 3])
REFUSED: list[tuple[Callable[..., Any], np.ndarray[Any, Any], str]] = [
    (mutual_recursion, INT, "flatten/recursion"),
    (prints, FLOAT, "flatten/unknown-call"),
    (opens, FLOAT, "flatten/unknown-call"),
    (unknown_builtin, FLOAT, "flatten/unknown-call"),
    (writes_global, FLOAT, "flatten/effect"),
    (appends_to_captured, FLOAT, "flatten/effect"),
    (stores_into_captured, FLOAT, "flatten/effect"),
    (generates, FLOAT, "flatten/generator"),
    (coroutine, FLOAT, "flatten/generator"),
    (with_statement, FLOAT, "flatten/unsupported-statement"),
    (deletes_captured, FLOAT, "flatten/effect"),
    (undefined_name, FLOAT, "flatten/unbound-name"),
    (wrong_number_of_arguments, FLOAT, "flatten/bad-call"),
    (calls_unknown_c_function, FLOAT, "flatten/unknown-call"),
    (string_of_lane, FLOAT, "flatten/unsupported-expression"),
    (lane_as_key, INT, "flatten/list-mutation"),
    (large_constant, INT, "flatten/int-too-large"),
]


def test_lanes_that_return_none_are_errors() -> None:
    twin = pyflat.twin(none_or_number)
    kept, left_out = np.array([1.0, 2.5]), np.array([-1.0])
    assert twin(kept).tolist() == [none_or_number(x) for x in kept.tolist()]
    with pytest.raises(pyflat.LaneError, match="a value elsewhere"):
        twin(np.concatenate([kept, left_out]))


def test_lanes_may_return_tuples_or_numbers() -> None:
    lanes = np.array([1.0, -1.0, 2.5])
    assert pyflat.twin(tuple_or_number)(lanes).tolist() == [tuple_or_number(x) for x in lanes.tolist()]


@pytest.mark.parametrize(("fn", "lanes", "code"), REFUSED, ids=lambda v: getattr(v, "__name__", None))
def test_refusal(fn: Callable[..., Any], lanes: np.ndarray[Any, Any], code: str) -> None:
    error = refused(fn, lanes)
    assert error.code == code
    assert error.diagnostic.span is not None
    text = str(error)
    assert f"{__file__}:{error.diagnostic.span.line}:" in text
    assert "^" in text
    assert "help:" in text


@pytest.mark.parametrize(("fn", "lanes", "code"), [
    (while_on_lanes, FLOAT, "flatten/while-unbounded"), (range_of_lane, INT, "flatten/iterable-not-static")])
def test_loops_on_lanes_where_all_are_unrolled(fn: Callable[..., Any], lanes: np.ndarray[Any, Any], code: str) -> None:
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn, loops="unroll")(lanes)
    assert caught.value.code == code


def test_a_refused_function_still_works_as_the_original() -> None:
    flattened = pyflat.flatten(inject=False)(while_on_lanes)
    assert flattened(8.0) == 1.0


def _refused_inside(x: float) -> float:
    return prints(x) + 1


def test_the_inlining_chain_is_in_the_notes() -> None:
    error = refused(_refused_inside, FLOAT)
    assert error.code == "flatten/unknown-call"
    assert any("_refused_inside" in note.message or "prints" in note.message for note in error.diagnostic.notes)


def test_recursion_is_judged_by_identity_not_by_name() -> None:
    def make() -> Callable[[float], float]:
        def same(x: float) -> float:
            return x + 1

        return same

    inner = make()

    def same(x: float) -> float:
        return inner(x) * 2

    agree(same, "f")


def test_a_builtin_has_no_source() -> None:
    assert refused(math.sqrt, 1.0).code in ("flatten/not-a-function", "flatten/source-missing")


def test_unknown_static_name() -> None:
    with pytest.raises((pyflat.FlattenError, TypeError), match="nonsense"):
        pyflat.twin(elif_chain, static="nonsense")(1.0)


# --- the text


def straight(x, y):
    # a comment
    z = x*y  +  (x - y)   # odd spacing
    w = z * 2.0

    return (w + z)


def test_a_branchless_function_comes_back_byte_for_byte() -> None:
    text = pyflat.twin(straight).source
    original = inspect.getsource(straight)
    header, _, body = text.partition("def ")
    assert all(line.startswith("#") for line in header.splitlines())
    assert "def " + body == original.replace("def straight(", "def straight_flat(")


def one_name(x: float) -> float:
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def two_returns(x: float) -> float:
    if x > 0.5:
        return x * 2.0
    return x


@pytest.mark.parametrize("fn", [one_name, two_returns])
def test_one_decision_is_one_select(fn: Callable[..., Any]) -> None:
    text = str(pyflat.twin(fn).show())
    body = text[text.index("def ") :]
    assert body.count("select(") + body.count(" if ") == 1


def test_no_exit_no_mask() -> None:
    text = str(pyflat.twin(elif_chain).show())
    assert "live" not in text


def long_loop_with_an_exit(x: float) -> float:
    s = 0.0
    for _i in range(4096):
        s = s * 0.5 + x
        if s > 1e9:
            break
    return s


def test_a_long_loop_that_lanes_leave_stays_a_loop() -> None:
    """Unrolled it is thousands of operations, with the same values."""
    from pyflat.ir.shape import Leaf
    from pyflat.ir.types import FLOAT as LANE
    from pyflat.runtime.compiled import flatten

    options = pyflat.twin(long_loop_with_an_exit).options
    assert flatten(long_loop_with_an_exit, {"x": Leaf(LANE)}, options).flat.form == "masked"
    agree(long_loop_with_an_exit, "f")
    agree(long_loop_with_an_exit, "f", target="numba")
    unrolled = pyflat.twin(long_loop_with_an_exit, loops="unroll")
    for twin in (unrolled, unrolled.to("numba")):
        assert twin(np.array([1.0])).tolist() == [long_loop_with_an_exit(1.0)]


def test_builtins_that_a_shell_takes_away_are_not_needed() -> None:
    """IPython and `python -S` have no exit and quit."""
    code = ("import builtins; [delattr(builtins, n) for n in ('exit', 'quit') if hasattr(builtins, n)]; "
            "import colorsys, pyflat; print(repr(pyflat.twin(colorsys.rgb_to_yiq)(0.5, 0.5, 0.5)[0]))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == repr(colorsys.rgb_to_yiq(0.5, 0.5, 0.5)[0]), run.stderr


# --- a power of ints is an int or a float


def _power_of_two(n: int):
    return 2**n


def _power_tested(n: int):
    if n < 0:
        return 0
    return 3**n


def _powers_summed(n: int):
    total = 0
    for i in range(n):
        total += 3**i
    return total


def _power_of_rest(n: int):
    return 3 ** (n % 5)


def _power_of_size(n: int):
    return 2 ** abs(n)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("lanes", [[3, 5, 62], [3, -1, -1074], [0, 64, -2]])
def test_a_power_of_unknown_sign_has_float_lanes(lanes: list[int], target: str) -> None:
    found = pyflat.twin(_power_of_two, target=target)(np.array(lanes))
    assert found.dtype == np.float64
    assert found.tolist() == [_power_of_two(n) for n in lanes]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [_power_tested, _powers_summed, _power_of_rest, _power_of_size])
def test_a_power_whose_exponent_is_not_negative_has_int_lanes(fn, target: str) -> None:
    lanes = [0, 1, 5, -3, 35]
    found = pyflat.twin(fn, target=target)(np.array(lanes))
    assert found.dtype == np.int64
    assert found.tolist() == [fn(n) for n in lanes]
