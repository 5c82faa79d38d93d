"""pyflat makes the twin of a scalar Python function: branch-free, over whole arrays.

    import pyflat

    @pyflat.flatten
    def shade(x, t):
        if x > t:
            return (x - t) / x
        return 0.0

    shade.flat(xs, 0.5)          # an array: shade(x, 0.5) for every x
    print(shade.flat.source)     # the twin as text
    pyflat.twin(colorsys.rgb_to_hsv)(r, g, b)

Importing pyflat loads nothing else: a public name is imported from its module when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflat.errors import FlattenError, InternalError
    from pyflat.errors import __version__ as __version__
    from pyflat.frontend.notices import LaneWarning, PerformanceWarning, VersionWarning
    from pyflat.runtime.decorator import Flattened, flatten, twin
    from pyflat.runtime.faults import Failure, Faults, LaneError, TripLimitError
    from pyflat.runtime.settings import Options, options, set_defaults
    from pyflat.runtime.twins import Twin

__all__ = [
    "Failure",
    "Faults",
    "FlattenError",
    "Flattened",
    "InternalError",
    "LaneError",
    "LaneWarning",
    "Options",
    "PerformanceWarning",
    "TripLimitError",
    "Twin",
    "VersionWarning",
    "flatten",
    "options",
    "set_defaults",
    "twin",
]

_HOME = {
    "Failure": "runtime.faults", "Faults": "runtime.faults", "FlattenError": "errors", "Flattened": "runtime.decorator",
    "InternalError": "errors", "LaneError": "runtime.faults", "Options": "runtime.settings",
    "LaneWarning": "frontend.notices", "PerformanceWarning": "frontend.notices", "TripLimitError": "runtime.faults",
    "Twin": "runtime.twins", "flatten": "runtime.decorator", "options": "runtime.settings",
    "VersionWarning": "frontend.notices", "__version__": "errors", "set_defaults": "runtime.settings",
    "twin": "runtime.decorator",
}


_MODULES = {
    "backend": "backend", "dataflow": "inspection.dataflow", "graphics": "graphics", "ir": "ir",
    "prove": "inspection.prove", "survey": "inspection.survey", "targets": "targets", "testing": "testing",
    "vec": "vec",
}
"""Public modules: `import pyflat` makes them reachable as attributes, and loads them at first use."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    import_module("pyflat.functions.locks")  # a fork waits for the imports after this one
    if name in _MODULES:
        return import_module(f"pyflat.{_MODULES[name]}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'pyflat' has no attribute {name!r}", name=name)
    found = getattr(import_module(f"pyflat.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__") and name.endswith("__")}
    return sorted({*own, *_HOME, *_MODULES})
