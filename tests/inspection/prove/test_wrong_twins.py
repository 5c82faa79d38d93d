"""Wrong flat forms, made at random from right ones: none is proved, and what is shown against one is really so."""

from random import Random

import pytest

from pyflat.ir.interp import LaneFault, TripLimit, run
from pyflat.ir.nodes import Block, Op, walk
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import FLOAT, INT

pytest.importorskip("z3")
from pyflat.inspection import prove as proofs
from pyflat.inspection.prove import loops as comparison
from tests.inspection.prove.test_prove import (
    calendar_day,
    congruential,
    early,
    forms,
    found,
    looked_up,
    newton,
    read_whole,
    root,
    squashed,
    whole,
)

WORK = 1_000_000
MUTANTS = 3
TRIPS = 25


def nested(x, n: int):
    total = 0.0
    i = 0
    while i < n:
        y = x
        while y > 1.0:
            y = y / 2.0
            if y == 3.0:
                return total - y
            total = total + y
        i = i + 1
    return total


def counted(n: int, m: int):
    c = 0
    for i in range(n):
        for j in range(i, m):
            if (i * j) % 3 == 0:
                c = c + 1
            if c > 100:
                return c - j
    return c


def branched(x, y):
    if x > y:
        if x > 2.0:
            z = x - y
        else:
            z = y / x
    elif y > 1.0:
        raise ValueError("y")
    else:
        z = x * y
    return z - 1.0 if z < y else y - z


FUNCTIONS = (early, found, looked_up, root, squashed, whole, nested, counted, branched, calendar_day, newton)
SWAPPED = {"sub", "truediv", "lt", "le", "gt", "ge", "mod", "floordiv", "pow"}
OTHER = {"add": "sub", "sub": "add", "lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "and": "or", "or": "and", "eq": "ne",
         "mul": "add"}


def wrong_ops(op):
    """Other operations in place of one: arms exchanged, a fault lost, operands swapped, a neighbour, another number."""
    if op.opcode == "fault":
        yield None
    if op.opcode == "select":
        yield Op("select", (op.args[0], op.args[2], op.args[1]), op.kind, attrs=op.attrs)
    if op.opcode in SWAPPED:
        yield Op(op.opcode, op.args[::-1], op.kind, attrs=op.attrs)
    if op.opcode in OTHER:
        yield Op(OTHER[op.opcode], op.args, op.kind, attrs=op.attrs)


def mutants(flat, rng, most):
    """Some of the flat forms with one operation changed, as edits of a parsed copy."""
    text = format_function(flat)
    count = sum(len(item.ops) for item in walk(flat.body) if isinstance(item, Block))
    made = 0
    for place in rng.sample(range(count), count):
        copy = parse_function(text)
        blocks = [item for item in walk(copy.body) if isinstance(item, Block)]
        block, at = next((block, block.ops.index(op)) for op in [[op for b in blocks for op in b.ops][place]]
                         for block in blocks if op in block.ops)
        choices = list(wrong_ops(block.ops[at]))
        if not choices:
            continue
        _replace(block, at, rng.choice(choices))
        yield copy
        made += 1
        if made == most:
            return


def _replace(block, at, wrong):
    """In place: the operation keeps its identity, so that what reads it reads the wrong one."""
    if wrong is None:
        del block.ops[at]
        return
    op = block.ops[at]
    op.opcode, op.args = wrong.opcode, list(wrong.args) if isinstance(op.args, list) else wrong.args


def python_of(fn, args):
    """What the original does."""
    try:
        result = fn(*args)
    except Exception as error:  # noqa: BLE001 - whatever the original raises
        return type(error).__name__
    return repr(result)


def outcome(form, args):
    try:
        done = run(form, args, max_trips=4 * TRIPS)
    except LaneFault as fault:
        return fault.fault.type
    return "suspect" if done.suspect else repr(done.values[0])


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_no_wrong_twin_is_proved(fn, monkeypatch):
    monkeypatch.setattr(proofs, "MOST_ROWS", 60)
    monkeypatch.setattr(comparison, "MOST_TRIPS", TRIPS)
    structured, flat = forms(fn)
    assert proofs.compare(fn.__name__, structured, flat, work=100 * WORK).verdict == "proved"
    rng = Random(fn.__name__)
    seen = 0
    for wrong in mutants(flat, rng, MUTANTS):
        seen += 1
        answer = proofs.compare(fn.__name__, structured, wrong, work=WORK)
        if answer.verdict == "proved":
            assert not differing(structured, wrong), format_function(wrong)
        if answer.verdict == "counterexample":
            args = tuple(answer.arguments.values())
            theirs, ours = python_of(fn, args), outcome(wrong, args)
            assert ours not in ("suspect", theirs), (args, theirs)
            assert outcome(structured, args) in (theirs, "OutOfLane")
            assert outcome(flat, args) in ("suspect", theirs)
    assert seen >= 2


@pytest.mark.parametrize("fn", [early, found, whole, root, branched, congruential, read_whole], ids=lambda fn: fn.__name__)
def test_what_differs_differs_from_python(fn, monkeypatch):
    """Where an int leaves 64 bits the path gives what Python gives, which a form without that fault may give too."""
    monkeypatch.setattr(comparison, "MOST_TRIPS", TRIPS)
    structured, flat = forms(fn)
    rows = proofs.edge_rows([p.kind for p in structured.params])
    shown = 0
    for wrong in mutants(flat, Random(fn.__name__), 40):
        for args in rows:
            if comparison.differs(structured, wrong, args):
                shown += 1
                assert outcome(wrong, args) not in ("suspect", python_of(fn, args)), args
    assert shown


def differing(structured, wrong):
    """Arguments for which a form that was proved differs all the same."""
    rng = Random(0)
    for args in [*proofs.edge_rows([p.kind for p in structured.params]),
                 *(tuple(near(p.kind, rng) for p in structured.params) for _ in range(60))]:
        try:
            theirs, ours = outcome(structured, args), outcome(wrong, args)
        except TripLimit:
            continue
        if ours not in ("suspect", theirs):
            return args
    return None


def near(kind, rng):
    return rng.randrange(-12, 13) if kind is INT else rng.randrange(-40, 40) / 4.0 if kind is FLOAT else rng.random() < 0.5
