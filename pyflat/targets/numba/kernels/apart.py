"""Which arrays of a kernel share no element, told to LLVM: else it tests before each loop whether they do.

Arguments that overlap have one memory (`ir.memory`), all others are apart. In LLVM's words each memory is a scope, and
an access belongs to one of them and to none of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from pyflat.analysis.kernels import Kernel
from pyflat.ir.memory import ArrayArgument
from pyflat.ir.nodes import Op


def kernel_memories(kernel: Kernel, sites: Sequence[Op]) -> dict[str, object]:
    """Array -> what it has in common with those that overlap it."""
    arguments = {name: a.memory for name, a in kernel.arguments.items() if isinstance(a, ArrayArgument)}
    return {**arguments, **{op.attr("array"): op.attr("array") for op in sites}}


class Apart:
    """Marks loads and stores with the memory that they are of."""

    def __init__(self, module: ir.Module, memories: Mapping[str, object]):
        self.module, self.memories = module, memories
        domain = self._own_node()
        scopes = {memory: self._own_node(domain) for memory in dict.fromkeys(memories.values())}
        self._own = {memory: self._node([scope]) for memory, scope in scopes.items()}
        self._others = {memory: self._node([each for other, each in scopes.items() if other != memory])
                        for memory in scopes}

    def _node(self, operands: Sequence[Any]) -> Any:
        return ir.values.MDValue(self.module, operands, name=str(len(self.module.metadata)))

    def _own_node(self, *operands: Any) -> Any:
        """A node that names itself first, which makes it one of its kind."""
        node = self._node([])
        node.operands = (node, *operands)
        return node

    def mark(self, access: Any, array: str) -> None:
        memory = self.memories[array]
        access.set_metadata("alias.scope", self._own[memory])
        access.set_metadata("noalias", self._others[memory])
