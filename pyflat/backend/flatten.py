"""`flatten_function`: a Python function as straight-line operations for a backend; `preshader`: the
preamble of a shader, what does not depend on the lane, computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pyflat.backend.arguments import argument_shapes
from pyflat.backend.flat import FlatFunction
from pyflat.errors import FlattenError, refuse
from pyflat.frontend.callables import unwrap
from pyflat.frontend.specialise import specialise
from pyflat.functions.locks import flattening
from pyflat.ir.nodes import Const, Loop, Op, walk
from pyflat.ir.opaque_calls import Call, flat_values
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Leaf, Record, leaves, rebuild
from pyflat.passes import pipelines
from pyflat.passes.split_uniform import split_uniform


@dataclass(frozen=True)
class Preshader:
    """`preamble` takes the uniform arguments and computes a value for each of `links`, which are additional parameters
    of `body`. `body` computes the results."""

    preamble: FlatFunction
    body: FlatFunction
    links: tuple[str, ...]

    def run(self, *args: Any) -> Any:
        """Run one element: first the preamble, then the body."""
        values = dict(zip(self._arguments, args, strict=True))
        uniform = [n for name in self.preamble.arguments for n in flat_values(values[name])]
        once = self.preamble.run_leaves(uniform).values
        lane = [n for value in args for n in flat_values(value)]
        return rebuild(self.body.result, iter(self.body.run_leaves([*lane, *once]).values))

    @property
    def _arguments(self) -> list[str]:
        return [name for name in self.body.arguments if name not in self.links]


@with_room
def preshader(flat: FlatFunction, uniform: Iterable[str]) -> Preshader:
    """Split a function by its uniform arguments, the ones that are the same for every element.

    Barriers and guarded calls stay in the body. Raises FlattenError `flatten/static-name` for an unknown argument.
    """
    names = set(uniform)
    for name in sorted(names - set(flat.arguments)):
        raise refuse("flatten/static-name", f"{flat.name} has no parameter {name!r}")
    params = iter(flat.ir.params)
    shared = []
    for name, shape in flat.arguments.items():
        own = [next(params) for _ in leaves(shape)]
        if name in names:
            shared += own
    split = split_uniform(flat.ir, shared)
    links = tuple(f"{param.name}.{k}" for k, param in enumerate(split.links))
    kinds = tuple(Leaf(param.kind) for param in split.links)
    first = {name: shape for name, shape in flat.arguments.items() if name in names}
    preamble = replace(flat, name=split.preamble.name, arguments=first, result=Record(tuple, (), kinds))
    body = replace(flat, arguments={**flat.arguments, **dict(zip(links, kinds, strict=True))})
    return Preshader(preamble.with_ir(split.preamble, "preshader"), body.with_ir(split.body, "preshader"), links)


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
    """Flatten `fn`: calls are inlined, branches become selects, loops are unrolled. Nothing is folded yet.

    whitelist    calls that the backend makes itself: names, or `Call` entries
    kinds        kinds of the plain parameters: "f8,i8,b"; `arguments` and `static`: see `arguments.argument_shapes`
    raises       False: store an error in `flat.error` and set `flat.ok` to False
    strict_fold  also run `flatten_fold`, and raise `flatten/fold-residual` if it leaves an operation to fold
    faults       how to treat elements where Python raises. "drop": not marked, their values are garbage; "mask": a
                 further bool result, true for these elements; "keep": `fault` nodes stay, in order
    max_unroll   the most iterations of a loop nest
    none         mark elements that return None where others return numbers in a further bool result (`Maybe` in
                 `flat.result`), instead of treating them as errors

    Post: `flat.nodes` contains whitelisted calls only, no branches and no loops; `flat.run` computes what `fn` computes
    for every element. Raises FlattenError for unsupported code, such as a loop whose iteration count depends on data.
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
