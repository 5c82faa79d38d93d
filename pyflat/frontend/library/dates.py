"""Dates of lanes: the classes of `datetime` as CPython's own Python source has them, which is inlined like user code.

The classes that `datetime` gives are compiled. The standard library also has them in Python, in `datetime.py` below the
import of the compiled ones (from 3.12 on in `_pydatetime`). Wherever the flattened code meets a class or an object of
`datetime`, it goes on with the one in Python.
"""

from __future__ import annotations

import datetime
import importlib.util
import sys
from functools import cache
from types import ModuleType
from typing import Any

from pyflat.frontend.state.values import Abstract, ObjRef, State, Static
from pyflat.functions import moments, python_versions
from pyflat.functions.stacking import DATES

_CLASSES = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, datetime.tzinfo)
_IN_PYTHON = ("datetime_in_python", "_pydatetime")
"""Modules of the classes in Python."""
_BY_IDENTITY = {id(cls): cls.__name__ for cls in _CLASSES}


def is_compiled(value: object) -> bool:
    """A class of `datetime`, or an object of one; or a moment or span of pandas."""
    return type(value) in _CLASSES or id(value) in _BY_IDENTITY or moments.is_pandas(value)


def in_python(value: Any) -> Any:
    """What `datetime` as it is written in Python has for this class or object, `moments` for one of pandas."""
    if moments.is_pandas(value):
        return moments.of_pandas(value)
    module = _module()
    if id(value) in _BY_IDENTITY:
        return getattr(module, _BY_IDENTITY[id(value)])
    match value:
        case datetime.timedelta():
            return module.timedelta(value.days, value.seconds, value.microseconds)
        case datetime.datetime() if value.tzinfo is None:
            return module.datetime(value.year, value.month, value.day, value.hour, value.minute, value.second,
                                   value.microsecond, fold=value.fold)
        case datetime.date() if type(value) is datetime.date:
            return module.date(value.year, value.month, value.day)
        case datetime.time() if value.tzinfo is None:
            return module.time(value.hour, value.minute, value.second, value.microsecond, fold=value.fold)
    return value


def parts(value: Abstract, state: State) -> tuple[type, tuple[str, ...], tuple[Abstract, ...]] | None:
    """Class, names and parts (see `functions.stacking.DATES`) of a date that a function returns, None for other values.
    The class is the compiled one: dates in Python are for flattening only."""
    if isinstance(value, Static):
        cls = _compiled_class(type(value.value))
        names = DATES.get(cls, ())
        return (cls, names, tuple(_part(getattr(value.value, name)) for name in names)) if names else None
    if not isinstance(value, ObjRef):
        return None
    cls = _compiled_class(value.cls)
    if cls not in DATES:
        return None
    fields = dict(state.heap[value])
    items = (fields[name if cls in moments.MAKERS else "_" + name] for name in DATES[cls])
    return cls, DATES[cls], tuple(_part(i.value) if isinstance(i, Static) else i for i in items)


def _compiled_class(cls: type) -> type:
    return getattr(datetime, cls.__name__, cls) if cls.__module__ in _IN_PYTHON else cls


def _part(value: object) -> Static:
    """A part that is known; a time zone written in Python is the compiled one."""
    if type(value).__module__ in _IN_PYTHON and type(value).__name__ == "timezone":
        offset, *name = value.__getinitargs__()  # type: ignore[attr-defined]
        value = datetime.timezone(datetime.timedelta(offset.days, offset.seconds, offset.microseconds), *name)
    return Static(value)


def public_class(cls: Any) -> Any:
    """The class that a value of this class has for those who ask: pandas' own for `moments`."""
    return getattr(sys.modules["pandas"], cls.__name__) if cls in moments.MAKERS and "pandas" in sys.modules else cls


def with_compiled(classes: Any) -> Any:
    """The classes for isinstance, with the compiled one beside each that is written in Python."""
    if isinstance(classes, tuple):
        return tuple(map(with_compiled, classes))
    if getattr(classes, "__module__", "") in _IN_PYTHON:
        return classes, getattr(datetime, classes.__name__, classes)
    return classes


@cache
def _module() -> Any:
    if python_versions.datetime_in_python_is_a_module():
        return importlib.import_module("_pydatetime")
    spec = importlib.util.spec_from_file_location("datetime_in_python", datetime.__file__)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    compiled = sys.modules.get("_datetime")
    sys.modules["_datetime"] = None  # type: ignore[assignment]  # its import fails, so that the Python classes stay
    try:
        spec.loader.exec_module(module)
    finally:
        if compiled is None:
            del sys.modules["_datetime"]
        else:
            sys.modules["_datetime"] = compiled
    return module
