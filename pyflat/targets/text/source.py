"""The captured function as text: its head, docstring, statements with their comments, and its whole self.

A function without branch, call, `and`/`or`/`not` or chained comparison, in which every operator is native for the
kinds of its operands, is its own twin: `whole` gives it byte for byte, but for the decorators and the name.
"""

from __future__ import annotations

import inspect
import io
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import libcst as cst
import numpy as np

from pyflat.errors import InternalError
from pyflat.functions.stacking import DATES
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Const, Function, Param
from pyflat.ir.shape import (
    OTHER_WORD,
    Composed,
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Strings,
    Template,
    Texts,
)
from pyflat.ir.types import FLOAT
from pyflat.targets.text.expr import flat
from pyflat.targets.text.spelling import KIND_NAMES, Dialect, literal

if TYPE_CHECKING:
    from pyflat.frontend.capture import Captured
    from pyflat.frontend.result import Specialised

STEP = "    "
IMPORTS = {"math": "import math", "numba": "import numba", "np": "import numpy as np",
           "lanes": "from pyflat.functions import lanes"}


def header(spec: Specialised, dialect: Dialect, aliases: Mapping[str, str], *, loops: bool = False) -> list[str]:
    """The comment that says what the text is the twin of, for which kinds, and how it is to be read."""
    captured = spec.captured
    floats = spec.function.floats
    kinds = ", ".join(f"{name}: {kind_text(shape, floats)}".replace(": =", " =")
                      for name, shape in spec.arguments.items())
    title = f"# pyflat twin of {module_name(captured)}:{captured.qualname}, kinds ({kinds})"
    meaning = dialect.meaning.replace("select(", aliases.get("select", "select") + "(")
    hidden = [f"{alias} is {word}" for word, alias in aliases.items() if word != "select" and not dialect.stands_alone]
    lanes = ["a lane that is done with a loop keeps its values"] * (loops and not dialect.stands_alone)
    return [title, "# " + "; ".join([meaning, *lanes, *hidden])]


def module_name(captured: Captured) -> str:
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", {}).get("__file__") == captured.file:  # None stands for what is blocked
            return name
    return inspect.getmodulename(captured.file) or captured.file


def kind_text(shape: Shape, floats: FloatFormat = F8) -> str:
    match shape:
        case Leaf():
            return KIND_NAMES[shape.kind] if floats is F8 or shape.kind is not FLOAT else "float32"
        case Fixed():
            text = " ".join(repr(shape.value).split())
            return f"= {text}" if len(text) <= 40 else f"= {type(shape.value).__name__} ..."
        case Record():
            if shape.cls in (complex, str):
                return shape.cls.__name__
            if shape.cls in DATES:
                return shape.cls.__name__
            if shape.cls is np.ndarray:
                inner = kind_text(shape.items[0], floats) if shape.items else "float"
                return f"array of {inner}, shape ({', '.join(shape.names)})"
            inner = ", ".join(kind_text(item, floats) for item in shape.items)
            return f"({inner})" if shape.cls is tuple else f"{shape.cls.__name__}({inner})"
        case Labels():
            classes = ("str" if item is OTHER_WORD else type(item).__name__ for item in shape.table)
            return " or ".join(dict.fromkeys(classes))
        case Texts():
            return " or ".join(dict.fromkeys(_item_text(item, floats) for item in shape.table))
        case Ragged():
            return f"list of {kind_text(shape.items[0], floats)}" if shape.items else "list"
        case Maybe():
            return f"{kind_text(shape.inner, floats)} or None"
        case Strings():
            return "str"


def _item_text(item: object, floats: FloatFormat) -> str:
    if isinstance(item, Composed):
        return kind_text(item.shape, floats)
    return "str" if isinstance(item, Template) else "None" if item is None else type(item).__name__


def statement_lines(tree: cst.FunctionDef | cst.Lambda) -> dict[cst.CSTNode, cst.SimpleStatementLine]:
    """For each small statement that stands alone on its line: the line, with its comments."""
    lines: dict[cst.CSTNode, cst.SimpleStatementLine] = {}
    todo: list[cst.CSTNode] = [tree.body] if isinstance(tree, cst.FunctionDef) else []
    while todo:
        node = todo.pop()
        if isinstance(node, cst.SimpleStatementLine):
            if len(node.body) == 1:
                lines[node.body[0]] = node
        elif isinstance(node, cst.BaseCompoundStatement | cst.BaseSuite | cst.Else | cst.Finally | cst.ExceptHandler):
            todo += node.children
    return lines


def line_text(module: cst.Module, line: cst.SimpleStatementLine) -> list[str]:
    """The statement with its leading comments and trailing comment, one indentation step in."""
    return [STEP + text if text.strip() else "" for text in module.code_for_node(line).rstrip("\n").split("\n")]


def small_text(module: cst.Module, statement: cst.BaseSmallStatement) -> list[str]:
    """The statement alone, one indentation step in."""
    code = module.code_for_node(statement.with_changes(semicolon=cst.MaybeSentinel.DEFAULT))
    return [STEP + part for part in code.split("\n")]


def comments(module: cst.Module, line: cst.SimpleStatementLine) -> tuple[list[str], str]:
    """The comment lines (and blank lines) above a statement, and the comment behind it."""
    leading = [STEP + "#" + text.partition("#")[2] if "#" in text else ""
               for text in (module.code_for_node(item).rstrip("\n") for item in line.leading_lines)]
    trailing = module.code_for_node(line.trailing_whitespace).rstrip()
    return leading, trailing


def docstring(captured: Captured) -> list[str]:
    """The lines of the function's docstring statement."""
    tree = captured.tree
    if not isinstance(tree, cst.FunctionDef) or tree.get_docstring(clean=False) is None:
        return []
    first = tree.body.body[0]
    if not isinstance(first, cst.SimpleStatementLine):
        return []
    text = captured.module.code_for_node(first.with_changes(leading_lines=(), body=first.body[:1])).rstrip("\n")
    return [STEP + text]


def only_return(tree: cst.FunctionDef | cst.Lambda) -> cst.BaseExpression | None:
    """The expression of the function's one return, when that is its last statement (or a lambda's body)."""
    if isinstance(tree, cst.Lambda):
        return tree.body
    returns = [node for node in statement_lines(tree) if isinstance(node, cst.Return)]
    last = tree.body.body[-1]
    ends = isinstance(last, cst.SimpleStatementLine) and last.body[-1] in returns
    return returns[0].value if ends and len(returns) == 1 and isinstance(returns[0], cst.Return) else None


def definition(spec: Specialised, name: str, dialect: Dialect, returns: str = "") -> list[str]:
    """The `def` line (or lines), with the user's parameters, annotations and comment; `returns` instead of what the
    user's function is annotated to return."""
    tree = spec.captured.tree
    module = spec.captured.module
    params = _parameters(tree.params, spec, dialect)
    if isinstance(tree, cst.Lambda):
        return [f"def {name}({module.code_for_node(params)}):"]
    empty = cst.SimpleStatementSuite(body=[cst.Pass()], leading_whitespace=cst.SimpleWhitespace(""))
    bare = tree.with_changes(name=cst.Name(name), decorators=(), leading_lines=(), lines_after_decorators=(),
                             body=empty, params=params)
    if returns and tree.returns is not None:
        bare = bare.with_changes(returns=tree.returns.with_changes(annotation=cst.Name(returns)))
    comment = module.code_for_node(tree.body.header).rstrip() if isinstance(tree.body, cst.IndentedBlock) else ""
    return (module.code_for_node(bare).rstrip().removesuffix("pass").rstrip() + comment).split("\n")


def _parameters(params: cst.Parameters, spec: Specialised, dialect: Dialect) -> cst.Parameters:
    """The parameters that a caller gives: not the `self` of a bound method, nor what a partial has filled in."""

    def kept(some: Sequence[cst.Param]) -> list[cst.Param]:
        return [_with_known_default(p, spec, dialect) for p in some
                if p.default is not None or p.name.value in spec.arguments]

    found = params.with_changes(params=kept(params.params), kwonly_params=kept(params.kwonly_params),
                                posonly_params=kept(params.posonly_params))
    if not found.posonly_params:
        found = found.with_changes(posonly_ind=cst.MaybeSentinel.DEFAULT)
    return found if found.kwonly_params or not isinstance(found.star_arg, cst.ParamStar) else (
        found.with_changes(star_arg=cst.MaybeSentinel.DEFAULT))


def _with_known_default(param: cst.Param, spec: Specialised, dialect: Dialect) -> cst.Param:
    """A default that is a name of the user's module becomes its value, or None: the text stands alone."""
    plain = isinstance(param.default, cst.Integer | cst.Float | cst.SimpleString)
    if not dialect.stands_alone or param.default is None or plain:
        return param
    shape = spec.arguments.get(param.name.value)
    text = "None"
    if isinstance(shape, Fixed) and isinstance(shape.value, bool | int | float | str | None):
        text = repr(shape.value)
    if text.strip("-") in ("inf", "nan"):
        text = f'float("{text}")'
    return param.with_changes(default=cst.parse_expression(text))


def has_annotations(tree: cst.FunctionDef | cst.Lambda) -> bool:
    if isinstance(tree, cst.Lambda):
        return False
    return tree.returns is not None or any(p.annotation is not None for p in parameters_of(tree))


def parameters_of(tree: cst.FunctionDef | cst.Lambda) -> Iterator[cst.Param]:
    """The parameters in the order of the signature."""
    params = tree.params
    yield from (*params.posonly_params, *params.params)
    if isinstance(params.star_arg, cst.Param):
        yield params.star_arg
    yield from params.kwonly_params
    if params.star_kwarg is not None:
        yield params.star_kwarg


def parameter_names(tree: cst.FunctionDef | cst.Lambda) -> list[str]:
    return [param.name.value for param in parameters_of(tree)]


def renamed(source: str, name: str) -> str:
    """The definition without its decorators and under another name; nothing else is touched."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for token in tokens:
        if token.type == tokenize.NAME and token.string == "def":
            old = next(tokens)
            lines = list(io.StringIO(source))[token.start[0] - 1:]  # splitlines would split at form feeds too
            row, column = old.start[0] - token.start[0], old.start[1]
            lines[row] = lines[row][:column] + name + lines[row][column + len(old.string):]
            return "".join(lines)
    return source


def module_text(spec: Specialised, dialect: Dialect, constants: dict[str, Const], definition: Sequence[str],
                aliases: dict[str, str], *, loops: bool = False) -> str:
    """Header, imports, captured constants, decorator, definition."""
    text = "\n".join(definition)
    lines = header(spec, dialect, aliases, loops=loops)
    if dialect.stands_alone:
        lines += _imports(spec, dialect, text, aliases)
    if constants:
        lines += ["", *(f"{n} = {flat(literal(c, dialect))}" for n, c in constants.items())]
    if dialect.stands_alone or constants:
        lines += ["", ""]
    if dialect.decorator:
        lines.append(dialect.decorator)
    return "\n".join([*lines, text]) + "\n"


def _imports(spec: Specialised, dialect: Dialect, text: str, aliases: dict[str, str]) -> list[str]:
    """Import lines in the usual groups, and other names for what a parameter hides."""
    needed = {dialect.module}
    needed |= {word for word in IMPORTS if aliases.get(word, word) + "." in text}
    groups = [["from __future__ import annotations"] if has_annotations(spec.captured.tree) else []]
    groups += [[IMPORTS[word] for word in group if word in needed] for group in (["math"], ["numba", "np"], ["lanes"])]
    groups.append([f"{alias} = {word}" for word, alias in aliases.items()])
    lines: list[str] = []
    for group in filter(None, groups):
        lines += ["", *group] if lines else group
    return lines


def parameter_texts(spec: Specialised, function: Function) -> dict[Param, tuple[str, str]]:
    """For each parameter leaf the variable that holds it, and its text: p.x, rest[0], options["k"]."""
    tree = spec.captured.tree
    keywords = tree.params.star_kwarg.name.value if tree.params.star_kwarg is not None else None
    shapes = [(name, spec.arguments[name]) for name in parameter_names(tree) if name in spec.arguments]
    texts = [found for name, shape in shapes for found in _leaf_texts(name, name, shape, name == keywords)]
    if len(texts) != len(function.params):
        raise InternalError(f"{len(function.params)} parameters for {len(texts)} argument leaves")
    return dict(zip(function.params, texts, strict=True))


def _leaf_texts(variable: str, text: str, shape: Shape, keywords: bool = False) -> Iterator[tuple[str, str]]:
    match shape:
        case Leaf() | Labels():
            yield variable, text
        case Record():
            for index, item in enumerate(shape.items):
                name = shape.names[index] if shape.names else ""
                step = f"[{name!r}]" if keywords or shape.cls is dict else f".{name}" if name else f"[{index}]"
                yield from _leaf_texts(variable, text + step, item)
        case Fixed():
            pass
