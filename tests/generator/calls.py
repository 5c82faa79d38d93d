"""Ways to write one call: by keyword in any order, with defaults, with scalars among the arrays, with `out=`.

Each gives what the plain call gives, by position and with arrays; the calls are made again, so that plans make some.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random
from types import FunctionType
from typing import Any

import numpy as np

import pyflat
from pyflat.errors import FlattenError
from pyflat.ir.types import INT_MAX, INT_MIN
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.lanes import Lane
from tests.generator.outcomes import Expected, Failure, Raised, Returned, observe

WAYS = 3
"""For each program and target."""

DEFAULTS = 0.3
"""The share of programs that are flattened once more with a default value."""

Array = np.ndarray[Any, Any]


def check_calls(
    twin: Callable[..., Any], fn: Callable[..., Any], columns: Sequence[Array], lanes: Sequence[Lane], source: str,
    target: str,
) -> list[Failure]:
    """The first difference. `columns` are the arguments as arrays, `lanes` their lanes."""
    rng = Random(source + target)
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    for _ in range(WAYS if names else 0):
        lane = rng.choice(lanes)
        scalar = [rng.random() < 0.3 for _ in names]
        arrays = [np.full_like(c, v) if s else c for c, v, s in zip(columns, lane, scalar, strict=True)]
        forms = [_form(rng, v, c.dtype) if s else c for c, v, s in zip(columns, lane, scalar, strict=True)]
        if all(scalar):
            forms[0] = arrays[0]
        want = observe(twin, arrays)
        args, kwargs = _by_name(rng, names, forms)
        for _ in range(3):
            outputs = _outputs(rng, want, columns) if "out" not in names else None
            more = {} if outputs is None else {"out": outputs}
            got = observe(lambda: twin(*args, **kwargs, **more), ())
            if text := _difference(got, want, outputs):
                shown = ", ".join([*map(repr, forms[: len(args)]), *[f"{n}={v!r}" for n, v in kwargs.items()]])
                return [Failure(target, f"{text} in a call ({shown}){' with out=' if more else ''}", lane, str(want)[:300],
                                str(got)[:300])]
    return _check_defaults(twin, fn, columns, lanes, rng, target) if len(names) > 1 and rng.random() < DEFAULTS else []


def _form(rng: Random, value: float, dtype: np.dtype[Any]) -> Any:
    """One lane's value as Python's scalar, as NumPy's, or as an array without axes."""
    return rng.choice([lambda: value, lambda: dtype.type(value), lambda: np.array(value, dtype)])()


def _by_name(rng: Random, names: Sequence[str], values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Some by position, the others by name, in any order."""
    count = rng.randint(0, len(names))
    pairs = list(zip(names, values, strict=True))[count:]
    rng.shuffle(pairs)
    return list(values[:count]), dict(pairs)


def _outputs(rng: Random, want: Expected, columns: Sequence[Array]) -> Any:
    """What may be passed as `out=` for such results; None for none."""
    value = want.value if isinstance(want, Returned) else None
    parts = value if type(value) is tuple else (value,)
    if rng.random() < 0.4 or any(isinstance(part, np.ndarray) and part.dtype.kind not in "biufc" for part in parts):
        return None
    if isinstance(value, np.ndarray) and value.shape == columns[0].shape:
        return _output(rng, value)
    if type(value) is tuple and all(isinstance(v, np.ndarray) and v.shape == columns[0].shape for v in value):
        return tuple(None if rng.random() < 0.2 else _output(rng, v) for v in value)
    return None


def _output(rng: Random, like: Array) -> Array:
    """An array for such results: dense, strided, backwards, or wider than it must be."""
    n = len(like)
    made = [np.empty(n, like.dtype), np.empty(2 * n, like.dtype)[::2], np.empty(n, like.dtype)[::-1]]
    if like.dtype == np.bool_:
        made.append(np.empty(n, np.int64))
    if like.dtype == np.float64:
        made.append(np.empty(n, np.complex128))
    return rng.choice(made)


def _difference(got: Expected, want: Expected, outputs: Any) -> str:
    if isinstance(got, Raised) or isinstance(want, Raised):
        return "" if got == want else "something else is raised"
    parts = got.value if isinstance(got.value, tuple) else (got.value,)
    wanted = want.value if isinstance(want.value, tuple) else (want.value,)
    given = outputs if isinstance(outputs, tuple) else (outputs,) * (outputs is not None)
    if len(parts) != len(wanted):
        return "another number of results"
    for part, out in zip(parts, given, strict=False):
        if out is not None and part is not out:
            return "the array of out= is not what the call gives"
    for part, value in zip(parts, wanted, strict=True):
        if isinstance(value, np.ndarray) and not same_bits(np.asarray(part), value.astype(np.asarray(part).dtype)):
            return "the results differ"
    return ""


def _is_beyond(value: object) -> bool:
    """An int that no lane holds is in a result, or one that no float is, among which it may be."""
    if isinstance(value, tuple | list):
        return any(map(_is_beyond, value))
    return isinstance(value, int) and (not INT_MIN <= value <= INT_MAX or int(float(value)) != value)


def _check_defaults(
    twin: Any, fn: Any, columns: Sequence[Array], lanes: Sequence[Lane], rng: Random, target: str
) -> list[Failure]:
    """The last parameter has a default: the original says what the call gives, since the twin knows a constant. Fast
    mathematics may then round elsewhere than with an argument, and is left out."""
    if dict(twin.settings).get("math") == "fast":
        return []
    first = columns[:-1]
    value = rng.choice(lanes)[-1]
    own = FunctionType(fn.__code__, fn.__globals__, fn.__name__, (value,), fn.__closure__)
    wanted = [observe(own, lane[:-1]) for lane in lanes]
    if any(isinstance(each, Raised) for each in wanted):
        return []
    with_default = pyflat.twin(own, **dict(twin.settings))
    try:
        results = [with_default(*first) for _ in range(2)]
    except FlattenError:
        return []
    except pyflat.LaneError as error:
        beyond = any(isinstance(each, Returned) and _is_beyond(each.value) for each in wanted)
        return [] if beyond else [Failure(target, f"the call with a default {value!r} raises", None, "", str(error)[:300])]
    except Exception as error:  # noqa: BLE001 - an exception is a finding
        return [Failure(target, f"the call with a default {value!r} raises", None, "", str(error)[:300])]
    for result, (k, want) in itertools.product(results, enumerate(wanted)):
        assert isinstance(want, Returned)
        found = lane_of(result, k, len(lanes))
        if not same_bits(in_kind(want.value, found, result), found):
            return [Failure(target, f"a call with the default {value!r} differs", lanes[k], str(want), repr(found))]
    return []
