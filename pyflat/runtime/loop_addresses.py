"""Loops of twins for machine code that others compile: numba's, where a twin is called inside of `@njit`.

What is compiled may be kept on disk and run in another process, so that it holds no address. It has a text with the
twin in it, as it is pickled, and asks `address` when it runs first.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyflat.errors import refuse
from pyflat.ir.shape import Fixed, Leaf, Record, Shape
from pyflat.ir.types import Kind
from pyflat.runtime import ufuncs

if TYPE_CHECKING:
    import numpy as np

    from pyflat.runtime.settings import Options
    from pyflat.runtime.twins import Twin


@dataclasses.dataclass(frozen=True, slots=True)
class LoopOfTwin:
    """A loop that takes operands as NumPy's ufuncs do (`pyflat.targets.numba.strided_loop`)."""

    text: str
    """What `address` makes the loop of, in any process."""
    inputs: tuple[np.dtype[Any], ...]
    outputs: tuple[np.dtype[Any], ...]
    single: bool
    """The function returns one number, not a tuple of them."""


class LoopsOfTwin:
    """The loops of a twin, with the options in force when they are asked for."""

    def __init__(self, twin: Twin[..., Any], dumps: Callable[[object, str], bytes]):
        self.twin, self.dumps = twin, dumps
        self.name = twin.__name__.removesuffix("_flat")
        self.signature = twin._parameters.signature
        if not twin._parameters.simple:
            raise refuse("flatten/argument-kind", f"{self.name} has parameters that machine code cannot fill",
                         why="a call inside of numba's code passes numbers and arrays by position or name")

    def loop(self, kinds: Sequence[Kind]) -> LoopOfTwin:
        """The loop for arguments of these kinds. Raises FlattenError, ValueError for errors="mask"."""
        options = dataclasses.replace(self.twin.options, target="numba")  # the compiled twin, whatever arrays run on
        made = _loop(self.twin, tuple(kinds), options)
        result = made.built.result
        flat = isinstance(result, Leaf) or _is_tuple_of_numbers(result)
        if not flat:
            raise refuse("flatten/result-kind", f"the result of {self.name} is neither a number nor a tuple of numbers",
                         why="numba's machine code accepts only these", help="return a tuple of numbers")
        data = self.dumps(_Packed(self.twin, tuple(kinds), options, tuple(d.str for d in made.dtypes)), self.name)
        return LoopOfTwin(base64.b85encode(data).decode(), tuple(made.inputs), tuple(made.dtypes),
                          not isinstance(result, Record))


@dataclasses.dataclass(frozen=True, slots=True)
class _Packed:
    twin: Twin[..., Any]
    kinds: tuple[Kind, ...]
    options: Options
    results: tuple[str, ...]


def _is_tuple_of_numbers(result: Shape) -> bool:
    match result:
        case Record():
            return result.cls is tuple and all(isinstance(item, Leaf) or _is_number(item) for item in result.items)
        case Fixed():
            return _is_number(result)
    return False


def _is_number(item: Shape) -> bool:
    return isinstance(item, Fixed) and isinstance(item.value, bool | int | float)


def _loop(twin: Twin[..., Any], kinds: tuple[Kind, ...], options: Options) -> ufuncs.MadeLoop:
    shapes: dict[str, Shape] = {name: Leaf(kind) for name, kind in zip(twin._parameters.names, kinds, strict=True)}
    return ufuncs.make_loop(twin, twin._caller, shapes, options)


@functools.cache
def _kept(text: str) -> ufuncs.MadeLoop:
    """The loop, as long as the process lives: the machine code that has its address may."""
    packed: _Packed = pickle.loads(base64.b85decode(text))
    made = _loop(packed.twin, packed.kinds, packed.options)
    if packed.results != tuple(d.str for d in made.dtypes):
        now = ", ".join(d.name for d in made.dtypes)
        raise TypeError(f"{packed.twin.__name__} returns {now} now, but numba's code was compiled for "
                        f"{', '.join(packed.results)}: delete numba's cache")
    return made


def address(text: str) -> int:
    """Where the loop is in this process."""
    return _kept(text).address


def numba_type(twin: Twin[..., Any], dumps: Callable[[object, str], bytes]) -> Any:
    """What numba takes a twin for inside of its functions."""
    from pyflat.targets.numba import called_by_numba

    return called_by_numba.type_of(twin, lambda: LoopsOfTwin(twin, dumps), __name__)
