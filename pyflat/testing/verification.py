"""Verifying a twin against its original: what users call, and what pyflat's own tests call.

    from pyflat.testing import verify
    verify(shade, kinds={"x": "f8", "n": "i8"})
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import inspect
import math
import struct
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import FlattenError, InternalError
from pyflat.ir.types import EXACT_INT, INT_MAX, INT_MIN
from pyflat.runtime import decorator
from pyflat.runtime.audit import DifferenceError
from pyflat.runtime.faults import LaneError
from pyflat.runtime.kernels import parsed_kinds, split_kinds
from pyflat.runtime.settings import resolve, settings
from pyflat.runtime.twins import Twin
from pyflat.targets.target import require, verified

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["DifferenceError", "boundary_values", "same_bits", "verify"]

EDGE_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -2.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-300,
               1e300, 1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan)
EDGE_INTS = (0, 1, -1, 2, 3, -2, 7, 63, 64, 255, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1, 2**62, INT_MAX,
             INT_MIN, INT_MIN + 1)
ROUND_FLOATS = tuple(sorted({
    *(float(k**power) for k in range(2, 16) for power in (2, 3)), *(2.0**k for k in range(-6, 31, 3)),
    *(10.0**k for k in range(-3, 16, 2)), *(k / 8 for k in range(-7, 8, 2))}))
"""Where a root, a logarithm or a power is a whole number, and a last digit decides."""
_KINDS: dict[object, str] = {"f8": "f8", "f": "f8", "float": "f8", float: "f8",
                             "i8": "i8", "i": "i8", "int": "i8", int: "i8",
                             "b": "b", "bool": "b", bool: "b",
                             "c16": "c16", "c": "c16", "complex": "c16", complex: "c16"}
Kinds = Mapping[str, object] | Sequence[object] | None
LANES = 16
"""The most lanes in one batch that hypothesis draws."""
SWEPT = 1500
MOST_LINES = 20_000
"""Of Python that the original may run for one lane: a loop that some value never ends is not waited for."""
_DTYPES = {"f8": np.float64, "i8": np.int64, "b": np.bool_, "c16": np.complex128}


def _bits(x: float) -> bytes:
    return b"nan" if math.isnan(x) else struct.pack("<d", x)


def same_bits(a: object, b: object) -> bool:
    """Whether two results have the same value and kind, bit for bit.

    Compares numbers, NumPy scalars, arrays, and (nested) tuples, lists, dicts and dataclasses of them. nan equals nan,
    0.0 differs from -0.0, and True, 1 and 1.0 are three different values.
    """
    a, b = (v[()] if isinstance(v, np.ndarray) and not v.ndim else v for v in (a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _same_arrays(a, b)
    if isinstance(a, np.generic):
        a = a.item()
    if isinstance(b, np.generic):
        b = b.item()
    if isinstance(a, float) and isinstance(b, float):
        return _bits(a) == _bits(b)
    if isinstance(a, complex) and isinstance(b, complex):
        return same_bits((a.real, a.imag), (b.real, b.imag))
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_bits, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(map(same_bits, a.values(), b.values()))
    if is_dataclass(a) and type(a) is type(b):
        return all(same_bits(getattr(a, each.name), getattr(b, each.name)) for each in fields(a))
    return type(a) is type(b) and bool(a == b)


def _same_arrays(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if isinstance(a, np.ma.MaskedArray) or isinstance(b, np.ma.MaskedArray):
        masks = [np.ma.getmaskarray(each) for each in (a, b)]
        kept = ~masks[0]
        return bool((masks[0] == masks[1]).all()) and _same_arrays(np.asarray(a)[kept], np.asarray(b)[kept])
    if a.dtype.kind == "O":
        return all(map(same_bits, a.flat, b.flat))
    if a.dtype.kind == "c":
        return _same_arrays(a.real, b.real) and _same_arrays(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool((a == b).all())
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    return bool((same | (np.isnan(a) & np.isnan(b))).all())


def in_kind(value: object, like: object, result: object = None) -> object:
    """`value` converted to the wider kind of `like` when that changes no value: True -> 1 -> 1.0 -> (1+0j).

    A twin has one kind per result: if the original returns 1 here and 0.5 elsewhere, the twin returns 1.0 here.
    `result` is the array with the element `like`. Tuples, lists and dicts in object arrays keep the original's numbers.
    """
    if isinstance(result, np.ndarray) and result.dtype == object and isinstance(like, tuple | list | dict):
        return value
    if isinstance(like, np.ndarray) and isinstance(value, np.ndarray):
        return value.astype(like.dtype) if value.dtype.kind in "bi" and like.dtype.kind in "if" else value
    if isinstance(like, np.generic):
        like = like.item()
    if isinstance(value, tuple | list) and isinstance(like, tuple | list) and len(value) == len(like):
        parts = list(result) if isinstance(result, tuple | list) and len(result) == len(like) else [None] * len(like)
        items = [in_kind(*each) for each in zip(value, like, parts, strict=True)]
        return type(value)(items) if type(value) in (tuple, list) else type(value)._make(items)  # type: ignore[union-attr]
    if isinstance(value, dict) and isinstance(like, dict) and list(value) == list(like):
        held = result if isinstance(result, dict) else {}
        return {key: in_kind(v, like[key], held.get(key)) for key, v in value.items()}
    if isinstance(like, complex) and isinstance(value, int | float):
        return complex(value, 0.0) if isinstance(value, float) or abs(value) < 2**1023 else value
    if isinstance(like, float) and isinstance(value, int) and abs(value) < 2**1023 and float(value) == value:
        return float(value)
    if isinstance(value, bool) and isinstance(like, int):
        return type(like)(value)
    return value


def boundary_values(fn: Callable[..., Any]) -> list[float]:
    """The numbers in the function's source and their neighbours, where comparisons change their outcome."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
    except (OSError, TypeError, SyntaxError):
        return []
    return neighbours(literals(tree))


def literals(tree: ast.AST) -> Iterator[float]:
    """The numbers (no bools) in a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            yield node.value


def neighbours(numbers: Iterable[float]) -> list[float]:
    """Each number, its negative, and the adjacent floats, without duplicates."""
    found: dict[float, None] = {}
    for number in numbers:
        if not abs(number) <= 1.7976931348623157e308:
            continue
        value = float(number)
        above, below = math.nextafter(value, math.inf), math.nextafter(value, -math.inf)
        found |= dict.fromkeys((value, above, below, value + 1, value - 1, -value))
    return list(found)


@dataclass(frozen=True)
class _Result:
    value: object


@dataclass(frozen=True)
class _Raised:
    type: type[Exception]
    message: str

    def __str__(self) -> str:
        return f"raises {self.type.__name__}: {self.message}"


_Outcome = _Result | _Raised


class LaneCount(int):
    """How many lanes `verify` has compared. left_out: those for which the original runs too many lines."""

    left_out: int = 0


class EndlessError(BaseException):
    """An original runs too many lines. It is no Exception, which the original might catch."""


def limited(lines: int, fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)`, or EndlessError where that runs more lines. Under a debugger or another tracer there is no limit."""
    left = lines

    def watch(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise EndlessError
        return watch

    if sys.gettrace() is not None:
        return fn(*args)
    sys.settrace(watch)
    try:
        return fn(*args)
    finally:
        sys.settrace(None)


def _run(fn: Callable[..., Any], args: Sequence[object]) -> _Outcome:
    """What a call does. Any exception of the function under test is an outcome; a refusal is none."""
    try:
        return _Result(fn(*args))
    except (FlattenError, InternalError):
        raise
    except Exception as error:  # noqa: BLE001 - the exception is the result that is compared
        return _Raised(type(error), str(error))


def verify(
    fn: Callable[..., Any],
    *,
    kinds: Kinds = None,
    examples: int = 200,
    target: str | Sequence[str] | None = None,
    static: Mapping[str, Any] | None = None,
    ulps: int = 0,
    **options: Any,
) -> int:
    """Check with hypothesis that the twin of `fn` does what `fn` does, for every element, on every target. Returns the
    number of elements compared on all targets (for a kernel over arrays, of array elements and other numbers).

    kinds     the kind of each argument ("f8", "i8", "b", "c16", or float, int, bool, complex), by name, in order, or as
              a string "f8,i8". Default: from the annotations, then the default values, then float; for parameters used
              as arrays, "f8[:]", or "f8[:,:]" if that fails
    examples  the number of batches of 1 to 16 elements that hypothesis tries, after a sweep over edge values; for a
              kernel over arrays, the number of random calls, with all axes of the same length
    target    one or several targets; None: "numpy" and "numba"
    static    values of arguments that are fixed while flattening
    ulps      how far float results may differ; 0 means bit for bit
    options   further options of `pyflat.twin`; with `math="fast"` results differ by some ulp, more where terms cancel

    Values are biased to where functions go wrong: numbers in the source and their neighbours, signed zeros, ties,
    subnormals, infinities, nan, the limits of the integers. If the original raises, the twin must raise the same
    exception with the same message. A failing case is shrunk; the DifferenceError, an AssertionError, shows the
    element, its inputs, both results, the first line that differs and the pass that introduced the difference. Values
    that make the original run more than 20,000 lines, as in a loop that infinity never ends, are skipped; the result's
    attribute `left_out` counts them. Raises ValueError if all values are skipped, or the original of a kernel raises
    for all arrays tried, FlattenError (before the original runs) if `fn` cannot be flattened, ImportError without
    hypothesis, which kernels do not need.
    """
    fixed = dict(static or {})
    names = _lane_names(fn, fixed)
    parameters = inspect.signature(fn).parameters
    original = functools.partial(_call_named, fn, parameters, names, fixed)
    twins: dict[str, Any] = {}
    for one in verified() if target is None else (target,) if isinstance(target, str) else tuple(target):
        wanted: dict[str, Any] = {"math": "exact", "none": "object", **options, "target": one, "static": tuple(fixed)}
        twins[one] = decorator.twin(fn, **wanted)
        if resolve(settings(wanted)).dtype == "float32":
            raise ValueError('verify compares with the original, which computes in float64: with dtype="float32" '
                             "twin.verify(*arrays) compares with the interpreter")
    kernels = [twin for twin in twins.values() if isinstance(twin, Twin)]
    if kernels and (_has_arrays(kinds) or kernels[0].array_parameters()):
        return _verify_kernels(fn, kernels, names, kinds, fixed, examples)
    chosen = _settle_kinds(fn, names, kinds)
    require("hypothesis", "pyflat.testing.verify")
    for twin in twins.values():  # what is refused is refused before the original, and what it does, has run
        if isinstance(twin, Twin):
            _run(functools.partial(_call_named, twin.verify, parameters, names, fixed), _columns([], chosen))
    compared: list[int] = []
    left_out: list[int] = []
    for one, twin in twins.items():
        flat = functools.partial(_call_named, twin, parameters, names, fixed)
        check = functools.partial(_check_batch, original, flat, compared, left_out, kinds=chosen, names=names,
                                  target=one, ulps=ulps)
        try:
            _sweep(check, fn, chosen)
            if not sum(compared):
                raise ValueError(f"verify: {fn.__name__} runs more than {MOST_LINES:,} lines for all values that were "
                                 "tried: pyflat.twin(f).verify(*arrays) compares it on your values")
            _search(check, _batches(fn, chosen), examples)
        except DifferenceError as difference:
            if not isinstance(twin, Twin):
                raise
            closer = functools.partial(_call_named, twin.replay, parameters, names, fixed)
            found = difference
        else:
            continue
        raise _with_trace(found, closer, chosen) from None
    total = LaneCount(sum(compared))
    total.left_out = sum(left_out)
    return total


def _has_arrays(kinds: Kinds) -> bool:
    """Whether they name arrays."""
    return any("[" in str(kind) for kind in (kinds.values() if isinstance(kinds, Mapping) else kinds or ()))


def _verify_kernels(fn: Callable[..., Any], twins: Sequence[Twin[..., Any]], names: Sequence[str], kinds: Kinds,
                    fixed: Mapping[str, Any], examples: int) -> int:
    from pyflat.testing.kernels import verify_kernel, verify_unsaid

    arrays = twins[0].array_parameters()
    if kinds is None:
        numbers = [name for name in names if name not in arrays]
        settled = dict(zip(numbers, _settle_kinds(fn, numbers, None), strict=True))
        return verify_unsaid(fn, twins, {name: settled.get(name, "") for name in names}, fixed, examples)
    given = _by_name(names, kinds)
    for name in names:
        if name not in given or name in arrays and "[" not in str(given[name]):
            raise TypeError(f"verify: kinds={kinds!r} has no kind for {name!r}, "
                            + ("an array of a kernel, as 'f8[:]'" if name in arrays else "as 'f8'"))
    chosen = {name: str(_KINDS.get(kind, kind)) for name, kind in given.items()}
    parsed_kinds(list(chosen.values()), list(chosen))
    return verify_kernel(fn, twins, chosen, fixed, examples)


def _by_name(names: Sequence[str], kinds: Any) -> dict[str, Any]:
    """The kinds of these parameters. TypeError where they are not as many."""
    if isinstance(kinds, Mapping):
        unknown = [name for name in kinds if name not in names]
        if unknown:
            raise TypeError(f"verify: kinds= names {unknown[0]!r}, which is not a lane argument")
        return dict(kinds)
    listed = split_kinds(kinds) if isinstance(kinds, str) else list(kinds)
    if len(listed) != len(names):
        raise TypeError(f"verify: kinds={kinds!r}: {len(listed)} kinds for {len(names)} arguments ({', '.join(names)})")
    return dict(zip(names, listed, strict=True))


Row = tuple[Any, ...]
Check = Callable[[list[Row]], None]


def _with_trace(difference: DifferenceError, replay: Callable[..., Any], kinds: Sequence[str]) -> DifferenceError:
    """The difference with the line and the pass that it comes from, as far as the lane shows it alone."""
    shown = replay(*(column[0] for column in _columns([difference.row], kinds)))
    if shown.agrees:
        return difference
    return DifferenceError(f"{difference}\n{shown}", row=difference.row, lane_trace=shown)


def _sweep(check: Check, fn: Callable[..., Any], kinds: Sequence[str]) -> None:
    """Many lanes at once, from boundary and edge values; a failing one is made simple value by value."""
    near = boundary_values(fn)
    ints = [int(v) for v in near if abs(v) < EXACT_INT and v == int(v)]
    rng = Random(0)
    of_kind: dict[str, Callable[[], Any]] = {
        "f8": lambda: rng.choice(rng.choice((near, near, EDGE_FLOATS, ROUND_FLOATS, (rng.uniform(-10, 10),)))
                                 or EDGE_FLOATS),
        "i8": lambda: rng.choice(rng.choice((ints, ints, EDGE_INTS, (rng.randint(-20, 20),))) or EDGE_INTS),
        "b": lambda: rng.random() < 0.5,
    }
    of_kind["c16"] = lambda: complex(of_kind["f8"](), of_kind["f8"]())
    rows = [tuple(of_kind[kind]() for kind in kinds) for _ in range(SWEPT)]
    try:
        check(rows)
    except DifferenceError as difference:
        found = _simplest(check, difference, kinds, near)
    else:
        return
    raise found from None


def _simplest(
    check: Check, difference: DifferenceError, kinds: Sequence[str], near: Sequence[float]
) -> DifferenceError:
    """The difference with each value replaced by the first simple one that still shows it."""
    simple: dict[str, Sequence[Any]] = {"f8": (0.0, 1.0, -1.0, 2.0, 0.5, *near), "i8": (0, 1, -1, 2, 3), "b": (False,),
                                        "c16": (0j, 1 + 0j, 1j, 1 + 1j)}
    for column, kind in enumerate(kinds):
        for value in simple[kind]:
            if repr(value) == repr(difference.row[column]):
                break
            row = (*difference.row[:column], value, *difference.row[column + 1:])
            try:
                check([row])
            except DifferenceError as simpler:
                difference = simpler
                break
    return difference


def _search(check: Callable[[list[Row]], None], batches: SearchStrategy[Any], examples: int) -> None:
    """Run `check` on batches that hypothesis draws; it shrinks the first failing one."""
    from hypothesis import HealthCheck, Phase, given, settings

    @settings(max_examples=examples, deadline=None, database=None, print_blob=False, derandomize=True,
              report_multiple_bugs=False, suppress_health_check=list(HealthCheck),
              phases=(Phase.generate, Phase.shrink))
    @given(batches)
    def run(rows: list[Row]) -> None:
        check(rows)

    run()


def _call_named(
    fn: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], names: Sequence[str], fixed: Mapping[str, Any],
    *args: Any,
) -> Any:
    """Call with lanes and fixed values as the signature wants them: by position as far as that goes."""
    given = {**dict(zip(names, args, strict=True)), **fixed}
    positional: list[Any] = []
    for name, parameter in parameters.items():
        if name not in given or parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            break
        positional.append(given.pop(name))
    return fn(*positional, **given)


def _lane_names(fn: Callable[..., Any], fixed: Mapping[str, Any]) -> list[str]:
    parameters = inspect.signature(fn).parameters
    unknown = [name for name in fixed if name not in parameters]
    if unknown:
        raise TypeError(f"verify: static= names {unknown[0]!r}, which is not a parameter")
    return [n for n, p in parameters.items() if n not in fixed and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _settle_kinds(
    fn: Callable[..., Any], names: Sequence[str], kinds: Kinds
) -> list[str]:
    parameters = inspect.signature(fn).parameters
    wanted: dict[str, object] = {}
    for name in names:
        parameter = parameters[name]
        annotated = parameter.annotation if isinstance(parameter.annotation, str | type) else None
        wanted[name] = annotated if annotated in _KINDS else type(parameter.default)
        wanted[name] = wanted[name] if wanted[name] in _KINDS else "f8"
    if kinds is not None:
        wanted.update(_by_name(names, kinds))
    for name, kind in wanted.items():
        if kind not in _KINDS:
            raise TypeError(f"verify: the kind of {name!r} is {kind!r}; use 'f8', 'i8', 'b' or 'c16'")
    return [_KINDS[wanted[name]] for name in names]


def _batches(fn: Callable[..., Any], kinds: Sequence[str]) -> SearchStrategy[list[Row]]:
    from hypothesis import strategies as st

    near = boundary_values(fn)
    ints = [int(v) for v in near if abs(v) < EXACT_INT and v == int(v)]
    of_kind: dict[str, SearchStrategy[Any]] = {
        "f8": st.one_of(st.sampled_from(near or EDGE_FLOATS), st.sampled_from(EDGE_FLOATS),
                        st.sampled_from(ROUND_FLOATS), st.floats(-10, 10), st.floats()),
        "i8": st.one_of(st.sampled_from(ints or EDGE_INTS), st.sampled_from(EDGE_INTS), st.integers(-20, 20),
                        st.integers(INT_MIN, INT_MAX)),
        "b": st.booleans(),
    }
    of_kind["c16"] = st.builds(complex, of_kind["f8"], of_kind["f8"])
    return st.lists(st.tuples(*(of_kind[k] for k in kinds)), min_size=1, max_size=LANES)


def _check_batch(
    original: Callable[..., Any],
    flat: Callable[..., Any],
    compared: list[int],
    left_out: list[int],
    rows: list[Row],
    *,
    kinds: Sequence[str],
    names: Sequence[str],
    target: str,
    ulps: int,
) -> None:
    """The whole batch, then what is left of it when the raising lanes are taken out; how many it has is appended to
    `compared`, and to `left_out` for how many the original does not end."""
    ended: list[tuple[Row, _Outcome]] = []
    for row in rows:
        with contextlib.suppress(EndlessError):
            ended.append((row, _run(functools.partial(limited, MOST_LINES, original), row)))
    compared.append(len(ended))
    left_out.append(len(rows) - len(ended))
    if not ended:
        return
    rows, expected = [row for row, _ in ended], [outcome for _, outcome in ended]
    failing = [i for i, outcome in enumerate(expected) if isinstance(outcome, _Raised) or not _fits(outcome.value)]
    got = _run(flat, _columns(rows, kinds))
    if failing:
        lane = failing[0]
        if not _agree(got, expected[lane]):
            shown = str(got) if isinstance(got, _Raised) else "returns"
            raise DifferenceError(_report(target, lane, names, rows[lane], expected[lane], shown), row=rows[lane])
        rows = [row for i, row in enumerate(rows) if i not in failing]
        expected = [outcome for i, outcome in enumerate(expected) if i not in failing]
        got = _run(flat, _columns(rows, kinds)) if rows else _Result(())
    for lane, outcome in enumerate(expected):
        assert isinstance(outcome, _Result)
        if isinstance(got, _Raised):
            raise DifferenceError(_report(target, lane, names, rows[lane], outcome, str(got)), row=rows[lane])
        value = lane_of(got.value, lane, len(rows))
        if not _close(in_kind(outcome.value, value, got.value), value, ulps):
            raise DifferenceError(_report(target, lane, names, rows[lane], outcome, repr(value)), row=rows[lane])


def _fits(value: object) -> bool:
    """Whether lanes can hold the value: no int beyond 64 bits."""
    if isinstance(value, tuple | list):
        return all(map(_fits, value))
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    return not isinstance(value, int) or INT_MIN <= value <= INT_MAX


def _agree(got: _Outcome, expected: _Outcome) -> bool:
    """Whether a call does what its first failing lane asks for: raise the same, or say that no lane holds the value."""
    if isinstance(expected, _Result):
        return isinstance(got, _Raised) and got.type is LaneError
    return got == expected


def _columns(rows: Sequence[tuple[Any, ...]], kinds: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    return [np.array([row[i] for row in rows], dtype=_DTYPES[kind]) for i, kind in enumerate(kinds)]


def lane_of(result: Any, lane: int, n: int) -> Any:
    """One element of a twin's result as a Python value: arrays are indexed, other values returned as they are."""
    if isinstance(result, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(result).reshape(n, -1)[lane].any()
        return None if masked else lane_of(result.data, lane, n)
    if isinstance(result, np.ndarray):
        if result.ndim > 1:  # an array in each lane
            return result[lane]
        return np.broadcast_to(result, (n,)).item(lane)
    if isinstance(result, tuple | list):
        items = [lane_of(item, lane, n) for item in result]
        return type(result)._make(items) if hasattr(result, "_make") else type(result)(items)
    if isinstance(result, dict):
        return {key: lane_of(item, lane, n) for key, item in result.items()}
    if is_dataclass(result):
        made = copy.copy(result)
        for each in fields(result):
            object.__setattr__(made, each.name, lane_of(getattr(result, each.name), lane, n))
        return made
    return result.item() if isinstance(result, np.generic) else result


def _close(a: object, b: object, ulps: int) -> bool:
    if same_bits(a, b):
        return True
    if isinstance(a, tuple | list) and isinstance(b, tuple | list) and len(a) == len(b):
        return all(_close(x, y, ulps) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return all(_close(x, b[key], ulps) for key, x in a.items())
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and _close(a.ravel().tolist(), b.ravel().tolist(), ulps)
    if isinstance(a, complex) and isinstance(b, complex):
        return _close(a.real, b.real, ulps) and _close(a.imag, b.imag, ulps)
    if not (ulps and isinstance(a, float) and isinstance(b, float)):
        return False
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= ulps * max(math.ulp(a), math.ulp(b))


def _report(
    target: str, lane: int, names: Sequence[str], row: Sequence[object], expected: _Outcome, got: str
) -> str:
    inputs = ", ".join(f"{n}={v!r}" for n, v in zip(names, row, strict=True))
    wanted = repr(expected.value) if isinstance(expected, _Result) else str(expected)
    return f"the {target} twin differs in lane {lane} ({inputs})\n  original: {wanted}\n  twin:     {got}"
