"""The pipeline: its order, its hook, its cost in selects, and random structured programs through every pass."""

from __future__ import annotations

import ast
import pkgutil
from pathlib import Path

import pytest

import pyflat.passes
from pyflat.analysis.kernels import Kernel
from pyflat.errors import FlattenError, InternalError
from pyflat.ir.build import const
from pyflat.ir.kernel_results import ConstantResult
from pyflat.ir.nodes import Block, Function, If, Item, Label, Op, Param, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT
from pyflat.ir.validate import validate
from pyflat.passes import lower_exits, pipelines
from pyflat.passes.pipelines import FLATTEN, Pipeline, Settled, flatten_ir, run
from pyflat.passes.record import STRAIGHT, TOTAL, Construct, Pass, constructs_in
from pyflat.targets.dataflow.engine import HOIST_LEAVING
from pyflat.targets.numba.costs import VECTOR_MATH
from tests.passes.structured_programs import StructuredPrograms, difference, lanes, strict
from tests.passes.test_lower_exits import unrolled

PROGRAMS = 300
LANES = 6


PARTS = frozenset({"finite", "no_signed_zeros", "reassoc", "reciprocal", "contract", "approx"})
EMPTY = Kernel(parse_function("func @f() -> () structured @return {\n  yield\n}\n"), {}, ConstantResult(None), (), {}, None)
ALL: dict[str, tuple[Pipeline, frozenset[Construct]]] = {
    "FLATTEN": (FLATTEN, frozenset()),
    "STRAIGHTEN": (pipelines.STRAIGHTEN, frozenset()),
    "written": (pipelines.written(), frozenset()),
    "FLOAT32": (pipelines.FLOAT32, frozenset()),
    "kernel": (pipelines.kernel(EMPTY), frozenset()),
    "FLOAT32_REFERENCE": (pipelines.FLOAT32_REFERENCE, frozenset()),
    "fast": (pipelines.fast(VECTOR_MATH, contract=True), frozenset()),
    "VALUES": (pipelines.VALUES, TOTAL),
    "ENDING": (pipelines.ENDING, TOTAL),
    "engine": (pipelines.engine(), TOTAL),
    "engine, limited": (pipelines.engine(100), TOTAL),
    "numbered": (pipelines.numbered(lambda fault: 1), TOTAL),
    "within": (pipelines.within({}), TOTAL),
    "dataflow": (pipelines.dataflow(HOIST_LEAVING), frozenset()),
    "shader": (pipelines.shader(100, loops=False), STRAIGHT),
    "shader, with loops": (pipelines.shader(100, loops=True), TOTAL),
    "fold": (pipelines.fold(lambda op: None), STRAIGHT),
    "optimize": (pipelines.optimize(lambda op: None, frozenset()), STRAIGHT),
    "optimize, fast": (pipelines.optimize(lambda op: None, PARTS), STRAIGHT),
    "fuse": (pipelines.fuse(lambda op: None, frozenset(), False, ()), STRAIGHT),
    "fuse, fast": (pipelines.fuse(lambda op: None, PARTS, "mad", ()), STRAIGHT),
}  # fmt: skip
"""Each pipeline, and what its input does not contain."""


def passes_of(pipeline: Pipeline) -> list[Pass]:
    """In order; what settles twice, as it may run again."""
    steps = ((each,) if isinstance(each, Pass) else each.passes * 2 for each in pipeline)
    return [each for step in steps for each in step]


def test_every_pipeline_is_looked_at() -> None:
    """Those that are data, and what gives one."""
    names = {name for name, hint in pipelines.__annotations__.items() if hint == "Pipeline"}
    names |= {name for name, value in vars(pipelines).items()
              if getattr(value, "__annotations__", {}).get("return") == "Pipeline"}  # fmt: skip
    assert names == {name.partition(",")[0] for name in ALL}


def test_every_pass_has_a_place() -> None:
    used = {each.name for pipeline, _ in ALL.values() for each in passes_of(pipeline)}
    names = {module.name for module in pkgutil.iter_modules(pyflat.passes.__path__)}
    assert names - {"rules", "pipelines", "record", "split_uniform", "outline"} <= used


@pytest.mark.parametrize("name", ALL)
def test_every_need_is_met_by_an_earlier_pass(name: str) -> None:
    pipeline, gone = ALL[name]
    for each in passes_of(pipeline):
        missing = each.needs_gone - gone
        assert not missing, f"{each.name} needs {missing} gone"
        gone |= each.removes


@pytest.mark.parametrize("name", ALL)
def test_a_pipeline_does_what_its_records_say(name: str) -> None:
    """`run` validates after each pass, and holds each to its record."""
    pipeline, gone = ALL[name]
    changed = 0
    for seed in range(8):
        fn = StructuredPrograms(seed, loops=gone != STRAIGHT).function()
        fn = run(fn, pipelines.STRAIGHTEN) if gone else fn
        assert not gone & constructs_in(fn)
        text = format_function(fn)
        changed += run(fn, pipeline) is not fn
        assert format_function(fn) == text
    assert changed


def test_what_occurs_in_a_function() -> None:
    found = [constructs_in(StructuredPrograms(seed, loops=True).function()) for seed in range(30)]
    assert frozenset().union(*found) == {Construct.EARLY_EXIT, Construct.BRANCH, Construct.LOOP}
    flat = [constructs_in(flatten_ir(StructuredPrograms(seed, loops=True).function())) for seed in range(30)]
    assert frozenset().union(*flat) == {Construct.LOOP, Construct.FAULT}


def same(fn: Function) -> Function:
    return fn


def widened(fn: Function) -> Function:
    return Function(fn.name, fn.params, [Block([], Yield([*fn.params, *fn.params]))], fn.label, fn.result_kinds, fn.form)


@pytest.mark.parametrize(("wrong", "message"), [
    (Pass(same, needs_gone=frozenset({Construct.BRANCH})), "same was given a function with If nodes"),
    (Pass(same, removes=frozenset({Construct.BRANCH})), "same left If nodes"),
    (Pass(widened), "invariant 3: it carries"),
])
def test_a_pass_is_held_to_its_record(wrong: Pass, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        run(nested(2), (wrong,))


def grown(fn: Function) -> Function:
    return Function(fn.name, fn.params, [Block([*fn.flat_block.ops], fn.flat_block.end)], fn.label, fn.result_kinds, fn.form)


def test_passes_that_do_not_settle() -> None:
    flat = flatten_ir(nested(2))
    assert run(flat, (Settled((Pass(same),)),)) is flat
    with pytest.raises(InternalError, match="grown over f do not settle"):
        run(flat, (Settled((Pass(same), Pass(grown))),))


def test_fast_math_is_chosen_before_anything_is_folded() -> None:
    """What folding knows of the ranges of the C library's functions need not hold for others."""
    names: list[str] = []
    flatten_ir(nested(2), lambda name, _: names.append(name), pipelines.fast({}, contract=True))
    assert names.index("convert_ifs") < names.index("contract_products") < names.index("fold_constants")
    assert pipelines.fast({}, contract=False) == ()


def test_only_pipelines_imports_passes() -> None:
    """No other module of the product orders them."""
    package = Path(pyflat.__file__).parent
    passes = {f"pyflat.passes.{p.stem}" for p in (package / "passes").glob("*.py")} - {
        "pyflat.passes.pipelines", "pyflat.passes.record", "pyflat.passes.__init__", "pyflat.passes.split_uniform", "pyflat.passes.outline"}
    for path in package.rglob("*.py"):
        if path.parent == package / "passes" and path.stem == "pipelines":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                assert not names & passes, f"{path}:{node.lineno}"


def test_the_hook_sees_each_pass_and_the_last_function() -> None:
    seen: list[tuple[str, Function]] = []
    flat = flatten_ir(unrolled(3), lambda name, fn: seen.append((name, fn)))
    assert [name for name, _ in seen] == [each.name for each in FLATTEN]
    assert seen[-1][1] is flat
    assert flat.form == "flat"


def test_the_environment_asks_for_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = parse_function("""
func @f(%x: f8) -> (f8) structured @return {
  yield %x
}
""")
    monkeypatch.delenv("PYFLAT_VALIDATE", raising=False)
    block = broken.body[0]
    assert isinstance(block, Block)
    block.end = Yield([const(1)])
    flatten_ir(broken)
    monkeypatch.setenv("PYFLAT_VALIDATE", "1")
    with pytest.raises(InternalError):
        flatten_ir(broken)


def nested(depth: int) -> Function:
    """An elif chain: an If in the else arm of an If, and so on."""
    x, label = Param(FLOAT, "x"), Label("return")
    items: list[Item] = [Block([], Yield([const(-1.0)]))]
    for i in range(depth):
        cond = Op("gt", [x, const(float(i))], BOOL)
        result = Param(FLOAT, "y")
        arms: tuple[list[Item], list[Item]] = [Block([], Yield([const(float(i))]))], items
        items = [Block([cond]), If(cond, *arms, [result]), Block([], Yield([result]))]
    return Function("f", [x], items, label, [FLOAT])


def test_an_elif_chain_of_hundreds_is_flattened() -> None:
    fn = nested(200)
    assert opcodes(flatten_ir(fn)).count("select") == 200


def test_nesting_beyond_the_recursion_limit_is_refused() -> None:
    with pytest.raises(FlattenError) as caught:
        flatten_ir(nested(20_000))
    assert caught.value.code == "flatten/too-large"


def opcodes(fn: Function) -> list[str]:
    return [op.opcode for op in fn.flat_block.ops]


def test_two_returns_are_one_select() -> None:
    fn = parse_function("""
func @f(%x: f8, %a: f8, %b: f8) -> (f8) structured @return {
  %0 = lt %x, 0.0 : b
  if %0 {
    exit @return %a
  } else {
    yield
  }
  exit @return %b
}
""")
    assert opcodes(flatten_ir(fn)) == ["lt", "select"]


@pytest.mark.parametrize("copies", [3, 40])
def test_a_break_is_one_select_per_copy_and_carried_value(copies: int) -> None:
    assert opcodes(flatten_ir(unrolled(copies))).count("select") == copies


@pytest.mark.parametrize("rungs", [0, 8])
def test_random_programs_mean_the_same_after_every_pass(rungs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_exits, "MAX_RUNGS", rungs)
    returned = 0
    for seed in range(PROGRAMS // 2 * bool(rungs), PROGRAMS - PROGRAMS // 2 * (not rungs)):
        fn = StructuredPrograms(seed).function()
        text = format_function(fn)
        stages: list[tuple[str, Function]] = []
        flatten_ir(fn, lambda name, after: stages.append((name, after)))
        for name, after in stages:
            validate(after)
        for args in lanes(fn, LANES, seed):
            expected = strict(fn, args)
            returned += expected is not None
            for name, after in stages:
                wrong = difference(fn, after, args)
                assert not wrong, f"seed {seed}, {name}: {wrong}\n{text}"
        assert format_function(fn) == text
    assert returned > PROGRAMS // 2 * LANES // 2
