"""Operations that an engine does not spell, in those that it has: values and faults stay, in every form."""

from __future__ import annotations

import pytest

from pyflat.errors import FlattenError
from pyflat.ir.formats import F4
from pyflat.ir.interp import run
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function, If, walk
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.parse import parse_function
from pyflat.ir.validate import validate
from pyflat.passes.demote_floats import demote_floats
from pyflat.passes.rules.expansions import in_terms_of
from tests.passes import structured_programs
from tests.passes.flat_programs import FlatPrograms, assert_equal, flat, samples

GONE = {"isfinite", "isinf", "rint", "exact_float", "invert", "ne"}
SPELLED = PRIMITIVES.keys() - GONE
ROUNDED = "%a = round_digits %x, 2 : f8\nyield %a"
KERNEL = """func @f(%i: i8) -> (f8) structured @return {
  %a = exact_float %i : f8
  %b = isinf %a : b
  %c = select %b, 1.0, %a : f8
  yield %c
}"""


def without(fn: Function) -> Function:
    after = in_terms_of(fn, SPELLED)
    validate(after)
    return after


def test_what_is_spelled_stays() -> None:
    fn = flat("%a = floor %x : f8\n%b = lt %a, %y : b\nyield %b")
    assert in_terms_of(fn, SPELLED) is fn


@pytest.mark.parametrize("seed", range(40))
def test_flat_functions_keep_values_and_faults(seed: int) -> None:
    fn = FlatPrograms(seed).function()
    after = without(fn)
    assert not {op.opcode for op in all_ops(after.body)} & (GONE - {"ne"})
    assert_equal(fn, after, samples(fn, 20, seed))


@pytest.mark.parametrize("seed", range(40))
def test_structured_functions_keep_values_and_faults(seed: int) -> None:
    fn = structured_programs.StructuredPrograms(seed, loops=seed % 2 == 0).function()
    structured_programs.assert_same(fn, without(fn), seed=seed)


def test_a_fault_of_what_goes_is_a_branch() -> None:
    fn = parse_function(KERNEL)
    after = without(fn)
    assert sum(isinstance(item, If) for item in walk(after.body)) == 1
    for lane, suspect in ((3, False), (2**53, False), (2**53 + 1, True), (-(2**60), True)):
        found = structured_programs.strict(after, [lane])
        assert (found is None) is suspect
        assert found is None or found.values == run(fn, [lane]).values


def test_a_doubt_is_a_fault() -> None:
    fn = flat(ROUNDED)
    after = in_terms_of(fn, SPELLED - {"round_digits"})
    lanes = {2.675: False, 0.125: False, 1e-310: False, 1e300: False, 2.0**50 + 0.25: True}
    for x, suspect in lanes.items():
        lane = (False, False, 0, 0, x, 0.0)
        found = run(after, lane)
        assert found.suspect is suspect, x
        assert suspect or found.values == run(fn, lane).values


def test_float32_lanes_refuse() -> None:
    fn = demote_floats(parse_function(KERNEL))
    assert fn.floats is F4
    with pytest.raises(FlattenError, match="exact_float in float32"):
        in_terms_of(fn, SPELLED)
