"""errors="mask" and "nan", twin.faults, and groups of exceptions."""

import traceback
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from tests.runtime import functions as f

XS = np.array([1.0, 0.0, 4.0, 0.0])
TARGETS = pytest.mark.parametrize("target", ["numpy", "numba"])


def checked_root(x):
    if x < 0:
        raise ValueError(f"negative: {x}")
    return divide(1.0, x)


def divide(a, b):
    return a / b


def counted(x, n):
    return x / n, n * 3, n > 1


class Share(NamedTuple):
    part: float
    label: None


def shared(x):
    return Share(1.0 / x, None)


def always_one(x):
    if x < 0:
        raise ValueError("negative")
    return 1.0


def constant_count(x):
    return 1.0 / x, 3


@dataclass
class Positive:
    value: float

    def __post_init__(self):
        if not self.value > 0:
            raise ValueError("not positive")


def positive_inverse(x):
    return Positive(1.0 / x)


def squared(n):
    return n * n


@TARGETS
def test_mask_gives_values_and_faults(target):
    values, faults = pyflat.twin(checked_root, errors="mask", target=target)(np.array([2.0, 0.0, 4.0, -3.0]))
    assert values.tolist()[::2] == [0.5, 0.25]
    assert np.isnan(values[[1, 3]]).all()
    assert faults.any()
    assert len(faults) == 2
    assert faults.lanes.tolist() == [1, 3]
    assert faults.mask.tolist() == [False, True, False, True]
    assert faults[0] is None
    assert (faults[1].type, faults[1].message) == (ZeroDivisionError, "float division by zero")
    assert (faults[-1].type, faults[-1].message) == (ValueError, "negative: -3.0")
    assert [failure.lane for failure in faults] == [1, 3]


def test_lines_are_those_of_pythons_traceback():
    faults = pyflat.twin(checked_root).faults(np.array([0.0, -1.0]))
    assert [failure.text for failure in faults] == ["return a / b", 'raise ValueError(f"negative: {x}")']
    first = faults[0].exception()
    steps = traceback.extract_tb(first.__traceback__)
    assert [step.name for step in steps][-2:] == ["checked_root", "divide"]
    assert (steps[-1].filename, steps[-1].lineno) == (faults[0].file, faults[0].line)
    note = first.__notes__[0]
    assert note.startswith("lane 0 (x=0.0)\ntest_faults.py:")
    assert note.endswith(": return a / b")


@pytest.mark.parametrize("index", [(1, 2), (-1, -1), (np.int64(1), 2), np.s_[1, 2]])
def test_lanes_of_several_axes(index):
    values, faults = pyflat.twin(f.checked, errors="mask")(np.ones((2, 3)), np.array([[1.0], [1.0]]) * [1.0, 1.0, 0.0])
    assert values.shape == faults.mask.shape == (2, 3)
    assert faults.lanes.tolist() == [[0, 2], [1, 2]]
    assert faults[index].lane == (1, 2)
    assert faults[0, 0] is None


def test_index_errors_are_numpys():
    faults = pyflat.twin(f.inverse).faults(XS)
    with pytest.raises(IndexError, match="out of bounds"):
        faults[4]
    with pytest.raises(IndexError):
        faults["x"]


def test_slices_and_masks_select_several_lanes():
    faults = pyflat.twin(f.inverse).faults(XS)
    assert [failure and failure.lane for failure in faults[1:]] == [1, None, 3]
    assert [failure and failure.lane for failure in faults[np.array([3, 0])]] == [3, None]
    assert faults[faults.mask].shape == (2,)
    assert faults[np.array(3)].lane == 3


@TARGETS
def test_every_leaf_is_blank_in_failing_lanes(target):
    (share, triple, more), faults = pyflat.twin(counted, errors="mask", target=target)(XS, np.array([1, 2, 0, 4]))
    assert faults.lanes.tolist() == [2]
    assert np.isnan(share).tolist() == [False, False, True, False]
    assert triple.tolist() == [3, 6, 0, 12]
    assert more.tolist() == [False, True, False, True]
    assert (triple.dtype, more.dtype) == (np.int64, np.bool_)


def test_constants_are_blank_in_failing_lanes():
    (inverse, three), faults = pyflat.twin(constant_count, errors="mask")(XS)
    assert three.tolist() == [3, 0, 3, 0]
    assert faults.lanes.tolist() == [1, 3]
    ones, faults = pyflat.twin(always_one, errors="mask")(np.array([1.0, -1.0]))
    assert ones[0] == 1.0
    assert np.isnan(ones[1])
    assert np.isnan(pyflat.twin(always_one, errors="nan")(np.array([-1.0, 1.0]))).tolist() == [True, False]


def test_what_is_no_number_stays():
    got, faults = pyflat.twin(shared, errors="mask")(XS)
    assert type(got) is Share
    assert got.label is None
    assert np.isnan(got.part).tolist() == [False, True, False, True]


def test_post_init_does_not_see_blanks():
    got, faults = pyflat.twin(positive_inverse, errors="mask")(0.0)
    assert np.isnan(got.value)
    assert faults[()].type is ZeroDivisionError
    good, none = pyflat.twin(positive_inverse, errors="mask")(2.0)
    assert good == Positive(0.5)
    assert not none


@pytest.mark.parametrize(("argument", "kind"), [(0.0, float), (np.float64(0.0), np.float64), (np.array(0.0), np.float64)])
def test_scalars(argument, kind):
    value, faults = pyflat.twin(f.inverse, errors="mask")(argument)
    assert type(value) is kind
    assert np.isnan(value)
    assert len(faults) == 1
    assert faults.mask.shape == ()
    assert faults[()].lane == ()
    assert faults[()].type is ZeroDivisionError
    fine, faults = pyflat.twin(f.inverse, errors="mask")(type(argument)(2.0) if kind is float else kind(2.0))
    assert fine == 0.5
    assert faults[()] is None


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_empty_calls_have_no_faults(shape):
    values, faults = pyflat.twin(f.inverse, errors="mask")(np.zeros(shape))
    assert values.shape == faults.mask.shape == shape
    assert (len(faults), faults.any(), bool(faults)) == (0, False, False)
    assert faults.lanes.shape == ((0,) if len(shape) == 1 else (0, 2))


def test_lanes_that_return_are_patched():
    a, b = np.array([2, 2**40, 3]), np.array([3, 2**40, 5])
    values, faults = pyflat.twin(f.modular, errors="mask")(a, b)
    assert values.tolist() == [6, 2**80 % 1000, 15]
    assert not faults
    assert "no faults" in repr(faults)


def test_uint64_beyond_int64_keeps_its_value():
    n = np.array([3, 2**63 + 5], np.uint64)
    values, faults = pyflat.twin(squared, errors="mask")(n)
    assert values.tolist() == [9, 0]
    assert faults[1].type is pyflat.LaneError
    assert faults[1].arguments == {"n": 2**63 + 5}
    assert str((2**63 + 5) ** 2) in faults[1].message


def test_faults_do_not_change_with_the_callers_arrays():
    xs = XS.copy()
    view = np.lib.stride_tricks.as_strided(xs, (3, 2), (8, 8))
    faults = pyflat.twin(f.inverse).faults(view)
    assert faults.lanes.tolist() == [[0, 1], [1, 0], [2, 1]]
    xs[:] = 7.0
    assert faults[0, 1].arguments == {"x": 0.0}
    assert isinstance(faults[0, 1].exception(), ZeroDivisionError)


def test_the_original_may_have_changed():
    limit = [0.0]

    def below(x):
        if x > limit[0]:
            raise ValueError("too large")
        return x

    faults = pyflat.twin(below).faults(np.array([1.0]))
    limit[0] = 2.0
    error = faults[0].exception()
    assert isinstance(error, pyflat.LaneError)
    assert str(error).startswith("lane 0 raised ValueError: too large, but returned when run again")


def test_replay_runs_in_increasing_lane_order_and_once():
    seen = []

    class Noted(Exception):
        def __init__(self, x):
            seen.append(x)
            super().__init__(x)

    def noting(x):
        if x < 0:
            raise Noted(x)
        return x

    faults = pyflat.twin(noting).faults(np.array([-3.0, 1.0, -1.0, -2.0]))
    assert seen == [-3.0, -1.0, -2.0]
    assert faults[2].type is Noted


@TARGETS
def test_nan_in_failing_lanes(target):
    twin = pyflat.twin(f.inverse, errors="nan", target=target)
    assert np.isnan(twin(XS)).tolist() == [False, True, False, True]
    assert np.isnan(twin(0.0))
    assert type(twin(0.0)) is float


def test_nan_counts():
    twin = pyflat.twin(lambda x: 1.0 / x, errors="nan")
    twin(XS)
    assert (twin.stats.failed, twin.stats.replayed) == (2, 2)


@pytest.mark.parametrize("fn", [counted, squared, f.positive, constant_count, f.nothing])
def test_nan_is_refused_where_it_cannot_be(fn):
    arguments = [np.array([0, 1])] * fn.__code__.co_argcount
    with pytest.raises(pyflat.FlattenError, match='errors="nan".*cannot be nan') as error:
        pyflat.twin(fn, errors="nan")(*arguments)
    assert error.value.code == "flatten/result-kind"


def test_nan_is_refused_before_a_lane_runs():
    ran = []

    class Noted(Exception):
        def __init__(self):
            ran.append(1)

    def noting(n):
        if n < 0:
            raise Noted
        return n

    with pytest.raises(pyflat.FlattenError, match="int, bool or an object"):
        pyflat.twin(noting, errors="nan")(np.array([-1, 1]))
    assert ran == []


def test_no_warnings_and_no_status(recwarn):
    with np.errstate(all="raise"):
        before = np.geterr()
        pyflat.twin(f.inverse, errors="mask")(XS)
        pyflat.twin(f.inverse, errors="nan")(XS)
        assert np.geterr() == before
    assert not recwarn.list


def test_a_group_of_all_failing_lanes():
    faults = pyflat.twin(f.checked).faults(np.array([-1.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0]))
    with pytest.raises(ExceptionGroup, match="2 of 3 lanes failed") as caught:
        faults.raise_all()
    values, divisions = caught.value.split(ValueError)
    assert [str(e) for e in values.exceptions] == ["negative: -1.0"]
    assert divisions.exceptions[0].__notes__[0].startswith("lane 1 (x=1.0, y=0.0)")


def test_groups_are_bounded():
    faults = pyflat.twin(f.inverse).faults(np.zeros(1000))
    group = faults.group()
    assert str(group) == "1,000 of 1,000 lanes failed; the first 100 are here (100 sub-exceptions)"
    assert len(faults.group("all of it", limit=3).exceptions) == 3
    with pytest.raises(ValueError, match="limit=0"):
        faults.group(limit=0)


def test_no_group_without_a_failing_lane():
    faults = pyflat.twin(f.inverse).faults(np.ones(3))
    faults.raise_all()
    with pytest.raises(ValueError, match="no lane failed"):
        faults.group()


def test_one_compilation_serves_all_but_unchecked(builds):
    twin = pyflat.twin(lambda x: 1.0 / x)
    for errors in ("raise", "mask", "nan"):
        twin.with_options(errors=errors)(np.ones(2))
    twin.faults(np.ones(2))
    assert len(builds) == 1
    assert "1 kind compiled" in repr(twin.with_options(errors="mask"))


def test_keyboard_interrupt_passes():
    def interrupted(x):
        if x > 1.0:
            raise KeyboardInterrupt
        return x

    for errors in ("mask", "nan"):
        with pytest.raises(KeyboardInterrupt):
            pyflat.twin(interrupted, errors=errors)(np.array([0.0, 2.0]))


def test_many_failing_lanes_warn_once():
    twin = pyflat.twin(lambda x: 1.0 / x, errors="mask")
    with pytest.warns(pyflat.PerformanceWarning, match="2,000 of 100,000"):
        twin(np.r_[np.zeros(2000), np.ones(98_000)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin(np.r_[np.zeros(2000), np.ones(98_000)])
