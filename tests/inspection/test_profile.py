"""`twin.profile`: counts against what the original itself does, lane by lane."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import pyflat
from pyflat.cli.main import commands
from pyflat.inspection import profile as profile_module
from pyflat.inspection.counting import count_lanes
from pyflat.ir.formats import F8, dtypes
from pyflat.ir.interp import LaneFault, TripLimit, _Machine
from pyflat.ir.opaque_calls import OpaqueCalls
from tests.generator import generate
from tests.generator.differential import loaded
from tests.generator.lanes import lanes_for
from tests.generator.stages import _with_loops
from tests.support.patience import HANG


def fold(z):
    if z > 0:
        return z
    return -z


def walk(x: float, y: float):
    total = 0.0
    for k in range(3):
        if x > k:
            total += fold(y)
    trips = 0
    while total > 1.0 and trips < 20:
        total = total * 0.5
        trips += 1
        if total == 1.0:
            break
    if x > y and x > 0.0:
        return math.exp(-x) + total
    elif y < -2.0:
        return 2.0
    return total / x


@pytest.fixture
def data():
    random = np.random.default_rng(5)
    return random.normal(size=500) * 2.0, random.normal(size=500) * 3.0


def lines_run(function, *arrays):
    """How often each line is run, by Python's own tracing."""
    counts = {}

    def trace(frame, event, _):
        if event == "line" and frame.f_code.co_filename == __file__:
            counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for row in zip(*(a.tolist() for a in arrays), strict=True):
            function(*row)
    finally:
        sys.settrace(before)
    return counts


def line_of(text):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.strip() == text)


def test_arms_are_those_that_python_runs(data):
    found = pyflat.twin(walk).profile(*data)
    counts = lines_run(walk, *data)
    rows = {row.condition or row.place.text: row for row in found.branches}
    assert rows["x > k"].then == counts[line_of("total += fold(y)")]
    assert rows["x > k"].then + rows["x > k"].orelse == 1500
    assert rows["z > 0"].then == counts[line_of("return z")]
    assert rows["z > 0"].orelse == counts[line_of("return -z")]
    assert rows["x > y and x > 0.0"].then == counts[line_of("return math.exp(-x) + total")]
    assert rows["y < -2.0"].then == counts[line_of("return 2.0")]
    assert rows["y < -2.0"].orelse == counts[line_of("return total / x")]
    assert rows["total == 1.0"].dead == "then"
    assert {row.condition for row in found.dead} == {"total == 1.0"}


def test_trips_are_those_that_python_makes(data):
    (loop,) = pyflat.twin(walk).profile(*data).loops
    counts = lines_run(walk, *data)
    assert loop.place.line == line_of("while total > 1.0 and trips < 20:")
    assert loop.entries == 500
    assert round(loop.mean * 500) == counts[line_of("trips += 1")]
    assert sum(lanes for _, lanes in loop.histogram) == 500
    assert loop.least == 0 and 0.0 < loop.used < 1.0


def test_divergence_is_counted_in_gangs():
    def step(x: float) -> float:
        return x if x > 0.0 else -x

    together = np.repeat([1.0, -1.0], 80)
    apart = np.tile([1.0, -1.0], 80)
    assert [row.mixed for row in pyflat.twin(step).profile(together).branches] == [0.0]
    assert [row.mixed for row in pyflat.twin(step).profile(apart).branches] == [1.0]


def test_lanes_of_a_gang_wait_for_the_last_one():
    def count(n: int) -> int:
        done = 0
        while done < n:
            done += 1
        return done

    lanes = np.zeros(64, np.int64)
    lanes[::8] = 80
    (loop,) = pyflat.twin(count, target="numba").profile(lanes).loops
    assert (loop.least, loop.most, loop.used) == (0, 80, 0.125)
    assert pyflat.twin(count).profile(np.full(64, 5)).loops[0].used == 1.0


def test_failing_lanes_end_where_they_fail():
    def risky(x: float) -> float:
        y = 1.0 / x
        return y if y > 1.0 else 0.0

    found = pyflat.twin(risky).profile(np.array([0.0, 0.5, 2.0, 0.0]))
    assert (found.failed, [(row.then, row.orelse) for row in found.branches]) == (2, [(1, 1)])
    beyond = pyflat.twin(lambda n: n * n if n > 0 else n).profile(np.array([2**40, 5, -1]))
    assert beyond.failed == 1


def test_raise_is_a_failure_too():
    def checked(x: float) -> float:
        if x < 0.0:
            raise ValueError("negative")
        return math.sqrt(x)

    found = pyflat.twin(checked).profile(np.array([-1.0, 4.0, -2.0]))
    assert (found.failed, found.branches[0].then) == (2, 2)


def test_nested_loops_count_each_entry():
    def table(n: int) -> int:
        total = 0
        i = 0
        while i < n:
            j = 0
            while j < i:
                total += 1
                j += 1
            i += 1
        return total

    outer, inner = pyflat.twin(table).profile(np.array([3, 0, 5])).loops
    assert (outer.entries, outer.most, inner.entries, inner.most) == (3, 5, 8, 4)
    assert inner.mean * inner.entries == 3 + 0 + 10


def test_a_loop_without_end_is_cut_off():
    def forever(x: float) -> float:
        while x > 0.0:
            x = x * 1.0
        return x

    cut = pyflat.twin(forever, max_trips=50).profile(np.array([1.0, -1.0]))
    assert (cut.unfinished, cut.loops[0].most) == (1, 50)


def test_long_arrays_are_sampled_in_runs(monkeypatch):
    monkeypatch.setattr(profile_module, "SAMPLE", 640)
    found = pyflat.twin(fold).profile(np.linspace(-1.0, 1.0, 100_000))
    assert found.lanes == 100_000 and found.looked_at == 640
    assert abs(found.branches[0].share - 0.5) < 0.02
    assert "640 of them sampled" in str(found)


def test_the_original_is_not_run():
    def seen(x: float) -> float:
        return 1.0 // x if x > 0.0 else 0.0

    twin = pyflat.twin(seen)
    assert not lines_run(lambda x: twin.profile(np.array([x, 0.0])), np.array([1.0])).keys() & {
        line_of("return 1.0 // x if x > 0.0 else 0.0")}
    assert twin.stats.calls == 0


def test_no_lanes_and_scalars():
    found = pyflat.twin(fold).profile(np.zeros(0))
    assert (found.lanes, found.branches[0].dead) == (0, "both")
    assert pyflat.twin(fold).profile(3.0).branches[0].then == 1


def test_tables_and_kinds():
    table = (3, 1, 2)

    def pick(i: int, flag: bool) -> int:
        value = table[i]
        return value if flag and value > 1 else -i

    found = pyflat.twin(pick).profile(np.array([0, 1, 2, 7]), np.array([True, True, False, True]))
    assert found.failed == 1
    assert [(row.condition, row.then, row.orelse) for row in found.branches] == [
        ("flag", 2, 1), ("flag and value > 1", 1, 2)]


def test_the_page_and_the_figure(data):
    found = pyflat.twin(walk).profile(*data)
    text = str(found)
    assert "<- then never taken" in text and "█" in text and "of a SIMD group's iterations" in text
    pytest.importorskip("matplotlib")
    figure = found.plot()
    assert len(figure.axes) == 2


@pytest.mark.filterwarnings("default")
def test_command_line(tmp_path):
    (tmp_path / "mine.py").write_text("def step(x, k=2.0):\n    return x * k if x > 0 else 0.0\n")
    np.save(tmp_path / "x.npy", np.array([1.0, -1.0, 2.0]))
    np.savez(tmp_path / "both.npz", x=np.array([1.0, -2.0]))
    spec, runner = f"{tmp_path / 'mine.py'}:step", CliRunner()
    done = runner.invoke(commands, ["profile", spec, str(tmp_path / "x.npy"), "k=3.0"])
    assert done.exit_code == 0 and "3 elements" in done.output and "x > 0" in done.output
    found = json.loads(runner.invoke(commands, ["profile", spec, f"{tmp_path / 'both.npz'}:x", "--json"]).output)
    assert found["lanes"] == 2
    wrong = runner.invoke(commands, ["profile", spec, f"{tmp_path / 'both.npz'}:y"])
    assert wrong.exit_code == 2
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    assert runner.invoke(commands, ["profile", spec, str(tmp_path / "objects.npy")]).exit_code == 2
    pytest.importorskip("matplotlib")
    picture = tmp_path / "plot.png"
    assert runner.invoke(commands, ["profile", spec, str(tmp_path / "x.npy"), "--plot", str(picture)]).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


class Recorder(_Machine):
    """The interpreter, noting which way each condition sends a lane."""

    def __init__(self, ways):
        super().__init__(False, {}, 10_000)
        self.ways = ways

    def holds(self, cond):
        held = bool(super().holds(cond))
        self.ways[cond, held] = self.ways.get((cond, held), 0) + 1
        return held


def interpreted(function, rows):
    """How often each condition held or not, over the lanes that end without a fault."""
    ways, good = {}, []
    for row in rows:
        mine = {}
        machine = Recorder(mine)
        machine.env.update(zip(function.params, row, strict=True))
        try:
            machine.run_list(function.body)
        except (LaneFault, TripLimit):
            continue
        good.append(row)
        for key, times in mine.items():
            ways[key] = ways.get(key, 0) + times
    return ways, good


def counted(function, rows):
    lanes = [np.array([row[k] for row in rows], dtypes(F8)[param.kind]) for k, param in enumerate(function.params)]
    return count_lanes(function, lanes, len(rows), gang=8, calls=OpaqueCalls(), max_trips=10_000, seconds=HANG)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_programs_take_the_ways_of_the_interpreter(first):
    checked = 0
    for seed in range(first, first + 10):
        program = generate(seed)
        with loaded(program.source) as main:
            spec = _with_loops(main, program)
            if spec is None:
                continue
            rows = [row for row in lanes_for(program, 12) if not counted(spec.function, [row]).failed]
            ways, good = interpreted(spec.function, rows)
            if not good:
                continue
            found = {}
            for node, count in counted(spec.function, good).branches.items():
                for held, times in ((True, count.then), (False, count.orelse)):
                    if times:
                        found[node.cond, held] = found.get((node.cond, held), 0) + times
            assert found == ways, program.source
            checked += len(good)
    assert checked > 20
