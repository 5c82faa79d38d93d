"""Methods of texts whose characters are lanes: what is cut off, put in front, counted or looked for."""

from __future__ import annotations

import libcst as cst

from pyflat.frontend.space import characters, ragged, scalars, text_errors
from pyflat.frontend.space.characters import Items, code_of, items_of
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, lane, mapped
from pyflat.frontend.state.values import UNBOUND, Abstract, Arguments, Char, Chars, GuardedUnion, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import Value


def method(s: Evaluator, value: Abstract, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """A method of a text of lanes; Text for one that is not computed."""
    items = items_of(s, value) if characters.is_text(value) else None
    known = [one.value for one in arguments.positional if isinstance(one, Static)]
    if items is not None and not arguments.named:
        found = _of_any(s, value, items, name, arguments.positional, node)
        if found is None and len(known) == len(arguments.positional):
            found = _of_known(s, items, name, known)
        if found is not None:
            return found
    return text_errors.by_method(s, value, name, arguments, node)


def _of_any(s: Evaluator, value: Abstract, items: Items, name: str, given: list[Abstract], node: cst.CSTNode
            ) -> Abstract | None:
    match name, given:
        case "count", [wanted]:
            return characters.count(s, value, items, wanted, node)
        case "isdigit" | "isdecimal" | "isnumeric", []:
            return _are_digits(s, items, node)
        case "upper" | "lower", [] if not any(_is_beyond_ascii(item) for item in items):
            return Chars(tuple(mapped(item, lambda one: _in_case(s, one, name == "upper", node)) for item in items))
    return None


def _of_known(s: Evaluator, items: Items, name: str, given: list[object]) -> Abstract | None:
    """A method whose arguments are known; None for one that is not computed."""
    match name, given:
        case "zfill", [int() as width] if width <= characters.MAX_WIDTH:
            return _zeros_in_front(s, items, width)
        case "rjust" | "ljust", [int() as width, *fill] if width <= characters.MAX_WIDTH and _is_fill(fill):
            filled = characters.filling(s, str([*fill, " "][0]), _missing(s, items, width), max(width, 0))
            return Chars((*filled, *items) if name == "rjust" else (*items, *filled))
        case "strip" | "lstrip" | "rstrip", [str() as taken]:
            return _stripped(s, items, name, taken)
        case "startswith", [str() as wanted]:
            return _has_in_front(s, items, wanted)
        case "endswith", [str() as wanted]:
            return _has_in_front(s, items[::-1], wanted[::-1])
        case "removeprefix", [str() as wanted] if wanted:
            return _without_prefix(s, items, wanted)
        case "find" | "index", [str() as wanted] if len(wanted) == 1:
            return _found(s, items, wanted, name)
        case "replace", [str() as old, str() as new] if old:
            return _replaced(s, items, old, new)
    return None


def _is_fill(given: list[object]) -> bool:
    return not given or len(given) == 1 and isinstance(given[0], str) and len(given[0]) == 1


def _missing(s: Evaluator, items: Items, width: int) -> Abstract:
    return scalars.binary(s, "sub", Static(width), ragged.length(s, items))


def _zeros_in_front(s: Evaluator, items: Items, width: int) -> Abstract:
    """Zeros behind the sign, if there is one."""
    zeros = characters.filling(s, "0", _missing(s, items, width), width)
    signs: list[Abstract] = []
    rest: list[Abstract] = []
    before: Value = const(False)
    for item in items:
        present, value = ragged.split_gap(s, item)
        sign = _is_any(s, value, "+-")
        if sign is None:
            rest.append(item)
        else:
            here = s.build.op("and", lane(present), s.build.op("and", sign, s.build.op("not", before)))
            signs.append(GuardedUnion(here, value, UNBOUND))
            rest.append(GuardedUnion(s.build.op("and", lane(present), s.build.op("not", here)), value, UNBOUND))
        before = s.build.op("or", before, lane(present))
        if isinstance(present, Static):
            return Chars((*signs, *zeros, *rest, *items[len(rest):]))
    return Chars((*signs, *zeros, *rest))


def _is_any(s: Evaluator, value: Abstract, wanted: str) -> Value | None:
    """Whether it is one of these characters; None where it never is."""
    if isinstance(value, Static):
        return const(True) if value.value in wanted else None
    if isinstance(value, Char) and value.decimal:
        digits = [int(each) for each in wanted if each in "0123456789"]
        tests = [s.build.op("eq", value.number, const(each)) for each in digits]
        return characters.any_of(s, tests) if tests else None
    code = code_of(s, value)
    return characters.any_of(s, [s.build.op("eq", code, const(ord(each))) for each in wanted])


def _are_digits(s: Evaluator, items: Items, node: cst.CSTNode) -> Abstract:
    """One character at least, and all are digits."""
    wrong: Value = const(False)
    for item in items:
        present, value = ragged.split_gap(s, item)
        if isinstance(value, Char) and not value.decimal:
            beyond = s.build.op("gt", code_of(s, value), const(127))
            heap.suspect_if(s, beyond, "a character that may be a digit of another script", node)
        wrong = s.build.op("or", wrong, s.build.op("and", lane(present),
                                                   s.build.op("not", characters.is_digit(s, value))))
    return s.build.op("and", lane(ragged.is_filled(s, items)), s.build.op("not", wrong))


def _stripped(s: Evaluator, items: Items, name: str, taken: str) -> Abstract:
    if name != "rstrip":
        items = _without_first(s, items, taken)
    if name != "lstrip":
        items = _without_first(s, items[::-1], taken)[::-1]
    return Chars(tuple(items))


def _without_first(s: Evaluator, items: Items, taken: str) -> Items:
    kept: list[Abstract] = []
    inside: Value = const(False)
    for item in items:
        present, value = ragged.split_gap(s, item)
        some = _is_any(s, value, taken)
        other = lane(present) if some is None else s.build.op("and", lane(present), s.build.op("not", some))
        inside = s.build.op("or", inside, other)
        kept.append(GuardedUnion(s.build.op("and", lane(present), inside), value, UNBOUND))
    return kept


def _is_beyond_ascii(item: Abstract) -> bool:
    """Whether it may be a known character that is no ASCII: "ß" becomes two."""
    known = [one.value for one in alternatives(item) if isinstance(one, Static)]
    return any(type(value) is str and not value.isascii() for value in known)


def _in_case(s: Evaluator, item: Abstract, upper: bool, node: cst.CSTNode) -> Abstract:
    if isinstance(item, Static):
        return Static(item.value.upper() if upper else item.value.lower())
    if not isinstance(item, Char) or item.decimal:
        return item
    heap.suspect_if(s, s.build.op("gt", item.number, const(127)), "a non-ASCII letter", node)
    first, last = ("a", "z") if upper else ("A", "Z")
    letter = s.build.op("and", s.build.op("ge", item.number, const(ord(first))),
                        s.build.op("le", item.number, const(ord(last))))
    other = s.build.op("add", item.number, const(-32 if upper else 32))
    return Char(s.build.op("select", letter, other, item.number), False)


def _has_in_front(s: Evaluator, items: Items, wanted: str) -> Abstract:
    """Whether the first characters are these."""
    rank: Abstract = Static(0)
    found: list[Value] = [const(False)] * len(wanted)
    for item in items:
        present, value = ragged.split_gap(s, item)
        for k, each in enumerate(wanted):
            same = _is_any(s, value, each)
            if same is not None and not (isinstance(rank, Static) and rank.value != k):
                here = s.build.op("and", lane(present), s.build.op("eq", lane(rank), const(k)))
                found[k] = s.build.op("or", found[k], s.build.op("and", here, same))
        if isinstance(rank, Static) and rank.value >= len(wanted):
            break
        rank = scalars.binary(s, "add", rank, present)
    return characters.all_of(s, found)


def _without_prefix(s: Evaluator, items: Items, prefix: str) -> Abstract:
    there = s.space.truth(_has_in_front(s, items, prefix))
    rank: Abstract = Static(0)
    kept: list[Abstract] = []
    for item in items:
        present, value = ragged.split_gap(s, item)
        cut = s.build.op("and", lane(there), s.build.op("lt", lane(rank), const(len(prefix))))
        kept.append(GuardedUnion(s.build.op("and", lane(present), s.build.op("not", cut)), value, UNBOUND))
        rank = scalars.binary(s, "add", rank, present)
    return Chars(tuple(kept))


def _found(s: Evaluator, items: Items, wanted: str, name: str) -> Abstract:
    """The place of the first such character."""
    rank: Abstract = Static(0)
    place: Value = const(-1)
    there: Value = const(False)
    for item in items:
        present, value = ragged.split_gap(s, item)
        same = _is_any(s, value, wanted)
        if same is not None:
            here = s.build.op("and", s.build.op("and", lane(present), same), s.build.op("not", there))
            place = s.build.op("select", here, lane(rank), place)
            there = s.build.op("or", there, here)
        rank = scalars.binary(s, "add", rank, present)
    if name == "index":
        heap.raise_if(s, s.build.op("not", there), ValueError)
    return place


def _replaced(s: Evaluator, items: Items, old: str, new: str) -> Abstract | None:
    if len(old) > 1:
        return _known_replaced(s, items, old, new)
    made: list[Abstract] = []
    for item in items:
        present, value = ragged.split_gap(s, item)
        same = _is_any(s, value, old)
        if same is None:
            made.append(item)
            continue
        here = s.build.op("and", lane(present), same)
        made += [GuardedUnion(here, Static(each), UNBOUND) for each in new]
        made.append(GuardedUnion(s.build.op("and", lane(present), s.build.op("not", same)), value, UNBOUND))
    return Chars(tuple(made))


def _known_replaced(s: Evaluator, items: Items, old: str, new: str) -> Abstract | None:
    """Where characters of `old` are known to be, with all that lies beside them, or nowhere: "0b" in bin(n)."""
    rare = next((k for k, each in enumerate(old) if each not in "0123456789"), None)
    if rare is None or any(isinstance(item, GuardedUnion) and _may_be(item, old[rare]) for item in items):
        return None
    made: list[Abstract] = []
    at = 0
    for k, item in enumerate(items):
        if not _may_be(item, old[rare]):
            continue
        around = items[max(k - rare, 0):k - rare + len(old)]
        if not all(isinstance(each, Static) for each in around):
            return None
        if k - rare >= at and "".join(each.value for each in around if isinstance(each, Static)) == old:
            made += [*items[at:k - rare], *map(Static, new)]
            at = k - rare + len(old)
    return Chars((*made, *items[at:]))


def _may_be(item: Abstract, wanted: str) -> bool:
    return any(one is not UNBOUND and not (isinstance(one, Char) and one.decimal) and
               not (isinstance(one, Static) and one.value != wanted) for one in alternatives(item))
