"""WGSL for real: compute and fragment shaders on the adapter that wgpu finds, against Python."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pyflat
from gallery_accuracy import BOUND, measure, picture_arguments
from gallery_functions import FUNCTIONS
from gallery_shaders import SHADERS
from pyflat import graphics
from pyflat.backend import Call
from pyflat.errors import FlattenError
from pyflat.functions.records import ABSENT, RECORDS
from pyflat.ir.memory import MEMORY_OPERATIONS
from pyflat.ir.nodes import count_ops
from pyflat.ir.ops import FUSED, PRIMITIVES, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, PACK
from pyflat.targets import wgsl
from pyflat.targets.shaders import MAX_TRIPS
from pyflat.vec import Vec2, Vec3, Vec4, dot, vec2, vec3, vec4
from tests.graphics.test_printing import operation, validate, validator

pytestmark = pytest.mark.usefixtures("device")
EDGES = {
    FLOAT: [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e-3, 100.0, 1e6, -1e6, 0.25, -7.75],
    INT: [0, 1, -1, 2, -2, 3, 5, -7, 12, 31, 32, 40, 1000, -1000, 65535, 2**31 - 1],
    BOOL: [False, True],
}
LOOSE = {
    "pow": 2e-5, "exp": 2e-6, "expm1": 2e-6, "exp2": 2e-6, "sin": 5e-6, "cos": 5e-6, "tan": 2e-5, "tanh": 2e-6,
    "sinh": 5e-6, "cosh": 5e-6, "erf": 2e-6, "erfc": 2e-6, "log": 2e-6, "log1p": 2e-6, "log2": 2e-6, "log10": 2e-6,
    "asin": 5e-5, "acos": 5e-5, "atan": 5e-5, "atan2": 5e-5, "cbrt": 5e-6, "asinh": 5e-5, "acosh": 5e-5, "atanh": 5e-5,
}
"""Absolute (or relative, above 1) errors of the elementary functions on drivers; other operations are within 2e-6."""
CANCELLING = ("mod", "fmod", "remainder", "lerp", "mad", "dot", "np_dot", "hadd")
"""Differences of large products: their error is that of the operands."""
OPTIMIZED = ("vignette", "ripple", "truchet", "heat", "fresnel", "phong", "cube", "sunset")
TESTED = sorted(name for name, row in {**PRIMITIVES, **FUSED}.items()
                if row.accuracy is not Accuracy.NUMPY and name not in {
                    "fault", "call", "part", "pack", "round_digits", "low64", "ufunc", "beyond_exact", "isnormal", *MEMORY_OPERATIONS}
                and (name not in RECORDS or RECORDS[name].on("wgsl") != ABSENT))


@pytest.mark.parametrize("name", TESTED)
def test_each_operation(name: str) -> None:
    """Random operands and edges; lanes in which Python raises, or leaves 32 bits, mean nothing."""
    from pyflat.targets.wgsl.run import run_compute

    row = {**PRIMITIVES, **FUSED}[name]
    rng = np.random.default_rng(5)
    for operands, result in row.signatures:
        if len(operands) > 4:
            continue
        fn = operation(name, operands, result)
        columns = [lanes(rng, param.kind) for param in fn.params]
        (found,) = run_compute(wgsl.function(fn, ["value"]), columns, len(columns[0]))
        compared = 0
        for values in zip(*[column.tolist() for column in columns], found.tolist(), strict=True):
            wanted = meaning(name, row, operands, result, values[:-1])
            if wanted is not None:
                compared += 1
                scale = max(map(abs, values[:-1])) if name in CANCELLING else 1.0
                assert near(values[-1], wanted, scale * LOOSE.get(name, 2e-6)), (name, values, wanted)
        assert compared >= 20, f"{name} of {operands}: only {compared} lanes have a value"


def lanes(rng: np.random.Generator, kind: Any, count: int = 300) -> Any:
    edges = rng.choice(np.array(EDGES[kind]), count)
    match kind:
        case x if x is FLOAT:
            drawn = rng.uniform(-4.0, 4.0, count).astype(np.float32).astype(np.float64)
        case x if x is INT:
            drawn = rng.integers(-50, 50, count)
        case _:
            drawn = rng.random(count) < 0.5
    return np.where(rng.random(count) < 0.4, edges, drawn)


def meaning(name: str, row: Any, operands: Any, result: Any, values: tuple[Any, ...]) -> Any:
    if PACK in operands:
        values = tuple(values[k:k + 3] for k in range(0, len(values), 3))
    try:
        if name == "gather":
            size = 2
            if not -size <= values[0] < size:
                return None
            return {BOOL: True, INT: 1, FLOAT: 1.0}[result]
        wanted = row.python(*values)
    except (ArithmeticError, ValueError, IndexError):
        return None
    if result is INT and not -(2**31) <= wanted < 2**31:
        return None
    if result is FLOAT and (math.isnan(wanted) or abs(wanted) > 1e30 or 0 < abs(wanted) < 1e-30):
        return None
    if name in ("mod", "floordiv", "fmod", "remainder") and result is FLOAT and on_a_step(*values):
        return None
    return wanted


def on_a_step(a: float, b: float) -> bool:
    """The quotient is so near to a multiple of a half that 32 bits may round it there."""
    q = 2.0 * a / b
    return q != round(q) and abs(q - round(q)) < 1e-5 * max(1.0, abs(q)) or abs(q) > 1e6


def near(found: Any, wanted: Any, bound: float) -> bool:
    if isinstance(wanted, bool | int):
        return bool(found == wanted)
    return abs(found - wanted) <= bound * max(1.0, abs(wanted))


# --- shaders and functions
@pytest.mark.parametrize("shader", SHADERS, ids=lambda fn: fn.__name__)
def test_shaders_lane_by_lane(shader) -> None:
    found = measure(shader, picture_arguments(64))
    assert found.lanes == 64 * 64 and found.worst < BOUND and found.on_edge < 0.01 * found.lanes


@pytest.mark.parametrize(("fn", "columns"), FUNCTIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_functions_lane_by_lane(fn, columns) -> None:
    found = measure(fn, columns(np.random.default_rng(3), 2_000))
    assert found.lanes > 1_800 and found.worst < BOUND and found.on_edge < 20


def test_the_measure_sees_an_error() -> None:
    x = np.linspace(0.1, 1.0, 500)
    assert measure(lambda x: x * 3.0, [x]).worst < 1e-7
    assert measure(lambda x: math.sqrt(1.0 + x * 1e-6) - 1.0, [x]).worst > BOUND
    assert measure(lambda x: 1.0 if x * 1e7 % 2.0 < 1.0 else 0.0, [x]).on_edge > 100


@pytest.mark.parametrize("shader", SHADERS, ids=lambda fn: fn.__name__)
def test_pictures_are_those_of_numpy(shader) -> None:
    on_gpu, on_cpu = graphics.render(shader, 48, 40), graphics.paint(shader, 48, 40)
    assert on_gpu.shape == on_cpu.shape == (40, 48, 4) and on_gpu.dtype == np.float32
    different = np.abs(on_gpu - on_cpu).max(axis=-1) > 1e-3
    assert different.mean() < 0.01 and float(np.std(on_cpu[..., :3])) > 0.03
    assert np.all(on_gpu[..., 3] == 1.0)


# --- pictures
def test_the_place_is_the_centre_of_the_pixel() -> None:
    found = graphics.render(lambda u, v: (u, v, 0.0), 4, 2)
    assert np.allclose(found[..., 0], [[0.125, 0.375, 0.625, 0.875]] * 2)
    assert np.allclose(found[..., 1], [[0.75] * 4, [0.25] * 4])
    assert np.array_equal(graphics.paint(lambda u, v: (u, v, 0.0), 4, 2).astype(np.float32), found)


@dataclass
class Light:
    colour: Vec3
    on: bool
    power: int


def test_uniforms_of_all_kinds() -> None:
    def lit(uv: Vec2, light: Light, gain, lines: int = 3):
        shade = light.colour * (gain * light.power + uv.x) if light.on else vec3(0.0)
        return shade + lines

    for on in (True, False):
        uniforms = {"light": Light(vec3(0.1, 0.2, 0.3), on, 2), "gain": 0.25}
        found = graphics.render(lit, 3, 5, **uniforms)
        assert np.allclose(found, graphics.paint(lit, 3, 5, **uniforms), atol=1e-6)
        assert np.allclose(found[..., 1], (0.2 * (0.5 + found[..., 0] * 0 + [1 / 6, 0.5, 5 / 6]) if on else 0.0) + 3)


def test_pixels_that_raise_are_nan() -> None:
    def hole(u, v):
        if u < 0.5:
            raise ValueError("outside")
        return v

    found = graphics.paint(hole, 4, 2)
    assert np.isnan(found[:, :2, :3]).all() and not np.isnan(found[:, 2:]).any()
    assert graphics.to_bytes(found)[0].tolist() == [[0, 0, 0, 255]] * 2 + [[191, 191, 191, 255]] * 2


def test_grey_and_transparent_pictures() -> None:
    assert np.allclose(graphics.render(lambda u, v: u > 0.5, 2, 1), [[[0, 0, 0, 1], [1, 1, 1, 1]]])
    assert np.allclose(graphics.render(lambda u, v: (u, v, 0.5, 0.25), 1, 1), [[[0.5, 0.5, 0.5, 0.25]]])
    assert np.allclose(graphics.paint(lambda u, v: (u, v, 0.5, 0.25), 1, 1), [[[0.5, 0.5, 0.5, 0.25]]])


# --- the engine
def unchecked(fn, **options):
    return pyflat.twin(fn, target="wgsl", errors="unchecked", **options)


def test_scalars_arrays_and_structures_come_back_as_from_other_targets() -> None:
    twin = unchecked(lambda p, n: (p.yx * n, n + 1, n > 2))
    swapped, more, large = twin(vec2(np.arange(6.0).reshape(2, 3), 1.0), 3)
    assert type(swapped) is Vec2 and swapped.y.shape == (2, 3) and swapped.y.dtype == np.float32
    assert swapped.y.tolist() == [[0, 3, 6], [9, 12, 15]] and more.dtype == np.int32 and large.dtype == np.bool_
    assert twin(vec2(1.0, 2.0), 2) == (Vec2(4.0, 2.0), 3, False)
    assert unchecked(lambda x: x)(np.array([])).shape == (0,)


def test_no_arguments_and_constants() -> None:
    assert unchecked(lambda: 2.5)() == 2.5
    assert unchecked(lambda n: (n * 0 + 7, 1.5))(np.arange(3))[0].tolist() == [7, 7, 7]


def test_a_function_that_gives_no_number() -> None:
    assert unchecked(lambda x: None)(np.arange(3.0)) is None
    with pytest.raises(FlattenError, match="gives no number"):
        pyflat.twin(lambda x: None).show(target="wgsl")


def test_more_lanes_than_one_dispatch_takes(monkeypatch) -> None:
    from pyflat.targets.wgsl import run

    monkeypatch.setattr(run, "LANES", 1000)
    x = np.arange(2500.0)
    assert np.array_equal(unchecked(lambda x, s: x * 2.0 + s)(x, 1.0), x * 2 + 1)


def test_arguments_beyond_32_bits() -> None:
    with pytest.raises(OverflowError, match="n has an int beyond the 32 bits"):
        unchecked(lambda n: n + 1)(np.array([1, 2**31]))
    assert unchecked(lambda n: n - 1)(np.array([-(2**31) + 1])).tolist() == [-(2**31)]
    assert unchecked(lambda x: x)(np.array([1e300]))[0] == np.inf


def test_infinities_and_nan_pass() -> None:
    def limits(x):
        if x > 2.0:
            return math.inf
        if x > 1.0:
            return math.nan
        return -math.inf if x < 0.0 else (math.inf, 0.5)[int(x)]

    found = unchecked(limits)(np.array([3.0, 1.5, -1.0, 0.0, 1.0]))
    assert found[[0, 2, 3, 4]].tolist() == [math.inf, -math.inf, math.inf, 0.5] and math.isnan(found[1])


def test_a_loop_that_never_ends_ends() -> None:
    def stuck(x):
        n = 0
        while x > 0.0:
            n += 1
            x = x * 1.0 + 0.0
        return n

    assert unchecked(stuck)(np.array([-1.0, 1.0])).tolist() == [0, MAX_TRIPS]


def test_nested_loops_with_tables_and_early_returns() -> None:
    def search(n: int, k: int):
        for i in range(n):
            for j in range(k):
                if (3, 1, 4, 1, 5, 9, 2, 6)[(i + j) % 8] * i > n + j * j:
                    return i * 100 + j
        return -1

    n, k = np.meshgrid(np.arange(12), np.arange(9))
    assert np.array_equal(unchecked(search, loops="masked")(n, k), pyflat.twin(search)(n, k))


def test_kept_state_of_two_variables_that_swap() -> None:
    def fibonacci(n: int):
        a, b = 0, 1
        while n > 0:
            a, b = b, a + b
            n -= 1
        return a

    assert unchecked(fibonacci)(np.arange(10)).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


@pytest.mark.parametrize("shader", [shader for shader in SHADERS if shader.__name__ in OPTIMIZED],
                         ids=lambda fn: fn.__name__)
def test_optimized_shaders_give_the_same_pictures(shader) -> None:
    plain = graphics.shader(shader)
    fast = plain.optimized()
    assert 0.3 * count_ops(plain.ir) < count_ops(fast.ir) < 0.95 * count_ops(plain.ir)
    different = np.abs(fast.render(48, 40) - graphics.paint(shader, 48, 40)).max(axis=-1) > 1e-3
    assert different.mean() < 0.01


def test_optimizing_uses_what_the_languages_have() -> None:
    def lit(uv: Vec2) -> float:
        p = vec3(uv, 0.5)
        return max(dot(p, p.zxy), 0.0) * (1.0 - uv.x) + uv.y * uv.x

    text = graphics.fragment(lit, fast_math=True)
    assert "dot(vec3<f32>(" in text and "mix(" in text and "max(" in text
    assert "dot(vec3(" in graphics.fragment(lit, fast_math=True, language="glsl")


def test_a_shader_with_a_loop_is_not_optimized() -> None:
    made = graphics.shader(next(shader for shader in SHADERS if shader.__name__ == "julia"))
    assert made.optimized() is made


def test_what_the_language_does_not_have_is_refused_before_anything_runs() -> None:
    with pytest.raises(FlattenError, match=r"math\.gamma is not available on WGSL"):
        unchecked(lambda x: math.gamma(x))(1.0)


@dataclass
class Pixel:
    colour: Vec3
    depth: float = 0.0


def test_a_shader_that_writes_its_output() -> None:
    def disc(uv: Vec2, out: Pixel) -> None:
        if uv.x < 0.5:
            out.colour = vec3(uv, 0.25)

    black = Pixel(vec3(0.0))
    found = graphics.render(disc, 4, 2, out=black)
    assert np.allclose(found[0], [[0.125, 0.75, 0.25, 1], [0.375, 0.75, 0.25, 1], [0, 0, 0, 1], [0, 0, 0, 1]])
    assert black == Pixel(vec3(0.0))
    assert np.array_equal(graphics.paint(disc, 4, 2, out=black).astype(np.float32), found)
    written = Pixel(vec3(0.0))
    assert unchecked(disc)(vec2(np.array([0.25, 0.75]), 0.5), written) is None
    assert written.colour.x.tolist() == [0.25, 0.0] and written.depth == 0.0


def ripples(p: Vec2) -> Vec4:
    """Stands for a texture: the shader has one of its own."""
    return vec4(math.sin(20.0 * p.x), math.cos(20.0 * p.y), 0.5, 1.0)


def scaled(a: float, k: float) -> float:
    return a * k


def tapped(uv: Vec2, gain: float = 0.5) -> Vec3:
    if uv.x < 0.5:
        return ripples(uv * 2.0).rgb * gain
    return vec3(scaled(uv.y, 0.5), uv)


PRELUDE = {
    "wgsl": "fn ripples(p: vec2<f32>) -> vec4<f32> {\n"
            "    return vec4<f32>(sin(20.0 * p.x), cos(20.0 * p.y), 0.5, 1.0);\n}\n"
            "fn scaled(a: f32, k: f32) -> f32 { return a * k; }\n",
    "glsl": "vec4 ripples(vec2 p) { return vec4(sin(20.0 * p.x), cos(20.0 * p.y), 0.5, 1.0); }\n"
            "float scaled(float a, float k) { return a * k; }\n",
}


@validator
def test_calls_of_a_whitelist_are_kept() -> None:
    twin = pyflat.twin(tapped, whitelist=[Call("ripples", result=vec4, barrier=True), Call("scaled", where="taken")])
    shader = graphics.shader(twin)
    text = shader.fragment("wgsl", PRELUDE["wgsl"])
    assert text.startswith("fn ripples(") and "ripples(vec2<f32>(uv_x * 2.0f, uv_y * 2.0f))" in text
    assert re.search(r"if \(!t\) \{ \w+ = scaled\(uv_y, 0.5f\); \}", text)
    assert np.allclose(shader.render(16, 16, PRELUDE["wgsl"]), graphics.paint(tapped, 16, 16), atol=1e-5)
    glsl_text = graphics.fragment(twin, language="glsl", prelude=PRELUDE["glsl"])
    assert "vec4 t_2 = ripples(vec2(" in glsl_text
    validate(glsl_text, "frag")


def test_a_kept_call_of_something_else_is_refused() -> None:
    def shade(u, v):
        return lookup("name", u) + v

    twin = pyflat.twin(shade, whitelist=[Call("lookup")])
    with pytest.raises(FlattenError, match="an argument of lookup is not a number or vector"):
        graphics.fragment(twin)


def lookup(name: str, x: float) -> float:
    return x if name else 0.0


def test_an_adapter_through_opengl_is_refused(monkeypatch):
    """It divides negative ints wrongly."""
    wgpu = pytest.importorskip("wgpu")
    from types import SimpleNamespace

    from pyflat.targets.wgsl import run

    adapter = SimpleNamespace(info={"backend_type": "OpenGL", "device": "llvmpipe"})
    monkeypatch.setattr(wgpu.gpu, "request_adapter_sync", lambda **_: adapter)
    with pytest.raises(run.NoAdapter, match="OpenGL"):
        run.device.__wrapped__()
