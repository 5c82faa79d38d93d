"""`pyflat export`: twins as a file of NumPy text."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import click

from pyflat.cli.output import print_text, working
from pyflat.cli.specs import BadSpec, find_function, find_module
from pyflat.errors import FlattenError
from pyflat.inspection.publishing.project import ProjectError, Shipped, project_at


@click.command()
@click.argument("functions", nargs=-1, metavar="[MODULE:FUNCTION]...")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The file to write; default: `export` in [tool.pyflat], for functions of the command line stdout.")
@click.option("--kinds", default="", metavar="f8,i8,b,c16", help="Kinds of the arguments of the functions given.")
@click.option("--check", is_flag=True, help="Write nothing; say what is out of date.")
@click.option("--force", is_flag=True, help="Overwrite a file that has been changed, or was not made by this command.")
def export(functions: tuple[str, ...], output: Path | None, kinds: str, check: bool, force: bool) -> None:
    """Write twins as NumPy text that needs no pyflat.

    Without MODULE:FUNCTION, and FILE, the table [tool.pyflat] of the nearest pyproject.toml says which functions are
    exported, and where to; MODULE alone means its public functions. Modules are imported, functions are not run. Exit
    status: 1 when a function cannot be exported (the others are), or with --check when something is out of date.
    """
    from pyflat.inspection.publishing.export import read

    try:
        project = project_at(Path())
    except ProjectError as error:
        raise BadSpec(str(error)) from error
    asked = [Shipped(each, kinds) for each in functions] or project.functions
    output = output or (None if functions else project.export)
    if not asked:
        raise BadSpec('name functions, or list them in pyproject.toml: [tool.pyflat] functions = ["module:function"]')
    if output is None and (check or not functions):
        raise BadSpec('say which file: -o FILE, or in pyproject.toml: [tool.pyflat] export = "mylib/_flat.py"')
    found = [each for one in asked for each in _functions(one)]
    before = output.read_text(encoding="utf-8") if output is not None and output.is_file() else ""
    written = read(before)
    if check:
        stale = [f"{one.function} {why}" for one, _ in found if (why := written.stale(one))]
        gone = sorted(written.made.keys() - {str(one) for one, _ in found})
        stale += [f"{name} is no longer asked for" for name in gone]
        _end(stale + ["it has been changed by hand"] * bool(before and written.changed), f"{output} is out of date: ")
    if before and written.changed and not force:
        raise BadSpec(f"{output} has been changed, or was not made by `pyflat export`; --force overwrites it")
    _write(found, output, before, project.licence)


def _functions(wanted: Shipped) -> Iterator[tuple[Shipped, Any]]:
    """The function, or the public functions of a module; with the values of static parameters."""
    module = find_module(wanted.function)
    if module is None:
        found = {wanted.function: find_function(wanted.function)}
    else:
        found = {f"{wanted.function}:{name}": value for name, value in vars(module).items() if name[0] != "_"
                 and isinstance(value, FunctionType) and value.__module__ == module.__name__}
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
            reasons.append(f"{one.function}: the file has another function that is called {each.name}")
    text = exporting.file_text(list(made.values()), licence) if made else before
    if output is None:
        print_text(text)
    elif text != before:
        _replace(output, text)
        click.echo(f"{output}: {len(made)} function{'s' * (len(made) != 1)}")
    _end(reasons, "not exported: ")


def _end(lines: Sequence[str], before: str) -> None:
    for line in lines:
        click.echo(f"{before}{line}", err=True)
    raise SystemExit(1 if lines else 0)


def _replace(path: Path, text: str) -> None:
    """The file with this text: at each moment the old one or the new one is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with open(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    os.replace(name, path)
