"""WGSL as a table. 32-bit lanes: float is f32, int is i32 (sums and products wrap), bool is bool.

Python's meaning where it is not the language's: floors in `//` and `%`, signs of powers, negative indices, shifts
beyond the width. `int()` of a float beyond 32 bits gives the nearest i32, where Python has a larger number.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.shaders.language import PRODUCT, UNARY, Language, Spelling, call
from pyflat.targets.shaders.shared import SPELLINGS, check_int, float_bits, float_text, functions

TYPES = {BOOL: "bool", INT: "i32", FLOAT: "f32"}
RESERVED = frozenset("""
    alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if let
    loop override requires return struct switch true var while
    NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class
    co_await co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval
    constexpr constinit crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export
    extends extern external fallthrough filter final finally friend from fxgroup get goto groupshared highp impl
    implements import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module move mut
    mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of
    operator package packoffset partial pass patch pixelfragment precise precision premerge priv protected pub public
    readonly ref regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm
    static static_assert static_cast std subroutine super target template this thread_local throw trait try type
    typedef typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl where with
    writeonly yield
    f16 f32 i32 u32 bool vec2 vec3 vec4 vec2f vec3f vec4f array atomic ptr sampler
    abs acos acosh asin asinh atan atan2 atanh bitcast ceil clamp cos cosh cross degrees determinant distance dot exp
    exp2 faceForward floor fma fract frexp inverseSqrt ldexp length log log2 max min mix modf normalize pow radians
    reflect refract round saturate select sign sin sinh smoothstep sqrt step tan tanh transpose trunc
    all any arrayLength main vertex fragment In Out Uniforms ins outs uniforms width height
""".split())  # noqa: SIM905 - a table of words

HELPERS = {
    "floor_div": """fn floor_div(a: i32, b: i32) -> i32 {
    let q = a / b;
    return select(q, q - 1, (a % b != 0) && ((a ^ b) < 0));
}""",
    "floor_mod": """fn floor_mod(a: i32, b: i32) -> i32 {
    let r = a % b;
    return select(r, r + b, (r != 0) && ((r ^ b) < 0));
}""",
    "floor_quotient": """fn floor_quotient(a: f32, b: f32) -> f32 {
    return floor(a / b);
}""",
    "floor_remainder": """fn floor_remainder(a: f32, b: f32) -> f32 {
    return a - b * floor(a / b);
}""",
    "trunc_remainder": """fn trunc_remainder(a: f32, b: f32) -> f32 {
    return a - b * trunc(a / b);
}""",
    "nearest_remainder": """fn nearest_remainder(a: f32, b: f32) -> f32 {
    return a - b * round(a / b);
}""",
    "whole_pow": """fn whole_pow(a: f32, b: f32) -> f32 {
    let size = pow(abs(a), b);
    let odd = abs(b - 2.0f * floor(b * 0.5f)) == 1.0f;
    return select(select(size, -size, (a < 0.0f) && odd), 1.0f, b == 0.0f);
}""",
    "int_pow": """fn int_pow(a: i32, b: i32) -> i32 {
    var result = 1i;
    var square = a;
    for (var left = b; left > 0i; left = left >> 1u) {
        if ((left & 1i) == 1i) { result = result * square; }
        square = square * square;
    }
    return result;
}""",
    "hypot": """fn hypot(a: f32, b: f32) -> f32 {
    return length(vec2<f32>(a, b));
}""",
    "copy_sign": """fn copy_sign(a: f32, b: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}""",
    "shift_left": """fn shift_left(a: i32, b: i32) -> i32 {
    return select(a << u32(b & 31i), 0i, b > 31i);
}""",
    "shift_right": """fn shift_right(a: i32, b: i32) -> i32 {
    return a >> u32(min(b, 31i));
}""",
    "place": """fn place(i: i32, size: i32) -> i32 {
    return clamp(select(i, i + size, i < 0i), 0i, size - 1i);
}""",
    "is_nan": """fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}""",
    "is_inf": """fn is_inf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}""",
    "is_finite": """fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}""",
    "special": """fn special(pattern: u32) -> f32 {
    var bits = pattern;
    return bitcast<f32>(bits);
}""",
    # asin and acos of drivers are wrong in the fourth digit
    "arc_sine": """fn arc_sine(x: f32) -> f32 {
    return atan2(x, sqrt((1.0f - x) * (1.0f + x)));
}""",
    "arc_cosine": """fn arc_cosine(x: f32) -> f32 {
    return atan2(sqrt((1.0f - x) * (1.0f + x)), x);
}""",
    "log10": """fn log10(x: f32) -> f32 {
    return log2(x) * 0.30103f;
}""",
    "log1p": """fn log1p(x: f32) -> f32 {
    let s = x / (2.0f + x);
    let square = s * s;
    let series = 2.0f * s * (1.0f + square * (0.33333334f + square * (0.2f + square * 0.14285715f)));
    return select(log(1.0f + x), series, abs(x) < 0.25f);
}""",
    "expm1": """fn expm1(x: f32) -> f32 {
    let tail = 0.041666668f + x * (0.008333334f + x * 0.0013888889f);
    let series = x * (1.0f + x * (0.5f + x * (0.16666667f + x * tail)));
    return select(exp(x) - 1.0f, series, abs(x) < 0.3f);
}""",
    "cbrt": """fn cbrt(x: f32) -> f32 {
    return sign(x) * pow(abs(x), 0.33333334f);
}""",
    # Abramowitz and Stegun 7.1.26: absolute error below 1.5e-7
    "erf": """fn erf(x: f32) -> f32 {
    let a = abs(x);
    let t = 1.0f / (1.0f + 0.3275911f * a);
    let series = t * (0.2548296f + t * (-0.28449672f + t * (1.4214138f + t * (-1.4531521f + t * 1.0614054f))));
    return sign(x) * (1.0f - series * exp(-a * a));
}""",
    "erfc": """fn erfc(x: f32) -> f32 {
    return 1.0f - erf(x);
}""",
}


def _literal(kind: Kind, value: bool | int | float | None) -> str:
    match kind:
        case Kind.BOOL:
            return "true" if value else "false"
        case Kind.INT:
            known = check_int(int(value or 0), "WGSL")
            return f"{known}i" if known > -(2**31) else "i32(-2147483647 - 1)"
    number = 0.0 if value is None else float(value)
    text = float_text(number)
    if text is not None:
        return f"{text}f"
    return f"special({float_bits(number)})"


def _table(name: str, of: str, literals: Sequence[str]) -> str:
    made = f"array<{of}, {len(literals)}>"
    return f"var<private> {name}: {made} = {made}({', '.join(literals)});"


def _function(name: str, params: Sequence[tuple[str, Kind]], returned: str) -> str:
    return f"fn {name}({', '.join(f'{param}: {TYPES[kind]}' for param, kind in params)}) -> {returned} {{"


def _record(name: str, fields: Sequence[tuple[str, Kind]]) -> str:
    return "\n".join([f"struct {name} {{", *[f"    {field}: {TYPES[kind]}," for field, kind in fields], "}"])


WGSL = Language(
    name="WGSL",
    types=TYPES,
    spellings={
        **SPELLINGS, **functions("wgsl"),
        "select": Spelling("select({2}, {1}, {0})"), "rint": call("round"),
        "to_float": Spelling("f32({0})"), "to_int": Spelling("i32({0})"), "floor_int": Spelling("i32(floor({0}))"),
        "ceil_int": Spelling("i32(ceil({0}))"), "round_int": Spelling("i32(round({0}))"),
        "from_bits": Spelling("bitcast<f32>({0})"), "exponent": Spelling("frexp({0}).exp"),
        "recip": Spelling("1.0f / {0}", PRODUCT, (UNARY,)), "isnan": call("is_nan"), "isinf": call("is_inf"),
        "isfinite": call("is_finite"),
    },
    helpers=HELPERS,
    reserved=RESERVED,
    constant="let {name} = {value};",
    variable="var {name}: {type} = {value};",
    loop="loop {",
    stop="break;",
    literal=_literal,
    unsigned="u32",
    vector=lambda size: f"vec{size}<f32>",
    table=_table,
    function=_function,
    record=_record,
    assemble=lambda name, values: f"{name}({', '.join(values)})",
)
