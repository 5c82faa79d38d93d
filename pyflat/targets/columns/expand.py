"""Operations by way of others, for engines that lack them. Every one gives Python's value, bit for bit, or a doubt.

`RULES` are those that all engines use; an engine adds from the others what it needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyflat.functions.records import ABSENT, RECORDS, aliases
from pyflat.functions.vmath.coefficients import ERF, ERFC
from pyflat.targets.columns.terms import Rule, Rules, Term, Terms

BEYOND_INT = 2.0**63
WHOLE = 2.0**52
"""From here on every float is a whole number."""
MAX_POWER = 32
SPLIT = 2.0**27 + 1.0
INT_MIN = -(2**63)


def whole(rounding: str) -> Rule:
    """An int of a rounded float; zero where it does not fit, which is a fault."""
    def rule(t: Terms, x: Term) -> Term | None:
        if x.kind == "b":
            return t.raw("to_whole", x)
        fits = t.op("lt", t.op("abs", x), BEYOND_INT)
        return t.raw("to_whole", t.op("select", fits, t.op(rounding, x), 0.0))

    return rule


def rint(t: Terms, x: Term) -> Term:
    """Half-even, by the rounding of sums: between 2**52 and 2**53 floats are the whole numbers."""
    up, down = t.op("sub", t.op("add", x, WHOLE), WHOLE), t.op("add", t.op("sub", x, WHOLE), WHOLE)
    rounded = t.op("select", t.op("lt", x, 0.0), down, up)
    return t.op("select", t.op("lt", t.op("abs", x), WHOLE), rounded, x)


def product_error(t: Terms, a: Term, b: Term, product: Term) -> Term:
    """a * b - product, exactly (T. J. Dekker, 1971)."""
    (a_high, a_low), (b_high, b_low) = _split(t, a), _split(t, b)
    total = t.op("sub", t.op("mul", a_high, b_high), product)
    for x, y in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
        if y.opcode == "const" and y.value == 0.0:
            continue
        total = t.op("add", total, t.op("mul", x, y))
    return total


def _split(t: Terms, x: Term) -> tuple[Term, Term]:
    scaled = t.op("mul", x, SPLIT)
    high = t.op("sub", scaled, t.op("sub", scaled, x))
    return high, t.op("sub", x, high)


def round_digits(t: Terms, x: Term, digits: Term) -> Term | None:
    """`round(x, n)`: x * 10**n as an exact sum of two floats decides the rounding, and the quotient is the correctly
    rounded decimal. In doubt where the product is too large for that and x still has digits to round."""
    if digits.opcode != "const" or not 0 <= digits.value <= 22:
        return None
    ten = t.const(float(10**digits.value))
    product = t.op("mul", x, ten)
    error = product_error(t, x, ten, product)
    near = t.op("rint", product)
    rest = t.op("sub", product, near)
    up = t.op("and", t.op("eq", rest, 0.5), t.op("gt", error, 0.0))
    down = t.op("and", t.op("eq", rest, -0.5), t.op("lt", error, 0.0))
    near = t.op("select", up, t.op("add", near, 1.0), t.op("select", down, t.op("sub", near, 1.0), near))
    quotient = t.op("truediv", near, ten)
    signed = t.op("select", t.op("lt", x, 0.0), t.op("neg", t.op("abs", quotient)), quotient)
    decided = t.op("lt", t.op("abs", product), 2.0**51)
    t.doubt(t.op("and", t.op("not", decided), t.op("lt", t.op("abs", x), WHOLE)))
    return t.op("select", decided, signed, x)


def mod_float(t: Terms, x: Term, y: Term) -> Term:
    """Python's: the C library's fmod, moved to the sign of y."""
    if y.opcode == "const" and y.value == 1.0:
        return t.op("sub", x, t.op("floor", x))
    rest = t.op("fmod", x, y)
    if y.opcode == "const":
        sign = "lt" if y.value > 0 else "gt"
        return t.op("select", t.op("eq", rest, 0.0), math.copysign(0.0, y.value),
                    t.op("select", t.op(sign, rest, 0.0), t.op("add", rest, y), rest))
    zero = t.op("select", t.op("lt", y, 0.0), -0.0, 0.0)
    moved = t.op("select", _other_sign(t, rest, y), t.op("add", rest, y), rest)
    return t.op("select", t.op("eq", rest, 0.0), zero, moved)


def floordiv_float(t: Terms, x: Term, y: Term) -> Term:
    """As CPython: from the exact remainder, so that the quotient is nearly whole; zeros have the sign of x / y."""
    rest = t.op("fmod", x, y)
    quotient = t.op("truediv", t.op("sub", x, rest), y)
    moved = t.op("and", t.op("ne", rest, 0.0), _other_sign(t, rest, y))
    quotient = t.op("select", moved, t.op("sub", quotient, 1.0), quotient)
    floor = t.op("floor", quotient)
    near = t.op("gt", t.op("sub", quotient, floor), 0.5)
    result = t.op("select", near, t.op("add", floor, 1.0), floor)
    return t.op("select", t.op("eq", quotient, 0.0), t.op("mul", t.op("truediv", x, y), 0.0), result)


def _other_sign(t: Terms, x: Term, y: Term) -> Term:
    if y.opcode == "const":
        return t.op("lt" if y.value > 0 else "gt", x, 0.0)
    positive, negative = t.op("lt", y, 0.0), t.op("lt", x, 0.0)
    return t.op("or", t.op("and", positive, t.op("not", negative)), t.op("and", t.op("not", positive), negative))


def fmod(t: Terms, x: Term, y: Term) -> Term:
    """fmod without the C library: x - trunc(x / y) * y with the product as an exact sum of two floats.

    The quotient may be one too large where x / y is rounded up to it; the rest then has the other sign. In doubt
    beyond quotients of 2**52, and where parts of the product might overflow or underflow. A power of two needs none
    of that.
    """
    if y.opcode == "const" and abs(y.value) >= 1.0 and math.frexp(y.value)[0] in (0.5, -0.5):
        return t.op("sub", x, t.op("mul", t.op("trunc", t.op("truediv", x, y)), y))
    quotient = t.op("truediv", x, y)
    steps = t.op("trunc", quotient)
    product = t.op("mul", steps, y)
    rest = t.op("sub", t.op("sub", x, product), product_error(t, steps, y, product))
    size, divisor = t.op("abs", rest), t.op("abs", y)
    passed = t.op("lt", t.op("mul", t.op("select", t.op("lt", x, 0.0), -1.0, 1.0), rest), 0.0)
    size = t.op("select", passed, t.op("sub", divisor, size), size)
    for value, low, high in ((quotient, None, WHOLE), (x, None, 1e250), (y, 1e-250, 1e250)):
        t.doubt(t.op("ge", t.op("abs", value), high))
        if low is not None and value.opcode != "const":
            t.doubt(t.op("and", t.op("lt", t.op("abs", value), low), t.op("ne", value, 0.0)))
    signed = t.op("select", t.op("lt", x, 0.0), t.op("neg", size), size)
    return t.op("select", t.op("eq", steps, 0.0), x, signed)


def mod_int(t: Terms, x: Term, y: Term) -> Term:
    """Python's of the truncating one; total: by zero it is anything."""
    x, y = _divisible(t, x, y)
    rest = t.raw("rem", x, y)
    if y.opcode == "const":
        sign = "lt" if y.value > 0 else "gt"
        return t.op("select", t.op(sign, rest, 0), t.raw("add_small", rest, y), rest)
    moved = t.op("and", t.op("ne", rest, 0), t.op("lt", t.op("xor", rest, y), 0))
    return t.op("select", moved, t.raw("add_small", rest, y), rest)


def floordiv_int(t: Terms, x: Term, y: Term) -> Term:
    x, y = _divisible(t, x, y)
    rest, quotient = t.raw("rem", x, y), t.raw("quo", x, y)
    if y.opcode == "const":
        moved = t.op("lt" if y.value > 0 else "gt", rest, 0)
    else:
        moved = t.op("and", t.op("ne", rest, 0), t.op("lt", t.op("xor", rest, y), 0))
    return t.op("select", moved, t.raw("sub_small", quotient, 1), quotient)


def _divisible(t: Terms, x: Term, y: Term) -> tuple[Term, Term]:
    """Operands for which no engine fails: not by zero, and not the lowest int by -1."""
    if y.opcode == "const" and y.value not in (0, -1):
        return x, y
    lowest = t.op("and", t.op("eq", x, INT_MIN), t.op("eq", y, -1))
    return t.op("select", lowest, 0, x), t.op("select", t.op("eq", y, 0), 1, y)


def mod_whole(t: Terms, x: Term, y: Term) -> Term:
    """Of engines whose % is Python's."""
    return t.raw("mod", *_divisible(t, x, y))


def floordiv_whole(t: Terms, x: Term, y: Term) -> Term:
    return t.raw("floordiv", *_divisible(t, x, y))


def ipow(t: Terms, base: Term, exponent: Term) -> Term | None:
    """A known power as a product, with as many factors as its binary digits need."""
    if exponent.opcode != "const" or not 0 <= exponent.value <= MAX_POWER:
        return None
    result, square, power = t.const(1), base, exponent.value
    first = True
    while power:
        if power & 1:
            result = square if first else t.op("mul", result, square)
            first = False
        power >>= 1
        square = t.op("mul", square, square) if power else square
    return result


def shl(t: Terms, x: Term, count: Term) -> Term | None:
    known = count.opcode == "const" and 0 <= count.value < 63
    return t.op("mul", x, 2**count.value) if known else None


def shr(t: Terms, x: Term, count: Term) -> Term | None:
    known = count.opcode == "const" and 0 <= count.value < 63
    return t.op("floordiv", x, 2**count.value) if known and count.value else x if known else None


def ordered_bools(opcode: str) -> Rule:
    """An order of bools, by logic: False is below True."""
    def rule(t: Terms, x: Term, y: Term) -> Term:
        low, high = (x, y) if opcode in ("lt", "le") else (y, x)
        return t.op("and" if opcode in ("lt", "gt") else "or", t.op("not", low), high)

    return rule


def same_bools(opcode: str) -> Rule:
    def rule(t: Terms, x: Term, y: Term) -> Term:
        return t.op("select", x, *((y, t.op("not", y)) if opcode == "eq" else (t.op("not", y), y)))

    return rule


def isfinite(t: Terms, x: Term) -> Term:
    return t.op("lt", t.op("abs", x), math.inf)


def isinf(t: Terms, x: Term) -> Term:
    return t.op("eq", t.op("abs", x), math.inf)


def never_nan(x: Term) -> bool:
    """It cannot be nan, whatever the columns hold."""
    match x.opcode:
        case "const":
            return bool(x.value == x.value)
        case "to_float":
            return True
        case "neg" | "abs" | "floor" | "ceil":
            return never_nan(x.args[0])
        case "select":
            return never_nan(x.args[1]) and never_nan(x.args[2])
    return False


def nan_is_largest(opcode: str) -> Rule:
    """Comparisons of floats for engines where nan equals itself and is above everything else."""
    checked = {"lt": (1,), "le": (1,), "gt": (0,), "ge": (0,), "eq": (0,), "ne": (0,)}[opcode]

    def rule(t: Terms, x: Term, y: Term) -> Term:
        plain = t.raw(opcode, x, y)
        if opcode in ("eq", "ne") and (never_nan(x) or never_nan(y)):
            return plain
        value = (x, y)[checked[0]]
        if never_nan(value):
            return plain
        if opcode == "ne":
            return t.op("or", plain, t.op("isnan", value))
        return t.op("and", plain, t.op("not", t.op("isnan", value)))

    return rule


def _renamed(name: str) -> Rule:
    return lambda t, *args: t.op(name, *args)


def named_otherwise() -> Rules:
    """NumPy's functions are those of `math` in engines that have one of them."""
    return {old: _renamed(new) for old, new in {**aliases(), "exact_float": "to_float"}.items()}


def logaddexp(t: Terms, x: Term, y: Term) -> Term:
    """log(exp(x) + exp(y)), as NumPy computes it."""
    gap = t.op("sub", x, y)
    tail = t.op("log1p", t.op("exp", t.op("neg", t.op("abs", gap))))
    larger = t.op("select", t.op("gt", gap, 0.0), x, y)
    return t.op("select", t.op("eq", x, y), t.op("add", x, math.log(2.0)), t.op("add", larger, tail))


# --- erf and erfc by way of `exp`: the series of `pyflat.functions.vmath.error` without fused operations. Where the
# engine's exp is right within 1 ulp, both are within 4 ulp (`erfc` where it is not subnormal)
NEAR_ZERO = 0.4765
FAR = 28.0
"""erfc is 0 from here on."""
PARTS = 2.0**20


def erf(t: Terms, x: Term) -> Term:
    size = t.op("abs", x)
    far = t.op("sub", 1.0, _complement(t, size))
    signed = t.op("select", t.op("lt", x, 0.0), t.op("neg", far), far)
    return t.op("select", t.op("lt", size, NEAR_ZERO), _near(t, x, size), signed)


def erfc(t: Terms, x: Term) -> Term:
    size = t.op("abs", x)
    far = _complement(t, size)
    near = t.op("sub", 1.0, _near(t, x, size))
    signed = t.op("select", t.op("lt", x, 0.0), t.op("sub", 2.0, far), far)
    return t.op("select", t.op("lt", size, NEAR_ZERO), near, signed)


def _near(t: Terms, x: Term, size: Term) -> Term:
    """erf of a number below NEAR_ZERO; of 0 where it is not."""
    x = t.op("select", t.op("lt", size, NEAR_ZERO), x, 0.0)
    return t.op("add", x, t.op("mul", x, _polynomial(t, t.op("mul", x, x), ERF[0])))


def _complement(t: Terms, size: Term) -> Term:
    """erfc of a number that is at least NEAR_ZERO. e**(-a**2) is the product for a's first digits, whose square is
    exact, and for the rest."""
    a = t.op("select", t.op("gt", size, FAR), FAR, size)
    first = t.op("truediv", t.op("floor", t.op("mul", a, PARTS)), PARTS)
    rest = t.op("mul", t.op("sub", first, a), t.op("add", first, a))
    power = t.op("mul", t.op("exp", t.op("neg", t.op("mul", first, first))), t.op("exp", rest))
    z = t.op("truediv", t.op("sub", a, 3.0), t.op("add", a, 3.0))
    constant, _, *others = ERFC[0]
    series = t.op("add", constant, t.op("mul", z, _polynomial(t, z, others)))
    return t.op("truediv", t.op("mul", power, series), t.op("add", 1.0, t.op("mul", 2.0, a)))


def _polynomial(t: Terms, x: Term, coefficients: Sequence[float]) -> Term:
    """Horner's rule, the constant first."""
    *lower, total = coefficients
    made = t.const(total)
    for coefficient in reversed(lower):
        made = t.op("add", t.op("mul", made, x), coefficient)
    return made


RULES: Rules = {
    **named_otherwise(), "np_logaddexp": logaddexp,
    "to_int": whole("trunc"), "floor_int": whole("floor"), "ceil_int": whole("ceil"),
    "round_int": whole("rint"), "round_digits": round_digits, "mod:f8": mod_float,
    "floordiv:f8": floordiv_float, "ipow": ipow, "shl": shl, "shr": shr,
    **{f"{name}:b": ordered_bools(name) for name in ("lt", "le", "gt", "ge")},
    **{f"{name}:b": same_bools(name) for name in ("eq", "ne")},
    "xor:b": same_bools("ne"), "erf": erf, "erfc": erfc,
}


def rules_for(target: str) -> Rules:
    """The rules, without those of functions that the target cannot have (`pyflat.functions.records`)."""
    return {name: rule for name, rule in RULES.items() if name not in RECORDS or RECORDS[name].on(target) != ABSENT}
