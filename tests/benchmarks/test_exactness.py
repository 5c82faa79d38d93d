"""The benchmark of exactness compares what it says it compares."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import exactness
from pyflat.ir.shape import Leaf
from pyflat.ir.types import INT
from pyflat.runtime.compiled import flatten
from pyflat.runtime.settings import Options


def test_there_are_five_kernels_whose_lanes_do_not_fail() -> None:
    found = exactness.kernels(500)
    assert len(found) == 5
    for function, lanes in found.values():
        for row in zip(*(lane.tolist() for lane in lanes), strict=True):
            function(*row)


def test_overflow_is_left_out_and_nothing_else() -> None:
    flat = flatten(exactness.mixed_hash, {"a": Leaf(INT), "b": Leaf(INT)}, Options()).flat
    without = exactness.without_overflow(flat)
    gone = {op.attr("fault").type for op in set(flat.flat_block.ops) - set(without.flat_block.ops)}
    assert gone == {"OverflowError"}


@pytest.mark.parametrize("name", ["mixed_hash", "rgb_to_hsv"])
def test_every_ratio_is_measured(name: str) -> None:
    function, lanes = exactness.kernels(50)[name]
    best = exactness.measure(exactness.contenders(function, lanes, "numpy", ints=name in exactness.INTS), 1)
    found = exactness.ratios(best)
    assert [key for key, value in found.items() if value is None] == ([] if name == "mixed_hash" else ["overflow"])
    assert all(value is None or (np.isfinite(value) and value > 0) for value in found.values())
