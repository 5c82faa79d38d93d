"""The functions of Python's modules and NumPy, whatever a program has put in their places.

    math.sin = double

Tables of what pyflat knows have functions as keys. Where such names were bound anew before the tables are made, they
are made of modules in which every name has its own function again: one that says itself that it is that.
"""

from __future__ import annotations

import builtins
import gc
import importlib
import importlib.util
import itertools
import pkgutil
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy._core import umath

from pyflat.errors import PACKAGE

_MODULES = ("math", "cmath", "builtins", "operator", "functools", "itertools", "bisect", "statistics", "dataclasses",
            "copy", "inspect", "warnings", "numpy", "numpy.linalg")
_ALIASES = {
    "numpy": {"abs": "absolute", "mod": "remainder", "pow": "power", "conj": "conjugate", "true_divide": "divide",
              "concat": "concatenate", "permute_dims": "transpose", "bitwise_not": "invert", "bitwise_invert": "invert",
              "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "show_config": "show",
              **{"a" + name: "arc" + name for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")}},
    "bisect": {"bisect": "bisect_right", "insort": "insort_right"},
}
"""Names of one function more."""
_COMPUTING = (
    "abs", "all", "any", "bool", "bytes", "callable", "dict", "divmod", "enumerate", "filter", "float", "frozenset",
    "getattr", "hasattr", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "pow",
    "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip")
_READ = {"math": "math", "cmath": "cmath", "operator": "operator", "np": "numpy"}
"""Modules that pyflat computes with, by the names that its own modules have for them."""
_COMPILING = tuple(f"pyflat.{part}." for part in (
    "analysis", "backend", "frontend", "functions", "ir", "passes", "runtime", "targets.numba", "targets.numpy"))
_CALLABLES = (types.BuiltinFunctionType, types.FunctionType, np.ufunc, type, type(np.sum))


def original(module: str, name: str) -> Any:
    """The function that a module has by itself under a name; None where it has none."""
    found = getattr(importlib.import_module(module), name, None)
    return found if found is None or _is_own(module, name, found) else _sought(module, name)


def replacements() -> dict[tuple[str, str], Any]:
    """What stands in the place of functions, by module and name."""
    return {(label, name): value for label in _MODULES if (module := sys.modules.get(label)) is not None
            for name, value in _replaced(label, module).items()}


@dataclass(frozen=True, slots=True)
class _Seen:
    """A module as it was looked at: what was bound in it then, and what of that stood in the place of functions."""

    module: types.ModuleType
    bound: dict[str, Any]
    replaced: dict[str, Any]

    def holds(self, module: types.ModuleType) -> bool:
        """Whether the module is bound as it was. Without a call of what may be replaced."""
        now = module.__dict__
        if module is not self.module or now.keys() != self.bound.keys():
            return False
        for name, value in self.bound.items():  # noqa: SIM110 - all() may be another function
            if now.get(name) is not value:
                return False
        return True


_seen: dict[str, _Seen] = {}


def _replaced(label: str, module: types.ModuleType) -> dict[str, Any]:
    """What stands in the place of functions of one module; looked for where the module has changed, as this is asked
    before each flattening."""
    seen = _seen.get(label)
    if seen is None or not seen.holds(module):
        bound = {**module.__dict__}
        found = {name: value for name, value in _exported(module) if not _is_own(label, name, value)}
        seen = _seen[label] = _Seen(module, bound, found)
    return seen.replaced


def replaced_builtin() -> str | None:
    """The name of a builtin for computing that is another function now."""
    return next((name for name in _COMPUTING if not _is_own("builtins", name, vars(builtins).get(name))), None)


def _exported(module: types.ModuleType) -> list[tuple[str, Any]]:
    """The callables that are a module's; what it imports for itself is not."""
    names = getattr(module, "__all__", None) or [name for name in list(vars(module)) if not name.startswith("_")]
    found = [(name, vars(module).get(name)) for name in names]
    return [(name, value) for name, value in found if callable(value)]


def _is_own(module: str, name: str, value: Any) -> bool:
    """Whether a callable says that it is that of a module: its name and its home stay with it, however it is bound."""
    cls = type(value)
    if not isinstance(value, _CALLABLES):
        return _root(cls.__module__) in (_root(module), "sitebuiltins", "pyflat")
    known = _ALIASES.get(module, {}).get(name, name)
    if isinstance(value, np.ufunc):
        python = _root(module) in sys.stdlib_module_names
        return value.__name__ == known and not python and (module != "numpy" or value is getattr(umath, known, None))
    at_home = _root(_home(value)) in (_root(module), "io" if module == "builtins" else "")
    return at_home and (isinstance(value, type) or value.__name__ in (name, known))


def _home(function: Any) -> str:
    """The module in which a function or class was made."""
    owner = getattr(function, "__self__", None)
    return owner.__name__ if isinstance(owner, types.ModuleType) else str(getattr(function, "__module__", ""))


def _root(module: str) -> str:
    return module.partition(".")[0].lstrip("_")


def _sought(module: str, name: str) -> Any:
    """A function that its module no longer has: where another module still has it, or of a fresh copy. Among all
    objects are proxies of what is gone, which isinstance() would ask for its class."""
    known = _ALIASES.get(module, {}).get(name, name)
    others = [vars(other).get(known) for label, other in list(sys.modules.items())
              if _root(label) == _root(module) and isinstance(other, types.ModuleType)]
    for found in itertools.chain(others, gc.get_objects()):
        if issubclass(type(found), _CALLABLES) and found.__name__ == known and _is_own(module, name, found) \
                and (isinstance(found, np.ufunc) or _home(found).lstrip("_") == module):
            return found
    spec = importlib.util.find_spec(module)
    if spec is None or spec.loader is None or spec.origin is None or spec.origin.endswith(".py"):
        return None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return getattr(fresh, name, None)


def keep_own() -> None:
    """What a program replaces from now on is not replaced for pyflat: its modules read copies of those that they
    compute with. Modules that are not imported yet are, if anything was replaced already; while a builtin is, nothing
    can be imported with its own, and nothing is flattened either."""
    if replacements() and not replaced_builtin():
        _import_all()
    imported = len(sys.modules), next(reversed(sys.modules))
    if imported == _imported.get(PACKAGE):  # going through some thousand modules takes 3 ms
        return
    ours = [module for label, module in list(sys.modules.items()) if label[:7] in ("pyflat", "pyflat.")]
    for module in ours:
        for name, home in _READ.items():
            if vars(module).get(name) is sys.modules.get(home, module):
                setattr(module, name, _own_copy(home))
    if not any(getattr(module.__spec__, "_initializing", False) for module in ours):  # whose imports are still to come
        _imported[PACKAGE] = imported


_imported: dict[str, tuple[int, str]] = {}
"""How many modules there were, and the last one, when pyflat's were last looked at."""


@cache
def _import_all() -> None:
    """Import what compiles, wherever it would be imported otherwise; what knows other libraries imports them."""
    with _in_their_places():
        for module in pkgutil.walk_packages([PACKAGE], "pyflat."):
            if module.name.startswith(_COMPILING) and ".containers." not in module.name:
                with suppress(ImportError):  # numba's library is not there
                    importlib.import_module(module.name)


@contextmanager
def _in_their_places() -> Iterator[None]:
    """While it lasts, modules that are imported import copies in which every name has its own function, where it has
    another one now. The modules themselves stay as they are, and so does `builtins`."""
    changed = {module: sys.modules[module] for module, _ in replacements() if module != "builtins"}
    copies = {name: _own_copy(name) for name in changed}
    for name, module in changed.items():
        _add_submodules(copies[name], module)
    sys.modules.update(copies)
    try:
        yield
    finally:
        sys.modules.update(changed)
        for name, module in changed.items():
            _add_submodules(module, copies[name])


def _add_submodules(package: types.ModuleType, other: types.ModuleType) -> None:
    """What was imported below the one is an attribute of the other too."""
    for name, found in vars(other).items():
        if isinstance(found, types.ModuleType) and name not in vars(package):
            setattr(package, name, found)


@cache
def _own_copy(label: str) -> types.ModuleType:
    """A module in which every name has its own function."""
    copy = types.ModuleType(label)
    vars(copy).update(vars(sys.modules[label]))
    for module, name in replacements():
        if module == label:
            setattr(copy, name, _sought(module, name))
    return copy
