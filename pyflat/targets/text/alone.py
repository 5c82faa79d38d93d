"""Printed NumPy text that runs without pyflat: the functions of `pyflat.functions.lanes` that it calls, as a class in
the text.

They have the same bits in every lane in which the original returns; elementary functions are CPython's, called lane by
lane, where `pyflat.functions.lanes` has ufuncs. What is printed, as far as a text needs it, is the class `lanes` below
and functions of that module.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pyflat.functions import lanes as everywhere
from pyflat.ir.ops import ROUNDED
from pyflat.targets.text.spelling import LANE_FUNCTIONS

IMPORT = "from pyflat.functions import lanes"
_SHARED = frozenset({"to_float", "unsigned", "exponent", "ldexp", "ipow", "complex_lanes", "gather", "power", "powers",
                     *ROUNDED})
"""Functions of `pyflat.functions.lanes` that need nothing beside them."""
_ELEMENTARY = {"pow": "math.pow", "library_hypot": "lambda x, y: abs(complex(x, y))",
               "round_digits": "lambda x, digits: round(float(x), int(digits))"}


class lanes:  # noqa: N801 - the name that texts have for it
    """Python's functions on arrays, where NumPy has none with the same bits."""

    @staticmethod
    def each(function: Any) -> Any:
        """The function in every lane; infinite or nan where it raises."""
        def value(*numbers: Any) -> Any:
            try:
                return function(*numbers)
            except OverflowError:
                return math.inf
            except ValueError:
                return math.nan
        return np.vectorize(value, otypes=[float])

    @staticmethod
    def np_dot(*operands: Any) -> Any:
        columns, terms = np.broadcast_arrays(*operands), len(operands) // 2
        parts = columns[:terms], columns[terms:]
        return np.vecdot(*(np.ascontiguousarray(np.stack(part, axis=-1)) for part in parts))

    @staticmethod
    def array_lanes(extent: Any, *elements: Any) -> Any:
        """An array in each lane: its axes come last."""
        columns = np.broadcast_arrays(*elements) if elements else [np.empty(0)]
        return np.stack(columns, axis=-1).reshape((columns[0].shape if elements else ()) + tuple(extent))


HERE = frozenset({*vars(lanes), *_SHARED, *_ELEMENTARY, *vars(math)})
"""What a text need not import."""


def standing_alone(text: str, objects: Mapping[str, object]) -> str:
    """The text with what it needs of `pyflat.functions.lanes` in the place of the import, and with imports of the
    `objects` that its results are made of. A function of another package that only pyflat finds stays an import."""
    numpy = "import numpy as np\n"
    text = text.replace(numpy, numpy + "".join(_imports(objects)), 1)
    if IMPORT not in text.split("\n"):
        return text
    if needs_pyflat(text):
        return text
    needed = sorted(_called(text))
    before, _, after = text.partition(IMPORT + "\n")
    math_is_there = re.search(r"^import math$", before, re.MULTILINE)
    if not math_is_there:
        before = before.replace("import numpy as np\n", "import math\n\nimport numpy as np\n")
    return f"{before}\n{_class(needed)}{after}"


def needs_pyflat(text: str) -> frozenset[str]:
    """The functions of `pyflat.functions.lanes` that a text calls and cannot bring along."""
    return _called(text) - HERE


def _called(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\blanes(?:_\d+)?\.(\w+)", text)) & {*LANE_FUNCTIONS, "ufunc"}


def _imports(objects: Mapping[str, object]) -> Iterator[str]:
    for name, value in objects.items():
        found = getattr(value, "__name__", "")
        module = "numpy" if value is np.array else getattr(value, "__module__", None) or ""
        if found.isidentifier() and getattr(sys.modules.get(module), found, None) is value:
            yield f"from {module} import {found}" + (f" as {name}\n" if name != found else "\n")


@functools.cache
def _method(name: str) -> str:
    if name not in _SHARED:
        return re.sub(r": Any|\s*-> Any", "", inspect.getsource(vars(lanes)[name].__func__)).rstrip("\n")
    text = re.sub(r": (Any|Lanes)|\s*-> (Any|Lanes)", "", inspect.getsource(getattr(everywhere, name)))
    text = text.replace("LARGEST_SHORT_CUT", repr(everywhere.LARGEST_SHORT_CUT))
    head, _, rest = text.partition("\n")
    body = rest.rpartition('"""\n')[2]
    return textwrap.indent(f"@staticmethod\n{head}\n{body}", "    ").rstrip("\n")


def _class(names: list[str]) -> str:
    own = [name for name in names if name in vars(lanes) or name in _SHARED]
    called = [name for name in names if name not in own]
    lines = ["class lanes:", f'    """{lanes.__doc__}"""']
    for name in (["each"] if called else []) + own:
        lines += ["", _method(name)]
    lines += [""] * bool(called)
    lines += [f"    {name} = each({_ELEMENTARY.get(name, f'math.{name}')})" for name in called]
    return "\n".join(lines) + "\n"
