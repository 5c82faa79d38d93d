"""What type checkers must accept, and the types they must see."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import pyflat
from pyflat.vec import Mat3, Vec2, Vec3, clamp, dot, mat3, mix, normalize, vec2, vec3


@pyflat.flatten
def shade(x: float, t: float = 0.5) -> float:
    return x - t


@pyflat.flatten(target="numba", static=("n",), max_unroll=100)
def power(x: float, n: int) -> float:
    return x**n


class Curve:
    k: float = 2.0

    @pyflat.flatten
    def value(self, x: float) -> float:
        return self.k * x


def untyped(x, y):  # type: ignore[no-untyped-def]
    return x + y


def plain(x: float, *, k: int = 2) -> tuple[float, bool]:
    return x * k, x > 0


xs = np.zeros(3)
assert_type(shade(1.0), float)
assert_type(shade(1.0, t=2.0), float)
assert_type(power(2.0, 3), float)
as_function: Callable[[float, int], float] = power

assert_type(shade.flat(1.0), float)
result: Any = shade.flat(xs, t=xs)
renamed: Any = shade.flat(x=xs)

curve = Curve()
assert_type(curve.value(1.0), float)
method: Callable[[float], float] = curve.value
unbound: Any = Curve.value.flat(curve, xs)
assert_type(Curve.value(curve, 1.0), float)
bound: Any = pyflat.twin(curve.value)(xs)

twin = pyflat.twin(plain, target="numpy", errors="unchecked")
assert_type(twin(1.0, k=3), tuple[float, bool])
both: Any = twin(xs, k=xs)
assert_type(twin.original(1.0), tuple[float, bool])
assert_type(twin.source, str)
numba: pyflat.Twin[[float], float] = pyflat.twin(curve.value).to("numba")
assert_type(twin.with_options(max_unroll=5)(1.0), tuple[float, bool])
assert_type(twin.options, pyflat.Options)
assert_type(shade.flat.stats.replayed, int)
text: str = shade.flat.show(stage="structured", kinds="f8,f8")
loose: Any = pyflat.twin(untyped)(xs, 2)

pyflat.set_defaults(target="numpy")
with pyflat.options(target="numba", static="n"):
    power.flat(xs, 3)


def decorated(fn: pyflat.Flattened[[float, float], float]) -> float:
    return fn(1.0, 2.0)


decorated(shade)


def lit(uv: Vec2, turn: Mat3, gain: float = 1.0) -> Vec3:
    normal = normalize(vec3(uv, 1.0))
    assert_type(normal, Vec3)
    assert_type(normal.xy, Vec2)
    assert_type(normal.b, float)
    assert_type(dot(normal, normal.zyx), float)
    assert_type(clamp(uv * 2.0 - 1.0, 0.0, 1.0), Vec2)
    assert_type(gain * normal, Vec3)
    return mix(normal, normal.replace(x=0.0), clamp(gain, 0.0, 1.0))


assert_type(lit(vec2(0.5), mat3(1.0)), Vec3)
lanes: Any = pyflat.twin(lit)(vec2(xs, 0.5), mat3(1.0))
