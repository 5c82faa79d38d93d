"""Trip limits: a function without loops is left alone; lanes beyond the limit are faults of their own kind."""

from __future__ import annotations

from pyflat.frontend.specialise import specialise
from pyflat.ir.interp import run
from pyflat.ir.nodes import TRIP_LIMIT
from pyflat.ir.parse import parse_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import INT
from pyflat.ir.validate import validate
from pyflat.passes.gather_suspects import gather_suspects
from pyflat.passes.limit_trips import limit_trips
from pyflat.passes.pipelines import flatten_ir
from tests.passes.flat_programs import flat
from tests.passes.test_canonical_loops import HALVE


def test_a_function_without_loops_is_left_alone() -> None:
    fn = flat("%a = add %x, %y : f8\nyield %a")
    assert limit_trips(fn, 3) is fn


def test_trips_are_limited() -> None:
    masked = flatten_ir(parse_function(HALVE))
    limited = limit_trips(masked, 3)
    validate(limited)
    fused = gather_suspects(limited, limited=True)
    validate(fused)
    assert fused.result_kinds[-2:] == tuple(fused.result_kinds[-1:]) * 2
    assert run(fused, [0, 8.0]).values == (3, False, False)
    assert run(fused, [0, 16.0]).values[1:] == (True, True)
    assert TRIP_LIMIT.type == "TripLimitError"


def test_a_fault_before_the_limit_is_no_limit() -> None:
    fn = parse_function(HALVE.replace("%y.1 = mul %y, 0.5 : f8", "%7 = sub %y, 2.0 : f8\n    %y.1 = truediv %y, %7 : f8"))
    fused = gather_suspects(limit_trips(flatten_ir(fn), 2), limited=True)
    assert run(fused, [0, 2.0]).values[1:] == (False, True)
    assert run(fused, [0, 1e9]).values[1:] == (False, False)


def inner_trips(n):
    m = 0
    k = 0
    while m < 2:
        m += 1
        k = 0
        while k < n:
            k += 1
    return k


def test_inner_loops_are_limited() -> None:
    masked = flatten_ir(specialise(inner_trips, {"n": Leaf(INT)}, loops="masked", max_unroll=0).function)
    fused = gather_suspects(limit_trips(masked, 3), limited=True)
    assert run(fused, [3]).values == (3, False, False)
    assert run(fused, [4]).values[1:] == (True, True)


def test_a_fault_in_the_last_trip_that_is_allowed_is_no_limit() -> None:
    fn = parse_function(HALVE.replace("%y.1 = mul", "%7 = floordiv %k, %n : i8\n    %y.1 = mul"))
    fused = gather_suspects(limit_trips(flatten_ir(fn), 1), limited=True)
    assert run(fused, [0, 16.0]).values[1:] == (False, True)
    assert run(fused, [1, 16.0]).values[1:] == (True, True)
