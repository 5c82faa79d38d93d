"""`flatten_function`: a Python function as straight-line operations for a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from pyflat.backend.arguments import argument_shapes
from pyflat.backend.flat import FlatFunction
from pyflat.errors import FlattenError, refuse
from pyflat.frontend.callables import unwrap
from pyflat.frontend.specialise import specialise
from pyflat.functions.locks import flattening
from pyflat.ir.nodes import Const, Loop, Op, walk
from pyflat.ir.opaque_calls import Call
from pyflat.ir.recursion import with_room
from pyflat.passes import pipelines

Faults = Literal["drop", "mask", "keep"]


@with_room
def flatten_function(
    fn: Callable[..., Any],
    whitelist: Iterable[str | Call] | Mapping[str, Call] | str | Call | None = None,
    *,
    kinds: str | Sequence[str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    static: Mapping[str, Any] | None = None,
    raises: bool = True,
    strict_fold: bool = False,
    faults: Faults = "drop",
    max_unroll: int = 4096,
    none: bool = False,
) -> FlatFunction:
    """Flatten `fn`: user calls inlined, branches made selects, loops unrolled; nothing is folded yet.

    whitelist    calls that the backend makes itself: names, or `Call` entries
    kinds        of the plain parameters: "f8,i8,b"; `arguments` and `static`: see `arguments.argument_shapes`
    raises       False: a refusal is `flat.error`, and `flat.ok` is False
    strict_fold  also run `flatten_fold`, and refuse (`flatten/fold-residual`) what it should have taken and did not
    faults       what becomes of the lanes in which Python raises. "drop": nothing says which they are, and their values
                 mean nothing; "mask": one more bool result, true in those lanes; "keep": `fault` nodes stay, in order
    max_unroll   iterations of a loop nest
    none         lanes that return None where others return numbers are not among those in which Python raises: one more
                 bool result says which they are (`Maybe` in `flat.result`)

    Post: `flat.nodes` has no call but whitelisted ones, no branch, no loop; `flat.run` computes in every lane what `fn`
    computes there. Raises FlattenError for what cannot be flattened, among it a loop whose trips depend on lanes.
    """
    if faults not in ("drop", "mask", "keep"):
        raise ValueError(f"faults={faults!r}: expected 'drop', 'mask' or 'keep'")
    fn = _original(fn)
    try:
        flat = _flattened(fn, whitelist, argument_shapes(fn, kinds, arguments, static), faults, max_unroll, none)
        return _folded(flat) if strict_fold else flat
    except FlattenError as error:
        if raises:
            raise
        return FlatFunction(getattr(fn, "__name__", repr(fn)), error)


def _original(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a twin is of."""
    return fn.original if type(fn).__name__ == "Twin" and hasattr(fn, "original") else fn


def _folded(flat: FlatFunction) -> FlatFunction:
    from pyflat.backend.steps import flatten_fold

    return flatten_fold(flat, strict=True)


def _flattened(fn: Callable[..., Any], whitelist: Any, shapes: dict[str, Any], faults: Faults, max_unroll: int,
               none: bool) -> FlatFunction:
    with flattening:
        spec = specialise(fn, shapes, loops="unroll", max_unroll=max_unroll, whitelist=whitelist, none=none)
    if spec.rolled is not None:
        raise spec.rolled
    flat = pipelines.run(spec.function, pipelines.STRAIGHTEN)
    if any(isinstance(item, Loop) for item in walk(flat.body)):
        raise refuse("flatten/while-unbounded", f"a loop of {spec.captured.name} stays a loop")
    if faults == "drop" and any(map(_always_raises, flat.flat_block.ops)):
        raise refuse("flatten/result-kind", f"no path through {spec.captured.name} returns: each raises")
    flat = pipelines.run(flat, {"drop": pipelines.VALUES, "mask": pipelines.engine(), "keep": ()}[faults])
    name, source = spec.captured.name.strip("<>"), spec.captured.source
    return FlatFunction(name, None, flat, spec.result, shapes, spec.opaque, source, unwrap(fn).function, ("flatten",),
                        {"faults": faults})


def _always_raises(op: Op) -> bool:
    return op.opcode == "fault" and isinstance(op.args[0], Const) and bool(op.args[0].value)
