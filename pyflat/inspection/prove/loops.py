"""The question whether two forms of a function mean the same, put to z3: two walks side by side, and the loops that
both come to, whose trips are the same, by induction.

A loop of the structured form and the canonical loop that it became make the same trips. What holds between their
parameters at the head of each trip is the *invariant*, a conjunction of candidates: a parameter of one equals a
parameter of the other; a bool has one value. All that hold at the start are assumed, one trip of both is walked, and
those that do not hold again are dropped, until the rest holds after each trip that begins with it. Then must be
impossible, in one trip of a lane that is not suspect:

  - the path goes on, and the canonical loop does not;
  - the path leaves, and the canonical loop would begin yet another trip;
  - the path fails, and no fault says so.

What holds between the values that the path leaves with, by each way out, and the results of the canonical loop is found
in the same manner. What follows the loop is walked with fresh values of which this is all that is known.
Loops that do not end are not spoken of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import z3

from pyflat.analysis.demanded_bits import wrapping
from pyflat.inspection.prove.floats import Term
from pyflat.inspection.prove.paths import Entered, Meaning, Walk, Walked, WayOut, kinds_of, meaning
from pyflat.inspection.prove.solving import Budget, Found, OutOfTimeError, Solver
from pyflat.inspection.prove.terms import OutsideError, Terms, number
from pyflat.inspection.prove.theorems import is_opaque
from pyflat.ir.interp import OTHERWISE, LaneFault, TripLimit, run
from pyflat.ir.loops import canonical_parts
from pyflat.ir.nodes import FAULT, Function
from pyflat.ir.types import BOOL, Kind

SOME, MANY = 6, 24
"""Rounds of lessons for a question that another one may answer sooner."""


def side_by_side(path: Walked, flat: Walked, solver: Solver, context: Sequence[Term]
                 ) -> tuple[list[WayOut], list[WayOut]]:
    """The ways out of both walks, which come to the same loops; `context` holds where they begin."""
    ours, theirs = _Stepped(flat), _Stepped(path)
    while theirs.request is not None and ours.request is not None:
        pair = _LoopPair(theirs.request, ours.request, solver, context)
        after_path, after_flat = pair.ways()
        theirs.send(after_path)
        ours.send(after_flat)
    if theirs.request is not None or ours.request is not None:
        raise OutsideError("one form has a loop that the other form has not, or not in this order")
    return theirs.ways, ours.ways


def unsaid(theirs: Sequence[Term], ours: Sequence[Term], solver: Solver, context: Sequence[Term] = (),
           accept: Callable[[z3.ModelRef], bool] = lambda _: False) -> Found:
    """Whether a lane fails for one of the reasons `theirs` and for none of `ours`. One by one: most are
    the same terms in both, or cannot be at all."""
    same = {fails.get_id() for fails in ours}
    lane = z3.And(*context, z3.Not(z3.Or(*ours)))
    for fails in theirs:
        here = z3.And(lane, fails)
        tries = ((here, 0), (fails, SOME), (here, SOME), (fails, MANY)) if fails.get_id() not in same else ()
        if not tries or any(solver.impossible(asked, rounds=most) == "impossible" for asked, most in tries):
            continue
        found = solver.impossible(here, accept)
        if found != "impossible":
            return found
    return "impossible"


class _Stepped:
    """A walk up to the next loop (`request`), or to its end (`ways`)."""

    def __init__(self, walked: Walked):
        self._walked = walked
        self.request: Entered | None = None
        self.ways: list[WayOut] = []
        self._advance(lambda: next(walked))

    def send(self, ways: list[WayOut]) -> None:
        self._advance(lambda: self._walked.send(ways))

    def _advance(self, step: Callable[[], Entered]) -> None:
        try:
            self.request = step()
        except StopIteration as end:
            self.request, self.ways = None, end.value


@dataclass(frozen=True, slots=True)
class _Relation:
    """Between places of two lists of values: they are equal, or (`place` None) the other one is a literal."""

    place: int | None
    other: int
    literal: bool = False
    named: bool = True
    """Both have one name, or it is about one value."""

    def holds(self, values: Sequence[Term], others: Sequence[Term]) -> Term:
        if self.place is None:
            return others[self.other] if self.literal else z3.Not(others[self.other])
        return values[self.place] == others[self.other]


def _holds(values: Sequence[Term], others: Sequence[Term], relation: _Relation) -> Term:
    return relation.holds(values, others)


def _candidates(values: Sequence[Kind], others: Sequence[Kind], names: Sequence[str], other_names: Sequence[str]
                ) -> list[_Relation]:
    """All that could hold; those of the same name first."""
    found = [_Relation(None, k, truth) for k, kind in enumerate(others) if kind is BOOL for truth in (False, True)]
    pairs = [(j, k) for k, kind in enumerate(others) for j, mine in enumerate(values) if mine is kind]
    pairs.sort(key=lambda pair: names[pair[0]] != other_names[pair[1]])
    return found + [_Relation(j, k, named=names[j] == other_names[k]) for j, k in pairs]


def _chosen(relations: Sequence[_Relation], values: Sequence[Term], unknown: Sequence[Term]) -> list[Term]:
    """The terms of the other side: of the first relation that says what it is."""
    found = list(unknown)
    for relation in reversed(relations):
        known = z3.BoolVal(relation.literal) if relation.place is None else values[relation.place]
        found[relation.other] = known
    return found


@dataclass(frozen=True, slots=True)
class _Trip:
    """One trip of both: what the path does; whether the canonical loop goes on, with what, and what it leaves
    with at the head of this trip or of the next one."""

    ways: list[WayOut]
    reasons: tuple[Term, ...]
    go: Term
    next: tuple[Term, ...]
    leave: tuple[Term, ...]
    leave_later: tuple[Term, ...]
    goes_again: Term
    suspect: Term
    suspect_later: Term

    @property
    def fails(self) -> Term:
        return z3.Or(*self.reasons)


class _LoopPair:
    """A loop of the structured form and its canonical loop."""

    def __init__(self, path: Entered, flat: Entered, solver: Solver, context: Sequence[Term]):
        parts = canonical_parts(flat.loop)
        if parts is None or path.loop.label.name != flat.loop.label.name:
            raise OutsideError("one form has a loop that the other form has not, or not in this order")
        self.path, self.flat, self.parts, self.solver = path, flat, parts, solver
        self.terms: Terms = solver.terms
        self.outer = context
        self.context = list(context)
        self.at_path = [self.terms.fresh("path", p.kind) for p in path.loop.params]
        self.at_flat: list[Term] = []
        self.unknown = [self.terms.fresh("flat", p.kind) for p in flat.loop.params]
        self.reached = z3.And(path.cond, z3.Not(path.walk.failed))

    def ways(self) -> tuple[list[WayOut], list[WayOut]]:
        """The ways out, whose values are fresh."""
        if unsaid(self.path.walk.fails, self.flat.walk.fails, self.solver, self.context) != "impossible":
            raise OutsideError("no proof was found that a fault says each failure before a loop")
        self.context += [self.reached, z3.Not(self.flat.walk.failed)]
        invariant = self._kept(_candidates(kinds_of(self.path.loop.params), kinds_of(self.flat.loop.params),
                                           *([p.name for p in each.loop.params] for each in (self.path, self.flat))),
                               lambda r: r.holds(self.path.inits, self.flat.inits), z3.And(*self.context))
        while True:
            self.at_flat = _chosen(invariant, self.at_path, self.unknown)
            assumed = z3.And(*self.context, *(r.holds(self.at_path, self.at_flat) for r in invariant))
            trip = self._trip(assumed)
            again = [way for way in trip.ways if way.label in (None, self.path.loop.again)]
            kept = invariant
            for way in again:
                here = z3.And(assumed, z3.Not(trip.fails), way.cond, z3.Not(trip.suspect), trip.go)
                kept = self._kept(kept, partial(_holds, way.values, trip.next), here)
            if len(kept) == len(invariant):
                break
            invariant = kept
        self._same_trips(assumed, trip, again)
        leaving = [way for way in trip.ways if way not in again and way.label is not FAULT]
        return self._after(assumed, trip, leaving)

    def _kept(self, relations: list[_Relation], holds: Callable[[_Relation], Term], where: Term) -> list[_Relation]:
        """Relations that hold wherever `where` does. What is the same term, or two numbers, is not asked; nor what is
        said besides of a value that is the same term as another one, unless they have one name."""
        formulas = {relation: z3.simplify(holds(relation)) for relation in relations}
        certain = {relation for relation, formula in formulas.items() if z3.is_true(formula)}
        known = {relation.other for relation in certain}
        asked = [relation for relation, formula in formulas.items() if relation.named or relation.other not in known
                 if not (z3.is_true(formula) or z3.is_false(formula))]
        while asked and (failing := self._failing(asked, formulas, where)):
            asked = [relation for relation in asked if relation not in failing]
        return [relation for relation in relations if relation in certain or relation in asked]

    def _failing(self, relations: Sequence[_Relation], formulas: dict[_Relation, Term], where: Term
                 ) -> list[_Relation]:
        """Some of the relations that a model offends, none where there is no model."""
        found = self.solver.impossible(z3.And(where, z3.Or(*(z3.Not(formulas[r]) for r in relations))))
        if found == "impossible":
            return []
        if found == "time":
            raise OutOfTimeError
        model = self.solver.model
        assert model is not None
        return [r for r in relations if not z3.is_true(model.eval(formulas[r], model_completion=True))]

    def _trip(self, assumed: Term) -> _Trip:
        path = self.path.walk.inside(self.path.loop.params, self.at_path)
        flat = self.flat.walk.inside(self.flat.loop.params, self.at_flat)
        head: dict[str, Term] = {}
        context = [assumed]

        def canonical() -> Walked:
            yield from flat.items(self.parts.header)
            head.update(go=flat.read(self.parts.go), suspect=flat.failed)
            context.extend((head["go"], z3.Not(flat.failed)))
            return (yield from flat.items(self.parts.rest))

        ways, after = side_by_side(path.items(self.path.loop.body), canonical(), self.solver, context)
        leave = flat.read_all(self.parts.leave)
        reasons = *path.fails, *(way.cond for way in ways if way.label is FAULT)
        suspect = z3.Or(head["suspect"], z3.And(head["go"], flat.failed))
        later = self._head(after[0].values)
        return _Trip(ways, reasons, head["go"], after[0].values, leave, later.read_all(self.parts.leave),
                     z3.And(head["go"], later.read(self.parts.go)), suspect,
                     z3.Or(suspect, z3.And(head["go"], later.failed)))

    def _head(self, values: Sequence[Term]) -> Walk:
        """The canonical loop's header, walked with these values."""
        walk = self.flat.walk.inside(self.flat.loop.params, values)
        _alone(walk.items(self.parts.header))
        return walk

    def _same_trips(self, assumed: Term, trip: _Trip, again: Sequence[WayOut]) -> None:
        goes = z3.Or(*(way.cond for way in again)) if again else z3.BoolVal(False)
        leaves = [way.cond for way in trip.ways if way not in again and way.label is not FAULT]
        right = z3.Not(trip.fails)
        start = self._head(self.flat.inits)
        unreached = z3.And(*self.outer, z3.Not(self.path.cond), z3.Not(self.flat.walk.failed), z3.Not(start.failed))
        found = unsaid(trip.reasons, [trip.suspect], self.solver, [assumed])
        self._refuse(found, "fails in a loop without a fault in the flat form")
        for wrong, said in (
            (z3.And(assumed, right, goes, z3.Not(trip.suspect), z3.Not(trip.go)),
             "continues a loop that the flat form leaves"),
            (z3.And(assumed, right, z3.Or(*leaves), z3.Not(trip.suspect_later), trip.goes_again),
             "leaves a loop that the flat form continues"),
            (z3.And(unreached, start.read(self.parts.go)), "does not reach a loop that the flat form enters"),
        ):
            self._refuse(self.solver.impossible(wrong), said)

    def _refuse(self, found: Found, said: str) -> None:
        if found == "time":
            raise OutOfTimeError
        if found != "impossible":
            raise OutsideError(f"no invariant was found that shows that no path {said}")

    def _leave(self, trip: _Trip, here: Term) -> Sequence[Term]:
        """What the canonical loop leaves with: at the head of this trip, or of the next one."""
        for leave, wrong in ((trip.leave, trip.go), (trip.leave_later, z3.Not(trip.go))):
            if self.solver.impossible(z3.And(here, wrong), rounds=0) == "impossible":
                return leave
        return [z3.If(trip.go, b, a) for a, b in zip(trip.leave, trip.leave_later, strict=True)]

    def _after(self, assumed: Term, trip: _Trip, leaving: Sequence[WayOut]) -> tuple[list[WayOut], list[WayOut]]:
        """Fresh values behind the loop, and what holds between them."""
        results = [self.terms.fresh("left", value.kind) for value in self.flat.loop.results]
        taken: list[WayOut] = []
        facts: list[Term] = []
        here = z3.And(assumed, z3.Not(trip.fails), z3.Not(trip.suspect_later))
        for way in leaving:
            values = tuple(self.terms.fresh("exit", kind) for kind in way.kinds)
            chosen = self.terms.fresh("way", BOOL)
            relations = _candidates(way.kinds, kinds_of(self.flat.loop.results), ["path"] * len(values),
                                    ["flat"] * len(results))
            leave = self._leave(trip, z3.And(here, way.cond))
            relations = self._kept(relations, partial(_holds, way.values, leave), z3.And(here, way.cond))
            if len(leaving) == 1:
                results = _chosen(relations, values, results)
            taken.append(WayOut((*self.path.tests, (chosen, True)), way.label, values, way.kinds))
            related = z3.And(*(r.holds(values, results) for r in relations))
            facts.append(z3.Implies(z3.And(self.reached, chosen), related))
        failed = self.terms.fresh("failed", BOOL)
        facts.append(z3.Implies(self.reached, _exactly_one([failed, *(way.cond for way in taken)])))
        if not z3.is_true(self.path.cond):
            start = self._head(self.flat.inits).read_all(self.parts.leave)
            results = [z3.If(self.path.cond, a, b) for a, b in zip(results, start, strict=True)]
        self.terms.facts += facts
        for walk in (self.path.walk, self.flat.walk):
            walk.fails.append(z3.And(self.path.cond, failed))
        return taken, [WayOut(self.flat.tests, self.flat.loop.label, tuple(results), kinds_of(self.flat.loop.results))]


def _alone(walked: Walked) -> None:
    """To the end of a walk that comes to no loop."""
    for _ in walked:
        raise OutsideError("a loop is in the test of another one")


def _exactly_one(conds: Sequence[Term]) -> Term:
    return z3.And(z3.Or(*conds), *(z3.Not(z3.And(a, b)) for a, b in itertools.combinations(conds, 2)))


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
            return Compared(f"it depends on what {', '.join(functions) or 'a loop'} compute, unknown to z3")
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
        return f"{shown}: the path raises {fault}, the flat form gives {_values(ours.values)} without a fallback"
    given = zip(ours.values, theirs.values, otherwise.values, strict=True)  # the path may leave a number undefined
    if all(repr(a) == repr(b) or repr(b) != repr(other) for a, b, other in given):
        return ""
    return f"{shown}: the path gives {_values(theirs.values)}, the flat form {_values(ours.values)}"


def _values(values: tuple[Any, ...]) -> str:
    return repr(values[0]) if len(values) == 1 else repr(values)
