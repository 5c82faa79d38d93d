"""`pyflat explain SPEC` says what a twin costs and why, `pyflat profile SPEC DATA...` where the lanes of arrays go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyflat.cli.output import working
from pyflat.cli.specs import BadSpec, bound, find_function, literal
from pyflat.targets.target import having

if TYPE_CHECKING:
    from pyflat.inspection.profile import LoopRow, Profile
    from pyflat.runtime.twins import Twin

_TARGETS = click.Choice(having("explain"))
_STATIC_HELP = "A parameter with one fixed value (static); may be repeated."


def _twin(spec: str, static: tuple[str, ...], options: dict[str, Any]) -> Twin[..., Any]:
    import pyflat
    given = {name: value for name, value in options.items() if value is not None}
    if static:
        given["static"] = static
    return pyflat.twin(bound(find_function(spec), given), **given)


@click.command()
@click.argument("spec")
@click.option("--target", type=_TARGETS, help="The engine; default: the decorator's, or numpy.")
@click.option("--math", type=click.Choice(["exact", "fast"]), help="CPython's bits, or a few ulp off.")
@click.option("--dtype", type=click.Choice(["float64", "float32", "input"]), help="The precision of floats.")
@click.option("--kinds", metavar="f8,i8,b", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--static", multiple=True, metavar="NAME[=VALUE]", help=_STATIC_HELP)
@click.option("--loops", type=click.Choice(["auto", "unroll", "masked"]), help="How to translate loops.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")
def explain(spec: str, kinds: str | None, static: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Report what the twin of SPEC costs, and why.

    SPEC is module:function, module:Class.method or path/to/file.py:function. The module is imported;
    the function is not run.
    """
    try:
        with working(f"flattening {spec}"):
            found = _twin(spec, static, options).explain(kinds)
    except (TypeError, ValueError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    click.echo(json.dumps(found.as_dict(), indent=1) if as_json else str(found))


@click.command()
@click.argument("spec")
@click.argument("data", nargs=-1)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The page to write; default: NAME-report.html.")
@click.option("--target", type=_TARGETS, help="The engine; default: the decorator's, or numpy.")
@click.option("--kinds", metavar="f8,i8,b", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--static", multiple=True, metavar="NAME[=VALUE]", help=_STATIC_HELP)
def report(
    spec: str, data: tuple[str, ...], output: Path | None, target: str | None, kinds: str | None,
    static: tuple[str, ...],
) -> None:
    """Write a page that shows SPEC next to its twin.

    Each line is linked with its translation. DATA are arguments as for `pyflat profile`; with them, the page reports
    how many elements take each branch. A refused function has a page too, and the exit status is 1. The module of SPEC
    is imported; the function is not run.
    """
    positional, named = arguments(data)
    try:
        with working(f"the report of {spec}"):
            twin = _twin(spec, static, {"target": target})
            profiled = twin.profile(*positional, **named) if data else None
            found = twin.report(kinds, profile=profiled)
            output = output or Path(f"{found.name.removesuffix('_flat')}-report.html")
            found.save(output)
    except (TypeError, ValueError, ImportError, OSError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    click.echo(f"{output}: {found.name}, {found.title}")
    if found.refused:
        raise SystemExit(1)


@click.command()
@click.argument("spec")
@click.argument("data", nargs=-1)
@click.option("--static", multiple=True, metavar="NAME[=VALUE]", help=_STATIC_HELP)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Also draw it (needs matplotlib).")
def profile(spec: str, data: tuple[str, ...], static: tuple[str, ...], as_json: bool, plot: str | None) -> None:
    """Count the branches and loop iterations that DATA takes in SPEC.

    DATA are its arguments: file.npy, file.npz:name, file.csv:column, or a Python literal; NAME=DATA passes one by name.
    The module of SPEC is imported; the function is not run.
    """
    positional, named = arguments(data)
    try:
        with working(f"counting the lanes of {spec}"):
            found = _twin(spec, static, {}).profile(*positional, **named)
        if plot is not None:
            found.plot().savefig(plot)
    except (TypeError, ValueError, ImportError, OSError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=1))
    elif sys.stdout.isatty():
        _rich(found)
    else:
        click.echo(str(found))


def arguments(data: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """What DATA are, by position and by name."""
    positional = [_argument(item) for item in data if not _named(item)]
    named = {name: _argument(item) for name, _, item in (text.partition("=") for text in data if _named(text))}
    return positional, named


def _named(text: str) -> bool:
    return text.partition("=")[0].isidentifier() and "=" in text


def _argument(text: str) -> Any:
    """The array or number that DATA names. Arrays of objects are not loaded: that would run code of the file."""
    import numpy as np

    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith((".npz", ".csv")):
        path, name = text, ""
    if path.endswith(".csv"):
        return _column(path, name)
    if not path.endswith((".npy", ".npz")):
        return literal(text)
    try:
        found = np.load(Path(path), allow_pickle=False)
        if path.endswith(".npy"):
            return found
        with found:
            if name not in found:
                raise BadSpec(f"{path} has the arrays {', '.join(found.files)}: write {path}:NAME")
            return found[name]
    except (OSError, ValueError) as error:
        raise BadSpec(f"{path}: {' '.join(str(error).split())}") from error


def _column(path: str, name: str) -> Any:
    """A column of a table with a line of names: of ints where all are, else of floats."""
    import csv

    import numpy as np

    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if name not in (rows.fieldnames or ()):
                raise BadSpec(f"{path} has the columns {', '.join(rows.fieldnames or ())}: write {path}:COLUMN")
            words = [row[name] for row in rows]
    except (OSError, ValueError) as error:
        raise BadSpec(f"{path}: {' '.join(str(error).split())}") from error
    for kind in (int, float):
        try:
            return np.array([kind(word or "nan") for word in words])
        except (ValueError, OverflowError):
            continue
    raise BadSpec(f"{path}: the column {name} has something that is not a number")


# --- on a terminal


def _rich(found: Profile) -> None:
    from rich.console import Console
    from rich.table import Table

    from pyflat.inspection.profile import bar, headline

    console = Console(file=sys.stdout)
    console.print(headline(found), style="bold", highlight=False)
    table = Table(box=None, pad_edge=False)
    for name in ("line", "then", "else", "share of then", "mixed", "condition"):
        table.add_column(name, justify="right" if name in ("line", "then", "else", "mixed") else "left", no_wrap=True)
    for row in found.branches:
        table.add_row(
            str(row.place.line) if row.place else "?", f"{row.then:,}", f"{row.orelse:,}",
            f"[cyan]{bar(row.share)}[/] {row.share:.0%}", f"{row.mixed:.0%}", row.shown.replace("[", "\\["),
            style="yellow" if row.dead else "")
    console.print(table)
    for loop in found.loops:
        _rich_loop(console, loop)


def _rich_loop(console: Any, loop: LoopRow) -> None:
    from rich.table import Table

    from pyflat.inspection.profile import bar

    console.print()
    line = loop.place.line if loop.place else "?"
    text = (f"line {line}: {loop.shown}; iterations {loop.least:,} to {loop.most:,}, median {loop.median:,g}; "
            f"{loop.used:.0%} of a SIMD group's iterations are used")
    console.print(text, highlight=False, markup=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    for trips, lanes in loop.histogram:
        table.add_row(trips, f"{lanes:,}", f"[green]{bar(lanes / max(loop.entries, 1))}[/]")
    console.print(table)
