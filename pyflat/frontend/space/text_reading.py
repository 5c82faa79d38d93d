"""int() of a text whose characters are lanes: digits of a base, of which one at least, and a sign in front of them."""

from __future__ import annotations

import libcst as cst

from pyflat.frontend.space import characters, ragged, scalars
from pyflat.frontend.space.characters import Items, code_of
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, bound_part, lane
from pyflat.frontend.state.values import Abstract, Char, GuardedUnion, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value

_PREFIXES = {2: "0b", 8: "0o", 16: "0x"}


def to_int(s: Evaluator, items: Items, base: object, node: cst.CSTNode) -> Abstract:
    """int(text, base)"""
    if type(base) is not int or not 2 <= base <= 36:
        raise s.refuse("flatten/unsupported-expression", f"int() of a computed string in base {base!r}", node)
    if len(items) == 1 and isinstance(only := items[0], Char) and only.decimal and (base >= 10 or only.binary):
        return only.number
    items = _without_prefix(_without_spaces(items), base)
    _check_known(s, items, node)
    wrong: Value = const(False)
    negative: Value = const(False)
    total: Abstract = Static(0)
    count: Abstract = Static(0)
    rank: Abstract = Static(0)
    for item in items:
        present, value = ragged.split_gap(s, item)
        here = lane(present)
        first = s.build.op("eq", lane(rank), const(0))
        minus = s.build.op("and", characters.is_minus(s, value), first)
        plus = s.build.op("and", const(isinstance(value, Static) and value.value == "+"), first)
        is_digit, digit = _digit(s, value, base, node)
        neither = s.build.op("not", s.build.op("or", s.build.op("or", minus, plus), is_digit))
        wrong = s.build.op("or", wrong, s.build.op("and", here, neither))
        negative = s.build.op("or", negative, s.build.op("and", here, minus))
        counted = s.build.op("and", here, is_digit)
        longer = scalars.binary(s, "add", scalars.binary(s, "mul", total, Static(base)), digit)
        total = scalars.choose(s, counted, longer, total)
        count = scalars.binary(s, "add", count, counted)
        rank = scalars.binary(s, "add", rank, present)
    heap.raise_if(s, s.build.op("or", wrong, s.build.op("eq", lane(count), const(0))), ValueError)
    size = lane(total)
    return s.build.op("select", negative, s.build.op("neg", size), size)


def _without_spaces(items: Items) -> Items:
    """Without the known spaces at both ends, which int() does not look at."""
    first = next((k for k, item in enumerate(items) if not _is_space(item)), len(items))
    last = next((k for k in range(len(items), first, -1) if not _is_space(items[k - 1])), first)
    return items[first:last]


def _is_space(item: Abstract) -> bool:
    known = bound_part(item)
    return isinstance(known, Static) and known.value.isspace()


def _without_prefix(items: Items, base: int) -> Items:
    """Without a "0b" that all lanes have, behind a sign that some have."""
    prefix = _PREFIXES.get(base, "")
    at = 1 if items and isinstance(items[0], GuardedUnion) and isinstance(items[0].then, Static) else 0
    found = "".join(item.value for item in items[at:at + 2] if isinstance(item, Static))
    return [*items[:at], *items[at + 2:]] if prefix and found.lower() == prefix else items


def _check_known(s: Evaluator, items: Items, node: cst.CSTNode) -> None:
    """What int() takes beside digits, signs and letters is refused."""
    for one in [one.value for item in items for one in alternatives(item) if isinstance(one, Static)]:
        if one == "_" or one.isspace() or not one.isascii():
            raise s.refuse("flatten/unsupported-expression", f"int() of a string with {one!r} in it", node,
                           help="leave it out of the string")


def _digit(s: Evaluator, value: Abstract, base: int, node: cst.CSTNode) -> tuple[Value, Value]:
    """Whether a character is a digit of the base, and its value."""
    if isinstance(value, Char) and value.decimal:
        valid = const(True) if base >= 10 or value.binary else s.build.op("lt", value.number, const(base))
        return valid, value.number
    if isinstance(value, Static):
        known = int(value.value, 36) if value.value.isalnum() else base
        return const(known < base), const(known if known < base else 0)
    code = code_of(s, value)
    heap.suspect_if(s, s.build.op("or", s.build.op("lt", code, const(33)), s.build.op("ge", code, const(127))),
                    "int() of a character that may be a space or a digit of another script", node)
    heap.suspect_if(s, s.build.op("eq", code, const(ord("_"))), "int() of a string with _ in it", node)
    found: Value = const(False)
    size: Value = const(0)
    for first, last, start in (("0", "9", 0), ("a", "z", 10), ("A", "Z", 10)):
        most = min(ord(last), ord(first) + base - 1 - start)
        if most < ord(first):
            continue
        here = s.build.op("and", s.build.op("ge", code, const(ord(first))), s.build.op("le", code, const(most)))
        found = s.build.op("or", found, here)
        size = s.build.op("select", here, s.build.op("sub", code, const(ord(first) - start)), size)
    return found, size
