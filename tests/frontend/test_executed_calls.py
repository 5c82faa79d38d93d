"""Calls without lanes that are run as Python while flattening: their results, their guards, and what is not run."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import enum
import functools
import heapq
import inspect
import itertools
import math
import operator
import os
import random
import re
import sys
import time
import zlib
from typing import Annotated, get_type_hints

import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError

CRC = zlib.crc32(b"")


def seven():
    """Nothing that is flattened, so that what calls it is run."""
    return zlib.crc32(b"abc") % 11


# --- what is run


def within(f):
    @functools.wraps(f)
    def checked(*args):
        hints = get_type_hints(f, include_extras=True)
        for name, value in zip(inspect.signature(f).parameters, args, strict=True):
            low, high = hints[name].__metadata__
            if not low <= value <= high:
                raise ValueError(name)
        return f(*args)
    return checked


@within
def area(x: Annotated[float, 0.0, 3.0], y: Annotated[float, 0.0, 5.0]):
    return x * y


def squared_area(x):
    return area(x, x)


def crc_table(poly):
    table = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = (c >> 1) ^ poly if c & 1 else c >> 1
        table.append(c + seven() - seven())
    return table


def around(k):
    """Called as the watch might call its own function."""
    return seven() + k


def by_a_name(x):
    return around(2) * x


def by_table(x):
    return crc_table(0xEDB88320)[int(x) & 255]


def sieve(n):
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    for i in range(2, math.isqrt(n) + 1 + 0 * seven()):
        if is_prime[i]:
            is_prime[i * i::i] = [False] * len(is_prime[i * i::i])
    return [i for i, p in enumerate(is_prime) if p]


def primes_below(x):
    return sum(1 for p in sieve(200) if p < x)


class Grid:
    KINDS = {"cubic": 3, "linear": 1}

    def __init__(self, n, kind):
        self.points = [math.cos(math.pi * k / n) for k in range(n + 1)]
        self.power = self.KINDS[kind]
        self.__first = re.match(r"(\w)", kind).group(1)
        self.start = ord(self.__first) + seven()

    def at(self, x):
        return sum(p * x**self.power for p in self.points) + self.start


def on_a_grid(x):
    return Grid(4, "cubic").at(x)


def counted_up(x):
    grid = Grid(3, "linear")
    grid.start += x
    grid.points.append(x)
    return grid.at(2.0)


@dataclasses.dataclass
class Options:
    first: int
    others: list = dataclasses.field(default_factory=lambda: [seven()])

    def __post_init__(self):
        self.total = self.first + self.others[0]


def with_options(x):
    return Options(3).total * x


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def number_of(name):
    return Colour[name].value + seven()


def with_enum(x):
    return x * number_of("BLUE")


def fibonacci(n):
    @functools.lru_cache(None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2) + 0 * zlib.crc32(b"")
    return fib(n)


def with_cache(x):
    return x + fibonacci(60)


def drawn():
    def each():
        yield from (zlib.crc32(bytes([k])) % 10 for k in range(5))
    return sorted(each(), key=lambda v: -v)


def with_generator(x):
    return x + drawn()[0] + drawn()[-1]


def filled():
    made = np.zeros((2, 3))
    made[1] = seven()
    made[0, :2] += 2.5
    return np.cumsum(made)


def with_array(x):
    return float(filled()[4]) * x


def day_number():
    return (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days + seven()


def with_date(x):
    return x + day_number()


def found(key):
    return {"a": seven()}[key]


def looked_up(x):
    return found("b") if x > 1.0 else x


def looked_up_with_care(x):
    try:
        return found("b")
    except KeyError:
        return x


class Strict(Exception):
    def __init__(self, limit):
        super().__init__(f"above {limit}")


def require(limit):
    if seven() < 1000:
        raise Strict(limit)


def own_exception(x):
    if x > 1.0:
        require(1.0)
    return x


class Lacking:
    def __getattr__(self, name):
        raise Strict(name)


LACKING = Lacking()


def own_attribute_error(x):
    if x > 1.0:
        return x * LACKING.slope
    return x


def own_attribute_error_caught(x):
    try:
        return x * LACKING.slope
    except Strict:
        return -x


RUN = [own_attribute_error, own_attribute_error_caught, squared_area, by_a_name, by_table, primes_below, on_a_grid, counted_up, with_options, with_enum, with_cache, with_generator,
       with_array, with_date, looked_up, looked_up_with_care, own_exception]


def outcome(function, x):
    try:
        return repr(function(x))
    except (ValueError, KeyError, Strict) as error:
        return type(error).__name__


@pytest.mark.parametrize("function", RUN)
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_results_are_the_originals(function, target):
    twin = pyflat.twin(function, target=target)
    for x in (0.5, 1.0, 2.25, 4.0):
        try:
            got = repr(twin(np.array([x]))[0].item())
        except (ValueError, KeyError, Strict) as error:
            got = type(error).__name__
        assert got == outcome(function, x)


# --- what it has read is guarded

SETTINGS = {"k": 2.0}


class Model:
    slope = 2.0

    def __init__(self):
        self.offset = 1.0
        self.parts = {"a": [1.0, 2.0]}


MODEL = Model()


def settings():
    mine = dict(SETTINGS)
    mine["z"] = seven()
    return mine


def of_settings(x):
    return x * settings()["k"]


def of_model(x):
    return x * model_slope()


def model_slope():
    return MODEL.slope + MODEL.offset + MODEL.parts["a"][1] + 0 * seven()


def as_a_dict():
    return dataclasses.asdict(RECORD)["first"] + 0 * seven()


RECORD = Options(5)


def of_record(x):
    return x * as_a_dict()


@pytest.mark.parametrize(("function", "change", "back"), [
    (of_settings, lambda: SETTINGS.update(k=5.0), lambda: SETTINGS.update(k=2.0)),
    (of_model, lambda: setattr(Model, "slope", 7.0), lambda: setattr(Model, "slope", 2.0)),
    (of_model, lambda: setattr(MODEL, "offset", 7.0), lambda: setattr(MODEL, "offset", 1.0)),
    (of_model, lambda: operator.setitem(MODEL.parts["a"], 1, 9.0), lambda: operator.setitem(MODEL.parts["a"], 1, 2.0)),
    (of_record, lambda: setattr(RECORD, "first", 9), lambda: setattr(RECORD, "first", 5)),
    (of_settings, lambda: setattr(sys.modules[__name__], "seven", lambda: 3.0 + len(SETTINGS)), None),
], ids=range(6))
def test_a_change_of_what_was_read_is_seen(function, change, back, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "seven", seven)
    twin, x = pyflat.twin(function), np.array([1.5])
    assert twin(x)[0] == function(1.5)
    before = function(1.5)
    change()
    try:
        assert twin(x)[0] == function(1.5)
        assert back is None or function(1.5) != before
    finally:
        if back is not None:
            back()
    assert twin(x)[0] == function(1.5)


# --- what is not run: it would leave something behind, or depends on more than its arguments

OUT: list = []
TABLE = {"a": [1]}
ARRAY = np.zeros(4)
QUEUE: collections.deque = collections.deque()
COUNTS: collections.Counter = collections.Counter()
SET: set = set()
BYTES = bytearray(4)
NESTED = ([],)
NUMBERS = iter(range(1000))
HELD = (NUMBERS, {"it": NUMBERS})


class Noisy:
    count = 0
    items: list = []

    def __init__(self):
        self.m = 0

    def __add__(self, other):
        OUT.append(1)
        return 1

    __len__ = __bool__ = __index__ = lambda self: OUT.append(1) or 1
    __contains__ = __eq__ = __lt__ = lambda self, other: OUT.append(1) or True
    __getitem__ = lambda self, place: OUT.append(1) or 1  # noqa: E731
    __hash__ = object.__hash__

    def __iter__(self):
        OUT.append(1)
        return iter([1])

    @property
    def noise(self):
        OUT.append(1)
        return 1


NOISY = Noisy()


def default_argument(a=[]):  # noqa: B006
    a.append(1)


def class_attribute():
    Noisy.count += 1


def entry_of_vars():
    vars(NOISY)["m"] = 3


def view():
    v = ARRAY[1:3]
    v[0] = 1


def ravelled():
    v = np.ravel(ARRAY)
    v[0] = 1


def same_array():
    v = np.asarray(ARRAY)
    v += 1


def transposed():
    v = ARRAY.reshape(2, 2).T
    v[0, 0] = 3


def alias():
    x = OUT
    x += [1]


def merged():
    x = TABLE
    x |= {"q": 1}


def one_iteration():
    for _ in NUMBERS:
        break


def unpacked():
    _, TABLE["b"] = 1, 2


def target_of_a_loop():
    for TABLE["c"] in range(3):
        pass


def deleted():
    del TABLE["a"]


def caught():
    try:
        OUT.append(1)
    except BaseException:  # noqa: BLE001
        pass


def in_a_new_list():
    x = [OUT]
    x[0].append(1)


def as_an_attribute():
    x = Noisy()
    x.q = OUT
    x.q.append(1)


def in_a_nested_function():
    def inner():
        OUT.append(1)
    inner()


def shape_of_an_array():
    ARRAY.shape = (2, 2)


def a_generator_that_writes():
    def each():
        OUT.append(1)
        yield 1
    return list(each())


def from_bytes():
    np.frombuffer(BYTES, np.uint8)[0] = 3


HOSTILE = {
    **{function.__name__: function for function in (
        default_argument, class_attribute, entry_of_vars, view, ravelled, same_array, transposed, alias, merged,
        one_iteration, unpacked, target_of_a_loop, deleted, caught, in_a_new_list, as_an_attribute,
        in_a_nested_function, shape_of_an_array, a_generator_that_writes, from_bytes)},
    "nested": lambda: NESTED[0].append(1), "setattr": lambda: setattr(NOISY, "m", 3),
    "dict of an object": lambda: NOISY.__dict__.update(m=3), "sort": lambda: ARRAY.sort(),
    "setitem": lambda: operator.setitem(TABLE, "q", 1), "heap": lambda: heapq.heappush(OUT, 1),
    "operator": lambda: NOISY + 1, "length": lambda: len(NOISY), "iteration": lambda: sum(NOISY),
    "contains": lambda: 1 in NOISY, "truth": lambda: 1 if NOISY else 2, "equal": lambda: NOISY == 1,
    "item": lambda: NOISY[0], "sorted": lambda: sorted([NOISY, Noisy()]), "property": lambda: NOISY.noise,
    "next": lambda: next(NUMBERS), "islice": lambda: list(itertools.islice(NUMBERS, 2)),
    "zip": lambda: list(zip(NUMBERS, [1], strict=False)), "map": lambda: list(map(OUT.append, [1])),
    "methodcaller": lambda: operator.methodcaller("append", 1)(OUT),
    "iterator in a tuple": lambda: [each for each in HELD[0]], "iterator in a dict": lambda: list(HELD[1].get("it")),
    "partial": lambda: sorted([1, 2], key=functools.partial(OUT.append)),
    "setdefault": lambda: TABLE.setdefault("new", 1), "Counter": lambda: COUNTS.update("abc"),
    "deque": lambda: QUEUE.appendleft(1), "set": lambda: SET.add(1), "bytes": lambda: BYTES.__setitem__(0, 1),
    "slot": lambda: dict.__setitem__(TABLE, 1, 2), "descriptor": lambda: list.append(OUT, 1),
    "plain setattr": lambda: object.__setattr__(NOISY, "m", 4),
    "limit": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1), "put": lambda: np.put(ARRAY, [0], [1]),
    "out": lambda: np.add(ARRAY, 1, ARRAY), "at": lambda: np.add.at(ARRAY, [0], 1),
    "get": lambda: TABLE.get("a").append(1), "comprehension": lambda: [OUT.append(v) for v in range(2)],
    "reduce": lambda: functools.reduce(lambda a, b: OUT.append(b) or a + b, [1, 2]),
    "shallow copy": lambda: copy.copy(TABLE)["a"].append(1), "values": lambda: next(iter(TABLE.values())).append(1),
    "filter": lambda: list(filter(OUT.append, [1])), "write": lambda: sys.stdout.write("!"), "print": lambda: print("!"),
    "flat": lambda: ARRAY.flat.__setitem__(0, 5), "items of a class": lambda: Noisy().items.append(1),
    "class": lambda: setattr(type(NOISY), "count", 5), "globals": lambda: globals().update(OUT=3),
    "exec": lambda: exec("OUT.append(1)"), "accumulate": lambda: list(itertools.accumulate(
        [1, 2], lambda a, b: OUT.append(b) or a)), "key": lambda: min([1, 2], key=lambda v: OUT.append(v) or v),
    "lambda": lambda: (lambda: OUT.append(1))(), "copyto": lambda: np.copyto(ARRAY, 1.0),
    "clock": lambda: time.time(), "star": lambda: list(itertools.starmap(time.time, [()])),
    "process": lambda: os.getpid(), "environment": lambda: os.environ.get("PATH"), "id": lambda: id(TABLE),
    "today": lambda: datetime.date.today().year, "local time": lambda: datetime.datetime.fromtimestamp(0).hour,
    "random": lambda: random.random(), "own random": lambda: random.Random().random(),
    "generator": lambda: np.random.default_rng().random(), "file": lambda: open(__file__).read(),
    "printoptions": lambda: np.set_printoptions(precision=3),
}


def state():
    return repr((OUT, TABLE, ARRAY.tolist(), ARRAY.shape, list(QUEUE), dict(COUNTS), SET, bytes(BYTES), NESTED,
                 Noisy.count, Noisy.items, vars(NOISY), sys.getrecursionlimit(), default_argument.__defaults__,
                 NUMBERS.__reduce__()[2], random.getstate()[1][:3], np.get_printoptions()["precision"]))


@pytest.mark.parametrize("name", HOSTILE)
def test_what_leaves_something_behind_is_refused(name, capsys):
    action = HOSTILE[name]

    def hostile(x):
        return x + called(action)

    def called(action):
        action()
        return zlib.crc32(b"") + 1.0

    before = state()
    with pytest.raises(FlattenError):
        pyflat.twin(hostile)(np.array([1.0]))
    assert state() == before and capsys.readouterr().out == ""


def test_the_refusal_says_why_it_is_not_run():
    def noisy():
        OUT.append(1)
        return seven()

    def caller(x):
        return x + noisy()

    with pytest.raises(FlattenError) as refusal:
        pyflat.twin(caller)(np.array([1.0]))
    assert "noisy is not run as Python either: it writes to a list from outside" in str(refusal.value)


def test_the_hook_of_a_profiler_is_put_back():
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    before = sys.getprofile()
    try:
        pyflat.twin(with_options)(np.array([1.0]))
        assert sys.getprofile() is before
    finally:
        sys.setprofile(None)
