"""The preamble of a shader: what does not depend on the lane, computed once for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pyflat.backend.flat import FlatFunction
from pyflat.errors import refuse
from pyflat.ir.opaque_calls import flat_values
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Leaf, Record, leaves, rebuild
from pyflat.passes.split_uniform import split_uniform


@dataclass(frozen=True)
class Preshader:
    """`preamble` has the uniform arguments, and one result for each of `links`: the parameters that `body` has after
    its own. `body` gives the results."""

    preamble: FlatFunction
    body: FlatFunction
    links: tuple[str, ...]

    def run(self, *args: Any) -> Any:
        """One lane: first the preamble, then the body."""
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
    """Split a function by the names of the arguments that are the same in every lane.

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
