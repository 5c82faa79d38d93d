"""`pyflat doctor` says what decides about values here; `pyflat doctor SPEC DATA` compares a twin in each way.

Exit status: 0, or 1 where a twin differs from its original, fails, or is refused on every target.
"""

from __future__ import annotations

import json

import click

from pyflat.cli.explain import arguments
from pyflat.cli.output import working
from pyflat.cli.specs import BadSpec, find_function


@click.command()
@click.argument("spec", required=False)
@click.argument("data", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")
def doctor(spec: str | None, data: tuple[str, ...], as_json: bool) -> None:
    """Say what decides about values here: versions, processor, C library, ways, cache, options.

    With SPEC, and DATA as for `pyflat profile`, the twin of the function is compared with its original for these
    arguments, on each target and in each way that the call asks for; where they differ, what is printed is a report to
    send. The module of SPEC is imported, and the function is run. Exit status: 1 where a twin differs, fails or is
    refused on every target.
    """
    from pyflat.inspection import doctor as found

    sections = found.surroundings()
    if spec is None:
        click.echo(json.dumps(sections, indent=1) if as_json else found.as_text(sections))
        return
    import pyflat

    positional, named = arguments(data)
    twin = pyflat.twin(find_function(spec))
    with working(f"comparing {spec}"):
        try:
            findings = list(found.examine(twin, positional, named))
        except (TypeError, ValueError) as error:
            raise BadSpec(" ".join(str(error).split())) from error
    outcomes = {each.outcome for each in findings}
    wrong = bool(outcomes & {"differs", "fails"})
    report = found.report(twin, positional, named, findings) if wrong else ""
    if as_json:
        click.echo(json.dumps({**sections, "findings": found.as_dict(findings), "report": report}, indent=1))
    else:
        for each in findings:
            click.echo(f"{each.target:<8} {each.way or 'as decided':<24} {each.outcome}"
                       + (f": {each.text.splitlines()[0]}" if each.outcome != "agrees" else ""))
        if wrong:
            click.echo(f"\n{report}\n\n{found.as_text(sections)}")
    raise SystemExit(1 if wrong or outcomes == {"refused"} else 0)
