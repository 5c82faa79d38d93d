"""What `make demo` runs: real functions flattened as they are, checked bit for bit, timed, and one picture.

Exit status 1 if any lane of any twin differs from its original.
"""

from __future__ import annotations

import argparse
import colorsys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import pyflat
import scene
from kernels import KERNELS, Kernel
from lanewise import columns, differing_lanes, original_columns, seconds

TARGETS = ("numpy", "numba")


@dataclass(frozen=True)
class Row:
    """One function on one target."""

    name: str
    target: str
    flatten_ms: float
    first_call_ms: float
    vectorize_ns: float
    twin_ns: float
    checked: int
    wrong: int

    def __str__(self) -> str:
        verdict = "all equal" if not self.wrong else f"{self.wrong:,} DIFFER"
        return (
            f"{self.name:<18} {self.target:<6} {self.flatten_ms:>9.1f} {self.first_call_ms:>11.1f}"
            f" {self.vectorize_ns:>12.1f} {self.twin_ns:>8.2f} {self.vectorize_ns / self.twin_ns:>7.1f}x"
            f"   {self.checked:,} lanes {verdict}"
        )


HEADER = (
    f"{'function':<18} {'target':<6} {'flatten':>9} {'1st call':>11} {'np.vectorize':>12} {'twin':>8} {'ratio':>8}\n"
    f"{'':<18} {'':<6} {'ms':>9} {'ms':>11} {'ns/lane':>12} {'ns/lane':>8}"
)


def measure(kernel: Kernel, target: str, vectorize_ns: float, lane_count: int, checked: int) -> Row:
    lanes = kernel.lanes(lane_count)
    start = time.perf_counter()
    twin = pyflat.twin(kernel.function).with_options(target=target, math="exact")
    _ = twin.source  # flattens now; the first call only compiles
    flatten = time.perf_counter() - start
    one = tuple(column[:1] for column in lanes)
    start = time.perf_counter()
    twin(*one)
    first_call = time.perf_counter() - start

    sample = tuple(column[:checked] for column in lanes)
    expected = original_columns(kernel.function, sample)
    result = tuple(column[:checked] for column in columns(twin(*lanes)))
    wrong = differing_lanes(result, expected)
    for lane in wrong[:3]:
        arguments = ", ".join(repr(column[lane].item()) for column in sample)
        print(f"  lane {lane}: {kernel.name}({arguments}): original {[c[lane].item() for c in expected]},"
              f" {target} {[c[lane].item() for c in result]}")
    best = seconds(lambda: twin(*lanes), 5)
    return Row(kernel.name, target, flatten * 1e3, first_call * 1e3, vectorize_ns, best / lane_count * 1e9,
               len(expected[0]), len(wrong))


def warm_up() -> None:
    """Imports LibCST and numba, so that the first row does not pay for it."""
    for target in TARGETS:
        pyflat.twin(scene.clamp).with_options(target=target)(0.5, 0.0, 1.0)


def vectorize_time(kernel: Kernel, sampled: int) -> float:
    """Nanoseconds for each lane of np.vectorize(original), on a sample."""
    lanes = tuple(column[-sampled:] for column in kernel.lanes(2 * sampled))
    vectorized = np.vectorize(kernel.function)
    return seconds(lambda: vectorized(*lanes), 3) / sampled * 1e9


def relaxed(x: float) -> float:
    """A long loop with a decision in it, all of which unrolls."""
    y = 0.0
    for i in range(4096):
        y = 0.5 * y + (x * i if x > i else -x)
    return y


def unrolling_time() -> str:
    """How long it takes to flatten and to print as many iterations as may unroll without being asked for."""
    twin = pyflat.twin(relaxed, loops="unroll")
    start = time.perf_counter()
    operations = twin.show(stage="flat").count(" = ")
    flattened = time.perf_counter()
    _ = twin.source
    printed = time.perf_counter()
    return (f"4,096 iterations unrolled to {operations:,} operations: flattened in {flattened - start:.2f} s,"
            f" as text in {printed - flattened:.2f} s")


def render(path: Path, width: int, height: int) -> str:
    """The picture of scene.py, each pixel the mean of four lanes."""
    twin = pyflat.twin(scene.pixel).with_options(target="numba")
    v, u = np.mgrid[0 : 2 * height, 0 : 2 * width] + 0.5
    u, v = (u - width) / height, 1.0 - v / height
    start = time.perf_counter()
    _ = twin.source
    flattened = time.perf_counter()
    twin(u[:1, :1], v[:1, :1])
    compiled = time.perf_counter()
    picture = np.stack(columns(twin(u, v)), axis=-1)
    ran = time.perf_counter()
    picture = picture.reshape(height, 2, width, 2, 3).mean(axis=(1, 3))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((picture * 255.0 + 0.5).astype(np.uint8)).save(path)
    return (f"{path}: {width} x {height} pixels from {u.size:,} lanes; flattened in {flattened - start:.2f} s,"
            f" compiled in {compiled - flattened:.2f} s, computed in {ran - compiled:.2f} s")


def check_picture(lane_count: int) -> int:
    """How many of `lane_count` pixels differ from scene.pixel on NumPy or numba."""
    rng = np.random.default_rng(2)
    u, v = rng.uniform(-1.6, 1.6, lane_count), rng.uniform(-1.0, 1.0, lane_count)
    expected = original_columns(scene.pixel, (u, v))
    results = (columns(pyflat.twin(scene.pixel).with_options(target=target, math="exact")(u, v)) for target in TARGETS)
    return sum(len(differing_lanes(result, expected)) for result in results)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lanes", type=int, default=1_000_000)
    parser.add_argument("--checked", type=int, default=20_000, help="lanes compared with the original")
    parser.add_argument("--sampled", type=int, default=50_000, help="lanes on which np.vectorize is timed")
    parser.add_argument("--picture", type=Path, default=Path("out/scene.png"))
    parser.add_argument("--size", type=int, nargs=2, default=(640, 400), metavar=("WIDTH", "HEIGHT"))
    chosen: Any = parser.parse_args(arguments)

    print("colorsys.rgb_to_hsv of the standard library, flattened:\n")
    print(pyflat.twin(colorsys.rgb_to_hsv).show())
    print(f"\n{chosen.lanes:,} lanes, the edges of every branch among them; np.vectorize timed on {chosen.sampled:,};")
    print(f"every one of the first {chosen.checked:,} lanes compared bit for bit with the original;")
    print("times are the shortest of 5 runs (np.vectorize: of 3). \"flatten\" reads, flattens and prints the twin;")
    print("\"1st call\" is a call with one lane, which compiles.\n")
    warm_up()
    print(HEADER)
    wrong = 0
    for kernel in KERNELS:
        vectorize_ns = vectorize_time(kernel, chosen.sampled)
        for target in TARGETS:
            row = measure(kernel, target, vectorize_ns, chosen.lanes, chosen.checked)
            print(row, flush=True)
            wrong += row.wrong
    print()
    print(unrolling_time())
    print(render(chosen.picture, *chosen.size))
    pixels = min(chosen.checked, 2_000)
    wrong_pixels = check_picture(pixels)
    print(f"{pixels:,} pixels compared with the original on {' and '.join(TARGETS)}: "
          + (f"{wrong_pixels:,} DIFFER" if wrong_pixels else "all equal"))
    return 1 if wrong or wrong_pixels else 0


if __name__ == "__main__":
    raise SystemExit(main())
