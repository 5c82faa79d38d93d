"""A product that is only added to something is rounded together with each of these sums: fused multiply-adds.

Before:                              After:
    %a = mul %x, %y : f8                 %b = fma %x, %y, %z : f8
    %b = add %a, %z : f8                 yield %b
    yield %b

Of `math="fast"`, where the processor has the instruction. Several sums of one product each fuse it, which is an
operation less, and units that multiply and add have less to do than those that add in most functions. The result has
one rounding less than Python's, whatever the lane's place: that is decided here and not by the compiler, which could
contract a product in one loop and leave it in another. A difference is a sum with the negative, whose sign costs
nothing and whose zeros have their signs. Any form of a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pyflat.ir.edit.copying import Copier
from pyflat.ir.loops import all_ops, uses
from pyflat.ir.nodes import Function, Op, Value
from pyflat.ir.types import FLOAT
from pyflat.passes.record import Pass


def contract_products(fn: Function) -> Function:
    """`fn` with the sums of products fused; `fn` itself where there is none."""
    copier = _Contracting(fn)
    if not copier.products:
        return fn
    return copier.function(fn)


PASS = Pass(contract_products)


class _Contracting(Copier):
    """Copies without the products that become parts of sums. `products` has for each such sum its product."""

    def __init__(self, fn: Function):
        super().__init__()
        self.products = _products(fn)
        self.gone = set(self.products.values())

    def standing_for(self, op: Op) -> Sequence[Op]:
        product = self.products.get(op)
        if product is None:
            return [] if op in self.gone else [self.op(op)]
        x, y = self.read_all(product.args)
        first, second = op.args
        term = self.read(second if first is product else first)
        before: list[Op] = []
        if op.opcode == "sub" and first is product:
            before, term = _negative(term)
        elif op.opcode == "sub":
            before, x = _negative(x)
        fused = Op("fma", (x, y, term), FLOAT, name=op.name, origin=op.origin)
        fused.statement = op.statement
        self.values[op] = fused
        return [*before, fused]


def _products(fn: Function) -> dict[Op, Op]:
    """For each sum that fuses a product, that product: one whose every use is a sum that fuses no other."""
    used = Counter(uses(fn.body))
    sums: dict[Op, list[Op]] = {}
    for op in all_ops(fn.body):
        if op.opcode in ("add", "sub") and op.kind is FLOAT:
            for arg in op.args:
                if isinstance(arg, Op) and _is_product(arg):
                    sums.setdefault(arg, []).append(op)
    found: dict[Op, Op] = {}
    for product, users in sums.items():
        if used[product] == len(set(users)) and not any(user in found for user in users):
            found.update(dict.fromkeys(users, product))
    return found


def _is_product(value: Value) -> bool:
    return isinstance(value, Op) and value.opcode == "mul" and value.kind is FLOAT


def _negative(value: Value) -> tuple[list[Op], Value]:
    """The negative of a value, and the operations for it."""
    negative = Op("neg", (value,), FLOAT)
    return [negative], negative
