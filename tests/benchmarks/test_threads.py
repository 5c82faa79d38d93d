"""The figures of docs/contributors/threads.md, and that results which depend on the number of threads are noticed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import threads
from benchmarks.kernels import KERNELS
from benchmarks.threads import Scaling


def scaling(kernel="bs", target="numba", same=True, **facts):
    return Scaling(kernel, target, facts.get("type", "f8"), facts.get("lanes", 64), facts.get("seconds", {1: 4e-3, 2: 2e-3}),
                   same)


@pytest.mark.parametrize(("cores", "numbers"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_numbers_of_threads(cores, numbers):
    assert threads.counts(cores) == numbers


def test_the_shortest_turn_counts_and_they_take_turns():
    now, order = [0.0], []

    def run(name, seconds):
        def call():
            order.append(name)
            now[0] += seconds.pop(0)
        return call

    runs = {1: run(1, [3.0, 2.0, 4.0]), 2: run(2, [1.0, 5.0, 6.0])}
    assert threads.taken(runs, 3, 100.0, lambda: now[0]) == {1: 2.0, 2: 1.0}
    assert order == [1, 2] * 3


def test_slow_calls_have_fewer_turns_but_some():
    now, calls = [0.0], []

    def call():
        calls.append(1)
        now[0] += 10.0

    threads.taken({1: call}, 9, 1.0, lambda: now[0])
    assert len(calls) == threads.LEAST


def test_the_table_has_ratios_and_their_means():
    found = [scaling(), scaling(target="numpy", seconds={1: 3e-3, 2: 3e-3}),
             scaling("hsv", seconds={1: 1e-3, 2: 2e-3}), scaling("hsv", "numpy", seconds={1: 8e-3, 2: 2e-3})]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in threads.table(found, [1, 2]).splitlines()]
    assert lines[0] == ["kernel", "numba, ms", "2 threads", "numpy, ms", "2 threads"]
    assert lines[2:] == [["bs", "4.00", "2.00", "3.00", "1.00"], ["hsv", "1.00", "0.50", "8.00", "4.00"],
                         ["geomean", "", "1.00", "", "2.00"]]


def test_other_bits_are_said():
    found = [scaling(), scaling(target="numpy"), scaling("hsv"), scaling("hsv", "numpy", same=False)]
    assert threads.different(found) == "hsv (numpy, f8, 64 lanes)"
    assert "**Other bits: hsv (numpy, f8, 64 lanes).**" in threads.page(found, [1, 2], {})
    assert "the same bits" in threads.page(found[:2], [1, 2], {"load": "0"})


def test_other_bits_are_noticed(monkeypatch):
    results = {1: np.zeros(4), 2: np.array([0.0, 0.0, -0.0, 0.0])}
    monkeypatch.setattr(threads, "runs_of",
                        lambda *_: {number: lambda result=result: result for number, result in results.items()})
    assert not threads.measure(KERNELS["bs"], "numba", "f8", 64, [1, 2]).same
    results[2] = np.zeros(4)
    assert threads.measure(KERNELS["bs"], "numba", "f8", 64, [1, 2]).same


@pytest.mark.parametrize("target", threads.ENGINES)
def test_calls_use_as_many_threads_as_asked(monkeypatch, target):
    monkeypatch.setenv("PYFLAT_NUM_THREADS", "1")
    monkeypatch.setattr(threads, "BUDGET", 0.0)
    helped = []
    from pyflat.targets import threads as engine

    share = engine._Work.share
    monkeypatch.setattr(engine._Work, "share",
                        lambda work, pieces, most: helped.append((most, len(pieces))) or share(work, pieces, most))
    found = threads.measure(KERNELS["collatz"], target, "f8", 1 << 18, [1, 2])
    assert found.same
    assert helped
    assert {most for most, _ in helped} == {2}
    assert found.seconds.keys() == {1, 2}


def test_one_core_has_nothing_to_measure(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 1)
    monkeypatch.setattr("sys.argv", ["threads"])
    with pytest.raises(SystemExit, match="one core"):
        threads.main()
