"""The returned Python value as an expression: its leaves are holes, its classes and fixed parts are named."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Iterator, Sequence
from keyword import iskeyword
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import InternalError
from pyflat.functions import moments
from pyflat.functions.stacking import DATES
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.shape import Fixed, Labels, Leaf, Maybe, Ragged, Record, Shape, Strings, Template, Texts, leaves, made
from pyflat.targets.text.expr import Call, Expr, Hole, Prefix, Word, flat
from pyflat.targets.text.match import SourceMatcher
from pyflat.targets.text.spelling import Dialect


class Results:
    """Builds one result. `objects` are the things that its text mentions by name; `exact` says whether every part was
    read off the user's return statement."""

    def __init__(self, matcher: SourceMatcher | None = None, dialect: Dialect | None = None):
        self.objects: dict[str, Any] = {}
        self.matcher = matcher
        self.dialect = dialect
        self.on_arrays = dialect is not None and dialect.on_arrays
        self.exact = True
        self.missing: Value | None = None
        """On arrays: where the whole is None."""

    def expression(self, shape: Shape, values: Iterator[Value], node: cst.BaseExpression | None = None) -> Expr:
        match shape:
            case Leaf():
                return self._leaf(next(values), node)
            case Fixed():
                found = self.fixed(shape.value)
                self.exact &= self._same_text(found, node)
                return found
            case Ragged() | Record() if isinstance(shape, Ragged) or shape.cls is str:
                self.exact = False
                return self._made(shape, [Hole(next(values)) for _ in leaves(shape)])
            case Record():
                return self._record(shape, values, node)
            case Labels():
                self.exact = False
                return self._chosen(shape, next(values))
            case Texts():
                self.exact = False
                return self._text(shape, [Hole(next(values)) for _ in leaves(shape)])
            case Maybe():
                return self._maybe(shape, values)
            case Strings():
                raise InternalError(f"not a result: {shape!r}")

    def _chosen(self, shape: Labels, code: Value) -> Expr:
        """The object that a code stands for: a chain of selects among codes is one among objects."""
        texts = [self.fixed(item) for item in shape.table]
        conditions: list[Expr] = []
        chosen: list[Expr] = []
        while isinstance(code, Op) and code.opcode == "select" and isinstance(code.args[1], Const):
            conditions.append(Hole(code.args[0]))
            chosen.append(texts[int(code.args[1].value or 0)])
            code = code.args[2]
        if isinstance(code, Const) or self.dialect is None:
            last = texts[int(code.value or 0) if isinstance(code, Const) else 0]
        else:
            last = self.dialect.gather(texts, Hole(code))
        if self.on_arrays and conditions:
            return Call("np.select", [Call("", conditions), Call("", chosen), last])
        if self.on_arrays and isinstance(code, Const):
            return Call("np.asarray", [last])
        for condition, item in zip(reversed(conditions), reversed(chosen), strict=True):
            last = self.dialect.select(condition, item, last) if self.dialect is not None else last
        return last

    def _text(self, shape: Texts, parts: list[Expr]) -> Expr:
        """The text that str.format makes of numbers, where it is the only one."""
        only = shape.table[0]
        if not self.on_arrays and self.dialect is not None and len(shape.table) == 1 and isinstance(only, Template) \
                and all(hole.how == "number" for hole in only.holes):
            return Call(f"{only.text!r}.format", [parts[shape.leaf(hole)] for hole in only.holes])
        return self._made(shape, parts)

    def _made(self, shape: Shape, parts: list[Expr]) -> Expr:
        return Call(self._named("made", functools.partial(made, shape)), parts)

    def _maybe(self, shape: Maybe, values: Iterator[Value]) -> Expr:
        """None where the last leaf says so; on arrays a mask."""
        self.exact = False
        inner = [next(values) for _ in leaves(shape.inner)]
        where = next(values)
        before, self.missing = self.missing, where if self.on_arrays else None
        found = self.expression(shape.inner, iter(inner))
        self.missing = before
        return found if self.on_arrays or self.dialect is None else self.dialect.select(
            Hole(where), Word("None"), found)

    def _leaf(self, value: Value, node: cst.BaseExpression | None) -> Expr:
        if self.missing is not None:
            data: Expr = Hole(value)
            if isinstance(value, Const):
                data = Call("np.full", [Call("np.shape", [Hole(self.missing)]), data])
            return Call("np.ma.masked_array", [data, Hole(self.missing)])
        if node is None or self.matcher is None:
            self.exact = False
            return Hole(value)
        found = self.matcher.operand(node, value, 0, 0)
        self.exact &= not isinstance(found, Hole) or found.name != ""
        return found

    def _same_text(self, found: Expr, node: cst.BaseExpression | None) -> bool:
        if node is None or self.matcher is None:
            return False
        return self.matcher.module.code_for_node(node) == flat(found) and not self.objects

    def _record(self, shape: Record, values: Iterator[Value], node: cst.BaseExpression | None) -> Expr:
        if shape.cls is complex:
            self.exact = False
            parts = [Hole(next(values)) for _ in shape.items]
            return Call("lanes.complex_lanes" if self.on_arrays else "complex", parts[:2])
        if shape.cls is np.uint64:
            self.exact = False
            alone = self.dialect is not None and self.dialect.stands_alone
            head = "lanes.unsigned" if self.on_arrays else "np.uint64" if alone else "uint64"
            return Call(head, [Hole(next(values))])
        if shape.cls is np.ndarray:
            return self._array([Hole(next(values)) for _ in shape.items], shape.names)
        nodes: Sequence[cst.BaseExpression | None] = [None] * len(shape.items)
        if isinstance(node, cst.Tuple) and shape.cls is tuple and len(node.elements) == len(shape.items):
            nodes = [element.value for element in node.elements]
        else:
            self.exact = False
        items = [self.expression(item, values, n) for item, n in zip(shape.items, nodes, strict=True)]
        if shape.cls is tuple:
            return Call("", items)
        if shape.cls is list:
            return Call("list", [Call("", items)])
        if shape.cls is dict and not all(name.isidentifier() and not iskeyword(name) for name in shape.names):
            pairs = [Call("", [Word(repr(name)), item]) for name, item in zip(shape.names, items, strict=True)]
            return Call("dict", [Call("", pairs)])
        if shape.cls is dict:
            return Call("dict", items, shape.names)
        if shape.cls in DATES and self.on_arrays:
            return Call("lanes.date_lanes", [Word(self._named(shape.cls.__name__, shape.cls)), Call("", items)])
        return Call(self._named(shape.cls.__name__, moments.MAKERS.get(shape.cls, shape.cls)), items, shape.names)

    def _array(self, items: Sequence[Expr], extent: Sequence[str]) -> Expr:
        self.exact = False
        if self.on_arrays:
            return Call("lanes.array_lanes", [Call("", [Word(size) for size in extent]), *items])
        rows = list(items)
        for size in map(int, reversed(extent)):
            rows = [Call("", rows[i:i + size]) for i in range(0, len(rows), size)]
        return Call(self._named("array", np.array), rows)

    def _named(self, name: str, value: Any) -> str:
        name = name if name.isidentifier() else "result"
        while name in self.objects and self.objects[name] is not value:
            name += "_"
        self.objects[name] = value
        return name

    def fixed(self, value: Any) -> Expr:
        match value:
            case float() if not math.isfinite(value):
                return Call("float", [Word(f'"{value!r}"')])
            case enum.Enum() if str(value.name).isidentifier():
                cls = type(value)
                return Word(f"{self._named(cls.__name__, cls)}.{value.name}")
            case int() | float() if not isinstance(value, bool) and str(value).startswith("-"):
                return Prefix("-", self.fixed(-value))
            case None | bool() | int() | float() | str() | bytes():
                return Word(repr(value))
            case tuple() if type(value) is tuple:
                return Call("", [self.fixed(item) for item in value])
            case _:
                return Word(self._named(getattr(value, "__name__", type(value).__name__.lower()), value))
