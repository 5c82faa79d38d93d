"""Makes a failing program small: statements are deleted, compound ones replaced by their parts, expressions by theirs.

Works on the syntax tree of the text, so that it needs no knowledge of how the program was drawn. A candidate is
kept when the check still gives a failure of the same stage.
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.generator.differential import Slow, check_program, loaded, time_limit
from tests.generator.lanes import Lane, lanes_for
from tests.generator.outcomes import Failure, observe
from tests.generator.program import Program

Check = Callable[[Program], Failure | None]


def shrink(program: Program, failure: Failure, *, numba: bool = False, checks: int = 2000) -> tuple[Program, Failure]:
    """A smaller program with a failure of the same stage, and that failure."""
    lanes = [failure.lane] if failure.lane is not None else lanes_for(program, 40)

    def fails(candidate: Program, rows: Sequence[Lane] = lanes) -> Failure | None:
        return _failure(candidate, rows, failure, numba)

    if fails(program) is None:
        lanes = lanes_for(program, 40)
        best = _failure(program, lanes, failure, numba) or failure
        return minimise(program, best, lambda p: _failure(p, lanes, failure, numba), checks)
    return minimise(program, failure, fails, checks)


def minimise(program: Program, failure: Failure, fails: Check, checks: int) -> tuple[Program, Failure]:
    """At most so many candidates are looked at."""
    improved = True
    while improved:
        improved = False
        for candidate in candidates(program.source):
            if len(candidate) >= len(program.source):
                continue
            if not checks:
                return program, failure
            checks -= 1
            smaller = replace(program, source=candidate)
            found = fails(smaller)
            if found is not None:
                program, failure, improved = smaller, found, True
                break
    return program, failure


def _failure(program: Program, lanes: Sequence[Lane], like: Failure, numba: bool) -> Failure | None:
    """A failure like the one that is being shrunk; candidates that do not run are no failures."""
    try:
        with time_limit(2.0), loaded(program.source) as fn:
            for lane in lanes:
                observe(fn, lane)
    except (Slow, SyntaxError, NameError, AttributeError, TypeError, ValueError, ArithmeticError):
        return None
    outcome = check_program(program, numba=numba, lanes=lanes, limit=20.0)
    same = (f for f in outcome.failures if (f.stage, f.what) == (like.stage, like.what))
    return next((f for f in same if f.expected[:7] == like.expected[:7]), None)


def candidates(source: str) -> Iterator[str]:
    """Smaller texts, the boldest changes first."""
    tree = ast.parse(source)
    for change in (_deletions, _unwrappings, _simplifications):
        yield from (text for text in change(tree) if _is_program(text))


def _is_program(text: str) -> bool:
    """A change can take a statement out of the block that it needs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            compile(text, "candidate", "exec")
    except (SyntaxError, SyntaxWarning):
        return False
    return True


def _lists(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def _deletions(tree: ast.Module) -> Iterator[str]:
    """Without one statement."""
    for block in _lists(tree):
        for i in range(len(block) - 1, -1, -1):
            removed = block[i]
            only = len(block) == 1
            is_else = only and not any(block is getattr(n, "body", None) for n in ast.walk(tree))
            if isinstance(removed, ast.Pass) and only:
                continue
            block[i : i + 1] = [ast.Pass()] if only and not is_else else []
            yield _text(tree)
            block[i : i + (1 if only and not is_else else 0)] = [removed]


def _unwrappings(tree: ast.Module) -> Iterator[str]:
    """A branch or loop replaced by one of its bodies."""
    for block in _lists(tree):
        for i, statement in enumerate(list(block)):
            if isinstance(statement, ast.If | ast.For | ast.While):
                for part in (statement.body, statement.orelse):
                    block[i : i + 1] = part
                    yield _text(tree)
                    block[i : i + len(part)] = [statement]


def _simplifications(tree: ast.Module) -> Iterator[str]:
    """An expression replaced by one of its parts, or by a number."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and isinstance(getattr(value, "ctx", ast.Load()), ast.Load):
                for smaller in _smaller(value):
                    setattr(parent, name, smaller)
                    yield _text(tree)
                setattr(parent, name, value)
            elif isinstance(value, list):
                yield from _simpler_items(tree, value)


def _simpler_items(tree: ast.Module, items: list[ast.AST]) -> Iterator[str]:
    for i, item in enumerate(items):
        if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load):
            for smaller in _smaller(item):
                items[i] = smaller
                yield _text(tree)
            items[i] = item


def _smaller(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.Constant | ast.Name):
        return
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield copy.deepcopy(child)
        elif isinstance(child, ast.keyword):
            yield copy.deepcopy(child.value)
    for number in (1, 0.5, True):
        yield ast.Constant(number)


def _text(tree: ast.Module) -> str:
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError):
        return "\n" * 10**6
