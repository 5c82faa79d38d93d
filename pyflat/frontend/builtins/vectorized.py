"""np.vectorize: a function that is called with one element of each argument, and gives arrays of one dtype.

`np.vectorize(fn, otypes)` is a partial application of `vectorized`, whether it was made outside or while flattening.
"""

from __future__ import annotations

from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import bind_names
from pyflat.frontend.space import arrays
from pyflat.frontend.space.number_classes import without_axes
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, numeric_kind, per_alternative
from pyflat.frontend.state.values import DTYPES, Abstract, Arguments, ListRef, OtherText, Partial, Seq, Static, Text
from pyflat.ir.types import Kind


def vectorized(function: Any, otypes: Any, *elements: Any) -> Any:
    raise AssertionError("replaced by `call`")


def known(s: Evaluator, function: np.vectorize, node: cst.CSTNode) -> Partial:
    """One that was made outside."""
    if function.signature is not None:
        raise _refused(s, "signature=", node)
    return Partial(Static(vectorized), [Static(function.pyfunc), Static(function.otypes)], {})


def make(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Partial:
    """np.vectorize(fn, ...) of a function that differs by lane."""
    given = bind_names(s, "np.vectorize", "pyfunc otypes !doc excluded cache signature", arguments, node)
    for name in ("excluded", "signature"):
        if given.static(name, None) is not None:
            raise _refused(s, f"{name}=", node)
    return Partial(Static(vectorized), [given.value("pyfunc"), given.named.get("otypes", Static(None))], {})


def call(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """The function on each element, as Python numbers."""
    function, otypes, *operands = arguments.positional
    if any(map(arrays.is_array, arguments.named.values())):
        raise _refused(s, "arrays as keywords", node)
    kinds = _kinds(s, otypes, node)

    def one(*elements: Abstract) -> Abstract:
        python = [s.mark_python(each, [each]) for each in elements]
        return s.space.call(function, Arguments(python, arguments.named), node)

    s.widths.seen = True
    if not any(map(arrays.is_array, operands)):
        return _without_axes(s, one(*operands), kinds, node)
    try:
        columns = np.broadcast_arrays(*[arrays.grid(s, each, node) for each in operands])
    except ValueError:
        raise s.raised(ValueError, node) from None
    items = [one(*row) for row in zip(*[column.flat for column in columns], strict=True)]
    if not items:
        raise _refused(s, "an empty array", node)
    kind = kinds[0] if kinds else numeric_kind(items[0])
    if kind is None:
        raise _refused(s, f"a function that returns {describe(items[0])}", node)
    elements = [arrays.element(s, each, kind, node) for each in items]
    return arrays.new(s, arrays.filled(columns[0].shape, elements), node, kind)


@per_alternative("value")
def _without_axes(s: Evaluator, value: Abstract, kinds: list[Kind], node: cst.CSTNode) -> Abstract:
    """What the function gives for one element of each, as arrays without axes."""
    if isinstance(value, Seq) and value.cls is tuple:
        return heap.make_tuple([_without_axes(s, each, kinds[i:i + 1], node) for i, each in enumerate(value.items)])
    kind = kinds[0] if kinds else numeric_kind(value)
    if not kinds and isinstance(value, Text | OtherText) or isinstance(value, Static) and type(value.value) is str:
        return value
    if kind is None:
        raise _refused(s, f"a function that returns {describe(value)}", node)
    made = arrays.element(s, value, kind, node)
    return without_axes(s, made, node)


def _kinds(s: Evaluator, otypes: Abstract, node: cst.CSTNode) -> list[Kind]:
    """What otypes= says of each result; nothing where the function decides."""
    if isinstance(otypes, ListRef):
        items = heap.contents(s, otypes, node)
        otypes = Static([each.value if isinstance(each, Static) else object for each in items])
    letters = otypes.value if isinstance(otypes, Static) else None
    known_kinds = {np.dtype(dtype): kind for kind, dtype in DTYPES.items()}
    try:
        return [known_kinds[np.dtype(letter)] for letter in letters or ""]
    except KeyError:
        raise _refused(s, f"otypes {letters!r}", node) from None


def _refused(s: Evaluator, what: str, node: cst.CSTNode) -> Exception:
    return s.refuse("flatten/unsupported-expression", f"np.vectorize with {what}", node,
                    help="call the function itself, for each element")
