"""GLSL 4.30 as a table. 32-bit lanes: float, int (sums and products wrap) and bool.

Integer division is undefined there for negative operands, and `round` rounds ties as it likes: both are helpers or
other functions here. Python's other meanings as in WGSL.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.shaders.language import CHOICE, COMPARISON, PRODUCT, UNARY, Language, Spelling, call
from pyflat.targets.shaders.shared import COMMON_HELPERS, SPELLINGS, functions, literals

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
        "to_float": Spelling("float({0})"), "to_int": Spelling("int({0})"),
        "floor_int": Spelling("int(floor({0}))"), "ceil_int": Spelling("int(ceil({0}))"),
        "round_int": Spelling("int(roundEven({0}))"), "isnan": call("isnan"), "isinf": call("isinf"),
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
