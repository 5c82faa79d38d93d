"""Results of a flat function that are objects: strings, and null for None."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyflat.backend import FlatFunction
from pyflat.errors import refuse
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, Texts
from pyflat.targets.columns.terms import Piece, Terms


def with_objects(
    t: Terms, flat: FlatFunction, results: list[Value], text: Callable[[str], str], null: str
) -> tuple[list[str], list[Value]]:
    """Names and terms of the results, with strings for codes and null for None. `text` writes a string."""
    source = zip(flat.result_names, results, strict=True)
    made = [*_Objects(t, flat, text, null).results(flat.result, source), *source]  # the last is the mask of faults
    return [name for name, _ in made], [term for _, term in made]


class _Objects:
    def __init__(self, t: Terms, flat: FlatFunction, text: Callable[[str], str], null: str):
        self.t = t
        self.flat = flat
        self.text = text
        self.null = null

    def results(self, shape: Shape, source: Iterator[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
        match shape:
            case Leaf():
                yield next(source)
            case Record():
                for item in shape.items:
                    yield from self.results(item, source)
            case Labels():
                name, code = next(source)
                yield name, self.chosen([self.literal(item) for item in shape.table], code, {})
            case Texts() | Ragged():
                if isinstance(shape, Texts) and shape.mixed:
                    raise refuse("flatten/result-kind", f"{self.flat.name} gives numbers in some lanes and other "
                                 "objects in others", why="a column holds values of one kind",
                                 help="return None instead of the other objects, or two results, as in (value, label)")
                raise refuse("flatten/result-kind", f"{self.flat.name} gives strings or lists that are made from lanes",
                             help="return the numbers that they are made of")
            case Maybe():
                inner = list(self.results(shape.inner, source))
                where = next(source)[1]
                for name, term in inner:
                    yield name, self.select(where, self.literal(None), term)
            case Fixed():
                pass

    def literal(self, item: Any) -> Value:
        """A string or null."""
        if item is not None and type(item) is not str:
            raise refuse("flatten/result-kind", f"{self.flat.name} gives {item!r}: columns hold numbers and strings",
                         help="return a string, as the name or value of an enum member is")
        shown = self.null if item is None else self.text(item)
        return Piece(shown)

    def select(self, where: Value, then: Value, orelse: Value) -> Value:
        if isinstance(where, Const):
            return then if where.value else orelse
        return Op("select", (where, then, orelse), orelse.kind)

    def chosen(self, texts: list[Value], code: Value, known: dict[Value, Value]) -> Value:
        """A tree of selects among codes is one among strings."""
        if code not in known:
            if isinstance(code, Const):
                known[code] = texts[int(code.value or 0)]
            elif isinstance(code, Op) and code.opcode == "select":
                known[code] = self.select(code.args[0], self.chosen(texts, code.args[1], known),
                                          self.chosen(texts, code.args[2], known))
            else:
                found = texts[-1]
                for position in range(len(texts) - 2, -1, -1):
                    found = self.select(self.t("eq", code, position), texts[position], found)
                known[code] = found
        return known[code]
