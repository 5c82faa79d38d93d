"""The question whether two forms of a function mean the same, put to z3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import z3

from pyflat.analysis.demanded_bits import wrapping
from pyflat.inspection.prove.floats import Term
from pyflat.inspection.prove.loops import side_by_side, unsaid
from pyflat.inspection.prove.paths import Meaning, Walk, meaning
from pyflat.inspection.prove.solving import Budget, OutOfTimeError, Solver
from pyflat.inspection.prove.terms import OutsideError, Terms, number
from pyflat.inspection.prove.theorems import is_opaque
from pyflat.ir.interp import OTHERWISE, LaneFault, TripLimit, run
from pyflat.ir.nodes import Function

OUT_OF_TIME = "z3 did not decide it"
MOST_TRIPS = 200
UNKNOWN = frozenset({"OutOfLane", "Undecided"})
"""Faults of the path that are none of Python's, which goes on."""


@dataclass(frozen=True, slots=True)
class Compared:
    """No lane differs (where `outside` is None): whatever `functions` compute; or the arguments of one that differs; or
    why that is not known."""

    outside: str | None = None
    functions: tuple[str, ...] = ()
    arguments: tuple[Any, ...] | None = None


def compared(structured: Function, flat: Function, budget: Budget) -> Compared:
    """Whether each lane of `flat` is suspect, or has the value of its path in `structured`."""
    terms = Terms()
    solver = Solver(terms, budget)
    params = [terms.fresh(p.name or "p", p.kind) for p in structured.params]
    try:
        theirs, ours = _meanings(structured, flat, params, solver)
        found = _asked(structured, flat, params, theirs, ours, solver)
    except OutOfTimeError:
        found = "time"
    except z3.Z3Exception:
        if not budget.spent:
            raise
        found = "time"  # an interrupt that came after the last check ends whatever z3 does next
    except OutsideError as error:
        return Compared(str(error))
    functions = tuple(sorted({made.opcode for made in terms.applications if is_opaque(made)}))
    match found:
        case "impossible":
            return Compared(None, functions)
        case "time":
            return Compared(OUT_OF_TIME)
        case "open":
            return Compared(f"it depends on what {', '.join(functions) or 'a loop'} compute, of which z3 knows nothing")
    return Compared("", arguments=found)


def _meanings(structured: Function, flat: Function, params: Sequence[Any], solver: Solver) -> tuple[Meaning, Meaning]:
    walks = [Walk(solver.terms, fn.form == "structured", dict(zip(fn.params, params, strict=True)), wrapping(fn),
                  solver.budget.pay)
             for fn in (structured, flat)]
    path, flattened = (walk.items(fn.body)
                       for walk, fn in zip(walks, (structured, flat), strict=True))
    ways = side_by_side(path, flattened, solver, [])
    theirs, ours = (meaning(fn, walk, out) for fn, walk, out in zip((structured, flat), walks, ways, strict=True))
    return theirs, ours


def _settled(path: Term, flat: Term, terms: Terms) -> Term:
    """A result of the path, which the flat form settles where it is undefined: a number that no lane reads."""
    return z3.substitute(path, *((term, flat) for term in terms.undefined if term.sort().eq(flat.sort())))


def _asked(structured: Function, flat: Function, params: Sequence[Any], theirs: Meaning, ours: Meaning, solver: Solver
           ) -> Any:
    """What is found, or the arguments of a counterexample."""
    example: list[tuple[Any, ...]] = []

    def differ(model: z3.ModelRef) -> bool:
        args = tuple(number(model, term, p.kind) for term, p in zip(params, structured.params, strict=True))
        if differs(structured, flat, args):
            example.append(args)
        return bool(example)

    found = unsaid(theirs.fails, ours.fails, solver, accept=differ)
    lane = z3.Not(z3.Or(*ours.fails))
    for a, path in zip(ours.results, theirs.results, strict=True):
        b = _settled(path, a, solver.terms)
        if found == "impossible" and not a.eq(b):
            found = solver.impossible(z3.And(lane, a != b), differ)
    return example[0] if example else found


def named(fn: Function, args: Sequence[Any]) -> dict[str, Any]:
    return {p.name: value for p, value in zip(fn.params, args, strict=True)}


def differs(structured: Function, flat: Function, args: Sequence[Any]) -> str:
    """How both forms differ for these arguments when they are run, the path with Python's ints; "" when they do not, or
    where only the original can tell."""
    try:
        ours = run(flat, args, max_trips=MOST_TRIPS)
    except TripLimit:
        return ""  # nothing is claimed of loops that do not end
    if ours.suspect:
        return ""
    shown = ", ".join(f"{name}={value!r}" for name, value in named(structured, args).items())
    on_path = partial(run, structured, args, max_trips=MOST_TRIPS, unbounded=True)
    try:
        theirs, otherwise = on_path(), on_path(undefined=OTHERWISE)
    except TripLimit:
        return ""
    except LaneFault as fault:
        if fault.fault.type in UNKNOWN:
            return ""
        return f"{shown}: the path raises {fault}, the flat form gives {_values(ours.values)} and no suspect"
    given = zip(ours.values, theirs.values, otherwise.values, strict=True)  # the path may leave a number undefined
    if all(repr(a) == repr(b) or repr(b) != repr(other) for a, b, other in given):
        return ""
    return f"{shown}: the path gives {_values(theirs.values)}, the flat form {_values(ours.values)}"


def _values(values: tuple[Any, ...]) -> str:
    return repr(values[0]) if len(values) == 1 else repr(values)
