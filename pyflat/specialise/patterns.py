"""`match`: patterns of values, alternatives, captures and sequences of fixed length, tried in order."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from pyflat.specialise import containers, expressions, objects, statements
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.values import Abstract, Static, numeric_kind


def execute_match(s: Specialiser, node: cst.Match) -> None:
    subject = expressions.evaluate(s, node.subject)
    _cases(s, subject, node.cases)


def _cases(s: Specialiser, subject: Abstract, cases: Sequence[cst.MatchCase]) -> None:
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    test = num.truth(s, matches(s, subject, case.pattern))
    if isinstance(test, Static):
        if test.value:
            _guarded(s, subject, case, rest)
        else:
            _cases(s, subject, rest)
        return
    s.branch(test, lambda: _guarded(s, subject, case, rest), lambda: _cases(s, subject, rest))


def _guarded(s: Specialiser, subject: Abstract, case: cst.MatchCase, rest: Sequence[cst.MatchCase]) -> None:
    """The pattern fits: bind its names, then the guard decides between the body and the next cases."""
    bind(s, subject, case.pattern)
    if case.guard is None:
        statements.execute_suite(s, case.body)
        return
    test = expressions.condition(s, case.guard)
    if isinstance(test, Static):
        if test.value:
            statements.execute_suite(s, case.body)
        else:
            _cases(s, subject, rest)
        return
    s.branch(test, lambda: statements.execute_suite(s, case.body), lambda: _cases(s, subject, rest))


def matches(s: Specialiser, subject: Abstract, pattern: cst.MatchPattern) -> Abstract:
    """Whether the subject fits, as a static or lane bool."""
    match pattern:
        case cst.MatchValue():
            return objects.compare(s, "eq", subject, expressions.evaluate(s, pattern.value), pattern)
        case cst.MatchSingleton():
            return expressions.identical(s, subject, expressions.evaluate(s, pattern.value), pattern)
        case cst.MatchAs():
            return Static(True) if pattern.pattern is None else matches(s, subject, pattern.pattern)
        case cst.MatchOr():
            return _any(s, subject, [part.pattern for part in pattern.patterns])
        case cst.MatchList() | cst.MatchTuple():
            return _sequence(s, subject, pattern)
    raise s.refuse("flatten/unsupported-statement", "this pattern of `match` cannot be flattened", pattern,
                   help="match values, alternatives and sequences, or use if")


def _any(s: Specialiser, subject: Abstract, patterns: Sequence[cst.MatchPattern]) -> Abstract:
    first = num.truth(s, matches(s, subject, patterns[0]))
    if len(patterns) == 1 or isinstance(first, Static) and first.value:
        return first
    if isinstance(first, Static):
        return _any(s, subject, patterns[1:])
    return s.branch(first, lambda: Static(True), lambda: _any(s, subject, patterns[1:]))


def _sequence(s: Specialiser, subject: Abstract, pattern: cst.MatchList | cst.MatchTuple) -> Abstract:
    items = None if numeric_kind(subject) is not None else containers.sequence_items(s, subject, pattern)
    if items is None or isinstance(subject, Static) and isinstance(subject.value, str):
        return Static(False)
    if any(isinstance(p, cst.MatchStar) for p in pattern.patterns):
        raise s.refuse("flatten/unsupported-statement", "a starred pattern of `match`", pattern)
    if len(items) != len(pattern.patterns):
        return Static(False)
    held: Abstract = Static(True)
    for item, part in zip(items, pattern.patterns, strict=True):
        assert isinstance(part, cst.MatchSequenceElement)
        test = num.truth(s, matches(s, item, part.value))
        if isinstance(test, Static):
            if not test.value:
                return Static(False)
            continue
        held = test if isinstance(held, Static) else num.binary(s, "and", held, test)
    return held


def bind(s: Specialiser, subject: Abstract, pattern: cst.MatchPattern) -> None:
    """Assign the names that a fitting pattern captures."""
    match pattern:
        case cst.MatchAs():
            if pattern.pattern is not None:
                bind(s, subject, pattern.pattern)
            if pattern.name is not None:
                s.state.locals[pattern.name.value] = subject
        case cst.MatchList() | cst.MatchTuple():
            items = containers.sequence_items(s, subject, pattern) or ()
            for item, part in zip(items, pattern.patterns, strict=True):
                assert isinstance(part, cst.MatchSequenceElement)
                bind(s, item, part.value)
