"""The NumPy target's elementary functions: the C library's bits, by calls at first and by vector code after many
lanes."""

import math

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba import library as numba_library
from pyflat.targets.numpy import library as numpy_library

needs_vectors = pytest.mark.skipif(not numba_library.has_library_vectors(), reason="needs the GNU C library and an FMA")


@pytest.fixture(autouse=True)
def _forget():
    numpy_library.library_function.cache_clear()
    yield
    numpy_library.library_function.cache_clear()


def mixed(x: float, y: float, k: float) -> float:
    if x > y:
        return math.sin(x) * math.exp(-y) + (x - y) ** 2
    return math.log(x) ** 3 + x**y - x**0.5 / math.cos(k) + x**k + y**-1


def expected(*columns):
    return np.array([mixed(*lane) for lane in zip(*(c.tolist() for c in columns), strict=True)])


def lanes(n, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(0.1, 9, n), random.uniform(0.1, 9, n), random.uniform(-2, 2, n)


@pytest.mark.parametrize("n", [1, 7, 300, 5_000, 40_000])
@needs_vectors
def test_vector_code_has_the_bits_of_the_library(monkeypatch, n):
    monkeypatch.setattr(numpy_library, "PATIENCE", 0)
    made = []
    compiled = numpy_library.compiled
    monkeypatch.setattr(numpy_library, "compiled", lambda *key: made.append(key) or compiled(*key))
    columns = lanes(n)
    twin = pyflat.twin(mixed, target="numpy", math="exact", max_trips=1000 + n)  # an engine of its own
    for _ in range(3):
        assert np.array_equal(twin(*columns), expected(*columns))
    assert np.array_equal(twin(columns[0], columns[1], 1.5), expected(*columns[:2], np.full(n, 1.5)))
    opcodes = {key[:2] for key in made}
    if n >= 5_000:
        assert {("sin", None), ("exp", None), ("log", None), ("cos", None), ("pow", None)} <= opcodes
        assert {("pow", 2.0), ("pow", 3.0), ("pow", 0.5), ("pow", -1.0)} <= opcodes
        assert len(made) == len(set(made)), "each is compiled once"
    if n < 300:
        assert not made


def test_few_lanes_compile_nothing(monkeypatch):
    def compiled(*key):
        raise AssertionError(key)

    monkeypatch.setattr(numpy_library, "compiled", compiled)
    columns = lanes(10_000)
    twin = pyflat.twin(mixed, target="numpy", math="exact", max_trips=10)
    assert np.array_equal(twin(*columns), expected(*columns))


def test_without_vector_code_the_library_goes_on(monkeypatch):
    monkeypatch.setattr(numpy_library, "PATIENCE", 0)
    monkeypatch.setattr(numpy_library, "compiled", lambda *key: None)
    columns = lanes(10_000)
    twin = pyflat.twin(mixed, target="numpy", math="exact", max_trips=11)
    for _ in range(2):
        assert np.array_equal(twin(*columns), expected(*columns))


@needs_vectors
def test_in_place_and_overlapping():
    """The engine writes results over operands."""
    x = np.random.default_rng(1).uniform(-9, 9, 10_001)
    for opcode, exponent in (("sin", None), ("exp", None), ("pow", 2.0)):
        call = numpy_library.compiled(opcode, exponent, (False,))
        whole = call(x, np.empty_like(x))
        again = x.copy()
        call(again, again)
        assert np.array_equal(whole, again)
