"""Functions written by hand with the builder, and modules."""

from __future__ import annotations

import pytest

from pyflat.errors import InternalError
from pyflat.ir.build import const
from pyflat.ir.edit.cfg import Cfg
from pyflat.ir.edit.module import FunctionBuilder, Module, format_module, parse_module
from pyflat.ir.interp import run
from pyflat.ir.nodes import Function, If
from pyflat.ir.parse import ParseError
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT, INT


def clamp() -> Function:
    f = FunctionBuilder("clamp", {"x": FLOAT, "low": FLOAT, "high": FLOAT}, [FLOAT])
    x, low, high = f.params
    with f.branch(f.op("lt", x, low)) as arms, arms.then:
        f.leave(f.label, low)
    with f.branch(f.op("gt", x, high), {"y": FLOAT}) as arms:
        with arms.then:
            f.give(high)
        with arms.orelse:
            f.give(x)
    f.give(*arms.results)
    return f.finish()


def powers() -> Function:
    f = FunctionBuilder("powers", {"n": INT}, [INT])
    with f.loop("l", {"i": const(0), "p": const(1)}, {"r": INT}) as loop:
        i, p = loop.params
        with f.branch(f.op("ge", i, f.params[0])) as arms, arms.then:
            f.leave(loop.label, p)
        f.give(f.op("add", i, const(1)), f.op("mul", p, const(3)))
    f.give(*loop.results)
    return f.finish()


def test_an_if_with_an_early_return():
    fn = clamp()
    assert [run(fn, [x, 0.0, 1.0]).values[0] for x in (-1.0, 0.5, 2.0)] == [0.0, 0.5, 1.0]
    assert format_function(fn) == """\
func @clamp(%x: f8, %low: f8, %high: f8) -> (f8) structured @return {
  %0 = lt %x, %low : b
  if %0 {
    exit @return %low
  } else {
    yield
  }
  %1 = gt %x, %high : b
  if %1 {
    yield %high
  } else {
    yield %x
  } -> (%y: f8)
  yield %y
}
"""


def test_a_loop():
    assert [run(powers(), [n]).values[0] for n in range(-1, 5)] == [1, 1, 3, 9, 27, 81]


def test_a_region_and_dead_code():
    f = FunctionBuilder("f", {"c": BOOL}, [INT])
    with f.region("r", {"v": INT}) as region:
        with f.branch(f.params[0]) as arms, arms.then:
            f.leave(region.label, const(1))
            with f.branch(f.params[0]) as dead, dead.then:
                f.op("neg", const(2))
        f.give(const(3))
        f.leave(f.label, const(4))
    f.give(*region.results)
    fn = f.finish()
    assert [run(fn, [c]).values[0] for c in (True, False)] == [1, 3]
    assert "neg" not in format_function(fn)


def test_an_if_in_an_empty_function_has_4_blocks_and_5_edges():
    f = FunctionBuilder("f", {"c": BOOL}, [])
    with f.branch(f.params[0]):
        pass
    f.give()
    cfg = Cfg(f.finish())
    assert (len(cfg.blocks), len(list(cfg.edges()))) == (5, 5)
    assert isinstance(cfg.fn.body[1], If)


def test_what_does_not_fit_is_an_error():
    f = FunctionBuilder("f", {"c": BOOL}, [INT])
    with pytest.raises(InternalError, match="operation neg does not take b"):
        f.op("neg", f.params[0])
    f.give(f.params[0])
    with pytest.raises(InternalError, match="invariant 3"):
        f.finish()


def test_a_module_is_printed_and_read_back():
    module = Module([clamp(), powers()])
    text = format_module(module)
    again = parse_module(text)
    assert list(again.functions) == ["clamp", "powers"]
    assert format_module(again) == text
    assert run(again.functions["powers"], [3]).values == (27,)


def test_names_in_a_module_are_unique():
    with pytest.raises(ValueError, match="two functions clamp"):
        Module([clamp(), clamp()])


def test_a_wrong_module_is_refused():
    with pytest.raises(ParseError):
        parse_module(format_module(Module([clamp()])).replace("lt", "lessthan"))
