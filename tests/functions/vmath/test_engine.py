"""The vector math inside the numba engine, in vectors of the machine's width and of half of it, has the reference's
bits: where the processor has instructions of its own for a step, too."""

from __future__ import annotations

import numpy as np
import pytest

from pyflat.functions import vmath
from pyflat.functions.vmath.machine import F4, F8, NumpyMachine
from pyflat.functions.vmath.steps import scale_by_halves
from pyflat.ir.ops import VECTOR
from pyflat.ir.parse import parse_function
from pyflat.targets.numba import engine as numba_target
from pyflat.targets.numba.jit import processor

COUNT = 6_000
VECTOR_NAMES = {opcode.removeprefix("vec_") for opcode in VECTOR}


def operands(count: int, floats: str) -> list[np.ndarray]:
    """Random numbers of ordinary size, at the limits of exponentials, and of any bits."""
    rng = np.random.default_rng(count)
    dtype, bits = (np.float64, np.int64) if floats == "f8" else (np.float32, np.int32)
    limit = 745.2 if floats == "f8" else 104.0
    made = []
    for _ in range(count):
        info = np.iinfo(bits)
        anything = rng.integers(info.min, info.max, COUNT, dtype=bits, endpoint=True).view(dtype)
        parts = [rng.normal(0, 3, COUNT), rng.uniform(-limit, limit, COUNT), -limit + rng.uniform(-2, 45, COUNT), anything]
        with np.errstate(all="ignore"):
            made.append(rng.permutation(np.concatenate([part.astype(dtype) for part in parts])))
    return made


@pytest.mark.parametrize("features", [None, "+avx2,+fma,+avx"])
@pytest.mark.parametrize("floats", ["f8", "f4"])
def test_every_function_has_the_references_bits(floats: str, features: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if features is not None and "+avx2" not in processor().features.split(","):
        pytest.skip("this processor has no AVX2")
    if features is not None:
        monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
        monkeypatch.setenv("NUMBA_CPU_FEATURES", features)
    form = "flat" if floats == "f8" else "flat f4"
    for name in sorted(VECTOR_NAMES):
        row = vmath.TABLE[name]
        names = ["%x", "%y"][: row.operands]
        params = ", ".join(f"{p}: {floats}" for p in names)
        text = (f"func @one({params}) -> ({floats}, b) {form} @return {{\n"
                f"  %r = vec_{name} {', '.join(names)} : {floats}\n  yield %r, false\n}}\n")
        lanes = operands(row.operands, floats)
        (got,), suspect = numba_target.compile(parse_function(text))(lanes, len(lanes[0]))
        assert suspect is None
        want = vmath.evaluate(name, *lanes)
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))
        if name == "lgamma":  # at its poles, where CPython raises, there is no value
            with np.errstate(invalid="ignore"):
                same |= (lanes[0] <= 0.0) & (lanes[0] == np.rint(lanes[0]))
        at = int(np.flatnonzero(~same)[0]) if not same.all() else 0
        assert same.all(), f"{name}({[x[at] for x in lanes]}) = {got[at]!r}, not {want[at]!r}"


@pytest.mark.parametrize(("machine", "dtype"), [(NumpyMachine(F8), np.float64), (NumpyMachine(F4), np.float32)])
def test_scaling_by_one_step_and_by_halves_is_the_same(machine: NumpyMachine, dtype: type) -> None:
    bias = machine.format.bias
    n = np.arange(-2 * bias + 1, 2 * bias, dtype=dtype)
    x = np.linspace(0.25, 4.0, len(n), dtype=dtype)
    k = machine.bits(n + dtype(machine.format.magic + 2.0 * bias))
    with np.errstate(all="ignore"):
        assert machine.scaled(x, n).tobytes() == scale_by_halves(machine, x, k).tobytes()
