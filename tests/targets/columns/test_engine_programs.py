"""Random programs in the query engines: each row is Python's value, or null where it raises or the checks are wider."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from pyflat.backend import flatten_function
from pyflat.errors import FlattenError
from tests.generator import generate
from tests.generator.differential import loaded
from tests.generator.lanes import lanes_for
from tests.targets.columns.engine_functions import expected
from tests.targets.columns.test_query_engines import ENGINES, agree

INEXACT = re.compile(r"math\.(?!sqrt|floor|ceil|trunc|copysign|fmod|isnan|isinf|isfinite|inf|nan|pi|fabs)|np\.|\*\*|\bpow\(")
KINDS = {"f": "f8", "i": "i8", "b": "b"}
SEEDS = [seed for seed in range(60, 180) if not INEXACT.search(generate(seed).source)]


def numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from numbers(item)
    else:
        yield value


@pytest.mark.parametrize("engine", ENGINES)
def test_random_programs(engine: str) -> None:
    compared = run = 0
    for seed in SEEDS[:15]:
        program = generate(seed)
        kinds = [KINDS[kind] for kind in program.kinds]
        rows = lanes_for(program, 30)
        with loaded(program.source) as fn:
            try:
                names = [node.name for node in flatten_function(fn, kinds=",".join(kinds), max_unroll=64).params]
                got = ENGINES[engine](fn, names, kinds, rows)
            except (FlattenError, ValueError):
                continue
            run += 1
            for row, found in zip(rows, got, strict=True):
                want = expected(fn, row)
                if engine == "sqlite" and any(number != number for number in row):
                    want = None
                if found == (None,) * len(found):
                    continue
                values = [None] * len(found) if want is None else list(numbers(want))
                assert all(same(a, b, engine) for a, b in zip(found, values, strict=True)), (seed, row, found, want)
                compared += 1
    assert run >= 5 and compared > 30 * run / 3


def same(got: Any, want: Any, engine: str) -> bool:
    """An int is a float where the function has floats on other paths."""
    if isinstance(got, float) and isinstance(want, int) and math.isfinite(got):
        return got == want
    return agree(got, want, 0, engine == "sqlite")
