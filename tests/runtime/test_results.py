"""What a call gives back: scalars or arrays, in the structure of the original's result."""

import numpy as np
import pytest

import pyflat
from tests.runtime import functions as f


@pytest.mark.parametrize(("args", "kind"), [((2.0, 3.0), float), ((2, 3), int), ((2, 3.0), float), ((True, 3), int)])
def test_python_scalars_give_python_scalars(args, kind):
    got = pyflat.twin(f.product)(*args)
    assert type(got) is kind
    assert got == f.product(*args)


def test_python_bool():
    assert pyflat.twin(f.positive)(1.0) is True


@pytest.mark.parametrize("x", [np.float64(2.0), np.float32(2.0), np.array(2.0), np.int8(2), np.array(2)])
def test_numpy_scalars_give_numpy_scalars(x):
    got = pyflat.twin(f.product)(x, 3)
    assert type(got) is (np.float64 if x.dtype.kind == "f" else np.int64)
    assert got == 6
    assert type(pyflat.twin(f.positive)(x)) is np.bool_


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_empty_arrays_keep_shape_and_dtype(shape):
    for dtype in (np.float64, np.int64):
        got = pyflat.twin(f.product)(np.zeros(shape, dtype), 1)
        assert got.shape == shape
        assert got.dtype == dtype
    assert pyflat.twin(f.positive)(np.zeros(shape)).dtype == np.bool_


def test_namedtuple_results():
    got = pyflat.twin(f.ordered)(np.array([1.0, 5.0]), np.array([2.0, 3.0]))
    assert type(got) is f.Pair
    assert got.low.tolist() == [1.0, 3.0]
    assert got.high.tolist() == [2.0, 5.0]
    assert pyflat.twin(f.ordered)(2.0, 1.0) == f.Pair(1.0, 2.0)


def test_a_tuple_class_that_validates_sees_lanes_only():
    got = pyflat.twin(f.interval)(np.array([1.0, -5.0]))
    assert type(got) is f.Interval
    assert got.high.tolist() == [2.0, -4.0]


def test_constants_in_results():
    x, number, nothing = pyflat.twin(f.mixed)(np.array([[1.0, 2.0]]))
    assert x.shape == number.shape == (1, 2)
    assert number.dtype == np.int64
    assert nothing is None
    assert pyflat.twin(f.mixed)(1.0) == (1.0, 3, None)
    assert type(pyflat.twin(f.mixed)(np.float64(1.0))[1]) is np.int64
    assert pyflat.twin(f.nothing)(np.ones(2)) is None


def test_results_are_fresh_arrays():
    xs = np.ones(3)
    got = pyflat.twin(lambda x: x)(xs)
    got[0] = 7.0
    assert xs.tolist() == [1.0, 1.0, 1.0]


def test_no_lanes_at_all():
    assert pyflat.twin(f.power, static=("x", "n"))(2.0, 3) == 8.0


def test_dict_results_keep_keys_and_nesting():
    def parts(x):
        out = {"whole": x // 1, "low": x < 1}
        out["inner"] = {"inverse": 1 / x} if x > 2 else {"inverse": 0}
        return out

    xs = np.array([0.5, 1.5, 4.0])
    got = pyflat.twin(parts)(xs)
    assert list(got) == ["whole", "low", "inner"]
    assert got["low"].tolist() == [True, False, False]
    assert got["inner"]["inverse"].tolist() == [0.0, 0.0, 0.25]
    assert pyflat.twin(parts)(4.0) == parts(4.0)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        pyflat.twin(lambda x: {"a": 1 / x})(np.array([1.0, 0.0]))


def test_dict_results_with_other_keys_on_other_paths():
    def uneven(x):
        return {"a": x} if x > 0 else {"b": x}

    assert pyflat.twin(uneven)(np.array([1.0, -2.0])).tolist() == [{"a": 1.0}, {"b": -2.0}]
    with pytest.raises(pyflat.FlattenError, match="keys are not strings"):
        pyflat.twin(lambda x: {1: x})(np.array([1.0]))


def test_dict_of_arrays_as_an_argument():
    def energy(p, v):
        return p["m"] * v**2 / 2 + len(p)

    assert pyflat.twin(energy)({"m": np.array([1.0, 2.0])}, 2.0).tolist() == [3.0, 5.0]
    assert pyflat.twin(energy)({"m": 3.0}, np.array([1.0, 2.0])).tolist() == [2.5, 7.0]


def turned(shape, seed=0):
    return np.asfortranarray(np.random.default_rng(seed).integers(1, 100, shape).astype(float))


def quotient_and_more(x, y):
    return x / y, x > y, 7, complex(x, y)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("shape", [(3, 4), (5, 1, 4, 3), (90, 70), (300, 200)])
def test_results_lie_as_the_arguments_do(target, shape):
    x, y = turned(shape), turned(shape, 1)
    for args, fortran in (((x, y), True), ((x, 2.0), True), ((x, np.array(2)), True), ((x, y.copy(order="C")), False),
                          ((x, y[:1]), False), ((x, turned((2, *shape))), False), ((x.copy(order="C"), 1), False)):
        twin = pyflat.twin(quotient_and_more, target=target)
        for _ in range(3):
            for result, wanted in zip(twin(*args), pyflat.twin(quotient_and_more)(*map(np.ascontiguousarray, args))):
                assert np.array_equal(result, wanted)
                assert result.flags.fnc == fortran
                assert result.flags.forc


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("size", [4, 200])
def test_lanes_in_fortrans_order_fail_in_cs(target, size):
    x = turned((size, 3 * size))
    x[2, 2] = x[3, 1] = 0
    twin = pyflat.twin(f.inverse, target=target)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError) as caught:
            twin(x)
        assert "lane (2, 2)" in caught.value.__notes__[0]
        values, faults = pyflat.twin(f.inverse, target=target, errors="mask")(x)
        assert values.flags.fnc
        assert faults.lanes.tolist() == [[2, 2], [3, 1]]
        assert np.array_equal(values, np.where(x == 0, np.nan, 1 / np.where(x == 0, 1, x)), equal_nan=True)
