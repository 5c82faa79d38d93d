"""Index loops that others have written for numba.njit, as twins: bits against the plain functions, times against njit.

    python -m benchmarks.package_kernels [--target numba] [--only dtw]

Functions of quantecon, numbagg, librosa, pyts, tslearn and stumpy, as far as these are installed, as they stand in the
packages. Twin and plain function run on the same small arguments of several dtypes and layouts, and everything that a
caller can see is compared: bits, results, exceptions, warnings. On large arguments
the twin takes turns with njit of the same function; bits of njit may differ from Python's there, and then a `~` stands
at the ratio. The exit status is 1 when a twin differs from its original.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyflat
from benchmarks.arrays import outputs, same_bits
from benchmarks.environment import pin
from benchmarks.measuring import geomean, keep_freed_memory
from benchmarks.report import markdown
from tests.generator.kernels.differential import Outcome, compare

Arguments = tuple[Any, ...]
Makes = Callable[[np.random.Generator, int], Arguments]


@dataclass(frozen=True)
class PackageKernel:
    """`makes(r, n)` are arguments of about `n` elements; `large` is the `n` to measure with."""

    module: str
    attribute: str
    makes: Makes
    large: int

    @property
    def name(self) -> str:
        return f"{self.module.partition('.')[0]} {self.attribute.lstrip('_')}"

    def original(self) -> Callable[..., Any]:
        """The plain function, out of what the package's decorator made of it. Raises ImportError."""
        found = getattr(importlib.import_module(self.module), self.attribute)
        plain: Callable[..., Any] = getattr(found, "py_func", None) or getattr(found, "func", None) or found
        return plain


@dataclass(frozen=True)
class Copies:
    """A set of arguments for the oracle: copies of these, with their layouts."""

    given: Arguments
    mode: str = "default"

    @property
    def text(self) -> str:
        return repr(self.given)

    def arguments(self) -> Arguments:
        return tuple(one.copy(order="K") if isinstance(one, np.ndarray) else one for one in self.given)


def _holes(r: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """Numbers with a tenth of nan."""
    return np.where(r.random(n) < 0.1, np.nan, r.normal(size=n))


def _moving(r: np.random.Generator, n: int) -> Arguments:
    return _holes(r, n), min(n, 5), 3, np.zeros(n)


def _exponential(r: np.random.Generator, n: int) -> Arguments:
    return _holes(r, n), r.uniform(0.1, 0.9, n), 0.3, np.zeros(n)


def _tableau(r: np.random.Generator, n: int) -> Arguments:
    rows = max(2, math.isqrt(n // 2))
    return r.uniform(-1, 1, (rows, 2 * rows)), rows // 2, rows - 1


def _ratio_test(r: np.random.Generator, n: int) -> Arguments:
    rows = max(2, n // 4)
    return r.integers(-2, 4, (rows, 4)) * 0.5, 1, 3, r.permutation(rows), rows, 1e-10, 1e-15


def _actions(r: np.random.Generator, n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """Indices of actions, where those of each state begin, and how many states there are."""
    counts = r.integers(0, 5, max(1, n // 3))
    start = np.concatenate(([0], np.cumsum(counts)))
    return np.concatenate([np.arange(count) for count in counts]).astype(np.int64), start, len(counts)


def _best_actions(r: np.random.Generator, n: int) -> Arguments:
    actions, start, states = _actions(r, n)
    return actions, start, r.normal(size=len(actions)), np.zeros(states), np.zeros(states, np.int64)


def _find_actions(r: np.random.Generator, n: int) -> Arguments:
    actions, start, states = _actions(r, n)
    return actions, start, r.integers(0, 5, states), np.full(states, -1)


def _sorted_pairs(r: np.random.Generator, n: int) -> Arguments:
    actions, start, states = _actions(r, n)
    return np.repeat(np.arange(states), np.diff(start)), actions


def _transitions(r: np.random.Generator, n: int) -> Arguments:
    return r.integers(0, 7, n + 1), np.zeros((7, 7), np.int64)


def _stochastic(r: np.random.Generator, n: int) -> Arguments:
    size = max(2, round(n ** (1 / 3)))
    matrix = r.random((size, size))
    return matrix / matrix.sum(axis=1, keepdims=True), np.zeros(size)


def _digits(r: np.random.Generator, n: int) -> Arguments:
    return r.integers(0, 2, min(n, 60)), np.full(min(n, 60), 2)


def _costs(r: np.random.Generator, n: int) -> Arguments:
    size = max(1, math.isqrt(n))
    return (r.random((size, size + 1)),)


def _envelope(r: np.random.Generator, n: int) -> Arguments:
    size = max(1, n // 4)
    places = np.arange(size)
    return r.random((4, size)), 4, size, np.array([np.maximum(places - 2, 0), np.minimum(places + 3, size)])


def _field(r: np.random.Generator, n: int) -> Arguments:
    return r.random((2, 9, 9)), 2, 3, np.array([0, 3, 6]), np.array([3, 6, 9])


def _convolution(r: np.random.Generator, n: int) -> Arguments:
    return r.random(n + 20), n + 20, r.normal(size=7), 7, 0.1, 2, n % 2


def _bins(r: np.random.Generator, n: int) -> Arguments:
    size = max(1, n // 4)
    return r.random((4, size)), np.sort(r.random((4, 5))), 4, size


def _windows(r: np.random.Generator, n: int) -> Arguments:
    return r.random((3, max(1, n // 12), 4)), r.random(4)


def _soft_dtw(r: np.random.Generator, n: int) -> Arguments:
    size = max(1, math.isqrt(n))
    return r.random((size + 1, size + 1)), r.random((size + 2, size + 2)), np.zeros((size + 2, size + 2)), 0.7


def _common(r: np.random.Generator, n: int) -> Arguments:
    size = max(1, math.isqrt(n) // 2)
    return r.random((size, 2)), r.random((size + 1, 2)), 0.5, np.where(r.random((size, size + 1)) < 0.9, 1.0, np.inf)


def _rows(r: np.random.Generator, n: int) -> Arguments:
    rows = r.random((3, n + 3))
    rows[1, 1] = np.nan
    return rows, np.zeros((3, 3))


def _sliding(r: np.random.Generator, n: int) -> Arguments:
    return r.random(4), r.random(n + 4)


def _warping(r: np.random.Generator, n: int) -> Arguments:
    size = max(2, math.isqrt(n))
    cost = r.random((size, size + 1))
    total = np.full((size + 1, size + 2), np.inf)
    total[1, 1] = cost[0, 0]
    return (cost, total, np.zeros(total.shape, np.int32), np.array([[1, 1], [0, 1], [1, 0]], np.uint32), np.ones(3),
            np.zeros(3), 1, 1)


KERNELS = (
    PackageKernel("quantecon.optimize.pivoting", "_pivoting", _tableau, 400_000),
    PackageKernel("quantecon.optimize.pivoting", "_min_ratio_test_no_tie_breaking", _ratio_test, 400_000),
    PackageKernel("quantecon.markov.utilities", "_s_wise_max_argmax", _best_actions, 400_000),
    PackageKernel("quantecon.markov.utilities", "_find_indices", _find_actions, 400_000),
    PackageKernel("quantecon.markov.utilities", "_has_sorted_sa_indices", _sorted_pairs, 400_000),
    PackageKernel("quantecon.markov.estimate", "_count_transition_frequencies", _transitions, 400_000),
    PackageKernel("quantecon.markov.gth_solve", "_gth_solve_jit", _stochastic, 1_000_000),
    PackageKernel("quantecon._gridtools", "_cartesian_index", _digits, 60),
    PackageKernel("numbagg.moving", "move_mean", _moving, 400_000),
    PackageKernel("numbagg.moving", "move_sum", _moving, 400_000),
    PackageKernel("numbagg.moving", "move_std", _moving, 400_000),
    PackageKernel("numbagg.moving_exp", "move_exp_nancount", _exponential, 400_000),
    PackageKernel("numbagg.moving_exp", "move_exp_nanmean", _exponential, 400_000),
    PackageKernel("librosa.sequence", "__dtw_calc_accu_cost", _warping, 250_000),
    PackageKernel("pyts.metrics._dtw", "_accumulated_cost_matrix_no_region", _costs, 250_000),
    PackageKernel("pyts.metrics._lower_bounds", "_warping_envelope_2d", _envelope, 40_000),
    PackageKernel("pyts.image._mtf", "_aggregated_markov_transition_field", _field, 40_000),
    PackageKernel("pyts.transformation._rocket", "apply_one_kernel_one_sample", _convolution, 40_000),
    PackageKernel("pyts.preprocessing._discretizer", "_digitize_2d", _bins, 40_000),
    PackageKernel("pyts.transformation._shapelet_transform", "_derive_shapelet_distances", _windows, 40_000),
    PackageKernel("tslearn.metrics.soft_dtw_fast", "_njit_soft_dtw_grad", _soft_dtw, 40_000),
    PackageKernel("tslearn.metrics.dtw_variants", "njit_lcss_accumulated_matrix", _common, 40_000),
    PackageKernel("numbagg.funcs", "nancovmatrix", _rows, 40_000),
    PackageKernel("stumpy.core", "_sliding_dot_product", _sliding, 40_000),
)


# --- bits


def variants(given: Arguments) -> list[Arguments]:
    """The arguments as they are, strided, in Fortran's order, with float32 for float64."""
    def each(change: Callable[[np.ndarray[Any, Any]], Any]) -> Arguments:
        return tuple(change(one) if isinstance(one, np.ndarray) else one for one in given)

    def narrow(one: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return one.astype(np.float32) if one.dtype == np.float64 else one

    return [given, each(lambda one: np.repeat(one, 2, axis=0)[::2]), each(np.asfortranarray), each(narrow)]


def checked(kernel: PackageKernel, target: str, seed: int = 0) -> Outcome:
    """The twin against the original on small arguments of five sizes. Raises ImportError."""
    original, outcome = kernel.original(), Outcome()
    twin = pyflat.twin(original).with_options(target=target)
    for size in (0, 1, 6, 30, 200):
        for given in variants(kernel.makes(np.random.default_rng(seed), size)):
            compare(original, twin, Copies(given), outcome)
            if outcome.failures:
                return outcome
    return outcome


# --- times


def measured(kernel: PackageKernel, target: str, repeats: int) -> tuple[float, float, bool]:
    """Seconds of njit, of the twin, and whether their bits are the same."""
    import numba

    original, given = kernel.original(), kernel.makes(np.random.default_rng(1), kernel.large)
    calls = {"njit": numba.njit(original), "twin": pyflat.twin(original).with_options(target=target)}
    best, found = dict.fromkeys(calls, math.inf), {}
    for turn in range(repeats + 1):
        for name, call in calls.items():
            arguments = Copies(given).arguments()
            start = time.process_time()
            returned = call(*arguments)
            taken = time.process_time() - start
            if turn:
                best[name] = min(best[name], taken)
            else:
                found[name] = outputs(returned, arguments)
    return best["njit"], best["twin"], same_bits(found["njit"], found["twin"])


def row(kernel: PackageKernel, target: str, repeats: int) -> tuple[list[str], float, bool]:
    """A row of the table, the ratio (nan where there is none), and whether the twin differs from its original."""
    try:
        outcome = checked(kernel, target)
    except ImportError as error:
        return [kernel.name, f"not installed: {error}", "", "", ""], math.nan, False
    if outcome.failures:
        print(f"\n{kernel.name}: {outcome.failures[0]}\n")
        return [kernel.name, f"differs: {outcome.failures[0].what}", "", "", ""], math.nan, True
    if outcome.refusals and not outcome.sets:
        return [kernel.name, f"refused: {outcome.refusals[0]}", "", "", ""], math.nan, False
    bits = f"equal on {outcome.sets}" + (f", {len(outcome.refusals)} refused" if outcome.refusals else "")
    try:
        njit, twin, same = measured(kernel, target, repeats)
    except Exception as error:  # noqa: BLE001 - njit refuses what it cannot compile with errors of many classes
        return [kernel.name, bits, "", "", f"not measured: {type(error).__name__}"], math.nan, False
    ratio = njit / twin
    cells = [kernel.name, bits, f"{njit * 1e3:.3f}", f"{twin * 1e3:.3f}", f"{ratio:.2f}{'' if same else ' ~'}"]
    return cells, ratio, False


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=("numpy", "numba"), default="numba")
    parser.add_argument("--only", default="", help="functions whose name contains this")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args(argv)
    pin()
    keep_freed_memory()
    warnings.simplefilter("ignore")
    rows = [row(kernel, options.target, options.repeats) for kernel in KERNELS if options.only in kernel.name]
    print(markdown([["function", "bits", "njit, ms", "twin, ms", "times as fast"], *(cells for cells, _, _ in rows)]))
    print(f"\ngeomean {geomean([ratio for _, ratio, _ in rows if ratio == ratio]):.2f}")
    return int(any(differs for _, _, differs in rows))


if __name__ == "__main__":
    sys.exit(main())
