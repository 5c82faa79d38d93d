"""The text of a plan (`pyflat.runtime.plans`), and the function made of it.

What a plan knows are constants of its code where that is possible: they cost nothing to have. Python's compiler sees
numbers in their place. Names of the user's globals are read as Python reads them, since the function gets their
dictionary as its globals, and variables of functions that enclose the user's function are cells of its closure. So both
cost what they cost in the function itself. All names of ours begin with `_pyflat_`.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pyflat.frontend.callables import NOT_GIVEN, NotGiven, Parameters, owner_of
from pyflat.frontend.notices import PLAN_FILE
from pyflat.frontend.state.guards import Guards
from pyflat.functions import libm
from pyflat.ir.formats import F4, F8, dtypes
from pyflat.ir.shape import Labels, Leaf, Maybe, Record, Shape, record_of
from pyflat.ir.shape import leaves as leaves_of
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.runtime.arguments import is_plain_dataclass
from pyflat.runtime.labels import none_leaves, of_codes, planned
from pyflat.runtime.plan_conditions import MARK, OURS, Conditions
from pyflat.runtime.settings import Options, Settings, in_force, resolve
from pyflat.targets import threads
from pyflat.targets.numpy import engine as numpy_target
from pyflat.targets.operands import as_signed, is_stored
from pyflat.targets.target import at_hand

if TYPE_CHECKING:
    from pyflat.runtime.calls import Caller
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.plans import Entry, Plan
    from pyflat.targets.numba.compiled_kernel import KernelEntry
    from pyflat.targets.numba.packed import Blocks

    Point = KernelEntry | numpy_target.EntryPoint

MISS = "MISS"

WALKED = 4_000
"""Lanes from which on it is worth looking at how arrays lie, which takes a tenth of a microsecond, and two where NumPy
would not bring them to the kernel as they are."""

C_ORDER, FORTRAN, ALIGNED = 1, 2, 0x100
"""Of `array.flags.num`, in NumPy's ABI."""

_PYTHON: dict[type, Kind] = {float: FLOAT, int: INT, bool: BOOL}
_SCALARS = frozenset({*_PYTHON, np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint32,
                      np.uint16, np.uint8, np.bool_})
"""A uint64 may be no lane."""
_FIXED = frozenset({str, bytes, bool, int, float})
_BACK = {FLOAT: float, INT: int, BOOL: bool}


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
    """The same for an argument that is static. Of numbers that are equal some differ."""
    cls = type(value)
    if cls is tuple:
        return _with_items(cls, (), list(map(_static, value)))
    if cls in (NotGiven, type(None)):
        return Argument(cls)
    return Argument(cls, value=value, static=True) if cls in _FIXED and (cls is not float or value) else None


def _with_items(cls: type, names: tuple[str, ...], items: list[Argument | None]) -> Argument | None:
    return None if None in items else Argument(cls, items=cast("tuple[Argument, ...]", tuple(items)), names=names)


def key_of(names: Sequence[str], given: Sequence[Any], options: Options) -> tuple[Any, ...] | None:
    """The same for calls that one plan makes; None for calls that no plan makes. `given` has a value for each
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


def recipe(caller: Caller, key: Sequence[Any], built: Built, settings: Settings, entry: Entry) -> Recipe | None:
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
    if _has_objects(built.result) and not any(lane.is_array for argument in arguments for lane in argument.lanes) \
            and not all(lane.cls in _PYTHON for argument in arguments for lane in argument.lanes):
        return None
    text = _Text(function, parameters, entry, {"calls": caller.stats.calls_cell, "lanes": caller.stats.lanes_cell},
                 built.result, float32=built.reference is not None)
    if not isinstance(point, numpy_target.EntryPoint):
        classes = [None if lane.is_array else lane.cls for argument in arguments for lane in argument.lanes]
        calls = [point.dense(classes, most) for most in (_few(point) - 1, point.step)]
        text.direct = [call.cell for call in calls if call is not None]
    types = [*text.other_types(arguments)]
    conditions = [*text.other_options(layers, "target" not in dict(settings)), *types]
    same = text.same_outside(built.guards, any(argument.cls is NotGiven for argument in arguments))
    lines = text.lines(conditions, list(same), leaves, point)
    return Recipe(tuple(lines), parameters, tuple(text.constants), text.cells, function, point)


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

    def method(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """The method `__call__` of a twin; it gives up with `otherwise(self, (a value for each parameter), more
        arguments, out)`. A parameter that is not passed is `NOT_GIVEN`, of no lane's type."""
        known = self.parameters
        positional = [f"{name}=None" for name in known.names[: known.positional]]
        positional.insert(known.by_position_only, "/")
        outputs = [] if known.takes_out else ["out"]
        named = [f"{name}=None" for name in [*known.names[known.positional:], *outputs]]
        head = ", ".join([f"{OURS}self", *positional, f"*{OURS}more", *named])
        values = "".join(f"{name}, " for name in known.names)
        last = f"return {OURS}general({', '.join([f'{OURS}self', f'({values})', f'{OURS}more', *outputs])})"
        made = self._made([f"def __call__({head}):", f"    if {OURS}more:", f"        {last}"], last,
                          {f"{OURS}general": CellType(otherwise)})
        made.__qualname__ = known.name
        made.__defaults__ = (NOT_GIVEN,) * known.positional
        made.__kwdefaults__ = dict.fromkeys(known.names[known.positional:], NOT_GIVEN) | {"out": None}
        return made

    def _made(self, head: list[str], miss: str, more: dict[str, CellType]) -> FunctionType:
        text = "\n".join([*head, *self.lines]).replace(MISS, miss)
        variables = {**self.cells, **more}
        code = _code(text, tuple(variables))
        known = self.constants
        constants = tuple(known[c - MARK] if type(c) is int and c >= MARK else c for c in code.co_consts)
        cells = tuple(variables[name] for name in code.co_freevars)
        made = FunctionType(code.replace(co_consts=constants), self.function.__globals__, code.co_name, None, cells)
        made.__dict__["kept"] = self.kept
        return made


def _leaves(shape: Shape) -> tuple[Kind, ...] | None:
    """The kinds of the leaves of a result that is a number or object or a tuple of them."""
    if all(map(_is_simple, _items(shape))):
        return tuple(leaf.kind for leaf in leaves_of(shape)) or None
    return None


def _items(shape: Shape) -> tuple[Shape, ...]:
    """The items of a tuple; anything else is one."""
    return shape.items if isinstance(shape, Record) and shape.cls is tuple and not shape.names else (shape,)


def _is_simple(shape: Shape) -> bool:
    return isinstance(shape, Leaf | Labels) or isinstance(shape, Maybe) and isinstance(shape.inner, Leaf)


def _few(point: KernelEntry) -> int:
    """Lanes from which on threads may be worth it, or more than one call of the kernel."""
    return min(point.step + point.few, 2 * threads.GRAIN)


def _has_objects(shape: Shape) -> bool:
    return any(isinstance(item, Labels | Maybe) for item in _items(shape))


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


class _Lines(NamedTuple):
    """The part of a plan that an engine brings."""

    risky: list[str]
    """What may fail with one of the errors that a plan leaves to the long way."""
    run: list[str]
    suspect: str
    give_up: list[str]
    after: list[str]


class _Text(Conditions):
    """Writes a plan. `float32`: float lanes are float32."""

    def __init__(self, function: FunctionType, parameters: Parameters, entry: Entry, cells: dict[str, CellType],
                 result: Shape, *, float32: bool = False):
        super().__init__(function, parameters, cells)
        self.result = result
        self.float32 = float32
        self.entry = entry
        self.lanes: dict[str, Argument] = {}
        """What the kernel gets, by its name."""
        self.direct: list[CellType] = []
        """What makes calls with dense arrays, and looks at them itself: of a few lanes, and of as many as one call of
        the kernel is for."""
        self._unlike: list[str] = []
        """Conditions under which arguments are of other types that this sees."""
        self._items = 0

    def lines(self, unfit: list[str], same: list[str], leaves: Sequence[Kind], point: Point) -> list[str]:
        """All but the head. `unfit` are the conditions under which the plan is not for a call, `same` those under which
        it still holds."""
        errors = self.constant((NameError, KeyError, AttributeError, TypeError, ValueError, OverflowError,
                                struct.error))
        if isinstance(point, numpy_target.EntryPoint):
            lines, arrays = self._blocks(point), self._other_arrays()
        else:
            lines, arrays = self._kernel(point), self._too_many(point)
        before, run = [*arrays, *self._unfit_outputs(point)], [*lines.run, *lines.after, *self._ordered(leaves)]
        if lines.suspect:
            run[len(lines.run):len(lines.run)] = [f"    if {lines.suspect}:", *self._missed(lines.give_up)]
        looked = [f"        if not ({' and '.join(same)}):", *self._missed(deeper=True)]
        failed = [f"    except {errors}:", *self._missed()]
        if isinstance(point, numpy_target.EntryPoint) or not self.direct:
            middle = [*before, "    try:", *looked, *lines.risky, *failed, *run]
        else:
            unlike = [f"    if {' or '.join(self._unlike)}:", f"        {MISS}"] if self._unlike else []
            others = [*unlike, *before, "    try:", *lines.risky, *failed, *run]
            middle = ["    try:", *looked, *failed, *self._dense(leaves, point, others, lines.give_up)]
        return [
            f"    nonlocal {OURS}calls, {OURS}lanes",
            f"    if {' or '.join(unfit)}:",
            f"        {MISS}",
            *middle,
            *self._nones(),
            f"    {OURS}calls += 1",
            *self._results(leaves),
        ]

    def _missed(self, give_up: Sequence[str] = (), *, deeper: bool = False) -> list[str]:
        """Gives up where something was not as expected."""
        lines = [f"        {self.object(self.entry.miss)}()", *give_up, f"        {MISS}"]
        return [f"    {line}" for line in lines] if deeper else lines

    def _dense(self, leaves: Sequence[Kind], point: KernelEntry, others: list[str], give_up: list[str]) -> list[str]:
        """A call of `dense_calls`, and `others` where it is for other arrays."""
        first, found, missing = self._arrays()[0], f"{OURS}r", self.constant(NotImplemented)
        few, many = (f"{self.variable(call)}({', '.join([*self.lanes, self.out])})" for call in self.direct)
        if _has_objects(self.result) and self.out != "None":
            few, many = (f"{call} if {self.out} is None else {missing}" for call in (few, many))
        large = (f"{self.constant(type)}({first}) is {self.constant(np.ndarray)} and {first}.size >= {_few(point)} and "
                 f"{self.object(self.entry.on_one_thread)}({first}.size)")
        results = [f"{OURS}r{k}" for k in range(len(leaves) + point.hidden)]
        return [
            f"    {found} = {few}",
            f"    if {found} is {missing} and {large}:",
            f"        {found} = {many}",
            f"    if {found} is {missing}:",
            *[f"    {line}" for line in others],
            f"    elif {found} is ...{f' or {self.object(libm.raised)}' if point.calls_python else ''}:",
            *self._missed(give_up),
            "    else:",
            f"        {', '.join(results)} = {found}",
        ]

    def _operands(self) -> Iterator[str]:
        """The arguments as the kernel takes them; it swaps bytes itself."""
        for name, argument in self.lanes.items():
            if argument.dtype is not None and argument.is_array and not argument.dtype.isnative:
                yield f"{name}.view({self.constant(argument.dtype.newbyteorder('='))})"
            else:
                yield f"{self.constant(np.float32)}({name})" if self._is_rounded(argument) else name

    def _is_rounded(self, argument: Argument) -> bool:
        """Whether a scalar has more digits than lanes: NumPy rounds arrays only."""
        return self.float32 and not argument.is_array and argument.number == np.float64

    def _kernel(self, point: KernelEntry) -> _Lines:
        """One call of a numpy.ufunc, which refuses what cannot be broadcast."""
        flags = [self.variable(CellType(flag)) for flag in point.state.flags[: 1 + point.loops]]
        results = ", ".join(f"{OURS}r{k}" for k in range(len(point.dtypes) + point.hidden))
        kernel, operands = self.constant(point.call), list(self._operands())
        take, give_back = self._packing(point.blocks) if point.blocks is not None else ([], [])
        if point.blocks is not None:
            arrays = [text for text, a in zip(operands, self.lanes.values(), strict=True) if a.is_array]
            operands = [*arrays, f"{OURS}block[1]"]
        call = [f"        {results} = {kernel}({', '.join(operands)})"]
        if self._arrays():
            given = self._outputs(len(point.dtypes))
            walk = f"{self.object(point.walk)}({OURS}wide.shape, {', '.join(operands)})"
            call = [f"        if {OURS}wide is not None:", f"            {results} = {walk}",
                    f"        elif {self.out} is None:", f"    {call[0]}", "        else:",
                    f"            {results} = {kernel}({', '.join([*operands, *given])})"]
        give_up = [f"        {self.object(point.state.raise_discarded)}()"] if point.loops else []
        if point.calls_python:
            flags.append(self.object(libm.raised))
            give_up.append(f"        {self.object(libm.raise_pending)}()")
        return _Lines([*take, *call, *give_back], [], " or ".join(flags), give_up, [])

    def _packing(self, blocks: Blocks) -> tuple[list[str], list[str]]:
        """Writing the scalars into a block of memory, and giving that back."""
        free, block, missing = self.object(blocks.free), f"{OURS}block", self.constant(IndexError)
        scalars = [name for name, argument in self.lanes.items() if not argument.is_array]
        take = ["        try:", f"            {block} = {free}.pop()", f"        except {missing}:",
                f"            {block} = {self.object(blocks.make)}()",
                f"        {self.object(blocks.pack_into)}({block}[0], 0, {', '.join(scalars)})"]
        return take, [f"        {free}.append({block})"]

    def _blocks(self, point: numpy_target.EntryPoint) -> _Lines:
        """The NumPy engine's function, in np.errstate where another thread is in `quietly`."""
        arrays = self._arrays()
        numbers = {name: f"{self.constant(wanted)}({name})" for name, a in self.lanes.items()
                   if not a.is_array and (wanted := self._lane_type(a)) is not a.cls}
        scalars = {name: f"{OURS}s{k}" for k, name in enumerate(numbers)}
        risky = [f"        {scalars[name]} = {number}" for name, number in numbers.items()]
        operands = [scalars.get(name, name) for name in self.lanes]
        values = [f"{OURS}r{k}" for k in range(len(point.dtypes) + 1)]
        run = self.object(point.run)
        after = [] if arrays else [f"    {name} = {self.constant(dtype.type)}({name})"
                                   for name, dtype in zip(values, point.dtypes, strict=False)]
        suspect = f"{values[-1]} is not None" if arrays else values[-1]
        given = ", ".join([*operands, *(self._outputs(len(point.dtypes)) if arrays else ())])
        return _Lines(risky, [
            "    try:",
            f"        {', '.join(values)}, = {self.constant(numpy_target.quietly)}({run}, {given})",
            f"    except {self.constant(RuntimeError)}:",
            f"        with {self.constant(np.errstate)}(all='ignore'):",
            f"            {', '.join(values)}, = {run}({given})",
        ], suspect, [], after)

    def _lane_type(self, argument: Argument) -> type:
        """NumPy's scalar of the lanes that have a scalar's numbers."""
        kind = {"b": BOOL, "f": FLOAT}.get(argument.number.kind, INT)
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

    # --- out=

    @property
    def out(self) -> str:
        """What a call has passed as `out=`."""
        return "None" if self.parameters.takes_out else "out"

    def _outputs(self, count: int) -> list[str]:
        """The arrays that `out=` gives, or None each."""
        return [self.out] if count == 1 else [f"{OURS}o{k}" for k in range(count)]

    def _unfit_outputs(self, point: Point) -> list[str]:
        """Leaves alone what is not as a fresh result would be; of another shape it is refused by what runs. A lane may
        be run again, so that arguments must stay as they are. NumPy computes some of its functions with other bits into
        an array whose items lie apart, and 2.4 writes wrong ones there for isnan, isinf and isfinite."""
        arrays, outputs = self._arrays(), self._outputs(len(point.dtypes))
        if self.parameters.takes_out:
            return [] if len(outputs) == 1 or not arrays else [f"    {' = '.join(outputs)} = None"]
        if arrays and _has_objects(self.result):
            none = [f"    {' = '.join(outputs)} = None"] if len(outputs) > 1 else []
            return [f"    if {self.out} is not None:", f"        {MISS}", *none]
        if not arrays:
            return [f"    if {self.out} is not None:", f"        {MISS}"]
        first, kind = arrays[0], self.constant(type)
        unfit = []
        for k, (name, dtype) in enumerate(zip(outputs, point.dtypes, strict=True)):
            unfit += [f"{kind}({name}) is not {self.constant(np.ndarray)}",
                      f"({name}.dtype is not {self.constant(dtype)} and {name}.dtype != {self.constant(dtype)})",
                      f"not ({OURS}flags := {name}.flags).writeable"]
            if isinstance(point, numpy_target.EntryPoint):
                unfit.append(f"not {OURS}flags.c_contiguous")
                unfit += [f"{name}.shape != {first}.shape"] if len(arrays) == 1 else []
            else:
                unfit.append(f"{name}.size >= {2 * threads.GRAIN} and {name}.shape != {first}.shape")
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

    def other_types(self, arguments: Sequence[Argument]) -> Iterator[str]:
        """Conditions under which the arguments are of other types; where none holds, the items of tuples have names."""
        for name, argument in zip(self.parameters.names, arguments, strict=True):
            conditions = self._other_type(name, name, argument)
            if self.direct and argument.is_lane:
                self._unlike += conditions
            else:
                yield from conditions

    def _other_type(self, value: str, name: str, argument: Argument) -> Iterator[str]:
        """The same for one argument, which is or gets `name`."""
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
            if self._is_rounded(argument):  # what overflows would warn
                yield f"not {-F4.largest!r} <= {name} <= {F4.largest!r}"

    def _too_many(self, point: KernelEntry) -> list[str]:
        """Leaves calls alone that are worth threads, and those that Ctrl-C should be able to end in between: `step`
        lanes are for one call of the kernel, from `limit` on threads may be worth it. Arrays that NumPy would bring to
        the kernel by rows or in buffers are for `walk`, which gets their common shape."""
        arrays, limit = self._arrays(), _few(point)
        if not arrays:
            return []
        left = self._missed() if point.few else [f"        {MISS}"]  # the call compiles what the next plan takes
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

    def _arrays(self) -> list[str]:
        return [name for name, argument in self.lanes.items() if argument.is_array]

    # --- after

    def _results(self, leaves: Sequence[Kind]) -> list[str]:
        """Count the lanes, and give the results the caller's form."""
        results = [f"{OURS}r{k}" for k in range(len(leaves))]
        arrays, single = self._arrays(), not isinstance(self.result, Record)
        count = f"{results[0]}.size" if arrays else "1"
        lines = [f"    {OURS}lanes += {count}"]
        if arrays:
            lines += [f"    if {self.out} is not None:", f"        return {self.out}"]
        elif all(argument.cls in _PYTHON for argument in self.lanes.values()):
            results = [f"{self.constant(_BACK[kind])}({name})" for kind, name in zip(leaves, results, strict=True)]
        if _has_objects(self.result):
            results = list(self._objects(iter(results)))
        return [*lines, f"    return {results[0] if single else '(' + ', '.join(results) + ',)'}"]

    def _ordered(self, leaves: Sequence[Kind]) -> list[str]:
        """Fresh results in C's or Fortran's order of axes."""
        arrays, results = self._arrays(), [f"{OURS}r{k}" for k in range(len(leaves))]
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
        arrays, form = self._arrays(), self.entry.options.form
        for shape in _items(self.result):
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
        if not self._arrays() or self.entry.options.none != "raise":
            return []
        flags = [f"{OURS}r{place}.any()" for place in none_leaves(self.result)]
        return [f"    if {' or '.join(flags)}:", f"        {MISS}"] if flags else []
