"""Which modules a survey looks at, and which of their functions look like scalar kernels.

Modules are found by their files, without importing anything. A function or a method looks like a kernel when it takes
at least one parameter that is not evidently a container, a callable or an object, and returns something; this is read
off its signature and its syntax, nothing is called.
"""

from __future__ import annotations

import ast
import builtins
import datetime
import enum
import importlib.machinery
import inspect
import numbers
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.callables import unwrap
from pyflat.inspection.survey.methods import (
    MEMBER,
    ClassMember,
    as_function,
    behind,
    constructor,
    init_of,
    maker,
    parameters_of,
    use_of,
)

_ITERATED = frozenset({"len", "sum", "enumerate", "zip", "sorted", "list", "tuple", "set", "dict", "iter", "map",
                       "reversed", "any", "all", "array", "asarray", "open", "next"})
_NUMBER_ATTRIBUTES = frozenset({"real", "imag", "is_integer", "conjugate", "bit_length", "bit_count", "item"})
_INT_METHODS = frozenset({"bit_length", "bit_count"})
_OF_INTS = frozenset({"range", "gcd", "lcm", "factorial", "comb", "perm", "isqrt", "bin", "hex", "chr"})
_BIT_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_STRING_ATTRIBUTES = frozenset({"lower", "upper", "strip", "startswith", "endswith", "title", "casefold"})
_CONTAINERS = ("list", "dict", "set", "tuple", "sequence", "iterable", "iterator", "mapping", "ndarray", "array",
               "callable", "series", "dataframe", "bytes", "date", "path")
_NUMBERS = ("float", "int", "bool", "number", "real", "complex", "any")


NO_OBJECT = "a method of an object that cannot be made of numbers"


class NoPlaceError(ValueError):
    """PATH_OR_MODULE names nothing that can be surveyed."""


@dataclass(frozen=True, slots=True)
class Place:
    """The subject of a survey: modules by import name (or by file, for files outside packages), and their sys.path."""

    title: str
    path: tuple[str, ...]
    modules: tuple[str, ...]
    root: str = ""
    """The folder in which the modules are, where it was named by its path."""


def find_place(spec: str, working: str, *, trust: bool = False) -> Place:
    """The modules of a file, a folder, a module or an installed package; `trust`: its tests and scripts too. Imports
    nothing."""
    path = Path(spec)
    if path.suffix == ".py" or path.is_dir() and (path.name != spec or not _origin(spec, working)):
        if not path.exists():
            raise NoPlaceError(f"no file {spec!r}")
        return _from_path(spec, path.resolve(), trust)
    origin = _origin(spec, working)
    if origin is None:
        raise NoPlaceError(f"no module named {spec!r}, and no such file or folder")
    if origin.name == "__init__.py":
        return Place(spec, (working,), tuple(_package(origin.parent, spec, trust)))
    return Place(spec, (working,), (spec,))


def _origin(name: str, working: str) -> Path | None:
    """The source file of a module, found part by part so that no parent package is imported."""
    search: list[str] | None = [working, *sys.path]
    found: Path | None = None
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or ())
        found = Path(spec.origin) if spec.origin else None
    return found


def _from_path(title: str, path: Path, trust: bool) -> Place:
    if path.is_dir() and not (path / "__init__.py").exists():
        files = sorted(p for p in path.rglob("*.py") if trust or not _left_out(p.relative_to(path)))
        return Place(title, (str(path),), tuple(map(str, files)))
    root, parts = path.parent, [path.stem if path.is_file() else path.name]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    name = ".".join(part for part in parts if part != "__init__")
    if path.is_dir():
        return Place(title, (str(root),), tuple(_package(path, name, trust)), str(root))
    return Place(title, (str(root),), (name,) if len(parts) > 1 else (str(path),), str(root))


def _package(folder: Path, name: str, trust: bool) -> Iterator[str]:
    yield name
    for file in sorted(folder.rglob("*.py")):
        below = file.relative_to(folder)
        if not trust and _left_out(below) or str(below) == "__init__.py":
            continue
        if all((folder / parent / "__init__.py").exists() for parent in below.parents):
            parts = below.with_suffix("").parts
            yield ".".join([name, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def _left_out(below: Path) -> bool:
    """Tests, scripts, set-up scripts and `__main__` are no library code, and running them may do anything."""
    if not _NO_LIBRARIES.isdisjoint(part.lower() for part in below.parts[:-1]):
        return True
    name = below.name.lower()
    return name.startswith("test_") or name.endswith("_test.py") or name in _NO_LIBRARY


_NO_LIBRARY = ("__main__.py", "setup.py", "conftest.py", "test.py", "tests.py", "script.py", "scripts.py", "install.py",
               "installer.py", "demo.py", "example.py", "examples.py", "tasks.py", "noxfile.py", "fabfile.py")
_NO_LIBRARIES = {"tests", "test", "testing", "docs", "doc", "examples", "example", "site-packages", "scripts", "script",
                 "bin", "demo", "demos", "benchmarks", "benchmark"}


# --- functions


@dataclass(frozen=True, slots=True)
class Found:
    """A function of a module. `reason` says why it is not tried, "" where it is a kernel; `choices` are the values of
    parameters that are no numbers: strings that the function compares with, the members of an enum."""

    name: str
    function: FunctionType
    reason: str
    choices: Mapping[str, tuple[Any, ...]]
    ints: frozenset[str] = frozenset()
    """Parameters that the body uses as ints."""
    written: CodeType | None = None
    """The code of a method, which is tried as a function that makes the object (`methods`)."""
    use: str = ""
    """How that function uses it."""
    maker: FunctionType | None = None
    """What only makes the object of a method."""


def functions(module: ModuleType) -> Iterator[Found]:
    """The functions and methods that are defined in `module`, in the order of their lines."""
    seen: set[object] = set()
    found: list[tuple[int, Found]] = []
    for name, function, method in _defined(module):
        if function.__code__ not in seen:
            seen.add(function.__code__)
            looked = _look_at(name, function) if method is None else _look_at_method(module, name, method)
            found.append((function.__code__.co_firstlineno, looked))
    yield from (looked for _, looked in sorted(found, key=lambda each: each[0]))


def _defined(module: ModuleType) -> Iterator[tuple[str, FunctionType, ClassMember | None]]:
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            for inner, member in list(vars(value).items()):
                called, how = behind(member)
                function = _own(module, called)
                if function is not None:
                    yield f"{value.__qualname__}.{inner}", function, ClassMember(value, inner, function, how)
        elif (function := _own(module, value)) is not None:
            yield name, function, None


def _own(module: ModuleType, value: Any) -> FunctionType | None:
    """The Python function behind a member, where this module defined it."""
    if isinstance(value, type) or not callable(value):
        return None
    try:
        function = unwrap(value).function
    except (FlattenError, TypeError):
        return None
    same_file = function.__code__.co_filename == getattr(module, "__file__", None)
    return function if function.__module__ == module.__name__ and same_file else None


def _look_at(name: str, function: FunctionType) -> Found:
    if _is_special(function.__name__):
        return Found(name, function, "a special function", {})
    if reason := _no_result(function):
        return Found(name, function, reason, {})
    return _with_parameters(name, function, inspect.signature(function, follow_wrapped=False).parameters)


def _look_at_method(module: ModuleType, name: str, method: ClassMember) -> Found:
    """A method as a function that makes the object, where its class can be made of numbers."""
    def skipped(reason: str) -> Found:
        return Found(name, method.function, reason, {})

    if _is_special(method.name) and method.how != "special":
        return skipped("a special function")
    if not _is_named(module, method.owner):
        return skipped("a method of a class that its module does not name")
    if reason := _no_result(method.function):
        return skipped(reason)
    made_of = [] if method.how == "of the class" else constructor(method.owner)
    if made_of is None or issubclass(method.owner, BaseException) or inspect.isabstract(method.owner):
        return skipped(NO_OBJECT)
    made = init_of(method.owner) if made_of else None
    if made is not None and (reason := _with_parameters(name, made, {p.name: p for p in made_of}).reason):
        return skipped(f"a method of an object that {reason}")
    taken = parameters_of(method, made_of)
    own = {each.name: each for to_object, each in taken.values() if not to_object}
    looked = _with_parameters(name, method.function, own, alone=not taken)
    if looked.reason:
        return looked
    choices = dict(looked.choices)
    if issubclass(method.owner, enum.Enum):
        choices[MEMBER] = tuple(method.owner)
    return replace(looked, function=as_function(module, method, taken), choices=choices,
                   written=method.function.__code__, use=use_of(method, taken), maker=maker(module, method, taken))


def _is_named(module: ModuleType, owner: type) -> bool:
    """Whether the class is what its qualified name says, in its module: one made by a function is not."""
    found: Any = module
    for part in owner.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is owner


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _no_result(function: FunctionType) -> str:
    """Why a function gives no number, as its text says; "" otherwise."""
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return "a generator or coroutine"
    tree = _tree(function)
    returned = None if tree is None else list(_returned(tree))
    if returned == []:
        return "returns nothing"
    if returned and all(_is_generator(value, function.__globals__) for value in returned):
        return "a generator or coroutine"
    note = inspect.signature(function, follow_wrapped=False).return_annotation
    return "returns no number" if _class(note, function) in _NO_RESULTS else ""


def _with_parameters(
    name: str, function: FunctionType, parameters: Mapping[str, inspect.Parameter], *, alone: bool = True
) -> Found:
    """What the text says of the parameters; `alone`: a function without any is no kernel."""
    def skipped(reason: str) -> Found:
        return Found(name, function, reason, {})

    if alone and not any(p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values()):
        return skipped("takes no parameters" if not parameters else "takes *args only")
    tree = _tree(function)
    if tree is None:
        return Found(name, function, "", {})  # the attempt says that there is no source
    use = _Use(set(parameters))
    use.visit(tree)
    for parameter in parameters.values():
        if kind := _no_number(parameter, use):
            return skipped(f"takes {kind}")
    choices: dict[str, tuple[Any, ...]] = {p: tuple(dict.fromkeys(found)) for p, found in use.strings.items() if found}
    for parameter in parameters.values():
        known = _class(parameter.annotation, function)
        required = parameter.default is parameter.empty
        if known is not None and issubclass(known, enum.Enum) and len(known):
            choices[parameter.name] = tuple(known)
        elif required and known is not None and not issubclass(known, _MAY_BE_LANES):
            return skipped("takes an object")
        elif required and parameter.name not in choices and _textual(parameter, use):
            return skipped("takes a string of no known values")
    return Found(name, function, "", choices, frozenset(use.ints))


_NO_RESULTS = (bytes, bytearray, dict, set, list, type(None), datetime.datetime, datetime.date, datetime.time,
               datetime.timedelta)
_MAY_BE_LANES = (numbers.Number, np.generic, str)


def _class(annotation: Any, function: FunctionType) -> type | None:
    """The class that an annotation names; None for anything else. A string is looked up, not evaluated."""
    if isinstance(annotation, str) and annotation.replace(".", "").isidentifier():
        first, *rest = annotation.split(".")
        annotation = function.__globals__.get(first, vars(builtins).get(first))
        for part in rest:
            annotation = getattr(annotation, part, None)
    known = annotation if isinstance(annotation, type) and annotation is not inspect.Parameter.empty else None
    return None if known is object else known


def _textual(parameter: inspect.Parameter, use: _Use) -> bool:
    note = _note(parameter)
    return parameter.name in use.texts or "str" in note and not any(word in note for word in _NUMBERS)


def _tree(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    try:
        text = textwrap.dedent(inspect.getsource(function.__code__))
        body = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if isinstance(body, ast.FunctionDef):
        return body
    return next((node for node in ast.walk(body) if isinstance(node, ast.Lambda)), None)


def _returned(tree: ast.FunctionDef | ast.Lambda) -> Iterator[ast.expr]:
    """What the function returns on some path, other than None."""
    if isinstance(tree, ast.Lambda):
        yield tree.body
        return
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            yield node.value
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)


def _is_generator(value: ast.expr, names: Mapping[str, Any]) -> bool:
    """A call of a generator function of this module, or iter() of one."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return False
    if value.func.id == "iter" and "iter" not in names and len(value.args) == 1:
        return _is_generator(value.args[0], names)
    return inspect.isgeneratorfunction(names.get(value.func.id))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _note(parameter: inspect.Parameter) -> str:
    note = parameter.annotation
    if note is parameter.empty:
        return ""
    return (note if isinstance(note, str) else getattr(note, "__name__", "") + " " + str(note)).lower()


def _no_number(parameter: inspect.Parameter, use: _Use) -> str:
    """What a parameter is when it is no number, string or flag; "" otherwise."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return ""
    default, note = parameter.default, _note(parameter)
    if isinstance(default, list | dict | set | bytes) or type(default).__name__ == "ndarray":
        return "a container"
    if default is not parameter.empty and not isinstance(default, str | None | bool | int | float):
        return ""  # any other default is static: the function, class or object itself
    if note and any(word in note for word in _CONTAINERS) and not any(word in note.split("[")[0] for word in _NUMBERS):
        return "a container or an object"
    if default is parameter.empty and not any(word in note for word in (*_NUMBERS, "str")):
        if parameter.name in use.containers:
            return "a container"
        if parameter.name in use.called:
            return "a function"
        if parameter.name in use.objects:
            return "an object"
    return ""


class _Use(ast.NodeVisitor):
    """How the parameters are used, as long as nothing else is assigned to them."""

    def __init__(self, names: set[str]):
        self.names = names
        self.containers: set[str] = set()
        self.objects: set[str] = set()
        self.called: set[str] = set()
        self.texts: set[str] = set()
        self.ints: set[str] = set()
        self.strings: dict[str, list[str]] = {}

    def _name(self, node: ast.AST) -> str:
        return node.id if isinstance(node, ast.Name) and node.id in self.names else ""

    def _container(self, node: ast.AST) -> None:
        if name := self._name(node):
            self.containers.add(name)

    def _int(self, *nodes: ast.AST) -> None:
        self.ints.update(filter(None, map(self._name, nodes)))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, _BIT_OPERATORS):
            self._int(node.left, node.right)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, _BIT_OPERATORS):
            self._int(node.target, node.value)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Invert):
            self._int(node.operand)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._container(node.value)
        self._int(node.slice)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._container(node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._container(node.iter)
        self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        self._container(node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            self._container(node.value)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._name(node.value)
        if name and node.attr in _INT_METHODS:
            self.ints.add(name)
        if name and node.attr in _STRING_ATTRIBUTES:
            self.texts.add(name)
        elif name and node.attr not in _NUMBER_ATTRIBUTES:
            self.objects.add(name)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if name := self._name(node.func):
            self.called.add(name)
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called in _OF_INTS:
            self._int(*(part for argument in node.args for part in ast.walk(argument)))
        lone = called in ("min", "max") and len(node.args) == 1
        if called in _ITERATED or lone:
            for argument in node.args:
                self._container(argument)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(operator, ast.In | ast.NotIn):
                self._container(right)
            for side, other in ((left, right), (right, left)):
                self._compared(side, other)
        self.generic_visit(node)

    def _compared(self, side: ast.expr, other: ast.expr) -> None:
        while isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute):
            side = side.func.value  # method.lower() == "a"
        name = self._name(side)
        items = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
        texts = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if name and texts:
            self.strings.setdefault(name, []).extend(texts)

    def visit_Match(self, node: ast.Match) -> None:
        if name := self._name(node.subject):
            values = [part.value for case in node.cases for part in ast.walk(case.pattern)
                      if isinstance(part, ast.MatchValue)]
            texts = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
            if texts:
                self.strings.setdefault(name, []).extend(texts)
        self.generic_visit(node)
