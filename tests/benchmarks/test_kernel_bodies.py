"""The benchmark of functions in index loops: bits are the originals', and other bits are noticed."""

from __future__ import annotations

import pytest

from benchmarks import kernel_bodies
from benchmarks.kernel_bodies import Found, drawn, main, table, ten


@pytest.fixture(autouse=True)
def _once(monkeypatch):
    monkeypatch.setattr(kernel_bodies, "taken", lambda runs, *_: dict.fromkeys(runs, 1e-6))


@pytest.mark.parametrize("target", kernel_bodies.TARGETS)
def test_the_ten_have_the_originals_bits(target):
    found = list(ten(target, 1_000))
    assert [one.name for one in found] == [function.__name__ for function in kernel_bodies.FUNCTIONS]
    assert len(found) == 10 and all(one.same and not one.replayed for one in found)


@pytest.mark.filterwarnings("ignore::pyflat.PerformanceWarning")
def test_random_functions_have_the_originals_bits():
    found = [one for seed in range(12, 17) if (one := drawn(seed, "numpy", 1_000)) is not None]
    assert {one.name for one in found} == {"seed 14", "seed 16"} and all(one.same for one in found)


def test_a_seed_without_a_number_for_its_result_is_left_out():
    assert drawn(0, "numpy", 1_000) is None


def test_other_bits_are_noticed(monkeypatch):
    texts = iter(range(99))
    monkeypatch.setattr(kernel_bodies, "bits", lambda array: next(texts))
    assert not next(ten("numpy", 600)).same


def test_the_table_has_means_and_names():
    found = [Found("a", "numba", 1.0, 1.0, True, False), Found("b", "numba", 1.0, 4.0, False, False),
             Found("c", "numba", 2.0, 32.0, True, True)]
    assert table(found, 3).splitlines() == [
        "numba: 3 functions (3 others drawn), geomean 4.00, without the 1 that the original ran 2.00, worst 16.00 (c)",
        "above 1.25: b, c", "other bits: b"]


def test_the_exit_status_says_whether_bits_are_the_same(monkeypatch, capsys):
    monkeypatch.setattr(kernel_bodies, "pin", lambda: None)
    monkeypatch.setattr(kernel_bodies, "ten", lambda *_: iter([Found("a", "numba", 1.0, 2.0, False, False)]))
    assert main(["--targets", "numba"]) == 1
    assert "OTHER BITS" in capsys.readouterr().out
