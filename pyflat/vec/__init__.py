"""Vectors, matrices and functions of shading languages, as plain Python that pyflat can flatten.

`from pyflat.vec import *` omits functions that would hide a builtin (abs, max, min, pow, round): import those by name.
"""

from pyflat.vec.functions import (
    abs,
    acos,
    asin,
    atan,
    atan2,
    ceil,
    clamp,
    cos,
    cross,
    degrees,
    distance,
    dot,
    exp,
    exp2,
    faceforward,
    floor,
    fract,
    inversesqrt,
    length,
    log,
    log2,
    max,
    min,
    mix,
    mod,
    normalize,
    pow,
    radians,
    reflect,
    refract,
    round,
    saturate,
    sign,
    sin,
    smoothstep,
    sqrt,
    step,
    tan,
    tanh,
    trunc,
)
from pyflat.vec.matrices import Mat2, Mat3, Mat4, determinant, inverse, mat2, mat3, mat4, rotation, transpose
from pyflat.vec.vectors import Vec2, Vec3, Vec4, vec2, vec3, vec4

BUILTINS = ("abs", "max", "min", "pow", "round")
"""The functions that hide a builtin."""

__all__ = [
    "Mat2", "Mat3", "Mat4", "Vec2", "Vec3", "Vec4", "acos", "asin", "atan", "atan2", "ceil", "clamp", "cos", "cross",
    "degrees", "determinant", "distance", "dot", "exp", "exp2", "faceforward", "floor", "fract", "inverse",
    "inversesqrt", "length", "log", "log2", "mat2", "mat3", "mat4", "mix", "mod", "normalize", "radians", "reflect",
    "refract", "rotation", "saturate", "sign", "sin", "smoothstep", "sqrt", "step", "tan", "tanh", "transpose",
    "trunc", "vec2", "vec3", "vec4",
]
