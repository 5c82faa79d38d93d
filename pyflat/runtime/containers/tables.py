"""Tables by the names of their columns: which column each parameter takes; dicts and structured arrays as tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from pyflat.runtime.containers import LibraryCall
from pyflat.runtime.containers.columns import named
from pyflat.runtime.settings import where_options_go


def chosen(call: LibraryCall, known: Sequence[Hashable]) -> dict[str, Any]:
    """The column of each parameter that takes one: the one that a keyword names, or the one of its name. Keywords that
    are no strings are arguments themselves, and stay. TypeError for what no parameter takes or no column gives."""
    parameters = call.caller.parameters
    name = parameters.name
    wanted = [p.name for p in parameters.signature.parameters.values()
              if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)][len(parameters.prefix):]
    for keyword in call.kwargs:
        if keyword not in wanted and parameters.keywords is None:
            hint = where_options_go(keyword, call.kwargs[keyword])
            raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}{hint}")
    found: dict[str, Any] = {}
    for parameter in dict.fromkeys([*wanted, *call.kwargs]):
        given = call.kwargs.get(parameter)
        if isinstance(given, str):
            if given not in known:
                raise TypeError(f"{name}: there is no column {given!r} for {parameter!r}; {_columns(known)}")
            found[parameter] = given
        elif parameter in call.kwargs or parameter in parameters.preset:
            continue
        elif parameter in known:
            found[parameter] = parameter
        elif parameters.signature.parameters[parameter].default is parameters.signature.empty:
            raise TypeError(f"{name}: there is no column {parameter!r}; name the column to use: by_name(table, "
                            f"{parameter}='...'); {_columns(known)}")
    return found


def _columns(known: Sequence[Hashable]) -> str:
    shown = ", ".join(map(repr, known[:20]))
    return f"the columns are {shown}{', ...' if len(known) > 20 else ''}" if known else "there are no columns"


def run(call: LibraryCall, columns: Mapping[str, Any]) -> Any:
    """The result with these columns, by the names of the parameters."""
    given = {**call.kwargs, **columns}
    parameters = call.caller.parameters
    ordered = [p.name for p in parameters.signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    args = [given.pop(name) for name in ordered[len(parameters.prefix):] if name in given]
    if call.twin is not None:
        return call.twin(*args, **given)
    return call.caller(args, given, call.options)


def numbers(call: LibraryCall, expression: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a call among expressions of a database: expressions and numbers, and other constants. TypeError
    for arrays."""
    bound = call.caller.parameters.bind(call.args, call.kwargs)
    given = {name: value for name, value in bound.arguments.items() if name not in bound.fixed}
    columns: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for name, value in with_defaults(call, given).items():
        if np.ndim(value) and not isinstance(value, expression | str | tuple):
            raise TypeError(f"argument {name!r} is an array, not an expression: make it a column of the table")
        plain = value.item() if isinstance(value, np.generic | np.ndarray) else value
        (columns if isinstance(plain, expression | int | float) else constants)[name] = plain
    return columns, constants


def with_defaults(call: LibraryCall, given: Mapping[str, Any]) -> dict[str, Any]:
    """These arguments, and defaults that are numbers."""
    parameters = call.caller.parameters
    left_out = {name: p.default for name, p in parameters.signature.parameters.items()
                if name not in given and name not in parameters.preset and isinstance(p.default, int | float)}
    return {**left_out, **given}


def by_name(call: LibraryCall, table: Any) -> Any:
    """A dict of arrays, or a structured array: a dict, or a structured array, of the results; an array for one."""
    if isinstance(table, Mapping):
        return result(call, list(table), table.__getitem__, dict)
    if isinstance(table, np.ndarray | np.void) and table.dtype.names:
        return result(call, list(table.dtype.names), table.__getitem__, _structured)
    raise TypeError(f"by_name takes a table of named columns (a frame, a Dataset, a dict, a structured array), "
                    f"not a {type(table).__name__}")


def result(call: LibraryCall, known: Sequence[Hashable], column: Callable[[Any], Any], table: Callable[[Any], Any]
           ) -> Any:
    """The result with columns of those that are known: itself for one number, what `table` makes of several results."""
    found = run(call, {name: column(wanted) for name, wanted in chosen(call, known).items()})
    value, *faults = found if call.options.errors == "mask" else (found,)
    parts = dict(named(value))
    made = value if "" in parts else table(parts)
    return (made, *faults) if faults else made


def _structured(parts: Mapping[str, Any]) -> Any:
    arrays = {name: np.asarray(part) for name, part in parts.items()}
    shape = np.broadcast_shapes(*[array.shape for array in arrays.values()])
    made = np.empty(shape, [(name, array.dtype) for name, array in arrays.items()])
    for name, array in arrays.items():
        made[name] = array
    return made
