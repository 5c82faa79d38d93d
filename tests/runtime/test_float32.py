"""`dtype="float32"` and "input": what float32 lanes compute, what fails, and in which form results come."""

import itertools
import math
import warnings

import numpy as np
import pytest

import pyflat
from pyflat.ir.formats import F4
from pyflat.runtime.faults import LaneError
from pyflat.testing import same_bits
from tests.runtime import float32_functions as f

TARGETS = ["numpy", "numba"]
EDGES = (0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 0.5, 1.5, 2.5, -2.5, 3.0, 7.0, 1e-45, -1e-45, 1.1754943508222875e-38, 1e-30, 1e20, -1e20,
         F4.largest, -F4.largest, 2.0**24, 2.0**24 + 2, 2.0**31, -(2.0**62), 88.7, -103.9, math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 3, -7, 2**24 + 1, 2**31, 2**53 + 1, -(2**60) - 1, 3 * 2**36 + 2**60 - 1)
COUNTS = (0, 1, 2, -1, 5, 30, -30, 150, -160, 400)


def narrow(number):
    return float(np.float32(number))


def columns(*values):
    rows = list(itertools.product(*values))
    return [np.array(column, np.float32 if isinstance(column[0], float) else np.int64) for column in zip(*rows, strict=True)]


CASES = {
    "arithmetic": (EDGES, EDGES), "third_of": (EDGES,), "floor_division": (EDGES, EDGES), "fmods": (EDGES, EDGES), "wholes": (EDGES,),
    "rounded": (EDGES, COUNTS), "converted": (INTS,), "mixed": (INTS, EDGES), "powers": (EDGES, EDGES), "elementary": (EDGES,),
    "roots": (EDGES,), "neighbour": (EDGES, EDGES), "scaled": (EDGES, COUNTS), "looked_up": ((0, 1, 2, 3, 4, -1),), "chosen": (EDGES,),
    "least": (EDGES, EDGES), "counted": (EDGES, (0, 1, 5, 40)), "inverse": (EDGES,), "hashed": (INTS, EDGES), "pair": (EDGES,),
    "length": (EDGES, EDGES), "whole_root": ((0, 1, 2, 3, 15, 16, 10**15, 2**62, 2**63 - 1),), "constant": (EDGES,), "checked": (EDGES,),
}


@pytest.mark.parametrize("math_", ["exact", "fast"])
@pytest.mark.parametrize("name", CASES)
def test_both_engines_compute_what_the_interpreter_computes(name, math_):
    fn = getattr(f, name)
    given = columns(*CASES[name])
    found = []
    for target in TARGETS:
        twin = pyflat.twin(fn, dtype="float32", target=target, math=math_, errors="mask", loops="auto")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values, faults = twin(*given)
            twin.verify(*given)
        found.append((values, faults.lanes.tolist(), [faults[i].type for i in faults.lanes]))
        for leaf in values if isinstance(values, tuple) else (values,):
            for part in leaf if isinstance(leaf, tuple) else (leaf,):
                assert part.dtype in (np.float32, np.int64, np.bool_)
    if math_ == "exact":
        assert found[0][1:] == found[1][1:]
        assert same_bits(found[0][0], found[1][0])


@pytest.mark.parametrize("target", TARGETS)
def test_arithmetic_is_numpys_in_float32(target):
    x, y = columns(EDGES, EDGES)
    with np.errstate(all="ignore"):
        expected = x * y + np.float32(0.1) - x / (np.abs(y) + np.float32(0.7))
    assert same_bits(pyflat.twin(f.arithmetic, dtype="float32", target=target)(x, y), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_floor_division_is_cpythons_algorithm_in_float32(target):
    x, y = columns(EDGES, EDGES)
    x, y = x[y != 0], y[y != 0]
    with np.errstate(all="ignore"):
        expected = np.floor_divide(x, y), np.remainder(x, y)
    assert same_bits(pyflat.twin(f.floor_division, dtype="float32", target=target)(x, y), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_elementary_functions_are_the_c_librarys_rounded(target):
    x = np.linspace(-5, 5, 500).astype(np.float32)
    found = pyflat.twin(f.smooth, dtype="float32", target=target, math="exact")(x)
    for column, values in zip(zip(*map(f.smooth, x.tolist()), strict=True), found, strict=True):
        assert same_bits(values, np.array(column).astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_ints_are_rounded_once_and_stay_ints_elsewhere(target):
    n = np.array([2**24 + 1, 2**60 + 3 * 2**36 - 1, -(2**62) - 2**38 - 1, 2**63 - 1])
    found = pyflat.twin(f.converted, dtype="float32", target=target)(n)
    assert same_bits(found, n.astype(np.float32))
    twice = n.astype(np.float64).astype(np.float32)
    assert not same_bits(found, twice)  # by way of float64 some would be other numbers
    assert pyflat.twin(f.whole_root, dtype="float32", target=target)(np.array([10**18 + 2, 2**63 - 1])).tolist() == [10**9, 3037000499]


@pytest.mark.parametrize("target", TARGETS)
def test_zeros_of_both_signs_need_no_replay(target):
    twin = pyflat.twin(f.clamped, dtype="float32", target=target)
    x = np.float32([0.0, -0.0, 2.0, -3.0])
    high, low, most = twin(x)
    assert same_bits(high, np.float32([0.0, -0.0, 2.0, 0.0])) and same_bits(low, np.float32([0.0, -0.0, -0.0, -3.0]))
    assert most.tolist() == [0.0, 0.0, 2.0, 0.0] and twin.stats.replayed == 0


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_arrays_are_added_from_left_to_right(target):
    x, y = np.float32([0.1, 3.7, -2.0]), np.float32([1.3, 1e-3, 7.0])
    rows, inner = pyflat.twin(f.projected, dtype="float32", target=target)(x, y)
    small, half, two = np.float32(0.1), np.float32(0.5), np.float32(-2.0)
    assert same_bits(rows, np.stack([x * y + half * small, y * y + two * small], axis=-1))
    assert same_bits(inner, x * y + y * np.float32(0.3) + x * np.float32(0.7))


def test_the_whole_root_of_ints_is_exact():
    rng = np.random.default_rng(5)
    n = np.concatenate([np.arange(70_000), rng.integers(0, 2**63 - 1, 20_000), (rng.integers(1, 3_037_000_499, 20_000)) ** 2 - 1,
                        (rng.integers(1, 3_037_000_499, 20_000)) ** 2])
    assert pyflat.twin(f.whole_root, dtype="float32", target="numba")(n).tolist() == list(map(math.isqrt, n.tolist()))


# --- what fails


@pytest.mark.parametrize("target", TARGETS)
def test_overflow_of_a_function_is_its_value(target):
    twin = pyflat.twin(f.elementary, dtype="float32", target=target)
    assert twin(np.float32([100.0]))[0].tolist() == [math.inf]  # math.exp(100.0) is 2.7e43
    assert twin(np.float32([1000.0]))[0].tolist() == [math.inf]  # and math.exp(1000.0) an OverflowError
    assert twin(np.float32([40.0]))[4].tolist() == [math.inf]  # math.gamma(40.5) is 1.3e47


@pytest.mark.parametrize("target", TARGETS)
def test_what_leaves_a_domain_raises_as_ever(target):
    x = np.float32([4.0, 9.0, -1.0])
    with pytest.raises(ValueError, match="math domain error") as error:
        pyflat.twin(f.roots, dtype="float32", target=target)(x)
    assert "lane 2 (x=-1.0)" in error.value.__notes__[0]
    with pytest.raises(ZeroDivisionError, match="float floor division by zero|float modulo|division by zero"):
        pyflat.twin(f.floor_division, dtype="float32", target=target)(x, np.float32(0.0))
    values, faults = pyflat.twin(f.roots, dtype="float32", target=target, errors="mask")(x)
    assert values.dtype == np.float32 and values[:2].tolist() == [2.0, 3.0] and faults.lanes.tolist() == [2]
    kept = pyflat.twin(f.roots, dtype="float32", target=target, errors="nan")(x)
    assert kept.dtype == np.float32 and math.isnan(kept[2])
    assert math.isnan(pyflat.twin(f.roots, dtype="float32", target=target, errors="unchecked")(x)[2])


@pytest.mark.parametrize("target", TARGETS)
def test_where_float32_alone_leaves_the_domain_the_value_is_that_of_ieee_arithmetic(target):
    x = np.float32([1e-30, 2.0])  # x * x is 0.0 in float32, and 1e-60 in float64
    twin = pyflat.twin(f.inverse, dtype="float32", target=target)
    assert twin(x).tolist() == [math.inf, 0.25]
    assert twin.stats.replayed == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_lane_that_fails_in_float32_alone_has_no_value(target):
    with pytest.raises(LaneError, match="the lane fails in float32 .ValueError., but not in float64"):
        pyflat.twin(f.checked, dtype="float32", target=target)(np.float32([1e-20, 1.0]))
    values, faults = pyflat.twin(f.checked, dtype="float32", target=target, errors="mask")(np.float32([1e-20, 1.0]))
    assert faults.lanes.tolist() == [0] and values[1] == 1.0


@pytest.mark.parametrize("target", TARGETS)
def test_a_suspect_lane_keeps_its_own_value_and_never_that_of_float64(target):
    n = np.array([3_037_000_500, 2_900_000_000, 7])  # the first product leaves int64, the second one only nearly
    with pytest.raises(LaneError, match="beyond 64 bits"):
        pyflat.twin(f.grown, dtype="float32", target=target)(n, np.float32([1, 2, 3]))
    ints, floats = pyflat.twin(f.grown, dtype="float32", target=target)(n[1:], np.float32([2, 3]))
    assert ints.tolist() == [2_900_000_000**2 % 1000, 49] and same_bits(floats, np.float32([2, 3]) * np.float32(0.1))
    near = np.array([3_037_000_499])
    assert pyflat.twin(f.grown, dtype="float32", target=target)(near, np.float32([0.1]))[0].tolist() == [3_037_000_499**2 % 1000]


@pytest.mark.parametrize("target", TARGETS)
def test_a_suspect_lane_finishes_its_loop_in_float32(target):
    @pyflat.flatten(dtype="float32", target=target, loops="masked")
    def halves(x, n: int):
        total = 0.0
        while n > 0:
            total += 1.0 / (x * x)  # suspect in the first trip, and out of the loop
            total = total * 0.0 if total > 1e30 else total
            x, n = x * 1e12, n - 1
        return total

    found = halves.flat(np.float32([1e-30, 1.0]), np.array([4, 4]))
    x, total = np.float32(1.0), np.float32(0.0)
    for _ in range(4):
        with np.errstate(all="ignore"):
            total += np.float32(1.0) / (x * x)
            x = x * np.float32(1e12)
    assert math.isnan(found[0]) and found[1] == total


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_that_float32_never_leaves_ends_at_max_trips(target):
    @pyflat.flatten(dtype="float32", target=target, max_trips=100)
    def until_close(x):
        guess, step = x, 1.0
        while step > 1e-30:
            better = (guess + x / guess) * 0.5
            step = abs(better * better - x)
            guess = better
        return guess

    assert until_close.flat(np.float32([4.0, 9.0])).tolist() == [2.0, 3.0]
    with pytest.raises(pyflat.TripLimitError):
        until_close.flat(np.float32([4.0, 2.0]))
    values, faults = until_close.flat.with_options(errors="mask")(np.float32([4.0, 2.0]))
    assert faults.lanes.tolist() == [1] and values[0] == 2.0


@pytest.mark.parametrize("target", TARGETS)
def test_an_int_argument_beyond_64_bits_has_no_value(target):
    twin = pyflat.twin(f.mixed, dtype="float32", target=target)
    with pytest.raises(LaneError, match="18446744073709551615 does not fit into 64 bits"):
        twin(np.array([3, 2**64 - 1], np.uint64), np.float32(2.0))
    assert twin(np.array([3, 4], np.uint64), np.float32(2.0))[1].tolist() == [False, False]


# --- form of arguments and results


@pytest.mark.parametrize("target", TARGETS)
def test_scalars_come_back_in_the_form_they_came(target):
    twin = pyflat.twin(f.mean, dtype="float32", target=target)
    third = twin(0.1, 0.2)
    assert type(third) is float and third == float((np.float32(0.1) + np.float32(0.2)) * np.float32(0.5))
    assert type(twin(np.float32(1.0), 2.0)) is np.float32 and type(twin(np.float64(1.0), 2.0)) is np.float32
    assert twin(np.zeros(3), 1.0).dtype == np.float32 and twin(np.zeros(0), 1.0).dtype == np.float32
    assert type(pyflat.twin(f.constant, dtype="float32", target=target)(1.0)[0]) is float
    assert pyflat.twin(f.constant, dtype="float32", target=target)(1.0)[0] == narrow(0.1)
    assert pyflat.twin(f.constant, dtype="float32", target=target)(np.zeros(2))[0].dtype == np.float32


def test_arguments_of_float64_are_rounded_first():
    twin = pyflat.twin(f.mean, dtype="float32")
    x = np.array([0.1, 1e300, 1e-300])
    assert same_bits(twin(x, x), np.float32([0.1, math.inf, 0.0]))
    assert same_bits(twin(x[:1].astype(">f8"), x[:1]), np.float32([0.1]))
    assert same_bits(twin(np.float32([0.1]).astype(">f4")[::1], 0.1), np.float32([0.1]))


@pytest.mark.parametrize("target", TARGETS)
def test_input_means_float32_where_all_float_arrays_are(target):
    twin = pyflat.twin(f.mixed, dtype="input", target=target)
    narrow_x, wide_x, n = np.float32([0.5, 1.5]), np.array([0.5, 1.5]), np.array([1, 2])
    assert twin(n, narrow_x)[0].dtype == np.float32
    assert twin(n, wide_x)[0].dtype == np.float64
    assert twin(1, np.float32(2.0))[0].dtype == np.float32
    mean = pyflat.twin(f.mean, dtype="input", target=target)
    assert mean(narrow_x, 0.1).dtype == np.float32  # Python's numbers adapt
    assert mean(narrow_x, wide_x).dtype == np.float64
    assert mean(narrow_x, np.float64(0.1)).dtype == np.float64
    assert mean(narrow_x.astype(np.float16), 1.0).dtype == np.float64
    assert mean(0.1, 0.2) == (0.1 + 0.2) * 0.5  # no arrays: Python's own
    assert mean(np.arange(3), np.arange(3)).dtype == np.float64
    assert same_bits(mean(narrow_x, narrow_x), pyflat.twin(f.mean, dtype="float32", target=target)(narrow_x, narrow_x))
    assert same_bits(mean(wide_x, wide_x), pyflat.twin(f.mean, target=target)(wide_x, wide_x))


def test_the_option_can_stand_wherever_options_stand():
    import pickle

    x = np.float32([0.1, 0.7])
    with pyflat.options(dtype="float32"):
        assert pyflat.twin(f.mean)(x, x).dtype == np.float32
        assert pyflat.twin(f.mean, dtype="float64")(x, x).dtype == np.float64
    assert pyflat.twin(f.mean)(x, x).dtype == np.float64
    assert pickle.loads(pickle.dumps(pyflat.twin(f.mean, dtype="float32")))(x, x).dtype == np.float32
    assert pyflat.twin(f.mean, dtype="float32") is pyflat.twin(f.mean).with_options(dtype="float32")
    with pytest.raises(ValueError, match="dtype='float16'"):
        pyflat.twin(f.mean, dtype="float16")


def test_input_keeps_what_it_has_compiled_apart():
    twin = pyflat.twin(f.third_of, dtype="input")
    for _ in range(2):
        assert twin(np.float32([0.7])).dtype == np.float32 and twin(np.array([0.7])).dtype == np.float64
    assert "2 kinds compiled" in repr(twin) and "dtype='input'" in repr(twin)


@pytest.mark.parametrize("target", TARGETS)
def test_records_strides_and_other_layouts(target):
    x = np.linspace(-3, 3, 24, dtype=np.float32)
    twin = pyflat.twin(f.pair, dtype="float32", target=target)
    whole = twin(x)
    assert isinstance(whole, f.Pair) and whole.low.dtype == whole.high.dtype == np.float32
    assert same_bits(twin(x[::-2]).high, whole.high[::-2]) and same_bits(twin(x.reshape(4, 6).T).low, whole.low.reshape(4, 6).T)
    boxes = pyflat.twin(f.box, dtype="float32", target=target)
    assert same_bits(boxes(f.Box(x, np.arange(24))), x * np.arange(24).astype(np.float32))
    assert same_bits(twin(x[:0]).low, x[:0])


def test_a_column_of_strings_in_float32():
    x = np.float32([2.0, 3.0, 1e-40, 5.0])
    kinds = np.array(["inverse", "log", "inverse", "other"])
    twin = pyflat.twin(f.classified, dtype="float32")
    assert same_bits(twin(x, kinds), np.float32([0.5, math.log(3.0), math.inf, np.float32(5) * np.float32(0.1)]))
    with pytest.raises(ValueError, match="math domain error"):
        twin(np.float32([1.0, -3.0, 1.0, 1.0]), kinds)
    with pytest.raises(ZeroDivisionError):
        twin(np.float32([0.0, 3.0, 1.0, 1.0]), kinds)


def test_complex_lanes():
    z = np.array([1 + 2j, 0.1j], np.complex64)
    found = pyflat.twin(f.sum_of_complex, dtype="input")(z)
    assert found.dtype == np.complex64 and np.allclose(found, z * z + 1j, rtol=1e-6)
    with pytest.raises(pyflat.FlattenError, match="in float32") as error:
        pyflat.twin(f.power_of_complex, dtype="float32")(z)
    assert error.value.code == "flatten/not-yet"


@pytest.mark.parametrize("name", ["unit_in_the_last_place", "distance"])
def test_algorithms_for_float64_are_refused(name):
    fn = getattr(f, name)
    given = [np.float32([1.0])] * fn.__code__.co_argcount
    with pytest.raises(pyflat.FlattenError, match="in float32") as error:
        pyflat.twin(fn, dtype="float32")(*given)
    assert error.value.code == "flatten/not-yet"
    pyflat.twin(fn, dtype="input")(*[x.astype(np.float64) for x in given])


@pytest.mark.parametrize("target", ["dataflow", "wgsl"])
def test_other_targets_say_that_they_have_a_format_of_their_own(target):
    with pytest.raises(pyflat.FlattenError) as error:
        pyflat.twin(f.mean, dtype="float32", target=target, errors="unchecked")(np.float32([1.0]), 2.0)
    assert error.value.code == "flatten/target-dtype"
    with pytest.raises(pyflat.FlattenError) as error:
        pyflat.twin(f.mean, dtype="float32").show(target=target)
    assert error.value.code == "flatten/target-dtype"


# --- plans


@pytest.mark.parametrize("dtype", ["float32", "input", "float64"])
def test_calls_with_and_without_plans_give_the_same(dtype):
    x, n = np.linspace(-1, 2, 7, dtype=np.float32), np.arange(7)
    y, wide = x[::-1].copy(), x.astype(np.float64)
    arguments = {
        f.mean: [(x, y), (x, 0.1), (0.1, x), (np.float32(1), 0.2), (0.1, 0.2), (wide, wide), (x, wide), (x, 1e300), (x, math.inf),
                 (x, math.nan), (x, -3), (x, n), (2, 3), (np.float64(2), x), (x, np.float64(0.1)), (x.astype(np.float16), 1.0),
                 (x, True), (x, np.int64(3)), (x[::2], y[::2]), (x.reshape(7, 1), y)],
        f.mixed: [(n, x), (3, x), (n, 0.5), (3, 0.5), (np.int64(2), np.float32(0.1)), (n.astype(np.int32), x), (3, 1e39)],
        f.roots: [(abs(x),), (2.0,), (np.float32(2),), (abs(wide),)],
    }
    for fn, calls in arguments.items():
        planned = pyflat.twin(fn, dtype=dtype, target="numba")
        for _ in range(4):
            for given in calls:
                found, expected = planned(*given), pyflat.twin(fn, dtype=dtype, target="numpy")(*given)
                assert same_bits(found, expected) and _types(found) == _types(expected), given
        if fn is f.roots:
            with pytest.raises(ValueError, match="math domain error"):
                planned(x)


def _types(value):
    return [*map(_types, value)] if isinstance(value, tuple) else (type(value), getattr(value, "dtype", None))


# --- ufuncs


@pytest.mark.parametrize("target", TARGETS)
def test_a_ufunc_of_float32(target):
    made = pyflat.twin(f.mean, dtype="float32", target=target).ufunc
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    expected = (x + np.float32(0.1)) * np.float32(0.5)
    assert same_bits(made(x, 0.1), expected) and same_bits(made(x.astype(np.float64), 0.1), expected)
    assert same_bits(made(x[::3], np.float32(0.1)), expected[::3])
    out = np.zeros(100, np.float32)
    assert made(x, 0.1, out=out, where=x > 0) is out and same_bits(out, np.where(x > 0, expected, np.float32(0)))
    again = x.copy()
    made(again, 0.1, out=again)
    assert same_bits(again, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_a_ufunc_has_a_loop_for_each_format(target):
    made = pyflat.twin(f.mean, dtype="input", target=target).ufunc
    x = np.linspace(-3, 3, 10)
    assert made(x, x).dtype == np.float64 and made(x.astype(np.float32), x).dtype == np.float64
    assert made(x.astype(np.float32), 0.1).dtype == np.float32 and made(np.float32(1), np.float32(2)).dtype == np.float32
    assert made(x, x, dtype=np.float32).dtype == np.float32
    assert same_bits(made(x.astype(np.float32), 0.1), pyflat.twin(f.mean, dtype="float32", target=target)(x.astype(np.float32), 0.1))


@pytest.mark.parametrize("target", TARGETS)
def test_a_ufunc_raises_and_reduces_in_float32(target):
    roots = pyflat.twin(f.roots, dtype="float32", target=target).ufunc
    with pytest.raises(ValueError, match="math domain error"):
        roots(np.float32([1.0, -1.0]))
    mean = pyflat.twin(f.mean, dtype="float32", target=target).ufunc
    x = np.float32([0.1, 0.7, 3.3, 1e-3])
    total = x[0]
    for value in x[1:]:
        total = (total + value) * np.float32(0.5)
    assert same_bits(mean.reduce(x), total)


# --- what is shown


def test_the_text_says_that_its_numbers_are_float32():
    text = pyflat.twin(f.chosen, dtype="float32").show(target="numpy")
    assert "np.where(x > np.float32(0.1), np.float32(1.0), np.float32(2.5))" in text and "x: float32" in text
    function = pyflat.twin(f.elementary, dtype="float32").function
    x = np.linspace(-5, 5, 300)
    assert same_bits(function(x), pyflat.twin(f.elementary, dtype="float32")(x))
    assert all(part.dtype == np.float32 for part in function(x))
    assert "float32" in pyflat.twin(f.chosen, dtype="float32").show()
    assert "(%x: f4) -> (f4) flat f4" in pyflat.twin(f.chosen, dtype="float32").show("flat")
    with pytest.raises(pyflat.FlattenError, match="scalar text"):
        pyflat.twin(f.chosen, dtype="float32").show(target="numba")


def test_text_and_engine_agree_on_every_case():
    for name, values in CASES.items():
        twin = pyflat.twin(getattr(f, name), dtype="float32", errors="mask")
        if "stays a loop" in twin.show(target="numpy"):
            continue
        given = columns(*values)
        expected, faults = twin(*given)
        fine = ~faults.mask
        found = twin.function(*given)
        assert same_bits(_part(found, fine), _part(expected, fine)), name


def _part(value, where):
    return tuple(_part(v, where) for v in value) if isinstance(value, tuple) else np.broadcast_to(value, where.shape)[where]


def test_explain_replay_and_profile():
    twin = pyflat.twin(f.counted, dtype="float32", target="numba")
    x, n = np.float32([0.1, 3.0, 1e20]), np.array([3, 40, 40])
    assert "x: f4" in str(twin.explain("f8,i8"))
    assert twin.replay(x, n, lane=1).agrees
    assert str(twin.verify(x, n)).startswith("3 lanes agree with the interpreter in float32")
    assert twin.profile(x, n).lanes == 3
    with pytest.raises(ValueError, match="compares with the original"):
        pyflat.testing.verify(f.mean, dtype="float32")
    with pyflat.options(dtype="float32"), pytest.raises(ValueError, match="compares with the original"):
        pyflat.testing.verify(f.mean)


def test_originals_round_too(monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pyflat.twin(f.third_of, dtype="float32")(np.float32([0.7, 1e9]))
    assert found.dtype == np.float32 and found[0] == np.float32(np.float64(np.float32(0.7)) / 3.0)


@pytest.mark.parametrize("target", TARGETS)
def test_threads_and_long_arrays_give_the_same(target):
    x = np.random.default_rng(3).uniform(-4, 4, 300_001).astype(np.float32)
    one = pyflat.twin(f.arithmetic, dtype="float32", target=target, parallel=False)(x, x[::-1])
    two = pyflat.twin(f.arithmetic, dtype="float32", target=target, parallel=True)(x, x[::-1])
    assert same_bits(one, two) and same_bits(one[-7:], pyflat.twin(f.arithmetic, dtype="float32", target=target)(x[-7:], x[::-1][-7:]))
