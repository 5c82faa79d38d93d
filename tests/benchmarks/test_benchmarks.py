"""The parts of benchmarks/ that decide what is a right result, and what the figures are."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

from benchmarks import bars, goals, lanes, page, row, startup
from benchmarks.agreement import DOUBLE, Tolerance, agrees, share_beyond, tolerance
from benchmarks.contenders import CONTENDERS, UNIT, Contender, UnavailableError
from benchmarks.contenders.record import result_type
from benchmarks.kernels import KERNELS
from benchmarks.kernels.arrays import TEXTS
from benchmarks.measuring import PIECE, TURNS, geomean, part_of, round_robin, timing
from benchmarks.report import contenders, groups, parse, report
from benchmarks.row import Limits, lanes_of, measure, some


def record(kernel="bs", type="f8", lanes=4096, notes=None, **seconds):
    """A record as `benchmarks.row` writes it: contender=shortest turn in seconds per lane."""
    times = {name: {"best": best, "median": 1.5 * best, "low": 1.4 * best, "high": 1.7 * best, "turns": 9}
             for name, best in {UNIT: 8e-9, **seconds}.items() if best}
    return json.dumps({"kernel": kernel, "type": type, "lanes": lanes, "seconds": times, "notes": notes or {},
                       "environment": {"commit": "abc", "date": "2030-01-01"}})


# --- agreement


def test_floats_agree_within_the_tolerance_only():
    wanted = np.linspace(1.0, 2.0, 10_000)
    assert agrees(wanted * (1 + 5e-10), wanted, DOUBLE)
    assert share_beyond(wanted * (1 + 5e-9), wanted, DOUBLE) == 1.0


def test_a_lane_in_a_thousand_may_differ_and_no_more():
    wanted = np.ones(10_000)
    found = wanted.copy()
    found[:10] = 2.0
    assert agrees(found, wanted, DOUBLE)
    found[10] = 2.0
    assert not agrees(found, wanted, DOUBLE)


def test_ints_are_equal_or_wrong():
    wanted = np.array([1_000_000_000, 7])
    assert share_beyond(wanted + [1, 0], wanted, Tolerance(5.0, 5.0, 0.0)) == 0.5


def test_nan_agrees_with_nan_alone():
    assert share_beyond(np.array([np.nan, np.nan]), np.array([np.nan, 1.0]), DOUBLE) == 0.5


def test_another_shape_is_wrong_everywhere():
    assert share_beyond(np.ones(3), np.ones(4), DOUBLE) == 1.0


def test_float64_has_one_tolerance_for_all():
    assert {tolerance(name, False) for name in KERNELS} == {DOUBLE}
    assert all(tolerance(name, True).share <= 5e-3 for name in KERNELS)


def test_a_part_of_many_lanes_is_made_of_neighbours_from_everywhere():
    few = np.arange(100)
    assert part_of(few, 100) is few
    many = np.arange(PIECE * 50)
    part = part_of(many, PIECE * 8)
    assert len(part) == PIECE * 8
    assert (part[0], part[-1]) == (0, len(many) - 1)
    assert (np.diff(part) == 1).sum() == len(part) - 8
    assert (np.diff(part) > 0).all()


# --- kernels and contenders


def test_every_kernel_is_written_for_arrays_and_eleven_are_core():
    assert TEXTS.keys() == KERNELS.keys()
    assert len(lanes.CORE) == 11
    assert len(KERNELS) >= 17


def test_every_contender_family_is_there():
    peers = {UNIT, "numba.njit", "np.vectorize", "np.where", "numexpr", "jax", "drjit", "gcc", "gcc fast", "clang",
             "clang fast", "numpy", "numba", "fast", "numpy fast", "polars", "blosc2", "cython", "pythran"}
    assert peers <= CONTENDERS.keys()


def test_f4_lanes_are_32_bits_wide_and_so_are_results():
    narrow = lanes_of(KERNELS["mand32"], "f4", 100)
    assert {column.dtype for column in narrow} == {np.dtype(np.float32)}
    assert result_type(KERNELS["mand32"], narrow) == np.int32
    assert lanes_of(KERNELS["collatz"], "f4", 100)[0].dtype == np.int32
    assert result_type(KERNELS["bs"], lanes_of(KERNELS["bs"], "f8", 100)) == np.float64


@pytest.mark.parametrize("kind", ["f8", "f4"])
@pytest.mark.parametrize("name", list(KERNELS))
def test_the_text_for_arrays_agrees_with_the_original(name, kind):
    kernel = KERNELS[name]
    columns = lanes_of(kernel, kind, 4_000)
    found = CONTENDERS["np.where"].make(kernel, columns)()
    assert found.dtype == result_type(kernel, columns)
    chosen, few = some(columns, 1_000)
    wanted = np.array([kernel.function(*row) for row in zip(*[column.tolist() for column in few], strict=True)])
    assert agrees(found[chosen], wanted, tolerance(name, kind == "f4"))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_every_kernel_in_c_agrees_with_the_original(kind):
    for name, kernel in KERNELS.items():
        columns = lanes_of(kernel, kind, 4_000)
        found = CONTENDERS["gcc"].make(kernel, columns)()
        chosen, few = some(columns, 1_000)
        wanted = np.array([kernel.function(*row) for row in zip(*[column.tolist() for column in few], strict=True)])
        assert agrees(found[chosen], wanted, tolerance(name, kind == "f4")), name


def quick(*names):
    return measure(KERNELS["piecewise"], "f8", 3_000, names, Limits(3, 0.01))


def test_a_row_has_times_of_those_that_agree_and_notes_on_the_rest(monkeypatch):
    def unavailable(kernel, columns):
        raise UnavailableError("not today")

    def failing(kernel, columns):
        raise RuntimeError("broken\nat length")

    def late(kernel, columns):
        wanted = CONTENDERS["np.where"].make(kernel, columns)
        return lambda: np.where(np.arange(len(columns[0])) % 100 == 7, 0.5, wanted())

    for make in (unavailable, failing, late):
        monkeypatch.setitem(CONTENDERS, make.__name__, Contender(make.__name__, make))
    found = quick(UNIT, "np.where", "numpy", "unavailable", "failing", "late")
    assert found["seconds"].keys() == {UNIT, "np.where", "numpy"}
    assert found["notes"].pop("late").startswith("wrong results: 1.0")
    assert found["notes"] == {"unavailable": "not today", "failing": "failed: RuntimeError: broken"}
    assert all(numbers["best"] > 0 and numbers["turns"] == 3 for numbers in found["seconds"].values())


def test_a_row_can_be_read_back():
    found = quick(UNIT, "np.where")
    (row,) = parse([json.dumps(found)])
    assert row.kernel == "piecewise"
    assert row.ratio("np.where") == found["seconds"][UNIT]["best"] / found["seconds"]["np.where"]["best"]


# --- processes


def ended(monkeypatch, *outcomes):
    """`subprocess.run` that gives these outputs in turn; the contenders of each call."""
    asked = []

    def run(command, **keywords):
        asked.append(command[command.index("--contenders") + 1])
        return subprocess.CompletedProcess(command, -6, outcomes[len(asked) - 1], "terminated")

    monkeypatch.setattr(lanes.subprocess, "run", run)
    return asked


def test_a_contender_that_ends_the_process_is_left_out_of_the_next_try(monkeypatch):
    asked = ended(monkeypatch, f"start {UNIT}\nstart drjit\n", f"start {UNIT}\nresult {record(numba=1e-9)}\n")
    found = json.loads(lanes.row("bs", "f8", 4096, [UNIT, "drjit", "numba"], Limits()))
    assert asked == [f"{UNIT},drjit,numba", f"{UNIT},numba"]
    assert found["notes"] == {"drjit": "ended the process (status -6)"}


def test_a_process_that_ends_by_itself_is_an_error(monkeypatch):
    ended(monkeypatch, "")
    with pytest.raises(lanes.RowError, match="terminated"):
        lanes.row("bs", "f8", 4096, [UNIT, "numba"], Limits())


# --- figures


def test_timing_is_the_shortest_with_median_and_quartiles():
    found = timing([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (found.best, found.median, found.low, found.high, found.turns) == (1.0, 3.0, 2.0, 4.0, 5)
    assert found.spread == pytest.approx(2 / 3)
    assert found.over(10).best == pytest.approx(0.1)
    assert timing([2.0]).spread == 0.0


def test_contenders_take_turns_and_slow_ones_fewer():
    order = []

    def slow():
        order.append("slow")
        until = time.process_time() + 2e-3
        while time.process_time() < until:
            pass

    found = round_robin({"slow": slow, "fast": lambda: order.append("fast")}, 6, 1e-3)
    assert found["slow"].turns == TURNS
    assert found["fast"].turns == 6
    assert found["slow"].best >= 2e-3 > found["fast"].best
    assert order[:2] == ["slow", "fast"]


def test_geomean():
    assert geomean([2.0, 8.0]) == pytest.approx(4.0)
    assert math.isnan(geomean([]))


def test_report_has_ratios_means_and_notes():
    rows = parse([
        record("bs", fast=2e-9, numexpr=16e-9),
        record("hsv", fast=8e-9, notes={"numexpr": "no text"}),
        record("tax", fast=4e-9),
    ])
    text = report(rows, frozenset({"bs", "hsv"}))
    cells = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
             for line in text.splitlines() if line.startswith("|")}
    assert cells["kernel"] == ["ns/lane", "fast", "numexpr"]
    assert cells["bs"] == ["8.00", "4.00", "0.50"]
    assert cells["hsv"] == ["8.00", "1.00", "-"]
    assert cells["geomean of the 2 core"] == ["", "2.00", "0.50 (1)"]
    assert cells["geomean of the 1 other"] == ["", "2.00", "-"]
    assert cells["median spread"] == ["20.0%", "20.0%", "20.0%"]
    assert "- numexpr: no text (hsv)" in text
    assert "- commit: abc" in text


def test_a_later_record_takes_the_place_of_an_earlier():
    rows = parse([record(fast=4e-9), "", record(fast=1e-9), record(lanes=64, fast=2e-9)])
    assert [row.ratio("fast") for row in rows] == [8.0, 4.0]
    assert list(groups(rows)) == [("f8", 64), ("f8", 4096)]
    assert contenders(rows) == [UNIT, "fast"]


def test_no_ratio_without_the_unit():
    (row,) = parse([json.dumps(json.loads(record(fast=1e-9)) | {"seconds": {}})])
    assert row.ratio("fast") is None
    assert "- |" in report([row], frozenset())


def test_bars_are_as_long_as_the_ratios():
    rows = parse([record("bs", numba=2e-9, fast=1e-9), record("hsv", numba=16e-9, fast=4e-9)])
    picture = bars.functions(rows)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="16"', picture)]
    assert widths == pytest.approx([widths[1] / 2, widths[1], widths[1] / 16, widths[1] / 4], abs=0.1)
    assert re.findall("× ([0-9.]+)", picture) == ["4.0", "8.0", "0.50", "2.0"]
    assert re.findall("× ([0-9.]+)<", bars.summary(rows))[:2] == ["1.4", "4.0"]  # of all, exact and fast


def test_the_middle_size_in_float64_is_drawn():
    rows = parse([record(type="f4", lanes=262144), record(lanes=262144), record(lanes=4096)])
    assert [(row.type, row.lanes) for row in bars.chosen(rows)] == [("f8", 262144)]
    assert [(row.type, row.lanes) for row in bars.chosen(rows[::2])] == [("f8", 4096)]
    assert bars.chosen([]) == []


def test_a_row_is_read_as_it_was_written():
    rows = parse([record(fast=1e-9, notes={"a": "b"})])
    assert parse([row.record() for row in rows]) == rows


def test_notes_on_slow_contenders_are_one():
    texts = [record("bs", notes={"a": "one call would take 3 s", "b": "one call would take 7 s"}),
             record("hsv", notes={"a": "one call would take 12 s"}), record("noise", notes={"a": "failed: X"})]
    lines = [line for line in report(parse(texts), frozenset()).splitlines() if line.startswith(("- a:", "- b:"))]
    assert lines == ["- a: one call would take 3 to 12 s (bs, hsv)", "- a: failed: X (noise)",
                     "- b: one call would take 7 s (bs)"]


# --- all of it


def test_rows_are_finished_where_sources_processor_and_contenders_are_the_same():
    def row(asked, **environment):
        found = json.loads(record("bs", lanes=4096))
        return parse([json.dumps({**found, "asked": asked, "environment": environment})])

    here = {"sources": "s", "processor": "p"}
    key = {(4096, "f8", "bs")}
    assert lanes.finished(row([UNIT, "a"], sources="s", processor="p", commit="any"), [UNIT, "a"], here) == key
    assert lanes.finished(row([UNIT, "a", "b"], sources="s", processor="p"), [UNIT, "a"], here) == key
    assert not lanes.finished(row([UNIT], sources="s", processor="p"), [UNIT, "a"], here)
    assert not lanes.finished(row([UNIT, "a"], sources="other", processor="p"), [UNIT, "a"], here)
    assert not lanes.finished(row([UNIT, "a"], sources="s", processor="q"), [UNIT, "a"], here)
    assert not lanes.finished(row([UNIT, "a"]), [UNIT, "a"], here)


def test_no_row_is_started_after_the_time_is_over(monkeypatch):
    started = []
    monkeypatch.setattr(lanes, "row", lambda kernel, *_: started.append(kernel) or "record")
    keys = [(4096, "f8", name) for name in ("bs", "hsv")]
    assert list(lanes.measured(keys, [UNIT], Limits(), 0.0)) == []
    assert list(lanes.measured(keys, [UNIT], Limits())) == ["record"] * 2
    assert started == ["bs", "hsv"]


def test_a_run_goes_on_where_it_was_interrupted(monkeypatch, tmp_path, capsys):
    out, measured = tmp_path / "found.jsonl", []

    def row(kernel, kind, count, names, limits, seconds):
        measured.append((count, kind, kernel))
        if len(measured) == 2:
            raise KeyboardInterrupt
        found = json.loads(record(kernel, kind, count))
        environment = {"sources": lanes.sources(), "processor": lanes.processor()}
        return json.dumps({**found, "asked": list(names), "environment": environment})

    monkeypatch.setattr(lanes, "row", row)
    monkeypatch.setattr("sys.argv", ["lanes", "--sizes", "4096,64", "--types", "f8", "--kernels", "bs", "--go-on",
                                     "--contenders", "fast", "--out", str(out)])
    with pytest.raises(KeyboardInterrupt):
        lanes.main()
    lanes.main()
    assert measured == [(4096, "f8", "bs"), (64, "f8", "bs"), (64, "f8", "bs")]
    assert "64 lanes" in capsys.readouterr().out


def test_many_lanes_are_compared_on_a_part_and_slow_contenders_timed_there(monkeypatch):
    calls = []

    class Counting:
        def make(self, kernel, columns):
            calls.append(len(columns[0]))
            return lambda: np.zeros(len(columns[0]))

    count = row.MANY * 2
    columns = [np.zeros(count)]
    part = [part_of(columns[0], row.MANY)]
    few = [columns[0][:row.SAMPLE]]

    def prepared(seconds, **facts):
        calls.clear()
        monkeypatch.setattr(row, "once", lambda run: seconds)
        contender = Contender("c", Counting().make, **facts)
        return row.prepared(contender, KERNELS["piecewise"], columns, part, few, Limits(longest=2.0))[1], list(calls)

    assert prepared(row.SLOW / 2.01, local=True) == (count, [row.MANY, count])
    assert prepared(row.SLOW / 1.99, local=True) == (row.MANY, [row.MANY])
    assert prepared(2.0 * row.TRIED / count * 0.99) == (count, [row.TRIED, count])
    with pytest.raises(UnavailableError, match="one call would take 2 s"):
        prepared(2.0 * row.TRIED / count * 1.01)
    assert prepared(9.0, sampled=True) == (row.SAMPLE, [row.SAMPLE])


def test_a_row_of_many_lanes_says_who_was_timed_on_a_part(monkeypatch):
    monkeypatch.setattr(row, "MANY", 1 << 16)
    monkeypatch.setattr(row, "SLOW", 0.0)
    found = measure(KERNELS["piecewise"], "f8", 1 << 17, [UNIT, "np.vectorize", "np.where", "fast"], Limits(3, 0.01))
    assert found["notes"] == {}
    assert found["parts"] == {UNIT: 1 << 16, "np.vectorize": row.SAMPLE, "fast": 1 << 16}
    assert found["seconds"]["np.where"]["turns"] <= row.FEW_REPEATS
    assert found["asked"] == [UNIT, "np.vectorize", "np.where", "fast"]


def test_the_page_has_every_row_and_names_those_that_it_lacks():
    wanted = [(4096, "f8", "bs"), (4096, "f8", "hsv"), (4096, "f4", "bs")]
    rows = parse([record("hsv", lanes=4096, fast=1e-9), record("bs", lanes=4096, fast=2e-9),
                  record("bs", lanes=7, fast=1e-9)])
    text = page.text(rows, frozenset({"bs"}), wanted)
    assert "**Not measured yet:** f4 with 4,096 lanes: bs." in text
    assert "7 lanes" not in text
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    names = [line[0] for line in cells]
    assert names[names.index("kernel"):][:3] == ["kernel", "bs", "hsv"], "in the order of the kernels"
    full = page.text(rows, frozenset({"bs"}), wanted[:2])
    assert "Not measured yet" not in full


def test_medians_have_the_contenders_own_spread():
    text = json.loads(record("bs", lanes=4096, fast=1e-9))
    text["seconds"][UNIT] |= {"median": 10e-9, "low": 9e-9, "high": 11e-9}
    text["seconds"]["fast"] |= {"median": 2e-9, "low": 1.9e-9, "high": 2.1e-9}
    lines = page.medians(parse([json.dumps(text)])).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == ["bs", "1.00 ±10%", "5.00 ±5%"]


# --- goals


def rows_of(kind="f8", lanes=goals.MIDDLE, **times):
    """Records of the eleven; contender=seconds per lane, or a dict of them by kernel (others 2 ns)."""
    texts = []
    for name in goals.CORE:
        seconds = {peer: given.get(name, 2e-9) if isinstance(given, dict) else given for peer, given in times.items()}
        text = json.loads(record(name, kind, lanes))
        text["seconds"] |= {peer: {**text["seconds"][UNIT], "best": best} for peer, best in seconds.items() if best}
        texts.append(json.dumps(text))
    return parse(texts)


def test_the_geomean_holds_at_the_goal_and_one_slow_kernel_is_named():
    fast = goals.over_unit(rows_of(fast=1e-9), "f8", "fast", 7.5)
    assert [line.holds for line in fast] == [True, True]
    assert fast[0].measured == "8.00"
    slow = goals.over_unit(rows_of(fast={"hsv": 16e-9}), "f8", "fast", 7.5)
    assert [line.holds for line in slow] == [False, False]
    assert slow[1].measured == "hsv 0.50 below"


def test_goals_depend_on_the_family(monkeypatch):
    for family, holds in (("AuthenticAMD 25", True), ("AuthenticAMD 26", False), ("GenuineIntel 6", None)):
        monkeypatch.setattr(goals, "processor_family", lambda family=family: family)
        found = goals.lines(rows_of(fast=8e-9 / 6), {})
        assert [line.holds for line in found if "`fast` over numba.vectorize, geomean" in line.subject][0] is holds


def test_a_goal_without_all_eleven_kernels_is_not_measured():
    lines = goals.over_unit(rows_of(fast={"hsv": 0.0}), "f8", "fast", 7.5)
    assert [line.verdict for line in lines] == ["not measured"] * 2
    assert lines[0].measured == "10 of 11 kernels ran"
    assert {line.holds for line in goals.over_peers([], "f4", "fast", "JAX", ("jax",))} == {None}
    assert goals.divergent([]).holds is None


def test_peers_count_with_the_faster_of_a_family():
    rows = rows_of(fast=1e-9, **{"gcc fast": 2e-9, "clang fast": {"hsv": 0.5e-9}})
    every, mean = goals.over_peers(rows, "f8", "fast", "C", ("gcc fast", "clang fast"))
    assert (every.holds, every.measured) == (False, "hsv 0.50 behind")
    assert mean.holds and mean.goal == ">= 1.1"


def test_the_numpy_target_must_have_the_same_bits_and_be_faster_at_each_size():
    rows = rows_of(lanes=goals.LARGE, numpy=1e-9, **{"np.where": 4e-9})
    rows += rows_of(lanes=1024, numpy=1e-9, **{"np.where": {"bs": 0.5e-9}})
    large, small, *rest = goals.numpy_target(rows, "numpy", "f8")
    assert large.holds
    bits = goals.same_text({"bs": True, "hsv": False})
    assert (bits.holds, bits.measured) == (False, "different: hsv")
    assert (small.holds, small.measured) == (False, "bs 0.50 behind")
    assert {line.holds for line in rest} == {None}


def test_the_engine_gives_the_bits_of_the_printed_text():
    assert goals.same_bits(["hsv", "mand256", "piecewise"], 512) == {"hsv": True, "mand256": True, "piecewise": True}


def test_the_page_counts_what_holds_and_has_the_machine():
    lines = goals.lines(rows_of(fast=1e-9), {"bs": True})
    text = goals.page(lines, {"processor": "abc"}, rows_of())
    holding = sum(line.holds is True for line in lines)
    assert 0 < holding < len(lines)
    assert f"**{holding} of {len(lines)} lines hold.**" in text
    table = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith("| ")]
    assert [(row[0], row[1], row[3]) for row in table[1:]] == [(line.subject, line.goal, line.verdict) for line in lines]
    assert "- processor: abc" in text


def test_only_missing_and_old_rows_are_measured_and_kept(monkeypatch, tmp_path):
    asked = []

    def made(kernel, kind, lanes, names, sources):
        environment = {"sources": sources, "processor": goals.processor()}
        return json.dumps({**json.loads(record(kernel, kind, lanes)), "asked": list(names), "environment": environment})

    def measured(kernel, kind, lanes, names, limits):
        asked.append((kernel, kind, lanes))
        return made(kernel, kind, lanes, names, "now")

    monkeypatch.setattr(goals, "row", measured)
    monkeypatch.setattr(goals, "sources", lambda: "now")
    path = tmp_path / "results" / "found.jsonl"
    goals.keep(path, made("bs", "f8", goals.MIDDLE, CONTENDERS, "now"))
    goals.keep(path, made("hsv", "f8", goals.MIDDLE, CONTENDERS, "before"))
    rows = goals.complete(path, Limits())
    assert ("bs", "f8", goals.MIDDLE) not in asked
    assert {(kernel, kind, lanes) for kernel, kind, lanes, _ in goals.wanted()} == {*asked, ("bs", "f8", goals.MIDDLE)}
    assert len(rows) == len(asked) + 1
    assert {found.environment["sources"] for found in rows} == {"now"}
    asked.clear()
    goals.complete(path, Limits())
    assert asked == []


def test_growth_is_the_power_of_the_last_step():
    assert startup.exponent({10: 5.0, 100: 1.0, 1000: 10.0}) == pytest.approx(1.0)
    assert startup.exponent({100: 1.0, 1000: 100.0}) == pytest.approx(2.0)
