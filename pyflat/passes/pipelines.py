"""The order of the passes, for each way out, as data.

Ways A and M (flat twins, masked loops): structured IR -> one block of total operations and `fault` operations, or
where loops were kept the masked form: such blocks, and canonical loops of such blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from pyflat.ir.nodes import Function
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.validate import validate
from pyflat.passes import convert_ifs, fold_constants, lower_exits, prune_dead, share_subexpressions
from pyflat.passes.accuracy import choose_math
from pyflat.passes.accuracy.fast_functions import FastMath
from pyflat.passes.record import Pass

FLATTEN: tuple[Pass, ...] = (
    lower_exits.PASS,
    convert_ifs.PASS,
    prune_dead.PASS,  # what the unreached code and the unused flags were for: halves the work of the others
    fold_constants.PASS,
    share_subexpressions.PASS,
    fold_constants.PASS,  # equal conditions are one value now: 2 % fewer operations in random programs
    prune_dead.PASS,
)


def flatten_ir(fn: Function, on_pass: Callable[[str, Function], None] | None = None) -> Function:
    """The flat or masked form of a structured function; the results in its Yield, faults as operations.

    `on_pass(name, function)` is called after each pass. With PYFLAT_VALIDATE=1 in the environment the function
    is validated before the first pass and after each. Raises FlattenError where `fn` nests too
    deeply (`pyflat.ir.recursion`).
    """
    with room_to_recurse(fn):
        return _flatten(fn, on_pass)


def _flatten(fn: Function, on_pass: Callable[[str, Function], None] | None) -> Function:
    checked = os.environ.get("PYFLAT_VALIDATE") == "1"
    if checked:
        validate(fn)
    for each in FLATTEN:
        fn = each.run(fn)
        if checked:
            validate(fn)
        if on_pass is not None:
            on_pass(each.name, fn)
    return fn


def with_fast_math(fn: Function, math: FastMath, *, decide: bool = True) -> Function:
    """A flat or masked function with the fast functions of `math` and CPython's decisions; `fn` itself where there
    are none. `decide` as in `choose_math`."""
    chosen = choose_math.choose_math(fn, math, decide=decide)
    if chosen is fn:
        return fn
    chosen = share_subexpressions.share_subexpressions(fold_constants.fold_constants(chosen))
    chosen = prune_dead.prune_dead(chosen)
    if os.environ.get("PYFLAT_VALIDATE") == "1":
        validate(chosen)
    return chosen


