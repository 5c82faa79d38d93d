"""Quantities of pint and astropy: a dimensionless one is its numbers, another is refused with the wrapper to write.

Quantities of pint may hold the arrays of another library. Magnitudes and decibels are refused like units: what number
one of them is, its logarithm or not, is not known.
"""

from __future__ import annotations

from typing import Any

from pyflat.runtime.containers import LibraryCall


def call(call: LibraryCall) -> Any:
    """The result for the numbers of the quantities."""
    given = call.arguments()
    if all(map(_is_dimensionless, given.values())):
        return call.run({path: _numbers(value) for path, value in given.items()})
    path, value = next((path, value) for path, value in given.items() if not _is_dimensionless(value))
    raise TypeError(f"argument {call.name(path)!r} is a quantity of {_library(value)} in {_unit(value)}, and a twin "
                    f"computes with numbers: write a function that states the units of arguments and result:"
                    f"\n\n{_wrapper(call)}")


def by_name(call: LibraryCall, table: Any) -> Any:
    """A quantity is no table."""
    raise TypeError(f"by_name takes a table of named columns, not a {_library(table)} quantity")


def _library(value: Any) -> str:
    roots = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    return "astropy" if "astropy" in roots else "pint"


def _is_dimensionless(value: Any) -> bool:
    if _library(value) == "pint":
        return bool(value.dimensionless and value._is_multiplicative)
    logarithmic = hasattr(value.unit, "function_unit")
    return bool(value.unit is not None and not logarithmic and value.unit.is_equivalent(""))


def _numbers(value: Any) -> Any:
    """The numbers of a dimensionless quantity: percents and m/km count as what they are."""
    return value.to("dimensionless").magnitude if _library(value) == "pint" else value.to_value("")


def _unit(value: Any) -> str:
    return str(value.units if _library(value) == "pint" else value.unit)


def _wrapper(call: LibraryCall) -> str:
    """A function of two lines that takes quantities."""
    original = call.caller.callee.function.__name__
    name = original if original.isidentifier() else "function"
    passed = {call.name(path): (path, value) for path, value in call.passed().items()}
    numbers = [f"{label}=" * isinstance(path[0], str) + (_in_unit(label, value) if path in call.places else label)
               for label, (path, value) in passed.items()]
    units = "ureg" if _library(call.at(call.places[0])) == "pint" else "astropy.units"
    return (f"    def {name}_with_units({', '.join(passed)}):\n"
            f"        return {call.caller.parameters.name}({', '.join(numbers)}) * {units}.Unit('...')")


def _in_unit(label: str, value: Any) -> str:
    if _is_dimensionless(value):
        return f"{label}.m_as('')" if _library(value) == "pint" else f"{label}.to_value('')"
    return f"{label}.m_as({_unit(value)!r})" if _library(value) == "pint" else f"{label}.to_value({_unit(value)!r})"


