"""The printed twin: byte identity, one select per join, the user's text wherever it still holds."""

from __future__ import annotations

import ast
import colorsys
import dataclasses
import inspect
import itertools
import math
import random
from typing import NamedTuple

import numpy as np
import pytest

from pyflat.frontend.result import Specialised
from pyflat.frontend.specialise import specialise
from pyflat.functions import lanes
from pyflat.ir.build import Builder, const
from pyflat.ir.nodes import Function, Param
from pyflat.ir.shape import Fixed, Leaf, Record, Shape
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes.gather_suspects import drop_faults, gather_suspects
from pyflat.passes.pipelines import flatten_ir
from pyflat.targets.text import globals_needed, render, render_suspect
from pyflat.targets.text.expr import Call, Expr, Infix, Paren, Ternary, Word, flat, layout
from pyflat.targets.text.literals import same_number
from tests.targets.text.text_support import function, run_numpy, specialised

KINDS = {"f": FLOAT, "i": INT, "b": BOOL}
SCALE = 2.5
BIAS = 1


def flattened(fn, letters, **static) -> tuple[Specialised, Function]:
    names = [n for n in inspect.signature(fn).parameters if n not in static]
    arguments: dict[str, Shape] = {n: Leaf(KINDS[k]) for n, k in zip(names, letters, strict=True)}
    arguments |= {n: Fixed(v) for n, v in static.items()}
    spec = specialise(fn, arguments)
    return spec, drop_faults(flatten_ir(spec.function))


def text(fn, letters, target="neutral", **static) -> str:
    spec, flat = flattened(fn, letters, **static)
    return render(spec, flat, target=target, name="twin")


def statements(fn, letters, target="neutral", **static) -> list[str]:
    lines = text(fn, letters, target, **static).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("def "))
    return [line[4:] for line in lines[start + 1:]]


def definition(printed: str) -> str:
    return printed[printed.index("def "):]


def executed(fn, letters, **static):
    spec, flat = flattened(fn, letters, **static)
    namespace = globals_needed(spec)
    exec(compile(render(spec, flat, target="numpy", name="twin"), "<twin>", "exec"), namespace)
    return namespace["twin"]


# --- byte identity


def plain(x, y):
    return x*y  +  ( x -y )/ 2.0   # spacing


def documented(x: float, y: "float" = 2.0, *,
               n: int = 3) -> float:
    """What it does,

    in two paragraphs.
    """

    # about a
    a   = (x
           + y)  # over two lines
    dead = a*0x1F - 1_000
    b = a = -a; c = n - -3
    pass
    a, b = b, a*n
    d: float = a >= 1e-3

    return a, (b, d), ~c & 0b11, x/n
    # a footer


def captured_constant(x):
    return SCALE*x + BIAS - math.pi


def augmented(x, y):
    x *= y
    x -= 1
    return x


def one_line(x): return x+1


@pytest.mark.parametrize("target", ["neutral", "numpy", "numba"])
@pytest.mark.parametrize(("fn", "letters"), [(plain, "ff"), (documented, "ffi"), (captured_constant, "f"), (one_line, "f")])
def test_function_without_branch_comes_back_byte_for_byte(fn, letters, target):
    assert definition(text(fn, letters, target)) == inspect.getsource(fn).replace(f"def {fn.__name__}", "def twin", 1)


def test_decorators_go_and_the_rest_stays():
    @pytest.mark.skip
    @pytest.mark.usefixtures("def f")
    def decorated(x):
        return x  *  2  # twice

    assert definition(text(decorated, "f")) == "def twin(x):\n    return x  *  2  # twice\n"


def test_augmented_assignment_stays_except_where_it_would_write_into_the_callers_array():
    assert statements(augmented, "ff") == ["x *= y", "x -= 1", "return x"]
    assert statements(augmented, "ff", "numpy") == ["x = x * y", "x = x - 1", "return x"]
    x = np.array([1.0, 2.0])
    assert executed(augmented, "ff")(x, 3.0).tolist() == [2.0, 5.0]
    assert x.tolist() == [1.0, 2.0]


def test_captured_constants_are_defined_above():
    printed = text(captured_constant, "f", "numpy")
    assert "\nSCALE = 2.5\nBIAS = 1\n" in printed
    assert "\nimport math\n" in printed
    assert executed(captured_constant, "f")(np.array([2.0])).tolist() == [captured_constant(2.0)]


def test_bool_arithmetic_with_numbers_is_numpys():
    def f(b, x, n):
        return b*x + (b+n) - (b-1), b*2.5

    assert statements(f, "bfi", "numpy")[-1].startswith("return b*x + (b+n) - (b-1)")
    found = executed(f, "bfi")(np.array([True, False]), np.array([1.5, 1.5]), np.array([3, 3]))
    assert [v.tolist() for v in found] == [[f(b, 1.5, 3)[k] for b in (True, False)] for k in (0, 1)]


def test_captured_int_stays_an_int_for_the_ints():
    def f(x, n):
        k = BIAS
        return x*BIAS, n+k

    assert executed(f, "fi")(np.array([2.0]), np.array([3]))[1].dtype == np.int64


def test_what_is_not_native_is_spelled():
    def power(x, y):
        z = x  **  y   # the C library's
        return z+1

    assert statements(power, "ff") == ["z = x  **  y   # the C library's", "return z+1"]
    assert statements(power, "ff", "numpy") == ["z = lanes.pow(x, y)   # the C library's", "return z+1"]


def test_remainder_is_native():
    def remainder(x, y):
        z = x  %  y   # python's
        return z//2

    assert statements(remainder, "ff") == ["z = x  %  y   # python's", "return z//2"]


def test_bools_are_not_added_by_numpy():
    def count(a, b):
        return a + b

    assert statements(count, "bb") != ["return a + b"]
    assert executed(count, "bb")(np.array([True]), np.array([True])).tolist() == [2]


def test_comparison_of_int_and_float_is_not_native():
    def f(x, n):
        more = n > x
        return more

    assert statements(f, "fi") == ["more = float(n) > x", "return more"]


# --- selects


def test_if_else_on_one_name_is_one_select():
    def f(x, c):
        if c:
            y = x*2
        else:
            y = x
        return y

    assert statements(f, "fb") == ["y = select(c, x*2, x)", "return y"]
    assert statements(f, "fb", "numpy") == ["y = np.where(c, x*2, x)", "return y"]
    assert statements(f, "fb", "numba") == ["y = x*2 if c else x", "return y"]


def test_conditional_expressions_in_a_tuple_have_parentheses():
    def f(x, c):
        return (x, 0.0) if c else (0.5, x)

    assert statements(f, "fb", "numba") == ["return (x if c else 0.5), (0.0 if c else x)"]


def test_two_returns_are_one_select():
    def f(x):
        if x > 0.5:
            return x * 2.0
        return x

    assert statements(f, "f") == ["return select(x > 0.5, x * 2.0, x)"]


def test_negated_condition_swaps_the_arms():
    def f(x):
        if not x > 0.5:
            return 1.0
        return x

    assert statements(f, "f") == ["return select(x > 0.5, x, 1.0)"]


def test_conditions_are_combined_with_parentheses():
    def f(x, y):
        return x if x > 0.0 and (y < 1.0 or not y == x) else y

    assert statements(f, "ff") == ["return select((x > 0.0) & ((y < 1.0) | (y != x)), x, y)"]


def test_chained_comparison():
    def f(x, y):
        return 1.0 if 0.0 < x <= y else 2.0

    assert statements(f, "ff") == ["return select((x > 0.0) & (x <= y), 1.0, 2.0)"]


def test_variable_of_an_early_return_keeps_its_statement():
    def f(x, y):
        if x == 0.0:
            return y
        s = y / x  # the slope
        return s

    assert statements(f, "ff") == ["s = y / x  # the slope", "return select(x == 0.0, y, s)"]


# --- names


def test_reused_name_is_reused():
    def f(x, c):
        x = x*2
        x = x if c else x+1
        return x

    assert statements(f, "fb")[0] == "x = x*2"
    assert "x_1" not in text(f, "fb")


def test_name_still_needed_gets_a_suffix():
    def f(x, c):
        y = x
        x = x*2
        z = x+1
        return y if c else z-y

    assert statements(f, "fb") == ["x_1 = x*2", "z = x_1+1", "return select(c, x, z-x)"]


def test_helper_locals_keep_their_names_where_free():
    def helper(a):
        inner = a*2
        return inner + a

    def f(x, inner):
        return helper(x) if x > 0.0 else inner

    assert statements(f, "ff") == ["inner_1 = x*2", "return select(x > 0.0, inner_1 + x, inner)"]


def test_users_names_that_look_like_ours():
    def f(x, c0, select):
        t0 = x*select
        np = t0 + 1
        c1 = np if x > c0 else t0
        return (c1 if c1 > np*np else select) if c1 != x else x

    twin = executed(f, "fff")
    for args in itertools.product([0.0, 1.5, -2.0, 3.0], repeat=3):
        assert twin(*map(np.float64, args)) == f(*args)
    assert "select_1(p, a, b) is a where p else b" in text(f, "fff")


def test_a_local_called_np_is_renamed_and_a_parameter_hides_the_module_only_inside():
    def local(x):
        np = x*2
        return np if x > 1 else -np

    def parameter(np):
        return np if np > 1 else -np

    assert statements(local, "f", "numpy") == ["np_1 = x*2", "return np.where(x > 1, np_1, -np_1)"]
    assert statements(parameter, "f", "numpy") == ["return np_1.where(np > 1, np, -np)"]
    assert executed(parameter, "f")(np.array([0.5, 2.0])).tolist() == [-0.5, 2.0]


# --- source text


def test_literals_and_spacing_are_the_users():
    def f(x, n):
        a = x*1e-3+0.50
        b = n  &  0x1F
        return a if x > 1 else (a -1_000)*b

    assert statements(f, "fi") == ["a = x*1e-3+0.50", "b = n  &  0x1F", "return select(x > 1, a, (a -1_000)*b)"]


def test_shared_expressions_are_written_out_as_the_user_did():
    def f(x, y, c):
        a = (x-y)*2
        b = (x-y)/y
        return a if c else b

    assert statements(f, "ffb") == ["a = (x-y)*2", "b = (x-y)/y", "return select(c, a, b)"]


def test_shared_operand_without_source_gets_a_temporary():
    def square(v):
        return v*v

    def f(x, y, c):
        return square(x-y) if c else x

    assert statements(f, "ffb") == ["t0 = x-y", "return select(c, t0*t0, x)"]


def test_max_of_three_stays_in_neutral_text():
    def f(x, y, z):
        m = max(x, y, z)  # the largest
        return m if m > 0 else -m

    assert statements(f, "fff")[0] == "m = max(x, y, z)  # the largest"
    assert statements(f, "fff", "numpy")[:2] == ["t0 = np.where(y > x, y, x)", "m = np.where(z > t0, z, t0)  # the largest"]


def test_mathematical_functions_are_spelled_for_the_target():
    def f(x):
        y = math.exp(x*2)  # grows
        return y if x > 0 else math.sqrt(2.0)*math.floor(x)

    assert statements(f, "f") == ["y = math.exp(x*2)  # grows", "return select(x > 0, y, math.sqrt(2.0)*math.floor(x))"]
    assert statements(f, "f", "numpy") == ["y = lanes.exp(x*2)  # grows",
                                           "return np.where(x > 0, y, math.sqrt(2.0)*lanes.floor_int(x))"]


def test_comment_lines_survive_with_their_statement():
    def f(x, c):
        # first
        y = x*2

        # second
        # third
        z = y*x  # behind
        if c:
            # gone with its branch
            return z
        return y

    assert statements(f, "fb") == ["# first", "y = x*2", "", "# second", "# third", "z = y*x  # behind",
                                   "return select(c, z, y)"]


def test_unrolled_copies_print_their_comment_once():
    def f(x):
        for _ in range(3):
            # step
            x = x*x + 1  # again
        return x

    assert statements(f, "f") == ["# step", "x = x*x + 1  # again", "x = x*x + 1", "x = x*x + 1", "return x"]


def test_lambda_becomes_a_def():
    assert definition(text(lambda x, y=2.0: x if x > y else y*2, "ff")) == (
        "def twin(x, y=2.0):\n    return select(x > y, x, y*2)\n")


# --- grouping


@pytest.mark.parametrize(("fn", "expected"), [
    (lambda a, b, c: a - (b - c) if a > 0 else a, "a - (b - c)"),
    (lambda a, b, c: (a - b) - c if a > 0 else a, "(a - b) - c"),
    (lambda a, b, c: a / (b * c) if a > 0 else a, "a / (b * c)"),
    (lambda a, b, c: -(a * b) if a > 0 else c, "-(a * b)"),
    (lambda a, b, c: -a * b if a > 0 else c, "-a * b"),
    (lambda a, b, c: a - -b if a > 0 else c, "a - -b"),
])
def test_grouping(fn, expected):
    assert statements(fn, "fff")[0].startswith(f"return select(a > 0, {expected}, ")


def test_grouping_of_what_has_no_source():
    def sub(p, q):
        return p - q

    def neg(p):
        return -p

    def f(a, b, c):
        return sub(a, sub(b, c)) if a > 0 else neg(sub(a, b)) * sub(c, b)

    assert statements(f, "fff") == ["return select(a > 0, a - (b - c), -(a - b) * (c - b))"]


def test_power_and_unary_minus_in_numba_text():
    def f(a, b):
        return (-a)**b if a < 0 else -a**b

    assert statements(f, "ff", "numba") == ["return (-a)**b if a < 0 else -a**b"]


def test_power_keeps_its_text():
    def whole(x, y, n):
        a = x **2 + 2** x   # squares
        return a**y, n ** 3, + x

    def chosen(x, n):
        return x ** 2 if x > 0 else n**3

    assert text(whole, "ffi").endswith(
        "    a = x **2 + 2** x   # squares\n    return a**y, n ** 3, + x\n")
    assert statements(chosen, "fi") == ["return select(x > 0, x ** 2, float(n**3))"]
    assert "lanes.pow" in text(chosen, "fi", "numpy")


def test_power_without_source_parentheses():
    def neg(p):
        return -p

    def power(p, q):
        return p**q

    def f(a, b, c):
        return power(neg(a), b) * power(power(a, b), neg(c)) if a > 0 else neg(power(a, power(b, c)))

    assert statements(f, "fff", "numba") == ["return (-a)**b * (a**b)**-c if a > 0 else -a**b**c"]


def test_operations_on_constants_alone_are_numpys():
    """They are lanes that always fail: Python's own arithmetic would raise, or leave 64 bits."""
    build = Builder()
    results = [build.op("truediv", const(1.0), const(0.0)), build.op("add", const(2**63 - 1), const(1)),
               build.op("not", const(True)), build.op("neg", const(-(2**63)))]
    fn = function([Param(FLOAT, "x")], build, results)
    found = run_numpy(specialised("def f(x): return made_up()", fn), fn, [np.zeros(2)])
    assert [v.item() for v in found] == [math.inf, -(2**63), False, -(2**63)]


def test_literals_match_by_kind_and_bits():
    assert same_number(2, const(2))
    assert same_number(-0.0, const(-0.0))
    assert not same_number(0.0, const(-0.0))
    assert not same_number(1, const(1.0))
    assert not same_number(True, const(1))


# --- results and parameters


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Span:
    low: float
    high: float = 0.0


def test_namedtuple_and_dataclass_results():
    def point(x):
        return Point(x*2, y=1.0) if x > 0 else Point(x, x)

    def span(x):
        return Span(x, x+1)

    assert statements(point, "f") == ["c0 = x > 0", "return Point(x=select(c0, x*2, x), y=select(c0, 1.0, x))"]
    assert statements(span, "f") == ["return Span(low=x, high=x+1)"]
    found = executed(point, "f")(np.array([1.0, -1.0]))
    assert type(found) is Point
    assert found.x.tolist() == [2.0, -1.0]
    assert executed(span, "f")(np.array([1.0])) == Span(np.array([1.0]), np.array([2.0]))


def test_fixed_parts_of_results():
    def f(x):
        return x*2 if x > 0 else x, None, (1, -2.5)

    assert statements(f, "f") == ["return select(x > 0, x*2, x), None, (1, -2.5)"]
    assert executed(f, "f")(1.0)[1:] == (None, (1, -2.5))


def test_parameters_that_are_records():
    def f(p, rest):
        return p.x*rest[1] if p.y > 0 else rest[0]

    pair = Record(tuple, (), (Leaf(FLOAT), Leaf(FLOAT)))
    spec = specialise(f, {"rest": pair, "p": Record(Point, ("x", "y"), (Leaf(FLOAT), Leaf(FLOAT)))})
    printed = render(spec, drop_faults(flatten_ir(spec.function)), target="neutral", name="twin")
    assert printed.endswith("    return select(p.y > 0, p.x*rest[1], rest[0])\n")


def test_static_parameters_stay_in_the_signature():
    def f(x, mode="up", k=SCALE):
        return x*k if mode == "up" else x/k

    printed = text(f, "f", "numpy", mode="up", k=2.0)
    assert 'def twin(x, mode="up", k=2.0):' in printed
    assert "mode = 'up'" in printed
    assert statements(f, "f", mode="up", k=2.0) == ["return x*2.0"]


class Scaled:
    factor = 3.0

    def value(self, x, k=2.0):
        return x*self.factor if x > k else k


def test_bound_method_prints_without_self():
    spec = specialise(Scaled().value, {"x": Leaf(FLOAT), "k": Leaf(FLOAT)})
    printed = render(spec, drop_faults(flatten_ir(spec.function)), target="numpy", name="twin")
    assert definition(printed) == "def twin(x, k=2.0):\n    return np.where(x > k, x*3.0, k)\n"


def test_comment_of_the_def_line_stays():
    def f(x):  # a note

        y = x%3

        return y*2  # twice

    assert definition(text(f, "f")) == "def twin(x):  # a note\n\n    y = x%3\n\n    return y*2  # twice\n"


# --- long and deep


def test_wide_statements_are_broken_at_arguments():
    def f(first, second, third, fourth):
        if first*second + third > second*third + fourth:
            r = first*second*third*fourth + first + second
        elif second*third > fourth*fourth + third*first*second:
            r = second*third + fourth*fourth + first*second*third
        else:
            r = third*third*third*third - fourth
        return r

    lines = text(f, "ffff").splitlines()[2:]
    assert max(map(len, lines)) <= 100
    assert any(line.endswith("select(") for line in lines)
    compile(definition(text(f, "ffff")), "<twin>", "exec")


def test_huge_sum_prints_and_compiles():
    def f(x):
        total = 0.0
        for k in range(4000):
            total = total + x*k
        return total

    printed = text(f, "f", "numpy")
    namespace: dict = {}
    exec(compile(printed, "<twin>", "exec"), namespace)
    assert namespace["twin"](np.array([0.5])).tolist() == [f(0.5)]


# --- the whole text


def test_header_says_what_it_is():
    head = text(colorsys.rgb_to_hsv, "fff").splitlines()[:2]
    assert head == ["# pyflat twin of colorsys:rgb_to_hsv, kinds (r: float, g: float, b: float)",
                    "# target-neutral: select(p, a, b) is a where p else b, both computed"]


def test_colorsys_reads_as_a_person_would_write_it():
    assert statements(colorsys.rgb_to_hsv, "fff") == [
        "maxc = max(r, g, b)", "minc = min(r, g, b)", "rangec = (maxc-minc)", "c0 = minc == maxc", "s = rangec / maxc",
        "rc = (maxc-r) / rangec", "gc = (maxc-g) / rangec", "bc = (maxc-b) / rangec",
        "h = select(r == maxc, bc-gc, select(g == maxc, 2.0+rc-bc, 4.0+gc-rc))", "h = (h/6.0) % 1.0",
        "return select(c0, 0.0, h), select(c0, 0.0, s), maxc"]


@pytest.mark.parametrize("fn", [colorsys.rgb_to_hsv, colorsys.rgb_to_hls, colorsys.hls_to_rgb, colorsys.hsv_to_rgb,
                                colorsys.rgb_to_yiq, colorsys.yiq_to_rgb])
def test_numpy_text_runs_as_it_stands(fn):
    grid = [np.array(column) for column in zip(*itertools.product([0.0, 0.2, 0.5, 0.7, 1.0], repeat=3), strict=True)]
    found = executed(fn, "fff")(*grid)
    wanted = [fn(*args) for args in itertools.product([0.0, 0.2, 0.5, 0.7, 1.0], repeat=3)]
    assert [tuple(float(v) for v in lane) for lane in zip(*found, strict=True)] == wanted


def test_suspect_slice():
    def f(x, y):
        return x/y if x > 0 else y

    spec = specialise(f, {"x": Leaf(FLOAT), "y": Leaf(FLOAT)})
    printed = render_suspect(spec, gather_suspects(flatten_ir(spec.function)), target="numpy", name="twin_suspect")
    namespace: dict = {"lanes": lanes}
    exec(printed, namespace)
    assert namespace["twin_suspect"](np.array([1.0, 1.0, -1.0]), np.array([0.0, 1.0, 0.0])).tolist() == [True, False, False]


def test_numba_text_runs_as_it_stands():
    def f(x, n, i):
        y = math.exp(x) if x > 0 else x % 0.75
        k = (n >> i) - (n // 3) % 5
        return max(y, 0.25), k + (3, 1, 4)[i], not x > 0

    spec, flat = flattened(f, "fii")
    namespace = globals_needed(spec)
    exec(render(spec, flat, target="numba", name="twin"), namespace)
    for args in [(0.5, 17, 1), (-0.5, -17, 2), (-0.0, 2**40, 0), (-1.5, -1, -3 + 3)]:
        assert namespace["twin"](*args) == f(*args)


@pytest.mark.parametrize("seed", range(3))
def test_broken_lines_group_as_one_line_does(seed: int) -> None:
    """At any width: parentheses are not lost where a line has room for all but them."""
    rng = random.Random(seed)

    def tree(depth: int) -> Expr:
        if not depth or rng.random() < 0.15:
            return Word(rng.choice(["x", "lanes_of_it", "1.5"]))
        match rng.randrange(5):
            case 0:
                return Call("np.where", [tree(depth - 1) for _ in range(3)])
            case 1:
                return Paren(tree(depth - 1))
            case 2:
                return Ternary(tree(depth - 1), tree(depth - 1), tree(depth - 1))
            case _:
                return Infix(tree(depth - 1), f" {rng.choice(['/', '-', '*', '<', '**'])} ", tree(depth - 1))

    for _ in range(60):
        expr = tree(4)
        whole = ast.dump(ast.parse(f"y = {flat(expr)}"))
        for width in range(0, 96, 2):
            lines = [line[width:] for line in layout("y = ", expr, " " * width)]
            assert ast.dump(ast.parse("\n".join(lines))) == whole, lines
