"""Nests of more iterations than are unrolled: what is kept of them, what is found in each, and how often it is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyflat.frontend.specialise import specialise
from pyflat.frontend.syntax import loops
from pyflat.ir.build import Builder
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Loop, walk
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT
from tests.support.twins import agree

ROWS = [(x,) for x in (-2.5, -0.0, 0.5, 3.0, 1e300)]
N = 5


def uniform(x):
    total = 0.0
    for a in range(5):
        for b in range(5):
            for c in range(N):
                for d in range(5):
                    for e in range(2, 7):
                        for f in range(0, 10, 2):
                            y = x * a + b * c - d
                            if y > e:
                                y = y * 0.5 - f
                            total += y
    return total


def kinds_that_grow(x):
    """An int before the nest, a float after the first iteration of its second loop; a variable first bound inside."""
    total, best = 0, None
    for a in range(20):
        for b in range(20):
            if b > 1:
                total = total + x
            for c in range(20):
                if best is None or x * c < best:
                    best = x * c - a
    return total, best


def known_items(x):
    """What the inner loop does needs a known index."""
    total = 0.0
    for i in range(40):
        row = []
        for j in range(150):
            row.append(x * j - i)
        total = total * 0.5 + row[7] + len(row)
    return total


def left_early(x):
    total = 0.0
    for i in range(30):
        for j in range(30):
            if x * j > 40.0 + i:
                break
            for k in range(30):
                total += k - x
    return total


def seldom(x):
    """The text alone would say 90,000 iterations."""
    total = 0.0
    for i in range(300):
        if i % 100 == 0:
            for j in range(300):
                total = total * 0.5 + j * x
    return total


def triangle(x):
    total = 0.0
    for i in range(100):
        for j in range(i):
            total = total * 0.5 + j * x
    return total


def folded(x, k):
    for _ in range(4):
        x = x * 0.5 + k
    return x


def calls(x):
    """Calls with the same and with other signatures, whose loops are kept or copied in each round."""
    total = 1
    for a in range(40):
        for b in range(200):
            total = folded(total, x) + folded(x, b) - folded(x, a)
    return total


def rebound(x):
    n = 2
    for a in range(10):
        n = 100
        for b in range(n):
            x = x * 0.5 + b
    return x


NESTS = [uniform, kinds_that_grow, known_items, left_early, seldom, triangle, calls, rebound]


@pytest.mark.parametrize("limit", [4096, 30])
@pytest.mark.parametrize("fn", NESTS, ids=lambda fn: fn.__name__)
def test_values(fn: Callable[..., Any], limit: int) -> None:
    agree(fn, "f", rows=ROWS, max_unroll=limit if fn is not known_items else 4096)


def built(fn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Loops that are kept, the operations of the function, and how many were built for it."""
    append, made = Builder.append, []
    monkeypatch.setattr(Builder, "append", lambda self, op: (made.append(op), append(self, op))[-1])
    function = specialise(fn, {"x": Leaf(FLOAT)}).function
    kept = [item for item in walk(function.body) if isinstance(item, Loop)]
    return len(kept), len(list(all_ops(function.body))), len(made)


def test_a_nest_is_kept_down_to_what_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Built once for each round of the outermost loop, and once more by each inner loop: five times the text at most,
    where unrolling up to the limit would build 4,096 iterations, and rounds that multiply 2**3 copies."""
    kept, operations, made = built(uniform, monkeypatch)
    assert kept == 3
    assert 5**3 < operations < made < 5 * operations


@pytest.mark.parametrize(("fn", "kept"), [(known_items, 1), (seldom, 0), (triangle, 2), (calls, 2), (rebound, 0)])
def test_what_is_kept(fn: Callable[..., Any], kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(fn, monkeypatch)[0] == kept


@pytest.mark.parametrize(("fn", "least"), [
    (uniform, 5**6), (kinds_that_grow, 8000), (known_items, 6000), (left_early, 0), (seldom, 300), (triangle, 100),
    (calls, 8000), (rebound, 10)])
def test_iterations_known_before(fn: Callable[..., Any], least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count, found = loops.least_iterations, []
    monkeypatch.setattr(loops, "least_iterations", lambda *given: found.append(count(*given)) or found[-1])
    specialise(fn, {"x": Leaf(FLOAT)})
    assert found[0] == least
