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
    from pyflat.api import Flattened, flatten, twin
    from pyflat.errors import FlattenError, InternalError
    from pyflat.faults import Failure, Faults, LaneError, TripLimitError
    from pyflat.notices import LaneWarning, PerformanceWarning
    from pyflat.settings import Options, options, set_defaults
    from pyflat.twins import Twin

__version__ = "0.1.0"
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
    "flatten",
    "options",
    "set_defaults",
    "twin",
]

_HOME = {
    "Failure": "faults", "Faults": "faults", "FlattenError": "errors", "Flattened": "api", "InternalError": "errors",
    "LaneError": "faults", "LaneWarning": "notices", "Options": "settings", "PerformanceWarning": "notices",
    "TripLimitError": "faults", "Twin": "twins", "flatten": "api", "options": "settings", "set_defaults": "settings",
    "twin": "api",
}


_MODULES = ("backend", "dataflow", "graphics", "ir", "prove", "survey", "targets", "testing", "vec")
"""Public modules: `import pyflat` makes them reachable as attributes, and loads them at first use."""


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"pyflat.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'pyflat' has no attribute {name!r}", name=name)
    found = getattr(import_module(f"pyflat.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__") and name.endswith("__")}
    return sorted({*own, *__all__, *_MODULES})
