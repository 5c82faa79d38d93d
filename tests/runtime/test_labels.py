"""Results that are not numbers: the forms that a caller gets, and None among numbers."""

import enum
import threading
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import pyflat
from pyflat.testing import lane_of, same_bits
from tests.support.twins import FLOATS

TARGETS = ["numpy", "numba"]
XS = np.array([-1.0, 0.0, 2.0, 7.0, np.nan])


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


class Root(NamedTuple):
    value: float
    kind: str


def size(x):
    if x < 0:
        return "tiny"
    return "small" if x < 5 else "enormous"


def member(x):
    return Size.SMALL if x < 5 else Size.LARGE


def some(x):
    if x < 0:
        return None
    return "some" if x < 5 else "many"


def root(x):
    if x < 0:
        return None
    return x**0.5


# None among other results
def none_or_int(x):
    return None if x < 0 else 3


def none_or_bool(x):
    return None if x != x else x > 1


def none_or_complex(x):
    return None if x < 0 else complex(x, 1) if x > 1 else x


def none_or_tuple(x):
    return None if x < 0 else (x, size(x), 1)


def none_in_a_tuple(x):
    return x, None if x < 0 else (None if x < 5 else x)


def none_or_record(x):
    if x > 0:
        return Root(x**0.5, "real")
    if x == 0:
        return Root(0.0, "double")


def none_of_a_helper(x):
    found = root(x)
    return found if found is None else found + 1


def none_tested_first(x):
    found = root(x)
    return -1.0 if found is None or found > 2 else found


def none_in_a_loop(x):
    best = None
    for k in (3.0, 1.0, 2.0):
        if k < x and (best is None or k < best):
            best = k
    return best


def none_or_dict(x):
    return {"a": x, "b": None} if x > 1 else None


def none_where_python_fails(x):
    return None if x > 5 else 1 / x


def none_or_default(x):
    return (root(x) or None) if x > 0 else 1


def none_nearly_everywhere(x):
    if x == 2:
        return 1


def nested_none(x):
    return None if x < 0 else (x, (None if x < 1 else (x, "deep")))


NONES = [some, root, none_or_int, none_or_bool, none_or_complex, none_or_tuple, none_in_a_tuple, none_or_record,
         none_of_a_helper, none_tested_first, none_in_a_loop, none_or_dict, none_where_python_fails, none_or_default,
         none_nearly_everywhere, nested_none]


def outcome(fn, x):
    try:
        return fn(x), None
    except Exception as error:  # noqa: BLE001 - what is compared
        return None, type(error)


def agrees(wanted, got):
    if isinstance(wanted, tuple) and isinstance(got, tuple):
        return type(wanted) is type(got) and all(map(agrees, wanted, got))
    if isinstance(got, float | complex) and isinstance(wanted, int | float):
        wanted = type(got)(wanted)
    return same_bits(wanted, got)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fn", NONES, ids=lambda fn: fn.__name__)
def test_none_in_every_lane_as_python_has_it(fn, target):
    xs = np.array(FLOATS)
    values, faults = pyflat.twin(fn, target=target, none="object", errors="mask")(xs)
    alone = pyflat.twin(fn, target=target)
    for lane, x in enumerate(xs.tolist()):
        wanted, error = outcome(fn, x)
        fault = faults[lane]
        assert (fault.type if fault else None) is error
        if error is None:
            assert agrees(wanted, lane_of(values, lane, len(xs))), (x, wanted)
            for _ in range(3):  # by plans, too
                assert agrees(wanted, alone(x))


@pytest.mark.parametrize("target", TARGETS)
def test_strings_are_as_np_select_has_them(target):
    twin = pyflat.twin(size, target=target)
    for _ in range(3):
        found = twin(XS)
        assert found.dtype == np.dtype("<U8") and found.tolist() == [size(x) for x in XS]
    assert twin(XS[:0]).dtype == np.dtype("<U8") and twin(XS[:0]).shape == (0,)
    assert twin(np.zeros((2, 3))).shape == (2, 3) and twin(np.zeros((3, 2)).T)[0, 0] == "small"
    assert type(twin(1.0)) is str and type(twin(np.float64(1.0))) is np.str_ == type(twin(np.array(1.0)))
    assert pyflat.twin(size, target=target, results="string")(XS).dtype == np.dtypes.StringDType()
    some_strings = pyflat.twin(some, target=target, results="string")(XS)
    assert some_strings.dtype == np.dtypes.StringDType(na_object=None) and some_strings[0] is None


@pytest.mark.parametrize("target", TARGETS)
def test_objects_are_the_originals(target):
    found = pyflat.twin(member, target=target)(XS)
    assert found.dtype == object and all(a is member(x) for a, x in zip(found, XS, strict=True))
    assert pyflat.twin(member, target=target)(1.0) is Size.SMALL


@pytest.mark.parametrize("target", TARGETS)
def test_codes_and_categories(target):
    twin = pyflat.twin(some, target=target, results="codes")
    for _ in range(3):
        codes, categories = twin(XS)
        assert codes.tolist() == [-1, 0, 0, 1, 1] and categories.tolist() == ["some", "many"]
    assert twin(XS[0].item()) is None and twin(1.0) == "some"
    codes, categories = pyflat.twin(member, target=target, results="codes")(XS.reshape(5, 1))
    assert codes.shape == (5, 1) and [categories[c] for c in codes.flat] == [member(x) for x in XS]
    pd = pytest.importorskip("pandas")
    assert list(pd.Categorical.from_codes(*twin(XS))) == [np.nan, "some", "some", "many", "many"]


@pytest.mark.parametrize("target", TARGETS)
def test_none_among_numbers_in_each_form(target):
    def call(none, fn=root, **options):
        return pyflat.twin(fn, target=target, none=none, **options)(XS)

    masked = call("masked")
    assert masked.mask.tolist() == [True, False, False, False, False] and masked[3] == 7**0.5
    assert call("object").tolist()[:2] == [None, 0.0] and np.isnan(call("nan")[0]) and call("nan")[1] == 0.0
    assert call("masked", none_or_int).dtype == np.int64
    assert call("masked", none_or_record).value.mask.tolist() == [True, False, False, False, True]
    assert call("masked", some).mask.tolist() == [True, False, False, False, False]
    with pytest.raises(pyflat.FlattenError, match="never nan"):
        call("nan", none_or_int)
    assert call("object", none_or_tuple).tolist()[:2] == [None, (0.0, "small", 1)]


@pytest.mark.parametrize("target", TARGETS)
def test_none_raises_where_nothing_is_said(target):
    twin = pyflat.twin(root, target=target)
    for _ in range(3):
        with pytest.raises(pyflat.LaneError, match='none="masked", none="object" or none="nan"') as caught:
            twin(XS)
        assert twin(XS[1:])[1] == 2**0.5 and twin(-1.0) is None
    assert "lane 0" in caught.value.__notes__[0]
    values, faults = pyflat.twin(root, target=target, errors="mask")(XS)
    assert faults.lanes.tolist() == [0] and np.isnan(values[0])


def by_original(x):
    """Which of its paths returns only the original knows: an int overflows."""
    n = int(x)
    big = n * 4611686018427387904 * 4
    if big % 7 == 3:
        return "three"
    return "zero" if big == 0 else "other"


@pytest.mark.parametrize("target", TARGETS)
def test_lanes_that_the_original_runs(target):
    xs = np.arange(9.0)
    assert pyflat.twin(by_original, target=target)(xs).tolist() == [by_original(x) for x in xs]


def test_an_object_that_is_not_in_the_table():
    calls = []

    def told(x):
        if x > 1:
            return "large"
        return "small" if x * 0 == 0 else "never"

    twin = pyflat.twin(told)
    assert twin(XS).dtype == np.dtype("<U5")

    from pyflat.ir.shape import Labels
    from pyflat.runtime.faults import LaneError
    from pyflat.runtime.replay import fit

    table = Labels(["a"])
    assert list(fit("b", table)) == [1] and table.table == ["a", "b"] and list(fit("a", table)) == [0]
    for value in (1.0, (), [], True, np.float64(1)):
        with pytest.raises(LaneError, match="unlike the objects"):
            list(fit(value, table))
    with pytest.raises(LaneError):
        list(fit("c", Labels(("a",))))
    assert not calls


def test_failing_lanes_in_each_form():
    def risky(x):
        return size(1 / x)

    xs = np.array([0.0, 1.0])
    assert pyflat.twin(risky, errors="mask")(xs)[0].tolist() == ["", "small"]
    assert pyflat.twin(risky, errors="mask", results="codes")(xs)[0][0].tolist() == [-1, 1]
    assert pyflat.twin(lambda x: member(1 / x), errors="mask")(xs)[0].tolist() == [None, Size.SMALL]
    with pytest.raises(pyflat.FlattenError, match="or an object"):
        pyflat.twin(risky, errors="nan")(xs)
    with pytest.raises(ZeroDivisionError):
        pyflat.twin(risky)(xs)
    assert pyflat.twin(risky, errors="unchecked")(xs)[1] == "small"


def test_out():
    exact, wide, objects = np.empty(5, "<U8"), np.empty(5, "<U20"), np.empty(5, object)
    for out in (exact, wide, objects):
        assert pyflat.twin(size)(XS, out=out) is out and out.tolist() == [size(x) for x in XS]
    for out, said in ((np.empty(5, "<U3"), "cannot hold"), (np.empty(5), "cannot hold")):
        with pytest.raises(TypeError, match=said):
            pyflat.twin(size)(XS, out=out)
    with pytest.raises(TypeError, match="codes and categories"):
        pyflat.twin(size, results="codes")(XS, out=np.empty(5, int))
    with pytest.raises(TypeError, match="none='masked' returns a new array"):
        pyflat.twin(root, none="masked")(XS, out=np.empty(5))
    out = np.empty(5)
    assert pyflat.twin(root, none="nan")(XS, out=out) is out and np.isnan(out[0])


def test_disabled(monkeypatch):
    monkeypatch.setenv("PYFLAT_DISABLE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert pyflat.twin(size)(XS).tolist() == [size(x) for x in XS]
        assert pyflat.twin(some)(XS).tolist() == [some(x) for x in XS]
        assert pyflat.twin(root, none="masked")(XS).mask.tolist() == [True, False, False, False, False]
        with pytest.raises(pyflat.LaneError, match="none="):
            pyflat.twin(root)(XS)


def test_options_are_checked():
    with pytest.raises(ValueError, match="results='label' .did you mean 'labels'"):
        pyflat.twin(size, results="label")
    with pytest.raises(ValueError, match="none='drop'"):
        pyflat.twin(size, none="drop")
    twin = pyflat.twin(size)
    twin(XS)
    with pyflat.options(results="codes"):
        assert twin(XS)[0].tolist() == [0, 1, 1, 2, 2]
    assert twin(XS)[0] == "tiny"


def test_a_ufunc_holds_numbers_only():
    with pytest.raises(pyflat.FlattenError, match="not bool, int or float"):
        pyflat.twin(size).ufunc  # noqa: B018 - the attribute is what is refused


@pytest.mark.parametrize("fn", [size, member, some, root, none_or_tuple], ids=lambda fn: fn.__name__)
def test_verify_trace_and_text(fn):
    for target in TARGETS:
        twin = pyflat.twin(fn, target=target, none="object")
        assert twin.verify(XS).lanes == len(XS)
        assert str(twin.replay(XS, lane=0)).endswith("original and twin agree")
        assert repr(fn(2.0)) in str(twin.replay(XS, lane=2))
    made = pyflat.twin(fn).function(XS)
    first = made[0] if isinstance(made, tuple) else made
    wanted = [value[0] if isinstance(value, tuple) else value for value in map(fn, XS.tolist())]
    assert all(same_bits(a, b) for a, b in zip(first.tolist(), wanted, strict=True))


def test_the_text_is_np_select():
    assert "np.select((x < 0, x < 5), ('tiny', 'small'), 'enormous')" in pyflat.twin(size).show(target="numpy")
    assert "select(x < 0, 'tiny', select(x < 5, 'small', 'enormous'))" in pyflat.twin(size).show()


def test_threads_and_many_lanes():
    xs = np.linspace(-1, 9, 300_000)
    twin = pyflat.twin(size, target="numba")
    wanted = np.select([xs < 0, xs < 5], ["tiny", "small"], "enormous")
    assert (twin(xs) == wanted).all() and (pyflat.twin(size, parallel=True)(xs) == wanted).all()
    found = []
    threads = [threading.Thread(target=lambda: found.append((twin(xs[:999]) == wanted[:999]).all())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def of_many_lengths(k):
    return "x" * (10_000_000 if k == 3 else 1)


@pytest.mark.filterwarnings("ignore::pyflat.PerformanceWarning")
def test_one_long_string_among_many_names_the_options():
    lanes = np.arange(1_000_000)
    with pytest.raises(MemoryError, match='1,000,000 strings in an array of <U10000000 .*results="string" or "codes"'):
        pyflat.twin(of_many_lengths)(lanes)
    found = pyflat.twin(of_many_lengths, results="string")(lanes[:5])
    assert [len(text) for text in found.tolist()] == [1, 1, 1, 10_000_000, 1]
