"""Arms of random functions: where an arm is skipped its results are zero, which makes no difference."""

import operator
import random

import pytest

from pyflat.ir.nodes import Const, Op, Param, Value
from pyflat.ir.parse import parse_function
from pyflat.ir.types import BOOL, FLOAT
from pyflat.ir.uses import results_of
from pyflat.targets.numba.arms import Arm, Least, arms_of

PYTHON = {
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "not": operator.not_,
    "lt": operator.lt, "eq": operator.eq, "add": operator.add, "mul": lambda a, b: a * b % 7.0,
    "select": lambda c, a, b: a if c else b,
}
KINDS = {"and": "bbb", "or": "bbb", "not": "bb", "lt": "ffb", "eq": "ffb", "add": "fff", "mul": "fff", "select": "bfff"}
NUMBERS = (0.0, 1.0, 2.0, 3.0)


def random_ops(seed: int, size: int) -> tuple[list[Param], list[Op]]:
    choose = random.Random(seed)
    params = [Param(FLOAT, f"x{k}") for k in range(3)] + [Param(BOOL, f"p{k}") for k in range(3)]
    pool: dict[str, list[Value]] = {"f": [*params[:3], Const(FLOAT, 1.0)], "b": list(params[3:])}
    ops: list[Op] = []
    names = ["and", "or", "not", "lt", "eq", "add", "mul", "mul", "select", "select", "and", "or"]
    while len(ops) < size:
        name = choose.choice(names)
        *kinds, result = KINDS[name]
        args = [pool[kind][-1 - min(int(choose.expovariate(0.25)), len(pool[kind]) - 1)] for kind in kinds]
        op = Op(name, args, BOOL if result == "b" else FLOAT)
        pool[result].append(op)
        ops.append(op)
    return params, ops


def read(value: Value, known: dict[Value, object]) -> object:
    return value.value if isinstance(value, Const) else known[value]


def run(steps: list[Op | Arm], known: dict[Value, object]) -> int:
    """Compute one lane; gives how many arms were skipped."""
    skipped = 0
    for step in steps:
        if isinstance(step, Op):
            known[step] = PYTHON[step.opcode](*[read(arg, known) for arg in step.args])
        elif all(read(value, known) == wanted for value, wanted in step.conditions):
            inside = dict(known)
            skipped += run(step.items, inside)
            known.update({result: inside[result] for result in step.results})
        else:
            skipped += 1
            known.update({result: read(step.otherwise[result], known) if result in step.otherwise else
                          False if result.kind is BOOL else 0.0 for result in step.results})
    return skipped


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("gather", [False, True])
def test_arms_of_random_functions(gather, shared):
    """With `shared` the bools among the parameters are the same in all lanes, and any arm on them gets a branch."""
    skipped = 0
    for seed in range(400):
        params, ops = random_ops(seed, 12 + seed % 40)
        outside = [ops[-1], *[op for op in ops if op.kind is BOOL][-1:]]
        least = Least(4.0, params[3:], 0.0) if shared else Least(4.0)
        steps = arms_of(ops, outside, {op: 4.0 if op.opcode == "mul" else 1.0 for op in ops}, least, gather=gather)
        choose = random.Random(seed)
        for _ in range(12 if steps else 0):
            lane = {p: choose.choice(NUMBERS) if p.kind is FLOAT else choose.random() < 0.5 for p in params}
            plain, planned = dict(lane), dict(lane)
            run(list(ops), plain)
            skipped += run(steps, planned)
            assert [planned[op] for op in outside] == [plain[op] for op in outside], seed
    assert skipped > 1_000


FAULTS = """
func @f(%x: f8, %y: f8) -> (f8, b) fused @return {
  %p = lt %x, 0.0 : b
  %a = exp %y : f8
  %0 = gt %a, 1e308 : b
  %1 = and %p, %0 : b
  %b = sin %a : f8
  %2 = gt %b, 0.5 : b
  %3 = and %p, %2 : b
  %4 = or %1, %3 : b
  %r = select %p, %b, %x : f8
  yield %r, %4
}
"""


CHOSEN = """
func @f(%x: f8, %y: f8) -> (f8) flat @return {
  %p = lt %x, 0.0 : b
  %a = exp %y : f8
  %b = mul %x, %y : f8
  %c = select %p, %a, %b : f8
  %d = add %c, %y : f8
  yield %d
}
"""


def test_a_select_of_an_arms_value_is_made_inside():
    fn = parse_function(CHOSEN)
    each = {op: 100.0 if op.opcode == "exp" else 1.0 for op in fn.flat_block.ops}
    (other, test, arm, last) = arms_of(fn.flat_block.ops, results_of(fn), dict(each), Least(20.0), gather=True)
    assert (other.opcode, test.opcode, last.opcode) == ("mul", "lt", "add")
    assert [op.opcode for op in arm.items] == ["exp", "select"]
    assert arm.otherwise == {op: other for op in arm.results}
    outside = arms_of(fn.flat_block.ops, results_of(fn), dict(each), Least(20.0))
    assert "select" in [op.opcode for op in outside if isinstance(op, Op)]


def test_faults_of_an_arm_leave_it_as_one_mask():
    fn = parse_function(FAULTS.replace("fused", "flat"))
    ops = fn.flat_block.ops
    each = {op: 100.0 if op.opcode in ("exp", "sin") else 1.0 for op in ops}
    (test, arm) = arms_of(ops, results_of(fn), dict(each), Least(20.0), gather=True)
    assert test.opcode == "lt"
    assert {op.opcode for op in arm.results} == {"select", "or"}
    assert list(arm.otherwise.values()) == [fn.params[0]]
    outside = arms_of(ops, results_of(fn), dict(each), Least(20.0))
    assert len(outside) > 3, "without gathering the conditions stay outside"


SHARED = """
func @f(%p: b, %q: b, %x: f8, %y: f8) -> (f8, b) flat @return {
  %a = mul %y, 2.0 : f8
  %b = lt %a, %x : b
  %c = or %p, %b : b
  %d = add %x, %y : f8
  %e = mul %d, %d : f8
  %r = select %q, %e, %x : f8
  yield %r, %c
}
"""


def test_a_branch_on_what_all_lanes_share_needs_little():
    """Of an `or` with such an operand the other is needed only where that is false. Where no condition is shared, the
    same operations stay in line."""
    fn = parse_function(SHARED)
    p, q, *_ = fn.params
    ops, cost = fn.flat_block.ops, {op: 1.0 for op in fn.flat_block.ops}
    steps = arms_of(ops, results_of(fn), dict(cost), Least(20.0, {p, q}, 2.0), gather=True)
    arms = [(step.conditions, [op.opcode for op in step.items]) for step in steps if isinstance(step, Arm)]
    assert sorted(arms, key=str) == sorted([(((p, False),), ["mul", "lt"]), (((q, True),), ["add", "mul", "select"])], key=str)
    assert arms_of(ops, results_of(fn), dict(cost), Least(20.0, (), 2.0), gather=True) is None


def test_conditions_that_share_parts_are_looked_at_once():
    """Each step of the condition doubles the paths through it: two to the sixtieth of them never come to an end."""
    x, p, choices = Param(FLOAT, "x"), Param(BOOL, "p"), [Param(BOOL, f"p{k}") for k in range(120)]
    ops: list[Op] = []

    def made(opcode: str, *args: Value) -> Op:
        ops.append(Op(opcode, args, FLOAT if opcode in ("mul", "select") else BOOL))
        return ops[-1]

    condition: Value = p
    for a, b in zip(choices[::2], choices[1::2], strict=True):
        condition = made("or", made("and", condition, a), made("and", condition, b))
    arm = made("mul", x, x)
    result = made("select", condition, arm, x)
    steps = arms_of(ops, [result], {op: 100.0 if op is arm else 1.0 for op in ops}, Least(20.0), gather=True)
    assert [step.items for step in steps if isinstance(step, Arm)] == [[arm, result]]


@pytest.fixture
def hashed(monkeypatch):
    """Sets of values come in another order for each seed, as they do in each process."""

    def shuffled(seed: int) -> None:
        numbers, known = random.Random(seed), dict[int, int]()
        monkeypatch.setattr(Value, "__hash__", lambda value: known.setdefault(id(value), numbers.getrandbits(60)))

    return shuffled


def told(steps: list[Op | Arm], names: dict[Value, str]) -> list[object]:
    """A plan with values by their places, and those that it has made by what they are."""

    def name(value: Value) -> str:
        if value not in names and isinstance(value, Op):
            names[value] = f"{value.opcode}({', '.join(map(name, value.args))})"
        return names.get(value, "a literal")

    return [name(step) if isinstance(step, Op) else
            ([(name(value), wanted) for value, wanted in step.conditions], told(step.items, names)) for step in steps]


def test_a_plan_is_the_same_in_each_process(hashed):
    """Machine code is kept on disk by its text."""

    def plan(seed: int, order: int) -> object:
        hashed(order)
        params, ops = random_ops(seed, 40)
        names = {value: f"%{place}" for place, value in enumerate([*params, *ops])}
        planned = arms_of(ops, ops[-3:], {op: 40.0 if op.opcode == "mul" else 1.0 for op in ops}, Least(30.0), gather=True)
        return planned and told(planned, names)

    assert [seed for seed in range(300) if plan(seed, 1) != plan(seed, 2)] == []
