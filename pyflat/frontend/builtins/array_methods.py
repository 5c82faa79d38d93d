"""Methods of NumPy arrays, and of the numbers that NumPy's functions give: most are functions of np by another name."""

from __future__ import annotations

from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins import making
from pyflat.frontend.builtins.support import bind_names, only
from pyflat.frontend.space import array_items, arrays
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Arguments, Array, Grid, Static

_FUNCTIONS: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "max": np.max, "min": np.min,
    "any": np.any, "all": np.all, "argmax": np.argmax, "argmin": np.argmin, "cumsum": np.cumsum, "cumprod": np.cumprod,
    "round": np.round, "clip": np.clip, "ravel": np.ravel, "squeeze": np.squeeze, "swapaxes": np.swapaxes,
    "repeat": np.repeat, "dot": np.dot, "trace": np.trace, "searchsorted": np.searchsorted, "copy": np.copy,
}


def method(s: Evaluator, owner: Abstract, name: str, arguments: Arguments, node: cst.CSTNode
           ) -> Abstract | None:
    """A method of an array of lanes; None for one that pyflat does not know."""
    if name == "copy" and isinstance(owner, Array) and not arguments.positional and not arguments.named:
        made = arrays.new(s, arrays.grid(s, owner, node), node, owner.store.kind)
        made.store.in_order = True  # the method has the order C, the function that of its operand
        return made
    if name in _FUNCTIONS:
        return s.space.call(Static(_FUNCTIONS[name]),
                            Arguments([owner, *arguments.positional], arguments.named), node)
    match name:
        case "conj" | "conjugate" if not arguments.positional and not arguments.named:
            return owner  # NumPy gives the array itself, where it is not complex
        case "reshape" | "transpose":
            return _shaped(s, owner, name, arguments, node)
        case "flatten":
            copied = s.space.call(Static(np.copy), Arguments([owner], {}), node)
            return s.space.call(Static(np.ravel), Arguments([copied], {}), node)
        case "tolist":
            return _listed(s, owner, node)
        case "item":
            return _item(s, owner, arguments, node)
        case "astype":
            given = bind_names(s, "astype", "dtype !order !casting !subok copy", arguments, node)
            kind = making.dtype_of(s, given, node)
            if kind is arrays.kind_of(owner) and isinstance(owner, Array) and not given.static("copy", True):
                return owner
            return None if kind is None else making.astype(s, owner, kind, node)
        case "fill" if isinstance(owner, Array):
            (value,) = only(s, arguments, node, 1, 1)
            array_items.write(s, owner, owner.places, value, node)
            return Static(None)
        case "sort" if isinstance(owner, Array) and not arguments.positional and not arguments.named:
            ordered = s.space.call(Static(np.sort), Arguments([owner], {}), node)
            array_items.update(s, owner, ordered, node)
            return Static(None)
    return None


def _shaped(s: Evaluator, owner: Abstract, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """reshape(2, 3) and reshape((2, 3))."""
    fn = np.reshape if name == "reshape" else np.transpose
    values = arguments.positional
    if len(values) > 1 or values and isinstance(values[0], Static) and isinstance(values[0].value, int):
        values = [heap.make_tuple(values)]
    return s.space.call(Static(fn), Arguments([owner, *values], arguments.named), node)


def _listed(s: Evaluator, owner: Abstract, node: cst.CSTNode) -> Abstract:
    def nested(part: Grid) -> Abstract:
        if not part.shape:
            found: Abstract = part[()]
            return Static(found.value.item()) if isinstance(found, Static) else s.mark_python(found, [found])
        return heap.new_list(s, [nested(part[i, ...]) for i in range(len(part))])

    return nested(arrays.grid(s, owner, node))


def _item(s: Evaluator, owner: Abstract, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    found = arrays.grid(s, owner, node)
    if not arguments.positional:
        if found.size != 1:
            raise s.raised(ValueError, node)
        one: Abstract = found.flat[0]
        return s.mark_python(one, [one])
    if len(arguments.positional) > 1:
        return array_items.index(s, owner, heap.make_tuple(arguments.positional), node)
    flat = arrays.new(s, found.ravel(), node)
    return array_items.index(s, flat, arguments.positional[0], node)
