"""A row of the operation table (`ir.ops` says what its columns mean)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyflat.functions.records import Accuracy, Adds, Outside
from pyflat.ir.types import Kind

_ONE = Adds(1)
Signature = tuple[tuple[Kind, ...], Kind]


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    signatures: tuple[Signature, ...]
    python: Callable[..., Any]
    faults: tuple[Outside, ...] | str = ""
    accuracy: Accuracy = Accuracy.EXACT
    operator: str = ""
    native: tuple[tuple[Kind, ...], ...] = ()
    cost: Adds = _ONE
    rounding: str = ""
    written: tuple[str, ...] = ()

    def result_kind(self, kinds: tuple[Kind, ...]) -> Kind | None:
        for operands, result in self.signatures:
            if operands == kinds:
                return result
        return None
