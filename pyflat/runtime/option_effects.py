"""What each option does to each form of a twin: lanes, a kernel over arrays, a generalised ufunc (`signature=`).

`effect` says it for one option and target; what a form does not do is refused by `require`, from the same table, which
docs/reference/options.md shows. An option that says what a call gives is refused wherever it was set. One that says
only how it is computed is refused where it is written at the function; a block or default that sets it leaves kernels
as they are.

`require_modes`: the modes of arrays that were asked for (`memory=`) against what they have become.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import FunctionType
from typing import Any, Literal, NamedTuple
from weakref import WeakSet

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.temporaries import REASONS, Virtualize
from pyflat.errors import FlattenError, Note, Span, refuse
from pyflat.frontend.notices import PerformanceWarning, warn
from pyflat.runtime.settings import Options, Settings
from pyflat.targets import target as targets
from pyflat.targets.target import Target

Form = Literal["lanes", "kernel", "gufunc"]
FORMS: tuple[Form, ...] = ("lanes", "kernel", "gufunc")
How = Literal["works", "refused", "refused by need", "refused at the function", "warns at the function", "no effect"]
"""By need: while flattening, where the function has what the option speaks of."""


class Effect(NamedTuple):
    """What becomes of an option. `values` are those that this is said of, and the others work; (): all that ask for
    something."""

    how: How
    why: str = ""
    values: tuple[Any, ...] = ()
    code: str = "flatten/option"

    def holds(self, value: Any, default: Any) -> bool:
        return value in self.values if self.values else value not in (default, ())


WORKS = Effect("works")
_LOOPS = Effect("refused at the function",
                "a kernel keeps its loops, except those with known bounds and at most max_tracing_dim iterations")
_RESULTS = Effect("no effect", "a kernel returns what its original returns, never labels")
_WHOLE: dict[str, tuple[Effect, ...]] = {
    "core_dims": (Effect("refused at the function", "a kernel has core dimensions only with signature="),),
    "loops": (_LOOPS,),
    "max_unroll": (_LOOPS,),
    "max_trips": (Effect("refused", "a kernel has no lanes, and its loops run as long as the original's"),),
    "errors": (Effect("refused", "a kernel runs once on whole arrays, so no element of a result can represent an "
                                 "exception", ("mask", "nan")),
               Effect("refused at the function", "a kernel raises what its original raises", ("unchecked",))),
    "dtype": (Effect("refused", "a kernel computes in the dtypes of its arrays: pass float32 arrays", ("float32",)),
              Effect("no effect", "a kernel computes in the dtypes of its arrays", ("input",))),
    "strict_fold": (Effect("refused at the function", "folding is not checked in kernels"),),
    "whitelist": (Effect("refused", "a kernel keeps no calls"),),
    "results": (_RESULTS,),
    "none": (_RESULTS,),
}
"""What kernels make of options, alone and as generalised ufuncs."""
_GUFUNC: dict[str, tuple[Effect, ...]] = {
    **_WHOLE, "core_dims": (WORKS,),
    "audit": (Effect("refused at the function", "calls over outer dimensions are not audited; audit the kernel"),),
    "arrays": (Effect("no effect", "signature= gives the dimensions of each operand"),),
}
_NOTHING_MADE = Effect("refused at the function", "only kernels keep arrays in memory")
_LANES: dict[str, tuple[Effect, ...]] = {
    "max_tracing_dim": (Effect("refused at the function", "lanes unroll by max_unroll="),),
    **{each.name: (_NOTHING_MADE,) for each in fields(Virtualize)},
    "core_dims": (Effect("refused at the function", "core dimensions need signature="),),
}


def effects(option: str, form: Form, target: Target) -> tuple[Effect, ...]:
    """What an option does in a form of twin on a target: for some of its values each, in order."""
    if option == "fast_math":
        return (Effect("refused", 'only math="fast" allows different last digits', (True,), "flatten/not-yet"),)
    if form == "lanes":
        return _lacking(option, target) or _LANES.get(option, (WORKS,))
    if target.kernels is None:
        return _no_kernels(target)
    if option == "math" and not target.machine_code:
        return (Effect("no effect", f"a kernel on the target {target.name!r} has the digits of its original"),)
    if option == "parallel" and not target.machine_code:
        return (Effect("warns at the function", f"a kernel on the target {target.name!r} runs on one core; its results "
                                                "are the same", (True,)),)
    if option == "enable_device_only" and not target.machine_code:
        return (Effect("no effect", f"a kernel on the target {target.name!r} keeps whole arrays"),)
    return (_WHOLE if form == "kernel" else _GUFUNC).get(option, (WORKS,))


def _no_kernels(target: Target) -> tuple[Effect, ...]:
    return (Effect("refused", f"the target {target.name!r} has no kernels", code="flatten/not-yet"),)


def _lacking(option: str, target: Target) -> tuple[Effect, ...]:
    """What lanes do with an option that the record of their target does not have."""
    about = f"the target {target.name!r}"
    match option:
        case "arrays" | "signature" if target.kernels is None:
            return _no_kernels(target)
        case "max_trips" if not target.max_trips:
            return (Effect("refused", f"{about} does not count iterations"),)
        case "loops" if target.structured:
            return (Effect("refused at the function", f"{about} keeps every loop over a range", ("unroll",)),)
        case "max_unroll" if target.structured:
            return (Effect("refused at the function", f"{about} keeps every loop over a range"),)
        case "whitelist" if target.structured:
            return (Effect("refused", f"{about} keeps no calls"),)
        case "whitelist" if target.kept_calls == "refused":
            return (Effect("refused by need", f"{about} cannot make opaque calls", (), "flatten/call-not-runnable"),)
        case "dtype" if not target.float32:
            return (Effect("refused by need", f"{about} has its own number format", ("float32", "input"),
                           "flatten/target-dtype"),)
        case "parallel" if not target.parallel:
            return (Effect("warns at the function", f"{about} does not run on threads of this process", (True,)),)
        case "math" if target.fast is None and target.contracts is None:
            return (Effect("refused at the function", f"{about} has no faster functions", ("fast",)),)
        case "strict_fold" if target.structured:
            return (Effect("refused at the function", f"{about} does not check folding"),)
    return ()


_DEFAULTS = {f.name: f.default for f in fields(Options)}


def require(form: Form, function: FunctionType, options: Options, settings: Settings) -> None:
    """Raises FlattenError for an option that this form of twin does not do. `settings` are those that are written at
    the function."""
    target, written = targets.of(options.target), dict(settings)
    for name, default in _DEFAULTS.items():
        value = getattr(options, name)
        if value == default or name == "target":
            continue
        if form != "lanes" and target.kernels is None and name not in ("signature", "arrays"):
            continue
        for effect in effects(name, form, target):
            if effect.holds(value, default) and (effect.how == "refused" or name in written):
                where = f"on the target {target.name!r}" if form == "lanes" else "a kernel over arrays"
                _tell(effect, f"{name}={value!r}", f"{function.__name__}, {where}", f"{name}={default!r}", function)


def _tell(effect: Effect, said: str, where: str, default: str, function: FunctionType) -> None:
    if effect.how in ("refused", "refused at the function"):
        code = function.__code__
        raise refuse(effect.code, f"{said} does not go with {where}",
                     Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0), why=effect.why,
                     help=f"remove it; where a block or a default sets it, write {default} at the function")
    if effect.how == "warns at the function" and function not in _told:
        _told.add(function)
        warn(f"{function.__name__}: {said}: {effect.why}", PerformanceWarning)


_told: WeakSet[FunctionType] = WeakSet()


def require_modes(function: FunctionType, kernel: Kernel, rows: Mapping[str, int | str]) -> None:
    """FlattenError where an array is not what was asked for, or is none; `rows` as for `Kernel.modes`."""
    found = kernel.modes(rows)
    for name, asked in kernel.virtualize.memory:
        if name not in found:
            raise _unknown(function, name, list(found))
        mode = found[name]
        if asked in (mode.mode, "stored"):
            continue
        reason = rows.get(name) if asked == "buffer" else next(iter(mode.reasons), None)
        text = "it is virtual" if mode.mode == "virtual" else REASONS[str(reason)][1] if reason in REASONS else ""
        made = kernel.local[name]
        raise refuse("flatten/memory-mode", f"the array {name!r} of {function.__name__} cannot be {asked}",
                     made.place_of(str(reason)) or _top(function), label=text, why=text,
                     notes=(Note(f"memory={{{name!r}: {asked!r}}} asks for it", _top(function)),
                            Note(f"{name!r} is made", made.places.get("made"))))


def _unknown(function: FunctionType, name: str, known: list[str]) -> FlattenError:
    help = f"its arrays are {', '.join(map(repr, known))}" if known else "it makes none"
    return refuse("flatten/memory-mode", f"memory= names {name!r}, which is not an array made by {function.__name__}",
                  _top(function), why="arrays have the names of the variables that they are first bound to", help=help)


def _top(function: FunctionType) -> Span:
    code = function.__code__
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)
