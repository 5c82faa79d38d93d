"""The table that a C-like language is: everything the printer does not know by itself.

A spelling is a text with {0}, {1}, ... for the operands, the level of its operator, and the lowest level that each
operand may have without parentheses. Levels order what may stand bare inside of what: atoms and calls above unary
operators, above products, sums, comparisons, logic, and bit operations, which always get parentheses, because the
languages differ there (WGSL forbids `a & b == c` and `a && b || c`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyflat.ir.types import Kind

ATOM, UNARY, PRODUCT, SUM, COMPARISON, LOGIC, BITS, CHOICE = 10, 9, 8, 7, 5, 3, 2, 1
Literal = Callable[[Kind, bool | int | float | None], str]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an operation is written. `operands` are the levels that operands need, the last one for all further ones;
    `chains`: the left operand may be the same operation without parentheses."""

    text: str
    level: int = ATOM
    operands: tuple[int, ...] = (CHOICE,)
    chains: bool = False


def infix(sign: str, level: int) -> Spelling:
    """A binary operator."""
    bare = {SUM: (SUM, PRODUCT), PRODUCT: (PRODUCT, UNARY), COMPARISON: (SUM, SUM), LOGIC: (COMPARISON, COMPARISON)}
    return Spelling(f"{{0}} {sign} {{1}}", level, bare.get(level, (UNARY, UNARY)), chains=level == LOGIC)


def call(name: str, operands: int = 1) -> Spelling:
    """A function of so many operands."""
    return Spelling(f"{name}({', '.join(f'{{{k}}}' for k in range(operands))})")


def prefix(sign: str) -> Spelling:
    """A unary operator."""
    return Spelling(f"{sign}{{0}}", UNARY, (ATOM,))


@dataclass(frozen=True, slots=True)
class Language:
    """A target of the C-like printer.

    spellings    by operation, or operation and kind of the first operand ("floordiv:i8"), which goes first
    helpers      functions that spellings and other helpers call, by name; printed where they are used
    constant     a binding: {type} {name} {value};   variable: the same, assigned later
    literal      a constant; raises FlattenError for one that the language has not
    table        a module-level array of constants: name, type, literals -> text; `unsigned` is the type of bit patterns
    function     the first line of a function: name, (name, kind) of the parameters, result type -> text
    vector       the type of so many floats
    record       the declaration of a type with fields: name, (name, kind) of the fields -> text
    """

    name: str
    types: Mapping[Kind, str]
    spellings: Mapping[str, Spelling]
    helpers: Mapping[str, str]
    reserved: frozenset[str]
    constant: str
    variable: str
    loop: str
    literal: Literal
    unsigned: str
    vector: Callable[[int], str]
    table: Callable[[str, str, Sequence[str]], str]
    function: Callable[[str, Sequence[tuple[str, Kind]], str], str]
    record: Callable[[str, Sequence[tuple[str, Kind]]], str]

    def spelling(self, opcode: str, kind: Kind | None) -> Spelling | None:
        """The row for an operation whose first operand has this kind, None where there is none."""
        return self.spellings.get(f"{opcode}:{kind}") or self.spellings.get(opcode)

    def helpers_in(self, text: str) -> list[str]:
        """The helper functions that `text` calls, directly or not, each after those that it calls itself."""
        found: dict[str, None] = {}

        def visit(source: str, skip: str = "") -> None:
            for name in re.findall(r"\b[a-z_0-9]+\b(?=\()", source):
                if name in self.helpers and name not in found and name != skip:
                    visit(self.helpers[name], name)
                    found[name] = None

        visit(text)
        return [self.helpers[name] for name in found]


@dataclass(frozen=True, slots=True)
class Printed:
    """A function as text: `text` is the function and everything it needs, to be called as `name(params...)`.

    With one result it returns a scalar, with more a record of type `record` with the names of `results` as fields.
    """

    name: str
    params: tuple[tuple[str, Kind], ...]
    results: tuple[tuple[str, Kind], ...]
    text: str
    record: str = ""
    taken: frozenset[str] = field(default_factory=frozenset)
    """Names that the text uses at module level."""
