"""Targets of other packages, found by entry points."""

from __future__ import annotations

from importlib import metadata

import numpy as np
import pytest

import pyflat
from pyflat.backend import Call, FlatFunction, registered, target


class Evaluator:
    """A backend that runs the walk on arrays: what an entry point may name."""

    made: list[FlatFunction] = []

    def __init__(self, flat: FlatFunction):
        self.flat = flat
        self.made.append(flat)
        self.source = f"evaluator of {flat.name}"

    def __call__(self, lanes, n):
        values = {}
        lanes = iter(lanes)
        table = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "lt": np.less,
                 "gt": np.greater, "eq": np.equal, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
                 "select": np.where}  # fmt: skip
        with np.errstate(all="ignore"):
            for node in self.flat.nodes:
                inputs = [values[i] for i in node.inputs]
                if node.opcode == "param":
                    values[node] = next(lanes)
                elif node.opcode == "const":
                    values[node] = node.attrs["value"]
                else:
                    values[node] = table[node.opcode](*inputs)
        return [values[node] for node in self.flat.results]


@pytest.fixture
def installed(monkeypatch):
    point = metadata.EntryPoint("walker", f"{__name__}:Evaluator", registered.GROUP)
    monkeypatch.setattr(registered.metadata, "entry_points", lambda group: [point] if group == registered.GROUP else [])
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: Evaluator)


def ratio(x, y):
    if x > y:
        return (x - y) / y
    return 0.5


def test_a_twin_runs_on_a_registered_target(installed):
    twin = pyflat.twin(ratio).to(target("walker"))
    xs = np.linspace(-2.0, 2.0, 9)
    assert np.array_equal(twin(xs, 1.0), [ratio(x, 1.0) for x in xs.tolist()])
    assert twin.options.target == "walker"
    assert Evaluator.made[-1].result_names[-1] == "suspect"


def test_its_faults_are_replayed(installed):
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(ratio, target="walker")(np.array([1.0, -1.0]), 0.0)


def test_names_that_no_package_brings(installed):
    with pytest.raises(ValueError, match="no installed package provides the target 'stack'.*walker"):
        target("stack")
    with pytest.raises(ValueError, match="target='walkr'"):
        pyflat.twin(ratio, target="walkr")


def test_a_loop_whose_trips_differ_is_refused(installed):
    def halve(x):
        while x > 1.0:
            x *= 0.5
        return x

    with pytest.raises(pyflat.FlattenError) as error:
        pyflat.twin(halve, target="walker")(np.array([8.0]))
    assert error.value.code == "flatten/while-unbounded"


def test_a_target_that_gives_too_little(installed, monkeypatch):
    monkeypatch.setattr(Evaluator, "__call__", lambda self, lanes, n: [])
    with pytest.raises(TypeError, match="gave 0 results for ratio, not 2"):
        pyflat.twin(ratio, target="walker", cache=False)(np.array([8.0]), 1.0)


def noise(x):
    return x * 2.0


def grain(x):
    return noise(x) + 1.0


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_engines_refuse_kept_calls(engine):
    with pytest.raises(pyflat.FlattenError, match="opaque call of noise") as error:
        pyflat.twin(grain, target=engine, whitelist=["noise"])(np.array([8.0]))
    assert error.value.code == "flatten/call-not-runnable"


def lookup(name: str, uv: tuple[float, float]):
    return (uv[0] + 1.0, uv[1] * 2.0)


def tapped(u, v):
    a, b = lookup("albedo", (u, v))
    if a > 1.5:
        return a / v
    return b + noise(u)


def test_numpy_makes_calls_that_have_arrays():
    sizes = []

    def on_arrays(name, uv):
        sizes.append(np.size(uv[0]))
        assert name == "albedo"
        return uv[0] + 1.0, uv[1] * 2.0

    entries = [Call("lookup", result="vec2", arrays=on_arrays), Call("noise", arrays=lambda x: x * 2.0)]
    twin = pyflat.twin(tapped, whitelist=entries)
    u, v = np.linspace(0.0, 1.0, 11), np.linspace(1.0, 3.0, 11)
    assert np.array_equal(twin(u, v), [tapped(*lane) for lane in zip(u.tolist(), v.tolist(), strict=True)])
    assert sizes == [11]
    with pytest.raises(ZeroDivisionError):
        twin(np.array([0.0, 0.75]), 0.0)
    guarded = [Call("lookup", result="vec2", arrays=on_arrays, where="taken"), entries[1]]
    with pytest.raises(pyflat.FlattenError, match="opaque call of lookup"):
        pyflat.twin(tapped, whitelist=guarded)(u, v)


def test_text_shows_kept_calls():
    assert "noise(x) + 1.0" in pyflat.twin(grain, whitelist=["noise"]).source
