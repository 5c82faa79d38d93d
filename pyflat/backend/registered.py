"""Targets of other packages: entry points of the group "pyflat.targets".

    [project.entry-points."pyflat.targets"]
    stack = "my_package:compile"

makes "stack" a target name like "numpy". What the entry point names is a `pyflat.targets.Target`; or a function, which
is called with a `pyflat.backend.FlatFunction` that is folded and whose last result says which lanes are faults, and
gives a function from lanes to results: see docs/how-to/backend.md.
"""

from __future__ import annotations

from importlib import metadata

GROUP = "pyflat.targets"


class Registered(str):
    """The name of a target that another package brings."""

    __slots__ = ()


def registered() -> dict[str, metadata.EntryPoint]:
    """The entry points by name; of two with the same name the first."""
    found: dict[str, metadata.EntryPoint] = {}
    for point in metadata.entry_points(group=GROUP):
        found.setdefault(point.name, point)
    return found


def target(name: str) -> Registered:
    """The name of a registered target, for `twin.to`. ValueError when no installed package brings it."""
    if name not in registered():
        known = ", ".join(registered()) or "none are installed"
        raise ValueError(f"no installed package brings the target {name!r} (entry points of {GROUP}: {known})")
    return Registered(name)
