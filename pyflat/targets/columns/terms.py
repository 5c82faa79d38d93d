"""A function and its columns as a flat function, and that as a graph of terms, in the operations of one engine.

Equal terms are one. `terms_of` walks the nodes of a `FlatFunction` and asks the engine's rules for each of them: a rule
gives the term that stands for the operation, made of operations that the engine has, or None to leave it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflat.backend import FlatFunction, flatten_fold, flatten_function, flatten_optimize
from pyflat.errors import Span, refuse
from pyflat.frontend.callables import Parameters, unwrap
from pyflat.ir.ops import COMPARISONS, OPERATIONS
from pyflat.ir.shape import MAX_WORDS, OTHER_WORD, Labels, UnknownWordsError, leaves

Rule = Callable[..., "Term | None"]
Rules = Mapping[str, Rule]
"""By operation, or operation and kind of the first operand ("mod:f8"), which goes first: `rule(terms, *operands)`."""
_TESTS = frozenset({*COMPARISONS, "isnan", "isinf", "isfinite", "not", "signbit"})
_FOLDED = frozenset({"add", "sub", "mul", "neg", "abs"})
_WHOLE = frozenset({"to_whole"})
Number = bool | int | float


@dataclass(eq=False, slots=True)
class Term:
    """An operation, a "const" (`value`) or a "param" (`value`: its number)."""

    opcode: str
    args: tuple[Term, ...]
    kind: str
    value: Any = None
    span: Span | None = None
    name: str = ""


@dataclass
class Terms:
    """Makes terms. `doubts` are bools, true where a rule could not say what Python computes: such rows are faults.

    `checked` are the divisors that the function compares with zero itself, so that a quotient by zero is a fault or is
    dropped."""

    rules: Rules = field(default_factory=dict)
    doubts: list[Term] = field(default_factory=list)
    checked: set[Term] = field(default_factory=set)
    span: Span | None = None
    made: dict[Any, Term] = field(default_factory=dict)

    def const(self, value: Number) -> Term:
        kind = "b" if isinstance(value, bool) else "i8" if isinstance(value, int) else "f8"
        return self._only(("const", kind, repr(value)), lambda: Term("const", (), kind, value))

    def param(self, number: int, kind: str, name: str) -> Term:
        return self._only(("param", number), lambda: Term("param", (), kind, number, None, name))

    def op(self, opcode: str, *operands: Term | Number, name: str = "") -> Term:
        """An operation by its rule, if it has one: the result of further operations. Numbers stand for constants."""
        args = tuple(arg if isinstance(arg, Term) else self.const(arg) for arg in operands)
        rule = self.rules.get(f"{opcode}:{args[0].kind}") or self.rules.get(opcode)
        found = rule(self, *args) if rule is not None else None
        return self.raw(opcode, *args, name=name) if found is None else found

    def raw(self, opcode: str, *operands: Term | Number, name: str = "") -> Term:
        """The operation itself: what the engine's table spells."""
        args = tuple(arg if isinstance(arg, Term) else self.const(arg) for arg in operands)
        known = self._known(opcode, args)
        if known is not None:
            return known
        kind = _kind(opcode, args)
        return self._only((opcode, *map(id, args)), lambda: Term(opcode, args, kind, None, self.span, name))

    def doubt(self, condition: Term) -> None:
        self.doubts.append(condition)

    def _only(self, key: Any, make: Callable[[], Term]) -> Term:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def _known(self, opcode: str, args: tuple[Term, ...]) -> Term | None:
        """What needs no operation."""
        if opcode in _FOLDED and all(arg.opcode == "const" and arg.kind == "f8" for arg in args):
            return self.const(OPERATIONS[opcode].python(*[arg.value for arg in args]))
        if opcode == "select" and (args[1] is args[2] or args[0].opcode == "const"):
            return args[1] if args[0].value in (None, True) else args[2]
        if opcode not in ("and", "or") or args[0].kind != "b":
            return None
        for one, other in (args, args[::-1]):
            if one.opcode == "const":
                return other if one.value is (opcode == "and") else one
        return None


def _kind(opcode: str, args: tuple[Term, ...]) -> str:
    if opcode in _TESTS:
        return "b"
    if opcode == "select":
        return args[1].kind
    if opcode in _WHOLE:
        return "i8"
    return "f8" if opcode == "to_float" else args[0].kind


def terms_of(flat: FlatFunction, rules: Rules) -> tuple[list[Term], Terms]:
    """The results of a flat function as terms, and what made them. They read param k as its value; behind all params,
    and as many that say whether each is null, come those that say whether a string is a word (`tests_of`)."""
    terms = Terms(rules)
    of: dict[int, Term] = {}
    words = _word_tests(flat, terms)
    tested = {node.inputs[0].index for node in flat.nodes if _is_zero_test(node)}
    for node in flat.nodes:
        terms.span = node.span
        operands = [of[n.index] for n in node.inputs]
        match node.opcode:
            case "param" if node.index in words:
                made = _position(terms, words[node.index])
            case "eq" | "ne" if (test := _tested(node, words)) is not None:
                made = test if node.opcode == "eq" else terms.op("not", test)
            case "param":
                made = terms.param(node.index, node.kind, node.name)
            case "const":
                made = terms.const(node.attrs["value"])
            case "gather":
                made = lookup(terms, operands[0], node.attrs["table"])
            case _:
                made = terms.op(node.opcode, *operands, name=node.name)
        of[node.index] = made
        if node.index in tested:
            terms.checked.add(made)
    return [of[n.index] for n in flat.results], terms


def _word_tests(flat: FlatFunction, terms: Terms) -> dict[int, list[Term]]:
    """By param of strings: whether it is each of its words."""
    found: dict[int, list[Term]] = {}
    number = 2 * len(flat.params)
    for node in flat.params:
        words = _words(flat, node.attrs["argument"])
        if words is not None:
            found[node.index] = [terms.param(number + k, "b", word) for k, word in enumerate(words)]
            number += len(words)
    return found


def _words(flat: FlatFunction, argument: str) -> tuple[str, ...] | None:
    shape = flat.arguments.get(argument)
    return tuple(shape.table[:-1]) if isinstance(shape, Labels) else None


def tests_of(columns: Sequence[Column], write: Callable[[int, str], str]) -> list[str]:
    """The texts of the params that say whether string k is a word, as `write(k, word)` has them."""
    return [write(k, word) for k, column in enumerate(columns) for word in column.words or ()]


def _tested(node: Any, words: Mapping[int, Sequence[Term]]) -> Term | None:
    """Whether a string is one of its words, where a node compares its position with that of the word."""
    param, other = node.inputs
    found = words.get(param.index, ())
    code = other.attrs["value"] if other.opcode == "const" else -1
    return found[code] if 0 <= code < len(found) else None


def _position(terms: Terms, tests: Sequence[Term]) -> Term:
    made = terms.const(len(tests))
    for k in range(len(tests) - 1, -1, -1):
        made = terms.op("select", tests[k], k, made)
    return made


def _is_zero_test(node: Any) -> bool:
    return (node.opcode in ("eq", "ne") and len(node.inputs) == 2 and node.inputs[1].opcode == "const"
            and node.inputs[1].attrs["value"] == 0)


def lookup(terms: Terms, index: Term, table: Sequence[Number]) -> Term:
    """table[index] as a tree of selects; beyond the table, where Python raises, its first or last entry."""
    size = len(table)
    index = terms.op("select", terms.op("lt", index, 0), terms.op("add", index, size), index)

    def part(low: int, high: int) -> Term:
        if high - low == 1:
            return terms.const(table[low])
        middle = (low + high) // 2
        return terms.op("select", terms.op("lt", index, middle), part(low, middle), part(middle, high))

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
            raise ValueError(f"{flat.name}: the columns of {argument} do not say which one is {path}")
        return Column(argument, "", kind, given[path])
    return Column(argument, path, kind, given, _words(flat, argument))
