"""twin.replay: a lane of the original beside the twin's, and which pass is to blame; twin.verify on arrays."""

import signal
import sys

import numpy as np
import pytest

import pyflat
from pyflat.inspection import lane_trace as tracing
from pyflat.inspection.lane_trace import same
from pyflat.ir.nodes import Block, Function, Op
from pyflat.passes import pipelines as pipeline
from pyflat.passes.record import Pass
from pyflat.runtime.audit import DifferenceError, equal
from tests.runtime import functions as f

XS = np.array([1.0, 2.0, 3.0, 0.0])


def half(a):
    b = a / 2.0
    return b


def stepped(x, y):
    s = 0.0
    t = x
    for i in range(3):
        s = s + x * i
        if s > y:
            t = (half(s)
                 + 1.0)
    return s + t


def swapped(fn: Function, old: str, new: str) -> Function:
    """A flat function with each `old` operation replaced by `new`."""
    block = fn.flat_block
    made = {}
    ops = []
    for op in block.ops:
        copy = Op(new if op.opcode == old and op.kind.value == "f8" else op.opcode, [made.get(a, a) for a in op.args], op.kind,
                  name=op.name, attrs=op.attrs, origin=op.origin)
        copy.statement = op.statement
        made[op] = copy
        ops.append(copy)
    end = type(block.end)([made.get(v, v) for v in block.end.values])
    return Function(fn.name, fn.params, [Block(ops, end)], fn.label, fn.result_kinds, fn.form)


def misread_sums(fn):
    return swapped(fn, "add", "sub")


@pytest.fixture
def planted(monkeypatch):
    """A wrong pass in the middle of the pipeline, and an empty cache of twins."""
    passes = list(pipeline.FLATTEN)
    passes.insert(4, Pass(misread_sums))
    monkeypatch.setattr(pipeline, "FLATTEN", tuple(passes))


def test_every_store_of_the_original_is_shown():
    found = pyflat.twin(stepped).replay(XS, 2.0, lane=2)
    assert found.lane == 2
    assert found.arguments == "x=3.0, y=2.0"
    assert [(step.name, step.original) for step in found.steps if step.name != "i"] == [
        ("s", 0.0), ("t", 3.0), ("s", 0.0), ("s", 3.0), ("b", 1.5), ("t", 2.5), ("s", 9.0), ("b", 4.5), ("t", 5.5)]
    assert [step.twin for step in found.steps if step.name == "b"] == [1.5, 4.5]
    assert found.agrees
    assert found.first_difference is None
    assert {stage.agrees for stage in found.stages} == {True}
    assert [stage.name for stage in found.stages][::len(found.stages) - 1] == ["specialise", "the numpy engine"]
    assert found.stages[-1].leaves == (stepped(3.0, 2.0),)
    assert "original and twin agree" in str(found)
    assert found._repr_html_().startswith("<pre>lane 2 of stepped")


def test_paths_not_taken_are_not_shown():
    found = pyflat.twin(stepped).replay(XS, 100.0, lane=0)
    assert {step.name for step in found.steps} == {"s", "t", "i"}


@pytest.mark.usefixtures("planted")
def test_a_wrong_pass_is_named_with_the_first_line_that_differs():
    found = pyflat.twin(lambda_free(stepped)).replay(XS, 2.0, lane=2)
    assert found.culprit == "misread_sums"
    assert found.first_difference.text == "s = s + x * i"
    assert (found.first_difference.name, found.first_difference.original) == ("s", 3.0)
    assert found.first_difference.twin == -3.0
    text = str(found)
    assert "<- differs" in text
    assert text.splitlines()[-1].endswith("s is 3.0, the twin has -3.0; introduced by misread_sums")
    assert [stage.agrees for stage in found.stages].index(False) == 5


@pytest.mark.usefixtures("planted")
def test_verify_finds_a_wrong_twin_and_shows_the_lane():
    with pytest.raises(DifferenceError, match=r"differs from its original in lane \(1, 0\)\nlane \(1, 0\) of summed") as error:
        pyflat.twin(summed).verify(np.array([[0.0], [3.0], [4.0]]))
    assert error.value.lane == (1, 0)
    assert error.value.lane_trace.culprit == "misread_sums"


@pytest.mark.usefixtures("planted")
def test_testing_verify_shows_the_line_and_the_pass():
    from pyflat.testing import verify

    with pytest.raises(DifferenceError) as error:
        verify(increased, target="numpy", examples=20)
    lines = str(error.value).splitlines()
    assert lines[0].startswith("the numpy twin differs in lane 0 (x=")
    assert lines[-1].endswith("introduced by misread_sums")
    assert error.value.lane_trace.first_difference.text == "r = x + 1.0"
    assert len(error.value.row) == 1


def increased(x):
    r = x + 1.0
    return r


def lambda_free(fn):
    """The same function as a new object, so that no compiled twin of it is known."""
    from types import FunctionType

    return FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__)


def summed(x):
    r = x + 1.0 if x > 2.0 else x
    return r


def test_a_wrong_engine_is_named():
    twin = pyflat.twin(lambda_free(stepped))
    twin(XS, 2.0)
    built = next(iter(twin._caller.compilations._entries.values()))
    engine = built.engine

    class Wrong:
        source = ""

        def __call__(self, lanes, n):
            (leaf,), suspect = engine(lanes, n)
            return [leaf + 1.0], suspect

    key = next(iter(twin._caller.compilations._entries))
    twin._caller.compilations._entries[key] = type(built)(Wrong(), built.result, built.guards, built.arguments)
    found = twin.replay(XS, 2.0, lane=0)
    assert found.culprit == "the numpy engine"
    assert found.first_difference is None
    assert str(found).endswith("introduced by the numpy engine")
    with pytest.raises(DifferenceError):
        twin.verify(XS, 2.0)


def test_failing_lanes():
    found = pyflat.twin(f.inverse).replay(XS, lane=-1)
    assert found.original == "raises ZeroDivisionError: float division by zero"
    assert (found.lane, found.agrees) == (3, True)
    assert found.stages[-1].fault == "suspect"
    assert str(found).endswith("the lane falls back to the original")


def test_lanes_are_named_as_numpy_does():
    grid = np.arange(6.0).reshape(2, 3)
    assert pyflat.twin(f.shade).replay(grid, lane=(1, 2)).arguments == "x=5.0"
    assert pyflat.twin(f.shade).replay(2.0).lane == ()
    with pytest.raises(IndexError, match="out of bounds"):
        pyflat.twin(f.shade).replay(grid, lane=(2, 0))
    with pytest.raises(IndexError, match="several lanes"):
        pyflat.twin(f.shade).replay(grid, lane=1)
    with pytest.raises(ValueError, match="which of 6 lanes"):
        pyflat.twin(f.shade).replay(grid)


def test_the_original_in_pdb(monkeypatch, capsys):
    before = signal.getsignal(signal.SIGINT)
    commands = ["next", "next", "p s, t", "continue"]
    monkeypatch.setattr("builtins.input", lambda prompt="": commands.pop(0))
    found = pyflat.twin(stepped).replay(XS, 2.0, lane=1, pdb=True)
    assert commands == []
    assert "(0.0, 2.0)" in capsys.readouterr().out
    assert found.agrees
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("last", ["quit", "continue"])
def test_leaving_pdb_leaves_the_table(last, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt="": last)
    assert pyflat.twin(f.inverse).replay(0.0, pdb=True).original.startswith("raises ZeroDivisionError")


def test_tracing_leaves_the_tracer_of_others():
    def other(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(other)
    try:
        pyflat.twin(stepped).replay(1.0, 2.0)
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)


def test_stores_of_equal_values_and_within_lines():
    def repeated(x):
        a = b = x
        a = a + 0.0; b = a
        if (c := a) > 0:
            del b
        for d, (e, *g) in [(1, (2, 3))]:
            a += d
        return a

    found = tracing.trace(lambda: repeated(1.0), {__file__})
    assert [(s.name, s.value) for s in found.stores] == [
        ("a", 1.0), ("b", 1.0), ("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1), ("e", 2), ("g", [3]), ("a", 2.0)]
    assert found.value == 2.0


def test_cells_are_stores_too():
    def outer(x):
        y = x * 2

        def inner():
            nonlocal y
            y = y + 1
            return y

        return inner()

    assert [(s.name, s.value) for s in tracing.trace(lambda: outer(1), {__file__}).stores if s.name == "y"] == [("y", 2), ("y", 3)]


def test_loops_that_stay_loops():
    found = pyflat.twin(counted_down).replay(np.array([5, 3]), 1, lane=1)
    assert [(step.name, step.original, step.twin) for step in found.steps if step.name == "n"] == [
        ("n", 2, 2), ("n", 1, 1), ("n", 0, 0)]
    assert found.agrees


def test_a_lane_that_does_not_end(monkeypatch):
    monkeypatch.setattr(tracing, "MAX_INSTRUCTIONS", 5000)
    found = pyflat.twin(counted_down, max_trips=100).replay(np.array([5, 3]), np.array([0, 1]), lane=0)
    assert found.original == "does not end within 5,000 instructions"
    assert found.stages[0].leaves is None
    assert found.agrees
    assert str(found).endswith("the lane fails: ran into max_trips")


def counted_down(n, step):
    trips = 0
    while n > 0:
        try:
            n = n - step
        except Exception:  # noqa: BLE001 - the end of the trace must get through
            break
        trips += 1
    return trips


def test_long_runs_show_the_part_with_the_difference():
    found = pyflat.twin(many).replay(1.0)
    text = str(found)
    assert "(lines 1 to 200 of 1,001)" in text
    assert len(text.splitlines()) == 205


def many(x):
    s = x
    for i in range(500):
        s = s + 1.0
    return s


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_verify_counts(target):
    twin = pyflat.twin(f.checked, target=target)
    assert str(twin.verify(np.array([[1.0, -1.0]]), np.array([[2.0], [0.0]]))) == (
        "4 lanes agree with the original; 3 of them were run through it")
    assert twin.verify(np.zeros(0), 1.0).lanes == 0


def test_verify_sees_an_exception_that_was_not_detected():
    def failing(x):
        return 1.0 / x

    twin = pyflat.twin(failing, errors="unchecked")
    with pytest.raises(DifferenceError, match="raises ZeroDivisionError"):
        twin.verify(XS)


@pytest.mark.parametrize(("a", "b", "same_bits"), [
    (1.0, 1.0, True), (np.nan, np.nan, True), (0.0, -0.0, False), (1.0, np.nextafter(1.0, 2), False),
    (np.inf, np.inf, True), (np.inf, 1.0, False), (1.0, np.nan, False),
])
def test_equality(a, b, same_bits):
    assert equal(np.array([a]), np.array([b])).tolist() == [same_bits]


@pytest.mark.parametrize(("a", "b", "equal"), [
    (1, 1.0, True), (True, 1, True), (2**53 + 1, 2.0**53, False), (0.0, -0.0, False), (float("nan"), float("nan"), True),
    ("a", "a", True), ("1", 1, False), (None, 0, False),
])
def test_sameness(a, b, equal):
    assert same(a, b) is equal
