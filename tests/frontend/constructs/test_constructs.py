"""Every function of the modules beside this one, on both engines, against Python in every lane.

A function whose name begins with REFUSED_ is refused: it has no meaning lane by lane, or none that is known while
flattening. Names that begin with an underscore are helpers.
"""

import importlib
import math
import pkgutil
import warnings
from types import FunctionType

import numpy as np
import pytest

import pyflat
from pyflat.testing import in_kind, lane_of, same_bits
from tests.frontend import constructs

XS = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        3.0,
        1.5,
        2.5,
        -2.5,
        7.3,
        100.0,
        -37.2,
        1e-300,
        1e300,
        math.inf,
        -math.inf,
        math.nan,
        1e-5,
        5.0,
        9.0,
        12.0,
    ]
)


def functions() -> list[FunctionType]:
    found = []
    for info in pkgutil.iter_modules(constructs.__path__):
        if info.name.startswith("test_"):
            continue
        module = importlib.import_module(f"tests.frontend.constructs.{info.name}")
        found += [
            value
            for name, value in vars(module).items()
            if isinstance(value, FunctionType) and value.__module__ == module.__name__ and name[0] != "_"
        ]
    return found


ALL = functions()
FLATTENED = [fn for fn in ALL if not fn.__name__.startswith("REFUSED_")]
REFUSED = [fn for fn in ALL if fn.__name__.startswith("REFUSED_")]


def title(fn: FunctionType) -> str:
    return f"{fn.__module__.rpartition('.')[2]}-{fn.__name__}"


def outcome(fn, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fn(x), None
        except Exception as error:  # noqa: BLE001 - whatever the original raises
            return None, type(error)


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["numpy", "numba"])
@pytest.mark.parametrize("fn", FLATTENED, ids=title)
def test_every_lane_is_pythons(fn, target):
    lanes_are_pythons(fn, target)


def lanes_are_pythons(fn, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyflat.PerformanceWarning)
        values, faults = pyflat.twin(fn, target=target, errors="mask")(XS)
    for lane, x in enumerate(XS.tolist()):
        expected, error = outcome(fn, x)
        fault = faults[lane]
        assert (fault.type if fault else None) is error, (x, expected, fault)
        if error is None:
            got = lane_of(values, lane, len(XS))
            assert same_bits(got, in_kind(expected, got, values)), (x, expected, got)


FLOAT64_ONLY = {"scientific_text", "distance", "distance_in_space", "norm_of_three", "unit_in_the_last_place"}
"""Algorithms for float64, which are refused in float32."""


@pytest.mark.turns(4)
@pytest.mark.parametrize("fn", FLATTENED, ids=title)
def test_every_lane_of_float32_is_the_interpreters(fn):
    xs, found = np.concatenate([XS.clip(-1e38, 1e38), [1e-45, 2.0**24, -1e38, math.inf]]).astype(np.float32), []
    for target in ("numpy", "numba"):
        twin = pyflat.twin(fn, dtype="float32", target=target, errors="mask", math="exact")
        if fn.__name__ in FLOAT64_ONLY:
            with pytest.raises(pyflat.FlattenError, match="in float32"):
                twin(xs)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", pyflat.PerformanceWarning)
            values, faults = twin(xs)
        twin.verify(xs)
        found.append((values, faults.lanes.tolist(), [faults[lane].type for lane in faults.lanes]))
    assert same_bits(*found) if found else fn.__name__ in FLOAT64_ONLY


@pytest.mark.parametrize("fn", REFUSED, ids=title)
def test_what_has_no_twin_is_refused_with_a_rewrite(fn):
    with pytest.raises(pyflat.FlattenError) as caught:
        pyflat.twin(fn)(XS)
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.help
