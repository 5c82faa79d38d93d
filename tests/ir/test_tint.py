"""What the Tint document asks of the IR: one operation per instruction, names, short circuits, and the way back to
text."""

from __future__ import annotations

import inspect

import pytest

import pyflat
from pyflat.errors import InternalError
from pyflat.frontend.result import Specialised
from pyflat.frontend.specialise import specialise
from pyflat.ir.build import Builder, const
from pyflat.ir.edit.cfg import Cfg
from pyflat.ir.interp import LaneFault, run
from pyflat.ir.nodes import Block, Exit, Function, If, Label, Loop, Op, Param, Yield, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.shape import Leaf
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.ir.validate import validate
from pyflat.passes.gather_suspects import drop_faults
from pyflat.passes.pipelines import flatten_ir
from pyflat.targets.text import render

KINDS = {"i": INT, "f": FLOAT, "b": BOOL}


def specialised(fn, letters: str, **options) -> Specialised:
    kinds = zip(inspect.signature(fn).parameters, letters, strict=True)
    return specialise(fn, {name: Leaf(KINDS[kind]) for name, kind in kinds}, **options)


def structured(fn, letters: str) -> Function:
    made = specialised(fn, letters).function
    validate(made)
    return made


def ops(fn: Function) -> list[Op]:
    return [op for item in walk(fn.body) if isinstance(item, Block) for op in item.ops]


def statements(fn, letters: str) -> list[str]:
    """The body of the printed twin."""
    spec = specialised(fn, letters)
    text = render(spec, drop_faults(flatten_ir(spec.function)), target="neutral", name="twin").splitlines()
    start = next(i for i, line in enumerate(text) if line.startswith("def "))
    return [line.strip() for line in text[start + 1 :]]


# --- one operation per instruction, and back to one statement


def document(b, c, k):
    a = b + c - (4 * k)
    return a


def test_the_documents_statement_is_three_operations():
    fn = structured(document, "iii")
    assert [op.opcode for op in ops(fn)] == ["add", "mul", "sub"]
    total, product, difference = ops(fn)
    assert difference.args == (total, product)
    assert [op.name for op in ops(fn)] == ["", "", "a"]


def test_the_documents_statement_comes_back_as_one_statement():
    assert statements(document, "iii") == ["a = b + c - (4 * k)", "return a"]
    assert statements(document, "fff") == ["a = b + c - (4 * k)", "return a"]


def test_a_value_knows_its_variable_and_its_statement():
    fn = structured(document, "iii")
    difference = ops(fn)[-1]
    assert difference.name == "a"
    assert difference.statement is not None and difference.statement.node is not None
    assert difference.origin is not None and difference.origin.span is not None
    assert difference.origin.span.line == inspect.getsourcelines(document)[1] + 1


def augmented(i):
    i += 1
    return i


def test_short_forms_are_the_long_ones():
    assert [(op.opcode, op.name) for op in ops(structured(augmented, "i"))] == [("add", "i")]


def shadowed(x):
    y = x + 1.0
    if x > 0.0:
        y = y * 2.0
    return y


def test_what_has_the_name_of_another_value_is_renamed_in_the_print():
    text = format_function(structured(shadowed, "f"))
    assert "%y = add %x, 1.0" in text
    assert "%y.1 = mul %y, 2.0" in text
    assert "-> (%y.2: f8)" in text


def reuse(x):
    t = x * x
    return t + 1.0 / (t + t)


def test_a_value_that_is_used_once_is_folded_back_and_one_used_often_is_not():
    assert statements(reuse, "f") == ["t = x * x", "return t + 1.0 / (t + t)"]


# --- dead code


def returns_early(x):
    return x
    x = 1.0 / x
    return x


GLOBAL = 5.0


def local_by_a_dead_store(x):
    if x > 0.0:
        return GLOBAL  # noqa: F823
        GLOBAL = 1.0
    return x


def test_code_after_a_return_is_dropped():
    assert ops(structured(returns_early, "f")) == []
    assert run(structured(returns_early, "f"), [0.0]).values == (0.0,)


def test_locality_is_decided_before_dead_code_is_dropped():
    with pytest.raises(UnboundLocalError):
        local_by_a_dead_store(1.0)
    with pytest.raises(LaneFault, match="UnboundLocalError"):
        run(structured(local_by_a_dead_store, "f"), [1.0])


def test_a_builder_can_drop_what_is_built_after_control_has_left():
    build = Builder(drop_dead=True)
    x = Param(FLOAT, "x")
    build.op("neg", x)
    build.end(Yield())
    dead = build.op("abs", x)
    build.node(If(build.op("gt", dead, const(0.0)), [Block(end=Yield())], [Block(end=Yield())]))
    build.end(Exit(Label("elsewhere")))
    assert len(build.items) == 1
    assert [op.opcode for op in build.block.ops] == ["neg"]
    assert isinstance(build.block.end, Yield)


def test_a_builder_refuses_it_otherwise():
    build = Builder()
    build.end(Yield())
    with pytest.raises(InternalError, match="after control has left the list"):
        build.op("abs", Param(FLOAT, "x"))


# --- inbound edges, from Python


def merges(x):
    if x > 0.0:
        y = 1.0
    else:
        y = 2.0
    return y


def one_arm_returns(x):
    if x > 0.0:
        return 1.0
    else:
        y = 2.0
    return y


def both_arms_return(x):
    if x > 0.0:
        return 1.0
    else:
        return 2.0


@pytest.mark.parametrize(("fn", "merge", "end"), [(merges, 2, 1), (one_arm_returns, 1, 2), (both_arms_return, 0, 2)])
def test_inbound_edges(fn, merge, end):
    made = structured(fn, "f")
    cfg = Cfg(made)
    assert [type(item) for item in made.body] == [Block, If, Block]
    block = made.body[2]
    assert len(cfg.predecessors(block)) == merge
    assert len(cfg.predecessors(cfg.end)) == end
    assert len(cfg.successors(block)) == (1 if merge else 0)


def counts(n):
    c = 0
    while n > 0:
        c += 1
        n = n // 2
    return c


def test_a_while_is_a_loop_with_a_break():
    made = specialised(counts, "i", loops="masked").function
    loop = next(item for item in walk(made.body) if isinstance(item, Loop))
    test = loop.body[1]
    assert isinstance(test, If)
    assert isinstance(test.then[-1].end, Yield)
    assert isinstance(test.orelse[-1].end, Exit) and test.orelse[-1].end.label is loop.label
    assert [run(made, [n]).values[0] for n in range(-2, 20)] == [counts(n) for n in range(-2, 20)]


# --- short circuits


def first(x):
    return x


def second(x):
    return 1.0 / x


def both(x, y):
    c = first(x) and second(y)
    return c


def either(x, y):
    c = first(x) or second(y)
    return c


def test_the_second_operand_is_control_flow():
    made = structured(both, "ff")
    branch = next(item for item in made.body if isinstance(item, If))
    assert "truediv" in [op.opcode for item in walk([branch]) if isinstance(item, Block) for op in item.ops]
    assert "truediv" not in [op.opcode for item in made.body if isinstance(item, Block) for op in item.ops]


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (-0.0, 0.0), (0.0, 2.0), (3.0, 2.0), (3.0, -4.0)])
def test_the_operand_is_what_a_short_circuit_gives_and_the_second_is_not_called_in_vain(x, y):
    made = structured(both, "ff")
    flat = flatten_ir(made)
    expected = both(x, y)
    for fn in (made, flat):
        result = run(fn, [x, y])
        assert not result.suspect
        assert repr(result.values[0]) == repr(expected)
    with pytest.raises(LaneFault, match="ZeroDivisionError"):
        run(made, [1.0, 0.0])
    assert run(flat, [1.0, 0.0]).suspect


def logical(x, y):
    return x > 0.0 and y > 0.0


def logical_or(x, y):
    return not (x > 0.0 or y > 0.0)


def guarded(x, y):
    if x > 0.0 and y / x > 1.0:
        return y
    return x


@pytest.mark.parametrize(
    ("fn", "expected"), [(logical, ["and"]), (logical_or, ["or", "not"])],
)
def test_short_circuits_of_bools_are_found_again_on_the_way_out(fn, expected):
    assert any(isinstance(item, If) for item in structured(fn, "ff").body)
    flat = drop_faults(flatten_ir(structured(fn, "ff")))
    opcodes = [op.opcode for op in flat.flat_block.ops]
    assert "select" not in opcodes
    assert sorted(opcodes) == sorted(["gt", "gt", *expected])


def test_the_text_has_one_statement_for_a_short_circuit():
    (line,) = statements(logical, "ff")
    assert line == "return (x > 0.0) & (y > 0.0)"
    assert "select" in statements(guarded, "ff")[-1]


# --- round trip through Python source


def sign(x):
    if x < 0.0:
        return -1.0
    if x > 0.0:
        return 1.0
    return x


def clamp(x, low, high):
    if x < low:
        x = low
    elif x > high:
        x = high
    return x


@pytest.mark.parametrize(("fn", "letters"), [(document, "fff"), (sign, "f"), (clamp, "fff"), (shadowed, "f"), (logical, "ff")])
def test_the_text_specialises_to_what_it_was_printed_from(fn, letters, tmp_path, monkeypatch):
    """Text for NumPy, run as Python in one lane, computes the same; and printing a branchless text again is
    idempotent."""
    twin = pyflat.twin(fn)
    text = str(twin.show(target="numpy", kinds=[{"f": "float"}[k] for k in letters]))
    (tmp_path / f"printed_{fn.__name__}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__(f"printed_{fn.__name__}")
    printed = next(v for k, v in vars(module).items() if k.endswith("_flat"))
    for args in ((-2.0, 0.5, 3.0), (0.0, -0.0, 1.0), (5.5, 2.0, 4.0)):
        row = args[: len(letters)]
        assert printed(*row) == fn(*row)


def test_branchless_text_is_a_fixed_point():
    again = statements(document, "fff")
    assert again == [line.strip() for line in inspect.getsource(document).splitlines()[1:]]


def test_the_print_is_read_back_at_every_stage():
    seen = []

    def check(name: str, fn: Function) -> None:
        text = format_function(fn)
        assert format_function(parse_function(text)) == text
        seen.append(name)

    made = structured(guarded, "ff")
    check("structured", made)
    flatten_ir(made, check)
    assert len(seen) > 5
