"""Fast functions where their digits do not matter, alarms where they may."""

from __future__ import annotations

import pytest

from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function, Loop, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.validate import validate
from pyflat.passes.accuracy.carried_bounds import closing_in
from pyflat.passes.accuracy.choose_math import choose_math
from pyflat.passes.fold_constants import fold_constants
from pyflat.passes.prune_dead import prune_dead
from pyflat.passes.share_subexpressions import share_subexpressions
from pyflat.targets.numba.costs import VECTOR_MATH
from pyflat.targets.numpy.costs import NUMPY_MATH
from tests.passes.flat_programs import FlatPrograms, body_of, flat


def chosen(body: str) -> str:
    fn = flat(body)
    text = format_function(fn)
    made = choose_math(fn, VECTOR_MATH)
    validate(made)
    assert format_function(fn) == text
    return body_of(prune_dead(share_subexpressions(fold_constants(made))))


def unchanged(body: str, table=VECTOR_MATH) -> None:
    fn = flat(body)
    assert choose_math(fn, table) is fn


def opcodes(fn: Function) -> list[str]:
    return [op.opcode for op in all_ops(fn.body)]


# --- nothing to do


def test_a_function_without_elementary_functions_is_left_alone():
    unchanged("%a = mul %x, %y : f8\n%c = lt %a, 1.0 : b\nyield %c")


def test_a_target_without_fast_functions_changes_nothing():
    unchanged("%a = exp %x : f8\nyield %a", {})


# --- free functions


def test_a_value_that_only_is_a_result_is_fast_and_has_no_alarm():
    assert chosen("%a = sin %x : f8\n%b = mul %a, %y : f8\nyield %b") == (
        "%a = vec_sin %x : f8\n%b = mul %a, %y : f8\nyield %b")


def test_squares_are_products_and_roots_of_powers_lose_the_sign_of_zero():
    assert chosen("%a = pow %x, 2.0 : f8\nyield %a") == "%a = mul %x, %x : f8\nyield %a"
    assert chosen("%a = pow %x, 0.5 : f8\nyield %a") == "%0 = sqrt %x : f8\n%a = add %0, 0.0 : f8\nyield %a"


# --- decisions


def test_a_comparison_with_a_literal_gets_an_alarm_with_a_constant_margin():
    lines = chosen("%a = log %x : f8\n%c = lt %a, 1.0 : b\nyield %c").splitlines()
    assert lines[0] == "%a = vec_log %x : f8"
    assert [line.split(" = ")[-1].split(" ")[0] for line in lines[1:-2]] == ["lt", "sub", "abs", "gt", "not"]
    assert "InexactDecision" in lines[-2]
    assert lines[-1] == "yield %c"


def test_the_sign_of_a_value_with_a_relative_error_is_certain():
    assert "fault" not in chosen("%a = sin %x : f8\n%c = lt %a, 0.0 : b\nyield %c")


def test_a_minimum_decides_nothing():
    text = chosen("%a = sin %x : f8\n%b = cos %y : f8\n%c = lt %a, %b : b\n%m = select %c, %a, %b : f8\nyield %m")
    assert "fault" not in text


def test_a_minimum_whose_condition_is_used_otherwise_decides():
    text = chosen("%a = sin %x : f8\n%b = cos %y : f8\n%c = lt %a, %b : b\n%m = select %c, %a, %b : f8\nyield %m, %c")
    assert "InexactDecision" in text


def test_an_absolute_value_written_as_a_choice_decides_nothing():
    text = chosen("%a = log %x : f8\n%n = neg %a : f8\n%c = lt %a, 0.0 : b\n%m = select %c, %n, %a : f8\nyield %m")
    assert "fault" not in text


def test_an_alarm_counts_only_where_the_decision_is_needed():
    text = chosen("%a = log %x : f8\n%c = lt %a, 1.0 : b\n%t = select %c, 1, 2 : i8\n%r = select %p, %t, 3 : i8\nyield %r")
    alarm = next(line for line in text.splitlines() if "= and" in line)
    assert "%p" in alarm
    assert f"fault {alarm.split(' =')[0]} InexactDecision" in text


def test_a_condition_that_only_makes_faults_becomes_wider_without_an_alarm():
    text = chosen("%a = sin %x : f8\n%b = add %a, 0.5 : f8\n%c = log %b : f8\n%f = le %b, 0.0 : b\n"
                  "fault %f ValueError()\nyield %c")
    assert text.count("fault") == 1
    assert "le %b, 0.0" not in text
    assert "le %b, " in text


@pytest.mark.parametrize(("lines", "gone"), [
    ("%z = eq %b, 0.0 : b\nfault %z ZeroDivisionError()", "eq %b"),
    ("%z = isinf %b : b\nfault %z ValueError()", "isinf"),
    ("%n = ne %b, 0.0 : b\n%z = not %n : b\nfault %z ZeroDivisionError()", "ne %b"),
])
def test_being_near_a_fault_is_enough_where_it_includes_the_fault(lines, gone):
    text = chosen(f"%a = log %x : f8\n%b = sub %a, %y : f8\n%c = truediv %y, %b : f8\n{lines}\nyield %c")
    assert gone not in text
    assert text.count("fault") == 1


def test_a_domain_that_the_last_digits_may_leave_is_watched():
    """1 - cos(x)**2 is never negative in CPython, so that there is no fault to widen."""
    text = chosen("%a = cos %x : f8\n%s = mul %a, %a : f8\n%d = sub 1.0, %s : f8\n%r = sqrt %d : f8\nyield %r")
    assert "lt %d, 0.0" in text
    assert "InexactDecision" in text


@pytest.mark.parametrize("lines", [
    "%b = gamma %a : f8\n%c = lt %b, 1.0 : b",
    "%b = remainder %y, %a : f8\n%c = lt %b, 1.0 : b",
    "%b = nextafter %a, %y : f8\n%c = lt %b, 1.0 : b",
])
def test_functions_behind_a_decision_without_a_bound_stay_the_librarys(lines):
    unchanged(f"%a = sin %x : f8\n{lines}\nyield %c")


def test_only_what_is_behind_that_decision_stays():
    text = chosen("%a = sin %x : f8\n%b = gamma %a : f8\n%c = lt %b, 1.0 : b\n%d = cos %y : f8\nyield %c, %d")
    assert "%a = sin %x" in text
    assert "%d = vec_cos %y" in text


def test_a_long_chain_of_decisions_ends_in_exact_functions():
    """A search closes in on its threshold: the later the step, the nearer."""
    lines, last = [], "%x"
    for k in range(8):
        lines += [f"%e{k} = exp {last} : f8", f"%c{k} = lt %e{k}, %y : b", f"%h{k} = add {last}, {0.5**k} : f8",
                  f"%l{k} = sub {last}, {0.5**k} : f8", f"%s{k} = select %c{k}, %h{k}, %l{k} : f8"]
        last = f"%s{k}"
    text = chosen("\n".join([*lines, f"yield {last}"]))
    assert (text.count("= vec_exp "), text.count("= exp ")) == (4, 4)


def loop(lines: str, after: str = "") -> Function:
    """The function `x = %x; while x > 0.5: x = %t` with `lines` before the end of a trip; gives %r."""
    fn = parse_function(f"""func @f(%x: f8) -> (f8) masked @return {{
      loop @loop again @next (%s: f8 = %x) {{
        %g = gt %s, 0.5 : b
        if %g {{
          {lines}
          yield %t
        }} else {{
          exit @loop %s
        }} -> (%n: f8)
        yield %n
      }} -> (%r: f8)
      {after or "yield %r"}
    }}""")
    validate(fn)
    return fn


def params(fn: Function) -> list[str]:
    return [param.name for item in walk(fn.body) if isinstance(item, Loop) for param in item.params]


def test_a_loop_that_decides_by_what_it_changes_carries_the_error():
    made = choose_math(loop("%t = sin %s : f8"), VECTOR_MATH)
    validate(made)
    assert params(made) == ["s", "s error"]
    assert "vec_sin" in opcodes(made)
    assert "sin" not in opcodes(made)
    assert opcodes(made).count("fault") == 1


def test_an_error_that_no_decision_asks_for_is_not_carried():
    made = choose_math(loop("%c = sin %x : f8\n%d = cos %c : f8\n%t = mul 0.5, %s : f8", "%e = cos %r : f8\nyield %e"),
                       VECTOR_MATH)
    assert params(made) == ["s"]
    assert "fault" not in opcodes(made)


def test_a_result_of_a_loop_brings_its_error_along():
    made = choose_math(loop("%t = sin %s : f8", "%f = floor %r : f8\nyield %f"), VECTOR_MATH)
    validate(made)
    (found,) = [item for item in made.body if isinstance(item, Loop)]
    assert [result.name for result in found.results] == ["r", "r error"]


def test_functions_stay_exact_where_the_error_costs_more_than_they_gain():
    """A root is as fast as its error; of many, one function is not worth it."""
    roots = "\n".join(f"%r{k} = truediv %p{k}, %s : f8\n%p{k + 1} = add %r{k}, %s : f8" for k in range(12))
    fn = loop(f"%p0 = erf %s : f8\n{roots}\n%t = mul %p12, 0.01 : f8")
    assert choose_math(fn, VECTOR_MATH) is fn


def test_a_value_that_the_loop_makes_without_a_bound_is_exact():
    fn = loop("%a = sin %s : f8\n%t = gamma %a : f8")
    assert choose_math(fn, VECTOR_MATH) is fn


def test_what_closes_in_on_its_own_threshold_is_exact():
    """A bisection: for nearly every lane a decision of the last trips would be too near."""
    fn = parse_function("""func @f(%x: f8, %t: f8) -> (f8) masked @return {
      loop @loop again @next (%low: f8 = 0.0, %high: f8 = %x, %k: i8 = 0) {
        %g = lt %k, 60 : b
        if %g {
          %sum = add %low, %high : f8
          %middle = mul 0.5, %sum : f8
          %e = exp %middle : f8
          %c = gt %e, %t : b
          %low1 = select %c, %low, %middle : f8
          %high1 = select %c, %middle, %high : f8
          %k1 = add %k, 1 : i8
          yield %low1, %high1, %k1
        } else {
          exit @loop %low
        } -> (%l: f8, %h: f8, %n: i8)
        yield %l, %h, %n
      } -> (%r: f8)
      yield %r
    }""")
    validate(fn)
    assert {param.name for param in closing_in(fn)} == {"low", "high"}
    assert choose_math(fn, VECTOR_MATH) is fn


def test_without_decisions_every_function_is_fast():
    fn = flat("%a = sin %x : f8\n%b = gamma %a : f8\n%c = lt %b, 1.0 : b\nyield %c")
    assert "vec_sin" in opcodes(choose_math(fn, VECTOR_MATH, decide=False))


@pytest.mark.parametrize("table", [VECTOR_MATH, NUMPY_MATH], ids=["vector", "numpy"])
@pytest.mark.parametrize("seed", range(40))
def test_random_functions_stay_valid(seed, table):
    fn = FlatPrograms(seed).function(40)
    made = choose_math(fn, table)
    validate(made)
    assert made.result_kinds == fn.result_kinds
