"""Twins on disk: what a process finds of the one before it, and what it must not take.

Each program is a module that is executed twice, with other objects and nothing known of them, as two processes would;
some run in processes of their own.
"""

import dataclasses
import logging
import math
import os
import subprocess
import sys
import types

import numpy as np
import pytest

import pyflat
from pyflat.frontend.state import manifest
from pyflat.runtime import kept_twins
from pyflat.targets import kept
from pyflat.targets.numba import disk_cache
from tests.generator import generate
from tests.generator.kept import built, check_kept
from tests.support.patience import HANG

XS = np.array([-1.5, 0.5, 2.0, 40.0])


@pytest.fixture(params=["numpy", "numba"])
def target(request):
    if request.param == "numba":
        pytest.importorskip("llvmlite")
    return request.param


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYFLAT_CACHE", "1")
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("PYFLAT_VALIDATE", "0")
    disk_cache._opened_at.cache_clear()
    yield tmp_path / "kept"
    disk_cache._opened_at.cache_clear()


@pytest.fixture
def execute(monkeypatch):
    """Executes a text as the module `cells`, with what it needs to be read again."""
    import linecache

    number = iter(range(1000))

    def executed(text, name="cells"):
        file = f"<cell {next(number)} of {id(number)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        made = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, made)
        exec(compile(text, file, "exec"), made.__dict__)
        return made

    return executed


def call(module, target="numpy", xs=XS, **options):
    """What a call made anew, and that it has the original's values."""
    with built() as reasons:
        twin = pyflat.twin(module.f, target=target, **options)
        got = twin(xs)
    want = [np.asarray(module.f(x)).item() for x in xs.tolist()]
    assert repr(got.tolist()) == repr(want)
    return reasons


HELPERS = """
import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

class Mode(Enum):
    LOW = 1
    HIGH = 2

class Pair(NamedTuple):
    a: float
    b: float

@dataclass
class Box:
    side: float = 2.0
    rate = 1.0

    def area(self):
        return self.side * self.side * self.rate

class Base:
    SCALE = 3.0

    def scaled(self, x):
        return x * self.SCALE

class Derived(Base):
    def __init__(self, shift):
        self.shift = shift

K = 1.5
TABLE = [1.0, 2.0, 4.0]
LONG = tuple([k * 0.5 for k in range(10_001)])
LEVELS = {"low": 0.5, "high": 2}
MODE = Mode.LOW
BOX = Box()
OBJECT = Derived(0.25)
NOTHING = None

def deep(x):
    return math.sin(x) + 1.0

def helper(x, k=2.0, *, more=0.5):
    return deep(x) * k + more

def make(c):
    def inner(x):
        return x * c
    return inner

scale = make(10.0)
"""

USES = {
    "K": "K", "TABLE": "TABLE[0] + len(TABLE)", "LEVELS": "LEVELS['low'] + LEVELS['high']", "helper": "helper(x)",
    "MODE": "(1.0 if MODE is Mode.LOW else MODE.value)", "BOX": "BOX.area()", "OBJECT": "OBJECT.scaled(x) + OBJECT.shift",
    "scale": "scale(x)", "made": "Box(x).area() + Pair(x, K).b", "NOTHING": "(1.0 if NOTHING is None else 2.0)",
    "LONG": "LONG[int(abs(x)) % 10_001]",
}


def program(use, text=HELPERS):
    return f"{text}\ndef f(x):\n    if x > 30.0:\n        return x / 2\n    return x + {USES.get(use, use)}\n"


@pytest.mark.parametrize("use", USES)
def test_the_next_process_makes_nothing(execute, target, use):
    assert call(execute(program(use)), target) == [""]
    assert call(execute(program(use)), target) == []


CHANGES = [
    ("K", "K = 1.5", "K = 1.25"), ("K", "K = 1.5", "K = -0.0"), ("K", "K = 1.5", "K = 1"), ("K", "K = 1.5", "K = True"),
    ("K", "K = 1.5", "K = float('nan')"), ("K", "K = 1.5", "import numpy as np\nK = np.float64(1.5)"),
    ("TABLE", "[1.0, 2.0, 4.0]", "[1.0, 2.0]"), ("TABLE", "[1.0, 2.0, 4.0]", "[1, 2.0, 4.0]"),
    ("TABLE", "[1.0, 2.0, 4.0]", "(9.0, 2.0, 4.0)"), ("LEVELS", '"low": 0.5', '"low": 0.75'),
    ("helper", "math.sin(x)", "math.cos(x)"), ("helper", "k=2.0", "k=3.0"), ("helper", "more=0.5", "more=0.75"),
    ("helper", "deep(x) * k", "deep(x) / k"), ("helper", "import math", "import math\nclass math:\n    sin = staticmethod(math.cos)"),
    ("MODE", "MODE = Mode.LOW", "MODE = Mode.HIGH"), ("MODE", "LOW = 1", "LOW = 3"),
    ("MODE", "MODE = Mode.LOW", "MODE = Mode(2)"), ("BOX", "side: float = 2.0", "side: float = 2.5"),
    ("BOX", "rate = 1.0", "rate = 1.5"), ("BOX", "BOX = Box()", "BOX = Box(7.0)"),
    ("BOX", "self.side * self.side * self.rate", "self.side * self.rate"), ("OBJECT", "SCALE = 3.0", "SCALE = 4.0"),
    ("OBJECT", "return x * self.SCALE", "return x + self.SCALE"), ("OBJECT", "Derived(0.25)", "Derived(0.5)"),
    ("OBJECT", "self.shift = shift", "self.shift = shift\n        self.SCALE = 8.0"), ("scale", "make(10.0)", "make(11.0)"),
    ("scale", "return x * c", "return x - c"), ("made", "b: float", "b: float\n\n    @property\n    def c(self): return 1"),
    ("made", "K = 1.5", "K = 2.5"), ("NOTHING", "NOTHING = None", "NOTHING = 0"),
    ("LONG", "k * 0.5", "k * 0.5 + (k == 9_999)"), ("LONG", "k * 0.5", "k * 0.5 or -0.0"), ("LONG", "k * 0.5", "k"),
]


@pytest.mark.parametrize(("use", "old", "new"), CHANGES)
def test_what_has_changed_is_noticed(execute, use, old, new):
    assert old in program(use)
    assert call(execute(program(use))) == [""]
    assert call(execute(program(use).replace(old, new))) == [""]


def test_what_is_not_read_may_change(execute):
    assert call(execute(program("K"))) == [""]
    assert call(execute("\n\n" + program("K").replace("make(10.0)", "make(11.0)").replace("LOW = 1", "LOW = 9"))) == []


def test_a_name_that_hides_a_builtin(execute):
    text = program("abs(x)")
    assert call(execute(text)) == [""]
    assert call(execute("def abs(x):\n    return x * 2.0\n" + text)) == [""]


def test_a_captured_array(execute):
    text = "import numpy as np\nT = np.array([1.0, 0.0, 3.0])\ndef f(x):\n    return x * T[0] + T[1]\n"
    other = [("0.0", "-0.0"), ("1.0,", "5.0,"), ("[1.0, 0.0, 3.0]", "[1, 0, 3]")]
    assert call(execute(text)) == [""]
    assert call(execute(text)) == []
    for old, new in other:
        assert call(execute(text.replace(old, new))) == [""]


def test_which_objects_are_one_counts(execute):
    text = "A = object()\nB = {}\ndef f(x):\n    return x if A is B else x + 1.0\n".replace("{}", "object()")
    assert call(execute(text)) == [""]
    assert call(execute(text)) == []
    assert call(execute(text.replace("B = object()", "B = A"))) == [""]


def test_a_function_that_is_defined_twice(execute):
    text = "def f(x):\n    return x + 1.0\n"
    assert call(execute(text)) == [""]
    assert call(execute(text + "\n" + text.replace("1.0", "2.0"))) == [""]
    assert call(execute(text.replace("1.0", "2.0"), name="__other__")) == []


DECORATED = """
import functools
def twice(fn):
    @functools.wraps(fn)
    def wrapper(x):
        return fn(x) * FACTOR
    return wrapper
FACTOR = 2.0
@twice
def g(x):
    return x + 1.0
@functools.lru_cache
def h(x):
    return x - 1.0
part = functools.partial(lambda a, b: a * b, 3.0)
def f(x):
    return g(x) + h(x) + part(x)
"""


@pytest.mark.parametrize(("old", "new"), [("FACTOR = 2.0", "FACTOR = 3.0"), ("return x + 1.0", "return x + 4.0"),
                                          ("return x - 1.0", "return x - 4.0"), ("3.0)", "5.0)"), ("a * b", "a / b"),
                                          ("fn(x) * FACTOR", "fn(x) + FACTOR"), ("@twice\n", "")])
def test_what_is_decorated_or_wrapped(execute, old, new):
    assert call(execute(DECORATED)) == [""]
    assert call(execute(DECORATED)) == []
    assert call(execute(DECORATED.replace(old, new))) == [""]


@pytest.mark.parametrize(("use", "reason"), [
    ("(1.0 if 'a' in NAMES else 2.0)", "the order of a set"), ("sum([len(n) * 1.0 for n in {'a', 'bb'}])", "the order of a set"),
    ("(hash('word') % 7)", "a hash"),
])
def test_what_differs_between_processes_is_not_kept(execute, use, reason, caplog):
    caplog.set_level(logging.INFO, "pyflat.cache")
    text = "NAMES = {'a', 'b'}\n" + program(use)
    for _ in range(2):
        (why,) = call(execute(text))
        assert reason in why
    assert reason in caplog.text


def test_explain_says_why_a_twin_is_not_kept(execute):
    module = execute(program("(hash('word') % 7)"))
    twin = pyflat.twin(module.f)
    twin(XS)
    assert "not cached on disk: it depends on a hash" in str(twin.explain())
    kept_one = pyflat.twin(execute(program("K")).f)
    kept_one(XS)
    assert "flattens it again" not in str(kept_one.explain())


def test_an_implementation_that_is_registered_later(execute):
    text = ("import functools\n@functools.singledispatch\ndef g(v):\n    return 1.0\n"
            "def f(x):\n    return x + g(x)\n")
    call(execute(text))
    call(execute(text + "g.register(float, lambda v: v * 3.0)\n"))


def test_objects_that_nothing_can_look_into_are_not_kept(execute):
    text = "import re\nP = re.compile('a')\ndef f(x):\n    return x if P is None else x + 1.0\n"
    (why,) = call(execute(text))
    assert "Pattern" in why


@pytest.mark.parametrize("options", [{"max_unroll": 100}, {"errors": "unchecked"}, {"math": "fast"}, {"loops": "masked"}])
def test_options_are_part_of_the_name(execute, options):
    call(execute(program("K")))
    assert call(execute(program("K")), **options) == [""]


@pytest.mark.parametrize("part", ["version", "__version__"])
def test_versions_are_part_of_the_name(execute, monkeypatch, part):
    call(execute(program("K")))
    monkeypatch.setattr(*((sys, part, "another") if part == "version" else (kept_twins.np, part, "another")))
    kept_twins._versions.cache_clear()
    try:
        assert call(execute(program("K"))) == [""]
    finally:
        kept_twins._versions.cache_clear()


def test_kinds_and_static_values_are_part_of_the_name(execute):
    text = "def f(x, mode):\n    return x + mode\n"
    made = []
    for mode in (1, 1.0, True, 1, 1.0, True, np.float64(1.0)):
        with built() as reasons:
            pyflat.twin(execute(text).f, static="mode")(XS, mode)
        made.append(len(reasons))
    assert made == [1, 1, 1, 0, 0, 0, 1]
    with built() as reasons:
        assert pyflat.twin(execute(text).f, static="mode")(np.array([1, 2]), 1).tolist() == [2, 3]
    assert reasons == [""]


RECORDS = """
from dataclasses import dataclass
from typing import NamedTuple
class Point(NamedTuple):
    x: float
    name: object
@dataclass
class Out:
    depth: float = 0.0
def f(x):
    return Point(x * 2.0, None), (1, None, -0.0, 2.5), {"a": x, "b": [x > 1.0]}
def g(x, out):
    out.depth = x * 2.0
    return x
"""


def test_results_of_any_shape(execute, target):
    for reasons in ([""], []):
        module = execute(RECORDS)
        with built() as found:
            point, fixed, items = pyflat.twin(module.f, target=target)(XS)
        assert found == reasons
        assert type(point) is module.Point and point.name is None and fixed[1] is None
        assert [repr(fixed[k].tolist()[0]) for k in (0, 2, 3)] == ["1", "-0.0", "2.5"]
        assert point.x.tolist() == (XS * 2.0).tolist() and items["b"][0].tolist() == (XS > 1.0).tolist()


def test_what_a_function_writes(execute):
    for reasons in ([""], []):
        module = execute(RECORDS)
        out = module.Out()
        with built() as found:
            pyflat.twin(module.g)(XS, out)
        assert found == reasons and out.depth.tolist() == (XS * 2.0).tolist()


def test_methods_depend_on_their_object(execute):
    text = "class A:\n    def __init__(self, k):\n        self.k = k\n    def f(self, x):\n        return x * self.k\n"
    for k, made in ((2.0, 1), (3.0, 1), (2.0, 0)):
        module = execute(text)
        with built() as reasons:
            assert pyflat.twin(module.A(k).f)(XS).tolist() == (XS * k).tolist()
        assert len(reasons) == made


def test_guards_of_a_kept_twin_hold_in_the_process(execute, target):
    call(execute(program("K")), target)
    module = execute(program("K"))
    twin = pyflat.twin(module.f, target=target)
    for k in (1.5, 2.5, 2.5):
        module.K = k
        assert twin(XS).tolist() == [module.f(x) for x in XS.tolist()]


def test_lanes_that_fail_are_replayed(execute, target):
    text = "def f(x):\n    if x < 0.0:\n        raise ValueError('below')\n    return 1.0 / (x - 2.0)\n"
    for _ in range(2):
        twin = pyflat.twin(execute(text).f, target=target, errors="mask")
        values, faults = twin(XS)
        assert faults.mask.tolist() == [True, False, True, False] and faults[0].type is ValueError
        assert values[1] == 1.0 / (0.5 - 2.0)


def test_float32_lanes_have_their_reference(execute, target):
    text = "def f(x):\n    return 1.0 / (x - 2.0) if x != 2.0 else x * 1e30 * 1e30\n"
    xs = XS.astype(np.float32)
    found = []
    for _ in range(2):
        with built() as reasons, np.errstate(all="ignore"):
            found.append((pyflat.twin(execute(text).f, target=target, dtype="float32")(xs).tolist(), len(reasons)))
    assert found[0][0] == found[1][0] and [made for _, made in found] == [1, 0]


def test_each_pattern_of_arguments_has_its_code(execute):
    pytest.importorskip("llvmlite")
    xs, ys = np.arange(1.0, 601.0), np.arange(3.0, 603.0)
    for _ in range(2):
        twin = pyflat.twin(execute("def f(x, y):\n    return x / y - x\n").f, target="numba")
        for x, y in ((xs, 7.0), (xs, ys), (xs[::2], ys[::2]), (xs.astype(np.int32), ys), (7.0, ys), (xs, ys.astype(">f8"))):
            assert np.array_equal(twin(x, y), x / y - x)


def test_no_cache_where_none_is_wanted(execute, monkeypatch):
    for name, value in (("PYFLAT_CACHE", "0"), ("PYFLAT_VALIDATE", "1")):
        with monkeypatch.context() as set_to:
            set_to.setenv(name, value)
            for _ in range(2):
                assert call(execute(program("K"))) == [""]
    for _ in range(2):
        with built() as reasons:
            pyflat.twin(execute(program("K")).f, cache=False)(XS)
        assert reasons == []  # which asks neither memory nor disk


# --- damage


def entries(folder):
    return sorted(path for path in folder.iterdir() if path.name.endswith(disk_cache.SUFFIX))


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-1], lambda data: data[: len(data) // 2],
                                    lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
                                    lambda data: data + b"\0"])
def test_a_damaged_entry_is_none(execute, target, folder, damage):
    call(execute(program("helper")), target)
    for path in entries(folder):
        path.write_bytes(damage(path.read_bytes()))
    assert call(execute(program("helper")), target) == [""]
    assert call(execute(program("helper")), target) == []


def test_an_entry_under_another_name_is_none(execute, folder):
    call(execute(program("K")))
    first = entries(folder)
    call(execute(program("TABLE")))
    second = [path for path in entries(folder) if path not in first]
    for a in first:
        for b in second:
            b.write_bytes(a.read_bytes())
    assert call(execute(program("TABLE"))) == [""]


@pytest.mark.parametrize("use", ["helper", "LONG"])
def test_what_an_engine_made_may_be_gone(execute, target, folder, use):
    """Only the twin is left: its function is read, and the engine makes its code again."""
    call(execute(program(use)), target)
    for path in entries(folder):
        if b'"lines"' not in path.read_bytes():
            path.unlink()
    assert call(execute(program(use)), target) == []


def test_a_function_that_is_read_is_validated(execute, folder):
    call(execute(program("K")))
    with pytest.raises(Exception, match="invariant|expected|line"):
        kept.parsed(b"func @f(%x: f8) -> (f8) flat @return {\n  yield 1\n}\n")


# --- processes

SCRIPT = """
import sys
import numpy as np
import pyflat
LIMIT = 2.5
def helper(x):
    return np.sqrt(x) if x > 0.0 else x * LIMIT
def f(x):
    total = 0.0
    for k in range(3):
        total += helper(x - k)
    return total
if __name__ == "__main__":
    xs = np.linspace(-2.0, 5.0, 50)
    got = pyflat.twin(f, target=sys.argv[1])(xs)
    assert got.tolist() == [f(x) for x in xs.tolist()]
    print("libcst" in sys.modules)
"""


def started(path, target, seed):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": str(seed)}
    return subprocess.Popen([sys.executable, str(path), target], env=environment, stdout=subprocess.PIPE, text=True)


def test_a_second_process_does_not_import_libcst(tmp_path, target):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    said = [started(path, target, seed).communicate(timeout=HANG)[0].strip() for seed in (1, 2)]
    assert said == ["True", "False"]


def test_two_processes_at_the_same_time(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    both = [started(path, "numpy", seed) for seed in (1, 2)]
    assert [process.communicate(timeout=HANG)[0].strip() for process in both] and not any(p.returncode for p in both)
    assert started(path, "numpy", 3).communicate(timeout=HANG)[0].strip() == "False"


@pytest.mark.parametrize("seed", range(40, 52))
def test_random_programs(seed):
    outcome = check_kept(generate(seed), numba=seed % 3 == 0, count=12)
    assert not outcome.failures, str(outcome.failures[0])


# --- the manifest by itself


def digest(value):
    trace = manifest.Trace()
    trace.meet(value)
    return trace.digest


@pytest.mark.parametrize("values", [
    (1, 1.0, True, np.int64(1), np.float64(1.0), "1", b"1", 1 + 0j, (1,), [1], {1}, {1: None}, None),
    (0.0, -0.0, float("nan"), 0, 0j, complex(0.0, -0.0), complex(-0.0, 0.0)),
    ([1.0, 0.0], [1.0, -0.0], (1.0, 0.0), [1, 0], [True, False], [[1.0, 0.0]], ["1.0", "0.0"]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 1}, {"a": 1}, {"a": "b", "1": 2}),
    (("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c")),
    (np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.zeros(2, int), -np.zeros(2), np.zeros(3)),
    (lambda x: x + 1, lambda x: x + 1.0, lambda x: x + True, lambda y: y + 1, lambda x, y=1: x + 1, lambda x, y=2: x + 1),
    (np.sin, np.cos, len, max, math.floor, np.dtype("f8"), np.dtype("f4"), slice(1), slice(2)),
])
def test_different_values_have_different_hashes(values):
    assert len({digest(value) for value in values}) == len(values)


def test_objects_in_circles_end():
    circle = [1.0]
    circle.append(circle)
    other = [1.0, [1.0]]
    assert digest(circle) == digest(circle) != digest(other)


def test_slots_are_looked_at():
    @dataclasses.dataclass(slots=True)
    class Cell:
        __private: float
        rate: float

    assert len({digest(Cell(1.0, 2.0)), digest(Cell(1.5, 2.0)), digest(Cell(1.0, 2.5))}) == 3


def test_too_many_objects_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(manifest, "MOST_OBJECTS", 10)
    with pytest.raises(manifest.NotKept, match="more than 10 objects"):
        digest([[k] for k in range(20)])
