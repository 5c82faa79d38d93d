"""fold_constants of structured functions: what was computed before in this list or around it is used again, memory by
memory; what is known of tests, arms and lengths; and that faults and warnings stay."""

from __future__ import annotations

from typing import Any

import pytest

from pyflat.errors import Span
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Origin
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.fold_constants import fold_constants
from tests.passes.structured_programs import StructuredPrograms, difference, lanes, strict

ARMS = """func @f(%c: b, %x: f8, %n: i8) -> (f8) structured @return {
  if %c {
    %a = mul %x, %x : f8
    yield %a
  } else {
    %b = mul %x, %x : f8
    %d = mul %x, %x : f8
    %e = add %b, %d : f8
    yield %e
  } -> (%r: f8)
  %g = mul %x, %x : f8
  loop @l again @m (%i: i8 = 0, %s: f8 = %r) {
    %go = lt %i, %n : b
    if %go {
      yield
    } else {
      exit @l %s
    }
    %h = mul %x, %x : f8
    %t = add %s, %h : f8
    %j = add %i, 1 : i8
    yield %j, %t
  } -> (%q: f8)
  %k = add %q, %g : f8
  yield %k
}
"""
MEMORY = """func @f(%a: mem, %k: i8, %n: i8) -> (mem) structured @return {
  %i = index %k, %n : i8
  %x = load %a, %i {array = "a"} {dtype = "f8"} : f8
  %j = index %k, %n : i8
  %y = load %a, %j {array = "a"} {dtype = "f8"} : f8
  %z = add %x, %y : f8
  %b = store %a, %i, %z {array = "a"} {dtype = "f8"} : mem
  %w = load %b, %i {array = "a"} {dtype = "f8"} : f8
  %v = mul %w, %x : f8
  %c = store %b, %j, %v {array = "a"} {dtype = "f8"} : mem
  %p = alloc %n, 0.0 {array = "p"} {dtype = "f8"} : mem
  %q = alloc %n, 0.0 {array = "p"} {dtype = "f8"} : mem
  yield %c
}
"""


def shared(text: str, **options: Any):
    fn = parse_function(text)
    validate(fn)
    found = fold_constants(fn, share=True, **options)
    validate(found)
    return fn, found


@pytest.mark.parametrize("flag", [False, True])
def test_arms_and_loops_see_what_is_around_them_and_nothing_else(flag):
    fn, found = shared(ARMS)
    assert format_function(found).count("mul ") == 3  # one in each arm, one after them for the loop too
    assert run(fn, [flag, 1.5, 3]).values == run(found, [flag, 1.5, 3]).values


def test_loads_of_one_memory_are_one_and_those_after_a_store_are_not():
    text = format_function(shared(MEMORY)[1])
    assert [text.count(f" {opcode} ") for opcode in ("index", "load", "store", "alloc")] == [1, 2, 2, 2]


def test_the_first_of_equal_operations_faults():
    fn, found = shared("""func @f(%x: f8) -> (f8) structured @return {
  %a = sqrt %x : f8
  %b = sqrt %x : f8
  %c = add %a, %b : f8
  yield %c
}
""")
    assert format_function(found).count("sqrt") == 1
    assert run(fn, [4.0]).values == run(found, [4.0]).values == (4.0,)
    with pytest.raises(LaneFault):
        run(found, [-1.0])


def test_a_function_without_repetitions_is_the_same_function():
    _, found = shared(ARMS)
    assert fold_constants(found, share=True) is found


def body(text: str, **options: Any) -> str:
    return format_function(shared(text, **options)[1])


COUNT = """func @f(%a: mem, %n: i8) -> (i8) structured @return {
  %m = sub %n, 1 : i8
  %short = lt %m, 0 : b
  %count = select %short, 0, %m : i8
  %no = lt %count, 0 : b
  %some = select %no, 0, %count : i8
  %one = lt %n, 1 : b
  %first = select %one, %n, 1 : i8
  loop @l again @k (%i: i8 = 0, %s: i8 = 0) {
    %go = lt %i, %some : b
    if %go {
      yield
    } else {
      exit @l %s
    }
    %at = add %first, %i : i8
    %t = add %s, %at : i8
    %j = add %i, 1 : i8
    yield %j, %t
  } -> (%q: i8)
  yield %q
}
"""


def test_a_length_is_not_negative_and_loops_know_what_their_tests_say():
    text = body(COUNT, lengths=(1,))
    assert text.count("select") == 2  # of the count, and of the start, which the loop does not ask for
    assert text.count("add %i, 1") == 1 and "sub" not in text
    assert "sub %n, 1" in body(COUNT)
    fn, found = shared(COUNT, lengths=(1,))
    for length in range(5):
        assert run(fn, [{}, length]).values == run(found, [{}, length]).values


IFS = """func @f(%x: f8, %n: i8) -> (f8) structured @return {
  %p = lt %n, 5 : b
  if %p {
    exit @fault ValueError("short")
  } else {
    yield
  }
  %q = lt %n, 3 : b
  if %q {
    %a = mul %x, 2.0 : f8
    yield %a
  } else {
    yield %x
  } -> (%r: f8)
  if %p {
    exit @return 0.0
  } else {
    yield
  }
  %s = add %r, 1.0 : f8
  yield %s
}
"""


def test_what_a_test_says_holds_after_it_where_one_arm_leaves():
    fn, found = shared(IFS)
    text = format_function(found)
    assert text.count("if ") == 1 and "mul" not in text
    assert run(fn, [2.5, 7]).values == run(found, [2.5, 7]).values == (3.5,)


def test_an_arm_that_leaves_ends_the_list():
    fn, found = shared("""func @f(%x: f8) -> (f8) structured @return {
  if true {
    %a = add %x, 1.0 : f8
    exit @return %a
  } else {
    yield
  }
  %b = add %x, 2.0 : f8
  yield %b
}
""")
    assert "2.0" not in format_function(found)
    assert run(found, [1.0]).values == run(fn, [1.0]).values == (2.0,)


@pytest.mark.parametrize(("op", "kept"), [
    ("mul 1e+308, 10.0 : f8", True), ("divide 1.0, 0.0 : f8", True), ("mul 3.0, 2.0 : f8", False), ("add %x, -0.0 : f8", False),
    ("mul %x, 1.0 : f8", False), ("add %x, 0.0 : f8", True), ("select true, %x, %x : f8", True),
    ("select false, 2.0, 2.0 : f8", True), ("truediv 1.0, 0.0 : f8", True),
    ('rounded 0.1 : f8', False), ('rounded 1e+300 : f8', True),
])
def test_what_warns_or_says_whose_number_it_is_stays(op, kept):
    op = op.replace(" : f8", ' {dtype = "f4"} : f8') if op.startswith("rounded") else op
    text = body(f"func @f(%x: f8) -> (f8) structured @return {{\n  %y = {op}\n  yield %y\n}}\n")
    assert (f"{op}" in text) == kept


def test_what_may_warn_is_shared_within_a_line():
    for line, kept in ((1, 1), (2, 2)):
        fn = parse_function("""func @f(%x: f8) -> (f8, f8) structured @return {
  %a = mul %x, %x : f8
  %b = mul %x, %x : f8
  yield %a, %b
}
""")
        (block,) = fn.body
        for op, at in zip(block.ops, (1, line), strict=True):
            op.origin = Origin(Span("f.py", at, 0, at, 5))
        assert format_function(fold_constants(fn, share=True)).count("mul") == kept


@pytest.mark.parametrize("op", ["shl 0, %n", "shr 0, %n", "floordiv 1, 0", "index 3, 5", "u_add -1, 1"])
def test_what_may_raise_stays(op):
    assert op in body(f"func @f(%n: i8) -> (i8) structured @return {{\n  %y = {op} : i8\n  yield %y\n}}\n")


@pytest.mark.parametrize(("of", "dtype", "kept"), [("u1", "u1", False), ("u1", "i2", False), ("i1", "u1", True), ("u2", "i2", True)])
def test_a_number_that_is_of_a_dtype_is_not_tested(of, dtype, kept):
    text = body(f"""func @f(%a: mem) -> (i8) structured @return {{
  %x = load %a, 0 {{array = "a"}} {{dtype = "{of}"}} : i8
  %y = fitted %x {{dtype = "{dtype}"}} : i8
  yield %y
}}
""")
    assert ("fitted" in text) == kept


def test_sums_of_lengths_and_literals_are_one_and_others_stay():
    text = """func @f(%n: i8) -> (i8, b) structured @return {
  %a = sub %n, 1 : i8
  %b = sub %a, 1 : i8
  %c = lt %b, 0 : b
  yield %b, %c
}
"""
    assert "add %n, -2" in body(text, lengths=(0,)) and "lt %n, 2" in body(text, lengths=(0,))
    assert "sub %a, 1" in body(text)
    assert "add %a, 1" in body(text.replace("sub", "add"))


def test_random_programs_fault_and_return_as_before():
    returned = 0
    for seed in range(300):
        fn = StructuredPrograms(seed, loops=True).function()
        found = fold_constants(fn, share=True)
        validate(found)
        for args in lanes(fn, 6, seed):
            returned += strict(fn, args) is not None
            assert not difference(fn, found, args), f"seed {seed}\n{format_function(fn)}"
            assert (strict(fn, args) is None) == (strict(found, args) is None), seed
    assert returned > 500
