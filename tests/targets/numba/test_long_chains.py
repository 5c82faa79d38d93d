"""Chains of masks and kernels beyond what LLVM's own passes take in linear time."""

import numpy as np

import pyflat
from pyflat.targets.numba import compilation, jit, kernel


def left(x: float) -> float:
    for k in range(1_500):
        x = x * 0.75 + 1.0
        if x > 890.0 - k:
            break
        x = x - 0.25
    return x


def test_an_unrolled_loop_with_a_break_has_a_chain_of_any_length(monkeypatch):
    asked = []
    compile_ir = compilation.compile_ir

    def seen(*given, passes, **more):
        asked.append(passes)
        return compile_ir(*given, passes=passes, **more)

    monkeypatch.setattr(compilation, "compile_ir", seen)
    x = np.array([-3.0, 0.0, 480.0, 1180.0, 5e3, np.nan])
    twin = pyflat.twin(left, target="numba", loops="unroll")
    assert np.array_equal(twin(x), [left(v) for v in x.tolist()], equal_nan=True)
    assert asked == [jit.Passes.UNCOMBINED]


def test_large_kernels_are_written_once_for_one_register(monkeypatch):
    """The same values as small ones, which are written for several and in two ways."""
    x = np.linspace(-5.0, 900.0, 1_000)
    results, texts = [], []
    write_kernel = compilation.write_kernel

    def written(*given):
        text, symbols = write_kernel(*given)
        texts.append(text)
        return text, symbols

    monkeypatch.setattr(compilation, "write_kernel", written)
    for operations, lines in ((kernel.LARGE, jit.LARGE), (10, 10)):
        monkeypatch.setattr(kernel, "LARGE", operations)
        monkeypatch.setattr(jit, "LARGE", lines)
        results.append(pyflat.twin(collatz, target="numba", cache=False)(x))
    assert np.array_equal(*results)
    assert '@"refilled"' in texts[0] and '@"refilled"' not in texts[1]


def collatz(x: float) -> float:
    steps = 0
    while x > 1.0 and steps < 300:
        x = x * 3.0 + 1.0 if x % 2.0 >= 1.0 else x / 2.0
        steps += 1
    return float(steps)
