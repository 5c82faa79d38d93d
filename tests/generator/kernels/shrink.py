"""Makes a failing kernel small: one set of arguments, fewer statements, smaller arrays."""

from __future__ import annotations

import ast
from dataclasses import replace

from tests.generator.differential import Slow
from tests.generator.kernels.differential import Difference, check_kernel
from tests.generator.kernels.inputs import Inputs, smaller_inputs
from tests.generator.kernels.program import Kernel
from tests.generator.shrink import candidates


def shrink(kernel: Kernel, failure: Difference, target: str, checks: int = 500) -> tuple[Kernel, Difference]:
    """A smaller kernel with one set of arguments and a difference of the same kind, and that difference."""
    assert isinstance(failure.inputs, Inputs)
    alone = replace(kernel, inputs=(failure.inputs,))
    found = _fails(alone, failure, target)
    if found is None:  # it needs the calls before it
        return kernel, failure
    left = [checks]
    smaller, last = alone, found
    filled = replace(alone, source=alone.source.replace("np.empty(", "np.zeros("))
    if (still := _fails(filled, failure, target)) is not None:  # what fills an array may be left out then
        smaller, last = filled, still
    while True:
        text, last = _smaller_text(smaller, last, target, left)
        both, last = _smaller_arguments(text, last, target, left)
        if both == smaller or not left[0]:
            return both, last
        smaller = both


def _smaller_text(kernel: Kernel, failure: Difference, target: str, left: list[int]) -> tuple[Kernel, Difference]:
    improved = True
    while improved:
        improved = False
        for candidate in candidates(kernel.source):
            if len(candidate) >= len(kernel.source) or not _uses_arrays(candidate):
                continue
            if left[0] <= 0:
                return kernel, failure
            left[0] -= 1
            smaller = replace(kernel, source=candidate)
            found = _fails(smaller, failure, target)
            if found is not None:
                kernel, failure, improved = smaller, found, True
                break
    return kernel, failure


def _uses_arrays(source: str) -> bool:
    """Whether it is a kernel still: where no parameter is used as an array, arrays are lanes."""
    main = next((node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "main"), None)
    if main is None:
        return False
    names = {arg.arg for arg in main.args.args}
    return any(isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names
               for node in ast.walk(main))


def _smaller_arguments(kernel: Kernel, failure: Difference, target: str, left: list[int]) -> tuple[Kernel, Difference]:
    improved = True
    while improved:
        improved = False
        for inputs in smaller_inputs(kernel.inputs[0]):
            if left[0] <= 0:
                return kernel, failure
            left[0] -= 1
            smaller = replace(kernel, inputs=(inputs,))
            found = _fails(smaller, failure, target)
            if found is not None:
                kernel, failure, improved = smaller, found, True
                break
    return kernel, failure


def _fails(kernel: Kernel, like: Difference, target: str) -> Difference | None:
    """A difference like the one that is being shrunk; what does not run is none."""
    try:
        outcome = check_kernel(kernel, target, limit=20.0)
    except (Slow, SyntaxError, NameError, AttributeError, TypeError, ValueError, ArithmeticError, IndexError):
        return None
    found = next((f for f in outcome.failures if f.what == like.what), None)
    if found is None or (like.what == "error" and found.expected[:12] != like.expected[:12]):
        return None
    return found
