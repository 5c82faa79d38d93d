"""The records of mathematical functions against every table that is made of them: nothing is left out without a word, and
nothing is named that does not exist."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator, Mapping
from types import ModuleType

import numba
import numpy as np
import pytest

import pyflat
from pyflat.errors import FlattenError
from pyflat.frontend import builtins
from pyflat.functions import lanes, libm, vmath
from pyflat.functions.records import ABSENT, MADE, RECORDS, TARGETS, Accuracy, MathFunction
from pyflat.ir.faults import RULES
from pyflat.ir.formats import F4
from pyflat.ir.memory import MEMORY_OPERATIONS
from pyflat.ir.nodes import Const, Op, Param
from pyflat.ir.ops import CALLS, CONVERGENT, FUSED, OPERATIONS, PRIMITIVES, VECTOR
from pyflat.ir.semantics import meaning
from pyflat.passes.rules.expansions import EXPANSIONS
from pyflat.targets import polars, sql, xp
from pyflat.targets.glsl import GLSL
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba.ops import EMITTERS, OPERATORS
from pyflat.targets.numpy import spelling as numpy_spelling
from pyflat.targets.numpy.blocks import NUMPY_MATH
from pyflat.targets.sql import ENGINES
from pyflat.targets.text.expr import Word, fill, flat
from pyflat.targets.text.spelling import DIALECTS, spell
from pyflat.targets.wgsl.table import WGSL

EACH = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
COLUMNS = {"xp": xp.ENGINE, "polars": polars.ENGINE, **ENGINES}
SHADERS = importlib.import_module("pyflat.targets.shaders")
LANGUAGES = {"wgsl": WGSL, "glsl": GLSL}


def tables(target: str) -> tuple[set[str], set[str]]:
    """The operations that a target spells, and those that it makes of others."""
    if target in COLUMNS:
        engine = COLUMNS[target]
        return named(engine.spellings), named({**EXPANSIONS, **engine.rules}) - named(engine.stay)
    return named(LANGUAGES[target].spellings), {*EXPANSIONS, *SHADERS.RULES} - LANGUAGES[target].stay


def named(table: Mapping[str, object]) -> set[str]:
    return {key.partition(":")[0] for key in table}


def state(record: MathFunction, target: str) -> str:
    """What the target's tables have: "spelled", "made" or "absent"."""
    spelled, made = tables(target)
    if record.name in spelled:
        return "spelled"
    if record.name not in made:
        return "absent"
    return "absent" if record.like and state(RECORDS[record.like], target) == "absent" else "made"


@pytest.mark.parametrize("target", TARGETS)
def test_tables_of_targets_are_what_the_records_say(target, capsys):
    wrong, missing = [], []
    for record in RECORDS.values():
        text = record.on(target)
        said = {MADE: "made", ABSENT: "absent"}.get(text, "spelled")
        found = state(record, target)
        if (said == "absent") != (found == "absent") or said == "spelled" and found != "spelled":
            wrong.append(f"{record.name}: {said} in the record, {found} in the table")
        if said == "absent":
            missing.append(record.title)
    with capsys.disabled():
        print(f"\n  {target}: {len(missing)} of {len(RECORDS)} functions missing: {', '.join(missing)}")
    assert not wrong


@pytest.mark.parametrize("target", ["numpy", "neutral", "numba"])
@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name not in ("fault", "ufunc")])
def test_every_operation_has_a_text_whose_names_exist(target, name):
    (kinds, result), *_ = PRIMITIVES[name].signatures
    attrs = (("table", (result is not None,) * 2),) if name == "gather" else ()
    op = Op(name, [Const(kind, None) for kind in kinds], result, attrs=attrs)
    if target == "numba" and name in RECORDS and RECORDS[name].numba_name == ABSENT:
        with pytest.raises(FlattenError, match="is not available on scalar Python for numba"):
            spell(op, DIALECTS[target], single_use=set())
        return
    text = repr(spell(op, DIALECTS[target], single_use=set()))
    for module, attribute in names_in(text):
        assert hasattr(module, attribute), text


def names_in(text: str) -> Iterator[tuple[ModuleType, str]]:
    """Each `module.name` in a text."""
    modules = {"np": np, "math": math, "lanes": lanes, "statistics": importlib.import_module("statistics")}
    for module, attribute in re.findall(r"\b(np|math|lanes|statistics)\.([a-zA-Z_0-9]+)", text):
        yield modules[module], attribute


@EACH
def test_numba_compiles_the_text_that_is_for_it(record):
    ((kinds, result),) = PRIMITIVES[record.name].signatures
    params = [Param(kind, "x") for kind in kinds]
    if record.numba_name == ABSENT:
        return
    text = flat(fill(spell(Op(record.name, params, result), DIALECTS["numba"], single_use=set()),
                     lambda hole: Word("abc"[params.index(hole.value)])))
    space = {"np": np, "math": math}
    exec(f"def f({', '.join('abc'[:len(params)])}): return {text}", space)
    number = {"d": numba.types.float64, "l": numba.types.int64}
    assert numba.njit([tuple(number[letter] for letter in record.operands)])(space["f"]).signatures


@EACH
def test_the_engines_have_every_function(record):
    ((kinds, result),) = PRIMITIVES[record.name].signatures
    op = Op(record.name, [Const(kind, None) for kind in kinds], result)
    assert numpy_spelling.spelling(op)
    assert record.name in EMITTERS or record.name in OPERATORS


def test_the_numba_engine_has_every_operation():
    special = {"fault", *CALLS, *CONVERGENT, *FUSED, *MEMORY_OPERATIONS}
    assert {name for name in OPERATIONS if name not in EMITTERS and name not in OPERATORS} <= special


@EACH
def test_what_a_record_says_is_known_to_those_that_read_it(record):
    assert isinstance(record.faults, tuple) or not record.faults or record.faults in RULES
    assert not record.float32_faults or record.float32_faults in RULES
    assert record.like in ("", *RECORDS)
    assert record.elsewhere is not None or record.like
    if record.harmless is not None:
        assert len(record.harmless) == len(record.operands)
    if record.vector is not None:
        assert record.name in vmath.TABLE
    if record.accuracy is Accuracy.LIBM:
        assert record.name in libm.NAMES
    if record.numpy:
        assert hasattr(np, {"powers": "power"}.get(record.numpy, record.numpy))


@EACH
def test_ranges_hold(record):
    if record.range is None:
        return
    low, high = record.range
    function = libm.total(record.name)
    for args in libm.points(record.name):
        value = function(*args)
        assert math.isnan(value) or low <= value <= high


@EACH
def test_a_function_that_overflows_has_a_value_on_float32_lanes(record):
    """nan there would be wrong."""
    if record.faults in ("overflow", "nonfinite", "nonfinite_of_first", "pow", "beyond_largest"):
        args = [3e38, 60][:len(record.operands)] if record.operands == "dl" else [3e38] * len(record.operands)
        assert not math.isnan(meaning(record.name, F4)(*args))


def test_fast_mathematics_has_all_that_it_can_have_with_measured_costs():
    of_library = {name for name, record in RECORDS.items() if record.accuracy is Accuracy.LIBM}
    called = {name for name, record in RECORDS.items() if record.accuracy is Accuracy.CALL}
    assert set(numba_costs.VECTOR_MATH) == {name for name in of_library | called if RECORDS[name].vector}
    assert set(NUMPY_MATH) == {name for name in of_library if RECORDS[name].numpy}
    table = numba_costs.measured()
    assert {f"{name} f8" for name in VECTOR} - set(table.registers) <= {f"vec_{name} f8" for name in called}, "not measured"
    assert {f"{name} f8" for name in of_library} <= set(table.lanes)


def test_every_function_of_math_is_a_record_or_has_a_handler():
    functions = {name: getattr(math, name) for name in dir(math) if callable(getattr(math, name)) and not name.startswith("_")}
    left_out = {name for name, fn in functions.items() if fn not in builtins._HANDLERS}
    assert left_out == set()


def gamma(x: float) -> float:
    return math.gamma(x)


@pytest.mark.parametrize(("target", "title"), [("polars", "Polars"), ("duckdb", "DuckDB"), ("sqlite", "SQLite"), ("wgsl", "WGSL"), ("glsl", "GLSL")])
def test_a_refusal_names_the_function_and_the_target(target, title):
    ways = {"polars": polars.source, "duckdb": sql.expression, "sqlite": lambda fn: sql.expression(fn, dialect="sqlite")}
    with pytest.raises(FlattenError, match=rf"math\.gamma is not available on {title}") as refusal:
        ways.get(target, lambda fn: pyflat.twin(fn).show(target=target))(gamma)
    assert refusal.value.code == "flatten/target-operation"
