"""Stub files for modules with flattened functions, in which calls with arrays have the types of arrays.

A type checker sees of a flattened function what `Flattened[P, R]` and `Twin[P, R]` can say: calls with scalars. Here
each twin is a class of its own, with an overload for each parameter that may be the first array of a call:

    def shade(x: float, t: float = 0.5) -> float         shade.flat(x: float, t: float = ...) -> float
                                                         shade.flat(x: NDArray, t: float | NDArray = ...) -> NDArray
                                                         shade.flat(x: float, t: NDArray) -> NDArray

What is not flattened is in the stub as the module's text declares it, without bodies. Annotations are believed.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pyflat.runtime.decorator import flat_of
from pyflat.runtime.settings import Options
from pyflat.runtime.twins import Twin

HEADER = "# made by `pyflat stubs`"
_TOP = f"""{HEADER}; calls of twins with arrays have overloads here
from typing import Any as _Any, Protocol as _Protocol, overload as _overload
import numpy as _np
from numpy.typing import NDArray as _NDArray
import pyflat as _pyflat

class _HasArray(_Protocol):
    def __array__(self, *args: _Any, **kwargs: _Any) -> _Any: ...

class _HasUfunc(_Protocol):
    def __array_ufunc__(self, *args: _Any, **kwargs: _Any) -> _Any: ...

_Column = _HasArray | _HasUfunc | list[_Any]
"""
_LANES = {"float": "_np.float64", "int": "_np.int64", "bool": "_np.bool_", "complex": "_np.complex128",
          "str": "_np.str_"}
_FLOATS = {"float64": "_np.float64", "float32": "_np.float32", "input": "_np.floating[_Any]"}
_DECLARES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AnnAssign, ast.Assign)
"""What of the body of a class is in its stub."""


def stub(module: ModuleType) -> str:
    """The text of the module's stub. Raises ValueError where it has no text or no twin."""
    if not module.__file__ or not module.__file__.endswith(".py"):
        raise ValueError(f"{module.__name__} is not a module of Python text")
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    functions = {name: twin for name, value in vars(module).items()
                 if (twin := flat_of(value)) is not None and value.__module__ == module.__name__}
    twins = {name: value for name, value in vars(module).items() if isinstance(value, Twin)}
    if not functions and not twins:
        raise ValueError(f"{module.__name__} has no flattened function")
    outline = _Outline(functions, twins)
    return "\n".join([_TOP, *(line for statement in tree.body for line in outline.lines(statement))]) + "\n"


# --- the module's other definitions
class _Outline:
    """The statements of a module without what runs."""

    def __init__(self, functions: Mapping[str, Twin[..., Any]], twins: Mapping[str, Twin[..., Any]]):
        self.functions, self.twins = functions, twins
        self.overloaded: set[str] = set()
        """Functions that have had overloads: their implementation has no place in a stub."""

    def lines(self, statement: ast.stmt) -> Iterator[str]:
        """What the stub says for a statement of the module."""
        match statement:
            case ast.ImportFrom(module="__future__") | ast.Expr() | ast.If(test=ast.Compare(left=ast.Name("__name__"))):
                return
            case ast.FunctionDef(name=name) if name in self.overloaded and not _is_overload(statement):
                return
            case ast.FunctionDef(name=name) if name in self.functions and _is_of(statement, self.functions[name]):
                yield from _function(statement, self.functions[name])
            case ast.Assign(targets=[ast.Name(name)]) if name in self.twins:
                yield from _twin_class(f"_{name}", _parameters(self.twins[name], None), None, self.twins[name].options)
                yield f"{name}: _{name}"
            case ast.If() | ast.Try():
                yield from self._compound(statement)
            case ast.For() | ast.While() | ast.With() | ast.Assert() | ast.Delete() | ast.Raise():
                return
            case _:
                if isinstance(statement, ast.FunctionDef) and _is_overload(statement):
                    self.overloaded.add(statement.name)
                yield ast.unparse(_outlined(statement))

    def _compound(self, statement: ast.If | ast.Try) -> Iterator[str]:
        parts: list[tuple[str, Sequence[ast.stmt]]]
        if isinstance(statement, ast.If):
            parts = [(f"if {ast.unparse(statement.test)}:", statement.body), ("else:", statement.orelse)]
        else:
            parts = [("try:", statement.body), ("except Exception:", [s for h in statement.handlers for s in h.body]),
                     ("else:", statement.orelse), ("finally:", statement.finalbody)]
        for head, body in parts:
            if body:
                inside = [line for each in body for line in self.lines(each)] or ["pass"]
                yield from (head, *("    " + line for text in inside for line in text.splitlines()))


def _is_overload(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each).rpartition(".")[2] == "overload" for each in node.decorator_list)


def _is_of(node: ast.FunctionDef, twin: Twin[..., Any]) -> bool:
    """Whether this def of a name, of several, is the one that has been flattened."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return bool(first == twin.original.__code__.co_firstlineno)


def _outlined(statement: ast.stmt) -> ast.stmt:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            statement.body = [ast.Expr(ast.Constant(...))]
        case ast.ImportFrom():
            for alias in statement.names:
                alias.asname = alias.asname or (alias.name if alias.name != "*" else None)  # a stub exports only these
        case ast.ClassDef():
            methods = [each for each in statement.body if isinstance(each, ast.FunctionDef)]
            named = {ast.unparse(each.target) for each in statement.body if isinstance(each, ast.AnnAssign)}
            own = dict(reversed([pair for method in methods for pair in _attributes(method)]))  # the first one counts
            declared = [ast.AnnAssign(ast.Name(name), type, None, 1) for name, type in own.items() if name not in named]
            kept = [_outlined(each) for each in statement.body if isinstance(each, _DECLARES)]
            statement.body = [*declared, *kept] or [ast.Expr(ast.Constant(...))]
    return statement


def _attributes(method: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """What a method assigns to attributes of its object, with their types."""
    if not method.args.args:
        return
    annotations = {each.arg: each.annotation for each in method.args.args}
    for node in ast.walk(method):
        match node:
            case ast.AnnAssign(target=ast.Attribute(ast.Name(owner), name), annotation=annotation):
                pass
            case ast.Assign(targets=[ast.Attribute(ast.Name(owner), name)], value=value):
                of_parameter = annotations.get(value.id) if isinstance(value, ast.Name) else None
                annotation = of_parameter or ast.Name("_Any")
            case _:
                continue
        if owner == method.args.args[0].arg:
            yield name, annotation


# --- twins
@dataclass(frozen=True)
class _Parameter:
    """A parameter of a twin. `annotation` as it is written; `lane`: an array may stand for it; `fixed`: nothing else
    than what it says (static parameters, arrays of kernels)."""

    name: str
    kind: Any
    annotation: str
    lane: bool
    fixed: bool
    default: bool

    @property
    def among_arrays(self) -> str:
        """Its type where others may be arrays."""
        return self.annotation if self.fixed else f"{self.annotation} | _NDArray[_Any]" if self.lane else "_Any"

    def written(self, type: str, *, required: bool = False) -> str:
        """Its text in a signature."""
        stars = "*" * (self.kind is self.kind.VAR_POSITIONAL) + "**" * (self.kind is self.kind.VAR_KEYWORD)
        return f"{stars}{self.name}: {type}" + (" = ..." if self.default and not required else "")


def _function(node: ast.FunctionDef, twin: Twin[..., Any]) -> Iterator[str]:
    """The class of the twin and that of the function, with their variables."""
    name, returns = node.name, node.returns
    parameters = _parameters(twin, node)
    result = ast.unparse(returns) if returns is not None else "_Any"
    twin_class = f"_{name}_flat"
    yield from _twin_class(twin_class, parameters, returns, twin.options)
    yield f"class _{name}(_pyflat.Flattened[..., {result}], _Protocol):"
    yield "    @property"
    yield f"    def flat(self) -> {twin_class}: ..."
    yield f"    def __call__(self{_signature(parameters, [p.annotation for p in parameters])}) -> {result}: ..."
    yield f"{name}: _{name}"
    if twin.options.inject:
        yield f"{twin.__name__}: {twin_class}"


def _parameters(twin: Twin[..., Any], node: ast.FunctionDef | None) -> list[_Parameter]:
    written = {each.arg: each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)} if node else {}
    roles, found = twin.roles, []
    for name, parameter in inspect.signature(twin).parameters.items():
        text = _annotation(parameter, written.get(name))
        fixed = roles.get(name) != "lanes"
        lane = not fixed and (text in _LANES or text == "_Any")
        found.append(_Parameter(name, parameter.kind, text, lane, fixed, parameter.default is not parameter.empty))
    return found


def _annotation(parameter: inspect.Parameter, written: ast.expr | None) -> str:
    """As the module writes it; of a function from elsewhere, or by its default, a type that needs no import."""
    if written is not None:
        return ast.literal_eval(written) if isinstance(written, ast.Constant) and isinstance(written.value, str) \
            else ast.unparse(written)
    known = parameter.annotation if parameter.annotation is not parameter.empty else type(parameter.default)
    text = known if isinstance(known, str) else getattr(known, "__name__", "")
    return text if text in _LANES else "_Any"


def _twin_class(name: str, parameters: list[_Parameter], returns: ast.expr | None, options: Options) -> Iterator[str]:
    result = ast.unparse(returns) if returns is not None else "_Any"
    yield f"class {name}(_pyflat.Twin[..., {result}]):"
    calls = list(_calls(parameters, result, returns, options))
    if not calls:
        yield "    ..."
    narrower = any(p.kind is p.kind.POSITIONAL_ONLY for p in parameters)  # than a twin's call, which takes any name
    for number, call in enumerate(calls):
        yield "    @_overload" + "  # type: ignore[override]" * (narrower and number == 0)
        yield f"    def __call__(self{call}: ..."


def _calls(parameters: list[_Parameter], result: str, returns: ast.expr | None, options: Options) -> Iterator[str]:
    """The overloads, signature and result of each; none where nothing is known of the call."""
    lanes = [p for p in parameters if p.lane]
    unknown = any(p.annotation == "_Any" for p in lanes) or options.signature is not None
    several = any(p.kind in (p.kind.VAR_POSITIONAL, p.kind.VAR_KEYWORD) for p in parameters)
    if unknown or several or all(p.fixed for p in parameters):
        return
    masked = "tuple[{}, _pyflat.Faults]" if options.errors == "mask" else "{}"
    yield f"{_signature(parameters, [p.annotation for p in parameters])}) -> {masked.format(result)}"
    arrays = masked.format(_of_arrays(returns, options))
    out = "" if any(p.name == "out" for p in parameters) else "out: _Any = ..."
    for first in lanes:
        for by_name in (False, True):
            if (signature := _with_first(parameters, first, out, by_name=by_name)) is not None:
                yield f"{signature}) -> {arrays}"
    anything = [f"{p.among_arrays} | _Column" if p.lane else p.among_arrays for p in parameters]
    yield f"{_signature(parameters, anything, out)}) -> _Any"


def _with_first(parameters: list[_Parameter], first: _Parameter, out: str, *, by_name: bool) -> str | None:
    """The parameters where `first` is an array and no lane before it is one. `by_name`: those before it may be left
    out, so that it is a keyword."""
    at = parameters.index(first)
    left_out = any(p.default for p in parameters[:at]) and first.kind is not first.kind.KEYWORD_ONLY
    if by_name and (not left_out or first.kind is first.kind.POSITIONAL_ONLY):
        return None
    types = ["_NDArray[_Any]" if p is first else p.annotation if p.lane and i < at else p.among_arrays
             for i, p in enumerate(parameters)]
    required = 0 if by_name or first.kind is first.kind.KEYWORD_ONLY else at
    return _signature(parameters, types, out, required=required, first=at, keywords=by_name)


def _signature(
    parameters: list[_Parameter], types: list[str], out: str = "", *, required: int = 0, first: int = -1,
    keywords: bool = False,
) -> str:
    """`, x: float, /, t: float = ...`. Parameters before the position `required`, and `first`, have no default; with
    `keywords` those from `first` on are keywords."""
    written: list[str] = []
    star = False
    for i, (parameter, type) in enumerate(zip(parameters, types, strict=True)):
        if not star and (parameter.kind is parameter.kind.KEYWORD_ONLY or keywords and i == first):
            written.append("*")
        star = star or written[-1:] == ["*"] or parameter.kind is parameter.kind.VAR_POSITIONAL
        written.append(parameter.written(type, required=i < required or i == first))
        later = parameters[i + 1].kind if i + 1 < len(parameters) else None
        if parameter.kind is parameter.kind.POSITIONAL_ONLY and later is not parameter.kind:
            written.append("/")
    if out:
        written += [out] if star else ["*", out]
    return "".join(f", {each}" for each in written)


def _of_arrays(returns: ast.expr | None, options: Options) -> str:
    """The type of a result over arrays."""
    match returns:
        case ast.Name(name) if name in _LANES:
            if options.errors == "nan" and name != "float" or name == "str" and options.results != "labels":
                return "_NDArray[_Any]"
            return f"_NDArray[{_FLOATS[options.dtype] if name == 'float' else _LANES[name]}]"
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(parts)) if not any(
                isinstance(part, ast.Constant) and part.value is ... for part in parts):
            return f"tuple[{', '.join(_of_arrays(part, options) for part in parts)}]"
        case ast.Constant(value=str(text)):
            return _of_arrays(ast.parse(text, mode="eval").body, options)
    return "_Any"
