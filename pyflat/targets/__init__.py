"""Engines and languages for twins. Modules are loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = ("jax", "polars", "sql", "xp")
_PROTOCOL = ("Engine", "Request", "Target", "register")


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return import_module(f"pyflat.targets.{name}")
    if name in _PROTOCOL:
        return getattr(import_module("pyflat.targets.target"), name)
    raise AttributeError(f"module 'pyflat.targets' has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__") and name.endswith("__")}
    return sorted({*own, *_PUBLIC, *_PROTOCOL})
