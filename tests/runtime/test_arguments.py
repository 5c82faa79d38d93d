"""How call arguments become lanes, and what is refused."""

import decimal
import enum
from types import SimpleNamespace

import numpy as np
import pytest

import pyflat
from tests.runtime import functions as f


def check(fn, *args, dtype, target="numpy"):
    """The twin's result equals the original lane by lane."""
    got = pyflat.twin(fn, target=target)(*args)
    lanes = np.broadcast_arrays(*args)
    want = [fn(*[x.item() for x in row]) for row in zip(*[np.ravel(a) for a in lanes])]
    assert got.dtype == dtype
    assert got.shape == lanes[0].shape
    assert got.ravel().tolist() == want


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "u1", "i2", ">i4", "i8", "u8", "?"])
def test_every_number_dtype_is_a_lane(dtype):
    xs = np.array([0, 1, 1, 0, 1], dtype)
    xs.flags.writeable = False
    check(f.product, xs, np.array([2.0, 3.0, 4.0, 5.0, 6.0]), dtype=np.float64)


def test_small_integers_do_not_wrap():
    check(f.product, np.array([127, -128], np.int8), np.array([127, 127], np.int8), dtype=np.int64)


def test_broadcasting():
    check(f.shade, np.arange(6.0).reshape(2, 3), np.array([[0.5], [1.5]]), dtype=np.float64)
    check(f.shade, np.arange(3.0), np.array([0.5]), dtype=np.float64)
    assert pyflat.twin(f.shade)(np.zeros((0, 3)), np.zeros(3)).shape == (0, 3)
    assert pyflat.twin(f.shade)(np.zeros((0,)), np.zeros(1)).shape == (0,)


def test_shapes_that_do_not_broadcast_are_named():
    with pytest.raises(ValueError, match=r"a has \(2,\), b has \(3,\)"):
        pyflat.twin(f.product)(np.zeros(2), np.zeros(3))


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_memory_layouts(target):
    base = np.arange(24.0).reshape(4, 6)
    raw = np.frombuffer(b"x" + np.arange(5.0).tobytes(), np.uint8)[1:].view(np.float64)
    assert not raw.flags.aligned
    for xs in (base[::2, ::-1], base.T, np.asfortranarray(base), base[:, 2], base[::-1][1:2], raw):
        before = xs.copy()
        xs.flags.writeable = False
        check(f.shade, xs, np.float64(3.0), dtype=np.float64, target=target)
        assert (xs == before).all()


def test_memmap_is_an_array(tmp_path):
    xs = np.memmap(tmp_path / "x", np.float64, "w+", shape=(3,))
    xs[:] = [1.0, 2.0, 4.0]
    got = pyflat.twin(f.inverse)(xs)
    assert type(got) is np.ndarray
    assert got.tolist() == [1.0, 0.5, 0.25]


def test_uint64_beyond_int64_is_replayed_with_its_value():
    xs = np.array([1, 2**63, 2**64 - 1], np.uint64)
    twin = pyflat.twin(lambda a: a % 10)
    assert twin(xs).tolist() == [1, 8, 5]
    assert twin.stats.replayed == 2
    assert twin(np.uint64(2**64 - 1)) == 5
    assert twin(2**70) == 2**70 % 10


def test_a_large_python_int_beside_an_array():
    twin = pyflat.twin(lambda a, b: a % b)
    assert twin(2**64, np.array([3, 5, 7])).tolist() == [2**64 % m for m in (3, 5, 7)]


def test_keywords_and_defaults():
    xs = np.array([0.25, 1.0, 2.0])
    twin = pyflat.twin(f.shade)
    want = [f.shade(x) for x in xs.tolist()]
    assert twin(x=xs).tolist() == twin(xs, t=0.5).tolist() == twin(t=0.5, x=xs).tolist() == want
    assert twin(xs).tolist() == want


def test_a_default_that_is_not_passed_is_static(builds):
    def above(x, t=0.5):
        return x > t

    twin = pyflat.twin(above)
    assert twin(np.ones(2)).tolist() == [True, True]
    assert list(builds[-1][1]) == ["x"]
    above.__defaults__ = (1.5,)
    assert twin(np.ones(2)).tolist() == [False, False]


@pytest.mark.parametrize(("args", "kwargs", "message"), [
    ((), {}, r"product_flat\(\) missing 2 required positional arguments: 'a' and 'b'"),
    ((1.0, 2.0, 3.0), {}, r"product_flat\(\) takes 2 positional arguments but 3 were given"),
    ((1.0,), {"b": 1.0, "c": 1.0}, r"product_flat\(\) got an unexpected keyword argument 'c'"),
])
def test_arguments_that_do_not_fit(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        pyflat.twin(f.product)(*args, **kwargs)


def test_inferred_static_arguments(builds):
    twin = pyflat.twin(f.labelled, max_unroll=11)
    xs = np.array([1.0, 2.0])
    assert twin(xs, "twice").tolist() == [2.0, 4.0]
    assert twin(xs, side=f.Side.RIGHT).tolist() == [-1.0, -2.0]
    assert twin(xs, how="plain").tolist() == [1.0, 2.0]
    assert len(builds) == 3
    twin(xs, "twice")
    assert len(builds) == 3


def test_static_option(builds):
    twin = pyflat.twin(f.power, static="n")
    assert twin(np.array([2.0, 3.0]), 3).tolist() == [8.0, 27.0]
    assert twin(2.0, n=2) == 4.0
    assert twin(np.array([2.0]), True).tolist() == [2.0]
    assert twin(np.array([2.0]), 1).tolist() == [2.0]
    assert len(builds) == 4, "True and 1 are different static arguments"


def test_zero_and_minus_zero_are_different_static_arguments(builds):
    twin = pyflat.twin(f.product, static=("b",))
    assert str(twin(np.ones(1), 0.0)[0]) == "0.0"
    assert str(twin(np.ones(1), -0.0)[0]) == "-0.0"
    assert len(builds) == 2


def test_a_static_list_is_compared_by_contents(builds):
    twin = pyflat.twin(lambda x, table: x + table[0], static="table")
    table = [1.0, 2.0]
    assert twin(np.zeros(1), table).tolist() == [1.0]
    assert twin(np.zeros(1), [1.0, 2.0]).tolist() == [1.0]
    table[0] = 5.0
    assert twin(np.zeros(1), table).tolist() == [5.0]


def test_records_of_lanes():
    xs, ys = np.array([3.0, 6.0]), np.array([4.0, 8.0])
    got = pyflat.twin(f.polar)(f.Point(xs, ys))
    assert type(got) is f.Point
    assert got.x.tolist() == [5.0, 10.0]
    assert got.y.tolist() == [7.0, 14.0]
    first = pyflat.twin(lambda p: p[0] - p[1])
    assert first((xs, ys)).tolist() == first([xs, ys]).tolist() == [-1.0, -2.0]
    assert first((3, 2.0)) == 1.0
    assert pyflat.twin(lambda p: p.high - p.low)(f.Pair(xs, ys)).tolist() == [1.0, 2.0]


def test_star_arguments_are_lanes():
    twin = pyflat.twin(f.spread)
    xs = np.array([1.0, 2.0])
    assert twin(xs).tolist() == [1.0, 2.0]
    assert twin(xs, xs, 1).tolist() == [3.0, 5.0]
    assert twin(xs, offset=xs).tolist() == [2.0, 4.0]


def test_named_arguments_are_lanes():
    twin = pyflat.twin(f.keywords)
    xs = np.array([1.0, 2.0])
    assert twin(xs, factor=3.0).tolist() == [3.0, 6.0]
    assert twin(2.0, factor=xs, unused=3).tolist() == [2.0, 4.0]
    assert twin(2.0, unused="a", factor=3) == 6.0


@pytest.mark.parametrize(("value", "message"), [
    (np.ma.array([1.0, 2.0], mask=[0, 1]), r"MaskedArray.*x.filled"),
    (np.ones((1, 1)).view(np.matrix), r"matrix.*np.asarray\(x\)"),
    (np.array([1.0, None]), r"object.*x.astype\(float\)"),
    (np.array(["2020-01-01"], "M8[D]"), "timedelta64"),
    (np.array(["a", 1.0], object), "an array of objects with 1.0 .float. in lane 1"),
    (np.array([1j], np.clongdouble), r"x.astype\(np.complex128\)"),
    (np.clongdouble(1j), r"x.astype\(np.complex128\)"),
    (np.array([1.0], np.longdouble), r"x.astype\(np.float64\)"),
    (np.longdouble(1), r"x.astype\(np.float64\)"),
    (np.zeros(1, [("a", float)]), "each field"),
    (decimal.Decimal(1), r"float\(x\)"),
    (memoryview(b"12345678"), r"np.asarray\(x\)"),
    ({1: np.ones(2)}, "separate arguments"),
])
def test_what_is_no_lane_is_a_type_error_with_the_rewrite(value, message):
    with pytest.raises(TypeError, match=f"argument 'x' is .*{message}"):
        pyflat.twin(f.inverse)(value)


@pytest.mark.parametrize(("module", "rewrite"), [
    ("pandas.core.series", r"x.to_numpy\(\)"), ("polars.series.series", r"x.to_numpy\(\)"),
    ("dask.array.core", r"x.compute\(\)"), ("xarray.core.dataarray", r"x.to_numpy\(\)"),
    ("torch", r"x.numpy\(force=True\)"), ("jaxlib._jax", r"np.asarray\(x\)"), ("mine", r"np.asarray\(x\)"),
    ("scipy.sparse._csr", r"x.toarray\(\)"),
])
def test_containers_of_other_libraries(module, rewrite):
    marks = {} if module.startswith("scipy") else {"__array__": lambda self, dtype=None, copy=None: np.ones(2)}
    foreign = type("Window", (), {"__module__": module, **marks})()
    with pytest.raises(TypeError, match=f"argument 'x' is a {module}.Window.*{rewrite}"):
        pyflat.twin(f.inverse)(foreign)


def test_unknown_array_subclasses_are_refused():
    class Masked(np.ndarray):
        pass

    Masked.__module__ = "astropy.utils"
    with pytest.raises(TypeError, match="x.value"):
        pyflat.twin(f.inverse)(np.ones(2).view(Masked))


def test_a_dataclass_with_post_init_is_no_record_of_arrays():
    from dataclasses import dataclass

    @dataclass
    class Checked:
        x: float

        def __post_init__(self):
            self.double = self.x + self.x

    twin = pyflat.twin(lambda p, y: p.double + y)
    assert twin(Checked(1.0), np.ones(2)).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="__post_init__"):
        twin(Checked(np.ones(2)), np.ones(2))


def test_plain_objects_are_static():
    assert pyflat.twin(lambda o, x: o.k * x)(SimpleNamespace(k=2.0), np.ones(2)).tolist() == [2.0, 2.0]


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Rate(float, enum.Enum):
    FULL = 1.5


class Plain(float):
    """Has float's operators."""


class PlainNumPy(np.float64):
    """Has those of float64."""


class Odd(float):
    def __mul__(self, other):
        return 99.0


class OddNumPy(np.float64):
    def __mul__(self, other):
        return 99.0


def blend(x, y):
    return 3.0 * x if y > 0.5 else x - y * 2


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("number", [Level.HIGH, Rate.FULL, Plain(2.0), PlainNumPy(2.0)], ids=repr)
def test_a_number_of_a_class_with_its_base_s_operators(number, target):
    twin = pyflat.twin(blend, target=target)
    for args in ((number, 3.0), (3.0, number), (number, number), (number, -1), (-1, number)):
        assert twin(*args) == blend(*args)
    assert twin(np.array([1.0, 2.0]), number).tolist() == [blend(1.0, number), blend(2.0, number)]


@pytest.mark.parametrize("number", [Odd(2.0), OddNumPy(2.0)], ids=repr)
def test_a_number_of_a_class_with_another_operator(number):
    with pytest.raises(TypeError, match=r"argument 'y' is a .*Odd.*, whose __mul__ is not float"):
        pyflat.twin(blend)(1.0, number)
