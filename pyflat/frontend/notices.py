"""Warnings: their classes, and at which line they appear."""

from __future__ import annotations

import contextlib
import inspect
import warnings

from pyflat.errors import PACKAGE

PLAN_FILE = "<plan of a twin>"
"""What tracebacks call the file of a plan (`pyflat.runtime.plans`)."""


class PerformanceWarning(UserWarning):
    """A twin runs much slower than it could."""


class LaneWarning(UserWarning):
    """An expression has two readings, one for each lane and one for whole arrays; a twin has the first."""


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the caller's line: that of the innermost frame outside of pyflat (whose blocks are contextlib's)."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, PLAN_FILE, contextlib.__file__)):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
