"""parse(print(ir)) is identical for every stage of functions of the standard library, rolled and unrolled."""

from __future__ import annotations

import calendar
import colorsys
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from pyflat.frontend.specialise import specialise
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.gather_suspects import drop_faults, gather_suspects
from pyflat.passes.lower_exits import lower_exits
from pyflat.passes.pipelines import FLATTEN, flatten_ir

STDLIB: list[tuple[Callable[..., Any], str]] = [
    (colorsys.rgb_to_yiq, "fff"), (colorsys.yiq_to_rgb, "fff"), (colorsys.rgb_to_hls, "fff"), (colorsys.hls_to_rgb, "fff"),
    (colorsys.rgb_to_hsv, "fff"), (colorsys.hsv_to_rgb, "fff"), (calendar.isleap, "i"), (calendar.leapdays, "ii"),
]


def trial_division(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            return d
        d += 1
    return n


def collatz(n):
    for steps in range(1000):
        if n == 1:
            break
        if n % 2:
            n = 3 * n + 1
            continue
        n = n // 2
    else:
        return -1
    return steps


LOOPS: list[tuple[Callable[..., Any], str]] = [(trial_division, "i"), (collatz, "i")]


class Stages:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def check(self, stage: str, fn: Function) -> None:
        validate(fn)
        text = format_function(fn)
        again = parse_function(text)
        validate(again)
        assert format_function(again) == text
        self.seen.append(stage)


def structured(fn: Callable[..., Any], letters: str, **options: Any) -> Function:
    kinds = {"f": Leaf(FLOAT), "i": Leaf(INT)}
    names = inspect.signature(fn).parameters
    return specialise(fn, {name: kinds[k] for name, k in zip(names, letters, strict=True)}, **options).function


def check_structured(stages: Stages, fn: Function) -> None:
    stages.check("specialise", fn)
    stages.check("lower_exits", lower_exits(fn))


@pytest.mark.parametrize(("fn", "letters"), STDLIB, ids=lambda x: getattr(x, "__name__", x))
def test_every_stage_of_a_function_comes_back(fn, letters):
    stages = Stages()
    made = structured(fn, letters)
    check_structured(stages, made)
    flat = flatten_ir(made, stages.check)
    stages.check("gather_suspects", gather_suspects(flat))
    stages.check("drop_faults", drop_faults(flat))
    assert len(stages.seen) == 2 + len(FLATTEN) + 2


@pytest.mark.parametrize(("fn", "letters"), LOOPS, ids=lambda x: getattr(x, "__name__", x))
@pytest.mark.parametrize("loops", ["masked", "roll"])
def test_every_stage_of_a_loop_comes_back(fn, letters, loops):
    stages = Stages()
    made = structured(fn, letters, loops=loops, max_unroll=10)
    check_structured(stages, made)
    assert len(stages.seen) == 2
