"""Shaders that need flattening: what a graph backend cannot hold as it is written, and what it gets instead.

Each `Shader` says which operations are left after the exact steps, and what it shows: a branch is one select, a helper
costs nothing, a loop over constants is gone. The counts are asserted by `python -m examples.shaders` and by the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyflat.backend import Call
from pyflat.vec import Vec2, Vec3, Vec4, clamp, dot, mix, normalize, reflect, smoothstep, vec3, vec4


@dataclass(frozen=True)
class Shader:
    """`exact` are the operations left after the exact steps, `fast` their number with fast math. `same_as` is the
    function that must give the same graph; `uniform` are arguments for a preamble."""

    function: Callable[..., Any]
    shows: str
    exact: Mapping[str, int]
    fast: int
    whitelist: tuple[Call, ...] = ()
    same_as: Callable[..., Any] | None = None
    uniform: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__


# --- branches


def threshold(x: float) -> float:
    shade = 0.25
    if x > 0.5:
        shade = 2.0 * x
    else:
        shade = x
    return shade


def two_returns(x: float) -> float:
    if x > 0.5:
        return x * 2.0
    return x


def toon(light: float) -> float:
    if light > 0.95:
        return 1.0
    if light > 0.5:
        return 0.7
    if light > 0.25:
        return 0.35
    return 0.1


def visible(u: float, v: float, level: int, layer: int) -> bool:
    """The negation goes into the comparisons."""
    return not (level < layer or u == v)


def saturated(x: float) -> float:
    if x < 0.0:
        x = 0.0
    elif x > 1.0:
        x = 1.0
    return x


def either_side(x: float, k: float, inside: bool) -> float:
    """Both arms multiply: one product of a chosen factor."""
    if inside:
        y = x * k
    else:
        y = x * 0.5
    return y


# --- helpers


def falloff(distance: float) -> float:
    return 1.0 / (1.0 + distance * distance)


def shade_with_helper(a: float, b: float) -> float:
    return falloff(a) * 0.75 + falloff(b) * 0.25


def shade_by_hand(a: float, b: float) -> float:
    return 1.0 / (1.0 + a * a) * 0.75 + 1.0 / (1.0 + b * b) * 0.25


def early_helper(x: float) -> float:
    if x < 0.0:
        return 0.0
    return math.sqrt(x)


def calls_early_helper(x: float, y: float) -> float:
    return early_helper(x) + early_helper(y)


# --- loops


def octaves(x: float) -> float:
    total = 0.0
    for k in range(4):
        total += math.sin(x * 2.0**k) * 0.5**k
    return total


def weights(x: float) -> float:
    total = 0.0
    for w in [0.1, 0.2, 0.4, 0.2, 0.1]:
        total += w
    return x * total


def taps(u: float, v: float) -> float:
    total = 0.0
    for du, dv, w in zip((-1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.25, 0.5, 0.25), strict=True):
        total += texture(u + du, v + dv) * w
    return total


def first_hit(x: float) -> float:
    hit = 4.0
    for k in range(4):
        if x < 0.25 * (k + 1):
            hit = float(k)
            break
    return hit


def odd_layers(x: float) -> float:
    total = 0.0
    for k in range(6):
        if k % 2 == 0:
            continue
        total += x * k
    return total


def skip_dark(a: float, b: float, c: float) -> float:
    total = 0.0
    for value in (a, b, c):
        if value < 0.1:
            continue
        total += value
    return total


def identities(x: float) -> float:
    y = x * 1.0 - 0.0
    y = y / 1.0
    return y * 3.0


def unrolled_steps(x: float) -> float:
    """A condition on the loop variable decides while flattening."""
    for k in range(5):
        if k == 3:
            x = x * 0.5
        elif k > 3:
            x = x + 1.0
    return x


def march(x: float, y: float, z: float) -> float:
    """Sphere tracing with four steps that a hit ends."""
    travelled = 0.0
    for _ in range(4):
        distance = math.sqrt(x * x + y * y + (z + travelled) * (z + travelled)) - 1.0
        if distance < 0.001:
            break
        travelled += distance
    return travelled


# --- vectors


def albedo(uv: Vec2, tint: Vec3, wet: float) -> Vec3:
    base = mix(vec3(uv.x, uv.y, 0.5), tint, 0.25)
    if wet > 0.5:
        base = base * 0.6
    return base


def phong(normal: Vec3, light: Vec3, eye: Vec3, shininess: float) -> float:
    diffuse = max(dot(normal, light), 0.0)
    mirrored = reflect(light * -1.0, normal)
    specular = max(dot(mirrored, eye), 0.0) ** shininess
    return 0.1 + 0.7 * diffuse + 0.2 * specular


def swizzled(p: Vec4) -> Vec4:
    q = p.wzyx
    return vec4(q.xy + p.zw, q.zw - p.xy)


def desaturate(colour: Vec3, amount: float) -> Vec3:
    grey = dot(colour, vec3(0.2126, 0.7152, 0.0722))
    return mix(colour, vec3(grey, grey, grey), amount)


def checker(uv: Vec2, dark: Vec3, light: Vec3) -> Vec3:
    if (math.floor(uv.x) + math.floor(uv.y)) % 2 == 0:
        return dark
    return light


def rim(normal: Vec3, eye: Vec3, colour: Vec3) -> Vec3:
    edge = 1.0 - clamp(dot(normal, eye), 0.0, 1.0)
    if edge > 0.6:
        colour = colour + vec3(1.0, 1.0, 1.0) * (edge - 0.6)
    return colour


def island(p: Vec2) -> Vec3:
    height = smoothstep(0.2, 0.8, 1.0 - (p.x * p.x + p.y * p.y))
    if height < 0.3:
        return vec3(0.0, 0.2, 0.6)
    if height < 0.4:
        return vec3(0.8, 0.7, 0.4)
    return vec3(0.1, 0.5 * height, 0.1)


# --- structs, opaque calls, uniforms


class Material(NamedTuple):
    roughness: float
    metal: float


class Surface(NamedTuple):
    colour: Vec3
    gloss: float


def coat(material: Material, colour: Vec3, layered: bool) -> Surface:
    gloss = 1.0 - material.roughness
    if layered:
        gloss = gloss * 0.5 + 0.5
        colour = colour * (1.0 - 0.1 * material.metal)
    return Surface(colour, gloss)


def texture(u: float, v: float) -> float:
    return (u * 7.0 + v * 3.0) % 1.0


def sample(uv: Vec2) -> Vec4:
    return vec4(uv.x, uv.y, 0.5, 1.0)


def decal(uv: Vec2, fade: float) -> Vec3:
    base = sample(uv)
    if fade > 0.0:
        over = sample(uv * 2.0)
        return mix(vec3(base.x, base.y, base.z), vec3(over.x, over.y, over.z), over.w * fade)
    return vec3(base.x, base.y, base.z)


def ocean(x: float, z: float, t: float, wind: float) -> float:
    """The speed and size of the waves are the same in every pixel."""
    speed = math.sqrt(9.81 * (1.0 + wind)) * t
    size = 0.1 + 0.05 * wind * wind
    if wind > 10.0:
        size = size * 1.5
    return size * math.sin(x + speed) + size * 0.5 * math.sin(2.0 * z - speed)


# --- fast math


def reassociated(x: float) -> float:
    return ((x + 0.25) + 0.5) * 2.0 * 3.0 + 1.0


def multiply_add(x: float, slope: float, offset: float) -> float:
    return x * slope + offset


def blended(a: float, b: float, t: float) -> float:
    return a * (1.0 - t) + b * t


def projected(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    return x / w, y / w, z / w


def polynomial(x: float) -> float:
    return x**3 - 2.0 * x**2 + 0.5 * x * 2.0


def normal_of(a: Vec3) -> Vec3:
    return normalize(a)


_TEXTURE = (Call("texture", barrier=True),)
_SAMPLE = (Call("sample", result=Vec4, barrier=True),)
SHADERS = (
    Shader(threshold, "if and else on one name: one select", {"gt": 1, "mul": 1, "select": 1}, 3),
    Shader(two_returns, "two returns: one select", {"gt": 1, "mul": 1, "select": 1}, 3),
    Shader(toon, "four returns: three selects, no masks", {"gt": 3, "select": 3}, 6),
    Shader(visible, "De Morgan: no negation is left", {"and": 1, "ge": 1, "ne": 1}, 3),
    Shader(saturated, "if and elif are a clamp", {"clamp": 1}, 1),
    Shader(either_side, "two products are one of a select", {"mul": 1, "select": 1}, 2),
    Shader(shade_with_helper, "a helper is what stands by hand", {"mul": 4, "add": 3, "truediv": 2}, 5,
           same_as=shade_by_hand),
    Shader(calls_early_helper, "a helper that returns early", {"lt": 2, "select": 2, "sqrt": 2, "add": 1}, 7),
    Shader(octaves, "a loop over a range", {"mul": 6, "add": 4, "sin": 4}, 10),
    Shader(weights, "an accumulator of constants: no sum", {"mul": 1}, 1),
    Shader(taps, "a loop over several sources, taps kept", {"add": 8, "call": 3, "mul": 3}, 8, _TEXTURE),
    Shader(first_hit, "break: one select for each trip", {"lt": 4, "select": 4}, 8),
    Shader(odd_layers, "continue on the loop variable: no select", {"add": 3, "mul": 2}, 1),
    Shader(skip_dark, "continue on a value, an array literal", {"add": 3, "lt": 3, "select": 3}, 8),
    Shader(identities, "identities: one product, no sum", {"mul": 1}, 1),
    Shader(unrolled_steps, "conditions on the loop variable: no select", {"add": 1, "mul": 1}, 1),
    Shader(march, "sphere tracing: no mask is left",
           {"add": 13, "mul": 6, "lt": 4, "select": 4, "sqrt": 4, "sub": 4}, 28),
    Shader(albedo, "vectors: one select for each component", {"mul": 8, "add": 3, "select": 3, "gt": 1}, 12),
    Shader(phong, "dot products", {"mul": 15, "add": 8, "neg": 3, "sub": 3, "max": 2, "pow": 1}, 21),
    Shader(swizzled, "swizzles cost nothing", {"sub": 2, "add": 1}, 3),
    Shader(desaturate, "mix is lerp", {"mul": 7, "add": 5, "sub": 1}, 4),
    Shader(checker, "floor and remainder of ints",
           {"select": 3, "floor_int": 2, "add": 1, "eq": 1, "mod": 1}, 8),
    Shader(rim, "an if around a vector", {"add": 5, "mul": 3, "select": 3, "sub": 2, "clamp": 1, "gt": 1}, 11),
    Shader(island, "returns of vectors, smoothstep",
           {"mul": 6, "select": 6, "sub": 3, "lt": 2, "add": 1, "clamp": 1, "truediv": 1}, 16),
    Shader(coat, "structs in and out", {"mul": 5, "select": 4, "sub": 2, "add": 1}, 10),
    Shader(decal, "an opaque call in a branch stays one call",
           {"mul": 9, "add": 3, "select": 3, "call": 2, "gt": 1, "sub": 1}, 12, _SAMPLE),
    Shader(ocean, "a preamble of what no pixel changes",
           {"mul": 9, "add": 4, "sin": 2, "gt": 1, "select": 1, "sqrt": 1, "sub": 1}, 17, uniform=("t", "wind")),
    Shader(reassociated, "sums and products of constants", {"add": 3, "mul": 2}, 1),
    Shader(multiply_add, "mad", {"add": 1, "mul": 1}, 1),
    Shader(blended, "lerp", {"mul": 2, "add": 1, "sub": 1}, 1),
    Shader(projected, "one reciprocal for three quotients", {"truediv": 3}, 4),
    Shader(polynomial, "powers as products", {"mul": 3, "pow": 2, "add": 1, "sub": 1}, 3),
    Shader(normal_of, "normalize", {"mul": 3, "truediv": 3, "add": 2, "sqrt": 1}, 6),
)
