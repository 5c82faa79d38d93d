"""One plan (`pyflat.runtime.plans`): the lines that it is made of, and when it is made again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from pyflat.frontend.callables import NOT_GIVEN, Parameters
from pyflat.frontend.notices import PLAN_FILE
from pyflat.functions import ways
from pyflat.runtime.plan_conditions import MARK, MISS, OURS
from pyflat.targets import threads

if TYPE_CHECKING:
    from pyflat.runtime.settings import Options

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
