"""Ints in 32 bits: which values are narrowed, and that no result changes."""

from __future__ import annotations

import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.errors import InternalError
from pyflat.functions import ways
from pyflat.ir.formats import F4
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.uses import results_of
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba import engine as numba_target
from pyflat.targets.numba import integer_narrowing
from pyflat.targets.numba import kernel as numba_kernel
from pyflat.targets.numba.compilation import compile_kernel
from pyflat.targets.numba.costs import MeasuredCosts
from pyflat.targets.numba.integer_narrowing import IntegerNarrowing, Narrow, narrow_ints
from pyflat.targets.numba.kernel import LaneLoop
from tests.passes.structured_programs import bits
from tests.targets.numba import narrow_functions
from tests.targets.numba.narrow_functions import EDGES, LOOPS, NUMBERS, STRAIGHT, fnv
from tests.targets.numba.test_refill import refilled  # noqa: F401 - a fixture
from tests.targets.test_masked_loops import DTYPES, compare, rolled_programs

LOW, SIGNED, UNSIGNED, BOTH = Narrow.LOW, Narrow.SIGNED, Narrow.UNSIGNED, Narrow.SIGNED | Narrow.UNSIGNED


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[IntegerNarrowing]]:
    """All that can be is narrowed; gives what was."""
    found: list[IntegerNarrowing] = []

    def noting(*args: Any, **more: Any) -> IntegerNarrowing:
        found.append(narrow_ints(*args, **more))
        return found[-1]

    monkeypatch.setattr(numba_kernel, "narrow_ints", noting)
    with ways.forced(ints="narrowed"):
        yield found


# --- which values


def forms(body: str, params: str = "%n: i8, %x: f8, %p: b", form: str = "flat") -> dict[str, Narrow]:
    """The values with a name that are narrowed, whatever it gains."""
    fn = parse_function(f"func @f({params}) -> ({_kinds(body)}) {form} @return {{\n{body}\n}}")
    found = narrow_ints(fn.body, results_of(fn), 8)
    return {value.name: how for value, how in found.values.items() if value.name}


def _kinds(body: str) -> str:
    return ", ".join("i8" for _ in body.rsplit("yield", 1)[1].split(","))


@pytest.fixture
def freely() -> Iterator[None]:
    with ways.forced(ints="narrowed"):
        yield


@pytest.mark.usefixtures("freely")
class TestForms:
    def test_a_hash(self) -> None:
        assert forms("""
          %a = mul %n, 374761393 : i8
          %h = and %a, 4294967295 : i8
          %s = shr %h, 13 : i8
          %t = xor %h, %s : i8
          %u = mul %t, 1274126177 : i8
          %r = and %u, 4294967295 : i8
          yield %r""") == {"a": LOW, "h": UNSIGNED, "s": BOTH, "t": UNSIGNED, "u": LOW, "r": UNSIGNED}

    def test_who_is_stored_or_compared_is_no_low_value(self) -> None:
        assert forms("""
          %a = mul %n, 3 : i8
          %h = and %a, 255 : i8
          yield %h, %a""") == {"h": BOTH}
        assert forms("""
          %a = mul %n, 3 : i8
          %b = add %a, 1 : i8
          %h = and %b, 255 : i8
          %q = gt %a, 7 : b
          %r = select %q, %h, 0 : i8
          yield %r""") == {"b": LOW, "h": BOTH, "r": BOTH}

    def test_shifts_to_the_right_need_what_they_shift(self) -> None:
        assert forms("""
          %a = mul %n, 3 : i8
          %s = shr %a, 4 : i8
          %h = and %s, 255 : i8
          yield %h""") == {"h": BOTH}
        assert forms("""
          %a = and %n, 8589934591 : i8
          %s = shr %a, 3 : i8
          yield %s""") == {}

    def test_shifts_by_more_than_31(self) -> None:
        assert forms("""
          %a = and %n, 65535 : i8
          %b = shl %a, 31 : i8
          %c = shl %a, 32 : i8
          %d = xor %b, %c : i8
          %h = and %d, 4294967295 : i8
          %e = shr %a, 40 : i8
          yield %h, %e""") == {"a": BOTH, "b": LOW, "d": LOW, "h": UNSIGNED}

    def test_remainders(self) -> None:
        """Of a power of two the low bits decide, of other divisors all bits; %g fits, but has to be computed in 64."""
        assert forms("""
          %a = mul %n, 3 : i8
          %b = mod %a, 4294967296 : i8
          %c = mod %b, 10 : i8
          %d = floordiv %b, 10 : i8
          %e = mul %n, 5 : i8
          %g = mod %e, 10 : i8
          %k = mod %g, -3 : i8
          yield %c, %d, %k""") == {"a": LOW, "b": UNSIGNED, "c": BOTH, "d": BOTH, "k": SIGNED}
        assert forms("""
          %a = mul %n, 3 : i8
          %b = mod %a, 8589934592 : i8
          %c = and %b, 255 : i8
          yield %c""") == {"c": BOTH}

    def test_a_negative_number_by_an_unsigned_one(self) -> None:
        """No 32 bits hold both, so that their quotient is computed in 64."""
        assert forms("""
          %a = and %n, 255 : i8
          %b = sub %a, 256 : i8
          %u = and %n, 4294967295 : i8
          %v = or %u, 1 : i8
          %q = floordiv %b, %v : i8
          yield %q""") == {"a": BOTH, "b": SIGNED, "u": UNSIGNED, "v": UNSIGNED}

    def test_sums_that_leave_32_bits(self) -> None:
        assert forms("""
          %a = and %n, 2147483647 : i8
          %b = add %a, 1 : i8
          %c = add %b, %b : i8
          %d = sub %a, %b : i8
          %e = neg %b : i8
          %g = sub %e, 1 : i8
          yield %c, %d, %e, %g""") == {"a": BOTH, "b": UNSIGNED, "d": SIGNED, "e": SIGNED}

    def test_selects_of_both_signs(self) -> None:
        assert forms("""
          %a = and %n, 4294967295 : i8
          %b = select %p, %a, -1 : i8
          %c = select %p, %a, 1 : i8
          yield %b, %c""") == {"a": UNSIGNED, "c": UNSIGNED}

    def test_conversions(self) -> None:
        """Of floats only where they are known to fit."""
        assert forms("""
          %i = floor_int %x : i8
          %b = to_int %p : i8
          %c = and %i, 255 : i8
          %y = to_float %c : f8
          %z = mul %y, 1000.0 : f8
          %j = floor_int %z : i8
          %w = mul %y, 100000000.0 : f8
          %k = floor_int %w : i8
          yield %b, %j, %k""") == {"b": BOTH, "c": BOTH, "j": BOTH}

    LOOP = """
          loop @a again @b (%i: i8 = 0, %s: i8 = LEFT, %u: i8 = undefined:i8) {{
            %t = lt %i, {limit} : b
            if %t {{
              %j = add %i, 1 : i8
              {body}
              yield %j, %w, %i
            }} else {{
              exit @a %s, %u
            }} -> (%i.2: i8, %s.2: i8, %u.2: i8)
            yield %i.2, %s.2, %u.2
          }} -> (%r: i8, %v: i8)
          {behind}"""

    def loop(self, body: str, limit: str = "100", behind: str = "yield %r, %v", start: str = "1") -> dict[str, Narrow]:
        return forms(self.LOOP.format(body=body, limit=limit, behind=behind).replace("LEFT", start), form="masked")

    def test_counters(self) -> None:
        assert self.loop("%w = add %i, %n : i8") == {"i": BOTH, "j": BOTH, "u": BOTH, "v": BOTH}

    def test_counters_with_an_unknown_limit(self) -> None:
        assert self.loop("%w = and %i, 255 : i8", "%n") == {"s": BOTH, "w": BOTH, "r": BOTH}

    def test_counters_that_end_beyond_32_bits(self) -> None:
        assert self.loop("%w = and %i, 255 : i8", "2147483647") == {
            "i": UNSIGNED, "j": BOTH, "u": BOTH, "v": BOTH, "s": BOTH, "w": BOTH, "r": BOTH}

    def test_what_grows_is_followed_to_the_end(self) -> None:
        assert "s" not in self.loop("%w = add %s, %i : i8")
        found = self.loop("""%y = add %s, %i : i8
              %w = mod %y, 1000003 : i8""")
        assert (found["s"], found["w"], found["r"]) == (BOTH, BOTH, BOTH)

    def test_hashes_in_a_loop(self) -> None:
        found = self.loop("""%m = mul %s, 16777619 : i8
              %w = and %m, 4294967295 : i8""")
        assert (found["s"], found["m"], found["r"]) == (UNSIGNED, LOW, UNSIGNED)

    def test_low_bits_go_around_a_loop(self) -> None:
        """Masked behind the loop: start, step and result are needed in their low bits only."""
        found = self.loop("%w = mul %s, 31 : i8", behind="""%m = and %r, 4294967295 : i8
          yield %m, %v""", start="%n")
        assert (found["s"], found["w"], found["r"], found["m"]) == (LOW, LOW, LOW, UNSIGNED)

    def test_one_who_needs_more_spoils_it(self) -> None:
        found = self.loop("%w = mul %s, 31 : i8", behind="""%m = and %r, 4294967295 : i8
          %q = floordiv %r, 3 : i8
          yield %m, %q""", start="%n")
        assert not {"s", "w", "r"} & found.keys()

    def test_conditions_of_the_loop_hold_inside(self) -> None:
        found = self.loop("""%w = mul %i, 20000000 : i8""")
        assert found["w"] == BOTH  # in the trip that ends the loop %i may be more

    def test_but_not_behind_it(self) -> None:
        assert forms("""
          loop @a again @b (%i: i8 = 0) {
            %t = lt %i, 2147483648 : b
            if %t {
              %j = add %i, 1 : i8
              yield %j
            } else {
              exit @a %i
            } -> (%k: i8)
            yield %k
          } -> (%r: i8)
          yield %r""", form="masked") == {"i": UNSIGNED, "j": UNSIGNED, "r": UNSIGNED}


def test_what_gains_nothing_is_left_alone() -> None:
    assert not forms("%a = and %n, 255 : i8\nyield %a")
    assert not forms("%a = add %n, 255 : i8\nyield %a")
    assert not forms("%a = add %x, 1.0 : f8\nyield %n")


def test_float32_gains_more() -> None:
    body = "%a = and %n, 4294967295 : i8\n%b = mod %a, 1000 : i8\n%c = lt %b, 10 : b\n%d = select %c, %b, 7 : i8\nyield %d"
    fn = parse_function(f"func @f(%n: i8) -> (i8) flat @return {{\n{body}\n}}")
    prices = [integer_narrowing._Prices(8, floats, True) for floats in (fn.floats, F4)]
    ops = list(all_ops(fn.body))
    assert all(prices[1].saved(op) >= 2 * prices[0].saved(op) > 0 for op in ops)


# --- the same results


def same(fn: Callable[..., Any], cols: list[np.ndarray], monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Narrowed as far as can be, and not at all."""
    got = []
    for value in ("narrowed", "wide"):
        with ways.forced(ints=value):
            got.append(pyflat.twin(fn, target="numba", cache=False, errors="mask", **options)(*cols))
    (values, faults), (wanted, wanted_faults) = got
    several = isinstance(values, tuple)
    for a, b in zip(values if several else [values], wanted if several else [wanted], strict=True):
        keep = [k for k in range(len(a)) if wanted_faults[k] is None]
        assert a[keep].tobytes() == b[keep].tobytes()
    assert [f is None for f in faults[:]] == [f is None for f in wanted_faults[:]]


def columns(fn: Callable[..., Any]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    if len(inspect.signature(fn).parameters) == 1:
        return [NUMBERS]
    return [rng.permutation(np.tile(NUMBERS, 3)) for _ in inspect.signature(fn).parameters]


def original(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    try:
        result = fn(*args)
    except Exception:  # noqa: BLE001 - a lane that fails is another test's
        return None
    return result if isinstance(result, tuple) else (result,)


def check_python(fn: Callable[..., Any], cols: list[np.ndarray], **options: Any) -> None:
    values, faults = pyflat.twin(fn, target="numba", cache=False, errors="mask", **options)(*cols)
    results = values if isinstance(values, tuple) else (values,)
    for k, args in enumerate(zip(*[c.tolist() for c in cols], strict=True)):
        wanted = original(fn, args)
        if wanted is None or any(isinstance(w, int) and not -(2**63) <= w < 2**63 for w in wanted):
            assert faults[k] is not None, args
            continue
        assert faults[k] is None, args
        got = [r[k].item() for r in results]
        assert list(map(bits, got)) == [bits(type(g)(w)) for g, w in zip(got, wanted, strict=True)], args


@pytest.mark.parametrize("fn", [*STRAIGHT, *LOOPS], ids=lambda fn: fn.__name__)
def test_every_lane_is_pythons(fn: Callable[..., Any], everything: list[IntegerNarrowing]) -> None:
    check_python(fn, columns(fn))
    assert any(found.values for found in everything)


@pytest.mark.parametrize("fn", [fnv, *LOOPS], ids=lambda fn: fn.__name__)
def test_loops_that_stay_loops(fn: Callable[..., Any], everything: list[IntegerNarrowing]) -> None:
    check_python(fn, columns(fn), loops="masked", max_unroll=1)
    assert any(found.values for found in everything)


@pytest.mark.parametrize("fn", LOOPS, ids=lambda fn: fn.__name__)
def test_refilled_lanes(fn: Callable[..., Any], everything: list[IntegerNarrowing], refilled: list[str]) -> None:  # noqa: F811
    check_python(fn, columns(fn), loops="masked")


@pytest.mark.parametrize("fn", [*STRAIGHT, *LOOPS], ids=lambda fn: fn.__name__)
def test_float32_lanes(fn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    same(fn, columns(fn), monkeypatch, dtype="float32")


@pytest.mark.parametrize("fn", [*STRAIGHT, *LOOPS], ids=lambda fn: fn.__name__)
def test_avx2(fn: Callable[..., Any], everything: list[IntegerNarrowing], monkeypatch: pytest.MonkeyPatch) -> None:
    """Half as many lanes, and other instructions."""
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx2,+fma,+avx")
    check_python(fn, columns(fn))


def test_uniform_operands_are_scalars(everything: list[IntegerNarrowing]) -> None:
    for m in (-3, 0, 2**31, 2**32 + 5, -(2**63)):
        twin = pyflat.twin(narrow_functions.selected, target="numba", cache=False)
        lanes = EDGES[np.abs(EDGES) < 2**62]
        got = twin(lanes, m)
        for k, n in enumerate(lanes.tolist()):
            assert tuple(g[k].item() for g in got) == narrow_functions.selected(n, m)


def test_arms_that_are_skipped(everything: list[IntegerNarrowing]) -> None:
    """What an arm computes in 32 bits goes out of it."""

    def arms(n: int, x: float):
        h = (n & 0xFFFFFF) * 3
        if n % 64 == 5:
            k = h
            for j in range(12):
                k = (k * 31 + h // (j + 3)) & 0xFFFFFFFF
        else:
            k = 1
        return k, k + h

    n = np.arange(4_000)
    check_python(arms, [n, n * 0.5])


def test_values_that_may_not_be_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the analysis is an error, not a wrong number."""

    def wrong(*args: Any, **more: Any) -> IntegerNarrowing:
        found = narrow_ints(*args, **more)
        return IntegerNarrowing(dict.fromkeys(found.values, LOW), found.reads)

    monkeypatch.setattr(numba_kernel, "narrow_ints", wrong)
    with pytest.raises(InternalError, match="upper bits"):
        pyflat.twin(narrow_functions.fnv, target="numba", cache=False)(EDGES)


# --- ints between two floats


def rounded(x: float, y: float):
    a = x - math.floor(x) if y > 0 else x - int(x)
    return a, float(math.ceil(x)), float(round(x)), float(math.floor(x * y)) + math.floor(x * y) % 7


def rounded_in_arms(x: float, y: float):
    if x > y:
        k = math.floor(x)
        r = float(k)
        if y > 0.5:
            r = (k + 0.5) * math.floor(y) + k % 3
    else:
        k = int(y * 3.0)
        r = k / 4.0
    return r, k


@pytest.mark.parametrize("fn", [rounded, rounded_in_arms], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("guessed_wrong", [36.0, 1.0])
def test_rounded_floats_need_no_int(fn: Callable[..., Any], guessed_wrong: float) -> None:
    """The bits of the int made a float: 0.0 where the rounded float is -0.0."""
    edges = [0.0, -0.0, -0.25, 0.5, 1.5, -1.5, 2.5, 1e-300, 123.75, -7.0, 2.0**52 + 0.5, 2.0**53, -(2.0**62), 2.0**63,
             math.nextafter(2.0**63, 0), -(2.0**63), 1e300, math.inf, -math.inf, math.nan]
    x, y = (np.array(column) for column in zip(*itertools.product(edges, edges), strict=True))
    with numba_costs.assume(MeasuredCosts(branch=0.0, guessed_wrong=guessed_wrong)):
        check_python(fn, [x, y])


def test_rounded_floats_of_float32() -> None:
    x = np.array([0.0, -0.0, -0.25, 0.75, -1.5, 2.5, 8388607.5, -16777216.0, 3e9, -4e18], np.float32)
    twin = pyflat.twin(rounded, target="numba", cache=False, dtype="float32")
    fraction, up, near, _ = twin(x, np.float32(1.0))
    assert fraction.tobytes() == (x - (np.floor(x) + np.float32(0.0))).tobytes()
    assert up.tobytes() == (np.ceil(x) + np.float32(0.0)).tobytes()
    assert near.tobytes() == (np.rint(x) + np.float32(0.0)).tobytes()


# --- random functions


def test_random_loops(everything: list[IntegerNarrowing]) -> None:
    for seed, fn, masked in rolled_programs(range(700, 720)):
        fused = gather_suspects(masked)
        compare(fused, fn, seed, numba_target.compile(fused), 60)
    assert any(found.values for found in everything)


def test_random_loops_refilled(everything: list[IntegerNarrowing], refilled: list[str]) -> None:  # noqa: F811
    for seed, fn, masked in rolled_programs(range(720, 740)):
        fused = gather_suspects(masked)
        compare(fused, fn, seed, numba_target.compile(fused), 60)
    assert refilled


class IntPrograms:
    """Random functions of ints that go in and out of 32 bits, as text: flat, or around a loop."""

    MASKS = (0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x1FFFFFFFF, -1, 2**31, 2**32)
    LITERALS = (0, 1, -1, 2, 3, 7, 31, 255, 65599, -40000, 2**30, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**40)

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.ints, self.bools, self.floats = ["%n", "%m"], ["%p"], ["0.5"]
        self.made = 0

    def flat(self, size: int) -> str:
        return self._function(self._operations(size), "flat")

    def looped(self, size: int) -> str:
        """The loop carries a counter and three ints, which operations of the body follow."""
        r = self.random
        lines = self._operations(size // 3)
        inits = [f"%{name}: i8 = {self.int()}" for name in "abc"]
        outer = [*self.ints], [*self.bools], [*self.floats]
        limit = r.choice(("7", "12", "%n", "2147483647"))
        self.ints += ["%i", "%a", "%b", "%c"]
        header = [f"%t = lt %i, {limit} : b", "%s = lt %j, 12 : b", "%go = and %t, %s : b", *self._operations(size // 4)]
        leave = r.sample(["%i", *self.ints[-5:]], 3)
        rest = ["%i.1 = add %i, 1 : i8", "%j.1 = add %j, 1 : i8", *self._operations(size // 2)]
        after = ["%i.1", "%j.1", *r.sample(self.ints[-9:], 3)]
        self.ints, self.bools, self.floats = outer
        self.ints += ["%x", "%y", "%z"]
        lines += [
            f"loop @a again @b (%i: i8 = {r.choice(('0', '3', '2147483640'))}, %j: i8 = 0, {', '.join(inits)}) {{",
            *header, "if %go {", *rest, f"yield {', '.join(after)}", "} else {", f"exit @a {', '.join(leave)}",
            "} -> (%k1: i8, %k2: i8, %k3: i8, %k4: i8, %k5: i8)", "yield %k1, %k2, %k3, %k4, %k5",
            "} -> (%x: i8, %y: i8, %z: i8)", *self._operations(size // 3)]
        return self._function(lines, "masked")

    def _function(self, lines: list[str], form: str) -> str:
        r = self.random
        results = [(v, "i8") for v in r.sample(self.ints[2:], 3)] + [(v, "b") for v in self.bools[-2:]] + [
            (v, "f8") for v in self.floats[-1:]]
        kinds = ", ".join(kind for _, kind in results)
        body = "\n".join([*lines, "yield " + ", ".join(v for v, _ in results)])
        return f"func @f(%n: i8, %m: i8, %p: b) -> ({kinds}) {form} @return {{\n{body}\n}}"

    def _operations(self, size: int) -> list[str]:
        lines = []
        for _ in range(size):
            kind, line = self._operation()
            name, self.made = f"%v{self.made}", self.made + 1
            lines.append(f"{name} = {line} : {kind}")
            {"i8": self.ints, "b": self.bools, "f8": self.floats}[kind].append(name)
        return lines

    def int(self) -> str:
        r = self.random
        if r.random() < 0.2:
            return str(r.choice(self.LITERALS))
        return r.choice(self.ints[-5:]) if r.random() < 0.7 else r.choice(self.ints)

    def _operation(self) -> tuple[str, str]:
        r = self.random
        match r.randrange(16):
            case 0 | 1 | 2:
                return "i8", f"and {self.int()}, {r.choice(self.MASKS)}"
            case 3 | 4 | 5 | 6:
                return "i8", f"{r.choice(('add', 'sub', 'mul', 'xor', 'or', 'and'))} {self.int()}, {self.int()}"
            case 7:
                return "i8", f"{r.choice(('neg', 'invert', 'abs'))} {r.choice(self.ints)}"
            case 8:
                return "i8", f"{r.choice(('shl', 'shr'))} {r.choice(self.ints)}, {r.choice((0, 1, 3, 13, 16, 31, 32, 40))}"
            case 9 | 10:
                divisor = r.choice((1, 2, 3, 10, 256, 1000, 2**16, 2**31, 2**32, 2**33, -7, -1, self.int(), self.int()))
                return "i8", f"{r.choice(('floordiv', 'mod'))} {r.choice(self.ints)}, {divisor}"
            case 11 | 12:
                return "i8", f"select {r.choice(self.bools)}, {self.int()}, {r.choice(self.ints)}"
            case 13 | 14:
                sign = r.choice(("eq", "ne", "lt", "le", "gt", "ge"))
                return "b", f"{sign} {r.choice(self.ints)}, {self.int()}"
        return "f8", f"to_float {r.choice(self.ints)}"


def int_lanes(seed: int, count: int) -> list[tuple[int, int, bool]]:
    r = random.Random(seed)

    def number() -> int:
        return int(r.choice(EDGES)) if r.random() < 0.6 else r.randint(-(2**63), 2**63 - 1)

    return [(number(), number(), r.random() < 0.5) for _ in range(count)]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_functions_of_ints(first: int, everything: list[IntegerNarrowing]) -> None:
    """Total operations: also what would be a fault has one meaning, that of the engine in 64 bits."""
    for seed in range(first, first + 20):
        check_ints(seed, IntPrograms(seed).flat(30))
    assert sum(len(found.values) for found in everything) > 100


@pytest.mark.turns(3)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_loops_of_ints(first: int, everything: list[IntegerNarrowing]) -> None:
    for seed in range(first, first + 20):
        check_ints(seed, IntPrograms(seed).looped(36))
    assert sum(len(found.values) for found in everything) > 100


def test_random_loops_of_ints_refilled(everything: list[IntegerNarrowing], refilled: list[str]) -> None:  # noqa: F811
    for seed in range(60, 80):
        check_ints(seed, IntPrograms(seed).looped(36))
    assert refilled


def check_ints(seed: int, text: str, count: int = 60) -> None:
    fn = parse_function(text)
    rows = int_lanes(seed, count)
    cols = [np.array([row[k] for row in rows], DTYPES[p.kind]) for k, p in enumerate(fn.params)]
    narrow = run_kernel(fn, cols)
    with ways.forced(ints="wide"):
        wide = run_kernel(fn, cols)
    for a, b in zip(narrow, wide, strict=True):
        where = [k for k in range(len(a)) if a[k].tobytes() != b[k].tobytes()][:1]
        assert not where, f"seed {seed}, {rows[where[0]]}: {a[where[0]]}, in 64 bits {b[where[0]]}\n{text}"


def run_kernel(fn: Function, cols: list[np.ndarray]) -> list[np.ndarray]:
    """What the engine computes in each lane; nothing is a fault."""
    roots = tuple(results_of(fn))
    out = [np.empty(len(cols[0]), DTYPES[root.kind]) for root in roots]
    kernel = LaneLoop(tuple(fn.params), tuple(fn.body), roots, None)
    compile_kernel(kernel, (False,) * len(cols))[0].run(len(cols[0]), [*cols, *out])
    return out
