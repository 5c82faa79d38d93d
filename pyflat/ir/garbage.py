"""Python's cyclic garbage collector while a function is flattened, and its kernel written.

Flattening makes objects that live to its end, hundreds for each operation. A full collection looks at all of them and
finds nothing; one comes whenever their number has grown by a quarter, and together they were 45 % of the time of a
program with 100,000 operations, 25 % of one with 10,000. The collections of what is young stay as they are: they cost
2 %, and free what functions of the user leave behind that are called while flattening.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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
