"""Float lanes of float32: a function of float64 becomes the same one of float32.

Before:                                       After:
    func @f(%x: f8) -> (f8) structured ... {      func @f(%x: f4) -> (f4) structured f4 ... {
      %0 = mul %x, 0.1 : f8                         %0 = mul %x, 0.10000000149011612 : f4
      yield %0                                      yield %0

Every float literal, those of tables too, is rounded to the nearest float32 (beyond the largest one: to infinity);
operations stay, and mean what `ir.semantics` says. Where the format of the original is part of what an operation
computes, it is refused.
"""

from __future__ import annotations

import functools

from pyflat.errors import refuse
from pyflat.ir.edit.copying import Copier
from pyflat.ir.formats import F4
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.types import FLOAT
from pyflat.passes.record import Pass

_REFUSED = {"np_dot": "np.dot", "call": "an opaque call"}


def demote_floats(fn: Function) -> Function:
    """`fn` with float lanes of float32; `fn` itself when it has them already. Raises FlattenError for what depends on
    the format itself."""
    if fn.floats is F4:
        return fn
    for op in all_ops(fn.body):
        if op.opcode in _REFUSED:
            what = f"{_REFUSED[op.opcode]} in float32"
            raise refuse("flatten/not-yet", what, op.span, help='dtype="float64"')
    return _Narrowing().function(fn, F4)


class _Narrowing(Copier):
    """Copies with every literal rounded."""

    def read(self, value: Value) -> Value:
        return _literal(value) if isinstance(value, Const) else super().read(value)

    def op(self, op: Op) -> Op:
        made = super().op(op)
        if op.opcode == "gather" and op.kind is FLOAT:
            made.attrs = tuple((name, tuple(map(F4.rounded, table))) for name, table in op.attrs)
        return made


def _literal(const: Const) -> Const:
    if const.kind is not FLOAT or const.value is None or F4.holds(const.value):
        return const
    return _rounded(const.value)


@functools.lru_cache(maxsize=1024)
def _rounded(number: float) -> Const:
    return Const(FLOAT, F4.rounded(number))


PASS = Pass(demote_floats)
