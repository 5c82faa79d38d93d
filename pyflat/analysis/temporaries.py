"""What becomes of the arrays that a kernel makes inside: settings, and the decision for each.

    virtual   not there: its elements are computed where they are read
    buffer    some rows of it are kept at a time
    stored    all of it is in memory
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pyflat.errors import Span

Mode = Literal["virtual", "buffer", "stored"]
Complexity = Literal["constant", "simple", "complex"]

REASONS = {
    "inconsistent-indices": (4, "it is written at indices of different forms"),
    "shared-counter": (5, "two of its indices use the counter of one loop, or none does"),
    "several-counters": (51, "one of its indices is a sum of several counters"),
    "untraced-loop": (6, "the loops that write it do not count up by one, carry numbers, or may end early"),
    "escaping-index": (7, "an index at which it is written is computed in the loop"),
    "escaping-value": (9, "its elements are read where the values they are computed from are not available"),
    "no-setter": (12, "no element of it is written"),
    "index-mismatch": (13, "elements are read that the loop may not have written"),
    "routine": (140, "a routine of NumPy's reads or writes it as a whole"),
    "visits": (200, "its elements are read too often to be computed there"),
    "returned": (201, "it is returned"),
    "unwritten": (202, "an element that is not written may be read"),
    "changed": (203, "the values its elements are computed from change before the elements are read"),
    "recurrent": (204, "the loop that writes it reads it"),
    "raises": (205, "computing its elements may raise"),
    "asked": (206, "an option requests it (memory=, enable_device_only=)"),
    "unread": (207, "an element that is not read may warn"),
    "shared-loop": (208, "the loop that writes it does something else that may warn"),
    "complex": (209, "its elements are computed (inline_complex_computations=False)"),
    "not-together": (210, "the loops that use it are not fused"),
    "inconsistent-rows": (211, "its rows differ from the loops', several loops write it, or one writes several rows"),
    "used-elsewhere": (212, "it is also used outside the fused loops, or these run several times"),
    "target": (213, "the target keeps whole arrays"),
}
"""Why an array is stored: number and text. Below 200 the numbers are those of OCANNL; from 210 on they are reasons why
it keeps all its rows."""


@dataclass(frozen=True, slots=True)
class Virtualize:
    """Which arrays that are made inside become virtual.

    max_visits                   the most reads of an element that may be computed where it is read; None: by cost
    inline_scalar_constexprs     arrays of one constant are virtual however often they are read
    inline_simple_computations   so are those whose elements are an element of another array, an index, or constants
    inline_complex_computations  others may be: False, never; None, by cost; True, whatever they cost
    enable_device_only           arrays that are not virtual may keep a part of their rows
    memory                       what was asked for: pairs of an array's name and its mode
    """

    max_visits: int | None = None
    inline_scalar_constexprs: bool = True
    inline_simple_computations: bool = True
    inline_complex_computations: bool | None = None
    enable_device_only: bool = True
    memory: tuple[tuple[str, Mode], ...] = ()


NO_SETTING = Virtualize()
REPEATED = 10**6
"""Reads of an element in each iteration of a loop that its place does not depend on."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an array, by a name in REASONS (empty: it is virtual); how many elements are read for one that is
    written, and what they are made of."""

    mode: Mode
    reason: str
    reads: int
    complexity: Complexity


Use = Literal["made", "written", "read", "routine", "returned"]
_SHOWN_BY: dict[str, tuple[Use, ...]] = {
    "returned": ("returned",), "routine": ("routine",), "no-setter": ("made",), "target": ("made",),
    "unwritten": ("made",), "visits": ("read",), "index-mismatch": ("read",), "escaping-value": ("read",),
    "changed": ("read",), "recurrent": ("read",), "used-elsewhere": ("routine", "read"),
}
"""The uses of an array that show a reason, the best first; others are shown by what writes it."""


@dataclass(frozen=True, slots=True)
class MadeArray:
    """An array that a kernel makes: its dtype, its lengths in the user's names, and where the source has its uses, the
    first one of each."""

    dtype: str
    lengths: tuple[str, ...]
    places: Mapping[Use, Span]

    @property
    def surely_stored(self) -> str:
        """A reason that holds whatever its elements are; empty where there is none."""
        return next((use for use in ("returned", "routine") if use in self.places), "")

    def place_of(self, reason: str) -> Span | None:
        """Where the source has what a reason says."""
        wanted: tuple[Use, ...] = (*_SHOWN_BY.get(reason, ("written",)), "made")
        return next((self.places[use] for use in wanted if use in self.places), None)


@dataclass(frozen=True, slots=True)
class ArrayMode:
    """What an array is on a target, how many rows a buffer has, and why it is not virtual or not fewer rows."""

    mode: Mode
    rows: int = 0
    reasons: tuple[str, ...] = ()


def reason_text(reason: str) -> str:
    """Number, name and text of a reason."""
    number, text = REASONS[reason]
    return f"{number} {reason}: {text}"
