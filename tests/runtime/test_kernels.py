"""A twin's methods where it is a kernel over arrays: each works, or says what to do instead."""

from __future__ import annotations

import math
import pickle
import types
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.functions import ways
from pyflat.runtime import audit
from pyflat.runtime.audit import DifferenceError
from pyflat.testing.flattened import verify_flattened

TARGETS = pytest.mark.parametrize("target", ["numpy", "numba"])


@pyflat.flatten
def smooth(a, out, w):
    for i in range(1, a.shape[0] - 1):
        out[i] = w * (a[i - 1] + a[i + 1])


@pyflat.flatten
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


def gathered(a, at, out):
    for i in range(len(at)):
        out[i] = a[at[i]]


def nested(a, out, w):
    lap = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            lap[i, j] = a[i - 1, j] + a[i + 1, j]
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += lap[i, j]
        out[i] = s * w
    for i in range(1, len(out)):
        out[i] = out[i - 1] + out[i]
    for i in range(len(out)):
        if out[i] > 10.0:
            break
        out[i] = 1.0
    k = 0
    while k < len(out) and out[k] < 0.5:
        k += 1
    return k


@TARGETS
def test_verify_compares_arrays_results_and_exceptions(target):
    a = np.arange(12.0).reshape(3, 4)
    out = np.zeros(3)
    found = pyflat.twin(nested, target=target).verify(a, out, 2.0)
    assert found.kernel and found.lanes == 12 + 3 + 1 and found.replayed == 0
    assert not out.any()
    assert "16 elements and numbers agree" in str(found)
    twin = pyflat.twin(gathered, target=target)
    assert twin.verify(a[0], np.array([3, 9]), np.zeros(2)).replayed == 1
    assert "the original ran itself" in str(twin.verify(a[0], np.array([3, 9]), np.zeros(2)))
    line = np.arange(9.0)
    assert twin.verify(line[::-1], np.array([2, 0]), line[1:3]).lanes == 9 + 2 + 2
    np.testing.assert_array_equal(line, np.arange(9.0))


def test_verify_names_what_differs(monkeypatch):
    twin = pyflat.twin(smooth)
    kernels = twin._caller.kernels

    def wrong(args, kwargs):
        args[1][2] = 1.5

    monkeypatch.setattr(kernels, "original", wrong)
    with pytest.raises(DifferenceError, match=r"argument 2 at \(1,\): np.float64\(4.0\) and np.float64\(0.0\) \(3 of"):
        twin.verify(np.arange(5.0), np.zeros(5), 2.0)
    monkeypatch.setattr(kernels, "original", lambda args, kwargs: 3)
    with pytest.raises(DifferenceError, match="its result: None and 3"):
        twin.verify(np.zeros(2), np.zeros(2), 2.0)
    with pytest.raises(DifferenceError, match=r"what it raises: .*missing 2 required.* and 'nothing'"):
        kernel_difference(twin, np.zeros(2))

    def warned(args, kwargs):
        warnings.warn("beware", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(kernels, "original", warned)
    with pytest.raises(DifferenceError, match=r"its warnings: \[\] and \['RuntimeWarning: beware'\]"):
        twin.verify(np.zeros(2), np.zeros(2), 2.0)


def kernel_difference(twin, *args):
    differs, _, _ = audit.compare(twin._caller, args, {}, twin.options)
    raise DifferenceError(differs)


@pytest.mark.parametrize(("ours", "theirs", "same"), [
    (0.0, -0.0, False), (np.nan, -np.nan, True), (1, 1.0, False), (np.float32(1), np.float64(1), False), (2, 2, True),
    (np.zeros(2), np.zeros(3), False), (np.array([0.0]), np.array([-0.0]), False), (None, None, True)])
def test_values_are_compared_bit_for_bit(ours, theirs, same):
    assert (audit._difference(ours, theirs) == "") is same


def test_copies_keep_strides_and_overlaps():
    base = np.arange(20.0)
    values = {"a": base[2:10][::-1], "b": base[8:].reshape(3, 4).T, "c": np.zeros((0, 3)), "d": 5}
    values["a"].flags.writeable = False
    made = audit.copies(values)
    for name in "abc":
        np.testing.assert_array_equal(made[name], values[name])
        assert made[name].strides == values[name].strides and not np.shares_memory(made[name], values[name])
    assert made["d"] == 5 and not made["a"].flags.writeable
    made["b"][0, 0] = -1.0
    assert made["a"][1] == -1.0 and base[8] == 8.0
    assert (made["b"].ctypes.data - values["b"].ctypes.data) % 64 == 0


def truth(a):
    return 1.0 if a[0:2] else 2.0


def whole(a):
    return a[:].reshape(3, 1)


def root(a):
    return np.fft.fft(a[:])


def reduced(a):
    return np.cov(a) + a[0]


def attribute(a):
    return a[0].foo


def printed(a):
    print(a[0])


def ranged(a):
    return np.kron(a[1:], a)[0]


def text(a):
    return str(a[0])


def listed(a):
    return [x for x in a]


@pytest.mark.parametrize("function", [truth, whole, root, reduced, attribute, printed, ranged, text, listed],
                         ids=lambda function: function.__name__)
def test_refusals_in_kernels_do_not_speak_of_lanes(function):
    with pytest.raises(pyflat.FlattenError) as refused:
        pyflat.twin(function)(np.ones(3))
    said = str(refused.value).replace(refused.value.code, "")
    assert "lane" not in said and refused.value.diagnostic.help


def test_prove_says_that_it_is_about_lanes():
    from pyflat.inspection.prove import prove

    for kinds in (None, "f8[:]"):
        assert "it is a kernel over arrays" in str(prove(total, kinds=kinds))


@TARGETS
def test_compiled_ahead_a_call_compiles_nothing(target, monkeypatch):
    twin = pyflat.twin(smooth, target=target)
    before = twin._caller.kernels.count(twin.options)
    for arguments in (("f4[:]", np.empty(2, "f4"), float), (np.empty(5), "f8[:]", np.float64),
                      ("f8[:]", np.empty(2), "f8")):
        assert twin.compile(*arguments) is twin
    twin.compile("i8[:]", w=2.0, out="f8[:]")
    assert twin._caller.kernels.count(twin.options) == before + 4
    monkeypatch.setattr(type(twin._caller.kernels), "_made", None)
    out = np.zeros(4)
    twin(np.arange(4.0), out, 0.5)
    twin(np.arange(4), out, 0.5)
    assert out.tolist() == [0.0, 1.0, 2.0, 0.0]
    assert f"{before + 4} kernels compiled" in repr(twin)


def test_compile_needs_the_number_of_axes():
    with pytest.raises(ValueError, match=r"'a' is an array: state its number of axes, as 'f4\[:\]'"):
        total.flat.compile(np.float32)
    with pytest.raises(pyflat.FlattenError, match=r"errors='mask' does not go with total, a kernel"):
        total.flat.with_options(errors="mask").compile("f8[:]")


@pytest.mark.parametrize(("method", "instead"), [
    ("faults", "call the twin"), ("replay", r"twin.verify\(\*arrays\)"), ("profile", r"twin.explain\(\)")])
def test_methods_that_look_at_lanes_are_refused(method, instead):
    with pytest.raises(ValueError, match=rf"{method}\(\): smooth_flat is a kernel over arrays.*{instead}"):
        getattr(smooth.flat, method)(np.zeros(3), np.zeros(3), 1.0)


@pytest.mark.parametrize(("name", "instead"), [("ufunc", "twin.gufunc"), ("function", "twin.source")])
def test_properties_of_lanes_are_refused(name, instead):
    with pytest.raises(ValueError, match=rf"{name}: total_flat is a kernel.*{instead}"):
        getattr(total.flat, name)


def test_what_is_no_option_of_kernels_is_refused():
    a = np.zeros(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'out': a kernel"):
        total.flat(a, out=a)
    with pytest.raises(pyflat.FlattenError, match="arrays='q'"):
        total.flat.with_options(arrays="q")(a)
    for target in ("dataflow", "wgsl"):
        with pytest.raises(pyflat.FlattenError, match=f"'{target}' has no kernels"):
            total.flat.show(target=target, kinds="f8[:]")


@TARGETS
def test_stats_count_calls_and_those_of_the_original(target):
    twin = pyflat.twin(types.FunctionType(gathered.__code__, globals(), "gathered"), target=target)
    a, out = np.zeros(4), np.zeros(1)
    twin(a, np.array([1]), out)
    with pytest.raises(IndexError):
        twin(a, np.array([7]), out)
    assert (twin.stats.calls, twin.stats.replayed) == (2, 1)
    assert "2 kernels" not in repr(twin) and "1 kernel compiled" in repr(twin)


def test_disabled_the_original_runs(monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    a = np.ones(3)
    assert total.flat(a) == 3.0 and type(total.flat(a)) is np.float64
    total.flat.compile(a)
    assert total.flat.with_options(signature="(n)->()")(np.ones((2, 3))).tolist() == [3.0, 3.0]


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def pick(self, a, i):
        return a[i] * self.factor


@TARGETS
def test_a_bound_method_that_raises_raises_as_it_does(target):
    twin = pyflat.twin(Scaled(2.0).pick, target=target)
    a = np.arange(3.0)
    assert twin(a, 2) == 4.0
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        twin(a, 3)


def test_pickled_twins_run():
    a = np.ones(3)
    assert pickle.loads(pickle.dumps(total.flat))(a) == 3.0


def test_machine_code_can_be_looked_at():
    twin = total.flat.to("numba")
    twin(np.ones(3))
    assert "pyflat_kernel" in twin.inspect_llvm() and "pyflat_kernel" in twin.inspect_asm()
    with pytest.raises(ValueError, match="only the numba target"):
        total.flat.inspect_asm()


def test_modules_with_kernels_are_verified():
    verify_flattened("smooth", smooth, {})
    pyflat.testing.verify(total)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_explain_names_arrays_loops_and_reasons(target):
    found = pyflat.twin(nested, target=target).explain("f8[:,:],f8[:],f8")
    rows = {array.name: array for array in found.arrays}
    local = next(array for array in found.arrays if array.where == "local")
    assert (rows["a"].read, rows["a"].written, rows["a"].rank) == (True, False, 2)
    assert (rows["out"].read, rows["out"].written, rows["out"].size) == (True, True, "8 * out.shape[0]")
    assert local.size == "8 * a.shape[0] * a.shape[1]" and local.place.text == "lap = np.zeros_like(a)"
    assert found.numbers == ("w",)
    assert [(loop.parallel, loop.depth, loop.counted) for loop in found.loops] == [
        (True, 0, True), (True, 1, True), (True, 0, True), (False, 1, True), (False, 0, True), (False, 0, True),
        (False, 0, False)]
    reasons = [loop.why for loop in found.loops[3:]]
    assert reasons[0].startswith("an iteration takes `s` from the one before")
    assert reasons[1] == "iterations may meet in `out`"
    assert reasons[2] == "it may end early (break, return)"
    assert reasons[3] == "its iteration count is not known in advance"
    tests = [(loop.tested_before, loop.tested_each) for loop in found.loops]
    if target == "numpy":
        assert tests[1] == (4, 0) and tests[4] == (0, 2) and tests[-1] == (0, 1)
    else:  # of the others it is known that they are inside
        assert tests == [(0, 0), (0, 0), (1, 0), (0, 0), (0, 0), (0, 0), (0, 0)]
    page = str(found)
    assert "one after the other: iterations may meet in `out`" in page and "float64[:, :]" in page
    assert found.as_dict()["arrays"][0]["name"] == "a"
    assert local.kept == (
        "stored; 13 index-mismatch: elements are read that the loop may not have written; "
        + ("213 target: the target keeps whole arrays" if target == "numpy" else
           "202 unwritten: an element that is not written may be read") + "; an element is read 1 time; complex")
    assert ("fused with the adjacent loop" in found.loops[0].why) == (target == "numba")


def ways_of_loops(a, b, out):
    for i in range(len(out)):
        out[i] = math.exp(a[i]) if a[i] > 0.0 else a[i]
    for i in range(len(out)):
        out[i] = math.exp(a[i] + i)
    for i in range(len(out)):
        out[i] = a[i] * 2.0
    total = 0.0
    for i in range(len(out)):
        total += math.exp(a[i])
    for i in range(len(b)):
        for j in range(b.shape[1]):
            b[i, j] = a[i] + j
    for i in range(len(out)):
        out[i] = np.exp(a[i])
    for i in range(len(out)):
        out[a.shape[0] - int(a[i])] = math.exp(a[i])
    return total


def test_explain_says_how_each_loop_runs():
    loops = pyflat.twin(ways_of_loops, target="numba").explain("f8[:],f8[:,:],f8[:]").loops
    assert [loop.why for loop in loops] == [
        "a flat function over its iterations, in place",
        "a flat function over its iterations, blocks of elements are copied",
        "left to LLVM, which may vectorise it",
        "an iteration takes `total` from the one before; part of each iteration is computed beforehand, in vector lanes",
        "in order, around the loops inside",
        "left to LLVM, which may vectorise it",
        "vectors hold its iterations",
        "iterations may meet in `out`; part of each iteration is computed beforehand, in vector lanes"]
    with ways.forced(kernel_bodies="in place"):
        first, *_ = pyflat.twin(ways_of_loops, target="numba").explain("f8[:],f8[:,:],f8[:]").loops
    assert first.why == "vectors hold its iterations"


def test_explain_of_the_last_call_and_without_one():
    twin = pyflat.twin(types.FunctionType(nested.__code__, globals(), "nested"), target="numba")
    for look in (twin.explain, twin.show):
        with pytest.raises(ValueError, match="call it once, or pass the kinds of its parameters"):
            look()
    twin(np.zeros((4, 3)).T, np.zeros(3), 1.0)
    assert twin.explain().arrays[0].layout == "strided"
    assert twin.explain().calls == 1


def test_a_scalar_function_has_no_kernel_to_show():
    def double(x):
        return 2.0 * x

    with pytest.raises(ValueError, match="not a kernel over arrays"):
        pyflat.twin(double).show(stage="kernel")



def weighted(a, *more, k=2.0, **named):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * k
    return s + len(more) + named.get("shift", 0.5)


@TARGETS
@pytest.mark.parametrize(("more", "named"), [((), {}), ((1.0,), {}), ((), {"k": 3.0}), ((), {"shift": 4.0})])
def test_what_is_left_out_has_its_default_and_no_original_runs(target, more, named):
    twin = pyflat.twin(weighted, target=target)
    assert twin(np.arange(5.0), *more, **named) == weighted(np.arange(5.0), *more, **named)
    assert twin.stats.replayed == 0


def rounded(a, at):
    for i in range(len(a)):
        a[i] /= a[i] * a[i] - round(at[i])


@TARGETS
@pytest.mark.parametrize("dtype", ["i4", "u1", "i8", "f4"])
def test_round_of_a_numpy_number_is_a_python_int(target, dtype):
    a, at = np.linspace(-2.0, 3.0, 40, dtype="f4"), (np.arange(40) % 9 + 2).astype(dtype)
    one, other = a.copy(), a.copy()
    rounded(one, at)
    pyflat.twin(rounded, target=target)(other, at)
    assert one.tobytes() == other.tobytes()


def rounded_truths(truths, out):
    for i in range(len(out)):
        out[i] = i
        out[i] += round(truths[i]) if i > 2 else 1


@TARGETS
def test_round_of_an_element_of_bools_raises_as_in_python(target):
    truths, one, other = np.ones(5, bool), np.zeros(5), np.zeros(5)
    for function, out in ((rounded_truths, one), (pyflat.twin(rounded_truths, target=target), other)):
        with pytest.raises(TypeError, match="doesn't define __round__"):
            function(truths, out)
    assert one.tobytes() == other.tobytes()


def whole_numbers(a, out):
    for i in range(len(a)):
        out[i] = (np.floor(a[i]) + np.ceil(a[i])) // 2 - np.trunc(a[i]) % 7
    return np.floor(a[0])


@TARGETS
@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_what_is_whole_keeps_its_digits(target, dtype):
    a = np.array([2**53 + 1, -5, 7, 2**60 + 1]).astype(dtype)
    one, other = np.zeros(4, dtype), np.zeros(4, dtype)
    wanted, found = whole_numbers(a, one), pyflat.twin(whole_numbers, target=target)(a, other)
    assert one.tobytes() == other.tobytes()
    assert wanted.dtype == found.dtype
    assert wanted == found


def smoothed(x, out, share):
    y = 1.1
    for i in range(len(x)):
        y = share * x[i] + (1.0 - share) * y
        out[i] = y
    return y / 3


def mean_of_some(x, out, share):
    total = 0.1
    for i in range(len(x)):
        total += x[i] if share > 0.2 else x[0]
    out[:] = total * 0.3
    return total / 7, total * share


def above_some(x, out, share):
    for i in range(len(x)):
        y = max(i, x[i])
        out[i] = y * share / 3


def until(x, out, share):
    y = 0.1
    for i in range(len(x)):
        y = y * share + x[i]
        if y > 4.0:
            break
        out[i] = y
    return y - 0.7


@TARGETS
@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("function", [smoothed, mean_of_some, above_some, until])
def test_a_number_that_is_pythons_at_first(function, dtype, count, target):
    x = (np.linspace(0.1, 2.0, 5) * (1 if dtype[0] == "f" else 100))[:count].astype(dtype)
    one, other = np.zeros(count, "f4"), np.zeros(count, "f4")
    wanted, found = function(x, one, 0.3), pyflat.twin(function, target=target)(x, other, 0.3)
    assert one.tobytes() == other.tobytes()
    assert repr(wanted) == repr(found)


def at_times(x, out):
    y = 0.1
    for i in range(len(x)):
        if x[i] > 0.5:
            continue
        y = y * 0.3 + x[i]
    out[0] = y * 3.3


@TARGETS
def test_a_number_that_is_pythons_in_some_iterations_says_which_it_is(target):
    x = np.array([0.7, 0.9, 0.2, 0.8, 0.3], "f4")
    for count in range(6):
        one, other = np.zeros(4, "f4"), np.zeros(4, "f4")
        at_times(x[:count], one)
        pyflat.twin(at_times, target=target)(x[:count], other)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_numpys_bools_are_no_indices_of_pythons_sequences(target):
    def of_text(a, out):
        for i in range(a.shape[0]):
            out[i] = float("12"[a[i] > 0.5])

    def of_tuple(a, out):
        for i in range(a.shape[0]):
            out[i] = (1.0, 2.0)[a[i] > 0.5]

    def by_pythons(a, out):
        for i in range(a.shape[0]):
            out[i] = (1.0, 2.0)[bool(a[i] > 0.5)] + float("12"[int(a[i] > 0.5)])

    a, out = np.array([0.0, 1.0]), np.zeros(2)
    for function in (of_text, of_tuple):
        with pytest.raises(TypeError, match=r"indices must be integers.*numpy\.bool"):
            pyflat.twin(function, target=target)(a, out)
    pyflat.twin(by_pythons, target=target)(a, out)
    assert out.tolist() == [2.0, 4.0]
