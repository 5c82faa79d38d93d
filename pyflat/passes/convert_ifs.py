"""If-conversion: every If becomes its two arms, one after the other, and a select for each result.

Before:                         After:
    if c -> y:                      a = x / z
        a = x / z                   fault(c and z == 0.0)
        yield a                     y = select(c, a, x)
    else:
        yield x

Both arms are computed in every lane. That is right because flat operations are total: in a lane that does not
take an arm they give some value, and the select drops it. What a strict operation would have raised is said by
a `fault` operation under the predicate of its place: the conjunction of the conditions around it, made only
where a fault needs it, and once.

A canonical loop stays a loop, and its header and its rest become straight-line code like the rest of the function
(the masked form). Lanes that do not come to it must not stay in it: its condition to go on gets the predicate of
its place. In its rest every predicate starts anew, because only lanes that go on come there.

A select with an undefined side is the other side, because no live lane reads the undefined one; selects that
are boolean algebra (of flags, mostly) become it.
"""

from __future__ import annotations

from collections.abc import Collection

from pyflat.analysis.demanded_bits import wrapping
from pyflat.errors import InternalError
from pyflat.functions.records import Outside
from pyflat.ir.build import Builder
from pyflat.ir.faults import exception_of, fault_condition
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import LoopParts, end_of, has_loop, join_parts, take_apart
from pyflat.ir.nodes import (
    FALSE,
    TRUE,
    Block,
    Const,
    Fault,
    Function,
    If,
    Item,
    Loop,
    Op,
    Origin,
    Region,
    Value,
    Yield,
    number,
    same_value,
)
from pyflat.ir.opaque_calls import is_guarded
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.uses import with_args
from pyflat.passes.record import Construct, Pass
from pyflat.passes.rules.logic import is_undefined


def convert_ifs(fn: Function) -> Function:
    """The flat form of an exit-free structured function: one block, total operations, faults as operations; with
    loops the masked form."""
    if fn.total:
        return fn
    conversion = _Conversion(wrapping(fn), fn.floats)
    values = conversion.convert_list(fn.body, None)
    build = conversion.build
    build.end(Yield(values))
    form = "masked" if has_loop(build.items) else "flat"
    return Function(fn.name, fn.params, build.items, fn.label, fn.result_kinds, form, fn.floats)


PASS = Pass(convert_ifs, needs_gone=frozenset({Construct.EARLY_EXIT}), removes=frozenset({Construct.BRANCH}))


class _Predicate:
    """The condition under which a list is reached, as a conjunction that is built when it is first needed."""

    def __init__(self, parent: _Predicate | None, cond: Value, taken: bool):
        self.parent = parent
        self.cond = cond
        self.taken = taken
        self.value: Value | None = None


class _Conversion:
    """The state of one run: what stands for each value of the input, and the negations built so far."""

    def __init__(self, wrapping: Collection[Op], floats: FloatFormat) -> None:
        self.wrapping = wrapping
        self.build = Builder(floats=floats)
        self.stands_for: dict[Value, Value] = {}
        self.negations: dict[Value, Value] = {}

    def read(self, value: Value) -> Value:
        return self.stands_for.get(value, value)

    # --- lists

    def convert_list(self, items: list[Item], under: _Predicate | None) -> list[Value]:
        """Append the list's operations to the block; gives what the list yields."""
        for item in items:
            self.convert_item(item, under)
        return [self.read(value) for value in end_of(items).values]

    def convert_item(self, item: Item, under: _Predicate | None) -> None:
        match item:
            case Block():
                for op in item.ops:
                    self.convert_op(op, under)
            case If():
                self.convert_if(item, under)
            case Loop():
                self.convert_loop(item, under)
            case Region():
                raise InternalError("convert_ifs found a region")

    def convert_if(self, node: If, under: _Predicate | None) -> None:
        cond = self.read(node.cond)
        if isinstance(cond, Const):
            values = self.convert_list(node.then if cond.value else node.orelse, under)
            self.stands_for.update(zip(node.results, values, strict=True))
            return
        then = self.convert_list(node.then, _Predicate(under, cond, True))
        orelse = self.convert_list(node.orelse, _Predicate(under, cond, False))
        for result, a, b in zip(node.results, then, orelse, strict=True):
            self.stands_for[result] = self.select(cond, a, b, result.name)

    def convert_loop(self, loop: Loop, under: _Predicate | None) -> None:
        """What is made for one list is not seen beyond it: predicates before the loop, negations inside forgotten."""
        parts = take_apart(loop)
        reached = self.predicate(under)
        inits = [self.read(value) for value in loop.inits]
        outer = dict(self.negations)
        with self.build.detached() as header:
            for item in parts.header:
                self.convert_item(item, under)
            go = self.conjunction(reached, self.read(parts.go))
            leave = [self.read(value) for value in parts.leave]
            with self.build.detached() as rest:
                after = self.convert_list(parts.rest, None)
                self.build.end(Yield(after))
        self.negations = outer
        new = join_parts(loop, loop.params, inits, LoopParts(header, go, rest, leave), loop.results)
        self.build.node(new)

    def convert_op(self, op: Op, under: _Predicate | None) -> None:
        if op.opcode == "invoke":
            raise InternalError(f"convert_ifs found a call of {op.attr('callee')}: ir.edit.module.inlined comes first")
        args = [self.stands_for.get(arg, arg) for arg in op.args]
        if is_guarded(op):
            args[0] = self.conjunction(self.predicate(under), args[0])
        new = self.build.append(with_args(op, args))
        if new is not op:
            self.stands_for[op] = new
        rule = OPERATIONS[op.opcode].faults
        if rule and op not in self.wrapping:
            self.mark_fault(new, rule, under)

    def mark_fault(self, op: Op, rule: tuple[Outside, ...] | str, under: _Predicate | None) -> None:
        """A fault operation after `op`, for the lanes that come here and in which the rule holds."""
        build = self.build
        span = op.span
        build.origin = Origin(span, None, op.origin.frame) if op.origin else None
        cond = fault_condition(build, op)
        if cond is not None:
            fault = Fault(exception_of(rule), "", span)
            build.fault(self.conjunction(self.predicate(under), cond), fault)
        build.origin = None

    # --- boolean algebra

    def predicate(self, under: _Predicate | None) -> Value:
        """The predicate as a value; enclosing predicates that exist already are shared."""
        missing: list[_Predicate] = []
        while under is not None and under.value is None:
            missing.append(under)
            under = under.parent
        value = TRUE if under is None or under.value is None else under.value
        for each in reversed(missing):
            value = each.value = self.conjunction(value, each.cond if each.taken else self.negation(each.cond))
        return value

    def negation(self, value: Value) -> Value:
        match value:
            case Const(value=bool(known)):
                return FALSE if known else TRUE
            case Op(opcode="not"):
                return value.args[0]
        known_as = self.negations.get(value)
        if known_as is None:
            known_as = self.negations[value] = self.build.op("not", value)
        return known_as

    def conjunction(self, a: Value, b: Value, name: str = "") -> Value:
        if number(a) is True or a is b or number(b) is False:
            return b
        if number(b) is True or number(a) is False:
            return a
        return self.build.op("and", a, b, name=name)

    def disjunction(self, a: Value, b: Value, name: str) -> Value:
        if number(a) is False or a is b or number(b) is True:
            return b
        if number(b) is False or number(a) is True:
            return a
        return self.build.op("or", a, b, name=name)

    def select(self, cond: Value, then: Value, orelse: Value, name: str) -> Value:
        """`then` where `cond`, else `orelse`."""
        if is_undefined(then) or same_value(then, orelse):
            return orelse
        if is_undefined(orelse):
            return then
        if isinstance(cond, Op) and cond.opcode == "not":
            cond, then, orelse = cond.args[0], orelse, then
        if then is cond or number(then) is True:
            return self.disjunction(cond, orelse, name)
        if orelse is cond or number(orelse) is False:
            return self.conjunction(cond, then, name)
        if number(then) is False:
            return self.conjunction(self.negation(cond), orelse, name)
        if number(orelse) is True:
            return self.disjunction(self.negation(cond), then, name)
        return self.build.op("select", cond, then, orelse, name=name)


