"""The arrays that a kernel makes, as its IR has them before any pass: lengths and places in the user's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.temporaries import MadeArray, Use
from pyflat.errors import Span
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import ArrayArgument, arrays_read, extents_made
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import SIGNS
from pyflat.ir.types import MEMORY


def made_arrays(kernel: Kernel, returned: Mapping[str, Span | None]) -> dict[str, MadeArray]:
    """The arrays by their names; `returned` says where those are that the kernel returns."""
    lengths, found = names_of_lengths(kernel), dict[str, MadeArray]()
    places: dict[str, dict[Use, Span]] = {}

    def note(name: str, use: Use, place: Span | None) -> None:
        if place is not None:
            places.setdefault(name, {}).setdefault(use, place)

    for op in all_ops(kernel.function.body):
        place = op.origin.span if op.origin is not None else None
        for name in arrays_read(op):
            note(name, "routine" if op.opcode == "routine" else "read", place)
        if op.opcode == "store":
            note(op.attr("array"), "written", place)
        if op.kind is MEMORY and op.opcode in ("alloc", "routine"):
            name = op.attr("array")
            note(name, "made", place)
            if op.opcode == "routine":
                note(name, "routine", place)
            shown = tuple(shown_length(extent, lengths) for extent in extents_made(op))
            found.setdefault(name, MadeArray(op.attr("dtype"), shown, places.setdefault(name, {})))
    for name, place in returned.items():
        note(name, "returned", place)
    return found


def names_of_lengths(kernel: Kernel) -> dict[Value, str]:
    """The numbers among the parameters of the IR, as a person names them."""
    found: dict[Value, str] = {}
    for name, numbers in numbers_of_arguments(kernel).items():
        is_array = isinstance(kernel.arguments[name], ArrayArgument)
        found.update((number, f"{name}.shape[{axis}]" if is_array else name) for axis, number in enumerate(numbers))
    return found


def numbers_of_arguments(kernel: Kernel) -> dict[str, Sequence[Value]]:
    """The parameters of the IR that are the lengths of an array's axes, or a number itself, by argument."""
    params = iter(kernel.function.params)
    found: dict[str, Sequence[Value]] = {}
    memories: set[int] = set()
    for name, argument in kernel.arguments.items():
        if isinstance(argument, ArrayArgument):
            if argument.memory not in memories:
                memories.add(argument.memory)
                next(params)
            found[name] = [next(params) for _ in range(argument.rank)]
        elif hasattr(argument, "kind") or hasattr(argument, "dtype"):
            found[name] = [next(params)]
    return found


def shown_length(value: Value, known: Mapping[Value, str]) -> str:
    """A length, in the names of `names_of_lengths`."""
    if isinstance(value, Const):
        return str(value.value)
    if value in known:
        return known[value]
    if isinstance(value, Op) and value.opcode in ("add", "sub", "mul"):
        return f"({f' {SIGNS[value.opcode]} '.join(shown_length(arg, known) for arg in value.args)})"
    if isinstance(value, Op) and len(value.args) == 1:
        return shown_length(value.args[0], known)
    return "?"
