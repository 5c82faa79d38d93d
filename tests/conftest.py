"""What all tests share."""

import functools
import gc
import os
import signal
from collections import Counter

import pytest

import pyflat
from pyflat.frontend.space import blas
from pyflat.inspection import profile
from pyflat.runtime import kernel_rivals, replay
from tests.support.patience import HANG

os.environ.setdefault("PYFLAT_VALIDATE", "1")  # the IR is validated between any two passes, here and in processes that tests start

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell without job control starts what is in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_limits_of_time(monkeypatch):
    """What pyflat does until some seconds are over, it does to the end, and no call takes so long that an original is
    tried for it: tests run on busy machines too."""
    monkeypatch.setattr(profile, "SECONDS", HANG)
    monkeypatch.setattr(replay, "MAX_SECONDS", HANG)
    monkeypatch.setattr(kernel_rivals, "WORTH", HANG)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of each n cases of a test marked `turns(n)`, all but one are slow: the first of the first n, the last of the next n,
    and so on backwards. Where a test has a list of functions and one of targets, each target has its turn."""
    places: Counter[object] = Counter()
    for item in items:
        turns = item.get_closest_marker("turns")
        if turns is not None:
            place, n = places[item.function], turns.args[0]
            places[item.function] += 1
            if (place + place // n) % n:
                item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """What is there before the first test is no garbage: looking for some in 25,000 tests takes a second each time."""
    gc.collect()
    gc.freeze()


@functools.cache
def blas_adds_in_chains() -> bool:
    """Whether this machine's BLAS multiplies small matrices and vectors in an order that is known. OpenBLAS has kernels
    of its own for each family of processors; those for Zen 5 add the terms of a matrix and a vector in another way."""
    square, vector = blas.plain((2, 2)), blas.plain((2,))
    turned = blas.Strides((2, 2), (1, 2))
    pairs = ((square, vector), (turned, vector), (vector, square), (blas.plain((3, 3)), blas.plain((3,))))
    return all(blas.orders("matmul", *pair) is not None for pair in pairs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A product of floats whose order only BLAS knows is refused: no test of its value there."""
    try:
        return (yield)
    except pyflat.FlattenError as error:
        if "BLAS adds in its own order" in str(error) and not blas_adds_in_chains():
            pytest.skip("the order in which this machine's BLAS adds is not known")
        raise
