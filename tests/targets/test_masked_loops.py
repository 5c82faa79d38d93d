"""Rolled loops on both engines: every lane gives what Python gives, alone, and loops end."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.frontend.specialise import specialise
from pyflat.ir.interp import run
from pyflat.ir.loops import has_loop
from pyflat.ir.nodes import Function, Loop
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.uses import results_of
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.passes.limit_trips import limit_trips
from pyflat.passes.pipelines import flatten_ir
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba import engine as numba_target
from pyflat.targets.numba import loop_variance as numba_uniform
from pyflat.targets.numba.costs import MeasuredCosts
from pyflat.targets.numpy import engine as numpy_target
from tests.passes.structured_programs import StructuredPrograms, bits, lanes

TARGETS = ("numpy", "numba")
DTYPES = {FLOAT: np.float64, INT: np.int64, BOOL: np.bool_}
LANES = 250


def newton(x: float):
    if not x > 0:
        return 0.0
    g = x
    while abs(g * g - x) > 1e-9 * x:
        g = 0.5 * (g + x / g)
    return g


def collatz(n: int):
    if n < 1 or n > 1000:
        return 0
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


def continues_and_breaks(n: int, x: float):
    s = 0
    for i in range(min(n, 20)):
        if i == 7:
            continue
        s += x * i
        if s > 100:
            break
    else:
        s = -s - 1
    return s


def triangle(n: int):
    t = 0
    for i in range(min(n, 10)):
        for j in range(i):
            if (i + j) % 3 == 0:
                continue
            t += i * j
    return t


def returns_from_nested(n: int, m: int):
    for i in range(min(n, 12)):
        for j in range(min(m, 12)):
            if i * j > 20:
                return i * 100 + j
            if j > i:
                break
        else:
            if i == 9:
                return -2
    return -1


def leaves_by_return_only(n: int):
    i = 0
    while True:
        i += 1
        if i * i > min(n, 50):
            return i


def may_be_unbound(n: int):
    for i in range(min(n, 10)):
        last = i * 2
    return last


def factorial(n: int):
    if n > 25:
        return 0
    r = 1
    for i in range(2, n + 1):
        r *= i
    return r


def gcd(a: int, b: int):
    while b:
        a, b = b, a % b
    return a


def raises_inside(n: int, x: float):
    s = 0.0
    for i in range(min(n, 9)):
        if i == 5:
            raise ValueError(f"five at {x}")
        s += 1 / (x - i)
    return s


def loop_in_arms(x: float, n: int):
    n = min(n, 8)
    if x > 0:
        while x < 50:
            x = x * 2 + 1
        r = x
    elif n > 2:
        r = 0.0
        for i in range(n):
            if i % 2:
                for j in range(i):
                    r += j
            else:
                r -= 1
    else:
        r = -1.0
    return r


def _first_over(limit: float, step: float):
    total = 0.0
    while True:
        total += step
        if total > limit:
            return total


def returns_through_callee(x: float, n: int):
    if x != x:
        return x
    best = 0.0
    for i in range(1, min(n, 6)):
        best += _first_over(abs(x) % 17, i)
        if best > 60:
            return -best
    return best


def becomes_nan(x: float):
    """A lane that is done has parameters with which the body would go on for ever or give nan."""
    k = 0
    while x < 1e6:
        x = x * x + 1 if x > 0 else x - x + 2
        k += 1
    return k + (0 if math.isnan(x) else x)


def inner_header_loop(n: int):
    """The condition itself runs a loop."""
    k = 0
    while _first_over(k, 3) < min(n, 40):
        k += 1
    return k


def mandelbrot(x: float, y: float):
    a = b = 0.0
    k = 0
    while k < 64 and a * a + b * b <= 4.0:
        a, b = a * a - b * b + x, 2.0 * a * b + y
        k += 1
    return k


def fails_for_the_counter(n: int):
    """The fault depends on the counter alone, and the loop ends by counting."""
    return any(1 / (i - 4) > 0.3 for i in range(n % 8))


FUNCTIONS: list[tuple[Callable[..., Any], str]] = [
    (newton, "x"), (collatz, "n"), (continues_and_breaks, "nx"), (triangle, "n"), (returns_from_nested, "nn"),
    (leaves_by_return_only, "n"), (may_be_unbound, "n"), (factorial, "n"), (gcd, "nn"), (raises_inside, "nx"),
    (loop_in_arms, "xn"), (returns_through_callee, "xn"), (becomes_nan, "x"), (inner_header_loop, "n"),
    (mandelbrot, "xx"), (fails_for_the_counter, "n"),
]
INTS = np.array([0, 1, -1, 2, 3, 5, 7, 9, 10, 13, 20, 21, 22, 25, 27, 50, 97, 871, -7, 2**40])
FLOATS = np.array([0.0, -0.0, 1.0, 2.0, 3.0, 0.5, -0.5, 7.0, 1e-9, 123.25, 1e5, -4.0, math.nan])


def columns(kinds: str, count: int = LANES) -> list[np.ndarray]:
    rng = np.random.default_rng(len(kinds))
    return [rng.choice(INTS if kind == "n" else FLOATS, count) for kind in kinds]


def expected(fn: Callable[..., Any], args: Sequence[Any]) -> tuple[str, Any]:
    try:
        value = fn(*args)
    except Exception as error:  # noqa: BLE001 - the exception is what is compared
        return "raises", (type(error), str(error))
    if isinstance(value, int) and abs(value) >= 2**63:
        return "raises", None
    return "returns", value


def check(fn: Callable[..., Any], cols: Sequence[Any], target: str, count: int = LANES, **options: Any) -> None:
    values, faults = pyflat.twin(fn, target=target, errors="mask", **options)(*cols)
    for i in range(count):
        args = [c[i].item() if isinstance(c, np.ndarray) else c for c in cols]
        how, want = expected(fn, args)
        fault = faults[i]
        if how == "raises":
            assert fault is not None, f"{args}: Python raises {want}, the twin returns {values[i]}"
            assert want is None or (fault.type, fault.message) == want, args
            continue
        assert fault is None, f"{args}: Python returns {want}, the twin raises {fault}"
        got = values[i].item()
        assert bits(got) == bits(type(got)(want)), f"{args}: Python returns {want!r}, the twin {got!r}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("fn", "kinds"), FUNCTIONS, ids=[fn.__name__ for fn, _ in FUNCTIONS])
def test_every_lane_is_pythons(fn: Callable[..., Any], kinds: str, target: str) -> None:
    check(fn, columns(kinds), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("first", [False, True])
def test_uniform_arguments(target: str, first: bool) -> None:
    n, x = columns("nx", 40)
    check(continues_and_breaks, [9, x] if first else [n, 2.5], target, 40)


@pytest.mark.parametrize("target", TARGETS)
def test_scalars_and_empty_arrays(target: str) -> None:
    twin = pyflat.twin(gcd, target=target)
    assert twin(12, 18) == 6
    assert isinstance(twin(12, 18), int)
    empty = twin(np.zeros(0, np.int64), 3)
    assert empty.shape == (0,)
    assert empty.dtype == np.int64
    assert (twin(np.full(5, 12), np.full(5, 18)) == 6).all()


@pytest.mark.parametrize("target", TARGETS)
def test_position_and_length_do_not_matter(target: str) -> None:
    """More than a block, so that lanes are gathered, in two orders."""
    n = np.random.default_rng(3).integers(1, 1000, 20_000)
    twin = pyflat.twin(collatz, target=target)
    found = twin(n)
    assert (found[::-1] == twin(n[::-1].copy())).all()
    assert (found[17:99] == twin(n[17:99])).all()
    assert [collatz(k) for k in n[:300].tolist()] == found[:300].tolist()


@pytest.mark.parametrize("text", ["%b = mul %a, 0.5 : f8", "%b = exp %a : f8", "%b = fmod %a, 0.7 : f8"])
def test_loops_with_and_without_calls(text: str) -> None:
    """Both engines compute the same bits, also in a gang that is not full."""
    fn = parse_function(f"""
func @f(%x: f8, %n: i8) -> (f8, i8) structured @return {{
  %s = mul %x, 3.0 : f8
  loop @loop again @next (%a: f8 = %x, %k: i8 = 0) {{
    %0 = lt %k, %n : b
    if %0 {{
      yield
    }} else {{
      exit @loop %a, %k
    }}
    {text}
    %c = add %b, %s : f8
    %l = add %k, 1 : i8
    yield %c, %l
  }} -> (%r: f8, %t: i8)
  %u = sub %r, %s : f8
  yield %u, %t
}}
""")
    fused = gather_suspects(flatten_ir(fn))
    rng = np.random.default_rng(5)
    x, n = rng.uniform(-2, 1, 77), rng.integers(-1, 30, 77)
    (numpy_values, _), (numba_values, _) = (t.compile(fused)([x, n], 77) for t in (numpy_target, numba_target))
    for i in range(77):
        values = run(fused, [x[i].item(), n[i].item()]).values
        found = [[got[i].item() for got in each] for each in (numpy_values, numba_values)]
        assert [list(map(bits, each)) for each in found] == [list(map(bits, values[:2]))] * 2 or values[2]


@pytest.mark.parametrize("target", TARGETS)
def test_masked_while_loops(target: str) -> None:
    """With loops="masked" a while loop stays one even if its trip count is known."""

    def doubles(x: float):
        i = 1
        while i < 81:
            i *= 3
            x = x * 0.5
        return x + i

    check(doubles, columns("x"), target, loops="masked")
    assert "loop @" in pyflat.twin(doubles, loops="masked").show("flat")


def five(x: float) -> float:
    s = 0.0
    for i in range(5):
        s = s + x * i
    return s


def nested(x: float) -> float:
    s = 0.0
    for i in range(20):
        for j in range(20):
            for k in range(20):
                s = s + x * i - j * k
    return s


def long_with_break(x: float) -> float:
    s = 0.0
    for i in range(999):
        s = s + x
        if s > 100.0:
            break
    else:
        s = s - 1.0
    return s


def once(x: float) -> float:
    for i in range(1):
        x = x + i + 1
    return x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("fn", "loops"), [(five, 1), (nested, 3), (long_with_break, 1), (once, 1)])
def test_masked_loops_stay_loops(fn: Callable[..., Any], loops: int, target: str) -> None:
    check(fn, [np.array([-1.5, 0.0, 0.25, 40.0, math.nan])], target, 5, loops="masked")
    assert pyflat.twin(fn, target=target, math="exact", loops="masked").show("flat").count("loop @") == loops


def over_items(x: float) -> float:
    for w in (1.0, 2.5):
        x = x * w
    return x


def no_trips(x: float) -> float:
    for i in range(0):
        x = x + i
    return x


def known_index(x: float, y: float, z: float) -> float:
    parts = (x, [y], {"z": z})
    total = 0.0
    for i in range(3):
        part = parts[i]
        total += part["z"] if isinstance(part, dict) else part[0] if isinstance(part, list) else part
    return total


def by_name(x: float, y: float) -> float:
    total = 0.0
    for i in range(2):
        total += getattr(complex(x, y), ("real", "imag")[i])
    return total


def known_test(x: float) -> float:
    text = ""
    while len(text) < 3:
        text = text + "a"
        x = x * 2.0
    return x


def growing(x: float) -> float:
    found = []
    for i in range(3):
        found.append(x * i)
    return sum(found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", [over_items, no_trips, by_name, known_test, growing])
def test_loops_that_cannot_stay_loops_are_as_with_auto(fn: Callable[..., Any], target: str) -> None:
    cols = [np.array([-1.5, 0.0, 0.25])] * fn.__code__.co_argcount
    check(fn, cols, target, 3, loops="masked")
    assert "loop @" not in pyflat.twin(fn, target=target, math="exact", loops="masked").show("flat")


@pytest.mark.parametrize("target", TARGETS)
def test_a_name_may_be_of_another_class_in_each_iteration(target: str) -> None:
    check(known_index, [np.array([-1.5, 0.0, 0.25])] * 3, target, 3, loops="masked")
    assert "loop @" in pyflat.twin(known_index, target=target, math="exact", loops="masked").show("flat")


def test_unroll_refuses() -> None:
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(collatz, loops="unroll")(np.arange(3))
    assert caught.value.code == "flatten/while-unbounded"


def test_a_kept_loop_is_printed_as_one() -> None:
    assert "    while " in pyflat.twin(collatz).show()
    assert "    while np.any(live := live" in pyflat.twin(collatz).show(target="numpy")


# --- limits


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("errors", ["raise", "unchecked"])
def test_max_trips_is_a_fault(target: str, errors: str) -> None:
    n = np.array([1, 2, 16, 27, 32])
    twin = pyflat.twin(collatz, target=target, max_trips=5, errors=errors)
    assert twin(n[[0, 1, 2, 4]]).tolist() == [0, 1, 4, 5]
    with pytest.raises(pyflat.TripLimitError) as caught:
        twin(n)
    assert "lane 3" in caught.value.__notes__[0]


@pytest.mark.parametrize("target", TARGETS)
def test_limited_lanes_are_never_run_again(target: str) -> None:
    def ends_for_positive(n: int):
        k = 10 // (n - 3)
        while n != 0:
            n = n - 1
            k += 1
        return k

    twin = pyflat.twin(ends_for_positive, target=target, max_trips=100, errors="mask")
    values, faults = twin(np.array([1, -1, 3, 50, 100, 101]))
    assert values[[0, 3, 4]].tolist() == [ends_for_positive(n) for n in (1, 50, 100)]
    assert [None if f is None else f.type for f in faults[:]] == [
        None, pyflat.TripLimitError, ZeroDivisionError, None, None, pyflat.TripLimitError]
    assert isinstance(faults[1].exception(), pyflat.TripLimitError)
    assert twin.stats.replayed == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_suspect_lane_does_not_spin(target: str) -> None:
    """n*n leaves int64; wrapped, the loop would never end. Unchecked, the value is arbitrary, but the call ends."""

    def squares(n: int):
        k = n * n
        while k != 16 and k < 10**18:
            k = k * 2 if k > 16 else k + 1
        return k

    n = np.array([2**33, 4, 2**62, 3])
    values, faults = pyflat.twin(squares, target=target, errors="mask")(n)
    assert [faults[i] is None for i in range(4)] == [False, True, False, True]
    assert values[[1, 3]].tolist() == [16, 16]
    assert pyflat.twin(squares, target=target, errors="unchecked")(n)[1] == 16


@pytest.mark.parametrize("target", TARGETS)
def test_an_interrupt_ends_an_endless_loop(target: str) -> None:
    def spins(n: int):
        while n != 1:
            n = n ^ 6
        return n

    twin = pyflat.twin(spins, target=target)
    assert twin(np.array([1, 7])).tolist() == [1, 1]
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        twin(np.array([1, 2]))
    assert twin(np.array([1, 7])).tolist() == [1, 1]


# --- random programs


def compare(fused: Function, fn: Function, seed: int, engine: Any, count: int) -> None:
    rows = list(lanes(fn, count, seed))
    cols = [np.array([row[k] for row in rows], DTYPES[p.kind]) for k, p in enumerate(fn.params)]
    got, suspect = engine(cols, count)
    for i, row in enumerate(rows):
        *values, wanted = run(fused, row).values
        found = suspect is not None and bool(suspect[i])
        where = f"seed {seed}, {row}\n{format_function(fused)}"
        assert found == wanted, where
        assert found or list(map(bits, values)) == [bits(g[i].item()) for g in got], where


def rolled_programs(seeds: range) -> list[tuple[int, Function, Function]]:
    made = [(seed, StructuredPrograms(seed, loops=True).function()) for seed in seeds]
    flat = [(seed, fn, flatten_ir(fn)) for seed, fn in made]
    return [(seed, fn, masked) for seed, fn, masked in flat if has_loop(masked.body)]


def test_random_loops_with_every_arm_behind_a_branch() -> None:
    for seed, fn, masked in rolled_programs(range(252, 268)):
        fused = gather_suspects(masked)
        with numba_costs.assume(MeasuredCosts(branch=0.0, guessed_wrong=1.0)):
            compare(fused, fn, seed, numba_target.compile(fused), 12)


def test_loops_without_masks() -> None:
    """All lanes make the same trips, also those that are suspect on the way."""

    def total(x: float, n: int):
        s = 0.0
        for i in range(200):
            s += x / (i - n)
        return s

    check(total, [np.array([1.0, 2.0, -1.0]), np.array([-1, 500, 7])], "numba", 3, loops="masked", max_unroll=1)
    arguments = {"x": Leaf(FLOAT), "n": Leaf(INT)}
    fused = gather_suspects(flatten_ir(specialise(total, arguments, loops="masked", max_unroll=0).function))
    (loop,) = (item for item in fused.body if isinstance(item, Loop))
    marked = numba_uniform.suspect_values(list(fused.body), results_of(fused)[-1])
    plan = numba_uniform.plan_loop(loop, lambda _: False, marked)
    assert not plan.masked
    assert len(plan.unasked) == 1


@pytest.mark.turns(2)
@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("few", [0, 512])
@pytest.mark.parametrize("patience", [0.0, 0.01, 1e9])
def test_random_loops_on_numpy(limit: int | None, few: int, patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes that are live are gathered in every trip, now and then, never."""
    monkeypatch.setattr(numpy_target, "PATIENCE", patience)
    monkeypatch.setattr(numpy_target, "FEW", few)
    monkeypatch.setattr(numpy_target, "LEAST", 0)
    for seed, fn, masked in rolled_programs(range(60)):
        fused = gather_suspects(limit_trips(masked, limit), limited=True) if limit else gather_suspects(masked)
        compare(fused, fn, seed, numpy_target.compile(fused), 40)


def test_random_loops_on_numba() -> None:
    for seed, fn, masked in rolled_programs(range(60, 75)):
        fused = gather_suspects(masked)
        compare(fused, fn, seed, numba_target.compile(fused), 60)
