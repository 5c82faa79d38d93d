"""The steps over random flat functions: every bit kept, nothing left to fold, settled after one run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyflat.backend import FastMath, FlatFunction, flatten_fold, flatten_fuse, flatten_optimize, fold_residuals
from pyflat.ir.nodes import Function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.passes.gather_suspects import drop_faults
from tests.passes.flat_programs import FlatPrograms, assert_equal, samples

EXACT = (flatten_fold, flatten_optimize, flatten_fuse)


def as_flat(fn: Function) -> FlatFunction:
    arguments = {f"{p.name}{k}": Leaf(p.kind) for k, p in enumerate(fn.params)}
    return FlatFunction(fn.name, function=fn, arguments=arguments, steps=("flatten",), options={"faults": "keep"})


@pytest.mark.parametrize("seed", range(150))
def test_exact_steps_keep_every_bit(seed):
    fn = FlatPrograms(seed).function(30)
    flat = as_flat(fn)
    for step in EXACT:
        text = format_function(flat.ir)
        done = step(flat)
        assert format_function(flat.ir) == text, "the argument was changed"
        assert done.size <= flat.size
        assert_equal(fn, done.ir, samples(fn, 40, seed))
        assert step(done).ir is done.ir
        flat = done


@pytest.mark.parametrize("seed", range(150, 300))
def test_nothing_is_left_to_fold(seed):
    flat = as_flat(drop_faults(FlatPrograms(seed).function(30)))
    for step in EXACT:
        flat = step(flat)
        assert fold_residuals(flat) == [], format_function(flat.ir)


@pytest.mark.parametrize("seed", range(300, 360))
def test_fast_math_settles(seed):
    flat = as_flat(drop_faults(FlatPrograms(seed).function(30)))
    flat = replace(flat, options={"faults": "drop"})
    fast = FastMath.all()
    exact = flatten_fuse(flatten_optimize(flatten_fold(flat)))
    done = flatten_fuse(flatten_optimize(flatten_fold(flat), fast_math=fast), fast_math=fast)
    assert done.size <= exact.size + 2  # a shared reciprocal is one operation more
    again = flatten_fuse(flatten_optimize(done, fast_math=fast), fast_math=fast)
    assert again.size <= done.size
