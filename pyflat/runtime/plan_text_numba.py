"""The text of a plan (`pyflat.runtime.plan_text`) for kernels of the numba target."""

from __future__ import annotations

from collections.abc import Iterator
from types import CellType, FunctionType
from typing import TYPE_CHECKING

import numpy as np

from pyflat.frontend.callables import Parameters
from pyflat.functions import libm
from pyflat.runtime.plan_entries import MISS, OURS, Argument
from pyflat.runtime.plan_text import PlannedCall, PlanText, has_objects
from pyflat.targets import threads

if TYPE_CHECKING:
    from pyflat.runtime.plan_entries import Entry
    from pyflat.targets.numba.compiled_kernel import KernelEntry
    from pyflat.targets.numba.layouts import Blocks

WALKED = 4_000
"""Lanes from which on it is worth looking at how arrays lie, which takes a tenth of a microsecond, and two where NumPy
would not bring them to the kernel as they are."""

C_ORDER, FORTRAN, ALIGNED = 1, 2, 0x100
"""Bits of `array.flags.num`, in NumPy's ABI."""


class NumbaText(PlanText):
    """`direct`: what makes calls with dense arrays, and looks at them itself: of a few lanes, and of as many as one
    call of the kernel is for."""

    point: KernelEntry

    def __init__(self, function: FunctionType, parameters: Parameters, entry: Entry, cells: dict[str, CellType],
                 call: PlannedCall, point: KernelEntry):
        super().__init__(function, parameters, entry, cells, call)
        self.point = point
        classes = [None if lane.is_array else lane.cls for argument in call.arguments for lane in argument.lanes]
        calls = [point.dense(classes, most) for most in (_few(point) - 1, point.step)]
        self.direct = [made.cell for made in calls if made is not None]
        self._unlike: list[str] = []
        """Conditions under which arguments are of other types that `direct` sees."""

    def other_type(self, name: str, argument: Argument) -> Iterator[str]:
        conditions = super().other_type(name, argument)
        if self.direct and argument.is_lane:
            self._unlike += conditions
        else:
            yield from conditions

    def body(self, looked: list[str], failed: list[str]) -> list[str]:
        before = [*self._too_many(), *self.unfit_outputs()]
        call, suspect, give_up = self._kernel()
        after = [f"    if {suspect}:", *self.missed(give_up), *self.ordered()]
        if not self.direct:
            return [*before, *looked, "    try:", *call, *failed, *after]
        unlike = [f"    if {' or '.join(self._unlike)}:", f"        {MISS}"] if self._unlike else []
        others = [*unlike, *before, "    try:", *call, *failed, *after]
        return [*looked, *self._dense(others, give_up)]

    def unfit_array(self, name: str, first: str) -> list[str]:
        return [f"{name}.size >= {2 * threads.GRAIN} and {name}.shape != {first}.shape"]

    def _dense(self, others: list[str], give_up: list[str]) -> list[str]:
        """A call of `dense_calls`, and `others` where it is for other arrays."""
        first, found, missing = self.arrays[0], f"{OURS}r", self.constant(NotImplemented)
        few, many = (f"{self.variable(call)}({', '.join([*self.lanes, self.out])})" for call in self.direct)
        if has_objects(self.call.result) and self.out != "None":
            few, many = (f"{call} if {self.out} is None else {missing}" for call in (few, many))
        large = (f"{self.constant(type)}({first}) is {self.constant(np.ndarray)} and "
                 f"{first}.size >= {_few(self.point)} and {self.object(self.entry.on_one_thread)}({first}.size)")
        results = [f"{OURS}r{k}" for k in range(len(self.point.dtypes) + self.point.hidden)]
        return [
            f"    {found} = {few}",
            f"    if {found} is {missing} and {large}:",
            f"        {found} = {many}",
            f"    if {found} is {missing}:",
            *[f"    {line}" for line in others],
            f"    elif {found} is ...{f' or {self.object(libm.raised)}' if self.point.calls_python else ''}:",
            *self.missed(give_up),
            "    else:",
            f"        {', '.join(results)} = {found}",
        ]

    def _operands(self) -> Iterator[str]:
        """The arguments as the kernel takes them; it swaps bytes itself."""
        for name, argument in self.lanes.items():
            if argument.dtype is not None and argument.is_array and not argument.dtype.isnative:
                yield f"{name}.view({self.constant(argument.dtype.newbyteorder('='))})"
            else:
                yield f"{self.constant(np.float32)}({name})" if self.is_rounded(argument) else name

    def _kernel(self) -> tuple[list[str], str, list[str]]:
        """One call of a numpy.ufunc, which refuses what cannot be broadcast; when lanes are to be looked at, and what
        is done before."""
        point = self.point
        flags = [self.variable(CellType(flag)) for flag in point.state.flags[: 1 + point.loops]]
        results = ", ".join(f"{OURS}r{k}" for k in range(len(point.dtypes) + point.hidden))
        kernel, operands = self.constant(point.call), list(self._operands())
        take, give_back = self._packing(point.blocks) if point.blocks is not None else ([], [])
        if point.blocks is not None:
            arrays = [text for text, a in zip(operands, self.lanes.values(), strict=True) if a.is_array]
            operands = [*arrays, f"{OURS}block[1]"]
        call = [f"        {results} = {kernel}({', '.join(operands)})"]
        if self.arrays:
            given = self.outputs()
            walk = f"{self.object(point.walk)}({OURS}wide.shape, {', '.join(operands)})"
            call = [f"        if {OURS}wide is not None:", f"            {results} = {walk}",
                    f"        elif {self.out} is None:", f"    {call[0]}", "        else:",
                    f"            {results} = {kernel}({', '.join([*operands, *given])})"]
        give_up = [f"        {self.object(point.state.raise_discarded)}()"] if point.loops else []
        if point.calls_python:
            flags.append(self.object(libm.raised))
            give_up.append(f"        {self.object(libm.raise_pending)}()")
        return [*take, *call, *give_back], " or ".join(flags), give_up

    def _packing(self, blocks: Blocks) -> tuple[list[str], list[str]]:
        """Writing the scalars into a block of memory, and giving that back."""
        free, block, missing = self.object(blocks.free), f"{OURS}block", self.constant(IndexError)
        scalars = [name for name, argument in self.lanes.items() if not argument.is_array]
        take = ["        try:", f"            {block} = {free}.pop()", f"        except {missing}:",
                f"            {block} = {self.object(blocks.make)}()",
                f"        {self.object(blocks.pack_into)}({block}[0], 0, {', '.join(scalars)})"]
        return take, [f"        {free}.append({block})"]

    def _too_many(self) -> list[str]:
        """Leaves calls alone that are worth threads, and those that Ctrl-C should be able to end in between: `step`
        lanes are for one call of the kernel, from `limit` on threads may be worth it. Arrays that NumPy would bring to
        the kernel by rows or in buffers are for `walk`, which gets their common shape."""
        point = self.point
        arrays, limit = self.arrays, _few(point)
        if not arrays:
            return []
        left = self.missed() if point.few else [f"        {MISS}"]  # the call compiles what the next plan takes
        first, wide = arrays[0], f"{OURS}wide"
        alone = f"{{0}}.size <= {point.step} and {self.object(self.entry.on_one_thread)}({{0}}.size)"
        flags = " & ".join(f"{name}.flags.num" for name in arrays)
        unlike = (f"not ({OURS}flags := {flags}) & {ALIGNED} or "
                  f"({first}.ndim > 1 and not {OURS}flags & {C_ORDER | FORTRAN})")
        unlike = f"{first}.size >= {WALKED} and ({unlike})"
        many = f"{first}.size >= {min(WALKED, limit)}"
        if len(arrays) > 1:
            many = f"{' * '.join(f'{name}.size' for name in arrays)} >= {limit}"
            unlike = f"not ({' == '.join(f'{name}.shape' for name in arrays)}) or {unlike}"
        broadcast = f"{self.constant(np.broadcast)}({', '.join(arrays)})"
        return [
            f"    {wide} = None",
            f"    if {many}:",
            f"        if {self.out} is None and ({unlike}):",
            "            try:",
            f"                {wide} = {broadcast}",
            f"            except {self.constant(ValueError)}:",
            f"                {MISS}",
            f"            if {wide}.size >= {limit} and not ({alone.format(wide)}):",
            *[f"        {line}" for line in left],
            f"            if {wide}.size < {WALKED}:",
            f"                {wide} = None",
            f"        elif {first}.size >= {limit} and not ({alone.format(first)}):",
            *[f"    {line}" for line in left],
        ]


def _few(point: KernelEntry) -> int:
    """Lanes from which on threads may be worth it, or more than one call of the kernel."""
    return min(point.step + point.few, 2 * threads.GRAIN)
