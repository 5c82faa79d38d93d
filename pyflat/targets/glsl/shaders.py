"""GLSL shaders around a printed function, for OpenGL 4.3: as the WGSL ones, `pyflat.targets.wgsl.shaders`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

from pyflat.ir.nodes import Function
from pyflat.ir.opaque_calls import Call
from pyflat.ir.types import BOOL, Kind
from pyflat.targets.glsl.table import GLSL, TYPES
from pyflat.targets.shaders import Printed, leaf_names, prepare, print_function
from pyflat.targets.shaders.shared import colour
from pyflat.targets.target import Request

WORKGROUP = 64
VERSION = "#version 430\n\n"


def function(fn: Function, results: Sequence[str], name: str = "",
             whitelist: Mapping[str, Call] | None = None) -> Printed:
    """The function alone. `whitelist`: the calls in it that are kept, see `print_function`. Raises FlattenError for
    what GLSL does not have."""
    return print_function(prepare(fn), GLSL, results, name, whitelist)


def text(request: Request) -> str:
    """The compute shader of a twin."""
    return compute(function(request.function, leaf_names(request.spec.result)))


def _host_type(kind: Kind) -> str:
    return "uint" if kind is BOOL else TYPES[kind]


def _from_host(text: str, kind: Kind) -> str:
    return f"{text} != 0u" if kind is BOOL else text


def _fields(fields: Sequence[tuple[str, Kind]]) -> list[str]:
    return [f"    {_host_type(kind)} {field};" for field, kind in fields]


def _called(printed: Printed, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The statement that calls the function, and an expression for each of its results."""
    type_name = printed.record or TYPES[printed.results[0][1]]
    values = [f"result.{field}" for field, _ in printed.results] if printed.record else ["result"]
    return f"    {type_name} result = {printed.name}({', '.join(arguments)});", values


def compute(printed: Printed) -> str:
    """A compute shader, one lane for each invocation."""
    called, values = _called(printed, [_from_host(f"ins[at].{name}", kind) for name, kind in printed.params])
    stored = [f"    outs[at].{field} = {f'{value} ? 1u : 0u' if kind is BOOL else value};"
              for value, (field, kind) in zip(values, printed.results, strict=True)]
    inputs = ["struct In {", *_fields(printed.params), "};",
              "layout(std430, binding = 0) readonly buffer Ins { In ins[]; };"]
    lines = [
        *(inputs if printed.params else []),
        "struct Out {", *_fields(printed.results), "};",
        "layout(std430, binding = 1) writeonly buffer Outs { Out outs[]; };",
        f"layout(local_size_x = {WORKGROUP}) in;",
        "",
        "void main() {",
        "    uint at = gl_GlobalInvocationID.x;",
        "    if (at >= uint(outs.length())) { return; }",
        called,
        *stored,
        "}",
    ]
    return VERSION + printed.text + "\n" + "\n".join(lines) + "\n"


def fragment(printed: Printed, uniform: Sequence[bool]) -> str:
    """A fragment shader. `uniform` says which parameters are the same for all pixels: all but two."""
    constant = list(compress(printed.params, uniform))
    place = iter(["at.x / uniforms.width", "at.y / uniforms.height"])
    arguments = [_from_host(f"uniforms.{name}", kind) if fixed else next(place)
                 for (name, kind), fixed in zip(printed.params, uniform, strict=True)]
    called, values = _called(printed, arguments)
    as_floats = [value if kind is not BOOL else f"({value} ? 1.0 : 0.0)"
                 for value, (_, kind) in zip(values, printed.results, strict=True)]
    lines = [
        "layout(std140, binding = 0) uniform Uniforms {", "    float width;", "    float height;",
        *_fields(constant), "} uniforms;",
        "layout(location = 0) out vec4 colour;",
        "",
        "void main() {",
        "    vec2 at = gl_FragCoord.xy;",
        called,
        f"    colour = vec4({colour(as_floats, '1.0')});",
        "}",
    ]
    return VERSION + printed.text + "\n" + "\n".join(lines) + "\n"
