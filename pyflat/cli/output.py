"""What commands print: plain text in a pipe or a file, coloured on a terminal."""

from __future__ import annotations

import contextlib
import difflib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from rich.console import Console


PATIENCE = 2.0
"""Seconds that a command may take without a word."""


def _terminal() -> Console | None:
    """A rich console when stdout is a terminal, None when the text goes to a pipe or a file."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(file=sys.stdout, soft_wrap=True)


def print_text(text: str) -> None:
    """The text as it is: bytes in a pipe, whatever the locale; coloured on a terminal."""
    text = text if text.endswith("\n") else text + "\n"
    console = _terminal()
    if console is None:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        return
    from rich.syntax import Syntax

    console.print(Syntax("", "python", theme="ansi_dark").highlight(text), end="")


def print_diff(original: str, twin: str, names: tuple[str, str]) -> None:
    console = _terminal()
    if console is None:
        lines = difflib.unified_diff(
            original.splitlines(), twin.splitlines(), names[0], names[1], n=max(len(original), len(twin)), lineterm=""
        )
        print_text("\n".join(lines))
        return
    from rich.syntax import Syntax
    from rich.table import Table

    table = Table(expand=True, show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(name, ratio=1, overflow="fold")
    table.add_row(*(Syntax(text, "python", theme="ansi_dark", word_wrap=True) for text in (original, twin)))
    console.print(table)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """That work goes on, on stderr when that is a terminal, from `PATIENCE` seconds on."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(what)
    late = threading.Timer(PATIENCE, status.start)
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        status.stop()


def die(message: str, status: int) -> NoReturn:
    click.echo(message, err=True)
    raise SystemExit(status)
