"""A ray-marched picture as one scalar function: the colour of one pixel, written without an array in sight.

Sphere tracing after Hart, "Sphere tracing: a geometric method for the antialiased ray tracing of implicit
surfaces", The Visual Computer 12 (1996); the smooth minimum and the soft shadow are Quilez's.
"""

import math

STEPS = 48
SHADOW_STEPS = 14
FAR = 18.0
HIT = 0.002

EYE = (0.0, 2.05, -4.9)
TILT = -0.30  # how far the eye looks down, as a slope
SUN = (-0.64, 0.58, -0.504)  # of length 1


def clamp(x: float, low: float, high: float) -> float:
    if x < low:
        return low
    if x > high:
        return high
    return x


def mix(a: float, b: float, t: float) -> float:
    return a + (b - a) * t


def length(x: float, y: float, z: float) -> float:
    return math.sqrt(x * x + y * y + z * z)


def smooth_min(a: float, b: float, k: float) -> float:
    """The smaller of two distances, with the edge between them rounded over a width k."""
    h = k - abs(a - b)
    if h <= 0.0:
        return min(a, b)
    return min(a, b) - h * h / (4.0 * k)


def things(x: float, y: float, z: float) -> float:
    """Distance to what stands on the floor: three balls melting together, and a ring around them."""
    balls = smooth_min(length(x, y - 0.75, z) - 0.75, length(x - 0.85, y - 0.42, z + 0.45) - 0.42, 0.35)
    balls = smooth_min(balls, length(x + 0.8, y - 0.5, z + 0.35) - 0.38, 0.4)
    across = math.sqrt(x * x + z * z) - 1.75
    ring = math.sqrt(across * across + (y - 0.16) * (y - 0.16)) - 0.16
    return min(balls, ring)


def distance(x: float, y: float, z: float) -> float:
    return min(things(x, y, z), y)


def march(dx: float, dy: float, dz: float) -> float:
    """How far the ray from the eye goes until it meets something; FAR or more: it meets nothing."""
    along = 0.0
    for _ in range(STEPS):
        near = distance(EYE[0] + along * dx, EYE[1] + along * dy, EYE[2] + along * dz)
        if near < HIT:
            break
        along += near
        if along > FAR:
            break
    return along


def sunlight(x: float, y: float, z: float) -> float:
    """1 in the light, 0 in the shadow, between them where the sun is partly hidden."""
    light = 1.0
    along = 0.03
    for _ in range(SHADOW_STEPS):
        near = things(x + along * SUN[0], y + along * SUN[1], z + along * SUN[2])
        if near < HIT:
            return 0.0
        light = min(light, 9.0 * near / along)
        along += clamp(near, 0.04, 0.4)
        if along > 5.0:
            break
    return light


def sky(dy: float) -> tuple[float, float, float]:
    """A gradient from the pale horizon up to a deep blue."""
    up = clamp(dy * 2.6, 0.0, 1.0)
    rise = 1.0 - (1.0 - up) * (1.0 - up)
    return mix(0.62, 0.05, rise), mix(0.56, 0.16, rise), mix(0.52, 0.38, rise)


def paint(x: float, y: float, z: float) -> tuple[float, float, float]:
    """The colour of what is at a point: a chequered floor, a copper ring, blue-green balls."""
    if y < 0.02:
        odd = (math.floor(x * 0.8) + math.floor(z * 0.8)) % 2
        return (0.15, 0.13, 0.14) if odd else (0.60, 0.54, 0.47)
    if x * x + z * z > 1.55 * 1.55:
        return 0.80, 0.33, 0.11
    return mix(0.03, 0.10, y), mix(0.26, 0.50, y), mix(0.42, 0.45, y)


def lit(x: float, y: float, z: float, dx: float, dy: float, dz: float) -> tuple[float, float, float]:
    """The colour of a point of a surface that a ray of direction (dx, dy, dz) has met."""
    here, e = distance(x, y, z), 0.0015
    nx, ny, nz = distance(x + e, y, z) - here, distance(x, y + e, z) - here, distance(x, y, z + e) - here
    inverse = 1.0 / (length(nx, ny, nz) + 1e-12)
    nx, ny, nz = nx * inverse, ny * inverse, nz * inverse

    facing = nx * SUN[0] + ny * SUN[1] + nz * SUN[2]
    sun = facing * sunlight(x + nx * 0.01, y + ny * 0.01, z + nz * 0.01) if facing > 0.0 else 0.0
    nearby = clamp(things(x + nx * 0.3, y + ny * 0.3, z + nz * 0.3) / 0.3, 0.15, 1.0)
    open_sky = nearby * (0.6 + 0.4 * ny)
    red, green, blue = paint(x, y, z)
    red, green, blue = (
        red * (1.35 * sun + 0.26 * open_sky),
        green * (1.22 * sun + 0.32 * open_sky),
        blue * (1.02 * sun + 0.44 * open_sky),
    )
    if y < 0.02:  # the floor is matt, everything else mirrors the sky and the sun
        return red, green, blue
    against = nx * dx + ny * dy + nz * dz
    rx, ry, rz = dx - 2.0 * against * nx, dy - 2.0 * against * ny, dz - 2.0 * against * nz
    mirror = 0.05 + 0.6 * (1.0 - clamp(-against, 0.0, 1.0)) ** 4
    sky_r, sky_g, sky_b = sky(max(ry, 0.0))
    shine = 0.9 * clamp(rx * SUN[0] + ry * SUN[1] + rz * SUN[2], 0.0, 1.0) ** 40 * sun
    return (
        mix(red, sky_r * nearby, mirror) + shine,
        mix(green, sky_g * nearby, mirror) + 0.95 * shine,
        mix(blue, sky_b * nearby, mirror) + 0.85 * shine,
    )


def tone(light: float) -> float:
    """Light to screen: square root for gamma 2, after clamping."""
    return math.sqrt(clamp(light, 0.0, 1.0))


def pixel(u: float, v: float) -> tuple[float, float, float]:
    """Red, green and blue in [0, 1]; v runs from -1 at the bottom to 1 at the top, u likewise times the proportion."""
    scale = 1.0 / length(u, v + 2.3 * TILT, 2.3)
    dx, dy, dz = u * scale, (v + 2.3 * TILT) * scale, 2.3 * scale
    sky_r, sky_g, sky_b = sky(max(dy, 0.0))
    along = march(dx, dy, dz)
    if along >= FAR:
        return tone(sky_r), tone(sky_g), tone(sky_b)
    x, y, z = EYE[0] + along * dx, EYE[1] + along * dy, EYE[2] + along * dz
    red, green, blue = lit(x, y, z, dx, dy, dz)
    haze = (along / FAR) * (along / FAR)
    return tone(mix(red, sky_r, haze)), tone(mix(green, sky_g, haze)), tone(mix(blue, sky_b, haze))
