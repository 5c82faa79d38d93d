"""Random programs about dicts, and lists that are made of them: values of several kinds at one key, keys and lengths that
differ from lane to lane."""

from __future__ import annotations

from random import Random

from tests.generator.program import Program

INDENT = "    "
STARTS = ("{}", "{'a': n}", "{n % 3: x}", "{'a': 1, 'b': x}")
KEYS = ("'a'", "'b'", "'c'", "n % 3", "n")
VALUES = ("n", "x", "1", "2.5", "x > 0", "n * 2", "None", "'w'", "(n, x)")
TESTS = ("x > 0", "n > 2", "n % 2", "True", "len(d) > 1")
RESULTS = ("list(d.items())", "list(d.items())", "list(d.values())", "[v for v in d.items()]", "list(d)", "(list(d.items()), n)",
           "sorted(d.items(), key=str)", "tuple(d.items())", "[(k, (v, n)) for k, v in d.items()]")


def generate_containers(seed: int) -> Program:
    """The program of a seed: `main(n, x)` of an int and a float."""
    rng = Random(f"containers {seed}")
    lines = [f"d = {rng.choice(STARTS)}"]
    for _ in range(rng.randint(1, 4)):
        key, value = rng.choice(KEYS), rng.choice(VALUES)
        change = rng.choice((f"d[{key}] = {value}", f"d.pop({key}, 0)", f"d.setdefault({key}, {value})", f"d = {{{key}: {value}}}"))
        lines += [f"if {rng.choice(TESTS)}:", INDENT + change] if rng.random() < 0.7 else [change]
    if rng.random() < 0.3:
        lines += ["for k in range(n % 4):", f"{INDENT}d[k] = {rng.choice(('x', 'n', 'k'))}"]
    if rng.random() < 0.2:
        lines += ["if x > 2:", f"{INDENT}return []"]
    lines.append(f"return {rng.choice(RESULTS)}")
    return Program("\n".join(["def main(n, x):", *(INDENT + line for line in lines)]) + "\n", ("i", "f"), seed)
