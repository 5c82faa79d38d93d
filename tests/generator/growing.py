"""Random programs about lists that grow in loops whose trips differ by lane: digits, stacks, queues, sieves."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.generator.program import Program

INDENT = "    "
ITEMS = {"int": ("m % 10", "n", "m", "k", "m % 3 - 1"), "float": ("x", "m / 4", "x * k", "0.5", "-x"),
         "tuple": ("(m % 3, k)", "(k, n)", "(1, m % 10)"), "bool": ("m % 2 == 0", "k > 2", "n > m")}
NUMBERS = {"int": "v", "float": "v", "tuple": "v[0] * 10 + v[1]", "bool": "v"}


class _Writer:
    """Lines of a function with the lists a and b, the ints n, m and k (a counter), the float x and the total t."""

    def __init__(self, seed: int):
        self.rng = Random(f"growing {seed}")
        self.kind = self.rng.choice(("int", "int", "int", "float", "float", "tuple", "bool"))

    def pick(self, *choices: Callable[[], str]) -> str:
        return self.rng.choice(choices)()

    def item(self) -> str:
        return self.rng.choice(ITEMS[self.kind])

    def index(self) -> str:
        return self.rng.choice(("0", "-1", "1", "-2", "k", "k % 3", "m % 5", "len(a) // 2", "-k", "n"))

    def test(self) -> str:
        return self.rng.choice(("m % 2", "k > 2", "a", "not b", "len(a) > 3", "len(a) < len(b)", f"{self.item()} in a",
                                "a == b", "a[-1:] == b[:1]", "x > 0.5", "n % 3 == 1"))

    def change(self) -> str:
        """A statement that changes a or b."""
        one, other = self.rng.choice((("a", "b"), ("a", "b"), ("b", "a")))
        return self.rng.choice((
            f"{one}.append({self.item()})", f"{one}.append({self.item()})", f"{one}.append({self.item()})",
            f"{one} = [{self.item()}]", f"{one} = {other}[:]", f"{one} = {one}[::-1]", f"{one} = {one}[1:]",
            f"{one} = {one} + [{self.item()}]", f"{one} += [{self.item()}, {self.item()}]", f"{one}.reverse()",
            f"{one}.insert({self.index()}, {self.item()})", f"{one}.clear()", "a, b = b, a", f"{one}.sort()",
            f"{one}.extend({other})", f"{one}.extend([{self.item()}] * (m % 4))", f"{one}[{self.index()}] = {self.item()}",
            f"{one} = sorted({other}, reverse=True)", f"{one} = list(reversed({other}))"))

    def taking(self) -> str:
        one = self.rng.choice("aab")
        return self.rng.choice((f"{one}.pop()", f"{one}.pop()", f"{one}.pop(0)", f"{one}.pop({self.index()})", f"del {one}[-1]",
                                f"{one}.remove({one}[{self.index()}])"))

    def guarded(self, line: str) -> list[str]:
        return [f"if {self.test()}:", INDENT + line]

    def statement(self) -> list[str]:
        chance = self.rng.random()
        if chance < 0.2:
            take = self.taking()
            name = "a" if "a." in take or "del a" in take else "b"
            return self.guarded(take) if self.rng.random() < 0.15 else [f"if len({name}) > 2:", INDENT + take]
        if chance < 0.45:
            return self.guarded(self.change())
        if chance < 0.6:
            return [f"for v in {self.rng.choice(('a', 'b', 'a[1:]', 'reversed(b)', '[v for v in a if v != ' + self.item() + ']'))}:",
                    f"    t += {NUMBERS[self.kind]}"]
        return [self.change()]

    def loop(self) -> list[str]:
        body = [INDENT + line for _ in range(self.rng.randint(1, 3)) for line in self.statement()]
        head, step = self.rng.choice((
            ("while m > 0:", ["m //= 3"]), ("while m > 0:", ["m //= 10"]), ("for k in range(m % 6):", []),
            ("while len(a) < m % 7 and k < 15:", [f"a.append({self.item()})", "k += 1"]), ("while k < n % 9:", ["k += 1"])))
        leave = self.guarded("break") if self.rng.random() < 0.2 else []
        return [head, *body, *[INDENT + line for line in [*leave, *step]]]

    def result(self) -> str:
        each = NUMBERS[self.kind]
        return self.pick(
            lambda: "len(a), len(b), t", lambda: f"sum({each} for v in a) + t", lambda: "len(a) * 100 + len(b), t",
            lambda: f"sum(i * ({each}) for i, v in enumerate(b)), t", lambda: "len([v for v in a if v in b])",
            lambda: f"max([{each} for v in a], default=-1), len(b)", lambda: f"t, a[{self.index()}] == b[{self.index()}]",
            lambda: f"a.count({self.item()}), b.index({self.item()})", lambda: "any(a), all(b), bool(a)",
            lambda: f"sum(({each}) for v, w in zip(a, b) if v == w)", lambda: "a == b, a == a[::-1], t")


def generate_growing(seed: int) -> Program:
    """The program of a seed: `main(n, x)` of an int and a float."""
    writer = _Writer(seed)
    first = writer.rng.choice(("[]", "[]", f"[{writer.item()}]", f"[{writer.item()}, {writer.item()}]"))
    body = ["m = abs(n) % 1000", "k = 1", "t = 0", f"a = {first}", "b = []", *writer.loop(), *writer.loop(),
            f"return {writer.result()}"]
    text = "\n".join(["def main(n, x):", *(INDENT + line for line in body)])
    return Program(f"{text}\n", ("i", "f"), seed)
