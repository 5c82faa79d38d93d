"""`pyflat graph SPEC`: a function as the pure dataflow graph that a backend gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pyflat.cli.output import print_text, working
from pyflat.cli.specs import BadSpec, find_function

if TYPE_CHECKING:
    from pyflat.backend import FlatFunction

FORMATS = ("text", "counts", "json", "dot", "svg")
STEPS = ("flatten", "fold", "optimize", "fuse")


@click.command()
@click.argument("spec")
@click.option("--format", "shape", type=click.Choice(FORMATS), default="text", help="text: the nodes, one a line.")
@click.option("--steps", type=click.Choice(STEPS), default="fuse", help="The last step; default: all of them.")
@click.option("--fast-math", is_flag=True, help="Allow rewrites that change the last digits.")
@click.option("--kinds", metavar="f8,i8,b", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--whitelist", multiple=True, metavar="NAME", help="A call to keep; may be repeated.")
@click.option("--strict-fold", is_flag=True, help="Refuse what folding should have taken and did not.")
def graph(
    spec: str, shape: str, steps: str, fast_math: bool, kinds: str | None, whitelist: tuple[str, ...], strict_fold: bool
) -> None:
    """Print the graph of the function SPEC: no calls, no branches, no loops.

    SPEC is module:function, module:Class.method or path/to/file.py:function. The module is imported;
    the function is not run.
    """
    from pyflat import backend
    fn = find_function(spec)
    try:
        with working(f"flattening {spec}"):
            flat = backend.flatten_function(fn, whitelist, kinds=kinds, strict_fold=strict_fold)
    except (TypeError, ValueError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    last = STEPS.index(steps)
    if last >= 1:
        flat = backend.flatten_fold(flat)
    if last >= 2:
        flat = backend.flatten_optimize(flat, fast_math=fast_math)
    if last >= 3:
        flat = backend.flatten_fuse(flat, fast_math=fast_math)
    found = backend.graph(flat)
    match shape:
        case "counts":
            lines = [f"{count:6} {opcode}" for opcode, count in found.counts.items()]
            print_text("\n".join([*lines, f"{flat.size:6} in all"]))
        case "json":
            print_text(found.to_json())
        case "dot":
            print_text(found.to_dot())
        case "svg":
            try:
                print_text(found.to_svg())
            except RuntimeError as error:
                raise BadSpec(str(error)) from error
        case _:
            print_text("\n".join([*(repr(node)[1:-1] for node in flat.nodes), *_results(flat)]))


def _results(flat: FlatFunction) -> Iterator[str]:
    for name, node in zip(flat.result_names, flat.results, strict=True):
        yield f"result {name} = %{node.index}" if name else f"result = %{node.index}"
