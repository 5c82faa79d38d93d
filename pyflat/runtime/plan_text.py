"""The text of a plan (`pyflat.runtime.plans`), and the function made of it.

What a plan knows are constants of its code where that is possible: they cost nothing to have. Python's compiler sees
numbers in their place. Names of the user's globals are read as Python reads them, since the function gets their
dictionary as its globals, and variables of functions that enclose the user's function are cells of its closure. So both
cost what they cost in the function itself. All names of ours begin with `_pyflat_`.
"""

from __future__ import annotations

import builtins
import keyword
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ReferenceType

import numpy as np

from pyflat.frontend.callables import owner_of
from pyflat.frontend.notices import PLAN_FILE
from pyflat.frontend.state.guards import ABSENT, Guards, Reading
from pyflat.ir.formats import F4, F8, dtypes
from pyflat.ir.shape import Leaf, Record, Shape
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.runtime import settings as settings_module
from pyflat.runtime.settings import InForce, Options, Settings, in_force, resolve
from pyflat.targets import threads
from pyflat.targets.numpy import engine as numpy_target
from pyflat.targets.operands import is_stored
from pyflat.targets.target import at_hand

if TYPE_CHECKING:
    from pyflat.runtime.calls import Caller
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.plans import Entry, Plan
    from pyflat.targets.numba import engine as numba

    Point = numba.KernelEntry | numpy_target.EntryPoint

MISS = "MISS"
_OURS = "_pyflat_"
_LOCAL = ("self", "args")
_MARK = 10**20
"""The first of the numbers that stand for what a plan knows, until its code is made."""

_PYTHON: dict[type, Kind] = {float: FLOAT, int: INT, bool: BOOL}
_SCALARS = frozenset({*_PYTHON, np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint32,
                      np.uint16, np.uint8, np.bool_})
"""A uint64 may be no lane."""
_WIDER = (float, np.float64)
"""Scalars that are rounded where float lanes are float32: NumPy does so for arrays only."""
_BACK = {FLOAT: float, INT: int, BOOL: bool}


_ATOMS = (bool, int, float, complex, str, bytes, type(None), np.generic, BuiltinFunctionType, np.ufunc, CodeType,
          ReferenceType)


class Argument(NamedTuple):
    """What a plan knows of one argument: its type, and the dtype of an array."""

    cls: type
    dtype: np.dtype[Any] | None


def key_of(args: Sequence[Any], options: Options) -> tuple[Any, ...] | None:
    """The same for calls that one plan makes; None for calls that no plan makes."""
    target = at_hand(options.target)
    if target is None or options.dtype not in target.plans or options.errors == "mask" or not args:
        return None
    if options.static or not options.cache or options.whitelist:
        return None
    key: list[Any] = [id(options)]
    for value in args:
        if type(value) is np.ndarray and is_stored(value.dtype):
            key.append(Argument(np.ndarray, np.dtype(value.dtype.str)))
        elif type(value) in _SCALARS:
            key.append(Argument(type(value), None))
        else:
            return None
    return tuple(key)


def recipe(caller: Caller, key: Sequence[Any], built: Built, settings: Settings, entry: Entry) -> Recipe | None:
    """How to make the plan for calls with this key, which `built` makes. None where they are not so simple."""
    arguments = key[1:]
    layers, leaves = in_force(), _leaves(built.result)
    if not isinstance(built.guards, Guards) or built.trips_limited:
        return None
    if layers is None or leaves is None or resolve(settings) is not entry.options:
        return None
    function = caller.callee.function
    if not caller.parameters.simple or owner_of(function)[0]:
        return None
    point = built.engine.entry_point([a.dtype for a in arguments])  # type: ignore[attr-defined]
    if point is None:
        return None
    text = _Text(function, arguments, entry, {"calls": caller.stats.calls_cell, "lanes": caller.stats.lanes_cell},
                 float32=built.reference is not None)
    if len(point.dtypes) != len(leaves):
        return None
    conditions = [*text.other_options(layers, "target" not in dict(settings)), *text.other_types()]
    same = text.same_outside(built.guards, len(arguments) < len(caller.parameters.names))
    lines = text.lines(conditions, list(same), leaves, point)
    return Recipe(tuple(lines), tuple(text.names), tuple(text.constants), text.cells, function, point)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The lines of a plan, with `MISS` where it gives up, and what they mean."""

    lines: tuple[str, ...]
    arguments: tuple[str, ...]
    constants: tuple[Any, ...]
    cells: Mapping[str, CellType]
    function: FunctionType
    kept: object

    def plan(self) -> Plan:
        """The function of a tuple of arguments, None where it gives up."""
        names, error = ", ".join(self.arguments), _MARK + len(self.constants)
        unpack = ("    try:", f"        {names}, = args", f"    except ({error}):", "        return None")
        return self._made(("def plan(args):", *unpack), "return None", (ValueError,))

    def method(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """The method `__call__` of a twin; it gives up with `otherwise(self, (arguments), more arguments, keywords)`.
        Having parameters saves the tuple that `*args` makes; one that is not passed is `ABSENT`, of no lane's type."""
        names = ", ".join(self.arguments)
        call = f"({_MARK + len(self.constants)})"
        parameters = ", ".join(f"{name}=None" for name in self.arguments)
        last = f"return {call}(self, ({names},), {_OURS}more, {_OURS}named)"
        head = (f"def __call__(self, {parameters}, /, *{_OURS}more, **{_OURS}named):",
                f"    if {_OURS}more or {_OURS}named:", f"        {last}")
        made = self._made(head, last, (otherwise,))
        made.__defaults__ = (ABSENT,) * len(self.arguments)
        return made

    def _made(self, head: tuple[str, ...], miss: str, more: tuple[Any, ...]) -> Callable[..., Any]:
        text = "\n".join([*head, *self.lines]).replace(MISS, miss)
        code = _code(text, tuple(self.cells))
        known = (*self.constants, *more)
        constants = tuple(known[c - _MARK] if type(c) is int and c >= _MARK else c for c in code.co_consts)
        cells = tuple(self.cells[name] for name in code.co_freevars)
        made = FunctionType(code.replace(co_consts=constants), self.function.__globals__, code.co_name, None, cells)
        made.__dict__["kept"] = self.kept
        return made


def _leaves(shape: Shape) -> tuple[Kind, ...] | None:
    """The kinds of a result that is one number or a tuple of numbers."""
    match shape:
        case Leaf():
            return (shape.kind,)
        case Record(cls, (), items) if cls is tuple and items:
            kinds = tuple(item.kind for item in items if isinstance(item, Leaf))
            return kinds if len(kinds) == len(items) else None
    return None


@lru_cache(maxsize=256)
def _code(text: str, names: tuple[str, ...]) -> CodeType:
    """The code of a plan, whose free variables are `names`."""
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # numbers that are called, or compared with `is`
        name = text[4 : text.index("(")]
        whole = compile(f"def make({', '.join(names)}):\n{body}    return {name}\n", PLAN_FILE, "exec")
    exec(whole, scope)
    code: CodeType = scope["make"](*names).__code__
    return code


def _is_plain(name: str) -> bool:
    """Whether a plan can have this name in its text."""
    ours = name in _LOCAL or name.startswith(("__", _OURS))
    return name.isidentifier() and not keyword.iskeyword(name) and not ours


class _Lines(NamedTuple):
    """The part of a plan that an engine brings."""

    risky: list[str]
    """What may fail with one of the errors that a plan leaves to the long way."""
    run: list[str]
    suspect: str
    give_up: list[str]
    after: list[str]


class _Text:
    """Writes a plan; `constants` and `cells` have what its numbers and free variables are. `float32`: float lanes are
    float32."""

    def __init__(self, function: FunctionType, arguments: Sequence[Argument], entry: Entry, cells: dict[str, CellType],
                 *, float32: bool = False):
        self.float32 = float32
        self.function = function
        self.arguments = arguments
        self.entry = entry
        self.constants: list[Any] = []
        self.cells = {_OURS + name: cell for name, cell in cells.items()}
        self.names = [f"{_OURS}a{k}" for k in range(len(arguments))]

    def constant(self, value: Any) -> str:
        """This object, which is never freed or refers to nothing."""
        self.constants.append(value)
        return f"({_MARK + len(self.constants) - 1})"

    def object(self, value: Any) -> str:
        """Any object. The garbage collector does not look into code: what may lead back to the plan is in a cell."""
        return self.constant(value) if isinstance(value, _ATOMS) else self.variable(CellType(value))

    def variable(self, cell: CellType) -> str:
        """A free variable that is this cell."""
        name = f"{_OURS}v{len(self.cells)}"
        self.cells[name] = cell
        return name

    def lines(self, unfit: list[str], same: list[str], leaves: Sequence[Kind], point: Point) -> list[str]:
        """All but the head. `unfit` are the conditions under which the plan is not for a call, `same` those under which
        it still holds."""
        miss = self.object(self.entry.miss)
        errors = self.constant((NameError, KeyError, AttributeError, TypeError, ValueError, OverflowError))
        if isinstance(point, numpy_target.EntryPoint):
            lines, arrays = self._blocks(point), self._other_arrays()
        else:
            lines, arrays = self._kernel(point), self._too_many(min(point.step, 2 * threads.GRAIN), point.step)
        return [
            f"    nonlocal {_OURS}calls, {_OURS}lanes",
            f"    if {' or '.join(unfit)}:",
            f"        {MISS}",
            *arrays,
            "    try:",
            f"        if not ({' and '.join(same)}):",
            f"            {miss}()",
            f"            {MISS}",
            *lines.risky,
            f"    except {errors}:",
            f"        {miss}()",
            f"        {MISS}",
            *lines.run,
            f"    if {lines.suspect}:",
            f"        {miss}()",
            *lines.give_up,
            f"        {MISS}",
            *lines.after,
            f"    {_OURS}calls += 1",
            *self._results(leaves),
        ]

    def _operands(self) -> Iterator[str]:
        """The arguments as the kernel takes them; it swaps bytes itself."""
        for name, argument in zip(self.names, self.arguments, strict=True):
            if argument.dtype is not None and not argument.dtype.isnative:
                yield f"{name}.view({self.constant(argument.dtype.newbyteorder('='))})"
            else:
                yield f"{self.constant(np.float32)}({name})" if self.float32 and argument.cls in _WIDER else name

    def _kernel(self, point: numba.KernelEntry) -> _Lines:
        """One call of a numpy.ufunc, which refuses what cannot be broadcast."""
        flags = [self.variable(CellType(flag)) for flag in point.state.flags[: 1 + point.loops]]
        results = [f"{_OURS}r{k}" for k in range(len(point.dtypes) + point.hidden)]
        call = f"        {', '.join(results)} = {self.constant(point.call)}({', '.join(self._operands())})"
        give_up = [f"        {self.object(point.state.raise_discarded)}()"] if point.loops else []
        return _Lines([call], [], " or ".join(flags), give_up, [])

    def _blocks(self, point: numpy_target.EntryPoint) -> _Lines:
        """The NumPy engine's function, in np.errstate where another thread is in `quietly`."""
        arrays = self._arrays()
        risky = [f"        {name} = {self.constant(wanted)}({name})"
                 for name, a in zip(self.names, self.arguments, strict=True)
                 if a.dtype is None and (wanted := self._lane_type(a.cls)) is not a.cls]
        values = [f"{_OURS}r{k}" for k in range(len(point.dtypes) + 1)]
        run = self.object(point.run)
        after = [] if arrays else [f"    {name} = {self.constant(dtype.type)}({name})"
                                   for name, dtype in zip(values, point.dtypes, strict=False)]
        suspect = f"{values[-1]} is not None" if arrays else values[-1]
        return _Lines(risky, [
            "    try:",
            f"        {', '.join(values)}, = {self.constant(numpy_target.quietly)}({run}, {', '.join(self.names)})",
            f"    except {self.constant(RuntimeError)}:",
            f"        with {self.constant(np.errstate)}(all='ignore'):",
            f"            {', '.join(values)}, = {run}({', '.join(self.names)})",
        ], suspect, [], after)

    def _lane_type(self, cls: type) -> type:
        """NumPy's scalar of the lanes that have the numbers of a scalar's class."""
        kind = _PYTHON.get(cls) or _PYTHON[type(cls(0).item())]
        return dtypes(F4 if self.float32 else F8)[kind].type

    def _other_arrays(self) -> list[str]:
        """Leaves alone what has no lanes or no axes, and what is worth threads."""
        arrays = self._arrays()
        if not arrays:
            return []
        first = arrays[0]
        alone = f"{self.object(self.entry.on_one_thread)}({first}.size)"
        unfit = [f"not {first}.size", f"({first}.size >= {2 * threads.GRAIN} and not {alone})",
                 f"not ({' or '.join(f'{name}.ndim' for name in arrays)})"]
        if self.entry.options.parallel:
            unfit += [f"{name}.shape != {first}.shape" for name in arrays[1:]]
        return [f"    if {' or '.join(unfit)}:", f"        {MISS}"]

    # --- before

    def other_types(self) -> Iterator[str]:
        """Conditions under which the arguments are of other types."""
        kind = self.constant(type)
        for name, argument in zip(self.names, self.arguments, strict=True):
            yield f"{kind}({name}) is not {self.constant(argument.cls)}"
            if argument.dtype is not None:
                dtype = self.constant(argument.dtype)  # there is one object for most
                yield f"({name}.dtype is not {dtype} and {name}.dtype != {dtype})"
            elif self.float32 and argument.cls in _WIDER:  # what overflows would warn
                yield f"not {-F4.largest!r} <= {name} <= {F4.largest!r}"

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

    def _too_many(self, limit: int, most: int) -> list[str]:
        """Leaves calls alone that are worth threads, and those that Ctrl-C should be able to end in between: `most`
        lanes are for one call of the kernel, from `limit` on threads may be worth it. Those in Fortran's order as well:
        the result, which is in C's, would be there twice."""
        arrays = self._arrays()
        if not arrays:
            return []
        first = arrays[0]
        ordered = " or ".join(f"{name}.flags.fnc" for name in arrays)
        alone = f"{first}.size <= {most} and not ({ordered}) and {self.object(self.entry.on_one_thread)}({first}.size)"
        if len(arrays) == 1:
            return [f"    if {first}.size >= {limit} and not ({alone}):", f"        {MISS}"]
        product = " * ".join(f"{name}.size" for name in arrays)
        shapes = " == ".join(f"{name}.shape" for name in arrays)
        fits = f"{shapes} and ({first}.size < {limit} or {alone})"
        return [f"    if {product} >= {limit} and not ({fits}):", f"        {MISS}"]

    def _arrays(self) -> list[str]:
        return [name for name, a in zip(self.names, self.arguments, strict=True) if a.dtype is not None]

    def same_outside(self, guards: Guards, defaults: bool) -> Iterator[str]:
        """Conditions under which the function and what it has read are as they were."""
        function = self.function
        own = self.object(function)
        yield f"{own}.__code__ is {self.object(function.__code__)}"
        if defaults or guards.calls_itself(function):
            yield f"{own}.__defaults__ is {self.object(function.__defaults__)}"
            yield f"{own}.__kwdefaults__ is {self.object(function.__kwdefaults__)}"
        readings = list(guards.readings())
        absent = {r.name for r in readings if self._is_global(r) and r.value is ABSENT}
        standard = getattr(function, "__builtins__", None) is vars(builtins)
        found = {r.name for r in readings if r.owner is vars(builtins) and r.value is not ABSENT and _is_plain(r.name)}
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
        plain = _is_plain(name)
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

    # --- after

    def _results(self, leaves: Sequence[Kind]) -> list[str]:
        """Count the lanes, and give the results the caller's form."""
        results = [f"{_OURS}r{k}" for k in range(len(leaves))]
        arrays, single = self._arrays(), len(leaves) == 1
        count = f"{results[0]}.size" if arrays else "1"
        lines = [f"    {_OURS}lanes += {count}"]
        if arrays:
            order = self.constant(np.ascontiguousarray)
            lines.append(f"    if {results[0]}.ndim > 1:")
            lines += [f"        {name} = {order}({name})" for name in results]
        elif all(argument.cls in _PYTHON for argument in self.arguments):
            results = [f"{self.constant(_BACK[kind])}({name})" for kind, name in zip(leaves, results, strict=True)]
        return [*lines, f"    return {results[0] if single else '(' + ', '.join(results) + ',)'}"]
