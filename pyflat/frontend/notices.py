"""Warnings: their classes, and at which line they appear."""

from __future__ import annotations

import contextlib
import inspect
import platform
import warnings
from functools import cache

from pyflat.errors import PACKAGE
from pyflat.functions.python_versions import is_tested

PLAN_FILE = "<plan of a twin>"
"""What tracebacks call the file of a plan (`pyflat.runtime.plans`)."""


class PerformanceWarning(UserWarning):
    """A twin runs much more slowly than it could."""


class LaneWarning(UserWarning):
    """An expression means one thing per element and another on whole arrays; a twin computes it per element."""


class VersionWarning(UserWarning):
    """pyflat is not tested on this version of Python."""


@cache
def warn_of_an_untested_python() -> None:
    """Once in a process, where the tests do not run on this Python, which may compute something otherwise."""
    if not is_tested():
        name = f"{platform.python_implementation()} {platform.python_version()}"
        warn(f"pyflat is not tested on {name}: compare your twins with their originals (pyflat.testing.verify)",
             VersionWarning)


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the caller's line: that of the innermost frame outside of pyflat (whose blocks are contextlib's)."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, PLAN_FILE, contextlib.__file__)):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
