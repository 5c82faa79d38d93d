"""Questions of pandas about one value: a scalar, or missing? And its moments and spans, made of constants. They are
known by module and name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.numpy_functions import isscalar
from pyflat.frontend.builtins.support import Given, bind_names
from pyflat.frontend.space.scalars import const_eval, negate
from pyflat.frontend.state import lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, numeric_kind, per_alternative
from pyflat.frontend.state.values import Abstract, Arguments, Derived, Static
from pyflat.functions import moments
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT


def call(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The answer; None when it is another function."""
    if str(getattr(fn, "__module__", "")).partition(".")[0] != "pandas":
        return None
    known = _HANDLERS.get((fn.__module__, getattr(fn, "__name__", "")))
    if known is None:
        return None
    if arguments.all_static():
        args, named = arguments.values()
        if any(type(value) in moments.MAKERS for value in (*args, *named.values())):
            return Static(known[0] is _is_present) if known[0] in (_is_missing, _is_present) else None
        made = const_eval(s, lambda: fn(*args, **named))
        return Static(moments.of_pandas(made.value)) if isinstance(made, Static) and moments.is_pandas(made.value) \
            else made
    handler, parameter = known
    if handler is None:
        raise s.refuse("flatten/unknown-call", f"pandas.{fn.__name__} of values that depend on the data", node)
    return handler(s, bind_names(s, fn.__name__, parameter, arguments, node), node)


def _is_missing(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """Whether a value is missing: of numbers only nan is, and no string or moment."""
    value = given.value("obj")
    if isinstance(value, Derived) and value.key == value.parameter or all(
            lookup.class_of(each) is str for each in alternatives(value)):
        return Static(False)
    return _missing(s, value, given.title, node)


@per_alternative("value")
def _missing(s: Evaluator, value: Abstract, title: str, node: cst.CSTNode) -> Abstract:
    if isinstance(value, Static):
        return const_eval(s, lambda: sys.modules["pandas"].isna(value.value))
    if not isinstance(value, Value):
        if lookup.class_of(value) is str or lookup.class_of(value) in moments.MAKERS:
            return Static(False)
        raise s.refuse("flatten/unknown-call", f"{title} of {describe(value)}", node)
    return s.build.op("isnan", value) if numeric_kind(value) is FLOAT else Static(False)


def _is_present(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    return negate(s, _is_missing(s, given, node))


_Handler = Callable[[Evaluator, Given, cst.CSTNode], Abstract]
_HANDLERS: dict[tuple[str, str], tuple[_Handler | None, str]] = {
    ("pandas.api.types", "is_scalar"): (isscalar, "element"), ("pandas._libs.lib", "is_scalar"): (isscalar, "element"),
    **{(module, name): (handler, "obj") for module in ("pandas", "pandas.core.dtypes.missing") for name, handler in (
        ("isna", _is_missing), ("isnull", _is_missing), ("notna", _is_present), ("notnull", _is_present))},
    ("pandas._libs.missing", "checknull"): (_is_missing, "obj"),
    **{(module, name): (None, "") for name in ("Timestamp", "Timedelta") for module in (
        "pandas", "pandas._libs.tslibs.timestamps", "pandas._libs.tslibs.timedeltas")},
}
