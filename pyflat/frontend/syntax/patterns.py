"""`match`: patterns of values, alternatives, captures, sequences, classes and mappings, tried in order.

Whether a subject is of a class, has a length or has a key is known while flattening; what its parts are compared with
gives the lanes. The names of a pattern are bound where the pattern as a whole fits.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import numeric_kind, per_alternative
from pyflat.frontend.state.values import Abstract, DictRef, Static


def execute_match(s: Evaluator, node: cst.Match) -> None:
    subject = s.space.evaluate(node.subject)
    _cases(s, subject, node.cases)


def _cases(s: Evaluator, subject: Abstract, cases: Sequence[cst.MatchCase]) -> None:
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    test = s.space.truth(matches(s, subject, case.pattern))
    if isinstance(test, Static):
        if test.value:
            _guarded(s, subject, case, rest)
        else:
            _cases(s, subject, rest)
        return
    s.branch(test, lambda: _guarded(s, subject, case, rest), lambda: _cases(s, subject, rest), test=case.pattern)


def _guarded(s: Evaluator, subject: Abstract, case: cst.MatchCase, rest: Sequence[cst.MatchCase]) -> None:
    """The pattern fits: bind its names, then the guard decides between the body and the next cases."""
    bind(s, subject, case.pattern)
    if case.guard is None:
        s.space.execute(case.body)
        return
    test = s.space.condition(case.guard)
    if isinstance(test, Static):
        if test.value:
            s.space.execute(case.body)
        else:
            _cases(s, subject, rest)
        return
    s.branch(test, lambda: s.space.execute(case.body), lambda: _cases(s, subject, rest), test=case.guard)


def matches(s: Evaluator, subject: Abstract, pattern: cst.MatchPattern) -> Abstract:
    """Whether the subject fits, as a static or lane bool."""
    match pattern:
        case cst.MatchValue():
            return s.space.compare("eq", subject, s.space.evaluate(pattern.value), pattern)
        case cst.MatchSingleton():
            return s.space.identical(subject, s.space.evaluate(pattern.value), pattern)
        case cst.MatchAs():
            return Static(True) if pattern.pattern is None else matches(s, subject, pattern.pattern)
        case cst.MatchOr():
            return _any(s, subject, [part.pattern for part in pattern.patterns])
        case cst.MatchList() | cst.MatchTuple():
            parts = _sequence_parts(s, subject, pattern)
            return Static(False) if parts is None else _all(s, parts)
        case cst.MatchClass():
            return _class(s, subject, pattern)
        case cst.MatchMapping():
            parts = _mapping_parts(s, subject, pattern)
            return Static(False) if parts is None else _all(s, parts)
    raise s.refuse("flatten/unsupported-statement", "this pattern of `match` cannot be flattened", pattern,
                   help="match values, alternatives, sequences, classes and mappings, or use if")


def _any(s: Evaluator, subject: Abstract, patterns: Sequence[cst.MatchPattern]) -> Abstract:
    first = s.space.truth(matches(s, subject, patterns[0]))
    if len(patterns) == 1 or isinstance(first, Static) and first.value:
        return first
    if isinstance(first, Static):
        return _any(s, subject, patterns[1:])
    return s.branch(first, lambda: Static(True), lambda: _any(s, subject, patterns[1:]))


Parts = list[tuple[Abstract, cst.MatchPattern]]
"""The parts of a subject, each with the pattern that it has to fit."""


def _all(s: Evaluator, parts: Parts) -> Abstract:
    """Whether every part fits; the later ones are looked at only where the earlier ones do."""
    if not parts:
        return Static(True)
    (item, pattern), rest = parts[0], parts[1:]
    first = s.space.truth(matches(s, item, pattern))
    if isinstance(first, Static):
        return _all(s, rest) if first.value else first
    return s.branch(first, lambda: s.space.truth(_all(s, rest)), lambda: Static(False))


def _sequence_parts(s: Evaluator, subject: Abstract, pattern: cst.MatchList | cst.MatchTuple) -> Parts | None:
    """The items that have patterns of their own, None for what has another length or is no sequence."""
    items = None if numeric_kind(subject) is not None else s.space.sequence_items(subject, pattern)
    if items is None or isinstance(subject, Static) and isinstance(subject.value, str):
        return None
    patterns = list(pattern.patterns)
    star = next((k for k, p in enumerate(patterns) if isinstance(p, cst.MatchStar)), None)
    if len(items) < len(patterns) - 1 or star is None and len(items) != len(patterns):
        return None
    if star is not None:
        behind = len(patterns) - star - 1
        items = (*items[:star], *items[len(items) - behind:])
        del patterns[star]
    return [(item, part.value) for item, part in zip(items, patterns, strict=True)
            if isinstance(part, cst.MatchSequenceElement)]


_WHOLE_SUBJECT = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose one positional pattern is for the subject itself."""


@per_alternative("subject")
def _class(s: Evaluator, subject: Abstract, pattern: cst.MatchClass) -> Abstract:
    cls = s.space.evaluate(pattern.cls)
    if not isinstance(cls, Static) or not isinstance(cls.value, type):
        raise s.refuse("flatten/unsupported-statement", "the class of this pattern is not known", pattern)
    inside = s.space.isinstance(subject, cls.value, pattern)
    if isinstance(inside, Static) and not inside.value:
        return inside
    return _all(s, _class_parts(s, subject, cls.value, pattern))


def _class_parts(s: Evaluator, subject: Abstract, cls: type, pattern: cst.MatchClass) -> Parts:
    positional = [part.value for part in pattern.patterns]
    if positional and cls in _WHOLE_SUBJECT:
        parts: Parts = [(subject, positional[0])]
    else:
        names = getattr(cls, "__match_args__", ())
        if len(positional) > len(names):
            raise s.raised(TypeError, pattern)
        parts = [(s.space.getattr(subject, name, pattern), part)
                 for name, part in zip(names, positional, strict=False)]
    return parts + [(s.space.getattr(subject, part.key.value, pattern), part.pattern) for part in pattern.kwds]


def _mapping_parts(s: Evaluator, subject: Abstract, pattern: cst.MatchMapping) -> Parts | None:
    if not (isinstance(subject, DictRef) or isinstance(subject, Static) and isinstance(subject.value, dict)):
        return None
    entries = s.space.dict_entries(subject)
    parts: Parts = []
    for element in pattern.elements:
        key = heap.static_key(s, s.space.evaluate(element.key), pattern)
        if key not in entries:
            return None
        parts.append((entries[key], element.pattern))
    return parts


def bind(s: Evaluator, subject: Abstract, pattern: cst.MatchPattern) -> None:
    """Assign the names that a fitting pattern captures."""
    match pattern:
        case cst.MatchAs():
            if pattern.pattern is not None:
                bind(s, subject, pattern.pattern)
            if pattern.name is not None:
                s.store(pattern.name.value, subject)
        case cst.MatchOr():
            _bind_fitting(s, subject, [part.pattern for part in pattern.patterns])
        case cst.MatchList() | cst.MatchTuple():
            _bind_star(s, subject, pattern)
            _bind_parts(s, _sequence_parts(s, subject, pattern) or [])
        case cst.MatchClass():
            cls = s.space.evaluate(pattern.cls)
            assert isinstance(cls, Static)
            _bind_parts(s, _class_parts(s, subject, cls.value, pattern))
        case cst.MatchMapping():
            _bind_parts(s, _mapping_parts(s, subject, pattern) or [])
            if pattern.rest is not None:
                known = [heap.static_key(s, s.space.evaluate(e.key), pattern) for e in pattern.elements]
                entries = s.space.dict_entries(subject)
                rest = {key: value for key, value in entries.items() if key not in known}
                s.store(pattern.rest.value, heap.new_dict(s, rest))


def _bind_fitting(s: Evaluator, subject: Abstract, patterns: Sequence[cst.MatchPattern]) -> None:
    """Bind the names of the first alternative that fits: each has the same names."""
    names = m.MatchAs(name=m.Name()) | m.MatchStar(name=m.Name()) | m.MatchMapping(rest=m.Name())
    if not m.findall(patterns[0], names):
        return
    first = s.space.truth(matches(s, subject, patterns[0])) if patterns[1:] else Static(True)
    if not isinstance(first, Static):
        s.branch(first, lambda: bind(s, subject, patterns[0]), lambda: _bind_fitting(s, subject, patterns[1:]))
    elif first.value:
        bind(s, subject, patterns[0])
    else:
        _bind_fitting(s, subject, patterns[1:])


def _bind_parts(s: Evaluator, parts: Parts) -> None:
    for item, pattern in parts:
        bind(s, item, pattern)


def _bind_star(s: Evaluator, subject: Abstract, pattern: cst.MatchList | cst.MatchTuple) -> None:
    for k, part in enumerate(pattern.patterns):
        if isinstance(part, cst.MatchStar) and part.name is not None:
            items = s.space.sequence_items(subject, pattern) or ()
            taken = items[k:len(items) - (len(pattern.patterns) - k - 1)]
            s.store(part.name.value, heap.new_list(s, taken))
