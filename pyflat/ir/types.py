"""Kinds: what one lane of a value holds."""

from __future__ import annotations

from enum import Enum

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
EXACT_INT = 2**53
"""Every int64 up to this magnitude is a float64 exactly."""


class Kind(Enum):
    """The kind of a lane: bool_, int64, float64; VOID for operations without a result. A PACK is several numbers:
    an operand or result of an operation that a backend keeps (`ir.opaque_calls`, `ir.ops.FUSED`); no variable of the
    user holds one. MEMORY is the contents of a kernel's arrays at one place of the code (`ir.memory`): each store
    gives the next one."""

    BOOL = "b"
    INT = "i8"
    FLOAT = "f8"
    VOID = "none"
    PACK = "pack"
    MEMORY = "mem"

    __hash__ = object.__hash__  # Enum's own is Python code, and kinds are keys everywhere

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.value


BOOL, INT, FLOAT, VOID, PACK = Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.VOID, Kind.PACK
MEMORY = Kind.MEMORY

_ORDER = {BOOL: 0, INT: 1, FLOAT: 2}


def join_kinds(a: Kind, b: Kind) -> Kind:
    """The smaller kind that holds both: bool < int < float."""
    return a if _ORDER[a] >= _ORDER[b] else b


def kind_of(value: object) -> Kind | None:
    """The kind of a Python number, None when it is not a lane value (an int beyond 64 bits is not)."""
    match value:
        case bool():
            return BOOL
        case int():
            return INT if INT_MIN <= value <= INT_MAX else None
        case float():
            return FLOAT
        case _:
            return None
