"""Random kernels of arrays against their originals, and what generator and oracle are relied on for.

`python -m benchmarks.kernels` runs as many as wanted.
"""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest

import pyflat
from tests.generator.differential import Slow, loaded, time_limit
from tests.generator.kernels import check_kernel, generate
from tests.generator.kernels.differential import Outcome, compare, watch
from tests.generator.kernels.inputs import DTYPES, LAYOUTS, MODES, ArrayInput, Inputs, Written, smaller_inputs
from tests.generator.kernels.shrink import shrink
from tests.generator.ways import run_of

BATCH = 10
COMPARED = 4
"""Sets of arguments of a batch that are compared at least, of 40: the rest may be refused."""


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.turns(4)
@pytest.mark.parametrize("first", [0, 1000, 2000, 3000])
def test_random_kernels_do_what_their_originals_do(first: int, target: str) -> None:
    compared = 0
    for seed in range(first, first + BATCH):
        kernel = generate(seed)
        with run_of(seed).forced():
            outcome = check_kernel(kernel, target)
        assert not outcome.failures, f"seed {seed}: {outcome.failures[0]}\n{kernel.source}"
        compared += outcome.sets
    assert compared >= COMPARED


# --- the generator


def test_a_seed_gives_the_same_kernel():
    assert generate(5) == generate(5) != generate(6)


@pytest.fixture(scope="module")
def drawn():
    return [generate(seed) for seed in range(1000)]


def test_kernels_contain_every_construct(drawn):
    text = "\n".join(kernel.source for kernel in drawn)
    for pattern in (r"\bbreak\b", r"\bcontinue\b", r"\bwhile\b", r"\belif\b", r"np\.zeros\(", r"np\.empty\(", r"np\.full\(",
                    r"_like\(", r"\.T\b", r"\[::-1\]", r"enumerate\(", r"zip\(", r"range\(.*, -1, -1\)", r"\braise\b", r"\bassert\b",
                    r"def put\(", r"def total\(", r"\.shape\[", r"\blen\(", r"\.size\b", r"math\.\w+\(", r"np\.sqrt\(", r"//=? ", r" % ",
                    r"\*\* ", r" >> ", r"~", r"idx\[idx\[", r"TABLE\[", r"(\w+), (\w+) = \2, \1", r"np\.sum\(|\.sum\(", r"[a-z]\[1:\] = ",
                    r"bv = np\.\w+\(", r"if .* != 0\.0:\n +bz = .* / ", r"\bunread\b", r"def checked\(", r"for bj in", r"while abs\(br\)",
                    r"bv = math\.log\(.* \+ 2\.9\)", r"(\w\[bi\]) = .*\n +bw = \1"):
        assert re.search(pattern, text), pattern


def test_arguments_are_of_every_kind(drawn):
    sets = [inputs for kernel in drawn for inputs in kernel.inputs]
    arrays = [value for inputs in sets for _, value in inputs.given if isinstance(value, ArrayInput)]
    assert {array.dtype for array in arrays} == set(DTYPES)
    assert {array.layout for array in arrays} == set(LAYOUTS)
    assert {inputs.mode for inputs in sets} == set(MODES)
    assert {len(array.shape) for array in arrays} == {1, 2, 3}
    assert any(0 in array.shape for array in arrays)
    texts = [value for inputs in sets for _, value in inputs.given if isinstance(value, str)]
    for way in (r"^a$", r"\[::-1\]", r"\.T$", r"_\[1:\]", r"np\.float32\(", r"np\.int64\(", r"^-?\d+$", r"^-?\d+\.\d+$"):
        assert any(re.search(way, text) for text in texts), way


def test_most_originals_return_something(drawn):
    """Of the first sets of arguments two in three do not raise; of all, two in five raise."""
    raised, first = [], []
    for kernel in drawn[:150]:
        with loaded(kernel.source) as fn:
            for inputs in kernel.inputs:
                try:
                    with time_limit(2.0):
                        seen = watch(fn, inputs.arguments(), inputs.mode, fn.__code__.co_filename)
                except Slow:
                    break
                raised.append(seen.error is not None)
                first += [raised[-1]] if inputs is kernel.inputs[0] else []
    assert sum(first) < len(first) / 3
    assert len(raised) / 5 < sum(raised) < len(raised) / 2


def test_overlapping_arguments_share_memory():
    inputs = Inputs((("a_", ArrayInput("float64", (4,), (1.0, 2.0, 3.0, 4.0))), ("a", "a_[:-1]"), ("b", "a_[1:]")))
    a, b = inputs.arguments()
    a[1] = 9.0
    assert b[0] == 9.0 and inputs.arguments()[1][0] == 2.0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_hold_the_values(layout):
    array, = Inputs((("a", ArrayInput("int16", (2, 3), (1, 2, 3, 4, 5, 6), layout)),)).arguments()
    assert array.dtype.newbyteorder("=") == np.int16 and array.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert array.dtype.isnative == (layout != "swapped")
    assert array.flags.writeable == (layout != "readonly")
    assert array.flags.c_contiguous == (layout in {"plain", "readonly", "swapped"})


# --- the oracle


def scaled(a, n):
    for i in range(n):
        a[i] = a[i] * 2.0
    return a[0]


def seen(other: Any, given: str = "np.arange(1.0, 4.0), 3", original: Any = scaled, mode: str = "default") -> str:
    """What differs, of a function that stands for a twin; "" for nothing."""
    outcome = Outcome()
    compare(original, other, Written(given, mode), outcome)
    return outcome.failures[0].what if outcome.failures else ""


def test_nothing_differs_from_itself():
    assert seen(scaled) == ""
    assert seen(scaled, "np.arange(1.0, 4.0), 9") == ""


def test_a_result_of_another_flavour_or_dtype():
    assert seen(lambda a, n: float(scaled(a, n))) == "result"
    assert seen(lambda a, n: np.float32(scaled(a, n))) == "result"
    assert seen(lambda a, n: None if scaled(a, n) else 0) == "result"


def test_an_element_or_what_lies_around_the_array():
    def off(a, n):
        found = scaled(a, n)
        a[1] = np.nextafter(a[1], 9.0)
        return found

    def beyond(a, n):
        a.base[0] = 5.0
        return scaled(a, n)

    assert seen(off) == "arrays"
    assert seen(beyond, "np.arange(1.0, 6.0)[1:-1], 3") == "arrays"


def test_signed_zeros_differ_and_nans_do_not():
    assert seen(lambda a: -0.0 * a[0], "np.ones(1),", original=lambda a: 0.0 * a[0]) == "result"
    assert seen(lambda a: -a[0], "np.array([np.nan]),", original=lambda a: a[0]) == ""


def test_exceptions_messages_and_partial_writes():
    def late(a, n):
        a[0] = -1.0
        return scaled(a, n)

    def other(a, n):
        raise IndexError("index")

    assert seen(late, "np.arange(1.0, 4.0), 9") == "arrays"
    assert seen(other) == seen(other, "np.arange(1.0, 4.0), 9") == "error"


def quotient(a):
    return a[0] / a[1]


def silent(a):
    with np.errstate(all="ignore"):
        return quotient(a)


def test_warnings_are_seen_and_pyflats_own_are_not():
    def noted(a):
        warnings.warn("slow", pyflat.PerformanceWarning)
        return quotient(a)

    zeros = "np.array([1.0, 0.0]),"
    assert seen(quotient, zeros, original=quotient) == ""
    assert seen(silent, zeros, original=quotient) == "warned"
    assert seen(silent, zeros, original=quotient, mode="error") == "error"
    assert seen(silent, zeros, original=quotient, mode="raise") == "error"
    assert seen(silent, zeros, original=quotient, mode="ignore") == ""
    assert seen(noted, zeros, original=quotient) == ""


def test_what_a_result_shares():
    assert seen(lambda a: a.copy(), "np.ones(3),", original=lambda a: a[:]) == "shared"
    assert seen(lambda a: a, "np.ones(3),", original=lambda a: a[:]) == "shared"
    assert seen(lambda a: a[::-1], "np.ones(3),", original=lambda a: a[:]) == "result"


def test_what_is_refused_is_no_failure():
    def refused(a, n):
        raise TypeError("argument 'a' is an array of object")

    outcome = Outcome()
    compare(scaled, refused, Written("np.arange(3.0), 3"), outcome)
    assert not outcome.failures and len(outcome.refusals) == 1 and outcome.sets == 0


def test_planted_bugs_are_noticed(drawn):
    """In kernels whose first addition is a subtraction, and whose last store is left out."""
    found, planted = 0, 0
    for kernel in drawn[:120]:
        for changed in (kernel.source.replace(" + ", " - ", 1), re.sub(r"\] = .*\n(?!.*\] = )", "] = 0\n", kernel.source, count=1)):
            if changed == kernel.source:
                continue
            with loaded(kernel.source) as original, loaded(changed) as other:
                outcome = Outcome()
                for inputs in kernel.inputs:
                    if not outcome.failures:
                        compare(original, other, inputs, outcome, limit=5.0)
            planted += 1
            found += bool(outcome.failures)
    assert planted > 100 and found > planted / 2


# --- shrinking


def test_arguments_become_simpler():
    inputs = Inputs((("a", ArrayInput("float64", (4,), (0.5, math.nan, 2.0, 3.0), "strided")), ("n", "np.int64(4)")), "error")
    found = list(smaller_inputs(inputs))
    assert {one.mode for one in found} == {"default", "error"}
    assert any(one.given[1] == ("n", "4") for one in found)
    assert {value.shape for one in found for _, value in one.given if isinstance(value, ArrayInput)} == {(4,), (2,), (3,)}
    assert any(value.layout == "plain" for one in found for _, value in one.given if isinstance(value, ArrayInput))


def test_a_failing_kernel_becomes_small(monkeypatch):
    """With a "twin" that has lost a sign."""
    class Wrong:
        def __init__(self, fn: Any):
            self.fn = fn

        def with_options(self, **_: Any) -> Any:
            def call(*given: Any) -> Any:
                result = self.fn(*given)
                for one in given:
                    if isinstance(one, np.ndarray) and one.dtype == np.float64 and one.flags.writeable and one.size:
                        np.abs(one, out=one)
                return result
            return call

    monkeypatch.setattr(pyflat, "twin", Wrong)
    kernel = next(k for k in map(generate, range(50)) if check_kernel(k, "numpy").failures)
    failure = check_kernel(kernel, "numpy").failures[0]
    smaller, still = shrink(kernel, failure, "numpy", checks=300)
    assert still.what == failure.what and len(smaller.inputs) == 1
    assert len(smaller.source) <= len(kernel.source)
