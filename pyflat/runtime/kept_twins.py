"""Twins on disk: what flattening has made, for the next process, which then neither parses nor flattens anything.

A twin's name is a hash of the function's code, the shapes of its arguments and what is fixed among them, the options,
and the versions of everything that takes part. Under that name is

    a manifest      what the function has read from outside (`pyflat.frontend.state.manifest`); it is compared first
    facts           the shape of the result, what the engine knows without the function
    the function    in IR, fused; with float32 also the structured form, which says what suspect lanes give
    text, code      of the engine, under names of their own (`pyflat.targets.kept`)

in the cache of `pyflat.targets.numba.disk_cache`, which believes only what this user's pyflat wrote. There is no
pickle: facts are JSON, functions are parsed and validated when an engine needs them. Classes and objects that a result
names are numbers of the manifest's objects.

What another process cannot check is not kept: `twin.explain()` and the log "pyflat.cache" say why.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pyflat.errors import PACKAGE, InternalError, __version__
from pyflat.frontend.state import manifest
from pyflat.frontend.state.guards import Guards
from pyflat.frontend.state.manifest import NotKept, Trace
from pyflat.functions import external_ufuncs, loaded_library, ways
from pyflat.functions.stacking import DATES
from pyflat.ir.nodes import Function
from pyflat.ir.shape import (
    OTHER_WORD,
    Composed,
    Fixed,
    Hole,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Strings,
    Template,
    Texts,
    WrittenRecord,
    written_class,
)
from pyflat.ir.types import Kind
from pyflat.targets import target as targets
from pyflat.targets.kept import Shelf, joined, parsed, printed, shelf_for, unpacked
from pyflat.targets.numba.disk_cache import Cache, key_of, opened
from pyflat.targets.target import Keepable

if TYPE_CHECKING:
    from pyflat.runtime.compiled import Built
    from pyflat.runtime.settings import Options

_log = logging.getLogger("pyflat.cache")

FORMAT = "pyflat twin 1"
_NOT_IN_KEY = ("cache", "inject", "parallel")
_KNOWN = (tuple, list, dict, str, complex, np.ndarray, np.uint64, *DATES)
_CLASSES: dict[str, type] = {cls.__name__: cls for cls in _KNOWN}


def applies(options: Options) -> bool:
    """Whether twins with these options are looked for on disk: not while what flattening makes is being checked."""
    target = targets.at_hand(str(options.target))
    kept = options.cache and options.whitelist is None and target is not None and target.restore is not None
    forced = ways.ORIGIN.forced
    return kept and (os.environ.get("PYFLAT_VALIDATE") != "1" if forced is None else forced == "disk")


class WantedTwin:
    """A twin that is looked for under the name that it has on disk."""

    def __init__(self, disk: Cache, fn: FunctionType, arguments: Mapping[str, Shape], options: Options):
        self._disk, self._fn, self._arguments = disk, fn, arguments
        self._versions = [*_versions(), *_settings(options), *ways.key()]
        self._key = key_of([FORMAT, *self._versions, self._trace().digest])

    def _trace(self) -> Trace:
        """The trace of the function and its arguments."""
        trace = Trace()
        trace.meet(self._fn)
        for name, shape in self._arguments.items():
            trace.say(name)
            _meet_shape(trace, shape)
        return trace

    def alone(self) -> AbstractContextManager[None]:
        """Inside no other process makes this twin."""
        return self._disk.alone(self._key)

    def find(self) -> KeptTwin | None:
        """The twin, where there is one, and what it has read is as it was."""
        contents = self._disk.load(self._key)
        if contents is None:
            return None
        try:
            return _carefully(lambda: self._found(contents))
        except NotKept as why:
            _log.info("the cached twin of %s is not used: %s", self._fn.__qualname__, why)
            return None

    def _found(self, contents: bytes) -> KeptTwin | None:
        head, *texts = unpacked(contents)
        facts, trace = json.loads(head), self._trace()
        guards = manifest.read(trace, facts["lines"])
        if guards is None or not all(external_ufuncs.register(trace.objects[number]) == name
                                     for name, number in facts["ufuncs"].items()):
            return None
        return KeptTwin(facts, guards, _decoded(trace, facts["result"]), *texts)

    def keep(self, built: Built) -> str:
        """Write a twin, and give its engine a shelf; says why not, where that is so."""
        try:
            _carefully(lambda: self._write(built))
        except NotKept as why:
            return told(self._fn, why)
        return ""

    def _write(self, built: Built) -> None:
        guards, engine = built.guards, built.engine
        if not isinstance(guards, Guards) or not isinstance(engine, Keepable) or guards.stale() is not None:
            raise NotKept("something it depends on changed while it was compiled")
        trace = self._trace()
        lines = manifest.written(trace, guards)
        guards.journal.clear()
        fused, structured = engine.fused, built.structured
        from pyflat.ir.loops import all_ops

        names = {op.attr("ufunc") for op in all_ops(fused.body) if op.opcode == "ufunc"}
        ufuncs = {name: _reference(trace, external_ufuncs.find(name)) for name in sorted(names)}
        shelf = shelf_for(fused, self._versions)
        facts = {"lines": lines, "result": _encoded(trace, built.result), "ufuncs": ufuncs, "shelf": shelf.key,
                 "engine": engine.to_keep(), "stacked": built.stacked, "trips_limited": built.trips_limited,
                 "functions": sorted(built.functions)}
        self._disk.store(self._key, joined(facts, shelf.text, b"" if structured is None else printed(structured)))
        engine.shelf = shelf


class KeptTwin:
    """A twin that was on disk."""

    def __init__(self, facts: dict[str, Any], guards: Guards, result: Shape, fused: bytes, structured: bytes):
        self.facts, self.guards, self.result, self._structured = facts, guards, result, structured
        self.shelf = Shelf(facts["shelf"], fused)

    def structured(self) -> Function:
        """What float32 lanes give by definition."""
        return parsed(self._structured)


def wanted(fn: FunctionType, arguments: Mapping[str, Shape], options: Options) -> WantedTwin | None:
    """What to look for; None where there is no cache. Raises NotKept."""
    disk = opened() if applies(options) else None
    return None if disk is None else _carefully(lambda: WantedTwin(disk, fn, arguments, options))


def told(fn: FunctionType, why: NotKept) -> str:
    """The reason, which the log has too."""
    _log.info("the twin of %s is not cached on disk: %s", fn.__qualname__, why)
    return str(why)


T = TypeVar("T")


def _carefully(work: Callable[[], T]) -> T:
    """What looks into the user's objects runs their code, which may raise anything. Raises NotKept."""
    try:
        return work()
    except NotKept:
        raise
    except Exception as error:
        raise NotKept(f"inspecting its dependencies raises {type(error).__name__}: {error}") from error


# --- the key
def _settings(options: Options) -> list[str]:
    """Options, and what they stand for on this processor."""
    target = targets.of(options.target)
    known = [f"{f.name}={getattr(options, f.name)!r}" for f in fields(options) if f.name not in _NOT_IN_KEY]
    return [*known, str(options.math == "fast" and target.fuses_products())]


@cache
def _versions() -> tuple[str, ...]:
    """Everything that flattening depends on besides the function."""
    return (__version__, _sources(), sys.version, str(sys.flags.optimize), np.__version__, _numpy_features(),
            loaded_library.identity())


def _sources() -> str:
    """The files of pyflat by size and time: whoever works on pyflat never gets what another version has made."""
    found = []
    for folder, _, names in os.walk(PACKAGE):
        if not folder.endswith("__pycache__"):
            for name in sorted(names):
                stat = os.stat(os.path.join(folder, name))
                found.append(f"{folder} {name} {stat.st_size} {stat.st_mtime_ns}")
    return "\n".join(sorted(found))


def _numpy_features() -> str:
    """NumPy chooses among loops with other last digits by what the processor has."""
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get("numpy.core._multiarray_umath")
    return repr(getattr(module, "__cpu_features__", None))


# --- shapes
def _meet_shape(trace: Trace, shape: Shape) -> None:
    match shape:
        case Leaf():
            trace.say("lane", shape.kind.value)
        case Fixed():
            trace.say("fixed")
            trace.meet(shape.value)
        case Record():
            trace.say("record", len(shape.items), *shape.names)
            trace.meet(shape.cls)
            for item in shape.items:
                _meet_shape(trace, item)
        case Maybe():
            trace.say("maybe")
            _meet_shape(trace, shape.inner)
        case Strings():
            raise NotKept("it inspects strings, with functions of this process")
        case Texts() | Ragged():
            raise InternalError(f"not an argument: {shape!r}")
        case Labels():
            trace.say("labels", len(shape.table))
            for item in shape.table:
                if item is OTHER_WORD:
                    trace.say("other")
                else:
                    trace.meet(item)


def _reference(trace: Trace, value: object) -> int:
    number = trace.number(value)
    if number is None:
        raise NotKept(f"it returns, or calls, a {type(value).__qualname__} that another process cannot find")
    return number


def _encoded(trace: Trace, shape: Shape) -> list[Any]:
    match shape:
        case Leaf():
            return ["lane", shape.kind.value]
        case Fixed():
            return ["fixed", _encoded_value(trace, shape.value)]
        case Maybe():
            return ["maybe", _encoded(trace, shape.inner)]
        case Labels():
            return ["labels", [_encoded_value(trace, item) for item in shape.table]]
        case Ragged():
            return ["ragged", [_encoded(trace, item) for item in shape.items]]
        case Texts():
            return ["texts", [_encoded_text(trace, item) for item in shape.table], [k.value for k in shape.numbers]]
        case Record():
            items = [_encoded(trace, item) for item in shape.items]
            if issubclass(shape.cls, WrittenRecord):
                return ["written", [list(path) for path in shape.cls.paths], items]
            known = _CLASSES.get(shape.cls.__name__) is shape.cls
            return ["record", shape.cls.__name__ if known else _reference(trace, shape.cls), list(shape.names), items]
        case Strings():
            raise InternalError(f"not a result: {shape!r}")


def _decoded(trace: Trace, data: Sequence[Any]) -> Shape:
    match data:
        case "lane", kind:
            return Leaf(Kind(kind))
        case "fixed", value:
            return Fixed(_decoded_value(trace, value))
        case "maybe", inner:
            return Maybe(_decoded(trace, inner))
        case "labels", items:
            return Labels(tuple(_decoded_value(trace, item) for item in items))
        case "ragged", items:
            return Ragged(tuple(_decoded(trace, item) for item in items))
        case "texts", items, numbers:
            return Texts(tuple(_decoded_text(trace, item) for item in items), tuple(map(Kind, numbers)))
        case "written", paths, items:
            cls: type = written_class(tuple(map(tuple, paths)))
            return Record(cls, cls._fields, tuple(_decoded(trace, item) for item in items))  # type: ignore[attr-defined]
        case _, cls, names, items:
            found = _CLASSES[cls] if isinstance(cls, str) else trace.objects[cls]
            return Record(found, tuple(names), tuple(_decoded(trace, item) for item in items))
    raise ValueError(data)


def _encoded_text(trace: Trace, item: Any) -> list[Any]:
    if isinstance(item, Composed):
        return ["composed", _encoded(trace, item.shape)]
    if not isinstance(item, Template):
        return _encoded_value(trace, item)
    return ["template", item.text, [[hole.kind.value, hole.place, hole.how, hole.what] for hole in item.holes]]


def _decoded_text(trace: Trace, data: Sequence[Any]) -> Any:
    if data[0] == "composed":
        return Composed.of(_decoded(trace, data[1]))
    if data[0] != "template":
        return _decoded_value(trace, data)
    holes = [Hole(Kind(kind), place, how, tuple(what) if isinstance(what, list) else what)
             for kind, place, how, what in data[2]]
    return Template(data[1], tuple(holes))


def _encoded_value(trace: Trace, value: Any) -> list[Any]:
    if value is OTHER_WORD:
        return ["other"]
    if value is None or type(value) in (bool, str):
        return ["plain", value]
    if type(value) is int:
        return ["int", hex(value)]
    if type(value) is float:
        return ["float", value.hex()]
    if type(value) is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    if type(value) is tuple:
        return ["tuple", *[_encoded_value(trace, item) for item in value]]
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return ["scalar", value.dtype.str, value.tobytes().hex()]
    return ["object", _reference(trace, value)]


def _decoded_value(trace: Trace, data: Sequence[Any]) -> Any:
    match data:
        case ("other",):
            return OTHER_WORD
        case "plain", value:
            return value
        case "int", text:
            return int(text, 16)
        case "float", text:
            return float.fromhex(text)
        case "complex", real, imag:
            return complex(float.fromhex(real), float.fromhex(imag))
        case "tuple", *items:
            return tuple(_decoded_value(trace, item) for item in items)
        case "scalar", dtype, text:
            return np.frombuffer(bytes.fromhex(text), dtype)[0]
    return trace.objects[data[1]]
