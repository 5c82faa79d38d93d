"""WGSL as a table. 32-bit lanes: float is f32, int is i32 (sums and products wrap), bool is bool.

Python's meaning where it is not the language's: floors in `//` and `%`, signs of powers, negative indices, shifts
beyond the width. `int()` of a float beyond 32 bits gives the nearest i32, where Python has a larger number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.shaders.language import (
    COMMON_HELPERS,
    PRODUCT,
    SPELLINGS,
    UNARY,
    Language,
    Spelling,
    call,
    functions,
    literals,
    whole,
)

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

_WORDS = {"atan(x, sqrt": "atan2(x, sqrt", "atan(sqrt": "atan2(sqrt", "roundEven": "round", "vec2(": "vec2<f32>(",
          "floatBitsToUint": "bitcast<u32>", "uintBitsToFloat": "bitcast<f32>"}


def _helper(text: str) -> str:
    """A common helper in the syntax of WGSL."""
    head, *lines = text.split("\n")
    returned, name, *words = re.findall(r"\w+", head)
    kinds = {"float": FLOAT, "bool": BOOL}
    params = [(param, kinds[word]) for word, param in zip(words[::2], words[1::2], strict=True)]
    body = re.sub(r"\b\d+\.\d+\b", r"\g<0>f", "\n".join(lines))
    body = re.sub(r"^    float (?=\w+ =)", "    let ", body, flags=re.MULTILINE)
    body = re.sub(r"return (.*) \? (.*) : (.*);", r"return select(\3, \2, \1);", body)
    for other, own in _WORDS.items():
        body = body.replace(other, own)
    return f"{_function(name, params, TYPES[kinds[returned]])}\n{body}"


def _function(name: str, params: Sequence[tuple[str, Kind]], returned: str) -> str:
    return f"fn {name}({', '.join(f'{param}: {TYPES[kind]}' for param, kind in params)}) -> {returned} {{"


HELPERS = {
    **{name: _helper(text) for name, text in COMMON_HELPERS.items()},
    "floor_div": """fn floor_div(a: i32, b: i32) -> i32 {
    let q = a / b;
    return select(q, q - 1, (a % b != 0) && ((a ^ b) < 0));
}""",
    "floor_mod": """fn floor_mod(a: i32, b: i32) -> i32 {
    let r = a % b;
    return select(r, r + b, (r != 0) && ((r ^ b) < 0));
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
    "special": """fn special(pattern: u32) -> f32 {
    var bits = pattern;
    return bitcast<f32>(bits);
}""",
}


def _table(name: str, of: str, literals: Sequence[str]) -> str:
    made = f"array<{of}, {len(literals)}>"
    return f"var<private> {name}: {made} = {made}({', '.join(literals)});"


def _record(name: str, fields: Sequence[tuple[str, Kind]]) -> str:
    return "\n".join([f"struct {name} {{", *[f"    {field}: {TYPES[kind]}," for field, kind in fields], "}"])


WGSL = Language(
    name="WGSL",
    types=TYPES,
    spellings={
        **SPELLINGS, **functions("wgsl"),
        "select": Spelling("select({2}, {1}, {0})"), "rint": call("round"),
        "to_float": Spelling("f32({0})"), **whole("i32", "round"),
        "from_bits": Spelling("bitcast<f32>({0})"), "exponent": Spelling("frexp({0}).exp"),
        "recip": Spelling("1.0f / {0}", PRODUCT, (UNARY,)), "isnan": call("is_nan"), "isinf": call("is_inf"),
        "isfinite": call("is_finite"),
    },
    helpers=HELPERS,
    reserved=RESERVED,
    constant="let {name} = {value};",
    variable="var {name}: {type} = {value};",
    loop="loop {",
    literal=literals("WGSL", "{}i", "i32(-2147483647 - 1)", "{}f", "special({})"),
    unsigned="u32",
    vector=lambda size: f"vec{size}<f32>",
    table=_table,
    function=_function,
    record=_record,
)
