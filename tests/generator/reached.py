"""What classes, decorators and ways out of blocks add to random programs: special methods that builtins ask, members of
an enum by a lane, comparisons of a namedtuple, a wrapper that binds signatures, caches, exceptions with an __init__,
nonlocal counters, `finally`, suppress, context managers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.generator.expressions import Thunk
from tests.generator.scope import FLOAT, INT, join

if TYPE_CHECKING:
    from tests.generator.statements import Lines
    from tests.generator.wide import Wide

REACHED = """\
import contextlib
import functools
import inspect
from enum import IntEnum
from typing import NamedTuple

KNOWN = {n: n * n - 3 for n in range(9)}  # whole: flattening again finds the same


class Mode(IntEnum):
    OFF = 0
    LOW = 1
    HIGH = 2


class Metre:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value * 0.5

    def __int__(self):
        return 7 if self.value > 1 else -2

    def __bool__(self):
        return self.value > 0.5

    def __index__(self):
        return 1 if self.value > 2 else 0

    def __abs__(self):
        return self.value if self.value > 0 else -self.value


class Pair(tuple):
    def __new__(cls, first, second=1.5):
        return super(Pair, cls).__new__(cls, (second, first))

    @property
    def spread(self):
        return self[0] - self[1]


class Span(NamedTuple):
    low: float
    high: float

    def __eq__(self, other):
        return self.low == other.low


class errors:
    class Low(ValueError):
        def __init__(self, value):
            super().__init__(f"{value:.2f} is low")
            self.value = value


class Depth:
    def __init__(self):
        self.inside = 0
        self.left = 0

    def __enter__(self):
        self.inside += 1
        return self

    def __exit__(self, cls, error, trace):
        self.inside -= 1
        self.left += 1


def checked(fn):
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if value > 1e6:
                raise ValueError(name)
        return fn(*bound.args, **bound.kwargs)

    return wrapper


@checked
def scaled(value, by=0.25):
    return value * by


@functools.cache
def row(n):
    return [n, n + 1.5]


def required(value):
    if value < -0.5:
        raise errors.Low(value + 1)
    return value


def lifted(value):
    try:
        return required(value)
    except errors.Low:
        return 0.5


def remembered(n):
    if n not in KNOWN:
        KNOWN[n] = n * n - 3
    return KNOWN[n]
"""


def reals(w: Wide, depth: int) -> list[tuple[float, Thunk]]:
    """Weighted writers of float expressions."""
    sub, pick = w.real, w.rng.choice
    return [
        (0.5, lambda: f"float(Metre({sub(depth)}))"),
        (0.3, lambda: f"abs(Metre({sub(depth)}))"),
        (0.3, lambda: f"math.atan(Metre({sub(depth)}))"),
        (0.3, lambda: f"({sub(0)}, {sub(depth)})[Metre({sub(0)})]"),
        (0.3, lambda: f"({sub(0)} if Metre({sub(depth)}) else {sub(0)})"),
        (0.4, lambda: f"Pair({sub(depth)}{pick(('', ', ' + sub(0)))}).spread"),
        (0.4, lambda: f"scaled({sub(depth)}{pick(('', ', ' + sub(0), ', by=' + sub(0)))})"),
        (0.3, lambda: f"lifted({sub(depth)})"),
        (0.3, lambda: f"sum(row({w.integer(depth)} % {pick('35')}))"),
        (0.3, lambda: f"sum(i * v for i, v in enumerate(({sub(0)}, {sub(0)}), {w.integer(depth)} % 7))"),
        (0.3, lambda: f"float(f'{{{w.name(FLOAT) or '0.125'}:.{pick('0123')}f}}')"),
    ]


def integers(w: Wide, depth: int) -> list[tuple[float, Thunk]]:
    """Weighted writers of int expressions."""
    sub, pick = w.integer, w.rng.choice
    return [
        (0.4, lambda: f"int(Metre({w.real(depth)}))"),
        (0.4, lambda: f"(Mode({sub(depth)} % 3) * 2 + {pick(('Mode.LOW', '1'))})"),
        (0.3, lambda: f"(1 if Mode({sub(0)} % {pick('34')}) is Mode.{pick(('LOW', 'HIGH'))} else {sub(0)})"),
        (0.4, lambda: f"round({sub(depth)}, -{pick('12')})"),
        (0.3, lambda: f"(1 if Span({w.real(0)}, {w.real(0)}) {pick(('!=', '=='))} Span({w.real(0)}, 0.5) else {sub(0)})"),
        (0.4, lambda: f"remembered({sub(depth)} % {pick(('5', '9'))})"),
    ]


def guarded(w: Wide) -> tuple[Lines, bool]:
    """try ... finally, both of which may leave."""
    before = w.scope
    w.scope = before.copy()
    body, left = w.body(w.rng.randint(1, 2), leave=0.3)
    after = before.copy() if left else w.scope
    w.scope = join([before.copy(), w.scope])
    names = [n for n in w.scope.names(FLOAT) if n in before.bound and n not in w.scope.frozen]
    last = f"{w.rng.choice(names)} {w.rng.choice('+*')}= {w.rng.choice(('0.5', '2.0', '-1.0'))}" if names else "pass"
    if w.chance(0.2):
        last = f"if {w.real(0)} > 0.5: return {w.result()}"
    before.replace(after)
    w.scope = before
    return ["try:", *_block(body), "finally:", *_block([last])], left


def managed(w: Wide) -> tuple[Lines, bool]:
    """`with` of suppress, of a class of its own, or of a lock-like nullcontext."""
    before = w.scope
    w.scope = before.copy()
    body, left = w.body(w.rng.randint(1, 2), leave=0.3)
    suppressing = w.chance(0.5)
    if suppressing:
        before.replace(join([before.copy(), *([] if left else [w.scope])]))
    else:
        before.replace(before.copy() if left else w.scope)
    w.scope = before
    manager = "contextlib.suppress(ZeroDivisionError, ValueError)" if suppressing else w.rng.choice(
        ("Depth()", "Depth()", "contextlib.nullcontext()"))
    return [f"with {manager}:", *_block(body)], left and not suppressing


def counting_function(w: Wide) -> tuple[Lines, bool]:
    """A nested function that counts its calls and keeps a value of the last one."""
    if w.depth:
        return w.assign()
    w.serial += 1
    count, kept, name = f"n{w.serial}", f"last{w.serial}", f"counted{w.serial}"
    body = w.inner_float(("h", FLOAT), 2)
    for each in (count, kept, name):
        w.scope.freeze(each)
    w.counters.append((count, kept, name))
    w.scope.bind(count, INT)
    w.scope.bind(kept, FLOAT)
    lines = [f"nonlocal {count}, {kept}", f"{count} += 1", "if h > 0.5:", f"    {kept} = {body}", f"return h + {count}"]
    return [f"{count} = 0", f"{kept} = {w.real(1)}", f"def {name}(h):", *_block(lines)], False


def _block(lines: Lines) -> Lines:
    return ["    " + line for line in lines] or ["    pass"]
