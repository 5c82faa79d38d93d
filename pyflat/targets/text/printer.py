"""The text of a twin, as a careful person would have written it.

`render` prints the slice of the flat IR below its values. A function that is its own twin comes back byte for byte
(`whole`). Otherwise there is one statement for each variable of the user and for each shared temporary, in the
order of the program: verbatim where the user's statement still denotes the value, from its expression where only names
changed, spelled from the table where there is no source.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import libcst as cst

from pyflat.errors import refuse
from pyflat.ir.formats import F8
from pyflat.ir.loops import all_ops, uses
from pyflat.ir.nodes import Block, Const, Function, Op, Origin, Param, Value, walk
from pyflat.ir.shape import OTHER_WORD, Labels, Leaf, Record, Shape, leaves
from pyflat.ir.types import BOOL, FLOAT, INT, kind_of
from pyflat.ir.uses import results_of, with_block
from pyflat.passes.rules.expansions import in_terms_of
from pyflat.targets.text import source
from pyflat.targets.text.expr import (
    NOT,
    Call,
    Expr,
    Global,
    Hole,
    Infix,
    Prefix,
    Word,
    fill,
    flat,
    holes,
    layout,
    parts,
    under_other_names,
)
from pyflat.targets.text.match import SourceMatcher
from pyflat.targets.text.names import TextNames, assign_names
from pyflat.targets.text.plan import plan
from pyflat.targets.text.results import Results
from pyflat.targets.text.spelling import DIALECTS, Dialect, Target, literal, spell
from pyflat.targets.text.steps import LET, Begin, BodyEnd, Leave, Step, steps_of
from pyflat.targets.text.whole import free_names, is_straight

if TYPE_CHECKING:
    from pyflat.frontend.result import Specialised

SUSPECT = "Whether the original may raise, or compute an int beyond 64 bits, in a lane."


def render(spec: Specialised, flat_form: Function, *, target: Target = "neutral", name: str) -> str:
    """The text of the twin `name`: `flat_form` is the flat function without fault operations."""
    return render_linked(spec, flat_form, target=target, name=name)[0]


def render_linked(
    spec: Specialised, flat_form: Function, *, target: Target = "neutral", name: str
) -> tuple[str, list[frozenset[tuple[str, int]]]]:
    """The text, and of each of its last lines the places (file, line) that its operations come from."""
    dialect = DIALECTS[target]
    flat_form = _spelled(flat_form, dialect)
    straight = flat_form.floats is F8 and is_straight(spec.captured.tree)
    same = _own_twin(spec, dialect, name) if straight else None
    if same is not None:
        own = spec.captured.source.rstrip("\n").count("\n") + 1
        lines = range(spec.captured.first_line, spec.captured.first_line + own)
        return same, [frozenset([(spec.captured.file, line)]) for line in lines]
    printer = _TextPrinter(spec, flat_form, dialect)
    return printer.text(name, results_of(flat_form), spec.result), printer.places


def _spelled(function: Function, dialect: Dialect) -> Function:
    """A function in the operations that the dialect has. Raises FlattenError where it cannot be written."""
    if dialect.name == "numba" and function.floats is not F8:
        raise refuse("flatten/target-dtype", f"the scalar text of {function.name} in float32",
                     why="numba makes its literals and functions float64", help='show(target="numpy")')
    made = in_terms_of(function, dialect.spelled)
    for op in all_ops(made.body):
        if op.opcode == "fault":
            raise refuse("flatten/target-operation", f"the text of {function.name}", op.span,
                         why="what stands for an operation there is not Python's in every lane")
    return made


def _own_twin(spec: Specialised, dialect: Dialect, name: str) -> str | None:
    """The text of a function that is its own twin, None for any other."""
    if _beyond_lanes(spec):
        return None
    outside, seen = _captured_numbers(spec)
    free = free_names(spec, dialect, {n: constant.value for n, constant in outside.items()}, seen)
    if free is None:
        return None
    own = spec.captured.module.code_for_node(spec.captured.tree)
    lines = source.renamed(own, name).rstrip("\n").split("\n")
    return source.module_text(spec, dialect, {n: outside[n] for n in free}, lines, {})


def render_suspect(spec: Specialised, fused: Function, *, target: Target = "neutral", name: str) -> str:
    """The text of `name`, which says in which lanes the twin leaves to the original: the last result of `fused`."""
    dialect = DIALECTS[target]
    fused = _spelled(fused, dialect)
    return _TextPrinter(spec, fused, dialect).text(name, results_of(fused)[-1:], Leaf(BOOL), SUSPECT)


def render_numbered(spec: Specialised, numbered: Function, *, name: str) -> str:
    """NumPy's text of `name`, which returns the result and the number of each lane's fault: `numbered` has both."""
    dialect = DIALECTS["numpy"]
    numbered = _spelled(numbered, dialect)
    result = Record(tuple, (), (spec.result, Leaf(INT)))
    return _TextPrinter(spec, numbered, dialect).text(name, results_of(numbered), result)


def render_condition(spec: Specialised, flat: Function, condition: Value) -> str | None:
    """A bool of a flat function as one expression over its parameters, None where that takes statements."""
    assert flat.form == "flat"
    text = _TextPrinter(spec, with_block(flat, flat.flat_block.ops, [condition]), DIALECTS["neutral"])
    lines = text.text("condition", [condition], Leaf(BOOL), SUSPECT).rstrip("\n").split("\n")
    last = lines[-1].strip()
    alone = lines[-2].strip().endswith(f'"""{SUSPECT}"""')
    return last.removeprefix("return ") if alone and last.startswith("return ") and not last.endswith("(") else None


def globals_needed(spec: Specialised) -> dict[str, Any]:
    """The objects that the text mentions by name and does not define: result classes, objects that are results."""
    results = Results()
    results.expression(spec.result, iter([Const(leaf.kind, None) for leaf in leaves(spec.result)]))
    for shape in spec.arguments.values():
        for item in shape.table if isinstance(shape, Labels) else ():
            if item is not OTHER_WORD:
                results.fixed(item)
    return results.objects


def _captured_numbers(spec: Specialised) -> tuple[dict[str, Const], frozenset[str]]:
    """The captured names of the function itself that were read as numbers, with their values; and the constants
    of modules (`math.pi`) that really had the value of that name."""
    matcher = SourceMatcher(spec.captured.module, DIALECTS["neutral"], (), _assigned(spec) | _beyond_lanes(spec))
    seen: set[str] = set()
    for item in walk(spec.function.body):
        for op in item.ops if isinstance(item, Block) else ():
            found = matcher.operation(op) if op.origin is not None and op.origin.frame == 0 else None
            words = [part.text for part in parts(found) if isinstance(part, Word)] if found is not None else []
            seen.update(name for text in words for name in re.findall(r"math\.\w+", text))
    module = sys.modules.get(source.module_name(spec.captured)) if matcher.constants else None
    known = vars(module) if module is not None else {}
    values = {name: _as_captured(known.get(name), constant) for name, constant in matcher.constants.items()}
    return {name: value for name, value in values.items() if value is not None}, frozenset(seen)


def _as_captured(number: object, used: Const) -> Const | None:
    """The captured number itself: an int may have been promoted where it was used. None when that is not certain."""
    kind = kind_of(number)
    if kind is not None and isinstance(number, bool | int | float) and number == used.value:
        return Const(kind, number)
    certain = used.kind is not FLOAT or (isinstance(used.value, float) and not used.value.is_integer())
    return used if certain else None


def _assigned(spec: Specialised) -> frozenset[str]:
    """The local names of the captured function: parameters and whatever its code stores."""
    return spec.captured.stored.union(source.parameter_names(spec.captured.tree))


def _beyond_lanes(spec: Specialised) -> frozenset[str]:
    """Outer names of ints that no lane holds: a constant at their place is their residue, or something else."""
    return frozenset(r.name for r in spec.guards.readings() if type(r.value) is int and kind_of(r.value) is None)


class _TextPrinter:
    """One printing of one function."""

    def __init__(self, spec: Specialised, function: Function, dialect: Dialect):
        self.spec = spec
        self.function = function
        self.dialect = dialect
        self.floats = function.floats
        self.module = spec.captured.module
        self.params = source.parameter_texts(spec, function)
        self.tables = {param: shape.table for param, (name, _) in self.params.items()
                       if isinstance(shape := spec.arguments.get(name), Labels)}
        self.steps = steps_of(function, on_arrays=dialect.on_arrays)
        self.known = {op.name for op in self.steps.operations() if op.name}
        self.known |= {variable for variable, _ in self.params.values()}
        self.known |= set(spec.arguments)
        self.matcher = SourceMatcher(self.module, dialect, self.known, _assigned(spec) | _beyond_lanes(spec))
        self.once = _read_once(function)
        self.sourced: set[Op] = set()
        self.lines_of = source.statement_lines(spec.captured.tree)
        self.commented: set[cst.CSTNode] = set()
        self.codes: dict[cst.CSTNode, list[str]] = {}
        self.constants: dict[str, Const] = {}
        self.places: list[frozenset[tuple[str, int]]] = []

    def text(self, name: str, values: Sequence[Value], result: Shape, says: str = "") -> str:
        """`says`: the docstring of a test, instead of the user's."""
        own = self.floats is F8  # the user's text is one of float64
        node = source.only_return(self.spec.captured.tree) if own and result is self.spec.result else None
        results = Results(self.matcher if own else None, self.dialect)
        final = results.expression(result, iter(values), node)
        self.plan = plan(self.steps, final, self.expression)
        words = self._words()
        parameters = set(self.spec.arguments) | {v for v, _ in self.params.values()}
        self.aliases = {word: self._alias(word) for word in sorted(words & parameters)}
        self.names = assign_names(self.plan, self.params, TextNames(words | set(self.aliases.values()), self.known))
        written = list(self._written())
        last = self.final_lines(node if results.exact else None)
        written.append((last, self._places(*self._folded(self.plan.final))))
        body = [line for lines, _ in written for line in lines]
        self.places = [places for lines, places in written for _ in lines]
        documented = [f'{source.STEP}"""{says}"""'] if says else source.docstring(self.spec.captured)
        while not documented and not body[0]:
            del body[0]  # a blank line that stood between two statements
        head = source.definition(self.spec, name, self.dialect, "bool" if says else "")
        lines = [*head, *documented, *self.narrowed(), *body]
        loops = self.steps.loops > 0
        return source.module_text(self.spec, self.dialect, self.constants, lines, self.aliases, loops=loops)

    def _written(self) -> Iterator[tuple[list[str], frozenset[tuple[str, int]]]]:
        """The lines of each step, and where its operations come from."""
        depth = 0
        steps = self.plan.steps
        for number, step in enumerate(steps):
            lines: list[str] = []
            at_once = isinstance(steps[number - 1], Begin) if number else False
            match step:
                case Begin() if not isinstance(steps[number + 1], Leave):
                    lines = [f"{source.STEP}while True:"]
                case Leave(condition=op):
                    lines = self._condition(op, at_once=at_once)
                case Op():
                    lines = self.statement(step)
            places = self._places(step.condition if isinstance(step, Leave) else step)
            indent = source.STEP * (depth - isinstance(step, Leave) * at_once)
            yield [indent + line if line else "" for line in lines], places
            depth += isinstance(step, Begin) - isinstance(step, BodyEnd)

    def _condition(self, op: Op, *, at_once: bool) -> list[str]:
        """How a loop goes on or is left: in its first line where it is asked `at_once`, else by a break."""
        expr: Expr = self.plan.expressions[op]
        if not self.dialect.on_arrays and at_once:
            return layout("while ", self.closed(expr), source.STEP, ":")
        if not self.dialect.on_arrays:
            done = self.closed(Prefix("not ", expr, NOT))
            return [*layout("if ", done, source.STEP, ":"), f"{source.STEP * 2}break"]
        name = self.names[self.plan.variable(op)]
        anywhere = self.aliases.get("np", "np") + ".any"
        if at_once:
            return [f"{source.STEP}while {anywhere}({name} := {flat(self.closed(expr))}):"]
        return [*layout(f"{name} = ", self.closed(expr), source.STEP), f"{source.STEP}if not {anywhere}({name}):",
                f"{source.STEP * 2}break"]

    def _folded(self, expr: Expr) -> list[Op]:
        """The operations that an expression writes in place."""
        values = (self.plan.variable(hole.value) for hole in holes(expr))
        return [value for value in values if isinstance(value, Op) and value in self.plan.folded]

    def _places(self, *steps: Step) -> frozenset[tuple[str, int]]:
        """Where these operations, and those written in place in them, come from."""
        found: set[tuple[str, int]] = set()
        todo = [step for step in steps if isinstance(step, Op)]
        while todo:
            op = todo.pop()
            todo += self._folded(self.plan.expressions[op])
            spans = (each.span for each in (op.origin, op.statement) if each is not None)
            found.update((span.file, span.line) for span in spans if span is not None)
        return frozenset(found)

    def expression(self, op: Op) -> Expr:
        """The expression of one operation over holes: the user's if it still denotes it."""
        if any(arg in self.tables for arg in op.args):
            return self._comparison_of_objects(op)
        found = self.matcher.operation(op) if self.floats is F8 else None
        if found is None:
            return spell(op, self.dialect, single_use=self.once, floats=self.floats)
        self.sourced.add(op)
        return found

    def _comparison_of_objects(self, op: Op) -> Expr:
        """`unit == "C"`: a parameter that stands for an object is its position in a table, and is compared with one."""
        param, code = op.args[0], op.args[-1]
        if op.opcode in ("eq", "ne") and isinstance(param, Param) and isinstance(code, Const):
            item = self.tables[param][int(code.value or 0)]
            if item is not OTHER_WORD and type(item).__eq__ in (object.__eq__, str.__eq__, type(None).__eq__):
                return Infix(Hole(param), " == " if op.opcode == "eq" else " != ", Results().fixed(item))
        raise refuse("flatten/target-operation",
                     f"the text of {self.function.name} (it takes strings or objects by lane)",
                     why="it does more than comparing them")

    def narrowed(self) -> list[str]:
        """In float32 the arguments are rounded first: Python's floats and arrays of float64 are among them."""
        if self.floats is F8 or not self.dialect.on_arrays:
            return []
        return [f"{source.STEP}{text} = np.float32({text})" for param, (variable, text) in self.params.items()
                if param.kind is FLOAT and text == variable]

    def _words(self) -> set[str]:
        """The names that the text uses for modules, functions and captured constants."""
        words = set()
        for expr in (*self.plan.expressions.values(), self.plan.final):
            for part in parts(expr):
                match part:
                    case Call(head=text) | Word(text=text) | Global(name=text):
                        words.add(text.partition(".")[0])
                    case Hole(value=Const() as value):
                        literal_parts = parts(literal(value, self.dialect, self.floats))
                        words |= {p.text.partition(".")[0] for p in literal_parts if isinstance(p, Word)}
                    case _:
                        pass
        if self.steps.loops and self.dialect.on_arrays:
            words.add("np")
        return {word for word in words if word.isidentifier()}

    def _alias(self, word: str) -> str:
        """Another name for a module or function that a parameter hides."""
        number = 1
        while f"{word}_{number}" in self.known:
            number += 1
        return f"{word}_{number}"

    def filling(self, hole: Hole) -> Expr:
        value = self.plan.variable(hole.value)
        if isinstance(value, Const):
            return self.closed(literal(value, self.dialect, self.floats))
        if isinstance(value, Op) and value in self.plan.folded:
            return self.closed(self.plan.expressions[value])
        return Word(self.names[value])

    def closed(self, expr: Expr) -> Expr:
        """The expression with all holes filled; captured constants are noted, hidden words replaced."""
        for part in parts(expr):
            if isinstance(part, Global):
                self.constants[part.name] = part.value
        return fill(under_other_names(expr, self.aliases) if self.aliases else expr, self.filling)

    def statement(self, op: Op) -> list[str]:
        """The lines of the statement that defines `op`."""
        expr = self.plan.expressions[op]
        origin = op.statement
        if origin is None or not _stores(origin, op):
            return self._assignment(op)
        line = self.lines_of.get(origin.node) if origin.frame == 0 else None
        first = line is not None and line not in self.commented
        verbatim = op in self.sourced and self.names.get(op) == _target(origin.node) and self.same_names(expr)
        if isinstance(origin.node, cst.AugAssign) and self.dialect.on_arrays:
            verbatim = False  # on arrays it would write into the caller's array
        if line is not None and first:
            self.commented.add(line)
        if verbatim:
            self.closed(expr)
            if line is not None and first:
                return source.line_text(self.module, line)
            if origin.node not in self.codes:
                self.codes[origin.node] = source.small_text(self.module, origin.node)
            return self.codes[origin.node]
        lines = self._assignment(op)
        if line is None or not first:
            return lines
        leading, trailing = source.comments(self.module, line)
        return [*leading, *lines[:-1], lines[-1] + trailing]

    def _assignment(self, op: Op) -> list[str]:
        """A statement that is not the user's, on one line if its expression was on one line of his; none where the
        value is in that variable already."""
        expr = self.plan.expressions[op]
        name = self.names[self.plan.variable(op)]
        prefix = f"{name} = "
        if op.opcode == LET and flat(self.closed(expr)) == name:
            return []
        if op in self.sourced and all(part.name for part in parts(expr) if isinstance(part, Hole)):
            return [f"{source.STEP}{prefix}{flat(self.closed(expr))}"]
        return layout(prefix, self.closed(expr), source.STEP)

    def same_names(self, expr: Expr) -> bool:
        """The user's text can stand: every hole is a name, and the name is what the value is called here."""
        for part in parts(expr):
            if isinstance(part, Call) and part.head and self.dialect.stands_alone:
                return False  # functions are spelled otherwise there
            if isinstance(part, Hole):
                value = self.plan.variable(part.value)
                if not part.name or isinstance(value, Const) or value in self.plan.folded:
                    return False
                if self.names[value] != part.name:
                    return False
        return True

    def final_lines(self, node: cst.BaseExpression | None) -> list[str]:
        """The return statement: the user's if there is only one and it still holds."""
        closed = self.closed(self.plan.final)
        if node is not None and self.same_names(self.plan.final):
            for statement, line in self.lines_of.items():
                if isinstance(statement, cst.Return) and statement.value is node:
                    return source.line_text(self.module, line)
        if isinstance(closed, Call) and not closed.head and len(closed.args) > 1:
            short = f"{source.STEP}return {flat(closed)[1:-1]}"
            if len(short) <= 100:
                return [short]
        return layout("return ", closed, source.STEP)


def _stores(statement: Origin, op: Op) -> bool:
    """The statement assigns exactly the expression of `op` to one name."""
    node = statement.node
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name())]) | cst.AnnAssign(target=cst.Name()):
            return op.origin is not None and op.origin.node is node.value
        case cst.AugAssign(target=cst.Name()):
            return op.origin is None or op.origin.node is None or op.origin.node is node
        case _:
            return False


def _target(node: cst.CSTNode) -> str:
    """The name that an assignment stores; `_stores` has seen that it is one."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return name
        case cst.AnnAssign(target=cst.Name(value=name)) | cst.AugAssign(target=cst.Name(value=name)):
            return name
        case _:
            return ""


def _read_once(function: Function) -> set[Value]:
    """The values that one operand or result refers to."""
    return {value for value, count in Counter(uses(function.body)).items() if count == 1}
