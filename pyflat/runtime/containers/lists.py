"""Lists of numbers are arrays of lanes where the function uses the parameter as a number."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.ir.shape import Path
from pyflat.runtime.containers import LibraryCall


def call(call: LibraryCall) -> Any:
    """The result for arrays of these numbers."""
    given = {path: _array(call, path, value) for path, value in call.arguments().items()}
    try:
        return call.run(given)
    except FlattenError as refusal:
        if not _is_used_as_a_list(call):
            raise
        raise _refused(call, next(iter(given)), "which the function does not use as a number") from refusal


def plain(value: list[Any]) -> Any:
    """The numbers of a list as an array, or the list where it makes none."""
    try:
        return np.asarray(value)
    except (ValueError, OverflowError):
        return value


def _is_used_as_a_list(call: LibraryCall) -> bool:
    """Whether the function takes these lists as they are."""
    names = {str(path[0]) if isinstance(path[0], str) else call.name(path[:1]) for path in call.places}
    options = replace(call.options, static=(*call.options.static, *names))
    try:
        classified = call.caller.classified(call.args, call.kwargs, options)
        call.caller.compilations.get(call.caller.callee.function, classified.arguments, options.as_built)
    except (FlattenError, TypeError):
        return False
    return True


def _array(call: LibraryCall, path: Path, value: list[Any]) -> Any:
    """The numbers as an array. TypeError where the parameter is for a list, or lists inside have several lengths."""
    first, *_ = call.name(path).replace("[", ".").split(".")
    parameter = call.caller.parameters.signature.parameters.get(first)
    note = "" if parameter is None or len(path) > 1 else inspect.formatannotation(parameter.annotation)
    if parameter is not None and parameter.annotation is not parameter.empty and _is_for_sequences(note):
        raise _refused(call, path, f"for a parameter that is annotated {note}")
    if first in call.caller.kernels.roles(call.options):
        raise _refused(call, path, "which the function subscripts or iterates over")
    try:
        return np.asarray(value)
    except (ValueError, OverflowError):
        raise _refused(call, path, "which makes no array") from None


def _is_for_sequences(note: str) -> bool:
    words = ("list", "List", "tuple", "Tuple", "Sequence", "Iterable", "Collection", "ndarray", "NDArray", "set")
    head = note.strip("'\"").partition("[")[0].rpartition(".")[2]
    return head in words


def _refused(call: LibraryCall, path: Path, why: str) -> TypeError:
    name = call.name(path)
    return TypeError(f"argument {name!r} is a list of numbers, {why}: pass np.asarray(x) for one element per item, a "
                     f"tuple for one value shared by all elements, or static={name!r} for a constant list")
