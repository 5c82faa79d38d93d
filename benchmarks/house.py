"""How the code is laid out, in figures: `python -m benchmarks.house`. tests/benchmarks/test_house.py holds the limits.

Imports inside functions and for type checkers count.
"""

from __future__ import annotations

import ast
import collections
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

import grimp

from tests.project import recipes

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pyflat"


@dataclass(frozen=True, slots=True)
class House:
    rooms: tuple[str, ...]
    """Packages and modules directly in `pyflat/`."""
    exempted: int
    """Imports that the contracts of pyproject.toml let pass."""
    circle: tuple[str, ...]
    """The largest set of modules that import each other."""
    lines: int
    """Lines of `pyflat/`."""
    settings: int
    """Lines of pyproject.toml."""
    shared: tuple[str, ...]
    """Names that two classes have, or more."""
    places: tuple[str, ...]
    """Files that CONTRIBUTING.md's recipe for a new mathematical function touches, without tests."""


def imports() -> dict[str, set[str]]:
    """The modules that each module of pyflat imports."""
    graph = grimp.build_graph("pyflat", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(graph: Mapping[str, Set[str]]) -> Iterator[tuple[str, ...]]:
    """The strongly connected components of two modules and more (R. Tarjan, 1972, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_: set[str] = set()
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        while work:
            module, targets = work[-1]
            if module not in index:
                index[module] = low[module] = len(index)
                stack.append(module)
                open_.add(module)
            target = next((t for t in targets if t not in index or t in open_), None)
            if target is not None and target not in index:
                work.append((target, iter(sorted(graph[target]))))
                continue
            if target is not None:
                low[module] = min(low[module], index[target])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[module])
            if low[module] == index[module]:
                circle = tuple(stack[stack.index(module):])
                del stack[-len(circle):]
                open_.difference_update(circle)
                if len(circle) > 1:
                    yield tuple(sorted(circle))


def shared_names() -> tuple[str, ...]:
    """The names of classes that stand at the top of more than one module."""
    trees = [ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")]
    classes = collections.Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return tuple(sorted(name for name, count in classes.items() if count > 1))


def measure() -> House:
    settings = (ROOT / "pyproject.toml").read_text()
    contracts = tomllib.loads(settings)["tool"]["importlinter"]["contracts"]
    found = sorted(circles(imports()), key=len)
    return House(
        rooms=tuple(sorted(path.name for path in PACKAGE.iterdir()
                           if path.suffix == ".py" and path.name != "_version.py" or (path / "__init__.py").exists())),
        exempted=sum(len(contract.get("ignore_imports", ())) for contract in contracts),
        circle=found[-1] if found else (),
        lines=sum(len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py") if path.name != "_version.py"),
        settings=len(settings.splitlines()),
        shared=shared_names(),
        places=tuple(recipes.files("record", "kernel")),
    )


def main() -> None:
    house = measure()
    print(f"rooms of pyflat/            {len(house.rooms):6,}  {' '.join(house.rooms)}")
    print(f"exempted imports            {house.exempted:6,}")
    print(f"largest circle of imports   {len(house.circle):6,}  {' '.join(house.circle)}")
    print(f"lines of pyflat/            {house.lines:6,}")
    print(f"lines of pyproject.toml     {house.settings:6,}")
    print(f"names of several classes    {len(house.shared):6,}  {' '.join(house.shared)}")
    print(f"places to touch for a new mathematical function {len(house.places):6,}  {' '.join(house.places)}")


if __name__ == "__main__":
    main()
