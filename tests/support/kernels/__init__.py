"""Kernels of arrays that a language lawyer would write, one module per subject; tests/programs/test_kernel_adversary.py
runs them.

`@on(...)` names the arguments, as texts: statements before the last semicolon, then what is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def on(*texts: str) -> Callable[[Any], Any]:
    """Each text makes the arguments of one call."""
    def marked(fn: Any) -> Any:
        fn.given = texts
        return fn
    return marked
