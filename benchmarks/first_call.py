"""First calls of large functions: programs that are large by themselves (`benchmarks.large`), and those of a corpus.

    python -m benchmarks.first_call [--names ifs,table,bs] [--corpus PATH [--only REGEX] [--slowest N]] [--docs]

Names are those of large programs, and of kernels (`benchmarks.kernels`). `--slowest` takes those entries of the corpus
whose first call takes longest, of all; `--docs` writes docs/contributors/first-calls.md.

Each in a process of its own, without a cache and after a small twin has been made: processor seconds of the first call
on numba, in its parts, and on NumPy; of numba.njit of the same function in the same process; the memory that the
process took; and the first call of a second process that finds the first one's cache.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import pyflat
from benchmarks import corpus_roundtrip, large
from benchmarks.environment import ONE_THREAD, ROOT
from benchmarks.kernels import KERNELS
from benchmarks.report import markdown

PARTS = ("flatten", "passes", "write", "translate")
SECONDS = 40
COLUMNS = ("numba", *PARTS, "numpy", "njit")
PAGE = ROOT / "docs" / "contributors" / "first-calls.md"
PROCESSES = """
## Whole processes

Processor seconds from the start of Python to its end, by `python -m benchmarks.startup --processes`: of a script that
decorates one function and calls it once, with bytecode as pip compiles it, with an empty cache (cold) and with what an
earlier process has kept (warm), beside `numba.vectorize(cache=True)` of the same function. The twins are of README's
`shade`, the kernel is a mean of three neighbours; kernels are not kept for the next process. `import numpy` is part of
all lines but the last.

"""

HEAD = """\
# First calls

Processor seconds of first calls, by `make first-calls CORPUS=path/to/corpus`: of numba twins and their parts (passes
are a part of flattening), of NumPy twins, of numba.njit of the same function, and its helpers, in the same process, and
of a second process, which finds what the first one has kept. All after a small twin has been made, so without imports;
a line without a figure of njit is of a function that it does not compile, or not within {seconds} s. Programs that are
large by themselves come first, then kernels, then the functions of an open corpus whose first calls take longest.

`unroll` asks for `loops="unroll"`; `kept` is the same function without, as a twin is by default.

What holds: every line but `unroll` is below numba.njit's, where that has one, the largest function of the corpus
takes 4.1 s (goal 5), second processes at most 0.09 s, and the kernels, functions of 50 operations and more, at most
0.15 s: calls with up to two registers of lanes (16 of float64 with AVX-512; here there are 8) get machine code of one
register, a quarter of the code that more lanes get, or less
([design](design/targets-numba.md#few-lanes-get-a-kernel-of-their-own)); the first call with more lanes compiles
that, 0.22 s for `bs`. What misses: `unroll`, a loop of 4,096 trips that was asked to be straight-line code, takes
five times as long as njit, which keeps the loop, as `kept` does here; its flattening alone is twice that time. It is
not kept in spite of what was asked: of a loop that adds a table's items the straight-line code takes 24 ms where the
loop takes 63 (20,000 lanes). The table of a million entries takes 0.03 s more than one of 200 entries (goal 0.01 for
all): looking at each entry's type and number is most of that (13 to 26 ns an entry, by `marshal`).
"""


def _spent(parts: dict[str, float], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **options: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **options)
        finally:
            parts[name] += time.process_time() - start

    return timed


@contextmanager
def measured_parts() -> Iterator[dict[str, float]]:
    """Seconds of each part of the first calls made inside; the passes are a part of flattening."""
    from pyflat.passes import pipelines
    from pyflat.runtime import compiled
    from pyflat.targets.numba import compilation, jit

    parts = dict.fromkeys(PARTS, 0.0)
    owners = ((compiled, "flatten"), (pipelines, "run"), (compilation, "write_kernel"), (jit, "_translated"))
    places = zip(PARTS, owners, strict=True)
    patches = [mock.patch.object(owner, name, _spent(parts, part, getattr(owner, name)))
               for part, (owner, name) in places]
    for patch in patches:
        patch.start()
    try:
        yield parts
    finally:
        for patch in patches:
            patch.stop()


Case = tuple[Callable[..., Any], Mapping[str, Any], Callable[[Any], object], Callable[[Any], object]]
"""A function, the options of its twin, and what calls a twin, and a scalar function."""


def _case(name: str, folder: Path, corpus: str) -> Case:
    if name in KERNELS:
        lanes = KERNELS[name].lanes(large.LANES)
        scalars = [column[0].item() for column in lanes]
        return KERNELS[name].function, {}, lambda twin: twin(*lanes), lambda fn: fn(*scalars)
    if name in large.LARGE:
        case = large.LARGE[name]
        return (large.function(name, folder), case.options, lambda twin: twin(*case.arguments()),
                lambda fn: fn(*case.scalars))
    harness = corpus_roundtrip.harness(Path(corpus))
    _, entries = harness.load_corpus([Path(corpus) / "corpus.toml"])
    (entry,) = [each for each in entries if each.id == name]
    harness.prepare(entry.pk)
    static = {key: harness.value(value) for key, value in entry.static.items()}
    kinds = {key: harness.spec_type(harness.spec_parse(spec)) for key, spec in entry.args.items()}
    fn = harness.resolve(entry)
    scalars = {key: _of_kind(kind, lambda zero: zero) for key, kind in kinds.items()}
    lanes = {key: _of_kind(kind, lambda zero: np.full(large.LANES, zero)) for key, kind in kinds.items()}
    return fn, {"static": tuple(static)}, lambda twin: twin(**lanes, **static), lambda it: it(**scalars, **static)


def _of_kind(kind: Any, make: Callable[[Any], Any]) -> Any:
    return tuple(_of_kind(each, make) for each in kind) if isinstance(kind, tuple) else make(kind(0))


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _njit_seconds(name: str, call: Callable[[], object]) -> float | None:
    """None, with the reason on stderr, where numba does not compile the function, or the function raises."""
    try:
        return _seconds(call)
    except Exception as error:  # noqa: BLE001 - a contender's, and what the user's function raises
        reason = next(iter(str(error).splitlines()), "")
        print(f"{name}: numba.njit: {type(error).__name__}: {reason}", file=sys.stderr)
        return None


def measure(name: str, corpus: str, again: bool) -> dict[str, Any]:
    """In this process; `again`: only the first call on numba, from the cache."""
    from benchmarks.startup import warm

    warm()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fn, options, call, call_scalar = _case(name, Path(folder), corpus)
        with measured_parts() as parts:
            twin = pyflat.twin(fn, target="numba", math="exact", errors="mask", **options)
            found["numba"] = _seconds(lambda: call(twin))
        found |= parts
        if not again:
            twin = pyflat.twin(fn, math="exact", errors="mask", **options)
            found["numpy"] = _seconds(lambda: call(twin))
            found["MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(json.dumps(found), flush=True)  # numba may take longer than is waited for
            from benchmarks.contenders.originals import compiled

            found["njit"] = _njit_seconds(name, lambda: call_scalar(compiled(fn)))
    return found


def _in_process(name: str, corpus: str, cache: str, again: bool) -> dict[str, Any]:
    disk = {"PYFLAT_CACHE_DIR": cache} if cache else {"PYFLAT_CACHE": "0"}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYFLAT_")}
    command = [sys.executable, "-m", "benchmarks.first_call", "--one", name, "--corpus", corpus]
    try:
        said = subprocess.run(
            [*command, *(["--again"] if again else [])], cwd=ROOT, env=kept | ONE_THREAD | disk, stdout=subprocess.PIPE,
            check=False, timeout=SECONDS).stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout
    lines = (said or b"").splitlines()
    result: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return result


def slowest(corpus: str, count: int, ids: list[str]) -> list[str]:
    """The entries whose first calls on numba take longest, made one after the other in this process."""
    seconds = {}
    for name in ids:
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            try:
                fn, options, call, _ = _case(name, Path(folder), corpus)
                twin = pyflat.twin(fn, target="numba", errors="mask", **options)
                seconds[name] = _seconds(lambda call=call, twin=twin: call(twin))  # type: ignore[misc]
            except (pyflat.FlattenError, TypeError, ValueError):
                continue
    return sorted(seconds, key=lambda name: -seconds[name])[:count]


def row(name: str, corpus: str) -> list[str]:
    first = _in_process(name, corpus, "", False)
    with tempfile.TemporaryDirectory(prefix="pyflat-benchmark-") as cache:
        _in_process(name, corpus, cache, True)
        second = _in_process(name, corpus, cache, True)
    columns = [*[first.get(key) for key in COLUMNS], second.get("numba")]
    return [name, *["-" if seconds is None else f"{seconds:.3f}" for seconds in columns], str(first.get("MiB", "-"))]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", default=",".join([*large.LARGE, *KERNELS]))
    parser.add_argument("--corpus", default="", help="the directory with run_corpus.py and corpus.toml")
    parser.add_argument("--only", default="", help="the entries of the corpus whose ids contain this")
    parser.add_argument("--slowest", type=int, default=0, help="so many of these, whose first call takes longest")
    parser.add_argument("--docs", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.one:
        print(json.dumps(measure(given.one, given.corpus, given.again)))
        return
    names = given.names.split(",")
    if given.corpus:
        _, entries = corpus_roundtrip.harness(Path(given.corpus)).load_corpus([Path(given.corpus) / "corpus.toml"])
        ids = [entry.id for entry in entries if re.search(given.only, entry.id)]
        names += slowest(given.corpus, given.slowest, ids) if given.slowest else ids
    rows = [["", *COLUMNS, "second", "MiB"]]
    for name in names:
        rows.append(row(name, given.corpus))
        print(f"{rows[-1][0]:48} {' '.join(f'{text:>9}' for text in rows[-1][1:])}", flush=True)
    if given.docs:
        from benchmarks.startup import process_rows, processes

        text = f"{HEAD.format(seconds=SECONDS)}\n{markdown(rows)}\n{PROCESSES}{markdown(process_rows(processes()))}\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
