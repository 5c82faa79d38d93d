"""Translation validation: proofs, counterexamples for wrong passes, and honest limits."""

import colorsys
import functools
import math
import subprocess
import sys

import pytest

from pyflat.ir.nodes import Block, Const, Function, Op, Yield
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import FLOAT, INT
from pyflat.passes import pipelines as pipeline
from pyflat.passes.record import Pass
from pyflat.runtime.compiled import specialised
from pyflat.runtime.settings import resolve
from tests.runtime import functions as f

pytest.importorskip("z3")
from pyflat.inspection import prove as proofs
from pyflat.inspection.prove import solving

WORK = 500_000_000
"""Steps of z3: eight times what the longest of these proofs takes."""
prove = functools.partial(proofs.prove, work=WORK)
compare = functools.partial(proofs.compare, work=WORK)


def early(x, y):
    if x > y and not x < 0.0:
        return x * y + 1.0
    for i in range(3):
        if x * i > y:
            break
        y = y - x
    return y


def whole(n: int, m: int):
    if m == 0:
        return 0
    k = n // m
    if k % 2 == 1:
        k = k + n * 3
    return k << 2


def helped(x):
    return root(x) if x > 1.0 else root(-x)


def root(a):
    if a < 0:
        raise ValueError("negative")
    return math.sqrt(a) + math.exp(a)


def looked_up(i: int):
    return (1.0, 2.0, 4.0, 8.0)[i] if i < 4 else -1.0


def congruential(x: int):
    return (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFF


def mixed(x: int):
    x = x & 0xFFFFFFFFFFFFFFFF
    return (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF


def read_whole(x: int):
    h = x * 31
    return (h & 255) + (1 if h > 0 else 0)


@pytest.mark.parametrize("fn", [congruential, mixed, read_whole, early, whole, helped, looked_up, f.ordered, f.checked, f.product, f.modular, colorsys.rgb_to_hsv,
                                colorsys.hsv_to_rgb, colorsys.rgb_to_hls, colorsys.hls_to_rgb])
def test_functions_that_are_proved(fn):
    answer = prove(fn)
    assert answer.verdict == "proved", str(answer)


def test_what_is_claimed_is_said():
    assert str(prove(f.inverse)) == ("inverse: proved: every argument (x: float) gives the original's result or is handed back to the original")
    assert "(n: int, m: int)" in prove(whole).reason
    assert "(x: int)" in prove(f.inverse, kinds="i8").reason


# --- wrong passes


def changed(fn: Function, edit) -> Function:
    """A flat function with each operation replaced by what `edit(op, args)` gives (an Op, another value, or None)."""
    made, ops = {}, []
    for op in fn.flat_block.ops:
        args = [made.get(a, a) for a in op.args]
        new = edit(op, args)
        if new is None:
            new = Op(op.opcode, args, op.kind, name=op.name, attrs=op.attrs, origin=op.origin)
        if isinstance(new, Op) and new not in args:
            ops.append(new)
        made[op] = new
    return Function(fn.name, fn.params, [Block(ops, Yield([made.get(v, v) for v in fn.flat_block.end.values]))], fn.label,
                    fn.result_kinds, fn.form)


def swap_arms(fn):
    return changed(fn, lambda op, a: Op("select", (a[0], a[2], a[1]), op.kind) if op.opcode == "select" else None)


def sum_for_difference(fn):
    return changed(fn, lambda op, a: Op("sub", a, op.kind) if op.opcode == "add" and op.kind is FLOAT else None)


def lose_faults(fn):
    return changed(fn, lambda op, a: a[0] if op.opcode == "fault" else None)


def negate_comparisons(fn):
    """not (x > t) as x <= t, which is wrong for nan."""
    def edit(op, a):
        if op.opcode == "not" and isinstance(a[0], Op) and a[0].opcode == "gt":
            return Op("le", a[0].args, op.kind)
        return None
    return changed(fn, edit)


def times_zero(fn):
    def edit(op, a):
        zero = op.opcode == "mul" and op.kind is FLOAT and any(isinstance(v, Const) and v.value == 0.0 for v in a)
        return Const(FLOAT, 0.0) if zero else None
    return changed(fn, edit)


def add_zero(fn):
    """x + 0.0 as x, which is wrong for -0.0."""
    def edit(op, a):
        zero = op.opcode == "add" and op.kind is FLOAT and isinstance(a[1], Const) and repr(a[1].value) == "0.0"
        return a[0] if zero else None
    return changed(fn, edit)


def unordered(x, y):
    return not x > y


def nan_kept(x, y):
    a = x + 0.0
    b = y * 0.0
    return a if not x > y else b + 2.0


@pytest.mark.parametrize(("wrong", "fn"), [
    (swap_arms, f.ordered), (swap_arms, early), (sum_for_difference, early), (lose_faults, f.inverse), (lose_faults, helped),
    (lose_faults, f.product), (lose_faults, read_whole), (negate_comparisons, unordered), (times_zero, nan_kept), (add_zero, nan_kept),
])
def test_a_wrong_pass_gives_a_counterexample(wrong, fn, monkeypatch):
    monkeypatch.setattr(pipeline, "FLATTEN", (*pipeline.FLATTEN[:2], Pass(wrong), *pipeline.FLATTEN[2:]))
    answer = prove(fn, kinds="i8,i8" if fn is f.product else None)
    assert answer.verdict == "counterexample", str(answer)
    assert set(answer.arguments) == set(fn.__code__.co_varnames[:fn.__code__.co_argcount])
    assert "the path" in answer.reason
    assert "the flat form" in answer.reason


def test_a_counterexample_shows_both_values(monkeypatch):
    monkeypatch.setattr(pipeline, "FLATTEN", (*pipeline.FLATTEN[:2], Pass(lose_faults), *pipeline.FLATTEN[2:]))
    answer = prove(f.inverse)
    assert answer.arguments["x"] == 0.0
    assert "the path raises ZeroDivisionError" in str(answer)


# --- forms compared directly

IDENTITY = "func @f(%x: f8) -> (f8) structured @return {{\n  %0 = {op} : f8\n  yield %0\n}}\n"
RESULT = "func @f(%x: f8) -> (f8) flat @return {{\n  {lines}\n}}\n"


def pair(op, lines):
    return parse_function(IDENTITY.format(op=op)), parse_function(RESULT.format(lines="\n  ".join(lines)))


@pytest.mark.parametrize(("op", "lines", "verdict"), [
    ("mul %x, 1.0", ["yield %x"], "proved"),
    ("mul %x, 2.0", ["%0 = add %x, %x : f8", "yield %0"], "proved"),
    ("add %x, 0.0", ["yield %x"], "counterexample"),
    ("add %x, -0.0", ["yield %x"], "proved"),
    ("sub %x, %x", ["yield 0.0"], "counterexample"),
    ("neg %x", ["%0 = sub 0.0, %x : f8", "yield %0"], "counterexample"),
    ("neg %x", ["%0 = sub -0.0, %x : f8", "yield %0"], "proved"),
    ("atan %x", ["%0 = atan %x : f8", "yield %0"], "proved"),
    ("atan %x", ["%0 = tanh %x : f8", "yield %0"], "counterexample"),
    ("abs %x", ["%0 = lt %x, 0.0 : b", "%1 = neg %x : f8", "%2 = select %0, %1, %x : f8", "yield %2"], "counterexample"),
])
def test_identities_of_floats(op, lines, verdict):
    answer = compare("f", *pair(op, lines))
    assert answer.verdict == verdict, str(answer)


def test_what_the_c_library_computes_is_outside():
    structured, flat = pair("atan %x", ["%0 = neg %x : f8", "%1 = atan %0 : f8", "%2 = neg %1 : f8", "yield %2"])
    answer = compare("f", structured, flat)
    assert str(answer) == ("f: outside the provable part, because it depends on what atan compute, unknown to z3")


def test_a_question_that_is_too_hard_is_outside():
    structured, flat = pair("truediv %x, 3.0", ["%0 = mul %x, 5.0 : f8", "%1 = truediv %0, 15.0 : f8", "%2 = select true, %1, %0 : f8",
                                                "yield %2"])
    for limit, said in (({"work": 1000}, "1,000 steps"), ({"work": None, "seconds": 0.001}, "0.001 s")):
        answer = compare("f", structured, flat, **limit)
        assert answer.verdict == "outside"
        assert answer.reason == f"z3 did not decide it in {said}"


def test_refused_functions_are_outside():
    answer = prove(lambda x: print(x))
    assert answer.verdict == "outside"
    assert answer.reason.startswith("the function is refused: ")


def halved(x):
    while x > 1.0:
        x = x / 2.0
    return x


def found(x, n: int):
    """A loop that is left by its test, by break and by return."""
    total = 0.0
    while x > 1.0:
        n = n + 1
        if n > 100:
            break
        if x == 7.0:
            return total / x
        total = total + 1.0 / (x - 3.0)
        x = x / 2.0
    return total + x


def inner(x, n: int):
    """A loop in a loop, which is left in the middle."""
    total = 0.0
    i = 0
    while i < n:
        y = x
        while y > 1.0:
            y = y / 2.0
            if y == 3.0:
                return total - x
            total = total + y
        i = i + 1
    return total


def longest(n: int):
    best = 0
    for k in range(1, n):
        m = k
        c = 0
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            c = c + 1
        best = max(best, c)
    return best


def triples(n: int):
    c = 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if i * i + j * j == k * k:
                    c += 1
    return c


def checked_before(x, y):
    """What fails in the loop has failed before it, or cannot be after the test."""
    z = 1.0 / y
    if x < 0.5:
        return z
    while x > 1.0:
        x = x / 2.0 + z / x / y - z / x / y
    return x


def digits(n: int):
    """No product can leave 64 bits: its operands lie between 0 and 9."""
    total = 0
    while n > 0:
        d = n % 10
        total = total + d ** d * (n % 7)
        n = n // 10
    return total


@pytest.mark.parametrize("fn", [halved, found, inner, longest, triples, checked_before, digits])
def test_loops_are_proved_by_induction(fn):
    answer = prove(fn)
    assert answer.verdict == "proved", str(answer)


@pytest.mark.parametrize(("fn", "old", "new"), [
    (halved, "truediv %x.1, 2.0", "truediv %x.1, 4.0"),
    (halved, "gt %x.1, 1.0", "ge %x.1, 1.0"),
    (found, "le %n.2, 100", "le %n.2, 101"),
    (found, "ZeroDivisionError", ""),
    (found, "add %n.1, 1", "add %n.1, 2"),
    (found, "eq %x.1, 7.0", "eq %x.1, 5.0"),
])
def test_a_wrong_loop_is_not_proved(fn, old, new):
    structured, flat = forms(fn)
    text = format_function(flat)
    wrong = text.replace(old, new, 1) if new else "\n".join(line for line in text.splitlines() if old not in line)
    assert wrong != text
    assert compare("f", structured, parse_function(wrong), work=20_000_000).verdict != "proved"


def forms(fn):
    shapes = {name: Leaf(INT if note in (int, "int") else FLOAT)
              for name, note in ((n, fn.__annotations__.get(n)) for n in fn.__code__.co_varnames[:fn.__code__.co_argcount])}
    structured = specialised(fn, shapes, resolve(), none=False).function
    return structured, pipeline.flatten_ir(structured)


def doubled_or_told(x):
    if x != x:
        return "no number"
    if x > 100.0:
        return "too large"
    return x * 2.0


def test_a_number_beside_strings_counts_where_the_lane_has_a_number():
    structured, flat = forms(doubled_or_told)
    assert proofs.compare("told", structured, flat, work=WORK).verdict == "proved"
    text = format_function(flat)
    assert text.count("2.0") == 1
    wrong = parse_function(text.replace("2.0", "3.0"))
    answer = proofs.compare("told", structured, wrong, work=WORK)
    assert answer.verdict == "counterexample"
    assert answer.arguments["x"] <= 100.0
    codes = parse_function(text.replace("100.0", "90.0"))
    answer = proofs.compare("told", structured, codes, work=WORK)
    assert answer.verdict == "counterexample"
    assert 90.0 <= answer.arguments["x"] <= 100.0


def test_large_tables_are_one_function():
    table = tuple(float(i) for i in range(1000))
    answer = prove(lambda i: table[i], kinds="i8")
    assert answer.verdict == "proved", str(answer)


def calendar_day(jd):
    """Ints of rounded floats: that they fit is said by ranges, which failures before them narrow."""
    jd = math.floor(jd) + 0.5
    year = math.floor((30 * (jd - 1948439.5) + 10646) / 10631)
    first = 1 + (year - 1) * 354 + math.floor((3 + 11 * year) / 30) + 1948439.5 - 1
    month = min(12, math.ceil((jd - (29 + first)) / 29.5) + 1)
    return year * 100 + month


def newton(x, y):
    """Steps whose divisor is chosen away from zero."""
    z = x
    for _ in range(8):
        slope = 1 - 2 * z * y + x * z * z
        if abs(slope) < 1e-10:
            slope = 1
        z -= (z * z - y + x * (1 - z)) / slope
    return z


@pytest.mark.parametrize("fn", [calendar_day, newton])
def test_what_terms_can_be_decides_failures(fn, monkeypatch):
    """z3 is not asked at all."""
    monkeypatch.setattr(solving.Solver, "_refined", lambda *_: pytest.fail("z3 is asked"))
    answer = prove(fn)
    assert answer.verdict == "proved", str(answer)


def squashed(x):
    return 1.0 / math.sqrt(1.0 + 3.0 * x ** 2.0 / 9.8) + math.exp(-x * x / 2.0)


def test_ranges_of_functions_and_order_decide_failures():
    """No division by zero, no root of a negative number, no overflow: intervals said so to the passes."""
    answer = prove(squashed)
    assert answer.verdict == "proved", str(answer)
    assert answer.reason.endswith("(whatever exp, pow compute in their ranges)")


@pytest.mark.parametrize(("old", "new"), [(" 3.0", " -3.0"), (" add 1.0", " add -1.0")])
def test_a_failure_that_can_be_is_not_proved_away(old, new):
    """The flat form of `squashed` has no fault there; with other numbers it needs one."""
    wrong = [format_function(each).replace(old, new, 1) for each in forms(squashed)]
    assert compare("f", *map(parse_function, wrong), work=20_000_000).verdict != "proved"


def test_options_are_checked():
    with pytest.raises(TypeError, match="unknown option"):
        prove(f.inverse, targt="numpy")


def test_importing_the_package_does_not_load_z3():
    code = "import sys, pyflat.inspection.prove; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
