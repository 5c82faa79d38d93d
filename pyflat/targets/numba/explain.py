"""What `twin.explain()` says of the numba target: costs are measured, in adds of a register of lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyflat.analysis.liveness import used_outside
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Function, Loop, Op, walk
from pyflat.targets.numba import costs
from pyflat.targets.numba import engine as numba
from pyflat.targets.numba.arms import Arm, plan_arms
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.kernel import arms_waited, choose_shape, narrowed_of, refills
from pyflat.targets.numba.kernel_tests import decided, tested_before
from pyflat.targets.numba.library import library_function
from pyflat.targets.target import Costs, Lanes

if TYPE_CHECKING:
    from pyflat.analysis.kernels import Kernel


class RegisterCosts(Costs):
    """Lanes in registers, operations in one loop."""

    parallel_loops = "left to LLVM, which may make vectors of it"
    parallel_around = "in order, around the loops inside"

    @staticmethod
    def lanes(fused: Function, unchecked: bool) -> Lanes:
        engine = numba.compile(fused, unchecked=unchecked)
        shape = choose_shape(engine.values, processor().vector_bytes)
        outside = used_outside(engine.values.items, engine.values.results)
        arms = 0
        for item in walk(list(engine.values.items)):
            if isinstance(item, Block):
                planned = plan_arms(item.ops, [op for op in item.ops if op in outside], shape.width)
                arms += sum(isinstance(each, Arm) for each in planned or ())
        narrowed = narrowed_of(engine.values, shape)
        ints = sum(op in narrowed for op in all_ops(list(engine.values.items)))
        return Lanes(shape.width, shape.registers, arms, arms_waited(engine.values, shape),
                     refills(engine.values, shape), ints)

    @staticmethod
    def price(op: Op, width: int) -> float:
        return costs.cost_of(op, width)

    @staticmethod
    def exact(op: Op) -> bool:
        return library_function(op) is not None

    @staticmethod
    def about(lanes: Lanes, integers: int) -> Iterator[str]:
        together = f", {lanes.registers} registers together" if lanes.registers > 1 else ""
        yield f"  {lanes.width} lanes in a register{together}"
        if lanes.narrowed:
            yield f"  {lanes.narrowed} of {integers} operations on ints in 32 bits, which suffice there"

    @staticmethod
    def slower(lanes: Lanes, form: str) -> Iterator[str]:
        if lanes.width == 1 and form == "masked":
            yield "the loops mostly call functions, so that lanes run one by one"

    @staticmethod
    def tested_before(kernel: Kernel, layouts: Mapping[str, str], lanes: set[Loop]) -> set[Op]:
        return set(tested_before(kernel, layouts))

    @staticmethod
    def never_tested(kernel: Kernel) -> set[Op]:
        return kernel.indices.here

    @staticmethod
    def decided(kernel: Kernel, layouts: Mapping[str, str]) -> tuple[dict[Loop, str], dict[str, str]]:
        return decided(kernel, layouts)
