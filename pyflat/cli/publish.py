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
from pyflat.cli.specs import BadSpec, find_function, find_module, literal
from pyflat.errors import FlattenError
from pyflat.inspection.publishing.project import Project, ProjectError, Wanted, project_at


@click.command()
@click.argument("specs", nargs=-1, metavar="[MODULE:FUNCTION]...")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The file to write; default: `export` in [tool.pyflat], for functions of the command line stdout.")
@click.option("--kinds", default="", metavar="f8,i8,b,c16", help="Kinds of the arguments of the functions given.")
@click.option("--static", multiple=True, metavar="NAME=VALUE", help="An argument that is fixed; may be repeated.")
@click.option("--frozen", is_flag=True, help="Lists, dicts and arrays that functions read do not change.")
@click.option("--check", is_flag=True, help="Write nothing; say what is out of date.")
@click.option("--force", is_flag=True, help="Overwrite a file that has been changed, or was not made by this command.")
def export(specs: tuple[str, ...], output: Path | None, kinds: str, static: tuple[str, ...], frozen: bool, check: bool,
           force: bool) -> None:
    """Write twins as NumPy text that needs no pyflat.

    Without MODULE:FUNCTION, and FILE, the table [tool.pyflat] of the nearest pyproject.toml says which functions are
    exported, and where to; MODULE alone means its public functions. Modules are imported, functions are not run. Exit
    status: 1 when a function cannot be exported (the others are), or with --check when something is out of date.
    """
    from pyflat.inspection.publishing.export import read

    try:
        project = project_at(Path()) or Project(Path())
    except ProjectError as error:
        raise BadSpec(str(error)) from error
    fixed = dict(_pair(text) for text in static)
    wanted = [Wanted(spec, kinds, fixed, frozen) for spec in specs] or list(project.functions)
    output = output or (None if specs else project.export)
    if not wanted:
        raise BadSpec("name functions as module:function, or list them in pyproject.toml: [tool.pyflat] functions = []")
    if output is None and (check or not specs):
        raise BadSpec("say which file: -o FILE, or in pyproject.toml: [tool.pyflat] export = \"mylib/_flat.py\"")
    found = [each for one in wanted for each in _functions(one)]
    before = output.read_text(encoding="utf-8") if output is not None and output.is_file() else None
    written = read(before) if before is not None else None
    if check:
        stale = [f"{one.spec} {why}" for one, _ in found if (why := written.stale(one) if written else "is not there")]
        gone = written.made.keys() - {str(one) for one, _ in found} if written else ()
        stale += [f"{name} is no longer asked for" for name in sorted(gone)]
        stale += [f"{output} has been changed by hand"] * bool(written and written.changed)
        _end(stale, f"{output} is out of date: ")
    if written is not None and written.changed and not force:
        raise BadSpec(f"{output} has been changed, or was not made by `pyflat export`; --force overwrites it")
    _write(found, output, before, project.licence)


def _write(found: Sequence[tuple[Wanted, Any]], output: Path | None, before: str | None, licence: str) -> None:
    from pyflat.inspection.publishing.export import NotExported, file_text
    from pyflat.inspection.publishing.export import export as exported

    made: dict[str, Any] = {}
    reasons: list[str] = []
    for one, fn in found:
        try:
            with working(f"flattening {one.spec}"):
                each = exported(one, fn)
        except (NotExported, FlattenError, TypeError) as error:
            reasons.append(f"{one.spec}: {error}")
            continue
        if made.setdefault(each.name, each) is not each:
            reasons.append(f"{one.spec}: there is another function with the name {each.name}")
    text = file_text(list(made.values()), licence) if made else ""
    if text and output is None:
        print_text(text)
    elif text and output is not None and text != before:
        replace_file(output, text)
        click.echo(f"{output}: {len(made)} function{'s' * (len(made) != 1)}")
    _end(reasons, "not exported: ")


def _end(lines: Sequence[str], before: str) -> None:
    for line in lines:
        click.echo(f"{before}{line}", err=True)
    raise SystemExit(1 if lines else 0)


def replace_file(path: Path, text: str) -> None:
    """The file with this text: at each moment the old one or the new one is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _functions(wanted: Wanted) -> Iterator[tuple[Wanted, Any]]:
    """The function, or the public functions of a module; with the values of static parameters."""
    module = find_module(wanted.spec)
    if module is None:
        found = {wanted.spec: find_function(wanted.spec)}
    else:
        own = {name: value for name, value in vars(module).items() if isinstance(value, FunctionType)}
        found = {f"{wanted.spec}:{name}": value for name, value in own.items()
                 if value.__module__ == module.__name__ and not name.startswith("_")}
    for spec, fn in found.items():
        yield replace(wanted, spec=spec), functools.partial(fn, **wanted.static) if wanted.static else fn


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadSpec(f"--static {text}: write NAME=VALUE")
    return name, literal(value)
