"""The original as a twin reads it: helpers that numba has compiled are the Python that they were written in.

numba's machine code has other bits than Python for some operations (`**`, whatever `fastmath=True` contracts), wraps
ints and widens elements of arrays. A twin is made from the Python, so where the original runs in its place, for a lane
that fails or a kernel that warns, it has to call the Python too: else one row that warns would change the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def in_python(function: FunctionType) -> FunctionType:
    """`function`, or where it gets to something that numba has compiled, by a global name, an attribute of a module, a
    closure or a default, a copy that gets to the Python below it. Names are looked up in the module as it is then."""
    if "numba" not in sys.modules or not _meets_compiled(function, set()):
        return function
    return _copied(function, {})


def python_of(value: object) -> FunctionType | None:
    """The function that numba has compiled; None for what is none of its functions."""
    if type(value).__name__ == "DUFunc":
        value = getattr(value, "_dispatcher", None)
    found = getattr(value, "py_func", None) if type(value).__module__.startswith("numba.") else None
    return found if isinstance(found, FunctionType) else None


def _meets_compiled(function: FunctionType, seen: set[FunctionType]) -> bool:
    seen.add(function)
    for value in _reached(function):
        if python_of(value) is not None:
            return True
        if isinstance(value, FunctionType) and value not in seen and _meets_compiled(value, seen):
            return True
    return False


def _reached(function: FunctionType) -> Iterator[object]:
    """What the names of a function mean now, and the attributes that it reads of modules."""
    names = [name for code in codes(function.__code__) for name in code.co_names]
    cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    waiting: list[object] = [function.__globals__[name] for name in names if name in function.__globals__]
    waiting += [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    seen = set[int]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, ModuleType) and id(value) not in seen:
            seen.add(id(value))
            waiting += [vars(value)[name] for name in names if name in vars(value)]
        yield value


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside of it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def _is_empty(cell: CellType) -> bool:
    try:
        return cell.cell_contents is None
    except ValueError:
        return True


_Memo = dict[FunctionType, FunctionType]


def _copied(function: FunctionType, memo: _Memo) -> FunctionType:
    if function in memo:
        return memo[function]
    cells = tuple(CellType() for _ in function.__closure__ or ())
    made = FunctionType(function.__code__, _Globals(function.__globals__, memo), function.__name__, None, cells)
    memo[function] = made
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        if not _is_empty(old):
            cell.cell_contents = _seen(old.cell_contents, memo)
    made.__defaults__ = function.__defaults__ and tuple(_seen(value, memo) for value in function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__ and {k: _seen(v, memo) for k, v in function.__kwdefaults__.items()}
    made.__dict__.update(function.__dict__)
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return made


def _seen(value: Any, memo: _Memo) -> Any:
    """What stands in the place of a value."""
    below = python_of(value)
    if isinstance(value, np.ufunc) or type(value).__name__ == "DUFunc":
        return value if below is None else _by_scalars(value, _copied(below, memo))
    if below is not None:
        return _copied(below, memo)
    if isinstance(value, ModuleType) and "numba" in sys.modules:
        return _Module(value, memo)
    if isinstance(value, FunctionType) and _meets_compiled(value, set()):
        return _copied(value, memo)
    return value


def _by_scalars(ufunc: Any, function: FunctionType) -> Callable[..., Any]:
    """numba.vectorize's: of numbers the function, of arrays the ufunc."""
    return lambda *args: (ufunc if any(np.ndim(arg) for arg in args) else function)(*args)


class _Globals(dict[str, Any]):
    """The names of a module as they are when they are read. CPython reads what is no plain dict by its methods."""

    def __init__(self, live: dict[str, Any], memo: _Memo):
        super().__init__(live)
        self._live, self._memo = live, memo

    def __getitem__(self, name: str) -> Any:
        return _seen(self._live[name], self._memo)


class _Module:
    """A module of which attributes are read."""

    def __init__(self, module: ModuleType, memo: _Memo):
        self._module, self._memo = module, memo

    def __getattr__(self, name: str) -> Any:
        return _seen(getattr(self._module, name), self._memo)
