"""What the fields of the IR hold: looked at before every other invariant, which may then rely on it."""

from __future__ import annotations

from typing import Any

from pyflat.ir.formats import FloatFormat
from pyflat.ir.nodes import (
    Block,
    Const,
    Exit,
    Fault,
    Function,
    If,
    Item,
    Label,
    Loop,
    Op,
    Origin,
    Param,
    Region,
    Yield,
)
from pyflat.ir.types import Kind

_NODES = (If, Region, Loop)
_ITEMS = (Block, *_NODES)
_NONE = type(None)
_Field = tuple[type | None, tuple[type, ...]]
"""A list or a tuple, or None for a single object; and of what."""


def _one(*types: type) -> _Field:
    return None, types


def _list(*types: type) -> _Field:
    return list, types


_ANYTHING = _list(object)
_VALUE = {"kind": _one(Kind), "name": _one(str)}
_FIELDS: dict[type, dict[str, _Field]] = {
    Function: {"name": _one(str), "params": _list(Param), "body": _list(*_ITEMS), "label": _one(Label),
               "result_kinds": (tuple, (Kind,)), "form": _one(str), "floats": _one(FloatFormat)},
    Block: {"ops": _list(Op), "end": _one(Yield, Exit, _NONE)},
    If: {"cond": _one(object), "then": _list(*_ITEMS), "orelse": _list(*_ITEMS), "results": _list(Param),
         "origin": _one(Origin, _NONE), "hint": _one(str)},
    Region: {"label": _one(Label), "body": _list(*_ITEMS), "results": _list(Param)},
    Loop: {"label": _one(Label), "again": _one(Label), "params": _list(Param), "inits": _ANYTHING,
           "body": _list(*_ITEMS), "results": _list(Param), "counted": _one(Param, _NONE),
           "hint": _one(str)},
    Op: {**_VALUE, "opcode": _one(str), "args": (tuple, (object,)), "attrs": (tuple, (tuple,)),
         "origin": _one(Origin, _NONE), "statement": _one(Origin, _NONE)},
    Param: _VALUE,
    Const: {**_VALUE, "value": _one(bool, int, float, _NONE)},
    Label: {"name": _one(str)},
    Yield: {"values": _ANYTHING},
    Exit: {"values": _ANYTHING, "label": _one(Label), "fault": _one(Fault, _NONE)},
    Fault: {"type": _one(str), "message": _one(str)},
}


def misfit(fn: object) -> tuple[int, str] | None:
    """The first place of a function that holds something else than it should, as a broken invariant and its message.
    Operands are any object, `validate` says more about them, but literals have a kind."""
    if not isinstance(fn, Function):
        return 11, f"expected Function, found {type(fn).__name__}"
    return _misfit(fn, "", set())


def _misfit(what: Any, path: str, placed: set[Item]) -> tuple[int, str] | None:
    if isinstance(what, _ITEMS):
        if what in placed:
            return 1, f"it stands in two places: {path}"
        placed.add(what)
    for name, (many, types) in _FIELDS[type(what)].items():
        held, place = getattr(what, name), f"{path}.{name}".lstrip(".")
        if many is not None and not isinstance(held, many):
            return 11, _unexpected(place, held, many.__name__)
        for at, each in enumerate(held if many is not None else (held,)):
            found = _misplaced(each, types, f"{place}[{at}]" if many is not None else place, placed)
            if found is not None:
                return found
    return None


def _misplaced(held: Any, types: tuple[type, ...], place: str, placed: set[Item]) -> tuple[int, str] | None:
    if not isinstance(held, types):
        return 11, _unexpected(place, held, " or ".join(t.__name__ for t in types if t is not _NONE))
    if types == (tuple,):  # an attribute
        match held:
            case (str(), value):
                return _misfit(value, place, placed) if isinstance(value, Fault) else None
        return 11, _unexpected(place, held, "a name and a value")
    if type(held) in _FIELDS and (types != (object,) or isinstance(held, Const)):
        return _misfit(held, place, placed)
    return None


def _unexpected(place: str, held: Any, expected: str) -> str:
    """Says the class only: what stands in the wrong place may hold itself, and have no `repr`."""
    return f"{place}: expected {expected}, found {type(held).__name__}"
