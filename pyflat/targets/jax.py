"""JAX: `pyflat.targets.xp` over jax.numpy, with what JAX keeps elsewhere; and the target "jax" of twins.

    price = pyflat.targets.jax.function(option_price)
    delta = jax.vmap(jax.grad(price))(spots, ...)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from pyflat.backend import FlatFunction
from pyflat.targets.target import require
from pyflat.targets.xp import ArrayTwin, Extra, Faults, compiled
from pyflat.targets.xp import function as function_over


def function(fn: Callable[..., Any], /, *, faults: Faults = "nan", kinds: str | None = None,
             dtype: Literal["float64", "float32"] = "float64", **static: Any) -> ArrayTwin:
    """`fn` over JAX arrays, for `jax.jit`, `jax.grad` and `jax.vmap`; the options are those of `xp.function`."""
    require("jax", "pyflat.targets.jax.function")
    import jax.numpy as jnp

    return function_over(fn, jnp, faults=faults, kinds=kinds, dtype=dtype, extra=extra(), **static)


def compile(flat: FlatFunction) -> Callable[[Sequence[Any], int], Sequence[Any]]:
    """The engine of a twin, for `twin.to("jax")`: compiled by XLA. Needs `jax_enable_x64`."""
    require("jax", 'the target "jax"')
    import jax
    import jax.numpy as jnp

    code = compiled(flat, jnp, "mask", extra=extra())
    jitted = jax.jit(code)

    def run(lanes: Sequence[Any], n: int) -> Sequence[Any]:
        found: Sequence[Any] = jitted(*lanes)
        return found

    run.source = code.__doc__  # type: ignore[attr-defined]
    return run


def extra() -> Extra:
    """Operations that JAX has elsewhere than in jax.numpy."""
    from jax.scipy import special

    names = {"erf": special.erf, "erfc": special.erfc, "lgamma": special.gammaln}
    return {name: (name, called) for name, called in names.items()}
