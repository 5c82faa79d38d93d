"""Arguments of a kernel: arrays of every dtype, size and layout, which may share memory, and numbers of both flavours.

A set of arguments is text: the body of a function that makes them, so that each call has its own, and that a failure can
be pasted into a test.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

FLOATS, INTS, UNSIGNED = ("float32", "float64"), ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTS, *UNSIGNED, *FLOATS)
LAYOUTS = ("plain", "strided", "reversed", "fortran", "inner", "readonly", "swapped")
"""How an array lies in memory; "inner" is a part of a larger one."""
MODES = ("default", "error", "raise", "ignore", "strict")
"""What becomes of warnings: shown as the filters of the original would, errors, `np.errstate(all="raise")`, ignored, the
same for all but underflow."""


@dataclass(frozen=True)
class Param:
    """Of a kernel: an array with named dimensions, or a number."""

    name: str
    dims: tuple[str, ...] = ()
    dtype: str = ""
    """Of an array; "" for numbers."""
    number: str = ""
    """What a number is: "extent", "int" or "float"; "index" for an array that holds indices into `of`."""
    of: str = ""
    written: bool = False

    @property
    def is_array(self) -> bool:
        return bool(self.dtype)


@dataclass(frozen=True)
class ArrayInput:
    dtype: str
    shape: tuple[int, ...]
    values: tuple[Any, ...]
    layout: str = "plain"

    @property
    def text(self) -> str:
        return _LAYOUT_TEXT[self.layout](self)

    def made(self) -> str:
        """The values in the order of C, dense."""
        values = ", ".join(_number(value) for value in self.values)
        if len(self.shape) == 1:
            return f"np.array([{values}], np.{_name(self.dtype)})"
        return f"np.array([{values}], np.{_name(self.dtype)}).reshape({self.shape})"


def _name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def _number(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if value != value else "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _strided(a: ArrayInput) -> str:
    return f"np.repeat({a.made()}, 2, axis={len(a.shape) - 1})[..., ::2]"


def _inner(a: ArrayInput) -> str:
    return f"np.pad({a.made()}, 1, constant_values={'True' if a.dtype == 'bool' else '77'})[{', '.join(['1:-1'] * len(a.shape))}]"


_LAYOUT_TEXT: Mapping[str, Callable[[ArrayInput], str]] = {
    "plain": ArrayInput.made,
    "strided": _strided,
    "reversed": lambda a: f"{a.made()}[::-1].copy()[::-1]",
    "fortran": lambda a: f"np.asfortranarray({a.made()})",
    "inner": _inner,
    "readonly": lambda a: f"readonly({a.made()})",
    "swapped": lambda a: f"{a.made()}.astype(np.dtype('{a.dtype}').newbyteorder())",
}


def readonly(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


Given = tuple[str, ArrayInput | str]


@dataclass(frozen=True)
class Inputs:
    """One set of arguments, in the order of the parameters."""

    given: tuple[Given, ...]
    """Name and value; a value that is text may use names that stand before it: `a[::-1]`. A name that ends with an
    underscore is no argument."""
    mode: str = "default"

    @property
    def text(self) -> str:
        lines = [f"{name} = {value if isinstance(value, str) else value.text}" for name, value in self.given]
        return "\n".join([*lines, f"return {', '.join(name for name, _ in self.given if not name.endswith('_'))},"])

    def arguments(self) -> tuple[Any, ...]:
        """Made anew."""
        return made(self.text)


@dataclass(frozen=True)
class Written:
    """A set of arguments that somebody wrote: statements up to the last semicolon, then what is given."""

    source: str
    mode: str = "default"

    @property
    def text(self) -> str:
        *before, given = self.source.split(";")
        return "\n".join([*(line.strip() for line in before), f"return {given.strip()}"])

    def arguments(self) -> tuple[Any, ...]:
        """Made anew."""
        found = made(self.text)
        return found if isinstance(found, tuple) else (found,)


@functools.lru_cache(256)
def _maker(text: str) -> Callable[[], tuple[Any, ...]]:
    body = "\n".join(f"    {line}" for line in text.splitlines())
    space: dict[str, Any] = {"np": np, "readonly": readonly, "math": math}
    exec(f"def make():\n{body}\n", space)
    make: Callable[[], tuple[Any, ...]] = space["make"]
    return make


def made(text: str) -> tuple[Any, ...]:
    """The arguments of such a text."""
    return _maker(text)()


# --- drawing


def draw_inputs(r: Random, params: Sequence[Param], depth: int, first: Inputs | None, *, tame: bool = False,
                wide: str = "") -> Inputs:
    """Of the dtypes of the parameters; the first set is as one expects them, later ones are harder. `tame` ones have
    usual values, and share memory more often. `wide`: a dimension of many elements."""
    sizes = {dim: _extent(r, depth, plain=first is None) for dim in sorted({d for p in params for d in (*p.dims, p.of) if d})}
    if wide in sizes:
        sizes[wide] = r.choice((2, 7, 8, 17, 33, 40, 70))
    given: list[Given] = []
    for param in params:
        given.append((param.name, _draw(r, param, sizes, plain=first is None or tame and r.random() < 0.6)))
    if first is not None and r.random() < (0.5 if tame else 0.35):
        given = _overlapping(r, params, given, sizes)
    mode = "default" if first is None or r.random() < 0.8 else r.choice(MODES)
    return Inputs(tuple(given), mode)


def _extent(r: Random, depth: int, *, plain: bool) -> int:
    most = {0: 40, 1: 40, 2: 12}.get(depth, 6)
    if plain:
        return r.randrange(3, min(most, 12) + 1)
    return min(most, r.choice((0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 33)))


def _draw(r: Random, param: Param, sizes: Mapping[str, int], *, plain: bool) -> ArrayInput | str:
    if not param.is_array:
        return _draw_number(r, param, sizes, plain=plain)
    shape = tuple(sizes[dim] for dim in param.dims)
    count = math.prod(shape)
    if param.of:
        size = max(1, sizes[param.of])
        low = 0 if param.dtype.startswith("u") else -size
        values: list[Any] = [r.randrange(low if r.random() < 0.3 else 0, size) for _ in range(count)]
        if not plain and count and r.random() < 0.15:
            values[r.randrange(count)] = r.choice((size, size + 1, 100 if not low else -size - 1))
    else:
        values = [element(r, param.dtype, plain=plain) for _ in range(count)]
    layout = "plain" if plain or r.random() < 0.4 else r.choice(LAYOUTS)
    if layout == "readonly" and param.written and r.random() < 0.9:
        layout = "strided"
    return ArrayInput(param.dtype, shape, tuple(values), layout)


HALVES = (2**60 + 2**36 + 1, 2**54 + 2**30 + 1)
"""Ints that are another float32 by way of a float64."""


def element(r: Random, dtype: str, *, plain: bool) -> Any:
    if dtype == "bool":
        return r.random() < 0.5
    kind = np.dtype(dtype)
    if dtype in FLOATS:
        if plain or r.random() < 0.8:
            return r.choice((r.randrange(-4, 5) * 0.5, round(r.uniform(-3, 3), 2)))
        huge, tiny = (3e38, 1e-45) if dtype == "float32" else (1e308, 5e-324)
        return r.choice((math.nan, math.inf, -math.inf, huge, -huge, tiny, 0.0, -0.0))
    info = np.iinfo(kind)
    if plain or r.random() < 0.8:
        return r.randrange(0 if info.min == 0 else -5, 10)
    halves = HALVES if kind.itemsize == 8 else ()
    return r.choice((info.min, info.max, info.max - 1, info.max // 2 + 1, 0, *halves))


def _draw_number(r: Random, param: Param, sizes: Mapping[str, int], *, plain: bool) -> str:
    if param.number == "extent":
        off = 0 if plain or r.random() < 0.85 else r.choice((-1, 1, -20))
        return _flavoured(r, sizes[param.of] + off, ("np.int64", "np.int32"), plain=plain)
    if param.number == "int":
        value = r.choice((0, 1, 2, 3, -1, 5, 9))
        if not plain and value > 0 and r.random() < 0.15:
            return f"np.uint64({value * r.choice((1, 2**60 + 1))})"
        return _flavoured(r, value, ("np.int64", "np.int32", "np.int16"), plain=plain)
    value = r.choice((0.0, 0.5, -1.5, 2.0, 0.1, 1e300)) if not plain else r.choice((0.5, -1.5, 2.0))
    return _flavoured(r, value, ("np.float64", "np.float32"), plain=plain)


def _flavoured(r: Random, value: float, flavours: Sequence[str], *, plain: bool) -> str:
    """A number of Python, or sometimes one of NumPy."""
    text = _number(value)
    if plain or r.random() < 0.8:
        return text
    flavour = r.choice(flavours)
    return text if flavour == "np.float32" and abs(value) > 1e38 else f"{flavour}({text})"


def _overlapping(
    r: Random, params: Sequence[Param], given: list[Given], sizes: Mapping[str, int]
) -> list[Given]:
    """One array made of the memory of another one that stands before it."""
    pairs = [(i, j) for j, b in enumerate(params) for i, a in enumerate(params[:j])
             if a.dtype and a.dtype == b.dtype and len(a.dims) == len(b.dims)]
    if not pairs:
        return given
    i, j = r.choice(pairs)
    a, b = params[i].name, params[j].name
    shape, other = (tuple(sizes[dim] for dim in params[k].dims) for k in (i, j))
    array, found = given[i][1], list(given)
    if len(shape) == 1 and shape == other and shape[0] and isinstance(array, ArrayInput) and r.random() < 0.4:
        longer = replace(array, shape=(shape[0] + 1,), values=(*array.values, array.values[0]), layout="plain")
        found[j] = (b, f"{a}_[1:]")
        found[i:i + 1] = [(f"{a}_", longer), (a, f"{a}_[:-1]")]
        return found
    ways = [a, *([f"{a}[::-1]", f"{a}[:]"] if shape == other else []), *([f"{a}.T"] if shape == other[::-1] else [])]
    found[j] = (b, r.choice(ways))
    return found


def smaller_inputs(inputs: Inputs) -> Iterator[Inputs]:
    """Simpler arguments: dense, dull values, the usual filters."""
    if inputs.mode != "default":
        yield replace(inputs, mode="default")
    for i, (name, value) in enumerate(inputs.given):
        for simpler in _simpler(value):
            given = list(inputs.given)
            given[i] = (name, simpler)
            yield replace(inputs, given=tuple(given))


def _simpler(value: ArrayInput | str) -> Iterator[ArrayInput | str]:
    if isinstance(value, str):
        if value.startswith("np.") and "(" in value and not value.startswith("np.roll"):
            yield value[value.index("(") + 1:-1]
        return
    if value.layout != "plain":
        yield replace(value, layout="plain")
    for axis, extent in enumerate(value.shape):
        for less in dict.fromkeys((extent // 2, extent - 1)):
            if 0 <= less < extent:
                grid = np.array(value.values, object).reshape(value.shape)
                kept = np.take(grid, range(less), axis=axis)
                yield replace(value, shape=kept.shape, values=tuple(kept.ravel().tolist()))
    dull = tuple(type(v)(1) for v in value.values)
    if dull != value.values:
        yield replace(value, values=dull)
