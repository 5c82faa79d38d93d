"""Compiled lanes have the reference's bits, for every processor, and the loops become vector code."""

from __future__ import annotations

import math
import re
from functools import cache

import numpy as np
import pytest

pytest.importorskip("llvmlite")
pytest.importorskip("mpmath")

from llvmlite import binding as llvm

import pyflat
from benchmarks import vmath_kernels
from benchmarks.vmath_points import operands
from pyflat.functions import vmath
from pyflat.functions.vmath.machine import FORMATS, NumpyMachine
from pyflat.ir.ops import VECTOR
from pyflat.targets.numba import engine as target
from pyflat.testing import same_bits
from tests.targets.flat_functions import assert_is_interp, one_operation, rows_of

WIDTHS = ("f8", "f4")
VECTORS = {"f8": "<4 x double>", "f4": "<8 x float>"}


def lanes_of(name: str, width: str) -> tuple[np.ndarray, ...]:
    """Ordinary, adversarial and special operands."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-40, -1e-40], dtype=vmath_kernels.DTYPES[width])
    arrays = operands(name, width, 100, 2)
    ends = np.meshgrid(*[special] * len(arrays))
    return tuple(np.concatenate([a, e.ravel()]) for a, e in zip(arrays, ends))


def assert_same_bits(got: np.ndarray, expected: np.ndarray, where: np.ndarray) -> None:
    whole = np.int64 if got.dtype == np.float64 else np.int32
    different = (got.view(whole) != expected.view(whole)) & ~(np.isnan(got) & np.isnan(expected)) & where
    assert not different.any(), np.flatnonzero(different)[:5]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", vmath.TABLE)
def test_compiled_is_the_reference(name, width):
    args = lanes_of(name, width)
    far, machine = vmath.TABLE[name].far, NumpyMachine(FORMATS[width])
    with np.errstate(all="ignore"):
        near = np.ones(args[0].shape, bool) if far is None else ~far(machine, *args)
    assert near.sum() > 300
    assert_same_bits(vmath_kernels.library(width).kernel(name)(*args), vmath.evaluate(name, *args), near)


@cache
def for_processor(width: str, cpu: str) -> vmath_kernels.Library:
    return vmath_kernels.Library(vmath.TABLE, width, cpu=cpu)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", vmath.TABLE)
def test_the_loop_is_vector_code_without_calls_on_avx2(name, width):
    if not llvm.get_process_triple().startswith("x86_64"):
        pytest.skip("AVX2 is x86's")
    text = for_processor(width, "haswell").optimized
    body = text.split(f"@{name}.{width}(", 1)[1].split("\n}", 1)[0]
    # These compute in float64 for float32 too: half the lanes.
    assert VECTORS["f8" if name in ("gamma", "lgamma") else width] in body
    assert not [c for c in re.findall(r"call [^@]*@([\w.]+)", body) if not c.startswith("llvm.")]
    assembly = for_processor(width, "haswell").assembly.split(f"{name}.{width}:", 1)[1].split(".cfi_endproc", 1)[0]
    assert "call" not in assembly
    assert "%ymm" in assembly


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("cpu", ["haswell", "x86-64"])
def test_other_processors_compute_the_same_bits(width, cpu):
    """AVX2, and a processor without a fused multiply-add, where the C library computes it."""
    features = llvm.get_host_cpu_features()
    if cpu == "haswell" and not (features.get("avx2") and features.get("fma")):
        pytest.skip("this processor has no AVX2")
    if not llvm.get_process_triple().startswith("x86_64"):
        pytest.skip("processors of x86")
    compiled = for_processor(width, cpu)
    for name, row in vmath.TABLE.items():
        args = tuple(a[:400] for a in lanes_of(name, width))
        assert_same_bits(compiled.kernel(name)(*args), vmath_kernels.library(width).kernel(name)(*args),
                         np.ones(args[0].shape, bool))
        assert row.operands == len(args)


@pytest.mark.parametrize("name", VECTOR)
def test_the_engine_is_the_interpreter(name):
    """Through the numba target: values, suspect lanes, and the lanes that a branch hands to the C library."""
    ((kinds, result),) = VECTOR[name].signatures
    fn = one_operation(name, kinds, result)
    assert_is_interp(fn, target.compile(fn), rows_of(kinds, 10, 40))


@pytest.mark.parametrize("exponent", [2.4, -0.3, 5.0, 1e300, -7.0])
def test_powers_with_a_literal_exponent_have_the_bits_of_all_powers(exponent):
    """In line for normal positive numbers, out of line for the others: alone, mixed, and where no lane is such a one."""
    def literal(x: float) -> float:
        return x**exponent if x != 0.0 and (x > 0.0 or exponent == int(exponent)) else 1.0

    special = np.array([1.0, -1.0, 5e-324, 2.0**-1022, 1e-310, -2.5, 1.7e308, math.inf, 0.99, -0.0, math.nan, -math.inf])
    ordinary = np.random.default_rng(2).uniform(0.5, 2.0, 600)
    mixed = np.where(np.arange(600) % 5 == 0, special[np.arange(600) % 12], ordinary)
    twin = pyflat.twin(literal, target="numba", math="fast", errors="unchecked")
    with np.errstate(all="ignore"):
        for x in (special, ordinary, mixed):
            whole = vmath.evaluate("pow", x, np.full_like(x, exponent))
            told = (x > 0.0) | ((x < 0.0) & (exponent == int(exponent)))
            assert same_bits(twin(x)[told], whole[told])
