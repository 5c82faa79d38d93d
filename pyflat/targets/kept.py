"""What an engine keeps on disk: the function that it runs, in IR, and what it has made of it for some arguments.

The function is read when something has to be made that is not there; mostly all is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from pyflat.ir.nodes import Function
from pyflat.targets.numba.disk_cache import key_of, opened

_LENGTH = 8


class Made(NamedTuple):
    """What was made: facts, as JSON has them, and code."""

    facts: dict[str, Any]
    code: bytes


class Shelf:
    """The place of one engine: its function, as text, and what was made, by labels."""

    def __init__(self, key: str, text: bytes):
        self.key, self.text = key, text

    @cached_property
    def function(self) -> Function:
        return parsed(self.text)

    def load(self, *label: object) -> Made | None:
        """What was made for a label."""
        disk = opened()
        contents = None if disk is None else disk.load(self._name(label))
        if contents is None:
            return None
        facts, code = unpacked(contents)
        return Made(json.loads(facts), code)

    def store(self, made: Made, *label: object) -> None:
        disk = opened()
        if disk is not None:
            disk.store(self._name(label), packed(json.dumps(made.facts).encode(), made.code))

    def _name(self, label: tuple[object, ...]) -> str:
        return key_of([self.key, *map(repr, label)])


def shelf_for(fused: Function, versions: list[str]) -> Shelf:
    """The shelf of a function that was just made; `versions` are all that what is made of it depends on besides."""
    text = printed(fused)
    made = Shelf(key_of([text.decode("utf-8", "surrogatepass"), *versions]), text)
    made.__dict__["function"] = fused
    return made


def printed(fn: Function) -> bytes:
    from pyflat.ir.print import format_function

    return format_function(fn).encode("utf-8", "surrogatepass")


def parsed(text: bytes) -> Function:
    """The function of a text, validated."""
    from pyflat.ir.parse import parse_function
    from pyflat.ir.recursion import room_to_recurse
    from pyflat.ir.validate import validate

    with room_to_recurse(None):
        made = parse_function(text.decode("utf-8", "surrogatepass"))
        validate(made)
    return made


def packed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)


def unpacked(data: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + _LENGTH], "little")
        parts.append(data[at + _LENGTH : at + _LENGTH + size])
        at += _LENGTH + size
    return parts


def joined(facts: Mapping[str, Any], *texts: bytes) -> bytes:
    """Facts and texts as the contents of one entry."""
    return packed(json.dumps(facts).encode(), *texts)
