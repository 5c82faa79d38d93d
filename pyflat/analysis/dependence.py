"""Whether iterations of a loop meet in memory, asked of isl: the tests of `parallel_loops` for what they leave open.

An access is a set of integers: the counters of the loops around it, under their ranges and the conditions around it.
Two iterations of a loop meet where a store in one of them and an access in the other one touch the same element:

    for i in range(n // 2):                  [n, q] -> { [i, j] : q = floor(n / 2) and 0 <= i < q and 0 <= j < q
        a[i], a[n - 1 - i] = ...                                  and i != j and i = n - 1 - j }         is empty

What no iteration changes is a parameter, whatever it is computed from. What is no affine function of counters and
parameters is a variable of the iteration, which may be anything: so the answer errs on the side of "they meet".

Numbers are integers without an end, since what leaves int64 is run by the original. An index that differs from
iteration to iteration is not negative: where one is, all targets run the loop in order. One that does not differ may
count from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pyflat.ir.loops import Counted, definitions, recognise_counted
from pyflat.ir.nodes import Block, Const, Function, If, Item, Loop, Op, Value, child_lists
from pyflat.ir.types import INT

MOST_OPERATIONS = 1_000_000
"""Operations of isl for a loop: about a tenth of a second."""
MOST_PAIRS = 200
_LONGEST = 60
"""Characters of a term that is written again where it is used."""
_MOST_FACTOR = 1 << 32
_COMPARED = {"lt": ("<", ">="), "le": ("<=", ">"), "gt": (">", "<="), "ge": (">=", "<"), "eq": ("=", "!="),
             "ne": ("!=", "=")}
_PURE = frozenset({"add", "sub", "mul", "neg", "abs", "floordiv", "mod", "and", "or", "xor", "shl", "shr"})

Fact = Counted | tuple[Value, bool]
"""That a counter is in its range, or whether a condition holds."""


class SearchLimitError(Exception):
    """The search has taken more than the limit."""


class Surroundings:
    """Where the loops of a function stand, and what was found of them. `lengths`: values that are never negative."""

    def __init__(self, function: Function, lengths: Sequence[Value]):
        self.function, self.lengths = function, frozenset(lengths)
        self.alone: dict[Loop, bool] = {}
        """Whether iterations of a loop do not meet."""
        self.longer: dict[Loop, dict[Value, int]] = {}
        """Where an axis has to be longer than a number for that (`parallel_loops.Nest`)."""
        self.undecided: dict[Loop, str] = {}
        """Those at which the search was given up, and how that is said."""

    @cached_property
    def facts(self) -> dict[Loop, tuple[Fact, ...]]:
        """What holds wherever a loop runs."""
        return {node: facts for node, facts in _standing(self.function.body, ()) if isinstance(node, Loop)}


def _standing(items: Sequence[Item], facts: tuple[Fact, ...]) -> Iterator[tuple[Op | Loop, tuple[Fact, ...]]]:
    """The operations and loops of a list, with what holds where they stand."""
    for item in items:
        match item:
            case Block():
                yield from ((op, facts) for op in item.ops)
            case If():
                yield from _standing(item.then, (*facts, (item.cond, True)))
                yield from _standing(item.orelse, (*facts, (item.cond, False)))
            case Loop():
                yield item, facts
                counted = recognise_counted(item)
                if counted is None:
                    yield from _standing(item.body, facts)
                    continue
                head, test = item.body[:2]  # `recognise_counted` has seen the test
                assert isinstance(test, If)
                yield from _standing([head], facts)
                yield from _standing(test.orelse, facts)
                yield from _standing([*test.then, *item.body[2:]], (*facts, counted))
            case _:
                for inner in child_lists(item):
                    yield from _standing(inner, facts)


def meeting(loop: Loop, counted: Counted, pairs: Sequence[tuple[Op, Op]], around: Surroundings
            ) -> Iterator[tuple[Op, Op]]:
    """The pairs of accesses of which two iterations may touch the same element. `pairs`: a store and another access
    of its array. SearchLimitError where that takes more than the limit, or islpy."""
    if len(pairs) > MOST_PAIRS:
        raise SearchLimitError("within the limit")
    if not pairs:
        return
    iterations = _Iterations(loop, counted, around, _asking())
    yield from (pair for pair in pairs if iterations.may_meet(*pair))


def _asking() -> Callable[[str], bool]:
    """Whether a set is empty, for sets that together take at most so many operations."""
    try:
        import islpy as isl
    except ImportError as error:  # such loops run one iteration after the other
        raise SearchLimitError("without islpy (pip install islpy)") from error

    context = isl.Context()
    context.set_max_operations(MOST_OPERATIONS)

    def is_empty(text: str) -> bool:
        try:
            return bool(isl.Set.read_from_str(context, text).is_empty())
        except isl.Error as error:
            raise SearchLimitError("within the limit") from error

    return is_empty


@dataclass(frozen=True, slots=True)
class _Term:
    """A number in isl's words. `fixed`: the same in all iterations."""

    text: str
    fixed: bool


@dataclass
class _Iterations:
    """Accesses of a loop, in one of two iterations each."""

    loop: Loop
    counted: Counted
    around: Surroundings
    is_empty: Callable[[str], bool]
    parameters: dict[object, str] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    """What is known of parameters."""

    def __post_init__(self) -> None:
        self.inside: set[Value] = {*self.loop.params, *definitions(self.loop.body)}
        self.facts = {node: facts for node, facts in _standing([self.loop], ()) if isinstance(node, Op)}
        self._points: dict[tuple[Op, str], _Point] = {}
        outside = _Point(self, "")
        for fact in self.around.facts.get(self.loop, ()):
            outside.learn(fact)
        self.known += outside.constraints

    def may_meet(self, a: Op, b: Op) -> bool:
        """Whether there are two iterations in which the accesses touch the same element."""
        first, second = self._point(a, "a"), self._point(b, "b")
        counters = [point.term(self.counted.iv).text for point in (first, second)]
        same = [f"{x} = {y}" for x, y in zip(first.element, second.element, strict=True)]
        return self.may_be([first, second], [f"{counters[0]} != {counters[1]}", *same])

    def may_be(self, points: Sequence[_Point], wanted: Sequence[str]) -> bool:
        """Whether conditions can hold at these points together."""
        variables = [name for point in points for name in point.variables.values()]
        constraints = [*wanted, *(each for point in points for each in point.constraints), *self.known]
        return not self.is_empty(f"[{', '.join(self.parameters.values())}] -> {{ [{', '.join(variables)}] : "
                                 f"{' and '.join(f'({each})' for each in constraints)} }}")

    def _point(self, op: Op, side: str) -> _Point:
        if (op, side) not in self._points:
            point = self._points[op, side] = _Point(self, side)
            for fact in self.facts[op]:
                point.learn(fact)
            places = op.args[1:-1] if op.opcode == "store" else op.args[1:]
            point.element = [point.term(place).text for place in places]
        return self._points[op, side]

    def parameter(self, key: object) -> _Term:
        name = self.parameters.get(key)
        if name is None:
            name = self.parameters[key] = f"p{len(self.parameters)}"
            if key in self.around.lengths:
                self.known.append(f"{name} >= 0")
        return _Term(name, True)


class _Point:
    """Numbers in one iteration, where one access runs."""

    def __init__(self, iterations: _Iterations, side: str):
        self.iterations, self.side = iterations, side
        self.variables: dict[object, str] = {}
        self.constraints: list[str] = []
        self.element: list[str] = []
        self._terms: dict[Value, _Term] = {}

    def learn(self, fact: Fact) -> None:
        if not isinstance(fact, Counted):
            condition = self._condition(*fact)
            if condition is not None:
                self.constraints.append(condition)
            return
        counter, lower, upper = (self.term(value).text for value in (fact.iv, fact.lower, fact.upper))
        way = f"{lower} <= {counter} < {upper}" if fact.step > 0 else f"{upper} < {counter} <= {lower}"
        self.constraints.append(way)
        if abs(fact.step) > 1:
            self.constraints.append(f"({counter} - {lower}) mod {abs(fact.step)} = 0")

    def term(self, value: Value) -> _Term:
        found = self._terms.get(value)
        if found is None:
            found = self._made(value)
            if len(found.text) > _LONGEST:
                found = self._named(value, found)
            self._terms[value] = found
        return found

    def _made(self, value: Value) -> _Term:
        if isinstance(value, Const):
            return _Term(str(int(value.value)), True) if value.value is not None else self._unknown(value)
        if not isinstance(value, Op) or value.kind is not INT:
            return self._unknown(value)
        if value.opcode == "index":
            return self._index(value)
        if value.opcode == "select":
            return self._select(value)
        if value.opcode not in _PURE:
            return self._unknown(value)
        terms = [self.term(arg) for arg in value.args]
        fixed = all(term.fixed for term in terms)
        text = _affine(value, [term.text for term in terms])
        if text is not None:
            return _Term(text, fixed)
        if fixed:
            return self.iterations.parameter((value.opcode, *(term.text for term in terms)))
        return self._unknown(value)

    def _unknown(self, value: Value) -> _Term:
        return self._variable(value, fixed=value not in self.iterations.inside)

    def _variable(self, key: object, *, fixed: bool) -> _Term:
        if fixed:
            return self.iterations.parameter(key)
        if key not in self.variables:
            self.variables[key] = f"{self.side}{len(self.variables)}"
        return _Term(self.variables[key], False)

    def _require(self, constraint: str, *, fixed: bool) -> None:
        constraints = self.iterations.known if fixed else self.constraints
        if constraint not in constraints:
            constraints.append(constraint)

    def _named(self, value: Value, term: _Term) -> _Term:
        name = self._variable(("sum", term.text if term.fixed else value), fixed=term.fixed)
        self._require(f"{name.text} = {term.text}", fixed=term.fixed)
        return name

    def _index(self, op: Op) -> _Term:
        """The element of an axis that a position is: from its end, where it is negative."""
        position, length = (self.term(arg) for arg in op.args)
        if isinstance(op.args[0], Const) and not position.text.startswith("-"):
            return position
        if not position.fixed and self._differs(op.args[0]):
            self.constraints.append(f"0 <= {position.text} < {length.text}")
            return position
        fixed = position.fixed and length.fixed
        if not self.iterations.may_be([self], [f"{position.text} < 0"]):
            self._require(f"{position.text} < {length.text}", fixed=fixed)
            return position
        name = self._variable(("index", position.text, length.text) if fixed else op, fixed=fixed)
        self._require(f"(0 <= {position.text} < {length.text} and {name.text} = {position.text}) or "
                      f"(-1 * {length.text} <= {position.text} < 0 and {name.text} = {position.text} + {length.text})",
                      fixed=fixed)
        return name

    def _differs(self, value: Value) -> bool:
        """The value is computed from the counter of the loop."""
        return value is self.iterations.counted.iv or isinstance(value, Op) and value.opcode in _PURE and any(
            map(self._differs, value.args))

    def _select(self, op: Op) -> _Term:
        condition, *choices = op.args
        first, second = (self.term(choice) for choice in choices)
        if first == second:
            return first
        fixed = first.fixed and second.fixed and condition not in self.iterations.inside
        name = self._variable(op, fixed=fixed)
        ways = []
        for truth, choice in ((True, first), (False, second)):
            holds = self._condition(condition, truth)
            ways.append(f"({holds + ' and ' if holds is not None else ''}{name.text} = {choice.text})")
        self._require(" or ".join(ways), fixed=fixed)
        return name

    def _condition(self, value: Value, truth: bool) -> str | None:
        """A condition on integers, None for all others."""
        if not isinstance(value, Op):
            return None
        if value.opcode == "not":
            return self._condition(value.args[0], not truth)
        if value.opcode not in _COMPARED or any(arg.kind is not INT for arg in value.args):
            return None
        sign = _COMPARED[value.opcode][0 if truth else 1]
        return f"{self.term(value.args[0]).text} {sign} {self.term(value.args[1]).text}"


def _affine(op: Op, terms: Sequence[str]) -> str | None:
    """An operation in isl's words, None where it is not affine."""
    if op.opcode == "neg":
        return f"(-1 * {terms[0]})"
    if op.opcode == "abs":
        return None
    x, y = terms
    if op.opcode in ("add", "sub"):
        return f"({x} {'+' if op.opcode == 'add' else '-'} {y})"
    if op.opcode in ("mul", "and") and _number(x) is not None:
        x, y = y, x
    number = _number(y)
    if number is None or abs(number) > _MOST_FACTOR:
        return None
    match op.opcode:
        case "mul":
            return f"({number} * {x})"
        case "floordiv" if number > 0:
            return f"floor({x} / {number})"
        case "mod" if number > 0:
            return f"({x} mod {number})"
        case "and" if number > 0 and not number & number + 1:
            return f"({x} mod {number + 1})"
        case "shr" if 0 <= number < 32:
            return f"floor({x} / {1 << number})"
        case "shl" if 0 <= number < 32:
            return f"({1 << number} * {x})"
    return None


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None
