"""One plan (`pyflat.runtime.plans`): the lines that it is made of, what it knows of arguments and of what is around
them, and when it is made again."""

from __future__ import annotations

import builtins
import keyword
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, cast
from weakref import ReferenceType

import numpy as np

from pyflat.frontend.callables import NOT_GIVEN, NotGiven, Parameters
from pyflat.frontend.notices import PLAN_FILE
from pyflat.frontend.state.guards import ABSENT, Guards, Reading
from pyflat.functions import ways
from pyflat.ir.shape import record_of
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.runtime import settings as settings_module
from pyflat.runtime.arguments import is_plain_dataclass
from pyflat.runtime.settings import InForce, Options
from pyflat.targets import threads
from pyflat.targets.operands import as_signed, is_stored
from pyflat.targets.target import at_hand

# --- what a plan knows of the arguments of a call
PYTHON: dict[type, Kind] = {float: FLOAT, int: INT, bool: BOOL}
_SCALARS = frozenset({*PYTHON, np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint32,
                      np.uint16, np.uint8, np.bool_})
"""A uint64 may be no lane."""
_FIXED = frozenset({str, bytes, bool, int, float})


class Argument(NamedTuple):
    """What a plan knows of one argument: its type, the dtype of an array, the items of a tuple, list, dict or
    dataclass, or the value of a string and of what is static."""

    cls: type
    dtype: np.dtype[Any] | None = None
    items: tuple[Argument, ...] = ()
    names: tuple[str, ...] = ()
    """The attributes, or keys, that the items are; none where they have numbers."""
    value: Any = None
    static: bool = False
    single: bool = False
    """Whether an array has no axes: a scalar to the kernel."""

    @property
    def is_array(self) -> bool:
        return self.dtype is not None and not self.single

    @property
    def is_lane(self) -> bool:
        """Whether it is an array or a number of a lane."""
        return not self.static and (self.dtype is not None or self.cls in _SCALARS)

    @property
    def number(self) -> np.dtype[Any]:
        """What its numbers are."""
        return np.dtype(self.cls) if self.dtype is None else self.dtype

    @property
    def lanes(self) -> Iterator[Argument]:
        """The numbers and arrays in it."""
        if self.is_lane:
            yield self
        for item in self.items:
            yield from item.lanes


def _argument(value: Any) -> Argument | None:
    cls = type(value)
    if cls is np.ndarray:
        dtype, single = value.dtype, not value.ndim
        if not is_stored(dtype) or (single and as_signed(dtype) is not dtype):
            return None
        return Argument(cls, np.dtype(dtype.str), single=single)
    if cls is str:
        return Argument(cls, value=value, static=True)
    if cls in _SCALARS or cls in (NotGiven, type(None)):
        return Argument(cls)
    parts = record_of(value)
    if parts is None or (is_dataclass(cls) and not is_plain_dataclass(cls)):
        return None
    return _with_items(cls, parts[1] if is_dataclass(cls) or cls is dict else (), list(map(_argument, parts[2])))


def _static(value: Any) -> Argument | None:
    """What a plan asks of a static argument. Of numbers that are equal some differ."""
    cls = type(value)
    if cls is tuple:
        return _with_items(cls, (), list(map(_static, value)))
    if cls in (NotGiven, type(None)):
        return Argument(cls)
    return Argument(cls, value=value, static=True) if cls in _FIXED and (cls is not float or value) else None


def _with_items(cls: type, names: tuple[str, ...], items: list[Argument | None]) -> Argument | None:
    return None if None in items else Argument(cls, items=cast("tuple[Argument, ...]", tuple(items)), names=names)


def key_of(names: Sequence[str], given: Sequence[Any], options: Options) -> tuple[Any, ...] | None:
    """The key of the calls that one plan makes; None for calls that no plan makes. `given` has a value for each
    parameter."""
    target = at_hand(options.target)
    if target is None or options.dtype not in target.plans or options.errors == "mask":
        return None
    if not options.cache or options.whitelist:
        return None
    arguments = tuple([_static(value) if name in options.static else _argument(value)
                       for name, value in zip(names, given, strict=True)])
    if None in arguments or not any(list(argument.lanes) for argument in arguments if argument is not None):
        return None
    return id(options), *arguments


# --- conditions: that options in force, the function, and what it has read from outside are as they were
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


MAX_WAIT = 1024
"""Calls that a plan which fails every time waits before it is made again."""

Plan = Callable[..., Any]


class Entry:
    """The plan for one combination of types and options, and when it is made again."""

    __slots__ = ("_made_after", "_plan", "_wait", "built", "hits", "missed", "options", "recipe")

    def __init__(self, options: Options) -> None:
        self.options = options
        self.recipe: Recipe | None = None
        self.built: object = None
        """What makes the calls."""
        self.hits = 0
        self.missed = True
        """Something was not as expected: the plan has to be made again."""
        self._wait = self._made_after = 0
        self._plan: Plan | None = None

    def miss(self) -> None:
        """What a plan calls before it gives up."""
        self.missed = True

    def on_one_thread(self, lanes: int) -> bool:
        """Whether a call of so many lanes is for one thread, by the time that a lane has taken before."""
        parallel, split = self.options.parallel, getattr(self.built, "split", None)
        if ways.THREADS.forced == "several":
            return lanes <= threads.FORCED_GRAIN
        if parallel is False or split is None:
            return True
        short = parallel is None and (not split.shares or lanes * split.pace < threads.WORTH_IT)
        return short or threads.limit() < 2  # which asks the system, and takes microseconds

    def is_due(self, built: object, calls: int) -> bool:
        """Whether to make the plan now, after so many calls of the twin, for what makes its calls. One that fails again
        and again waits for twice as many calls each time."""
        if self.built is built:
            if not self.missed or calls - self._made_after < self._wait:
                return False
            often = calls - self._made_after < 4 * self._wait + 4
            self._wait = min(2 * self._wait + 1, MAX_WAIT) if often else 0
        self.built, self.missed, self._made_after = built, False, calls
        return True

    def prepare(self, recipe: Recipe | None) -> None:
        """Take another recipe."""
        self.recipe, self._plan = recipe, None

    def __call__(self, given: tuple[Any, ...], out: Any) -> Any:
        """The result of a call, Ellipsis where the plan does not make it."""
        if self.recipe is None or self.missed:
            return ...
        return self.made(self.recipe)(*given, out)

    def made(self, recipe: Recipe) -> Plan:
        """The plan of its recipe, which Python compiles when it is first needed."""
        if self._plan is None:
            self._plan = recipe.plan()
        return self._plan


@dataclass(frozen=True, slots=True)
class Recipe:
    """The lines of a plan, with `MISS` where it gives up, and what they mean."""

    lines: tuple[str, ...]
    parameters: Parameters
    constants: tuple[Any, ...]
    cells: Mapping[str, CellType]
    function: FunctionType
    kept: object

    def plan(self) -> Plan:
        """The function of a value for each parameter and `out`, Ellipsis where it gives up."""
        head = ", ".join([*self.parameters.names, f"{OURS}out" if self.parameters.takes_out else "out"])
        return self._made([f"def plan({head}):"], "return ...", {})

    def method(self, otherwise: Callable[..., Any], frames: AbstractContextManager[None]) -> Callable[..., Any]:
        """The method `__call__` of a twin; it gives up with `otherwise(self, (a value for each parameter), more
        arguments, out)` in `frames`. A parameter that is not passed is `NOT_GIVEN`, of no lane's type."""
        known = self.parameters
        positional = [f"{name}=None" for name in known.names[: known.positional]]
        positional.insert(known.by_position_only, "/")
        outputs = [] if known.takes_out else ["out"]
        named = [f"{name}=None" for name in [*known.names[known.positional:], *outputs]]
        head = ", ".join([f"{OURS}self", *positional, f"*{OURS}more", *named])
        values = "".join(f"{name}, " for name in known.names)
        given = ", ".join([f"{OURS}self", f"({values})", f"{OURS}more", *outputs])
        last = f"with {OURS}frames: return {OURS}general({given})"
        made = self._made([f"def __call__({head}):", f"    if {OURS}more:", f"        {last}"], last,
                          {f"{OURS}general": CellType(otherwise), f"{OURS}frames": CellType(frames)})
        made.__qualname__ = known.name
        made.__defaults__ = (NOT_GIVEN,) * known.positional
        made.__kwdefaults__ = dict.fromkeys(known.names[known.positional:], NOT_GIVEN) | {"out": None}
        return made

    def _made(self, head: list[str], miss: str, more: dict[str, CellType]) -> FunctionType:
        text = "\n".join([*head, *self.lines]).replace(MISS, miss)
        variables = {**self.cells, **more}
        code = _code(text, tuple(variables))
        code = code.replace(co_consts=self._meant(code.co_consts))
        cells = tuple(variables[name] for name in code.co_freevars)
        made = FunctionType(code, self.function.__globals__, code.co_name, None, cells)
        made.__dict__["kept"] = self.kept
        return made

    def _meant(self, constant: Any) -> Any:
        """What a constant of the code stands for; Python's compiler makes one of a tuple of several."""
        if type(constant) is tuple:
            return tuple(map(self._meant, constant))
        return self.constants[constant - MARK] if type(constant) is int and constant >= MARK else constant


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
