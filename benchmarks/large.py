"""Programs that are large by themselves, for `python -m benchmarks.first_call`.

`LARGE[name]` has the text of a module whose function is `main`, the options of its twin, and its arguments.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

LANES = 8
SIDE = 12
ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class Large:
    """A program; `scalars` are arguments of one lane."""

    text: str
    arguments: Callable[[], tuple[Any, ...]]
    scalars: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def _column() -> np.ndarray:
    return np.linspace(-3.0, 900.0, LANES)


def _columns() -> tuple[Any, ...]:
    return (_column(),)


def _ifs(count: int) -> str:
    rows = "".join(f"    if y > {k % 97}.5:\n        y = y * 0.75 - {k}.25\n" for k in range(count))
    return f"def main(x):\n    y = x\n{rows}    return y\n"


def _helpers(count: int) -> str:
    """Each helper is called by the one after it, and twice by every tenth."""
    rows = ["def h0(v):\n    return v + 1.0\n"]
    for k in range(1, count):
        again = f" + h{k - 1}(v - {k}.0) * 0.25" if k % 75 == 0 else ""
        rows.append(f"def h{k}(v):\n    if v < {k}.0:\n        v = v * 1.5 + {k}.0\n"
                    f"    return h{k - 1}(v * 0.5){again} + {k}.0\n")
    return "".join(rows) + f"def main(x):\n    return h{count - 1}(x)\n"


def _unrolled(trips: int) -> str:
    body = "        x = x * 0.75 + 1.0\n        if x > 890.0:\n            break\n        x = x - k\n"
    return f"def main(x):\n    for k in range({trips}):\n{body}    return x\n"


_PRODUCT = f"""
def main(a, b):
    return [[sum_of(a[i], b, j) for j in range({SIDE})] for i in range({SIDE})]

def sum_of(row, b, j):
    total = 0.0
    for k in range({SIDE}):
        total += row[k] * b[k][j]
    return total
"""

_TABLE = f"""
TABLE = tuple([k * 0.125 for k in range({ENTRIES})])

def main(x):
    k = int(x)
    if k < 0:
        return -1.0
    return TABLE[k] + 0.5
"""

_NESTED = """
def main(x):
    total = 0.0
    for a in range(5):
        for b in range(5):
            for c in range(5):
                for d in range(5):
                    for e in range(5):
                        for f in range(5):
                            y = x * a + b * c - d
                            if y > e:
                                y = y * 0.5 - f
                            total += y
    return total
"""


def _matrix(seed: int, lanes: int | None) -> list[list[Any]]:
    random = np.random.default_rng(seed)
    return [[random.normal(size=lanes) for _ in range(SIDE)] for _ in range(SIDE)]


LARGE: Mapping[str, Large] = {
    "ifs": Large(_ifs(1_000), _columns, (3.5,)),
    "helpers": Large(_helpers(300), _columns, (3.5,)),
    "unroll": Large(_unrolled(4_096), _columns, (3.5,), {"loops": "unroll"}),
    "kept": Large(_unrolled(4_096), _columns, (3.5,)),
    "product": Large(_PRODUCT, lambda: (_matrix(1, LANES), _matrix(2, LANES)), (_matrix(1, None), _matrix(2, None))),
    "table": Large(_TABLE, _columns, (3.5,)),
    "nested": Large(_NESTED, _columns, (3.5,)),
}


def function(name: str, folder: Path) -> Callable[..., Any]:
    """`main` of a program, written to a file of its own and imported from there."""
    path = folder / f"large_{name}.py"
    path.write_text(LARGE[name].text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.main  # type: ignore[no-any-return]
