"""What operations and branches cost on the numba target, as measured: the file costs.json beside this module.

The unit is an add of one vector register of floats in straight-line code. `python -m benchmarks.costs --write` measures
on the machine that it runs on, in this engine, and writes the file with its provenance: processor, vector width,
versions, date. Other processors use the same file: what decides is whether an arm costs more than a branch that is
guessed wrong, and the ratio of the two differs less between processors than either of them. What the file lacks, or all
if there is no file, is estimated by the table of operations (`pyflat.ir.ops`, column cost).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

from pyflat.functions import ways
from pyflat.functions.records import Adds, of_accuracy
from pyflat.ir.nodes import Op, power_of_two
from pyflat.ir.ops import OPERATIONS, Accuracy
from pyflat.targets.numba.library import library_function

FILE = "costs.json"

NEVER = 1e9
"""Adds of a branch that no arm gets."""

_CALLED = frozenset({Accuracy.LIBM, Accuracy.CALL})


_BRANCH, _GUESSED_WRONG, _REGROUP = Adds(2.0), Adds(36.0), Adds(50.0)


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """In adds of a register: `registers` for each operation on one register of lanes, `lanes` for a function that is
    called lane by lane, for each lane; keys are "opcode kind", with the kind of the first operand. `branch` is a branch
    around an arm that is guessed right, `guessed_wrong` what a wrong guess costs on top; `regroup` what it costs to put
    lanes of a gang into a queue and their results back (`lane_regrouping`), for two operands and one result."""

    registers: dict[str, Adds] = field(default_factory=dict)
    lanes: dict[str, Adds] = field(default_factory=dict)
    branch: Adds = _BRANCH
    guessed_wrong: Adds = _GUESSED_WRONG
    regroup: Adds = _REGROUP
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def worth(self) -> Adds:
        """What an arm has to cost to get a branch. Of gangs of which nothing is known, as many take an arm all together
        as not at all as every second one at random; the branch costs B, it saves the arm's cost C where it is skipped,
        and W is lost at every second guess of the last. So 3B + W/2 is lost for 3C/2."""
        return Adds(self.guessed_wrong / 3 + 2 * self.branch)

    def of(self, op: Op, width: int) -> Adds:
        """The cost of an operation for a register of `width` lanes."""
        key = f"{op.opcode} {op.args[0].kind.value}" if op.args else op.opcode
        if op.opcode in _DIVISIONS and power_of_two(op.args[1]):
            return Adds(1.0)  # a shift, a mask
        library = library_function(op)
        if library is not None and width > 1:
            return self.registers.get(f"{library} f8", _LIBRARY[library])
        if library is not None or is_called(op):
            return Adds(width * self.lanes.get(key, OPERATIONS[op.opcode].cost))
        return self.registers.get(key, OPERATIONS[op.opcode].cost)


_LIBRARY = {name: Adds(cost) for name, cost in {
    "square": 40.0, "cube": 44.0, "fourth": 46.0, "fifth": 50.0, "root": 48.0,
    "reciprocal": 46.0, "reciprocal_of_square": 50.0, "exp": 30.0, "exp2": 30.0, "log": 52.0, "log2": 53.0,
    "log10": 70.0, "pow": 104.0, "sin": 74.0, "cos": 74.0, "tan": 110.0, "asin": 105.0, "acos": 110.0, "atan": 72.0,
    "atan2": 120.0, "expm1": 63.0, "log1p": 60.0, "sinh": 92.0, "cosh": 55.0, "tanh": 75.0, "asinh": 100.0,
    "acosh": 100.0, "atanh": 90.0, "cbrt": 40.0, "erf": 120.0, "erfc": 125.0, "gamma": 330.0, "lgamma": 330.0}.items()}
"""Functions with the C library's bits (`library`), in adds of a register of eight lanes, on a Zen 4."""

_DIVISIONS = frozenset({"floordiv", "mod"})


def is_called(op: Op) -> bool:
    """One call for each lane."""
    return OPERATIONS[op.opcode].accuracy in _CALLED and library_function(op) is None


@cache
def measured(file: str = FILE) -> MeasuredCosts:
    """What the file says; the estimates if there is none."""
    try:
        text = resources.files("pyflat.targets.numba").joinpath(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return MeasuredCosts()
    return MeasuredCosts(**json.loads(text))


_assumed: ContextVar[MeasuredCosts | None] = ContextVar("pyflat_costs", default=None)


@contextmanager
def assume(costs: MeasuredCosts) -> Iterator[None]:
    """Other costs for what is compiled in a block: for measurements, and tests of what depends on costs."""
    token = _assumed.set(costs)
    try:
        yield
    finally:
        _assumed.reset(token)


def costs() -> MeasuredCosts:
    """The costs in force. Where lanes are to wait for others, that costs nothing."""
    known = _forced(_assumed.get() or measured(), ways.ARMS.forced)
    return known if ways.REGROUP.forced in (None, "plain") else replace(known, regroup=Adds(0.0))


def _forced(known: MeasuredCosts, arms: str | None) -> MeasuredCosts:
    """With branches that cost nothing, or more than any arm."""
    if arms is None:
        return known
    branch = Adds(0.0 if arms == "branch" else NEVER)
    return replace(known, branch=branch, guessed_wrong=branch)


def cost_of(op: Op, width: int) -> Adds:
    """Adds of a register that an operation takes as long as, for a register of `width` lanes."""
    return costs().of(op, width)


VECTOR_MATH: Mapping[str, str] = {
    record.name: f"vec_{record.name}" for record in of_accuracy(Accuracy.LIBM, Accuracy.CALL) if record.vector}
"""The vector math of this target, within 2 ulp of the truth, by the functions that it may stand for."""
