"""complex(), cmath, and the NumPy functions that give floats or bools for a complex number."""

from __future__ import annotations

import cmath
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Handler, float_operation, only
from pyflat.frontend.library import complex_library as library
from pyflat.frontend.space import complex_numbers
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.complex_numbers import ZERO, both, either, holds_complex, inlined, promoted, real_number
from pyflat.frontend.space.scalars import as_float
from pyflat.frontend.state import lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import complex_parts, lane
from pyflat.frontend.state.values import Abstract, Arguments, Complex, Static


# --- conversions
def construct(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """complex(real, imag), both of which may be complex themselves."""
    unknown = arguments.named.keys() - {"real", "imag"}
    values = dict(zip(("real", "imag"), arguments.positional, strict=False))
    if unknown or len(arguments.positional) > 2 or values.keys() & arguments.named.keys():
        raise s.raised(TypeError, node)
    values.update(arguments.named)
    if (made := s.split_first([*values.values()], lambda *row: construct(
            s, Arguments([], dict(zip(values, row, strict=True))), node))) is not None:
        return made
    found = {name: _operand(s, value, node) for name, value in values.items()}
    real, imag = found.get("real", ZERO), found.get("imag")
    x, y = complex_parts(real), complex_parts(imag)
    if imag is None:
        return x or Complex(real, ZERO)
    left, right = real if x is None else x.real, imag if y is None else y.real
    if y is not None:
        left = num.binary(s, "sub", left, y.imag)
    if x is not None:
        right = num.binary(s, "add", right, x.imag)
    return Complex(left, right)


def _operand(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """An argument of complex(): complex, or a float."""
    if complex_parts(value) is not None:
        return value
    found = lookup.method_of(value, "__complex__")
    return real_number(s, value) if found is None else lookup.call_method(s, found, [value], node)


def argument(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Complex:
    """An argument of a function of cmath."""
    found = lookup.method_of(value, "__complex__")
    return promoted(s, value if found is None else lookup.call_method(s, found, [value], node))


# --- cmath
def of_one(name: str) -> Handler:
    """A function of one complex number, inlined."""
    fn = getattr(library, name)

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        complex_numbers.require(s, complex_numbers.function_is_known(name), f"cmath.{name}")
        (value,) = only(s, arguments, node, 1, 1)
        z = argument(s, value, node)
        return inlined(s, fn, [z.real, z.imag], node)

    return handler


def _log(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    z, *base = [argument(s, value, node) for value in only(s, arguments, node, 1, 2)]
    complex_numbers.require(s, complex_numbers.function_is_known("log"), "cmath.log")
    if not base:
        return inlined(s, library.log, [z.real, z.imag], node)
    return inlined(s, library.log_base, [z.real, z.imag, base[0].real, base[0].imag], node)


def _polar(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    z = argument(s, value, node)
    return s.space.call(Static(library.polar), Arguments([z.real, z.imag], {}), node)


def _rect(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    r, phi = (real_number(s, value) for value in only(s, arguments, node, 2, 2))
    return inlined(s, library.rect, [r, phi], node)


def _isfinite(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    z = argument(s, value, node)
    return both(s, _finite(s, z.real), _finite(s, z.imag))


def _finite(s: Evaluator, part: Abstract) -> Abstract:
    if isinstance(part, Static):
        return Static(np.isfinite(part.value).item())
    return s.build.op("isfinite", lane(part))


def _isclose(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    named = {name: real_number(s, value) for name, value in arguments.named.items()}
    if named.keys() - {"a", "b", "rel_tol", "abs_tol"} or len(arguments.positional) != 2:
        raise s.refuse("flatten/bad-call", "cmath.isclose takes two numbers, rel_tol= and abs_tol=", node)
    a, b = (argument(s, value, node) for value in arguments.positional)
    tolerances = [named.get("rel_tol", Static(1e-09)), named.get("abs_tol", Static(0.0))]
    numbers = [a.real, a.imag, b.real, b.imag, *tolerances]
    return s.space.call(Static(library.isclose), Arguments(numbers, {}), node)


# --- NumPy
def _part(name: str) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        if not complex_numbers.is_number(value):
            raise s.refuse("flatten/not-yet", f"np.{name} of something else than a number", node)
        return s.space.getattr(value, name, node)

    return handler


def _angle(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    z = promoted(s, value)
    return s.build.op("np_arctan2", lane(z.imag), lane(z.real))


def of_parts(opcode: str) -> Handler:
    """np.isnan, np.isinf, np.isfinite of a float or complex number."""
    simple = float_operation(opcode)

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        if not holds_complex(value):
            return simple(s, arguments, node)
        z = promoted(s, value)
        join = both if opcode == "isfinite" else either
        return join(s, s.build.op(opcode, as_float(s, z.real)), s.build.op(opcode, as_float(s, z.imag)))

    return handler


def check(s: Evaluator, fn: Any, node: cst.CSTNode) -> None:
    """Refuses NumPy functions that would give a NumPy complex number, whose arithmetic is not Python's."""
    module = str(getattr(fn, "__module__", None) or "numpy")
    if (isinstance(fn, np.ufunc) or module.startswith("numpy")) and fn not in _NUMPY:
        raise s.refuse("flatten/not-yet", f"np.{getattr(fn, '__name__', fn)} of a complex number", node,
                       why="NumPy's complex numbers divide, multiply and fail differently from Python's",
                       help="use cmath, abs(z), z.conjugate(), or Python's operators")


_CMATH_1 = ("sqrt", "exp", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh",
            "acosh", "atanh", "phase", "isnan", "isinf")

HANDLERS: dict[Any, Handler] = {
    complex: construct, library.hypot: float_operation("library_hypot", 2),
    cmath.log: _log, cmath.polar: _polar, cmath.rect: _rect, cmath.isfinite: _isfinite, cmath.isclose: _isclose,
    **{getattr(cmath, name): of_one(name) for name in _CMATH_1},
    np.real: _part("real"), np.imag: _part("imag"), np.angle: _angle,
    np.isnan: of_parts("isnan"), np.isinf: of_parts("isinf"), np.isfinite: of_parts("isfinite"),
}
_NUMPY = {np.real, np.imag, np.angle, np.isnan, np.isinf, np.isfinite}
