"""The command line: the group of all commands, the short ones, and what ends the process.

Exit status: 0, 1 for a refused function or a missing library (the message on stderr), 2 for a wrong name or option
(one line on stderr), 3 for a bug in pyflat.

    codes        the error codes, and what each means
    export       twins as a file of NumPy text that needs no pyflat; 1 when a function is left out, or is out of date
    build        the same as an extension module of NumPy ufuncs, compiled
    stubs        stub files, in which type checkers see the types of calls with arrays
    doctor       what decides about values here; with SPEC DATA a comparison of a twin in each way, with exit status 1
                 where it differs from its original, fails, or is refused on every target
    show         the text of a twin, or of one of its stages
    graph        a function as the pure dataflow graph that a backend gets
    verify       compares twins with their originals: 0 when all that were compared agree, 1 when a twin differs or is
                 refused, 4 when none could be compared
    prove        proves that flattening changed nothing: 0 proved, 1 counterexample or refused, 4 outside the provable
                 part
"""

from __future__ import annotations

import difflib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

import pyflat
from pyflat.cli.bench import bench
from pyflat.cli.dataflow import dataflow
from pyflat.cli.explain import arguments, explain, profile, report
from pyflat.cli.output import die, print_diff, print_text, working
from pyflat.cli.publish import build, export
from pyflat.cli.specs import BadSpec, bound, find_function, find_module, literal, one_line
from pyflat.cli.survey import survey
from pyflat.errors import CODES, FlattenError
from pyflat.inspection.listing import STAGES, Stage
from pyflat.targets.target import MissingLibraryError, ShownName, having, verified

if TYPE_CHECKING:
    from pyflat.backend import FlatFunction


OUTSIDE = 4


@click.command()
@click.argument("spec")
@click.option("--kinds", metavar="f8,i8,b,c16,f8[:]",
              help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--target", type=click.Choice(having("verified")), multiple=True, help="The engine; default: all.")
@click.option("--examples", type=click.IntRange(min=1), default=200, show_default=True, help="Random batches to try.")
@click.option("--ulps", type=click.IntRange(min=0), default=0, help="Allowed difference of floats; default 0.")
@click.option("--static", multiple=True, metavar="NAME=VALUE", help="A fixed argument; may be repeated.")
def verify(
    spec: str, kinds: str | None, target: tuple[str, ...], examples: int, ulps: int, static: tuple[str, ...]
) -> None:
    """Compare the twin of SPEC with its original on many values.

    They are edge values and random values. SPEC is module:function, module:Class.method or path/to/file.py:function; a
    module alone means every function in it that is decorated with pyflat.flatten. The module is imported, and the
    function runs thousands of times. A kernel over arrays is compared on random arrays whose axes all have the same
    length. Exit status: 0 if all agree, 1 if a twin differs or is refused, 4 if none could be compared.
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
        started = time.perf_counter()
        try:
            with working(f"comparing {name}"):
                values = verify_flattened(name, fn, options)
        except NotVerifiableError as reason:
            click.echo(f"{name}: skipped: {reason}")
        except (TypeError, ValueError) as error:
            raise BadSpec(" ".join(str(error).split())) from error
        except AssertionError as difference:
            click.echo(f"{name}: {difference}")
            failed = True
        else:
            left_out = getattr(values, "left_out", 0)
            left = f" ({left_out:,} skipped, where the original runs too long)" if left_out else ""
            click.echo(f"{name}: agrees with its original on {' and '.join(targets)}: {values:,} values compared{left} "
                       f"in {time.perf_counter() - started:.1f} s")
            compared += 1
    raise SystemExit(1 if failed else 0 if compared else OUTSIDE)


@click.command()
@click.argument("spec")
@click.option("--kinds", metavar="f8,i8,b,c16", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--seconds", type=click.FloatRange(min=0.001), default=20.0, show_default=True, help="Time limit.")
@click.option("--static", multiple=True, metavar="NAME=VALUE", help="A fixed argument; may be repeated.")
def prove(spec: str, kinds: str | None, seconds: float, static: tuple[str, ...]) -> None:
    """Prove with z3 that flattening changes no result of SPEC.

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


FORMATS = ("text", "counts", "json", "dot", "svg")
STEPS = ("flatten", "fold", "optimize", "fuse")


@click.command()
@click.argument("spec")
@click.option("--format", "shape", type=click.Choice(FORMATS), default="text", help="text: one node per line.")
@click.option("--steps", type=click.Choice(STEPS), default="fuse", help="The last step; default: all of them.")
@click.option("--fast-math", is_flag=True, help="Allow rewrites that change the last digits.")
@click.option("--kinds", metavar="f8,i8,b", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--whitelist", multiple=True, metavar="NAME", help="A call to keep as it is; may be repeated.")
@click.option("--strict-fold", is_flag=True, help="Fail if folding leaves an operation that it should remove.")
def graph(
    spec: str, shape: str, steps: str, fast_math: bool, kinds: str | None, whitelist: tuple[str, ...], strict_fold: bool
) -> None:
    """Print SPEC as a graph without calls, branches or loops.

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


@click.command()
@click.argument("spec")
@click.option("--stage", type=click.Choice(STAGES), help="An earlier stage, or the test for failing elements.")
@click.option("--target", type=click.Choice(having("shows")), help="Print runnable text, the graph, or a shader.")
@click.option("--diff", is_flag=True, help="Original and twin side by side (a unified diff in a pipe).")
@click.option("--faults", is_flag=True, help="Also print the test for elements where the original may raise.")
@click.option("--kinds", metavar="f8,i8,b,c16", help="Kinds of the arguments; default: annotations, defaults, float.")
@click.option("--static", multiple=True, metavar="NAME[=VALUE]",
              help="A parameter with one fixed value (static); may be repeated.")
@click.option("--loops", type=click.Choice(["auto", "unroll", "masked"]), help="How to translate loops.")
@click.option("--max-unroll", type=click.IntRange(min=1), metavar="N", help="Most iterations to unroll a loop nest to.")
@click.option("--max-trips", type=click.IntRange(min=1), metavar="N", help="Iteration limit of loops that remain.")
@click.option("--errors", type=click.Choice(["raise", "mask", "nan", "unchecked"]), help="How to report errors.")
@click.option("--math", type=click.Choice(["exact", "fast"]), help="CPython's bits, or a few ulp off.")
@click.option("--dtype", type=click.Choice(["float64", "float32", "input"]), help="The precision of floats.")
@click.option("--fast-math", is_flag=True, default=None, help="Allow rewrites that change the last digits.")
@click.option("--parallel", is_flag=True, default=None, help="Use more than one thread.")
@click.option("--cache/--no-cache", default=None, help="Reuse compiled twins.")
@click.option("--whitelist", multiple=True, metavar="NAME", help="A call to keep as it is; may be repeated.")
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
        raise click.UsageError("--diff compares the original with the twin; omit --stage")
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


@click.command()
@click.argument("spec", required=False)
@click.argument("data", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")
def doctor(spec: str | None, data: tuple[str, ...], as_json: bool) -> None:
    """Report what affects results on this machine.

    These are versions, processor, C library, ways, cache and options. With SPEC and DATA (as for `pyflat profile`), the
    twin is compared with its original on these arguments, for each target and each way that the call can take. If they
    differ, the output is a bug report to send. The module of SPEC is imported, and the function runs. Exit status: 1 if
    a twin differs, fails, or is refused on every target.
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


@click.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write DIR/package/module.pyi; default: stdout.")
def stubs(modules: tuple[str, ...], output: Path | None) -> None:
    """Write stub files (.pyi) that type the twins of each MODULE.

    Their types are those of calls with numbers and with arrays. MODULE is a module's name or path/to/file.py. It is
    imported; its functions are not run. If DIR is the source folder, type checkers find the stubs next to their
    modules; otherwise add DIR to MYPYPATH.
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


@click.command()
@click.argument("code", required=False)
def codes(code: str | None) -> None:
    """List the error codes, or explain one."""
    if code is None:
        print_text("\n".join(f"{name:32} {row.title}" for name, row in CODES.items()))
        return
    name = code if "/" in code else f"flatten/{code}"
    if name not in CODES:
        near = difflib.get_close_matches(name, CODES, n=1)
        raise BadSpec(f"no code {code!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    row = CODES[name]
    print_text(f"{name}: {row.title}\n  why:  {row.why}\n  help: {row.help}")


BUG = 3


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pyflat", prog_name="pyflat", message="%(prog)s %(version)s")
def commands() -> None:
    """Flatten branchy scalar functions into branch-free twins that run over whole arrays."""


for _command in (show, codes, dataflow, graph, verify, prove, survey, explain, profile, report, bench, stubs, doctor,
                 export, build):
    commands.add_command(_command)


def main() -> None:
    """The entry point of the `pyflat` command; ends the process."""
    try:
        commands(prog_name="pyflat")
    except FlattenError as refusal:
        die(str(refusal), 1)
    except MissingLibraryError as missing:
        die(str(missing), 1)
    except Exception as error:
        if os.environ.get("PYFLAT_TRACEBACK"):
            raise
        die(f"pyflat: internal error: {one_line(error)} (PYFLAT_TRACEBACK=1 shows where)", BUG)
