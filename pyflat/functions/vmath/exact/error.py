"""erf and erfc as the GNU C library computes them (fdlibm's, Sun Microsystems 1993, whose licence lets copy it freely;
the order of a polynomial's terms is the library's, which has no variant with a fused multiply-add).

    |x| < 0.84375            x + x P(x**2)
    |x| < 1.25               0.845 + P(|x| - 1)
    |x| < 1 / 0.35, above    1 - e**(-x**2 - 0.5625 + P(1 / x**2)) / x

with P a quotient of polynomials of its own for each. All lanes compute one quotient, with coefficients by their range.
"""

from __future__ import annotations

from pyflat.functions.vmath.exact import exponential
from pyflat.functions.vmath.exact.trigonometric import from_high_word
from pyflat.functions.vmath.glibc import Told
from pyflat.functions.vmath.machine import Machine, Number

_h = float.fromhex
_TOP = (
    ("0x1.06eba8214db68p-3", "-0x1.4cd7d691cb913p-2", "-0x1.d2a51dbd7194fp-6", "-0x1.7a291236668e4p-8",
     "-0x1.8ead6120016acp-16"),
    ("-0x1.359b8bef77538p-9", "0x1.a8d00ad92b34dp-2", "-0x1.7d240fbb8c3f1p-2", "0x1.45fca805120e4p-2",
     "-0x1.c63983d3e28ecp-4", "0x1.22a36599795ebp-5", "-0x1.1bf380a96073fp-9"),
    ("-0x1.43412600d6435p-7", "-0x1.63416e4ba7360p-1", "-0x1.51e0441b0e726p+3", "-0x1.f300ae4cba38dp+5",
     "-0x1.44cb184282266p+7", "-0x1.7135cebccabb2p+7", "-0x1.4526557e4d2f2p+6", "-0x1.3a0efc69ac25cp+3"),
    ("-0x1.4341239e86f4ap-7", "-0x1.993ba70c285dep-1", "-0x1.1c209555f995ap+4", "-0x1.4145d43c5ed98p+7",
     "-0x1.3ec881375f228p+9", "-0x1.004616a2e5992p+10", "-0x1.e384e9bdc383fp+8"),
)
_UNDER = (
    ("1", "0x1.97779cddadc09p-2", "0x1.0a54c5536cebap-4", "0x1.4d022c4d36b0fp-8", "0x1.15dc9221c1a10p-13",
     "-0x1.09c4342a26120p-18"),
    ("1", "0x1.b3e6618eee323p-4", "0x1.14af092eb6f33p-1", "0x1.2635cd99fe9a7p-4", "0x1.02660e763351fp-3",
     "0x1.bedc26b51dd1cp-7", "0x1.88b545735151dp-7"),
    ("1", "0x1.3a6b9bd707687p+4", "0x1.1350c526ae721p+7", "0x1.b290dd58a1a71p+8", "0x1.42b1921ec2868p+9",
     "0x1.ad02157700314p+8", "0x1.b28a3ee48ae2cp+6", "0x1.a47ef8e484a93p+2", "-0x1.eeff2ee749a62p-5"),
    ("1", "0x1.e568b261d5190p+4", "0x1.45cae221b9f0ap+8", "0x1.802eb189d5118p+10", "0x1.8ffb7688c246ap+11",
     "0x1.3f219cedf3be6p+11", "0x1.da874e79fe763p+8", "-0x1.670e242712d62p+4"),
)
_SLOPE = _h("0x1.06eba8214db69p-3")
"""2 / sqrt(pi) - 1."""
_AT_ONE = _h("0x1.b0ac16p-1")
_OUTER, _OUTER_OF_ERFC = (from_high_word(word) for word in (0x4006DB6E, 0x4006DB6D))
_FIRST, _SECOND = 0.84375, 1.25
_LAST = 26.5
"""Beyond, results of erfc are subnormal, and then 0."""


def _polynomial(m: Machine, index: Number, rows: tuple[tuple[str, ...], ...], powers: tuple[Number, ...]) -> Number:
    """The polynomial of the range `index`: pairs of terms, from the lowest on. `powers` are s, s**2, s**4, s**6 and
    s**8."""
    columns = [[_h(row[k]) if k < len(row) else 0.0 for row in rows] for k in range(max(map(len, rows)))]
    c = [m.chosen(index, column) for column in columns]
    s, *higher = powers
    total = (c[0] + s * c[1]) + higher[0] * (c[2] + s * c[3])
    for k, power in enumerate(higher[1:3], 2):
        total = total + power * (c[2 * k] + s * c[2 * k + 1])
    return total if len(c) <= 8 else total + higher[3] * c[8]


def _quotient(m: Machine, x: Number, size: Number, outer: float) -> Number:
    """The quotient of each lane's range."""
    one, two = size < _FIRST, size < _SECOND
    square = x * x
    s = m.select(one, square, m.select(two, size - 1.0, 1.0 / square))
    index = m.select(one, 0, m.select(two, 1, m.select(size < outer, 2, 3)))
    second = s * s
    fourth = second * second
    powers = s, second, fourth, fourth * second, fourth * fourth
    return _polynomial(m, index, _TOP, powers) / _polynomial(m, index, _UNDER, powers)


def _tail(m: Machine, size: Number, y: Number, taken: Number) -> Number:
    """e**(-x**2 - 0.5625 + y) / |x|; 1 / |x| where it is not `taken`."""
    z = m.floats(m.bits(size) & -(1 << 32))
    first = m.select(taken, -z * z - 0.5625, 0.0)
    small = first <= exponential.SMALL
    second = m.select(taken, (z - size) * (z + size) + y, 0.0)
    power = exponential.joined(m, exponential.parts(m, first), small)
    return power * exponential.joined(m, exponential.parts(m, second)) / size


def erf(m: Machine, x: Number) -> Told:
    """erf(x)."""
    size = m.abs(x)
    y = _quotient(m, x, size, _OUTER)
    taken = (size >= _SECOND) & (size < 6.0)
    outer = m.select(size >= 6.0, 1.0, 1.0 - _tail(m, size, y, taken))
    value = m.select(size < _FIRST, size + size * y, m.select(size < _SECOND, _AT_ONE + y, outer))
    value = m.select(size < 2.0**-28, x + _SLOPE * x, m.copysign(value, x))
    return value, (size > 0.0) & (size < 2.0**-1015)


def erfc(m: Machine, x: Number) -> Told:
    """erfc(x)."""
    size, above = m.abs(x), x > 0.0
    y = _quotient(m, x, size, _OUTER_OF_ERFC)
    taken = (size >= _SECOND) & (size < _LAST)
    tail = _tail(m, size, y, taken)
    outer = m.select(above, m.select(size >= 28.0, 0.0, tail), m.select(size >= 6.0, 2.0, 2.0 - tail))
    product = x * y
    inner = m.select(x < 0.25, 1.0 - (x + product), 0.5 - (product + (x - 0.5)))
    middle = m.select(above, (1.0 - _AT_ONE) - y, 1.0 + (_AT_ONE + y))
    value = m.select(size < _FIRST, inner, m.select(size < _SECOND, middle, outer))
    return m.select(size < 2.0**-56, 1.0 - x, value), (x >= _LAST) & (x < 28.0)
