"""Kernels: functions of arrays, as structured IR. Which parameters are arrays says `frontend.roles`.

The evaluator is that of other functions, with one lane: what depends on arguments is an operation.

Names of the arrays that a kernel makes inside are those of the variables that they are first bound to.

    t = np.empty(n)                  "t"
    t = np.zeros(n)                  "t 2", where there is a "t"
    np.dot(a * 2, b)                 "array 1": `a * 2` has no variable
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyflat.analysis.kernels import Argument, Kernel
from pyflat.analysis.made_arrays import made_arrays
from pyflat.errors import refuse
from pyflat.frontend.capture import Captured, capture
from pyflat.frontend.kernels import results as kernel_results
from pyflat.frontend.kernels.results import add_flags
from pyflat.frontend.python_space import PythonEvaluator
from pyflat.frontend.space import memories, unsigned, width_rules
from pyflat.frontend.space.routines import depends_on_order
from pyflat.frontend.space.scratch import AdoptError
from pyflat.frontend.state import lookup
from pyflat.frontend.state.guards import Guards
from pyflat.frontend.state.values import Abstract, MemoryRef, State
from pyflat.frontend.state.widths import Widths
from pyflat.frontend.syntax import calls
from pyflat.ir.build import undefined
from pyflat.ir.kernel_results import Model, renamed
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import ArrayArgument, ScalarArgument, arrays_read
from pyflat.ir.nodes import Function, Param, Yield
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.shape import Fixed, Leaf
from pyflat.ir.types import MEMORY


def name_arrays(fn: Function, taken: Collection[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Rename the arrays in the IR; returns the new names by the old ones. `variables` are names that the arrays may
    have, and `taken` those that others have."""
    ops = list(all_ops(fn.body))
    given, names = set(taken), dict[str, str]()
    for op in ops:
        if op.opcode in ("alloc", "routine") and op.kind is MEMORY and (array := op.attr("array")) not in names:
            names[array] = _free(variables.get(array, ""), given)
            given.add(names[array])
    for op in ops:
        if op.opcode in ("alloc", "load", "store", "routine"):
            op.attrs = tuple((key, _renamed(key, value, names)) for key, value in op.attrs)
    return names


def rename_models(models: Mapping[str, tuple[Model, ...]], names: Mapping[str, str]) -> dict[str, tuple[Model, ...]]:
    """The arrays that others are made of, where some have other names."""
    return {names.get(array, array): tuple((names.get(name, name), axes) for name, axes in of)
            for array, of in models.items()}


def _free(variable: str, given: Collection[str]) -> str:
    name, number = variable or "array 1", 1
    while name in given:
        number += 1
        name = f"{variable or 'array'} {number}"
    return name


def _renamed(key: str, value: object, names: Mapping[str, str]) -> object:
    match key, value:
        case "array", str():
            return names.get(value, value)
        case "operands", tuple():
            return tuple((names.get(name, name), *rest) for name, *rest in value)
    return value


UNROLLED = 16
"""The default of the option `max_tracing_dim`."""
MAX_OPS = 100_000
@dataclass(eq=False)
class SourceKernel(Kernel):
    """A kernel with its source, and what was read from outside."""

    captured: Captured
    guards: Guards

    @cached_property
    def changeable(self) -> list[tuple[str, Any]]:
        """Arguments that are written, and captured arrays: a call for which they overlap is the original's."""
        captured = [reading.value for reading in self.guards.readings() if isinstance(reading.value, np.ndarray)]
        return [(name, array) for name in self.written for array in captured]

    @cached_property
    def in_c_order(self) -> frozenset[str]:
        """Arrays made of others that NumPy's routines read, and that lie in C's order here: what they give may depend
        on the order."""
        read = {name for op in all_ops(self.function.body)
                if op.opcode == "routine" and depends_on_order(op.attr("routine")) for name in arrays_read(op)}
        return frozenset(read & self.models.keys())


def specialise_kernel(function: types.FunctionType, arguments: Mapping[str, Argument], max_tracing_dim: int = UNROLLED
                      ) -> SourceKernel:
    """The structured IR of a kernel. Raises FlattenError."""
    try:
        return _specialised(function, arguments, max_tracing_dim)
    except AdoptError as found:
        raise refuse("flatten/effect", "the kernel writes to a captured object", found.span,
                     help="make it an argument, or return the value") from None


def _specialised(function: types.FunctionType, arguments: Mapping[str, Argument], most: int) -> SourceKernel:
    s = PythonEvaluator(loops="auto", max_unroll=most, max_ops=MAX_OPS, long=most, reuse=False)
    s.widths = Widths(kernel=True)
    params: list[Param] = []
    with room_to_recurse(function), closing(s):
        captured = capture(function)
        bound = _bind(s, function, arguments, params)
        s.widths.arguments.update(params)
        frame = calls.make_frame(s, function, captured, bound, None)
        s.frames.append(frame)
        s.state = State(dict(bound), s.state.heap)
        calls.box_variables(s, frame)
        with s.at(captured.tree):
            before = s.state.copy()
            items, edges = s._arm(lambda: calls.run_body(s, frame), s.state)
            out = [*frame.returns.edges, *[e for e in edges if not e.dead]]
            result, kinds, flags = kernel_results.settle(s, out, before)
    for edge in edges:
        if edge.dead and isinstance(edge.end, Yield):
            edge.end.values = [undefined(kind) for kind in kinds]
    ir = Function(captured.name.strip("<>"), params, items, frame.returns.label, kinds)
    ir.label.name = "return"
    add_flags(ir, s.widths, flags)
    s.guards.code(function)
    stored = {op.attr("array") for op in all_ops(items) if op.opcode == "store"}
    names = name_arrays(ir, arguments, s.widths.array_names)
    kernel = SourceKernel(ir, dict(arguments), renamed(result, names), tuple(n for n in arguments if n in stored),
                          rename_models(s.widths.models, names), captured.tree, captured, s.guards)
    returned = {names.get(array, array): span for array, span in kernel_results.returned_at(out)}
    kernel.local = made_arrays(kernel, returned)
    return kernel


def _bind(s: PythonEvaluator, function: types.FunctionType, arguments: Mapping[str, Argument], params: list[Param]
          ) -> dict[str, Abstract]:
    """The parameters: those that are given, and the defaults of the others."""
    bound = _given(s, arguments, params)
    for name, parameter in lookup.signature_of(function).parameters.items():
        if name not in bound:
            bound[name] = lookup.without_argument(s, parameter)
    return bound


def _given(s: PythonEvaluator, arguments: Mapping[str, Argument], params: list[Param]) -> dict[str, Abstract]:
    bound: dict[str, Abstract] = {}
    shared: dict[int, MemoryRef] = {}
    for name, argument in arguments.items():
        s.parameter = name
        match argument:
            case ArrayArgument():
                bound[name] = memories.argument(s, argument, name, params, shared)
            case ScalarArgument():
                kind = width_rules.kind_of(argument.dtype)
                params.append(Param(kind, name))
                value = s.widths.mark(params[-1], frozenset({argument.dtype}))
                bound[name] = unsigned.of_bits(s.widths, value) if argument.dtype == "u8" else value
            case Leaf():
                params.append(Param(argument.kind, name))
                bound[name] = s.widths.mark(params[-1], frozenset({None}))
            case Fixed():
                bound[name] = s.space.wrap(argument.value)
    return bound
