"""`with`: context managers that only settle what NumPy or the warnings module does about a warning."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import NONE, Abstract, Static

_QUIET = ("ignore", "warn", "print", "log", None)
"""Settings of np.errstate under which a floating-point error stays a value."""


def execute_with(s: Evaluator, node: cst.With) -> None:
    """The body, as if the context managers were not there."""
    for item in node.items:
        if node.asynchronous is not None or not isinstance(item.item, cst.Call):
            raise _unknown(s, item)
        value = _entered(s, item, item.item)
        if item.asname is not None:
            s.space.assign(item.asname.name, value)
    before, s.catching_warnings = s.catching_warnings, s.catching_warnings or _catches(s, node)
    try:
        s.space.execute(node.body)
    finally:
        s.catching_warnings = before


def _catches(s: Evaluator, node: cst.With) -> bool:
    managers = [s.space.evaluate(item.item.func) for item in node.items if isinstance(item.item, cst.Call)]
    return any(isinstance(m, Static) and m.value is warnings.catch_warnings for m in managers)


def _entered(s: Evaluator, item: cst.WithItem, call: cst.Call) -> Abstract:
    """What `as` binds."""
    manager = s.space.evaluate(call.func)
    known: Any = manager.value if isinstance(manager, Static) else None
    values = [s.space.evaluate(arg.value) for arg in call.args]
    if known is np.errstate and all(isinstance(v, Static) and v.value in _QUIET for v in values):
        return NONE
    if known is warnings.catch_warnings and item.asname is None and all(isinstance(v, Static) for v in values):
        return NONE
    if known is contextlib.nullcontext and len(values) < 2:
        return values[0] if values else NONE
    raise _unknown(s, item)


def _unknown(s: Evaluator, item: cst.WithItem) -> Exception:
    return s.refuse("flatten/unsupported-statement", "a `with` block cannot be flattened", item,
                    help="np.errstate, warnings.catch_warnings and contextlib.nullcontext can; move other context "
                    "managers out of the flattened function")
