"""Functions that write into their arguments: the twin writes there what the original writes, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.backend import flatten_function
from pyflat.errors import FlattenError
from pyflat.runtime.faults import LaneError

X = np.array([0.1, 0.6, 0.9, 0.2])


@dataclass
class Light:
    colour: tuple[float, float]
    power: float


@dataclass
class Out:
    light: Light
    depth: float = 0.0
    lit: bool = False


def shade(x: float, out: Out, many: list[float]) -> float:
    if x > 0.5:
        out.light.power = 1.0 / (x - 0.75)
        return x
    out.lit = True
    many[1] = out.depth + many[1]
    return 0.0


def objects() -> tuple[Out, list[Any]]:
    return Out(Light((1.0, 2.0), 2.0), np.arange(4.0)), [np.zeros(4), np.ones(4), 5.0]


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_fields_and_items_are_written_under_their_predicates(target: str) -> None:
    out, many = objects()
    returned = pyflat.twin(shade, target=target)(X, out, many)
    for lane, x in enumerate(X.tolist()):
        one, items = Out(Light((1.0, 2.0), 2.0), float(lane)), [0.0, 1.0, 5.0]
        assert shade(x, one, items) == returned[lane]
        assert one.light.power == out.light.power[lane] and one.lit == out.lit[lane] and items[1] == many[1][lane]
    assert many[2] == 5.0 and out.light.colour == (1.0, 2.0) and out.depth.tolist() == [0, 1, 2, 3]
    assert out.lit.dtype == np.bool_


def test_scalars_are_written_as_scalars() -> None:
    out, _ = objects()
    out.depth = 3.0
    assert pyflat.twin(shade)(0.2, out, (many := [np.float64(0.0), np.float64(1.0), np.float64(5.0)])) == 0.0
    assert out.lit == np.True_
    assert many[1] == 4.0


def test_verify_sees_what_is_written() -> None:
    assert pyflat.twin(shade).verify(X, *objects()).lanes == 4


def test_nothing_is_written_where_a_lane_raises() -> None:
    out, many = objects()
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(shade)(np.array([0.1, 0.75, 0.9, 0.2]), out, many)
    assert out.light.power == 2.0 and out.lit is False


def test_masked_lanes_are_nan_there() -> None:
    out, many = objects()
    values, faults = pyflat.twin(shade, errors="mask")(np.array([0.1, 0.75, 0.9, 0.2]), out, many)
    assert faults.lanes.tolist() == [1] and np.isnan(values[1]) and np.isnan(out.light.power[1])
    assert out.light.power[2] == 1.0 / (0.9 - 0.75) and not out.lit[1]


def test_a_replayed_lane_writes_what_the_original_wrote() -> None:
    def product(a: int, b: int, out: Light) -> int:
        out.power = (a * b) % 1000
        return a

    light = Light((0.0, 0.0), 0)
    a = np.array([3, 2**62, 5])
    assert pyflat.twin(product)(a, 7, light).tolist() == a.tolist()
    assert light.power.tolist() == [21, 2**62 * 7 % 1000, 35]


def test_functions_without_result() -> None:
    def write(x: float, out: Light) -> None:
        if x > 0.5:
            out.power = x
            return
        out.colour = (x, out.colour[0])

    light = Light((1.0, 2.0), -1.0)
    assert pyflat.twin(write)(X, light) is None
    assert light.power.tolist() == [-1.0, 0.6, 0.9, -1.0]
    assert light.colour[0].tolist() == [0.1, 1.0, 1.0, 0.2] and light.colour[1].tolist() == [1.0, 2.0, 2.0, 1.0]


def test_writes_in_helpers_and_loops() -> None:
    def add(out: Light, x: float) -> None:
        out.power += x

    def gather(x: float, out: Light) -> None:
        k = 0
        while x > 0.25:
            add(out, x)
            x *= 0.5
            k += 1

    light = Light((1.0, 2.0), np.arange(4.0))
    twin = pyflat.twin(gather)
    twin.verify(X, Light((1.0, 2.0), np.arange(4.0)))
    twin(X, light)
    assert light.power.tolist() == [0.0, 1.0 + 0.6 + 0.3, 2.0 + 0.9 + 0.45, 3.0]


def test_an_object_that_is_two_arguments() -> None:
    def both(a: Light, b: Light, x: float) -> float:
        a.power = x
        return b.power

    twin = pyflat.twin(both)
    light = Light((1.0, 2.0), 2.0)
    with pytest.raises(TypeError, match="writes into 'a', and an object in it is passed more than once"):
        twin(light, light, X)
    assert twin(light, Light((1.0, 2.0), 7.0), X).tolist() == [7.0] * 4 and light.power.tolist() == X.tolist()


def test_the_dict_of_keywords_is_of_that_call_alone() -> None:
    def total(x: float, **more: float) -> float:
        more["a"] = more["a"] * 2.0
        return x + more["a"]

    assert pyflat.twin(total)(X, a=1.0).tolist() == (X + 2.0).tolist()


def test_dicts() -> None:
    def store(x: float, into: dict[str, float]) -> None:
        if x > 0.5:
            into["large"] = x

    into: dict[str, Any] = {"large": np.zeros(4), "other": 1.0}
    pyflat.twin(store)(X, into)
    assert into["large"].tolist() == [0.0, 0.6, 0.9, 0.0] and into["other"] == 1.0


@pytest.mark.parametrize("grow", [lambda items, x: items.append(x), lambda items, x: items.pop()])
def test_an_argument_that_changes_its_length_is_refused(grow) -> None:
    def change(items: list[float], x: float) -> float:
        grow(items, x)
        return x

    with pytest.raises(FlattenError, match="gains or loses items") as found:
        pyflat.twin(change)([X, X], X)
    assert found.value.code == "flatten/effect"


def test_an_object_that_is_replaced_and_changed_is_refused() -> None:
    def swap(x: float, out: Out) -> None:
        old = out.light
        out.light = Light((x, x), x)
        old.power = x

    with pytest.raises(FlattenError, match="out.light is replaced, and the object that it was is changed"):
        pyflat.twin(swap)(X, objects()[0])


def test_columns_of_options_are_refused() -> None:
    def option(x: float, out: Light, kind: str) -> None:
        out.power = sum([ord(each) * x for each in kind])

    with pytest.raises(FlattenError, match="writes into its arguments"):
        pyflat.twin(option)(X, Light((0.0, 0.0), 0.0), np.array(["a", "b", "a", "b"]))


def test_lane_by_lane_runs_say_that_they_cannot(monkeypatch) -> None:
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    monkeypatch.setattr("pyflat.runtime.outputs._warned", set())
    out, many = objects()
    with pytest.warns(pyflat.PerformanceWarning), pytest.raises(LaneError, match="PYFLAT_DISABLE=1 does not show"):
        pyflat.twin(shade)(X, out, many)


def test_backends_see_the_places_as_results() -> None:
    flat = flatten_function(_write)
    assert flat.result_names == ("out_power",) and flat.counts() == {"gt": 1, "select": 1}


def _write(x: float, out: Light) -> None:
    if x > 0.5:
        out.power = x


def test_the_text_names_the_places() -> None:
    lines = pyflat.twin(_write).show().splitlines()
    assert lines[-2:] == ["    power = select(x > 0.5, x, out.power)", "    return Written(returned=None, out_power=power)"]
