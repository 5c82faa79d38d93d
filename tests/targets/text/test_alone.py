"""Printed NumPy text runs without pyflat, says which lanes it is not for, and `<name>_suspect` has all lanes that
raise."""

from __future__ import annotations

import math
import re
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.targets.text.alone import HERE
from pyflat.targets.text.alone import lanes as printed_lanes
from pyflat.targets.text.spelling import LANE_FUNCTIONS
from pyflat.testing import in_kind, lane_of, same_bits
from tests.generator.outcomes import Raised, observe
from tests.project.test_docs import FLATTENING

Pair = namedtuple("Pair", "low high")


def plain(x: float) -> float:
    return x * 2.0 + 1.0


def safe(x: float, y: float) -> float:
    if y == 0.0:
        raise ValueError("no")
    return x / y


def mathematics(x: float, n: int) -> float:
    if x < 0.0:
        raise ValueError(f"negative {x}")
    table = [1.0, 2.0, 3.0][n % 4]
    return table / (x - 1.0) + round(math.log(x), 2) + math.exp(x) if x > 0.5 else math.erf(x) ** 1.5 + math.gamma(x) + n * n * n


def hidden(lanes: float, math: float, np: int) -> Any:
    return Pair(abs(lanes) ** math, int(lanes)), complex(math, lanes), [np // 3, np % 3, float(np)]


def module_of(twin: Any, kinds: str | None = None) -> dict[str, Any]:
    text = str(twin.show(target="numpy", faults=True, kinds=kinds))
    assert not re.search("import.*pyflat|from pyflat", text), text
    namespace: dict[str, Any] = {"__name__": "printed"}
    exec(compile(text, "<printed>", "exec"), namespace)
    return namespace


def compare(fn: Callable[..., Any], columns: list[np.ndarray], kinds: str | None = None, **options: Any) -> None:
    twin = pyflat.twin(fn, math="exact", **options)
    printed = module_of(twin, kinds)
    n = len(columns[0])
    got = printed[twin.__name__](*columns)
    suspect = np.broadcast_to(printed[twin.__name__.replace("_flat", "_suspect")](*columns), n)
    for lane in range(n):
        want = observe(fn, [column[lane].item() for column in columns])
        if isinstance(want, Raised):
            assert suspect[lane], (lane, want)
        elif not suspect[lane]:
            value = lane_of(got, lane, n)
            assert same_bits(in_kind(want.value, value), value), (lane, want, value)


FLOATS = np.array([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 2.5, 700.0, 1e300, math.nan, math.inf])
INTS = np.array([0, 1, 2, 3, -1, 5, 6, 2**40, 9, -7, 2])


@pytest.mark.parametrize(("fn", "columns"), [
    (plain, [FLOATS]), (safe, [FLOATS, FLOATS[::-1]]), (mathematics, [FLOATS, INTS]), (hidden, [FLOATS[:7], FLOATS[:7][::-1], INTS[:7]]),
])
def test_lanes_that_are_not_suspect_are_right(fn: Callable[..., Any], columns: list[np.ndarray]) -> None:
    compare(fn, columns)


ALONE = [case for case in FLATTENING if not {"static", "whitelist"} & set(case.options)]


@pytest.mark.filterwarnings("ignore::pyflat.LaneWarning")  # of scratch lists and counters
@pytest.mark.turns(3)
@pytest.mark.parametrize("case", ALONE, ids=lambda case: case.function.__name__)
def test_what_flattens_is_printed_to_stand_alone(case: Any) -> None:
    try:
        twin = pyflat.twin(case.function, math="exact", **case.options)
        twin(*map(np.array, case.lanes))
        text = str(twin.show(target="numpy", faults=True))
    except pyflat.FlattenError:
        pytest.skip("this machine's BLAS has its own order")
    if "lanes.ufunc(" in text:
        return  # compiled functions of other packages
    assert not re.search("import.*pyflat|from pyflat", text), text
    compile(text, "<printed>", "exec")


def test_every_function_that_texts_call_is_there() -> None:
    own = {name for name in vars(printed_lanes) if not name.startswith("_")}
    assert LANE_FUNCTIONS - HERE == {"normal_quantile"}  # no public function of Python has it alone
    assert own - {"each"} <= LANE_FUNCTIONS


def test_the_header_says_which_lanes() -> None:
    text = str(pyflat.twin(safe).show(target="numpy")).split("\n")
    line = safe.__code__.co_firstlineno
    assert text[1:5] == [
        "# runs on NumPy arrays",
        "# not valid where the original raises or an int exceeds 64 bits, in",
        f'#   test_alone.py:{line + 2}  ValueError: raise ValueError("no")',
        f"#   test_alone.py:{line + 3}  ZeroDivisionError: return x / y",
    ]
    for target in (None, "numba"):
        assert "ZeroDivisionError: return x / y" in pyflat.twin(safe).show(target=target)
    assert "# not for" not in pyflat.twin(plain).show(target="numpy")


def test_faults_go_with_the_twin_in_python() -> None:
    for wrong in ({"stage": "flat"}, {"target": "wgsl"}):
        with pytest.raises(ValueError, match="faults=True shows the twin in Python"):
            pyflat.twin(safe).show(faults=True, **wrong)


def test_the_command() -> None:
    from click.testing import CliRunner

    from pyflat.cli.main import commands

    shown = CliRunner().invoke(commands, ["show", f"{__file__}:safe", "--target", "numba", "--faults"])
    assert shown.exit_code == 0
    assert [line for line in shown.output.split("\n") if line.startswith("def ")] == [
        "def safe_flat(x: float, y: float) -> float:", "def safe_suspect(x: float, y: float) -> bool:"]
