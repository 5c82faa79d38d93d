"""Hand-made Specialised objects for the text printer: parsed source on one side, built IR on the other."""

from __future__ import annotations

import ast
import math
import textwrap
from dataclasses import replace
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.capture import Captured
from pyflat.frontend.result import Specialised
from pyflat.frontend.state.guards import Guards
from pyflat.functions import lanes
from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Const, Function, Label, Op, Origin, Param, Value, Yield
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.shape import Leaf, Record, Shape
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.text import globals_needed, render

DTYPES = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}


def captured(source: str) -> Captured:
    module = cst.parse_module(textwrap.dedent(source).strip("\n") + "\n")
    tree = module.body[0]
    assert isinstance(tree, cst.FunctionDef)
    return Captured(tree.name.value, "somewhere.py", 1, module.code, tree, module, tree.name.value)


def function(params: list[Param], build: Builder, results: list[Value], form: str = "flat") -> Function:
    build.end(Yield(results))
    return Function("f", params, build.items, Label("f"), [v.kind for v in results], form)


def specialised(source: str, fn: Function, result: Shape | None = None, arguments: dict[str, Shape] | None = None) -> Specialised:
    """`result` defaults to the one leaf or the tuple of leaves; `arguments` to one leaf for each parameter."""
    if result is None:
        items = tuple(Leaf(kind) for kind in fn.result_kinds)
        result = items[0] if len(items) == 1 else Record(tuple, (), items)
    if arguments is None:
        arguments = {p.name: Leaf(p.kind) for p in fn.params}
    return Specialised(function=fn, result=result, arguments=arguments, captured=captured(source), guards=Guards(), rolled=None)


def body(text: str) -> list[str]:
    """The statements of the printed function, without indentation."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("def "))
    return [line[4:] for line in lines[start + 1:]]


def run_numpy(spec: Specialised, fn: Function, lanes_in: list[np.ndarray]) -> list[np.ndarray]:
    """Executes the numpy text on arrays; the leaves of its (flat tuple) result."""
    text = render(spec, fn, target="numpy", name="twin")
    namespace: dict[str, Any] = {"np": np, "lanes": lanes, **globals_needed(spec)}
    exec(compile(text, "<twin>", "exec"), namespace)
    found = namespace["twin"](*lanes_in)
    return list(found) if isinstance(found, tuple) else [found]


def expression(code: str) -> cst.BaseExpression:
    return cst.parse_expression(code)


def at(node: cst.CSTNode, frame: int = 0) -> Origin:
    return Origin(None, node, frame)


def kinds(*names: str) -> list[Kind]:
    return [{"b": BOOL, "i": INT, "f": FLOAT}[n] for n in names]


class Reader:
    """A small source -> flat IR reader with shared subexpressions: what the printer gets, without the pipeline."""

    BINARY = {cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "truediv", cst.Modulo: "mod",
              cst.FloorDivide: "floordiv", cst.BitAnd: "and", cst.BitOr: "or", cst.BitXor: "xor", cst.Power: "pow",
              cst.AddAssign: "add", cst.SubtractAssign: "sub", cst.MultiplyAssign: "mul", cst.DivideAssign: "truediv"}
    COMPARE = {cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt", cst.GreaterThanEqual: "ge",
               cst.Equal: "eq", cst.NotEqual: "ne"}

    def __init__(self, module: cst.Module, outside: dict[str, Any]):
        self.build = Builder()
        self.module = module
        self.outside = outside
        self.seen: dict[Any, Op] = {}

    def op(self, node: Any, opcode: str, *args: Value) -> Value:
        key = (opcode, tuple(a.key if isinstance(a, Const) else a for a in args))
        if key in self.seen:
            return self.seen[key]
        made = self.build.op(opcode, *args)
        made.origin = None if node is None else at(node)
        self.seen[key] = made
        return made

    def to_float(self, value: Value) -> Value:
        if value.kind is FLOAT:
            return value
        return const(float(value.value)) if isinstance(value, Const) else self.op(None, "to_float", value)

    def arithmetic(self, node: Any, opcode: str, a: Value, b: Value) -> Value:
        if isinstance(a, Const) and isinstance(b, Const):
            return const(PRIMITIVES[opcode].python(a.value, b.value))
        if opcode in ("truediv", "pow") or FLOAT in (a.kind, b.kind):
            a, b = self.to_float(a), self.to_float(b)
        return self.op(node, opcode, a, b)

    def value(self, node: Any, env: dict[str, Value]) -> Value:
        match node:
            case cst.Name():
                return env[node.value] if node.value in env else const(self.outside[node.value])
            case cst.Integer() | cst.Float():
                return const(ast.literal_eval(node.value))
            case cst.Attribute():
                return const(getattr(math, node.attr.value))
            case cst.UnaryOperation(operator=cst.Not()):
                return self.op(node, "not", self.value(node.expression, env))
            case cst.UnaryOperation():
                inner = self.value(node.expression, env)
                return const(-inner.value) if isinstance(inner, Const) else self.op(node, "neg", inner)
            case cst.BinaryOperation():
                return self.arithmetic(node, self.BINARY[type(node.operator)], self.value(node.left, env), self.value(node.right, env))
            case cst.BooleanOperation():
                word = "and" if isinstance(node.operator, cst.And) else "or"
                return self.op(node, word, self.value(node.left, env), self.value(node.right, env))
            case cst.Comparison():
                left = self.value(node.left, env)
                found = None
                for part in node.comparisons:
                    right = self.value(part.comparator, env)
                    one = self.arithmetic(node, self.COMPARE[type(part.operator)], left, right)
                    found = one if found is None else self.op(node, "and", found, one)
                    left = right
                assert found is not None
                return found
            case cst.IfExp():
                return self.op(node, "select", self.value(node.test, env), self.value(node.body, env), self.value(node.orelse, env))
            case cst.Call():
                args = [self.value(a.value, env) for a in node.args]
                name = node.func.attr.value if isinstance(node.func, cst.Attribute) else node.func.value
                if name in ("max", "min"):
                    best = args[0]
                    for item in args[1:]:
                        best = self.op(node, "select", self.op(node, "gt" if name == "max" else "lt", item, best), item, best)
                    return best
                return self.op(node, {"floor": "floor_int", "float": "to_float"}.get(name, name), *args)
        raise AssertionError(type(node))

    def store(self, name: str, value: Value, env: dict[str, Value], statement: Any) -> None:
        if isinstance(value, Op) and not value.name:
            value.name = name
            value.statement = at(statement)
        env[name] = value

    def run(self, statements: list[Any], env: dict[str, Value]) -> list[Value] | None:
        """The returned leaves; None when the list falls off its end (then env has the final state)."""
        for index, line in enumerate(statements):
            if isinstance(line, cst.If):
                left = self.branch(line, statements[index + 1:], env)
                if left is not None:
                    return left
                continue
            for small in line.body:
                match small:
                    case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as names)]):
                        values = [self.value(e.value, env) for e in small.value.elements]
                        for element, value in zip(names.elements, values, strict=True):
                            self.store(element.value.value, value, env, small)
                    case cst.AnnAssign():
                        self.store(small.target.value, self.value(small.value, env), env, small)
                    case cst.Assign():
                        self.store(small.targets[0].target.value, self.value(small.value, env), env, small)
                    case cst.AugAssign():
                        name = small.target.value
                        made = self.arithmetic(small, self.BINARY[type(small.operator)], env[name], self.value(small.value, env))
                        self.store(name, made, env, small)
                    case cst.Return(value=cst.Tuple() as items):
                        return [self.value(e.value, env) for e in items.elements]
                    case cst.Return():
                        return [self.value(small.value, env)]
        return None

    def branch(self, node: cst.If, rest: list[Any], env: dict[str, Value]) -> list[Value] | None:
        cond = self.value(node.test, env)
        then_env, else_env = dict(env), dict(env)
        orelse = [] if node.orelse is None else [node.orelse] if isinstance(node.orelse, cst.If) else list(node.orelse.body.body)
        then = self.run(list(node.body.body), then_env)
        other = self.run(orelse, else_env)
        if then is None and other is None:
            for name in {**then_env, **else_env}:
                a, b = then_env.get(name), else_env.get(name)
                if a is not None and b is not None and a is not b:
                    merged = self.op(None, "select", cond, a, b)
                    merged.name = name
                    env[name] = merged
            return None
        then = then if then is not None else self.run(rest, then_env)
        other = other if other is not None else self.run(rest, else_env)
        assert then is not None
        assert other is not None
        pairs = zip(then, other, strict=True)
        return [a if a is b else self.op(None, "select", cond, *self.joined(a, b)) for a, b in pairs]

    def joined(self, a: Value, b: Value) -> tuple[Value, Value]:
        return (a, b) if a.kind is b.kind else (self.to_float(a), self.to_float(b))


def read(source: str, letters: str, **outside: Any) -> tuple[Specialised, Function]:
    """The specialised and flat form of a function; one letter (f, i, b) per parameter; `outside` are its globals."""
    found = captured(source)
    tree = found.tree
    assert isinstance(tree, cst.FunctionDef)
    params = [Param(kind, p.name.value) for p, kind in zip(tree.params.params, kinds(*letters), strict=True)]
    reader = Reader(found.module, outside)
    statements = [s for s in tree.body.body if not (isinstance(s, cst.SimpleStatementLine) and isinstance(s.body[0], cst.Expr | cst.Pass))]
    results = reader.run(statements, {p.name: p for p in params})
    assert results is not None
    flat = function(params, reader.build, results)
    spec = specialised(source, flat)
    return replace(spec, captured=found), flat


def neutral(source: str, letters: str, **outside: Any) -> list[str]:
    """The printed statements of a function, target-neutral."""
    spec, flat = read(source, letters, **outside)
    return body(render(spec, flat, target="neutral", name="twin"))
