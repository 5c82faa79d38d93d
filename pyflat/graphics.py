"""Shaders: a Python function of a pixel position as WGSL or GLSL, rendered on a GPU or by NumPy.

    from pyflat.vec import Vec2, Vec3, length, smoothstep, vec3

    def disc(uv: Vec2, radius: float) -> Vec3:
        return vec3(1.0 - smoothstep(radius - 0.01, radius + 0.01, length(uv - 0.5)))

    print(graphics.fragment(disc, uniforms=["radius"]))           a complete shader
    on_gpu = graphics.render(disc, 320, 240, radius=0.3)          float32, shape (240, 320, 4)
    on_cpu = graphics.paint(disc, 320, 240, radius=0.3)           float64, the same by the NumPy twin

The function takes the position of a pixel's centre: u from 0.0 (left) to 1.0 (right), v from 0.0 (bottom) to 1.0 (top).
These are the parameters other than uniforms: two floats, or one `Vec2`. The result is grey (one number), rgb or rgba,
0.0 to 1.0.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pyflat.backend.arguments import argument_shapes
from pyflat.frontend.callables import unwrap
from pyflat.ir.loops import has_loop
from pyflat.ir.nodes import Function
from pyflat.ir.opaque_calls import Call
from pyflat.ir.recursion import with_room
from pyflat.ir.shape import Leaf, Record, Shape, item_at, leaves, make_record, rebuild, record_of, written_record
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.runtime.compiled import flatten
from pyflat.runtime.registry import twin_of
from pyflat.runtime.settings import Options, resolve, settings
from pyflat.targets import target as targets
from pyflat.targets.shaders.language import leaf_names

if TYPE_CHECKING:
    from pyflat.targets.shaders import Printed

Language = Literal["wgsl", "glsl"]
Picture = npt.NDArray[np.floating[Any]]
COLOURS = (1, 3, 4)


@dataclass(frozen=True, slots=True)
class Shader:
    """A function flattened for a picture: its IR, and which of its parameter leaves are uniform, with their values."""

    ir: Function
    result: Shape
    uniform: tuple[bool, ...]
    values: tuple[Any, ...]
    whitelist: Mapping[str, Call]

    def fragment(self, language: Language = "wgsl", prelude: str = "") -> str:
        """The fragment shader, in WGSL with its vertex shader. `prelude` defines the functions of the twin's
        `whitelist=` in the shading language."""
        printed = self._printed(language, prelude)
        return str(_module(language).fragment(printed, self.uniform))

    def optimized(self) -> Shader:
        """The shader optimised with all of fast math: fewer operations, different last digits, and undefined results
        for nan and infinities. A shader with a loop stays unchanged."""
        from pyflat.backend import FlatFunction, flatten_fold, flatten_fuse, flatten_optimize
        from pyflat.passes.pipelines import VALUES, run

        if has_loop(self.ir.body):
            return self
        flat = FlatFunction(self.ir.name, None, run(self.ir, VALUES), self.result)
        fast = flatten_optimize(flatten_fold(flat), fast_math=True)
        return replace(self, ir=flatten_fuse(fast, fast_math=True).ir)

    def render(self, width: int, height: int, prelude: str = "") -> npt.NDArray[np.float32]:
        """The picture, as from `render`."""
        from pyflat.targets.wgsl.run import run_fragment

        return run_fragment(self._printed("wgsl", prelude), self.uniform, self.values, width, height)

    def _printed(self, language: Language, prelude: str) -> Printed:
        function = _module(language).function
        printed: Printed = function(self.ir, leaf_names(self.result), whitelist=self.whitelist)
        return replace(printed, text=f"{prelude.strip()}\n\n{printed.text}") if prelude else printed


def _module(language: str) -> Any:
    """The module of a shading language. Raises ValueError."""
    if language not in targets.having("shading"):
        raise ValueError(f"language={language!r}: expected one of {', '.join(map(repr, targets.having('shading')))}")
    return import_module(targets.of(language).shading or "")


@with_room
def shader(fn: Callable[..., Any], /, **uniforms: Any) -> Shader:
    """Flatten a function, or a twin with its options, for a picture. `uniforms` gives a value to each parameter that is
    the same for all pixels: a number, a vector, or an object. Objects, and parameters in the twin's `static=`, are
    fixed when the shader is made. Parameters with a default are uniforms too.

    Raises FlattenError if `fn` cannot be flattened, TypeError if it does not return a colour for a position.
    """
    given = _Parameters.of(fn, uniforms)
    flags: list[bool] = []
    values: list[Any] = []
    for name, shape in given.shapes.items():
        count = sum(1 for _ in leaves(shape))
        flags += [name in given.numbers] * count
        values += _numbers(given.numbers[name]) if name in given.numbers else []
    done = flatten(given.function, given.shapes, given.options)
    size = sum(1 for _ in leaves(done.spec.result))
    if size not in COLOURS:
        raise TypeError(f"{given.function.__name__} gives {size} numbers, which is not a colour: expected one (grey), "
                        "three (rgb) or four (rgba)")
    return Shader(done.flat, done.spec.result, tuple(flags), tuple(values), done.spec.opaque.entries)


@with_room
def fragment(fn: Callable[..., Any], /, *, uniforms: Collection[str] | Mapping[str, Any] = (),
             language: Language = "wgsl", prelude: str = "", fast_math: bool = False) -> str:
    """A complete fragment shader of `fn`. `uniforms`: the parameters that are the same for all pixels, by name, or with
    values where these specialise the shader; `prelude`: see `Shader.fragment`; `fast_math`: see `Shader.optimized`.
    Raises as `shader` does."""
    given = dict(uniforms) if isinstance(uniforms, Mapping) else _examples(fn, uniforms)
    made = shader(fn, **given)
    return (made.optimized() if fast_math else made).fragment(language, prelude)


def render(fn: Callable[..., Any], width: int, height: int, /, **uniforms: Any) -> npt.NDArray[np.float32]:
    """The picture of `fn` on the device that wgpu finds: shape (height, width, 4), float32, the top row first.

    Raises ImportError without wgpu, `pyflat.targets.wgsl.run.NoAdapter` if it finds no device.
    """
    return shader(fn, **uniforms).render(width, height)


def paint(fn: Callable[..., Any], width: int, height: int, /, **uniforms: Any) -> npt.NDArray[np.float64]:
    """The image of `fn`, drawn by the NumPy twin in 64 bits; pixels where `fn` raises are nan."""
    given = _Parameters.of(fn, uniforms)
    u, v = np.meshgrid((np.arange(width) + 0.5) / width, 1.0 - (np.arange(height) + 0.5) / height)
    places = iter((u, v))
    arguments = {name: given.value(name) if given.knows(name) else rebuild(shape, places)
                 for name, shape in given.shapes.items()}
    options = {"loops": given.options.loops, "max_unroll": given.options.max_unroll,
               "max_trips": given.options.max_trips, "static": tuple(given.constant)}
    found, _ = twin_of(given.function, {**options, "target": "numpy", "errors": "mask"})(**arguments)
    record = written_record(shader(fn, **uniforms).result)
    if record is not None:
        found = (found, *[item_at(arguments, path) for path in record.paths])
    bands = [np.broadcast_to(np.asarray(band, np.float64), (height, width)) for band in _numbers(found)]
    if len(bands) == 1:
        bands *= 3
    return np.stack([*bands, np.ones((height, width))][:4], axis=-1)


def to_bytes(picture: Picture) -> npt.NDArray[np.uint8]:
    """Convert a picture to bytes: 0.0 to 0, 1.0 to 255, with clamping; nan to 0."""
    return np.round(np.nan_to_num(np.clip(picture, 0.0, 1.0)) * 255.0).astype(np.uint8)


# --- parameters
@dataclass(frozen=True, slots=True)
class _Parameters:
    """The parameters of a shader: the shapes of all, and the values of those that are uniform."""

    function: FunctionType
    options: Options
    shapes: dict[str, Shape]
    numbers: dict[str, Any]
    constant: dict[str, Any]

    @classmethod
    def of(cls, fn: Any, uniforms: Mapping[str, Any]) -> _Parameters:
        function, options = _function_of(fn)
        defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()
                    if parameter.default is not parameter.empty}
        given = {**defaults, **uniforms}
        constant = {name: value for name, value in given.items() if name in options.static or not _is_numbers(value)}
        declared = argument_shapes(function, None, None, constant)
        numbers = {name: _as_declared(value, declared.get(name)) for name, value in given.items()
                   if name not in constant}
        shapes = argument_shapes(function, None, numbers, constant)
        places = sum(1 for name, shape in shapes.items() if name not in numbers for _ in leaves(shape))
        if places != 2:
            raise TypeError(f"{function.__name__} has {places} numbers that are not uniforms, expected two, the pixel "
                            "position: annotate it as Vec2, and give the others values")
        return cls(function, options, shapes, numbers, constant)

    def knows(self, name: str) -> bool:
        return name in self.numbers or name in self.constant

    def value(self, name: str) -> Any:
        return self.numbers[name] if name in self.numbers else self.constant[name]


def _function_of(fn: Any) -> tuple[FunctionType, Options]:
    """The function below a twin or a callable, and the options that the twin flattens it with."""
    known = ("loops", "max_unroll", "max_trips", "static", "whitelist")
    kept = {name: value for name, value in getattr(fn, "settings", ()) if name in known}
    options = resolve(settings({"target": "numpy", "errors": "raise", **kept}))
    return unwrap(getattr(fn, "original", fn)).function, options


def _examples(fn: Callable[..., Any], names: Collection[str]) -> dict[str, Any]:
    """A value of the declared shape for each uniform that has only a name."""
    function, _ = _function_of(fn)
    shapes = argument_shapes(function, None, None, None)
    unknown = [name for name in names if name not in shapes]
    if unknown:
        raise TypeError(f"{function.__name__} has no parameter {unknown[0]!r}")
    return {name: rebuild(shapes[name], itertools.repeat(0.0)) for name in names}


def _is_numbers(value: Any) -> bool:
    """A uniform; anything else specialises the shader."""
    return isinstance(value, bool | int | float | np.generic) or record_of(value) is not None


def _as_declared(value: Any, shape: Shape | None) -> Any:
    """Numbers of the kinds that the parameter declares; of a record that it does not declare, floats."""
    record = record_of(value)
    if record is None:
        kind = shape.kind if isinstance(shape, Leaf) else FLOAT
        return {BOOL: bool, INT: int, FLOAT: float}[kind](value)
    cls, names, items = record
    inner = shape.items if isinstance(shape, Record) and len(shape.items) == len(items) else (None,) * len(items)
    return make_record(cls, names, [_as_declared(item, part) for item, part in zip(items, inner, strict=True)])


def _numbers(value: Any) -> list[Any]:
    record = record_of(value)
    if value is None:
        return []
    return [value] if record is None else [number for item in record[2] for number in _numbers(item)]
