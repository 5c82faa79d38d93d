"""What the generator knows at a point of the program: names, their kinds, and the functions it may call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

FLOAT, INT, BOOL, MIXED = "f", "i", "b", "n"
"""Kinds of names. MIXED holds an int in some lanes and a float in others."""

LABEL, OPTIONAL = "s", "o"
"""A string, an enum member or None; a number or None."""

FUNCTION = "F"
"""The kind of a helper's parameter that takes a function from float to float."""

NAMES = ("a", "b", "c", "x", "y", "s", "t", "acc", "u", "v", "w", "k", "x_1", "t0", "c0", "select", "np", "live", "_ret",
         "a_1", "s_1", "where", "out", "live_1", "p", "q", "m", "f8", "i")
"""One pool for parameters and locals of all functions, so that they collide; some look like generated names."""


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    default: str = ""
    keyword_only: bool = False


@dataclass(frozen=True)
class Helper:
    """A function that programs may call; `results` has one kind, or several for a tuple result.

    `cost` is about the number of statements it runs. `variadic` helpers take 1 to 4 floats.
    """

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[str, ...]
    cost: int
    variadic: bool = False

    @property
    def takes_one_float(self) -> bool:
        return [p.kind for p in self.parameters] == [FLOAT] and self.results == (FLOAT,) and not self.variadic


@dataclass
class Scope:
    """Names at one point: `bound` on every path, `maybe` on some; `lists` are local lists (kind, length)."""

    bound: dict[str, str] = field(default_factory=dict)
    maybe: dict[str, str] = field(default_factory=dict)
    lists: dict[str, tuple[str, int]] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    """Names that must not be assigned: counters of while loops, local functions."""

    def copy(self) -> Scope:
        return Scope(dict(self.bound), dict(self.maybe), dict(self.lists), self.frozen)

    def bind(self, name: str, kind: str) -> None:
        self.maybe.pop(name, None)
        self.lists.pop(name, None)
        self.bound[name] = kind

    def bind_list(self, name: str, kind: str, length: int) -> None:
        self.maybe.pop(name, None)
        self.bound.pop(name, None)
        self.lists[name] = (kind, length)

    def freeze(self, name: str) -> None:
        self.frozen = self.frozen | {name}

    def names(self, kind: str) -> list[str]:
        return [n for n, k in self.bound.items() if k == kind]

    def replace(self, other: Scope) -> None:
        self.bound, self.maybe, self.lists, self.frozen = other.bound, other.maybe, other.lists, other.frozen


def join(scopes: Sequence[Scope]) -> Scope:
    """The scope after paths with these scopes meet."""
    first, *rest = scopes
    merged = Scope(frozen=frozenset.union(*(s.frozen for s in scopes)))
    for scope in scopes:
        for name, kind in (*scope.bound.items(), *scope.maybe.items()):
            merged.maybe[name] = join_kinds(merged.maybe.get(name, kind), kind)
    for name in first.bound:
        if all(name in s.bound for s in rest):
            merged.bound[name] = merged.maybe.pop(name)
    merged.lists = {n: v for n, v in first.lists.items() if all(s.lists.get(n) == v for s in rest)}
    for scope in scopes:
        for name in scope.lists:
            merged.maybe.pop(name, None)
            merged.bound.pop(name, None)
    return merged


def join_kinds(a: str, b: str) -> str:
    return a if a == b else MIXED
