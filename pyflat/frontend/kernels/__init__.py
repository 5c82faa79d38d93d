"""Kernels: functions of arrays, as structured IR. Which parameters are arrays says `frontend.roles`.

The evaluator is that of other functions, with one lane: what depends on arguments is an operation.
"""

from __future__ import annotations

import types
from collections.abc import Container, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

from pyflat.analysis.dependence import Surroundings
from pyflat.analysis.small_ints import small_ints
from pyflat.analysis.sure_indices import SureIndices, sure_indices
from pyflat.errors import refuse
from pyflat.frontend.capture import Captured, capture
from pyflat.frontend.kernels import results as kernel_results
from pyflat.frontend.kernels.flags import add_flags
from pyflat.frontend.python_space import PythonEvaluator
from pyflat.frontend.space import memories, unsigned, width_rules
from pyflat.frontend.space.routines import depends_on_order
from pyflat.frontend.space.scratch import AdoptError
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.guards import Guards
from pyflat.frontend.state.values import Abstract, MemoryRef, State, Static
from pyflat.frontend.state.widths import Model, Widths
from pyflat.frontend.syntax import calls
from pyflat.ir.build import undefined
from pyflat.ir.faults import can_fault
from pyflat.ir.kernel_results import Result
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import ArrayArgument, ScalarArgument, arrays_read, may_warn
from pyflat.ir.nodes import FAULT, Block, Exit, Function, Op, Param, Value, Yield, walk
from pyflat.ir.recursion import room_to_recurse
from pyflat.ir.shape import Fixed, Leaf

UNROLLED = 16
"""Iterations up to which a loop of a kernel with a known range is written out."""
MAX_OPS = 100_000
Argument = ArrayArgument | ScalarArgument | Leaf | Fixed


@dataclass(eq=False)
class Kernel:
    """A kernel for arguments of these dtypes and ranks, as structured IR.

    function   its parameters are, for each argument in order: of an array the memory (where no argument before has the
               same) and the length of each axis, of a number the number
    result     how its results make up what it returns
    written    the arguments that it writes
    models     arrays made of others (`np.zeros_like`, `a + b`) -> those
    """

    function: Function
    arguments: dict[str, Argument]
    result: Result
    written: tuple[str, ...]
    captured: Captured
    guards: Guards
    models: dict[str, tuple[Model, ...]]

    @cached_property
    def in_c_order(self) -> frozenset[str]:
        """Arrays made of others that NumPy's routines read, and that lie in C's order here: what they give may depend
        on the order."""
        read = {name for op in all_ops(self.function.body)
                if op.opcode == "routine" and depends_on_order(op.attr("routine")) for name in arrays_read(op)}
        return frozenset(read & self.models.keys())

    def surroundings(self) -> Surroundings:
        """Where its loops stand, for `analysis.parallel_loops`."""
        return Surroundings(self.function, self.lengths())

    def lengths(self) -> list[Param]:
        """The parameters that are lengths of axes."""
        found: list[Param] = []
        params, memories = iter(self.function.params), set[int]()
        for argument in self.arguments.values():
            if isinstance(argument, ArrayArgument):
                if argument.memory not in memories:
                    memories.add(argument.memory)
                    next(params)
                found += [next(params) for _ in range(argument.rank)]
            elif not isinstance(argument, Fixed):
                next(params)
        return found

    @cached_property
    def small(self) -> frozenset[Value]:
        """Its ints that stay so (`analysis.small_ints`)."""
        return frozenset(small_ints(self.function, self.lengths()))

    @cached_property
    def indices(self) -> SureIndices:
        return sure_indices(self.function, self.lengths(), self.small)

    def undone(self, ends: Container[Op] | None, *, strict: bool) -> tuple[str, ...]:
        """The arguments whose elements have to be put back before the original can run on them: those that are read as
        well, and all that are written where stores may come after a fault. `ends`: the operations whose faults end a
        run at once, so that stores before them are those of the original, as does an index outside; None: stores come
        in another order. `strict`: a warning ends the original."""
        ops = list(all_ops(self.function.body))
        faulty = [op for op in ops if op.opcode != "index" and op not in self.small and can_fault(op)]
        warns = [op for op in ops if may_warn(op.opcode, op.kind)]
        if ends is None or strict and warns or any(op not in ends for op in faulty):
            return self.written
        if not (faulty or warns or self._is_left_early(ops)):
            return ()
        memory = {name: a.memory for name, a in self.arguments.items() if isinstance(a, ArrayArgument)}
        read = {memory.get(name) for op in ops for name in arrays_read(op)}
        return tuple(name for name in self.written if memory[name] in read)

    def _is_left_early(self, ops: Sequence[Op]) -> bool:
        exits = any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is FAULT
                    for item in walk(self.function.body))
        return exits or any(op.opcode in ("alloc", "routine") or op.opcode == "index" and op not in self.indices.here
                            for op in ops)


def specialise_kernel(function: types.FunctionType, arguments: Mapping[str, Argument]) -> Kernel:
    """The structured IR of a kernel. Raises FlattenError."""
    try:
        return _specialised(function, arguments)
    except AdoptError as found:
        raise refuse("flatten/effect", "the kernel writes to a captured object", found.span,
                     help="make it an argument, or return the value") from None


def _specialised(function: types.FunctionType, arguments: Mapping[str, Argument]) -> Kernel:
    s = PythonEvaluator(loops="auto", max_unroll=UNROLLED, max_ops=MAX_OPS, long=UNROLLED, reuse=False)
    s.widths, s.saw_numpy = Widths(), True
    params: list[Param] = []
    with room_to_recurse(function), closing(s):
        captured = capture(function)
        bound = _bind(s, function, arguments, params)
        s.arguments.update(params)
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
    return Kernel(ir, dict(arguments), result, tuple(n for n in arguments if n in stored), captured, s.guards,
                  s.widths.models)


def _bind(s: PythonEvaluator, function: types.FunctionType, arguments: Mapping[str, Argument], params: list[Param]
          ) -> dict[str, Abstract]:
    """The parameters: those that are given, and the defaults of the others."""
    bound = _given(s, arguments, params)
    for name, parameter in lookup.signature_of(function).parameters.items():
        if name in bound:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            bound[name] = Static(())
        elif parameter.kind is parameter.VAR_KEYWORD:
            bound[name] = heap.new_dict(s, {})
        else:
            bound[name] = lookup.default_value(s, parameter.default)
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
                value = memories.widths_of(s).mark(params[-1], frozenset({argument.dtype}))
                bound[name] = unsigned.of_bits(memories.widths_of(s), value) if argument.dtype == "u8" else value
            case Leaf():
                params.append(Param(argument.kind, name))
                bound[name] = memories.widths_of(s).mark(params[-1], frozenset({None}))
            case Fixed():
                bound[name] = s.space.wrap(argument.value)
    return bound
