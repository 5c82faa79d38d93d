"""NumPy's routines in kernels: what their results depend on besides the elements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pyflat
from pyflat.ir.interp import run
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.targets.numba.kernels import routines
from tests.generator.kernels.differential import Outcome, bits, compare
from tests.generator.kernels.inputs import Written

both = pytest.mark.parametrize("target", ["numpy", "numba"])


def reduced(a):
    return np.sum(a[:], axis=0), a.mean(axis=1), a.sum(axis=-1, keepdims=True), np.sum(a, axis=(0, 2))


def along(a):
    return np.cumsum(a[:], axis=1), np.sort(a, axis=0), np.argsort(a, 1), np.diff(a, axis=0), a.argmax(axis=1), np.exp(a)


@both
@pytest.mark.parametrize("fn", [reduced, along])
@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_results_lie_as_those_of_numpy(fn, axes, target):
    outcome = Outcome()
    compare(fn, pyflat.twin(fn, target=target), Written(
        f"np.random.default_rng(1).random((3, 4, 5)).transpose({axes})"), outcome)
    assert not outcome.failures, str(outcome.failures[0])
    assert not outcome.refusals


def of_a_temporary(a, b):
    return np.sum((a[:] - b) ** 2)


@both
def test_a_sum_over_a_temporary_in_another_order_is_refused(target):
    twin = pyflat.twin(of_a_temporary, target=target)
    a, b = np.random.default_rng(1).random((2, 40, 30))
    assert bits(twin(a, b)) == bits(of_a_temporary(a, b))
    with pytest.raises(pyflat.FlattenError, match="in memory order"):
        twin(a.T, b.T)
    assert bits(twin(a.T.copy(), b.T.copy())) == bits(of_a_temporary(a.T.copy(), b.T.copy()))


def parts(a, i):
    return np.sum(a[i:, 1]), a.T[1] @ a[:, 0], np.max(a[::-2, i:])


def test_the_interpreter_and_the_text_of_the_ir():
    twin, a = pyflat.twin(parts), np.random.default_rng(1).random((6, 4))
    twin(a, 2)
    fn = twin._caller.kernels.latest.kernel.function
    assert format_function(parse_function(format_function(fn))) == format_function(fn)
    assert [bits(np.float64(x)) for x in run(fn, [{"a": a}, *a.shape, 2]).values] == [bits(x) for x in parts(a, 2)]


@both
def test_what_a_kernel_calls_is_seen(target):
    twin = pyflat.twin(parts, target=target)
    twin(np.ones((6, 4)), 1)
    assert "np.sum(" in (twin.source if target == "numpy" else format_function(
        twin._caller.kernels.latest.kernel.function))
    assert [(each.name, each.read) for each in twin.explain().arrays] == [("a", True)]


def beside_numbers(a, x):
    return np.maximum(a[1:], x), np.sum(a[:] * x)


@both
@pytest.mark.parametrize(("fn", "text"), [
    (parts, "np.random.default_rng(1).random((6, 4)), 2"), (parts, "np.random.default_rng(1).random((4, 6)).T, 3"),
    (beside_numbers, "np.arange(5.0), np.float32(0.1)"), (beside_numbers, "np.arange(5, dtype=np.float32), 0.1"),
    (beside_numbers, "np.arange(5, dtype=np.float32), np.float64(0.1)"),
])
def test_parts_and_numbers_are_passed_as_they_are(fn, text, target):
    outcome = Outcome()
    compare(fn, pyflat.twin(fn, target=target), Written(text), outcome)
    assert not outcome.failures, str(outcome.failures[0])


def by_a_constant(a):
    a[0] = 0.0
    a[1] = 1.0 / a[0]


@both
def test_a_constant_that_was_stored_divides_with_a_warning(target):
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        pyflat.twin(by_a_constant, target=target)(np.ones(2))


def flags_before(a):
    a[0] = a[1] * a[1]
    return a.argmax()


@both
def test_a_call_keeps_the_flags_of_what_came_before_it(target):
    with pytest.warns(RuntimeWarning, match="overflow"):
        pyflat.twin(flags_before, target=target)(np.array([1.0, 1e200]))


def interrupted(a):
    return np.median(a[:]) + np.median(a[1:])


@both
def test_ctrl_c_in_a_routine_is_one_in_the_call(target, monkeypatch):
    stops, made = [], routines.routine_function

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(routines, "routine_function", lambda text: lambda *given: (stops[0] if stops else made(text))(
        *given))
    twin = pyflat.twin(interrupted, target=target)
    twin(np.ones(3))
    stops.append(stop)
    monkeypatch.setattr(np, "median", stop)
    with pytest.raises(KeyboardInterrupt):
        twin(np.ones(3))
