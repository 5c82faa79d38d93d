"""GLSL 4.30 as a table. 32-bit lanes: float, int (sums and products wrap) and bool.

Integer division is undefined there for negative operands, and `round` rounds ties as it likes: both are helpers or
other functions here. Python's other meanings as in WGSL.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.shaders.language import CHOICE, COMPARISON, PRODUCT, UNARY, Language, Spelling, call
from pyflat.targets.shaders.shared import SPELLINGS, check_int, float_bits, float_text, functions

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
    "floor_div": """int floor_div(int a, int b) {
    int q = abs(a) / abs(b);
    bool negative = (a ^ b) < 0;
    return negative ? -q - (q * abs(b) != abs(a) ? 1 : 0) : q;
}""",
    "floor_mod": """int floor_mod(int a, int b) {
    return a - floor_div(a, b) * b;
}""",
    "floor_quotient": """float floor_quotient(float a, float b) {
    return floor(a / b);
}""",
    "floor_remainder": """float floor_remainder(float a, float b) {
    return a - b * floor(a / b);
}""",
    "trunc_remainder": """float trunc_remainder(float a, float b) {
    return a - b * trunc(a / b);
}""",
    "nearest_remainder": """float nearest_remainder(float a, float b) {
    return a - b * roundEven(a / b);
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
    "hypot": """float hypot(float a, float b) {
    return length(vec2(a, b));
}""",
    "copy_sign": """float copy_sign(float a, float b) {
    return uintBitsToFloat((floatBitsToUint(a) & 0x7fffffffu) | (floatBitsToUint(b) & 0x80000000u));
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
    "is_finite": """bool is_finite(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) < 0x7f800000u;
}""",
    # asin and acos of drivers are wrong in the fourth digit
    "arc_sine": """float arc_sine(float x) {
    return atan(x, sqrt((1.0 - x) * (1.0 + x)));
}""",
    "arc_cosine": """float arc_cosine(float x) {
    return atan(sqrt((1.0 - x) * (1.0 + x)), x);
}""",
    "log10": """float log10(float x) {
    return log2(x) * 0.30103;
}""",
    "log1p": """float log1p(float x) {
    float s = x / (2.0 + x);
    float square = s * s;
    float series = 2.0 * s * (1.0 + square * (0.33333334 + square * (0.2 + square * 0.14285715)));
    return abs(x) < 0.25 ? series : log(1.0 + x);
}""",
    "expm1": """float expm1(float x) {
    float tail = 0.041666668 + x * (0.008333334 + x * 0.0013888889);
    float series = x * (1.0 + x * (0.5 + x * (0.16666667 + x * tail)));
    return abs(x) < 0.3 ? series : exp(x) - 1.0;
}""",
    "cbrt": """float cbrt(float x) {
    return sign(x) * pow(abs(x), 0.33333334);
}""",
    # Abramowitz and Stegun 7.1.26: absolute error below 1.5e-7
    "erf": """float erf(float x) {
    float a = abs(x);
    float t = 1.0 / (1.0 + 0.3275911 * a);
    float series = t * (0.2548296 + t * (-0.28449672 + t * (1.4214138 + t * (-1.4531521 + t * 1.0614054))));
    return sign(x) * (1.0 - series * exp(-a * a));
}""",
    "erfc": """float erfc(float x) {
    return 1.0 - erf(x);
}""",
}


def _literal(kind: Kind, value: bool | int | float | None) -> str:
    match kind:
        case Kind.BOOL:
            return "true" if value else "false"
        case Kind.INT:
            known = check_int(int(value or 0), "GLSL")
            return f"{known}" if known > -(2**31) else "(-2147483647 - 1)"
    number = 0.0 if value is None else float(value)
    text = float_text(number)
    if text is not None:
        return text
    return f"uintBitsToFloat({float_bits(number)})"


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
    stop="break;",
    literal=_literal,
    unsigned="uint",
    vector=lambda size: f"vec{size}",
    table=_table,
    function=_function,
    record=_record,
    assemble=lambda name, values: f"{name}({', '.join(values)})",
)
