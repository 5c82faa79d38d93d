"""What a pass declares about itself, so that the order of a pipeline can be checked by a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyflat.ir.nodes import Function


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: a function from Function to Function that never modifies its input.

    `needs_gone` are the IR classes that must not occur in its input, `removes` those that do not occur in its
    output (rewritten or refused). A pass that has nothing to do returns the very object it was given.
    """

    run: Callable[[Function], Function]
    needs_gone: frozenset[type] = frozenset()
    removes: frozenset[type] = frozenset()

    @property
    def name(self) -> str:
        return self.run.__name__
