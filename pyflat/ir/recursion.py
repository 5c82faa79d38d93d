"""Room to recurse while a function is flattened, printed and compiled, and the refusal where the room ends.

Flattening recurses over the nesting of expressions, blocks and calls, and a sum of 1,000 terms is a tree that is 1,000
deep. Seven frames or fewer are needed for each level, and Python's own limit of 1,000 frames is for functions, not for
compilers. What nests deeper than `LIMIT` allows is `flatten/too-large`.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import ParamSpec, TypeVar

from pyflat.errors import FlattenError, Span, refuse
from pyflat.functions.locks import brief

P = ParamSpec("P")
R = TypeVar("R")

LIMIT = 9_000
"""Frames. Functions of the user run while flattening too: an endless recursion through C, as `__getattr__` makes, needs
some 700 bytes of the C stack for each frame, and Linux gives 8 MiB."""

WHY = "flattening recurses over the nesting of expressions, branches and calls"
HELP = "split the function, or turn the chain into a loop or a table"

_room = {"users": 0, "limit": 0}


class _Mine(threading.local):
    inside = False


_mine = _Mine()


@contextmanager
def room_to_recurse(about: object) -> Iterator[None]:
    """The limit is raised for all threads while one is flattening; it is the process's. Raises FlattenError
    `flatten/too-large` about `about` (a function, or what has a name) where the room is used up, or adds its place
    to one without; the outermost room of a thread does."""
    if _mine.inside:
        yield
        return
    _enter()
    _mine.inside = True
    try:
        yield
    except FlattenError as error:
        if error.code != "flatten/too-large" or error.diagnostic.span is not None:
            raise
        raise FlattenError(replace(error.diagnostic, span=_place(about))) from None
    except RecursionError:
        raise too_deep(f"{_name(about)} nests too deeply", _place(about)) from None
    finally:
        _mine.inside = False
        _leave()


def with_room(work: Callable[P, R]) -> Callable[P, R]:
    """A decorator that makes room to recurse for `work`; errors refer to its first argument."""

    @functools.wraps(work)
    def roomy(*args: P.args, **kwargs: P.kwargs) -> R:
        with room_to_recurse(args[0]):
            return work(*args, **kwargs)

    return roomy


def too_deep(message: str, span: Span | None) -> FlattenError:
    return refuse("flatten/too-large", message, span, why=WHY, help=HELP)


def _name(about: object) -> str:
    return str(getattr(about, "__name__", None) or getattr(about, "name", None) or "the function")


def _place(about: object) -> Span | None:
    code = getattr(about, "__code__", None)
    if code is None:
        return None
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)


def _enter() -> None:
    with brief:
        if _room["users"] == 0:
            _room["limit"] = sys.getrecursionlimit()
            sys.setrecursionlimit(max(LIMIT, _room["limit"]))
        _room["users"] += 1


def _leave() -> None:
    with brief:
        _room["users"] -= 1
        if _room["users"] == 0:
            sys.setrecursionlimit(_room["limit"])


def _forget_others() -> None:
    """In a forked process there is one thread."""
    if _room["users"]:
        _room["users"] = 1
        if not _mine.inside:
            _leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_others)


# --- python's cyclic garbage collector while a function is flattened, and its kernel written
#
# Flattening makes objects that live to its end, hundreds for each operation. A full collection looks at all of them and
# finds nothing; one comes whenever their number has grown by a quarter, and together they were 45 % of the time of a
# program with 100,000 operations, 25 % of one with 10,000. The collections of what is young stay as they are: they cost
# 2 %, and free what functions of the user leave behind that are called while flattening.

NEVER = 1 << 30
"""Collections of the middle generation before a full one. (Python 3.14 has no full ones, and ignores it.)"""


@contextmanager
def no_full_collections() -> Iterator[None]:
    """For all threads: the threshold is the process's. Whoever sets another one meanwhile has it kept."""
    *_, before = gc.get_threshold()
    try:
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, NEVER)
        yield
    finally:
        young, middle, now = gc.get_threshold()
        if now == NEVER:
            gc.set_threshold(young, middle, before)
