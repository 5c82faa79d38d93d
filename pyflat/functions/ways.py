"""Ways: every choice between pieces of code that compute the same values, by name.

Which of them runs is decided by costs, by a clock, by the number of lanes, by how often a twin was called, or by the
processor. One that is wrong would be met where that happens to choose it, and never on the machine of its author. So
every place that chooses asks a `Way` of this module, and tests force each of them, and each pair:

    with ways.forced(arms="branch", refill="refilled"):
        twin(xs)                                            made and called inside

A forced way runs wherever it is possible. PYFLAT_WAYS="arms=branch,refill=refilled" forces ways for a whole process.
`twin.stats.ways` says which have run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Noted = dict[str, set[str]]
"""For each way the values that were chosen."""

_noted: ContextVar[Noted | None] = ContextVar("pyflat_ways", default=None)


class Way:
    """A choice: its name, its values, what decides between them, and what they are."""

    __slots__ = ("about", "decided_by", "forced", "name", "values")

    def __init__(self, name: str, values: str, decided_by: str, about: str) -> None:
        self.name, self.values, self.decided_by, self.about = name, tuple(values.split("|")), decided_by, about
        self.forced: str | None = None
        """What is taken whatever else would decide."""

    def of(self, decided: str) -> str:
        """The value that is taken, where `decided` is what else would be."""
        value = self.forced or decided
        note(self.name, value)
        return value

    def first(self, decided: bool) -> bool:
        """`of` for two values: whether the first is taken."""
        return self.of(self.values[0] if decided else self.values[1]) == self.values[0]

    def __repr__(self) -> str:
        return f"<way {self.name}: {' | '.join(self.values)}>"


ARMS = Way("arms", "branch|select", "costs",
           "Skip an expensive branch if no element of a SIMD group takes it, or always compute it (numba).")
REFILL = Way("refill", "plain|refilled|turns", "a clock, in the kernel",
             "Elements that finish a loop early wait for their SIMD group, or are replaced by the next (numba).")
REGROUP = Way("regroup", "plain|waiting|turns", "a clock, in the kernel",
              "Elements that take an expensive branch run it, or wait until they fill a SIMD group (numba, 512 bits).")
FEW = Way("few", "few|many", "the number of elements",
          "A short call uses a smaller kernel, with one register and one way (numba).")
REGISTERS = Way("registers", "one|two|four", "costs", "Number of registers per SIMD group (numba).")
DOUBTS = Way("doubts", "later|at once", "the processor and the functions",
             "Results with a doubtful last digit are settled together, or at once (numba, 512 bits).")
FUNCTIONS = Way("functions", "called|inlined", "how often a function occurs",
                "Vector code of a function is called or inlined (numba).")
INTS = Way("ints", "narrowed|wide", "costs", "Ints that fit use 32 bits (numba).")
OPERANDS = Way("operands", "stored|converted", "costs",
               "A kernel reads arrays of other dtypes directly, or converts them block by block (numba).")
PACKED = Way("packed", "packed|operands", "how many there are",
             "Scalars are passed in one block, or one by one (numba).")
STORES = Way("stores", "parted|whole", "the addresses of the results",
             "A register that may cross a cache line is stored in parts, or whole (numba).")
SUSPECTS = Way("suspects", "stored|separate", "the size of the twin",
               "The elements that need the original are stored with the values, or found by a separate kernel (numba).")
DENSE = Way("dense", "direct|ufunc", "the number of calls",
            "Machine code handles dense arguments directly, or NumPy's ufunc does (numba).")
DIGITS = Way("digits", "verified|bounded|called", "the C library that is loaded",
             "Functions run as vector code equal to the library's, as vector code that tests its last digit, or as "
             "calls of the library.")
SELECTS = Way("selects", "few|bits|compiled", "the number of elements, and a clock",
              "Selects use np.putmask, bit operations, or compiled code (NumPy).")
BLOCKS = Way("blocks", "short|long", "the temporaries", "Elements computed at a time: 16, or many (NumPy).")
GATHERS = Way("gathers", "gathered|in place", "costs, and how many elements take a branch",
              "Elements of a branch or loop are gathered into shorter arrays, or all are computed (NumPy).")
LIBRARY = Way("library", "vector|plain", "the number of elements so far",
              "C library functions run as vector code, or one element at a time (NumPy).")
THREADS = Way("threads", "one|several", "the time that an element or a call takes",
              "Elements, or iterations of a kernel, are divided among threads.")
GAPS = Way("gaps", "twin|original", "the number of elements",
           "Rows with the same missing values run a twin made for them, or the original (pandas).")
CALLS = Way("calls", "plan|long", "the number of calls", "A call uses the fast path (its plan), or the slow path.")
ORIGIN = Way("origin", "flattened|disk", "the disk cache", "A twin is compiled now, or loaded from the disk cache.")
KERNEL_BODIES = Way("kernel bodies", "flat|in place", "costs",
                    "The body of a parallel loop runs as a flat function over its iterations, or in place.")
KERNEL_LANES = Way("kernel lanes", "lanes|in order", "analysis of the loops",
                   "Iterations of a kernel's loop run in vector registers, or in order (numba).")
KERNEL_SPLITS = Way("kernel splits", "split|whole", "analysis of the loops",
                    "Part of a sequential loop is computed beforehand, in vector registers (numba).")
KERNEL_FUSION = Way("kernel fusion", "fused|apart", "analysis of the loops",
                    "Consecutive loops of a kernel run as one (numba).")
KERNEL_BOUNDS = Way("kernel bounds", "before|each", "analysis of the indices",
                    "Indices are checked once before a loop nest, or at each use (numba).")
KERNEL_WATCH = Way("kernel watch", "quick|careful", "whether flags were raised",
                   "Warnings of a kernel come from the processor's flags, or from watching every operation (numba).")
KERNEL_RUNS = Way("kernel runs", "text|original", "a clock",
                  "A kernel with sequential loops runs as generated code, or as the original (NumPy).")

REGISTRY: Mapping[str, Way] = {way.name: way for way in tuple(globals().values()) if isinstance(way, Way)}
"""All ways, by name."""


def note(name: str, value: str) -> None:
    """Note a choice for whoever is making a twin."""
    if (noted := _noted.get()) is not None:
        noted.setdefault(name, set()).add(value)


@contextmanager
def noting() -> Iterator[Noted]:
    """What is chosen in a block."""
    noted: Noted = {}
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


@contextmanager
def forced(**choices: str) -> Iterator[None]:
    """Force ways, by their names with an underscore for a space, for what is made and called in a block by any thread.
    Twins that were made outside are not changed. ValueError for what is no way, or no value of it."""
    chosen = dict(_checked(choices.items()))
    before = {way: way.forced for way in chosen}
    try:
        for way, value in chosen.items():
            way.forced = value
        yield
    finally:
        for way, was in before.items():
            way.forced = was


def key() -> tuple[str, ...]:
    """What is forced: a part of the key of whatever is kept."""
    return tuple([f"{way.name}={way.forced}" for way in REGISTRY.values() if way.forced is not None])


def merged(several: Iterable[Noted]) -> dict[str, tuple[str, ...]]:
    """What was chosen in any of several, in the registry's order."""
    found: Noted = {}
    for noted in several:
        for name, values in noted.items():
            found.setdefault(name, set()).update(values)
    return {name: tuple(value for value in way.values if value in found[name])
            for name, way in REGISTRY.items() if name in found}


def _checked(choices: Iterable[tuple[str, str]]) -> Iterator[tuple[Way, str]]:
    for name, value in choices:
        way = REGISTRY.get(name.replace("_", " "))
        if way is None:
            raise ValueError(f"{name!r} is not a way; the ways are {', '.join(REGISTRY)}")
        if value not in way.values:
            raise ValueError(f"{way.name}={value!r}: expected one of {', '.join(map(repr, way.values))}")
        yield way, value


def _from_environment(text: str) -> None:
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    for way, value in _checked((name.strip(), value.strip()) for name, _, value in pairs):
        way.forced = value


_from_environment(os.environ.get("PYFLAT_WAYS", ""))
