"""Questions to z3: is a formula impossible, given the facts about its terms? By refinement.

z3 first knows only the cheap facts about the operations. Where its model gives them values that they do not have, it is
told a theorem that says so (`theorems`), and asked again; what it offends again and again becomes bit-precise. So
arithmetic is computed in bits only where it matters. Whatever is found impossible is so, because all that z3 was told
holds; a model is an example only after both functions were run on it.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import z3

from pyflat.inspection.prove import theorems
from pyflat.inspection.prove.bounds import Bounds
from pyflat.inspection.prove.floats import Term
from pyflat.inspection.prove.terms import Application, Terms, computed, literal, number
from pyflat.ir.ops import COMMUTATIVE, PRIMITIVES, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

MOST_EQUAL = 16
"""Equal operands that are told at once: the first ones are the reason of later ones."""
CUTS_EACH = 16
"""Models that may offend an operation before it becomes bit-precise."""

Found = Literal["impossible", "possible", "open", "time"]
"""possible: by a model that the caller has accepted; open: it depends on functions of which nothing is known."""


class OutOfTimeError(Exception):
    """The budget has ended."""


INTERRUPT_EVERY = 0.1
"""Seconds: z3 forgets an interrupt that comes while it is not looking."""


@dataclass(slots=True)
class Budget:
    """What is left: the time until `ends` (`time.monotonic`), or steps as z3 counts them where `work` is given."""

    ends: float
    work: int | None = None

    @property
    def spent(self) -> bool:
        return self.work <= 0 if self.work is not None else time.monotonic() >= self.ends

    def pay(self) -> None:
        """Asked wherever Python does much by itself."""
        if self.spent:
            raise OutOfTimeError

    def check(self, solver: z3.Solver, asked: Term) -> z3.CheckSatResult:
        """Whether `asked` can be; unknown where the budget ends in it."""
        if self.spent:
            return z3.unknown
        if self.work is not None:
            before = steps(solver)
            solver.set("rlimit", self.work)
            found = solver.check(asked)
            self.work -= max(steps(solver) - before, 1)
            return found
        left = self.ends - time.monotonic()
        solver.set("timeout", max(int(left * 1000), 1))
        try:
            with self.ending(solver.ctx):
                return solver.check(asked)
        except z3.Z3Exception:
            return z3.unknown

    @contextlib.contextmanager
    def ending(self, context: z3.Context) -> Iterator[None]:
        """z3 does not look at its own limit everywhere: what it does in this block is interrupted, again and again,
        when the time is over. It raises z3.Z3Exception then, or gives up."""
        if self.work is not None:
            yield
            return
        done = threading.Event()

        def interrupt() -> None:
            wait = max(self.ends - time.monotonic(), 0.0)
            while not done.wait(wait):
                context.interrupt()
                wait = INTERRUPT_EVERY

        alarm = threading.Thread(target=interrupt, daemon=True)
        alarm.start()
        try:
            yield
        finally:
            done.set()
            alarm.join()


def steps(solver: z3.Solver) -> int:
    """How many steps z3 has made."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118


class Solver:
    """Answers questions about `terms`, one after the other; what it learns of operations stays."""

    def __init__(self, terms: Terms, budget: Budget):
        self.terms = terms
        self.budget = budget
        self.model: z3.ModelRef | None = None
        self._solver = z3.SimpleSolver()
        self._told = 0, 0, 0
        self._asked = 0
        self._facts: dict[Term, list[Term]] = {}
        self.bounds = Bounds(terms, budget.pay)
        self._offences: Counter[Term] = Counter()
        self._precise: set[Term] = set()

    def impossible(
        self, question: Term, accept: Callable[[z3.ModelRef], bool] = lambda _: False, *, rounds: int | None = None
    ) -> Found:
        """Whether no values make `question` true; `accept` says whether a model is an example. Where the answer is
        "possible" or "open", `model` is the last one. `rounds`: how often facts and cuts are told before the answer is
        "open"; None: as often as they help, and then operations become bit-precise."""
        try:
            if self.bounds.refuted(question):
                return "impossible"
        except OutOfTimeError:
            return "time"
        self._asked += 1
        asked = z3.Bool(f"question!{self._asked}")
        self._solver.add(z3.Implies(asked, question))
        try:
            return self._refined(question, asked, accept, rounds)
        except OutOfTimeError:
            return "time"
        finally:
            self._solver.add(z3.Not(asked))

    def _refined(
        self, question: Term, asked: Term, accept: Callable[[z3.ModelRef], bool], rounds: int | None
    ) -> Found:
        behind: Sequence[Application] | None = None
        for told in itertools.count():
            self._solver.add(*self.terms.facts[self._told[0]:], *self.terms.domains[self._told[1]:])
            for made in self.terms.applications[self._told[2]:]:
                if made.kind is not BOOL:
                    self._solver.add(*theorems.in_range(made, self.bounds.of(made.result)))
            self._told = len(self.terms.facts), len(self.terms.domains), len(self.terms.applications)
            found = self.budget.check(self._solver, asked)
            if found == z3.unsat:
                return "impossible"
            if found == z3.unknown:
                return "time"
            self.model = self._solver.model()
            if accept(self.model):
                return "possible"
            if told == rounds:
                return "open"
            if behind is None:
                behind = self.terms.behind(question)
            recomputed = self._recomputed(self.model, behind)
            if all(z3.is_true(recomputed.eval(each, model_completion=True)) for each in (question, *self.terms.facts)):
                self.model = recomputed
                return "open"
            lessons = self._lessons(self.model, behind, bits=rounds is None)
            if not lessons:
                return "open"
            self._solver.add(*lessons)
        raise AssertionError

    def _recomputed(self, model: z3.ModelRef, behind: Sequence[Application]) -> z3.ModelRef:
        """The model with the values that operations really have, in order."""
        changed = copy.copy(model)
        for made in behind:
            self.budget.pay()
            value = computed(made.opcode, made.kind, made.attrs, _operands(changed, made))
            changed.update_value(made.result, literal(_INSTEAD[made.kind] if value is None else value))
        return changed

    def _lessons(self, model: z3.ModelRef, behind: Sequence[Application], *, bits: bool) -> list[Term]:
        """What the model offends: facts, that equal operands give equal results, cuts, and last a definition."""
        equal: list[Term] = []
        facts: list[Term] = []
        cuts: list[Term] = []
        hard: list[Application] = []
        seen: dict[tuple[Any, ...], tuple[Any, Application, list[int]]] = {}
        thresholds = theorems.Cuts(self.terms.literals)
        for made in behind:
            self.budget.pay()
            operands, result = _operands(model, made), number(model, made.result, made.kind)
            order = sorted(range(len(operands)), key=lambda place: repr(operands[place])) \
                if made.opcode in COMMUTATIVE else list(range(len(operands)))
            key = made.name, *(repr(operands[place]) for place in order)
            before, other, places = seen.setdefault(key, (result, made, order))
            if repr(before) != repr(result):
                same = [made.args[a] == other.args[b] for a, b in zip(order, places, strict=True)]
                equal.append(z3.Implies(z3.And(*same), made.result == other.result))
                continue
            opaque = PRIMITIVES[made.opcode].accuracy is not Accuracy.EXACT
            if made.result in self._precise or not (opaque or _is_wrong(made, operands, result)):
                continue
            offended = self._offended_facts(made, model)
            facts += offended
            if offended:
                continue
            lesson = thresholds.of(made, operands, result) if self._offences[made.result] < CUTS_EACH else []
            self._offences[made.result] += bool(lesson)
            cuts += lesson
            if not lesson and not opaque:
                hard.append(made)
        return equal[:MOST_EQUAL] or facts or cuts or (self._defined(hard) if bits else [])

    def _offended_facts(self, made: Application, model: z3.ModelRef) -> list[Term]:
        if made.result not in self._facts:
            self._facts[made.result] = [z3.simplify(fact) for fact in theorems.facts(made)]
        return [fact for fact in self._facts[made.result] if not z3.is_true(model.eval(fact, model_completion=True))]

    def _defined(self, hard: Sequence[Application]) -> list[Term]:
        """The definition of the first operation that has one, as formulas about words only."""
        for made in hard:
            exact = theorems.definition(made)
            if exact is not None:
                self._precise.add(made.result)
                goal = z3.Goal()
                goal.add(exact)
                try:
                    with self.budget.ending(goal.ctx):
                        return list(_IN_WORDS(goal)[0])
                except z3.Z3Exception:
                    raise OutOfTimeError from None
        return []


def _operands(model: z3.ModelRef, made: Application) -> list[Any]:
    return [number(model, arg, kind) for arg, kind in zip(made.args, made.kinds, strict=True)]


def _is_wrong(made: Application, operands: Sequence[Any], result: Any) -> bool:
    value = computed(made.opcode, made.kind, made.attrs, operands)
    return value is not None and repr(value) != repr(result)


_INSTEAD: dict[Kind, Any] = {BOOL: False, INT: 0, FLOAT: math.nan}
"""What the interpreter takes where Python raises."""
_IN_WORDS = z3.Then("simplify", "fpa2bv", "simplify")
