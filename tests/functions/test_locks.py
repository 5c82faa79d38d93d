"""Nothing is compiled twice, in threads or in processes; a fork or the exit of a process during a compilation is safe."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import pyflat
from pyflat.runtime import compiled
from tests.support.concurrency import on_threads
from tests.support.patience import HANG

pytest.importorskip("numba")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PROGRAM = """
    import atexit, math, os, sys, threading, time
    import numpy as np
    import pyflat
    from pyflat.targets.numba import disk_cache, jit

    translate, made = jit._translated, []
    inside, go = threading.Event(), threading.Event()

    def held(*given):
        made.append(1)
        inside.set()
        go.wait()
        return translate(*given)

    def curve(x):
        return math.exp(x) * 3.0 if x > 1.0 else x - 0.25

    def other(x):
        return x * 2.0 + 1.0

    X = np.linspace(0.0, 2.0, 33)

    def right(function):
        twin = pyflat.twin(function, target="numba")
        return np.array_equal(twin(X), [function(x) for x in X.tolist()])

    def warm(x):
        return x + 1.0

    for target in ("numpy", "numba"):
        pyflat.twin(warm, target=target)(X)
        pyflat.twin(warm, target=target).ufunc(X)
    jit._translated = held
"""

def start(tmp_path, text, *arguments, before=PROGRAM):
    path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
    path.write_text(textwrap.dedent(before) + textwrap.dedent(text))
    environment = {**os.environ, "PYFLAT_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYFLAT_CACHE", None)
    return subprocess.Popen([sys.executable, str(path), *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)


def ended(process):
    """What a program says, which ends well."""
    said = process.communicate(timeout=HANG)[0]
    assert process.returncode == 0, said
    return said.split()


HOLDER = """
    def told():
        inside.wait()
        print("inside", flush=True)
        sys.stdin.readline()
        go.set()

    threading.Thread(target=told, daemon=True).start()
    assert right(curve)
    print(len(made))
"""

WAITER = """
    go.set()
    pause, said = time.sleep, []

    def waiting(seconds):
        if not said:
            said.append(1)
            print("waits", flush=True)
        pause(seconds)

    disk_cache.time.sleep = waiting
    assert right(curve)
    print(len(made))
"""


@pytest.fixture
def two(tmp_path):
    """A process that is compiling, and one that waits for the same kernel."""
    first = start(tmp_path, HOLDER)
    assert first.stdout.readline() == "inside\n"
    second = start(tmp_path, WAITER)
    assert second.stdout.readline() == "waits\n"
    yield first, second
    for process in (first, second):
        process.kill()
        process.communicate()


def test_two_processes_compile_a_kernel_once(two):
    first, second = two
    first.stdin.write("go\n")
    first.stdin.flush()
    assert ended(first) == ["1"] and ended(second) == ["0"]


def test_a_process_that_dies_lets_the_next_one_compile(two):
    first, second = two
    first.kill()
    assert ended(second) == ["1"]


def test_other_kernels_do_not_wait(two, tmp_path):
    assert ended(start(tmp_path, "go.set()\nassert right(other)\nprint(len(made))")) == ["1"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of files are POSIX's")
def test_where_no_file_can_be_locked_no_process_waits(tmp_path):
    ended(start(tmp_path, "go.set()\nassert right(other)"))
    locks = tmp_path / "kernels" / "locks"
    locks.unlink()
    locks.mkdir()
    said = ended(start(tmp_path, "go.set()\nassert right(curve) and right(other)\nprint(len(made))"))
    assert said == ["1"], "one kernel is on disk"


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_threads_build_a_twin_once(target, monkeypatch, tmp_path):
    from pyflat.targets.numba import jit

    monkeypatch.setenv("PYFLAT_CACHE", "0")
    made, build, translate = [], compiled._build, jit._translated
    monkeypatch.setattr(compiled, "_build", lambda *given: (made.append("build"), build(*given))[1])
    monkeypatch.setattr(jit, "_translated", lambda *given: (made.append(given), translate(*given))[1])
    twin = pyflat.twin(lambda x: x * 1.25 if x > 1.0 else x + 7.0, target=target)
    xs = np.linspace(0.0, 2.0, 9)
    found, together = [], threading.Barrier(8)

    def call(_):
        together.wait()
        found.append(twin(xs).tolist())

    on_threads(call, 8)
    assert found == [twin(xs).tolist()] * 8
    assert made.count("build") == 1 and len(set(made)) == len(made)


@pytest.mark.parametrize("dtype", ["f8", "i2"])
def test_threads_make_the_first_call_of_a_process(tmp_path, dtype):
    """What calls of all kernels share is made by one of them: the feed, conversions of dtypes, the walk of layouts."""
    process = start(tmp_path, f"""
        import threading
        import numpy as np
        import pyflat

        def curve(x):
            return x * 3.0 if x > 1.0 else x - 0.25

        together = threading.Barrier(8)
        twin = pyflat.twin(curve, target="numba", dtype="float64")
        X = np.arange(-8, 8).astype("{dtype}").reshape(4, 4).T
        found = []

        def call():
            together.wait()
            found.append(twin(X).tolist())

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [[[curve(float(x)) for x in row] for row in X.tolist()]] * 8
        """, before="")
    assert ended(process) == []


@forks
@pytest.mark.parametrize("work", ["right(curve)", "pyflat.twin(curve).compile(X)", "pyflat.twin(curve).ufunc(X)"])
def test_a_fork_during_a_compilation(tmp_path, work):
    """The hook registered last runs first: it lets the compilation go on that the fork waits for."""
    process = start(tmp_path, f"""
        import gc
        before = sys.getrecursionlimit(), gc.get_threshold()
        os.register_at_fork(before=go.set)
        if {"numba" not in work and "compile" in work}:
            from pyflat.runtime import compiled
            build = compiled._build
            compiled._build = lambda *given: (inside.set(), go.wait(), build(*given))[-1]
        thread = threading.Thread(target=lambda: {work})
        thread.start()
        inside.wait()
        child = os.fork()
        if not child:
            fine = right(curve) and right(other) and np.array_equal(pyflat.twin(other)(X), X * 2.0 + 1.0)
            after = sys.getrecursionlimit(), gc.get_threshold()
            os._exit(0 if fine and after == before else 1)
        print(os.waitpid(child, 0)[1])
        thread.join()
        assert right(curve) and right(other)
        """)
    assert ended(process) == ["0"]


@forks
@pytest.mark.parametrize("name", ["pyflat.runtime.decorator", "pyflat.runtime.kept_twins"])
def test_a_fork_during_an_import(tmp_path, name):
    """Of the first module, and of one of a first call, which asks `logging` for its lock: the hook of `logging`, which
    takes it, is no later one."""
    process = start(tmp_path, f"""
        import importlib.abc, os, sys, threading
        import pyflat

        inside, go = threading.Event(), threading.Event()

        class Finder(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == {name!r}:
                    import logging
                    inside.set()
                    go.wait()
                    logging.getLogger("asked")

        def curve(x):
            return x * 3.0 if x > 1.0 else x - 0.25

        def call():
            return pyflat.twin(curve)([0.0, 2.0]).tolist() == [-0.25, 6.0]

        sys.meta_path.insert(0, Finder())
        thread = threading.Thread(target=call)
        thread.start()
        inside.wait()
        os.register_at_fork(before=go.set)
        child = os.fork()
        if not child:
            os._exit(0 if call() else 1)
        print(os.waitpid(child, 0)[1])
        """, before="")
    assert ended(process) == ["0"]


def test_a_process_that_exits_waits_for_llvm(tmp_path):
    """What is registered last at exit runs first: it lets the compilation go on that the exit waits for."""
    process = start(tmp_path, """
        jit._translated = lambda *given: (held(*given), print("translated", flush=True))[0]
        threading.Thread(target=right, args=(curve,), daemon=True).start()
        inside.wait()
        atexit.register(go.set)
        """)
    assert ended(process) == ["translated"]
