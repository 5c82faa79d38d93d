"""The index loops over arrays in installed packages that use numba, and arguments for them by search.

    python -m benchmarks.real_search [--packages librosa,umap-learn]     writes benchmarks/real_kernels.json

A candidate is a function under numba's decorators that subscripts a parameter inside a loop. For each parameter there
is a list of specs, the likelier first, as the function's text and numba's signatures hint; sets of them are tried in a
seeded order. One counts when the plain function returns, runs more lines for larger arrays, and numba.njit compiles it
and gives equal results up to rounding. The size is then doubled until njit takes 0.2 ms. The candidates of a package
are shuffled and searched until `PER_PACKAGE` have arguments.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import math
import multiprocessing
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.real_arguments import Specs, copied, made, vocabularies
from benchmarks.uncompiled import parameters, parsed, plain, uncompiled
from tests.generator.differential import Slow, time_limit

DRAWS = {
    20261128: (
        "quantecon", "numbagg", "librosa", "pyts", "tslearn", "stumpy", "umap-learn", "pynndescent", "aeon", "sktime",
        "arch", "econ-ark", "interpolation", "esda", "libpysal", "sparse", "cooltools", "vectorbt", "lenstronomy",
        "empymod", "verde", "pysheds", "pyflwdir", "xarray-spatial", "numba-stats", "resampy", "kikuchipy", "orix",
        "hyperspy", "quaternionic", "spherical", "xugrid", "numba-celltree", "hapsira", "datashader", "spatialpandas",
        "antropy", "scores", "diffsims", "rosettasciio", "numpy-quaternion",
    ),
    20261129: (
        "fastdist", "numpy-groupies", "skglm", "disba", "momepy", "mapclassify", "thewalrus", "clifford", "fbpic",
        "skan", "sketchnu", "csr", "ssqueezepy", "numbacs", "regridding", "alphatims", "pastas", "bm25s", "ipie",
        "directlfq", "ffpiv", "abtem", "spikeinterface", "dolo", "algotom", "ranx", "pygbm", "fast-hdbscan", "tsdate",
        "sgkit", "financepy", "pymatting",
    ),
}
"""Packages by the seed they are drawn with. Nobody looks at the functions of the last draw while pyflat is changed."""
SEEDS = {package: seed for seed, packages in DRAWS.items() for package in packages}
PER_PACKAGE = 8
TESTS = re.compile(r"tests?\b|test_|_?tests|conftest|benchmarks?|\.\.")
DATA = Path(__file__).with_suffix("").with_name("real_kernels.json")
SMALL, LEAST = 7, 2e-4
"""Elements along a dimension to search with; seconds that njit takes on the arguments to measure with."""
PYTHON = 1.2
"""Seconds that the plain function may take on the arguments to measure with."""
ATTEMPTS, SECONDS, COMPILED = 120, 6.0, 3
"""Sets of specs for a function, seconds for these, and how many of them njit compiles at most."""


@dataclass(frozen=True)
class Found:
    """A function with arguments."""

    package: str
    version: str
    module: str
    attribute: str
    specs: Specs
    size: int

    @property
    def name(self) -> str:
        return f"{self.module} {self.attribute}"

    @property
    def draw(self) -> str:
        return "fresh" if SEEDS.get(self.package) == max(DRAWS) else "seen"

    def arguments(self, size: int, seed: int = 0) -> tuple[Any, ...]:
        return arguments(self.specs, size, seed)


# --- candidates


def modules(package: str) -> Iterator[str]:
    """Of a distribution, those whose text mentions numba's decorators, without tests."""
    for path in sorted(importlib.metadata.files(package) or (), key=str):
        if path.suffix != ".py" or any(TESTS.match(part) for part in path.parts):
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if re.search(r"\bnumba\b|jit", path.locate().read_text(encoding="utf-8")):
                yield ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def candidates(package: str) -> list[tuple[str, str, str]]:
    """Module, attribute, and a hash of the text, in an order of chance."""
    found, texts = [], set()
    for name in modules(package):
        try:
            with time_limit(60):
                module = importlib.import_module(name)
        except (Slow, Exception, SystemExit):  # noqa: BLE001 - modules of others raise anything
            continue
        for attribute, value in sorted(vars(module).items()):
            function = uncompiled(value)
            if function is None or function.__module__ != name or (tree := parsed(function)) is None:
                continue
            text = ast.dump(ast.Module(tree.body, []))
            if text not in texts and subscripts_in_loop(tree):
                texts.add(text)
                found.append((name, attribute, hashlib.sha256(text.encode()).hexdigest()))
    Random(f"{SEEDS.get(package)} {package}").shuffle(found)
    return found


def subscripts_in_loop(tree: ast.FunctionDef) -> bool:
    names = set(parameters(tree))
    return any(isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id in names
               for loop in ast.walk(tree) if isinstance(loop, ast.For | ast.While) for one in ast.walk(loop))


# --- the search


def sets(vocabulary: dict[str, list[str]], seed: str) -> Iterator[Specs]:
    """The first choices, then ever wilder ones."""
    random, given = Random(seed), set()
    for attempt in range(ATTEMPTS):
        often = min(0.7, 0.02 * attempt)
        picked = {}
        for name, words in vocabulary.items():
            place = 0
            while place < len(words) - 1 and random.random() < often:
                place += 1
            picked[name] = words[place] if random.random() > 0.1 * often else random.choice(words)
        if tuple(picked.values()) not in given:
            given.add(tuple(picked.values()))
            yield picked


def lines(call: Callable[..., Any], given: Sequence[Any]) -> tuple[int, int]:
    """How many lines of the function ran, and how many different ones."""
    count, different = 0, set()

    def local(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            different.add(frame.f_lineno)
        return local

    sys.settrace(lambda frame, *_: local if frame.f_code is call.__code__ else None)
    try:
        call(*given)
    finally:
        sys.settrace(None)
    return count, len(different)


def arguments(specs: Specs, size: int, seed: int = 0) -> tuple[Any, ...]:
    r = np.random.default_rng(seed)
    return tuple(made(spec, size, r) for spec in specs.values())


def coverage(function: Callable[..., Any], specs: Specs) -> int:
    """How many lines run; 0 where the function raises, or runs no longer on larger arrays."""
    try:
        with time_limit(0.5):
            one, two = (arguments(specs, size) for size in (SMALL, 2 * SMALL))
            if not any(isinstance(argument, np.ndarray) for argument in one):
                return 0
            (few, different), (many, _) = lines(function, one), lines(function, two)
    except (Slow, Exception):  # noqa: BLE001 - functions of others raise anything
        return 0
    return different if many > 1.3 * few else 0


def likeliest(function: Callable[..., Any], specs: Specs, covered: int, vocabulary: dict[str, list[str]]) -> Specs:
    """Earlier choices for as many parameters as run as many lines."""
    for name, words in vocabulary.items():
        for word in words[:words.index(specs[name])]:
            if coverage(function, trial := {**specs, name: word}) >= covered:
                specs = trial
                break
    return specs


def close(found: Any, expected: Any) -> bool:
    if isinstance(found, tuple | list):
        return isinstance(expected, tuple | list) and len(found) == len(expected) and all(map(close, found, expected))
    if found is None or expected is None:
        return found is expected
    return bool(np.allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-8, equal_nan=True))


def searched(package: str, module: str, attribute: str) -> Found | str:
    """The function with its arguments, or why there are none."""
    import numba

    value = getattr(importlib.import_module(module), attribute)
    tree = parsed(uncompiled(value))
    assert tree is not None
    if tree.args.vararg or tree.args.kwonlyargs:
        return "other parameters"
    function, vocabulary, good, start = plain(value), vocabularies(value, tree), [], time.perf_counter()
    for specs in sets(vocabulary, f"{SEEDS.get(package)} {module} {attribute}"):
        if time.perf_counter() - start > SECONDS or len(good) >= 12:
            break
        if covered := coverage(function, specs):
            good.append((covered, specs))
    if not good:
        return "the plain function raises on all, or does not run longer on more"
    why = ""
    for covered, wild in sorted(good, key=lambda one: -one[0])[:COMPILED]:
        specs = likeliest(function, wild, covered, vocabulary)
        compiled = numba.njit(uncompiled(value))
        found = Found(package, importlib.metadata.version(package), module, attribute, specs, 0)
        try:
            with time_limit(30):
                given, reference = found.arguments(SMALL), found.arguments(SMALL)
                if not close((compiled(*given), given), (function(*reference), reference)):
                    why = "njit differs"
                    continue
            if size := large(found, function, compiled):
                return Found(**{**asdict(found), "size": size})
            why = "too short to measure"
        except (Slow, Exception) as error:  # noqa: BLE001 - njit refuses with errors of many classes
            why = f"njit: {type(error).__name__}"
    return why


def large(found: Found, function: Callable[..., Any], compiled: Callable[..., Any]) -> int:
    """The size at which njit takes long enough; the greatest at which Python does not take too long; 0 where njit is
    too short for a clock there."""
    size, taken = 0, 0.0
    for power in range(4, 23):
        try:
            given = found.arguments(1 << power)
            with time_limit(PYTHON):
                function(*copied(given))
        except (Slow, Exception):  # noqa: BLE001
            break
        best = math.inf
        for _ in range(3):
            work = copied(given)
            start = time.perf_counter()
            compiled(*work)
            best = min(best, time.perf_counter() - start)
        size, taken = 1 << power, best
        if taken >= LEAST:
            break
    return size if taken >= LEAST / 8 else 0


# --- all packages, each function in a process of its own


def _work(pipe: Any, call: Callable[..., Any], given: Sequence[Any]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    warnings.simplefilter("ignore")
    try:
        pipe.send(call(*given))
    except (Slow, Exception) as error:  # noqa: BLE001
        pipe.send(f"failed: {type(error).__name__}: {str(error)[:200]}")


def apart(call: Callable[..., Any], *given: Any, seconds: float) -> Any:
    """The result of a call in another process; text where it crashed, or took too long."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, call, given), daemon=True)
    process.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(seconds) else "failed: takes too long"
    except EOFError:
        result = "failed: the process ended"
    process.kill()
    process.join()
    return result


def drawn(package: str, names: Sequence[tuple[str, str]]) -> list[Found]:
    """Of a package's shuffled candidates the first that have arguments."""
    found: list[Found] = []
    for module, attribute in names:
        if len(found) == PER_PACKAGE:
            break
        result = apart(searched, package, module, attribute, seconds=90)
        if not isinstance(result, str):
            found.append(result)
    return found


def installed(packages: Sequence[str]) -> list[str]:
    def there(package: str) -> bool:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return bool(importlib.metadata.version(package))
        return False

    return [package for package in packages if there(package)]


def read(path: Path = DATA) -> list[Found]:
    return [Found(**one) for one in json.loads(path.read_text(encoding="utf-8"))]


def write(found: Sequence[Found], path: Path = DATA) -> None:
    path.write_text("[\n" + ",\n".join(json.dumps(asdict(one)) for one in found) + "\n]\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default="", help="only these; what is known of others stays")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    import numba  # noqa: F401 - once, before processes are made

    wanted = options.packages.split(",") if options.packages else list(SEEDS)
    names, known = installed(wanted), set[str]()
    kept = [one for one in (read() if DATA.exists() else []) if one.package not in wanted]
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = {}
        listed = pool.map(functools.partial(apart, candidates, seconds=240), names)
        for package, some in zip(names, listed, strict=True):
            if isinstance(some, str):
                print(f"{package}: {some}")
                continue
            new = [(module, name) for module, name, text in some if text not in known]
            jobs[pool.submit(drawn, package, new)] = package, len(new)
            known |= {text for _, _, text in some}
        for job in as_completed(jobs):
            kept = sorted([*kept, *job.result()], key=lambda one: list(SEEDS).index(one.package))
            print(f"{jobs[job][0]}: {len(job.result())} of {jobs[job][1]} candidates", flush=True)
            write(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
