"""What a function only looks at: values computed of one string argument, each once for a string and not for a lane.

    if code.startswith("A"):            a bool for each string
        return RATES[code[:2]] * x      a float for each string, and whether KeyError is raised

Python computes them, of each distinct string of a call; the lanes get the answers (`ir.shape.Question`). What is
computed of a string has one of a few tags: None, a kind of numbers, an exception, or an object that may be asked again
(`space.looking`). Which tags there are is known of `witnesses`; a string with another is a witness of the next twin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import libcst as cst

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe
from pyflat.frontend.state.signatures import static_key
from pyflat.frontend.state.values import (
    Abstract,
    Derived,
    GuardedUnion,
    Static,
)
from pyflat.ir.nodes import Param
from pyflat.ir.shape import Leaf, Positions, Question, Strings, tag_of
from pyflat.ir.types import BOOL, INT, Kind

MOST_TAGS = 6


# --- arguments
def argument(s: Evaluator, name: str, shape: Strings, place: int) -> Abstract:
    """The argument itself; its answers become parameters behind the first `place` ones."""
    shape.questions.clear()
    shape.checks.clear()
    s.strings[name] = shape
    s.asked[name] = {}
    s.places[name] = place
    return _lifted(s, Derived(name, _itself, name))


def _itself(string: Any) -> Any:
    return string


def add_parameters(s: Evaluator, params: list[Param]) -> None:
    """The parameters for the answers, among those of the function."""
    for name in reversed(s.strings):
        if not s.asked[name]:  # a leaf says how many lanes there are
            _answer(s, Derived(name, _itself, name), BOOL, "object", is_tag=True)
        params[s.places[name]:s.places[name]] = s.asked[name].values()


# --- values
def _lifted(s: Evaluator, value: Derived) -> Abstract:
    """The value as one of what its tags say; lanes in which computing it raises take the exception."""
    strings = s.strings[value.parameter]
    tags = list(dict.fromkeys(tag_of(value.compute, each)[0] for each in strings.witnesses))
    if len(tags) > MOST_TAGS:
        raise s.refuse("flatten/too-large", f"{describe(value)} may be too many kinds of things")
    strings.checks.append((value.compute, frozenset(tags)))
    returned = [tag for tag in tags if not isinstance(tag, type)]
    raised = [tag for tag in tags if isinstance(tag, type)]
    for cls in raised if returned else raised[1:]:
        heap.raise_if(s, _answer(s, value, BOOL, cls, is_tag=True), cls)
    if not returned:
        raise s.raised(raised[0])
    *others, last = returned
    found = _of_tag(s, value, last)
    for tag in reversed(others):
        found = GuardedUnion(_answer(s, value, BOOL, tag, is_tag=True), _of_tag(s, value, tag), found)
    return found


def _of_tag(s: Evaluator, value: Derived, tag: Hashable) -> Abstract:
    if tag == "none":
        return Static(None)
    return _answer(s, value, tag, tag) if isinstance(tag, Kind) else value


def _answer(s: Evaluator, value: Derived, kind: Kind, tag: Hashable, *, is_tag: bool = False,
            labels: Positions | None = None) -> Param:
    known, key = s.asked[value.parameter], (value.key, tag, is_tag, id(labels))
    if key not in known:
        known[key] = Param(kind, f"{value.parameter}_{len(known)}")
        s.widths.arguments.add(known[key])
        s.strings[value.parameter].questions.append(Question(Leaf(kind), value.compute, tag, is_tag, labels))
    return known[key]


def _require(s: Evaluator, value: Derived, holds: Callable[[Any], bool]) -> list[Any] | None:
    """The objects that are computed of the witnesses, where all of them are such; strings of which another is computed
    are witnesses of another twin."""
    strings = s.strings[value.parameter]
    found = [tag_of(value.compute, each) for each in strings.witnesses]
    objects = [known for tag, known in found if tag == "object"]
    if not objects or not all(map(holds, objects)):
        return None

    def differs(string: Any) -> Any:
        known = value.compute(string)
        return known if tag_of(_itself, known)[0] == "object" and not holds(known) else None

    strings.checks.append((differs, frozenset({"none", *(tag for tag, _ in found if isinstance(tag, type))})))
    return objects


def label(s: Evaluator, value: Derived, labels: Positions) -> Param:
    """The position of a string that is a result."""
    known = _require(s, value, lambda one: type(one) is str)
    if known is None:
        raise s.refuse("flatten/result-kind", f"the function returns {describe(value)}, which is not a string")
    labels.position(known[0])
    return _answer(s, value, INT, "object", labels=labels)


def items(s: Evaluator, value: Derived, node: cst.CSTNode | None) -> tuple[Abstract, ...] | None:
    """The items of a tuple or list that has so many for every string."""
    known = _require(s, value, lambda one: type(one) in (tuple, list))
    sizes = set(map(len, known or ()))
    if len(sizes) != 1:
        return None
    size = sizes.pop()
    _require(s, value, lambda one: len(one) == size)
    return tuple(apply(s, "item", lambda one, place: one[place], [value, Static(k)], node) for k in range(size))


def apply(s: Evaluator, title: Hashable, compute: Callable[..., Any], operands: Sequence[Abstract],
          node: cst.CSTNode | None) -> Abstract:
    """`compute` of operands of which some are `Derived` of one string, and the others known."""
    parameters = {value.parameter for value in operands if isinstance(value, Derived)}
    other = next((v for v in operands if not isinstance(v, Derived | Static)), None)
    if other is not None or len(parameters) > 1:
        raise s.refuse("flatten/unsupported-expression", "a string of an array meets " + (
            "another one" if other is None else describe(other)), node)
    for value in operands:
        if isinstance(value, Static):
            s.guards.contents(value.value)
    parts = [value.compute if isinstance(value, Derived) else partial(_known, value.value) for value in operands
             if isinstance(value, Derived | Static)]

    def computed(string: Any) -> Any:
        return compute(*[part(string) for part in parts])

    key = title, tuple(v.key if isinstance(v, Derived) else static_key(v.value) if isinstance(v, Static) else None
                       for v in operands)
    return _lifted(s, Derived(parameters.pop(), computed, key))


def _known(value: Any, _: Any) -> Any:
    return value


def is_among(s: Evaluator, *values: Abstract) -> bool:
    """Whether one is derived, in some lanes at least."""
    return bool(s.strings) and any(isinstance(each, Derived) for value in values for each in (
        alternatives(value) if isinstance(value, GuardedUnion) else (value,)))
