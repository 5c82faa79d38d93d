"""Arrays that do not lie dense: rows beside matrices, Fortran's order, fields of tables, axes turned and reversed."""

import numpy as np
import pytest

import pyflat
from pyflat.runtime.calls import Caller
from pyflat.targets.numba import layouts


def curve(x, y):
    return x * 2.0 + y if x > y else y - x


def both(x, y):
    return x + y, x > y


def fresh(fn):
    """A twin with plans of its own."""
    own = type(fn)(fn.__code__, fn.__globals__, fn.__name__)
    return pyflat.twin(own, target="numba", parallel=False)


def numbers(shape, dtype="f8", seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


def field(array):
    """The same as a field of a table, not aligned."""
    table = np.zeros(array.shape, [("name", "u1"), ("value", array.dtype)])
    table["value"] = array
    return table["value"]


PAIRS = {
    "row": (numbers((150, 130)), numbers(130)),
    "short row": (numbers((7001, 3), "i4"), numbers(3, "f4")),
    "column": (numbers((150, 130), "f4"), numbers((150, 1), "i2")),
    "row and column": (numbers((1, 170), "u1"), numbers((230, 1), ">f8")),
    "long rows": (numbers((3, 9001)), numbers(9001, "i8", 1)),
    "Fortran's order": (np.asfortranarray(numbers((130, 150), "i4")), numbers((130, 150))),
    "fields in Fortran's order": (field(numbers((200, 190), "i4").T).T, field(numbers((200, 190), "i4", 1).T).T),
    "axes turned": (numbers((20, 30, 40), "i2").transpose(1, 2, 0), numbers((30, 40, 20), "f2")),
    "reversed": (numbers((90, 80))[::-1, ::-1], numbers((90, 80), "f4")[:, ::-1]),
    "every other": (numbers((180, 160))[::2, ::2], numbers((90, 80))),
    "fields": (field(numbers(5000)), field(numbers(5000, "i4", 1))),
    "bools beside a row": (numbers((150, 130)) > 50, numbers(130)),
    "five axes": (numbers((4, 1, 6, 7, 8)), numbers((5, 1, 7, 1), "f4")),
}


@pytest.fixture
def walked(monkeypatch):
    """How often arrays were looked at, and how often calls took the long way."""
    seen = {"layouts": 0, "long": 0}
    look, long = layouts._layout, Caller.__call__

    def looked(*args, **kwargs):
        seen["layouts"] += 1
        return look(*args, **kwargs)

    def counted(*args, **kwargs):
        seen["long"] += 1
        return long(*args, **kwargs)

    monkeypatch.setattr(layouts, "_layout", looked)
    monkeypatch.setattr(Caller, "__call__", counted)
    return seen


@pytest.mark.parametrize("args", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("fn", [curve, both])
def test_lanes_are_those_of_dense_arrays(fn, args, walked):
    dense = [np.array(a, order="C") for a in np.broadcast_arrays(*args)]
    wanted = fresh(fn)(*dense)
    twin = fresh(fn)
    twin(*args)
    before = walked["long"]
    found = twin(*args)
    assert walked["long"] == before
    assert walked["layouts"] == 1
    for a, b in zip(*[each if isinstance(each, tuple) else (each,) for each in (found, wanted)], strict=True):
        assert a.dtype == b.dtype
        assert a.flags.c_contiguous
        assert np.array_equal(a, b)


def test_a_failing_lane_raises_what_the_original_raises():
    twin = fresh(lambda x, y: x / y)
    matrix, row = numbers((100, 90)), np.ones(90)
    twin(matrix, row)
    assert np.array_equal(twin(matrix, row), matrix)
    row[7] = 0
    with pytest.raises(ZeroDivisionError):
        twin(matrix, row)


def test_shapes_that_do_not_fit_are_refused():
    twin = fresh(curve)
    matrix = numbers((100, 90))
    twin(matrix, numbers(90))
    with pytest.raises(ValueError, match="cannot be broadcast together"):
        twin(matrix, numbers(89))


def test_scalars_and_many_of_them_beside_a_row():
    def line(x, y, a, b, c):
        return x * a + y * b + c

    twin = fresh(line)
    matrix, row = numbers((100, 90)), numbers(90)
    twin(matrix, row, 2.0, 3, 4.0)
    assert np.array_equal(twin(matrix, row, 2.0, 3, 4.0), matrix * 2.0 + row * 3 + 4.0)


def test_scalars_that_are_arrays_without_axes():
    matrix, row = numbers((100, 90)), numbers(90)

    def line(x, y, a):
        return x * a + y

    for number in (np.array(3, "i4"), np.array(3, ">i2"), np.array(2.5, "f4"), np.array(True)):
        twin = fresh(line)
        twin(matrix, row, number)
        assert np.array_equal(twin(matrix, row, number), matrix * number + row)
