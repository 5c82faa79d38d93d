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
import copy
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import math
import multiprocessing
import os
import re
import sys
import textwrap
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.generator.differential import Slow, time_limit

PACKAGES = (
    "quantecon", "numbagg", "librosa", "pyts", "tslearn", "stumpy", "umap-learn", "pynndescent", "aeon", "sktime", "arch",
    "econ-ark", "interpolation", "esda", "libpysal", "sparse", "cooltools", "vectorbt", "lenstronomy", "empymod", "choclo",
    "verde", "harmonica", "pysheds", "pyflwdir", "xarray-spatial", "numba-stats", "resampy", "kikuchipy", "orix", "hyperspy",
    "quaternionic", "spherical", "spherical-functions", "xugrid", "numba-celltree", "hapsira", "py-pde", "datashader",
    "spatialpandas", "antropy", "pymoo", "pyldpc", "scores", "pyproximal", "diffsims", "rosettasciio", "utilsforecast",
    "numpy-quaternion",
)
SEED = 20261128
PER_PACKAGE = 8
DATA = Path(__file__).with_suffix("").with_name("real_kernels.json")
SMALL, LEAST, MOST = 7, 2e-4, 1 << 21
"""Elements along a dimension to search with; seconds that njit takes on the arguments to measure with; elements of these."""
PYTHON = 1.2
"""Seconds that the plain function may take on the arguments to measure with."""
ATTEMPTS, SECONDS, COMPILED = 120, 6.0, 3
"""Sets of specs for a function, seconds for these, and how many of them njit compiles at most."""
Specs = dict[str, str]


@dataclass(frozen=True)
class Found:
    """A function with arguments. `seen`: of the half that is looked at while pyflat is changed."""

    package: str
    version: str
    module: str
    attribute: str
    specs: Specs
    size: int
    seen: bool = True

    @property
    def name(self) -> str:
        return f"{self.module} {self.attribute}"

    def arguments(self, size: int, seed: int = 0) -> tuple[Any, ...]:
        r = np.random.default_rng(seed)
        return tuple(made(spec, size, r) for spec in self.specs.values())


# --- plain functions


def plain(value: Any, known: dict[int, Any] | None = None) -> Any:
    """The Python function under a decorator of numba's, whose own callees are such functions too; None if it is none."""
    known = {} if known is None else known
    if id(value) in known:
        return known[id(value)]
    function = uncompiled(value)
    if function is None:
        return None
    names = dict(function.__globals__)
    bare = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    bare.__kwdefaults__, bare.__module__ = function.__kwdefaults__, function.__module__
    known[id(value)] = bare
    for name in used_names(function.__code__):
        if (callee := plain(names.get(name), known)) is not None:
            names[name] = callee
    return bare


def uncompiled(value: Any) -> Any:
    """What is under a decorator of numba's, of its ufuncs', or of numbagg's; None where there is none."""
    if type(value).__module__.startswith("numbagg."):
        function = getattr(value, "func", None)
        return function if inspect.isfunction(function) else None
    if not type(value).__module__.startswith("numba."):
        return None
    for one in (value, getattr(value, "gufunc_builder", None), getattr(value, "_dispatcher", None)):
        if (function := getattr(one, "py_func", None)) is not None:
            return function
    return None


def used_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from used_names(one)


# --- candidates


def modules(package: str) -> Iterator[str]:
    """Of a distribution, those whose text mentions numba's decorators, without tests."""
    for path in sorted(importlib.metadata.files(package) or (), key=str):
        if path.suffix != ".py" or any(re.match(r"tests?\b|test_|_?tests|conftest|benchmarks?|\.\.", part) for part in path.parts):
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if re.search(r"\bnumba\b|jit", path.locate().read_text(encoding="utf-8")):
                yield ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def candidates(package: str) -> list[tuple[str, str]]:
    """Module and attribute, in an order of chance."""
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
                found.append((name, attribute))
    Random(f"{SEED} {package}").shuffle(found)
    return found


def parsed(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def parameters(tree: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*tree.args.posonlyargs, *tree.args.args)]


def subscripts_in_loop(tree: ast.FunctionDef) -> bool:
    names = set(parameters(tree))
    return any(isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name) and one.value.id in names
               for loop in ast.walk(tree) if isinstance(loop, ast.For | ast.While) for one in ast.walk(loop))


# --- specs


@dataclass
class Use:
    """What a function's text says of a parameter."""

    rank: int = 0
    fixed: dict[int, int] = field(default_factory=dict)
    """Along which dimension only constant indices are used, and the least extent for them."""
    running: set[int] = field(default_factory=set)
    """Along which dimension other indices are used."""
    index: bool = False
    """Its values, or it, are used as an index, or in `range`."""
    tested: bool = False
    """It is a condition."""
    array: bool = False


def uses(function: Any, tree: ast.FunctionDef, depth: int = 3) -> dict[str, Use]:
    found = {name: Use() for name in parameters(tree)}
    indices, sources = set(), {}
    for one in ast.walk(tree):
        match one:
            case ast.Subscript(value=base, slice=index):
                _subscript(found, base, index)
                indices |= {part.id for part in ast.walk(index) if isinstance(part, ast.Name)}
                indices |= {part.value.id for part in ast.walk(index)
                            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and part is not one}
            case ast.Call(func=ast.Name(id="range" | "prange"), args=given) | ast.Call(func=ast.Attribute(attr="prange"), args=given):
                indices |= {part.id for argument in given for part in ast.walk(argument) if isinstance(part, ast.Name)}
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) | ast.Attribute(value=ast.Name(id=name), attr="size" | "shape"):
                if name in found:
                    found[name].array = True
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Attribute(value=ast.Name(id=name), attr="shape")) if name in found:
                found[name].rank = max(found[name].rank, len(parts))
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                sources.setdefault(target, set()).update(part.id for part in ast.walk(value) if isinstance(part, ast.Name))
            case ast.For(target=ast.Name(id=target), iter=ast.Name(id=name)) if name in found:
                found[name].array = True
                sources.setdefault(target, set()).add(name)
            case ast.If(test=ast.Name(id=name)) | ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)) if name in found:
                found[name].tested = True
            case ast.Call(func=ast.Name(id=name), args=given) if depth:
                _callee(found, function.__globals__.get(name), given, depth)
    for _ in range(2):
        indices |= {name for target, names in sources.items() if target in indices for name in names}
    for name, use in found.items():
        use.index |= name in indices
    return found


def _subscript(found: dict[str, Use], base: ast.expr, index: ast.expr) -> None:
    first = 0
    while isinstance(base, ast.Subscript):
        first += len(base.slice.elts) if isinstance(base.slice, ast.Tuple) else 1
        base = base.value
    if isinstance(base, ast.Attribute) and base.attr == "shape" and isinstance(base.value, ast.Name) and base.value.id in found:
        if isinstance(index, ast.Constant) and isinstance(index.value, int):
            use = found[base.value.id]
            use.rank = max(use.rank, index.value + 1)
    if not isinstance(base, ast.Name) or base.id not in found:
        return
    use = found[base.id]
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    use.rank, use.array = max(use.rank, first + len(parts)), True
    for place, part in enumerate(parts, first):
        if isinstance(part, ast.Constant) and isinstance(part.value, int):
            use.fixed[place] = max(use.fixed.get(place, 0), part.value + 1)
        else:
            use.running.add(place)


def _callee(found: dict[str, Use], value: Any, given: Sequence[ast.expr], depth: int) -> None:
    function = uncompiled(value)
    tree = parsed(function) if function is not None else None
    if tree is None:
        return
    theirs = list(uses(function, tree, depth - 1).values())
    for argument, use in zip(given, theirs, strict=False):
        if isinstance(argument, ast.Name) and argument.id in found:
            own = found[argument.id]
            own.rank, own.index, own.tested = max(own.rank, use.rank), own.index or use.index, own.tested or use.tested
            own.array |= use.array


def shapes(use: Use, rank: int) -> list[str]:
    free = ",".join("n" for _ in range(rank))
    tied = ",".join(str(use.fixed[k]) if k in use.fixed and k not in use.running else "n" for k in range(rank))
    short = ",".join(["n"] + ["3" if k == rank - 1 else "n" for k in range(1, rank)])
    return list(dict.fromkeys([tied, free, short, *(["n,2", "2,n"] if rank == 2 else ["2,n,3", "n,2,2"] if rank == 3 else ["n+1", "3"])]))


def choices(use: Use, default: Any, signed: Sequence[Any]) -> list[str]:
    """Specs of a parameter, the likelier first; `signed`: its types in numba's signatures."""
    found = [] if default is inspect.Parameter.empty else [f"={default!r}"] if _literal(default) else []
    for kind in signed:
        text = str(kind)
        if hasattr(kind, "ndim"):
            found += _arrays(use, kind.ndim, str(kind.dtype))
        elif text.startswith(("int", "uint")):
            found += ["n", "2", "1", "3", "0", "5"]
        elif text.startswith("float"):
            found += ["0.5", "0.1", "2.0"]
        elif text == "bool":
            found += ["True", "False"]
    if found and signed:
        return found
    rank = max(use.rank, int(use.array))
    if rank:
        found += _arrays(use, rank, "int64" if use.index else "float64")
        found += _arrays(use, rank, "float64" if use.index else "int64") + _arrays(use, rank, "bool")[:1]
        found += _arrays(use, rank + 1, "float64")[:2]
    elif use.index:
        found += ["n", "3", "2", "1", "0", "5"]
    elif use.tested:
        found += ["True", "False", "1", "0"]
    else:
        found += ["0.5", "2.0", "3", "1", "n", "0", "0.1", "float64[n]", "float64[n,n]", "True", "False"]
    return list(dict.fromkeys(found))


def _literal(default: Any) -> bool:
    return default is None or isinstance(default, bool | int | float | str)


def _arrays(use: Use, rank: int, dtype: str) -> list[str]:
    ends = ["<n", "<3", "@", "<2"] if "int" in dtype else [""]
    return [f"{dtype}[{shape}]{end}" for shape in shapes(use, rank) for end in ends]


def made(spec: str, n: int, r: np.random.Generator) -> Any:
    """The argument: `=default`, a number, `n`, or `dtype[shape]` and what its values are: in [0, 1); `<k` in [0, k); `@`
    indices in order from 0 to n, as of rows."""
    if spec.startswith("="):
        return ast.literal_eval(spec[1:])
    match = re.fullmatch(r"(\w+)\[([^]]*)\](.*)", spec)
    if match is None:
        return n if spec == "n" else ast.literal_eval(spec)
    dtype, shape = np.dtype(match[1]), tuple(_extent(part, n) for part in match[2].split(",") if part)
    if math.prod(shape) > MOST:
        raise MemoryError
    if match[3] == "@":
        return np.sort(np.concatenate([[0], r.integers(0, n + 1, max(math.prod(shape) - 2, 0)), [n]])[:math.prod(shape)]).astype(dtype).reshape(shape)
    if match[3]:
        return r.integers(0, max(1, _extent(match[3][1:], n)), shape).astype(dtype)
    if dtype.kind == "c":
        return (r.random(shape) + 1j * r.random(shape)).astype(dtype)
    return r.random(shape) < 0.5 if dtype.kind == "b" else r.random(shape).astype(dtype)


def _extent(text: str, n: int) -> int:
    return n + 1 if text == "n+1" else n if text == "n" else int(text)


# --- the search


def copied(given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(one.copy(order="K") if isinstance(one, np.ndarray) else one for one in given)


def vocabularies(value: Any, tree: ast.FunctionDef) -> dict[str, list[str]]:
    function = uncompiled(value)
    known = inspect.signature(function).parameters
    found = uses(function, tree)
    signed = getattr(value, "nopython_signatures", None) or []
    return {name: choices(found[name], known[name].default, [one.args[place] for one in signed if place < len(one.args)])
            for place, name in enumerate(found)}


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


def coverage(function: Callable[..., Any], specs: Specs) -> int:
    """How many lines run; 0 where the function raises, or runs no longer on larger arrays."""
    try:
        with time_limit(0.5):
            one, two = ([made(spec, size, np.random.default_rng(0)) for spec in specs.values()] for size in (SMALL, 2 * SMALL))
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
    for specs in sets(vocabulary, f"{SEED} {module} {attribute}"):
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


def drawn(package: str, log: Callable[[str], None] = lambda _: None) -> list[Found]:
    """Of a package's shuffled candidates the first that have arguments, seen and unseen in turns."""
    found: list[Found] = []
    names = apart(candidates, package, seconds=240)
    if isinstance(names, str):
        log(f"{package}: {names}")
        return []
    for module, attribute in names:
        if len(found) == PER_PACKAGE:
            break
        result = apart(searched, package, module, attribute, seconds=90)
        if not isinstance(result, str):
            found.append(Found(**{**asdict(result), "seen": len(found) % 2 == 0}))
    log(f"{package}: {len(found)} of {len(names)} candidates")
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

    wanted = options.packages.split(",") if options.packages else list(PACKAGES)
    names = installed(wanted)
    kept = [one for one in (read() if DATA.exists() else []) if one.package not in wanted]

    def log(text: str) -> None:
        print(text, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        for some in pool.map(lambda name: drawn(name, log), names):
            kept += some
            write(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
