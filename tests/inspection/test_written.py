"""IR that was written by hand as Python: the text computes what the interpreter does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from pyflat.errors import InternalError
from pyflat.inspection.written import python_text
from pyflat.ir.edit.module import inlined, parse_module
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Function
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.passes.pipelines import flatten_ir
from tests.ir.edit.test_module import MODULE
from tests.ir.structured_samples import NAMES
from tests.passes.structured_programs import EDGES, StructuredPrograms, bits
from tests.targets.text.text_support import DTYPES

HALVINGS = """
func @halvings(%x: f8, %n: i8) -> (i8) structured @return {
  loop @l again @next (%i: i8 = 0, %v: f8 = %x) {
    %low = lt %v, 1.0 : b
    if %low {
      exit @l %i
    } else {
      yield
    }
    %j = add %i, 1 : i8
    %w = mul %v, 0.5 : f8
    yield %j, %w
  } -> (%r: i8)
  %s = add %r, %n : i8
  yield %s
}
"""


def made(text: str, name: str) -> Any:
    """The function of a text."""
    space: dict[str, Any] = {}
    exec(compile(text, "<text>", "exec"), space)
    return space[name]


def expected(fn: Function, args: tuple) -> list | None:
    try:
        return list(map(bits, run(fn, args).values))
    except LaneFault:
        return None


def columns(fn: Function, lanes: list[tuple]) -> list[np.ndarray]:
    return [np.array([lane[at] for lane in lanes], DTYPES[param.kind]) for at, param in enumerate(fn.params)]


def on_arrays(text: str, fn: Function, name: str, lanes: list[tuple]) -> list[list]:
    with np.errstate(all="ignore"):
        found = made(text, name)(*columns(fn, lanes))
    results = found if isinstance(found, tuple) else (found,)
    whole = [np.broadcast_to(np.asarray(result, DTYPES[kind]), len(lanes))
             for result, kind in zip(results, fn.result_kinds, strict=True)]
    return [[bits(column[at].item()) for column in whole] for at in range(len(lanes))]


def renamed(fn: Function, rng: random.Random) -> Function:
    """The same with names that are none in Python, or taken there."""
    words = [*NAMES, "np", "lanes", "math", "abs", "select", "f", "x y", "1st"]
    copy = parse_function(format_function(fn))
    for param in copy.params:
        param.name = rng.choice(words)
    for item in copy.body:
        for value in getattr(item, "ops", getattr(item, "results", ())):
            value.name = rng.choice(words)
    return copy


@pytest.mark.parametrize("seed", range(120))
def test_the_text_on_arrays_is_the_interpreter_on_each_lane(seed):
    rng = random.Random(seed)
    fn = StructuredPrograms(seed, loops=seed % 2 == 1).function()
    if seed % 3 == 0:
        fn = renamed(fn, rng)
    shown = flatten_ir(fn) if seed % 5 == 0 else fn
    lanes = [tuple(rng.choice(EDGES[param.kind]) for param in fn.params) for _ in range(20)]
    found = on_arrays(python_text(shown), fn, "f", lanes)
    for lane, values in zip(lanes, found, strict=True):
        wanted = expected(fn, lane)
        assert wanted is None or values == wanted, lane


@pytest.mark.parametrize("target", ["numpy", "numba", "neutral"])
def test_a_loop(target):
    fn = parse_function(HALVINGS)
    text = python_text(fn, target)
    assert "while" in text and "def halvings(x, n):" in text
    if target == "numpy":
        assert made(text, "halvings")(np.array([10.0, 0.5]), np.array([1, 2])).tolist() == [5, 2]
    if target == "numba":
        assert made(text, "halvings")(10.0, 1) == 5
    assert format_function(fn) == format_function(parse_function(HALVINGS))


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6])
def test_the_scalar_text_is_the_interpreter(seed):
    """Of programs without float(bool), which numba does not compile."""
    rng = random.Random(seed)
    fn = StructuredPrograms(seed + 500, loops=True).function()
    twin = made(python_text(fn, "numba"), "f")
    for _ in range(20):
        lane = tuple(rng.choice(EDGES[param.kind]) for param in fn.params)
        wanted = expected(fn, lane)
        if wanted is None:
            continue
        found = twin(*[DTYPES[param.kind](value) for param, value in zip(fn.params, lane, strict=True)])
        results = found if isinstance(found, tuple) else (found,)
        assert [bits(DTYPES[kind](value).item())
                for value, kind in zip(results, fn.result_kinds, strict=True)] == wanted, lane


def test_an_entry_point_of_a_module():
    module = parse_module(MODULE)
    fn = inlined(module, "both")
    twin = made(python_text(fn), "both")
    value, which = twin(np.array([4.0, 16.0]), np.array([3.0, 1.0]))
    assert (value.tolist(), which.tolist()) == ([2.0, 1.0], [1, 2])


def test_hints_are_followed():
    straight = """
func @f(%x: f8) -> (f8) structured @return {
  loop @l again @n (%i: i8 = 0, %v: f8 = %x) HINT {
    %go = lt %i, 20 : b
    if %go {
      yield
    } else {
      exit @l %v
    }
    %j = add %i, 1 : i8
    %w = mul %v, 0.5 : f8
    yield %j, %w
  } -> (%r: f8)
  yield %r
}
"""
    kept, unrolled = (python_text(parse_function(straight.replace("HINT", hint))) for hint in ("", "hint(unroll)"))
    assert "while" in kept and "while" not in unrolled
    for text in (kept, unrolled):
        assert made(text, "f")(np.array([2.0**20, 3.0])).tolist() == [1.0, 3.0 * 0.5**20]


def test_memory_is_no_number():
    fn = parse_function("func @f(%m: mem) -> () structured @return {\n  yield\n}\n")
    with pytest.raises(InternalError, match="that are not numbers"):
        python_text(fn)
