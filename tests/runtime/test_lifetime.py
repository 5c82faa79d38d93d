"""What flattening a function has made goes with the function."""

from __future__ import annotations

import ctypes
import gc
import linecache
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyflat
from pyflat.frontend import capture
from pyflat.runtime import compiled
from pyflat.runtime.compiled import compilations
from pyflat.targets.numba import jit

XS = np.linspace(0.0, 1.0, 8)


def made(number: int, text: str) -> Callable[..., Any]:
    """A function of its own code and its own globals, from a text that looks like a notebook's cell."""
    name = f"<made {number}>"
    text = text.format(n=number)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def used(number: int, text: str, target: str, *, decorated: bool) -> weakref.ref[Any]:
    fn = made(number, text)
    twin = pyflat.flatten(target=target)(fn).flat if decorated else pyflat.twin(fn, target=target)
    assert twin(XS).tolist() == [fn(x) for x in XS.tolist()]
    twin(1)
    del linecache.cache[f"<made {number}>"]
    return weakref.ref(fn)


TEXTS = {
    "alone": "def f(x):\n    if x > {n}.5:\n        return x * {n}.0\n    return x + 1.0\n",
    "reads its globals": "K = {n}.0\ndef g(x):\n    return x * K\ndef f(x):\n    return g(x) + K if x > 0.5 else x + 1.0\n",
    "a lambda": "f = lambda x: x + {n}.0 if x > 0.5 else x\n",
}


@pytest.mark.turns(2)
@pytest.mark.parametrize(("target", "count"), [("numpy", 12), ("numba", 4)])
@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("text", [TEXTS["alone"], TEXTS["reads its globals"], TEXTS["a lambda"]])
def test_functions_that_are_made_and_dropped_leave_nothing(text, target, count, decorated):
    for number in range(3):
        used(number, text, target, decorated=decorated)
    gc.collect()
    before, captured = len(gc.get_objects()), len(capture._cache)
    refs = [used(10 + number, text, target, decorated=decorated) for number in range(count)]
    gc.collect()
    assert not [ref for ref in refs if ref() is not None]
    assert len(capture._cache) == captured
    assert len(gc.get_objects()) - before < 10 * count, "one that is kept has hundreds of objects"


@pytest.mark.slow
def test_two_thousand_functions_leave_nothing():
    counts = []
    for first in range(0, 2000, 500):
        for number in range(first, first + 500):
            used(number, TEXTS["reads its globals"], "numpy", decorated=True)
        gc.collect()
        counts.append(len(gc.get_objects()))
    assert max(counts[1:]) - counts[0] < 1000, counts


def test_functions_of_modules_that_are_dropped_or_loaded_again_leave_nothing(tmp_path, monkeypatch):
    import importlib
    import sys

    monkeypatch.syspath_prepend(tmp_path)

    def loaded(number: int, *, drop: bool) -> weakref.ref[Any]:
        name = f"passing_{number}" if drop else "staying"
        text = f"def f(x):\n    return f(-x) if x < 0 else x * {number}.0\n" + "#" * number
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        module = sys.modules.get(name)
        module = importlib.reload(module) if module else importlib.import_module(name)
        assert pyflat.twin(module.f)(XS).tolist() == [module.f(x) for x in XS.tolist()]
        if drop:
            del sys.modules[name]
        return weakref.ref(module.f)

    refs = [loaded(number, drop=drop) for number in range(40) for drop in (True, False)]
    monkeypatch.setattr(compiled, "_asked_at", 0)
    refs.append(loaded(100, drop=True))
    monkeypatch.setattr(compiled, "_asked_at", 0)
    refs.append(loaded(101, drop=True))
    gc.collect()
    assert sum(ref() is not None for ref in refs) < 5
    sys.modules.pop("staying")


def test_machine_code_goes_with_its_function():
    def loaded() -> int:
        gc.collect()
        return Counter(type(each).__name__ for each in gc.get_objects())["ResourceTracker"]

    used(0, TEXTS["alone"], "numba", decorated=False)  # what looks at arrays is made once for the process
    fn = made(1, TEXTS["alone"])
    before = loaded()
    pyflat.twin(fn, target="numba")(XS)
    assert loaded() > before
    del fn
    assert loaded() == before


class _Malloc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library does not say what is in use")
def test_translating_leaves_no_passes_in_memory():
    """A pipeline of LLVM's passes is 55 kB, which are not Python's objects."""
    said = ctypes.CDLL(None).mallinfo2
    said.restype = _Malloc
    cpu = jit.processor()

    def in_use_after(numbers: range) -> int:
        for number in numbers:
            text = f"define i64 @k(i64 %x) {{\n  %y = add i64 %x, {number}\n  ret i64 %y\n}}\n"
            jit._translated(text, cpu, jit.Passes.ALL)
        gc.collect()
        return int(said().uordblks)

    before = in_use_after(range(5))
    assert in_use_after(range(5, 45)) - before < 40 * 10_000


@pytest.mark.turns(2)
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library does not say what is in use")
@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_what_is_dropped_leaves_no_memory_of_any_kind(target):
    """A linker keeps 9 kB of each library that is gone, which are not Python's objects."""
    said = ctypes.CDLL(None).mallinfo2
    said.restype = _Malloc

    def in_use(first: int, count: int) -> int:
        refs = [used(number, TEXTS["alone"], target, decorated=False) for number in range(first, first + count)]
        gc.collect()
        assert not [ref for ref in refs if ref() is not None]
        found = said()
        return int(found.uordblks + found.hblkhd)

    rounds = 4 * jit.LINKED if target == "numba" else 60
    before = in_use(20_000, rounds // 2)
    assert in_use(30_000, rounds) - before < rounds * 5_000


def test_a_linker_goes_with_the_last_code_that_it_linked():
    cpu = jit.processor()
    made = jit._translated("define i64 @k(i64 %x) {\n  ret i64 %x\n}\n", cpu, jit.Passes.ALL)
    code = jit._linked([made], "k", {}, cpu, None)
    for _ in range(2 * jit.LINKED):
        jit._linked([made], "k", {}, cpu, None)
    gc.collect()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address)(41) == 41


def test_a_second_twin_of_a_function_finds_what_the_first_has_made():
    fn = made(2, TEXTS["alone"])
    pyflat.twin(fn)(XS)
    gc.collect()
    assert len(compilations(fn)) == 1
    pyflat.twin(fn)(XS)
    assert len(compilations(fn)) == 1


def test_what_wraps_a_function_has_entries_of_its_own():
    """functools.wraps copies the attributes of a function."""
    import functools

    fn = made(3, TEXTS["alone"])
    pyflat.twin(fn)(XS)

    @functools.wraps(fn)
    def wrapper(x):
        return fn(x) * 10.0

    assert compilations(wrapper) is not compilations(fn)
    assert pyflat.twin(wrapper)(XS).tolist() == [wrapper(x) for x in XS.tolist()]
    assert pyflat.twin(fn)(XS).tolist() == [fn(x) for x in XS.tolist()]


def test_a_function_that_was_flattened_pickles_by_value():
    """What cloudpickle and dill write of a function has its attributes."""
    import pickle

    fn = made(4, TEXTS["alone"])
    pyflat.twin(fn)(XS)
    assert set(pickle.loads(pickle.dumps(vars(fn))).values()) == {None}


def test_equal_code_in_two_files_is_captured_twice():
    first, second = (made(number, "def f(x):\n    return x + 1.0\n") for number in (50, 51))
    assert first.__code__ == second.__code__
    assert capture.capture(first).file == "<made 50>"
    assert capture.capture(second).file == "<made 51>"
