"""Random programs about variables that mean something else after a turn of a loop that stays a loop: numbers of several
kinds, None, strings, tuples, lists, dicts, objects and functions, and the same inside of tuples."""

from __future__ import annotations

from random import Random

from tests.generator.program import Program

INDENT = "    "
HEAD = """from dataclasses import dataclass


@dataclass
class Point:
    u: float
    v: object


def half(z):
    return z / 2.0


def third(z):
    return z // 3


"""
ASK = {
    "None": ["if v is None:", "    return -1.0"],
    "number": ["if isinstance(v, (bool, int, float)):", "    return v"],
    "complex": ["if isinstance(v, complex):", "    return v.real + v.imag"],
    "string": ["if isinstance(v, str):", "    return len(v) + (v == 'low') * 0.5"],
    "Point": ["if isinstance(v, Point):", "    return v.u + (3.0 if v.v is None else v.v)"],
    "dict": ["if isinstance(v, dict):", "    return v.get('a', 0.25) + len(v)"],
    "items": ["if isinstance(v, (tuple, list)):", "    return 100.0 + len(v) + (v[0] if len(v) > 0 else 0)"],
    "named": ["if isinstance(v, (tuple, list)):", "    return 10.0 if v[0] is None else v[0] + 200.0"],
    "function": ["return v(8.0)"],
}
"""For each sort of values the lines of a function that makes a number of one."""
VALUES = {
    "n": "number", "x": "number", "x > k": "number", "None": "None", "'low'": "string", "'high'": "string", "k": "number",
    "n * 6364136223846793005 & 0xFFFFFFFFFFFFFFFF": "number", "complex(x, k)": "complex", "(x, k)": "items",
    "(k, x, 1)": "items", "(None, 'low')": "named", "[x, k]": "items", "[k]": "items", "[]": "items", "{'a': x}": "dict",
    "{'b': k, 'c': x}": "dict", "Point(x, None)": "Point", "Point(k, x)": "Point", "half": "function", "third": "function",
    "f'{k} of {n}'": "string", "f'{n}'": "string", "()": "items", "(x, [k, x])": "items", "(k, None)": "named",
}


class _Writer:
    """Lines of a function of the int n, the float x, and the variables v and w, which change; k counts."""

    def __init__(self, seed: int):
        self.rng = Random(f"turning {seed}")
        self.values = self.rng.sample(list(VALUES), self.rng.choice((2, 2, 3, 4)))
        self.sorts = {VALUES[value] for value in self.values}

    def ask(self) -> list[str]:
        lines = [line for sort, lines in ASK.items() if sort in self.sorts for line in lines]
        return ["def ask(v):", *(INDENT + line for line in lines), *([] if "function" in self.sorts else ["    return -2.0"])]

    def value(self) -> str:
        return self.rng.choice(self.values)

    def test(self) -> str:
        found = ["k > 2", "n % 3 == k % 3", "x > k", "n % 2 == 0"] * 2 + ["v is None", "isinstance(w, int)"]
        found += ["isinstance(v, str) and v > 'i'"] if "string" in self.sorts else []
        return self.rng.choice([*found, *(["isinstance(v, list) and len(v) > 1", "not v"] if "items" in self.sorts else [])])

    def change(self) -> list[str]:
        name = self.rng.choice("vvw")
        chance = self.rng.random()
        if chance < 0.15:
            return ["v, w = w, v"]
        if chance < 0.25:
            return [f"{name} = {self.rng.choice('vw')}"]
        if chance < 0.35 and self.sorts == {"items"}:
            return ["if isinstance(v, list) and v:", INDENT + self.rng.choice(("v[0] = k", "v[0] = x", "t += v[0]"))]
        if chance < 0.45 and self.sorts == {"Point"}:
            return ["if isinstance(v, Point):", INDENT + self.rng.choice(("v.u = v.u + 1", "v.v = x", "v.v = None"))]
        return [f"{name} = {self.value()}"]

    def statement(self) -> list[str]:
        chance = self.rng.random()
        if chance < 0.5:
            found = [f"if {self.test()}:", *(INDENT + line for line in self.change())]
            return [*found, "else:", *(INDENT + line for line in self.change())] if chance < 0.2 else found
        if chance < 0.65:
            return [f"t = t + {self.rng.choice(('ask(v)', 'ask(w)'))}"]
        if chance < 0.72:
            return [f"if {self.test()}:", INDENT + self.rng.choice(("break", "continue"))]
        return self.change()

    def loop(self) -> list[str]:
        body = [INDENT + line for _ in range(self.rng.randint(1, 4)) for line in self.statement()]
        head, step = self.rng.choice((("while m > 0:", ["m -= 1", "k += 1"]), ("while m > 0:", ["m //= 2", "k += 1"]),
                                      ("for k in range(m):", [])))
        return [head, *(INDENT + line for line in step), *body]

    def result(self) -> str:
        plain = self.sorts <= {"number", "None", "string", "items", "complex"}
        return self.rng.choice(["ask(v) + t", "ask(v), ask(w)", "f'{ask(v)}'", *(["v", "v, t", "w", "(v, w)"] if plain else [])])


def generate_turning(seed: int) -> Program:
    """The program of a seed: `main(n, x)` of an int and a float."""
    writer = _Writer(seed)
    body = ["m = abs(n) % 7", "k = 1", "t = 0.0", f"v = {writer.value()}", f"w = {writer.value()}", *writer.loop()]
    if writer.rng.random() < 0.3:
        body += ["m = abs(n) % 3", *writer.loop()]
    text = HEAD + "\n".join([*writer.ask(), "", "", "def main(n, x):", *(INDENT + line for line in [*body, f"return {writer.result()}"])])
    return Program(f"{text}\n", ("i", "f"), seed)
