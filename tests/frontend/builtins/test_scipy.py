"""scipy inside functions: compiled ufuncs as operations, splines by FITPACK's recurrences, bit for bit."""

import math

import numpy as np
import pytest

import pyflat
from pyflat.testing import same_bits

special = pytest.importorskip("scipy.special")
interpolate = pytest.importorskip("scipy.interpolate")

XS = np.array([0.0, -0.0, 0.5, 1.0, 2.5, 4.75, 9.0, 12.0, -3.0, 1e-300, 1e300, math.inf, -math.inf, math.nan])
KNOTS = np.array([0.0, 0.7, 1.9, 2.5, 4.0, 5.5, 7.25, 9.0])
SPLINES = [interpolate.splrep(KNOTS, np.sin(KNOTS), k=k) for k in (1, 2, 3, 5)]
GRID_X, GRID_Y = np.meshgrid(np.linspace(0.0, 5.0, 9), np.linspace(0.0, 4.0, 8))
SURFACE = interpolate.bisplrep(GRID_X.ravel(), GRID_Y.ravel(), (np.sin(GRID_X) * np.cos(GRID_Y)).ravel(), s=0.01)


def bessel(x):
    return special.i1(x) / special.k0(x) if x > 0 else special.ellipe(x)


def of_an_int_and_a_float(x):
    return special.jv(1, x) + special.expn(2, abs(x))


def complex_loop(x):
    return float(special.lambertw(x, -1).real) if -0.3 < x < 0 else special.lambertw(x).real


def surface(x):
    return float(interpolate.bisplev(x, 2.0, SURFACE))


def derivative(x):
    return float(interpolate.splev(x, SPLINES[2], der=1))


def check(fn, target):
    values, faults = pyflat.twin(fn, target=target, errors="mask")(XS)
    assert not faults.any()
    assert all(same_bits(got, float(fn(x))) for got, x in zip(values.tolist(), XS.tolist(), strict=True))


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", [bessel, of_an_int_and_a_float, complex_loop, surface])
def test_every_lane_has_scipys_bits(fn, target):
    check(fn, target)


def test_bools_have_the_loop_that_numpy_chooses():
    truths = np.array([True, False])
    assert pyflat.twin(lambda x: special.erf(x))(truths).tolist() == special.erf(truths).tolist()
    with pytest.raises(pyflat.FlattenError, match="spacing has no loop"):  # a float16, of a bool
        pyflat.twin(lambda x: np.spacing(x))(truths)


@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("ext", [0, 1, 3])
@pytest.mark.parametrize("tck", SPLINES, ids=lambda tck: f"degree {tck[2]}")
def test_splines_of_each_degree_and_beyond_their_ends(tck, ext, target):
    check(lambda x: float(interpolate.splev(x, tck, ext=ext)), target)


def test_a_derivative_of_a_spline_is_refused():
    with pytest.raises(pyflat.FlattenError, match="derivative of a spline"):
        pyflat.twin(derivative)(XS)
