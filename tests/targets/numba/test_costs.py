"""The cost model of the numba target: what is measured, where it is kept, and that plans follow it."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from pyflat.ir.nodes import Const, Op, Param
from pyflat.ir.ops import OPERATIONS, VECTOR, Accuracy
from pyflat.ir.parse import parse_function
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.uses import results_of
from pyflat.targets.numba import costs as numba_costs
from pyflat.targets.numba.arms import Arm, plan_arms
from pyflat.targets.numba.costs import MeasuredCosts, cost_of
from pyflat.targets.numba.library import has_library_vectors

ONE_ARM = """
func @f(%x: f8) -> (f8) flat @return {
  %p = lt %x, 0.0 : b
  %a = vec_log %x : f8
  %b = select %p, %a, %x : f8
  yield %b
}
"""


def arms(costs: MeasuredCosts) -> int:
    fn = parse_function(ONE_ARM)
    with numba_costs.assume(costs):
        planned = plan_arms(fn.flat_block.ops, results_of(fn), 8)
    return sum(isinstance(step, Arm) for step in planned or ())


def test_the_file_says_where_it_comes_from():
    found = numba_costs.measured()
    for key in ("processor", "vector bytes", "llvmlite", "date", "commit", "command"):
        assert found.provenance[key]
    assert found.guessed_wrong > found.branch > 0


def test_every_vector_function_is_measured_and_costs_more_than_an_add():
    found = numba_costs.measured()
    assert {f"{name} f8" for name in VECTOR} <= set(found.registers)
    assert min(found.registers[f"{name} f8"] for name in VECTOR) > 5 * found.registers["add f8"]
    called = {f"{name} f8" for name, row in OPERATIONS.items() if row.accuracy is Accuracy.LIBM}
    assert called <= {*found.lanes, *found.registers}


def test_functions_that_are_called_cost_as_many_calls_as_there_are_lanes():
    x = Param(FLOAT, "x")
    call, sine = Op("normal_quantile", [x, x, x], FLOAT), Op("vec_sin", [x], FLOAT)
    costs = MeasuredCosts(lanes={"normal_quantile f8": 10.0}, registers={"vec_sin f8": 20.0})
    assert (costs.of(call, 8), costs.of(call, 4)) == (80.0, 40.0)
    assert (costs.of(sine, 8), costs.of(sine, 4)) == (20.0, 20.0)


@pytest.mark.skipif(not has_library_vectors(), reason="needs the GNU C library and an FMA")
def test_functions_whose_bits_vector_code_has_cost_the_same_for_all_lanes():
    x = Param(FLOAT, "x")
    square, power = Op("pow", [x, Const(FLOAT, 2.0)], FLOAT), Op("pow", [x, Const(FLOAT, 2.5)], FLOAT)
    costs = MeasuredCosts(lanes={"pow f8": 40.0}, registers={"square f8": 12.0})
    assert (costs.of(square, 8), costs.of(square, 4)) == (12.0, 12.0)
    assert 50.0 < costs.of(power, 8) < 320.0
    assert costs.of(power, 1) == 40.0


def test_kinds_have_costs_of_their_own():
    costs = MeasuredCosts(registers={"mul i8": 3.0})
    x, i = Param(FLOAT, "x"), Param(INT, "i")
    assert costs.of(Op("mul", [i, i], INT), 8) == 3.0
    assert costs.of(Op("mul", [x, x], FLOAT), 8) == OPERATIONS["mul"].cost


def test_without_a_file_the_table_of_operations_estimates():
    costs = numba_costs.measured("no-such-file.json")
    assert costs == MeasuredCosts()
    op = Op("truediv", [Const(FLOAT, 1.0), Param(FLOAT, "x")], FLOAT)
    assert costs.of(op, 8) == OPERATIONS["truediv"].cost
    assert arms(costs) == 1


def test_plans_follow_the_costs():
    expensive = {"vec_log f8": 30.0}
    assert arms(MeasuredCosts(registers=expensive, branch=1.0, guessed_wrong=60.0)) == 1
    assert arms(MeasuredCosts(registers=expensive, branch=1.0, guessed_wrong=120.0)) == 0
    assert arms(MeasuredCosts(registers=expensive, branch=10.0, guessed_wrong=60.0)) == 0


def test_dividing_by_a_power_of_two_is_a_shift():
    n = Param(INT, "n")
    for opcode in ("floordiv", "mod"):
        assert cost_of(Op(opcode, [n, Const(INT, 8)], INT), 8) == 1.0
        assert cost_of(Op(opcode, [n, Const(INT, 6)], INT), 8) > 5.0
        assert cost_of(Op(opcode, [n, Const(INT, -8)], INT), 8) > 5.0
