"""`signature=` and `twin.gufunc`: a genuine NumPy gufunc with the bits of np.vectorize(original, signature=...)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pyflat

TARGETS = pytest.mark.parametrize("target", ["numpy", "numba"])


def running(a, w):
    out = np.empty_like(a)
    s = 0.0
    for i in range(len(a)):
        s += a[i] * w
        out[i] = s
    return out


def spread(a):
    low = a[0]
    high = a[0]
    for i in range(1, len(a)):
        low = min(low, a[i])
        high = max(high, a[i])
    return low, high


def mean(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s / len(a)


def apply(m, x):
    out = np.zeros(m.shape[0], m.dtype)
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            out[i] += m[i, j] * x[j]
    return out


def scaled(a, w, out):
    for i in range(len(a)):
        out[i] = a[i] * w


def added(a, out):
    s = 0
    for i in range(len(a)):
        s += a[i]
    out[0] = s


def halves(a, out):
    for i in range(len(a)):
        out[i] = a[i] / 2


def picked(a, at, out):
    for i in range(len(at)):
        out[i] = a[at[i]]


def summed(a, out):
    for i in range(1, len(a)):
        out[i] = out[i - 1] + a[i]


def doubled(a, out):
    for i in range(len(a)):
        a[i] = 2.0 * a[i]
        out[i] = a[i]


def nothing(a, out):
    pass


def weighted(a, w=2.0, *, shift=0.0):
    s = shift
    for i in range(len(a)):
        s += a[i] * w
    return s


RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 4, 5))
CASES = {
    "broadcast": (A, np.arange(4.0)),
    "outer": (A, np.arange(3.0)[:, None]),
    "one": (A[0, 0], 3.0),
    "strided": (A[:, ::2, ::-1], 2.0),
    "fortran": (A.T, np.ones(4)),
    "read-only": (np.broadcast_to(A[0, 0], (2, 5)), 1.5),
    "ints": (np.arange(6).reshape(2, 3), 3),
    "int and float": (np.arange(6).reshape(2, 3), np.float64(0.5)),
    "float32": (A.astype("f4"), np.float32(0.1)),
    "float32 and float64": (A.astype("f4"), 0.1),
    "no core": (A[:, :, :0], 1.0),
    "byte order": (A.astype(">f8"), 1.0),
    "many": (RNG.normal(size=(1100, 3)), 0.5),
}


def assert_same(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


@pytest.fixture(scope="module", params=["numpy", "numba"])
def made(request):
    def make(function, signature, **options):
        return pyflat.twin(function, target=request.param, signature=signature, **options)

    return make


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_vectorize(made, case):
    args = CASES[case]
    wanted = np.vectorize(running, signature="(n),()->(n)")(*args)
    wanted = wanted.astype(wanted.dtype.newbyteorder("="))  # NumPy's ufuncs give nothing else
    twin = made(running, "(n),()->(n)")
    assert_same(twin(*args), wanted)
    out = np.full(wanted.shape, 7, wanted.dtype)
    assert twin.gufunc(*args, out=out) is out
    assert_same(out, wanted)


@pytest.mark.parametrize("case", ["strided", "float32", "ints", "many", "fortran"])
def test_written_outputs_and_several_results(made, case):
    a, w = CASES[case]
    scale = made(scaled, "(n),()->(n)")
    wanted = a * np.asarray(w)[..., None] if np.ndim(w) else a * a.dtype.type(w)
    assert_same(scale(a, w if np.ndim(w) else a.dtype.type(w)), wanted.astype(wanted.dtype, order="C"))
    low, high = made(spread, "(n)->(),()")(a)
    assert_same(np.asarray(low), a.min(-1))
    assert_same(np.asarray(high), a.max(-1))
    assert_same(made(added, "(n)->()")(a), np.vectorize(lambda r: r.dtype.type(0) + sum(r), signature="(n)->()")(a))


def test_it_is_a_ufunc_of_numpy(made):
    twin = made(apply, "( m, n ), (n) -> (m)")
    gufunc = twin.gufunc
    assert type(gufunc) is np.ufunc and gufunc.signature == "(m,n),(n)->(m)" and (gufunc.nin, gufunc.nout) == (2, 1)
    m, x = RNG.normal(size=(2, 3, 4)), RNG.normal(size=4)
    assert_same(gufunc(m, x), np.vectorize(apply, signature="(m,n),(n)->(m)")(m, x))
    assert_same(gufunc(m, x, axes=[(-2, -1), (0,), (0,)]), gufunc(m, x).T)
    assert gufunc(m[:0], x).shape == (0, 3) and gufunc(m[:, :0], x).shape == (2, 0)
    assert not gufunc(m[:, :, :0], x[:0]).any()
    assert twin.gufunc is gufunc


def test_outputs_can_be_given_in_each_way(made):
    twin = made(scaled, "(n),()->(n)")
    for given in ({"out": np.zeros((3, 4, 5))}, {"out": np.zeros((3, 4, 5), "f4")}):
        found = twin(A, 2.0, **given)
        assert found is given["out"] and np.array_equal(found, (A * 2.0).astype(found.dtype))
    out = np.zeros((3, 4, 5))
    assert twin(A, 2.0, out) is out and out.any()
    assert twin(w=2.0, a=A).tobytes() == out.tobytes()
    same = A.copy()
    twin.gufunc(same, 2.0, out=same)
    assert same.tobytes() == out.tobytes()


def test_the_dtype_of_outputs_that_are_written(made):
    ints = np.arange(6).reshape(2, 3)
    for function, dtype in ((scaled, "i8"), (halves, "f8")):
        args = (ints, 3) if function is scaled else (ints,)
        found = made(function, "(n),()->(n)" if function is scaled else "(n)->(n)")(*args)
        assert found.dtype == dtype
        assert found.tolist() == (ints * 3 if function is scaled else ints / 2).tolist()
    assert made(halves, "(n)->(n)")(ints.astype("f4")).dtype == "f4"


def test_an_item_that_raises_makes_the_call_raise(made):
    twin = made(picked, "(n),(k)->(k)")
    at = np.zeros((700, 2), np.int64)
    assert twin(A[0, 0], at).shape == (700, 2)
    at[650, 1] = 9
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
        twin(A[0, 0], at)
    with pytest.raises(ZeroDivisionError):
        made(mean, "(n)->()")(A[:, :, :0])


def test_warnings_are_those_of_the_original(made):
    twin = made(scaled, "(n),()->(n)")
    with pytest.warns(RuntimeWarning, match="overflow encountered in scalar multiply"):
        found = twin(np.array([[1.0, 1e300], [2.0, 3.0]]), 1e300)
    assert found.tolist() == [[1e300, np.inf], [2e300, 3e300]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        assert twin(np.array([1e300]), 1e300).tolist() == [np.inf]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        twin(np.array([1e300]), 1e300)


def test_further_parameters_have_their_defaults(made):
    assert made(weighted, "(n)->()")(A).tobytes() == made(weighted, "(n),()->()")(A, 2.0).tobytes()
    assert made(weighted, "(n)->()", static="shift")(A).shape == (3, 4)


def test_wrong_operands_are_named(made):
    twin = made(apply, "(m,n),(n)->(m)")
    with pytest.raises(ValueError, match="mismatch in its core dimension 0"):
        twin(np.ones((3, 4)), np.ones(5))
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        twin(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="Output operand 0 has a mismatch"):
        twin(np.ones((3, 4)), np.ones(4), out=np.empty(4))
    with pytest.raises(TypeError, match="operand 'm' is complex128"):
        twin(np.ones((3, 4), complex), np.ones(4))
    with pytest.raises(TypeError, match="missing x"):
        twin(np.ones((3, 4)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        twin(np.ones((3, 4)), y=3)


@pytest.mark.parametrize(("function", "signature", "says"), [
    (summed, "(n)->(n)", "summed_flat reads 'out', an output"), (doubled, "(n)->(n)", "doubled_flat writes into 'a'"),
    (nothing, "(n)->(n)", "never writes 'out'"), (mean, "(n)->(n)", "returns a number, and .* an output of 1 axes"),
    (running, "(n),()->()", "returns an array of 1 axes, and .* an output of 0"),
    (spread, "(n)->()", "returns 2 results, and .* 1 output")])
def test_functions_that_do_not_fit_are_refused(function, signature, says):
    with pytest.raises(pyflat.FlattenError, match=says):
        pyflat.twin(function, signature=signature).gufunc


@pytest.mark.parametrize("signature", ["(n)", "n->n", "(n)->", "(n,)->()", "(n?)->()", "->()", "", "(n)->(m)"])
def test_signatures_are_checked(signature):
    with pytest.raises(ValueError, match="signature="):
        pyflat.twin(mean, signature=signature)


def test_what_else_is_refused():
    with pytest.raises(TypeError, match="expected a string"):
        pyflat.twin(mean, signature=3)
    with pytest.raises(ValueError, match='signature="'):
        _ = pyflat.twin(mean).gufunc
    with pytest.raises(ValueError, match="2 inputs and 1 outputs, and mean_flat the parameters a"):
        _ = pyflat.twin(mean, signature="(n),(n)->()").gufunc
    with pytest.raises(pyflat.FlattenError, match="errors='nan' does not go with mean, a kernel"):
        _ = pyflat.twin(mean, signature="(n)->()", errors="nan").gufunc


def test_methods_take_one_item():
    twin = pyflat.twin(mean, signature="(n)->()")
    for method in ("verify", "compile"):
        with pytest.raises(ValueError, match=rf"{method}\(\) of mean_flat with signature=.*one item"):
            getattr(twin, method)(A)
        assert getattr(twin.with_options(signature=None), method)(A[0, 0])


def test_a_fixed_length():
    def length(v):
        return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]

    gufunc = pyflat.twin(length, signature="(3)->()", arrays="v").gufunc
    assert gufunc(np.ones((2, 3))).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="core dimension 0"):
        gufunc(np.ones((2, 4)))


SHIFT = 1.0


def shifted(a):
    s = SHIFT
    for i in range(len(a)):
        s += a[i]
    return s


def test_a_changed_global_is_noticed(made, monkeypatch):
    twin = made(shifted, "(n)->()")
    assert twin(np.ones((2, 3))).tolist() == [4.0, 4.0]
    monkeypatch.setattr(f"{__name__}.SHIFT", 2.0)
    assert twin(np.ones((2, 3))).tolist() == [5.0, 5.0]
