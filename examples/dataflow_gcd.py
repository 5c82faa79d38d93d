"""A loop as a dataflow graph: the nodes of gcd, one run token by token, and the same run in other orders.

    python examples/dataflow_gcd.py
    pyflat dataflow examples/dataflow_gcd.py:gcd --args '[48, 18]' --trace
"""

from __future__ import annotations

from pyflat.inspection import dataflow
from pyflat.targets.dataflow.simulate import token_text


def gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def triangle(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(i):
            total += i * j
    return total


def increment_evens(n: int) -> int:
    s = 0
    for i in range(n):
        if i % 2 == 0:
            s += i
    return s


def show_tokens(program: dataflow.Program) -> None:
    """What each loop's control, its carried values and its exits were, token by token."""
    report = program.run(trace=True)
    print(f"{program.graph.name}{program.leaves} = {program.value(report)}, {report.done} done token, "
          f"{report.tokens_left} tokens left, {report.firings} firings")
    for loop in program.graph.loops:
        print(f"  {loop.name}: raw {' '.join(map(token_text, report.values[str(loop.raw)]))}, "
              f"body control {len(report.values[str(loop.body)])}, exits {len(report.values[str(loop.exits)])}")
        for node in program.graph.nodes:
            if node.kind == "carry" and node.loop == loop.name:
                print(f"    {node.name}: {' '.join(map(token_text, report.values[str(node.out())]))}")


def main() -> None:
    program = dataflow.lower(gcd, [48, 18])
    show_tokens(program)
    show_tokens(dataflow.lower(gcd, [7, 0]))
    show_tokens(dataflow.lower(triangle, [4]))
    orders = {tuple(program.run(seed=seed).results) for seed in range(100)}
    print(f"results of gcd(48, 18) in 100 firing orders: {orders}")
    print()
    for literal in (False, True):
        told = dataflow.lower(increment_evens, [5], literal=literal)
        report = told.run()
        print(f"{'the rules as written' if literal else 'the corrected rules'}: {told.value(report)}")
        for problem in report.problems():
            print(f"  {problem}")
    print()
    figures = program.figures()
    print("nodes of gcd:", ", ".join(f"{count} {kind}" for kind, count in figures.nodes.items()))
    print("an iteration every", figures.loops[0].interval, "cycles;", figures.cycles[None], "cycles in all")


if __name__ == "__main__":
    main()
