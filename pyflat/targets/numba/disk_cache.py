"""Machine code on disk, for the next process: content-addressed, and never run unless this user's pyflat wrote it.

An entry's name is the SHA-256 of everything that its code depends on; nothing is ever stale, and there is nothing to
invalidate. An entry is

    MAGIC, HMAC-SHA256 of (name, contents) with the user's secret, contents

The secret is a file of 32 random bytes in the cache folder that only the user may read (mode 0600); without it an entry
that `load` accepts cannot be made. The folder and the secret must belong to the user, and no other user may write
there; where that is not so, or something cannot be read or written, there is no cache and all works without. Entries
are written to a temporary file and renamed, so that several processes may share a folder.

PYFLAT_CACHE_DIR names the folder, ~ is the user's home (default: the user's cache folder of the platform);
PYFLAT_CACHE=0 does without.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

MAGIC = b"pyflat machine code 1\n"
SUFFIX = ".code"
SECRET = "secret"
SECRET_BYTES = 32
MOST_BYTES = 256 * 2**20
"""What the folder may hold; the entries that were not used for longest go first."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe in the place of a file is no reason to wait."""
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

    def _prune(self) -> None:
        """Once in a process: remove what was not used for longest, down to three quarters of the limit."""
        if self._pruned:
            return
        self._pruned = True
        entries = []
        with os.scandir(self.folder) as listed:
            for entry in listed:
                if entry.name.endswith(SUFFIX):
                    with contextlib.suppress(OSError):  # another process has removed it
                        found = entry.stat()
                        entries.append((found.st_mtime, found.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        if total <= MOST_BYTES:
            return
        for _, size, path in sorted(entries):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= MOST_BYTES * 3 // 4:
                return


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
    named = os.environ.get("PYFLAT_CACHE_DIR")
    return _opened_at(os.path.expanduser(named) if named else _default_folder(), os.getpid())


@lru_cache(maxsize=1)
def _default_folder() -> str:
    from platformdirs import user_cache_path

    return str(user_cache_path("pyflat", appauthor=False) / "kernels")


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
        _write(path, secrets.token_bytes(SECRET_BYTES), exclusive=True)
    handle = os.open(path, _READ | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not _ours(found, private=True):
            return None
        secret = file.read(SECRET_BYTES + 1)
    return secret if len(secret) == SECRET_BYTES else None


def _write(path: Path, data: bytes, *, exclusive: bool = False) -> None:
    """Write a file (mode 0600) so that no process sees a part of it; `exclusive`: unless it is there."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="new-")
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
