"""The GLSL way out: GLSL 4.30 as a table, and complete compute and fragment shaders for OpenGL 4.3, as those of
`pyflat.targets.wgsl.shaders`. 32-bit lanes: float, int (sums and products wrap) and bool.

Integer division is undefined there for negative operands, and `round` rounds ties as it likes: both are helpers or
other functions here. Python's other meanings as in WGSL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

from pyflat.ir.nodes import Function
from pyflat.ir.opaque_calls import Call
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.shaders import Printed, leaf_names, prepare, print_function
from pyflat.targets.shaders.language import (
    CHOICE,
    COMMON_HELPERS,
    COMPARISON,
    PRODUCT,
    SPELLINGS,
    UNARY,
    Language,
    Spelling,
    call,
    colour,
    functions,
    literals,
    whole,
)
from pyflat.targets.target import Request

TYPES = {BOOL: "bool", INT: "int", FLOAT: "float"}
RESERVED = frozenset("""
    attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly atomic_uint layout
    centroid flat smooth noperspective patch sample break continue do for while switch case default if else subroutine
    in out inout float double int void bool true false invariant precise discard return mat2 mat3 mat4 dmat2 dmat3
    dmat4 vec2 vec3 vec4 ivec2 ivec3 ivec4 bvec2 bvec3 bvec4 dvec2 dvec3 dvec4 uint uvec2 uvec3 uvec4 lowp mediump
    highp precision struct common partition active asm class union enum typedef template this resource goto inline
    noinline public static extern external interface long short half fixed unsigned superp input output hvec2 hvec3
    hvec4 fvec2 fvec3 fvec4 filter sizeof cast namespace using sampler image texture
    abs acos acosh all any asin asinh atan atanh ceil clamp cos cosh cross degrees determinant distance dot equal exp
    exp2 faceforward floor fma fract frexp greaterThan inverse inversesqrt isinf isnan ldexp length lessThan log log2
    matrixCompMult max min mix mod modf noise1 normalize not notEqual outerProduct pow radians reflect refract round
    roundEven sign sin sinh smoothstep sqrt step tan tanh transpose trunc
    main In Out Uniforms ins outs uniforms width height colour
""".split())  # noqa: SIM905 - a table of words

HELPERS = {
    **COMMON_HELPERS,
    "floor_div": """int floor_div(int a, int b) {
    int q = abs(a) / abs(b);
    bool negative = (a ^ b) < 0;
    return negative ? -q - (q * abs(b) != abs(a) ? 1 : 0) : q;
}""",
    "floor_mod": """int floor_mod(int a, int b) {
    return a - floor_div(a, b) * b;
}""",
    "whole_pow": """float whole_pow(float a, float b) {
    float size = pow(abs(a), b);
    bool odd = abs(b - 2.0 * floor(b * 0.5)) == 1.0;
    return b == 0.0 ? 1.0 : a < 0.0 && odd ? -size : size;
}""",
    "int_pow": """int int_pow(int a, int b) {
    int result = 1;
    int square = a;
    for (int left = b; left > 0; left = left >> 1) {
        if ((left & 1) == 1) { result = result * square; }
        square = square * square;
    }
    return result;
}""",
    "shift_left": """int shift_left(int a, int b) {
    return b > 31 ? 0 : a << b;
}""",
    "shift_right": """int shift_right(int a, int b) {
    return a >> min(b, 31);
}""",
    "place": """int place(int i, int size) {
    return clamp(i < 0 ? i + size : i, 0, size - 1);
}""",
    "exponent": """int exponent(float x) {
    int found;
    frexp(x, found);
    return found;
}""",
}


def _table(name: str, of: str, literals: Sequence[str]) -> str:
    made = f"{of}[{len(literals)}]"
    return f"const {made} {name} = {made}({', '.join(literals)});"


def _function(name: str, params: Sequence[tuple[str, Kind]], returned: str) -> str:
    return f"{returned} {name}({', '.join(f'{TYPES[kind]} {param}' for param, kind in params)}) {{"


def _record(name: str, fields: Sequence[tuple[str, Kind]]) -> str:
    return "\n".join([f"struct {name} {{", *[f"    {TYPES[kind]} {field};" for field, kind in fields], "};"])


GLSL = Language(
    name="GLSL",
    types=TYPES,
    spellings={
        **SPELLINGS, **functions("glsl"),
        "select": Spelling("{0} ? {1} : {2}", CHOICE, (COMPARISON, COMPARISON, CHOICE)), "rint": call("roundEven"),
        **whole("int", "roundEven"), "to_float": Spelling("float({0})"), "isnan": call("isnan"), "isinf": call("isinf"),
        "isfinite": call("is_finite"), "from_bits": Spelling("uintBitsToFloat({0})"),
        "exponent": call("exponent"), "recip": Spelling("1.0 / {0}", PRODUCT, (UNARY,)),
    },
    helpers=HELPERS,
    reserved=RESERVED,
    constant="{type} {name} = {value};",
    variable="{type} {name} = {value};",
    loop="while (true) {",
    literal=literals("GLSL", "{}", "(-2147483647 - 1)", "{}", "uintBitsToFloat({})"),
    unsigned="uint",
    vector=lambda size: f"vec{size}",
    table=_table,
    function=_function,
    record=_record,
)


WORKGROUP = 64
VERSION = "#version 430\n\n"


def function(fn: Function, results: Sequence[str], name: str = "",
             whitelist: Mapping[str, Call] | None = None) -> Printed:
    """The function alone. `whitelist`: the calls in it that are kept, see `print_function`. Raises FlattenError for
    what GLSL does not have."""
    return print_function(prepare(fn, GLSL.stay), GLSL, results, name, whitelist)


def text(request: Request) -> str:
    """The compute shader of a twin."""
    return compute(function(request.function, leaf_names(request.spec.result)))


def _host_type(kind: Kind) -> str:
    return "uint" if kind is BOOL else TYPES[kind]


def _from_host(text: str, kind: Kind) -> str:
    return f"{text} != 0u" if kind is BOOL else text


def _fields(fields: Sequence[tuple[str, Kind]]) -> list[str]:
    return [f"    {_host_type(kind)} {field};" for field, kind in fields]


def _called(printed: Printed, arguments: Sequence[str]) -> str:
    """The statement that calls the function."""
    type_name = printed.record or TYPES[printed.results[0][1]]
    return f"    {type_name} result = {printed.name}({', '.join(arguments)});"


def compute(printed: Printed) -> str:
    """A compute shader, one lane for each invocation."""
    called = _called(printed, [_from_host(f"ins[at].{name}", kind) for name, kind in printed.params])
    stored = [f"    outs[at].{field} = {f'{value} ? 1u : 0u' if kind is BOOL else value};"
              for value, (field, kind) in zip(printed.values, printed.results, strict=True)]
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
    places = "at.x / uniforms.width", "at.y / uniforms.height"
    called = _called(printed, printed.of_a_pixel(uniform, _from_host, places))
    as_floats = [value if kind is not BOOL else f"({value} ? 1.0 : 0.0)"
                 for value, (_, kind) in zip(printed.values, printed.results, strict=True)]
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
