"""Machine code on disk: found by the next process, and never run unless this user's pyflat wrote it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pyflat
from pyflat.targets.numba import disk_cache
from pyflat.targets.numba.disk_cache import MAGIC, SECRET, SUFFIX, key_of, opened
from tests.support.patience import HANG

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of files are POSIX's")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("PYFLAT_CACHE", raising=False)
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path / "kernels"))
    disk_cache._opened_at.cache_clear()
    yield tmp_path / "kernels"
    disk_cache._opened_at.cache_clear()


def reopened():
    """The cache as another process sees it."""
    disk_cache._opened_at.cache_clear()
    return opened()


def entries(folder):
    return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))


# --- the cache by itself


def test_what_is_stored_is_found_by_the_next_process(folder):
    opened().store("a" * 64, b"contents")
    assert reopened().load("a" * 64) == b"contents"
    assert opened().load("b" * 64) is None
    assert not [path for path in folder.iterdir() if path.name.startswith("new-")]


def test_a_key_is_all_of_its_parts():
    assert len({key_of(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c", ""])}) == 4
    assert key_of(["ab", "c"]) == key_of(["ab", "c"])


@posix
def test_files_are_the_users_alone(folder):
    opened().store("a" * 64, b"contents")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("spoil", [
    lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: MAGIC,
    lambda data: data[:-1] + bytes([data[-1] ^ 1]), lambda data: b"X" + data[1:],
    lambda data: MAGIC + bytes(32) + data[len(MAGIC) + 32:],
], ids=["shorter", "longer", "empty", "head", "another bit", "no magic", "no signature"])
def test_damaged_entries_are_not_believed(folder, spoil):
    opened().store("a" * 64, b"contents")
    (path,) = entries(folder)
    path.write_bytes(spoil(path.read_bytes()))
    assert reopened().load("a" * 64) is None


@posix
def test_an_entry_that_is_larger_than_the_folder_may_be_is_not_read(folder):
    opened().store("a" * 64, b"contents")
    (path,) = entries(folder)
    os.truncate(path, 2**40)  # sparse: reading it would raise MemoryError
    assert reopened().load("a" * 64) is None


@posix
def test_what_is_no_file_is_not_read(folder):
    opened().store("a" * 64, b"contents")
    (path,) = entries(folder)
    path.unlink()
    os.mkfifo(path)
    assert reopened().load("a" * 64) is None
    path.unlink()
    path.mkdir()
    assert reopened().load("a" * 64) is None
    (folder / SECRET).unlink()
    os.mkfifo(folder / SECRET, 0o600)
    assert reopened() is None


@posix
def test_the_folder_may_be_named_from_the_users_home(tmp_path, monkeypatch):
    monkeypatch.delenv("PYFLAT_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYFLAT_CACHE_DIR", "~/kernels")
    monkeypatch.chdir(tmp_path)
    assert opened().folder == tmp_path / "kernels"
    assert not (tmp_path / "~").exists()


def test_entries_of_another_secret_or_under_another_name_are_not_believed(folder):
    opened().store("a" * 64, b"contents")
    (path,) = entries(folder)
    path.rename(folder / ("b" * 64 + SUFFIX))
    assert reopened().load("b" * 64) is None
    (folder / ("b" * 64 + SUFFIX)).rename(path)
    (folder / SECRET).write_bytes(b"s" * 32)
    assert reopened().load("a" * 64) is None


@posix
@pytest.mark.parametrize(("name", "mode"), [(".", 0o777), (".", 0o720), (SECRET, 0o644), (SECRET, 0o640)])
def test_what_others_may_change_is_not_trusted(folder, name, mode):
    opened().store("a" * 64, b"contents")
    (folder / name).chmod(mode)
    assert reopened() is None


@posix
def test_a_folder_of_another_user_is_not_trusted(folder, monkeypatch):
    opened()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert reopened() is None


@posix
def test_a_secret_that_is_a_link_or_too_short_is_not_trusted(folder, tmp_path):
    opened()
    (folder / SECRET).write_bytes(b"short")
    assert reopened() is None
    (folder / SECRET).unlink()
    (tmp_path / "elsewhere").write_bytes(b"s" * 32)
    (folder / SECRET).symlink_to(tmp_path / "elsewhere")
    assert reopened() is None


def test_without_a_folder_there_is_no_cache(folder, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYFLAT_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    assert reopened() is None
    monkeypatch.setenv("PYFLAT_CACHE", "0")
    assert reopened() is None


def test_a_folder_that_cannot_be_written_is_read(folder, monkeypatch):
    opened().store("a" * 64, b"contents")

    def refused(*_, **__):
        raise PermissionError("read-only")

    plainly = os.open
    monkeypatch.setattr(os, "open", lambda path, flags, *mode: (refused if flags & os.O_EXCL else plainly)(path, flags, *mode))
    monkeypatch.setattr(os, "utime", refused)
    reopened().store("b" * 64, b"more")
    assert (opened().load("a" * 64), opened().load("b" * 64)) == (b"contents", None)


def test_the_oldest_entries_go_when_there_are_too_many(folder, monkeypatch):
    for k in range(8):
        opened().store(f"{k}" * 64, bytes(1000))
        os.utime(folder / (f"{k}" * 64 + SUFFIX), (k, k))
    monkeypatch.setattr(disk_cache, "MOST_BYTES", 6000)
    reopened().store("8" * 64, bytes(1000))
    assert [path.name[0] for path in entries(folder)] == ["4", "5", "6", "7", "8"]


def test_many_write_at_once(folder):
    def work(k):
        for _ in range(20):
            opened().store("a" * 64, b"contents" * 1000)
            assert opened().load("a" * 64) in (None, b"contents" * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert reopened().load("a" * 64) == b"contents" * 1000


# --- kernels


def kernel(x):
    return x * 3.5 + 1.0 if x > 2.0 else x - 0.25


@pytest.fixture
def translations(monkeypatch):
    """How often LLVM has translated something."""
    jit = pytest.importorskip("pyflat.targets.numba.jit")
    made, translate = [], jit._translated
    _compile_the_feed()

    def counted(text, cpu, *options):
        made.append(cpu)
        return translate(text, cpu, *options)

    monkeypatch.setattr(jit, "_translated", counted)
    return made


def _compile_the_feed():
    """What all kernels share is there already, for each of the processors."""
    from pyflat.targets.numba import feed

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYFLAT_CACHE", "0")
        feed.feed_address()
        patch.setenv("NUMBA_CPU_NAME", "generic")
        feed.feed_address()


def run_anew(function, *arrays, **options):
    """As a new process would, without what is in memory."""
    disk_cache._opened_at.cache_clear()
    return pyflat.twin(function, target="numba", cache=False, **options)(*arrays)


X = np.linspace(0.0, 5.0, 100)


def test_a_kernel_is_translated_once(folder, translations):
    first = run_anew(kernel, X)
    assert (len(translations), len(entries(folder))) == (1, 1)
    assert np.array_equal(run_anew(kernel, X), first)
    assert len(translations) == 1


def test_code_from_disk_shows_its_ir(folder):
    pytest.importorskip("numba")
    _compile_the_feed()
    run_anew(kernel, X)
    disk_cache._opened_at.cache_clear()
    twin = pyflat.twin(lambda x: x * 3.5 + 1.0 if x > 2.0 else x - 0.25, target="numba", math="exact")
    twin(X)
    assert len(entries(folder)) == 1
    assert "fmul" in twin.inspect_llvm() and "mul" in twin.inspect_asm()


@pytest.mark.parametrize("spoil", [lambda data: data[:200], lambda data: os.urandom(len(data))], ids=["part", "noise"])
def test_a_damaged_kernel_is_translated_again(folder, translations, spoil):
    first = run_anew(kernel, X)
    (path,) = entries(folder)
    path.write_bytes(spoil(path.read_bytes()))
    assert np.array_equal(run_anew(kernel, X), first)
    assert len(translations) == 2


def test_another_processor_is_another_kernel(folder, translations, monkeypatch):
    first = run_anew(kernel, X)
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert np.array_equal(run_anew(kernel, X), first)
    assert (len(translations), len(entries(folder))) == (2, 2)


def test_other_versions_are_other_kernels(folder, translations, monkeypatch):
    jit = pytest.importorskip("pyflat.targets.numba.jit")
    for version in ("0.0.1", "0.0.2"):
        monkeypatch.setattr(jit, "__version__", version)
        run_anew(kernel, X)
    assert len(translations) == 2


def test_other_constants_are_other_kernels(folder, translations):
    results = []
    for scale in (2.0, 3.0):
        results.append(run_anew(lambda x: x * scale, X))
    assert np.array_equal(results[1], X * 3.0) and len(translations) == 2


def test_the_code_of_a_long_table_reads_the_table_that_is_there(folder, translations):
    def looked_up(table, dtype):
        def entry(k):
            return table[k]
        return run_anew(entry, np.array([0, 1, -1, 4_999]), dtype=dtype).tolist()

    for dtype in ("float64", "float32"):
        for kind in (float, int, bool):
            for start in (0, 7, 12):
                table = tuple(kind(number % 3) for number in range(start, start + 5_000))
                assert looked_up(table, dtype) == [table[k] for k in (0, 1, -1, 4_999)]
    assert len(translations) <= 6, "what is in a table is no part of its code"


def test_modules_with_addresses_in_them_are_not_stored(folder, translations):
    made = pyflat.twin(kernel, target="numba", cache=False).ufunc
    assert np.array_equal(made(X), [kernel(x) for x in X.tolist()])
    stored = [path.read_bytes() for path in entries(folder)]
    assert len(translations) > len(stored)


PROGRAM = """
    import math, sys
    import numpy as np
    import pyflat
    from pyflat.targets.numba import jit as numba_jit

    made = []
    translate = numba_jit._translated
    numba_jit._translated = lambda *given: (made.append(1), translate(*given))[1]

    def curve(x, n):
        trips = 0
        while x > 1.0 and trips < 40:
            x = x * 0.9
            trips += 1
        return math.gamma(x + 1.0) + math.exp(x) * math.sin(n) + round(x, 2) + trips

    def numpys(x):
        return np.tanh(x) + np.logaddexp(x, 1.0)

    x = np.linspace(0.5, 50.0, 333)
    values = pyflat.twin(curve, target="numba", math="exact")(x, 2.5)
    assert values.tolist() == [curve(a, 2.5) for a in x.tolist()]
    assert pyflat.twin(numpys, target="numba")(x).tolist() == [numpys(a) for a in x.tolist()]
    print(len(made))
"""


def start(path, folder):
    environment = {**os.environ, "PYFLAT_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PYFLAT_CACHE", None)
    return subprocess.Popen([sys.executable, str(path)], env=environment, stdout=subprocess.PIPE, text=True)


def test_other_processes_resolve_functions_and_callbacks_afresh(folder, tmp_path):
    """round calls back into Python, gamma reads tables, exp is the C library's, tanh a loop of NumPy's, and the loop of
    logaddexp has data: their addresses differ in each process."""
    pytest.importorskip("numba")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    counts = []
    for _ in range(2):
        process = start(path, folder)
        counts.append(process.communicate(timeout=HANG)[0].strip())
        assert process.returncode == 0
    assert counts[0] != "0" and counts[1] == "0"


def test_processes_at_the_same_time(folder, tmp_path):
    pytest.importorskip("numba")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    started = [start(path, folder) for _ in range(3)]
    for process in started:
        process.communicate(timeout=HANG)
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(entries(folder)) >= 1
