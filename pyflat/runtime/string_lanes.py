"""Arrays of any strings as lanes of answers, for a function that only looks at them.

    price.flat(np.array(["A-10", "B-7", ...]), amount)      what `price` computes of a code alone is computed once for
                                                            each distinct code, and spread over the lanes

The function is specialised with a few strings as witnesses of what may be computed of one
(`pyflat.frontend.space.derived`); where another string gives something of another kind, it is a witness too, and the
function is specialised again. A function that does more with a string has a twin for each (`runtime.grouping`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import FlattenError
from pyflat.ir.formats import F8, dtypes
from pyflat.ir.shape import Shape, Strings, tag_of
from pyflat.runtime.arguments import ClassifiedCall, Coded
from pyflat.runtime.arrays import CallContext, prepare
from pyflat.runtime.compiled import Built
from pyflat.runtime.faults import Part
from pyflat.runtime.grouping import coded
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.outputs import arrays_in
from pyflat.runtime.settings import Options
from pyflat.runtime.words import WordCall, WordItems, with_items

MOST_WITNESSES = 32
MOST_KNOWN = 1 << 20
"""Strings whose answers are kept."""


class StringLanes:
    """What is known of the strings of a function's arguments."""

    def __init__(self) -> None:
        self.witnesses: dict[str, tuple[Any, ...]] = {}
        self.refused: set[Hashable] = set()
        self._answers: dict[str, tuple[Strings, dict[Any, tuple[Any, ...]]]] = {}

    def answers(self, name: str, shape: Strings) -> dict[Any, tuple[Any, ...]]:
        """String -> answers, of the twin that was made last."""
        found = self._answers.get(name)
        if found is None or found[0] is not shape or len(found[1]) > MOST_KNOWN:
            found = self._answers[name] = shape, {}
        return found[1]


def string_call(
    caller: Calls, state: StringLanes, found: Mapping[int | str, WordItems], args: Sequence[Any],
    kwargs: Mapping[str, Any], options: Options, out: Any = None, part: Part | None = None,
) -> WordCall | None:
    """The call with answers in the place of strings; None where the function does more than look at them."""
    key = tuple(sorted(text.name for text in found.values())), options.as_built
    if key in state.refused or not all(text.strings and text.items.size for text in found.values()):
        return None
    columns = {text.name: _Distinct(text) for text in found.values()}
    for name, column in columns.items():
        state.witnesses.setdefault(name, tuple(column.distinct[:4]))
    given = {place: Coded(columns[text.name].codes, ()) for place, text in found.items()}
    positional = [given.get(place, value) for place, value in enumerate(args)]
    call = caller.classified(positional, {name: given.get(name, v) for name, v in kwargs.items()}, options)
    settled = options.settled(call.floats)
    while True:
        asked: dict[str, Shape] = {name: Strings(state.witnesses[name]) if name in columns else shape
                                   for name, shape in call.arguments.items()}
        try:
            built = caller.compilations.get(caller.callee.function, asked, settled.as_built)
        except (FlattenError, TypeError):
            built = None
        if built is None or built.reference is not None or any(map(_too_many, state.witnesses.values())):
            state.refused.add(key)
            return None
        others = {name: column.another(_strings(built, name), state.answers(name, _strings(built, name)))
                  for name, column in columns.items()}
        for name, other in others.items():
            state.witnesses[name] += tuple(other)
        if not any(others.values()):
            break
    whole = with_items(call, {text.name: text for text in found.values()})
    answered = _answered(call, built, columns)
    lanes = prepare(answered, arrays_in(out), convert=not built.converts, form=options.form)
    context = CallContext(caller.callee, caller.parameters, whole, lanes, settled, out, part)
    return WordCall(answered, built, context, None)


def _too_many(witnesses: tuple[Any, ...]) -> bool:
    return len(witnesses) > MOST_WITNESSES


def _strings(built: Built, name: str) -> Strings:
    found = built.arguments[name]
    assert isinstance(found, Strings)
    return found


class _Distinct:
    """The distinct strings of an argument, in the order of their first lanes, and which one each lane has."""

    def __init__(self, text: WordItems):
        codes, self.distinct = coded(text.items.reshape(-1).tolist())
        self.codes = codes.reshape(text.items.shape)
        self.rows: list[tuple[Any, ...]] = []
        """The answers of each."""

    def another(self, shape: Strings, known: dict[Any, tuple[Any, ...]]) -> list[Any]:
        """A string of which something else is computed than of the witnesses, if there is one. Else the answers of all
        are there then."""
        self.rows.clear()
        for string in self.distinct:
            row = known.get(string)
            if row is None:
                if any(tag_of(compute, string)[0] not in tags for compute, tags in shape.checks):
                    return [string]
                row = known[string] = tuple(question.answer(string) for question in shape.questions)
            self.rows.append(row)
        return []


def _answered(call: ClassifiedCall, built: Built, columns: Mapping[str, _Distinct]) -> ClassifiedCall:
    """The call with arrays of answers."""
    values, kinds, names = list[Any](), list[Any](), list[str]()
    for value, kind, name in zip(call.values, call.kinds, call.names, strict=True):
        column = columns.get(name)
        if column is None:
            values.append(value)
            kinds.append(kind)
            names.append(name)
            continue
        for place, question in enumerate(_strings(built, name).questions):
            table: npt.NDArray[Any] = np.array([row[place] for row in column.rows], dtypes(F8)[question.leaf.kind])
            values.append(table[column.codes])
            kinds.append(question.leaf.kind)
            names.append(name)
    return replace(call, arguments=dict(built.arguments), values=tuple(values), kinds=tuple(kinds), names=tuple(names))
