"""All that the prover takes as given of operations, held against what Python computes: on edges and random numbers."""

import itertools
import math
import struct
from random import Random

import pytest

pytest.importorskip("z3")
import z3

from pyflat.functions.records import RECORDS
from pyflat.inspection.prove import EDGES, floats, ranges, theorems
from pyflat.inspection.prove.bounds import Bounds
from pyflat.inspection.prove.terms import (
    _IDENTITIES,
    _MEANINGS,
    SORTS,
    Application,
    Terms,
    choice,
    computed,
    literal,
    negation,
)
from pyflat.ir.nodes import Op, Param
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT

ROWS = 60
TABLE = tuple(float(i * i % 23) for i in range(20))
RANGED = sorted(name for name, record in RECORDS.items()
                if name in PRIMITIVES and (record.range is not None or record.rises_to is not None))
STATED = sorted({*theorems._FACTS, *theorems._DEFINITIONS, *((name, FLOAT) for name in RANGED), ("gather", INT)}, key=repr)
TERMS = sorted({*_MEANINGS, *_IDENTITIES}, key=repr)
CUT = sorted({*theorems._ORDERS, *((name, FLOAT) for name in theorems._CEILINGS), ("gather", INT)}, key=repr)
IDS = {"ids": lambda key: f"{key[0]}-{key[1].name}".lower()}


def drawn(kind, rng):
    if kind is BOOL:
        return rng.random() < 0.5
    if rng.random() < 0.5:
        return rng.choice(EDGES[kind])
    if kind is INT:
        return rng.choice((rng.randrange(-30, 30), rng.randrange(-2**62, 2**62)))
    return rng.choice((rng.uniform(-4.0, 4.0), float(rng.randrange(-9, 9)), struct.unpack("<d", rng.randbytes(8))[0]))


def signature(key):
    """The opcode, the kinds of operands, the kind of the result and the attributes."""
    opcode, kind = key
    attrs = (("table", TABLE),) if opcode == "gather" else ()
    kinds, result = next((kinds, result) for kinds, result in PRIMITIVES[opcode].signatures if kinds[0] is kind)
    return opcode, (FLOAT if opcode == "gather" else result), kinds, attrs


def application(key):
    opcode, result, kinds, attrs = signature(key)
    args = tuple(z3.Const(f"a{i}", SORTS[kind]) for i, kind in enumerate(kinds))
    return Application(opcode, attrs, args, kinds, result, z3.Const("t", SORTS[result]))


def rows(made, rng, most=ROWS):
    """Operands and what Python computes of them; lanes in which it raises are left out."""
    for _ in range(most):
        values = [drawn(kind, rng) for kind in made.kinds]
        if made.opcode == "gather":
            values = [rng.randrange(-len(TABLE) - 2, len(TABLE) + 2)]
        result = computed(made.opcode, made.kind, made.attrs, values)
        if result is not None:
            yield values, result


def at(formula, made, values, result):
    pairs = [*zip(made.args, map(literal, values), strict=True), (made.result, literal(result))]
    return z3.simplify(z3.substitute(formula, *pairs))


@pytest.mark.parametrize("key", STATED, **IDS)
def test_facts_and_definitions_hold(key):
    made = application(key)
    said = list(theorems.facts(made))
    exact = theorems.definition(made)
    said += [] if exact is None else [exact]
    assert said
    for values, result in rows(made, Random(repr(key))):
        for formula in said:
            assert z3.is_true(at(formula, made, values, result)), (values, result, formula)


@pytest.mark.parametrize("key", [key for key in STATED if key in theorems._DEFINITIONS], **IDS)
def test_a_definition_leaves_no_other_result(key):
    made = application(key)
    exact = theorems.definition(made)
    for values, result in rows(made, Random(repr(key)), 12):
        if made.kind is INT and made.kinds[0] is FLOAT and abs(values[0]) >= 2.0**63:
            continue  # no int64; nothing is said of it
        other = result + 1 if result != result + 1 else -result if result else math.nan
        if other == other or result == result:
            assert z3.is_false(at(exact, made, values, other)), (values, other)


@pytest.mark.parametrize("key", CUT, **IDS)
def test_cuts_hold_everywhere(key):
    """A cut is made for operands and a result that is wrong there; it offends these, and no true result anywhere."""
    made, rng = application(key), Random(repr(key))
    cuts = theorems.Cuts([0.25, 3.0, -7.5, 100, 9])
    found = 0
    for values, _ in rows(made, rng, 25):
        wrong = drawn(made.kind, rng)
        for formula in cuts.of(made, values, wrong):
            found += 1
            assert not z3.is_true(at(formula, made, values, wrong))
            for others, result in rows(made, rng, 25):
                assert z3.is_true(at(formula, made, others, result)), (values, others, result, formula)
    assert found


@pytest.mark.parametrize("key", TERMS, **IDS)
def test_terms_have_the_values_of_operations(key):
    """With unknown operands, and with a literal at any place, which is where identities are."""
    opcode, result, kinds, attrs = signature(key)
    rng = Random(repr(key))
    for known in range(-1, len(kinds)):
        for edge in EDGES[kinds[known]] if known >= 0 else (None,):
            terms = Terms()
            args = [z3.Const(f"a{i}", SORTS[kind]) for i, kind in enumerate(kinds)]
            shown = [literal(edge) if place == known else arg for place, arg in enumerate(args)]
            term = terms.value(opcode, tuple(kinds), shown, result, attrs)
            for _ in range(6):
                values = [edge if place == known else drawn(kind, rng) for place, kind in enumerate(kinds)]
                expected = computed(opcode, result, attrs, values)
                if expected is not None:
                    assert valued(terms, term, args, values).eq(literal(expected)), (values, expected, term)


def valued(terms, term, args, values, rng=None):
    """The term where its applications have the results that Python computes, and any where Python raises."""
    pairs = list(zip(args, map(literal, values), strict=True))
    for made in terms.applications:
        operands = [python(z3.simplify(z3.substitute(arg, *pairs)), kind) for arg, kind in zip(made.args, made.kinds, strict=True)]
        result = computed(made.opcode, made.kind, made.attrs, operands)
        if result is None and rng is not None:
            result = drawn(made.kind, rng)
        if result is not None:
            pairs.append((made.result, literal(result)))
    return z3.simplify(z3.substitute(term, *pairs))


def python(term, kind):
    if kind is BOOL:
        return z3.is_true(term)
    word = term.as_signed_long()
    return floats.number_of(word) if kind is FLOAT else word


@pytest.mark.parametrize(("opcode", "kinds"), [
    *((opcode, (INT, INT)) for opcode in ("mod", "floordiv", "mul", "ipow", "add", "sub", "and", "or", "xor", "shl", "shr")),
    *((opcode, (FLOAT, FLOAT)) for opcode in ("add", "mul", "truediv", "mod", "floordiv", "pow")),
    *((opcode, (FLOAT,)) for opcode in ("sqrt", "np_sqrt", "floor", "ceil", "trunc", "rint", "to_int",
                                        "floor_int", "ceil_int", "round_int", "exp", "sin")),
    ("to_float", (INT,)), ("neg", (INT,)), ("invert", (INT,)),
])
def test_results_lie_in_their_ranges(opcode, kinds):
    rng = Random(opcode)
    narrow = 0
    result = next(result for these, result in PRIMITIVES[opcode].signatures if these == kinds)
    for _ in range(400):
        sets = [some_words(kind, rng) for kind in kinds]
        found = ranges.applied(opcode, kinds, result, sets, ())
        narrow += found != ranges.of_kind(result)
        for _ in range(8):
            values = [one_of(each, kind, rng) for each, kind in zip(sets, kinds, strict=True)]
            value = computed(opcode, result, (), values)
            if value is not None and is_lane(opcode, values):
                assert found.holds(literal(value).as_signed_long()), (sets, values, value, found)
    assert narrow


NEAR = {INT: (-3, -1, 0, 1, 2, 9, 10, 63), FLOAT: (-2.5, -0.0, 0.0, 0.5, 1.0, 9.0, 1e200)}


def some_words(kind, rng):
    ends = [drawn(kind, rng) if rng.random() < 0.3 else rng.choice(NEAR[kind]) for _ in "abc"]
    found = sorted(literal(end).as_signed_long() for end in ends if end == end)
    found = found or [0]
    parts = [(found[0], found[-1])] if rng.random() < 0.5 else [(found[0], found[0]), (found[-1], found[-1])]
    return ranges.words(parts, nan=kind is FLOAT and rng.random() < 0.2)


def one_of(found, kind, rng):
    low, high = rng.choice([*found.parts, *([(floats.NAN_WORD,) * 2] if found.nan else [])])
    word = rng.choice((low, high, rng.randint(low, high)))
    return floats.number_of(word) if kind is FLOAT else word


def is_lane(opcode, values):
    """The result is no int that only wrapped into 64 bits."""
    try:
        value = PRIMITIVES[opcode].python(*values)
    except (ArithmeticError, ValueError):
        return False
    return not isinstance(value, int) or -2**63 <= value < 2**63


FORMULAS = 60


def test_what_is_refuted_is_false_everywhere():
    """Random formulas of random terms, at random numbers: none that is true somewhere is refuted, many that are not
    are."""
    rng = Random("refuted")
    refuted = 0
    for _ in range(FORMULAS):
        terms = Terms()
        params = [(terms.fresh(kind.name, kind), kind) for kind in (INT, INT, FLOAT, FLOAT, BOOL)]
        question = z3.And(*(formula(terms, params, rng, 1) for _ in range(6)))
        found = Bounds(terms).refuted(question)
        refuted += found
        for _ in range(12 if found else 0):
            values = [drawn(kind, rng) if rng.random() < 0.4 or kind is BOOL else rng.choice(NEAR[kind]) for _, kind in params]
            assert not z3.is_true(valued(terms, question, [each for each, _ in params], values, rng)), (question, values)
    assert FORMULAS // 10 < refuted < FORMULAS


def formula(terms, params, rng, depth=2):
    if depth and rng.random() < 0.5:
        parts = [formula(terms, params, rng, depth - 1) for _ in "ab"]
        return rng.choice((z3.And, z3.Or, lambda a, b: z3.Not(a), z3.Implies, lambda a, b: a != b))(*parts)
    kind = rng.choice((INT, FLOAT))
    args = [term(terms, params, kind, rng) for _ in "ab"]
    return terms.value(rng.choice(("lt", "le", "gt", "ge", "eq", "ne")), (kind, kind), args, BOOL)


OF_FLOATS = ("add", "sub", "mul", "truediv", "neg", "abs", "floor", "sqrt", "mod", "to_float")
OF_INTS = ("add", "sub", "neg", "abs", "and", "or", "xor", "mul", "mod", "floordiv", "to_int", "floor_int")


def term(terms, params, kind, rng, depth=1):
    chance = rng.random()
    if not depth or chance < 0.25:
        known = [each for each, its in params if its is kind]
        return rng.choice((literal(rng.choice(NEAR[kind])), *known))
    if chance < 0.45:
        arms = [term(terms, params, kind, rng, depth - 1) for _ in "ab"]
        return terms.value("select", (BOOL, kind, kind), [formula(terms, params, rng, 0), *arms], kind)
    opcode = rng.choice(OF_FLOATS if kind is FLOAT else OF_INTS)
    kinds = next(kinds for kinds, result in PRIMITIVES[opcode].signatures if result is kind and BOOL not in kinds)
    return terms.value(opcode, kinds, [term(terms, params, each, rng, depth - 1) for each in kinds], kind)


def test_a_choice_is_made_once():
    c, d = z3.Bools("c d")
    x, y, u = z3.BitVecs("x y u", 64)
    assert choice(c, x, x).eq(x)
    assert choice(c, x, z3.If(c, u, y)).eq(z3.If(c, x, y))
    assert choice(z3.Not(c), z3.If(c, u, y), x).eq(z3.If(c, x, y))
    assert choice(c, x, z3.If(d, z3.If(c, u, y), y)).eq(z3.If(c, x, y))
    assert choice(c, z3.BoolVal(True), z3.BoolVal(False)).eq(c)
    assert choice(c, x, z3.If(d, u, y)).eq(z3.If(c, x, z3.If(d, u, y)))
    assert choice(c, z3.If(d, x, y), y).eq(z3.If(z3.And(c, d), x, y))
    assert choice(c, d, z3.BoolVal(False)).eq(z3.And(c, d))


def test_choices_mean_what_they_say():
    rng = Random("choices")
    conds, values = z3.Bools("c d e"), z3.BitVecs("x y u", 64)
    for _ in range(60):
        plain, made = [*values, *values], [*values, *values]
        bools, made_bools = [*conds, z3.BoolVal(True), z3.BoolVal(False)], [*conds, z3.BoolVal(True), z3.BoolVal(False)]
        for _ in range(8):
            cond, a, b = rng.randrange(len(bools)), rng.randrange(len(plain)), rng.randrange(len(plain))
            plain.append(z3.If(bools[cond], plain[a], plain[b]))
            made.append(choice(made_bools[cond], made[a], made[b]))
            p, q = rng.randrange(len(bools)), rng.randrange(len(bools))
            bools.append(z3.If(bools[cond], bools[p], z3.Not(bools[q])))
            made_bools.append(choice(made_bools[cond], made_bools[p], negation(made_bools[q])))
        solver = z3.Solver()
        solver.add(z3.Or(plain[-1] != made[-1], bools[-1] != made_bools[-1]))
        assert solver.check() == z3.unsat


def test_small_tables_have_the_values_of_their_rows():
    index = z3.BitVec("i", 64)
    term = Terms().apply(Op("gather", (Param(INT, "i"),), FLOAT, attrs=(("table", TABLE[:7]),)), [index])
    for i in range(-7, 7):
        assert z3.simplify(z3.substitute(term, (index, z3.BitVecVal(i, 64)))).eq(literal(TABLE[:7][i]))


def test_words_keep_the_order_of_doubles():
    a, b = z3.BitVecs("a b", 64)
    for x, y in itertools.product(EDGES[FLOAT], repeat=2):
        here = (a, literal(x)), (b, literal(y))
        for p, q in itertools.product((a, literal(x)), (b, literal(y))):
            for formula, value in ((floats.less(p, q), x < y), (floats.at_most(p, q), x <= y), (floats.equal(p, q), x == y)):
                assert z3.is_true(z3.simplify(z3.substitute(formula, *here))) is value, (x, y, formula)
