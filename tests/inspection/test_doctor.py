"""What decides about values here, and twins that are compared in each way."""

import math
import platform

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.inspection import doctor
from pyflat.runtime import compiled


def shade(x: float, y: float) -> float:
    return math.exp(-x) * y if x > y else x * x


ARGUMENTS = [np.linspace(0.0, 3.0, 40), 1.5]


def test_what_decides_is_all_there():
    found = doctor.surroundings()
    assert list(found) == ["versions", "processor", "C library", "ways", "cache", "options", "environment"]
    assert found["versions"]["numpy"] == np.__version__
    assert platform.python_version() in found["versions"]["python"]
    assert set(found["ways"]) == set(ways.REGISTRY)
    assert found["options"]["errors"] == "'raise'"
    assert {"exp", "sin", "pow"} <= set(found["C library"])
    assert "processor\n  machine" in doctor.as_text(found)


def test_a_forced_way_and_an_option_in_force_are_said():
    with ways.forced(few="many"), pyflat.options(errors="mask"):
        found = doctor.surroundings()
    assert found["ways"]["few"].startswith("forced to many")
    assert found["options"]["errors"] == "'mask'"


@pytest.mark.parametrize("setting", ["0", "1"])
def test_the_cache_that_is_there_and_one_that_is_off(setting, monkeypatch, tmp_path):
    monkeypatch.setenv("PYFLAT_CACHE", setting)
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path))
    found = doctor.surroundings()["cache"]
    assert found == {"state": "off (PYFLAT_CACHE=0)"} if setting == "0" else (
        (found["place"], found["state"], found["entries"]) == (str(tmp_path), "trusted", 0))


def test_a_cache_that_others_can_write_is_not_trusted(monkeypatch, tmp_path):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("PYFLAT_CACHE", "1")
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path))
    found = doctor.surroundings()["cache"]
    assert found["place"] == str(tmp_path)
    assert found["state"].startswith("not trusted")


def test_a_right_twin_agrees_on_each_target_in_each_way():
    found = list(doctor.examine(pyflat.twin(shade), ARGUMENTS, {}))
    assert {each.outcome for each in found} == {"agrees"}
    assert {each.target for each in found} >= {"numpy", "numba"}
    assert ("numba", "calls=long") in {(each.target, each.way) for each in found}


def spoil(monkeypatch, wrong):
    """Engines give other numbers in the lanes of a call that `wrong` says."""
    right = compiled.Built.run

    def spoiled(self, given, count, *rest):
        ran = right(self, given, count, *rest)
        ran.leaves[0][wrong(count)] += 1.0
        return ran

    monkeypatch.setattr(compiled.Built, "run", spoiled)


def test_a_wrong_lane_is_reduced_to_a_call_of_itself(monkeypatch):
    spoil(monkeypatch, lambda count: slice(7, 8) if count > 1 else slice(0, 1))
    twin = pyflat.twin(shade)
    found = list(doctor.examine(twin, ARGUMENTS, {}))
    assert {each.outcome for each in found} == {"differs"}
    assert "in a call of this lane alone as well" in found[0].text
    text = doctor.report(twin, ARGUMENTS, {}, found)
    assert "def shade(x: float, y: float) -> float:" in text
    assert "array([0." in text
    assert "numpy: differs" in text


def test_a_lane_that_is_wrong_among_others_only_is_said_to_be(monkeypatch):
    spoil(monkeypatch, lambda count: slice(7, 8))
    found = next(doctor.examine(pyflat.twin(shade), ARGUMENTS, {}))
    assert "in lane 7" in found.text
    assert found.text.endswith("(not in a call of this lane alone)")


def test_a_way_that_is_wrong_is_named(monkeypatch):
    right = compiled.Built.run

    def spoiled(self, given, count, *rest):
        ran = right(self, given, count, *rest)
        if ways.CALLS.forced == "long":
            ran.leaves[0][:1] += 1.0
        return ran

    monkeypatch.setattr(compiled.Built, "run", spoiled)
    found = list(doctor.examine(pyflat.twin(shade), ARGUMENTS, {}))
    assert {each.way for each in found if each.outcome == "differs"} == {"calls=long"}


def test_a_function_that_is_refused_is_so_on_each_target():
    def asking(x: float) -> float:
        return float(input(str(x)))

    found = list(doctor.examine(pyflat.twin(asking), [np.ones(3)], {}))
    assert {each.outcome for each in found} == {"refused"}


def test_kernels_are_compared_too():
    def sums(a, out):
        for i in range(len(a)):
            out[i] = a[i] * 2.0

    found = list(doctor.examine(pyflat.twin(sums), [np.arange(5.0), np.zeros(5)], {}))
    assert {each.outcome for each in found} == {"agrees"}


def test_calls_that_give_other_results_later_differ():
    from pyflat.runtime.audit import repeated

    calls = iter([1.0, 1.0, 2.0])
    said = repeated(lambda: next(calls), [], {}, 3)
    assert said.startswith("its result in call 3 and in call 1 at (): np.float64(2.0) and np.float64(1.0)")
    assert repeated(lambda: 1.0, [], {}, 3) == ""
