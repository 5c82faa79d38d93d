"""Random programs as exported NumPy text: where pyflat cannot be imported they have the bits of their originals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generator import Program, generate
from tests.generator.exported import check_exported
from tests.generator.looping import generate_loops

SAMPLES = [(generate, 0, 30), (generate_loops, 0, 10)]


@pytest.mark.parametrize(("make", "first", "last"), [
    *SAMPLES, *(pytest.param(make, last, last + 80, marks=pytest.mark.slow) for make, _, last in SAMPLES)])
def test_exported_programs_have_the_bits_of_their_originals(
    tmp_path: Path, make: Callable[[int], Program], first: int, last: int
) -> None:
    counts, differences = check_exported([make(seed) for seed in range(first, last)], tmp_path)
    assert not differences, differences[0]
    assert counts["exported"] > 0.6 * (last - first), counts
    assert counts["same bits"] > 8 * counts["exported"], counts
