"""What an original does in a lane, and what comparing a twin with it gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflat.ir.shape import (
    COMPLEX,
    REAL_OR_COMPLEX,
    UNSIGNED,
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Texts,
    is_text,
)
from pyflat.ir.types import FLOAT, INT_MAX, INT_MIN
from tests.generator.lanes import Lane


@dataclass(frozen=True)
class Failure:
    """One difference. `stage` is "structured", the name of a pass, "fused", or a target."""

    stage: str
    what: str
    lane: Lane | None = None
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        place = f" for inputs {self.lane!r}" if self.lane is not None else ""
        return f"[{self.stage}] {self.what}{place}\n    original: {self.expected}\n    pyflat:   {self.got}"


@dataclass
class Outcome:
    """What checking one program gave; `refusal` is the code of a FlattenError."""

    refusal: str = ""
    refusal_text: str = ""
    failures: list[Failure] = field(default_factory=list)
    lanes: int = 0
    raising: int = 0
    false_suspects: int = 0


@dataclass(frozen=True)
class Returned:
    value: Any

    def __str__(self) -> str:
        return f"returns {self.value!r}"


@dataclass(frozen=True)
class Raised:
    error: type[BaseException]
    message: str

    def __str__(self) -> str:
        return f"raises {self.error.__name__}: {self.message}"


Expected = Returned | Raised


def observe(fn: Callable[..., Any], args: Sequence[Any]) -> Expected:
    """What a call does: any exception is an answer here."""
    try:
        return Returned(fn(*args))
    except Exception as error:  # noqa: BLE001 - the exception is what is compared
        return Raised(type(error), str(error))


def outside(value: Any, shape: Shape) -> bool:
    """Whether Python's value exists but no lane holds it: None, a complex number, an int too large for its leaf, the
    float that a negative power of an int is."""
    if isinstance(shape, Maybe):
        return value is not None and outside(value, shape.inner)
    if isinstance(shape, Ragged):
        return type(value) is not list
    if isinstance(shape, Texts):
        return not shape.mixed and type(value) is not str and shape.code(value) is None
    if is_text(shape):
        return type(value) is not str
    if isinstance(shape, Labels):
        return shape.code(value) is None
    if isinstance(shape, Fixed) and shape.value is None:
        return value is not None
    if isinstance(value, tuple | list):
        items = shape.items if isinstance(shape, Record) else (shape,) * len(value)
        return any(map(outside, value, items))
    if shape in (COMPLEX, REAL_OR_COMPLEX) and isinstance(value, complex):
        return False
    if shape == UNSIGNED:
        return not (isinstance(value, int) and 0 <= value < 2**64)
    real = isinstance(shape, Leaf) and shape.kind is FLOAT
    if isinstance(value, int) and not real and not INT_MIN <= value <= INT_MAX:
        return True
    if isinstance(value, float) and isinstance(shape, Leaf) and not real:
        return True
    inexact = isinstance(value, int) and (abs(value) >= 2**1024 or float(value) != value)
    return value is None or isinstance(value, complex) or (inexact and real)
