"""The command line: the group of all commands, and what ends the process.

Exit status: 0, 1 for a refused function (its message on stderr), 2 for a name or option that is wrong (one line
on stderr), 3 for a bug of pyflat.
"""

from __future__ import annotations

import os

import click

from pyflat.cli.bench import bench
from pyflat.cli.codes import codes
from pyflat.cli.dataflow import dataflow
from pyflat.cli.doctor import doctor
from pyflat.cli.explain import explain, profile, report
from pyflat.cli.graph import graph
from pyflat.cli.output import die
from pyflat.cli.show import show
from pyflat.cli.specs import one_line
from pyflat.cli.stubs import stubs
from pyflat.cli.survey import survey
from pyflat.cli.verify import prove, verify
from pyflat.errors import FlattenError

BUG = 3


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pyflat", prog_name="pyflat", message="%(prog)s %(version)s")
def commands() -> None:
    """Flatten branchy scalar functions into branch-free twins that run over whole arrays."""


for _command in (show, codes, dataflow, graph, verify, prove, survey, explain, profile, report, bench, stubs, doctor):
    commands.add_command(_command)


def main() -> None:
    """The entry point of the `pyflat` command; ends the process."""
    try:
        commands(prog_name="pyflat")
    except FlattenError as refusal:
        die(str(refusal), 1)
    except Exception as error:
        if os.environ.get("PYFLAT_TRACEBACK"):
            raise
        die(f"pyflat: internal error: {one_line(error)} (PYFLAT_TRACEBACK=1 shows where)", BUG)
