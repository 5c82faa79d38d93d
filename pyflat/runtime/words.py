"""Arrays of strings as lanes of codes, for a function that only compares them with strings it knows.

    convert.flat(xs, np.array(["C", "F", "K"]))      one twin, in which `unit` is one of "C", "F" and another string

Which strings those are the function says itself: it is specialised to a table without any, compares with "C" and "F",
and is specialised again. Where it does anything else with the strings, the array is a column of options, with a twin
for each (`pyflat.runtime.grouping`). Arrays of enum members are codes of all members of their class.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import FlattenError
from pyflat.frontend.callables import Parameters
from pyflat.ir.shape import MAX_WORDS, OTHER_WORD, Labels, Leaf, UnknownWordsError
from pyflat.ir.types import BOOL
from pyflat.runtime.arguments import ClassifiedCall, Coded
from pyflat.runtime.arrays import Array, CallContext, prepare
from pyflat.runtime.compiled import Built
from pyflat.runtime.faults import Float32Lanes, Part
from pyflat.runtime.grouping import parameter_at
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.outputs import arrays_in
from pyflat.runtime.settings import Options


@dataclass(frozen=True, slots=True)
class WordItems:
    """One argument: its items, as the caller has them, and what they may be besides strings: None, or the members of an
    enum, in which case they are no strings."""

    name: str
    items: Array
    others: tuple[Any, ...]
    strings: bool

    def table(self, words: Sequence[str]) -> tuple[Any, ...]:
        return (*words, *self.others, OTHER_WORD) if self.strings else self.others

    def codes(self, table: Sequence[Any]) -> npt.NDArray[np.int64]:
        """The position in the table of each item."""
        if self.items.dtype.kind == "U":
            return _codes_of_characters(self.items, table[:-1])
        listed = self.items.reshape(-1).tolist()
        if self.strings:
            get, other = {item: position for position, item in enumerate(table)}.get, len(table) - 1
            found = [get(item, other) for item in listed]
        else:  # members by identity: their class may define ==
            places = {id(item): position for position, item in enumerate(table)}
            found = [places[id(item)] for item in listed]
        return np.array(found, np.int64).reshape(self.items.shape)


def _codes_of_characters(items: Array, words: Sequence[Any]) -> npt.NDArray[np.int64]:
    """The positions of strings of one length, by their first characters, which is much faster than comparing whole
    strings. NumPy's strings have no zeros at their ends."""
    width = items.dtype.itemsize // 4
    native = np.ascontiguousarray(items, items.dtype.newbyteorder("="))
    characters = native.reshape(-1).view(np.uint32).reshape(items.size, width)
    codes = np.full(items.size, len(words), np.int64)
    for position, word in enumerate(words):
        if type(word) is not str or len(word) > width or word.endswith("\0"):
            continue
        wanted = np.array([*map(ord, word), *[0] * (width - len(word))], np.uint32)
        found = np.flatnonzero(characters[:, 0] == wanted[0])
        codes[found[(characters[found] == wanted).all(axis=1)]] = position
    return codes.reshape(items.shape)


def texts_in(
    parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[str]
) -> dict[int | str, WordItems]:
    """The arguments that are arrays of strings or members, by position or keyword; none where one must be a column."""
    found: dict[int | str, WordItems] = {}
    for place, value in itertools.chain[tuple[int | str, Any]](enumerate(args), kwargs.items()):
        if type(value) is np.ndarray and value.dtype.kind in "USTO" or type(value) is list:
            name = parameter_at(parameters, place)
            plain = name in parameters.names and name not in (parameters.extra, parameters.keywords, *static)
            if isinstance(value, list) and not (value and parameters.takes_string(name)):
                continue
            texts = _texts(name, _listed(value)) if plain else None
            if texts is None:
                return {}
            found[place] = texts
    return found


def _listed(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    items = np.empty(len(value), object)
    items[:] = value
    return items


def _texts(name: str, items: Array) -> WordItems | None:
    """None for what is a column."""
    text = items.dtype.kind == "U" and items.dtype.itemsize > 0
    if text or items.dtype.kind == "T" and not hasattr(items.dtype, "na_object"):
        return WordItems(name, items, (), True)
    if items.dtype.kind != "O" or not items.size:
        return None
    classes = set(map(type, items.reshape(-1).tolist()))
    others = (None,) if type(None) in classes else ()
    classes.discard(type(None))
    if classes == {str}:
        return WordItems(name, items, others, True)
    cls = classes.pop() if len(classes) == 1 else None
    if cls is None or not issubclass(cls, enum.Enum) or issubclass(cls, enum.Flag) or len(cls) > MAX_WORDS:
        return None
    return WordItems(name, items, (*cls, *others), False)


@dataclass(frozen=True, slots=True)
class WordCall:
    """A call with codes: what the engine takes, and the same with the caller's items, which originals take."""

    call: ClassifiedCall
    built: Built
    context: CallContext
    reference: Float32Lanes | None


def word_call(
    caller: Calls, state: Words, found: Mapping[int | str, WordItems], args: Sequence[Any], kwargs: Mapping[str, Any],
    options: Options, out: Any = None, part: Part | None = None,
) -> WordCall | None:
    """The call with codes; None where the function does more with a string than comparing it."""
    key = (tuple(sorted((text.name, text.strings, len(text.others)) for text in found.values())), options.as_built)
    if key in state.grouped:
        return None
    while True:
        tables = {text.name: text.table(state.words.get(text.name, ())) for text in found.values()}
        given = {place: Coded(text.codes(tables[text.name]), tables[text.name]) for place, text in found.items()}
        coded = [given.get(place, value) for place, value in enumerate(args)]
        call = caller.classified(coded, {name: given.get(name, v) for name, v in kwargs.items()}, options)
        settled = options.settled(call.floats)
        try:
            built = caller.compilations.get(caller.callee.function, call.arguments, settled.as_built)
        except UnknownWordsError as unknown:
            if not state.learn(unknown.words):
                state.grouped.add(key)
                return None
        except (FlattenError, TypeError):
            state.grouped.add(key)
            return None
        else:
            break
    lanes = prepare(call, arrays_in(out), convert=not built.converts, form=options.form)
    whole = with_items(call, {text.name: text for text in found.values()})
    context = CallContext(caller.callee, caller.parameters, whole, lanes, settled, out, part)
    reference = None if built.reference is None else _CodedReference(built.reference, whole, tables)
    return WordCall(call, built, context, reference)


def with_items(call: ClassifiedCall, found: Mapping[str, WordItems]) -> ClassifiedCall:
    """The call with the strings themselves as lane values."""
    arguments = {name: Leaf(BOOL) if name in found else shape for name, shape in call.arguments.items()}
    pairs = zip(call.names, call.values, strict=True)
    values = tuple(found[name].items if name in found else value for name, value in pairs)
    return replace(call, arguments=arguments, values=values)


class Words:
    """What is known of the strings that a function compares its arguments with."""

    def __init__(self) -> None:
        self.words: dict[str, tuple[str, ...]] = {}
        self.grouped: set[Hashable] = set()
        """Sets of parameters and options for which arrays of strings are columns."""

    def table(self, name: str, others: Sequence[Any] = ()) -> tuple[Any, ...]:
        """What the codes of an argument stand for: strings, and what of `others` is none."""
        return (*self.words.get(name, ()), *(x for x in others if x is not OTHER_WORD and not isinstance(x, str)),
                OTHER_WORD)

    def learn(self, words: Mapping[str, Sequence[str]]) -> bool:
        """Take more words; False where they are too many."""
        for name, more in words.items():
            self.words[name] = tuple(dict.fromkeys((*self.words.get(name, ()), *more)))
        return all(len(known) <= MAX_WORDS for known in self.words.values())


class _CodedReference:
    """The float32 values of lanes whose arguments are strings."""

    def __init__(self, reference: Float32Lanes, call: ClassifiedCall, tables: Mapping[str, Sequence[Any]]):
        self._reference = reference
        self._tables = [None if (table := tables.get(name)) is None else Labels(table) for name in call.names]

    def values(self, row: Sequence[Any]) -> tuple[Any, ...]:
        coded = [value if table is None else _code(table, value)
                 for value, table in zip(row, self._tables, strict=True)]
        return self._reference.values(coded)


def _code(table: Labels, value: Any) -> int:
    found = table.code(value)
    return len(table.table) - 1 if found is None else found
