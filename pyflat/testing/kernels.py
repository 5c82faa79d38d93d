"""Verifying kernels over arrays: random arrays of one length, on which the twin and the original return, raise and
write the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.runtime.audit import copies
from pyflat.testing.flattened import NotVerifiableError
from pyflat.testing.verification import EndlessError, limited

if TYPE_CHECKING:
    from pyflat.runtime.twins import Twin

LENGTHS = (0, 1, 2, 3, 5, 8, 17)
"""Lengths of all axes of one call, in turn."""
MOST_LINES = 1_000_000
"""Of Python that one call of the original may run: calls that run more are left out."""
RANKS = (1, 2)
"""How many axes arrays are tried with, where nothing says it."""


def verify_kernel(fn: Callable[..., Any], twins: Sequence[Twin[..., Any]], kinds: Mapping[str, str],
                  fixed: Mapping[str, Any], examples: int) -> int:
    """Compare each twin with `fn` on `examples` calls, and count what is compared. `kinds`: "f8[:,:]" is an array,
    "f8", "i8" and "b" are numbers.

    Raises DifferenceError, FlattenError, and NotVerifiableError where the original raises in every call.
    """
    drawn, returned, compared = np.random.default_rng(0), 0, 0
    for number in range(examples):
        n = LENGTHS[number % len(LENGTHS)]
        given = {**{name: _drawn(drawn, kind, n) for name, kind in kinds.items()}, **fixed}
        try:
            returned += _returns(fn, given)
        except EndlessError:
            continue
        for twin in twins:
            compared += call(twin.verify, fn, given).lanes
    if not returned:
        shown = ", ".join(map("{}: {}".format, kinds, kinds.values()))
        raise NotVerifiableError(f"{fn.__name__} raises an exception for all arrays that were drawn as {shown}: "
                                 f"pyflat.twin(f).verify(*arrays) compares it on arrays that fit together")
    return compared


def verify_unsaid(fn: Callable[..., Any], twins: Sequence[Twin[..., Any]], kinds: Mapping[str, str],
                  fixed: Mapping[str, Any], examples: int) -> int:
    """`verify_kernel` where nothing says which parameters are arrays: those that the body uses as such are of float64
    and have one axis, or two. Raises NotVerifiableError where neither is compared."""
    reasons: list[str] = []
    tried: list[str] = []
    for rank in RANKS:
        found = {**kinds, **{name: f"f8[{','.join(':' * rank)}]" for name in twins[0].array_parameters()}}
        try:
            return verify_kernel(fn, twins, found, fixed, examples)
        except (FlattenError, NotVerifiableError) as reason:
            reasons.append(str(reason).partition("\n")[0])
            tried.append(",".join(found.values()))
    raise NotVerifiableError(f"{reasons[0]}; pass the kinds of its parameters, as kinds=\"{tried[0]}\"")


def call(used: Callable[..., Any], fn: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Call with arguments by name, as far as the signature of `fn` lets them."""
    first = [name for name, each in inspect.signature(fn).parameters.items() if each.kind is each.POSITIONAL_ONLY]
    return used(*[given[name] for name in first], **{name: each for name, each in given.items() if name not in first})


def _drawn(drawn: np.random.Generator, kind: str, n: int) -> Any:
    dtype, _, axes = kind.partition("[")
    shape = (n,) * axes.count(":")
    if dtype.startswith("f"):
        found = drawn.choice([drawn.normal(size=shape) * 10.0, np.round(drawn.normal(size=shape) * 4.0) / 2.0])
    else:
        found = drawn.integers(0, 2 if dtype.startswith("b") else max(n, 2), shape)
    found = np.asarray(found).astype("?" if dtype == "b" else dtype)
    return found if axes else found.item()


def _returns(fn: Callable[..., Any], given: Mapping[str, Any]) -> bool:
    try:
        with np.errstate(all="ignore"):
            limited(MOST_LINES, call, fn, fn, copies(given))
    except Exception:  # noqa: BLE001 - whether it does is what is asked
        return False
    return True
