"""unroll_loops: what stays a loop, the documents' trip counts, and that nothing changes its meaning."""

from __future__ import annotations

from collections import Counter

import pytest

from pyflat.frontend.specialise import specialise
from pyflat.ir.interp import run
from pyflat.ir.loops import Counted, recognise_counted
from pyflat.ir.nodes import Block, Const, Function, Loop, Region, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.hoist_invariants import hoist_invariants
from pyflat.passes.lower_exits import lower_exits
from pyflat.passes.pipelines import FLATTEN
from pyflat.passes.simplify_control import simplify_control
from pyflat.passes.unroll_loops import _Unrolling, unroll_loops
from tests.passes.control_programs import trips
from tests.passes.structured_programs import assert_same

KINDS = {"i": INT, "f": FLOAT}


def rolled(fn, **letters: str) -> Function:
    """The structured form of a function with all its loops rolled."""
    made = specialise(fn, {name: Leaf(KINDS[kind]) for name, kind in letters.items()}, loops="roll", max_unroll=1).function
    validate(made)
    return made


def opcodes(fn: Function) -> Counter[str]:
    return Counter(op.opcode for item in walk(fn.body) if isinstance(item, Block) for op in item.ops)


def count(fn: Function, cls: type) -> int:
    return sum(isinstance(item, cls) for item in walk(fn.body))


def unrolled(before: Function, limit: int = 4096) -> Function:
    """Unrolled, checked: valid, the input left alone, done at once, the same in every lane."""
    text = format_function(before)
    after = unroll_loops(before, limit)
    validate(after)
    assert format_function(before) == text
    assert unroll_loops(after, limit) is after
    assert_same(before, after, 40)
    return after


def unchanged(before: Function, limit: int = 4096) -> None:
    assert unroll_loops(before, limit) is before


# --- no change


def test_code_without_loops_is_left_alone():
    unchanged(parse_function("func @f(%x: f8) -> (f8) structured @return {\n%0 = lt 1, 2 : b\nyield %x\n}"))


def range_of_lanes(n):
    s = 0
    for i in range(n):
        s += i
    return s


def while_of_lanes(x):
    while x > 1.0:
        x = x / 2.0
    return x


def counts_but_ends_by_lanes(x):
    i = 0
    while x > 1.0:
        i += 1
        x = x / i
    return i


def ends_by_lanes_after_three(x):
    i = 0
    while i < 3 or x > 1.0:
        i += 1
        x = x / 2.0
    return i


def endless(x):
    i = 0
    while i >= 0:
        i = 0
        if x > i:
            return x
    return i


@pytest.mark.parametrize("fn", [while_of_lanes, counts_but_ends_by_lanes, ends_by_lanes_after_three])
def test_loops_whose_end_depends_on_lanes_stay(fn):
    unchanged(rolled(fn, x="f"))


@pytest.mark.parametrize("fn", [while_of_lanes, counts_but_ends_by_lanes, ends_by_lanes_after_three])
def test_trying_stops_at_the_first_trip_that_is_not_decided(fn):
    before = rolled(fn, x="f")
    attempt = _Unrolling(1000)
    attempt.items(before.body)
    assert attempt.copied <= 6 * sum(opcodes(before).values())


def test_a_range_of_lanes_stays():
    unchanged(rolled(range_of_lanes, n="i"))


def test_a_loop_that_never_decides_to_end_stays_within_the_limit():
    unchanged(rolled(endless, x="i"), limit=50)


def ten(x):
    for i in range(10):
        x = x + i
    return x


def test_a_loop_longer_than_the_limit_stays():
    unchanged(rolled(ten, x="f"), limit=9)
    assert count(unrolled(rolled(ten, x="f"), limit=10), Loop) == 0


# --- the documents' counts


def steps_of_four(n, s):
    for i in range(0, 24, 4):
        s += i * n
    return s


def test_0_to_24_in_steps_of_4_are_6_copies_and_no_loop():
    before = rolled(steps_of_four, n="i", s="i")
    assert count(before, Loop) == 1
    after = unrolled(before)
    assert count(after, Loop) == count(after, Region) == 0
    assert opcodes(after) == {"mul": 6, "add": 6}
    assert [op.args[0].value for item in walk(after.body) if isinstance(item, Block) for op in item.ops if op.opcode == "mul"] == [0, 4, 8, 12, 16, 20]


def powers_of_three(x):
    i = 1
    while i < 81:
        i *= 3
        x += i
    return x


def test_a_while_loop_is_simulated():
    after = unrolled(rolled(powers_of_three, x="i"))
    assert count(after, Loop) == 0
    assert opcodes(after) == {"add": 4}
    assert run(after, [0]).values == (3 + 9 + 27 + 81,)


def nested(x):
    for i in range(3):
        for j in range(3):
            if i * j > x:
                return i * 10 + j
    return -1


def test_the_nested_loops_give_the_same_after_each_pass():
    fn = rolled(nested, x="i")
    assert count(fn, Loop) == 2
    stages = [fn]
    for each in (hoist_invariants, simplify_control, unroll_loops, simplify_control, hoist_invariants):
        stages.append(each(stages[-1]))
    assert count(stages[3], Loop) == 0
    for each in FLATTEN:
        stages.append(each.run(stages[-1]))
    for stage in stages:
        validate(stage)
        assert [run(stage, [x]).values for x in range(5)] == [(11,), (12,), (22,), (22,), (-1,)]


def test_the_rolled_nested_loops_give_the_same_after_lower_exits():
    lowered = lower_exits(rolled(nested, x="i"))
    assert [run(lowered, [x]).values for x in range(5)] == [(11,), (12,), (22,), (22,), (-1,)]
    assert_same(lowered, simplify_control(hoist_invariants(lowered)))


# --- exits


def with_break(x):
    s = 0
    for i in range(4):
        if x == i:
            break
        s += i
    else:
        s = -1
    return s


def with_continue(x):
    s = 0
    for i in range(4):
        if x == i:
            continue
        s += i
    return s


def test_a_break_of_lanes_makes_one_region():
    after = unrolled(rolled(with_break, x="i"))
    assert (count(after, Region), count(after, Loop)) == (1, 0)
    assert [run(after, [x]).values[0] for x in (-1, 0, 1, 2, 3, 4)] == [with_break(x) for x in (-1, 0, 1, 2, 3, 4)]


def test_a_continue_of_lanes_makes_a_region_for_each_trip():
    after = unrolled(rolled(with_continue, x="i"))
    assert (count(after, Region), count(after, Loop)) == (4, 0)
    assert [run(after, [x]).values[0] for x in (-1, 0, 1, 2, 3, 4)] == [with_continue(x) for x in (-1, 0, 1, 2, 3, 4)]


def triangle(x):
    s = 0
    for i in range(4):
        for j in range(i):
            s += i * j + x
    return s


def test_inner_bounds_become_literals():
    after = unrolled(rolled(triangle, x="i"))
    assert count(after, Loop) == 0
    assert opcodes(after)["add"] == 12
    assert run(after, [0]).values == (triangle(0),)


def inner_only(n):
    s = 0
    for i in range(n):
        for j in range(2):
            s += i * j
    return s


def test_an_inner_loop_is_unrolled_in_a_loop_that_stays():
    fn = rolled(inner_only, n="i")
    after = unroll_loops(fn)
    validate(after)
    assert (count(fn, Loop), count(after, Loop)) == (2, 1)
    assert opcodes(after)["mul"] == 2
    assert [run(after, [n]).values[0] for n in range(-1, 6)] == list(map(inner_only, range(-1, 6)))


def lane_loop_inside(x):
    s = 0
    for i in range(2):
        k = 0
        while k < x:
            if i == 1:
                s += k
            k += 1 + i
    return s


def test_what_the_trip_knows_is_known_in_a_loop_inside_that_stays():
    fn = rolled(lane_loop_inside, x="i")
    after = unroll_loops(fn)
    validate(after)
    assert count(after, Loop) == 2
    assert "eq" in opcodes(fn) and "eq" not in opcodes(after)
    assert [run(after, [x]).values[0] for x in range(-1, 9)] == list(map(lane_loop_inside, range(-1, 9)))


def test_no_trip_is_nothing():
    fn = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  loop @l again @n (%i: i8 = 3, %s: f8 = %x) {
    %go = lt %i, 3 : b
    if %go {
      yield
    } else {
      exit @l %s
    }
    %t = truediv %s, 0.0 : f8
    %j = add %i, 1 : i8
    yield %j, %t
  } -> (%r: f8)
  yield %r
}
""")
    assert format_function(unrolled(fn)) == "func @f(%x: f8) -> (f8) structured @return {\n  yield %x\n}\n"


def test_what_raises_is_not_computed_while_unrolling():
    fn = parse_function("""
func @f(%x: i8) -> (i8) structured @return {
  loop @l again @n (%i: i8 = 0, %s: i8 = %x) {
    %go = lt %i, 2 : b
    if %go {
      yield
    } else {
      exit @l %s
    }
    %q = floordiv 7, %i : i8
    %t = add %s, %q : i8
    %j = add %i, 1 : i8
    yield %j, %t
  } -> (%r: i8)
  yield %r
}
""")
    after = unrolled(fn)
    assert opcodes(after) == {"floordiv": 1, "add": 2}


# --- counted loops


def counted(fn, **letters: str) -> Counted | None:
    loop = next(item for item in walk(rolled(fn, **letters).body) if isinstance(item, Loop))
    return recognise_counted(loop)


def down(s):
    for i in range(9, 0, -2):
        s += i
    return s


@pytest.mark.parametrize(
    ("fn", "letters", "bounds"),
    [(steps_of_four, {"n": "i", "s": "i"}, (0, 24, 4, 6)), (down, {"s": "i"}, (9, 0, -2, 5)), (with_break, {"x": "i"}, (0, 4, 1, 4)),
     (with_continue, {"x": "i"}, (0, 4, 1, 4))],
)
def test_ranges_are_recognised(fn, letters, bounds):
    found = counted(fn, **letters)
    assert found is not None
    assert isinstance(found.lower, Const) and isinstance(found.upper, Const)
    assert (found.lower.value, found.upper.value, found.step, found.trips) == bounds


def test_a_range_of_lanes_is_recognised_without_a_trip_count():
    found = counted(range_of_lanes, n="i")
    assert found is not None
    assert (found.upper.name, found.step, found.trips) == ("n", 1, None)


CANONICAL = """
func @f(%n: i8) -> (i8) structured @return {
  loop @l again @m (%i: i8 = 2, %s: i8 = 0) {
    %go = gt %n, %i : b
    if %go {
      %t = add %s, %i : i8
      %j = add 3, %i : i8
      yield %j, %t
    } else {
      exit @l %s
    } -> (%j.1: i8, %t.1: i8)
    yield %j.1, %t.1
  } -> (%r: i8)
  yield %r
}
"""


def test_a_range_is_recognised_in_canonical_form_too():
    fn = parse_function(CANONICAL)
    validate(fn, canonical=True)
    loop = fn.body[1]
    assert isinstance(loop, Loop)
    assert recognise_counted(loop) == Counted(loop.params[0], loop.inits[0], fn.params[0], 3)


def test_a_canonical_loop_is_unrolled():
    after = unrolled(parse_function(CANONICAL.replace("gt %n, %i", "gt 10, %i")))
    assert count(after, Loop) == 0
    assert run(after, [0]).values == (2 + 5 + 8,)


@pytest.mark.parametrize("fn", [while_of_lanes, counts_but_ends_by_lanes, powers_of_three])
def test_other_loops_are_not_counted(fn):
    assert counted(fn, x="i" if fn is powers_of_three else "f") is None


COUNTED = """
func @f(%x: i8, %c: b) -> () structured @return {
  loop @l again @n (%i: i8 = 0, %u: i8 = %x) {
    %go = lt %i, %x : b
    if %go {
      yield
    } else {
      exit @l
    }
    %j = add %i, 1 : i8
    yield %j, %u
  }
  yield
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add %i, 1", "add %i, -1"), ("add %i, 1", "add %i, 0"), ("add %i, 1", "add %i, %x"), ("add %i, 1", "mul %i, 1"), ("add %i, 1", "add %u, 1"),
        ("lt %i, %x", "gt %i, %x"), ("lt %i, %x", "le %i, %x"), ("lt %i, %x", "lt %x, %i"), ("lt %i, %x", "lt %i, %u"),
        ("exit @l", "exit @n 0, 0"), ("exit @l", "yield"), ("    yield %j, %u\n  }", "    if %c {\n exit @n %x, %u\n} else {\nyield\n}\nyield %j, %u\n  }"),
    ],
)
def test_what_only_looks_like_a_counted_loop(old, new):
    def loop(text: str) -> Loop:
        fn = parse_function(text)
        validate(fn)
        return next(item for item in walk(fn.body) if isinstance(item, Loop))

    assert recognise_counted(loop(COUNTED)) is not None
    assert old in COUNTED
    assert recognise_counted(loop(COUNTED.replace(old, new))) is None


# --- random programs


@pytest.mark.parametrize("seed", range(150))
def test_random_programs_compute_the_same(seed):
    fn = trips(seed)
    after = unroll_loops(fn, 12)
    validate(after)
    assert_same(fn, after, 25)


def test_many_random_loops_are_unrolled():
    before, after = (sum(count(fn, Loop) for fn in made) for made in (map(trips, range(60)), (unroll_loops(trips(s), 12) for s in range(60))))
    assert 0 < after < 0.9 * before
