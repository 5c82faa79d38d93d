"""The functions of `math="fast"`: a target's own elementary functions in the place of the C library's.

Before:                              After:
    %a = exp %x : f8                     %a = vec_exp %x : f8
    %b = pow %a, 2.0 : f8                %b = mul %a, %a : f8

Powers with a small literal exponent become products, a quotient or a root where that is within the error of the fast
function and has the special values of a power. Any form of a function; fault conditions that were there look at the new
values.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyflat.ir.edit.copying import Copier
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Const, Function, Op, Value
from pyflat.ir.types import BOOL, FLOAT
from pyflat.passes.record import Pass

_ONE, _ZERO = Const(FLOAT, 1.0), Const(FLOAT, 0.0)
_INFINITY, _LOWEST = Const(FLOAT, float("inf")), Const(FLOAT, float("-inf"))


def choose_fast_functions(fn: Function, math: Mapping[str, str]) -> Function:
    """`fn` with other operations for those of the C library, as `math` says; `fn` itself where it has none of them."""
    if not any(op.opcode in math for op in all_ops(fn.body)):
        return fn
    copier = _Choosing(math)
    params = copier.params(fn.params)
    label = copier.label(fn.label)
    return Function(fn.name, params, copier.items(fn.body), label, fn.result_kinds, fn.form, fn.floats)


PASS = Pass(choose_fast_functions)


class _Choosing(Copier):
    """Copies with the functions exchanged."""

    def __init__(self, math: Mapping[str, str]):
        super().__init__()
        self.math = math

    def block(self, block: Block) -> Block:
        ops = [made for op in block.ops for made in self._copies(op)]
        return Block(ops, self.end(block.end) if block.end is not None else None)

    def _copies(self, op: Op) -> list[Op]:
        """The operations that stand for one; the last has its value."""
        fast = self.math.get(op.opcode)
        if fast is None or all(isinstance(arg, Const) for arg in op.args):
            return [self.op(op)]
        args = self.read_all(op.args)
        made = _power(*args) if op.opcode == "pow" else []
        made = made or [Op(fast, args, FLOAT)]
        last = made[-1]
        last.name, last.origin, last.statement = op.name, op.origin, op.statement
        for before in made[:-1]:
            before.origin = op.origin
        self.values[op] = last
        return made


def _power(base: Value, exponent: Value) -> list[Op]:
    """A power with a small literal exponent, [] for others."""
    known = exponent.value if isinstance(exponent, Const) and not isinstance(base, Const) else None
    square, reciprocal = Op("mul", (base, base), FLOAT), Op("truediv", (_ONE, base), FLOAT)
    match known:
        case 2.0:
            return [square]
        case 3.0:
            return [square, Op("mul", (square, base), FLOAT)]
        case 4.0:
            return [square, Op("mul", (square, square), FLOAT)]
        case -1.0:
            return [reciprocal]
        case -2.0:
            return [reciprocal, Op("mul", (reciprocal, reciprocal), FLOAT)]
        case 0.5:  # of -0.0 it is 0.0, and of minus infinity infinity
            root, lowest = Op("sqrt", (base,), FLOAT), Op("eq", (base, _LOWEST), BOOL)
            positive = Op("add", (root, _ZERO), FLOAT)
            return [root, positive, lowest, Op("select", (lowest, _INFINITY, positive), FLOAT)]
    return []
