"""The C-like printer and its two tables: what is written, what is refused; GLSL as glslangValidator reads it."""

from __future__ import annotations

import functools
import math
import shutil
import subprocess

import pytest

import pyflat
from gallery_functions import FUNCTIONS
from gallery_shaders import SHADERS
from pyflat import graphics
from pyflat.errors import FlattenError
from pyflat.functions.records import ABSENT, RECORDS
from pyflat.ir.memory import MEMORY_OPERATIONS
from pyflat.ir.nodes import Block, Const, Function, Label, Op, Param, Yield
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.types import BOOL, FLOAT, INT, PACK
from pyflat.targets import glsl, wgsl
from pyflat.targets.glsl import GLSL
from pyflat.targets.shaders.language import float_text
from pyflat.vec import Vec2, vec2, vec3
from tests.generator import generate
from tests.generator.differential import loaded
from tests.support.patience import HANG

MISSING = {"round_digits", "low64", "isnormal", "fault", "lane_any", "call", "part", "ufunc", *MEMORY_OPERATIONS, *(record.name for record in RECORDS.values() if record.on("wgsl") == ABSENT)}
"""Operations that neither language has; round() with a constant number of digits is there."""


def body(fn, language: str = "wgsl", **options) -> list[str]:
    """The lines of the function itself."""
    lines = pyflat.twin(fn, **options).show(target=language).splitlines()
    start = max(k for k, line in enumerate(lines) if f" {fn.__name__}(" in line and line.endswith("{"))
    return [line.strip() for line in lines[start + 1:lines.index("}", start)]]


def returned(fn, language: str = "wgsl") -> str:
    (line,) = body(fn, language)
    return line.removeprefix("return ").removesuffix(";")


# --- expressions
def precedence(a, b, c):
    return a - (b - c) * -a / (b / c)


def test_parentheses_stand_where_they_are_needed() -> None:
    assert returned(precedence) == "a - (b - c) * -a / (b / c)"


def test_selects() -> None:
    def pick(a, b):
        return a if a < b else b * 2.0

    assert returned(pick) == "select(b * 2.0f, a, a < b)"
    assert returned(pick, "glsl") == "a < b ? a : b * 2.0"


def test_logic_is_parenthesised_where_the_languages_ask_for_it() -> None:
    def inside(a, b):
        return (a < 0.0 or b < 0.0) and (a > -1.0 and b > 1.0)

    assert returned(inside) == "(a < 0.0f || b < 0.0f) && (a > -1.0f && b > 1.0f)"
    assert returned(lambda_of("x > 1.0 and x < 2.0 and x != 1.5")) == "x > 1.0f && x < 2.0f && x != 1.5f"


def test_whole_numbers_have_pythons_floors() -> None:
    def split(n: int, k: int):
        return n // k, n % k, -n, n << 2, n >> k, ~n & 7

    lines = body(split)
    assert lines[-1] == ("return split_result(floor_div(n, k), floor_mod(n, k), -n, shift_left(n, 2i), "
                         "shift_right(n, k), ~n & 7i);")
    assert "select(q, q - 1, (a % b != 0) && ((a ^ b) < 0))" in pyflat.twin(split).show(target="wgsl")


def test_powers() -> None:
    def powers(x, y):
        return x**2 + x**0.5 + x**-1 + 2.0**x + x**y + x**0.3

    text = returned(powers)
    assert text == "x * x + sqrt(x) + 1.0f / x + exp2(x) + whole_pow(x, y) + pow(x, 0.3f)"


def test_floors_need_no_integers() -> None:
    def floors(x):
        return float(math.floor(x)) + float(math.ceil(x)) + float(int(x)) + float(round(x)) + x // 1.0

    assert returned(floors) == "floor(x) + ceil(x) + trunc(x) + round(x) + floor(x)"
    assert "roundEven(x)" in returned(floors, "glsl")


def test_a_comparison_with_itself_asks_for_nan() -> None:
    def checked(x):
        return 0.0 if x != x else x

    assert returned(checked) == "select(x, 0.0f, is_nan(x))"
    assert returned(checked, "glsl") == "isnan(x) ? 0.0 : x"


def test_rounding_to_digits() -> None:
    assert returned(lambda_of("round(x, 2)")) == "round(x * 100.0f) / 100.0f"
    assert returned(lambda_of("round(x, -1)")) == "round(x / 10.0f) * 10.0f"


def lambda_of(text: str):
    import linecache

    source = f"def made(x):\n    return {text}\n"
    name = f"<test {text}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, object] = {}
    exec(compile(source, name, "exec"), namespace)
    return namespace["made"]


@pytest.mark.parametrize(("value", "text"), [
    (0.1, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (1e-7, "1e-07"), (123456789.0, "123456790.0"), (1e30, "1e+30"),
    (2.0**-149, "1e-45"), (1 / 3, "0.33333334"), (16777217.0, "16777216.0"), (1e39, None), (math.inf, None),
    (math.nan, None),
])  # fmt: skip
def test_floats_are_written_in_their_shortest_32_bits(value: float, text: str | None) -> None:
    assert float_text(value) == text


def test_the_sign_of_zero_is_written() -> None:
    def signs(x, n: int):
        return (-0.0 if x > 1.0 else x) * (0.0, -0.0)[n]

    assert "select(x, -0.0f, x > 1.0f)" in "\n".join(body(signs))
    assert "array<f32, 2>(0.0f, -0.0f)" in pyflat.twin(signs).show(target="wgsl")


def test_what_is_no_literal_is_made_of_bits() -> None:
    def limits(x):
        if x > 2.0:
            return math.inf
        return math.nan if x > 1.0 else -math.inf

    for bits in ("0x7f800000u", "0x7fc00000u", "0xff800000u"):
        assert f"special({bits})" in "\n".join(body(limits))
        assert f"uintBitsToFloat({bits})" in "\n".join(body(limits, "glsl"))


# --- statements
def test_what_is_used_twice_is_named_as_the_user_named_it() -> None:
    def twice(a, b):
        total = a + b
        return total * total

    assert body(twice) == ["let total = a + b;", "return total * total;"]
    assert body(twice, "glsl")[0] == "float total = a + b;"


def test_names_of_the_language_are_not_taken() -> None:
    def fn(let, var, vec2, π):
        loop = let + var
        return loop * loop + vec2 * π

    text = pyflat.twin(fn).show(target="wgsl")
    assert "fn fn_2(let_2: f32, var_2: f32, vec2_2: f32, t: f32) -> f32 {" in text and "let loop_2 = " in text


def test_names_of_the_helpers_are_not_taken() -> None:
    def floor_mod(n: int, is_nan: float):
        return n % 3 + (1 if math.isnan(is_nan) else 0)

    text = pyflat.twin(floor_mod).show(target="wgsl")
    assert "fn floor_mod_2(n: i32, is_nan_2: f32)" in text and "floor_mod(n, 3i)" in text and "is_nan(is_nan_2)" in text


def test_a_loop_stays_a_loop() -> None:
    def halve(n: int, x):
        while n > 1:
            n = n // 2
            x = x * 0.5 + n
        return x

    lines = body(halve)
    assert lines == [
        "var n_2: i32 = n;", "var x_2: f32 = x;", "var s: i32 = 0i;", "loop {",
        "if (!(n_2 > 1i && s < 65535i)) { break; }", "let n_3 = floor_div(n_2, 2i);",
        "let x_3 = x_2 * 0.5f + f32(n_3);", "let next_s = s + 1i;", "n_2 = n_3;", "x_2 = x_3;",
        "s = next_s;", "}", "return x_2;",
    ]  # fmt: skip
    assert "while (true) {" in body(halve, "glsl")


def test_a_loop_in_a_loop() -> None:
    def nested(n: int):
        total = 0
        while n > 0:
            k = n
            while k > 0:
                total += k
                k -= 2
            n -= 1
        return total

    text = "\n".join(body(nested))
    assert text.count("loop {") == 2 and text.count("break;") == 2


def test_tables() -> None:
    def look(n: int, x):
        return (10, 20, 30)[n] * (0.5, 0.25)[n] + (10, 20, 30)[n - 1]

    text = pyflat.twin(look).show(target="wgsl")
    assert "var<private> table_0: array<i32, 3> = array<i32, 3>(10i, 20i, 30i);" in text
    assert text.count("var<private>") == 2 and "table_0[place(n, 3i)]" in text
    assert "const float[2] table_1 = float[2](0.5, 0.25);" in pyflat.twin(look).show(target="glsl")


# --- whole shaders
def test_a_compute_shader() -> None:
    def scaled(x, n: int, big: bool):
        return x * n if big else x, n > 3

    text = pyflat.twin(scaled).show(target="wgsl")
    for line in ("    big: u32,", "let result = scaled(given.x, given.n, (given.big != 0u));",
                 "outs[at.x] = Out(result.item_0, select(0u, 1u, result.item_1));", "@compute @workgroup_size(64)"):
        assert line in text
    assert "outs[at].item_1 = result.item_1 ? 1u : 0u;" in pyflat.twin(scaled).show(target="glsl")


def test_a_fragment_shader() -> None:
    def disc(uv: Vec2, radius: float, centre: Vec2 = vec2(0.5)):
        return vec3(1.0) if (uv - centre).x < radius else vec3(0.0)

    text = graphics.fragment(disc, uniforms=["radius"])
    assert "    radius: f32,\n    centre_x: f32,\n    centre_y: f32,\n}" in text
    assert "disc(u, v, uniforms.radius, uniforms.centre_x, uniforms.centre_y)" in text
    assert "return vec4<f32>(result.x, result.y, result.z, 1.0f);" in text
    assert graphics.fragment(lambda u, v: u * v).count("result, result, result, 1.0f") == 1
    assert "gl_FragCoord" in graphics.fragment(disc, uniforms={"radius": 0.2}, language="glsl")


def test_uniforms_that_specialise() -> None:
    def shape(uv: Vec2, kind: str, sides: int = 3):
        total = 0.0
        for k in range(sides):
            total += uv.x * k
        return total if kind == "sum" else uv.y

    assert "uniforms." not in graphics.fragment(pyflat.twin(shape, static="sides"), uniforms={"kind": "no"}).split(
        "fn fragment")[1].replace("uniforms.width", "").replace("uniforms.height", "")
    assert "sides: i32" in graphics.fragment(shape, uniforms={"kind": "sum"})


@pytest.mark.parametrize(("fn", "uniforms"), [(lambda u, v, w: u, {}), (lambda u: u, {}), (lambda u, v: (u, v), {}),
                                              (lambda uv: uv, {"colour": 1.0})])
def test_what_is_no_picture(fn, uniforms) -> None:
    with pytest.raises((TypeError, FlattenError)):
        graphics.shader(fn, **uniforms)


# --- refusals
@pytest.mark.parametrize("text", ["math.gamma(x)", "math.lgamma(x)", "math.nextafter(x, 0.0)"])
@pytest.mark.parametrize("language", ["wgsl", "glsl"])
def test_operations_that_the_languages_do_not_have(text: str, language: str) -> None:
    fn = lambda_of(text)
    fn.__globals__["math"] = math
    with pytest.raises(FlattenError, match=r"math\.(gamma|lgamma|nextafter) is not available on (WGSL|GLSL)") as found:
        pyflat.twin(fn).show(target=language)
    assert found.value.code == "flatten/target-operation"


def test_constants_beyond_32_bits() -> None:
    def far(n: int):
        return n + 3_000_000_000

    with pytest.raises(FlattenError, match="3000000000 does not fit into the 32 bits of WGSL"):
        pyflat.twin(far).show(target="wgsl")
    assert "i32(-2147483647 - 1)" in pyflat.twin(lambda_of("x + (-2147483648)")).show(target="wgsl", kinds="i8")


def test_the_target_says_that_it_detects_nothing() -> None:
    with pytest.raises(FlattenError) as found:
        pyflat.twin(precedence, target="wgsl")(1.0, 2.0, 3.0)
    assert found.value.code == "flatten/target-unchecked"


def operation(name: str, operands, result) -> Function:
    """A function of one operation; packs are made of parameters."""
    params: list[Param] = []
    packs: list[Op] = []

    def operand(kind):
        if kind is PACK:
            params.extend(Param(FLOAT, f"x{k}") for k in range(3))
            packs.append(Op("pack", params[-3:], PACK))
            return packs[-1]
        params.append(Param(kind, f"x{len(params)}"))
        return params[-1]

    attrs = {"gather": (("table", (result_value(result), result_value(result))),), "part": (("index", 1),)}.get(name, ())
    op = Op(name, [operand(kind) for kind in operands], result, attrs=attrs)
    last = [Op("part", [op], FLOAT, attrs=(("index", 0),))] if result is PACK else []
    return Function("f", params, [Block([*packs, op, *last], Yield([(last or [op])[0]]))], Label("f"),
                    [FLOAT if last else result], "flat")


@pytest.mark.parametrize("language", [wgsl, glsl])
def test_every_operation_is_spelled_or_listed_as_missing(language, monkeypatch) -> None:
    monkeypatch.delenv("PYFLAT_VALIDATE")  # operations without their attributes
    missing = set()
    for name, row in OPERATIONS.items():
        for operands, result in row.signatures:
            if name == "fault" or len(operands) > 4:
                continue
            try:
                language.compute(language.function(operation(name, operands, result), ["value"]))
            except FlattenError:
                missing.add(name.removeprefix("vec_"))
    assert missing == MISSING - {"fault", "call", "part", "routine"}


def result_value(kind):
    return {BOOL: True, INT: 1, FLOAT: 1.0}.get(kind)


def test_a_constant_as_result() -> None:
    fn = Function("f", [], [Block([], Yield([Const(FLOAT, 2.5)]))], Label("f"), [FLOAT], "flat")
    assert wgsl.function(fn, ["value"]).text == "fn f() -> f32 {\n    return 2.5f;\n}\n"
    assert "ins" not in wgsl.compute(wgsl.function(fn, ["value"]))
    assert "Ins" not in glsl.compute(glsl.function(fn, ["value"]))


# --- GLSL by the reference compiler
validator = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="glslangValidator is not installed")


def validate(text: str, stage: str) -> None:
    done = subprocess.run(["glslangValidator", "--stdin", "-S", stage], input=text, capture_output=True, text=True,
                          timeout=HANG, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{text}"


@validator
def test_glslang_accepts_every_shader() -> None:
    validate("\n".join(["#version 430", "void main() {}"]), "frag")
    with pytest.raises(AssertionError):
        validate("#version 430\nvoid main() { int x = 1.5; }", "frag")
    for shader in SHADERS:
        validate(graphics.fragment(shader, language="glsl"), "frag")


@validator
def test_glslang_accepts_every_function() -> None:
    for fn, columns in FUNCTIONS:
        kinds = kinds_of(columns)
        validate(pyflat.twin(fn).show(target="glsl", kinds=kinds), "comp")


@validator
def test_glslang_accepts_every_helper_and_table() -> None:
    text = "#version 430\n" + "\n\n".join(GLSL.helpers_in(" ".join(f"{name}()" for name in GLSL.helpers)))
    validate(text + "\nvoid main() {}\n", "comp")

    def look(n: int, x: float):
        return (True, False)[n], (0.5, math.inf)[n] + x, (1, -2147483648)[n], 1 if x != x else n ^ 3

    validate(pyflat.twin(look).show(target="glsl"), "comp")


def kinds_of(columns) -> str:
    import numpy as np

    made = columns(np.random.default_rng(0), 100)
    return ",".join({"f": "f8", "i": "i8", "b": "b"}[column.dtype.kind] for column in made)


# --- random programs
SEEDS = range(40, 60)


@pytest.mark.parametrize("seed", [*SEEDS, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 300)]])
def test_shaders_of_random_programs_are_valid(seed: int) -> None:
    """By glslangValidator, and by wgpu where it is installed; operations that shaders do not have are refused."""
    program = generate(seed)
    kinds = ",".join({"f": "f8", "i": "i8", "b": "b"}[kind] for kind in program.kinds)
    with loaded(program.source) as fn:
        try:
            texts = {language: pyflat.twin(fn).show(target=language, kinds=kinds) for language in ("wgsl", "glsl")}
        except FlattenError:  # a constant beyond 32 bits, mostly
            return
    if shutil.which("glslangValidator"):
        validate(texts["glsl"], "comp")
    if adapter() is not None:
        adapter().create_shader_module(code=texts["wgsl"])


@functools.cache
def adapter():
    """The device, None without one."""
    from pyflat.targets.wgsl import run

    try:
        return run.device()
    except (ImportError, run.NoAdapter):
        return None
