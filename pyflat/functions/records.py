"""One record for each mathematical function: all that pyflat knows of it, in one place.

The operation table, the C library's functions, vector math, fault rules, ranges, error bounds, costs, derivatives,
and the spellings of all targets are read from `RECORDS`. A function is added by a record here, and by a kernel where
neither the C library nor CPython nor NumPy has one. What a record leaves out has a meaning that is safe: a function
without a vector function is called, one without an error bound decides nothing in fast mathematics, one without a range
may have any value. Names for other targets cannot be left out: `ABSENT` says that a target has no such function, and
the message that refuses it there names the function and the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Literal, NewType

from pyflat.functions import python_versions
from pyflat.functions.originals import original

Adds = NewType("Adds", float)
"""A cost: the time of so many additions of floats, of one lane, or of a vector register of lanes where a whole register
is computed at once."""

Nanoseconds = NewType("Nanoseconds", float)
"""A cost: nanoseconds for a lane."""


class Accuracy(Enum):
    """Whose digits an operation has. EXACT: every target gives the same bits; LIBM: the C library's (the target may
    choose others); NUMPY: NumPy's own ufunc's; CALL: those of CPython's own code, which targets call lane by lane;
    VECTOR: those of pyflat.functions.vmath, within 2 ulp, the same wherever they are computed."""

    EXACT = "exact"
    LIBM = "libm"
    NUMPY = "numpy"
    CALL = "call"
    VECTOR = "vector"


class OutOfLane(ArithmeticError):
    """The Python value exists but no lane holds it (an int beyond 64 bits, a complex number)."""


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """A part of the domain's complement, in which CPython raises ValueError: the operand (`of_size`: its absolute
    value) compares so with the bound. "isinf" needs no bound."""

    comparison: Literal["lt", "le", "gt", "ge", "isinf"]
    bound: float = 0.0
    operand: int = 0
    of_size: bool = False


Faults = tuple[Outside, ...] | str
"""When CPython raises: outside of the domain, exactly there, or by the name of a rule of `pyflat.ir.faults`."""

SAME = "="
"""The target has the function under its own name."""

MADE = "made of others"
"""The target's rules make it of other operations."""

ABSENT = ""
"""The target has no such function."""


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """What the function is on each target that spells functions: a name, a text with {0}, {1}, ... for the operands,
    `SAME`, `MADE` or `ABSENT`. No target can be left out."""

    xp: str
    polars: str
    duckdb: str
    sqlite: str
    wgsl: str
    glsl: str


PLAIN = Elsewhere(SAME, SAME, SAME, SAME, SAME, SAME)
_MADE_IN_DATABASES = Elsewhere(SAME, MADE, MADE, MADE, SAME, SAME)
NOWHERE = Elsewhere(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT)
_NO_DATABASE = replace(PLAIN, polars=ABSENT, duckdb=ABSENT, sqlite=ABSENT)


@dataclass(frozen=True, slots=True, eq=False)
class VectorCode:
    """The function of `pyflat.functions.vmath`, of the same name, in its module `module`. Where `far`
    ("module.function") holds, of the same operands, the algorithm does not reach. `cost` counts its operations, a
    division as eight."""

    module: str
    cost: Adds = Adds(0)
    far: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MathFunction:
    """A mathematical function of float64 lanes.

    name         of the operation
    python       where Python has it ("math.exp", "numpy.exp"); calls of it are this operation. "": nowhere
    meaning      what CPython computes or raises, where that is not this callable
    accuracy     whose digits it has
    operands     their letters: d a float, l an int64
    faults       when CPython raises;   `float32_faults`: the rule on float32 lanes, where that is none of the domain
    numpy        NumPy's function for the same; where CPython raises, float32 lanes have its infinities and nan
    beyond       that value, where no function of NumPy's says it
    symbol       the C library's name, where it is not the function's
    operator     Python's operator for it
    odd          it overflows towards the infinity of its first operand's sign
    range        between which numbers its values are, where it does not fault
    rises_from   it increases from there on; where that is finite, it faults there and below
    rises_to     it is positive, increases everywhere, and is finite up to there
    harmless     operands at which its slope is finite, if it is not everywhere; None: that operand does not matter
    cost         an estimate, where a target has no measurement;   `time`: on the NumPy target
    vector       the fast kernel
    like         the function that it computes too, for targets that do not tell the two apart
    elsewhere    other targets' names; None: those of `like`
    numba_name   its name in scalar Python for numba, `SAME` for Python's, or `ABSENT`
    """

    name: str
    accuracy: Accuracy
    python: str = ""
    meaning: Callable[..., float] | None = None
    operands: str = "d"
    faults: Faults = ""
    float32_faults: str = ""
    numpy: str = ""
    beyond: Callable[..., float] | None = None
    symbol: str = ""
    operator: str = ""
    odd: bool = False
    range: tuple[float, float] | None = None
    rises_from: float | None = None
    rises_to: float | None = None
    harmless: tuple[float | None, ...] | None = None
    cost: Adds = Adds(40)
    time: Nanoseconds | None = None
    vector: VectorCode | None = None
    like: str = ""
    elsewhere: Elsewhere | None = None
    numba_name: str = SAME

    @property
    def title(self) -> str:
        """How a user writes it."""
        return self.python.replace("numpy.", "np.").lstrip("_") or self.name

    def callable(self) -> Callable[..., Any] | None:
        """What Python has under that name; None where this Python has none."""
        module, _, name = self.python.rpartition(".")
        try:
            found: Callable[..., Any] | None = original(module, name) if module else None
        except ImportError:
            return None
        return found

    def function(self) -> Callable[..., float]:
        """What it computes for Python numbers: CPython's value or exception; NumPy's functions never raise or warn."""
        found = self.meaning or self.callable()
        if found is None:
            raise LookupError(f"this Python has no {self.title}")
        return _quiet(found) if self.accuracy is Accuracy.NUMPY or self.python.startswith("numpy.") else found

    def on(self, target: str) -> str:
        """What it is on a target: a text with {0}, ..., `MADE` or `ABSENT`."""
        if self.elsewhere is None:
            return MADE if RECORDS[self.like].on(target) != ABSENT else ABSENT
        found: str = getattr(self.elsewhere, target)
        if found == MADE and self.like and RECORDS[self.like].on(target) == ABSENT:
            return ABSENT
        return self.name if found == SAME else found


def _quiet(function: Callable[..., Any]) -> Callable[..., float]:
    """NumPy's function, without its warnings."""
    import numpy as np

    def call(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*args))

    return call


# --- CPython's meanings that no callable has, and values where CPython raises


def _float_pow(a: float, b: float) -> float:
    if a < 0 and math.isfinite(a) and math.isfinite(b) and b != math.floor(b):
        raise OutOfLane("a negative number to a fractional power is complex")
    result = a**b
    return float(result)


def _library_hypot(x: float, y: float) -> float:
    """abs() of a complex number: the C library's hypot, not math.hypot. CPython 3.11 does not clear errno
    before abs() of a nan, and may raise what an earlier operation has left there."""
    if math.isinf(x) or math.isinf(y):
        return math.inf
    return math.nan if x != x or y != y else abs(complex(x, y))


def _powers(x: float, y: float) -> float:
    """np.power with an array of exponents, which NumPy computes without looking for 0.5 or 2."""
    import numpy as np

    with np.errstate(all="ignore"):
        return float(np.power(np.array([x]), np.array([y]))[0])


# --- the functions that the C library computes

_BELOW_ZERO = (Outside("lt", 0.0),)
_NOT_POSITIVE = (Outside("le", 0.0),)
_QUANTILE_FAULTS = (Outside("le", 0.0), Outside("ge", 1.0), *(
    (Outside("le", 0.0, operand=2),) if python_versions.quantile_needs_positive_sigma() else ()))
_BEYOND_ONE, _INFINITE = (Outside("gt", 1.0, of_size=True),), (Outside("isinf"),)
_QUARTER = math.pi / 2
_AT_POLE: Callable[..., float] = lambda x: math.inf if x > 0.0 else math.nan  # noqa: E731
_SIGNED: Callable[..., float] = lambda x, _: math.copysign(math.inf, x)  # noqa: E731


def _library(name: str, elsewhere: Elsewhere, **rest: Any) -> MathFunction:
    rest.setdefault("numpy", name)
    return MathFunction(name=name, accuracy=Accuracy.LIBM, python="math." + name, elsewhere=elsewhere, **rest)


_LIBRARY = (
    _library("exp", PLAIN, faults="overflow", rises_from=-math.inf, rises_to=700.0, harmless=(0.0,),
             vector=VectorCode("power", Adds(30))),
    _library("exp2", _MADE_IN_DATABASES, faults="overflow", rises_from=-math.inf, rises_to=1000.0, harmless=(0.0,),
             vector=VectorCode("power", Adds(30)), numba_name="np.exp2"),
    _library("expm1", _NO_DATABASE, faults="overflow", odd=True, harmless=(0.0,), rises_from=-math.inf,
             vector=VectorCode("power", Adds(36))),
    _library("log", replace(PLAIN, duckdb="ln", sqlite="ln"), faults=_NOT_POSITIVE,
             harmless=(1.0,), rises_from=0.0, vector=VectorCode("power", Adds(38))),
    _library("log2", replace(PLAIN, polars=ABSENT), faults=_NOT_POSITIVE, harmless=(1.0,),
             rises_from=0.0, vector=VectorCode("power", Adds(46))),
    _library("log10", PLAIN, faults=_NOT_POSITIVE, harmless=(1.0,),
             rises_from=0.0, vector=VectorCode("power", Adds(50))),
    _library("log1p", replace(PLAIN, duckdb=ABSENT, sqlite=ABSENT), faults=(Outside("le", -1.0),),
             harmless=(0.0,), rises_from=-1.0, vector=VectorCode("power", Adds(50))),
    _library("sin", PLAIN, faults=_INFINITE, range=(-1.0, 1.0),
             vector=VectorCode("trigonometric", Adds(44), "trigonometric.beyond_limit")),
    _library("cos", PLAIN, faults=_INFINITE, range=(-1.0, 1.0),
             vector=VectorCode("trigonometric", Adds(44), "trigonometric.beyond_limit")),
    _library("tan", PLAIN, faults=_INFINITE, harmless=(0.0,),
             vector=VectorCode("trigonometric", Adds(60), "trigonometric.beyond_limit")),
    _library("asin", replace(PLAIN, polars="arcsin", wgsl="arc_sine", glsl="arc_sine"),
             numpy="arcsin", faults=_BEYOND_ONE, range=(-_QUARTER, _QUARTER), harmless=(0.0,),
             vector=VectorCode("trigonometric", Adds(34))),
    _library("acos", replace(PLAIN, polars="arccos", wgsl="arc_cosine", glsl="arc_cosine"),
             numpy="arccos", faults=_BEYOND_ONE, range=(0.0, math.pi), harmless=(0.0,),
             vector=VectorCode("trigonometric", Adds(42))),
    _library("atan", replace(PLAIN, polars="arctan"), numpy="arctan",
             range=(-_QUARTER, _QUARTER), rises_from=-math.inf, vector=VectorCode("trigonometric", Adds(44))),
    _library("atan2", replace(PLAIN, polars="pl.arctan2({0}, {1})", glsl="atan"), numpy="arctan2",
             operands="dd", range=(-math.pi, math.pi), harmless=(1.0, 1.0), cost=Adds(60),
             vector=VectorCode("trigonometric", Adds(60))),
    _library("sinh", PLAIN, faults="nonfinite", odd=True, harmless=(0.0,),
             vector=VectorCode("power", Adds(60))),
    _library("cosh", PLAIN, faults="overflow", range=(0.0, math.inf), harmless=(0.0,),
             vector=VectorCode("power", Adds(46))),
    _library("tanh", PLAIN, range=(-1.0, 1.0), rises_from=-math.inf, vector=VectorCode("power", Adds(52))),
    _library("asinh", replace(PLAIN, polars="arcsinh"), numpy="arcsinh", rises_from=-math.inf,
             vector=VectorCode("power", Adds(80))),
    _library("acosh", replace(PLAIN, polars="arccosh"), numpy="arccosh", faults=(Outside("lt", 1.0),),
             harmless=(2.0,), vector=VectorCode("power", Adds(70))),
    _library("atanh", replace(PLAIN, polars="arctanh"), numpy="arctanh",
             faults=(Outside("ge", 1.0, of_size=True),), harmless=(0.0,), vector=VectorCode("power", Adds(70))),
    _library("cbrt", replace(PLAIN, sqlite=ABSENT), rises_from=-math.inf, harmless=(1.0,),
             vector=VectorCode("power", Adds(52)), numba_name="np.cbrt"),
    _library("erf", _MADE_IN_DATABASES, numpy="", range=(-1.0, 1.0), rises_from=-math.inf,
             vector=VectorCode("gamma", Adds(80))),
    _library("erfc", _MADE_IN_DATABASES, numpy="", range=(0.0, 2.0),
             vector=VectorCode("gamma", Adds(80))),
    _library("pow", Elsewhere(SAME, "({0} ** {1})", SAME, SAME, "whole_pow", "whole_pow"),
             meaning=_float_pow, operator="**", numpy="powers", beyond=_powers, operands="dd",
             faults="pow", float32_faults="pole", harmless=(1.0, 1.0), cost=Adds(60),
             vector=VectorCode("power", Adds(120)),
             numba_name="**"),
    MathFunction(
        name="library_hypot", accuracy=Accuracy.LIBM, meaning=_library_hypot, operands="dd", faults="beyond_largest",
        beyond=lambda *_: math.inf, symbol="hypot", range=(0.0, math.inf), like="hypot"),
)

# --- functions that only CPython's own code computes with CPython's bits, and functions that are exact by definition

_CALLED = (
    MathFunction(
        name="gamma", accuracy=Accuracy.CALL, python="math.gamma", faults="gamma", float32_faults="gamma_pole",
        beyond=_AT_POLE, harmless=(1.0,), cost=Adds(200), elsewhere=NOWHERE,
        vector=VectorCode("gamma", Adds(380))),
    MathFunction(
        name="lgamma", accuracy=Accuracy.CALL, python="math.lgamma", faults="nonfinite", float32_faults="pole",
        beyond=_AT_POLE, harmless=(1.0,), cost=Adds(200), elsewhere=replace(NOWHERE, xp=SAME),
        vector=VectorCode("gamma", Adds(350), "gamma.is_negative")),
    MathFunction(
        name="hypot", accuracy=Accuracy.CALL, python="math.hypot", numpy="hypot", operands="dd", range=(0.0, math.inf),
        harmless=(1.0, 1.0), cost=Adds(200), elsewhere=_NO_DATABASE),
    MathFunction(
        name="normal_quantile", accuracy=Accuracy.CALL, python="_statistics._normal_dist_inv_cdf", operands="ddd",
        faults=_QUANTILE_FAULTS, cost=Adds(300),
        elsewhere=NOWHERE, numba_name=ABSENT),
    MathFunction(
        name="round_digits", accuracy=Accuracy.CALL, meaning=round, operands="dl",
        faults="nonfinite_of_first", odd=True, beyond=_SIGNED, cost=Adds(200),
        elsewhere=Elsewhere(MADE, MADE, MADE, MADE, MADE, MADE)),
)


def _exact(name: str, operands: str, elsewhere: Elsewhere, **rest: Any) -> MathFunction:
    return MathFunction(name=name, accuracy=Accuracy.EXACT, python="math." + name, operands=operands,
                        elsewhere=elsewhere, **rest)


_EXACT = (
    _exact("sqrt", "d", PLAIN, numpy="sqrt", faults=_BELOW_ZERO, harmless=(1.0,), cost=Adds(8),
           time=Nanoseconds(0.9)),
    _exact("copysign", "dd", Elsewhere(SAME, MADE, MADE, ABSENT, "copy_sign", "copy_sign"), numpy="copysign",
           faults="nan_sign", cost=Adds(1)),
    _exact("fmod", "dd", Elsewhere(SAME, MADE, "({0} % {1})", "mod", "trunc_remainder", "trunc_remainder"),
           numpy="fmod", faults="fmod", harmless=(None, 1.0), numba_name="np.fmod",
           vector=VectorCode("remainder", far="remainder.large_quotient")),
    _exact("remainder", "dd", replace(NOWHERE, wgsl="nearest_remainder", glsl="nearest_remainder"), faults="fmod",
           time=Nanoseconds(12), numba_name=ABSENT),
    _exact("nextafter", "dd", replace(NOWHERE, xp=SAME, duckdb=SAME), numpy="nextafter", cost=Adds(10)),
    _exact("ldexp", "dl", replace(NOWHERE, wgsl=SAME, glsl=SAME), faults="nonfinite_of_first", beyond=_SIGNED,
           cost=Adds(10)),
)

# --- NumPy's own functions: they never raise (their domain errors are values) and have digits of their own


def _numpy(name: str, like: str | None = None, time: float | None = None, operands: str = "d", **rest: Any
           ) -> MathFunction:
    """`like` is the same name, or "" for none."""
    return MathFunction(**{
        "name": "np_" + name, "accuracy": Accuracy.NUMPY, "python": "numpy." + name, "operands": operands,
        "numpy": name, "like": name if like is None else like, "time": time, "cost": Adds(20 * len(operands)), **rest})


_AT_BORDER = Elsewhere(MADE, MADE, MADE, ABSENT, MADE, MADE)
"""Infinite at the border of the domain, where SQLite's is null."""
_NUMPY = (
    _numpy("exp", time=0.6), _numpy("expm1", time=1.0), _numpy("exp2", time=1.0),
    _numpy("log", time=0.65, elsewhere=_AT_BORDER), _numpy("log2", time=1.0, elsewhere=_AT_BORDER),
    _numpy("log10", time=1.0, elsewhere=_AT_BORDER), _numpy("log1p", time=1.0, elsewhere=_AT_BORDER),
    _numpy("sin", time=12.0), _numpy("cos", time=12.0), _numpy("tan"), _numpy("arcsin", "asin", 1.5),
    _numpy("arccos", "acos", 1.5), _numpy("arctan", "atan"), _numpy("sinh"), _numpy("cosh"), _numpy("tanh"),
    _numpy("arcsinh", "asinh"), _numpy("arccosh", "acosh", elsewhere=_AT_BORDER),
    _numpy("arctanh", "atanh", elsewhere=_AT_BORDER), _numpy("cbrt"), _numpy("arctan2", "atan2", operands="dd"),
    _numpy("power", "pow", 1.6, "dd", elsewhere=_AT_BORDER), _numpy("hypot", operands="dd"),
    _numpy("fmod", operands="dd"),
    _numpy("powers", "pow", 1.6, "dd", python="", meaning=_powers, elsewhere=_AT_BORDER),
    _numpy("float_power", "pow", operands="dd", elsewhere=_AT_BORDER),
    _numpy("logaddexp", "", operands="dd", elsewhere=Elsewhere(MADE, MADE, ABSENT, ABSENT, MADE, MADE)),
    _numpy("sqrt", time=0.9, accuracy=Accuracy.EXACT, cost=Adds(8)),
)

RECORDS: dict[str, MathFunction] = {
    record.name: record for record in (*_LIBRARY, *_CALLED, *_EXACT, *_NUMPY)
    if record.meaning is not None or record.callable() is not None
}
"""Operation -> record, of the functions that this Python has."""

TARGETS: tuple[str, ...] = tuple(field.name for field in fields(Elsewhere))
"""The targets that spell functions by the records' names."""


def of_accuracy(*accuracies: Accuracy) -> Iterator[MathFunction]:
    """The records whose digits are one of these."""
    return (record for record in RECORDS.values() if record.accuracy in accuracies)


def spellings(target: str, call: str = "{name}({operands})") -> dict[str, str]:
    """Operation -> its text with {0}, {1}, ... on a target, of those that it has itself; `call` is how the target calls
    a function by name."""
    found = {}
    for record in RECORDS.values():
        text = record.on(target)
        if text not in (MADE, ABSENT):
            operands = [f"{{{k}}}" for k in range(len(record.operands))]
            found[record.name] = text if "{0}" in text else call.format(
                name=text, operands=", ".join(operands), first=operands[0])
    return found


def aliases() -> dict[str, str]:
    """Operation -> the function that stands for it where the two are not told apart."""
    return {record.name: record.like for record in RECORDS.values() if record.like}


def missing(target: str, opcode: str, kinds: str) -> str:
    """Why a target refuses an operation, in words."""
    record = RECORDS.get(opcode)
    return f"{target} has no {opcode} of {kinds}" if record is None else f"{record.title} is not available on {target}"
