"""Fast elementary functions on float32 lanes: nothing is to be compared with CPython, so that all of them are taken.

Before:                              After:
    %a = exp %x : f4                     %a = vec_exp %x : f4
    %b = pow %a, 2.0 : f4                %b = mul %a, %a : f4

Powers with a small literal exponent become products, a quotient or a root where that is within the error of the fast
function and has its special values. Any form of a function of float32.
"""

from __future__ import annotations

from pyflat.ir.edit.copying import Copier
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Const, Function, Op, Value
from pyflat.ir.types import BOOL, FLOAT
from pyflat.passes.accuracy.fast_functions import FastFunctions

_ONE, _ZERO = Const(FLOAT, 1.0), Const(FLOAT, 0.0)
_INFINITY, _LOWEST = Const(FLOAT, float("inf")), Const(FLOAT, float("-inf"))


def choose_float32_math(fn: Function, math: FastFunctions) -> Function:
    """`fn` with the functions of `math`; `fn` itself where it calls none of them."""
    if not any(op.opcode in math for op in all_ops(fn.body)):
        return fn
    copier = _Choosing(math)
    params = copier.params(fn.params)
    label = copier.label(fn.label)
    return Function(fn.name, params, copier.items(fn.body), label, fn.result_kinds, fn.form, fn.floats)


class _Choosing(Copier):
    """Copies with the functions exchanged."""

    def __init__(self, math: FastFunctions):
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
        made = made or [Op(fast.opcode, args, FLOAT)]
        last = made[-1]
        last.name, last.origin, last.statement = op.name, op.origin, op.statement
        for before in made[:-1]:
            before.origin = op.origin
        self.values[op] = last
        return made


def _power(base: Value, exponent: Value) -> list[Op]:
    """A power with a small literal exponent, [] for others."""
    known = exponent.value if isinstance(exponent, Const) and not isinstance(base, Const) else None
    square = Op("mul", (base, base), FLOAT)
    match known:
        case 2.0:
            return [square]
        case 3.0:
            return [square, Op("mul", (square, base), FLOAT)]
        case 4.0:
            return [square, Op("mul", (square, square), FLOAT)]
        case -1.0:
            return [Op("truediv", (_ONE, base), FLOAT)]
        case 0.5:  # of -0.0 it is 0.0, and of minus infinity infinity
            root, lowest = Op("sqrt", (base,), FLOAT), Op("eq", (base, _LOWEST), BOOL)
            positive = Op("add", (root, _ZERO), FLOAT)
            return [root, positive, lowest, Op("select", (lowest, _INFINITY, positive), FLOAT)]
    return []
