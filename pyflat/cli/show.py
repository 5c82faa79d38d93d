"""`pyflat show SPEC`: the text of a twin, or of one of its stages."""

from __future__ import annotations

from typing import Any

import click

import pyflat
from pyflat.cli.output import print_diff, print_text, working
from pyflat.cli.specs import BadSpec, bound, find_function
from pyflat.inspection.listing import STAGES, Stage
from pyflat.targets.target import ShownName, having


@click.command()
@click.argument("spec")
@click.option("--stage", type=click.Choice(STAGES), help="What is before the twin, or its test for faults.")
@click.option("--target", type=click.Choice(having("shows")), help="Runnable text, the graph, or a shader.")
@click.option("--diff", is_flag=True, help="The original beside the twin (a unified diff in a pipe).")
@click.option("--faults", is_flag=True, help="Beside the twin its test: in which lanes the original may raise.")
@click.option("--kinds", metavar="f8,i8,b,c16", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--static", multiple=True, metavar="NAME[=VALUE]",
              help="A parameter that is no lane, but known (static); may be repeated.")
@click.option("--loops", type=click.Choice(["auto", "unroll", "masked"]), help="What becomes of loops.")
@click.option("--max-unroll", type=click.IntRange(min=1), metavar="N", help="Limit of iterations over a loop nest.")
@click.option("--max-trips", type=click.IntRange(min=1), metavar="N", help="Bound of loops that stay loops.")
@click.option("--errors", type=click.Choice(["raise", "mask", "nan", "unchecked"]), help="What a failing lane gives.")
@click.option("--math", type=click.Choice(["exact", "fast"]), help="CPython's bits, or within some ulp.")
@click.option("--dtype", type=click.Choice(["float64", "float32", "input"]), help="The width of float lanes.")
@click.option("--fast-math", is_flag=True, default=None, help="Allow rewrites that change the last digits.")
@click.option("--parallel", is_flag=True, default=None, help="Use more than one thread.")
@click.option("--cache/--no-cache", default=None, help="Keep compiled twins.")
@click.option("--whitelist", multiple=True, metavar="NAME", help="A call to keep; may be repeated.")
def show(
    spec: str,
    stage: Stage | None,
    target: ShownName | None,
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
        with working(f"flattening {spec}"):
            twin = pyflat.twin(bound(fn, given), **given)
            text = str(twin.show(stage=stage, target=target, kinds=kinds, faults=faults))
            original = str(twin.show(stage="captured", kinds=kinds)) if diff else ""
    except (TypeError, ValueError) as error:  # an option or a kind that does not fit the function
        raise BadSpec(" ".join(str(error).split())) from error
    if diff:
        print_diff(original, text, (getattr(fn, "__name__", spec), twin.__name__))
    else:
        print_text(text)
