"""The dialects that twins are printed in, one record each; nothing else knows how many there are.

    neutral   Python's operators where they mean the same on lanes, `select`, `mod`, `floordiv`, `math.exp`, ...
    numpy     the spellings of the NumPy engine, so that text and engine compute the same bits
    numba     scalar Python as numba compiles it
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyflat.functions.records import RECORDS, SAME
from pyflat.ir.ops import FUSED, OPERATIONS, PRIMITIVES, ROUNDED
from pyflat.targets.numpy import spelling as numpy_spelling
from pyflat.targets.text.expr import NOT, Call, Expr, Infix, Prefix, Ternary, Word

Target = Literal["neutral", "numpy", "numba"]

_WRITTEN = {name: row.written[0] for name, row in PRIMITIVES.items() if row.written}
_NEUTRAL = {
    **_WRITTEN, "round_digits": "round",
    **{name: name for name in (*ROUNDED.values(), "floordiv", "mod", "shl", "shr")},
    **{record.name: record.title for record in RECORDS.values() if record.python},
    "np_powers": "np.power", "np_dot": "np.dot",
    **{name: row.operator for name, row in OPERATIONS.items() if row.native and name not in FUSED},
    "pow": "**", "ipow": "**",
}
"""Operators, and the functions that a user writes; np.power of arrays has the same name as that of numbers."""

_NUMBA = {
    **{name: word for name, word in _NEUTRAL.items()
       if name not in _WRITTEN or word.startswith("math.") or hasattr(builtins, word)},
    "ipow": "**", "floordiv": "//", "mod": "%", "shl": "<<", "shr": ">>",
    **{name: f"np.{name}" for name in ROUNDED.values()},
    **{record.name: record.numba_name for record in RECORDS.values() if record.numba_name != SAME},
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text is written. `words` has the operator ("+") or the function ("math.exp") of each operation."""

    name: Target
    meaning: str
    """What the header says of how the text is to be read."""

    words: Mapping[str, str]
    select: Callable[[Expr, Expr, Expr], Expr]
    negation: Callable[[Expr], Expr]
    gather: Callable[[Sequence[Expr], Expr], Expr]
    """How an item is chosen from a table by an index."""

    stands_alone: bool = True
    """It runs outside the user's module: it imports what it uses, and has no names of that module."""

    on_arrays: bool = False
    """A value is an array of lanes, else a number: `x += 1` would write into the caller's."""

    module: str = ""
    """What is imported always."""

    decorator: str = ""
    constants: str = "np"
    """The module of nan and inf."""

    @property
    def spelled(self) -> frozenset[str]:
        return frozenset([*self.words, "library_hypot"])

    def operator(self, opcode: str) -> str:
        """The operator that spells `opcode`, "" when a function does, or nothing."""
        word = self.words.get(opcode, "")
        return "" if word[:1].isalpha() else word


DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (
    Dialect("neutral", "target-neutral: select(p, a, b) is a where p else b, both computed", _NEUTRAL,
            select=lambda cond, then, orelse: Call("select", [cond, then, orelse]),
            negation=lambda operand: Prefix("~", operand),
            gather=lambda items, index: Call("gather", [Call("", items), index]),
            stands_alone=False, constants="math"),
    Dialect("numpy", "runs on NumPy arrays", numpy_spelling.words(),
            select=lambda cond, then, orelse: Call("np.where", [cond, then, orelse]),
            negation=lambda operand: Call("np.logical_not", [operand]),
            gather=lambda items, index: Call("lanes.gather", [Call("", items), index]),
            on_arrays=True, module="np", decorator='@np.errstate(all="ignore")'),
    Dialect("numba", "runs on scalars under numba", _NUMBA,
            select=Ternary,
            negation=lambda operand: Prefix("not ", operand, NOT),
            # an index beyond the table in a lane that is not taken must not raise
            gather=lambda items, index: Call("np.take", [Call("np.array", [Call("", items)]),
                                                         Infix(index, " % ", Word(str(len(items))))]),
            module="numba", decorator='@numba.njit(error_model="numpy")'),
)}
