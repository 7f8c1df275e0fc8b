"""Files in memory, in which large frames go to a pipeline and come from it.

It takes longer to get a new page of memory than to fill it.  So files that nobody needs any more wait, with their pages,
for the next pipeline.
"""
from __future__ import annotations

import mmap
import os
import tempfile
from typing import IO, Any, Optional

import numpy as np

LEAST = 4 << 20  # bytes from which on a file is kept ...
MOST = 256 << 20  # ... and up to which, of both uses together

# files, and what is mapped of them
_spare: dict[str, list[tuple[IO[bytes], Optional[np.ndarray]]]] = {"input": [], "output": []}
_forks = 0


def unnamed(use: str) -> IO[bytes]:
    """A new file in memory, or in a folder where the system has none in memory."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("nb-" + use), "w+b", 0)
    return tempfile.TemporaryFile(buffering=0)


class Memory:
    """A file in memory, for "input" or "output" of a pipeline.  It may hold what an earlier one did, so end() says where it
    ends.  Its pages go on when this object and all Pages of it are gone; an exception in a with block closes it.

    private   it is on a disk, or others may have it still: its pages never go on
    """

    def __init__(self, use: str) -> None:
        try:
            self.file, self.map = _spare[use].pop()
        except IndexError:
            self.file, self.map = unnamed(use), None
        self.use, self.private, self._forks = use, not hasattr(os, "memfd_create"), _forks
        self.file.seek(0)

    def fileno(self) -> int:
        return self.file.fileno()

    def room(self, size: int) -> np.ndarray:
        """So many bytes from its beginning, mapped."""
        if os.fstat(self.fileno()).st_size < size:
            self.file.truncate(size)
        if self.map is None or len(self.map) < size:
            self.map = np.frombuffer(mmap.mmap(self.fileno(), size), np.uint8)
        return self.map[:size]

    def end(self) -> None:
        """It ends where it has been written to, and is read from its beginning."""
        self.file.truncate()
        self.file.seek(0)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind:
            self.file.close()
            self.map = None

    def __del__(self) -> None:
        if not hasattr(self, "_forks") or self.file.closed:
            return
        size = os.fstat(self.fileno()).st_size
        kept = sum(os.fstat(file.fileno()).st_size for files in _spare.values() for file, _ in files)
        if LEAST <= size <= MOST - kept and self._forks == _forks and not self.private:
            _spare[self.use].append((self.file, self.map))
        else:
            self.file.close()


class Pages(mmap.mmap):
    """Mapped bytes, which keep what they are of."""
    of: Any = None


def drop() -> None:
    """Gives back the memory that waits for the next pipeline."""
    for files in _spare.values():
        while files:
            files.pop()[0].close()


def _fork() -> None:
    """Both processes may have arrays of one file from now on, whose pages must not go on in either."""
    global _forks
    _forks += 1


os.register_at_fork(before=_fork, after_in_child=drop)
