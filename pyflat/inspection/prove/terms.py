"""Operations of the IR as terms of z3: bools and 64-bit words, which are ints or stand for doubles (`floats`).

What words do cheaply is exact: comparisons, signs, selects, sums of ints, bit operations, products with a literal. Any
other operation is an *application*: a fresh word for its result, the same one for the same operation on the same
operands. What is known of the result is said by theorems (`theorems`) and, where that is not enough, by the operation's
bit-precise definition. Lanes have equal results when their words are equal: nan is nan, 0.0 is not -0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from pyflat.inspection.prove import floats
from pyflat.inspection.prove.floats import WORD, Term, number_of
from pyflat.ir.nodes import Const, Op
from pyflat.ir.ops import COMMUTATIVE, PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MIN, Kind

SORTS = {BOOL: z3.BoolSort(), INT: WORD, FLOAT: WORD}
DEEPEST = 4
"""Choices within choices that are looked at for one that is made already."""
LARGEST_TABLE = 16
"""Rows of a table that is written out; of larger ones z3 is told the rows that it asks for."""


class OutsideError(Exception):
    """Something that this proof says nothing about; the message says what."""


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    """An operation on terms whose result is a word of its own."""

    opcode: str
    attrs: tuple[tuple[str, Any], ...]
    args: tuple[Term, ...]
    kinds: tuple[Kind, ...]
    kind: Kind
    result: Term

    @property
    def name(self) -> tuple[str, tuple[Kind, ...], str]:
        """Equal for the same function."""
        return self.opcode, self.kinds, repr(self.attrs) if self.attrs else ""


class Terms:
    """Makes terms. `domains` says which fresh words are doubles, `facts` what else holds of them; `applications` are in
    the order in which they were made; `literals` are the numbers that the functions name, `undefined` the values that
    no lane reads."""

    def __init__(self) -> None:
        self.facts: list[Term] = []
        self.domains: list[Term] = []
        self.applications: list[Application] = []
        self.literals: set[bool | int | float] = set()
        self.undefined: list[Term] = []
        self._made: dict[tuple[Any, ...], Application] = {}
        self._of_result: dict[int, Application] = {}
        self._parts: dict[int, tuple[Term, Sequence[Term]]] = {}
        self._kinds: dict[int, tuple[Term, Kind]] = {}
        self._count = 0

    def fresh(self, name: str, kind: Kind) -> Term:
        """A value of which nothing is known."""
        self._count += 1
        made = z3.Const(f"{name}!{self._count}", SORTS[kind])
        self._kinds[made.get_id()] = made, kind
        if kind is FLOAT:
            self.domains.append(floats.is_double(made))
        return made

    def const(self, value: Const) -> Term:
        if value.value is None:
            self.undefined.append(self.fresh("undefined", value.kind))
            return self.undefined[-1]
        self.literals.add(value.value)
        return literal(value.value)

    def apply(self, op: Op, args: Sequence[Term]) -> Term:
        """The value of a total operation on these operands."""
        if op.opcode not in PRIMITIVES:
            raise OutsideError(f"the operation {op.opcode} is not a function of one element")
        if op.opcode == "gather":
            return self._gather(op, args[0])
        return self.value("to_float" if op.opcode == "exact_float" else op.opcode, tuple(a.kind for a in op.args), args,
                          op.kind, op.attrs)

    def value(self, opcode: str, kinds: tuple[Kind, ...], args: Sequence[Term], kind: Kind,
              attrs: tuple[tuple[str, Any], ...] = ()) -> Term:
        folded = _folded(opcode, kinds, args, kind, attrs)
        if folded is not None:
            return folded
        if len(args) == 1 and _is_choice_of_literals(args[0]):
            cond, *arms = args[0].children()
            return z3.If(cond, *(self.value(opcode, kinds, [arm], kind, attrs) for arm in arms))
        if meaning := _MEANINGS.get((opcode, kinds[0])):
            return meaning(*args)
        if identity := _IDENTITIES.get((opcode, kinds[0])):
            found = identity(self, *args)
            if found is not None:
                return found
        return self._application(opcode, kinds, args, kind, attrs)

    def _application(self, opcode: str, kinds: tuple[Kind, ...], args: Sequence[Term], kind: Kind,
                     attrs: tuple[tuple[str, Any], ...] = ()) -> Term:
        if opcode in COMMUTATIVE:
            args = sorted(args, key=lambda term: term.get_id())
        key = opcode, kinds, repr(attrs), *(arg.get_id() for arg in args)
        if key not in self._made:
            made = Application(opcode, attrs, tuple(args), kinds, kind, self.fresh(opcode, kind))
            self._made[key] = self._of_result[made.result.get_id()] = made
            self.applications.append(made)
        return self._made[key].result

    def made_by(self, term: Term) -> Application | None:
        """The operation whose result a term is."""
        return self._of_result.get(term.get_id())

    def kind_of(self, term: Term) -> Kind | None:
        """The kind of a value that is no choice and no sum."""
        found = self._kinds.get(term.get_id())
        return None if found is None else found[1]

    def behind(self, term: Term) -> list[Application]:
        """The operations that a term depends on, in the order in which they were made."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [term, *self.facts]
        while waiting:
            each = waiting.pop()
            place = each.get_id()
            if place not in seen:
                seen.add(place)
                if place in self._of_result:
                    found.add(place)
                waiting += self._below(each, place)
        return [made for made in self.applications if made.result.get_id() in found]

    def _below(self, term: Term, place: int) -> Sequence[Term]:
        """What a term is made of, by its number. Asking z3 takes long."""
        if place not in self._parts:
            made = self._of_result.get(place)
            self._parts[place] = term, made.args if made else term.children()
        return self._parts[place][1]

    def _gather(self, op: Op, index: Term) -> Term:
        table = op.attr("table")
        if len(table) > LARGEST_TABLE:
            return self._application("gather", (INT,), [index], op.kind, op.attrs)
        return of_table(table, index)


def of_table(table: Sequence[Any], index: Term) -> Term:
    """The row of a table, the last one for indices beyond it."""
    found = literal(table[0])
    for place, item in enumerate(table[1:], 1):
        here = z3.Or(index == place, index == place - len(table))
        found = z3.If(here, literal(item), found)
    return found


def both(a: Term, b: Term) -> Term:
    """a and b, without what is known to be true."""
    return b if z3.is_true(a) else a if z3.is_true(b) or a.eq(b) else z3.And(a, b)


def either(a: Term, b: Term) -> Term:
    """a or b, without what is known to be false."""
    return b if z3.is_false(a) else a if z3.is_false(b) or a.eq(b) else z3.Or(a, b)


def negation(a: Term) -> Term:
    return a.arg(0) if z3.is_not(a) else z3.Not(a)


def choice(cond: Term, a: Term, b: Term) -> Term:
    """a where the condition holds, else b: without what the same condition chooses in them once more, and of bools
    as the passes write it."""
    if z3.is_not(cond):
        cond, a, b = cond.arg(0), b, a
    a, b = where(a, cond, True), where(b, cond, False)
    if z3.is_true(cond) or a.eq(b):
        return a
    if z3.is_false(cond):
        return b
    if z3.is_true(a) or z3.is_false(b):
        return either(cond, b) if z3.is_true(a) else both(cond, a)
    if z3.is_false(a) or z3.is_true(b):
        return both(negation(cond), b) if z3.is_false(a) else either(negation(cond), a)
    return _fused(cond, a, b)


def _fused(cond: Term, a: Term, b: Term) -> Term:
    """A choice in one arm between values of which the other arm is one is one choice, by both conditions."""
    if _is_choice(a) and b.eq(a.arg(2)):
        return choice(both(cond, a.arg(0)), a.arg(1), b)
    if _is_choice(b) and a.eq(b.arg(1)):
        return choice(either(cond, b.arg(0)), a, b.arg(2))
    if _is_choice(a) and b.eq(a.arg(1)):
        return choice(both(cond, negation(a.arg(0))), a.arg(2), b)
    if _is_choice(b) and a.eq(b.arg(2)):
        return choice(either(cond, negation(b.arg(0))), a, b.arg(1))
    return z3.If(cond, a, b)


def _is_choice(term: Term) -> bool:
    return bool(z3.is_app_of(term, z3.Z3_OP_ITE))


def where(term: Term, cond: Term, truth: bool, depth: int = DEEPEST) -> Term:
    """A term whose outer choices by this condition are made."""
    if not depth or not z3.is_app_of(term, z3.Z3_OP_ITE):
        return term
    test, *arms = term.children()
    if test.eq(cond):
        return where(arms[0 if truth else 1], cond, truth, depth)
    made = [where(arm, cond, truth, depth - 1) for arm in arms]
    return term if all(map(z3.eq, arms, made)) else choice(test, *made)


def literal(value: bool | int | float) -> Term:
    match value:
        case bool():
            return z3.BoolVal(value)
        case int():
            return z3.BitVecVal(value, 64)
        case float():
            return floats.literal(value)


def known(term: Term, kind: Kind) -> Any:
    """The Python number that a literal term stands for, None for other terms."""
    if kind is BOOL:
        return True if z3.is_true(term) else False if z3.is_false(term) else None
    if not z3.is_bv_value(term):
        return None
    word = term.as_signed_long()
    return number_of(word) if kind is FLOAT else word


def _folded(opcode: str, kinds: Sequence[Kind], args: Sequence[Term], kind: Kind, attrs: tuple[tuple[str, Any], ...]
            ) -> Term | None:
    """An operation on literals, computed by Python as passes compute it; None where Python raises."""
    values = [known(arg, k) for arg, k in zip(args, kinds, strict=True)]
    if any(value is None for value in values):
        return None
    result = computed(opcode, kind, attrs, values)
    return None if result is None else literal(result)


def computed(opcode: str, kind: Kind, attrs: tuple[tuple[str, Any], ...], values: Sequence[Any]) -> Any:
    """What Python computes, in 64 bits; None where it raises."""
    try:
        result = PRIMITIVES[opcode].python(*values, **dict(attrs))
    except (ArithmeticError, ValueError, IndexError):
        return None
    if kind is INT:
        return (int(result) - INT_MIN) % 2**64 + INT_MIN
    return float(result) if kind is FLOAT else bool(result)


def _is_choice_of_literals(term: Term) -> bool:
    return bool(z3.is_app_of(term, z3.Z3_OP_ITE)) and all(z3.is_bv_value(arm) for arm in term.children()[1:])


Meaning = Callable[..., Term]
_MEANINGS: dict[tuple[str, Kind], Meaning] = {
    ("add", INT): lambda a, b: a + b, ("sub", INT): lambda a, b: a - b, ("neg", INT): lambda a: -a,
    ("abs", INT): lambda a: z3.If(a < 0, -a, a), ("invert", INT): lambda a: ~a,
    ("low64", INT): lambda a: a,
    ("and", INT): lambda a, b: a & b, ("or", INT): lambda a, b: a | b, ("xor", INT): lambda a, b: a ^ b,
    ("and", BOOL): both, ("or", BOOL): either, ("xor", BOOL): z3.Xor, ("not", BOOL): negation,
    ("eq", BOOL): lambda a, b: a == b, ("ne", BOOL): lambda a, b: a != b,
    ("lt", BOOL): lambda a, b: z3.And(z3.Not(a), b), ("gt", BOOL): lambda a, b: z3.And(a, z3.Not(b)),
    ("le", BOOL): lambda a, b: z3.Or(z3.Not(a), b), ("ge", BOOL): lambda a, b: z3.Or(a, z3.Not(b)),
    ("eq", INT): lambda a, b: a == b, ("ne", INT): lambda a, b: a != b,
    ("lt", INT): lambda a, b: a < b, ("le", INT): lambda a, b: a <= b,
    ("gt", INT): lambda a, b: a > b, ("ge", INT): lambda a, b: a >= b,
    ("eq", FLOAT): floats.equal, ("ne", FLOAT): lambda a, b: negation(floats.equal(a, b)),
    ("lt", FLOAT): floats.less, ("le", FLOAT): floats.at_most,
    ("gt", FLOAT): lambda a, b: floats.less(b, a), ("ge", FLOAT): lambda a, b: floats.at_most(b, a),
    ("neg", FLOAT): floats.negated, ("abs", FLOAT): floats.size,
    ("isnan", FLOAT): floats.is_nan, ("isinf", FLOAT): floats.is_inf, ("isfinite", FLOAT): floats.is_finite,
    ("select", BOOL): choice,
    ("to_float", BOOL): lambda a: z3.If(a, literal(1.0), literal(0.0)),
    ("to_int", BOOL): lambda a: z3.If(a, literal(1), literal(0)),
}

_FLOATS = (FLOAT, FLOAT)


def _is(term: Term, number: float) -> bool:
    return bool(z3.is_bv_value(term)) and term.as_signed_long() == floats.word_of(number)


def _sum(terms: Terms, a: Term, b: Term) -> Term | None:
    """x + -0.0 is x, and x + x is x * 2.0."""
    for x, y in ((a, b), (b, a)):
        if _is(y, -0.0):
            return x
    return terms.value("mul", _FLOATS, [a, literal(2.0)], FLOAT) if a.eq(b) else None


def _difference(terms: Terms, a: Term, b: Term) -> Term:
    """x - y is x + -y, with every bit."""
    return terms.value("add", _FLOATS, [a, _negative(b)], FLOAT)


def _negative(a: Term) -> Term:
    return floats.literal(-number_of(a.as_signed_long())) if z3.is_bv_value(a) else floats.negated(a)


def _product(_: Terms, a: Term, b: Term) -> Term | None:
    for x, y in ((a, b), (b, a)):
        if _is(y, 1.0):
            return x
        if _is(y, -1.0):
            return floats.negated(x)
    return None


def _quotient(_: Terms, a: Term, b: Term) -> Term | None:
    return a if _is(b, 1.0) else None


def _int_product(_: Terms, a: Term, b: Term) -> Term | None:
    return a * b if z3.is_bv_value(a) or z3.is_bv_value(b) else None


def _power(terms: Terms, a: Term, b: Term) -> Term | None:
    if not z3.is_bv_value(b) or b.as_signed_long() not in (0, 1, 2):
        return None
    return (literal(1), a, terms.value("mul", (INT, INT), [a, a], INT))[b.as_signed_long()]


def _shift(opcode: str) -> Callable[..., Term]:
    """Counts beyond 63 are left open."""
    def shift(terms: Terms, x: Term, count: Term) -> Term:
        shifted = x << count if opcode == "shl" else x >> count
        if z3.is_bv_value(count) and 0 <= count.as_signed_long() < 64:
            return shifted
        beyond = terms._application(opcode, (INT, INT), [x, count], INT)
        return z3.If(z3.And(count >= 0, count < 64), shifted, beyond)

    return shift


def _whole(terms: Terms, a: Term) -> Term | None:
    """Rounding what is whole already."""
    made = terms.made_by(a)
    return a if made is not None and made.opcode in ("floor", "ceil", "trunc", "rint", "to_float") else None


_IDENTITIES: dict[tuple[str, Kind], Callable[..., Term | None]] = {
    ("add", FLOAT): _sum, ("sub", FLOAT): _difference, ("mul", FLOAT): _product, ("truediv", FLOAT): _quotient,
    ("mul", INT): _int_product, ("ipow", INT): _power, ("shl", INT): _shift("shl"), ("shr", INT): _shift("shr"),
    **{(opcode, FLOAT): _whole for opcode in ("floor", "ceil", "trunc", "rint")},
}


def number(model: z3.ModelRef, term: Term, kind: Kind) -> Any:
    """The Python number that a model gives to a term."""
    value = model.eval(term, model_completion=True)
    return bool(z3.is_true(value)) if kind is BOOL else known(value, kind)
