"""Machine code on disk, for the next process: content-addressed, and never run unless this user's pyflat wrote it.

An entry's name is the SHA-256 of everything that its code depends on; nothing is ever stale, and there is nothing to
invalidate. An entry is

    MAGIC, HMAC-SHA256 of (name, contents) with the user's secret, contents

The secret is a file of 32 random bytes in the cache folder that only the user may read (mode 0600); without it an entry
that `load` accepts cannot be made. The folder and the secret must belong to the user, and no other user may write
there; where that is not so, or something cannot be read or written, there is no cache and all works without. Entries
are written to a temporary file and renamed, so that several processes may share a folder. One of them makes an entry,
others that want it wait: each entry has a byte in the file `locks` that is locked meanwhile. The system lets go of it
when a process ends. Where files cannot be locked, or one waits too long, an entry is made twice.

PYFLAT_CACHE_DIR names the folder, ~ is the user's home (default: the user's cache folder of the platform);
PYFLAT_CACHE=0 does without.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path

MAGIC = b"pyflat machine code 1\n"
SUFFIX = ".code"
SECRET = "secret"
SECRET_BYTES = 32
LOCKS = "locks"
PATIENCE = 60.0
"""Seconds that a process waits for another one, which may have been stopped; then it makes the entry itself."""
PAUSE = 0.01
"""Seconds between two tries: waiting in the system would not see Ctrl-C everywhere."""
MOST_BYTES = 256 * 2**20
"""What the folder may hold; the entries that were not used for longest go first."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe in the place of a file is no reason to wait."""
_LOCKED = os.O_RDWR | os.O_CREAT | (_READ & ~os.O_RDONLY) | getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | (_READ & ~os.O_RDONLY) | getattr(os, "O_NOFOLLOW", 0)
_MAC_BYTES = hashlib.sha256().digest_size


def key_of(parts: Iterable[str]) -> str:
    """The name of an entry that depends on these texts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


class Cache:
    """The entries in one folder; `secret` is the user's."""

    def __init__(self, folder: Path, secret: bytes):
        self.folder = folder
        self._secret = secret
        self._pruned = False

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Inside there is one process at a time for each key, where the folder can be written. For one thread."""
        held = self._locks is not None and _wait_for(self._locks, _place(key))
        try:
            yield
        finally:
            if held and self._locks is not None:
                _unlock(self._locks, _place(key))

    @cached_property
    def _locks(self) -> int | None:
        """The file of the locks. It stays open: closing it would end all locks of the process."""
        try:
            handle = os.open(self.folder / LOCKS, _LOCKED, 0o600)
        except OSError:
            return None
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and _ours(found, private=True):
            return handle
        os.close(handle)
        return None

    def _mac(self, key: str, contents: bytes) -> bytes:
        return hmac.digest(self._secret, key.encode() + b"\n" + contents, "sha256")

    def load(self, key: str) -> bytes | None:
        """The contents of an entry that was written with this user's secret, else None."""
        path = self.folder / (key + SUFFIX)
        data = _read(path)
        if data is None:
            return None
        head = len(MAGIC) + _MAC_BYTES
        contents = data[head:]
        if data[: len(MAGIC)] != MAGIC or not hmac.compare_digest(data[len(MAGIC) : head], self._mac(key, contents)):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return contents

    def store(self, key: str, contents: bytes) -> None:
        """Write an entry; where that is not possible there is none."""
        try:
            self._prune()
            _write(self.folder / (key + SUFFIX), MAGIC + self._mac(key, contents) + contents)
        except OSError:
            return

    def sizes(self) -> list[int]:
        """The sizes of all entries, in bytes."""
        return [size for _, size, _ in self._entries()]

    def _entries(self) -> list[tuple[float, int, str]]:
        """When each was used last, its size and its path."""
        entries = []
        with os.scandir(self.folder) as listed:
            for entry in listed:
                if entry.name.endswith(SUFFIX):
                    with contextlib.suppress(OSError):  # another process has removed it
                        found = entry.stat()
                        entries.append((found.st_mtime, found.st_size, entry.path))
        return entries

    def _prune(self) -> None:
        """Once in a process: remove what was not used for longest, down to three quarters of the limit."""
        if self._pruned:
            return
        self._pruned = True
        entries = self._entries()
        total = sum(size for _, size, _ in entries)
        if total <= MOST_BYTES:
            return
        for _, size, path in sorted(entries):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= MOST_BYTES * 3 // 4:
                return


def _place(key: str) -> int:
    """The byte that is locked for a key. Two keys may have one: then they are made one after the other."""
    return int(key[:7], 16)


def _wait_for(handle: int, place: int) -> bool:
    """Lock a byte of a file. False where that is not possible, or takes too long."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            _lock(handle, place)
            return True
        except (BlockingIOError, PermissionError):  # another process has it
            if time.monotonic() > end:
                return False
            time.sleep(PAUSE)
        except OSError:
            return False


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int, place: int) -> None:
        os.lseek(handle, place, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int, place: int) -> None:
        os.lseek(handle, place, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(handle: int, place: int) -> None:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)

    def _unlock(handle: int, place: int) -> None:
        fcntl.lockf(handle, fcntl.LOCK_UN, 1, place)


def _read(path: Path) -> bytes | None:
    """What a plain file holds; None for another, and for one that cannot be an entry: the folder has less room."""
    try:
        handle = os.open(path, _READ)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
                return None
            return file.read(found.st_size)
    except (OSError, MemoryError):
        return None


def opened() -> Cache | None:
    """The cache that the environment asks for; None where there is none, or none that can be trusted."""
    if os.environ.get("PYFLAT_CACHE") == "0":
        return None
    return _opened_at(place(), os.getpid())


def place() -> str:
    """The folder of the cache, whether it is there or not."""
    named = os.environ.get("PYFLAT_CACHE_DIR")
    return os.path.expanduser(named) if named else _default_folder()


@lru_cache(maxsize=1)
def _default_folder() -> str:
    try:
        from platformdirs import user_cache_path
    except ImportError:
        folder = Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "pyflat"
    else:
        folder = user_cache_path("pyflat", appauthor=False)
    return str(folder / "kernels")


@lru_cache(maxsize=8)
def _opened_at(folder: str, _process: int) -> Cache | None:
    path = Path(folder)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(os.stat(path), private=False):
            return None
        secret = _secret(path / SECRET)
    except OSError:
        return None
    return None if secret is None else Cache(path, secret)


def _ours(found: os.stat_result, *, private: bool) -> bool:
    """Whether a file or folder belongs to this user, and no other user can change (`private`: or read) it."""
    if not hasattr(os, "geteuid"):  # Windows: a profile's folders are the user's
        return True
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & (0o077 if private else 0o022)


def _secret(path: Path) -> bytes | None:
    """The user's secret, made when there is none; None when it is not to be trusted."""
    if not os.path.lexists(path):
        _write(path, os.urandom(SECRET_BYTES), exclusive=True)
    handle = os.open(path, _READ | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not _ours(found, private=True):
            return None
        secret = file.read(SECRET_BYTES + 1)
    return secret if len(secret) == SECRET_BYTES else None


def _write(path: Path, data: bytes, *, exclusive: bool = False) -> None:
    """Write a file (mode 0600) so that no process sees a part of it; `exclusive`: unless it is there."""
    temporary = path.parent / f"new-{os.urandom(8).hex()}"
    handle = os.open(temporary, _NEW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if exclusive:
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path) if hasattr(os, "link") else os.rename(temporary, path)
        else:
            os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
