"""The example shaders: their operations, their values at every level, and what they claim."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import pytest

from examples.shaders import capability, transparent
from examples.shaders.__main__ import capability_row, exact_steps, fast_steps, structure, table, transparent_row
from pyflat.backend import (
    flatten_fold,
    flatten_function,
    flatten_fuse,
    flatten_optimize,
    flatten_pack,
    fold_residuals,
    preshader,
)
from pyflat.ir.opaque_calls import flat_values
from pyflat.ir.shape import leaves, rebuild
from pyflat.ir.types import BOOL, INT
from tests.passes.flat_programs import same_bits

SHADERS = [(f, ()) for f in transparent.SHADERS] + [(s.function, s.whitelist) for s in capability.SHADERS]
IDS = [function.__name__ for function, _ in SHADERS]
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 0.25, 0.1, 2.0, -3.5, 5e-324, 1e308, math.inf, -math.inf, math.nan, 0.95, 1e-3)
ORDINARY = (0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 0.95, 1.5, 2.0, -0.4)


def lanes(flat: Any, count: int, edges: tuple[float, ...]) -> list[list[Any]]:
    """Arguments as Python has them."""
    chance = random.Random(flat.name)
    rows = []
    for _ in range(count):
        row = []
        for shape in flat.arguments.values():
            numbers = [chance.random() < 0.5 if leaf.kind is BOOL else chance.randrange(-3, 4) if leaf.kind is INT
                       else chance.choice(edges) for leaf in leaves(shape)]  # fmt: skip
            row.append(rebuild(shape, iter(numbers)))
        rows.append(row)
    return rows


def outcome(function: Any, row: list[Any]) -> list[Any] | None:
    """The numbers that Python gives, None where it raises."""
    try:
        found = list(flat_values(function(*row)))
    except (ArithmeticError, ValueError):
        return None
    return None if any(isinstance(number, complex) for number in found) else found


@pytest.mark.parametrize(("function", "whitelist"), SHADERS, ids=IDS)
def test_every_exact_level_keeps_every_bit(function, whitelist):
    flat = flatten_function(function, whitelist, faults="mask")
    folded = flatten_fold(flat, strict=True)
    optimised = flatten_optimize(folded)
    levels = [flat, folded, optimised, flatten_fuse(optimised)]
    compared = 0
    for row in lanes(flat, 150, EDGES):
        expected = outcome(function, row)
        numbers = [n for value in row for n in flat_values(value)]
        for level in levels:
            *got, suspect = level.run_leaves(numbers).values
            if expected is None:
                assert suspect, (level.steps, row)
            elif not suspect:
                assert all(map(same_bits, got, expected)), (level.steps, row, got, expected)
                compared += 1
    assert compared >= 60


@pytest.mark.parametrize(("function", "whitelist"), SHADERS, ids=IDS)
def test_packing_keeps_every_bit(function, whitelist):
    for steps in (exact_steps, fast_steps):
        flat = steps(flatten_function(function, whitelist))
        packed = flatten_pack(flat)
        assert packed.size <= flat.size
        for row in lanes(flat, 40, EDGES):
            assert all(map(same_bits, flat_values(packed.run(*row)), flat_values(flat.run(*row)))), row


@pytest.mark.parametrize(("function", "whitelist"), SHADERS, ids=IDS)
def test_fast_math_is_near_on_ordinary_values(function, whitelist):
    flat = flatten_function(function, whitelist)
    fast = fast_steps(flat)
    compared = 0
    for row in lanes(flat, 60, ORDINARY):
        expected = outcome(function, row)
        if expected is None or not all(math.isfinite(n) for n in expected):
            continue
        assert flat_values(fast.run(*row)) == pytest.approx(expected, rel=1e-9, abs=1e-9), row
        compared += 1
    assert compared >= 20


@pytest.mark.parametrize("shader", capability.SHADERS, ids=lambda s: s.name)
def test_operations_left(shader):
    assert capability_row(shader).problems == ()
    assert fold_residuals(exact_steps(flatten_function(shader.function, shader.whitelist))) == []


@pytest.mark.parametrize("function", transparent.SHADERS, ids=lambda f: f.__name__)
def test_a_branchless_shader_is_its_own_graph(function):
    assert transparent_row(function).problems == ()


def test_wrong_counts_are_shown():
    wrong = dataclasses.replace(capability.SHADERS[0], exact={"select": 2})
    row = capability_row(wrong)
    assert "WRONG: left with {'gt': 1, 'mul': 1, 'select': 1} instead of {'select': 2}" in table([row])


def test_the_helper_is_what_stands_by_hand():
    by_helper, by_hand = (flatten_function(f) for f in (capability.shade_with_helper, capability.shade_by_hand))
    assert structure(by_helper) == structure(by_hand)
    assert structure(by_hand) != structure(flatten_function(capability.two_returns))


def test_at_least_twenty_shaders_and_eight_transparent():
    assert len(capability.SHADERS) >= 20 and len(transparent.SHADERS) >= 8


UNIFORM = [s for s in capability.SHADERS if s.uniform]


@pytest.mark.parametrize("shader", UNIFORM, ids=lambda s: s.name)
def test_preamble_and_body_together_are_the_shader(shader):
    flat = exact_steps(flatten_function(shader.function, shader.whitelist))
    split = preshader(flat, shader.uniform)
    assert split.preamble.size + split.body.size == flat.size
    uniform = {n for n in split.preamble.arguments}
    assert uniform == set(shader.uniform)
    for row in lanes(flat, 60, EDGES):
        assert all(map(same_bits, flat_values(split.run(*row)), flat_values(flat.run(*row)))), row
