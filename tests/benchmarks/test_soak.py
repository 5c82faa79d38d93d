"""Long runs of random programs go on where the last one stopped."""

from __future__ import annotations

import pytest

from benchmarks import soak


@pytest.fixture
def file(monkeypatch, tmp_path):
    monkeypatch.setattr(soak, "FILE", tmp_path / "soak.json")
    monkeypatch.setattr(soak, "BATCH", 2)


def test_a_run_goes_on_and_adds_up(file, capsys):
    arguments = ["--minutes", "0.00001", "--only", "programs", "--processes", "0"]
    assert soak.main(arguments) == 0
    first = soak.read()["programs"]
    assert (first.next, first.programs, first.failures) == (soak.FAR + 2, 2, 0)
    assert soak.main(arguments) == 0
    again = soak.read()["programs"]
    assert (again.next, again.programs) == (soak.FAR + 4, 4)
    assert again.lanes > first.lanes > 0
    assert "4 programs" in capsys.readouterr().out


def test_what_fails_is_said_and_counted(file, capsys, monkeypatch):
    monkeypatch.setattr(soak, "batch", lambda sort, first, processes: [(first, 5, False, "the value differs")])
    assert soak.main(["--minutes", "0.00001", "--only", "loops"]) == 1
    assert f"FAILURE loops, seed {soak.FAR}: the value differs" in capsys.readouterr().out
    loops = soak.read()["loops"]
    assert loops.failures == loops.programs > 0


@pytest.mark.turns(3)
@pytest.mark.parametrize("sort", ["float32", "twins from disk", "kernels, numba"])
def test_sorts_run(file, sort):
    assert [(seed, failure) for seed, _, _, failure in soak.batch(sort, 3, 0)] == [(3, ""), (4, "")]
