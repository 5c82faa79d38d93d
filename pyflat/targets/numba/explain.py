"""What `twin.explain()` says of the numba target: costs are measured, in adds of a register of lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.liveness import used_outside
from pyflat.ir.kernel_results import names
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Block, Function, Loop, Op, walk
from pyflat.targets.numba import costs
from pyflat.targets.numba import engine as numba
from pyflat.targets.numba.arms import Arm, plan_arms
from pyflat.targets.numba.jit import processor
from pyflat.targets.numba.kernel import arms_waited, choose_shape, narrowed_of, refills
from pyflat.targets.numba.kernels.emit import KernelCode, LabelTarget, Tested
from pyflat.targets.numba.kernels.outlined import is_in_place
from pyflat.targets.numba.library import library_function
from pyflat.targets.target import Costs, Lanes


class _Recording(KernelCode):
    """Writes the kernel and remembers the tests, and how loops run."""

    def __init__(self, kernel: Kernel, layouts: Mapping[str, str], returned: Sequence[str] = ()):
        super().__init__(kernel, layouts, returned, careful=False)
        self.before: set[Op] = set()
        self.how: dict[Loop, str] = {}

    def _tested(self, loop: Loop) -> Tested | None:
        found = super()._tested(loop)
        if found is not None:
            self.before |= found.always | found.here
        return found

    def _loop_once(self, loop: Loop, after: LabelTarget) -> None:
        flat, lanes, split = self.outlined.get(loop), self.lanes.get(loop), self.splits.get(loop)
        if flat is not None and flat.indices <= self.proven:
            where = "in place" if is_in_place(self, flat) else "blocks of elements are copied"
            self.how[loop] = f"a flat function over its iterations, {where}"
        elif lanes is not None and lanes.indices <= self.proven:
            inside = ", whatever the loops inside do" if has_loop(loop.body) else ""
            self.how[loop] = f"vectors hold its iterations{inside}"
        elif split is not None and split.plan.indices <= self.proven:
            self.how[loop] = "part of each iteration is computed beforehand, in vector lanes"
        super()._loop_once(loop, after)


class RegisterCosts(Costs):
    """Lanes in registers, operations in one loop."""

    parallel_loops = "left to LLVM, which may vectorise it"
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
            yield f"  {lanes.narrowed} of {integers} operations on ints use 32 bits"

    @staticmethod
    def slower(lanes: Lanes, form: str) -> Iterator[str]:
        if lanes.width == 1 and form == "masked":
            yield "the loops mostly call functions, so elements run one by one"

    @staticmethod
    def tested_before(kernel: Kernel, layouts: Mapping[str, str], lanes: set[Loop]) -> set[Op]:
        code = _Recording(kernel, layouts)
        code.text()
        return code.before

    @staticmethod
    def never_tested(kernel: Kernel) -> set[Op]:
        return kernel.indices.here

    @staticmethod
    def decided(kernel: Kernel, layouts: Mapping[str, str]) -> tuple[dict[Loop, str], dict[str, int | str]]:
        returned = [name for name in dict.fromkeys(names(kernel.result)) if name not in kernel.arguments]
        code = _Recording(kernel, layouts, returned)
        code.text()
        loops = code.how
        memory: dict[str, int | str] = dict(code.whole)
        for fusion in code.fusions.values():
            for part in fusion.parts:
                behind = f", {part.behind} behind the first" if part.behind else ""
                loops[part.loop] = f"fused with the adjacent loop, row by row{behind}"
            memory.update(fusion.rings)
        return loops, memory
