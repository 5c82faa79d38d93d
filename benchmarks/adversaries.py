"""The adversarial functions of `test_adversary_objects.py`, on both targets, over more lanes than the tests take.

    python -m benchmarks.adversaries [--only wrapped] [--most 5000]

Ends with 1 where a lane differs, or where a function that is to be refused is not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

from tests.programs.test_adversary_objects import GROUPED, MODULES
from tests.support.adversaries import agree, functions, refused


def runs(only: str, most: int) -> Iterator[tuple[str, Callable[[], None]]]:
    for module in (each for each in (*MODULES, *GROUPED) if only in each.__name__):
        for name, fn in functions(module, prefix="case_").items():
            for target in ("numpy", "numba"):
                yield f"{name} on {target}", partial(agree, fn, target, most)
        for name, fn in functions(module, prefix="refused_").items():
            yield name, partial(refused, fn)


def main() -> int:
    parser = argparse.ArgumentParser(description="Adversarial functions against their originals, on both targets.")
    parser.add_argument("--only", default="", help="modules whose names contain this")
    parser.add_argument("--most", type=int, default=2000, help="lanes of a function")
    options = parser.parse_args()
    done = found = 0
    for name, run in runs(options.only, options.most):
        done += 1
        try:
            run()
        except BaseException as error:  # pytest's failures are no Exceptions
            if isinstance(error, KeyboardInterrupt):
                raise
            found += 1
            print(f"{name}: {type(error).__name__}: {str(error).partition(chr(10))[0]}", flush=True)
    print(f"{done} runs, {found} findings")
    return min(found, 1)


if __name__ == "__main__":
    raise SystemExit(main())
