"""Fast elementary functions with CPython's decisions, as one thing: what stands here is all that others may use.

    choose_fast_functions(fn, math)   the function with fast functions, and faults where their digits may decide
    PASS                              the same as a pass, for `pipelines.with_fast_functions`
    Fast, FastFunctions               the `math` of a target: which functions it has, and how far they are off
    ExactRetry(make)                  runs the lanes of those faults again, by a twin with the C library's functions
    allowed_differences(exact, row)   how far a lane may then be from its original, for `twin.verify`
    inexact_results(exact)            which results have such digits, for `twin.verify`

To take it out and leave every function the C library's: delete this package with tests/passes/accuracy,
`with_fast_functions` and `CLEAN` in `pipelines`, `Flattened.exact` and `Built.retry` in
`runtime.compiled`, the settings `math` and `decisions`, and the fault `INEXACT` in `ir.nodes`. To keep fast functions
without CPython's decisions, let `choose_fast_functions` call `choose_float32_math` for both formats: of the modules
here only that one, `fast_functions` and `conditioning` are used then.
"""

from __future__ import annotations

from pyflat.ir.formats import F4
from pyflat.ir.nodes import Function
from pyflat.passes.accuracy import choose_float32_math, choose_math
from pyflat.passes.accuracy.conditioning import allowed_differences
from pyflat.passes.accuracy.exact_retry import ExactRetry
from pyflat.passes.accuracy.fast_functions import (
    LIBRARY_ULPS,
    NUMPY_ULPS,
    VECTOR_ULPS,
    Fast,
    FastFunctions,
    inexact_results,
)
from pyflat.passes.record import Pass

__all__ = ["LIBRARY_ULPS", "NUMPY_ULPS", "PASS", "VECTOR_ULPS", "ExactRetry", "Fast", "FastFunctions",
           "allowed_differences", "choose_fast_functions", "inexact_results"]


def choose_fast_functions(fn: Function, math: FastFunctions, *, decide: bool = True) -> Function:
    """`fn` with the functions of `math`; `fn` itself where there is nothing to gain.

    Of float64: a flat or masked function, with `fault` operations in the lanes that the exact twin must run again;
    `decide=False` takes every function and marks nothing, for measurements. Of float32, in any form: nothing is to be
    compared with CPython, so that every function is taken.
    """
    if fn.floats is F4:
        return choose_float32_math.choose_float32_math(fn, math)
    return choose_math.choose_math(fn, math, decide=decide)


PASS = Pass(choose_fast_functions)
