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
