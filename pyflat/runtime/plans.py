"""Plans: what a call of a twin comes to where nothing is unusual, written out as one Python function.

Python itself binds the arguments, by position or by name, to parameters that have the function's names.

A call is bound, classified, broadcast, run and collected by `pyflat.runtime.calls`, which takes twenty microseconds.
For lanes of known types all of that is known beforehand but for a few tests, and then a plan makes the call, in less
than one:

    def __call__(self, /, x=absent, y=absent, *more, out=None):
        types of the arguments, options in force            those that the plan was made for?
        number of lanes                                     small enough for one run on one thread?
        out                                                 as a fresh result would be, and apart from the arguments?
        code of the function, what it has read from outside is as it was?
        r = kernel(x, y)                                    a numpy.ufunc: broadcasting, strides; or kernel(x, y, out)
        the kernel's count of suspect lanes                 still 0?
        return r

What a plan does not find as expected it leaves alone: the call is made as ever, so that results, errors and counts are
the same with and without plans. A plan that ran and found suspect lanes, or something changed
outside, is made again after that call. A plan runs with the globals of the function it stands for, which makes reading
them a hundred times cheaper than looking at dictionaries.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any

from pyflat.errors import FlattenError
from pyflat.frontend.callables import NOT_GIVEN, Parameters
from pyflat.functions import ways

if TYPE_CHECKING:
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.interfaces import Calls, Planned
    from pyflat.runtime.kernels import Version
    from pyflat.runtime.plan_entries import Entry, Recipe
    from pyflat.runtime.settings import Options

MAX_PLANS = 32
"""For each twin: combinations of argument types and options. They are tried one after the other, each in a few tenths
of a microsecond; making one again takes a hundred times as long."""

PROMOTED = 16
"""So many calls by another plan than the first make it the first."""


class OwnFrames(contextlib.ContextDecorator):
    """The traceback of an exception that `function` raises inside begins with the function's own frame. FlattenErrors
    and LaneErrors, whose messages name the place, have no frame. PYFLAT_TRACEBACK=1 keeps all. Decorates entry points.
    """

    __slots__ = ("_code",)

    def __init__(self, function: FunctionType | None = None) -> None:
        self._code = function.__code__ if function else None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, step: TracebackType | None) -> None:
        if error is None or os.environ.get("PYFLAT_TRACEBACK"):
            return
        from pyflat.runtime.faults import LaneError, TripLimitError

        known = self._code and (self._code.co_filename, self._code.co_firstlineno)
        while step and known != (step.tb_frame.f_code.co_filename, step.tb_frame.f_code.co_firstlineno):
            step = step.tb_next
        if step or isinstance(error, FlattenError | LaneError | TripLimitError):
            error.__traceback__ = step  # raised again as it is: the frame that has entered does not come back


def _no_call(*args: Any, **kwargs: Any) -> Any:
    raise TypeError("no twin")


class Plans:
    """The plans of one twin. The first is tried at each call: it is the method `__call__` of a class which the twin has
    to itself."""

    __slots__ = ("_call", "_entries", "_first", "_general", "_own", "others")

    def __init__(self) -> None:
        self._own: type | None = None
        self._call = self._general = _no_call
        self._first: Entry | None = None
        self._entries: dict[tuple[Any, ...], Entry] = {}
        self.others: tuple[Entry, ...] = ()

    def find(self, twin: Planned, given: tuple[Any, ...], out: Any) -> Any:
        """The result of another plan than the first, Ellipsis where none of them makes this call. `given` has a value
        for each parameter."""
        for entry in self.others:
            found = entry(given, out)
            if found is not ...:
                entry.hits += 1
                if entry.hits >= PROMOTED and entry.hits & (entry.hits - 1) == 0:  # classes must not change for ever
                    self._install(twin, entry)
                return found
        return ...

    def learn(
        self, caller: Calls, arguments: Mapping[str, Any], built: Built, options: Options, twin: Planned
    ) -> None:
        """Make the plan for calls like this one, which was just made without, if there can be one."""
        from pyflat.runtime import plan_text
        from pyflat.runtime.plan_entries import key_of

        parameters = caller.parameters
        if parameters.extra is not None or parameters.keywords is not None or not parameters.all_from_caller:
            return
        given = [arguments.get(name, NOT_GIVEN) for name in parameters.names]
        key = key_of(parameters.names, given, options)
        if key is not None:
            self._take(caller, key, built, options, twin,
                       lambda entry: plan_text.recipe(caller, key, built, twin.settings, entry))

    def learn_kernel(
        self, caller: Calls, options: Options, twin: Planned, version: Version, arguments: Mapping[str, Any],
        seconds: float, watch: bool
    ) -> None:
        """Make the plan for calls of a kernel like this one, which took so many seconds; `watch`: warnings
        count."""
        from pyflat.runtime import kernel_plans

        parameters = caller.parameters
        if parameters.extra is not None or parameters.keywords is not None or not parameters.all_from_caller:
            return
        given = {name: arguments.get(name, NOT_GIVEN) for name in parameters.names}
        limit = version.sharing.least(caller.kernels.parallel(options))
        if limit and seconds >= limit:
            return
        key = kernel_plans.key_of(version, given, options, watch, limit)
        if limit and (entry := self._entries.get(key)) is not None:  # which has given up arrays of this size
            entry.miss()
        self._take(caller, key, version, options, twin, lambda entry: kernel_plans.recipe(
            caller, version, given, twin.settings, entry, seconds, watch, limit))

    def _take(self, caller: Calls, key: tuple[Any, ...], built: object, options: Options, twin: Planned,
              recipe: Callable[[Entry], Recipe | None]) -> None:
        """Make the plan with this key, where it is due."""
        if ways.CALLS.forced == "long":
            return
        entry = self._entries.get(key)
        if entry is None:
            from pyflat.runtime.plan_entries import Entry

            while len(self._entries) >= MAX_PLANS:
                self._entries.pop(next(iter(self._entries)), None)
            entry = self._entries[key] = Entry(options)
        if not entry.is_due(built, caller.stats.calls):
            return
        entry.prepare(recipe(entry))
        if entry.recipe is None:
            entry.missed = True
        elif self._first in (None, entry) or self._first not in self._entries.values():
            self._general = self._at_length(caller.parameters)
            self._install(twin, entry)
        self.others = tuple(e for e in self._entries.values() if e is not self._first)

    def make(self) -> None:
        """Compile what calls would compile when they come."""
        for entry in self.others:
            if entry.recipe is not None:
                entry.made(entry.recipe)

    def _at_length(self, parameters: Parameters) -> Callable[..., Any]:
        """What the first plan gives up with: a value for each parameter, arguments beyond these, and `out=`."""

        def general(twin: Planned, given: tuple[Any, ...], more: tuple[Any, ...], out: Any = None) -> Any:
            if not more and (found := self.find(twin, given, out)) is not ...:
                return found
            first = given[: parameters.positional]
            count = next((k for k, value in enumerate(first) if value is NOT_GIVEN), len(first))
            pairs = zip(parameters.names[count:], given[count:], strict=True)
            named = {name: value for name, value in pairs if value is not NOT_GIVEN}
            if out is not None:
                named["out"] = out
            return self._call(twin, *given[:count], *more, **named)

        return general

    def _install(self, twin: Planned, entry: Entry) -> None:
        """Make a plan the first."""
        own, recipe = type(twin), entry.recipe
        if recipe is None:
            return
        if self._own is None:
            self._call = own.__call__
            self._own = type(own.__name__, (own,), {"__module__": own.__module__, "__doc__": own.__doc__})
            twin.__class__ = self._own
        call = recipe.method(self._general, OwnFrames(recipe.function))
        call.__wrapped__ = self._call  # type: ignore[attr-defined]  # inspect.signature shows no parameters of the plan
        type.__setattr__(self._own, "__call__", call)
        self._first = entry
        self.others = tuple(e for e in self._entries.values() if e is not entry)
