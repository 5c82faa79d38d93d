"""Verifying a twin against its original: the functions for users, for the pytest plugin and for pyflat's tests.

    from pyflat.testing import verify

Importing this package loads nothing else: pytest imports it for the plugin, also where no test needs pyflat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflat.testing.verification import (
        EDGE_FLOATS,
        EDGE_INTS,
        ROUND_FLOATS,
        DifferenceError,
        boundary_values,
        in_kind,
        lane_of,
        literals,
        neighbours,
        same_bits,
        verify,
    )

__all__ = [
    "EDGE_FLOATS",
    "EDGE_INTS",
    "ROUND_FLOATS",
    "DifferenceError",
    "boundary_values",
    "in_kind",
    "lane_of",
    "literals",
    "neighbours",
    "same_bits",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pyflat.testing' has no attribute {name!r}", name=name)
    from pyflat.testing import verification

    found = getattr(verification, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
