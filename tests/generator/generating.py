"""Random programs of generator functions and what consumes them: loops that are left early, reductions, iterators over
iterators, and effects and exceptions on both sides, whose order shows in the result."""

from __future__ import annotations

from random import Random

from tests.generator.program import Program

INDENT = "    "
HEAD = """from itertools import accumulate, chain, islice, pairwise, starmap, takewhile


class Pair:
    def __init__(self, u, v):
        self.u, self.v = u, v

    def __iter__(self):
        yield self.u
        if self.u > self.v:
            return
        yield self.v


def first_above(items, limit):
    t = 0.25
    for v in items:
        if v > limit:
            return v
        t += v
    return -t


def plain(n, x, size):
    for i in range(size):
        yield n * i + x
        x = x * 0.5 - 1 / (n - 2)
    yield x


def doubled(items):
    for v in items:
        yield v * 2


"""
REDUCED = (
    "sum({0})", "min({0}, default=-1)", "max({0}, default=0.5)", "len(list({0}))", "any({0})", "all({0})", "next({0}, 0.5)",
    "next({0})", "(2 in {0})", "sum(v * v for v in {0})", "any(v > x for v in {0})", "all(v < 9 for v in {0} if v != 2)",
    "sum(map(lambda v: v + x, {0}))", "sum(filter(lambda v: v > 1, {0}))", "sum(islice({0}, 2))", "sum(islice({0}, 1, 4, 2))",
    "sum(accumulate({0}))", "max(accumulate({0}, lambda a, b: a * 0.5 + b, initial=1.0))", "sum(b - a for a, b in pairwise({0}))",
    "sum(starmap(lambda i, v: i * v, enumerate({0})))", "first_above({0}, 3)", "first_above(doubled({0}), x)",
    "first_above((v + 1 for v in {0}), 2)", "sum([v * 0.5 for v in {0}])", "sum(v * w for v in {0} for w in {1})",
    "max(1, *{0})", "sum(doubled(doubled({0})))", "sum(Pair(x, n))", "first_above(Pair(n, x), 1)", "sum(list({0}))",
    "sum(tuple({0}))", "next((v for v in {0} if v > 2), -3)", "sum(i for i, _ in enumerate({0}, 2))",
    "sum(a * b for a, b in zip({0}, {1}))", "sum(a * b for a, b in zip((1.0, 2.0), {0}))",
)
TESTS = ("x > 1.5", "n % 2 == 0", "k > 2", "x > k", "n > 1", "log[0] > 4", "k % 3 == 1")


class _Writer:
    def __init__(self, seed: int):
        self.rng = Random(f"generating {seed}")
        self.made = 0

    def choice(self, *options: str) -> str:
        return self.rng.choice(options)

    def call(self, *, below: int = 9) -> str:
        number = self.rng.randrange(min(self.made, below))
        return f"g{number}({self.choice('n', 'k', 'n + 1', '3')}, {self.choice('x', 'x * 0.5', 't', '2.5')}, log)"

    def plain(self) -> str:
        return f"plain({self.choice('n', 'k')}, {self.choice('x', 't', '2.5')}, {self.choice('2', '3')})"

    # --- the generators; k counts
    def statement(self, depth: int, loops: int) -> list[str]:
        chance = self.rng.random()
        if chance < 0.35 or depth == 0 and chance < 0.7:
            return [f"yield {self.choice('x', 'k', 'n', 'k * x', 'x + log[0]', 'n * 2', 'x - n', 'x > 1')}"]
        if chance < 0.45 or depth == 0:
            return [self.choice("x = x * 0.5 + 1", "k += 1", "log[0] += x", "log[0] += 1", "x = 1 / (x - k)", "t = x / (n - 2)",
                                "log.append(k)" if self.rng.random() < 0.3 else "k += 2")]
        if chance < 0.5:
            return [f"if {self.rng.choice(TESTS)}:", INDENT + ("return" if not loops else self.choice("return", "break", "continue"))]
        if chance < 0.72:
            found = [f"if {self.rng.choice(TESTS)}:", *self.suite(depth - 1, loops)]
            return [*found, "else:", *self.suite(depth - 1, loops)] if self.rng.random() < 0.4 else found
        if chance < 0.78:
            return ["try:", *self.suite(depth - 1, loops), "except ZeroDivisionError:", *self.suite(0, loops)]
        if chance < 0.84 and self.made:
            return [f"yield from {self.call()}"]
        if chance < 0.9 and self.made:
            return [f"for k in {self.call()}:", *self.suite(depth - 1, loops + 1)]
        if chance < 0.95:
            return [f"for i in range({self.choice('2', '3', 'abs(n) % 4', 'n')}):", INDENT + "k += i", *self.suite(depth - 1, loops + 1)]
        return ["j = 0", f"while j < {self.choice('3', 'n', 'abs(n) % 5')}:", INDENT + "j += 1", *self.suite(depth - 1, loops + 1)]

    def suite(self, depth: int, loops: int) -> list[str]:
        return [INDENT + line for _ in range(self.rng.randint(1, 2)) for line in self.statement(depth, loops)]

    def generator(self) -> list[str]:
        body = ["k = 1", "t = x", *(line for _ in range(self.rng.randint(1, 2)) for line in self.statement(self.rng.randint(1, 2), 0)), "yield n"]
        found = [f"def g{self.made}(n, x, log):", *(INDENT + line for line in body), "", ""]
        self.made += 1
        return found

    # --- what consumes them; t is the result
    def consumer(self, depth: int) -> list[str]:
        chance = self.rng.random()
        if chance < 0.45:
            reduced = self.rng.choice(REDUCED).format(self.call(), self.call())
            return [f"t = t * 0.5 + {reduced}"]
        if chance < 0.55:
            return [f"made = {self.call()}", self.choice("k += 1", "x = x + 1", "log[0] += 2"), "t += sum(made)"]
        if chance < 0.57:
            step = "t += next(made, 0.5)"
            first = [step] if self.rng.random() < 0.7 else [f"if {self.rng.choice(TESTS)}:", INDENT + step]
            return [f"made = {self.plain()}", *first, self.choice("x = x + 1", "k += 1"),
                    f"t = t * 2 + {self.choice('next(made, 0)', 'next(made)', 'sum(made)', 'max(made, default=1)')}"]
        if chance < 0.62:
            return ["try:", *(INDENT + line for line in self.consumer(max(depth - 1, 0))),
                    f"except {self.choice('ZeroDivisionError', 'StopIteration', '(ZeroDivisionError, RuntimeError)')}:",
                    INDENT + "t = t - 3"]
        if chance < 0.68 and depth:
            return ["m = abs(n) % 3", "while m > 0:", INDENT + "m -= 1", *(INDENT + line for line in self.consumer(0))]
        target, source = self.choice("v", "v", "i, v"), self.call()
        head = f"for {target} in {source if target == 'v' else f'enumerate({source})'}:"
        body = [line for _ in range(self.rng.randint(1, 3)) for line in self.turn(depth)]
        found = [head, *(INDENT + line for line in body)]
        return [*found, "else:", INDENT + "t += 5"] if self.rng.random() < 0.3 else found

    def turn(self, depth: int) -> list[str]:
        chance = self.rng.random()
        if chance < 0.5 or not depth and chance < 0.7:
            return [self.choice("t = t * 0.5 + v", "t += v", "log[0] += v", "k += 1", "x = x * 0.5 + v", "t = t + 1 / (v - 2)")]
        if chance < 0.7:
            return self.consumer(depth - 1)
        return [f"if {self.choice('v > 2', 't > 4', *TESTS)}:", INDENT + self.choice("break", "continue", "t = -t", "return t, k")]


def generate_generating(seed: int) -> Program:
    """The program of a seed: `main(n, x)` of an int and a float."""
    writer = _Writer(seed)
    lines = [line for _ in range(writer.rng.randint(1, 2)) for line in writer.generator()]
    body = ["n = n % 5", "k = 2", "t = 0.5", "log = [1.0]"]
    body += [line for _ in range(writer.rng.randint(1, 2)) for line in writer.consumer(1)]
    result = writer.choice("t", "t + log[0]", "t, log[0]", "t, k, x", "t, len(log)")
    text = HEAD + "\n".join([*lines, "def main(n, x):", *(INDENT + line for line in [*body, f"return {result}"])])
    return Program(f"{text}\n", ("i", "f"), seed)
