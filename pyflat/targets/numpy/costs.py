"""What operations cost on the NumPy target: nanoseconds for a lane of a block, roughly, as measured on one machine.

Only orders of magnitude matter: an add of float64 lanes in the cache takes 0.13 ns, NumPy's exp 0.6, a call of the C
library 12, and picking lanes out of an array, or putting them into one, 0.3 each. Arms and the lanes of loops are
gathered where that is cheaper than what it saves.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyflat.functions.records import RECORDS, Nanoseconds, of_accuracy
from pyflat.ir.nodes import Const, Op
from pyflat.ir.ops import OPERATIONS, Accuracy
from pyflat.ir.types import BOOL
from pyflat.targets.numpy.library import has_vectors, literal_exponent

GATHER, SCATTER, FIND = 0.3, 0.35, 0.45
"""For a lane: one operand picked, one result put back; for a lane of the mask: finding those that are set."""

CALL = 350.0
"""For a call that gathers or scatters, however few lanes."""

VIEW = 80.0
"""For a view of a buffer."""

WORTH = 4.0
"""What an arm has to cost at least to be looked at: less is lost in the calls around it."""

_UNIT = 0.13
_LIBRARY, _TOLD, _POWER, _OWN, _PYTHON = map(Nanoseconds, (12.0, 4.0, 2.0, 5.0, 100.0))
"""The C library's functions are cheaper whose bits can be told (`library`), as they are after many
lanes, and powers with a small literal exponent."""
_OTHERS = {"floor": 0.15, "truediv": 0.26, "select": 0.5, "ufunc": 30.0, "gather": 0.5, "np_maximum": 0.17,
           "np_minimum": 0.17, "np_fmax": 0.17, "np_fmin": 0.17, "np_extreme": 0.4}
"""Measured, of operations that are no mathematical functions."""

_TIMES: dict[str, Nanoseconds] = {
    **{name: Nanoseconds(time) for name, time in _OTHERS.items()},
    **{record.name: record.time for record in RECORDS.values() if record.time is not None},
}


def cost_of(op: Op) -> Nanoseconds:
    """Nanoseconds for a lane."""
    known = _TIMES.get(op.opcode)
    if known is not None:
        return known
    row = OPERATIONS[op.opcode]
    match row.accuracy:
        case Accuracy.LIBM | Accuracy.CALL if has_vectors(op.opcode):
            exponent = op.args[-1].value if isinstance(op.args[-1], Const) else None
            is_power = exponent is not None and literal_exponent(op.opcode, float(exponent)) is not None
            return _POWER if is_power else _TOLD
        case Accuracy.LIBM:
            return _LIBRARY
        case Accuracy.CALL:
            return _PYTHON
        case Accuracy.NUMPY:
            return _OWN
    boolean = op.kind is BOOL and all(arg.kind is BOOL for arg in op.args)
    return Nanoseconds(_UNIT / 5 if boolean else _UNIT * row.cost)


NUMPY_MATH: Mapping[str, str] = {
    record.name: f"np_{record.numpy}" for record in of_accuracy(Accuracy.LIBM) if record.numpy}
"""NumPy's own ufuncs, within 4 ulp of the truth, which may stand for the C library's functions: SIMD code where NumPy
has it."""
