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
"""

from pyflat.api import Flattened, flatten, twin
from pyflat.errors import FlattenError, InternalError
from pyflat.replay import LaneError, PerformanceWarning
from pyflat.settings import Options, options, set_defaults
from pyflat.twins import Twin

__version__ = "0.1.0"
__all__ = [
    "FlattenError",
    "Flattened",
    "InternalError",
    "LaneError",
    "Options",
    "PerformanceWarning",
    "Twin",
    "flatten",
    "options",
    "set_defaults",
    "twin",
]
