"""Random programs: a module with constant tables, helpers and a function `main`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from random import Random

from tests.generator.expressions import MODULE_TABLES
from tests.generator.reached import REACHED
from tests.generator.scope import BOOL, FLOAT, FUNCTION, INT, LABEL, NAMES, OPTIONAL, Helper, Parameter
from tests.generator.shared import SHARED
from tests.generator.statements import Lines
from tests.generator.wide import LABELS, PRELUDE, Wide


@dataclass(frozen=True)
class Program:
    """Text of a module; `kinds` has the kind ("f", "i", "b") of each parameter of its function `main`."""

    source: str
    kinds: tuple[str, ...]
    seed: int | None = None


@dataclass(frozen=True)
class Manner:
    """What all functions of a program share: elementary functions or none, how often operations fault, what else than
    plain numbers they use."""

    libm: bool
    wild: float
    wide: bool = False
    ints: bool = False
    numpy: bool = False
    shared: bool = False
    reached: bool = False
    labels: bool = False


def generate_labelled(seed: int) -> Program:
    """A program whose functions hold and return strings, enum members and None."""
    program = generate_with(Random(f"labels {seed}"), labels=True)
    return Program(program.source, program.kinds, seed)


def generate(seed: int) -> Program:
    """The program of a seed; the same seed gives the same program on every machine."""
    program = generate_with(Random(seed), shared=seed % 4 == 1, reached=seed % 4 == 2)
    return Program(program.source, program.kinds, seed)


def generate_with(rng: Random, *, shared: bool = False, reached: bool = False, labels: bool = False) -> Program:
    helpers: list[Helper] = []
    lines: Lines = []
    wide = labels or rng.random() < 0.5
    manner = Manner(libm=rng.random() < 0.15, wild=rng.choice((0.0, 0.02, 0.1, 0.5)), wide=wide,
                    ints=wide and rng.random() < 0.3, numpy=wide and rng.random() < 0.2,
                    shared=shared, reached=reached, labels=labels)
    for number in range(rng.choices((0, 1, 2, 3), (3, 4, 3, 2))[0]):
        helper, text = _helper(rng, number, helpers, manner)
        helpers.append(helper)
        lines += ["", "", *text]
    weights = (2, 10, 1) if manner.ints else (8, 4, 1)
    kinds = tuple(rng.choices((FLOAT, INT, BOOL), weights)[0] for _ in range(rng.randint(1, 4)))
    names = rng.sample(NAMES, len(kinds))
    parameters = tuple(Parameter(n, k) for n, k in zip(names, kinds, strict=True))
    results = _labelled_results(rng) if labels else _results(rng, manner)
    writer = _writer(rng, parameters, results, helpers, manner)
    writer.budget = rng.choice((60, 120, 400))
    writer.unbound = 0.3 if rng.random() < 0.15 else 0.01
    lines += ["", "", *writer.function("main", parameters, rng.choice((1, 2, 2, 3, 3, 4, 5, 6)))]
    prelude = PRELUDE + "\n\n" if manner.wide else "\n"
    prelude += SHARED + "\n\n" if manner.shared else ""
    prelude += REACHED + "\n\n" if manner.reached else ""
    prelude += LABELS + "\n\n" if manner.labels else ""
    source = "import math\n" + prelude + MODULE_TABLES + "\n".join(lines) + "\n"
    if rng.random() < 0.5:
        source = ast.unparse(ast.parse(source)) + "\n"
    return Program(source, kinds)


def _writer(
    rng: Random, parameters: tuple[Parameter, ...], results: tuple[str, ...], helpers: list[Helper], manner: Manner
) -> Wide:
    writer = Wide(rng, results)
    writer.open_names()
    writer.wide, writer.ints, writer.numpy, writer.shared = manner.wide, manner.ints, manner.numpy, manner.shared
    writer.reached = manner.reached
    writer.labels = manner.labels
    writer.helpers = list(helpers)
    writer.libm, writer.wild = manner.libm, manner.wild
    for parameter in parameters:
        if parameter.kind == FUNCTION:
            writer.helpers.append(Helper(parameter.name, (Parameter("_", FLOAT),), (FLOAT,), 10))
            writer.scope.freeze(parameter.name)
        else:
            writer.scope.bind(parameter.name, parameter.kind)
    return writer


def _results(rng: Random, manner: Manner) -> tuple[str, ...]:
    count = rng.choices((1, 2, 3), (8, 2, 1))[0]
    return tuple(rng.choices((FLOAT, INT, BOOL), (2, 8, 1) if manner.ints else (6, 3, 1))[0] for _ in range(count))


def _labelled_results(rng: Random) -> tuple[str, ...]:
    count = rng.choices((1, 2, 3), (8, 3, 1))[0]
    return tuple(rng.choices((LABEL, OPTIONAL, FLOAT), (6, 3, 2))[0] for _ in range(count))


def _helper(rng: Random, number: int, helpers: list[Helper], manner: Manner) -> tuple[Helper, Lines]:
    name = rng.choice(("helper", "f", "g", "clamp", "select", "h")) + str(number)
    match rng.choices(("plain", "lambda", "variadic", "recursive", "higher"), (12, 3, 1, 1.5, 1.5))[0]:
        case "lambda":
            return _lambda(rng, name, manner)
        case "variadic":
            return Helper(name, (), (FLOAT,), 5, variadic=True), _variadic(rng, name)
        case "recursive":
            return _recursive(rng, name)
        case "higher":
            kinds: list[str] = [FUNCTION, FLOAT]
        case _:
            kinds = [rng.choices((FLOAT, INT, BOOL), (6, 3, 1))[0] for _ in range(rng.randint(1, 3))]
    return _plain(rng, name, kinds, helpers, manner)


def _plain(rng: Random, name: str, kinds: list[str], helpers: list[Helper], manner: Manner) -> tuple[Helper, Lines]:
    names = rng.sample(NAMES, len(kinds))
    parameters: list[Parameter] = []
    defaults = False
    for word, kind in zip(names, kinds, strict=True):
        defaults = defaults or (kind != FUNCTION and rng.random() < 0.25)
        default = {FLOAT: "0.75", INT: "3", BOOL: "True"}.get(kind, "") if defaults else ""
        keyword_only = bool(parameters and parameters[-1].keyword_only) or (bool(default) and rng.random() < 0.3)
        parameters.append(Parameter(word, kind, default, keyword_only))
    results = (LABEL,) if manner.labels and rng.random() < 0.5 else _results(rng, manner)
    writer = _writer(rng, tuple(parameters), results, helpers, manner)
    writer.confined = True
    writer.budget = start = 60
    text = writer.function(name, tuple(parameters), rng.randint(1, 3))
    return Helper(name, tuple(parameters), writer.results, start - writer.budget + 1), text


def _lambda(rng: Random, name: str, manner: Manner) -> tuple[Helper, Lines]:
    parameters = tuple(Parameter(n, FLOAT) for n in rng.sample(NAMES, rng.randint(1, 2)))
    kind = rng.choice((FLOAT, FLOAT, INT, BOOL))
    writer = _writer(rng, parameters, (kind,), [], manner)
    writer.confined = True
    head = ", ".join(p.name for p in parameters)
    return Helper(name, parameters, (kind,), 3), [f"{name} = lambda {head}: {writer.of(kind, 3)}"]


def _variadic(rng: Random, name: str) -> Lines:
    fold = rng.choice(("s = s + v * 0.5", "s = max(s, v)", "s += v if v > 0 else 1", "s = s - v"))
    tail = rng.choice(("s", "s / len(vs)", "s + vs[0]", "s - sum(vs)", "s + vs[-1]"))
    return [f"def {name}(*vs):", "    s = 0.0", "    for v in vs:", f"        {fold}", f"    return {tail}"]


def _recursive(rng: Random, name: str) -> tuple[Helper, Lines]:
    """Recursion over a static count (a default), with an early return that depends on the lane."""
    step = rng.choice(("x * 0.5 + 1", "x - n", "-x", "abs(x) - 0.25", "x if x > n else x + 1.0"))
    guard = rng.choice(("x > 4.0", "x != x", "x < -2"))
    lines = [f"def {name}(x, n=3):", "    if n <= 0:", "        return x", f"    if {guard}:", f"        return x + n * {name}({step}, n - 1)",
             f"    return {name}({step}, n - 1)"]
    return Helper(name, (Parameter("x", FLOAT),), (FLOAT,), 40), lines
