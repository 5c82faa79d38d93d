"""How a plan (`pyflat.runtime.plans`) is made: which calls have one, its text, and the function made of that."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from pyflat.frontend.callables import NOT_GIVEN, NotGiven, Parameters, owner_of
from pyflat.frontend.notices import PLAN_FILE
from pyflat.frontend.state.guards import Guards
from pyflat.ir.shape import Labels, Leaf, Maybe, Shape
from pyflat.ir.shape import leaves as leaves_of
from pyflat.ir.types import Kind
from pyflat.runtime.plan_arguments import PYTHON
from pyflat.runtime.plan_conditions import MARK, OURS
from pyflat.runtime.plan_text import MISS, PlannedCall, PlanText, has_objects, items_of
from pyflat.runtime.settings import Settings, in_force, resolve
from pyflat.targets.operands import EntryPoint

if TYPE_CHECKING:
    from pyflat.runtime.calls import Caller
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.plans import Entry, Plan


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
    if all(map(_is_simple, items_of(shape))):
        return tuple(leaf.kind for leaf in leaves_of(shape)) or None
    return None


def _is_simple(shape: Shape) -> bool:
    return isinstance(shape, Leaf | Labels) or isinstance(shape, Maybe) and isinstance(shape.inner, Leaf)


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
