"""What decides about the values that twins give here: versions, processor, C library, ways, cache, options. And whether
the twin of a function gives its original's, on each target and in each way that its calls ask for."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.functions import libm, loaded_library, python_versions, ways
from pyflat.runtime.audit import DifferenceError, repeated
from pyflat.runtime.settings import NAMES, resolve
from pyflat.targets.target import verified

if TYPE_CHECKING:
    from pyflat.runtime.twins import Twin

COMPILERS = ("numba", "llvmlite")
PACKAGES = ("pyflat", "numpy", "libcst", *COMPILERS)
CALLS = 4
"""So many calls of a twin, one after the other, are compared: later ones are made by a plan."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A twin beside its original: `way` is what was forced, "" where nothing was. `outcome` is "agrees", "differs",
    "refused" or "fails"."""

    target: str
    way: str
    outcome: str
    text: str


def surroundings() -> dict[str, dict[str, Any]]:
    """What decides about values in this process: section -> name -> value."""
    tested = ", ".join(f"{major}.{minor}" for major, minor in python_versions.TESTED)
    return {
        "versions": {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "tested": f"{'yes' if python_versions.is_tested() else 'no'} (CPython {tested})",
            "system": platform.platform(),
            **{name: _version(name) for name in PACKAGES},
        },
        "processor": _processor(),
        "C library": {"identity": loaded_library.identity() or "unknown",
                      **{name: loaded_library.standing(name) for name in sorted(libm.NAMES)}},
        "ways": {way.name: f"{'forced to ' + way.forced if way.forced else 'free'}: {' | '.join(way.values)}, "
                           f"by {way.decided_by}" for way in ways.REGISTRY.values()},
        "cache": _cache(),
        "options": {name: repr(getattr(resolve(), name)) for name in NAMES},
        "environment": {name: value for name, value in sorted(os.environ.items())
                        if name.startswith(("PYFLAT_", "NUMBA_"))},
    }


def examine(twin: Twin[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare one call with its original: on each target, and there in each way that the call has asked for."""
    for target in verified():
        own = twin.to(target)  # type: ignore[arg-type]
        finding = _compared(own, args, kwargs, target, "")
        yield finding
        if finding.outcome == "refused":
            continue
        for name, taken in own.stats.ways.items():
            for value in ways.REGISTRY[name].values:
                if taken != (value,):
                    with ways.forced(**{name: value}):
                        yield _compared(own, args, kwargs, target, f"{name}={value}")


def report(twin: Twin[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], found: Sequence[Finding]) -> str:
    """What others need to see the differences: the program, its arguments, the findings, and the surroundings."""
    wrong = [each for each in found if each.outcome in ("differs", "fails")]
    lines = ["the program:", "", *inspect.getsource(twin.original).rstrip().splitlines(), "", "its arguments:", ""]
    with np.printoptions(threshold=200, floatmode="unique"):
        lines += [f"  {value!r}" for value in args]
        lines += [f"  {name}={value!r}" for name, value in kwargs.items()]
    for each in wrong:
        lines += ["", f"{each.target}{', ' if each.way else ''}{each.way}: {each.outcome}", each.text]
    return "\n".join(lines)


def as_text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for title, rows in sections.items():
        lines += [title, *[f"  {name:<16} {value}" for name, value in rows.items()], ""]
    return "\n".join(lines).rstrip()


def as_dict(found: Sequence[Finding]) -> list[dict[str, str]]:
    return [asdict(each) for each in found]


def _compared(twin: Twin[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], target: str, way: str) -> Finding:
    try:
        said = str(twin.verify(*args, **kwargs))
        differs = repeated(twin, args, kwargs, CALLS)
    except DifferenceError as difference:
        return Finding(target, way, "differs", _reduced(twin, args, kwargs, difference))
    except FlattenError as refusal:
        return Finding(target, way, "refused", str(refusal))
    except Exception as error:  # noqa: BLE001 - what fails is what is looked for
        return Finding(target, way, "fails", f"{type(error).__name__}: {error}")
    return Finding(target, way, "differs" if differs else "agrees", differs or said)


def _reduced(twin: Twin[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], found: DifferenceError) -> str:
    """The difference in a call of its lane alone, where it is one there too; else in the call that it was found in."""
    if found.lane == ():
        return str(found)
    try:
        values: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        whole = np.broadcast_arrays(*arrays.values())
        values.update({name: each[found.lane].reshape(1) for name, each in zip(arrays, whole, strict=True)})
        twin.verify(*[values[k] for k in range(len(args))], **{name: values[name] for name in kwargs})
    except DifferenceError as alone:
        return f"{alone}\n(in a call of this lane alone as well)"
    except Exception:  # noqa: BLE001 - then it is no smaller
        return str(found)
    return f"{found}\n(not in a call of this lane alone)"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> dict[str, Any]:
    try:
        from pyflat.targets.numba.jit import processor
    except ImportError:
        return {"name": platform.processor() or platform.machine()}
    found = processor()
    vectors = [name for name in ("+avx512f", "+avx2", "+avx", "+fma", "+neon") if name in found.features.split(",")]
    return {"machine": platform.machine(), "name": found.name, "vector registers": f"{8 * found.vector_bytes} bits",
            "vectors": " ".join(name[1:] for name in vectors) or "none beyond the least", "cores": os.cpu_count()}


def _cache() -> dict[str, Any]:
    from pyflat.targets.numba.disk_cache import opened, place

    if os.environ.get("PYFLAT_CACHE") == "0":
        return {"state": "off (PYFLAT_CACHE=0)"}
    cache = opened()
    if cache is None:
        return {"place": place(), "state": "not trusted: others can change the folder, or nothing can be written there"}
    sizes = cache.sizes()
    return {"place": str(cache.folder), "state": "trusted", "entries": len(sizes), "size": f"{sum(sizes) / 1e6:.1f} MB"}


