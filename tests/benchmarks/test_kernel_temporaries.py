"""The benchmark of temporaries: bits are the originals' and those of fused loops, and other bits are noticed."""

from __future__ import annotations

import pytest

from benchmarks import kernel_temporaries
from benchmarks.kernel_temporaries import PAIRS, Found, main, measure, table


@pytest.fixture(autouse=True)
def _once(monkeypatch):
    monkeypatch.setattr(kernel_temporaries, "taken", lambda runs, *_: dict.fromkeys(runs, 1e-6))


@pytest.mark.parametrize("target", kernel_temporaries.TARGETS)
@pytest.mark.parametrize("kernel", PAIRS, ids=lambda kernel: kernel.__name__)
def test_both_ways_have_the_originals_bits(kernel, target):
    found = measure(kernel, *PAIRS[kernel], target, "small", 1_000)
    assert found.same and found.name == kernel.__name__


def test_other_bits_are_noticed():
    assert not measure(kernel_temporaries.one, kernel_temporaries.whole_fused, 1, "numpy", "small", 300).same


ONE, OTHER = (Found(name, "numba", "cache", times, 1.0, "virtual", name == "a") for name, times in (("a", 1.0), ("b", 4.0)))


def test_the_table_has_means_and_names():
    assert table([ONE, OTHER]).splitlines() == ["numba: 2 pairs, geomean 2.00, largest 4.00 (b, cache)",
                                                "above 1.1: b (cache)", "other bits: b (cache)"]


def test_the_exit_status_says_whether_bits_are_the_same(monkeypatch, capsys):
    monkeypatch.setattr(kernel_temporaries, "pin", lambda: None)
    monkeypatch.setattr(kernel_temporaries, "measured", lambda _: iter([ONE, OTHER]))
    assert main(["--targets", "numba"]) == 1
    assert "OTHER BITS" in capsys.readouterr().out
