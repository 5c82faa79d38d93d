"""Bounds that a loop carries: how far a parameter is from CPython's in each lane, as one more parameter.

    loop (x = a):                          loop (x = a, e = 0.0):
        ...                                    ...
        x1 = x - sin(x) / cos(x)               x1 = x - sin(x) / cos(x)
        yield x1                               yield x1, the error of x1, which depends on e

Where every trip makes an error larger by a factor that is not known before, a constant cannot bound it, but a number
that goes along can: `Carried` keeps which parameters and results of loops need one. Induction over the trips proves it:
if |x - CPython's x| <= e when a trip begins, the rules of `passes.accuracy.error_bounds` give a bound of what the
next one begins with, and `written_out` computes that, rounded up. No proof of convergence is needed: a lane whose
bound grows too large, to infinity or to nan, is near every threshold. Where thresholds are small, values have slopes
besides (`passes.accuracy.correlated_bounds`), so that Newton's method does not make its bounds grow.

`closing_in` finds the parameters of searches that close in on a threshold of their own: a bisection keeps one end
of its bracket by a decision about a value in the middle, and the later the trip, the nearer are the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyflat.analysis.execution_masks import conjuncts
from pyflat.ir.loops import LoopParts, all_ops, take_apart
from pyflat.ir.nodes import Const, Function, Loop, Op, Param, Value, walk
from pyflat.ir.ops import COMPARISONS
from pyflat.ir.types import BOOL, FLOAT
from pyflat.passes.accuracy.correlated_bounds import MOST_OPERATIONS, bounded, of_parameter
from pyflat.passes.accuracy.error_bounds import Bound, Case, Term, unknown

GROWN = 1 + 2.0**-40
"""What a bound grows by from trip to trip, against the rounding of thousands of operations on terms in each."""

FINE = 1e-8
"""A bound that grows tenfold in each of half a dozen trips is nowhere near larger numbers."""


class Carried:
    """Which parameters and results of loops have a bound of their own (`asked`, by earlier rounds), the parameters and
    results that these are, and which more some decision could do with (`wanted`). None where that is not `allowed`."""

    def __init__(self, asked: frozenset[Param], *, allowed: bool = True, correlated: bool = False):
        self.asked = asked
        self.correlated = correlated
        self.allowed = allowed
        self.wanted: set[Param] = set()
        self._errors: dict[Param, Param] = {}

    def error(self, param: Param) -> Param:
        """The parameter (or result) with the error of `param`."""
        if param not in self._errors:
            self._errors[param] = Param(FLOAT, f"{param.name} error" if param.name else "")
        return self._errors[param]

    def without(self, bounds: Iterable[Bound]) -> frozenset[Op]:
        """Something cannot do with these bounds as they are: what has to be exact, as nothing else helps."""
        origins: frozenset[Op] = frozenset()
        for bound in bounds:
            if bound.known:
                continue
            if not self.allowed or bound.carriers <= self.asked:
                origins |= bound.origins
            else:
                self.wanted |= bound.carriers
        return origins

    def widened(self, param: Param, bound: Bound, new: Bound, first: bool) -> Bound:
        """A bound of a parameter that holds for what had `bound` and for what the next trip begins with, which has
        `new`; `bound` itself where it does already."""
        own = self.carries(param, bound)
        if covers(bound, new, own):
            return bound
        origins, hazards = bound.origins | new.origins, bound.hazards | new.hazards
        if bound.known and param in self.asked and (new.known or not own):
            if self.correlated:
                return of_parameter(self.error(param), origins, hazards)
            return Bound(term=Term(self.error(param)), origins=origins, hazards=hazards)
        if first and bound.known and new.known and bound.term is None and new.term is None and not new.slopes:
            return Bound(max(bound.relative, new.relative), max(bound.absolute, new.absolute), None, origins, hazards)
        return unknown(origins, hazards, bound.carriers | new.carriers | {param})

    def carries(self, param: Param, bound: Bound) -> bool:
        """Whether this bound of a parameter is the one that the loop carries."""
        return bound.term is not None and bound.term.value is self._errors.get(param)

    def outside(self, result: Param, bound: Bound) -> Bound:
        """The bound of a result of a loop, seen after it: terms stay inside, where they are not carried out."""
        if bound.known and bound.term is None:
            return bound
        if not bound.known or result not in self.asked:
            return unknown(bound.origins, bound.hazards, bound.carriers | {result})
        assert bound.term is not None
        term = Term(self.error(result), bound.term.scale, bound.term.cover, bound.term.offset)
        return Bound(bound.relative, bound.absolute, term, bound.origins, bound.hazards)


def covers(bound: Bound, new: Bound, carried: bool) -> bool:
    """What `bound` says holds for values of which `new` says it; a `carried` one is computed for each trip anew."""
    if not (new.origins <= bound.origins and new.hazards <= bound.hazards and new.carriers <= bound.carriers):
        return False
    if not bound.known or not new.known:
        return not bound.known
    return carried or (not new.slopes and new.relative <= bound.relative and new.absolute <= bound.absolute
                       and (new.term is None or new.term is bound.term))


def written_out(case: Case, *, limited: bool) -> Value:
    """The error of operand 0 of `case` as one value; `limited` where slopes are computed of it."""
    absolute, term = case.error(0)
    total = case.terms.total(absolute, None if term is None else term.times(GROWN))
    return bounded(total, case.terms) if limited else total


def is_fine(fn: Function) -> bool:
    """Whether a loop decides by a number so small that the sum of the errors of a trip's parts may come near it, and
    all loops are short enough for slopes."""
    loops = [list(all_ops(item.body)) for item in walk(fn.body) if isinstance(item, Loop)]
    return all(len(ops) <= MOST_OPERATIONS for ops in loops) and any(
        op.opcode in COMPARISONS and any(map(_is_fine, op.args)) for ops in loops for op in ops)


def _is_fine(value: Value) -> bool:
    return value.kind is FLOAT and isinstance(value, Const) and 0.0 < abs(float(value.value or 0.0)) < FINE


# --- searches that close in on a threshold


def closing_in(fn: Function) -> set[Param]:
    """Parameters of loops that are kept, or replaced by another value, by a decision about that value, which depends on
    them; except where the loop ends before it comes near its threshold (`if abs(error) < 1e-7: break`)."""
    found: set[Param] = set()
    for item in walk(fn.body):
        if isinstance(item, Loop):
            found.update(_closing_in(item))
    return found


def _closing_in(loop: Loop) -> Iterator[Param]:
    parts = take_apart(loop)
    made = set(all_ops(loop.body))
    after = dict(zip(loop.params, parts.next, strict=True))
    guarded = _small_numbers(parts, after)
    for param in loop.params:
        if param.kind is not FLOAT:
            continue
        for test, instead in _keeping(param, after[param]):
            if guarded.intersection(test.args):
                continue
            if instead in _cone(test, made, {}) and param in _cone(test, made, after):
                yield param
                break


def _keeping(param: Param, after: Value) -> Iterator[tuple[Op, Value]]:
    """The comparisons of floats that choose between `param` and something else, and that."""
    for choice in _tree(after, ("select",), FLOAT):
        if choice.opcode != "select" or param not in choice.args[1:]:
            continue
        instead = choice.args[1] if choice.args[2] is param else choice.args[2]
        for test in _tree(choice.args[0], ("and", "or", "not", "select"), BOOL):
            if test.opcode in COMPARISONS and test.args[0].kind is FLOAT:
                yield test, instead


def _small_numbers(parts: LoopParts, after: dict[Param, Value]) -> set[Value]:
    """Numbers below a literal magnitude of which the loop ends."""
    found: set[Value] = set()
    flags = [after[value] for value in conjuncts(parts.go) if isinstance(value, Param) and value in after]
    for flag in [parts.go, *flags]:
        for test in _tree(flag, ("and", "or", "not"), BOOL):
            if test.opcode in COMPARISONS and any(isinstance(arg, Const) for arg in test.args):
                found.update(arg.args[0] for arg in test.args if isinstance(arg, Op) and arg.opcode == "abs")
    return found


def _tree(value: Value, opcodes: tuple[str, ...], kind: object) -> Iterator[Op]:
    """The operations that `value` is put together from by these opcodes, and the leaves."""
    waiting, seen = [value], set[Value]()
    while waiting:
        op = waiting.pop()
        if not isinstance(op, Op) or op in seen:
            continue
        seen.add(op)
        yield op
        if op.opcode in opcodes:
            waiting += [arg for arg in op.args if arg.kind is kind]


def _cone(value: Value, made: set[Op], after: dict[Param, Value]) -> set[Value]:
    """What `value` depends on, in this trip and by the parameters in earlier ones."""
    waiting, seen = [value], set[Value]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, Param) and value in after:
            waiting.append(after[value])
        elif isinstance(value, Op) and value in made:
            waiting += value.args
    return seen
