"""Every value that is no lane, in every place of a call: the original's own exception, or a TypeError or ValueError
that names the argument. Never a raw error, and no refusal of the function where the call is what is wrong."""

import array
import collections
import datetime
import decimal
import fractions
import re

import numpy as np
import pytest

import pyflat


class Plain:
    pass


class Convertible:
    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


def foreign(module, name, **attributes):
    """An object of a library that need not be installed."""
    return type(name, (), {"__module__": module, **attributes})()


FIELDS = np.zeros(2, [("a", "f8")])
MAKERS = {
    "str": lambda: "abc", "none": lambda: None, "tuple": lambda: (1.0, 2.0), "no items": tuple, "range": lambda: range(3),
    "bytes": lambda: b"", "dict": dict, "dict of numbers": lambda: {"a": 1.0}, "set": lambda: {1.0},
    "frozenset": lambda: frozenset([1]), "strings": lambda: ["a", "b"],
    "nested": lambda: ((1.0, "a"),), "generator": lambda: (i for i in range(3)), "iterator": lambda: iter([1]),
    "function": lambda: len, "lambda": lambda: lambda x: x, "class": lambda: float, "own class": lambda: Plain,
    "instance": Plain, "module": lambda: np, "ellipsis": lambda: ..., "NotImplemented": lambda: NotImplemented,
    "slice": lambda: slice(3), "date": lambda: datetime.date(2001, 1, 1), "timedelta": lambda: datetime.timedelta(1),
    "deque": lambda: collections.deque([1.0]), "defaultdict": lambda: collections.defaultdict(int),
    "array.array": lambda: array.array("d", [1.0]), "memoryview": lambda: memoryview(b"abc"),
    "bytearray": lambda: bytearray(b"ab"), "Decimal": lambda: decimal.Decimal(1),
    "Fraction": lambda: fractions.Fraction(1, 2), "convertible": Convertible, "property": lambda: property(len),
    "np.str_": lambda: np.str_("a"), "datetime64": lambda: np.datetime64("2001-01-01"),
    "array of datetime64": lambda: np.array(["2001-01-01"], "M8[D]"), "timedelta64": lambda: np.timedelta64(1, "s"),
    "objects": lambda: np.array([1.0, "a"], object), "decimals": lambda: np.array([decimal.Decimal(1)], object),
    "array of strings": lambda: np.array(["a", "b", "a"]), "array of bytes": lambda: np.array([b"a"]),
    "records": lambda: FIELDS, "record": lambda: FIELDS[0], "recarray": lambda: FIELDS.view(np.recarray),
    "longdouble": lambda: np.longdouble(1), "longdoubles": lambda: np.ones(2, np.longdouble),
    "masked": lambda: np.ma.array([1.0]), "matrix": lambda: np.ones((1, 1)).view(np.matrix), "ufunc": lambda: np.add,
    "dtype": lambda: np.dtype(float),
    "pandas NA": lambda: pytest.importorskip("pandas").NA,
    "pandas DataFrame": lambda: pytest.importorskip("pandas").DataFrame({"a": [1.0]}),
    "Arrow table": lambda: pytest.importorskip("pyarrow").table({"a": [1.0]}),
    "pandas NaT": lambda: foreign("pandas._libs.tslibs.nattype", "NaTType"),
    "pint Quantity": lambda: foreign("pint", "Quantity", __array_function__=None),
    "sparse tensor": lambda: foreign("torch", "SparseTensor", __array__=lambda self: np.ones(3)),
    "ufloat": lambda: foreign("uncertainties.core", "Variable", __mul__=lambda self, other: self),
    "polars DataFrame": lambda: pytest.importorskip("polars").DataFrame({"a": [1.0]}),
    "polars LazyFrame": lambda: pytest.importorskip("polars").LazyFrame({"a": [1.0]}),
}


def scale(x):
    return x * 2.0 + 1.0


def sign(x):
    return 1.0 if x > 0 else -1.0


def negative(x):
    return -x


def larger(y, x):
    return max(y, x)


def shifted(y, *, x=1.0):
    return y - x


def total(*x):
    return x[0] * 2.0


def converted(x):
    return float(x) + 1.0


def rooted(x):
    return np.sqrt(x) - 1.0


def helped(x):
    return scale(x) + sign(x)


def kept(x):
    n = 0
    while x > 1.0:
        x, n = x / 2.0, n + 1
    return n


SHAPES = {
    scale: lambda f, x: f(x), sign: lambda f, x: f(x), negative: lambda f, x: f(x), helped: lambda f, x: f(x),
    larger: lambda f, x: f(1.0, x), shifted: lambda f, x: f(1.0, x=x), total: lambda f, x: f(x),
    converted: lambda f, x: f(x), rooted: lambda f, x: f(x), kept: lambda f, x: f(x=x),
}
WAYS = ("pass", "call twin.by_name", "use pyflat.", "convert", "encode", "static=")


def outcome(fn, call, value):
    try:
        return call(fn, value), None
    except Exception as error:  # noqa: BLE001 - whatever Python raises
        return None, error


def of_one_lane(value):
    """What the original gets in the first lane."""
    plain = type(value) is np.ndarray and value.dtype.kind in "SU"
    return value.item(0) if plain else value


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("name", MAKERS)
def test_the_argument_is_named(name, target):
    for fn, call in SHAPES.items():
        _, expected = outcome(fn, call, of_one_lane(MAKERS[name]()))
        found, error = outcome(pyflat.twin(fn, target=target), call, MAKERS[name]())
        if error is None:
            wanted, expected = outcome(fn, call, MAKERS[name]())
            assert expected is None, (fn.__name__, found, expected)
            assert repr(found) == repr(wanted), fn.__name__
        elif (type(error), str(error)) != (type(expected), str(expected)):
            assert type(error) in (TypeError, ValueError), (fn.__name__, repr(error))
            assert "argument 'x" in str(error), (fn.__name__, error)
            assert any(way in str(error) for way in WAYS), error


@pytest.mark.parametrize(("name", "way"), [
    ("polars LazyFrame", "twin.by_name(frame, x='column')"), ("pandas DataFrame", "twin.by_name(frame, x='column')"),
    ("Arrow table", "twin.by_name(table, x='column')"),
    ("sparse tensor", "pyflat.targets.xp.function(f, torch)"), ("ufloat", "x.nominal_value"),
    ("pint Quantity", "x.magnitude"), ("pandas NA", "float('nan')"), ("Decimal", "static='x'"), ("range", "np.asarray(x)"),
    ("str", "float(x)"), ("none", "tests for it"), ("set", "sorted(x)"), ("generator", "np.fromiter(x, float)"),
    ("date", "x.toordinal()"), ("function", "pass its result"), ("dict", "f(**x)"), ("masked", "x.filled"),
])
def test_the_way_that_works_is_named(name, way):
    with pytest.raises(TypeError) as caught:
        pyflat.twin(scale)(MAKERS[name]())
    assert "argument 'x'" in str(caught.value)
    assert way in str(caught.value)


def test_nullable_arrays_of_pandas_are_told_how_missing_becomes_nan():
    dtype = foreign("pandas.core.arrays.integer", "Int64Dtype", na_value=None, kind="i")
    value = foreign("pandas.core.arrays.integer", "IntegerArray", dtype=dtype)
    with pytest.raises(TypeError, match=r"x.to_numpy\(float, na_value=float\('nan'\)\)"):
        pyflat.twin(scale)(value)


def test_the_position_and_the_place_are_named():
    with pytest.raises(TypeError, match=r"argument 'x' of larger \(number 2\) is a str, 'abc'.*test_bad_arguments.py:\d+"):
        pyflat.twin(larger)(1.0, "abc")
    with pytest.raises(TypeError, match="parameter 2 of larger_flat"):
        pyflat.twin(larger)(1.0, decimal.Decimal(1))


def test_the_refusal_of_the_function_is_the_cause():
    with pytest.raises(TypeError) as caught:
        pyflat.twin(scale)("abc")
    assert isinstance(caught.value.__cause__, pyflat.FlattenError)


def test_what_the_function_looks_at_stays_an_argument():
    def chosen(kind, x, scale=None, pair=(1.0, 2.0), table={"a": 2.0}):  # noqa: B006 - read only
        if scale is not None:
            x = x * scale
        return x * pair[1] + table["a"] if kind == "net" else x

    twin = pyflat.twin(chosen)
    for args in (("net", 2.0), ("gross", 2.0), ("net", 2.0, 3.0, (1.0, 5.0)), ("net", 2.0, None, (1.0, 5.0), {"a": 7.0})):
        assert twin(*args) == chosen(*args)


def test_the_object_of_a_method_is_no_argument():
    class Scaled:
        factor = "text"

        def by(self, x):
            return x * self.factor

    with pytest.raises(pyflat.FlattenError, match="no path returns"):
        pyflat.twin(Scaled().by)(np.ones(2))


def test_a_named_static_parameter_is_refused_as_before():
    with pytest.raises(pyflat.FlattenError, match="no path returns"):
        pyflat.twin(scale, static="x")("abc")


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("bad", ["abc", {}, b"x", range(3), {1}], ids=repr)
def test_an_argument_that_is_only_returned_is_named(bad, target):
    def either(x, y):
        return x * 2 if x > 1 else y

    def operand(x, y):
        return x * 2 + y if x > 1 else y

    lanes = np.array([0.5, 2.0])
    if type(bad) in (dict, set):
        with pytest.raises(pyflat.LaneError, match=f"^the function returned {re.escape(repr(bad))}, which"):
            pyflat.twin(either, target=target)(lanes, bad)
    else:
        assert pyflat.twin(either, target=target)(lanes, bad).tolist() == [bad, 4.0]
    with pytest.raises(TypeError, match="argument 'y' of operand|unsupported operand"):
        pyflat.twin(operand, target=target)(np.array([0.5, 2.0]), bad)


def test_an_option_in_a_call_is_told_where_it_goes():
    def inverse(x):
        return 1.0 / x

    twin = pyflat.twin(inverse)
    for call in (twin, twin.by_name):
        with pytest.raises(TypeError, match=r'argument .errors.; an option .* before the call: with_options\(errors="nan"\)$'):
            call(*({"x": np.zeros(2)},) if call == twin.by_name else (np.zeros(2),), errors="nan")
    with pytest.raises(TypeError, match="unexpected keyword argument 'error'$"):
        twin(np.zeros(2), error="nan")
