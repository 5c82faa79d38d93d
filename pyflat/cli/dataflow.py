"""`pyflat dataflow SPEC --args JSON`: a function as a dataflow graph, run token by token.

Exit status 0 when the run is right (results, one done token, nothing left), 1 when it is not or the program raises.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pyflat.cli.output import print_text, working
from pyflat.cli.specs import BadSpec, find_function

if TYPE_CHECKING:
    from pyflat.inspection.dataflow import Program
    from pyflat.targets.dataflow import Report

EXPORTS = ("mlir", "json", "dot", "svg", "html")


@click.command()
@click.argument("spec")
@click.option("--args", "arguments", metavar="JSON", default="[]", help="The arguments, as a JSON list: '[48, 18]'.")
@click.option("--trace", is_flag=True, help="Print every firing, then the control values of each loop.")
@click.option("--json", "as_json", is_flag=True, help="Print result, done, residual, deadlock, tokens, nodes as JSON.")
@click.option("--export", type=click.Choice(EXPORTS), help="Print the graph; html: with its run, step by step.")
@click.option("--figures", is_flag=True, help="Critical path, initiation intervals, cycles by queue capacity.")
@click.option("--order", type=int, metavar="SEED", help="Draw the firing order at random.")
@click.option("--capacity", type=click.IntRange(min=1), metavar="N", help="Capacity of every queue; default: no limit.")
@click.option("--clocked", is_flag=True, help="Fire every ready node once per cycle.")
@click.option("--max-firings", type=click.IntRange(min=1), default=2_000_000, metavar="N", help="Stop after N firings.")
@click.option("--literal", is_flag=True, help="Follow the specification even if tokens remain.")
def dataflow(
    spec: str,
    arguments: str,
    trace: bool,
    as_json: bool,
    export: str | None,
    figures: bool,
    order: int | None,
    capacity: int | None,
    clocked: bool,
    max_firings: int,
    literal: bool,
) -> None:
    """Run the function SPEC as a dataflow graph.

    SPEC is module:function, module:Class.method or path/to/file.py:function.
    The module is imported.
    """
    from pyflat.inspection.dataflow import lower

    fn = find_function(spec)
    try:
        program = lower(fn, _arguments(arguments), literal=literal)
    except (TypeError, ValueError) as error:
        raise BadSpec(" ".join(str(error).split())) from error
    if export is not None and export != "html":
        print_text(_exporter(export)(program.graph))
        return
    traced = trace or export == "html"
    simulation = program.simulation(seed=order, capacity=capacity, trace=traced, max_firings=max_firings)
    with working(f"running the graph of {spec}"):
        report = simulation.run_clocked() if clocked else simulation.run()
    if export == "html":
        from pyflat.targets.dataflow.draw import to_html

        print_text(to_html(simulation))
        return
    steps = [str(event) for event in simulation.events] if trace else []
    if as_json:
        print_text(json.dumps(as_data(program, report, steps if trace else None, figures), indent=2))
    else:
        print_text("\n".join([*steps, *_lines(program, report, trace, figures)]))
    if not report.clean:
        raise SystemExit(1)


def _arguments(text: str) -> list[Any]:
    """A JSON list, or a Python one."""
    try:
        found = json.loads(text)
    except ValueError:
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(f"--args {text!r} is not a JSON list") from None
    if not isinstance(found, list | tuple):
        raise ValueError(f"--args {text!r} is not a list")
    return list(found)


def _exporter(name: str) -> Callable[[Any], str]:
    from pyflat.targets.dataflow.draw import to_svg
    from pyflat.targets.dataflow.export import to_dot, to_json, to_mlir

    return {"mlir": to_mlir, "json": to_json, "dot": to_dot, "svg": to_svg}[name]


def as_data(program: Program, report: Report, steps: list[str] | None, figures: bool) -> dict[str, Any]:
    """What `--json` prints."""
    fault = report.fault
    found: dict[str, Any] = {
        "result": program.value(report) if report.deadlock is None and fault is None else None,
        "done": report.done,
        "residual": report.tokens_left,
        "deadlock": report.deadlock,
        "fault": None if fault is None else {"type": fault.type, "message": fault.message, "node": fault.node.name},
        "tokens": report.tokens(),
        "nodes": program.graph.count_kinds(),
        "loops": [{"name": name, **counts} for name, counts in loop_tokens(program, report).items()],
        "left": report.residual,
        "unrest": report.unrest,
        "problems": report.problems(),
        "firings": report.firings,
        "cycles": report.cycles,
    }
    if steps is not None:
        found["trace"] = report.values
        found["steps"] = steps
    if figures:
        measured = program.figures()
        found["figures"] = {
            "critical_path": measured.critical_path,
            "intervals": {loop.name: loop.interval for loop in measured.loops},
            "recurrences": {loop.name: loop.recurrence for loop in measured.loops},
            "cycles": {_capacity(capacity): cycles for capacity, cycles in measured.cycles.items()},
        }
    return found


def loop_tokens(program: Program, report: Report) -> dict[str, dict[str, int]]:
    """For each loop, outermost first: tokens of its raw control, of the control in its body, and of its exits."""
    def count(port: Any) -> int:
        return report.sent[port.node.name][port.node.outputs[port.number]]

    return {loop.name: {"raw": count(loop.raw), "body": count(loop.body), "exits": count(loop.exits)}
            for loop in program.graph.loops}


def _capacity(capacity: int | None) -> str:
    return "unbounded" if capacity is None else str(capacity)


def _lines(program: Program, report: Report, trace: bool, figures: bool) -> list[str]:
    from pyflat.targets.dataflow.simulate import token_text

    problems = report.problems()
    value = "" if report.deadlock or report.fault else f"{program.value(report)!r}"
    lines = [f"{program.graph.name}: {value}".rstrip(), f"done {report.done}, {report.tokens_left} tokens left"]
    lines += problems
    for name, counts in loop_tokens(program, report).items():
        lines.append(f"{name}: raw {counts['raw']}, body {counts['body']}, exits {counts['exits']}")
        loop = next(loop for loop in program.graph.loops if loop.name == name)
        if trace:
            lines.append(f"  raw  {' '.join(map(token_text, report.values[str(loop.raw)]))}")
            lines += [f"  {node.name}  {' '.join(map(token_text, report.values[str(node.out())]))}"
                      for node in program.graph.nodes if node.kind == "carry" and node.loop == name]
    lines.append("nodes: " + ", ".join(f"{count} {kind}" for kind, count in program.graph.count_kinds().items()))
    if report.cycles is not None:
        lines.append(f"cycles: {report.cycles}")
    return [*lines, *_figure_lines(program)] if figures else lines


def _figure_lines(program: Program) -> list[str]:
    measured = program.figures()
    lines = [f"critical path, {len(measured.critical_path)} nodes: {' -> '.join(measured.critical_path)}"]
    for loop in measured.loops:
        interval = "-" if loop.interval is None else str(loop.interval)
        lines.append(f"{loop.name}: an iteration every {interval} cycles, recurrence {loop.recurrence}")
    cycles = (f"{_capacity(capacity)} {count if count is not None else 'deadlock'}"
              for capacity, count in measured.cycles.items())
    return [*lines, "cycles by queue capacity: " + ", ".join(cycles)]
