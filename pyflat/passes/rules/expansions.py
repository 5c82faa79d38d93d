"""Operations by way of others, for targets that lack them. Every one gives Python's value, bit for bit, or a doubt.

`EXPANSIONS` are those that all targets use where they spell no such operation; a target adds from the others what it
needs. Operations that the IR does not have: `to_whole` (an int of a whole float or of a bool), `rem` and `quo` (as C
divides), `add_small` and `sub_small` (which cannot overflow), `signbit`.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from pyflat.errors import refuse
from pyflat.functions.records import aliases
from pyflat.functions.vmath.coefficients import ERF, ERFC
from pyflat.ir.formats import F4
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Const, Function, Op, Value, number
from pyflat.ir.ops import ROUNDED
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes.rules.legalise import Expansion, Expansions, Legaliser, legalised
from pyflat.passes.rules.patterns import applied, rules
from pyflat.passes.rules.rewrite import power_of

BEYOND_INT = 2.0**63
WHOLE = 2.0**52
"""From here on every float is a whole number."""
MAX_POWER = 32
"""Whole powers up to this one are products."""
SPLIT = 2.0**27 + 1.0
INT_MIN = -(2**63)


def whole(rounding: str) -> Expansion:
    """An int of a rounded float; zero where it does not fit, which is a fault."""
    def rule(t: Legaliser, x: Value) -> Value:
        if x.kind is not BOOL:
            x = t("select", t("lt", t("abs", x), BEYOND_INT), t(rounding, x), 0.0)
        return t.raw("to_whole", x)

    return rule


def product_error(t: Legaliser, a: Value, b: Value, product: Value) -> Value:
    """a * b - product, exactly (T. J. Dekker, 1971)."""
    (a_high, a_low), (b_high, b_low) = _split(t, a), _split(t, b)
    total = t("sub", t("mul", a_high, b_high), product)
    for x, y in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
        if number(y) == 0.0:
            continue
        total = t("add", total, t("mul", x, y))
    return total


def _split(t: Legaliser, x: Value) -> tuple[Value, Value]:
    scaled = t("mul", x, SPLIT)
    high = t("sub", scaled, t("sub", scaled, x))
    return high, t("sub", x, high)


def round_digits(t: Legaliser, x: Value, digits: Value) -> Value | None:
    """`round(x, n)`: x * 10**n as an exact sum of two floats decides the rounding, and the quotient is the correctly
    rounded decimal. In doubt where the product is too large for that and x still has digits to round."""
    known = number(digits)
    if known is None or not 0 <= known <= 22:
        return None
    ten = t.const(float(10**known))
    product = t("mul", x, ten)
    error = product_error(t, x, ten, product)
    near = t("rint", product)
    rest = t("sub", product, near)
    up = t("and", t("eq", rest, 0.5), t("gt", error, 0.0))
    down = t("and", t("eq", rest, -0.5), t("lt", error, 0.0))
    near = t("select", up, t("add", near, 1.0), t("select", down, t("sub", near, 1.0), near))
    quotient = t("truediv", near, ten)
    signed = t("select", t("lt", x, 0.0), t("neg", t("abs", quotient)), quotient)
    decided = t("lt", t("abs", product), 2.0**51)
    t.doubt(t("and", t("not", decided), t("lt", t("abs", x), WHOLE)))
    return t("select", decided, signed, x)


def mod_float(t: Legaliser, x: Value, y: Value) -> Value:
    """Python's: the C library's fmod, moved to the sign of y."""
    known = number(y)
    if known == 1.0:
        return t("sub", x, t("floor", x))
    rest = t("fmod", x, y)
    if known is not None:
        moved = t("select", _other_sign(t, rest, y), t("add", rest, y), rest)
        return t("select", t("eq", rest, 0.0), math.copysign(0.0, known), moved)
    zero = t("select", t("lt", y, 0.0), -0.0, 0.0)
    moved = t("select", _other_sign(t, rest, y), t("add", rest, y), rest)
    return t("select", t("eq", rest, 0.0), zero, moved)


def floordiv_float(t: Legaliser, x: Value, y: Value) -> Value:
    """As CPython: from the exact remainder, so that the quotient is nearly whole; zeros have the sign of x / y."""
    rest = t("fmod", x, y)
    quotient = t("truediv", t("sub", x, rest), y)
    moved = t("and", t("ne", rest, 0.0), _other_sign(t, rest, y))
    quotient = t("select", moved, t("sub", quotient, 1.0), quotient)
    floor = t("floor", quotient)
    near = t("gt", t("sub", quotient, floor), 0.5)
    result = t("select", near, t("add", floor, 1.0), floor)
    return t("select", t("eq", quotient, 0.0), t("mul", t("truediv", x, y), 0.0), result)


def _other_sign(t: Legaliser, x: Value, y: Value) -> Value:
    known = number(y)
    if known is not None:
        return t("lt" if known > 0 else "gt", x, 0 if x.kind is INT else 0.0)
    positive, negative = t("lt", y, 0.0), t("lt", x, 0.0)
    return t("or", t("and", positive, t("not", negative)), t("and", t("not", positive), negative))


def fmod(t: Legaliser, x: Value, y: Value) -> Value:
    """fmod without the C library: x - trunc(x / y) * y with the product as an exact sum of two floats.

    The quotient may be one too large where x / y is rounded up to it; the rest then has the other sign. In doubt
    beyond quotients of 2**52, and where parts of the product might overflow or underflow. A power of two needs none
    of that.
    """
    known = number(y)
    if known is not None and abs(known) >= 1.0 and math.frexp(known)[0] in (0.5, -0.5):
        return t("sub", x, t("mul", t("trunc", t("truediv", x, y)), y))
    quotient = t("truediv", x, y)
    steps = t("trunc", quotient)
    product = t("mul", steps, y)
    rest = t("sub", t("sub", x, product), product_error(t, steps, y, product))
    size, divisor = t("abs", rest), t("abs", y)
    passed = t("lt", t("mul", t("select", t("lt", x, 0.0), -1.0, 1.0), rest), 0.0)
    size = t("select", passed, t("sub", divisor, size), size)
    for value, low, high in ((quotient, None, WHOLE), (x, None, 1e250), (y, 1e-250, 1e250)):
        t.doubt(t("ge", t("abs", value), high))
        if low is not None and not isinstance(value, Const):
            t.doubt(t("and", t("lt", t("abs", value), low), t("ne", value, 0.0)))
    signed = t("select", t("lt", x, 0.0), t("neg", size), size)
    return t("select", t("eq", steps, 0.0), x, signed)


def signbit(t: Legaliser, x: Value) -> Value:
    below = t("and", t("eq", x, 0.0), t("lt", t("truediv", 1.0, x), 0.0))
    return t("or", t("lt", x, 0.0), below)


def copysign(t: Legaliser, x: Value, sign: Value) -> Value:
    size = t("abs", x)
    return t("select", t("signbit", sign), t("neg", size), size)


def mod_int(t: Legaliser, x: Value, y: Value) -> Value:
    """Python's of the truncating one; total: by zero it is anything."""
    x, y = _divisible(t, x, y)
    rest = t.raw("rem", x, y)
    return t("select", _passed(t, rest, y), t.raw("add_small", rest, y), rest)


def floordiv_int(t: Legaliser, x: Value, y: Value) -> Value:
    x, y = _divisible(t, x, y)
    rest, quotient = t.raw("rem", x, y), t.raw("quo", x, y)
    return t("select", _passed(t, rest, y), t.raw("sub_small", quotient, 1), quotient)


def _passed(t: Legaliser, rest: Value, y: Value) -> Value:
    """The remainder has the other sign than the divisor."""
    if number(y) is not None:
        return _other_sign(t, rest, y)
    return t("and", t("ne", rest, 0), t("lt", t("xor", rest, y), 0))


def _divisible(t: Legaliser, x: Value, y: Value) -> tuple[Value, Value]:
    """Operands for which no engine fails: not by zero, and not the lowest int by -1."""
    if number(y) not in (None, 0, -1):
        return x, y
    lowest = t("and", t("eq", x, INT_MIN), t("eq", y, -1))
    return t("select", lowest, 0, x), t("select", t("eq", y, 0), 1, y)


def mod_whole(t: Legaliser, x: Value, y: Value) -> Value:
    """Of engines whose % is Python's."""
    return t.raw("mod", *_divisible(t, x, y))


def floordiv_whole(t: Legaliser, x: Value, y: Value) -> Value:
    return t.raw("floordiv", *_divisible(t, x, y))


def power(t: Legaliser, base: Value, exponent: Value) -> Value | None:
    """A known whole power as a product."""
    known = number(exponent)
    whole = known is not None and 0 < known <= MAX_POWER and known == int(known)
    return power_of(t, base, int(known)) if whole else None


def shift(opcode: str) -> Expansion:
    """By a known count, as a product or quotient."""
    def rule(t: Legaliser, x: Value, count: Value) -> Value | None:
        known = number(count)
        return t(opcode, x, 2**known) if known is not None and 0 < known < 63 else None

    return rule


def never_nan(x: Value) -> bool:
    """It cannot be nan, whatever the columns hold."""
    match x:
        case Const():
            return bool(x.value == x.value)
        case Op(opcode="to_float"):
            return True
        case Op(opcode="neg" | "abs" | "floor" | "ceil"):
            return never_nan(x.args[0])
        case Op(opcode="select"):
            return never_nan(x.args[1]) and never_nan(x.args[2])
    return False


def nan_is_largest(opcode: str) -> Expansion:
    """Comparisons of floats for engines where nan equals itself and is above everything else."""
    checked = {"lt": (1,), "le": (1,), "gt": (0,), "ge": (0,), "eq": (0,), "ne": (0,)}[opcode]

    def rule(t: Legaliser, x: Value, y: Value) -> Value:
        plain = t.raw(opcode, x, y)
        if opcode in ("eq", "ne") and (never_nan(x) or never_nan(y)):
            return plain
        value = (x, y)[checked[0]]
        if never_nan(value):
            return plain
        if opcode == "ne":
            return t("or", plain, t("isnan", value))
        return t("and", plain, t("not", t("isnan", value)))

    return rule


def renamed(name: str) -> Expansion:
    return lambda t, *args: t(name, *args)


# --- erf and erfc by way of `exp`: the series of `pyflat.functions.vmath.gamma` without fused operations. Where the
# engine's exp is right within 1 ulp, both are within 4 ulp (`erfc` where it is not subnormal)
NEAR_ZERO = 0.4765
FAR = 28.0
"""erfc is 0 from here on."""
PARTS = 2.0**20


def erf(t: Legaliser, x: Value) -> Value:
    size = t("abs", x)
    far = t("sub", 1.0, _complement(t, size))
    signed = t("select", t("lt", x, 0.0), t("neg", far), far)
    return t("select", t("lt", size, NEAR_ZERO), _near(t, x, size), signed)


def erfc(t: Legaliser, x: Value) -> Value:
    size = t("abs", x)
    far = _complement(t, size)
    near = t("sub", 1.0, _near(t, x, size))
    signed = t("select", t("lt", x, 0.0), t("sub", 2.0, far), far)
    return t("select", t("lt", size, NEAR_ZERO), near, signed)


def _near(t: Legaliser, x: Value, size: Value) -> Value:
    """erf of a number below NEAR_ZERO; of 0 where it is not."""
    x = t("select", t("lt", size, NEAR_ZERO), x, 0.0)
    return t("add", x, t("mul", x, _polynomial(t, t("mul", x, x), ERF[0])))


def _complement(t: Legaliser, size: Value) -> Value:
    """erfc of a number that is at least NEAR_ZERO. e**(-a**2) is the product for a's first digits, whose square is
    exact, and for the rest."""
    a = t("select", t("gt", size, FAR), FAR, size)
    first = t("truediv", t("floor", t("mul", a, PARTS)), PARTS)
    rest = t("mul", t("sub", first, a), t("add", first, a))
    power = t("mul", t("exp", t("neg", t("mul", first, first))), t("exp", rest))
    z = t("truediv", t("sub", a, 3.0), t("add", a, 3.0))
    constant, _, *others = ERFC[0]
    series = t("add", constant, t("mul", z, _polynomial(t, z, others)))
    return t("truediv", t("mul", power, series), t("add", 1.0, t("mul", 2.0, a)))


def _polynomial(t: Legaliser, x: Value, coefficients: Sequence[float]) -> Value:
    """Horner's rule, the constant first."""
    *lower, total = coefficients
    made = t.const(total)
    for coefficient in reversed(lower):
        made = t("add", t("mul", made, x), coefficient)
    return made


EXPANSIONS: Expansions = {
    **{old: renamed(new) for old, new in {**aliases(), "exact_float": "to_float"}.items()},
    **{name: whole(rounding) for name, rounding in ROUNDED.items()},
    "mod:f8": mod_float, "floordiv:f8": floordiv_float, "mod:i8": mod_int, "floordiv:i8": floordiv_int,
    "round_digits": round_digits, "ipow": power, "shl": shift("mul"), "shr": shift("floordiv"),
    "copysign": copysign, "signbit": signbit, "fmod": fmod, "erf": erf, "erfc": erfc,
    **{f"{name}:b": rule for name, rule in applied(rules(
        BOOL,
        "lt(p, q) -> and(not(p), q)", "gt(p, q) -> and(not(q), p)",
        "le(p, q) -> or(not(p), q)", "ge(p, q) -> or(not(q), p)",
        "eq(p, q) -> select(p, q, not(q))", "ne(p, q) -> select(p, not(q), q)", "xor(p, q) -> select(p, not(q), q)",
    )).items()},
    **applied(rules(
        FLOAT,
        "isfinite(x) -> lt(abs(x), inf)", "isinf(x) -> eq(abs(x), inf)", "exp2(x) -> pow(2.0, x)",
        f"rint(x) -> select(lt(abs(x), {WHOLE}), select(lt(x, 0.0), add(sub(x, {WHOLE}), {WHOLE}), "
        f"sub(add(x, {WHOLE}), {WHOLE})), x)",
        f"np_logaddexp(x, y) -> select(eq(x, y), add(x, {math.log(2.0)}), "
        "add(select(gt(sub(x, y), 0.0), x, y), log1p(exp(neg(abs(sub(x, y)))))))",
    )),
    **applied(rules(INT, "abs(n) -> select(lt(n, 0), neg(n), n)", "invert(n) -> sub(-1, n)")),
}
"""NumPy's functions are those of `math` in targets that have one of them."""


def in_terms_of(fn: Function, spelled: Container[str]) -> Function:
    """A function of any form in operations that an engine spells; `fn` itself where it is that already."""
    lacking = {key: rule for key, rule in EXPANSIONS.items() if key.partition(":")[0] not in spelled}
    for op in all_ops(fn.body):
        if op.opcode not in lacking and f"{op.opcode}:{op.args[0].kind if op.args else ''}" not in lacking:
            continue
        if fn.floats is F4:  # where a float32 lane has the float64 operation, rounded, these have other digits
            raise refuse("flatten/not-yet", f"{op.opcode} in float32", op.span, help='dtype="float64"')
        return legalised(fn, lacking, faulting=True)
    return fn
