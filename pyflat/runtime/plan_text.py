"""The text of a plan (`pyflat.runtime.plans`): what does not depend on the engine.

What a plan knows are constants of its code where that is possible: they cost nothing to have. Python's compiler sees
numbers in their place. Names of the user's globals are read as Python reads them, since the function gets their
dictionary as its globals, and variables of functions that enclose the user's function are cells of its closure. So both
cost what they cost in the function itself. All names of ours begin with `_pyflat_`.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pyflat.frontend.callables import NotGiven, Parameters, owner_of
from pyflat.frontend.state.guards import Guards
from pyflat.ir.formats import F4
from pyflat.ir.shape import Labels, Leaf, Maybe, Record, Shape
from pyflat.ir.shape import leaves as leaves_of
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.runtime.labels import none_leaves, of_codes, planned
from pyflat.runtime.plan_entries import MISS, OURS, PYTHON, Argument, Conditions, Recipe
from pyflat.runtime.settings import Settings, in_force, resolve
from pyflat.targets.operands import EntryPoint

if TYPE_CHECKING:
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.interfaces import Calls
    from pyflat.runtime.plan_entries import Entry
    from pyflat.targets.numba.compiled_kernel import KernelEntry

_BACK = {FLOAT: float, INT: int, BOOL: bool}


class PlannedCall(NamedTuple):
    """The calls that a plan is for: what is known of each argument, and their result."""

    arguments: Sequence[Argument]
    result: Shape
    leaves: tuple[Kind, ...]
    float32: bool
    """Whether float lanes are float32."""


def items_of(shape: Shape) -> tuple[Shape, ...]:
    """The items of a tuple; anything else is one."""
    return shape.items if isinstance(shape, Record) and shape.cls is tuple and not shape.names else (shape,)


def has_objects(shape: Shape) -> bool:
    """Whether it is, or has in it, objects or None."""
    return any(isinstance(item, Labels | Maybe) for item in items_of(shape))


class PlanText(Conditions, ABC):
    """Writes a plan; `point` is what the engine runs."""

    point: KernelEntry | EntryPoint

    def __init__(self, function: FunctionType, parameters: Parameters, entry: Entry, cells: dict[str, CellType],
                 call: PlannedCall):
        super().__init__(function, parameters, cells)
        self.call = call
        self.entry = entry
        self.lanes: dict[str, Argument] = {}
        """What the kernel gets, by its name."""
        self._items = 0

    @abstractmethod
    def body(self, looked: list[str], failed: list[str]) -> list[str]:
        """The call, from the place where the arguments' types are known to that where the results have names. `looked`
        gives up where the plan does not hold, `failed` where that, in a `try` before it, or what else fails in it."""
        raise NotImplementedError

    @abstractmethod
    def unfit_array(self, name: str, first: str) -> list[str]:
        """Conditions under which an array of `out=`, whose flags are at hand, is for the long way; `first` is an
        argument."""
        raise NotImplementedError

    def lines(self, unfit: list[str], same: list[str]) -> list[str]:
        """All but the head. `unfit` are the conditions under which the plan is not for a call, `same` those under which
        it still holds."""
        errors = self.constant((NameError, KeyError, AttributeError, TypeError, ValueError, OverflowError,
                                struct.error))
        failed = [f"    except {errors}:", *self.missed()]
        looked = ["    try:", f"        {OURS}same = {' and '.join(same)}", *failed, f"    if not {OURS}same:",
                  *self.missed()]
        return [
            f"    nonlocal {OURS}calls, {OURS}lanes",
            f"    if {' or '.join(unfit)}:",
            f"        {MISS}",
            *self.body(looked, failed),
            *self._nones(),
            f"    {OURS}calls += 1",
            *self._results(),
        ]

    def missed(self, give_up: Sequence[str] = ()) -> list[str]:
        """Gives up where something was not as expected. Outside of a `try`: the original may run then, and raise."""
        return [f"        {self.object(self.entry.miss)}()", *give_up, f"        {MISS}"]

    def is_rounded(self, argument: Argument) -> bool:
        """Whether a scalar has more digits than lanes: NumPy rounds arrays only."""
        return self.call.float32 and not argument.is_array and argument.number == np.float64

    @property
    def out(self) -> str:
        """What a call has passed as `out=`."""
        return "None" if self.parameters.takes_out else "out"

    def outputs(self) -> list[str]:
        """The arrays that `out=` gives, or None each."""
        return [self.out] if len(self.point.dtypes) == 1 else [f"{OURS}o{k}" for k in range(len(self.point.dtypes))]

    def unfit_outputs(self) -> list[str]:
        """Leaves alone what is not as a fresh result would be; of another shape it is refused by what runs. A lane may
        be run again, so that arguments must stay as they are. NumPy computes some of its functions with other bits into
        an array whose items lie apart, and 2.4 writes wrong ones there for isnan, isinf and isfinite."""
        arrays, outputs = self.arrays, self.outputs()
        if self.parameters.takes_out:
            return [] if len(outputs) == 1 or not arrays else [f"    {' = '.join(outputs)} = None"]
        if arrays and has_objects(self.call.result):
            none = [f"    {' = '.join(outputs)} = None"] if len(outputs) > 1 else []
            return [f"    if {self.out} is not None:", f"        {MISS}", *none]
        if not arrays:
            return [f"    if {self.out} is not None:", f"        {MISS}"]
        first, kind = arrays[0], self.constant(type)
        unfit = []
        for k, (name, dtype) in enumerate(zip(outputs, self.point.dtypes, strict=True)):
            unfit += [f"{kind}({name}) is not {self.constant(np.ndarray)}",
                      f"({name}.dtype is not {self.constant(dtype)} and {name}.dtype != {self.constant(dtype)})",
                      f"not ({OURS}flags := {name}.flags).writeable"]
            unfit += self.unfit_array(name, first)
            for other in (*arrays, *outputs[:k]):
                apart = f"{name} is not {other} and {OURS}flags.owndata and {other}.flags.owndata"
                unfit.append(f"not ({apart}) and {self.constant(np.may_share_memory)}({name}, {other})")
        if len(outputs) == 1:
            return [f"    if {self.out} is not None and ({' or '.join(unfit)}):", f"        {MISS}"]
        unpack = [f"    {' = '.join(outputs)} = None", f"    if {self.out} is not None:"]
        several = (f"{kind}({self.out}) is not {self.constant(tuple)} or "
                   f"{self.constant(len)}({self.out}) != {len(outputs)}")
        return [*unpack, f"        if {several}:", f"            {MISS}", f"        {', '.join(outputs)} = {self.out}",
                f"        if {' or '.join(unfit)}:", f"            {MISS}"]

    # --- before

    def other_types(self) -> Iterator[str]:
        """Conditions under which the arguments are of other types; where none holds, the items of tuples have names."""
        for name, argument in zip(self.parameters.names, self.call.arguments, strict=True):
            yield from self.other_type(name, argument)

    def other_type(self, name: str, argument: Argument) -> Iterator[str]:
        """The conditions for one argument that the plan asks at its start."""
        yield from self._other_type(name, name, argument)

    def _other_type(self, value: str, name: str, argument: Argument) -> Iterator[str]:
        """The conditions for one argument, which is or gets `name`."""
        named = name if value == name else f"{name} := {value}"
        built_in = argument.cls.__module__ in ("builtins", "numpy")
        cls = self.constant(argument.cls) if built_in else self.object(argument.cls)
        yield f"{self.constant(type)}({named}) is not {cls}"
        if issubclass(argument.cls, tuple | list):
            yield f"{self.constant(len)}({name}) != {len(argument.items)}"
        elif argument.cls is dict:
            yield f"{self.constant(tuple)}({name}) != {self.constant(argument.names)}"
            yield f"{{*{self.constant(map)}({self.constant(type)}, {name})}} - {self.constant(frozenset({str}))}"
        for k, item in enumerate(argument.items):
            self._items += 1
            if argument.cls is dict:
                part = f"[{self.constant(argument.names[k])}]"
            else:
                part = f".{argument.names[k]}" if argument.names else f"[{k}]"
            yield from self._other_type(name + part, f"{OURS}i{self._items}", item)
        if argument.static:
            yield f"{name} != {self.constant(argument.value)}"
        elif argument.dtype is not None:
            dtype = self.constant(argument.dtype)  # there is one object for most
            yield f"({name}.dtype is not {dtype} and {name}.dtype != {dtype})"
            if argument.single:
                yield f"{name}.ndim"
        if argument.is_lane:
            self.lanes[name] = argument
            if self.is_rounded(argument):  # what overflows would warn
                yield f"not {-F4.largest!r} <= {name} <= {F4.largest!r}"

    @property
    def arrays(self) -> list[str]:
        """The names of the arguments that are arrays."""
        return [name for name, argument in self.lanes.items() if argument.is_array]

    # --- after

    def _results(self) -> list[str]:
        """Count the lanes, and give the results the caller's form."""
        results = [f"{OURS}r{k}" for k in range(len(self.call.leaves))]
        arrays, single = self.arrays, not isinstance(self.call.result, Record)
        count = f"{results[0]}.size" if arrays else "1"
        lines = [f"    {OURS}lanes += {count}"]
        if arrays:
            lines += [f"    if {self.out} is not None:", f"        return {self.out}"]
        elif all(argument.cls in PYTHON for argument in self.lanes.values()):
            results = [f"{self.constant(_BACK[kind])}({name})"
                       for kind, name in zip(self.call.leaves, results, strict=True)]
        if has_objects(self.call.result):
            results = list(self._objects(iter(results)))
        return [*lines, f"    return {results[0] if single else '(' + ', '.join(results) + ',)'}"]

    def ordered(self) -> list[str]:
        """Fresh results in C's or Fortran's order of axes."""
        arrays, results = self.arrays, [f"{OURS}r{k}" for k in range(len(self.call.leaves))]
        if not arrays:
            return []
        alike = " and ".join([*[f"{name}.flags.fnc" for name in arrays],
                              *[f"{name}.shape == {arrays[0]}.shape" for name in arrays[1:]]])
        c_order, fortran = self.constant(np.ascontiguousarray), self.constant(np.asfortranarray)
        return [f"    if {results[0]}.ndim > 1 and {self.out} is None:",
                f"        {OURS}order = {fortran} if {alike} else {c_order}",
                *[f"        {name} = {OURS}order({name})" for name in results]]

    def _objects(self, results: Iterator[str]) -> Iterator[str]:
        """The items of the result, where some are objects or may be None."""
        arrays, form = self.arrays, self.entry.options.form
        for shape in items_of(self.call.result):
            value = next(results)
            if isinstance(shape, Leaf):
                yield value
            elif isinstance(shape, Labels) and arrays:
                yield f"{self.object(of_codes)}({self.object(shape)}, {value}, {self.object(form)})"
            elif isinstance(shape, Labels):
                yield f"{self.object(tuple(shape.table))}[{value}]"
            elif not arrays:
                yield f"(None if {next(results)} else {value})"
            elif form.none != "raise":
                yield f"{self.object(planned)}({self.object(shape)}, {value}, {next(results)}, {self.object(form)})"
            else:
                next(results)
                yield value

    def _nones(self) -> list[str]:
        """Leaves alone what has None in a lane, where that is an exception."""
        if not self.arrays or self.entry.options.none != "raise":
            return []
        flags = [f"{OURS}r{place}.any()" for place in none_leaves(self.call.result)]
        return [f"    if {' or '.join(flags)}:", f"        {MISS}"] if flags else []


# --- which calls have a plan
def recipe(caller: Calls, key: Sequence[Any], built: Built, settings: Settings, entry: Entry) -> Recipe | None:
    """How to make the plan for calls with this key, which `built` makes. None where they are not so simple."""
    arguments = key[1:]
    layers, leaves = in_force(), _leaves(built.result)
    if not isinstance(built.guards, Guards) or built.trips_limited:
        return None
    if layers is None or leaves is None or resolve(settings) is not entry.options:
        return None
    function, parameters = caller.callee.function, caller.parameters
    if owner_of(function)[0] or any(name.startswith(OURS) for name in parameters.names):
        return None
    stored = [lane.dtype if lane.is_array else None for argument in arguments for lane in argument.lanes]
    if len(stored) != sum(len(list(leaves_of(shape))) for shape in built.arguments.values()):
        return None  # a dict of numbers alone is static
    point = built.engine.entry_point(stored)  # type: ignore[attr-defined]
    if point is None or len(point.dtypes) != len(leaves):
        return None
    if has_objects(built.result) and not any(lane.is_array for argument in arguments for lane in argument.lanes) \
            and not all(lane.cls in PYTHON for argument in arguments for lane in argument.lanes):
        return None
    call = PlannedCall(arguments, built.result, leaves, built.reference is not None)
    cells = {"calls": caller.stats.calls_cell, "lanes": caller.stats.lanes_cell}
    text: PlanText
    if isinstance(point, EntryPoint):
        from pyflat.runtime.plan_text_numpy import NumpyText

        text = NumpyText(function, parameters, entry, cells, call, point)
    else:
        from pyflat.runtime.plan_text_numba import NumbaText

        text = NumbaText(function, parameters, entry, cells, call, point)
    types = [*text.other_types()]
    conditions = [*text.other_options(layers, "target" not in dict(settings)), *types]
    same = text.same_outside(built.guards, any(argument.cls is NotGiven for argument in arguments))
    lines = text.lines(conditions, list(same))
    return Recipe(tuple(lines), parameters, tuple(text.constants), text.cells, function, point)


def _leaves(shape: Shape) -> tuple[Kind, ...] | None:
    """The kinds of the leaves of a result that is a number or object or a tuple of them."""
    if all(map(_is_simple, items_of(shape))):
        return tuple(leaf.kind for leaf in leaves_of(shape)) or None
    return None


def _is_simple(shape: Shape) -> bool:
    return isinstance(shape, Leaf | Labels) or isinstance(shape, Maybe) and isinstance(shape.inner, Leaf)
