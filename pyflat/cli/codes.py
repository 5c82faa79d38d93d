"""`pyflat codes`: the codes of refusals, and what each means."""

from __future__ import annotations

import difflib

import click

from pyflat.cli.output import print_text
from pyflat.cli.specs import BadSpec
from pyflat.errors import CODES


@click.command()
@click.argument("code", required=False)
def codes(code: str | None) -> None:
    """List the codes of refusals, or explain one."""
    if code is None:
        print_text("\n".join(f"{name:32} {row.title}" for name, row in CODES.items()))
        return
    name = code if "/" in code else f"flatten/{code}"
    if name not in CODES:
        near = difflib.get_close_matches(name, CODES, n=1)
        raise BadSpec(f"no code {code!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    row = CODES[name]
    print_text(f"{name}: {row.title}\n  why:  {row.why}\n  help: {row.help}")
