"""Functions of `dataclasses` and `copy`, which make an object from the parts of another one."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import types
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.support import Handler, only
from pyflat.frontend.space import scalars
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    Complex,
    DictRef,
    GuardedUnion,
    IterRef,
    ListRef,
    ObjRef,
    Seq,
    Static,
    Unsigned,
)
from pyflat.ir.nodes import Value


def _fields(s: Evaluator, value: Abstract, node: cst.CSTNode) -> dict[str, Abstract]:
    """The fields of a dataclass instance made in the flattened code, or of one that came in."""
    cls = lookup.class_of(value)
    if cls is None or not dataclasses.is_dataclass(cls):
        raise s.refuse("flatten/bad-call", f"{describe(value)} is not a dataclass instance", node)
    return {f.name: s.space.getattr(value, f.name, node) for f in dataclasses.fields(cls)}


def replace(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """dataclasses.replace: a new instance through __init__, with some fields changed."""
    (value,) = arguments.positional[:1]
    fields = _fields(s, value, node)
    cls: Any = lookup.class_of(value)
    made = {f.name: fields[f.name] for f in dataclasses.fields(cls) if f.init}
    if any(not f.init and f.name in arguments.named for f in dataclasses.fields(cls)):
        raise s.raised(ValueError, node)
    return s.space.call(Static(cls), Arguments([], {**made, **arguments.named}), node)


def _flattened(as_dict: bool) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        return _parts(s, value, as_dict, node) if lookup.class_of(value) is not None else value

    return handler


def _parts(s: Evaluator, value: Abstract, as_dict: bool, node: cst.CSTNode) -> Abstract:
    """asdict and astuple go through dataclasses, lists, tuples and dicts, and copy the rest."""
    match value:
        case ObjRef() | Static() if dataclasses.is_dataclass(lookup.class_of(value)):
            parts = {name: _parts(s, part, as_dict, node) for name, part in _fields(s, value, node).items()}
            return heap.new_dict(s, dict(parts)) if as_dict else heap.make_tuple(list(parts.values()))
        case ListRef():
            return heap.new_list(s, [_parts(s, v, as_dict, node) for v in heap.contents(s, value, node)])
        case Seq() if value.cls is tuple:
            return heap.make_tuple([_parts(s, v, as_dict, node) for v in value.items])
        case DictRef():
            entries = s.space.dict_entries(value)
            return heap.new_dict(s, {k: _parts(s, v, as_dict, node) for k, v in entries.items()})
    return value


def copied(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """copy.copy: another list, dict or object with the same items."""
    (value,) = only(s, arguments, node, 1, 1)
    match value:
        case ListRef() if not isinstance(value, IterRef):
            return heap.new_list(s, heap.contents(s, value, node))
        case DictRef():
            return heap.new_dict(s, dict(heap.contents(s, value, node)))
        case ObjRef():
            _require_plain_copy(s, value.cls, node)
            made = ObjRef(value.cls)
            s.state.heap[made] = heap.contents(s, value, node)
            return made
        case GuardedUnion():
            return s.split(value, lambda part: copied(s, Arguments([part], {}), node))
        case Seq() | Value() | Complex() | Unsigned():
            return value
        case Static() if lookup.is_plain(value.value):
            return scalars.const_eval(s, lambda: copy.copy(value.value))
    raise s.refuse("flatten/unknown-call", f"copy.copy of {describe(value)}", node)


def _require_plain_copy(s: Evaluator, cls: type, node: cst.CSTNode) -> None:
    for name in ("__copy__", "__deepcopy__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__"):
        found = inspect.getattr_static(cls, name, None)
        if isinstance(found, types.FunctionType) and not lookup.is_generated(found):
            raise s.refuse("flatten/unknown-call", f"{cls.__name__} defines {name}", node,
                           help="make the copy by its constructor")


HANDLERS: dict[Any, Handler] = {
    dataclasses.replace: replace, dataclasses.asdict: _flattened(True), dataclasses.astuple: _flattened(False),
    copy.copy: copied,
}
