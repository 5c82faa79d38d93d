"""The Python text of IR that was written or parsed by hand, where there is no source to print from.

`python_text(fn)` is what `twin.show()` gives of a function: on NumPy arrays, on scalars under numba, or neutral.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

import libcst as cst

from pyflat.errors import InternalError
from pyflat.frontend.capture import Captured
from pyflat.frontend.result import Specialised
from pyflat.frontend.state.guards import Guards
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.loops import definitions
from pyflat.ir.nodes import Function
from pyflat.ir.shape import Leaf, Record
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes import pipelines
from pyflat.targets import target as targets
from pyflat.targets.text import render
from pyflat.targets.text.alone import standing_alone
from pyflat.targets.text.spelling import Target

_KINDS = (BOOL, INT, FLOAT)


def python_text(fn: Function, target: Target = "numpy") -> str:
    """A function of any form as the text of one of the same name. In lanes in which `fn` raises it has some value."""
    shown = copy_function(fn if fn.total else pipelines.run(fn, pipelines.written()))
    for value in definitions(shown.body):
        value.name = _identifier(value.name) if value.name else ""
    shown = pipelines.run(shown, pipelines.VALUES if target == targets.NEUTRAL else pipelines.ENDING)
    return standing_alone(render(specialised(fn), shown, target=target, name=_identifier(fn.name)), {})


def specialised(fn: Function) -> Specialised:
    """`fn` as if it were the IR of a Python function of its name, with a number for each parameter and result."""
    if not {*fn.result_kinds, *(param.kind for param in fn.params)}.issubset(_KINDS):
        raise InternalError(f"{fn.name} has parameters or results that are not numbers")
    results = tuple(map(Leaf, fn.result_kinds))
    names = _unique([param.name for param in fn.params])
    name = _identifier(fn.name)
    source = f"def {name}({', '.join(names)}):\n    ...\n"
    module = cst.parse_module(source)
    (tree,) = module.body
    assert isinstance(tree, cst.FunctionDef)
    captured = Captured(name, "IR", 1, source, tree, module, name, frozenset(names))
    arguments = {word: Leaf(param.kind) for word, param in zip(names, fn.params, strict=True)}
    result = results[0] if len(results) == 1 else Record(tuple, (), results)
    return Specialised(fn, result, dict(arguments), captured, Guards(), None)


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in map(_identifier, names):
        numbered = (f"{name}_{count}" for count in range(1, len(names) + 1))
        found.append(name if name not in found else next(each for each in numbered if each not in found))
    return found


def _identifier(name: str) -> str:
    word = re.sub(r"\W", "_", name) or "x"
    return word if word.isidentifier() and not keyword.iskeyword(word) else f"_{word}"
