"""Sums are collected: each term once, with its coefficient, and one constant.

Before:                              After:
    %a = add %x, 1.0 : f8                %a = mul %x, 2.0 : f8
    %b = add %a, %y : f8                 %b = add %a, %y : f8
    %c = add %b, %x : f8                 %c = add %b, 3.0 : f8
    %d = add %c, 2.0 : f8                yield %c
    yield %d

A tree of `add`, `sub`, `neg` and `mul` by a literal whose inner operations nothing else uses is one linear
combination; a tree of `mul` is a product of powers and one literal. Either is built again where that takes fewer
operations. Ints are exact in any order, modulo 2**64 (what overflows on the way is a fault, and its check reads the
inner operations, which then stay). Floats need the part `reassoc` of fast math: the sum of the same terms in another
order differs in the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.types import FLOAT, INT, INT_MIN, Kind
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep, is_literal, power_of

_SUMS = frozenset({"add", "sub", "neg"})


def reassociate(
    fn: Function, kinds: Collection[Kind] = (INT,), *, finite: bool = False, no_signed_zeros: bool = False
) -> Function:
    """One sweep over a flat function; `fn` itself when no sum or product of these kinds gets shorter.

    Terms of floats that cancel go only if everything is `finite`, a constant that is zero only with
    `no_signed_zeros`."""
    sweep = Sweep(fn)
    parents = _only_users(fn)

    def change(op: Op) -> Value | None:
        exact = op.kind is INT
        return _rebuilt(sweep, op, parents, exact or finite, exact or no_signed_zeros) if op.kind in kinds else None

    return sweep.over(fn, change)


def _only_users(fn: Function) -> dict[Value, Op]:
    return {arg: op for op in fn.flat_block.ops for arg in op.args}


def _rebuilt(sweep: Sweep, op: Op, parents: dict[Value, Op], finite: bool, no_signed_zeros: bool) -> Value | None:
    """The shorter form of the tree with this root; None for inner operations, which their root takes along."""
    parent = parents.get(op) if sweep.uses[op] == 1 else None
    if op.opcode in _SUMS:
        if parent is not None and parent.opcode in _SUMS:
            return None
        terms = Sum(op.kind, _number(op.kind, 0))
        terms.collect(sweep, op, _number(op.kind, 1), root=True)
        allowed = (finite or not terms.cancels()) and (no_signed_zeros or not terms.loses_zero())
        return terms.build(sweep, op) if allowed and terms.shorter() else None
    if op.opcode == "mul":
        if parent is not None and parent.opcode == "mul":
            return None
        factors = Product(op.kind, _number(op.kind, 1))
        factors.collect(sweep, op, root=True)
        return factors.build(sweep, op) if factors.shorter() else None
    return None


Number = int | float


def _number(kind: Kind, value: Number) -> Number:
    """As a literal of the kind: an int modulo 2**64."""
    return float(value) if kind is FLOAT else (int(value) - INT_MIN) % 2**64 + INT_MIN


@dataclass
class Sum:
    """constant + the sum of coefficient*term."""

    kind: Kind
    constant: Number
    constants: int = 0
    """Literals in the tree."""
    terms: dict[Value, Number] = field(default_factory=dict)
    size: int = 0
    """Operations in the tree."""

    def collect(self, sweep: Sweep, value: Value, scale: Number, root: bool = False) -> None:
        if isinstance(value, Const) and value.value is not None:
            self.constant = _number(self.kind, self.constant + scale * value.value)
            self.constants += 1
            return
        inner = isinstance(value, Op) and (root or sweep.uses[value] == 1)
        if inner and isinstance(value, Op) and value.opcode in _SUMS:
            self.size += 1
            first, *rest = value.args
            self.collect(sweep, first, -scale if value.opcode == "neg" else scale)
            for arg in rest:
                self.collect(sweep, arg, -scale if value.opcode == "sub" else scale)
            return
        if inner and isinstance(value, Op) and value.opcode == "mul":
            literals = [arg for arg in value.args if is_literal(arg)]
            others = [arg for arg in value.args if not is_literal(arg)]
            if len(literals) == len(others) == 1 and isinstance(literals[0], Const):
                self.size += 1
                self.collect(sweep, others[0], _number(self.kind, scale * (literals[0].value or 0)))
                return
        self.terms[value] = _number(self.kind, self.terms.get(value, 0) + scale)

    def live(self) -> list[tuple[Value, Number]]:
        return [(value, scale) for value, scale in self.terms.items() if scale != 0]

    def cancels(self) -> bool:
        return 0 in self.terms.values()

    def loses_zero(self) -> bool:
        """x + 0.0, and a sum of nothing, have a sign of their own; so has 0.0 - x."""
        return self.constants > 0 and self.constant == 0.0

    def shorter(self) -> bool:
        finite = math.isfinite(self.constant) and all(map(math.isfinite, self.terms.values()))
        return finite and self.needed() < self.size

    def needed(self) -> int:
        live = self.live()
        scaled = sum(abs(scale) != 1.0 for _, scale in live)
        joins = max(len(live) + (self.constant != 0.0) - 1, 0)
        negative = bool(live) and all(scale < 0 for _, scale in live) and self.constant == 0.0
        return scaled + joins + (negative and all(abs(scale) == 1.0 for _, scale in live))

    def build(self, sweep: Sweep, root: Op) -> Value:
        """Positive terms first, so that the others are subtracted."""
        live = sorted(self.live(), key=lambda item: item[1] < 0)
        if not live:
            return const(self.constant)
        pending = self.constant
        value, scale = live[0]
        if scale > 0 or abs(scale) != 1.0:
            total = _scaled(sweep, value, scale, root)
        elif pending != 0.0:
            total, pending = sweep.emit("sub", const(pending), sweep.read(value), origin=root.origin), 0.0
        else:
            total = sweep.emit("neg", sweep.read(value), origin=root.origin)
        for value, scale in live[1:]:
            opcode = "sub" if scale < 0 else "add"
            total = sweep.emit(opcode, total, _scaled(sweep, value, abs(scale), root), origin=root.origin)
        if pending != 0.0:
            total = sweep.emit("add", total, const(pending), origin=root.origin)
        return total


def _scaled(sweep: Sweep, value: Value, scale: Number, root: Op) -> Value:
    read = sweep.read(value)
    return read if scale == 1.0 else sweep.emit("mul", read, const(scale), origin=root.origin)


@dataclass
class Product:
    """literal * the product of base**exponent, whole exponents of at least one."""

    kind: Kind
    literal: Number
    powers: dict[Value, int] = field(default_factory=dict)
    size: int = 0

    def collect(self, sweep: Sweep, value: Value, root: bool = False) -> None:
        if isinstance(value, Const) and value.value is not None:
            self.literal = _number(self.kind, self.literal * value.value)
        elif isinstance(value, Op) and value.opcode == "mul" and (root or sweep.uses[value] == 1):
            self.size += 1
            for arg in value.args:
                self.collect(sweep, arg)
        else:
            self.powers[value] = self.powers.get(value, 0) + 1

    def shorter(self) -> bool:
        return math.isfinite(self.literal) and self.literal != 0.0 and self.needed() < self.size

    def needed(self) -> int:
        powers = sum(_power_cost(exponent) for exponent in self.powers.values())
        return powers + max(len(self.powers) - 1, 0) + (self.literal != 1.0)

    def build(self, sweep: Sweep, root: Op) -> Value:
        total: Value | None = None
        for base, exponent in self.powers.items():
            power = power_of(partial(sweep.emit, origin=root.origin), sweep.read(base), exponent)
            total = power if total is None else sweep.emit("mul", total, power, origin=root.origin)
        if total is None:
            return const(self.literal)
        return total if self.literal == 1.0 else sweep.emit("mul", total, const(self.literal), origin=root.origin)


def _power_cost(exponent: int) -> int:
    """Products by squaring."""
    return exponent.bit_length() - 1 + exponent.bit_count() - 1


PASS = Pass(reassociate, needs_gone=STRAIGHT)
