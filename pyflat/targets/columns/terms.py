"""A function and its columns as a flat function, and that as a graph in the operations of one engine (`Terms`)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.backend import FlatFunction, flatten_fold, flatten_function, flatten_optimize
from pyflat.errors import refuse
from pyflat.frontend.callables import Parameters, unwrap
from pyflat.ir.nodes import Const, Op, Param, Scalar, Value, number
from pyflat.ir.shape import MAX_WORDS, OTHER_WORD, Labels, UnknownWordsError, leaves
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.ir.uses import results_of
from pyflat.passes.rules.expansions import EXPANSIONS
from pyflat.passes.rules.legalise import Expansions, Legaliser

_BLANK = {BOOL: False, INT: 0, FLOAT: 0.0}


class Given(Param):
    """A number that a text reads: the `number`-th."""

    __slots__ = ("number",)

    def __init__(self, kind: Kind, number: int, name: str = ""):
        super().__init__(kind, name)
        self.number = number


class Piece(Value):
    """What is written as it is."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        super().__init__(BOOL)
        self.text = text


class Terms(Legaliser):
    """The graph of a function in the operations that `stay` on an engine; `of` says what its values are there.

    `checked` are the divisors that the function compares with zero itself, so that a quotient by zero is a fault or is
    dropped."""

    def __init__(self, own: Expansions, stay: Container[str]):
        super().__init__(own, EXPANSIONS, stay)
        self.of: dict[Value, Value] = {}
        self.checked: set[Value] = set()

    def read(self, value: Value) -> Value:
        if isinstance(value, Const):
            return self.const(_BLANK[value.kind] if value.value is None else value.value)
        return self.of[value]

    def add(self, ops: Iterable[Op], known: Mapping[Op, Value]) -> None:
        """Operations in order; of some it is `known` what they are."""
        ops = list(ops)
        tested = {op.args[0] for op in ops if op.opcode in ("eq", "ne") and number(op.args[1]) == 0}
        self.checked.update(self.of[value] for value in tested if value in self.of)
        for op in ops:
            self.origin = op.origin
            operands = list(map(self.read, op.args))
            if op.opcode == "gather":
                made = lookup(self, operands[0], op.attr("table"))
            else:
                made = known.get(op) or self(op.opcode, *operands)
            self.of[op] = made
            if op in tested:
                self.checked.add(made)


def terms_of(flat: FlatFunction, own: Expansions, stay: Container[str]) -> tuple[list[Value], Terms]:
    """The results of a flat function as terms, and what made them. They read param k as its value; behind all params,
    and as many that say whether each is null, come those that say whether a string is a word (`tests_of`)."""
    terms, params = Terms(own, stay), flat.ir.params
    tests: dict[Value, list[Value]] = {}
    behind = 2 * len(params)
    for k, (param, node) in enumerate(zip(params, flat.params, strict=True)):
        words = _words(flat, node.attrs["argument"])
        if words is None:
            terms.of[param] = Given(param.kind, k, param.name)
            continue
        tests[param] = [Given(BOOL, behind + j, word) for j, word in enumerate(words)]
        behind += len(words)
        terms.of[param] = _position(terms, tests[param])
    ops = flat.ir.flat_block.ops
    known = {op: test if op.opcode == "eq" else terms("not", test)
             for op in ops if op.opcode in ("eq", "ne") and (test := _tested(op, tests)) is not None}
    terms.add(ops, known)
    return list(map(terms.read, results_of(flat.ir))), terms


def _words(flat: FlatFunction, argument: str) -> tuple[str, ...] | None:
    shape = flat.arguments.get(argument)
    return tuple(shape.table[:-1]) if isinstance(shape, Labels) else None


def tests_of(columns: Sequence[Column], write: Callable[[int, str], str]) -> list[str]:
    """The texts of the params that say whether string k is a word, as `write(k, word)` has them."""
    return [write(k, word) for k, column in enumerate(columns) for word in column.words or ()]


def _tested(op: Op, tests: Mapping[Value, Sequence[Value]]) -> Value | None:
    """Whether a string is one of its words, where an operation compares its position with that of the word."""
    param, other = op.args
    if param not in tests or not isinstance(other, Const):
        return None
    code = int(other.value or 0)
    return tests[param][code] if 0 <= code < len(tests[param]) else None


def _position(terms: Terms, tests: Sequence[Value]) -> Value:
    made = terms.const(len(tests))
    for k in range(len(tests) - 1, -1, -1):
        made = terms("select", tests[k], k, made)
    return made


def lookup(terms: Terms, index: Value, table: Sequence[Scalar]) -> Value:
    """table[index] as a tree of selects; beyond the table, where Python raises, its first or last entry."""
    size = len(table)
    index = terms("select", terms("lt", index, 0), terms("add", index, size), index)

    def part(low: int, high: int) -> Value:
        if high - low == 1:
            return terms.const(table[low])
        middle = (low + high) // 2
        return terms("select", terms("lt", index, middle), part(low, middle), part(middle, high))

    return part(0, size)


@dataclass(frozen=True, slots=True)
class Column:
    """Where a number comes from. `given` is what the caller named for the argument, None when nothing; `path` is the
    field of a record that the number is, "" of a plain argument. `words` are those that the strings of a column are
    compared with, None for numbers."""

    argument: str
    path: str
    kind: str
    given: Any
    words: tuple[str, ...] | None = None


def flattened(fn: Callable[..., Any], columns: Mapping[str, Any], faults: str, allowed: Sequence[str],
              kinds: str | None, none: bool = True) -> tuple[FlatFunction, list[Column]]:
    """`fn`, folded; its last result is the mask of the rows in which Python raises, unless they are unchecked.

    A number for a parameter is a constant, everything else a column: of strings for a parameter that is annotated `str`
    or compared with strings, else of numbers. Raises FlattenError, ValueError for an unknown `faults` and for columns
    that are not parameters.
    """
    if faults not in allowed:
        raise ValueError(f"faults={faults!r} is none of {', '.join(allowed)}")
    fn = getattr(fn, "__wrapped__", fn) if hasattr(fn, "show") else fn
    constants = {name: given for name, given in columns.items() if isinstance(given, bool | int | float)}
    flat = _with_words(fn, dict.fromkeys(_strings(fn, columns), ()), kinds=kinds, static=constants,
                       faults="drop" if faults == "unchecked" else "mask", none=none)
    known = {node.attrs["argument"] for node in flat.params}
    for name in columns:
        if name not in known and name not in constants and name not in flat.arguments:
            raise refuse("flatten/static-name", f"{flat.name} has no parameter {name!r}")
    if not any(leaves(flat.result)):
        raise refuse("flatten/result-kind", f"{flat.name} gives no number: there is nothing to compute")
    flat = flatten_optimize(flatten_fold(flat))
    return flat, [_column(node.attrs, node.kind, columns, flat) for node in flat.params]


def _strings(fn: Callable[..., Any], columns: Mapping[str, Any]) -> list[str]:
    """The parameters that columns of strings are for."""
    callee = unwrap(fn)
    parameters = Parameters(callee, "")
    bound = {*callee.preset, *parameters.names[:len(callee.prefix)]}
    wanted = [p for name, p in parameters.signature.parameters.items()
              if name not in bound and (name in columns or p.default is p.empty)]
    return [p.name for p in wanted
            if not isinstance(columns.get(p.name), bool | int | float) and parameters.takes_string(p.name)]


def _with_words(fn: Callable[..., Any], words: dict[str, tuple[str, ...]], **options: Any) -> FlatFunction:
    """`fn` with these parameters as positions among the strings that it compares them with, which it says itself."""
    while True:
        tables = {name: Labels((*known, OTHER_WORD)) for name, known in words.items()}
        try:
            return flatten_function(fn, arguments=tables, **options)
        except UnknownWordsError as unknown:
            for name, more in unknown.words.items():
                words[name] = tuple(dict.fromkeys((*words[name], *more)))
                if len(words[name]) > MAX_WORDS:
                    raise refuse("flatten/argument-kind",
                                 f"{name} is compared with more than {MAX_WORDS} strings") from None


def _column(attrs: Mapping[str, Any], kind: str, columns: Mapping[str, Any], flat: FlatFunction) -> Column:
    argument, path = attrs["argument"], attrs["path"]
    given = columns.get(argument)
    if path and isinstance(given, Mapping):
        if path not in given:
            raise ValueError(f"{flat.name}: no column is given for {path} of {argument}")
        return Column(argument, "", kind, given[path])
    return Column(argument, path, kind, given, _words(flat, argument))
