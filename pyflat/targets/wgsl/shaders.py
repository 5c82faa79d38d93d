"""WGSL shaders around a printed function.

A compute shader reads lane k of the arguments from `ins[k]` and writes its results to `outs[k]`; both are arrays of
structures with a 32-bit field for each leaf (bools are u32). A fragment shader calls the function once for each pixel:
the two leaves that are not uniform are its centre, as fractions of the picture, from left to right and from bottom to
top; the results are grey, rgb or rgba.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.ir.nodes import Function
from pyflat.ir.opaque_calls import Call
from pyflat.ir.shape import Shape
from pyflat.ir.types import BOOL, Kind
from pyflat.targets.shaders import Printed, leaf_names, prepare, print_function
from pyflat.targets.shaders.language import colour
from pyflat.targets.target import Request
from pyflat.targets.wgsl.table import TYPES, WGSL

WORKGROUP = 64


def function(fn: Function, results: Sequence[str], name: str = "",
             whitelist: Mapping[str, Call] | None = None) -> Printed:
    """The function alone. `whitelist`: the calls in it that are kept, see `print_function`. Raises FlattenError for
    what WGSL does not have."""
    return print_function(prepare(fn, WGSL.stay), WGSL, results, name, whitelist)


def text(request: Request) -> str:
    """The compute shader of a twin."""
    return compute(function(request.function, leaf_names(request.spec.result)))


def _host_type(kind: Kind) -> str:
    return "u32" if kind is BOOL else TYPES[kind]


def _from_host(text: str, kind: Kind) -> str:
    return f"({text} != 0u)" if kind is BOOL else text


def _struct(name: str, fields: Sequence[tuple[str, Kind]]) -> list[str]:
    return [f"struct {name} {{", *[f"    {field}: {_host_type(kind)}," for field, kind in fields], "}"]


def compute(printed: Printed) -> str:
    """A compute shader with the entry point `main`, one lane for each invocation."""
    arguments = ", ".join(_from_host(f"given.{name}", kind) for name, kind in printed.params)
    kept = [f"select(0u, 1u, {value})" if kind is BOOL else value
            for value, (_, kind) in zip(printed.values, printed.results, strict=True)]
    given = ["    let given = ins[at.x];"] if printed.params else []
    inputs = [*_struct("In", printed.params), "@group(0) @binding(0) var<storage, read> ins: array<In>;"]
    lines = [
        *(inputs if printed.params else []),
        *_struct("Out", printed.results),
        "@group(0) @binding(1) var<storage, read_write> outs: array<Out>;",
        "",
        f"@compute @workgroup_size({WORKGROUP})",
        "fn main(@builtin(global_invocation_id) at: vec3<u32>) {",
        "    if (at.x >= arrayLength(&outs)) { return; }",
        *given,
        f"    let result = {printed.name}({arguments});",
        f"    outs[at.x] = Out({', '.join(kept)});",
        "}",
    ]
    return printed.text + "\n" + "\n".join(lines) + "\n"


def fragment(printed: Printed, uniform: Sequence[bool]) -> str:
    """A fragment shader `fragment`, and the vertex shader `vertex` of the one triangle that covers the picture.

    `uniform` says which parameters are the same for all pixels: all but two. They are the fields of a uniform
    structure in the order of the parameters, after the size of the picture in pixels (two f32).
    """
    constant = list(compress(printed.params, uniform))
    arguments = printed.of_a_pixel(uniform, _from_host, "uv")
    as_floats = [value if kind is not BOOL else f"select(0.0f, 1.0f, {value})"
                 for value, (_, kind) in zip(printed.values, printed.results, strict=True)]
    lines = [
        "struct Uniforms {", "    width: f32,", "    height: f32,",
        *[f"    {name}: {_host_type(kind)}," for name, kind in constant], "}",
        "@group(0) @binding(0) var<uniform> uniforms: Uniforms;",
        "",
        "@vertex",
        "fn vertex(@builtin(vertex_index) corner: u32) -> @builtin(position) vec4<f32> {",
        "    return vec4<f32>(select(-1.0f, 3.0f, corner == 1u), select(-1.0f, 3.0f, corner == 2u), 0.0f, 1.0f);",
        "}",
        "",
        "@fragment",
        "fn fragment(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {",
        "    let u = at.x / uniforms.width;",
        "    let v = 1.0f - at.y / uniforms.height;",
        f"    let result = {printed.name}({', '.join(arguments)});",
        f"    return vec4<f32>({colour(as_floats, '1.0f')});",
        "}",
    ]
    return printed.text + "\n" + "\n".join(lines) + "\n"


def engine(request: Request) -> WgslEngine:
    """The target "wgsl"."""
    return WgslEngine(request.function, request.spec.result)


class WgslEngine:
    """A compute shader as an engine. Lanes are computed in 32 bits, and nothing says in which of them Python raises.

    Results are float32, int32 and bool arrays. Raises OverflowError for an argument beyond 32 bits.
    """

    def __init__(self, fn: Function, result: Shape):
        names = leaf_names(result)
        self.printed = function(fn, names) if names else None

    @property
    def source(self) -> str:
        """The compute shader; nothing for a function that gives no number."""
        return compute(self.printed) if self.printed else ""

    def __call__(
        self, lanes: Sequence[npt.NDArray[Any] | np.generic], n: int, /
    ) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any] | None]:
        from pyflat.targets.wgsl.run import run_compute

        return run_compute(self.printed, lanes, n) if self.printed else [], None
