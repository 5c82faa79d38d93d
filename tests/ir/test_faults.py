"""The fault rules never miss: wherever Python raises or leaves int64, the flat form's lane is suspect.

Every primitive runs over the product of edge values, with operands as parameters and, for rules that know
literals, with each operand as a literal. Where the lane is not suspect the flat value has Python's bits. How
conservative a rule is (suspect lanes in which Python returns) is counted, and limited to what is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest

from pyflat.ir.build import Builder, const
from pyflat.ir.faults import fault_condition
from pyflat.ir.interp import run
from pyflat.ir.nodes import Block, Fault, Function, Label, Param, Value, Yield
from pyflat.ir.ops import PRIMITIVES, Primitive
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, Kind, kind_of
from tests.passes.flat_programs import same_bits

INTS = (
    *range(-3, 4), 7, -8, 62, 63, 64, 65, 308, -308, -63, -64, 1000, 2**31, -(2**31), 3037000499, 3037000500, -3037000500, 2**32,
    2**53 - 1, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 2**61, 2**62 - 1, 2**62, -(2**62), -(2**62) - 1,
    INT_MAX // 3, INT_MAX // 3 + 1, INT_MIN // 3, INT_MAX - 1, INT_MAX, INT_MIN + 1, INT_MIN,
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1 / 3, -7.25, 170.0, 171.7, 709.7, 709.9,
    710.5, -745.0, -746.0, 1023.9, 1024.0, 1e16, 2.0**52 + 0.5, 2.0**53, 9.2e18, 2.0**63, -(2.0**63), 2.0**63 - 1024.0,
    1e19, 1e154, 1e155, 1e308, -1e308, 1.7976931348623157e308, 5e-324, -5e-324, 2.2250738585072014e-308,
    math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), math.nextafter(-1.0, 0.0), math.inf, -math.inf, math.nan,
)  # fmt: skip
EDGES: dict[Kind, tuple[Any, ...]] = {BOOL: (False, True), INT: INTS, FLOAT: FLOATS}
TABLE = (1.5, -0.0, math.nan)


def attrs_of(name: str, kind: Kind) -> dict[str, Any]:
    return {"table": {BOOL: (True, False, True), INT: (5, -1, 7), FLOAT: TABLE}[kind]} if name == "gather" else {}


def one_operation(name: str, operands: list[Value], kind: Kind) -> Function:
    """A flat function of the parameters among `operands`: the operation and its fault."""
    build = Builder()
    op = build.op(name, *operands, kind=kind, **attrs_of(name, kind))
    cond = fault_condition(build, op)
    if cond is not None:
        build.fault(cond, Fault("any"))
    block = Block(build.block.ops, Yield([op]))
    return Function(name, [v for v in operands if isinstance(v, Param)], [block], Label("return"), [kind], "flat")


def strict(row: Primitive, operands: tuple[Any, ...], kind: Kind) -> Any:
    """What Python gives, None where it raises or no lane holds the value."""
    try:
        value = row.python(*operands, **attrs_of(row.name, kind))
    except (ArithmeticError, ValueError, IndexError):
        return None
    return value if kind_of(value) is kind else None


CASES = [
    pytest.param(row, kinds, kind, id=f"{row.name}-{'-'.join(map(str, kinds))}-{kind}")
    for row in PRIMITIVES.values()
    if row.name not in ("fault", "ufunc")  # a ufunc of another package needs one
    for kinds, kind in row.signatures
    if len(kinds) <= 3  # products of edge values beyond that are too many
]
EXACT_RULES = {
    "add", "sub", "floordiv", "mod", "truediv", "neg", "abs", "shr", "exact_float", "gather", "fmod", "remainder",
    "library_hypot", "pow", "ldexp", "round_digits", "exp", "expm1", "exp2", "sinh", "cosh", "gamma", "lgamma",
    *(row.name for row in PRIMITIVES.values() if isinstance(row.faults, tuple)),
}  # fmt: skip
"""Those of domains are exact."""


def compare(fn: Function, row: Primitive, kind: Kind, lanes: Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> int:
    """Check each lane (arguments of `fn`, all operands); the number of needlessly suspect lanes."""
    needless = 0
    for args, operands in lanes:
        wanted = strict(row, operands, kind)
        got = run(fn, args)
        if wanted is None:
            assert got.suspect, f"{row.name}{operands} faults and is not suspect"
        elif got.suspect:
            needless += 1
        else:
            assert same_bits(got.values[0], wanted), f"{row.name}{operands} is {wanted}, not {got.values[0]}"
    return needless


@pytest.mark.parametrize(("row", "kinds", "kind"), CASES)
def test_every_fault_is_suspect_and_other_lanes_are_python(row, kinds, kind):
    fn = one_operation(row.name, [Param(k) for k in kinds], kind)
    lanes = list(itertools.product(*(EDGES[k] for k in kinds)))
    needless = compare(fn, row, kind, ((lane, lane) for lane in lanes))
    if row.name in EXACT_RULES or not row.faults:
        assert needless == 0


# How many of the edge lanes a rule may flag although Python returns: near the limits of int64, and a nan that gives
# its sign away.
NEEDLESS = {
    "mul": 0.02, "ipow": 0.005, "shl": 0.012, "to_int": 0.022, "floor_int": 0.022, "ceil_int": 0.022,
    "round_int": 0.022, "copysign": 0.03,
}  # fmt: skip


def test_every_rule_is_exact_or_its_needless_lanes_are_known():
    faulting = {row.name for row in PRIMITIVES.values() if row.faults}
    assert faulting == EXACT_RULES | set(NEEDLESS)


@pytest.mark.parametrize("name", NEEDLESS)
def test_conservative_rules_flag_few_lanes_needlessly(name):
    row = PRIMITIVES[name]
    kinds, kind = next((kinds, kind) for kinds, kind in row.signatures if kinds[0] is not BOOL)
    fn = one_operation(name, [Param(k) for k in kinds], kind)
    lanes = list(itertools.product(*(EDGES[k] for k in kinds)))
    assert compare(fn, row, kind, ((lane, lane) for lane in lanes)) <= NEEDLESS[name] * len(lanes)


BINARY_INT = ("add", "sub", "mul", "floordiv", "mod", "shl", "shr", "ipow")
BINARY_FLOAT = ("truediv", "floordiv", "mod", "pow", "fmod", "remainder", "add")


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(("name", "kind"), [*((n, INT) for n in BINARY_INT), *((n, FLOAT) for n in BINARY_FLOAT)])
def test_rules_with_a_literal_operand_never_miss(name, kind, position):
    row = PRIMITIVES[name]
    for literal in EDGES[kind]:
        operands: list[Value] = [Param(kind), Param(kind)]
        operands[position] = const(literal)
        fn = one_operation(name, operands, kind)
        pairs = [(v, (literal, v) if position == 0 else (v, literal)) for v in EDGES[kind]]
        needless = compare(fn, row, kind, (((v,), pair) for v, pair in pairs))
        if kind is INT and name in ("add", "sub", "mul"):
            assert needless == 0


@pytest.mark.parametrize("literal", [0, 1, 2, 31, 62, 63])
def test_a_shift_by_a_literal_count_is_exact(literal):
    fn = one_operation("shl", [Param(INT), const(literal)], INT)
    assert compare(fn, PRIMITIVES["shl"], INT, (((v,), (v, literal)) for v in INTS)) == 0


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("add", [Param(INT), const(0)]),
        ("add", [const(0), Param(INT)]),
        ("sub", [Param(INT), const(0)]),
        ("mul", [Param(INT), const(0)]),
        ("mul", [const(1), Param(INT)]),
        ("shl", [Param(INT), const(0)]),
        ("shr", [Param(INT), const(3)]),
        ("mod", [Param(INT), const(7)]),
        ("floordiv", [Param(INT), const(7)]),
        ("truediv", [Param(FLOAT), const(2.0)]),
        ("floordiv", [Param(FLOAT), const(-0.5)]),
        ("add", [Param(FLOAT), Param(FLOAT)]),
        ("mul", [Param(FLOAT), Param(FLOAT)]),
        ("to_int", [Param(BOOL)]),
        ("ipow", [Param(INT), const(1)]),
    ],
)
def test_operands_that_cannot_fault_have_no_condition(name, operands):
    build = Builder()
    assert fault_condition(build, build.op(name, *operands)) is None


@pytest.mark.parametrize("name", ["add", "mul"])
def test_one_comparison_is_enough_with_a_literal(name):
    build = Builder()
    fault_condition(build, build.op(name, Param(INT), const(10)))
    assert len(build.block.ops) <= 4
    assert {op.opcode for op in build.block.ops} <= {name, "lt", "gt", "or"}
