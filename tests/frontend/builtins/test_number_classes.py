"""isinstance, type() and hasattr of NumPy's scalars and arrays without axes; np.vectorize, np.modf, copy=False."""

import math

import numpy as np
import pytest

import pyflat

XS = np.array([1.0, 1.5, -2.0, 4.25, 0.0, -0.0, -3.75])
TARGETS = ("numpy", "numba")

truncated = np.vectorize(lambda x: x * 0.75, otypes=[int])
above = np.vectorize(lambda x: x > 1.0)
as_float = np.vectorize(lambda x: x > 1.0, otypes=[float])
pair = np.vectorize(lambda x: (x, int(x)))
nothing = np.vectorize(lambda x: None if x > 4.0 else x)
narrow = np.vectorize(lambda x: x, otypes=[np.float32])


def classes_of_scalars(x):
    made, floor = np.sqrt(abs(x)), np.int64(x)
    return (type(made) is float, type(made) is np.float64, isinstance(made, np.floating), isinstance(made, float),
            isinstance(floor, int), isinstance(np.sign(int(x)), np.integer), isinstance(float(made), np.generic))


def classes_without_axes(x):
    made = np.where(x > 1.0, x, 2.0)
    return (isinstance(made, float), isinstance(made, np.ndarray), type(np.asarray(x)) is np.ndarray,
            hasattr(np.array(x), "shape"), hasattr(np.array(x), "is_integer"), isinstance(made + 1.0, float))


def the_argument_stays_what_it_is(x):
    made = [np.asarray(x), np.array([x, 1.0])[0], np.float64(x), np.real(x), np.full(3, x)[0], np.squeeze(x),
            np.broadcast_to(x, ()), np.vectorize(lambda each: each)(x), np.clip(x, -1e9, 1e9)]
    return type(x) is float, isinstance(x, np.generic), hasattr(x, "shape"), len(made)


def class_attribute(x):
    return np.sqrt(abs(x)).__class__ is np.float64, x.__class__ is float


def otypes_cut(x):
    return truncated(x), truncated(x) * 10 // 3, as_float(x) + as_float(x), as_float(x) * 10 // 3


def several_results(x):
    first, second = pair(x)
    return first / 3, second * 2


def of_arrays(x):
    made = truncated(np.array([x, 2.0, x + 1.0]))
    return made[0] + made[2], made.sum()


def the_first_element_decides(x):
    made = np.vectorize(lambda each: int(each) if each > 2.0 else each * 1.0)(np.array([3.0, x]))
    return made[0] + made[1]


def made_inside(x, y):
    @np.vectorize
    def half(each):
        return each * 0.5 + y

    listed = np.vectorize(lambda each: int(each) + (each > y), otypes=[float])
    return half(x) + 1.0, listed(x) / 3


def parts(x):
    fraction, whole = np.modf(x)
    row = np.modf(np.atleast_1d(x) + 0.5)
    return fraction, whole, row[0][0], row[1][0], int(np.modf(x)[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", [
    classes_of_scalars, classes_without_axes, the_argument_stays_what_it_is, class_attribute, otypes_cut,
    several_results, of_arrays, the_first_element_decides, parts], ids=lambda fn: fn.__name__)
def test_as_the_original(fn, target):
    assert pyflat.twin(fn, target=target).verify(XS).replayed == 0


def counters(x):
    made, found = np.sqrt(abs(x)), 0
    for i in range(int(abs(x))):
        found += isinstance(i * x, np.generic)
    return found, made


@pytest.mark.parametrize("target", TARGETS)
def test_a_counter_is_pythons_beside_what_numpy_made(target):
    assert pyflat.twin(counters, target=target).verify(XS).replayed == 0


@pytest.mark.parametrize("target", TARGETS)
def test_vectorize_of_a_closure(target):
    assert pyflat.twin(made_inside, target=target).verify(XS, XS[::-1].copy()).replayed == 0


def test_modf_of_what_is_not_finite_and_of_ints():
    xs = np.array([math.inf, -math.inf, math.nan, 1e300, 5e-324, 2.0**53 + 2, -0.3])
    for target in TARGETS:
        twin = pyflat.twin(lambda x: np.modf(x), target=target)
        assert twin.verify(xs).lanes == 7 and twin.verify(np.array([3, -4, 0])).replayed == 0


def joined_class(x):
    made = np.array(x)
    if x > 1.0:
        made = x
    return isinstance(made, float)


def product_in_a_loop(x):
    made, power = np.sqrt(abs(x)), 1.0
    for _ in range(int(abs(x))):
        power = power * 2.0
    return isinstance(power * x, np.generic), made


@pytest.mark.parametrize(("fn", "said"), [
    (lambda x: isinstance(np.exp(0.1) if x > 1.0 else np.exp(0.2), np.generic) + np.floor(x),
     "isinstance of a number that NumPy may have made"),
    (product_in_a_loop, "isinstance of a number that NumPy may have made"), (joined_class, "isinstance of a number that NumPy may have made"),
    (lambda x: isinstance(np.floor(x) > 1.0, bool) + x, "isinstance of a number that NumPy may have made"),
    (lambda x: narrow(x) * 1.1, "np.vectorize with otypes"),
    (lambda x: nothing(x) is None, "np.vectorize with a function that returns None"),
    (lambda x: above(x) + above(x), "of NumPy scalars is not Python's"),
    (lambda x: np.asarray(np.where(x > 0.0, x, -x), copy=False) + 1.0, "copy=False"),
    (lambda x: np.seterr(all="ignore") or x, "np.seterr changes how NumPy works"),
])
def test_what_is_refused(fn, said):
    with pytest.raises(pyflat.FlattenError, match=said):
        pyflat.twin(fn)(XS)


@pytest.mark.parametrize("fn", [
    lambda x: np.array(x, copy=False) + 1.0, lambda x: np.asarray(x, copy=False) + 1.0,
    lambda x: np.array([x, 1.0], copy=False)[0], lambda x: np.array(np.array([x, 1.0]), dtype=int, copy=False)[0],
])
def test_a_copy_that_is_needed_and_forbidden_raises(fn):
    with pytest.raises(ValueError, match="copy"):
        pyflat.twin(fn)(XS)


def shared(x):
    row = np.array([x, 1.0])
    other = np.array(row, copy=None)
    other[0] = 5.0
    forced = np.array(row, copy=np._CopyMode.IF_NEEDED)
    forced[1] = x
    return row[0], row[1]


def object_without_axes(x, other=None):
    known = np.where(other is None, 100, other)
    return known / 50 * x, x if known > 3 else -x


def test_copies_and_arrays_of_objects_without_axes():
    assert pyflat.twin(shared).verify(XS).replayed == 0
    assert pyflat.twin(object_without_axes).verify(XS).replayed == 0


def determinant(x):
    try:
        return np.linalg.det(x)
    except np.linalg.LinAlgError:
        return -x


def test_a_number_is_no_matrix():
    assert pyflat.twin(determinant, arrays=()).verify(XS).lanes == len(XS)
    with pytest.raises(np.linalg.LinAlgError):
        pyflat.twin(lambda x: np.linalg.inv(x) + x)(XS)
