"""Targets from other packages: entry points of the group "pyflat.targets".

    [project.entry-points."pyflat.targets"]
    stack = "my_package:compile"

makes "stack" a target name like "numpy". The entry point names a `pyflat.targets.Target`, or a function that is called
with a folded `pyflat.backend.FlatFunction` whose last result marks the elements that raise, and that returns a function
from arrays to results: see docs/how-to/backend.md.
"""

from __future__ import annotations

from importlib import metadata

GROUP = "pyflat.targets"


class Registered(str):
    """The name of a target from another package."""

    __slots__ = ()


def registered() -> dict[str, metadata.EntryPoint]:
    """The entry points by name; of two with the same name the first."""
    found: dict[str, metadata.EntryPoint] = {}
    for point in metadata.entry_points(group=GROUP):
        found.setdefault(point.name, point)
    return found


def target(name: str) -> Registered:
    """The name of a registered target, for `twin.to`. Raises ValueError if no installed package provides it."""
    if name not in registered():
        known = ", ".join(registered()) or "none are installed"
        raise ValueError(f"no installed package provides the target {name!r} (entry points of {GROUP}: {known})")
    return Registered(name)
