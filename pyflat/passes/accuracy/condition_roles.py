"""What the conditions of a flat or masked function are for: to lead to faults, or to choose between their operands."""

from __future__ import annotations

from pyflat.ir.lists import uses
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.types import BOOL, FLOAT
from pyflat.passes.rules.logic import same

_ORDERINGS = ("lt", "le", "gt", "ge")


class Roles:
    """`continuous` are the comparisons that are conditions of minima, maxima and absolute values, and nothing else:

        select(a < b, a, b)      select(a < b, b, a)      select(x < 0.0, -x, x)      select(x < 0.0, x, -x)

    Either operand is right where the comparison is nearly an equality.
    """

    def __init__(self, fn: Function):
        self._users: dict[Value, list[Op]] = {}
        ops = list(all_ops(fn.body))
        for op in ops:
            for arg in op.args:
                self._users.setdefault(arg, []).append(op)
        counted: dict[Value, int] = {}
        for value in uses(fn.body):
            counted[value] = counted.get(value, 0) + 1
        self._escaping = {value for value, count in counted.items() if count > self._operand_count(value)}
        self._faults: dict[Op, frozenset[bool] | None] = {}
        for op in reversed(ops):
            if op.kind is BOOL:
                self._faults[op] = self._toward_faults(op)
        self.continuous = {op for op in ops if self._is_continuous(op)}

    def _operand_count(self, value: Value) -> int:
        return sum(arg is value for user in dict.fromkeys(self._users.get(value, ())) for arg in user.args)

    def only_faults(self, op: Op) -> bool | None:
        """True where `op` only makes faults, False where only its negation does, None for everything else."""
        signs = self._faults.get(op)
        return next(iter(signs)) if signs is not None and len(signs) == 1 else None

    def _toward_faults(self, op: Op) -> frozenset[bool] | None:
        """The signs with which a condition is part of fault conditions; None where it is used otherwise."""
        if op in self._escaping:
            return None
        signs: set[bool] = set()
        for user in self._users.get(op, ()):
            if user.opcode == "fault":
                signs.add(True)
                continue
            above = self._faults.get(user) if user.opcode in ("and", "or", "not") else None
            if above is None:
                return None
            signs |= {not sign for sign in above} if user.opcode == "not" else above
        return frozenset(signs)

    def _is_continuous(self, op: Op) -> bool:
        if op.opcode not in _ORDERINGS or op.args[0].kind is not FLOAT or op in self._escaping:
            return False
        users = self._users.get(op, ())
        return bool(users) and all(_chooses(user, op) for user in users)


def _chooses(user: Op, test: Op) -> bool:
    """`user` is a select by `test` between its operands, or between one of them and its negative where the other is
    zero."""
    if user.opcode != "select" or user.args[0] is not test or test in user.args[1:]:
        return False
    a, b = user.args[1:]
    x, y = test.args
    if (same(a, x) and same(b, y)) or (same(a, y) and same(b, x)):
        return True
    number, zero = (x, y) if isinstance(y, Const) else (y, x)
    return isinstance(zero, Const) and zero.value == 0 and (
        (same(a, number) and _negates(b, number)) or (same(b, number) and _negates(a, number)))


def _negates(a: Value, b: Value) -> bool:
    return isinstance(a, Op) and a.opcode == "neg" and same(a.args[0], b)
