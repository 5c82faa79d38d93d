"""Whatever the validator is given, it passes or raises its own error."""

from __future__ import annotations

import random

import pytest

from pyflat.errors import InternalError
from pyflat.ir.edit.module import FunctionBuilder
from pyflat.ir.loops import recognise_counted
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    Exit,
    Fault,
    Function,
    If,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Yield,
    walk,
)
from pyflat.ir.parse import parse_function
from pyflat.ir.types import BOOL, FLOAT, INT, VOID
from pyflat.ir.validate import validate
from tests.ir.structured_samples import StructuredPrograms
from tests.ir.test_validate import sample

SAMPLES = """
func @counts(%n: i8, %x: f8) -> (f8) structured @return {
  loop @l again @a (%i: i8 = 0, %s: f8 = %x) {
    %go = lt %i, %n : b
    if %go {
      yield
    } else {
      exit @l %s
    }
    %t = gather %i {table = (1.0, 2.0)} : f8
    %u = add %s, %t : f8
    %j = add %i, 1 : i8
    yield %j, %u
  } -> (%r: f8)
  yield %r
}

func @masked(%c: b, %x: f8) -> (f8) masked @return {
  fault %c ValueError("no")
  loop @l again @a (%s: f8 = %x) {
    %go = lt %s, 9.0 : b
    if %go {
      %t = mul %s, 2.0 : f8
      yield %t
    } else {
      exit @l %s
    } -> (%n: f8)
    yield %n
  } -> (%r: f8)
  yield %r
}

func @together(%c: b, %x: f8) -> (b) structured @return {
  %k = call %x {args = ("f8",)} {barrier = false} {effect = false} {guarded = false} {name = "g"} : f8
  %y = gt %k, 0.0 : b
  %e = lane_any %y : b
  yield %e
}
"""
KINDS_OF_THINGS = (Function, Block, If, Region, Loop, Op, Param, Const, Exit, Yield, Label)
LITTLE = (None, 0, -1, 2.5, "x", b"x", [], (), {}, set(), True, object(), Op, FAULT, Fault("E"), Fault(None, 3), BOOL,
          INT, VOID, FLOAT)


def functions(seed: int) -> Function:
    if seed % 2:
        return StructuredPrograms(seed).function()
    fn = parse_function(SAMPLES.strip().split("\n\n")[seed // 2 % 3])
    for item in walk(fn.body):
        if isinstance(item, Loop):
            counts = recognise_counted(item)
            item.counted = counts.iv if counts is not None else None
    return fn


def things_in(what: object, found: list[object]) -> list[object]:
    """Every object of the IR that can be reached, each once."""
    if isinstance(what, list | tuple):
        for each in what:
            things_in(each, found)
    elif isinstance(what, KINDS_OF_THINGS) and what is not FAULT and all(what is not each for each in found):
        found.append(what)
        for name in fields_of(what):
            things_in(getattr(what, name), found)
    return found


def fields_of(thing: object) -> list[str]:
    return [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]


def garble(fn: Function, rng: random.Random) -> None:
    """Something else in one field, or at one place of what a field holds."""
    things = things_in(fn, [])
    thing = rng.choice(things)
    name = rng.choice(fields_of(thing))
    held = getattr(thing, name)
    other = rng.choice([*LITTLE, *rng.choices(things, k=3), [rng.choice(things)], (("table", rng.choice(LITTLE)),),
                        (("fault", rng.choice(LITTLE)),), ((rng.choice(LITTLE), 1),)])
    if isinstance(held, list | tuple) and held and rng.random() < 0.6:
        made = list(held)
        match rng.randrange(3):
            case 0:
                made[rng.randrange(len(made))] = other
            case 1:
                made.insert(rng.randrange(len(made) + 1), other)
            case _:
                del made[rng.randrange(len(made))]
        other = type(held)(made)
    setattr(thing, name, other)


@pytest.mark.parametrize("seed", range(60))
def test_a_garbled_function_passes_or_is_refused(seed):
    rng = random.Random(seed)
    refused = 0
    for _ in range(40):
        fn = functions(seed)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            garble(fn, rng)
        try:
            validate(fn, canonical=rng.random() < 0.3, uniform=fn.params if rng.random() < 0.5 else ())
        except InternalError as error:
            refused += "invariant" in str(error)
    assert refused > 20


@pytest.mark.parametrize("function", [None, 3, "func", [], FunctionBuilder])
def test_what_is_no_function_is_refused(function):
    with pytest.raises(InternalError, match="invariant 11: expected Function, found"):
        validate(function)


def refused(fn: Function, message: str) -> None:
    with pytest.raises(InternalError) as caught:
        validate(fn)
    assert message in str(caught.value)


def test_the_place_of_an_exit_without_a_label():
    fn = sample()
    fn.body[-1].end = Exit(None)
    refused(fn, "invalid IR: invariant 11: body[4].end.label: expected Label, found NoneType")


@pytest.mark.parametrize("at", [1, 3])
def test_an_operation_is_no_result(at):
    fn = sample()
    fn.body[at].results = [Op("neg", [fn.params[1]], FLOAT)]
    refused(fn, f"invariant 11: body[{at}].results[0]: expected Param, found Op")


def test_an_operation_is_no_result_of_a_region():
    fn = sample()
    fn.body[1].then[1].results = [Op("neg", [fn.params[1]], FLOAT)]
    refused(fn, "invariant 11: body[1].then[1].results[0]: expected Param, found Op")


def test_a_node_inside_of_itself():
    fn = sample()
    branch = fn.body[1]
    branch.then[1] = branch
    refused(fn, "invariant 1: it is in two places: body[1].then[1]")


def test_attributes_are_names_with_values():
    fn = sample()
    fn.body[0].ops[0].attrs = (("table",),)
    refused(fn, "invariant 11: body[0].ops[0].attrs[0]: expected a name and a value, found tuple")
