"""Reads the text of `ir.print` back into a Function.

Everything the printer writes comes back: kinds, names, constants bit for bit, attrs, labels. Comments (from
`;` to the end of the line) and layout inside a line are free; one operation, end or brace stands per line.
"""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyflat.ir.formats import F4, F8, FORMATS
from pyflat.ir.loops import recognise_counted
from pyflat.ir.nodes import (
    FAULT,
    Block,
    Const,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Op,
    Param,
    Region,
    Value,
    Yield,
    same_value,
)
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import VOID, Kind, kind_of


class ParseError(ValueError):
    """The text is not the IR's; says the line."""


_TOKEN = re.compile(
    r"""
    (?P<comment>;.*)
  | (?P<ref>[%@](?:[^\W\d]\w*|"(?:[^"\\]|\\.)*"|\d+)(?:\.\d+)?)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<number>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf\b|nan\b))
  | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
  | (?P<sign>->|[(){}:,=])
  | (?P<space>\s+)
  | (?P<wrong>.)
    """,
    re.VERBOSE,
)
_LITERAL_WORDS = ("true", "false", "undefined")
_KINDS = {**{kind.value: kind for kind in Kind}, F4.name: Kind.FLOAT}


def parse_function(text: str) -> Function:
    """The function that `format_function` printed as `text`. Raises ParseError with the line number."""
    return _Parser(text).function()


def claim_counted(loop: Loop, fact: list[Value], line: int) -> None:
    """Note that the loop counts, if it counts like that."""
    found = recognise_counted(loop)
    if found is None or len(fact) != 4 or not all(map(same_value, fact, found.operands)):
        raise ParseError(f"line {line}: the loop does not count like that")
    loop.counted = found.iv


class _Parser:
    def __init__(self, text: str):
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.values: dict[str, Value] = {}
        self.labels: dict[str, Label] = {"@fault": FAULT}
        for number, line in enumerate(text.splitlines(), 1):
            self._scan(line, number)
        self.tokens.append(("end", "", len(text.splitlines())))

    def _scan(self, line: str, number: int) -> None:
        count = len(self.tokens)
        for match in _TOKEN.finditer(line):
            kind = match.lastgroup or "wrong"
            if kind == "wrong":
                raise ParseError(f"line {number}: unexpected {match.group()!r}")
            if kind not in ("comment", "space"):
                self.tokens.append((kind, match.group(), number))
        if len(self.tokens) > count:
            self.tokens.append(("newline", "\n", number))

    # --- tokens
    @property
    def text(self) -> str:
        return self.tokens[self.at][1]

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def wrong(self, expected: str) -> ParseError:
        return ParseError(f"line {self.tokens[self.at][2]}: expected {expected}, found {self.text!r}")

    def next(self) -> str:
        text = self.text
        self.at += 1
        return text

    def accept(self, text: str) -> bool:
        if self.text != text or self.kind == "string":
            return False
        self.at += 1
        return True

    def expect(self, *texts: str) -> None:
        for text in texts:
            if not self.accept(text):
                raise self.wrong(repr(text))

    def expect_kind(self, kind: str) -> str:
        if self.kind != kind:
            raise self.wrong(f"a {kind}")
        return self.next()

    # --- the function and its lists
    def function(self) -> Function:
        self.expect("func")
        name = _plain_name(self.ref("@"))
        params = self.params()
        self.expect("->")
        kinds = self.kinds()
        form = self.expect_kind("word")
        floats = F4 if self.accept(F4.name) else F8
        label = self.new_label()
        body = self.body()
        self.expect("\n")
        if self.kind != "end":
            raise self.wrong("the end of the text")
        other = next((line for kind, text, line in self.tokens if kind == "word" and text in FORMATS
                      and text != floats.name), None)
        if other is not None:
            raise ParseError(f"line {other}: the floats of this function are {floats.name}")
        return Function(name, params, body, label, kinds, form, floats)

    def body(self) -> list[Item]:
        """`{`, lines, `}`."""
        self.expect("{", "\n")
        block = Block()
        items: list[Item] = [block]
        while not self.accept("}"):
            match self.text:
                case "if" | "region" | "loop":
                    block = Block()
                    items += [self.node(), block]
                case "yield":
                    self.at += 1
                    block.end = Yield(self.operands())
                case "exit":
                    block.end = self.exit()
                case _:
                    block.ops.append(self.op())
            self.expect("\n")
        return items

    def node(self) -> If | Region | Loop:
        match self.next():
            case "if":
                cond, hint = self.operand(), self.hint()
                then = self.body()
                self.expect("else")
                return If(cond, then, self.body(), self.results(), hint=hint)
            case "region":
                label = self.new_label()
                body = self.body()
                return Region(label, body, self.results())
            case _:
                return self.loop()

    def loop(self) -> Loop:
        label = self.new_label()
        self.expect("again")
        again = self.new_label()
        params: list[Param] = []
        inits: list[Value] = []
        names: list[str] = []
        self.expect("(")
        while not self.accept(")"):
            names.append(self.ref("%"))
            self.expect(":")
            params.append(Param(self.lane_kind(), _plain_name(names[-1])))
            self.expect("=")
            inits.append(self.operand())
            if self.text != ")":
                self.expect(",")
        for name, param in zip(names, params, strict=True):
            self.define(name, param)
        line, hint = self.tokens[self.at][2], self.hint()
        fact = self.counted() if self.accept("counted") else None
        body = self.body()
        loop = Loop(label, again, params, inits, body, self.results(), hint=hint)
        if fact is not None:
            claim_counted(loop, fact, line)
        return loop

    def hint(self) -> str:
        """`hint(unroll)`, or nothing."""
        if not self.accept("hint"):
            return ""
        self.expect("(")
        hint = self.expect_kind("word")
        self.expect(")")
        return hint

    def counted(self) -> list[Value]:
        """`(iv, lower, upper, step)`."""
        self.expect("(")
        fact = self.operands()
        self.expect(")")
        return fact

    def results(self) -> list[Param]:
        return self.params() if self.accept("->") else []

    # --- operations and ends
    def op(self) -> Op:
        name = self.ref("%") if self.text.startswith("%") else ""
        if name:
            self.expect("=")
        opcode = self.expect_kind("word")
        if opcode not in OPERATIONS:
            raise ParseError(f"line {self.tokens[self.at - 1][2]}: there is no operation {opcode}")
        args = self.operands()
        attrs: list[tuple[str, Any]] = []
        while self.text == "{":
            attrs.append(self.attr())
        if self.kind in ("word", "string"):
            attrs.append(("fault", self.fault()))
        kind = VOID
        if name:
            self.expect(":")
            kind = self.lane_kind()
        op = Op(opcode, args, kind, name=_plain_name(name), attrs=tuple(attrs))
        if name:
            self.define(name, op)
        return op

    def attr(self) -> tuple[str, Any]:
        self.expect("{")
        name = self.expect_kind("word")
        self.expect("=")
        value = self.attr_value()
        self.expect("}")
        return name, value

    def attr_value(self) -> Any:
        if self.accept("("):
            items: list[Any] = []
            while not self.accept(")"):
                items.append(self.attr_value())
                if self.text != ")":
                    self.expect(",")
            return tuple(items)
        if self.tokens[self.at + 1][1] == "(":
            return self.fault()
        if self.accept("base64"):
            return self.table()
        if self.kind == "string":
            return ast.literal_eval(self.next())
        return None if self.accept("None") else self.constant().value

    def table(self) -> tuple[Any, ...]:
        """The numbers of a long table, which is written as its bytes."""
        dtype, text = (self.expect_kind("string")[1:-1] for _ in range(2))
        try:
            return tuple(np.frombuffer(base64.b64decode(text, validate=True), dtype).tolist())
        except (ValueError, TypeError) as error:
            raise ParseError(f"line {self.tokens[self.at - 1][2]}: no table: {error}") from None

    def fault(self) -> Fault:
        name = ast.literal_eval(self.next()) if self.kind == "string" else self.expect_kind("word")
        self.expect("(")
        message = ast.literal_eval(self.next()) if self.kind == "string" else ""
        self.expect(")")
        return Fault(name, message)

    def exit(self) -> Exit:
        self.expect("exit")
        name = self.ref("@")
        if name not in self.labels:
            raise ParseError(f"line {self.tokens[self.at - 1][2]}: there is no label {name}")
        values = self.operands()
        fault = self.fault() if self.kind in ("word", "string") else None
        return Exit(self.labels[name], values, fault)

    # --- operands, names, kinds
    def operands(self) -> list[Value]:
        values: list[Value] = []
        while self._at_operand():
            values.append(self.operand())
            if not self.accept(","):
                break
        return values

    def _at_operand(self) -> bool:
        return self.kind in ("ref", "number") or (self.kind == "word" and self.text in _LITERAL_WORDS)

    def operand(self) -> Value:
        if self.kind != "ref":
            return self.constant()
        name = self.ref("%")
        if name not in self.values:
            raise ParseError(f"line {self.tokens[self.at - 1][2]}: {name} is not defined")
        return self.values[name]

    def constant(self) -> Const:
        if self.accept("undefined"):
            self.expect(":")
            return Const(self.lane_kind(), None)
        if self.text in ("true", "false"):
            return Const(_KINDS["b"], self.next() == "true")
        value = _number(self.expect_kind("number"))
        return Const(kind_of(value) or _KINDS["i8"], value)

    def ref(self, sigil: str) -> str:
        if self.kind != "ref" or not self.text.startswith(sigil):
            raise self.wrong(f"a name with {sigil}")
        return self.next()

    def define(self, name: str, value: Value) -> None:
        if name in self.values:
            raise ParseError(f"line {self.tokens[self.at - 1][2]}: {name} is defined twice")
        self.values[name] = value

    def new_label(self) -> Label:
        name = self.ref("@")
        if name in self.labels:
            raise ParseError(f"line {self.tokens[self.at - 1][2]}: {name} is defined twice")
        self.labels[name] = Label(_plain_name(name))
        return self.labels[name]

    def params(self) -> list[Param]:
        params: list[Param] = []
        self.expect("(")
        while not self.accept(")"):
            name = self.ref("%")
            self.expect(":")
            params.append(Param(self.lane_kind(), _plain_name(name)))
            self.define(name, params[-1])
            if self.text != ")":
                self.expect(",")
        return params

    def kinds(self) -> Sequence[Kind]:
        kinds: list[Kind] = []
        self.expect("(")
        while not self.accept(")"):
            kinds.append(self.lane_kind())
            if self.text != ")":
                self.expect(",")
        return kinds

    def lane_kind(self) -> Kind:
        if self.text not in _KINDS:
            raise self.wrong("a kind")
        return _KINDS[self.next()]


def _plain_name(ref: str) -> str:
    """`%x.1` is a value named x, `%"p.0"` one named p.0, `%3` one without a name."""
    name = ref[1:]
    if name.startswith('"'):
        return str(ast.literal_eval(name[: name.rindex('"') + 1]))
    name = name.partition(".")[0]
    return "" if name.isdigit() else name


def _number(text: str) -> int | float:
    if text in ("inf", "-inf", "nan", "-nan") or any(c in text for c in ".e"):
        return float(text)
    return int(text)
