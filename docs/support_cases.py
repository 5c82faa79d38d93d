"""What flattens and what is refused, as functions that run: docs/reference/support.md is made from this table.

tests/project/test_docs.py flattens every case on each target and compares it with its original over `lanes`, or
checks the code of the refusal, so that the page cannot promise what is not so.
"""

from __future__ import annotations

import cmath
import contextlib
import enum
import functools
import inspect
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Case:
    """One row: `code` is "" for what flattens, else the code of the refusal."""

    section: str
    title: str
    function: Callable[..., Any]
    lanes: tuple[tuple[Any, ...], ...]
    code: str = ""
    options: dict[str, Any] = field(default_factory=dict)


CASES: list[Case] = []

FLOATS = (-2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.75, 10.0, math.inf, math.nan)
FINITE = FLOATS[:-2]
POSITIVE = (0.25, 0.5, 1.0, 2.0, 3.75, 10.0)
INTS = (-7, -3, -1, 0, 1, 2, 5, 8, 100)
BOOLS = (False, True)


def case(
    section: str, title: str, *columns: tuple[Any, ...], code: str = "", **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the decorated function; its lanes are the columns' values, the shorter columns repeated."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        longest = max(map(len, columns), default=0)
        lanes = tuple(tuple(column[(i + i // len(column)) % len(column)] for i in range(longest)) for column in columns)
        CASES.append(Case(section, title, function, lanes, code, options))
        return function

    return add


# --- decisions

SECTION = "Decisions"


@case(SECTION, "`if` / `elif` / `else`", FLOATS)
def grade(x):
    if x > 2.0:
        y = 3.0
    elif x > 0.0:
        y = 2.0
    else:
        y = x
    return y


@case(SECTION, "nested `if`", FLOATS, FLOATS)
def quadrant(x, y):
    if x >= 0.0:
        if y >= 0.0:
            return 1
        return 4
    else:
        if y >= 0.0:
            return 2
    return 3


@case(SECTION, "early and multiple `return`", FLOATS)
def early(x):
    if x < 0.0:
        return -1.0
    y = x * 2.0
    if y > 3.0:
        return y
    return y + 1.0


@case(SECTION, "conditional expression", FLOATS)
def conditional(x):
    return x * 2.0 if x > 1.0 else -x


@case(SECTION, "`and`, `or` give an operand", FLOATS, FLOATS)
def operands(x, y):
    return x and y or x + 1.0


@case(SECTION, "`not`, truth of a number", FLOATS)
def truth(x):
    if not x:
        return 1.0
    return 2.0 if x else 3.0


@case(SECTION, "chained comparison", FLOATS, FLOATS)
def chained(x, y):
    return 0.0 < x <= y < 9.0


@case(SECTION, "static condition: the other branch is ignored", FLOATS)
def static_arm(x, method="exact"):
    if method == "exact":
        return x * 2.0
    return open(method)


@case(SECTION, "`None` default and `is None`", FLOATS)
def none_default(x, limit=None):
    if limit is None:
        limit = 1.0
    return min(x, limit)


@case(SECTION, "`in` a literal tuple", INTS)
def member(n):
    return n in (1, 2, 5)


@case(SECTION, "`raise` in a branch that no element takes", POSITIVE)
def guarded(x):
    if x <= 0.0:
        raise ValueError("x must be positive")
    return math.log(x)


@case(SECTION, "`assert`", POSITIVE)
def asserted(x):
    assert x > 0.0, "positive"
    return math.sqrt(x)


# --- loops

SECTION = "Loops"


@case(SECTION, "`for` over `range` with constant bounds", FLOATS)
def power_sum(x):
    total = 0.0
    for i in range(1, 5):
        total += x / i
    return total


@case(SECTION, "negative step, empty range", FLOATS)
def downwards(x):
    for i in range(6, 0, -2):
        x = x * 0.5 + i
    for i in range(3, 3):
        x = 99.0
    return x


@case(SECTION, "`break`", FLOATS)
def until(x):
    n = 0
    for i in range(8):
        if x > 5.0:
            break
        x = x * 2.0 + 1.0
        n = i
    return x, n


@case(SECTION, "`continue`", FLOATS)
def skipping(x):
    total = 0.0
    for i in range(6):
        if x > i:
            continue
        total += i
    return total


@case(SECTION, "loop `else`", FLOATS)
def searching(x):
    for i in range(4):
        if x < i:
            found = i
            break
    else:
        found = -1
    return found


@case(SECTION, "nested loops, `return` inside", FLOATS)
def product_above(x):
    for i in range(3):
        for j in range(3):
            if i * j > x:
                return i * 10 + j
    return -1


@case(SECTION, "over tuples and lists, `enumerate`, `zip`, `reversed`", FLOATS)
def over_sequences(x):
    total = 0.0
    for i, c in enumerate((1.0, -2.0, 0.5)):
        total = total * x + c * i
    for a, b in zip([1.0, 2.0], (3.0, 4.0)):
        total += a * b
    for c in reversed((1.0, 2.0)):
        total = total / 2.0 + c
    return total


TABLE = np.array([0.5, 1.5, -2.0])


@case(SECTION, "`enumerate` with a start that varies by element", INTS)
def over_numbered(n):
    return sum(i * c for i, c in enumerate((1, -2, 5), start=n))


@case(SECTION, "over a captured array", FLOATS)
def over_array(x):
    total = 0.0
    for c in TABLE:
        total = total * x + c
    return total


@case(SECTION, "`while` with a static iteration count", FLOATS)
def counted_while(x):
    i = 0
    while i < 4:
        x = x * 0.5 + i
        i += 1
    return x


@case(SECTION, "`while` that depends on the data: kept as a loop", POSITIVE)
def lane_while(x):
    while x > 1.0:
        x = x / 2.0
    return x


@case(SECTION, "more iterations than `max_unroll`: kept as a loop", FLOATS)
def too_long(x):
    for i in range(10_000):
        x = x * 0.5
    return x


@case(SECTION, "`range` with a bound that varies by element: kept as a loop", INTS)
def lane_range(n):
    total = 0
    for i in range(n):
        total += i
    return total


@case(SECTION, "nested `while` loops, with `return`, whose iteration counts vary by element", POSITIVE)
def nested_while(x):
    steps = 0
    while x > 0.5:
        y = x
        while y > 1.0:
            y, steps = y / 2.0, steps + 1
            if steps > 9:
                return x, steps
        x = x - 0.75
    return x, steps


@case(SECTION, "Euclid's algorithm: `while b:`", INTS, INTS)
def gcd(a, b):
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@case(SECTION, "a list changed in a kept loop, at an index that varies by element", INTS)
def collatz(n):
    steps = [0, 0]
    while n > 1:
        steps[n % 2] += 1
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return steps[0], steps[1]


@case(SECTION, "an array in a kept loop", POSITIVE)
def array_in_loop(x):
    v = np.array([x, 1.0])
    while v[0] > 0.5:
        v = v * 0.5
    return v.sum()


# --- statements and names

SECTION = "Statements and names"


@case(SECTION, "`+=` and the like", FINITE)
def augmented(x):
    x += 1.5
    x *= x
    x -= 0.25
    return x


@case(SECTION, "tuple assignment, swap", FLOATS, FLOATS)
def swap(x, y):
    if x > y:
        x, y = y, x
    a, (b, c) = x, (y, 1.0)
    return a, b + c


@case(SECTION, "annotations, docstring, `pass`", FLOATS)
def annotated(x: float) -> float:
    """Doubles."""
    y: float = x * 2.0
    if y > 1.0:
        pass
    return y


@case(SECTION, "walrus", FLOATS)
def walrus(x):
    if x > 0.0 and (y := x * 2.0) > 1.5:
        return y
    return 0.0


@case(SECTION, "local lists, indexing with a static index", FLOATS)
def local_list(x):
    values = [x, x * 2.0, 1.0]
    values[1] = values[0] + values[2]
    return values[1] - values[-1]


@case(SECTION, "`match` on numbers, with guards", INTS)
def matched(n):
    match n:
        case 0:
            return 10
        case 1 | 2:
            return 20
        case _ if n > 5:
            return 30
        case _:
            return n


@case(SECTION, "`match` on a tuple, with captures", FLOATS, FLOATS)
def matched_pair(x, y):
    match (x, y):
        case (0.0, other):
            return other
        case (other, 0.0):
            return -other
        case (a, b):
            return a + b


@case(SECTION, "comprehensions", FINITE)
def comprehensions(x):
    odd = [c * x for c in (1.0, 2.0, 3.0) if c != 2.0]
    table = {c: c * x for c in (1, 2)}
    return odd[-1] + table[2]


@case(SECTION, "generator expressions in `sum`, `any`, `all`, `min`, `max`", FINITE)
def generators(x):
    return sum(c * x**i for i, c in enumerate((1.0, 2.0, 3.0))), any(x > t for t in (1.0, 5.0))


@case(SECTION, "`import` in the function", POSITIVE)
def importing(x):
    import math as m

    return m.sqrt(x)


@case(SECTION, "`print`, `warnings.warn` and logging under a condition: the original runs there", FLOATS)
def reporting(x):
    if x < 0.0:
        print("negative:", x)
        return 0.0
    return x


@case(SECTION, "`print` for every element, and other effects", FLOATS, code="flatten/unknown-call")
def printing(x):
    print(x)
    return x


@case(SECTION, "writing a global", FLOATS, code="flatten/effect")
def writing(x):
    global CASES
    CASES = x
    return x


@case(SECTION, "`with`: context managers written in Python, `contextlib.suppress`, locks", FLOATS)
def entered(x):
    level, out = Level(), 0.0
    with level as inside, contextlib.suppress(ZeroDivisionError):
        out = 1.0 / x + inside.depth
    return out + level.depth


class Level:
    depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, cls, error, trace):
        self.depth -= 1


@case(SECTION, "`with`: context managers that do I/O or are generators", FLOATS, code="flatten/unsupported-statement")
def managed(x):
    with open("file") as stream:
        return x + len(stream.read())


@case(SECTION, "returning a generator", FLOATS, code="flatten/generator")
def yielding(x):
    yield x


@case(SECTION, "an unknown name", FLOATS, code="flatten/unbound-name")
def unknown(x):
    return x + nowhere  # noqa: F821


# --- exceptions

SECTION = "Exceptions"


@case(SECTION, "`try` around an operation that may raise", FLOATS)
def caught(x):
    try:
        return 1.0 / x
    except ZeroDivisionError:
        return 0.0


class Negative(ValueError):
    def __init__(self, value):
        super().__init__(f"{value:.2f} is negative")
        self.value = value


def root(x):
    if x < 0:
        raise Negative(x)
    return math.sqrt(x)


@case(SECTION, "a user-defined exception with an `__init__`, raised by a helper", FINITE)
def own_exception(x):
    try:
        return root(x)
    except Negative:
        return -1.0


@case(SECTION, "several exceptions, `else`, `finally`", FINITE)
def caught_more(x):
    try:
        y = math.sqrt(x)
    except (ValueError, OverflowError):
        y = -1.0
    else:
        y += 1.0
    finally:
        x = 2.0
    return x * y


def checked(x):
    if x < 0.0:
        raise ValueError("negative")
    return x


@case(SECTION, "catching an exception of a helper", FINITE)
def caught_call(x):
    try:
        return checked(x)
    except ValueError:
        return 99.0


@case(SECTION, "`return`, `break`, `continue` through `finally`", FLOATS)
def left_through_finally(x):
    depth = 0
    for i in range(3):
        try:
            depth += 1
            if x > i:
                continue
            return x * depth
        finally:
            depth -= 1
    return depth


@case(SECTION, "`return` in a `finally` block", FLOATS)
def swallowed(x):
    try:
        return 1.0 / x
    finally:
        return 0.0  # noqa: B012


# --- what is outside of the function

SECTION = "Captured objects that are written"
BUFFER = [0.0, 0.0]
CALLS = {"count": 0}
SQUARES: dict[int, int] = {}


@case(SECTION, "scratch space: every call writes it before reading", FLOATS)
def scratch(x):
    BUFFER[0] = x * 2.0
    BUFFER[1] = BUFFER[0] + 1.0
    return BUFFER[0] * BUFFER[1]


@case(SECTION, "a counter that the function never reads", FLOATS)
def counting(x):
    CALLS["count"] += 1
    return -x


@case(SECTION, "a cache whose keys determine its values", INTS)
def cached(n):
    if n not in SQUARES:
        SQUARES[n] = n * n
    return SQUARES[n]


@case(SECTION, "`nonlocal` variables of nested functions", FLOATS)
def nonlocal_total(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 0.0:
            total += v

    add(x)
    add(1.5)
    return total


@case(SECTION, "reading a value that an earlier call wrote", FLOATS, code="flatten/effect")
def smoothed(x):
    before = BUFFER[0]
    BUFFER[0] = x
    return before + x


@case(SECTION, "writing results for other code to read", FLOATS, code="flatten/effect")
def stored(x):
    BUFFER[0] = x
    return x


# --- objects, arrays and other values

SECTION = "Objects, arrays and other values"
TABLE_X, TABLE_Y = np.array([0.0, 1.0, 2.5]), np.array([1.0, 3.0, -1.0])
GRID = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])


@dataclass
class Ball:
    """An object with state."""

    height: float
    speed: float

    def step(self, dt):
        self.speed -= 9.81 * dt
        self.height += self.speed * dt


@case(SECTION, "objects made in the function, their methods and attributes", POSITIVE)
def bouncing(height):
    ball = Ball(height, 0.0)
    for _ in range(5):
        ball.step(0.125)
        if ball.height < 0.0:
            ball.speed = -ball.speed
    return ball.height


@case(SECTION, "objects changed in a kept loop", POSITIVE)
def falling(height):
    ball = Ball(height, 0.0)
    n = 0
    while ball.height > 0.0:
        ball.step(0.125)
        n += 1
    return ball.speed, n


@case(SECTION, "small NumPy arrays: arithmetic, indexing, `.sum()`", FINITE, FINITE)
def vectors(x, y):
    v = np.array([x, y, 1.0])
    w = np.array([1.0, x, 0.5])
    return v[0] * w[1] + (v * 2.0 + w).sum()


@case(SECTION, "NumPy arrays written by item, slice, mask or computed index; views and aliases", FINITE, INTS)
def written_array(x, n):
    w = np.zeros((2, 2))
    w[0, 1] = x
    row = w[1]
    row[abs(n) % 2] = 2.0 * x
    w[w < 0.0] = -1.0
    w += 1.0
    return w[0, 1], w[1, 0], row[1]


@case(SECTION, "small matrices: `@`, `.T`, `np.cross`, `np.linalg.norm`", FINITE, FINITE)
def turned(x, y):
    m = np.array([[x, 1.0], [2.0, y]])
    v = m @ np.array([1.0, x])
    return v[0], m.T[0, 1], np.cross([x, y, 1.0], [1.0, 0.5, x])[2], np.linalg.norm(v)


@case(SECTION, "reductions in NumPy's order: `np.sum`, `np.mean`, `np.max`, `np.median`, ...", FINITE, POSITIVE)
def reduced(x, y):
    v = np.array([x, y, 1.5])
    return np.sum(v), np.mean([x, y]), np.max(v), np.argmax(v), np.any(v > 2.0), np.cumsum(v)[1], np.std(v)


@case(SECTION, "`np.interp`, `np.searchsorted`, `np.digitize` on known tables", FLOATS)
def read_off(x):
    return np.interp(x, TABLE_X, TABLE_Y), np.searchsorted(TABLE_X, x), np.digitize(x, TABLE_X)


@case(SECTION, "captured two-dimensional tables at computed indices", (0, 1, -1), (1, 0, 2))
def cell(i, j):
    return GRID[i, j] + GRID[i][j] + GRID[:, j].sum()


@case(SECTION, "arrays carried by a kept loop", POSITIVE)
def settling(x):
    v = np.array([x, 1.0])
    while v[0] > 0.5:
        v = v * np.array([0.5, 1.25])
    return v[0], v[1]


@case(SECTION, "array results: a further axis, after those of the arguments", FINITE, FINITE)
def point(x, y):
    return np.array([x, y, x + y])


@case(SECTION, "selecting items of an array by a mask that varies by element", FLOATS, code="flatten/lane-to-object")
def picked(x):
    v = np.array([x, 1.0])
    return v[v > 0.0].sum()


@case(SECTION, "`np.vectorize` of a function, with `otypes=` and without; `np.modf`", FLOATS)
def vectorized(x):
    half = np.vectorize(lambda each: each * 0.5, otypes=[float])
    return half(x), np.modf(x)[0], np.vectorize(lambda each: each + 1.0)(np.array([x, 2.0]))[0]


@case(SECTION, "`isinstance`, `type` and `hasattr` of NumPy's numbers", FLOATS)
def numpy_classes(x):
    return isinstance(np.sqrt(abs(x)), np.floating), type(np.asarray(x)) is np.ndarray, hasattr(x, "shape")


@case(SECTION, "`np.interp` on a table that is not sorted", FLOATS, code="flatten/unsupported-expression")
def unsorted_table(x):
    return np.interp(x, [1.0, 0.0], [2.0, 3.0])


@case(SECTION, "special methods: `float(o)`, `int(o)`, `if o`, `xs[o]`, `round(o)`, `len(o)`", FINITE)
def asked(x):
    length = Length(x)
    return float(length) if length else (1.0, 2.0)[length]


class Length:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value * 0.5

    def __bool__(self):
        return self.value > 0.0

    def __index__(self):
        return 1 if self.value < -1.0 else 0


@case(SECTION, "`__new__` of namedtuple and tuple subclasses, `super(Class, self)`, properties with setters", FINITE)
def from_new(x):
    return Stretch(x, 1.0).width


class Stretch(NamedTuple("Ends", [("low", float), ("high", float)])):
    def __new__(cls, a, b):
        return super(Stretch, cls).__new__(cls, min(a, b), max(a, b))  # noqa: UP008

    @property
    def width(self):
        return self.high - self.low


@case(SECTION, "an enum member from a number: `Mode(n)`", INTS)
def by_value(n):
    mode = Mode(n % 3)
    return 0 if mode is Mode.OFF else mode + 10


class Mode(enum.IntEnum):
    OFF = 0
    LOW = 1
    HIGH = 2


@case(SECTION, "an enum.Flag from a number", INTS, code="flatten/unknown-call")
def flagged(n):
    return 1 if n & Access.READ else 0


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


@case(SECTION, "a string that varies by element, compared and looked up", FLOATS)
def sided(x):
    side = "left" if x < 0.0 else "right"
    if side == "left":
        return -x
    return {"left": 1.0, "right": 2.0}[side]


@case(SECTION, "a function chosen by element", FINITE)
def chosen(x):
    function = math.fabs if x > 0.0 else math.exp
    return function(x)


@case(SECTION, "`None` on one path", FLOATS)
def perhaps(x):
    y = None
    if x > 0.0:
        y = x
    return -1.0 if y is None else y


@case(SECTION, "tuples of different lengths on two paths", FLOATS)
def ragged(x):
    pair = (x, 1) if x > 0.0 else (-x, 2, x)
    return pair[1]


@case(SECTION, "a table at an index that varies by element", (0, 1, 2, 1, -1))
def looked_up(i):
    return (1.5, 2.5, -3.0)[i]


@case(SECTION, "list results", FINITE)
def listed(x):
    return [x, x + 1.0]


@case(SECTION, "dictionary results", FLOATS)
def mapping(x):
    return {"value": x}


@case(SECTION, "a list whose length varies by element", FLOATS)
def growing(x):
    values = [1.0]
    if x > 0.0:
        values.append(x)
    return len(values) + values[-1]


@case(SECTION, "comprehensions whose `if` varies by element", FLOATS)
def mean_of_some(x):
    good = [v for v in (x, 1.0 - x, x * 0.5) if v > 0.25]
    return sum(good) / len(good) if good else 0.0


@case(SECTION, "`pop`, `insert`, `remove`, `index`, `sort` and slices of such lists", FINITE)
def rearranged(x):
    values = [v for v in (x, 3.0, -x, 0.5) if v > -1.5]
    values.remove(min(values))
    values.insert(int(x) % 3, 0.75)
    values.sort(reverse=True)
    return values.pop() + values.index(3.0) + sum(values[1:])


@case(SECTION, "sets of computed numbers: `len`, `in`, `add`, `discard`, `min`, `max`, `sorted`, `==`", INTS, INTS)
def distinct(a, b):
    seen = {a, b, 2}
    if a > 1:
        seen.add(a * b)
    return len(seen), 5 in seen, max(seen)


@case(SECTION, "the order of a set of computed numbers", INTS, code="flatten/iterable-not-static")
def ordered_set(n):
    total = 0
    for member in {n, 2}:
        total = total * 10 + member
    return total


@case(SECTION, "`d[k] += 1` at a computed key, in a dict with fixed keys", INTS, INTS)
def counted(a, b):
    counts = {0: 0, 1: 0, 2: 0}
    for value in (a, b):
        counts[value % 3] += 1
    return counts[0] * 100 + counts[1] * 10 + counts[2]


@case(SECTION, "a dict whose keys vary by element: counters, `defaultdict`, `Counter`", INTS, INTS)
def counted_by_key(a, b):
    counts = {}
    for value in (a, b, a + 1):
        counts[value] = counts.get(value, 0) + 1
    return max(counts, key=counts.get), len(counts)


@case(SECTION, "a dict whose keys vary by element, as a result", INTS, code="flatten/result-kind")
def dict_of_lanes(n):
    return {n: 1}


@case(SECTION, "numbers for some elements and strings for others", FLOATS)
def number_or_text(x):
    return x * 2.0 if x > 0.0 else "n/a"


@case(SECTION, "a list of several lengths as a result", FLOATS)
def several_lengths(x):
    return [v for v in (x, 1.0) if v > 0.0]


@case(SECTION, "a list that grows in a loop whose iteration count varies by element", INTS)
def growing_by_lanes(n):
    digits = []
    while n > 0:
        digits.append(n % 10)
        n //= 10
    return sum(digits) + len(digits)


@case(SECTION, "a stack in this kind of loop: `append`, `pop`, `xs[-1]`", INTS)
def stacked(n):
    stack = [n % 50]
    visited = 0
    while stack:
        top = stack.pop()
        visited += 1
        if top > 1:
            stack.append(top // 2)
            stack.append(top - 3)
    return visited


@case(SECTION, "comprehensions, `list` and `sorted` over a range of computed length; `[0] * n`", INTS)
def made_by_lanes(n):
    divisors = [i for i in range(1, n % 50) if n % i == 0]
    flags = [False] * (n % 20)
    return sum(sorted(divisors)[-2:]), len(flags) == len(list(range(n % 20)))


@case(SECTION, "a list of lists that grows in this kind of loop", INTS, code="flatten/list-mutation")
def rows_by_lanes(n):
    rows = []
    while n > 0:
        rows.append([n % 10, n])
        n //= 10
    return len(rows)


# --- calls

SECTION = "Calls"


def square(x):
    return x * x


def line(x, slope=2.0, *, offset=1.0):
    return x * slope + offset


@case(SECTION, "user functions, transitively", FINITE)
def calling(x):
    return square(square(x) + 1.0)


@case(SECTION, "defaults and keywords", FLOATS)
def keywords(x):
    return line(x) + line(x, 3.0) + line(offset=x, x=1.0)


def total_of(*values):
    total = 0.0
    for value in values:
        total += value
    return total


@case(SECTION, "`*args` of static length", FLOATS)
def starred(x):
    pair = (x, 2.0)
    return total_of(x, 1.0, *pair)


@case(SECTION, "early return of a helper inside a loop", FLOATS)
def helper_in_loop(x):
    total = 0.0
    for i in range(4):
        total += early(x - i)
        if total > 20.0:
            break
    return total


@case(SECTION, "lambda, nested function, closure", FLOATS)
def closures(x):
    double = lambda y: y * 2.0  # noqa: E731

    def above(y):
        return y > x

    return double(x) if above(1.0) else x


def apply(function, x):
    return function(x)


@case(SECTION, "functions as arguments", FINITE)
def higher(x):
    return apply(square, x) + apply(abs, x)


class Scale:
    """A static object with a method."""

    def __init__(self, factor):
        self.factor = factor

    def by(self, x):
        return x * self.factor


SCALE = Scale(2.5)


@case(SECTION, "methods of static objects", FLOATS)
def method(x):
    return SCALE.by(x)


STEEP = functools.partial(line, slope=4.0)


@case(SECTION, "`functools.partial`", FLOATS)
def partial(x):
    return STEEP(x)


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


@case(SECTION, "recursion of known depth", FINITE)
def recursive(x):
    return power(x, 5)


@case(SECTION, "recursion that depends on the data: tail calls, sums and products of ints", (0, 1, 2, 5, 8, 13))
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@case(SECTION, "`pow(a, b, m)` of ints", (0, 2, 3, -7, 2**62), (5, 1000, 2**62), (7, 10**9 + 7, 2**50, 2**63 - 1, -7))
def powers_modulo(a, b, m):
    return pow(a, b, m)


@case(SECTION, "`pow(a, -1, m)` of ints", (3, 10, -7, 2**62 + 1), (7, 97, 10**9 + 7, 2**50))
def inverse_modulo(a, m):
    return pow(a, -1, m)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@case(SECTION, "recursion that branches on the data", (0, 1, 2, 5, 8))
def two_calls(n):
    return fibonacci(n)


def partitions(n):
    return 1 + sum(partitions(k) for k in range(n))


@case(SECTION, "recursion that depends on the data, inside a loop", (0, 1, 2, 5, 8), code="flatten/recursion")
def calls_in_a_loop(n):
    return partitions(n)


@case(SECTION, "a class that the function defines", FINITE)
def local_class(x):
    class Rectangle:
        def __init__(self, width):
            self.width = width

        def area(self, height=2.0):
            return self.width * height

    return Rectangle(x).area()


def polar(x):
    if x < 0.0:
        return 0.5, 1
    return (x, 2) if x < 1.0 else (0.25, 3)


@case(SECTION, "unpacking a helper's result that differs by path", FLOATS)
def unpacking(x):
    radius, sector = polar(x)
    return radius + sector


def powers_of(x):
    yield x
    yield x * x


@case(SECTION, "generator functions in loops, reductions, `list`, `yield from`, iterators, helpers", FLOATS)
def own_generator(x):
    total = sum(powers_of(x))
    for power in powers_of(x):
        if power > 4.0:
            break
        total += power
    return total


@case(SECTION, "`next` of a generator that is at the same place for all elements and yields no objects", FLOATS)
def stepped_generator(x):
    powers = powers_of(x)
    return next(powers) + 2.0 * next(powers) + next(powers, 1.0)


def powers_below(x):
    if x > 2.0:
        yield x
    yield x * x


@case(SECTION, "`next`, twice, of a generator whose place varies by element", FLOATS,
      code="flatten/unsupported-expression")
def stepped_by_lane(x):
    powers = powers_below(x)
    return next(powers) + next(powers)


@case(SECTION, "functions without source", FLOATS, code="flatten/unknown-call")
def compiled_call(x):
    return x + random.random()


class Pair(NamedTuple):
    """A result with names."""

    low: float
    high: float


@dataclass
class Span:
    """A dataclass result."""

    start: float
    length: float


@case(SECTION, "tuple results", FLOATS, FLOATS)
def two_results(x, y):
    return (x, y) if x < y else (y, x)


@case(SECTION, "namedtuple results", FLOATS, FLOATS)
def named(x, y):
    return Pair(min(x, y), max(x, y))


@case(SECTION, "dataclass results", FINITE, FINITE)
def structured(x, y):
    if x < y:
        return Span(x, y - x)
    return Span(y, x - y)


@case(SECTION, "decorators that call `inspect.signature`, bind arguments and wrap", POSITIVE)
def decorated(x):
    return scaled(x) + scaled(x, by=2.0)


def not_negative(fn):
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if value < 0:
                raise ValueError(name)
        return fn(*bound.args, **bound.kwargs)

    return wrapper


@not_negative
def scaled(value, by=0.5):
    return value * by


@case(SECTION, "decorated nested functions, `functools.cache` in a function", FLOATS)
def nested_decorator(x):
    @functools.cache
    def power(n):
        return 1.0 if n == 0 else power(n - 1) * x

    return power(3) + power(2)


@functools.lru_cache
def weights(n):
    return [1.0, n / 2]


@case(SECTION, "reading the result of a function with `functools.cache`", INTS)
def cached_list_read(n):
    return sum(weights(n)) + weights(n)[1]


@case(SECTION, "changing a cached result", INTS, code="flatten/effect")
def cached_list_changed(n):
    weights(n).append(0.5)
    return len(weights(n))


# --- complex numbers

SECTION = "Complex numbers"
COMPLEX = (1 + 2j, -0.5 - 0.0j, 2j, -3 + 0.25j, complex(math.inf, 1.0), 4 + 0j)


@case(SECTION, "complex arguments, literals, `+ - * / **`, `abs`", COMPLEX, COMPLEX[::-1])
def complex_arithmetic(z, w):
    return (z * w + 1j) / (w + 2) - z**2, abs(z), -w


@case(SECTION, "`.real`, `.imag`, `.conjugate()`, `complex(a, b)`, `==`, truth", COMPLEX, FLOATS)
def complex_parts(z, x):
    return z.real - z.imag, z.conjugate() * complex(x, 1.0), z == 2j, 1 if z else 2


@case(SECTION, "`cmath`: roots, logarithms, trigonometry, polar coordinates", (1 + 2j, -0.5 - 0.0j, 2j, -3 + 0.25j))
def complex_functions(z):
    r, phi = cmath.polar(z)
    return cmath.sqrt(z), cmath.exp(z) + cmath.atan(z / 5), cmath.log(z, 10), cmath.rect(r, phi / 2)


@case(SECTION, "real for some elements and complex for others", FINITE, FINITE)
def quadratic_root(b, c):
    d = b * b - 4 * c
    root = math.sqrt(d) if d >= 0 else 1j * math.sqrt(-d)
    return (-b + root) / 2 * 1.0 + 0j


@case(SECTION, "complex numbers in loops", COMPLEX[:4], INTS[:6])
def escape(c, n):
    z, k = 0, 0
    while k < n and abs(z) <= 2:
        z = z * z + c
        k += 1
    return k


@case(SECTION, "comparing complex numbers with `<`", COMPLEX, code="flatten/unsupported-expression")
def complex_order(z):
    return z < 1


@case(SECTION, "NumPy functions that return NumPy's complex numbers", COMPLEX, code="flatten/not-yet")
def numpy_complex(z):
    return np.sqrt(z)


# --- operations and functions

SECTION = "Operations and functions"


@case(SECTION, "`+ - * /` and negation", FINITE, POSITIVE)
def arithmetic(x, y):
    return -x + y * x - x / y


@case(SECTION, "`//`, `%`, `divmod`", FINITE, (-3.0, -0.5, 0.75, 2.0, math.inf))
def floored(x, y):
    quotient, rest = divmod(x, y)
    return x // y + x % y, quotient, rest


@case(SECTION, "`//`, `%`, `divmod` of ints", INTS, (-3, 2, 5, -1))
def floored_ints(n, m):
    quotient, rest = divmod(n, m)
    return n // m + n % m, quotient, rest, n / m


@case(SECTION, "`**`", POSITIVE, FINITE)
def powers(x, y):
    return x**2, x**0.5, x**y, x**-1


@case(SECTION, "bit operations", INTS, (0, 1, 3, 7))
def bits(n, k):
    return (n & k) | (n ^ 5), ~n, n << k, n >> k


@case(SECTION, "`abs`, `min`, `max`", FLOATS, FLOATS)
def extremes(x, y):
    return abs(x), min(x, y, 1.0), max(x, y)


@case(SECTION, "`round`, `int`, `float`, `bool`", FINITE)
def conversions(x):
    return round(x), round(x, 1), int(x), float(int(x)), bool(x)


@case(SECTION, "`sum`, `any`, `all`, `len`", FLOATS, FLOATS)
def folds(x, y):
    values = (x, y, 1.0)
    return sum(values), any(values), all(values), len(values)


@case(SECTION, "`math`: floor, ceil, trunc, sqrt, fabs, copysign, fmod, hypot", POSITIVE, FINITE)
def exact_math(x, y):
    return math.floor(y), math.ceil(y), math.trunc(y), math.sqrt(x), math.copysign(x, y), math.fmod(y, x), math.fabs(y)


@case(SECTION, "`math`: exp, log, sin, cos, tan, atan2, pow, erf and the rest", POSITIVE, FINITE)
def elementary(x, y):
    return math.exp(y), math.log(x), math.sin(y), math.atan2(y, x), math.pow(x, y), math.erf(y), math.tanh(y)


@case(SECTION, "`math`: isnan, isinf, isfinite, pi, inf", FLOATS)
def classes(x):
    if math.isnan(x) or math.isinf(x):
        return math.pi
    return x if math.isfinite(x) else math.inf


@case(SECTION, "NumPy functions of scalars", POSITIVE, FINITE)
def numpy_scalars(x, y):
    return np.sqrt(x) + np.abs(y) + np.floor(y)


@case(SECTION, "intermediate ints over 64 bits: run by the original", (1, 2**40, 2**62, -(2**62)), (3, 2**40, 5, 7))
def transient(n, m):
    return n * m % 1000


@case(SECTION, "ints wrapped by a low-bit mask", INTS)
def wrapped(n):
    return (n * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFF


@case(SECTION, "unsigned 64-bit ints, by a mask", INTS)
def mixed_bits(n):
    h = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return h ^ (h >> 27), h > 2**63, (h >> 11) * 2.0**-53


@case(SECTION, "constants beyond 64 bits", INTS, code="flatten/int-too-large")
def huge(n):
    return n + 2**70


@case(SECTION, "`round(n, -2)` of an int, `float(f\"{x:.2f}\")`, `float(f\"{x:.3g}\")`, `int(f\"{x:.0f}\")`", INTS)
def rounded_number(n):
    return round(n * 25, -2) + float(f"{n / 8:.2f}") + float(f"{n / 7:.3g}") + int(f"{n / 3:.0f}")


@case(SECTION, "`.astype` of NumPy scalars", FINITE)
def as_type(x):
    return np.floor(x).astype(int) + 1


@case(SECTION, "digits of an int: `str(n)`, `bin(n)`, `oct(n)`, `hex(n)`", (0, 7, -12, 121, 4539, 10**17))
def digits_of(n):
    text = str(n)
    total = sum(int(c) for c in text if c != "-")
    return total, len(text), text == text[::-1], hex(n).count("1"), "3" in text, int(text[-1])


@case(SECTION, "padded digits: `bin(n)[2:].zfill(8)`, `format(n, \"08b\")`, `int(text, 2)`, `strip`, `replace`",
      (0, 7, 12, 121, 255))
def padded_digits(n):
    bits = bin(n)[2:].zfill(8)  # noqa: FURB116
    return int(bits[::-1], 2), format(n, "04x").startswith("00"), bits.rstrip("0").count("0"), bits.replace("1", "#")


@case(SECTION, "digits of a float", FLOATS, code="flatten/unsupported-expression")
def formatted(x):
    return len(f"{x}")


# --- strings, members and None

SECTION = "Strings, enum members and `None`"


class Grade(enum.Enum):
    LOW = 1
    HIGH = 2


RATES = {"low": 0.1, "high": 0.4}


@case(SECTION, "strings as results", FLOATS)
def low_or_high(x):
    return "low" if x < 0.0 else "high"


@case(SECTION, "enum members as results", FLOATS)
def graded(x):
    return Grade.LOW if x < 0.0 else Grade.HIGH


@case(SECTION, "`None` among strings or members", FLOATS)
def perhaps_named(x):
    if x > 1.0:
        return "high"


@case(SECTION, "`None` among numbers, with the option `none`", FLOATS, none="object")
def perhaps_number(x):
    return None if x < 0.0 else x * 2.0


@case(SECTION, "strings and `None` in a tuple, namedtuple or dict of results", FLOATS, none="object")
def described(x):
    return x, low_or_high(x), None if x < 0.0 else 1


@case(SECTION, "comparing a string that varies by element, `in`, `is None`", FLOATS)
def compared(x):
    name = low_or_high(x) if x > -1.0 else None
    return 0 if name is None else 1 if name == "low" else 2 if name in ("high", "top") else 3


@case(SECTION, "a dict at a string or member that varies by element", FLOATS)
def rated(x):
    return RATES[low_or_high(x)] * RATES.get(graded(x).name, 2.0)


@case(SECTION, "`match` on strings and members", FLOATS)
def matched_names(x):
    match low_or_high(x), graded(x):
        case "low", _:
            return 1.0
        case "high", Grade.HIGH if x > 2.0:
            return 2.0
    return 3.0


@case(SECTION, "attributes and methods of members and strings", FLOATS)
def shown(x):
    return f"{low_or_high(x).upper()}-{graded(x).name}", graded(x).value


@case(SECTION, "an array of strings that are compared", FLOATS, ("low", "high", "top"))
def by_name(x, name):
    return x * RATES[name] if name in RATES else -x


@case(SECTION, "an array of strings used in other ways: one twin for each string", FLOATS, ("low", "high"))
def by_any_name(x, name):
    return x * len(name)


@case(SECTION, "strings made from numbers, as results: f-strings, `format`, `%`, `+`, `*`, `join`, `str`, `chr`", INTS)
def digits(n):
    if n == 1:
        return "1 apple"
    return f"{n} apples, {n / 7:.2f} a day" + "!" * n


@case(SECTION, "a string that grows in a loop, as a result", INTS)
def in_binary(n):
    bits = ""
    while n > 0:
        bits = str(n % 2) + bits
        n //= 2
    return bits


@case(SECTION, "other methods of strings made from numbers", INTS, code="flatten/result-kind")
def in_title_case(n):
    return f"{n:x}".title()
