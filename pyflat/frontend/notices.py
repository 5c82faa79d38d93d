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
    """A twin runs much slower than it could."""


class LaneWarning(UserWarning):
    """An expression has two readings, one for each lane and one for whole arrays; a twin has the first."""


class VersionWarning(UserWarning):
    """Functions are flattened on a Python that pyflat is not tested on."""


@cache
def warn_of_an_untested_python() -> None:
    """Once in a process, where the tests do not run on this Python, which may compute something otherwise."""
    if not is_tested():
        name = f"{platform.python_implementation()} {platform.python_version()}"
        warn(f"pyflat is not tested on {name}: compare twins with their originals, with pyflat.testing.verify",
             VersionWarning)


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the caller's line: that of the innermost frame outside of pyflat (whose blocks are contextlib's)."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, PLAN_FILE, contextlib.__file__)):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
