"""Functions of a module that call each other: text, validation, interpretation, inlining."""

from __future__ import annotations

import random

import pytest

from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.edit.module import FunctionBuilder, Module, format_module, inlined, parse_module, validate_module
from pyflat.ir.formats import F4
from pyflat.ir.interp import LaneFault, LaneResult, TripLimit, run
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Function, Op, Value, walk
from pyflat.ir.parse import ParseError
from pyflat.ir.types import FLOAT, INT, PACK, Kind
from pyflat.passes.pipelines import flatten_ir
from tests.passes.structured_programs import EDGES, StructuredPrograms, bits

MODULE = """
entry @main, @both

func @root(%x: f8) -> (f8) structured @return {
  %low = lt %x, 0.0 : b
  if %low {
    exit @fault ValueError("negative")
  } else {
    yield
  }
  %r = sqrt %x : f8
  exit @return %r
}

func @both(%x: f8, %y: f8) -> (f8, i8) structured @return {
  %s = invoke %x {callee = "root"} : f8
  %c = lt %s, %y : b
  if %c {
    exit @return %s, 1
  } else {
    yield
  }
  %t = invoke %y {callee = "root"} : f8
  yield %t, 2
}

func @main(%a: f8, %n: i8) -> (f8) structured @return {
  loop @l again @a (%i: i8 = 0, %v: f8 = %a) {
    %go = lt %i, %n : b
    if %go {
      yield
    } else {
      exit @l %v
    }
    %p = invoke %v, 2.0 {callee = "both"} : pack
    %w = part %p {index = 0} : f8
    %m = part %p {index = 1} : i8
    %d = mod %n, %m : i8
    %f = to_float %d : f8
    %u = add %w, %f : f8
    %j = add %i, 1 : i8
    yield %j, %u
  } -> (%r: f8)
  yield %r
}
"""


def module() -> Module:
    made = parse_module(MODULE)
    validate_module(made)
    return made


def outcome(fn: Function, args: list, functions: dict | None = None) -> object:
    """Values, the name of what is raised, or None: it takes too long."""
    try:
        return list(map(bits, run(fn, args, functions=functions, max_trips=50).values))
    except LaneFault as fault:
        return fault.fault.type
    except TripLimit:
        return None


def test_a_module_is_printed_and_read_back():
    text = format_module(module())
    assert format_module(parse_module(text)) == text
    assert parse_module(text).entries == ("main", "both")


@pytest.mark.parametrize("head", ["entry main", "enter @main", "entry @main,", "entry @main @both", "entry", "x"])
def test_a_wrong_head_is_refused(head):
    with pytest.raises((ParseError, InternalError)):
        validate_module(parse_module(MODULE.replace("entry @main, @both", head)))


@pytest.mark.parametrize("x", [4.0, 0.5, -1.0, 100.0])
def test_calls_are_interpreted_and_inlined(x):
    functions = module().functions
    fn = inlined(module(), "main")
    assert not any(op.opcode in ("invoke", "part") for op in all_ops(fn.body))
    assert any(op.opcode == "invoke" for op in all_ops(functions["main"].body))
    for n in range(4):
        expected = outcome(functions["main"], [x, n], functions)
        assert expected == ("ValueError" if x < 0 and n else expected)
        assert outcome(fn, [x, n]) == expected
        flat = run(flatten_ir(fn), [x, n])
        assert flat.suspect == isinstance(expected, str)
        assert flat.suspect or list(map(bits, flat.values)) == expected


@pytest.mark.parametrize(("old", "new", "message"), [
    ("invoke %y {", "invoke %x, %y {", "root takes (f8)"),
    ("invoke %y {", "invoke 3 {", "root takes (f8)"),
    ("  yield %t, 2", '  %z = invoke %y {callee = "root"} : i8\n  yield %t, 2', "root gives (f8)"),
    ('invoke %y {callee = "root"}', 'invoke %y {callee = "none"}', "there is no function 'none'"),
    ('invoke %y {callee = "root"}', "invoke %y {callee = 3}", "there is no function 3"),
    ('invoke %y {callee = "root"}', 'invoke %y {name = "root"}', "invoke does not take the attrs (name)"),
    ("%m = part %p {index = 1} : i8", "%m = part %p {index = 0} : i8", "it is not one of the results of both"),
    ("%m = part %p {index = 1} : i8", "%m = part %p {index = 2} : i8", "it is not one of the results of both"),
    ("%m = part %p {index = 1} : i8", "%m = part %p {index = -1} : i8", "it is not one of the results of both"),
    ("entry @main", "entry @other", "there is no function other for an entry point"),
    ("%r = sqrt %x : f8", '%r = invoke %x, 1 {callee = "main"} : f8',
     "a function calls itself: root calls main calls both calls root"),
    ("%r = sqrt %x : f8", '%r = invoke %x {callee = "root"} : f8', "a function calls itself: root calls root"),
])
def test_what_does_not_fit_is_refused(old, new, message):
    assert old in MODULE
    with pytest.raises(InternalError) as caught:
        validate_module(parse_module(MODULE.replace(old, new)))
    assert message in str(caught.value)


def test_formats_of_floats_do_not_mix():
    made = parse_module(MODULE)
    made.functions["root"].floats = F4
    with pytest.raises(InternalError, match="invariant 12: .* of one format of floats"):
        validate_module(made)


def test_a_pass_is_given_no_calls():
    with pytest.raises(InternalError, match="found a call of both"):
        flatten_ir(module().functions["main"])


def test_a_builder_makes_calls():
    callee = module().functions["both"]
    f = FunctionBuilder("f", {"x": FLOAT}, [INT, FLOAT])
    value, which = f.invoke(callee, *f.params, const(9.0))
    f.give(which, value)
    made = Module([*module().functions.values(), f.finish()], ["f"])
    assert run(inlined(made, "f"), [16.0]).values == (1, 4.0)


def test_a_function_without_results_may_raise():
    text = MODULE.replace("%s = invoke %x", "invoke %x {callee = \"check\"}\n  %s = invoke %x") + """
func @check(%x: f8) -> () structured @return {
  %zero = eq %x, 0.0 : b
  if %zero {
    exit @fault KeyError("zero")
  } else {
    yield
  }
  yield
}
"""
    made = parse_module(text)
    fn = inlined(made, "both")
    assert outcome(fn, [0.0, 1.0]) == outcome(made.functions["both"], [0.0, 1.0], made.functions) == "KeyError"
    assert outcome(fn, [4.0, 3.0]) == outcome(made.functions["both"], [4.0, 3.0], made.functions)


def fitting(rng: random.Random, fn: Function, kind: Kind) -> Value:
    found = [param for param in fn.params if param.kind is kind]
    return rng.choice(found) if found and rng.random() < 0.8 else const(rng.choice(EDGES[kind]))


def put_calls(rng: random.Random, fn: Function, callees: list[Function]) -> None:
    """Some floats become results of calls: loops of these programs end by their ints."""
    made = 0
    for block in [item for item in walk(fn.body) if isinstance(item, Block)]:
        for op in list(block.ops):
            at = next((at for at, arg in enumerate(op.args) if arg.kind is FLOAT), None)
            if at is None or made == 2 or not callees or rng.random() < 0.7:
                continue
            callee = rng.choice(callees)
            kinds = callee.result_kinds
            call = Op("invoke", [fitting(rng, fn, param.kind) for param in callee.params],
                      PACK if len(kinds) > 1 else kinds[0], attrs=(("callee", callee.name),))
            results = [call] if len(kinds) == 1 else [
                Op("part", [call], kind, attrs=(("index", i),)) for i, kind in enumerate(kinds)]
            where = block.ops.index(op)
            block.ops[where:where] = [call, *(each for each in results if each is not call)]
            found = next((each for each in results if each.kind is FLOAT), None)
            if found is not None:
                op.args = (*op.args[:at], found, *op.args[at + 1:])
            made += 1


def random_module(rng: random.Random, seed: int) -> Module:
    """Three functions, the second and the third of which call those before them."""
    functions: list[Function] = []
    for at in range(3):
        fn = StructuredPrograms(seed * 3 + at, loops=at == 1).function()
        fn.name = f"f{at}"
        put_calls(rng, fn, functions)
        functions.append(fn)
    return Module(functions, ["f2"])


def test_random_modules_have_calls():
    made = [random_module(random.Random(seed), seed) for seed in range(60)]
    functions = [fn for module in made for fn in module.functions.values()]
    assert sum(op.opcode == "invoke" for fn in functions for op in all_ops(fn.body)) > 150


@pytest.mark.parametrize("seed", range(60))
def test_inlined_functions_do_what_their_module_does(seed):
    rng = random.Random(seed)
    made = parse_module(format_module(random_module(rng, seed)))
    fn = inlined(made, "f2")
    flat = flatten_ir(fn)
    for _ in range(12):
        args = [rng.choice(EDGES[param.kind]) for param in fn.params]
        expected = outcome(made.functions["f2"], args, made.functions)
        assert outcome(fn, args) == expected
        if expected is not None:
            result: LaneResult = run(flat, args, max_trips=50)
            assert result.suspect or list(map(bits, result.values)) == expected
