"""Tax-Calculator's own decorator `iterate_jit`, which compiles a loop over records for each rule, in twenty lines.

    pip install taxcalc
    python -m examples.iterate_jit

All results of a whole calculation are compared bit by bit, and both calculations are timed in turns in one process.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pyflat

YEAR = 2026


def iterated(rule: Callable[..., Any], results: list[str]) -> Callable[[Any, Any], None]:
    """The rule over all records: parameters of the policy and columns of the records by name, results into columns."""
    twin = pyflat.twin(rule, target="numba")
    names = list(inspect.signature(rule).parameters)

    def run(policy: Any, records: Any) -> None:
        found = twin(*[value(policy, records, name) for name in names])
        for name, column in zip(results, found if len(results) > 1 else [found], strict=True):
            getattr(records, name)[...] = column

    return run


def value(policy: Any, records: Any, name: str) -> Any:
    """A number or tuple of the year's policy, or a column."""
    if not hasattr(policy, name):
        return getattr(records, name)
    found = np.asarray(getattr(policy, name))[0] if np.ndim(getattr(policy, name)) else getattr(policy, name)
    return tuple(found.tolist()) if np.ndim(found) else found.item() if hasattr(found, "item") else found


# --- the comparison


def main() -> None:
    try:
        import taxcalc
        from taxcalc import calcfunctions, calculator
    except ImportError:
        sys.exit("Tax-Calculator is missing: pip install taxcalc")
    before = {name: function for name, function in vars(calculator).items() if "applied_jitted_f" in _kept(function)}
    after = {name: iterated(_kept(function)["func"], list(_kept(function)["all_out_args"]))
             for name, function in before.items()}

    def calculated(rules: dict[str, Any]) -> tuple[Any, float]:
        for module in (calcfunctions, calculator):
            vars(module).update(rules)
        made = taxcalc.Calculator(policy=taxcalc.Policy(), records=taxcalc.Records.cps_constructor(), verbose=False)
        made.advance_to_year(YEAR)
        start = time.perf_counter()
        made.calc_all()
        return made, time.perf_counter() - start

    times: dict[str, list[float]] = {"iterate_jit": [], "twins": []}
    for _ in range(3):
        (theirs, first), (ours, second) = calculated(before), calculated(after)
        times["iterate_jit"].append(first)
        times["twins"].append(second)
    names = sorted(taxcalc.Records(data=None).CALCULATED_VARS)
    different = [name for name in names if _bits(theirs, name) != _bits(ours, name)]
    print(f"{len(before)} rules, {theirs.array_len:,} records, {len(names)} columns: "
          f"{len(different)} differ {different or ''}")
    for name, taken in times.items():
        print(f"{name:12} first calculation {taken[0]:6.2f} s, then {min(taken[1:]):6.3f} s")


def _kept(function: Any) -> dict[str, Any]:
    """What a function keeps of the one that made it."""
    return dict(inspect.getclosurevars(function).nonlocals) if inspect.isfunction(function) else {}


def _bits(calculation: Any, name: str) -> bytes:
    return np.ascontiguousarray(calculation.array(name)).tobytes()


if __name__ == "__main__":
    main()
