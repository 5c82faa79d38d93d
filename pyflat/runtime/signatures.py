"""The signature of a generalised ufunc, as `np.vectorize`, `guvectorize` and dask write it: "(m,n),(n)->(m)".

An operand's last dimensions are its core dimensions, one name for each; equal names are equal lengths, and a number is
a length itself. Everything before them broadcasts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DIMENSION = r"(?:[A-Za-z_]\w*|[1-9]\d*)"
_OPERAND = rf"\((?:{_DIMENSION}(?:,{_DIMENSION})*)?\)"
_OPERANDS = rf"{_OPERAND}(?:,{_OPERAND})*"
_FORM = re.compile(rf"({_OPERANDS})->({_OPERANDS})")


class Signature(NamedTuple):
    """The core dimensions of each input and output."""

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]

    @property
    def dimensions(self) -> tuple[str, ...]:
        """All of them, in the order in which they come first: that in which an inner loop gets their lengths."""
        return tuple(dict.fromkeys(name for operand in (*self.inputs, *self.outputs) for name in operand))


def checked(value: object) -> str:
    """A signature without spaces. TypeError, ValueError where it is none."""
    if not isinstance(value, str):
        raise TypeError(f"signature={value!r}: expected a string, as '(n),()->(n)'")
    text = re.sub(r"\s", "", value)
    if not _FORM.fullmatch(text):
        raise ValueError(f"signature={value!r}: expected the core dimensions of each input and output, as "
                         f"'(n),()->(n)' or '(m,n),(n)->(m)'")
    found = parsed(text)
    known = {name for operand in found.inputs for name in operand}
    for name in found.dimensions:
        if name not in known and not name.isdigit():
            raise ValueError(f"signature={value!r}: no input has the dimension {name!r} of an output, so its length "
                             f"is unknown")
    return text


def parsed(text: str) -> Signature:
    """The signature of a text that has been checked."""
    inputs, outputs = (tuple(tuple(filter(None, operand.split(","))) for operand in re.findall(r"\(([^)]*)\)", side))
                       for side in text.split("->"))
    return Signature(inputs, outputs)
