"""Swizzles as properties: `v.x`, `v.xy`, `v.zyx`, `v.bgra`; letters of one family, x y z w or r g b a.

They are made here, 28 names of two components and so on for each family, and declared for type checkers in
`swizzles.pyi`, the text that `stub()` gives. Properties, and no `__getattr__`: a name that is no
swizzle stays an AttributeError, and a twin sees what each one reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

FAMILIES = ("xyzw", "rgba")
PLACES = {letter: place for family in FAMILIES for place, letter in enumerate(family)}
"""The position of the component that a letter names."""


class Swizzles2:
    """The swizzles of two components and more."""

    __slots__ = ()


class Swizzles3(Swizzles2):
    """The swizzles of three components and more."""

    __slots__ = ()


class Swizzles4(Swizzles3):
    """The swizzles of four components."""

    __slots__ = ()


def _getter(letters: str) -> Callable[[Any], Any]:
    places = [PLACES[letter] for letter in letters]
    if len(places) == 1:
        first = places[0]

        def component(vector: Any) -> Any:
            return vector[first]

        return component

    def swizzle(vector: Any) -> Any:
        from pyflat.vec.vectors import Vec2, Vec3, Vec4

        return (Vec2, Vec3, Vec4)[len(places) - 2](*[vector[place] for place in places])

    return swizzle


def names(size: int, below: int) -> Iterator[str]:
    """The swizzles of `size` components that `below` components do not have, but for the fields themselves."""
    for family in FAMILIES:
        for count in range(1, 5):
            for letters in itertools.product(family[:size], repeat=count):
                name = "".join(letters)
                if max(PLACES[letter] for letter in letters) >= below and name not in ("x", "y", "z", "w"):
                    yield name


for _cls, _size, _below in ((Swizzles2, 2, 0), (Swizzles3, 3, 2), (Swizzles4, 4, 3)):
    for _name in names(_size, _below):
        setattr(_cls, _name, property(_getter(_name), doc=f"The components {', '.join(_name)}."))


def stub() -> str:
    """The text of `swizzles.pyi`."""
    lines = ['"""Written by `pyflat.vec.swizzles.stub`; do not edit."""', "", "from collections.abc import Iterator",
             "from typing import Final", "", "from pyflat.vec.vectors import Vec2, Vec3, Vec4", "",
             "FAMILIES: tuple[str, str]", "PLACES: dict[str, int]", ""]
    for cls, size, below in ((Swizzles2, 2, 0), (Swizzles3, 3, 2), (Swizzles4, 4, 3)):
        base = "" if cls is Swizzles2 else f"({cls.__base__.__name__})"
        lines += [f"class {cls.__name__}{base}:"]
        lines += [f"    {name}: Final[{('float', 'Vec2', 'Vec3', 'Vec4')[len(name) - 1]}]"
                  for name in names(size, below)]
        lines.append("")
    return "\n".join([*lines, "def names(size: int, below: int) -> Iterator[str]: ...", "def stub() -> str: ...", ""])


