"""Plans for calls of kernels (`pyflat.runtime.plans`): what runs the kernel looks at the arguments.

    def __call__(self, /, a=absent, out=absent, *more):
        options in force, NumPy's error state           those that the plan was made for?
        code of the function, what it has read          as it was?
        r = direct(a, out)                              NotImplemented: others; Ellipsis: for the original
        return what the kernel returns, made of r
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from pyflat.errors import InternalError
from pyflat.frontend.callables import NOT_GIVEN, owner_of
from pyflat.ir.kernel_results import (
    ArrayResult,
    ChoiceResult,
    ConstantResult,
    NumberResult,
    RecordResult,
    TextResult,
    names,
)
from pyflat.ir.types import MEMORY
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.kernels import Version, overlap
from pyflat.runtime.plan_entries import MISS, OURS, Conditions, Entry, Recipe
from pyflat.runtime.settings import Options, Settings, in_force, resolve
from pyflat.runtime.shown_warnings import warnings_may_raise

LONG = 50e-6
"""Seconds from which on other threads may run meanwhile."""

_error_state: Any = getattr(np._core.umath, "_extobj_contextvar", None)
"""The variable that np.errstate sets to another object."""


def key_of(version: Version, given: Mapping[str, Any], options: Options, watch: bool, limit: float
           ) -> tuple[Any, ...]:
    """The key of the calls that one plan makes."""
    return id(options), version, watch, limit, *[name for name, value in given.items() if value is NOT_GIVEN]


def recipe(caller: Calls, version: Version, given: Mapping[str, Any], settings: Settings, entry: Entry,
           seconds: float, watch: bool, limit: float) -> Recipe | None:
    """How to make the plan for calls like this one, which are to take less than `limit` seconds. None where they are
    not so simple."""
    kernel, layers = version.kernel, in_force()
    function, parameters = caller.callee.function, caller.parameters
    if _error_state is None or layers is None or resolve(settings) is not entry.options:
        return None
    if owner_of(function)[0] or any(name.startswith(OURS) for name in parameters.names):
        return None
    if kernel.in_c_order:
        return None
    strict = version.depends_on_filters and warnings_may_raise(np.geterr())
    direct = version.compiled.direct(given, version.undone(strict=strict), watch=watch, release=seconds > LONG,
                                     limit=limit)
    if direct is None:
        return None
    direct = version.rival.limited(direct, given)
    text = Conditions(function, parameters, {"calls": caller.stats.calls_cell})
    made = [name for name in dict.fromkeys(names(kernel.result)) if name not in kernel.arguments]
    results = _Results(text, [kind for kind in kernel.function.result_kinds if kind is not MEMORY], made)
    returned = results.text(kernel.result)
    if returned is None:
        return None
    state = (f"{text.constant(_error_state.get)}() is not {text.constant(_error_state.get())} and "
             f"{text.constant(np.geterr)}() != {text.constant(np.geterr())}")
    unfit = [state, *text.other_options(layers, "target" not in dict(settings))]
    if not parameters.takes_out:
        unfit.append("out is not None")
    same = list(text.same_outside(kernel.guards, any(value is NOT_GIVEN for value in given.values())))
    same += [f"not {text.constant(overlap)}({name}, {text.object(array)})" for name, array in kernel.changeable]
    if version.depends_on_filters or watch != any(how != "ignore" for how in np.geterr().values()):
        module = text.constant(warnings)
        same += [f"{module}.filters == {text.object(list(warnings.filters))}",
                 f"{module}.showwarning is {text.object(warnings.showwarning)}"]
    miss = text.object(entry.miss)
    lines = [
        f"    nonlocal {OURS}calls",
        f"    if {' or '.join(unfit)}:",
        f"        {MISS}",
        "    try:",
        f"        {OURS}same = {' and '.join(same)}",
        f"    except {text.constant((NameError, KeyError, AttributeError, TypeError))}:",
        f"        {OURS}same = False",
        f"    if not {OURS}same:",
        f"        {miss}()",
        f"        {MISS}",
        f"    {OURS}r = {text.object(direct)}({', '.join(given)})",
        f"    if {OURS}r is {text.constant(NotImplemented)}:",
        f"        {MISS}",
        f"    if {OURS}r is ...:",
        f"        {miss}()",
        f"        {MISS}",
        f"    {OURS}calls += 1",
        f"    return {returned}",
    ]
    return Recipe(tuple(lines), parameters, tuple(text.constants), text.cells, function, version)


class _Results:
    """Writes what a kernel returns, from the numbers and arrays that it gives."""

    def __init__(self, text: Conditions, kinds: list[Any], made: list[str]):
        self._text, self._made = text, made
        self._single = len(kinds) + len(made) == 1
        self._numbers, self._first = count(), len(kinds)

    def _given(self, number: int) -> str:
        return f"{OURS}r" if self._single else f"{OURS}r[{number}]"

    def text(self, result: Any) -> str | None:
        """None for views."""
        match result:
            case ArrayResult(axes=(*_,)):
                return None
            case NumberResult():
                value = self._given(next(self._numbers))
                return self._number(result.dtypes, f"({value} & {2**64 - 1})" if result.unsigned else value)
            case ArrayResult() if result.array in self._made:
                return self._given(self._first + self._made.index(result.array))
            case ArrayResult():
                return result.array
            case RecordResult():
                return self._items(result.items, "" if result.cls is tuple else self._text.object(
                    result.cls if issubclass(result.cls, tuple) else lambda *items: result.made(items)))
            case TextResult():
                given = ", ".join(self._given(next(self._numbers)) for _ in range(result.leaves()))
                return f"{self._text.object(result.made)}({given})"
            case ChoiceResult():
                tags = [self._given(next(self._numbers)) for _ in result.options[1:]]
                options = [self.text(option) for option in result.options]
                if None in options:
                    return None
                tests = [f"{option} if {tag} else " for option, tag in zip(options, tags, strict=False)]
                return f"({''.join(tests)}{options[-1]})"
            case ConstantResult():
                return self._text.object(result.value)
        raise InternalError(f"no text for {result!r}")

    def _items(self, results: Sequence[Any], head: str) -> str | None:
        items = [self.text(item) for item in results]
        return None if None in items else f"{head}({''.join(f'{item}, ' for item in items)})"

    def _number(self, dtypes: Sequence[str | None], value: str) -> str:
        """A number of one of these dtypes; the next results say of which."""
        dtype, *others = dtypes
        if dtype is None:
            return value
        bits = f"{value} & {2**64 - 1}" if dtype == "u8" else value
        numpy = f"{self._text.constant(np.dtype(dtype).type)}({bits})"
        if not others:
            return numpy
        flag = self._given(next(self._numbers))
        return f"({numpy} if {flag} else {self._number(others, value)})"
