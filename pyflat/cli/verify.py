"""`pyflat verify SPEC` compares twins with their originals; `pyflat prove SPEC` proves that flattening changed nothing.

Exit status of verify: 0 when all that were compared agree, 1 when a twin differs or is refused, 4 when none could be
compared. Of prove: 0 proved, 1 counterexample or
refused, 4 outside the provable part.
"""

from __future__ import annotations

from typing import Any

import click

from pyflat.cli.output import working
from pyflat.cli.specs import BadSpec, find_function, find_module, literal
from pyflat.targets.target import having, verified

OUTSIDE = 4


@click.command()
@click.argument("spec")
@click.option("--kinds", metavar="f8,i8,b,c16,f8[:]",
              help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--target", type=click.Choice(having("verified")), multiple=True, help="Default: all of them.")
@click.option("--examples", type=click.IntRange(min=1), default=200, show_default=True, help="Batches of random lanes.")
@click.option("--ulps", type=click.IntRange(min=0), default=0, help="How far float results may differ; default 0.")
@click.option("--static", multiple=True, metavar="NAME=VALUE", help="An argument that is fixed; may be repeated.")
def verify(
    spec: str, kinds: str | None, target: tuple[str, ...], examples: int, ulps: int, static: tuple[str, ...]
) -> None:
    """Compare the twin of SPEC with its original over edge values and random lanes.

    SPEC is module:function, module:Class.method or path/to/file.py:function; a module alone means every function in it
    that is decorated with pyflat.flatten. The module is imported, and the function is run thousands of times. A kernel
    over arrays is compared on random arrays, all of whose axes have one length. Exit status: 0 when all agree, 1 when
    a twin differs or is refused, 4 when none could be compared.
    """
    from pyflat.testing.flattened import NotVerifiableError, verify_flattened

    targets = target or verified()
    options: dict[str, Any] = {"target": targets, "examples": examples, "ulps": ulps}
    if kinds:
        options["kinds"] = kinds
    if static:
        options["static"] = _static(static)
    failed, compared = False, 0
    for name, fn in _functions(spec):
        try:
            with working(f"comparing {name}"):
                verify_flattened(name, fn, options)
        except NotVerifiableError as reason:
            click.echo(f"{name}: skipped: {reason}")
        except (TypeError, ValueError) as error:
            raise BadSpec(" ".join(str(error).split())) from error
        except AssertionError as difference:
            click.echo(f"{name}: {difference}")
            failed = True
        else:
            click.echo(f"{name}: agrees with its original on {' and '.join(targets)}")
            compared += 1
    raise SystemExit(1 if failed else 0 if compared else OUTSIDE)


@click.command()
@click.argument("spec")
@click.option("--kinds", metavar="f8,i8,b,c16", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--seconds", type=click.FloatRange(min=0.001), default=20.0, show_default=True, help="Time of a proof.")
@click.option("--static", multiple=True, metavar="NAME=VALUE", help="An argument that is fixed; may be repeated.")
def prove(spec: str, kinds: str | None, seconds: float, static: tuple[str, ...]) -> None:
    """Prove by z3 that the flat form of SPEC has, in each lane, the value of its path.

    SPEC is module:function, module:Class.method or path/to/file.py:function. The module is imported;
    the function is not run.
    """
    import functools

    from pyflat.inspection.prove import prove as proof

    fn = find_function(spec)
    if static:
        fn = functools.partial(fn, **_static(static))
    try:
        with working(f"proving {spec}, at most {seconds:g} s"):
            answer = proof(fn, kinds=kinds, seconds=seconds)
    except (TypeError, ValueError, ImportError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    click.echo(str(answer))
    raise SystemExit({"proved": 0, "counterexample": 1}.get(answer.verdict, OUTSIDE))


def _functions(spec: str) -> list[tuple[str, Any]]:
    """The function of SPEC, or all flattened functions where SPEC is a module."""
    from pyflat.testing.flattened import flattened_functions

    module = find_module(spec)
    if module is None:
        fn = find_function(spec)
        return [(getattr(fn, "__qualname__", spec), fn)]
    found = list(flattened_functions(module))
    if not found:
        raise BadSpec(f"{spec} has no function that is decorated with pyflat.flatten")
    return list(found)


def _static(pairs: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise BadSpec(f"--static {pair}: write NAME=VALUE")
        found[name] = literal(text)
    return found
