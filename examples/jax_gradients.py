"""Greeks by automatic differentiation: a Black-Scholes price with its special cases, under `jax.grad`.

    python examples/jax_gradients.py

The function is scalar Python, with an `if` for options at expiry. Written by hand with `jnp.where`, its derivative is
nan at expiry: 0 times the infinite slope of the branch not taken. Here that branch has harmless operands there.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pyflat.targets.jax import function


def normal(x: float) -> float:
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def call_price(spot: float, strike: float, years: float, rate: float, volatility: float) -> float:
    """A European call; at expiry, or without volatility, what exercising it is worth."""
    if years <= 0.0:
        return max(spot - strike, 0.0)
    discounted = strike * math.exp(-rate * years)
    if volatility <= 0.0:
        return max(spot - discounted, 0.0)
    width = volatility * math.sqrt(years)
    d1 = math.log(spot / discounted) / width + 0.5 * width
    return spot * normal(d1) - discounted * normal(d1 - width)


def by_hand(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
    """The same with `jnp.where`, as one writes it first."""
    discounted = strike * jnp.exp(-rate * years)
    width = volatility * jnp.sqrt(years)
    d1 = jnp.log(spot / discounted) / width + 0.5 * width

    def cdf(x: Any) -> Any:
        return 0.5 * (1.0 + jax.scipy.special.erf(x / jnp.sqrt(2.0)))

    price = spot * cdf(d1) - discounted * cdf(d1 - width)
    return jnp.where(years <= 0.0, jnp.maximum(spot - strike, 0.0), price)


def main() -> int:
    jax.config.update("jax_enable_x64", True)
    book = [np.array(column) for column in (
        [42.0, 100.0, 55.0, 120.0], [40.0, 110.0, 50.0, 100.0], [0.5, 1.0, 0.0, 2.0], [0.1, 0.03, 0.03, 0.05],
        [0.2, 0.25, 0.2, 0.0])]
    greeks = jax.jit(jax.vmap(jax.grad(function(call_price), argnums=(0, 4))))
    delta, vega = (np.asarray(part) for part in greeks(*book))
    wrong = np.asarray(jax.vmap(jax.grad(by_hand))(*book))
    for k, price in enumerate(function(call_price)(*book)):
        print(f"price {price:8.4f}  delta {delta[k]:7.4f}  vega {vega[k]:8.4f}  delta by hand {wrong[k]:7.4f}")
    step = 1e-5
    above, below = ([call_price(s + sign * step, *rest) for s, *rest in zip(*book, strict=True)] for sign in (1, -1))
    differences = (np.array(above) - np.array(below)) / (2.0 * step)
    return 0 if np.allclose(delta, differences, atol=1e-6) and np.isnan(wrong[2]) else 1


if __name__ == "__main__":
    sys.exit(main())
