"""Optional libraries: an ImportError that says what needs the library, and which extra of pyflat installs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {"jax": "jax", "matplotlib": "plot", "polars": "polars", "wgpu": "wgsl", "z3": "prove"}
"""The library, by the name that is imported -> the extra (pyproject.toml)."""


def require(library: str, what: str) -> Any:
    """Import a library; the module. Raises ImportError where it is not installed."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:  # it is there, and lacks something itself
            raise
        package = f"'pyflat[{EXTRAS[library]}]'" if library in EXTRAS else library
        message = f"{what} needs {library}, which is not installed: pip install {package}"
        raise ImportError(message, name=library) from error
