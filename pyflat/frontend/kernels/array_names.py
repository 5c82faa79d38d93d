"""Names of the arrays that a kernel makes inside: those of the variables that they are first bound to.

    t = np.empty(n)                  "t"
    t = np.zeros(n)                  "t 2", where there is a "t"
    np.dot(a * 2, b)                 "array 1": `a * 2` has no variable
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyflat.ir.kernel_results import Model
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Function
from pyflat.ir.types import MEMORY


def name_arrays(fn: Function, taken: Collection[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Rename the arrays in the IR; returns the new names by the old ones. `variables` are names that the arrays may
    have, and `taken` those that others have."""
    ops = list(all_ops(fn.body))
    given, names = set(taken), dict[str, str]()
    for op in ops:
        if op.opcode in ("alloc", "routine") and op.kind is MEMORY and (array := op.attr("array")) not in names:
            names[array] = _free(variables.get(array, ""), given)
            given.add(names[array])
    for op in ops:
        if op.opcode in ("alloc", "load", "store", "routine"):
            op.attrs = tuple((key, _renamed(key, value, names)) for key, value in op.attrs)
    return names


def rename_models(models: Mapping[str, tuple[Model, ...]], names: Mapping[str, str]) -> dict[str, tuple[Model, ...]]:
    """The arrays that others are made of, where some have other names."""
    return {names.get(array, array): tuple((names.get(name, name), axes) for name, axes in of)
            for array, of in models.items()}


def _free(variable: str, given: Collection[str]) -> str:
    name, number = variable or "array 1", 1
    while name in given:
        number += 1
        name = f"{variable or 'array'} {number}"
    return name


def _renamed(key: str, value: object, names: Mapping[str, str]) -> object:
    match key, value:
        case "array", str():
            return names.get(value, value)
        case "operands", tuple():
            return tuple((names.get(name, name), *rest) for name, *rest in value)
    return value
