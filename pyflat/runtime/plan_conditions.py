"""Conditions of a plan (`pyflat.runtime.plan_text`): that options in force, the function, and what it has read from
outside are as they were."""

from __future__ import annotations

import builtins
import keyword
import os
from collections.abc import Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any
from weakref import ReferenceType

import numpy as np

from pyflat.frontend.callables import Parameters
from pyflat.frontend.state.guards import ABSENT, Guards, Reading
from pyflat.runtime import settings as settings_module
from pyflat.runtime.settings import InForce

OURS = "_pyflat_"
MISS = "MISS"
"""Where a plan gives up."""
MARK = 10**20
"""The first of the numbers that stand for what a plan knows, until its code is made."""


_ATOMS = (bool, int, float, complex, str, bytes, type(None), np.generic, BuiltinFunctionType, np.ufunc, CodeType,
          ReferenceType)


class Conditions:
    """Writes conditions; `constants` and `cells` have what its numbers and free variables are."""

    def __init__(self, function: FunctionType, parameters: Parameters, cells: dict[str, CellType]):
        self.function = function
        self.parameters = parameters
        self.constants: list[Any] = []
        self.cells = {OURS + name: cell for name, cell in cells.items()}

    def _is_plain(self, name: str) -> bool:
        """Whether a plan can have this name of the function's globals in its text."""
        ours = name in self.parameters.names or name == "out" or name.startswith(("__", OURS))
        return name.isidentifier() and not keyword.iskeyword(name) and not ours

    def constant(self, value: Any) -> str:
        """This object, which is never freed or refers to nothing."""
        self.constants.append(value)
        return f"({MARK + len(self.constants) - 1})"

    def object(self, value: Any) -> str:
        """Any object. The garbage collector does not look into code: what may lead back to the plan is in a cell."""
        return self.constant(value) if isinstance(value, _ATOMS) else self.variable(CellType(value))

    def variable(self, cell: CellType) -> str:
        """A free variable that is this cell."""
        name = f"{OURS}v{len(self.cells)}"
        self.cells[name] = cell
        return name

    def other_options(self, layers: InForce, target_counts: bool) -> Iterator[str]:
        """Conditions under which other options may be in force."""
        environment, key = self.constant(layers.environment), self.constant(layers.target_key)
        yield f"{self.constant(layers.block)}() is not {self.constant(layers.opened)}"
        yield f"{self.constant(settings_module)}._defaults is not {self.constant(layers.defaults)}"
        yield f"{self.constant(os)}.environ is not {self.constant(os.environ)}"
        yield f"{self.constant(layers.disable_key)} in {environment}"
        if target_counts and layers.target is None:
            yield f"{key} in {environment}"
        elif target_counts:
            yield f"{key} not in {environment} or {environment}[{key}] != {self.constant(layers.target)}"

    def same_outside(self, guards: Guards, defaults: bool) -> Iterator[str]:
        """Conditions under which the function and what it has read are as they were."""
        function = self.function
        own = self.object(function)
        yield f"{own}.__code__ is {self.object(function.__code__)}"
        if defaults or guards.calls_itself(function):
            yield f"{own}.__defaults__ is {self.object(function.__defaults__)}"
            yield f"{own}.__kwdefaults__ is {self.object(function.__kwdefaults__)}"
            for name, value in (function.__kwdefaults__ or {}).items():
                yield f"{own}.__kwdefaults__[{self.constant(name)}] is {self.object(value)}"
        readings = list(guards.readings())
        absent = {r.name for r in readings if self._is_global(r) and r.value is ABSENT}
        standard = getattr(function, "__builtins__", None) is vars(builtins)
        found = {r.name for r in readings
                 if r.owner is vars(builtins) and r.value is not ABSENT and self._is_plain(r.name)}
        covered = found & absent if standard else set()
        for reading in readings:
            if reading.how == "part" and reading.owner() is function:
                continue
            if reading.name in covered and self._is_global(reading):
                continue  # the name is found among the builtins, as the other reading says
            yield self._same(reading, reading.name in covered and reading.owner is vars(builtins))
        if guards.has_others:
            yield f"{self.object(guards.others_changed)}() is None"

    def _is_global(self, reading: Reading) -> bool:
        return reading.how == "item" and reading.owner is self.function.__globals__

    def _same(self, reading: Reading, by_name: bool) -> str:
        """The condition under which a reading gives the same object."""
        name = reading.name
        plain = self._is_plain(name)
        match reading.how:
            case "item" if plain and (by_name or self._is_global(reading) and reading.value is not ABSENT):
                return f"{name} is {self.object(reading.value)}"
            case "item" if reading.value is ABSENT:
                return f"{self.constant(name)} not in {self.object(reading.owner)}"
            case "item":
                return f"{self.object(reading.owner)}[{self.constant(name)}] is {self.object(reading.value)}"
            case "type":
                return f"{self.constant(type)}({self.object(reading.owner)}) is {self.object(reading.value)}"
            case "attribute" if isinstance(reading.owner, CellType):
                return f"{self.variable(reading.owner)} is {self.object(reading.value)}"
        if reading.value is ABSENT:
            return f"not {self.constant(hasattr)}({self.object(reading.owner)}, {self.constant(name)})"
        if reading.how == "part":
            return f"{self.object(reading.owner)}().{name} is {self.object(reading.value)}"
        if plain and isinstance(reading.owner, ModuleType):
            return f"{self.object(reading.owner)}.{name} is {self.object(reading.value)}"
        found = f"{self.constant(getattr)}({self.object(reading.owner)}, {self.constant(name)})"
        return f"{found} is {self.object(reading.value)}"
