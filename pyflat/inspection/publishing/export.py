"""Twins as a file of NumPy text for a library that does not need pyflat at run time. Its header:

    # Made by `pyflat export` (pyflat 0.1.0) from functions of a library: change those, and make it again.
    # SPDX-License-Identifier: MIT
    # body: 51c0...                                               a hash of what follows: changes are seen
    # twin: mylib.heat:index kinds=f8,f8
    # of 3c5e...: mylib.heat:index mylib.heat:_saturation mylib.heat:LIMIT
                                                                  a hash of these functions' texts and these values
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import importlib
import inspect
import itertools
import linecache
import math
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pyflat.errors import PACKAGE, Span, __version__
from pyflat.frontend.callables import Parameters, unwrap
from pyflat.frontend.state.guards import ABSENT, Guards
from pyflat.functions.records import Outside
from pyflat.inspection.listing import argument_shapes
from pyflat.inspection.publishing import around
from pyflat.inspection.publishing.project import Shipped
from pyflat.ir.faults import exception_of
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Fault
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.shape import Fixed, Leaf, Record, Shape
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.pipelines import numbered, run
from pyflat.runtime.compiled import FlatForm, flatten
from pyflat.runtime.settings import resolve, settings
from pyflat.targets.text import globals_needed, render_numbered, standing_alone
from pyflat.targets.text.alone import IMPORT, needs_pyflat

Rule = tuple[Outside, ...] | str
MADE = "# Made by `pyflat export`"
_BODY, _TWIN, _OF = "# body: ", "# twin: ", "# of "
_KINDS = {BOOL: ("?", "bool_"), INT: ("i8", "int64"), FLOAT: ("f8", "float64")}
_PRINTED = ("_arguments", "_results", "_spread")
_TAKEN = frozenset({"np", "npt", "math", "lanes", "Any", "annotations", "_shape", *_PRINTED})


class NotExported(Exception):
    """Why a function is left out."""


@dataclass(frozen=True)
class Exported:
    """One function of a file: what was asked for, its text, and the names of what it was made of."""

    wanted: Shipped
    name: str
    text: str
    parts: tuple[str, ...]


def export(wanted: Shipped, fn: Callable[..., Any]) -> Exported:
    """The text of the twin of `fn`. Raises NotExported, and FlattenError where it cannot be flattened."""
    parameters, _, done = flat_form(wanted, fn, "numpy")
    function = parameters.function
    if function.__name__ in _TAKEN:
        raise NotExported(f"a file of NumPy text cannot have a function named {function.__name__}")
    changing = [f"{module}.{name}" for module, name, _ in changing_readings(function, done.spec.guards, wanted.frozen)]
    if changing:
        raise NotExported(f"it reads {', '.join(changing)}, which functions assign; if it does not change: "
                          f"{{ function = ..., frozen = true }} in [tool.pyflat]")
    parts = parts_of(function, done.spec.guards, wanted)
    return Exported(wanted, function.__name__, _text(parameters, done, wanted.function), parts)


def flat_form(wanted: Shipped, fn: Callable[..., Any], target: str
              ) -> tuple[Parameters, dict[str, Shape], FlatForm]:
    """A function that is to be published, flattened. Raises NotExported, and FlattenError."""
    callee = unwrap(fn)
    function, name = callee.function, callee.function.__name__
    if not name.isidentifier():
        raise NotExported(f"a function that is called {name} cannot be in a module")
    parameters = Parameters(callee, name)
    if wanted.setup:
        try:
            exec(compile(wanted.setup, "setup", "exec"), function.__globals__)  # the library's own statement
        except Exception as error:
            raise NotExported(f"setup = {wanted.setup!r}: {type(error).__name__}: {error}") from error
    options = resolve(settings({"target": target, "errors": "raise", "math": wanted.math, "dtype": "float64"}))
    try:
        shapes = argument_shapes(function, parameters, options, wanted.kinds or None, {})
    except (TypeError, ValueError) as error:
        raise NotExported(" ".join(str(error).split())) from error
    return parameters, shapes, flatten(function, shapes, options, engine=True)


def parts_of(function: FunctionType, guards: Guards, wanted: Shipped) -> tuple[str, ...]:
    """The functions and values that went into a twin. Raises NotExported for a value that may change."""
    return tuple(dict.fromkeys(_parts(function, guards, wanted.frozen)))


def keywords(parameters: Parameters, inputs: Sequence[str]) -> tuple[int, tuple[str, ...]] | None:
    """How many of the lanes are passed by position, and the names of those behind; None where all are."""
    known = list(parameters.signature.parameters.values())
    leading = itertools.takewhile(lambda each: each.name in inputs and each.kind is not each.KEYWORD_ONLY, known)
    first = len(list(leading))
    return None if first == len(inputs) else (first, tuple(inputs[first:]))


# --- the text of one function
def _text(parameters: Parameters, done: FlatForm, spec: str) -> str:
    function = parameters.function
    made_of = _functions(function, done.spec.guards)
    head, kinds = _head(parameters, done.spec.arguments)
    returns = _annotation(done.spec.result)
    if globals_needed(done.spec):
        raise NotExported(f"its results are made of objects ({', '.join(globals_needed(done.spec))})")
    faults = [op for op in all_ops(done.spelled.body) if op.opcode == "fault"]
    rules: dict[Span | None, set[tuple[Rule, Kind]]] = defaultdict(set)
    for each in all_ops(done.spec.function.body):
        rules[each.span].add((OPERATIONS[each.opcode].faults, each.kind))
    places = dict.fromkeys((op.attr("fault"), op.attr("fault").span) for op in faults)
    raised = {place: _raised(*place, rules[place[1]] if place[1] is not None else set(), spec) for place in places}
    if any(isinstance(node, ast.Try | ast.With) for fn in made_of for node in ast.walk(_tree(fn))):
        raised = {place: ("ArithmeticError", _doubt(spec, place[0].message)) for place in places}  # it may be caught
    distinct = {what: number for number, what in enumerate(dict.fromkeys(raised.values()), 1)}
    numbers = {op: distinct[raised[op.attr("fault"), op.attr("fault").span]] for op in faults}
    text = render_numbered(done.spec, run(done.spelled, numbered(numbers.__getitem__)), name=function.__name__)
    if needs_pyflat(text):
        raise NotExported(f"NumPy and math have no equivalent of {', '.join(sorted(needs_pyflat(text)))}")
    if re.search(rf"\b(_shape|{'|'.join(_PRINTED)})\b", text):
        raise NotExported("a variable has the name of a function of the file")
    module, lines = ast.parse(text), text.split("\n")
    written = module.body[-1]
    assert isinstance(written, ast.FunctionDef)
    last = written.body[-1]
    assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
    first, documented = written.body[0], ast.get_docstring(written) is not None
    start = (first.end_lineno or 0) if documented else first.lineno - 1
    value, code = (ast.get_source_segment(text, part) for part in last.value.elts)
    outside = {lines[node.lineno - 1]: isinstance(node.value, ast.Name) for node in module.body
               if isinstance(node, ast.Assign)}  # np_1 = np, where a parameter is called np; and captured numbers
    said = (function.__doc__ or "").strip().split("\n")[0]
    names = ", ".join(each.partition(": ")[0] for each in kinds)
    rows = [f"        ({error}, {message!r})," for error, message in distinct]
    return "\n".join([
        *(f"{line}\n\n" for line, alias in outside.items() if alias),
        '@np.errstate(all="ignore")', f"def {function.__name__}({head}) -> {returns}:",
        *([f"    {said!r}" if re.search(r'[\\"]', said) else f'    """{said}"""'] * bool(said)),
        f'    _shape, {names} = _arguments("{", ".join(kinds)}", {names})',
        *(f"    {line}" for line, alias in outside.items() if not alias), *lines[start:last.lineno - 1],
        *([f"    return _results(_shape, {value}, {code}, (", *rows, "    ))"] if rows else
          [f"    return _results(_shape, {value})"])])


def _head(parameters: Parameters, shapes: dict[str, Shape]) -> tuple[str, list[str]]:
    """The parameters that are lanes, and "name: kind" of each. Those behind one that is left out are keywords."""
    written: list[str] = []
    kinds: list[str] = []
    for number, each in enumerate(parameters.signature.parameters.values()):
        shape = shapes[each.name]
        if isinstance(shape, Fixed) or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            if number >= len(parameters.prefix) and "*" not in written:
                written.append("*")
            continue
        if not (isinstance(shape, Leaf) or isinstance(shape, Record) and shape.cls is complex):
            raise NotExported(f"its parameter {each.name} is not a number")
        if each.kind is each.KEYWORD_ONLY and "*" not in written:
            written.append("*")
        default = "" if each.default is each.empty else f" = {each.default!r}"
        default = re.sub(r"\b(inf|nan)\b", r"np.\1", default)
        if each.kind is each.POSITIONAL_ONLY and "/" in written:
            written.remove("/")
        written.append(f"{each.name}: npt.ArrayLike{default}")
        written += ["/"] * (each.kind is each.POSITIONAL_ONLY and "*" not in written)
        kinds.append(f"{each.name}: {_KINDS[shape.kind][0] if isinstance(shape, Leaf) else 'c16'}")
    if not kinds:
        raise NotExported("none of its parameters is a number")
    return ", ".join(written[:-1] if written[-1] == "*" else written), kinds


def _annotation(shape: Shape) -> str:
    """The type of results; `Any` beside an array: a number, where numbers were given."""
    match shape:
        case Leaf():
            return f"npt.NDArray[np.{_KINDS[shape.kind][1]}] | Any"
        case Fixed(value=bool() | int() | float() | str()):
            return "Any"
        case Record(cls=cls) if cls in (complex, np.uint64):
            return f"npt.NDArray[np.{'complex128' if cls is complex else 'uint64'}] | Any"
        case Record(cls=cls) if cls in (tuple, list, dict):
            inner = ", ".join(map(_annotation, shape.items))
            return f"tuple[{inner or '()'}]" if cls is tuple else "list[Any]" if cls is list else "dict[str, Any]"
    raise NotExported("its results are not numbers, tuples, lists or dicts of numbers")


# --- what lanes raise
_SAID = {"index": ("item", "index out of range"), "negative_count": ("operator", "negative shift count"),
         "fmod": ("math", "math domain error"), "overflow": ("math", "math range error")}
"""What Python says where the rule of an operation holds, if it is written as such: else it may be one of several that a
function is made of."""


def _operation(lines: Sequence[str], place: Span | None) -> str:
    """How the operation at a place is written: "operator", "item", "math" (a function of that module), or otherwise."""
    text = lines[0][place.column:place.end_column] if place is not None and len(lines) == 1 else ""
    try:
        (node,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    match node:
        case ast.AugAssign() | ast.Expr(value=ast.BinOp()):
            return "operator"
        case ast.Expr(value=ast.Subscript()):
            return "item"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="math")))):
            return "math"
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if hasattr(math, name) and name != "pow":
            return "math"
    return ""


def _raised(fault: Fault, place: Span | None, here: set[tuple[Rule, Kind]], spec: str) -> tuple[str, str]:
    """The name of an exception of Python's, and its message. An OverflowError or ArithmeticError with a sentence where
    the original may return. `here`: the rules and kinds of the operations at that place. Raises NotExported for
    exceptions of a library."""
    lines = linecache.getlines(place.file)[place.line - 1:place.end_line] if place is not None else [""]
    line = lines[0].strip()
    if place is not None and re.match(r"(raise|assert)\b", lines[0][place.column:]):
        rest = [lines[0][place.column:], *lines[1:]]
        rest[-1] = rest[-1][:place.end_column - place.column * (len(lines) == 1)]
        return _of_statement("".join(rest), place.file, spec)
    if place is not None and place.file.startswith(PACKAGE):  # how pyflat computes a function, with tables that end
        return "ArithmeticError", _doubt(spec, fault.message)
    rules = {(rule, kind) for rule, kind in here if rule and exception_of(rule) == fault.type}
    rule = next(iter(rules))[0] if len({rule for rule, _ in rules}) == 1 else ""
    written = _operation(lines, place)
    if rule in ("zero_divisor", "floordiv") and written == "operator":
        return fault.type, "division by zero" + " (or of -2**63 by -1)" * (rules == {("floordiv", INT)})
    where, said = _SAID.get(rule, ("", "")) if isinstance(rule, str) else ("math", "math domain error")
    if rule and where == written:
        return fault.type, said
    cls = getattr(builtins, fault.type, None)
    certain = isinstance(cls, type) and not issubclass(cls, Warning) and not fault.message.startswith("returns ")
    if not rules and certain:
        return fault.type, fault.message or line
    ints = all(rule == "beyond_exact" or kind is INT and rule != "int_range" for rule, kind in rules)
    return "OverflowError" if rules and ints else "ArithmeticError", _doubt(spec, fault.message or line)


def _doubt(spec: str, where: str) -> str:
    return f"{spec} raises here, or exceeds NumPy's range (an int beyond 64 bits)" + f": {where}" * bool(where)


def _tree(fn: FunctionType) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, SyntaxError):
        return ast.Module([], [])


def _of_statement(text: str, file: str, spec: str) -> tuple[str, str]:
    """What a `raise` or an `assert` in the source raises."""
    (node,) = ast.parse(text).body
    if isinstance(node, ast.Assert):
        name, given = "AssertionError", [node.msg] if node.msg is not None else []
    else:
        made = node.exc if isinstance(node, ast.Raise) else None
        name = ast.unparse(made.func if isinstance(made, ast.Call) else made) if made is not None else "again"
        given = made.args if isinstance(made, ast.Call) else []
    hidden = any(name in vars(m) for m in list(sys.modules.values()) if getattr(m, "__file__", "") == file)
    cls = getattr(builtins, name, None)
    if hidden or not (isinstance(cls, type) and issubclass(cls, Exception)):
        raise NotExported(f"it raises {name}, which is not a built-in exception")
    words = [part.value for part in given if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return name, "" if not given else words[0] if len(words) == len(given) == 1 else f"{spec}: {ast.unparse(node)}"


# --- what a function is made of
def _parts(function: FunctionType, guards: Guards, frozen: bool) -> Iterator[str]:
    """The functions and values that went into a twin, as "module:name"; "module:" for one of which a part has none."""
    functions = _functions(function, guards)
    keywords = {id(fn.__kwdefaults__) for fn in functions}
    for note in guards.journal:
        if note.method == "contents" and isinstance(note.owner, list | dict | set | np.ndarray) and not frozen \
                and id(note.owner) not in keywords:
            raise NotExported(f"it reads a {type(note.owner).__name__} that may change: make it a tuple, or say that "
                              f"it does not, {{ function = ..., frozen = true }} in [tool.pyflat]")
    read = [(fn.__module__, fn.__qualname__, fn) for fn in functions]
    read += _readings(guards)
    for place, name, value in read:
        if place and place.partition(".")[0] not in (*sys.stdlib_module_names, "datetime_in_python", "numpy", "pyflat"):
            yield f"{place}:{name}" if _find(f"{place}:{name}") is value else f"{place}:"


def changing_readings(function: FunctionType, guards: Guards, frozen: bool) -> list[tuple[str, str, Any]]:
    """Module, name and value of the variables that went into a twin and that functions of their module assign."""
    return [] if frozen else [
        (module, name, value) for module, name, value in _readings(guards) if name in _assigned(module)]


def _readings(guards: Guards) -> Iterator[tuple[str, str, Any]]:
    for reading in guards.readings():
        module = reading.owner if isinstance(reading.owner, dict) else getattr(reading.owner, "__dict__", {})
        if reading.value is not ABSENT and not isinstance(reading.value, FunctionType | ModuleType | type):
            yield str(module.get("__name__", "")), reading.name, reading.value


@functools.cache
def _assigned(module: str) -> frozenset[str]:
    """The variables of a module that functions declare global."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return frozenset()
    return frozenset(name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names)


def _functions(function: FunctionType, guards: Guards) -> list[FunctionType]:
    return [function, *(fn for note in guards.journal if note.method == "code" and (fn := note.owner()))]


def _find(part: str) -> Any:
    module, _, path = part.partition(":")
    try:
        found: Any = sys.modules.get(module) or importlib.import_module(module)
        for name in path.split(".") if path else ():
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return ABSENT
    return getattr(found, "__wrapped__", getattr(found, "__func__", found))


def _digest(parts: Iterable[str]) -> str:
    """Of the source texts of these functions, and of these values, as they are now."""
    return _hash("\0".join(_content(_find(part)) for part in parts))


def _content(found: Any) -> str:
    if isinstance(found, FunctionType | ModuleType):
        try:
            return inspect.getsource(found)
        except OSError:  # what a dataclass has made
            return str(inspect.signature(found)) if isinstance(found, FunctionType) else found.__name__
    return found.dtype.str + found.tobytes().hex() if isinstance(found, np.ndarray) else repr(found)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# --- the file
def file_text(functions: Sequence[Exported], licence: str) -> str:
    """The text of a file with these functions, whose names differ."""
    helpers = [inspect.getsource(getattr(around, name)).rstrip() for name in _PRINTED]
    whole = "\n\n\n".join([*helpers, *(each.text for each in functions)])
    lanes = f"\n{IMPORT}\n" * ("lanes." in whole)
    needed = standing_alone(
        f"import math\nfrom typing import Any\n\nimport numpy as np\nimport numpy.typing as npt\n{lanes}\n\n{whole}\n",
        {})
    unused = "import math\n" * (re.search(r"\bmath\.", needed) is None)
    text = f"from __future__ import annotations\n\n{needed.removeprefix(unused)}"
    made = [(each.wanted, each.parts) for each in functions]
    return "\n".join(header(MADE, made, licence, _hash(text), "# mypy: ignore-errors", "# ruff: noqa")) + "\n" + text


def header(made: str, functions: Iterable[tuple[Shipped, Sequence[str]]], licence: str, body: str,
           *more: str) -> list[str]:
    """The lines that say what a file was made of."""
    lines = [f"{made} (pyflat {__version__}) from functions of a library: change those, and make it again.",
             *[f"# SPDX-License-Identifier: {licence}"] * bool(licence), *more, f"{_BODY}{body}"]
    for wanted, parts in functions:
        lines += [f"{_TWIN}{wanted}", f"{_OF}{_digest(parts)}: {' '.join(parts)}"]
    return lines


@dataclass(frozen=True)
class ExportedFile:
    """What an exported file says of itself. `changed`: it was not made by `pyflat export`, or was changed since."""

    made: dict[str, tuple[str, list[str]]]
    changed: bool

    def stale(self, wanted: Shipped) -> str:
        """Why a function has to be exported again; "" where it has not."""
        digest, parts = self.made.get(str(wanted), ("", []))
        return "is not there" if not digest else "" if _digest(parts) == digest else \
            f"has changed, or something it calls or reads has: {' '.join(parts)}"


def read(text: str, made_by: str = MADE) -> ExportedFile:
    """The header of a file."""
    start = text.find("from __future__ import annotations\n")
    lines = (text if start < 0 else text[:start]).split("\n")
    made = {line.removeprefix(_TWIN): (after.split(" ", 3)[2].rstrip(":"), after.split(" ")[3:])
            for line, after in itertools.pairwise(lines) if line.startswith(_TWIN) and after.startswith(_OF)}
    body = _hash(text[start:]) if start >= 0 else ""
    return ExportedFile(made, not text.startswith(made_by) or f"{_BODY}{body}" not in lines)
