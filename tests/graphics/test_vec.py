"""pyflat.vec: as plain Python it has the meaning of GLSL, and a twin sees through it bit for bit."""

from __future__ import annotations

import colorsys
import math
import typing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import pyflat
from pyflat import vec
from pyflat.backend import flatten_function
from pyflat.errors import FlattenError
from pyflat.vec import Mat2, Mat3, Vec2, Vec3, Vec4, mat2, mat3, mat4, swizzles, vec2, vec3, vec4

ROWS = 257
RNG = np.random.default_rng(11)
FINITE = RNG.uniform(-3.0, 3.0, (8, ROWS))
FINITE[:, :12] = RNG.choice([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300], (8, 12))


# --- plain Python
def test_constructors() -> None:
    assert vec3(1, 2, 3) == Vec3(1.0, 2.0, 3.0)
    assert all(type(c) is float for c in vec3(1, True, 3))
    assert vec4(0.5) == Vec4(0.5, 0.5, 0.5, 0.5)
    assert vec4(vec2(1, 2), 3, 4) == vec4(1, vec3(2, 3, 4)) == vec4(vec2(1, 2), vec2(3, 4)) == Vec4(1.0, 2.0, 3.0, 4.0)
    assert vec2(vec2(1, 2)) == Vec2(1.0, 2.0)


@pytest.mark.parametrize("make", [lambda: vec3(1, 2), lambda: vec2(vec3(0)), lambda: vec4(vec3(1), vec2(1)), vec3])
def test_constructors_count(make) -> None:
    with pytest.raises(TypeError, match="components"):
        make()


def test_operators() -> None:
    a, b = vec3(1, 2, 3), vec3(4, 5, 6)
    assert a + b == Vec3(5, 7, 9) and b - a == Vec3(3, 3, 3) and a * b == Vec3(4, 10, 18)
    assert b / a == Vec3(4, 2.5, 2) and -a == Vec3(-1, -2, -3) and +a is a
    assert 2 * a == a * 2 == Vec3(2, 4, 6) and 1 - a == Vec3(0, -1, -2) and 6 / a == Vec3(6, 3, 2)
    assert a**2 == Vec3(1, 4, 9) and 2.0**a == Vec3(2, 4, 8)
    assert vec3(-1, 5, 7) % 4 == Vec3(3, 1, 3) and 7 % vec2(4, 5) == Vec2(3, 2) and vec2(7, -7) // 2 == Vec2(3, -4)
    assert abs(vec2(-1, 2)) == Vec2(1, 2)
    assert 1 + a == Vec3(2, 3, 4)


@pytest.mark.parametrize("wrong", [lambda: vec2(1) + vec3(1), lambda: (1, 2) * vec2(1), lambda: vec2(1) * mat3(1),
                                   lambda: mat2(1) * vec3(1)])
def test_lengths_do_not_mix(wrong) -> None:
    with pytest.raises((TypeError, ValueError)):
        wrong()


def test_swizzles() -> None:
    v = vec4(1, 2, 3, 4)
    assert v.x == v.r == 1 and v.w == v.a == 4
    assert v.xy == Vec2(1, 2) and v.zyx == Vec3(3, 2, 1) and v.wwww == Vec4(4, 4, 4, 4) and v.bgra == Vec4(3, 2, 1, 4)
    assert vec2(1, 2).yx == Vec2(2, 1)
    for wrong in ("z", "xz", "xg", "xyzwx", "rgx"):
        assert not hasattr(vec2(1, 2), wrong)


def test_every_swizzle_reads_what_it_names() -> None:
    values = dict(zip("xyzwrgba", [1.0, 2.0, 3.0, 4.0] * 2, strict=True))
    v = vec4(1, 2, 3, 4)
    names = [name for size, below in ((2, 0), (3, 2), (4, 3)) for name in swizzles.names(size, below)]
    assert len(names) == len(set(names)) == 2 * (4 + 16 + 64 + 256) - 4
    for name in names:
        found = getattr(v, name)
        assert (found if len(name) > 1 else (found,)) == tuple(values[letter] for letter in name)


def test_the_stub_declares_what_is_there() -> None:
    assert Path(swizzles.__file__).with_suffix(".pyi").read_text(encoding="utf-8") == swizzles.stub()


def test_components_are_written_into_a_copy() -> None:
    v = vec3(1, 2, 3)
    assert v.replace(x=9) == Vec3(9, 2, 3) and v.replace(zy=vec2(7, 8)) == Vec3(1, 8, 7) and v == Vec3(1, 2, 3)
    assert v.replace(rg=v.gr) == Vec3(2, 1, 3)
    with pytest.raises(AttributeError):
        v.x = 1.0
    for wrong in ({"xx": vec2(1)}, {"xy": 1.0}, {"x": vec2(1)}):
        with pytest.raises(TypeError):
            v.replace(**wrong)
    with pytest.raises(TypeError):
        vec2(1).replace(z=1.0)


def test_geometry() -> None:
    a, b = vec3(1, 2, 2), vec3(0, 3, 4)
    assert vec.dot(a, b) == 14.0 and vec.dot(vec2(1, 2), vec2(3, 4)) == 11.0 and vec.dot(vec4(1), vec4(2)) == 8.0
    assert vec.cross(vec3(1, 0, 0), vec3(0, 1, 0)) == Vec3(0, 0, 1)
    assert vec.length(a) == 3.0 and vec.distance(vec2(0), vec2(3, 4)) == 5.0
    assert vec.normalize(b) == Vec3(0.0, 0.6, 0.8)
    assert vec.reflect(vec2(1, -1), vec2(0, 1)) == Vec2(1, 1)
    assert vec.refract(vec3(0, 0, -1), vec3(0, 0, 1), 0.7) == Vec3(0, 0, -1)
    assert vec.refract(vec.normalize(vec2(5, -1)), vec2(0, 1), 1.5) == Vec2(0, 0)
    assert vec.faceforward(a, b, b) == -a and vec.faceforward(a, b, -b) == a
    with pytest.raises(ZeroDivisionError):
        vec.normalize(vec3(0))


def test_functions_by_component() -> None:
    assert vec.mix(1.0, 3.0, 0.25) == 1.5 and vec.mix(vec2(0), vec2(4, 8), 0.5) == Vec2(2, 4)
    assert vec.mix(vec2(0), vec2(4, 8), vec2(0, 1)) == Vec2(0, 8)
    assert [vec.step(1.0, x) for x in (0.5, 1.0, 2.0)] == [0.0, 1.0, 1.0]
    assert vec.step(vec2(1, 3), vec2(2, 2)) == Vec2(1, 0) and vec.step(1.0, vec2(0, 2)) == Vec2(0, 1)
    assert [vec.smoothstep(0.0, 2.0, x) for x in (-1.0, 0.0, 1.0, 2.0, 3.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert vec.clamp(vec3(-1, 0.5, 2), 0.0, 1.0) == Vec3(0, 0.5, 1) and vec.saturate(7.0) == 1.0
    assert vec.fract(-0.25) == 0.75 and vec.floor(vec2(-0.5, 1.5)) == Vec2(-1, 1) and vec.ceil(0.5) == 1.0
    assert vec.trunc(-1.5) == -1.0 and vec.round(vec2(0.5, 1.5)) == Vec2(0, 2)
    assert [vec.sign(x) for x in (-2.0, 0.0, 3.0)] == [-1.0, 0.0, 1.0]
    assert vec.min(vec2(1, 4), vec2(3, 2)) == Vec2(1, 2) and vec.max(vec2(1, 4), 2.0) == Vec2(2, 4)
    assert vec.mod(vec2(-1, 5), 3.0) == Vec2(2, 2) and vec.pow(vec2(2, 3), 2.0) == Vec2(4, 9)
    assert vec.inversesqrt(4.0) == 0.5 and vec.exp2(vec2(3, -1)) == Vec2(8, 0.5) and vec.degrees(math.pi) == 180.0
    assert vec.radians(180.0) == pytest.approx(math.pi) and vec.atan2(1.0, -1.0) == math.atan2(1.0, -1.0)
    assert vec.sin(vec2(0, 1)) == Vec2(0.0, math.sin(1.0))


def test_matrices() -> None:
    m = mat2(1, 2, 3, 4)
    assert m == Mat2(Vec2(1, 2), Vec2(3, 4)) == mat2(vec2(1, 2), vec2(3, 4))
    assert m * vec2(1, 10) == Vec2(31, 42) and vec2(1, 10) * m == Vec2(21, 43)
    assert m * mat2(1) == m == mat2(1) * m and m * mat2(0, 1, 1, 0) == mat2(3, 4, 1, 2)
    assert m * 2 == 2 * m == mat2(2, 4, 6, 8) and m + m == m * 2 and m - m == mat2(0) and -m == m * -1 and m / 2 == m * .5
    assert vec.transpose(m) == mat2(1, 3, 2, 4) and vec.determinant(m) == -2.0
    assert vec.inverse(m) * m == mat2(1)
    n = mat3(2, 0, 1, 1, 3, 0, 0, 1, 4)
    assert vec.determinant(n) == 25.0
    assert all(abs(x - y) < 1e-12 for a, b in zip(vec.inverse(n) * n, mat3(1), strict=True)
               for x, y in zip(a, b, strict=True))
    assert mat4(2.0)[3] == Vec4(0, 0, 0, 2) and vec.transpose(mat4(2.0)) == mat4(2.0)
    assert vec.transpose(n)[0] == Vec3(2, 1, 0) and vec.rotation(0.0) == mat2(1)
    with pytest.raises(TypeError, match="two or three"):
        vec.inverse(mat4(1))


def test_import_star_hides_no_builtin() -> None:
    namespace: dict[str, object] = {}
    exec("from pyflat.vec import *", namespace)
    assert not set(vec.BUILTINS) & set(namespace) and namespace["vec3"] is vec3
    assert all(callable(getattr(vec, name)) for name in (*vec.BUILTINS, *vec.__all__))


# --- in lanes
def binary(f):
    """Functions of two vectors and a scalar."""
    return {
        "add": lambda a, b, s: a + b * s, "sub": lambda a, b, s: s - a - b, "mul": lambda a, b, s: -a * b,
        "dot": lambda a, b, s: vec.dot(a, b), "length": lambda a, b, s: vec.length(a) + vec.distance(a, b),
        "min": lambda a, b, s: vec.min(a, b) + vec.max(a, s), "mix": lambda a, b, s: vec.mix(a, b, s),
        "clamp": lambda a, b, s: vec.clamp(a, s, s + 1.0), "step": lambda a, b, s: vec.step(a, b) + vec.step(s, a),
        "smooth": lambda a, b, s: vec.smoothstep(-1.0, 2.0, a), "floor": lambda a, b, s: vec.floor(a) + vec.ceil(b),
        "fract": lambda a, b, s: vec.fract(a) + vec.sign(b) + vec.trunc(a) + vec.round(b),
        "reflect": lambda a, b, s: vec.reflect(a, b), "refract": lambda a, b, s: vec.refract(a, b, 0.3),
        "forward": lambda a, b, s: vec.faceforward(a, b, a), "sin": lambda a, b, s: vec.sin(a) + vec.cos(b),
        "exp": lambda a, b, s: vec.exp(a) + vec.tanh(b) + vec.exp2(a), "abs": lambda a, b, s: vec.abs(a) + abs(b),
        "atan": lambda a, b, s: vec.atan2(a, b) + vec.atan(a), "swizzle": lambda a, b, s: a.yx * b.xy + a.yyxy.wz,
        "replace": lambda a, b, s: a.replace(y=b.x).replace(xy=a.yx) * s, "mod": lambda a, b, s: vec.mod(a, 1.5),
        "choice": lambda a, b, s: (a if s > 0.0 else b) * 2.0, "degrees": lambda a, b, s: vec.degrees(vec.radians(a)),
    }[f]


NAMES = ("add", "sub", "mul", "dot", "length", "min", "mix", "clamp", "step", "smooth", "floor", "fract", "reflect",
         "refract", "forward", "sin", "exp", "abs", "atan", "swizzle", "replace", "mod", "choice", "degrees")


@pytest.mark.parametrize(("name", "target"), [*[(name, "numpy") for name in NAMES],
                                              *[(name, "numba") for name in ("mix", "fract", "choice")]])
def test_twins_of_vector_functions(name: str, target: str) -> None:
    fn = binary(name)
    a, b = Vec2(*FINITE[:2]), Vec2(*FINITE[2:4])
    pyflat.twin(fn, target=target).verify(a, b, FINITE[4])


def test_three_components_and_matrices_in_lanes() -> None:
    def turned(p: Vec3, angle: float) -> Vec3:
        m = mat3(vec.cos(angle), vec.sin(angle), 0.0, -vec.sin(angle), vec.cos(angle), 0.0, vec3(0, 0, 1))
        n = vec.transpose(m) * vec.inverse(m)
        return vec.cross(m * p, p * n) + mat4(angle)[3].wzy + (p.replace(xy=vec.rotation(angle) * p.xy))

    pyflat.twin(turned).verify(Vec3(*FINITE[:3]), FINITE[3])


def test_results_are_vectors_of_arrays() -> None:
    found = pyflat.twin(lambda p: p.bgr)(Vec3(*FINITE[:3]))
    assert type(found) is Vec3 and np.array_equal(found.x, FINITE[2])
    moved = found * FINITE[4] + 1.0
    assert np.array_equal(moved.y, FINITE[1] * FINITE[4] + 1.0) and (FINITE[4] * found).z.shape == (ROWS,)


def test_where_vectors_meet_each_component_is_one_select() -> None:
    def pick(a: Vec3, b: Vec3, s: float) -> Vec3:
        colour = a
        if s > 0.5:
            colour = b
        return colour * 2.0

    counts = flatten_function(pick).counts()
    assert counts["select"] == 3 and counts["mul"] == 3


def test_a_vector_changed_in_a_kept_loop() -> None:
    def walk(p: Vec2, limit: float) -> Vec2:
        while vec.dot(p, p) < limit:
            p = p * 1.5 + vec2(0.1, 0.2)
        return p

    twin = pyflat.twin(walk)
    twin.verify(Vec2(*FINITE[:2]), np.abs(FINITE[2]))


def test_loops_over_several_sources_and_array_literals() -> None:
    def weighted(p: Vec3) -> float:
        total = 0.0
        for component, weight, power in zip(p, [0.2, 0.7, 0.1], (1, 2, 3), strict=True):
            total += weight * component**power
        for offset in [0.5, -0.25]:
            if p.x > offset:
                continue
            total += offset
        return total

    pyflat.twin(weighted).verify(Vec3(*FINITE[:3]))


@dataclass
class Surface:
    colour: Vec3
    gloss: float
    hit: bool = False


def test_structs_with_vectors_in_and_out() -> None:
    def polish(s: Surface, amount: float) -> Surface:
        if amount < 0.0:
            return Surface(s.colour.zyx, 0.0)
        return Surface(vec.mix(s.colour, vec3(1), amount), s.gloss + amount, True)

    s = Surface(Vec3(*FINITE[:3]), FINITE[3], FINITE[4] > 0.0)
    twin = pyflat.twin(polish)
    twin.verify(s, FINITE[5])
    found = twin(s, FINITE[5])
    assert type(found) is Surface and type(found.colour) is Vec3 and found.hit.dtype == bool


def test_a_tuple_or_none_is_starred() -> None:
    """colorsys.hsv_to_rgb ends with a path that returns None."""
    twin = pyflat.twin(lambda h, s, v: vec3(*colorsys.hsv_to_rgb(h, s, v)))
    assert twin.verify(*np.abs(FINITE[:3])).lanes == ROWS

    def pair(x: float) -> Vec2:
        return vec2(*((x, 1.0) if x > 0.0 else None))

    found, faults = pyflat.twin(pair, errors="mask")(FINITE[0])
    assert np.array_equal(faults.mask, FINITE[0] <= 0.0) and faults[int(faults.lanes[0])].type is TypeError

    with pytest.raises(FlattenError, match="cannot iterate over"):
        pyflat.twin(lambda x: length_of(*((x, x) if x > 0.0 else (x,))))(FINITE[0])


def length_of(*items: float) -> int:
    return len(items)


def test_a_captured_vector_is_a_constant() -> None:
    light = vec3(1, 2, 3)

    def lit(p: Vec3) -> float:
        return vec.dot(p * light + light, light)

    pyflat.twin(lit).verify(Vec3(*FINITE[:3]))


def test_normalizing_nothing_raises_as_the_original_does() -> None:
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(lambda p: vec.normalize(p))(Vec2(np.array([1.0, 0.0]), np.array([1.0, 0.0])))


def test_annotations_of_vectors() -> None:
    def shade(p: Vec3, m: Mat3) -> Vec3:
        return m * p

    assert len(flatten_function(shade, arguments={"m": mat3(1.0)}).params) == 12


def test_signatures_are_readable_while_running() -> None:
    """Backends read what a function returns from its annotation."""
    for make, cls in ((vec2, Vec2), (vec3, Vec3), (vec4, Vec4), (mat2, Mat2), (vec.cross, Vec3)):
        assert typing.get_type_hints(make)["return"] is cls
