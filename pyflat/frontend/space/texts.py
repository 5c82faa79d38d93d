"""Strings made from lanes: none is computed, but of some it is known which number they are."""

from __future__ import annotations

import re

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, IntText, RoundedText, Seq, Static, Text
from pyflat.ir.nodes import Value
from pyflat.ir.types import INT

MAX_DIGITS = 300
"""Behind the point; with more, `round` gives the number itself as float() of the text does."""


def written(value: Abstract, spec: str) -> Abstract:
    """format(value, spec): the digits of ".2f" are those that round(value, 2) has, because both are the nearest
    decimal number, ties by the exact value."""
    found = re.fullmatch(r"\.(\d+)f", spec)
    if isinstance(value, Static) and numeric_kind(value) is not None:
        return Static(format(value.value, spec))
    if found is None or not isinstance(value, Value) or int(found[1]) > MAX_DIGITS:
        return Text()
    return RoundedText(value, int(found[1]))


def of_int(s: Evaluator, value: Abstract) -> Abstract:
    """str(value)"""
    if isinstance(value, Text):
        return value
    if isinstance(value, Value) and value.kind is INT and not s.may_be_numpy(value):
        return IntText(value, 10)
    return Text()


def formatted(template: str, arguments: Arguments) -> Abstract:
    """template.format(...) of one number."""
    found = re.fullmatch(r"\{0?:(\.\d+f)\}", template)
    if found is None or len(arguments.positional) != 1 or arguments.named:
        return Text()
    return written(arguments.positional[0], found[1])


def percent(template: str, value: Abstract) -> Abstract:
    """template % value of one number."""
    found = re.fullmatch(r"%(\.\d+f)", template)
    if isinstance(value, Seq) and value.cls is tuple and len(value.items) == 1:
        value = value.items[0]
    return Text() if found is None else written(value, found[1])
