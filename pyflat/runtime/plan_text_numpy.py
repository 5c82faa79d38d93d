"""The text of a plan (`pyflat.runtime.plan_text`) for functions of the NumPy target."""

from __future__ import annotations

from types import CellType, FunctionType

import numpy as np

from pyflat.frontend.callables import Parameters
from pyflat.ir.formats import F4, F8, dtypes
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime.plan_entries import MISS, OURS, Argument, Entry
from pyflat.runtime.plan_text import PlannedCall, PlanText
from pyflat.targets import threads
from pyflat.targets.numpy.engine import quietly
from pyflat.targets.operands import EntryPoint


class NumpyText(PlanText):
    """Its functions run in np.errstate where another thread is in `quietly`."""

    point: EntryPoint

    def __init__(self, function: FunctionType, parameters: Parameters, entry: Entry, cells: dict[str, CellType],
                 call: PlannedCall, point: EntryPoint):
        super().__init__(function, parameters, entry, cells, call)
        self.point = point

    def body(self, looked: list[str], failed: list[str]) -> list[str]:
        point, arrays = self.point, self.arrays
        before = [*self._other_arrays(), *self.unfit_outputs()]
        numbers = {name: f"{self.constant(wanted)}({name})" for name, a in self.lanes.items()
                   if not a.is_array and (wanted := self._lane_type(a)) is not a.cls}
        scalars = {name: f"{OURS}s{k}" for k, name in enumerate(numbers)}
        converted = [f"        {scalars[name]} = {number}" for name, number in numbers.items()]
        operands = [scalars.get(name, name) for name in self.lanes]
        values = [f"{OURS}r{k}" for k in range(len(point.dtypes) + 1)]
        typed = [] if arrays else [f"    {name} = {self.constant(dtype.type)}({name})"
                                   for name, dtype in zip(values, point.dtypes, strict=False)]
        suspect = f"{values[-1]} is not None" if arrays else values[-1]
        given, run = ", ".join([*operands, *(self.outputs() if arrays else ())]), self.object(point.run)
        return [
            *before,
            *looked,
            *(["    try:", *converted, *failed] if converted else []),
            "    try:",
            f"        {', '.join(values)}, = {self.constant(quietly)}({run}, {given})",
            f"    except {self.constant(RuntimeError)}:",
            f"        with {self.constant(np.errstate)}(all='ignore'):",
            f"            {', '.join(values)}, = {run}({given})",
            f"    if {suspect}:",
            *self.missed(),
            *typed,
            *self.ordered(),
        ]

    def unfit_array(self, name: str, first: str) -> list[str]:
        return [f"not {OURS}flags.c_contiguous", *([f"{name}.shape != {first}.shape"] if len(self.arrays) == 1 else [])]

    def _lane_type(self, argument: Argument) -> type:
        """NumPy's scalar of the lanes that have a scalar's numbers."""
        kind = {"b": BOOL, "f": FLOAT}.get(argument.number.kind, INT)
        return dtypes(F4 if self.call.float32 else F8)[kind].type

    def _other_arrays(self) -> list[str]:
        """Leaves alone what has no lanes or no axes, and what is worth threads."""
        arrays = self.arrays
        if not arrays:
            return []
        first = arrays[0]
        alone = f"{self.object(self.entry.on_one_thread)}({first}.size)"
        unfit = [f"not {first}.size", f"({first}.size >= {2 * threads.GRAIN} and not {alone})",
                 f"not ({' or '.join(f'{name}.ndim' for name in arrays)})"]
        if self.entry.options.parallel:
            unfit += [f"{name}.shape != {first}.shape" for name in arrays[1:]]
        return [f"    if {' or '.join(unfit)}:", f"        {MISS}"]

    # --- out=
