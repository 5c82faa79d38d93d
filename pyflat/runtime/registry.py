"""The twins that there are, one for a function and its options.

They are cached as long as their function lives and no longer: a twin object holds its function, and `_twins` is weak
in the twin; what was compiled outlives the twin object (`pyflat.runtime.compiled.compilations`). A bound method is a
new object at each access, so the twins of the last few are held.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, ParamSpec, TypeVar, cast

from pyflat.functions import ways
from pyflat.functions.locks import making
from pyflat.runtime.settings import Settings, settings
from pyflat.runtime.twins import Twin

P = ParamSpec("P")
R = TypeVar("R")
MAX_BOUND = 32
"""Bound methods whose twins are held, and with them their objects."""

_twins: weakref.WeakValueDictionary[tuple[Any, ...], Twin[..., Any]] = weakref.WeakValueDictionary()
_bound: OrderedDict[tuple[Any, ...], Twin[..., Any]] = OrderedDict()


def twin_of(fn: Callable[P, R], options: Mapping[str, Any]) -> Twin[P, R]:
    """The cached twin for exactly these options."""
    return cached(fn, settings(options))


def cached(fn: Callable[P, R], chosen: Settings, *, check: bool = True) -> Twin[P, R]:
    """The twin for these options. `check`: whether `static=` names parameters; a function that is just being unpickled
    has no defaults yet."""
    method = isinstance(fn, MethodType)
    identity = (id(fn.__func__), id(fn.__self__)) if isinstance(fn, MethodType) else (id(fn),)
    key = (*identity, chosen, ways.key())
    with making:
        found = _twins.get(key)
        if found is None:
            found = Twin(fn, chosen)
            if check and (chosen_static := dict(chosen).get("static")):
                found.check_static(chosen_static)
            _twins[key] = found
        if method:
            _bound[key] = found
            _bound.move_to_end(key)
            while len(_bound) > MAX_BOUND:
                _bound.popitem(last=False)
    return cast("Twin[P, R]", found)
