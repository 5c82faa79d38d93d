"""The gate for speed: which floors count, when it fails, and that an engine without vectors does not pass."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import gate
from benchmarks.kernels import KERNELS
from pyflat.targets.numba.jit import processor

STORED = {"families": {"Maker 1, AVX2": {
    "measured": {"bs": 5.0, "hsv": 1.0},
    "provenance": {"processor": "Maker, family 1", "date": "today", "commit": "abc"},
}}}
FLOORS = gate.Floors({"bs": 2.0, "hsv": 0.5}, "made up")


def never():
    raise AssertionError("no pause was needed")


def measuring(*rounds):
    """Ratios as they are measured one after the other, and what was asked for."""
    left, asked = list(rounds), []

    def measured(kernels):
        asked.append(tuple(kernels))
        found = left.pop(0)
        return {kernel: found[kernel] for kernel in kernels}

    return measured, asked


def test_a_ratio_at_its_floor_holds():
    measured, asked = measuring({"bs": 2.0, "hsv": 0.5})
    assert all(verdict.holds for verdict in gate.judge(FLOORS, measured, never))
    assert asked == [("bs", "hsv")]


def test_a_ratio_below_its_floor_is_measured_again_and_the_best_counts():
    pauses = []
    measured, asked = measuring({"bs": 1.5, "hsv": 0.6}, {"bs": 1.9}, {"bs": 2.1})
    verdicts = gate.judge(FLOORS, measured, lambda: pauses.append(1))
    assert [verdict.holds for verdict in verdicts] == [True, True]
    assert verdicts[0].ratio == 2.1
    assert asked == [("bs", "hsv"), ("bs",), ("bs",)]
    assert len(pauses) == 2


def test_a_ratio_that_stays_below_its_floor_does_not_hold():
    measured, asked = measuring(*[{"bs": 1.99, "hsv": 0.6}] * 9)
    verdicts = gate.judge(FLOORS, measured, lambda: None)
    assert [verdict.holds for verdict in verdicts] == [False, True]
    assert len(asked) == 1 + gate.AGAIN
    lines = gate.text(verdicts).splitlines()
    assert [line.split("|")[-2].strip() for line in lines[2:]] == ["BELOW", "holds"]


def test_a_floor_without_a_ratio_is_an_error():
    with pytest.raises(KeyError):
        gate.compare({"bs": 3.0}, FLOORS)


def test_a_family_has_floors_of_its_own():
    floors = gate.choose(STORED, "Maker 1, AVX2", 32)
    assert floors.of == {"bs": pytest.approx(5.0 * gate.MARGIN), "hsv": pytest.approx(gate.MARGIN)}
    assert "Maker, family 1" in floors.source
    assert "today" in floors.source


@pytest.mark.parametrize("name", ["Maker 1, AVX-512", "Maker 2, AVX2", ""])
@pytest.mark.parametrize(("width", "vectors"), [(64, "AVX-512"), (32, "AVX2")])
def test_other_processors_have_those_of_their_vectors(name, width, vectors):
    floors = gate.choose(STORED, name, width)
    assert floors.of == gate.ANYWHERE[vectors]
    assert vectors in floors.source
    assert (name or "this one") in floors.source


def test_without_avx2_there_are_none():
    assert gate.choose(STORED, "Maker 3", 16) is None


def test_the_stored_floors_say_where_they_come_from():
    stored = json.loads(gate.FLOORS.read_text(encoding="utf-8"))
    assert (stored["engine"], stored["lanes"]) == (gate.ENGINE, gate.LANES)
    assert stored["families"]
    for name, family in stored["families"].items():
        assert name.split(", ")[-1] in gate.WIDTHS.values()
        assert family["measured"].keys() <= set(gate.CHOSEN)
        assert len(family["measured"]) >= 4
        assert {"commit", "date", "processor", "command"} <= family["provenance"].keys()
        for kernel, floor in gate.ANYWHERE[name.split(", ")[-1]].items():
            assert floor < family["measured"].get(kernel, 99.0)


def test_what_a_family_reaches_is_written_beside_the_others():
    written = gate.with_family(STORED, "Maker 2, AVX2", {"bs": 3.00049}, {"processor": "new"})
    assert written["families"]["Maker 1, AVX2"] == STORED["families"]["Maker 1, AVX2"]
    assert written["families"]["Maker 2, AVX2"]["measured"] == {"bs": 3.0}
    again = gate.with_family(written, "Maker 2, AVX2", {"bs": 4.0}, {"processor": "new", "date": "now", "commit": "d"})
    assert gate.choose(again, "Maker 2, AVX2", 32).of == {"bs": pytest.approx(4.0 * gate.MARGIN)}


def test_a_processor_that_the_environment_names_has_no_family(monkeypatch):
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.delenv("NUMBA_CPU_FEATURES", raising=False)
    here = gate.family()
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    assert gate.family() == ""
    assert here or processor().vector_bytes == 16


def test_who_computes_something_else_has_no_ratio(monkeypatch):
    monkeypatch.setattr(gate, "measure", lambda *_: {"notes": {"fast": "wrong results"}, "seconds": {}})
    with pytest.raises(gate.GateError, match="wrong results"):
        gate.ratios(["bs"])


@pytest.fixture
def quiet(monkeypatch):
    """No pinning, no pauses, made-up floors."""
    monkeypatch.setattr(gate, "pin", lambda: None)
    monkeypatch.setattr(gate, "PAUSE", 0.0)
    monkeypatch.setattr("sys.argv", ["gate"])
    monkeypatch.setattr(gate, "choose", lambda *_: FLOORS)


@pytest.mark.parametrize(("found", "status"), [(9.0, None), (0.01, "slower than its floor: bs, hsv")])
def test_the_gate_ends_with_an_error_only_below_a_floor(quiet, monkeypatch, capsys, found, status):
    monkeypatch.setattr(gate, "ratios", lambda kernels: dict.fromkeys(kernels, found))
    if status is None:
        gate.main()
    else:
        with pytest.raises(SystemExit, match=status):
            gate.main()
    assert "made up" in capsys.readouterr().out


def test_the_gate_says_that_it_was_skipped(quiet, monkeypatch, capsys):
    monkeypatch.setattr(gate, "choose", lambda *_: None)
    monkeypatch.setattr(gate, "ratios", None)
    gate.main()
    assert "skipped" in capsys.readouterr().out


@pytest.mark.slow
def test_an_engine_without_vectors_is_below_every_floor():
    """With the real engine, in a process of its own: one lane at a time."""
    if processor().vector_bytes < 32:
        pytest.skip("there are floors for AVX2 and AVX-512 only")
    code = ("import json\nfrom benchmarks import gate\ngate.without_vectors()\n"
            "print(json.dumps(gate.ratios(('bs', 'mand32', 'noise', 'raymarch'), 1)))")
    done = subprocess.run([sys.executable, "-c", code], cwd=gate.FLOORS.parent.parent, capture_output=True, text=True,
                          check=True)
    found = json.loads(done.stdout)
    for floors in gate.ANYWHERE.values():
        assert floors.keys() == found.keys() <= KERNELS.keys()
        assert not any(verdict.holds for verdict in gate.compare(found, gate.Floors(floors, "")))
