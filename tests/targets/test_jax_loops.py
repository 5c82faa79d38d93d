"""Loops whose trips differ by lane over JAX arrays: values, transformations, gradients."""

import math

import numpy as np
import pytest

import pyflat

jax = pytest.importorskip("jax")
jnp = jax.numpy

XS = np.linspace(-2.0, 40.0, 30)
NS = np.arange(30)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def kepler(m, e):
    x = m
    while abs(x - e * math.sin(x) - m) > 1e-12:
        x = x - (x - e * math.sin(x) - m) / (1.0 - e * math.cos(x))
    return x


def nested(x, n: int):
    s = 0.0
    if x > 0:
        for i in range(n):
            y = x
            while y > 1.0:
                y = y / 2.0
                s += math.sqrt(y - 0.25) if y > 0.25 else 1 / y
            if s > 20:
                return -s
    return s


def counted(x):
    n = 0
    while x > 1.0:
        x = x / 2.0
        n += 1
        if n > 3:
            break
    return n, x > 0.9


def risky(x):
    while x > 1.0:
        x = math.log(x - 5.0)
    return x


def test_values_and_transformations():
    twin = pyflat.twin(nested)
    wanted = twin(XS, NS)
    for call in (twin, jax.jit(jax.vmap(twin.with_options(max_trips=40)))):
        found = call(jnp.asarray(XS), jnp.asarray(NS))
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    for found, values in zip(pyflat.twin(counted)(jnp.asarray(XS)), pyflat.twin(counted)(XS), strict=True):
        assert found.dtype == values.dtype and np.array_equal(found, values)


def test_reverse_gradients_with_a_bound():
    m, e = np.linspace(0.1, 3.0, 20), np.linspace(0.0, 0.9, 20)
    slopes = jax.vmap(jax.grad(pyflat.twin(kepler, max_trips=60)))(jnp.asarray(m), jnp.asarray(e))
    np.testing.assert_allclose(slopes, 1 / (1 - e * np.cos(pyflat.twin(kepler)(m, e))), rtol=1e-9)
    h, twin = 1e-6, pyflat.twin(nested)
    found = np.asarray(jax.vmap(jax.grad(twin.with_options(max_trips=40)))(jnp.asarray(XS), jnp.asarray(NS)))
    by_steps = (twin(XS + h, NS) - twin(XS - h, NS)) / (2 * h)
    smooth = np.abs(by_steps) < 1e3
    assert not np.isnan(found).any() and smooth.sum() > 20
    np.testing.assert_allclose(found[smooth], by_steps[smooth], atol=1e-6)


def test_without_a_bound_there_are_forward_gradients_only():
    m = jnp.linspace(0.1, 3.0, 20)
    _, slopes = jax.jvp(lambda m: pyflat.twin(kepler)(m, 0.3), (m,), (jnp.ones(20),))
    np.testing.assert_allclose(slopes, 1 / (1 - 0.3 * np.cos(pyflat.twin(kepler)(np.asarray(m), 0.3))), rtol=1e-9)
    with pytest.raises(ValueError, match=r"needs a limit: pyflat\.twin\(f, max_trips=100\)"):
        jax.grad(lambda m: pyflat.twin(kepler)(m, 0.3).sum())(m)


def test_lanes_that_fail_or_do_not_end():
    given = jnp.asarray([0.5, 2.0, 5.7])
    with pytest.raises(ValueError, match="math domain error") as raised:
        pyflat.twin(risky)(given)
    assert raised.value.__notes__[0].startswith("lane 1 (x=2.0)")
    assert np.isnan(jax.jit(pyflat.twin(risky))(given)).tolist() == [False, True, False]
    values, mask = jax.jit(pyflat.twin(risky, errors="mask"))(given)
    assert mask.tolist() == [False, True, False]
    with pytest.raises(pyflat.TripLimitError):
        pyflat.twin(kepler, max_trips=1)(given, 0.3)
    bounded = jax.jit(pyflat.twin(kepler, max_trips=1))(jnp.asarray([0.0, 2.0]), 0.3)
    assert np.isnan(bounded).tolist() == [False, True]
    with pytest.raises(pyflat.FlattenError, match='errors="mask" adds'):
        jax.jit(pyflat.twin(counted))(given)
