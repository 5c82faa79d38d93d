"""What a statement of a kernel may use: arrays with named dimensions, indices with their ranges, numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from tests.generator.kernels.inputs import FLOATS, INTS, UNSIGNED, Param

TABLE = "TABLE"
"""An array of the module."""


@dataclass(frozen=True)
class Array:
    """A name for an array; an axis without a dimension has an extent that is not known."""

    name: str
    dims: tuple[str, ...]
    dtype: str
    of: str = ""
    """The dimension that its elements are indices of."""

    @property
    def number(self) -> str:
        """The kind of its elements: "bool", "int" or "float"."""
        return "float" if self.dtype in FLOATS else "int" if self.dtype in (*INTS, *UNSIGNED) else "bool"


@dataclass(frozen=True)
class Index:
    """An int in `low .. extent - high - 1` of a dimension."""

    name: str
    dim: str
    low: int = 0
    high: int = 0


@dataclass
class Scope:
    """Names that are bound at a place; `inner` is the scope of a block in it."""

    r: Random
    params: tuple[Param, ...]
    arrays: list[Array]
    extents: dict[str, list[str]]
    """Texts that give the extent of a dimension."""
    indices: list[Index] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)
    """Names of numbers, with "int", "float" or "bool"."""
    loops: int = 0
    inside: bool = False
    """Whether `break` and `continue` have a loop."""
    fresh: dict[str, int] = field(default_factory=dict)
    """Counts of names made, for all scopes of a kernel."""
    helpers: dict[str, str] = field(default_factory=dict)
    """Functions of the module that are used, with their texts."""
    tables: dict[str, str] = field(default_factory=dict)
    deepest: list[int] = field(default_factory=lambda: [0])
    tame: bool = False
    """Whether indices are inside, and what is written is regular: kernels as people have them."""
    left: list[int] = field(default_factory=lambda: [100])
    """Statements that may still be drawn."""

    def inner(self, *, loop: bool = False) -> Scope:
        scope = replace(self, arrays=list(self.arrays), indices=list(self.indices), numbers=dict(self.numbers),
                        extents={dim: list(texts) for dim, texts in self.extents.items()},
                        loops=self.loops + loop, inside=self.inside or loop)
        self.deepest[0] = max(self.deepest[0], scope.loops)
        return scope

    def name(self, stem: str) -> str:
        self.fresh[stem] = self.fresh.get(stem, 0) + 1
        count = self.fresh[stem]
        return stem if count == 1 else f"{stem}{count}"

    def extent(self, dim: str) -> str:
        return self.r.choice(self.extents[dim])

    def of_number(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.numbers.items() if kind in kinds]

    def drop(self, name: str) -> None:
        """The name means something else from now on."""
        self.arrays = [array for array in self.arrays if array.name != name]
        self.indices = [index for index in self.indices if index.name != name]
        self.numbers.pop(name, None)
