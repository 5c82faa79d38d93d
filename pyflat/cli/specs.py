"""From SPEC, as it is written on the command line, to the function or module that it names."""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click


class BadSpec(click.ClickException):
    """SPEC names nothing that can be shown: one line on stderr, exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        said = re.sub(r"\bkinds=([\"'])(.*?)\1", r"--kinds '\2'", self.message)
        click.echo(f"pyflat: {said}", file=file, err=file is None)


def find_function(spec: str) -> Any:
    """The object that `mod:fn`, `mod:Class.method`, `path/to/file.py:fn` or `mod.fn` names."""
    place, colon, path = spec.rpartition(":")
    if not colon:
        return _dotted(spec)
    if not place or not path:
        raise BadSpec(f"{spec!r} is not of the form module:function or file.py:function")
    module = _import_file(Path(place)) if _is_file(place) else _import_module(place)
    return _member(module, path, place)


def _is_file(place: str) -> bool:
    return place.endswith(".py") or os.sep in place


def _dotted(spec: str) -> Any:
    """`a.b.c` without a colon: the longest prefix that is a module holds the function."""
    parts = spec.split(".")
    if _is_file(spec) or len(parts) < 2:
        raise BadSpec(f"{spec!r} names no function; write {spec}:function")
    for cut in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:cut])
        if _exists(name):
            return _member(_import_module(name), ".".join(parts[cut:]), name)
    raise BadSpec(f"no module named {parts[0]!r}")


def _exists(name: str) -> bool:
    _look_in_working_folder()
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _look_in_working_folder() -> None:
    """A console script has its own folder first on sys.path, not the user's as `python -m` has."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _import_module(name: str) -> ModuleType:
    _look_in_working_folder()
    if name.startswith("."):
        raise BadSpec(f"{name!r} is relative; write the whole name of the module")
    return _imported(name, lambda: importlib.import_module(name))


def _import_file(path: Path) -> ModuleType:
    """Run a file as `python file.py` would find its neighbours, but not as "__main__"."""
    path = path.resolve()
    if not path.is_file():
        raise BadSpec(f"no file {str(path)!r}")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem not in sys.modules else f"{path.stem}__shown"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadSpec(f"{str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader

    def load() -> ModuleType:
        loader.exec_module(module)
        return module

    return _imported(str(path), load)


def _imported(name: str, load: Callable[[], ModuleType]) -> ModuleType:
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the module prints is not part of the twin
            return load()
    except ModuleNotFoundError as error:
        if error.name and (error.name == name or name.startswith(error.name + ".")):
            raise BadSpec(f"no module named {error.name!r}") from error
        raise BadSpec(f"importing {name} failed: {one_line(error)}") from error
    except (Exception, SystemExit) as error:
        raise BadSpec(f"importing {name} failed: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _member(module: ModuleType, path: str, place: str) -> Any:
    found: Any = module
    for index, part in enumerate(path.split(".")):
        owner = ".".join([place, *path.split(".")[:index]])
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, [name for name in dir(found) if not name.startswith("__")], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadSpec(f"{owner} has no {part!r}{hint}")
        found = getattr(found, part)
    if isinstance(found, property) and found.fget is not None:
        found = found.fget
    if inspect.ismodule(found) or inspect.isclass(found) or not callable(found):
        kind = "a module" if inspect.ismodule(found) else "a class" if inspect.isclass(found) else "not a function"
        raise BadSpec(f"{path!r} in {place} is {kind}; name a function")
    return found


def find_module(spec: str) -> ModuleType | None:
    """The module that `mod` or `path/to/file.py` names without a function; None when SPEC names a function."""
    if ":" in spec:
        return None
    if _is_file(spec):
        return _import_file(Path(spec))
    return _import_module(spec) if _exists(spec) else None


def bound(fn: Any, given: dict[str, Any]) -> Any:
    """`--static NAME=VALUE` binds the value; `--static NAME` alone keeps meaning the option of that name."""
    pairs = [item.partition("=") for item in given.pop("static", ())]
    names = tuple(name for name, equals, _ in pairs if not equals)
    if names:
        given["static"] = names
    values = {name: literal(text) for name, equals, text in pairs if equals}
    return functools.partial(fn, **values) if values else fn


def literal(text: str) -> Any:
    """A Python literal; anything else is the string itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
