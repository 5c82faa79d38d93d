"""`pyflat stubs MODULE`: stub files, in which type checkers see the types of calls with arrays."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import click

from pyflat.cli.output import print_text
from pyflat.cli.specs import BadSpec, find_module


@click.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write DIR/package/module.pyi; without it, the text goes to stdout.")
def stubs(modules: tuple[str, ...], output: Path | None) -> None:
    """Write stub files (.pyi) in which the twins of each MODULE are typed for arrays too.

    MODULE is a module's name or path/to/file.py. It is imported; its functions are not run. With the source folder as
    DIR the stubs lie beside their modules, where type checkers find them; another folder goes into MYPYPATH.
    """
    from pyflat.inspection.stubs import stub

    for spec in modules:
        module = find_module(spec)
        if module is None:
            raise BadSpec(f"{spec!r} is not a module")
        try:
            text = stub(module)
        except ValueError as error:
            raise BadSpec(str(error)) from error
        if output is None:
            print_text(text)
        else:
            _write(output / _place(module), text)


def _place(module: ModuleType) -> Path:
    path = Path(*module.__name__.split("."))
    return path / "__init__.pyi" if hasattr(module, "__path__") else path.with_suffix(".pyi")


def _write(path: Path, text: str) -> None:
    """Over a stub made before, and over no other file."""
    from pyflat.inspection.stubs import HEADER

    if path.exists() and not path.read_text(encoding="utf-8").startswith(HEADER):
        raise BadSpec(f"{path} exists and was not made by `pyflat stubs`")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(str(path))
