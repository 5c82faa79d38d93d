"""Random calls with mixed containers agree with plain arrays; `python -m benchmarks.mixed_calls` makes many more."""

import pytest

from benchmarks import mixed_calls
from pyflat.runtime.containers import columns


@pytest.mark.parametrize("seed", range(3))
def test_mixed_calls_agree_with_plain_arrays(seed):
    counts = mixed_calls.run(50, seed)
    assert sum(counts.values()) == 50
    assert {kind.rpartition(" ")[2] for kind in counts} >= {"failed", "whole"}


@pytest.mark.parametrize(("name", "wrong"), [
    ("_spread", lambda array, present: array.repeat(2)[: len(present)]),
    ("_missing", lambda found: None),
])
def test_a_wrong_value_or_gap_is_noticed(monkeypatch, name, wrong):
    pytest.importorskip("polars")
    monkeypatch.setattr(columns, name, wrong)
    with pytest.raises((AssertionError, AttributeError, IndexError, ValueError, ZeroDivisionError)):
        mixed_calls.run(200, 0)
