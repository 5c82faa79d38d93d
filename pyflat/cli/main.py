"""The command line: `pyflat show SPEC` prints the twin of a function, `pyflat codes` the refusals.

Exit status: 0, 1 for a refused function (its message on stderr), 2 for a name or option that is wrong (one line
on stderr), 3 for a bug of pyflat. What is printed is coloured on a terminal and the plain text elsewhere.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

import pyflat
from pyflat.cli.dataflow import dataflow
from pyflat.cli.explain import explain, profile
from pyflat.cli.graph import graph
from pyflat.cli.survey import survey
from pyflat.cli.verify import prove, verify
from pyflat.errors import CODES, FlattenError
from pyflat.inspection.listing import STAGES, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

BUG = 3


class BadSpec(click.ClickException):
    """SPEC names nothing that can be shown: one line on stderr, exit status 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"pyflat: {self.message}", file=file, err=file is None)


# --- from SPEC to the function


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
        raise BadSpec(f"importing {name} failed: {_one_line(error)}") from error
    except (Exception, SystemExit) as error:
        raise BadSpec(f"importing {name} failed: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
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


# --- printing


def _terminal() -> Console | None:
    """A rich console when stdout is a terminal, None when the text goes to a pipe or a file."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(file=sys.stdout, soft_wrap=True)


def _print(text: str) -> None:
    """The text as it is: bytes in a pipe, whatever the locale; coloured on a terminal."""
    text = text if text.endswith("\n") else text + "\n"
    console = _terminal()
    if console is None:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        return
    from rich.syntax import Syntax

    console.print(Syntax("", "python", theme="ansi_dark").highlight(text), end="")


def _print_diff(original: str, twin: str, names: tuple[str, str]) -> None:
    console = _terminal()
    if console is None:
        lines = difflib.unified_diff(
            original.splitlines(), twin.splitlines(), names[0], names[1], n=max(len(original), len(twin)), lineterm=""
        )
        _print("\n".join(lines))
        return
    from rich.syntax import Syntax
    from rich.table import Table

    table = Table(expand=True, show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(name, ratio=1, overflow="fold")
    table.add_row(*(Syntax(text, "python", theme="ansi_dark", word_wrap=True) for text in (original, twin)))
    console.print(table)


def _die(message: str, status: int) -> NoReturn:
    click.echo(message, err=True)
    raise SystemExit(status)


# --- the commands


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pyflat", prog_name="pyflat", message="%(prog)s %(version)s")
def commands() -> None:
    """Flatten branchy scalar functions into branch-free twins that run over whole arrays."""


@commands.command()
@click.argument("spec")
@click.option("--stage", type=click.Choice(STAGES), help="What is before the twin, or its test for faults.")
@click.option("--target", type=click.Choice(["numpy", "numba", "dataflow", "wgsl", "glsl"]),
              help="Runnable text, the graph, or a shader.")
@click.option("--diff", is_flag=True, help="The original beside the twin (a unified diff in a pipe).")
@click.option("--faults", is_flag=True, help="Beside the twin its test: in which lanes the original may raise.")
@click.option("--kinds", metavar="f8,i8,b,c16", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--static", multiple=True, metavar="NAME[=VALUE]", help="An argument that specialises; may be repeated.")
@click.option("--loops", type=click.Choice(["auto", "unroll", "masked"]), help="What becomes of loops.")
@click.option("--max-unroll", type=click.IntRange(min=1), metavar="N", help="Limit of iterations over a loop nest.")
@click.option("--max-trips", type=click.IntRange(min=1), metavar="N", help="Bound of loops that stay loops.")
@click.option("--errors", type=click.Choice(["raise", "mask", "nan", "unchecked"]), help="What a failing lane gives.")
@click.option("--math", type=click.Choice(["vector", "libm"]), help="Which elementary functions.")
@click.option("--dtype", type=click.Choice(["float64", "float32", "input"]), help="The width of float lanes.")
@click.option("--fast-math", is_flag=True, default=None, help="Allow rewrites that change the last digits.")
@click.option("--parallel", is_flag=True, default=None, help="Use more than one thread.")
@click.option("--cache/--no-cache", default=None, help="Keep compiled twins.")
@click.option("--whitelist", multiple=True, metavar="NAME", help="A call to keep; may be repeated.")
def show(
    spec: str,
    stage: Stage | None,
    target: Literal["numpy", "numba", "dataflow", "wgsl", "glsl"] | None,
    diff: bool,
    faults: bool,
    kinds: str | None,
    **options: Any,
) -> None:
    """Print the twin of the function SPEC.

    SPEC is module:function, module:Class.method or path/to/file.py:function. The module is imported;
    the function is not run.
    """
    if diff and stage:
        raise click.UsageError("--diff compares the original with the twin; leave --stage out")
    fn = find_function(spec)
    given = {name: value for name, value in options.items() if value not in (None, ())}
    try:
        twin = pyflat.twin(_bound(fn, given), **given)
        text = str(twin.show(stage=stage, target=target, kinds=kinds, faults=faults))
        original = str(twin.show(stage="captured", kinds=kinds)) if diff else ""
    except (TypeError, ValueError) as error:  # an option or a kind that does not fit the function
        raise BadSpec(" ".join(str(error).split())) from error
    if diff:
        _print_diff(original, text, (getattr(fn, "__name__", spec), twin.__name__))
    else:
        _print(text)


def _bound(fn: Any, given: dict[str, Any]) -> Any:
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


@commands.command()
@click.argument("code", required=False)
def codes(code: str | None) -> None:
    """List the codes of refusals, or explain one."""
    if code is None:
        _print("\n".join(f"{name:32} {row.title}" for name, row in CODES.items()))
        return
    name = code if "/" in code else f"flatten/{code}"
    if name not in CODES:
        near = difflib.get_close_matches(name, CODES, n=1)
        raise BadSpec(f"no code {code!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    row = CODES[name]
    _print(f"{name}: {row.title}\n  why:  {row.why}\n  help: {row.help}")


for _command in (dataflow, graph, verify, prove, survey, explain, profile):
    commands.add_command(_command)


def main() -> None:
    """The entry point of the `pyflat` command; ends the process."""
    try:
        commands(prog_name="pyflat")
    except FlattenError as refusal:
        _die(str(refusal), 1)
    except Exception as error:
        if os.environ.get("PYFLAT_TRACEBACK"):
            raise
        _die(f"pyflat: internal error: {_one_line(error)} (PYFLAT_TRACEBACK=1 shows where)", BUG)
