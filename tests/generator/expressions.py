"""Random expressions of a wanted kind.

Every composite expression is parenthesised; `program.py` prints half of the programs without redundant ones.
Integers cannot explode: inside loops and helpers a product of two unknown ints is reduced at once, and shift
counts are reduced everywhere.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from random import Random

from tests.generator.scope import BOOL, FLOAT, FUNCTION, INT, MIXED, Helper, Scope

FLOATS = ("0.0", "1.0", "0.5", "2.0", "1.5", "2.5", "0.1", "3.0", "10.0", "0.25", "100.0")
RARE_FLOATS = ("(-0.0)", "1e16", "1e308", "5e-324", "1e-300", "math.inf", "(-math.inf)", "math.nan", "9007199254740992.0")
INTS = ("0", "1", "2", "3", "4", "5", "7", "10", "(-1)", "(-2)", "255")
RARE_INTS = ("2147483648", "9007199254740993", "4611686018427387904", "9223372036854775807", "(-9223372036854775808)", "65")
TABLES = {"FTAB": (FLOAT, 5), "ITAB": (INT, 4), "BTAB": (BOOL, 3)}
MODULE_TABLES = """\
FTAB = (0.5, -0.0, 1.5, 1e9, -2.25)
ITAB = [3, -1, 9007199254740993, 0]
BTAB = (True, False, True)
"""
LIBM = ("exp", "log", "sin", "cos", "tan", "atan", "tanh", "log1p", "expm1", "asin", "acosh", "log2", "log10")

TAME = ("atan", "tanh", "erf", "cbrt", "asinh")

CONFINED = (
    *[(name, ends) for name in ("sin", "cos", "tan", "exp", "atan", "tanh", "sinh", "cosh", "expm1", "erf")
      for ends in (("-1.571", "1.571"), ("-0.8", "0.8"), ("-20.0", "0.0"), ("0.0", "6.3"))],
    *[(name, ends) for name in ("asin", "acos", "log1p") for ends in (("-0.9", "0.9"), ("0.0", "1.0"))],
    *[("log", ends) for ends in (("0.5", "2.0"), ("1e-300", "1e300"), ("2.0", "100.0"))],
)
"""Functions, and intervals in which their vector code leaves something out."""

NEWER = {
    "fma": lambda real: f"math.fma({real()}, {real()}, {real()})",
    "sumprod": lambda real: f"math.sumprod(({real()}, {real()}, 0.1), ({real()}, 3, {real()}))",
}
"""What math has since Python 3.12 and 3.13."""

Thunk = Callable[[], str]


class Expressions:
    """Draws expressions; `scope` and `helpers` say what they may mention."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.scope = Scope()
        self.helpers: list[Helper] = []
        self.times = 1
        self.confined = False
        self.libm = False
        self.unbound = 0.0
        self.wild = 0.0
        self.budget = 400

    # --- choosing

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def weighted(self, choices: Sequence[tuple[float, Thunk]]) -> str:
        (thunk,) = self.rng.choices([c for _, c in choices], [w for w, _ in choices])
        return thunk()

    def of(self, kind: str, depth: int) -> str:
        match kind:
            case "f":
                return self.real(depth)
            case "i":
                return self.integer(depth)
            case "b":
                return self.truth(depth)
            case "s":
                return self.label(depth)
            case "o":
                return self.optional(depth)
        return self.mixed(depth)

    def name(self, kind: str) -> str | None:
        """A name of the kind; now and then one that is bound on some paths only."""
        if self.scope.maybe and self.chance(self.unbound):
            names = [n for n, k in self.scope.maybe.items() if k == kind]
            if names:
                return self.rng.choice(names)
        names = self.scope.names(kind)
        items = [n for n, (k, _) in self.scope.lists.items() if k == kind]
        if items and self.chance(0.25):
            return self.item(self.rng.choice(items))
        return self.rng.choice(names) if names else None

    def item(self, name: str) -> str:
        length = self.scope.lists[name][1]
        return f"{name}[{self.rng.randrange(-length, length)}]"

    # --- floats

    def float_atom(self) -> str:
        name = self.name(FLOAT) if self.chance(0.75) else None
        if name is not None:
            return name
        return self.rng.choice(RARE_FLOATS if self.chance(0.12) else FLOATS)

    def real(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.15):
            return self.float_atom()
        d = depth - 1
        sub = self.real
        choices: list[tuple[float, Thunk]] = [
            (10, lambda: f"({sub(d)} {self.rng.choice('+-*')} {sub(d)})"),
            (3, lambda: f"({sub(d)} {self.rng.choice('+-*')} {self.number(d)})"),
            (2, lambda: f"({self.number(d)} {self.rng.choice('+-*')} {sub(d)})"),
            (3, lambda: f"({sub(d)} / {self.divisor(self.number, d)})"),
            (1, lambda: f"({self.integer(d)} / {self.rng.choice(('2', '3', '7', self.divisor(self.integer, 0)))})"),
            (1, lambda: f"({sub(d)} {self.rng.choice(('%', '//'))} {self.rng.choice((self.divisor(sub, 0), '2.5', '3', '-0.5'))})"),
            (1, lambda: f"({sub(d)} ** {self.rng.choice(('2', '3', '2.0', '1', '0'))})"),
            (1, lambda: f"(-{sub(d)})"),
            (1, lambda: f"abs({sub(d)})"),
            (2, lambda: f"{self.rng.choice(('min', 'max'))}({', '.join(sub(d) for _ in range(self.rng.choice((2, 2, 3))))})"),
            (1, lambda: f"math.sqrt({sub(d) if self.chance(self.wild) else f'abs({sub(d)})'})"),
            (1, lambda: f"math.{self.rng.choice(('fabs', 'fabs', 'degrees'))}({sub(d)})"),
            (1, lambda: f"math.{self.rng.choice(('copysign', 'copysign', 'fmod'))}({sub(d)}, {self.divisor(sub, d)})"),
            (1, lambda: f"float({self.rng.choice((self.integer, self.truth, self.real))(d)})"),
            (3, lambda: f"({sub(d)} if {self.truth(d)} else {sub(d)})"),
            (1, lambda: f"({sub(d)} {self.rng.choice(('and', 'or'))} {sub(d)})"),
            (1, lambda: f"FTAB[{self.index(5, d)}]"),
            (0.5, lambda: f"round({sub(d)}, {self.rng.choice('0123')})"),
            (0.5, lambda: f"sum(({sub(d)}, {sub(d)}, {sub(0)}))"),
            (0.5, lambda: f"(lambda z: {self.inner_float(('z', FLOAT), d)})({sub(d)})"),
        ]
        choices += [(0.5, lambda text=text: text(lambda: sub(d))) for name, text in NEWER.items() if hasattr(math, name)]
        choices.append((0.8, lambda: self.near_twins(d)))
        if self.libm:
            choices.append((3, lambda: f"math.{self.rng.choice(LIBM if self.chance(self.wild) else TAME)}({sub(d)})"))
            choices.append((1, lambda: f"math.{self.rng.choice(('atan2', 'hypot', 'pow') if self.chance(self.wild) else ('atan2', 'hypot'))}({sub(d)}, {sub(d)})"))
            choices.append((1, lambda: f"({sub(d) if self.chance(self.wild) else f'abs({sub(d)})'} ** {self.rng.choice(('0.5', '-1.5', '3.5', sub(0)))})"))
            choices.append((1, lambda: self.of_confined(d)))
        return self.weighted(choices + self.more_reals(d) + self.calls((FLOAT,), d))

    def of_confined(self, depth: int) -> str:
        """A function of an operand that is known to lie in an interval."""
        name, (low, high) = self.rng.choice(CONFINED)
        return self.rng.choice((
            f"math.{name}(min(max({self.real(depth)}, {low}), {high}))",
            f"math.{name}({low} + {self.real(depth)} % ({high} - {low}))",
            f"(lambda z: math.{name}(z) if {low} <= z < {high} else z)({self.real(depth)})",
            f"(lambda z: z if z < {low} or z > {high} else math.{name}(z))({self.real(depth)})",
            f"(lambda z: math.exp(-z * z))({self.real(depth)})",
            f"(lambda z: math.log(1.0 + z * z))({self.real(depth)})",
        ))

    def near_twins(self, depth: int) -> str:
        """Two expressions that differ in one literal or sign, so that sharing them would be wrong."""
        zero = self.rng.choice(("0.0", "1.0", "0.5"))
        name = self.name(FLOAT) or "0.25"
        first = self.rng.choice((f"max({zero}, {name})", f"({name} * {zero})", f"({zero} if {self.truth(depth - 1)} else {name})",
                                 f"({name} + {zero})", f"min({self.real(depth - 1)}, {zero})", f"({zero} if {name} > {zero} else {name})",
                                 f"({name} - {self.real(0)})"))
        changed = zero if self.chance(0.7) else name
        second = re.sub(rf"(?<![\w.]){re.escape(changed)}(?![\w.])", f"(-{changed})", first)
        if not _is_expression(second):  # the name is bound in it
            second = first
        if self.chance(0.5):
            return f"({first} {self.rng.choice('+-*')} {second})"
        return f"(math.copysign(1.0, {first}) + math.copysign(2.0, {second}))"

    def inner_float(self, parameter: tuple[str, str], depth: int) -> str:
        """A float expression of a lambda: the enclosing names and the parameter."""
        outer = self.scope
        self.scope = outer.copy()
        self.scope.bind(*parameter)
        try:
            return self.real(depth)
        finally:
            self.scope = outer

    def number(self, depth: int) -> str:
        """An int, a bool or a name of mixed kind, for places where each of them means its value."""
        mixed = self.name(MIXED)
        if mixed is not None and self.chance(0.5):
            return mixed
        return self.truth(depth) if self.chance(0.2) else self.integer(depth)

    def mixed(self, depth: int) -> str:
        name = self.name(MIXED)
        if name is not None and self.chance(0.5):
            return name
        d = depth - 1
        return f"({self.integer(d)} if {self.truth(d)} else {self.real(d)})"

    def divisor(self, draw: Callable[[int], str], depth: int) -> str:
        """A divisor: zero in some lanes of wild programs, rarely in tame ones."""
        if self.chance(self.wild):
            return draw(depth)
        return f"(abs({draw(depth)}) + {self.rng.choice(('1', '2', '0.5'))})" if draw != self.integer else f"({draw(depth)} | 1)"

    def index(self, length: int, depth: int) -> str:
        """Mostly inside, sometimes out of range."""
        return self.weighted([
            (3, lambda: str(self.rng.randrange(-length, length))),
            (3, lambda: f"({self.integer(depth)} % {length})"),
            (2 * self.wild, lambda: f"({self.integer(depth)} % {length + 1} - {self.rng.randrange(length)})"),
            (2 * self.wild, lambda: self.integer(0)),
        ])

    def roundable(self, depth: int) -> str:
        """An operand of int() and round(): finite and small in tame programs."""
        if self.chance(self.wild):
            return self.real(depth)
        return f"max(-100.5, min({self.rng.choice(('99.5', '3.0'))}, {self.real(depth)}))"

    # --- ints

    def int_atom(self) -> str:
        name = self.name(INT) if self.chance(0.7) else None
        if name is not None:
            return name
        return self.rng.choice(RARE_INTS if self.chance(0.06) else INTS)

    def integer(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.2):
            return self.int_atom()
        d = depth - 1
        sub = self.integer
        choices: list[tuple[float, Thunk]] = [
            (10, lambda: f"({sub(d)} {self.rng.choice('+-')} {sub(d)})"),
            (3, lambda: f"({sub(d)} * {self.rng.choice(INTS)})"),
            (2, lambda: self.product(f"{sub(d)} * {sub(d)}")),
            (1, lambda: self.product(f"{sub(d)} ** {self.rng.choice(('2', '3', '1', '0', f'({sub(0)} % 4)', self.any_exponent()))}")),
            (2, lambda: f"({sub(d)} {self.rng.choice(('%', '//'))} {self.rng.choice((self.divisor(sub, 0), '3', '-7', '16'))})"),
            (3, lambda: f"({sub(d)} {self.rng.choice('&|^')} {sub(d)})"),
            (1, lambda: f"(~{sub(d)})"),
            (1, lambda: f"(-{sub(d)})"),
            (1, lambda: f"({sub(d)} << {self.shift_count()})"),
            (1, lambda: f"({sub(d)} >> {sub(0) if self.chance(self.wild) else self.shift_count()})"),
            (1, lambda: f"abs({sub(d)})"),
            (2, lambda: f"{self.rng.choice(('min', 'max'))}({sub(d)}, {sub(d)})"),
            (1, lambda: f"{self.rng.choice(('int', 'math.floor', 'math.ceil', 'math.trunc', 'round'))}({self.roundable(d)})"),
            (1, lambda: f"int({self.truth(d)})"),
            (1, lambda: f"({self.truth(d)} + {self.rng.choice((self.truth, self.integer))(d)})"),
            (3, lambda: f"({sub(d)} if {self.truth(d)} else {sub(d)})"),
            (1, lambda: f"({sub(d)} {self.rng.choice(('and', 'or'))} {sub(d)})"),
            (1, lambda: f"ITAB[{self.index(4, d)}]"),
            (0.5, lambda: f"divmod({sub(d)}, {self.rng.choice((self.divisor(sub, 0), '3', '-4'))})[{self.rng.choice('01')}]"),
            (0.5, lambda: f"sum([{sub(d)}, {sub(d)}])"),
            (0.3, lambda: "len(FTAB)"),
        ]
        return self.weighted(choices + self.more_integers(d) + self.calls((INT,), d))

    def any_exponent(self) -> str:
        """Negative in some lanes of wild programs: Python's result is a float there."""
        return f"({self.integer(0)} % 5 - 1)" if self.chance(self.wild * 0.3) else "2"

    def product(self, text: str) -> str:
        if not self.confined and self.times == 1:
            return f"({text})"
        return f"(({text}) % {self.rng.choice(('1000', '65537', '-17'))})" if self.chance(0.7) else f"(({text}) & 4095)"

    def shift_count(self) -> str:
        return self.rng.choice(("1", "3", "8", "40", f"({self.integer(0)} % 66)", f"({self.integer(0)} & 15)",
                                f"({self.integer(0)} % 9 - {1 if self.chance(self.wild) else 0})"))

    # --- bools

    def truth(self, depth: int) -> str:
        name = self.name(BOOL)
        if name is not None and (depth <= 0 or self.chance(0.1)):
            return name
        d = max(0, depth - 1)
        sub = self.truth
        choices: list[tuple[float, Thunk]] = [
            (8, lambda: f"({self.real(d)} {self.comparison()} {self.real(d)})"),
            (2, lambda: f"({self.real(d)} {self.comparison()} {self.integer(d)})"),
            (4, lambda: f"({self.integer(d)} {self.comparison()} {self.integer(d)})"),
        ]
        if depth > 0:
            choices += [
                (2, lambda: f"({self.real(d)} {self.comparison()} {self.real(d)} {self.comparison()} {self.number(d)})"),
                (1, lambda: f"({self.integer(d)} {self.comparison()} {self.integer(d)} {self.comparison()} {self.integer(d)})"),
                (2, lambda: f"({sub(d)} {self.rng.choice(('and', 'or'))} {sub(d)})"),
                (2, lambda: f"(not {self.rng.choice((sub, self.real, self.integer))(d)})"),
                (0.5, lambda: f"({sub(d)} {self.rng.choice('&|^')} {sub(d)})"),
                (0.5, lambda: f"bool({self.rng.choice((self.real, self.integer))(d)})"),
                (0.5, lambda: f"math.{self.rng.choice(('isnan', 'isinf', 'isfinite'))}({self.real(d)})"),
                (0.5, lambda: f"({self.integer(d)} {self.rng.choice(('in', 'not in'))} (1, 2, 7))"),
                (0.5, lambda: f"BTAB[{self.index(3, d)}]"),
                (0.5, lambda: f"{self.rng.choice(('any', 'all'))}(({sub(d)}, {sub(d)}))"),
                (0.5, lambda: f"({sub(d)} if {sub(d)} else {sub(d)})"),
            ]
            choices += self.more_truths(d) + self.calls((BOOL,), d)
        return self.weighted(choices)

    def comparison(self) -> str:
        return self.rng.choice(("<", "<=", ">", ">=", "==", "!="))

    def condition(self, depth: int) -> str:
        """What an `if` tests: mostly a bool, sometimes a number."""
        kind = self.rng.choices((BOOL, FLOAT, INT), (10, 1, 1))[0]
        return self.of(kind, depth)

    # --- hooks of `wide.Wide`

    def label(self, depth: int) -> str:
        raise NotImplementedError

    def optional(self, depth: int) -> str:
        raise NotImplementedError

    def more_reals(self, depth: int) -> list[tuple[float, Thunk]]:
        return []

    def more_integers(self, depth: int) -> list[tuple[float, Thunk]]:
        return []

    def more_truths(self, depth: int) -> list[tuple[float, Thunk]]:
        return []

    # --- calls

    def calls(self, results: tuple[str, ...], depth: int) -> list[tuple[float, Thunk]]:
        fitting = [h for h in self.helpers if h.results == results and self.affordable(h)]
        if not fitting:
            return []
        return [(6, lambda: self.call(self.rng.choice(fitting), depth))]

    def affordable(self, helper: Helper) -> bool:
        return helper.cost * self.times <= self.budget

    def call(self, helper: Helper, depth: int) -> str:
        self.budget -= helper.cost * self.times
        if helper.variadic:
            return f"{helper.name}({', '.join(self.real(depth - 1) for _ in range(self.rng.randint(1, 4)))})"
        texts: list[str] = []
        keywords = False
        for parameter in helper.parameters:
            if parameter.default and self.chance(0.4):
                keywords = True
                continue
            keywords = keywords or parameter.keyword_only or (parameter.name != "_" and parameter.kind != FUNCTION and self.chance(0.15))
            value = self.argument(parameter.kind, depth - 1)
            texts.append(f"{parameter.name}={value}" if keywords else value)
        return f"{helper.name}({', '.join(texts)})"

    def argument(self, kind: str, depth: int) -> str:
        if kind != FUNCTION:
            return self.of(kind, depth)
        names = [h.name for h in self.helpers if h.takes_one_float and self.affordable(h) and h.cost < 30]
        if names and self.chance(0.5):
            return self.rng.choice(names)
        if self.chance(0.2):
            return self.rng.choice(("math.sqrt", "abs", "float"))
        return f"lambda e: {self.inner_float(('e', FLOAT), depth)}"


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True
