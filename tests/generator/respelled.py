"""The same program in another spelling: as few spaces as Python takes, brackets around any expression, tabs, several
statements on a line, backslashes, form feeds, comments where they may stand, identifiers that are not in their normal
form, line ends of Windows. Whatever is tried and does not give the same syntax tree is left out."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Callable
from itertools import pairwise
from random import Random

_LIGATURES = {"fi": "ﬁ", "ff": "ﬀ", "st": "ﬆ", "x": "ｘ", "a": "ａ", "n": "ｎ", "e": "ℯ", "t": "ｔ", "s": "ｓ", "r": "ｒ"}


def respelled(source: str, rng: Random) -> str:
    for change in (bracketed, squeezed, joined, continued, ligatured, fed, tabbed):
        if rng.random() < 0.8:
            source = _if_same(source, change(source, rng))
    return source.replace("\n", "\r\n") if rng.random() < 0.2 else source


def _tree(source: str) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.dump(ast.parse(source))
        except SyntaxError:
            return None


def _if_same(source: str, other: str) -> str:
    return other if _tree(other) == _tree(source) else source


def bracketed(source: str, rng: Random) -> str:
    """Brackets around some expressions."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    places: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Slice | ast.Starred | ast.JoinedStr | ast.FormattedValue
                                                         ) and rng.random() < 0.3:
            assert node.end_lineno is not None and node.end_col_offset is not None
            places.append((starts[node.lineno - 1] + node.col_offset, "("))
            places.append((starts[node.end_lineno - 1] + node.end_col_offset, ")"))
    return _by_statement(source, places)


def _by_statement(source: str, places: list[tuple[int, str]]) -> str:
    """The insertions of each line that leave the tree as it is."""
    if not source.isascii():
        return source
    want, made = _tree(source), source
    ends = sorted({source.find("\n", place) for place, _ in places}, reverse=True)
    for end in ends:
        start = source.rfind("\n", 0, end) + 1
        text = source[start:end]
        inside = sorted((p for p in places if start <= p[0] <= end), key=lambda p: (p[0], p[1] == "("), reverse=True)
        for place, bracket in inside:
            text = text[:place - start] + bracket + text[place - start:]
        other = made[:start] + text + made[end:]
        made = other if _tree(other) == want else made
    return made


def squeezed(source: str, rng: Random) -> str:
    """Without the spaces between tokens that need none."""
    return _between_tokens(source, lambda a, b: "" if _part(a, b) else None)


def continued(source: str, rng: Random) -> str:
    """Some spaces as backslashes at line ends."""
    return _between_tokens(source, lambda a, b: " \\\n\t " if rng.random() < 0.03 and a.string != ":" else None)


def _part(a: tokenize.TokenInfo, b: tokenize.TokenInfo) -> bool:
    """Whether two tokens stay two without a space."""
    word = re.compile(r"[\w.]")
    return not (word.match(a.string[-1:]) and (word.match(b.string[:1]) or b.string[:1] in "'\""))


def _between_tokens(source: str, gap: Callable[[tokenize.TokenInfo, tokenize.TokenInfo], str | None]) -> str:
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for a, b in reversed(list(pairwise(tokens))):
        row, left, right = a.end[0], a.end[1], b.start[1]
        if b.start[0] != row or left == right or tokenize.INDENT in (a.type, b.type) or b.type == tokenize.COMMENT:
            continue
        text = gap(a, b)
        if text is not None and a.type not in (tokenize.DEDENT, tokenize.NEWLINE, tokenize.NL):
            lines[row - 1] = lines[row - 1][:left] + text + lines[row - 1][right:]
    return "".join(lines)


def joined(source: str, rng: Random) -> str:
    """Some statements behind the one before, after a semicolon."""
    want, lines = _tree(source), source.split("\n")
    for k in range(len(lines) - 1, 0, -1):
        if rng.random() < 0.3:
            other = [*lines[:k - 1], f"{lines[k - 1]};{lines[k].lstrip()}", *lines[k + 1:]]
            lines = other if _tree("\n".join(other)) == want else lines
    return "\n".join(lines)


def ligatured(source: str, rng: Random) -> str:
    """Some identifiers with letters that Python replaces by others."""
    def change(match: re.Match[str]) -> str:
        word = match.group()
        for plain, other in _LIGATURES.items():
            if plain in word[1:] and rng.random() < 0.3:
                return word[0] + word[1:].replace(plain, other, 1)
        return word

    lines = source.split("\n")
    want = _tree(source)
    for k, line in enumerate(lines):
        if rng.random() < 0.5:
            other = [*lines[:k], re.sub(r"[^\W\d]\w+", change, line), *lines[k + 1:]]
            lines = other if _tree("\n".join(other)) == want else lines
    return "\n".join(lines)


def fed(source: str, rng: Random) -> str:
    """Form feeds and comments at the start of lines, comments behind them."""
    want, lines = _tree(source), source.split("\n")
    for k, line in enumerate(lines):
        if rng.random() < 0.2:
            new = rng.choice((f"\f{line}", f"  \f{line}", f"# left\n{line}", f"{' ' * rng.randint(0, 9)}#\f far\n{line}",
                              f"{line}#at the end", f"\n\n{line}", f"{line} \f"))
            other = [*lines[:k], new, *lines[k + 1:]]
            lines = other if _tree("\n".join(other)) == want else lines
    return "\n".join(lines)


def tabbed(source: str, rng: Random) -> str:
    """Tabs for indentation."""
    return re.sub(r"^(?: {4})+", lambda m: "\t" * (len(m.group()) // 4), source, flags=re.MULTILINE)
