"""Wider programs: strings and None that lanes choose, dicts, lists as values, objects with methods and operators,
hashes of ints, NumPy's functions on scalars.

What lanes cannot hold (a string, a dict, an object) is made at the top of a function under a name of its own, so that
it is bound on every path; branches and loops change it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.generator import ragged, reached
from tests.generator.expressions import Thunk
from tests.generator.scope import BOOL, FLOAT, INT, LABEL
from tests.generator.shared import shared_call
from tests.generator.statements import Lines, Statements, Writer, indent
from tests.support.numpy_functions import NUMPY_BINARY, NUMPY_UNARY

PRELUDE = """\
import numpy as np
from dataclasses import dataclass
from typing import NamedTuple

RATE = 0.25
STEPS = 3
LEVELS = {"low": 0.5, "mid": -2.0, "high": 8.0}


class Point(NamedTuple):
    x: float
    y: float

    def dot(self, other):
        return self.x * other.x + self.y * other.y


@dataclass
class Account:
    total: float
    count: int = 0

    def add(self, value):
        if value > self.total:
            self.count += 1
        self.total = self.total + value

    @property
    def mean(self):
        return self.total / (self.count + 1)


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return self.x < other.x
"""
WORDS = ("low", "mid", "high")
KEYS = ("a", "b", "c")
NUMPY = ("sqrt(abs({0}))", "abs({0})", "maximum({0}, {1})", "minimum({0}, {1})", "floor({0})", "ceil({0})", "fabs({0})", "sign({0})",
         "copysign({0}, {1})", "float64({0})", "clip({0}, -1.0, 1.0)")
ELEMENTARY = (*(f"{name}({{0}})" for name in NUMPY_UNARY), *(f"{name}({{0}}, {{1}})" for name in NUMPY_BINARY),
              *(f"power({{0}}, {exponent})" for exponent in ("2.0", "0.5", "-1.0", "1.7")))
"""NumPy's functions whose bits no other library has."""
HASHES = ("(({0} * 1103515245 + 12345) & 2147483647)", "(({0} ^ ({0} >> 7)) & 255)", "((({0} << 5) - {0}) & 65535)",
          "((({0} & 65535) * 40503) >> 8)", "(({0} * 2654435761 & 4294967295) >> 16)", "(({0} << 3 | {0} >> 5) & 255)", "(~{0} & 15)",
          "({0} & -{0})", "(({0} ^ {1}) % 17)", "(({0} & 255) << ({1} & 7))")


LABELS = """\
import enum


class Grade(enum.Enum):
    A = 1
    B = 2.5


TAGS = ("low", "mid", "", "high")
GRADES = {"low": Grade.A, "mid": Grade.B, "": None}
POINTS = {Grade.A: 0.5, Grade.B: -3.0}
"""
MARKS = ("'low'", "'mid'", "'high'", "''", "None", "Grade.A", "Grade.B")


class Wide(Statements):
    """`wide`: draw from here too; `ints`: mostly ints; `numpy`: NumPy's functions on scalars;
    `shared`: helpers that are called from many places; `reached`: what `generator.reached` adds."""

    wide = False
    ints = False
    numpy = False
    shared = False
    reached = False
    labels = False

    def open_names(self) -> None:
        """Forget the names that hold what lanes cannot hold."""
        self.words: list[str] = []
        self.options: list[str] = []
        self.dicts: list[str] = []
        self.points: list[str] = []
        self.accounts: list[str] = []
        self.vectors: list[str] = []
        self.counters: list[tuple[str, str, str]] = []

    def kind(self) -> str:
        if self.ints:
            return self.rng.choices((FLOAT, INT, BOOL), (2, 12, 1))[0]
        return super().kind()

    def new(self, prefix: str, names: list[str], value: str) -> tuple[Lines, bool]:
        """A name of its own, at the top of the function only."""
        if self.depth:
            return self.assign()
        self.serial += 1
        name = f"{prefix}{self.serial}"
        self.scope.freeze(name)
        names.append(name)
        return [f"{name} = {value}"], False

    # --- labels

    def label(self, depth: int) -> str:
        """A string, an enum member or None."""
        pick, names = self.rng.choice, [*self.words, *self.scope.names(LABEL)]
        choices: list[tuple[float, Thunk]] = [(2, lambda: pick(MARKS))]
        if names:
            choices.append((3, lambda: pick(names)))
        if depth > 0:
            d = depth - 1
            choices += [
                (2, lambda: f"({self.label(d)} if {self.truth(d)} else {self.label(d)})"),
                (0.7, lambda: f"TAGS[{self.index(4, d)}]"),
                (0.7, lambda: f"({self.label(d)} or {self.label(d)})"),
                (0.5, lambda: f"GRADES.get({self.label(0)}, {self.label(0)})"),
                (0.4, lambda: f"f'{{{pick(names or ['RATE'])}}}!'"),
                *self.calls((LABEL,), d)]
        return self.weighted(choices)

    def optional(self, depth: int) -> str:
        """A number or None."""
        number = self.rng.choice((self.real, self.integer))(depth)
        return self.rng.choice((number, number, "None", f"({number} if {self.truth(1)} else None)"))

    def label_truths(self, depth: int) -> list[tuple[float, Thunk]]:
        pick = self.rng.choice
        return [(2, lambda: f"({self.label(depth)} {pick(('==', '!='))} {pick((pick(MARKS), self.label(0)))})"),
                (1, lambda: f"({self.label(depth)} {pick(('is', 'is not'))} {pick(MARKS[4:])})"),
                (1, lambda: f"({self.label(depth)} in ({pick(MARKS)}, {pick(MARKS)}))"),
                (0.5, lambda: f"isinstance({self.label(0)}, {pick(('str', 'Grade'))})")]

    def assign_label(self) -> tuple[Lines, bool]:
        name, value = self.rng.choice(("tag", "mark")), self.label(2)
        self.bind(name, LABEL)
        return [f"{name} = {value}"], False

    # --- expressions

    def more_reals(self, depth: int) -> list[tuple[float, Thunk]]:
        shared: list[tuple[float, Thunk]] = [(12, self.shared_call)] if self.shared else []
        counted = self._some(self.counters, 3, lambda c: f"{c[2]}({self.real(0)})")
        return [*shared, *counted, *(reached.reals(self, depth) if self.reached else []), *self.wider_reals(depth)]

    def shared_call(self) -> str:
        """Arguments are names mostly, so that calls come again."""
        lists = [name for name, (kind, _) in self.scope.lists.items() if kind == FLOAT]
        return shared_call(self.rng, lambda: self.name(FLOAT) or self.real(0),
                           lambda: f"lambda e: {self.inner_float(('e', FLOAT), 1)}", lists)

    def wider_reals(self, depth: int) -> list[tuple[float, Thunk]]:
        if not self.wide:
            return []
        sub, pick = self.real, self.rng.choice
        found: list[tuple[float, Thunk]] = [
            (0.5, lambda: pick(("RATE", "LEVELS['mid']", "float(STEPS)"))),
            (0.5, lambda: f"math.{pick(('modf',) * 12 + ('frexp',))}({self.roundable(depth)})[0]"),
            (0.3, lambda: f"math.ldexp({sub(depth)}, {self.integer(0)} % 5)"),
            (0.5, lambda: f"divmod({sub(depth)}, {self.divisor(sub, 0)})[{pick('01')}]"),
            (0.5, lambda: f"math.prod(({sub(depth)}, {sub(0)}, {self.integer(0)}))"),
            (0.5, lambda: f"sum([{sub(depth)}, {self.integer(0)}, {sub(0)}])"),
            (0.5, lambda: f"max([{sub(0)}, {sub(depth)}, {sub(0)}], key=lambda e: {self.inner_float(('e', FLOAT), 1)})"),
            (0.5, lambda: f"sorted(({sub(0)}, {sub(depth)}, {pick('012')}.0))[{pick('012')}]"),
            (0.3, lambda: f"pow({sub(depth)}, {pick(('2', '3', '1.0'))})"),
        ]
        found += self.of_lists(depth)
        found += [(0.7, lambda: f"POINTS.get({self.label(0)}, {sub(0)})")] if self.labels else []
        found += self._some(self.words, 2, lambda n: f"{pick(('LEVELS', self.table(depth)))}[{n}]")
        found += self._some(self.options, 2, lambda n: f"({sub(0)} if {n} is None else {n})")
        found += self._some(self.dicts, 3, lambda n: pick((f"{n}[{pick(KEYS)!r}]", f"{n}.get({pick((*KEYS, 'd'))!r}, {sub(0)})",
                                                           f"sum({n}.values())", f"max({n}.values())")))
        found += self._some(self.points, 3, lambda n: pick((f"{n}.x", f"{n}[1]", f"{n}.dot({pick(self.points)})", f"sum({n})",
                                                            f"{n}._replace(x={sub(0)}).x")))
        found += self._some(self.accounts, 3, lambda n: pick((f"{n}.total", f"{n}.mean")))
        found += self._some(self.vectors, 3, lambda n: pick((f"{n}.x", f"({n} + {pick(self.vectors)}).y", f"({n} * {sub(0)}).x",
                                                             f"max({n}, {pick(self.vectors)}).y")))
        if self.numpy:
            found += [(4, lambda: self.numpy_call(depth)), (25, lambda: self.elementary(depth))]
        return found

    def of_lists(self, depth: int) -> list[tuple[float, Thunk]]:
        lists = [(n, size) for n, (kind, size) in self.scope.lists.items() if kind == FLOAT]
        if not lists:
            return []
        name, size = self.rng.choice(lists)
        texts = (f"sum({name})", f"max({name})", f"min({name})", f"{name}[{self.integer(0)} % {size}]", f"sorted({name})[0]",
                 f"sum(v * 0.5 for v in {name})", f"[v + {self.real(0)} for v in {name}][{self.integer(0)} % {size}]",
                 f"sum(v for v in {name} if v > {self.real(0)})", f"{name}[-1:][0]", f"max(abs(v) for v in {name})",
                 f"sum(p * q for p, q in zip({name}, {name}[::-1]))")
        return [(3, lambda: self.rng.choice(texts))]

    def table(self, depth: int) -> str:
        values = ", ".join(f"{word!r}: {self.real(depth - 1)}" for word in WORDS)
        return f"{{{values}}}"

    def numpy_call(self, depth: int) -> str:
        text = "np." + self.rng.choice(NUMPY).format(self.real(depth), self.real(0))
        return f"float({text})" if self.chance(0.85) else text

    def elementary(self, depth: int) -> str:
        """Mostly of a name, so that ordinary numbers come to it."""
        operand = (self.name(FLOAT) if self.chance(0.7) else None) or self.real(depth)
        return f"float(np.{self.rng.choice(ELEMENTARY).format(operand, self.real(0))})"

    def more_integers(self, depth: int) -> list[tuple[float, Thunk]]:
        if not self.wide:
            return reached.integers(self, depth) if self.reached else []
        sub, pick = self.integer, self.rng.choice
        found: list[tuple[float, Thunk]] = [
            (6 if self.ints else 1, lambda: pick(HASHES).format(sub(0), sub(depth))),
            (0.4, lambda: f"({sub(depth)}).bit_length()"),
            (0.4, lambda: f"math.{pick(('gcd',) * 9 + ('lcm',))}({sub(0)} % 50, {sub(depth)} % 40)"),
            (0.3, lambda: f"math.isqrt(abs({sub(depth)}))"),
            (0.03, lambda: f"pow({sub(0)}, {pick('123')}, {pick(('97', '1000'))})"),
            (0.4, lambda: f"sum({self.truth(0)} for _ in range(3))"),
            (0.4, lambda: f"round({self.roundable(depth)})"),
            (0.4, lambda: f"int({self.roundable(depth)} // 1)"),
            (0.3, lambda: f"(STEPS if {self.truth(0)} else {sub(depth)})"),
            (0.03, lambda: f"len([v for v in ({self.real(0)}, {self.real(0)}) if v > {self.real(0)}])"),
        ]
        found += self._some(self.words, 0.7, lambda n: f"len({n})")
        found += self._some(self.dicts, 0.7, lambda n: f"len({n})")
        found += self._some(self.accounts, 2, lambda n: f"{n}.count")
        if self.numpy:
            found.append((3, lambda: f"int(np.floor(max(-100.5, min(1e6, {self.elementary(depth)}))))"))
        return found

    def more_truths(self, depth: int) -> list[tuple[float, Thunk]]:
        if not self.wide:
            return []
        sub, pick = self.real, self.rng.choice
        found: list[tuple[float, Thunk]] = [
            (0.5, lambda: f"math.isclose({sub(depth)}, {sub(0)}, rel_tol=0.5)"),
            (0.5, lambda: f"any(v > {sub(0)} for v in ({sub(depth)}, {sub(0)}))"),
            (0.5, lambda: f"all([{sub(depth)}, {self.integer(0)}])"),
            (0.5, lambda: f"({sub(depth)}).is_integer()"),
            (0.5, lambda: f"(({sub(0)}, {self.integer(0)}) {pick(('<', '>=', '!='))} ({sub(depth)}, 2))"),
            (0.5, lambda: f"isinstance({pick((sub, self.integer))(0)}, {pick(('int', 'float', '(int, float)'))})"),
        ]
        found += self.label_truths(depth) if self.labels else []
        found += self._some(self.words, 3, lambda n: pick((f"({n} == {pick(WORDS)!r})", f"({n} != {pick(WORDS)!r})", f"({n} in ('low', 'high'))",
                                                           f"{n}.startswith('m')", f"({n} < 'm')")))
        found += self._some(self.options, 2, lambda n: f"({n} is {pick(('', 'not '))}None)")
        found += self._some(self.dicts, 1, lambda n: f"({pick((*KEYS, 'd'))!r} in {n})")
        found += self._some(self.points, 1, lambda n: f"({n} {pick(('==', '<', '!='))} Point({sub(0)}, {sub(0)}))")
        found += self._some(self.vectors, 2, lambda n: f"({n} {pick(('==', '<', '!='))} {pick(self.vectors)})")
        if self.numpy:
            found += [(3, lambda: f"({self.elementary(depth)} {self.comparison()} {self.elementary(0)})"),
                      (3, lambda: f"({self.elementary(depth)} % 1.0 == 0.0)")]
        return found

    def _some(self, names: Sequence[str], weight: float, text: object) -> list[tuple[float, Thunk]]:
        assert callable(text)
        return [(weight, lambda: str(text(self.rng.choice(names))))] if names else []

    # --- statements

    def more_statements(self) -> list[tuple[float, Writer]]:
        added: list[tuple[float, Writer]] = []
        if self.reached:
            deeper: list[tuple[float, Writer]] = [(2, lambda: reached.guarded(self)), (2, lambda: reached.managed(self))]
            added = [(1, lambda: reached.counting_function(self)),
                     *(deeper if self.depth < 3 and self.budget > 10 * self.times else [])]
        if not self.wide:
            return added
        added += [(3, self.assign_label)] if self.labels else []
        return [*added, (2, self.make), (3, self.change), (0.5, self.wider_augmented), (0.4, self.star), (0.4, self.walrus_after), (0.5, self.word_match),
                (0.5, self.shape_match), (0.5, self.collect),
                (0.8, lambda: ragged.filtered(self))]

    def make(self) -> tuple[Lines, bool]:
        cond = self.truth(1)
        match self.rng.randrange(6):
            case 0:
                first, second = self.rng.sample(WORDS, 2)
                return self.new("word", self.words, f"{first!r} if {cond} else {second!r}")
            case 1:
                return self.new("option", self.options, f"None if {cond} else {self.real(1)}")
            case 2:
                items = ", ".join(f"{key!r}: {self.real(1)}" for key in KEYS)
                return self.new("book", self.dicts, f"{{{items}}}")
            case 3:
                return self.new("point", self.points, f"Point({self.real(1)}, {self.real(1)})")
            case 4:
                count = f", {self.integer(1)}" if self.chance(0.3) else ""
                return self.new("account", self.accounts, f"Account({self.real(1)}{count})")
        return self.new("vector", self.vectors, f"Vector({self.real(1)}, {self.real(1)})")

    def change(self) -> tuple[Lines, bool]:
        """Another value for one of those names, here or in a branch."""
        writers: list[str] = []
        pick = self.rng.choice
        writers += [f"{n} = {pick(WORDS)!r}" for n in self.words]
        writers += [f"{n} = {pick(('None', self.real(1)))}" for n in self.options]
        writers += [f"{n}[{pick(KEYS)!r}] {pick(('=', '+='))} {self.real(1)}" for n in self.dicts]
        writers += [f"{n} = Point({self.real(1)}, {n}.x)" for n in self.points]
        writers += [pick((f"{n}.add({self.real(1)})", f"{n}.total = {self.real(1)}", f"{n}.count += 1")) for n in self.accounts]
        if not self.loops and not self.depth:  # each object made under a condition doubles what the name may hold
            writers += [f"{n} = {pick((f'-{n}', f'{n} + Vector({self.real(0)}, 1.0)', f'{n} * 0.5'))}" for n in self.vectors]
        if not writers:
            return self.make()
        line = pick(writers)
        return (self.branch_around(line) if self.chance(0.4) else [line]), False

    def branch_around(self, line: str) -> Lines:
        return [f"if {self.condition(1)}:", *indent([line])]

    def wider_augmented(self) -> tuple[Lines, bool]:
        names = [n for n in self.scope.names(INT) if n not in self.scope.frozen]
        if not names:
            return self.assign()
        name = self.rng.choice(names)
        text = self.rng.choice(("<<= 2", ">>= 1", "&= 255", "//= 3", "%= 7", f">>= {self.shift_count()}", "**= 2"))
        return [f"{name} {text}"] + ([f"{name} &= 4095"] if "*" in text or "<" in text else []), False

    def star(self) -> tuple[Lines, bool]:
        first = self.fresh()
        rest = self.fresh()
        line = f"{first}, *{rest} = ({self.real(1)}, {self.real(1)}, {self.real(0)})"
        self.bind(first, FLOAT)
        total = self.target(FLOAT)
        self.bind(total, FLOAT)
        return [line, f"{total} = {rest}[{self.rng.choice('01')}] - {first}"], False

    def walrus_after(self) -> tuple[Lines, bool]:
        """A name that is bound in an operand of `and`, which some lanes do not evaluate."""
        name = self.fresh()
        test = f"{self.condition(1)} and ({name} := {self.real(1)}) > {self.real(0)}"
        target = self.target(FLOAT)
        value = self.real(0)
        self.bind(target, FLOAT)
        return [f"{target} = {name} * 2.0 if {test} else {value}"], False

    def word_match(self) -> tuple[Lines, bool]:
        if not self.words or self.depth > 2:
            return self.change()
        name = self.target(FLOAT)
        lines = [f"match {self.rng.choice(self.words)}:"]
        for word in self.rng.sample(WORDS, 2):
            lines += indent([f"case {word!r}:", *indent([f"{name} = {self.real(1)}"])])
        lines += indent(["case _:", *indent([f"{name} = {self.real(1)}"])])
        self.bind(name, FLOAT)
        return lines, False

    def shape_match(self) -> tuple[Lines, bool]:
        """Sequence and class patterns with literals, captures and guards."""
        name = self.target(FLOAT)
        if self.points and self.chance(0.5):
            subject = self.rng.choice(self.points)
            cases = ("case Point(0.0, m1):", "m1"), (f"case Point(x=m1, y=m2) if m1 > {self.real(0)}:", "m1 - m2"), ("case Point(m1, _):", "m1 * 0.5")
        else:
            subject = f"({self.integer(1)} % 3, {self.real(1)})"
            cases = ("case (0, m1):", "m1"), ("case (1 | 2 as m2, m1) if m1 == m1:", "m1 + m2"), ("case (m2, m1):", "m2 - 1.5")
        lines = [f"match {subject}:"]
        for head, value in cases:
            lines += indent([head, *indent([f"{name} = {value}"])])
        self.bind(name, FLOAT)
        return lines, False

    def collect(self) -> tuple[Lines, bool]:
        """A list that grows in a loop of known length, and a reduction of it."""
        name, item = self.fresh(), self.fresh()
        target = self.target(FLOAT)
        text = self.inner_float((item, FLOAT), 1)
        lines = [f"{name} = []", f"for {item} in ({self.real(0)}, {self.real(0)}, 1.5):", *indent([f"{name}.append({text})"])]
        reduce = self.rng.choice((f"sum({name})", f"{name}[-1]", f"max({name})", f"{name}.pop()", f"{name}[1] * len({name})"))
        self.bind(target, FLOAT)
        return [*lines, f"{target} = {reduce}"], False
