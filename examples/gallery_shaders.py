"""Fragment shaders as Python functions: of a place in the picture, and of uniforms. `examples/gallery.py` renders them.

Each is an ordinary function that a test can call: `vignette(vec2(0.5, 0.5))`. Branches, early returns, loops, helpers
and the standard library (`colorsys`) stay what they are; the twins and the shaders have none of them.
"""

from __future__ import annotations

import colorsys
import math

from pyflat.vec import (
    Vec2,
    Vec3,
    abs,
    atan2,
    clamp,
    cos,
    distance,
    dot,
    exp,
    floor,
    fract,
    length,
    mat3,
    max,
    min,
    mix,
    normalize,
    pow,
    reflect,
    refract,
    rotation,
    saturate,
    sin,
    smoothstep,
    sqrt,
    step,
    transpose,
    vec2,
    vec3,
)

TURN = 2.0 * math.pi


# --- patterns
def checker(uv: Vec2, cells: float = 8.0) -> Vec3:
    """Two colours by the parity of the cell."""
    cell = floor(uv * cells)
    dark = vec3(0.16, 0.2, 0.32)
    if (cell.x + cell.y) % 2.0 == 0.0:
        return dark
    return mix(dark, vec3(0.95, 0.9, 0.75), 0.9)


def vignette(uv: Vec2, strength: float = 1.3) -> Vec3:
    """A warm gradient, darker towards the corners."""
    warm = mix(vec3(0.9, 0.45, 0.25), vec3(1.0, 0.85, 0.5), uv.y)
    return warm * saturate(1.0 - strength * dot(uv - 0.5, uv - 0.5))


def plasma(uv: Vec2, time: float = 1.5) -> Vec3:
    """Sums of sines as a palette."""
    p = uv * 6.0
    wave = sin(p.x + time) + sin(p.y + 0.5 * time) + sin(0.7 * (p.x + p.y) + time) + sin(length(p - 3.0) * 2.0)
    return 0.5 + 0.5 * cos(vec3(0.0, 2.1, 4.2) + wave)


def ripple(uv: Vec2, time: float = 0.3) -> Vec3:
    """Rings that fade with the distance."""
    d = length(uv - 0.5)
    height = sin(40.0 * d - 6.0 * time) * exp(-5.0 * d)
    return mix(vec3(0.02, 0.1, 0.25), vec3(0.6, 0.9, 1.0), 0.5 + 0.5 * height)


def bricks(uv: Vec2) -> Vec3:
    """Every other row is shifted by half a brick; mortar between them."""
    p = uv * vec2(6.0, 12.0)
    row = floor(p.y)
    if row % 2.0 == 1.0:
        p = p.replace(x=p.x + 0.5)
    inside = fract(p)
    mortar = vec3(0.75, 0.72, 0.68)
    if inside.x < 0.06 or inside.y < 0.12:
        return mortar
    shade = random1(floor(p))
    return mix(vec3(0.55, 0.18, 0.12), vec3(0.7, 0.32, 0.2), shade)


def truchet(uv: Vec2) -> Vec3:
    """Quarter circles, mirrored at random."""
    p = uv * 9.0
    cell, inside = floor(p), fract(p)
    if random1(cell) < 0.5:
        inside = inside.replace(x=1.0 - inside.x)
    near = distance(inside, vec2(0.0)) if inside.x + inside.y < 1.0 else distance(inside, vec2(1.0))
    ink = smoothstep(0.16, 0.12, abs(near - 0.5))
    return mix(vec3(0.97, 0.95, 0.9), vec3(0.1, 0.35, 0.45), ink)


BAYER = (0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5)


def dither(uv: Vec2, pixels: float = 96.0) -> Vec3:
    """A gradient in two colours, by Bayer's threshold table."""
    at = floor(uv * pixels)
    threshold = (BAYER[int(at.x) % 4 + 4 * (int(at.y) % 4)] + 0.5) / 16.0
    level = 0.5 + 0.5 * sin(3.0 * uv.x + 2.0 * uv.y)
    return mix(vec3(0.1, 0.12, 0.3), vec3(0.98, 0.85, 0.6), step(threshold, level))


def kaleidoscope(uv: Vec2, slices: float = 8.0) -> Vec3:
    """The angle folded into one slice."""
    p = (uv - 0.5) * 2.0
    angle = atan2(p.y, p.x) % (TURN / slices)
    angle = min(angle, TURN / slices - angle)
    q = vec2(cos(angle), sin(angle)) * length(p)
    rings = 0.5 + 0.5 * sin(q * vec2(25.0, 40.0))
    return vec3(rings.x, 0.6 * rings.y, 0.4 + 0.4 * rings.x * rings.y)


# --- colour
def hue_wheel(uv: Vec2) -> Vec3:
    """colorsys.hsv_to_rgb of the standard library, on a disc."""
    p = (uv - 0.5) * 2.1
    radius = length(p)
    if radius > 1.0:
        return vec3(0.12)
    return vec3(*colorsys.hsv_to_rgb(atan2(p.y, p.x) / TURN + 0.5, radius, 1.0))


def heat(uv: Vec2) -> Vec3:
    """A palette in pieces, over a field of two sources."""
    t = saturate(0.09 / distance(uv, vec2(0.3, 0.4)) + 0.07 / distance(uv, vec2(0.7, 0.65)) - 0.2)
    if t < 0.25:
        return mix(vec3(0.0, 0.0, 0.15), vec3(0.35, 0.0, 0.45), t * 4.0)
    if t < 0.5:
        return mix(vec3(0.35, 0.0, 0.45), vec3(0.9, 0.2, 0.2), t * 4.0 - 1.0)
    if t < 0.75:
        return mix(vec3(0.9, 0.2, 0.2), vec3(1.0, 0.75, 0.1), t * 4.0 - 2.0)
    return mix(vec3(1.0, 0.75, 0.1), vec3(1.0, 1.0, 0.9), t * 4.0 - 3.0)


def aces(x: float) -> float:
    return saturate(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14))


def encode_srgb(x: float) -> float:
    """The sRGB transfer curve, with its straight piece near black."""
    if x <= 0.0031308:
        return 12.92 * x
    return 1.055 * x ** (1.0 / 2.4) - 0.055


def tonemap(uv: Vec2, exposure: float = 4.0) -> Vec3:
    """Three strips of one light: clipped, Reinhard, ACES; then the sRGB curve."""
    light = vec3(1.0, 0.55, 0.25) * (exposure * uv.x * uv.x)
    if uv.y > 0.6667:
        mapped = clamp(light, 0.0, 1.0)
    elif uv.y > 0.3333:
        mapped = light / (1.0 + light)
    else:
        mapped = vec3(aces(light.x), aces(light.y), aces(light.z))
    return vec3(encode_srgb(mapped.x), encode_srgb(mapped.y), encode_srgb(mapped.z))


def sunset(uv: Vec2, height: float = 0.35) -> Vec3:
    """Sky, sun, and its reflection in bands of water."""
    sun = vec2(0.5, height)
    if uv.y < 0.3:
        band = 0.5 + 0.5 * sin(240.0 * uv.y * uv.y + 9.0)
        glitter = smoothstep(0.22, 0.0, abs(uv.x - 0.5)) * band
        return mix(vec3(0.08, 0.1, 0.25), vec3(1.0, 0.6, 0.3), glitter)
    sky = mix(vec3(1.0, 0.5, 0.25), vec3(0.2, 0.2, 0.5), saturate((uv.y - 0.3) * 1.8))
    d = distance(uv, sun)
    if d < 0.12:
        return vec3(1.0, 0.9, 0.6)
    return sky + vec3(0.5, 0.3, 0.1) * exp(-9.0 * (d - 0.12))


# --- noise
def permute(x: float) -> float:
    """A permutation of 0 to 288 by a polynomial; all numbers stay whole and below 2**24, exact in 32 bits."""
    return ((34.0 * x + 1.0) * x) % 289.0


def random1(cell: Vec2) -> float:
    return permute(permute(cell.x % 289.0) + cell.y % 289.0) / 289.0


def random2(cell: Vec2) -> Vec2:
    first = permute(permute(cell.x % 289.0) + cell.y % 289.0)
    return vec2(first, permute(first + 1.0)) / 289.0


def value_noise(p: Vec2) -> float:
    cell, inside = floor(p), fract(p)
    t = inside * inside * (3.0 - 2.0 * inside)
    bottom = mix(random1(cell), random1(cell + vec2(1.0, 0.0)), t.x)
    top = mix(random1(cell + vec2(0.0, 1.0)), random1(cell + 1.0), t.x)
    return mix(bottom, top, t.y)


def clouds(uv: Vec2) -> Vec3:
    """Five octaves of noise."""
    p, total, weight = uv * 4.0, 0.0, 0.5
    for _ in range(5):
        total += weight * value_noise(p)
        p = p * 2.0 + vec2(17.0, 31.0)
        weight *= 0.5
    return mix(vec3(0.25, 0.5, 0.85), vec3(1.0), smoothstep(0.35, 0.75, total))


def voronoi(uv: Vec2) -> Vec3:
    """The nearest of the points in nine cells; the ties are the borders."""
    p = uv * 6.0
    cell, inside = floor(p), fract(p)
    nearest, second, shade = 9.0, 9.0, 0.0
    for y in (-1.0, 0.0, 1.0):
        for x in (-1.0, 0.0, 1.0):
            neighbour = vec2(x, y)
            d = length(neighbour + random2(cell + neighbour) - inside)
            if d < nearest:
                nearest, second, shade = d, nearest, random1(cell + neighbour)
            elif d < second:
                second = d
    colour = mix(vec3(0.15, 0.3, 0.25), vec3(0.9, 0.95, 0.6), shade)
    return colour * smoothstep(0.0, 0.08, second - nearest)


# --- iteration
def mandelbrot(uv: Vec2, limit: int = 48) -> Vec3:
    """Escape times, smoothed."""
    c = vec2(3.0 * uv.x - 2.2, 2.4 * uv.y - 1.2)
    z, steps = vec2(0.0), 0
    for _ in range(48):
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c
        if dot(z, z) > 16.0:
            break
        steps += 1
    if steps >= limit:
        return vec3(0.0)
    t = (steps + 1.0 - math.log2(0.5 * math.log2(dot(z, z)))) / 48.0
    return 0.5 + 0.5 * cos(vec3(3.0, 3.6, 4.4) + 9.0 * sqrt(max(t, 0.0)))


def julia(uv: Vec2, c: Vec2 = vec2(-0.4, 0.6)) -> Vec3:
    """A `while` whose trips differ from pixel to pixel: it stays a loop in the shader."""
    z, steps = (uv - 0.5) * 3.0, 0
    while steps < 40 and dot(z, z) < 4.0:
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c
        steps += 1
    t = steps / 40.0
    return vec3(t * t, t, sqrt(t))


def metaballs(uv: Vec2, time: float = 0.8) -> Vec3:
    """A field summed over a literal list of centres and radii."""
    p = (uv - 0.5) * 2.0
    field = 0.0
    for angle, reach, radius in ((0.0, 0.45, 0.22), (2.1, 0.5, 0.18), (4.2, 0.4, 0.26), (5.3, 0.7, 0.12)):
        centre = vec2(cos(angle + time), sin(angle - 0.7 * time)) * reach
        field += radius * radius / (dot(p - centre, p - centre) + 0.001)
    if field < 0.8:
        return vec3(0.05, 0.06, 0.1) + 0.2 * field
    if field < 1.0:
        return vec3(0.2, 0.8, 0.9)
    return mix(vec3(0.1, 0.4, 0.9), vec3(1.0), saturate((field - 1.0) / 6.0))


# --- light
def fresnel(uv: Vec2, index: float = 1.5) -> Vec3:
    """A glass ball over stripes: refraction, reflection, and Schlick's mix of both."""
    p = (uv - 0.5) * 2.4
    r2 = dot(p, p)
    if r2 > 1.0:
        return stripes(p)
    normal = vec3(p, sqrt(1.0 - r2))
    ray = vec3(0.0, 0.0, -1.0)
    inside = refract(ray, normal, 1.0 / index)
    bounce = reflect(ray, normal)
    base = ((1.0 - index) / (1.0 + index)) ** 2
    share = base + (1.0 - base) * pow(1.0 - normal.z, 5.0)
    return mix(stripes(p + inside.xy * 1.6), vec3(0.7, 0.85, 1.0) * (0.5 + 0.5 * bounce.y), share)


def stripes(p: Vec2) -> Vec3:
    across = 0.5 + 0.5 * sin(14.0 * (p.x + 0.4 * p.y))
    return mix(vec3(0.85, 0.3, 0.25), vec3(0.98, 0.95, 0.88), smoothstep(0.4, 0.6, across))


def phong(uv: Vec2, light: Vec3 = vec3(-0.6, 0.7, 0.9), shininess: float = 24.0) -> Vec3:
    """A ball with ambient, diffuse and specular light."""
    p = (uv - 0.5) * 2.4
    r2 = dot(p, p)
    if r2 > 1.0:
        return vec3(0.09, 0.1, 0.13)
    normal = vec3(p, sqrt(1.0 - r2))
    towards = normalize(light)
    colour = vec3(0.8, 0.25, 0.2)
    diffuse = max(dot(normal, towards), 0.0)
    if diffuse == 0.0:
        return colour * 0.12
    shine = max(reflect(-towards, normal).z, 0.0) ** shininess
    return colour * (0.12 + 0.8 * diffuse) + 0.6 * shine


def scene_distance(p: Vec3) -> float:
    """A ball and a rounded box on a floor."""
    ball = length(p - vec3(-0.7, 0.0, 0.0)) - 0.6
    q = abs(p - vec3(0.75, -0.1, 0.2)) - vec3(0.35, 0.45, 0.35)
    box = length(max(q, 0.0)) - 0.08
    return min(min(ball, box), p.y + 0.6)


def scene_normal(p: Vec3) -> Vec3:
    e = 0.002
    return normalize(vec3(
        scene_distance(p + vec3(e, 0.0, 0.0)) - scene_distance(p - vec3(e, 0.0, 0.0)),
        scene_distance(p + vec3(0.0, e, 0.0)) - scene_distance(p - vec3(0.0, e, 0.0)),
        scene_distance(p + vec3(0.0, 0.0, e)) - scene_distance(p - vec3(0.0, 0.0, e))))


def ray_march(uv: Vec2, angle: float = 0.5) -> Vec3:
    """Sphere tracing with a soft sky; the march is a kept loop in the shader."""
    turn = rotation(angle)
    eye = vec3(0.0, 0.5, 3.2)
    ray = normalize(vec3((uv - 0.5) * 1.6 - vec2(0.0, 0.12), -1.5))
    eye, ray = eye.replace(xz=turn * eye.xz), ray.replace(xz=turn * ray.xz)
    t = 0.0
    for _ in range(70):
        d = scene_distance(eye + ray * t)
        if d < 0.001 or t > 12.0:
            break
        t += d
    sky = mix(vec3(0.75, 0.82, 0.9), vec3(0.35, 0.5, 0.75), saturate(ray.y * 2.0 + 0.3))
    if t > 12.0:
        return sky
    p = eye + ray * t
    normal = scene_normal(p)
    sun = normalize(vec3(0.6, 0.8, 0.4))
    light = 0.25 + 0.75 * max(dot(normal, sun), 0.0)
    colour = vec3(0.6, 0.58, 0.55)
    if p.y > -0.595:
        colour = vec3(0.85, 0.35, 0.25) if p.x < 0.2 else vec3(0.3, 0.55, 0.7)
    return mix(sky, colour * light, exp(-0.02 * t * t))


def slab(origin: float, ray: float) -> Vec2:
    """Where a ray enters and leaves the slab between -1 and 1."""
    if abs(ray) < 1e-6:
        return vec2(-1e6, 1e6) if abs(origin) < 1.0 else vec2(1e6, -1e6)
    first, last = (-1.0 - origin) / ray, (1.0 - origin) / ray
    return vec2(min(first, last), max(first, last))


def cube(uv: Vec2, turn: float = 0.65, tilt: float = 0.5) -> Vec3:
    """A cube by its three slabs, turned by a matrix, with a frame on each face."""
    about_y = mat3(cos(turn), 0.0, -sin(turn), 0.0, 1.0, 0.0, sin(turn), 0.0, cos(turn))
    about_x = mat3(1.0, 0.0, 0.0, 0.0, cos(tilt), sin(tilt), 0.0, -sin(tilt), cos(tilt))
    pose = about_y * transpose(about_x)
    eye = pose * vec3(0.0, 0.0, 4.2)
    ray = pose * normalize(vec3((uv - 0.5) * 2.0, -1.9))
    x, y, z = slab(eye.x, ray.x), slab(eye.y, ray.y), slab(eye.z, ray.z)
    near, far = max(max(x.x, y.x), z.x), min(min(x.y, y.y), z.y)
    if near > far:
        return mix(vec3(0.13, 0.14, 0.2), vec3(0.3, 0.32, 0.42), uv.y)
    p = eye + ray * near
    if x.x == near:
        face, colour = p.yz, vec3(0.9, 0.35, 0.3)
    elif y.x == near:
        face, colour = p.zx, vec3(0.95, 0.8, 0.35)
    else:
        face, colour = p.xy, vec3(0.3, 0.6, 0.85)
    edge = max(abs(face.x), abs(face.y))
    return colour * (1.0 if edge > 0.86 else 0.55 + 0.25 * step(0.45, edge))


BRANCHLESS = (plasma, ripple)
"""Shaders without any branch: flattening changes nothing about them."""

SHADERS = (
    checker, vignette, plasma, ripple, bricks, truchet, dither, kaleidoscope, hue_wheel, heat, tonemap, sunset, clouds,
    voronoi, mandelbrot, julia, metaballs, fresnel, phong, ray_march, cube,
)  # fmt: skip
