"""Pickled twins. One of a function that other processes can import is a reference to it. Every other function (of
`__main__`, a notebook, a lambda, a closure) travels by its source: as text, with what its names, cells and defaults
hold, and with its helpers by the same rule. Where it arrives the text is compiled, so that it can be flattened there.

    pickle.dumps(twin)    ->  arrive, (bytes,)               the bytes are those of a pickler of our own, which
                                                             pickle, cloudpickle and joblib carry as they are
    pickle.loads(...)     ->  the twin; the same one for the same bytes, so that it is flattened once

Other objects without a home (classes of a notebook) are cloudpickle's where that is installed; without it pickle says
what it cannot carry. Machine code never travels: a process compiles, or loads what the disk cache has.
"""

from __future__ import annotations

import builtins
import copyreg
import functools
import importlib
import io
import linecache
import os
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from pyflat.errors import FlattenError
from pyflat.frontend.notices import warn
from pyflat.functions.locks import arriving
from pyflat.runtime.content import cells_of, content_hash, names_read

if TYPE_CHECKING:
    import numpy as np

    from pyflat.ir.shape import Shape
    from pyflat.runtime.settings import Options, Settings
    from pyflat.runtime.twins import Twin

MOST_ARRIVED = 256
"""Twins that are kept for bytes that arrive again."""
_MAIN = ("__main__", "__mp_main__")
Reduced = tuple[Any, ...]


def reduced(twin: Twin[..., Any]) -> Reduced:
    """What pickle stores of a twin. Raises PicklingError for what cannot be carried."""
    original = twin.original
    if isinstance(original, FunctionType) and has_home(original):
        return restore, (original, twin.settings, twin.stats.library, content_hash(original))
    return arrive, (dumps(twin, twin.__name__),)


def has_home(value: object) -> bool:
    """Whether another process finds a function or class where this one does, by importing its module."""
    name, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    module = sys.modules.get(name or "")
    if module is None or name in _MAIN or getattr(module, "__spec__", None) is None:
        return False
    return find(module, qualname) is value


def find(module: ModuleType | None, qualname: str) -> object | None:
    """What a module has under a qualified name, None when there is nothing."""
    found: object | None = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def restore(original: Callable[..., Any], settings: Settings, library: str = "", content: str = "") -> Twin[..., Any]:
    """The twin of a function that is there. `library` is the C library of the process that it comes from, `content` the
    hash of the function there."""
    from pyflat.functions.loaded_library import identity
    from pyflat.runtime.registry import cached

    name = getattr(original, "__name__", "a function")
    if library and library != identity():
        warn(f"the twin of {name} comes from a process with another C library (or another variant of it, "
             f"for another processor): elementary functions may differ in the last digits here", RuntimeWarning)
    if content and content != content_hash(original):
        warn(f"the twin of {name} comes from a process where {name}, or something it reads, differs from the one in "
             f"{original.__module__} here: this process uses its own", RuntimeWarning)
    return cached(original, settings, check=False)


def pickle_ufuncs() -> None:
    """From now on: pickle tells NumPy's by their names alone."""
    import numpy as np

    copyreg.pickle(np.ufunc, reduced_ufunc)


def reduced_ufunc(ufunc: np.ufunc) -> Any:
    """What pickle stores of a ufunc: of a twin's the twin, of others what NumPy stores."""
    from pyflat.runtime import ufuncs
    from pyflat.runtime.registry import cached

    found = ufuncs.origin(ufunc)
    if found is None:
        return ufunc.__name__
    return rebuilt, (cached(found.original, found.settings), found.shapes, found.options)


def rebuilt(twin: Twin[..., Any], shapes: dict[str, Shape] | None, options: Options) -> np.ufunc:
    """The ufunc of a twin that has arrived; a generalised one without `shapes`."""
    from pyflat.runtime.gufuncs import make_gufunc
    from pyflat.runtime.ufuncs import make_ufunc

    if shapes is None:
        return make_gufunc(twin, twin._caller, options).ufunc
    return make_ufunc(twin, twin._caller, shapes, options).ufunc


# --- away
def dumps(value: object, name: str) -> bytes:
    """The bytes of a value with functions by their source. Raises PicklingError."""
    file = io.BytesIO()
    try:
        _pickler()(file, protocol=5).dump(value)
    except Exception as error:
        raise pickle.PicklingError(f"cannot pickle {name}, which travels with all that its function reads: {error}"
                                   ) from error
    return file.getvalue()


@functools.cache
def _pickler() -> type[pickle.Pickler]:
    """The class of picklers, over cloudpickle's where that is installed."""
    try:
        above = importlib.import_module("cloudpickle").Pickler
    except ImportError:
        above = pickle.Pickler
    return type("Pickler", (_BySource, above), {})


class _BySource(pickle.Pickler):
    """Functions without a home by their source, modules by their names."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.scopes: dict[int, dict[str, Any]] = {}

    def reducer_override(self, value: Any) -> Any:
        from pyflat.runtime.twins import Twin

        if isinstance(value, Twin):
            return restore, (value.original, value.settings, value.stats.library)
        if isinstance(value, FunctionType) and not has_home(value):
            return self._function(value)
        if isinstance(value, ModuleType) and getattr(value, "__spec__", None) is not None:
            return importlib.import_module, (value.__name__,)
        made = self._above(value)
        if isinstance(value, type) and isinstance(made, tuple) and value.__module__ in _MAIN:
            return _reduced_class(value, made)
        return made

    def _function(self, value: FunctionType) -> Any:
        scope = self.scopes.setdefault(id(value.__globals__), {"__name__": value.__globals__.get("__name__")})
        try:
            return _reduced_function(value, scope)
        except FlattenError as refusal:
            made = self._above(value)
            if made is NotImplemented:
                raise pickle.PicklingError(str(refusal)) from refusal
            return made

    def _above(self, value: Any) -> Any:
        """What the class above does: cloudpickle's, or nothing."""
        above = getattr(super(), "reducer_override", None)
        return NotImplemented if above is None else above(value)


def _reduced_function(function: FunctionType, scope: dict[str, Any]) -> Reduced:
    """`scope` stands for its globals, for all functions that share them."""
    from pyflat.frontend.capture import surroundings
    from pyflat.frontend.recompiled import features

    code = function.__code__
    place = _came_from.get((code.co_filename, code.co_firstlineno, code.co_name))
    if place is None:
        text, line = surroundings(function)
        above = max(0, code.co_firstlineno - line)  # the lines have the numbers that they have where it comes from
        place = "\n" * above + text, os.path.basename(code.co_filename), line + above, code.co_name, features(code)
    names = function.__name__, function.__qualname__, function.__module__, function.__doc__
    own = {k: _OwnTwin(v.settings) if _is_own_twin(v, function) else v
           for k, v in vars(function).items() if k != "__pyflat__"}
    read = {name: function.__globals__[name] for name in sorted(names_read(function))}
    state = (function.__defaults__, function.__kwdefaults__, function.__annotations__, cells_of(function), read, own)
    return _empty_function, (place, names, scope), state, None, None, _fill


@dataclass(frozen=True, slots=True)
class _OwnTwin:
    """The twin that the decorator hangs on a function."""

    settings: Settings


def _is_own_twin(value: object, function: FunctionType) -> bool:
    from pyflat.runtime.twins import Twin

    return isinstance(value, Twin) and value.original is function


def _reduced_class(cls: type, made: Reduced) -> Reduced:
    """A class of `__main__` by its contents; where `__main__` is the same script it is the one there."""
    make, arguments, state, _, _, fill = made
    return _own_class, (cls.__qualname__, content_hash(cls), make, arguments), (fill, state), None, None, _fill_class


# --- there
_arrived: OrderedDict[bytes, Any] = OrderedDict()
Place = tuple[str, str, int, str, int]
"""A text, the name of its file, the line and the name of the function in it, and the future statements in force."""
_came_from: dict[tuple[str, int, str], Place] = {}
"""Places of the code that has arrived, by its file, line and name: it travels on as it came."""


def arrive(data: bytes) -> Any:
    """What `dumps` has made bytes of."""
    key = sha256(data).digest()
    with arriving:
        if key not in _arrived:
            _arrived[key] = pickle.loads(data)
            while len(_arrived) > MOST_ARRIVED:
                _arrived.popitem(last=False)
        _arrived.move_to_end(key)
        return _arrived[key]


@functools.lru_cache(maxsize=1024)
def _code(text: str, file: str, line: int, name: str, features: int) -> CodeType:
    """The code, under the name of a file that `linecache` knows."""
    from pyflat.frontend.recompiled import code_in

    shown = f"<{file} {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}>"
    code = code_in(text, shown, line, name, features)
    if code is None:
        raise pickle.UnpicklingError(f"{name} is not in the text that came with it")
    linecache.cache[shown] = len(text), None, text.splitlines(keepends=True), shown
    _came_from[shown, line, name] = text, file, line, name, features
    return code


def _empty_function(place: Place, names: tuple[str, ...], scope: dict[str, Any]
                    ) -> FunctionType:
    code = _code(*place)
    scope.setdefault("__builtins__", builtins)
    made = FunctionType(code, scope, None, None, tuple(CellType() for _ in code.co_freevars))
    made.__name__, made.__qualname__, made.__module__, made.__doc__ = names
    return made


def _fill(made: FunctionType, state: tuple[Any, ...]) -> None:
    from pyflat.runtime.registry import cached

    made.__defaults__, made.__kwdefaults__, made.__annotations__, cells, read, own = state
    for name, cell in zip(made.__code__.co_freevars, made.__closure__ or (), strict=True):
        if name in cells:
            cell.cell_contents = cells[name]
    made.__globals__.update(read)
    for name, value in own.items():
        setattr(made, name, cached(made, value.settings) if isinstance(value, _OwnTwin) else value)


def _own_class(qualname: str, content: str, make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    found = find(sys.modules.get("__main__"), qualname)
    if isinstance(found, type) and content_hash(found) == content:
        return found
    return make(*arguments)


def _fill_class(cls: type, state: tuple[Callable[[type, Any], None], Any]) -> None:
    if find(sys.modules.get("__main__"), cls.__qualname__) is not cls:
        fill, contents = state
        fill(cls, contents)
