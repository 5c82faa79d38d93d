"""Random Python programs through every exact step: the interpreter gives what Python gives, or says that it does
not."""

from __future__ import annotations

import random
import struct
import warnings
from typing import Any

import pytest

from pyflat.backend import (
    FlatFunction,
    flatten_fold,
    flatten_function,
    flatten_fuse,
    flatten_optimize,
    flatten_pack,
    fold_residuals,
)
from pyflat.ir.opaque_calls import flat_values
from tests.generator.differential import Slow, loaded, time_limit
from tests.generator.program import generate
from tests.generator.stages import KINDS
from tests.passes.flat_programs import EDGES

SIZE_LIMIT = 400
"""Programs with more operations are left out: they take seconds."""


def same(a: Any, b: Any) -> bool:
    """Equal bits; ints and bools as the kind of the lane has them."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        return a != a and b != b or struct.pack("d", a) == struct.pack("d", b)
    return int(a) == int(b)


def levels_of(flat: FlatFunction) -> list[FlatFunction]:
    folded = flatten_fold(flat, strict=True)
    optimised = flatten_optimize(folded)
    return [flat, folded, optimised, flatten_fuse(optimised)]


@pytest.mark.turns(2)
@pytest.mark.parametrize("first", range(0, 120, 10))
def test_random_programs(first):
    compared = flattened = 0
    for seed in range(first, first + 10):
        program = generate(seed)
        with loaded(program.source) as fn:
            names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
            kinds = {name: {"f": "f8", "i": "i8", "b": "b"}[kind] for name, kind in zip(names, program.kinds, strict=True)}
            flat = flatten_function(fn, arguments=kinds, faults="mask", raises=False)
            if not flat.ok or flat.size > SIZE_LIMIT:
                continue
            flattened += 1
            levels = levels_of(flat)
            assert fold_residuals(levels[-1]) == []
            assert levels[-1].size <= flat.size
            flatten_pack(levels[-1])
            compared += compare(fn, program.kinds, levels, seed)
    assert flattened >= 2 and compared >= 20


def compare(fn: Any, kinds: Any, levels: list[FlatFunction], seed: int) -> int:
    chance, compared = random.Random(seed), 0
    for _ in range(12):
        row = [chance.choice(EDGES[KINDS[kind]]) for kind in kinds]
        try:
            with time_limit(1.0), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy's functions warn in the original
                wanted = list(flat_values(fn(*row)))
        except Slow:
            continue
        except Exception:  # noqa: BLE001 - whatever the program raises
            wanted = None
        for level in levels:
            *got, suspect = level.run_leaves(row).values
            if wanted is None:
                assert suspect, (seed, level.steps, row)
            elif not suspect and all(isinstance(n, int | float) for n in wanted) and len(wanted) == len(got):
                assert all(map(same, got, wanted)), (seed, level.steps, row, got, wanted)
                compared += 1
    return compared
