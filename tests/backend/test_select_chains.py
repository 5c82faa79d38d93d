"""Chains of selects by one condition, as loops with `if p: acc = f(acc)` make them: one select is left, every bit
stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pyflat.backend import FlatFunction, flatten_fold, flatten_function, flatten_fuse, flatten_optimize
from pyflat.testing import same_bits


def sf_pervar(s: float, n: float) -> float:
    acc = 0.0
    for i in range(4):
        if float(i) > s:
            acc += n
    return acc


def sf_add(s: float, n: float) -> float:
    acc = 0.0
    for i in range(4):
        if s > 0.5:
            acc += n * float(i)
    return acc


def sf_add_base(s: float, n: float) -> float:
    acc = 5.0
    for i in range(4):
        if s > 0.5:
            acc += n * float(i + 1)
    return acc


def sf_mul(s: float, n: float) -> float:
    prod = 1.0
    for i in range(4):
        if s > 0.5:
            prod *= 1.0 + n * float(i)
    return prod


def sf_min(s: float, n: float) -> float:
    acc = 1000.0
    for i in range(4):
        if s > 0.5:
            acc = min(acc, n * float(i + 1))
    return acc


def sf_clamp(s: float, n: float) -> float:
    acc = 0.0
    for i in range(5):
        if s > 0.5:
            acc = min(max(acc + n * float(i + 1), 0.0), 50.0)
    return acc


def sf_vec(s: float, n: float) -> tuple[float, float, float]:
    x = y = z = 0.0
    for i in range(3):
        if s > 0.5:
            x, y, z = x + n * float(i + 1), y - n * float(i + 1), z + float(i + 1)
    return x, y, z


def counted(flat: FlatFunction, *opcodes: str) -> int:
    return sum(node.opcode in opcodes for node in flat.nodes)


def fused(fn: Callable[..., Any], **options: Any) -> FlatFunction:
    return flatten_fuse(flatten_optimize(flatten_fold(flatten_function(fn, **options))))


def assert_same(fn: Callable[..., Any], flat: FlatFunction, rows: Sequence[Sequence[Any]]) -> None:
    for row in rows:
        assert same_bits(flat.run(*row), fn(*row)), row


ROWS = [(s, n) for s in (-1.0, 0.4, 0.5, 0.6, 2.5, math.nan) for n in (-3.0, -0.5, -0.0, 0.0, 1.0, 2.5, math.inf, math.nan)]


def test_conditions_that_differ_stay() -> None:
    flat = fused(sf_pervar)
    assert counted(flat, "select") == 4
    assert_same(sf_pervar, flat, ROWS)


@pytest.mark.parametrize(("fn", "selects"), [
    (sf_add, 1), (sf_add_base, 1), (sf_mul, 1), (sf_min, 1), (sf_clamp, 1), (sf_vec, 3),
])
def test_one_select_is_left_for_each_result(fn: Callable[..., Any], selects: int) -> None:
    flat = fused(fn)
    assert counted(flat, "select") == selects
    assert_same(fn, flat, ROWS)


def test_a_chain_of_ints_takes_three_additions() -> None:
    def chain(a: int, b: int, c: int) -> int:
        return c + 3 + a + 1 + b

    flat = fused(chain)
    assert counted(flat, "add", "sub", "mul") == flat.size == 3
    assert_same(chain, flat, [(1, 2, 3), (-5, 0, 2**62), (-(2**62), -7, 2**63 - 5)])
    assert counted(fused(chain, faults="keep"), "add") == 4  # each may overflow
