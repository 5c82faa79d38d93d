"""Failing lanes: Python's own exception with the lane as a note, and patched lanes where the original returns."""

import math
import re
import runpy
import sys
import traceback
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.ir.build import const
from pyflat.ir.nodes import Block, Function, Label, Op, Param, Yield
from pyflat.ir.shape import Fixed, Leaf, Record
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime import compiled, replay
from tests.generator.kept import own_cache
from tests.runtime import functions as f


def notes(error):
    return getattr(error.value, "__notes__", [])


def test_the_first_failing_lane_is_named():
    xs = np.array([1.0, 2.0, 0.0, 4.0, 0.0])
    with pytest.raises(ZeroDivisionError, match="^float division by zero") as error:
        pyflat.twin(f.inverse)(xs)
    assert error.value.args == ("float division by zero",)
    (note,) = notes(error)
    said, _, line = note.partition("\n")
    assert said == 'lane 2 (x=0.0); 2 of 5 lanes failed; errors="nan" or "mask" keeps the rest'
    assert re.fullmatch(r"functions.py:\d+: return 1.0 / x", line)
    assert "inverse" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert error.value.__context__ is None


def test_each_lane_has_its_own_exception():
    twin = pyflat.twin(f.checked)
    with pytest.raises(ValueError, match=r"^negative: -1.5\nlane 1 "):
        twin(np.array([1.0, -1.5, 1.0]), np.array([1.0, 1.0, 0.0]))
    with pytest.raises(ZeroDivisionError) as error:
        twin(np.array([1.0, 1.0, -1.0]), np.array([1.0, 0.0, 1.0]))
    assert notes(error)[0].startswith('lane 1 (x=1.0, y=0.0); 2 of 3 lanes failed; errors="nan" or "mask" keeps the rest\n')


def test_lanes_of_several_axes_are_named_by_index():
    with pytest.raises(ZeroDivisionError) as error:
        pyflat.twin(f.checked)(np.ones((2, 3)), np.array([1.0, 1.0, 0.0]))
    assert notes(error)[0].startswith("lane (0, 2) (x=1.0, y=0.0); 2 of 6 lanes failed")


def test_scalar_calls_have_no_lane():
    for x in (0.0, np.float64(0.0)):
        with pytest.raises(ZeroDivisionError) as error:
            pyflat.twin(f.inverse)(x)
        assert notes(error) == []


def test_lanes_that_return_are_patched():
    a = np.array([2, 2**40, 3])
    b = np.array([3, 2**40, 5])
    twin = pyflat.twin(f.modular)
    assert twin(a, b).tolist() == [6, 2**80 % 1000, 15]


def test_unchecked_detects_nothing():
    got = pyflat.twin(f.inverse, errors="unchecked")(np.array([2.0, 0.0]))
    assert got[0] == 0.5


def test_an_int_beyond_64_bits_is_a_lane_error():
    with pytest.raises(pyflat.LaneError, match="does not fit into 64 bits") as error:
        pyflat.twin(f.product)(np.array([1, 2**40]), 2**40)
    assert notes(error)[0].startswith("lane 1 (a=1099511627776, b=1099511627776); 1 of 2 lanes failed; errors=\"mask\" keeps")
    assert issubclass(pyflat.LaneError, ValueError)


def test_counting_is_bounded(monkeypatch):
    monkeypatch.setattr(replay, "MAX_COUNTED", 10)
    with pytest.raises(ZeroDivisionError) as error:
        pyflat.twin(f.inverse)(np.zeros(100))
    assert notes(error)[0].startswith("lane 0 (x=0.0); at least 11 of 100 lanes failed")


def test_keyboard_interrupt_passes():
    def interrupted(x):
        if x > 1.0:
            raise KeyboardInterrupt
        return x

    with pytest.raises(KeyboardInterrupt):
        pyflat.twin(suspicious(interrupted))(np.array([0.0, 2.0]))


def test_statistics_and_the_performance_warning():
    fn = suspicious(lambda x: x)
    twin = pyflat.twin(fn)
    twin(np.ones(10))
    assert (twin.stats.calls, twin.stats.lanes, twin.stats.replayed) == (1, 10, 10)
    with pytest.warns(pyflat.PerformanceWarning, match="10,000 of 10,000 elements") as caught:
        twin(np.ones(10_000))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(np.ones(10_000))


def test_texts_that_are_put_together_lane_by_lane_warn_once():
    def written(x: float):
        return f"{x:.2f} m"

    twin = pyflat.twin(written)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(np.ones(9_999))
    with pytest.warns(pyflat.PerformanceWarning, match="written_flat: strings or lists are built one element at a time"):
        assert twin(np.ones(10_000))[-1] == "1.00 m"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(np.ones(10_000))


def test_few_different_strings_do_not_warn():
    def side(x: float):
        return "left" if x < 0.0 else "right"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pyflat.twin(side)(np.ones(20_000))[0] == "right"


_marked = {}


def suspicious(fn):
    """Mark `fn` so that all its lanes are suspect, by a hand-made flat function `x -> x`."""
    _marked[fn] = True
    return fn


@pytest.fixture(autouse=True)
def _all_suspect(builds, monkeypatch):
    below = compiled.build

    def build(fn, arguments, options):
        if fn not in _marked:
            return below(fn, arguments, options)
        from pyflat.passes.gather_suspects import gather_suspects
        from pyflat.targets.numpy import engine as numpy

        x = Param(FLOAT, "x")
        always = Op("eq", (const(1.0), const(1.0)), BOOL)
        same = Op("add", (x, const(0.0)), FLOAT)
        fault = Op("fault", (Op("ge", (same, const(-1e300)), BOOL),), BOOL, attrs=(("fault", None),))
        block = Block([same, always, fault.args[0], fault], Yield([same]))
        flat = Function("same", [x], [block], Label("same"), [FLOAT], "flat")

        class Always:
            def stale(self):
                return None

        return compiled.Built(numpy.compile(gather_suspects(flat)), Leaf(FLOAT), Always(), arguments)

    monkeypatch.setattr(compiled, "build", build)


@pytest.mark.parametrize(("value", "shape", "leaves"), [
    (True, Leaf(BOOL), [True]), (np.bool_(True), Leaf(BOOL), [True]),
    (3, Leaf(INT), [3]), (True, Leaf(INT), [1]),
    (3, Leaf(FLOAT), [3.0]), (np.float32(0.5), Leaf(FLOAT), [0.5]), (10**15, Leaf(FLOAT), [1e15]),
    (None, Fixed(None), []), ("a", Fixed("a"), []), (float("nan"), Fixed(float("nan")), []),
    ((1, 2.0), Record(tuple, (), (Leaf(INT), Leaf(FLOAT))), [1, 2.0]),
    (f.Point(1.0, 2.0), Record(f.Point, ("x", "y"), (Leaf(FLOAT), Leaf(FLOAT))), [1.0, 2.0]),
])
def test_returned_values_that_fit(value, shape, leaves):
    assert [(type(v), v) for v in replay.fit(value, shape)] == [(type(v), v) for v in leaves]


@pytest.mark.parametrize(("value", "shape"), [
    (None, Leaf(FLOAT)), (1j, Leaf(FLOAT)), ("1", Leaf(FLOAT)), (2**53 + 1, Leaf(FLOAT)), (10**400, Leaf(FLOAT)),
    (2**63, Leaf(INT)), (3.0, Leaf(INT)), (0.5, Leaf(INT)), (float("nan"), Leaf(INT)), (float("inf"), Leaf(INT)),
    (1, Leaf(BOOL)), (0.0, Fixed(None)), (0, Fixed(False)), (-0.0, Fixed(0.0)), ("b", Fixed("a")),
    ((1,), Record(tuple, (), (Leaf(INT), Leaf(INT)))), ([1, 2], Record(tuple, (), (Leaf(INT), Leaf(INT)))),
    (f.Pair(1, 2), Record(tuple, (), (Leaf(INT), Leaf(INT)))),
])
def test_returned_values_that_no_lane_holds(value, shape):
    with pytest.raises(pyflat.LaneError, match="^the function returned"):
        list(replay.fit(value, shape))


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_a_negative_power_of_an_int_is_a_float_and_so_all_lanes_are(target):
    def power(n: int, m: int):
        return n**m

    def part(n: int, m: int):
        return n**m * 0.5

    n, m = np.array([2, 1, -1, 3]), np.array([3, -1, -2, 0])
    found = pyflat.twin(power).with_options(target=target)(n, m)
    assert found.dtype == np.float64 and found.tolist() == [8.0, 1.0, 1.0, 1.0]
    assert pyflat.twin(part).with_options(target=target)(n, m).tolist() == [part(*lane) for lane in zip(n.tolist(), m.tolist())]


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize(("x", "y"), [(0.0, -1.0), (-8.0, 0.5), (1e200, 2.0), (-1e200, 3.0), (0.0, -2.5)])
def test_powers_raise_what_their_spelling_raises(x, y, target):
    def spelled(x, y):
        return x**y

    def named(x, y):
        return math.pow(x, y)

    for fn in (spelled, named):
        try:
            wanted = fn(x, y)
        except (ArithmeticError, ValueError) as error:
            wanted = type(error), str(error)
        else:
            assert isinstance(wanted, complex)
            wanted = pyflat.LaneError, f"the function returned {wanted!r}, which is not a float as in other lanes"
        with pytest.raises(wanted[0]) as raised:
            pyflat.twin(fn).with_options(target=target)(np.array([2.0, x]), np.array([3.0, y]))
        assert (type(raised.value), str(raised.value)) == wanted


INFINITE = [math.inf, -math.inf]
FORMULAS = [
    "x**2", "x**3", "x**-1", "x**0.5", "x**2.5", "2.0**x", "0.5**x", "0.0**x", "1.0**x", "x**math.inf", "math.sqrt(x**2 + y**2)",
    "x**y", "math.pow(x, y)", "math.exp(x)", "math.exp2(x)", "math.expm1(x)", "math.sinh(x)", "math.cosh(x)", "math.lgamma(x)",
    "math.ldexp(x, 3)", "round(x, 2)", "abs(complex(x, y))", "math.hypot(x, y)", "math.gamma(abs(x))",
]  # fmt: skip


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_infinite_operands_are_not_replayed(formula, target, tmp_path):
    (tmp_path / "formula.py").write_text(f"import math\ndef f(x, y):\n    return {formula}\n")
    twin = pyflat.twin(runpy.run_path(str(tmp_path / "formula.py"))["f"]).with_options(target=target)
    lanes = [(x, y) for x in [*INFINITE, math.nan] for y in [*INFINITE, math.nan, 0.0, -1.5, 2.0, 3.0]] * 20
    got = twin(*map(np.array, zip(*lanes)))
    wanted = np.array([twin.original(*lane) for lane in lanes])
    assert got.tobytes() == wanted.tobytes() or np.array_equal(got, wanted, equal_nan=True)
    assert (np.signbit(got) == np.signbit(wanted))[wanted == 0.0].all()
    assert twin.stats.replayed == 0


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_gamma_of_minus_infinity_raises(target):
    def gamma(x):
        return math.gamma(x)

    with pytest.raises(ValueError, match=r"math domain error|expected a noninteger or positive integer"):
        pyflat.twin(gamma).with_options(target=target)(np.array([math.inf, -math.inf]))


def products(x: int, y: int):
    """Ints near the limit, of which some leave it."""
    return x * y, x


def test_lanes_that_return_and_lanes_that_raise_alternate():
    x = np.array([-(2**62), 2**62, 5] * 3000)
    values, faults = pyflat.twin(products, errors="mask")(x, 2)
    assert np.array_equal(faults.lanes, np.arange(1, 9000, 3))
    assert faults[1].message == f"the function returned the integer {2**63!r}, which does not fit into 64 bits"
    assert values[0].tolist() == [-(2**63), 0, 10] * 3000
    assert values[1].tolist() == [-(2**62), 0, 5] * 3000


def test_no_lane_is_run_behind_the_first_that_raises(monkeypatch):
    called = []

    def look(frame, event, argument):
        if event == "call" and frame.f_code is f.inverse.__code__:
            called.append(frame.f_locals["x"])

    monkeypatch.setattr(replay, "MAX_COUNTED", 0)
    twin = pyflat.twin(f.inverse)
    twin(1.0)
    sys.setprofile(look)
    try:
        with pytest.raises(ZeroDivisionError) as error:
            twin(np.array([1.0, 0.0, 0.0]))
    finally:
        sys.setprofile(None)
    assert "lane 1 " in notes(error)[0]
    assert called == [0.0]


def test_replayed_lanes_of_every_kind_of_argument():
    def scaled(point: f.Point, name: str, n: int, m: int, *, by=2):
        return n * m, point.x * by, name == "a"

    n = np.where(np.arange(100) % 2, 3, -(2**62))
    x, names = np.arange(100.0), np.array(["a", "b"] * 50)
    twin = pyflat.twin(scaled)
    got = twin(f.Point(x, 1.0), names, n, np.full(100, 2))
    wanted = [scaled(f.Point(*lane[:2]), *lane[2:], 2) for lane in zip(x.tolist(), [1.0] * 100, names.tolist(), n.tolist())]
    assert list(zip(*(part.tolist() for part in got))) == wanted
    assert twin.stats.replayed == 50


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_an_original_that_raises_stop_iteration_ends_no_replay(target):
    def first_above(x: float):
        return next(iter((x,) if x > 0.5 else ()))

    xs = np.array([1.0, 0.0, 2.0, 0.25] * 40)
    values, faults = pyflat.twin(first_above, target=target, errors="mask")(xs)
    assert len(faults) == 80 and {fault.type for fault in faults if fault} == {StopIteration}
    assert values[::2].tolist() == xs[::2].tolist()


def fibonacci(n: int):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@pytest.mark.parametrize("origin", ["flattened", "disk"])
def test_a_recursion_over_a_stack_warns_in_large_calls(origin):
    with own_cache(), ways.forced(origin=origin):
        twin = pyflat.twin(fibonacci, target="numba")
        assert twin(np.arange(5)).tolist() == [0, 1, 1, 2, 3]
        with pytest.warns(pyflat.PerformanceWarning, match="a recursion with several calls runs as a loop, with a stack"):
            twin(np.arange(20_000) % 3)
        twin(np.arange(20_000) % 3)  # once
        assert twin.stats.ways["origin"] == (origin,)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_many_lanes_that_are_replayed_get_what_the_original_returns(target):
    def rounded(x: float):
        return round(x, 2) * 1e-300, int(x) % 7

    xs = np.array([2.675, 1e306, -1e307, 0.125, 5.5] * 40)
    twin = pyflat.twin(rounded, target=target)
    found, wanted = twin(xs), [rounded(x) for x in xs.tolist()]
    assert twin.stats.replayed >= 80
    assert list(zip(*[part.tolist() for part in found], strict=True)) == wanted
