"""The printed text of functions whose loops stay loops: what a person would have written, and right in every lane."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.generator import generate
from tests.generator.differential import loaded
from tests.generator.lanes import lanes_for
from tests.targets.text.test_alone import compare


def steps(n: int) -> int:
    k = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n //= 2
        k += 1
    return k


def gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def turns(n: int) -> Any:
    a, b, c = 1, 2, 3
    for _ in range(n):
        a, b, c = b, c, a
    return a, b, c


def newton(x: float, tol: float = 1e-12) -> float:
    """The root of x."""
    if x < 0.0:
        raise ValueError("negative")
    y = x
    for _ in range(100):
        z = 0.5 * (y + x / y)  # the mean
        if abs(z - y) < tol:
            break
        y = z
    return z


def primes(n: int) -> int:
    count = 0
    k = 2
    while k <= n:
        j = 2
        while j * j <= k:
            if k % j == 0:
                break
            j += 1
        else:
            count += 1
        k += 1
    return count


def halvings(x: float) -> int:
    k = 0
    while x > 1.0:
        x = x / 2.0
        k = k + 1
    return k


def in_the_condition(x: float, y: float) -> Any:
    t = 0
    while halvings(x) > y:
        x = x - 1.5
        t += halvings(x + y)
    return t, x


def hidden(n: int, live: float) -> float:
    total = 0.0
    for suspect in range(n):
        total += live * suspect
    return total


def divided(n: int) -> int:
    k, total = 10, 0
    while k > n:
        total += 100 // (k - 3)
        k -= 1
    return total


def one_after_another(n: int) -> int:
    k = 0
    while k * k < n:
        k += 1
    while k > 3:
        k -= 3
    return k if n > 5 else -k


def logarithms(x: float) -> float:
    while x > 1.0:
        x = math.log(x)
    return x


KINDS = {"f": "f8", "i": "i8", "b": "b"}
INTS = np.array([0, 1, 2, 3, 7, 27, 40, 6, 9])
FLOATS = np.array([0.0, 1.0, 2.0, 2.5, 900.0, 1e9, 0.25, 64.0, 5.0])


@pytest.mark.parametrize(("fn", "columns"), [
    (steps, [INTS[1:]]), (gcd, [INTS, INTS[::-1]]), (turns, [INTS]), (newton, [FLOATS - 1.0]), (primes, [INTS]),
    (halvings, [FLOATS]), (in_the_condition, [FLOATS[:5], FLOATS[4::-1] / 300.0]), (hidden, [INTS, FLOATS]),
    (divided, [INTS]), (one_after_another, [INTS]), (logarithms, [FLOATS]),
], ids=lambda each: getattr(each, "__name__", ""))
def test_each_lane_leaves_with_its_own_values(fn: Callable[..., Any], columns: list[np.ndarray]) -> None:
    compare(fn, columns, loops="masked")


def shown(fn: Callable[..., Any], target: str | None = None) -> list[str]:
    lines = str(pyflat.twin(fn, loops="masked").show(target=target)).split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith("def "))
    return [line for line in lines[start + 1:] if line]


def test_a_while_is_a_while() -> None:
    assert shown(steps) == [
        "    k = 0",
        "    while n != 1:",
        "        n = select(n % 2 != 0, 3 * n + 1, n // 2)",
        "        k = k + 1",
        "    return k",
    ]
    assert shown(halvings, "numpy") == [
        "    k = np.int64(0)",
        "    suspect = False",
        "    live = True",
        "    while np.any(live := live & (x > 1.0) & np.logical_not(suspect)):",
        "        x = np.where(live, x / 2.0, x)",
        "        suspect = np.where(live, k > 9223372036854775806, suspect)",
        "        k = np.where(live, k + 1, k)",
        "    return k",
    ]


def test_names_that_take_turns() -> None:
    assert shown(gcd) == ["    while b != 0:", "        t0 = b", "        b = a % b", "        a = t0", "    return a"]


def test_the_function_of_a_twin_runs() -> None:
    made = pyflat.twin(steps).function
    assert made(INTS[1:]).tolist() == [steps(n) for n in INTS[1:].tolist()]
    assert "while np.any(live" in inspect.getsource(made)


def test_numba_compiles_the_text() -> None:
    pytest.importorskip("numba")
    namespace: dict[str, Any] = {}
    exec(str(pyflat.twin(primes).show(target="numba")), namespace)
    assert [namespace["primes_flat"](n) for n in INTS.tolist()] == [primes(n) for n in INTS.tolist()]


@pytest.mark.filterwarnings("ignore::pyflat.LaneWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    program = generate(seed)
    rows = lanes_for(program, 12)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    with loaded(program.source) as fn:
        try:
            compare(fn, columns, ",".join(KINDS[kind] for kind in program.kinds), loops="masked")
        except pyflat.FlattenError:
            pytest.skip("refused")
