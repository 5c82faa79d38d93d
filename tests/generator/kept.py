"""A random program through the cache of twins: made and kept, then in the next process, as far as one process can be two.

The program is loaded a second time: its functions and classes are other objects, and nothing is known of them but what
is on disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import re
import tempfile
from collections.abc import Iterator
from random import Random
from unittest import mock

from pyflat.runtime import compiled
from pyflat.targets.numba import disk_cache
from tests.generator import differential
from tests.generator.outcomes import Failure, Outcome
from tests.generator.program import Program


@contextlib.contextmanager
def own_cache() -> Iterator[None]:
    """A cache of twins that begins empty; flattening is not checked, else there is none."""
    with tempfile.TemporaryDirectory(prefix="pyflat-kept-") as folder:
        there = {"PYFLAT_CACHE_DIR": folder, "PYFLAT_CACHE": "1", "PYFLAT_VALIDATE": "0"}
        opened = functools.cache(disk_cache._opened_at.__wrapped__)  # the user's stays as it was found
        with mock.patch.dict(os.environ, there), mock.patch.object(disk_cache, "_opened_at", opened):
            yield


@contextlib.contextmanager
def built() -> Iterator[list[str]]:
    """The reasons why twins are not kept that are made from now on; "" for one that is."""
    reasons: list[str] = []
    make = compiled._kept_or_built

    def noted(*given: object) -> object:
        with mock.patch.object(compiled, "_build", side_effect=compiled._build) as builds:
            made = make(*given)  # type: ignore[arg-type]
        if builds.called:
            reasons.append(made.not_kept)
        return made

    with mock.patch.object(compiled, "_kept_or_built", noted):
        yield reasons


def check_kept(program: Program, *, numba: bool = False, count: int = 40) -> Outcome:
    """What goes wrong in the first run; in the second, in which nothing is made again; or in a third one with another
    number somewhere in the program, of which much is on disk that must not be taken."""
    with own_cache(), mock.patch.object(differential, "_numbers", itertools.repeat(0)):
        first = differential.check_program(program, numba=numba, count=count, stages=False)
        if first.failures or first.refusal:
            return first
        with built() as reasons:
            second = differential.check_program(program, numba=numba, count=count, stages=False)
        second.failures += [Failure("kept", "the twin was made again")] if "" in reasons else []
        if second.failures:
            return second
        third = differential.check_program(with_another_number(program), numba=numba, count=count, stages=False)
    return third if third.failures else second


def with_another_number(program: Program) -> Program:
    """The program with one of its numbers replaced."""
    places = [match.span() for match in re.finditer(r"(?<![\w.])\d+(\.\d+)?(?![\w.])", program.source)]
    rng = Random(program.seed)
    start, end = rng.choice(places)
    number = program.source[start:end]
    other = rng.choice(["0.75", "-0.0", "2.0"]) if "." in number else rng.choice(["1", "2", "3"])
    return dataclasses.replace(program, source=program.source[:start] + other + program.source[end:])
