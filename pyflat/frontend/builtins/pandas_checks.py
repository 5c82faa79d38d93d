"""Questions of pandas about one value: a scalar, or missing? They are compiled, and known by module and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.numpy_functions import isscalar
from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Static
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The answer; None when it is another function."""
    if not str(getattr(fn, "__module__", "")).startswith("pandas."):
        return None
    known = _HANDLERS.get((fn.__module__, getattr(fn, "__name__", "")))
    if known is None:
        return None
    if arguments.all_static():
        args, named = arguments.values()
        return const_eval(s, lambda: fn(*args, **named))
    handler, parameter = known
    return handler(s, bind_names(s, fn.__name__, parameter, arguments, node), node)


def _is_missing(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """Whether a number is missing: only nan is."""
    value = given.value("obj")
    if not isinstance(value, Value):
        raise s.refuse("flatten/unknown-call", f"{given.title} of {describe(value)}", node)
    return s.build.op("isnan", value) if numeric_kind(value) is FLOAT else Static(False)


_Handler = Callable[[Evaluator, Given, cst.CSTNode], Abstract]
_HANDLERS: dict[tuple[str, str], tuple[_Handler, str]] = {
    ("pandas.api.types", "is_scalar"): (isscalar, "element"), ("pandas._libs.lib", "is_scalar"): (isscalar, "element"),
    ("pandas._libs.missing", "checknull"): (_is_missing, "obj"),
}
