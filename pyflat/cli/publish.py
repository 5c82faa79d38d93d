"""`pyflat export` and `pyflat build`: twins as a file of NumPy text, and as an extension module."""

from __future__ import annotations

import fnmatch
import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import click

from pyflat.cli.output import print_text, working
from pyflat.cli.specs import BadSpec, find_function, find_module
from pyflat.errors import FlattenError
from pyflat.inspection.publishing.project import (
    Project,
    ProjectError,
    Shipped,
    extension_path,
    package_root,
    project_at,
    replace_file,
)

if TYPE_CHECKING:
    from pyflat.inspection.publishing.export import ExportedFile


@click.command()
@click.argument("functions", nargs=-1, metavar="[MODULE:FUNCTION]...")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The file to write; default: `export` in [tool.pyflat], or stdout if functions are named.")
@click.option("--kinds", default="", metavar="f8,i8,b,c16", help="Kinds of the arguments of the named functions.")
@click.option("--check", is_flag=True, help="Write nothing; report what is out of date.")
@click.option("--force", is_flag=True, help="Overwrite a file that was changed, or not made by this command.")
def export(functions: tuple[str, ...], output: Path | None, kinds: str, check: bool, force: bool) -> None:
    """Write twins as NumPy code that does not need pyflat.

    Without arguments, the table [tool.pyflat] of the nearest pyproject.toml names the functions and the file. MODULE
    alone means its public functions. Modules are imported; functions are not run. Exit status: 1 if a function cannot
    be exported (the others are), or with --check if something is out of date.
    """
    from pyflat.inspection.publishing.export import read

    project, found, output = _asked("export", functions, output, kinds, needs_file=check)
    before = output.read_text(encoding="utf-8") if output is not None and output.is_file() else ""
    written = read(before)
    if check:
        _check(found, written, output, changed=bool(before and written.changed))
    if before and written.changed and not force:
        raise BadSpec(f"{output} has been changed, or was not made by `pyflat export`; --force overwrites it")
    _write(found, output, before, project.licence)


@click.command()
@click.argument("functions", nargs=-1, metavar="[MODULE:FUNCTION]...")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The module to write, without its suffix; default: `build` in [tool.pyflat].")
@click.option("--kinds", default="", metavar="f8,i8,b", help="Kinds of the arguments of the named functions.")
@click.option("--check", is_flag=True, help="Write nothing; report what is out of date.")
@click.option("--force", is_flag=True, help="Overwrite a file that was not made by this command.")
def build(functions: tuple[str, ...], output: Path | None, kinds: str, check: bool, force: bool) -> None:
    """Write twins as an extension module of NumPy ufuncs.

    The module needs only NumPy. It contains machine code for x86-64-v2, v3 and v4, and picks one at import. Elements in
    doubt fall back to the original functions. Without arguments, the table [tool.pyflat] of the nearest pyproject.toml
    names the functions and the file. Needs a C compiler. Exit status: 1 if a function cannot be built (the others
    are), or with --check if something is out of date.
    """
    from pyflat.inspection.publishing.build import build_file, made_of

    project, found, output = _asked("build", functions, output, kinds, needs_file=True)
    assert output is not None
    path = extension_path(output)
    before = made_of(path)
    if check:
        _check(found, before, path, changed=False)
    if path.exists() and before.changed and not force:
        raise BadSpec(f"{path} was not made by `pyflat build`; --force overwrites it")
    with _one_sentence():
        reasons, count = build_file(found, output, path, project.licence,
                                    lambda one: working(f"compiling {one.function}"))
    if count:
        click.echo(f"{path}: {count} function{'s' * (count != 1)}, {path.stat().st_size / 1024:,.0f} KiB")
    _end(reasons, "not built: ")


def _asked(what: str, functions: Sequence[str], output: Path | None, kinds: str, *, needs_file: bool
           ) -> tuple[Project, list[tuple[Shipped, Any]], Path | None]:
    """The project, the functions that are asked for, and the file, None for stdout."""
    with _one_sentence():
        project = project_at(Path())
    asked = [Shipped(each, kinds) for each in functions] or project.functions
    output = output or (None if functions else getattr(project, what))
    if output is not None and str(package_root(output)) not in sys.path:
        sys.path.append(str(package_root(output)))  # where the library is that the file belongs to
    if not asked:
        raise BadSpec('name functions, or list them in pyproject.toml: [tool.pyflat] functions = ["module:function"]')
    if output is None and (needs_file or not functions):
        raise BadSpec(f'name the output file: -o FILE, or in pyproject.toml: [tool.pyflat] {what} = "mylib/_flat'
                      f'{".py" * (what == "export")}"')
    return project, [each for one in asked for each in functions_of(one)], output


def _check(found: Sequence[tuple[Shipped, Any]], written: ExportedFile, path: Path | None, *, changed: bool) -> None:
    """Says what is out of date, and ends."""
    stale = [f"{one.function} {why}" for one, _ in found if (why := written.stale(one))]
    stale += [f"{name} is no longer requested" for name in sorted(written.made.keys() - {str(one) for one, _ in found})]
    _end(stale + ["it has been changed by hand"] * changed, f"{path} is out of date: ")


def functions_of(wanted: Shipped) -> Iterator[tuple[Shipped, Any]]:
    """The function, the public functions of a module, or those that a pattern names ("module:Get*"); with the values of
    static parameters."""
    name, _, pattern = wanted.function.partition(":")
    module = find_module(name) if set(pattern) & set("*?[") else find_module(wanted.function)
    if module is None:
        found = {wanted.function: find_function(wanted.function)}
    else:
        found = {f"{name}:{each}": value for each, value in vars(module).items()
                 if fnmatch.fnmatchcase(each, pattern or "[!_]*")
                 and isinstance(value, FunctionType) and value.__module__ == module.__name__}
        if not found:
            raise BadSpec(f"{wanted.function}: there is no such function in {module.__name__}")
    for spec, fn in found.items():
        yield replace(wanted, function=spec), functools.partial(fn, **wanted.static) if wanted.static else fn


def _write(found: Sequence[tuple[Shipped, Any]], output: Path | None, before: str, licence: str) -> None:
    from pyflat.inspection.publishing import export as exporting

    made: dict[str, exporting.Exported] = {}
    reasons: list[str] = []
    for one, fn in found:
        try:
            with working(f"flattening {one.function}"):
                each = exporting.export(one, fn)
        except (exporting.NotExported, FlattenError, TypeError) as error:
            reasons.append(f"{one.function}: {error}")
            continue
        if made.setdefault(each.name, each) is not each:
            reasons.append(f"{one.function}: the file has another function named {each.name}")
    text = exporting.file_text(list(made.values()), licence) if made else before
    if output is None:
        print_text(text)
    elif text != before:
        with _one_sentence():
            replace_file(output, text.encode("utf-8"))
        click.echo(f"{output}: {len(made)} function{'s' * (len(made) != 1)}")
    _end(reasons, "not exported: ")


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except ProjectError as error:
        raise BadSpec(str(error)) from error


def _end(lines: Sequence[str], before: str) -> None:
    for line in lines:
        click.echo(f"{before}{line}", err=True)
    raise SystemExit(1 if lines else 0)
