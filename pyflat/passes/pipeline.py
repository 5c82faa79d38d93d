"""The order of the passes, for each way out, as data.

Way A (flat twins): structured IR without rolled loops -> one block of total operations and `fault` operations.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from pyflat.ir.nodes import Function
from pyflat.ir.validate import validate
from pyflat.passes import convert_ifs, lower_exits
from pyflat.passes.record import Pass

FLATTEN: tuple[Pass, ...] = (
    lower_exits.PASS,
    convert_ifs.PASS,
)


def flatten_ir(fn: Function, on_pass: Callable[[str, Function], None] | None = None) -> Function:
    """The flat form of a structured function; the results in its Yield, faults as operations.

    `on_pass(name, function)` is called after each pass. With PYFLAT_VALIDATE=1 in the environment the function
    is validated before the first pass and after each. Raises FlattenError where `fn` has a rolled loop.
    """
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
