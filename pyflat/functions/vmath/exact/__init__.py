"""The C library's functions, and CPython's gamma and lgamma, followed operation by operation: vector code with their
bits in every lane but those that it says are for the library itself (ranges that are rare, where the library does
something else).

What is done in which order, and where a product and a sum are rounded together, is a fact about one build of the
library. So a function is taken where the code that would run is one it was verified against, and where the library that
is loaded has the tables that it reads (`tables`). Elsewhere there is Ziv's test (`pyflat.functions.vmath.glibc`), which
depends on error bounds only, or the library is called for each lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from pyflat.functions import gamma_check
from pyflat.functions.loaded_library import standing
from pyflat.functions.vmath import glibc
from pyflat.functions.vmath.exact import error, exponential, gamma, hyperbolic, inverse, logarithm, power, trigonometric
from pyflat.functions.vmath.exact.tables import LibraryTable, MissingTable
from pyflat.functions.vmath.glibc import LibraryFunction

TABLE: dict[str, LibraryFunction] = {
    name: LibraryFunction(name, getattr(module, name), 2 if name in ("pow", "atan2") else 1, total=module is gamma)
    for module, names in {
        exponential: ("exp", "exp2"),
        logarithm: ("log", "log2", "log10"),
        power: ("pow", "cbrt"),
        trigonometric: ("sin", "cos", "tan"),
        inverse: ("asin", "acos", "atan", "atan2"),
        hyperbolic: ("expm1", "tanh", "sinh", "cosh", "log1p", "asinh", "acosh", "atanh"),
        error: ("erf", "erfc"),
        gamma: ("gamma", "lgamma"),
    }.items() for name in names
}
"""Those that there are."""

_MODULES = exponential, inverse, logarithm, power, trigonometric
TABLES: tuple[LibraryTable, ...] = tuple(found for module in _MODULES for found in vars(module).values()
                                         if isinstance(found, LibraryTable))
"""Those that they read."""

_following: ContextVar[bool] = ContextVar("pyflat_following", default=False)


@contextmanager
def following() -> Iterator[None]:
    """In a block, functions are followed whatever the library: to compare them with one that is not known."""
    token = _following.set(True)
    try:
        yield
    finally:
        _following.reset(token)


def is_followed(name: str) -> bool:
    """Whether `kernel_for` is the function that follows the library's."""
    return kernel_for(name) is TABLE.get(name)


def kernel_for(name: str) -> LibraryFunction | None:
    """Vector code with the bits of the function that is loaded: the one that follows it, where it is known, or else one
    with Ziv's test; None where there is neither."""
    if name in TABLE and (is_verified(name) or _following.get()) and has_tables():
        return TABLE[name]
    bounded = glibc.TABLE.get(name)
    return None if bounded is None or standing(bounded.name) == "called" else bounded


def is_verified(name: str) -> bool:
    """Whether the code that would run is the one that is followed. CPython's own is, where its parts are."""
    if name in gamma_check.PARTS:
        return all(map(is_verified, gamma_check.PARTS[name])) and gamma_check.is_known()
    return standing(name) == "verified"


@cache
def has_tables() -> bool:
    """Whether the library that is loaded has the tables."""
    try:
        return all(table.rows is not None for table in TABLES)
    except MissingTable:
        return False
