"""Kernels that read operands as they are stored: which there are, what the dtype says about ints, and the bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.targets.kept import shelf_for
from pyflat.targets.numba import compilation, compiled_kernel
from pyflat.targets.numba import engine as target
from pyflat.targets.numba.compiled_kernel import MOST_KERNELS, stored_of
from pyflat.targets.numba.engine import NumbaEngine, restored

READ = ["i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4"]
FLOATS = ["<f2", ">f2", "<f4", ">f4", ">f8"]

COMBINED = """
func @f(%n: i8, %m: i8, %x: f8) -> (i8, f8, b) flat @return {
  %1 = mul %n, %m : i8
  %2 = to_float %n : f8
  %3 = to_float %m : f8
  %4 = mul %2, %3 : f8
  %5 = abs %4 : f8
  %6 = ge %5, 9.223372036854743e+18 : b
  %8 = add %1, %m : i8
  %9 = xor %1, %8 : i8
  %10 = xor %m, %8 : i8
  %11 = and %9, %10 : i8
  %12 = lt %11, 0 : b
  %14 = or %6, %12 : b
  %15 = gt %n, %m : b
  %16 = select %15, %8, %m : i8
  %17 = mul %2, %x : f8
  yield %16, %17, %14
}
"""
"""`n * m + m if n > m else m`, and `n * x`, as the frontend has them."""

LOOKED_AT = "func @f(%n: i8, %x: f8) -> (i8, f8, b) flat @return {\n  %0 = lt %n, 0 : b\n  yield %n, %x, %0\n}"


def parsed(text: str) -> Function:
    return parse_function(text)


def kernels(engine: NumbaEngine) -> list[Sequence[str]]:
    """What each compiled kernel of the values reads as it is stored."""
    return [read for role, _, read in engine._compiled if role == "values"]


def limits(dtype: str, count: int) -> np.ndarray:
    """The smallest and largest ints of a dtype, and others."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(count)
    numbers = rng.integers(info.min, info.max, count, np.int64, endpoint=True)
    numbers[: min(count, 4)] = [info.min, info.max, 0, 1][: min(count, 4)]
    return rng.permutation(numbers).astype(dtype)


@pytest.mark.parametrize("dtype", READ)
def test_ints_are_those_of_the_array(dtype: str) -> None:
    engine = target.compile(parsed(COMBINED))
    for count, step in ((1, 1), (33, -1), (500, 3), (2_003, 1), (2_003, 0)):
        n, m = (limits(dtype, max(count * abs(step), 1))[:: step or 1][:count] for _ in range(2))
        n = np.broadcast_to(n[:1], (count,)) if step == 0 else n
        x = np.linspace(-3.0, 3.0, count).astype(">f4")
        wanted, marked = engine([n.astype(np.int64), m[::-1].astype(np.int64), x.astype(float)], count)
        found, suspects = engine([n, m[::-1], x], count)
        assert [a.tobytes() for a in found] == [b.tobytes() for b in wanted]
        assert (marked is None) == (suspects is None)
        assert marked is None or ("u4" in dtype and np.array_equal(marked, suspects))
    assert kernels(engine) == [(), (np.dtype(dtype).str, np.dtype(dtype).str, ">f4")]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("floats", ["float64", "float32"])
def test_floats_are_those_of_the_array(dtype: str, floats: Any) -> None:
    """Any bits: subnormal numbers, infinities and nan too."""
    def scaled(x: float, y: float) -> tuple[float, float]:
        return (x * 0.5 + y, y) if x > y else (x, y - x)

    lane = np.float64 if floats == "float64" else np.float32
    twin = pyflat.twin(scaled, target="numba", dtype=floats)
    rng = np.random.default_rng(3)
    x, y = (rng.integers(0, 256, 1_001 * np.dtype(dtype).itemsize, np.uint8).view(dtype) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = twin(x.astype(lane), y.astype(lane))
        for _ in range(2):
            for found, want in zip(twin(x, y), wanted, strict=True):
                assert np.array_equal(found, want, equal_nan=True)
                assert np.array_equal(np.signbit(found), np.signbit(want))


@pytest.mark.parametrize(("read", "tested"), [(("<i4", "<i4", ""), False), (("<u4", "<i4", ""), True), ((), True)])
def test_what_a_dtype_says_about_ints_is_not_tested(read: Sequence[str], tested: bool) -> None:
    """The square of a number of uint32 may be beyond int64."""
    kernel = target.compile(parsed(COMBINED.replace("mul %2, %3", "mul %2, %2").replace(
        "mul %n, %m", "mul %n, %n"))).kernels.of("values", tuple(read))
    assert (kernel.suspect is not None) == tested


@pytest.mark.parametrize("dtype", ["i4", "u4", ">u4"])
def test_what_overflows_all_the_same_is_found(dtype: str) -> None:
    def chain(n: int, m: int) -> int:
        return n * n * m if n > m else n - m

    twin = pyflat.twin(chain, target="numba")
    n, m = np.full(700, 7, dtype), np.full(700, 3, dtype)
    for _ in range(3):
        assert twin(n, m).tolist() == [147] * 700
    n[600] = np.iinfo(dtype).max
    with pytest.raises(pyflat.LaneError, match="lane 600") as caught:
        twin(n, m)
    assert str(int(n[600]) ** 2 * 3) in str(caught.value)


def test_a_parameter_that_is_a_result_has_the_dtype_of_lanes() -> None:
    engine = target.compile(parsed(LOOKED_AT))
    n, x = np.arange(100, dtype=np.int16), np.arange(100, dtype=np.float32)
    (found, same), suspects = engine([n, x], 100)
    assert kernels(engine) == [("<i2", "<f4")]
    assert (found.dtype, same.dtype, suspects) == (np.int64, np.float64, None)
    assert found.tolist() == n.tolist()
    assert same.tolist() == x.tolist()
    n[99] = -1
    assert engine([n, x], 100)[1].tolist() == [False] * 99 + [True]


def test_scalars_and_numbers_beyond_int64_are_lanes() -> None:
    lanes = [np.dtype(np.int64), np.dtype(np.int64), np.dtype(np.float64)]
    assert stored_of(0.0, lanes, [np.dtype("u8"), None, np.dtype("f8")]) == ()
    assert stored_of(1.0, lanes, [np.dtype("u8"), np.dtype("i1"), None]) == ("", "|i1", "")


def test_expensive_functions_convert_by_blocks() -> None:
    """The cost of an operand is weighed against that of the function."""
    lanes, given = [np.dtype(np.float64)] * 2, [np.dtype("f4"), np.dtype("f4")]
    assert stored_of(2 * compiled_kernel.WORTH, lanes, given) == ("<f4", "<f4")
    assert stored_of(2 * compiled_kernel.WORTH, lanes, [given[0], lanes[0]]) == ()
    assert stored_of(2 * compiled_kernel.WORTH + 1, lanes, given) == ()


def test_loops_convert_by_blocks() -> None:
    def trips(n: int) -> int:
        k = 0
        while n > 1:
            n, k = n // 2, k + 1
        return k

    engine = _engine_of(trips, np.arange(50, dtype=np.int32))
    assert kernels(engine) == [()]


def test_lanes_that_wait_are_kept_as_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "arms_waited", lambda kernel, shape: 1)
    engine = target.compile(parsed(LOOKED_AT))
    (found, _), _ = engine([np.arange(40, dtype=np.int32), np.zeros(40)], 40)
    assert found.tolist() == list(range(40))
    assert len({id(each) for each in engine._compiled.values()}) == 1
    assert next(iter(engine._compiled.values())).facts.inputs == ("<i8", "<f8")


def test_only_some_combinations_get_a_kernel() -> None:
    engine = target.compile(parsed(LOOKED_AT))
    for dtype in (*READ, "i8"):
        n = (limits(dtype, 50) & 0x7F).astype(dtype)
        (found, _), _ = engine([n, np.zeros(50)], 50)
        assert found.tolist() == n.tolist()
    assert kernels(engine) == [*[(np.dtype(dtype).str, "") for dtype in READ[:MOST_KERNELS]], ()]


def test_another_process_has_them_again() -> None:
    fn = parsed(COMBINED)
    engine = target.compile(fn)
    engine.shelf = shelf_for(fn, ["stored operands"])
    again = restored(engine.to_keep(), engine.shelf)
    n, x = limits("i2", 300), np.zeros(300, np.float16)
    wanted, _ = engine([n, n, x], 300)
    found, _ = again([n, n, x], 300)
    assert [a.tobytes() for a in found] == [b.tobytes() for b in wanted]
    assert kernels(again) == kernels(engine) == [("<i2", "<i2", "<f2")]


def _engine_of(function: Callable[..., Any], *arguments: np.ndarray) -> NumbaEngine:
    made: list[NumbaEngine] = []
    compile_ = target.compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, "compile", lambda *a, **k: made.append(compile_(*a, **k)) or made[-1])
        pyflat.twin(function, target="numba", cache=False)(*arguments)
    return made[0]


def at_most_zero(x: float) -> tuple[float, bool]:
    above = x > 0.0
    return 0.0 if above else x, above


def at_least_zero(x: float) -> tuple[float, float]:
    if x < 0.0:
        return 0.0, 1.0
    return x, 2.0


def above_minus_zero(x: float) -> tuple[float, bool]:
    return 0.0 if x > -0.0 else x, x > -0.0


def both_signs(x: float) -> tuple[float, float]:
    return (min(x, 0.0)), (max(x, 0.0))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("fn", [at_most_zero, at_least_zero, above_minus_zero, both_signs])
def test_zeros_keep_their_signs(fn: Callable[[float], tuple[float, float]], dtype: str) -> None:
    for count in (1, 4, 50):
        given = np.array([-0.0, 0.0, 1.5, -1.5, 5e-5, -0.0, -np.inf] * count, dtype)
        expected = [np.array(column, np.float64) for column in zip(*map(fn, given.tolist()), strict=True)]
        for one, wanted in zip(pyflat.twin(fn, target="numba")(given), expected, strict=True):
            assert one.astype(np.float64).tobytes() == wanted.tobytes()


def last_but_one(a: Any, out: Any) -> float:
    last: Any = 2.0
    for i in range(len(a)):
        out[i] = last
        last = min(a[i], 0)
    return float(last)


@pytest.mark.parametrize("dtypes", [("f4", "f4"), ("f8", "f4"), ("f4", "f8"), ("f8", "f8")])
def test_zeros_of_kernels_keep_their_signs(dtypes: tuple[str, str]) -> None:
    a = np.array([-0.0, 1.0, -0.0, 0.0, -2.0] * 9, dtypes[0])
    expected, found = np.zeros((2, 45), dtypes[1])
    assert last_but_one(a, expected) == pyflat.twin(last_but_one, target="numba")(a, found)
    assert expected.tobytes() == found.tobytes()
