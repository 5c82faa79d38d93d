"""Random programs about dicts and sets whose keys differ by lane, powers with a modulus, and results that are strings,
lists, or numbers in some lanes and other objects in others; helpers that call themselves."""

from __future__ import annotations

from random import Random

from tests.generator.program import Program

INDENT = "    "
MAKERS = ("{}", "{}", "defaultdict(int)", "Counter()", "{m % 4: 1}", "Counter([k, m % 3])", "{v: v + 1 for v in (n % 5, k, m % 3)}")
RECURSIVE = """def ways(n):
    if n < 2:
        return 1
    return ways(n - 1) + ways(n - {step})
""", """def depth(n):
    if n <= 1:
        return {step}
    return depth(n // 2) + 1 if n % 2 else depth(n // 2) * 2 + depth(n // 3)
"""


class _Writer:
    """Lines of a function with the dict d, the set s, the ints n, m and k (a counter), the float x and the total t."""

    def __init__(self, seed: int):
        self.rng = Random(f"counters {seed}")
        self.first = self.rng.choice(MAKERS)
        self.adds = "int" in self.first or "Counter" in self.first
        self.key_kind = self.rng.choice(("int", "int", "int", "tuple", "bool", "float"))

    def key(self) -> str:
        ints = ("m % 10", "m % 3", "k", "n % 7", "m", "2")
        if self.key_kind == "int" or self.first not in ("{}", "defaultdict(int)", "Counter()"):
            return self.rng.choice(ints)
        if self.key_kind == "tuple":
            return f"({self.rng.choice(ints)}, {self.rng.choice(('k % 2', 'n % 2'))})"
        return self.rng.choice(("m % 2 == 0", "k", "m % 2") if self.key_kind == "bool" else ("x", "m / 4", "m % 3", "0.5"))

    def test(self) -> str:
        key = self.key()
        return self.rng.choice((f"{key} in d", f"{key} not in d", "len(d) > 2", "d", f"{key} in s", "m % 2", "k > 2", "x > 0.5",
                                f"d.get({key}, 0) > 1", "len(s) < 3"))

    def change(self) -> str:
        key, value = self.key(), self.rng.choice(("k", "m % 5", "t", "1", "n % 3", f"d.get({self.key()}, 2)"))
        found = [f"d[{key}] = d.get({key}, 0) + 1", f"d[{key}] = {value}", f"t += d.get({key}, {value}) % 1000",
                 f"s.add({key})", f"s.discard({key})", f"t += d.setdefault({key}, {value}) % 1000", f"t += d.pop({key}, 3) % 1000",
                 f"t += pow(m + 2, n % 9, {self.rng.choice(('k + 3', '-7', '2**61 - 1', '10**9 + 7', 'm - 20'))}) % 97"]
        return self.rng.choice([*found, *([f"d[{key}] += 1"] * 4 if self.adds else [])])

    def statement(self) -> list[str]:
        chance = self.rng.random()
        if chance < 0.35:
            return [f"if {self.test()}:", INDENT + self.change()]
        if chance < 0.45:
            key = self.key()
            return [f"if {key} in d:", INDENT + self.rng.choice((f"del d[{key}]", f"d[{key}] += 1", f"t += d[{key}] % 1000"))]
        if chance < 0.52:
            return ["try:", f"    t += d[{self.key()}] % 1000", "except KeyError:", f"    {self.change()}"]
        if chance < 0.6:
            return [self.rng.choice(("for v in d.values():", "for v in list(d.values()):")), "    t = (t * 3 + v) % 1009"]
        return [self.change()]

    def loop(self) -> list[str]:
        body = [INDENT + line for _ in range(self.rng.randint(1, 3)) for line in self.statement()]
        kept = ("while m > 0:", ["m //= 3"]), ("while m > 0:", ["m //= 10"]), ("for k in range(m % 6):", [])
        known = ("for k in range(4):", []), ("for k in (n % 3, m % 5, 2):", []), ("for k in (m, n, m // 3, 1):", [])
        head, step = self.rng.choice(kept if self.rng.random() < 0.15 else known)
        return [head, *body, *[INDENT + line for line in step]]

    def number(self) -> str:
        return self.rng.choice((
            "len(d)", "t", "sum(d.values()) % 1000", "max(d.values(), default=-1)", "len(s)", "int(bool(d))", f"d.get({self.key()}, 7)",
            f"d[{self.key()}]", "len(d) * 100 + len(s)", "x * len(d)", "ways(m % 9)"))

    def result(self) -> list[str]:
        number = self.number()
        chance = self.rng.random()
        if chance < 0.4:
            return [f"return {number}, {self.number()}"]
        if chance < 0.55:
            other = self.rng.choice(("'none'", "f'{t} of {n}'", "'+' + str(len(d))", "None"))
            return [f"if {self.test()}:", f"    return {other}", f"return {number}"]
        if chance < 0.7:
            lists = ("list(d.values())", "[v for v in d.values() if v > 1]", "sorted(d.values())", "list(d.items())", "[*d.items(), (t, x)]")
            change = self.rng.choice(([], [f"if {self.test()}:", f"    d[{self.key()}] = x"], [f"d[{self.key()}] = {number}"]))
            return [*change, f"return {self.rng.choice(lists)}"]
        if chance < 0.8:
            return [f"return f'{{{number}}} {self.rng.choice(('a', '%', '{t:>4}'))}'"]
        if self.key_kind == "int":
            return [f"return {self.rng.choice(('list(d)', 'sorted(d.items())', 'max(d, key=d.get)', 'sum(s), len(s)', 'max(s, default=0)'))}"]
        return [f"return {number}"]


def generate_counters(seed: int) -> Program:
    """The program of a seed: `main(n, x)` of an int and a float."""
    writer = _Writer(seed)
    helper = writer.rng.choice(RECURSIVE).replace("{step}", str(writer.rng.randint(1, 2))).replace("depth", "ways")
    body = ["m = abs(n) % 1000", "k = 1", "t = 0", f"d = {writer.first}", "s = set()", *writer.loop(),
            *(writer.loop() if writer.rng.random() < 0.5 else writer.statement()), *writer.result()]
    text = "\n".join(["from collections import Counter, defaultdict", "", "", helper, "", "def main(n, x):",
                      *(INDENT + line for line in body)])
    return Program(f"{text}\n", ("i", "f"), seed)
