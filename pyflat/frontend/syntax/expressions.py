"""Expressions: LibCST nodes to abstract values, in Python's order of evaluation."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.errors import InternalError
from pyflat.frontend.space import containers, keyed, memories, scalars, scratch, texts, whole_arrays
from pyflat.frontend.spelling import nodes_in
from pyflat.frontend.state import facts, heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, has_gap, is_lane_number, numeric_kind
from pyflat.frontend.state.values import (
    NONE,
    UNBOUND,
    Abstract,
    Arguments,
    Axes,
    BoxRef,
    Frame,
    Pending,
    Slice,
    Static,
    Text,
    Unavailable,
    View,
)
from pyflat.frontend.syntax import calls, comprehensions, generators, narrowing
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import BOOL, INT

BINARY: dict[type, str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.FloorDivide: "floordiv",
    cst.Modulo: "mod", cst.Power: "pow", cst.BitAnd: "and", cst.BitOr: "or", cst.BitXor: "xor", cst.LeftShift: "shl",
    cst.RightShift: "shr", cst.MatrixMultiply: "matmul",
}
_COMPARE: dict[type, str] = {
    cst.Equal: "eq", cst.NotEqual: "ne", cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt",
    cst.GreaterThanEqual: "ge",
}


def evaluate(s: Evaluator, node: cst.BaseExpression) -> Abstract:
    """The abstract value of an expression; every kind of node that is not in the table is refused."""
    known = _leaf(s, node)
    if known is not None:
        return known
    rule = _RULES.get(type(node))
    if rule is None:
        raise s.refuse("flatten/unsupported-expression", f"{_words(node)} cannot be flattened", node)
    with s.at(node):
        value = rule(s, node)
        return memories.computed(s, value, node) if isinstance(value, Pending) else value


def operand(s: Evaluator, node: cst.BaseExpression, then: cst.CSTNode | None = None) -> Abstract:
    """`evaluate` where an expression of whole arrays may be left for its user to compute, and `then`, which is
    evaluated before that, writes to no array."""
    rule = _RULES.get(type(node))
    if not s.widths.kernel or rule is None or then is not None and _may_write(then):
        return evaluate(s, node)
    with s.at(node):
        return rule(s, node)


def _may_write(node: cst.CSTNode) -> bool:
    return any(isinstance(found, cst.Call | cst.NamedExpr) for found in nodes_in(node))


def _leaf(s: Evaluator, node: cst.BaseExpression) -> Abstract | None:
    """A number that is written there, or what a local variable holds: nothing is built, and there is nothing to say
    about its place. None for anything else."""
    if type(node) is cst.Name:
        value = s.state.locals.get(node.value)
        return value if is_lane_number(value) and node.value in s.frame.local_names else None
    return _number(node)


def _number(node: cst.BaseExpression) -> Static | None:
    if type(node) is cst.Float:  # `evaluated_value` compiles each literal
        return Static(float(node.value))
    return Static(int(node.value, 0)) if type(node) is cst.Integer else None


def _words(node: cst.CSTNode) -> str:
    names = {"Await": "await", "Lambda": "lambda", "SetComp": "a set comprehension",
             "StarredElement": "a starred element", "TemplatedString": "a t-string"}
    name = type(node).__name__
    return names.get(name, f"`{name}`")


# --- names
def load(s: Evaluator, frame: Frame, name: str, node: cst.CSTNode | None = None) -> Abstract:
    """A name as Python finds it: local, enclosing, global, builtin."""
    if name in frame.local_names:
        return _load_local(s, frame, name, node)
    if name in frame.cells:
        return _load_cell(s, frame, name, node)
    owner = lookup.enclosing(frame.outer, name)
    if owner is not None:
        return _load_local(s, owner, name, node)
    outer = frame
    while outer.outer is not None:
        outer = outer.outer
        if name in outer.cells:
            return _load_cell(s, outer, name, node)
    return load_global(s, frame, name, node)


def _load_local(s: Evaluator, frame: Frame, name: str, node: cst.CSTNode | None) -> Abstract:
    value = lookup.variable(s, frame, name)
    if isinstance(value, BoxRef):
        value = s.state.heap[value][0]
    if value is UNBOUND:
        raise s.raised(UnboundLocalError, node)
    if isinstance(value, Unavailable):
        raise value.error
    if has_gap(value):
        value = _bound_part(s, value, name, node)
        if frame is s.frame:
            s.store(name, value)
    return value


def store_outside(s: Evaluator, name: str, value: Abstract) -> bool:
    """Write the `nonlocal` variable of a function around the running one; False where that is not flattened too."""
    owner = lookup.enclosing(s.frame.outer, name)
    box = None if owner is None else lookup.variable(s, owner, name)
    if not isinstance(box, BoxRef):
        return False
    heap.rewrite(s, box, (value,), None)
    return True


def outside_place(s: Evaluator, name: str) -> tuple[Any, str] | None:
    """The owner and the place of a global variable, or of one of a function around the twin's, that is written."""
    frame: Frame | None = s.frame
    if lookup.enclosing(s.frame.outer, name) is not None:
        return None
    while frame is not None:
        if name in frame.cells:
            return frame.cells[name], "cell_contents"
        frame = frame.outer
    return (s.frame.globals, name) if name in s.frame.globals else None


def _bound_part(s: Evaluator, value: Abstract, name: str, node: cst.CSTNode | None) -> Abstract:
    if value is UNBOUND:
        raise s.raised(UnboundLocalError, node)
    if has_gap(value):
        return s.split(value, lambda v: _bound_part(s, v, name, node), name)
    return value


def _load_cell(s: Evaluator, frame: Frame, name: str, node: cst.CSTNode | None) -> Abstract:
    cell = frame.cells[name]
    if scratch.is_written(s, cell, "cell_contents"):
        return scratch.read(s, cell, "cell_contents", node)
    try:
        value = cell.cell_contents
    except ValueError:
        raise s.refuse("flatten/unbound-name", f"the enclosing variable {name!r} has no value yet", node) from None
    s.guards.cell(cell, name, value)
    return s.space.wrap(value)


def load_global(s: Evaluator, frame: Frame, name: str, node: cst.CSTNode | None) -> Abstract:
    if scratch.is_written(s, frame.globals, name):
        return scratch.read(s, frame.globals, name, node)
    if name in frame.globals:
        value = frame.globals[name]
        s.guards.global_name(frame.globals, name, value)
        return s.space.wrap(value)
    if hasattr(builtins, name):
        s.guards.absent(frame.globals, name)
        return Static(getattr(builtins, name))
    raise s.refuse("flatten/unbound-name", f"the name {name!r} is not defined", node)


# --- literals
def _literal(s: Evaluator, node: Any) -> Abstract:
    number = _number(node)
    if number is not None:
        return number
    with warnings.catch_warnings():  # Python has warned of an unknown escape when it compiled the function
        warnings.simplefilter("ignore")
        return Static(node.evaluated_value)


def _formatted(s: Evaluator, node: cst.FormattedString) -> Abstract:
    return texts.concatenated(s, _parts(s, node, node.parts), node)


def _parts(s: Evaluator, node: cst.FormattedString, parts: Any) -> list[Abstract]:
    """The strings that an f-string, or a format specification in it, consists of."""
    found: list[Abstract] = []
    for part in parts:
        if isinstance(part, cst.FormattedStringText):
            found.append(_literal_part(node, part.value))
            continue
        value = evaluate(s, part.expression)
        spec = texts.concatenated(s, _parts(s, node, part.format_spec or ()), node)
        by_repr = part.equal is not None and part.format_spec is None
        conversion = part.conversion or ("r" if by_repr else "")
        if part.equal is not None:
            found.append(Text())
        found.append(texts.written_as(s, value, texts.known_spec(s, spec, part), conversion, node))
    return found


def _literal_part(node: cst.FormattedString, text: str) -> Abstract:
    """What stands between the braces of an f-string."""
    if "\\N" in text:
        return Text()
    prefix = node.start.rstrip("\"'").lower().replace("f", "")
    return Static(ast.literal_eval(prefix + node.quote + text.replace("{{", "{").replace("}}", "}") + node.quote))


def _set(s: Evaluator, node: cst.Set) -> Abstract:
    items = heap.new_list(s, _elements(s, node.elements))
    return s.space.call(Static(set), Arguments([items], {}), node)


def _concatenated(s: Evaluator, node: cst.ConcatenatedString) -> Abstract:
    left, right = evaluate(s, node.left), evaluate(s, node.right)
    if isinstance(left, Static) and isinstance(right, Static):
        return Static(left.value + right.value)
    return texts.concatenated(s, [left, right], node)


def _elements(s: Evaluator, elements: Any) -> list[Abstract]:
    items: list[Abstract] = []
    for element in elements:
        value = evaluate(s, element.value)
        if isinstance(element, cst.StarredElement):
            items += s.space.items(value, element)
        else:
            items.append(value)
    return items


def _dict(s: Evaluator, node: cst.Dict) -> Abstract:
    entries: list[tuple[Abstract, Abstract]] = []
    for element in node.elements:
        if isinstance(element, cst.StarredDictElement):
            known = s.space.dict_entries(evaluate(s, element.value))
            entries += [(Static(key), value) for key, value in known.items()]
            continue
        assert isinstance(element, cst.DictElement)
        entries.append((evaluate(s, element.key), evaluate(s, element.value)))
    return keyed.of_pairs(s, entries, node)


# --- operators
_SIGNS = {cst.Minus: "neg", cst.Plus: "pos"}


def _binary(s: Evaluator, node: cst.BinaryOperation) -> Abstract:
    left, opcode = operand(s, node.left, node.right), BINARY[type(node.operator)]
    right = operand(s, node.right)
    if s.widths.kernel and (isinstance(left, View | Pending) or isinstance(right, View | Pending)):
        made: Abstract = whole_arrays.binary(s, opcode, left, right, node)
        return made
    return s.space.binary(opcode, left, right, node)


def _unary(s: Evaluator, node: cst.UnaryOperation) -> Abstract:
    if isinstance(node.operator, cst.Not):
        return scalars.negate(s, evaluate(s, node.expression))
    value, opcode = operand(s, node.expression), _SIGNS.get(type(node.operator), "invert")
    if s.widths.kernel and isinstance(value, View | Pending):
        return whole_arrays.unary(s, opcode, value, node)
    return s.space.unary(opcode, value, node)


def _boolean(s: Evaluator, node: cst.BooleanOperation) -> Abstract:
    """`a and b`, `a or b`: an operand, the second evaluated only where the first does not decide."""
    left = evaluate(s, node.left)
    if any(isinstance(option, Static) and numeric_kind(option) is None for option in alternatives(left)):
        return s.each(left, lambda one: _decided(s, one, node))
    return _decided(s, left, node)


def _decided(s: Evaluator, left: Abstract, node: cst.BooleanOperation) -> Abstract:
    decided = s.space.truth(left)
    is_and = isinstance(node.operator, cst.And)
    if isinstance(decided, Static):
        return evaluate(s, node.right) if bool(decided.value) is is_and else left
    if not is_and:
        return s.branch(decided, *narrowing.arms(s, node.left, lambda: left, lambda: evaluate(s, node.right)),
                        test=node.left)
    known: list[Abstract] = []

    def right() -> Abstract:
        known.append(evaluate(s, node.right))
        return known[0]

    def otherwise() -> Abstract:
        """A bool is False here, which tells `c and "a" or "b"` that there are two strings."""
        objects = bool(known) and isinstance(known[0], Static) and numeric_kind(known[0]) is None
        return Static(False) if objects and numeric_kind(left) is BOOL and not s.may_be_numpy(left) else left

    return s.branch(decided, *narrowing.arms(s, node.left, right, otherwise), test=node.left)


def condition(s: Evaluator, node: cst.BaseExpression) -> Static | Value:
    """The truth of a test: like `truth(evaluate(node))`, but and/or/not only carry bools. In a function that calls
    itself, what holds around the call may decide it."""
    test = _condition(s, node)
    if isinstance(test, Static) or not s.frame.recursive:
        return test
    s.trace.outside_reads += 1
    known = facts.decide(test, s.facts, s.combined, s.floats)
    if known is not None:
        return Static(known)
    if facts.decide(test, s.facts, s.combined, s.floats, nan=False) is not None:
        s.frame.endless_for_nan = True
    return test


def _condition(s: Evaluator, node: cst.BaseExpression) -> Static | Value:
    match node:
        case cst.BooleanOperation():
            left = condition(s, node.left)
            is_and = isinstance(node.operator, cst.And)
            if isinstance(left, Static):
                return condition(s, node.right) if bool(left.value) is is_and else Static(not is_and)
            with s.at(node):
                parts: list[Value] = [left]

                def right() -> Abstract:
                    known = condition(s, node.right)
                    parts.extend([known] if isinstance(known, Value) else [])
                    return known

                arms = (right, lambda: Static(False)) if is_and else (lambda: Static(True), right)
                joined = s.space.truth(s.branch(left, *narrowing.arms(s, node.left, *arms), test=node.left))
                if isinstance(joined, Value) and len(parts) == 2:
                    s.combined[joined] = is_and, tuple(parts)
                return joined
        case cst.UnaryOperation(operator=cst.Not()):
            inner = condition(s, node.expression)
            with s.at(node):
                negated = scalars.negate(s, inner)
            assert isinstance(negated, Static | Value)
            return negated
        case _:
            value = evaluate(s, node)
            with s.at(node):
                return s.space.truth(value)


def _comparison(s: Evaluator, node: cst.Comparison) -> Abstract:
    """`a < b < c`: the middle evaluated once, the rest only where the first part holds."""
    first = node.comparisons[0]
    if len(node.comparisons) == 1 and type(first.operator) in _COMPARE:
        left = operand(s, node.left, first.comparator)
        right = operand(s, first.comparator)
        if s.widths.kernel and (isinstance(left, View | Pending) or isinstance(right, View | Pending)):
            return whole_arrays.compare(s, _COMPARE[type(first.operator)], left, right, node)
        return compare(s, first.operator, left, right, node)
    return _chain(s, node, evaluate(s, node.left), 0)


def _chain(s: Evaluator, node: cst.Comparison, left: Abstract, index: int) -> Abstract:
    target = node.comparisons[index]
    right = evaluate(s, target.comparator)
    result = compare(s, target.operator, left, right, node)
    if index + 1 == len(node.comparisons):
        return result
    holds = s.space.truth(result)
    if isinstance(holds, Static):
        return _chain(s, node, right, index + 1) if holds.value else result
    return s.branch(holds, lambda: _chain(s, node, right, index + 1), lambda: result)


def compare(s: Evaluator, operator: Any, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    opcode = _COMPARE.get(type(operator))
    if opcode is not None:
        return s.space.compare(opcode, a, b, node)
    match operator:
        case cst.In():
            return s.space.contains(b, a, node)
        case cst.NotIn():
            return scalars.negate(s, s.space.contains(b, a, node))
        case cst.Is():
            return s.space.identical(a, b, node)
        case cst.IsNot():
            return scalars.negate(s, s.space.identical(a, b, node))
    raise InternalError(f"no such comparison: {type(operator).__name__}")


# --- the rest
def _conditional(s: Evaluator, node: cst.IfExp) -> Abstract:
    test = condition(s, node.test)
    if isinstance(test, Static):
        return evaluate(s, node.body if test.value else node.orelse)
    then, orelse = narrowing.arms(s, node.test, lambda: evaluate(s, node.body), lambda: evaluate(s, node.orelse))
    return s.branch(test, then, orelse, test=node.test)


def _walrus(s: Evaluator, node: cst.NamedExpr) -> Abstract:
    value = evaluate(s, node.value)
    if not isinstance(node.target, cst.Name):
        raise InternalError("a walrus assigns a name")
    named = s.name_value(value, node.target.value, None)
    if node.target.value in s.frame.local_names or not store_outside(s, node.target.value, named):
        s.store(node.target.value, named)
    return value


def _subscript(s: Evaluator, node: cst.Subscript) -> Abstract:
    owner = evaluate(s, node.value)
    return s.space.getitem(owner, subscript_key(s, node), node)


def subscript_key(s: Evaluator, node: cst.Subscript) -> Abstract | Slice | Axes:
    parts = [_one_index(s, element.slice) for element in node.slice]
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(p, Slice) for p in parts):
        return Axes(tuple(parts))
    return heap.make_tuple([p for p in parts if not isinstance(p, Slice)])


def _one_index(s: Evaluator, part: cst.BaseSlice) -> Abstract | Slice:
    if isinstance(part, cst.Index):
        return evaluate(s, part.value)
    assert isinstance(part, cst.Slice)
    bounds = [NONE if p is None else evaluate(s, p) for p in (part.lower, part.upper, part.step)]
    width = _width(s, bounds[0], bounds[1])
    if width is not None and isinstance(bounds[2], Static) and bounds[2].value in (None, 1):
        assert isinstance(bounds[0], Value)
        return Slice(slice(None), bounds[0], width)
    if s.widths.kernel and not all(isinstance(bound, Static) for bound in bounds):
        return Slice(slice(None), bounds=tuple(bounds))
    for bound in bounds:
        if not isinstance(bound, Static):
            raise s.refuse("flatten/lane-to-object", "a slice bound depends on the data", part,
                           why="so would the number of items, and lists and arrays here have a known length")
    return Slice(slice(*[b.value for b in bounds if isinstance(b, Static)]))


def _width(s: Evaluator, lower: Abstract, upper: Abstract) -> int | None:
    """WIDTH of `i : i + WIDTH` when i is an int lane."""
    if not isinstance(lower, Value) or lower.kind is not INT or not isinstance(upper, Op) or upper.opcode != "add":
        return None
    s.trace.outside_reads += 1
    a, b = upper.args
    if a is lower and isinstance(b, Const) and isinstance(b.value, int) and 0 <= b.value <= containers.MAX_COLUMNS:
        return b.value
    return None


_RULES: dict[type, Callable[[Evaluator, Any], Abstract]] = {
    cst.Name: lambda s, node: load(s, s.frame, node.value, node),
    cst.Integer: _literal, cst.Float: _literal, cst.Imaginary: _literal, cst.SimpleString: _literal,
    cst.FormattedString: _formatted, cst.ConcatenatedString: _concatenated, cst.Ellipsis: lambda s, node: Static(...),
    cst.Tuple: lambda s, node: heap.make_tuple(_elements(s, node.elements)),
    cst.List: lambda s, node: heap.new_list(s, _elements(s, node.elements)),
    cst.Set: _set, cst.Dict: _dict,
    cst.BinaryOperation: _binary, cst.UnaryOperation: _unary, cst.BooleanOperation: _boolean,
    cst.Comparison: _comparison, cst.IfExp: _conditional, cst.NamedExpr: _walrus,
    cst.Attribute: lambda s, node: s.space.getattr(evaluate(s, node.value), node.attr.value, node),
    cst.Subscript: _subscript, cst.Lambda: calls.close_over, cst.Call: calls.call_node,
    cst.ListComp: comprehensions.evaluate, cst.GeneratorExp: comprehensions.evaluate,
    cst.Yield: generators.yielded, cst.SetComp: comprehensions.evaluate, cst.DictComp: comprehensions.evaluate_dict,
}
