"""Particle streams, as nb-stream(5) has them: reading and writing."""
from __future__ import annotations

import functools
import itertools
import math
import mmap
import os
import re
import signal
import stat
import struct
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import IO, Any, Optional, Union, cast

import numpy as np

from .frame import DERIVED, FIELDS, KEY, TABLES, UNKNOWN, Bodies, Column, Frame, StreamError
from .memory import Memory, Pages

MAGIC = b"\x89NBS\r\n\x1a\n"
HEADER = struct.Struct("<8sHHIIIQ3QQIIQ48x")
ENTRY = struct.Struct("<32s8s4I24s2Q32x")
FRAME, END = 1, 2
TYPE = re.compile(r"<[biufc]([1-9]\d{0,3})|\|([biufc]1|[SV]([1-9]\d{0,3}))")
PIPE_SIZE = 1 << 20
BIG = 4 << 20  # bytes of a frame from which on its checksums are worth threads, and of a column, huge pages
PART = 4 << 20  # bytes that a thread takes at a time
THREADS = min(16, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
HUGE = 2 << 20
Source = Union[str, "os.PathLike[str]", int, IO[bytes], bytes, Memory]


def pad(n: int) -> int:
    return -n % 64


def fail(text: str) -> None:
    raise StreamError(text)


def _limit() -> int:
    text = os.environ.get("NB_MAX_FRAME")
    if text and not text.isdecimal():
        fail(f"NB_MAX_FRAME='{text}' is no number")
    return int(text) if text else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _open(file: Source, flags: int) -> tuple[int, bool]:
    """A descriptor, and whether it is to be closed."""
    if isinstance(file, int):
        return file, False
    if isinstance(file, (str, os.PathLike)):
        return os.open(file, flags | os.O_CLOEXEC, 0o666), True
    return file.fileno(), False  # type: ignore[union-attr]


class _Input:
    """Bytes one after the other: of a file that is mapped, of a pipe, or of memory."""

    def __init__(self, source: Source) -> None:
        self.fd, self.own, self.at = -1, False, 0
        self.map: Optional[np.ndarray] = None
        if isinstance(source, (bytes, bytearray, memoryview)):
            self.map = np.frombuffer(source, np.uint8)
            return
        self.fd, self.own = _open(source, os.O_RDONLY)
        self.memory = source if isinstance(source, Memory) else None
        state = os.fstat(self.fd)
        if stat.S_ISFIFO(state.st_mode):
            widen(self.fd)
        if stat.S_ISREG(state.st_mode):
            at = os.lseek(self.fd, 0, os.SEEK_CUR)
            if at % 64 == 0 and state.st_size > at:
                if not self.own:
                    self.fd, self.own = os.dup(self.fd), True
                self.map, self.at = self.mapped(0, state.st_size), at

    def mapped(self, at: int, end: int) -> np.ndarray:
        """These bytes of the file, in pages that may be changed while the file stays as it is."""
        start = at - at % mmap.ALLOCATIONGRANULARITY
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
        pages = Pages(self.fd, end - start, flags, mmap.PROT_READ | mmap.PROT_WRITE, offset=start)
        pages.of = self.memory
        return np.frombuffer(pages, np.uint8)[at - start:]

    def body(self, n: int, least: int) -> _Input:
        """The next n bytes of a file, or as many as there are, as an input of their own, mapped if it has the least
        number of bytes, as a mapping keeps the file open; of others this one."""
        if self.map is None or self.fd < 0:
            return self
        end = min(self.at + n, len(self.map))
        part = _Input(b"")
        if end > self.at:
            part.map = self.mapped(self.at, end) if n >= least else self.map[self.at:end].copy()
        self.at = end
        return part

    def take(self, n: int) -> np.ndarray:
        """The next n bytes, or as many as there are."""
        if self.map is not None:
            data = self.map[self.at:self.at + n]
            self.at += len(data)
            return data
        data, got = _pages(n), 0
        while got < n:
            count = os.readv(self.fd, [data[got:].data])
            if count == 0:
                break
            got += count
        return data[:got]

    def close(self) -> None:
        if self.own:
            os.close(self.fd)
        self.own = False


def _pages(n: int) -> np.ndarray:
    """Room for n bytes; of much it begins with a huge page, so that no small ones are needed at its ends."""
    spare = 0 if n < BIG else 2 * HUGE
    room = np.empty(n + spare, np.uint8)
    start = -room.ctypes.data % HUGE if spare else 0
    return room[start:start + n]


def widen(fd: int) -> None:
    try:
        import fcntl
        fcntl.fcntl(fd, getattr(fcntl, "F_SETPIPE_SZ", 1031), PIPE_SIZE)
    except OSError:
        pass  # more than this user may have


def _text(b: bytes, is_name: bool) -> Optional[str]:
    s = b.rstrip(b"\0").decode("latin-1")
    fine = all(" " <= c <= "~" for c in s) and (not is_name or (s and " " not in s))
    return s if fine else None


class _Parser:
    """Frames of an input, checked as the programs do, with their messages."""

    def __init__(self, source: Source, checked: bool = True) -> None:
        self.input, self.checked, self.limit = _Input(source), checked, _limit()
        self.frames = self.inner = 0  # since the start, and since the last end marker
        self.ended = False

    def need(self, n: int, part: str, input: Optional[_Input] = None) -> np.ndarray:
        data = (input or self.input).take(n)
        if len(data) < n:
            fail(f"truncated stream: {part} of frame {self.frames} ends after {len(data)} of {n} bytes")
        return data

    def next(self) -> Optional[Frame]:
        """The next frame, or None at the end."""
        while True:
            head = self.head()
            if head is None:
                return None
            if HEADER.unpack_from(head)[4] == FRAME:
                break
            self.ended, self.inner = True, 0
        self.ended = False
        frame = self.body(head)
        self.frames += 1
        self.inner += 1
        return frame

    def head(self) -> Optional[bytes]:
        """Header, attributes and directory."""
        k = self.frames
        magic = self.input.take(8).tobytes()
        if not magic and self.ended:
            return None
        if not magic and k == 0:
            fail("truncated stream: empty input (want a particle stream; did the command before it fail?)")
        if not magic:
            fail(f"truncated stream: no end marker after frame {k - 1}")
        if magic != MAGIC[:len(magic)]:
            fail(f"not a particle stream: wrong magic at the start of frame {k}")
        fixed = magic + (self.input.take(120).tobytes() if len(magic) == 8 else b"")
        if len(fixed) < 128:
            fail(f"truncated stream: header of frame {k} ends after {len(fixed)} of 128 bytes")
        _, major, minor, size, kind, crc, number, *rows, text, columns, entry, body = HEADER.unpack(fixed)
        if major == 1 << 8:
            fail("big-endian stream (want a little-endian one, see nb-stream(5))")
        if major != 1:
            fail(f"stream version {major}.{minor} (this program reads 1.x)")
        if not 128 <= size <= 4096 or size % 64 or text > 16 << 20 or columns > 1024 or not 128 <= entry <= 4096 or \
                kind not in (FRAME, END):
            fail(f"corrupt stream: header of frame {k} has impossible sizes")
        whole = size + text + pad(text) + columns * entry + pad(columns * entry)
        head = fixed + self.need(whole - 128, "header").tobytes()
        if zlib.crc32(head[24:], zlib.crc32(head[:20] + bytes(4))) != crc:
            fail(f"corrupt stream: header of frame {k} has the wrong CRC")
        if number != self.inner:
            fail(f"corrupt stream: frame {k} is numbered {number} (want {self.inner}; frames are missing or duplicated)")
        if kind == END and (any(rows) or text or columns or body):
            fail("corrupt stream: the end marker" + (f" after frame {k - 1}" if k else "") + " is not empty")
        for table, n in zip(TABLES, rows):
            if n > 1 << 40:
                fail(f"corrupt stream: frame {k} claims {n} rows of table '{table}'")
        return head

    def body(self, head: bytes) -> Frame:
        *_, size, _, _, _, r0, r1, r2, text, columns, entry, body = HEADER.unpack_from(head)
        frame = Frame(None, self.attributes(head[size:size + text]))
        frame._bare = dict(zip(TABLES, (r0, r1, r2)))
        entries = size + text + pad(text)
        offset = start = entries + columns * entry + pad(columns * entry)
        shapes: list[tuple[int, ...]] = []
        for at in range(entries, entries + columns * entry, entry):
            offset = self.entry(frame, shapes, head[at:at + 128], (r0, r1, r2), offset)
        if body != offset - start + 4 * columns + pad(4 * columns):
            fail(f"corrupt stream: the length of frame {self.frames} does not match its columns")
        input = self.input.body(body, 0 if self.checked else BIG)
        for (name, column), shape in zip(frame.columns.items(), shapes):
            dtype = column.array.dtype
            n = math.prod(shape) * dtype.itemsize
            data = self.need(n, f"column '{name}'", input)
            self.need(pad(n), "padding", input)
            column.array = data.view(dtype).reshape(shape)
        sums = self.need(4 * columns + pad(4 * columns), "checksums", input)[:4 * columns].tobytes()
        for (name, column), crc in zip(frame.columns.items(), struct.unpack(f"<{columns}I", sums)):
            column.sum, column.what = crc, f"column '{name}' of frame {self.frames}" if self.checked else ""
        return frame

    def attributes(self, text: bytes) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if text and (text[-1:] != b"\n" or b"\0" in text):
            fail(f"corrupt stream: attributes of frame {self.frames} are not lines of key=value")
        for line in text.decode("utf-8", "surrogateescape").split("\n")[:-1]:
            key, equals, value = line.partition("=")
            if not equals or not key:
                fail(f"corrupt stream: attributes of frame {self.frames} are not lines of key=value")
            if not KEY.fullmatch(key):
                fail(f"corrupt stream: frame {self.frames} has an attribute with the key {_shown(key)} "
                     "(want letters a to z, digits and _)")
            if "\\" in value:
                if not re.fullmatch(r"(?:[^\\]|\\[\\n])*", value):
                    fail(f"corrupt stream: attribute '{key}' of frame {self.frames} has a backslash that is neither \\\\ nor \\n")
                value = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else "\\", value)
            if key == "history":
                result.setdefault(key, []).append(value)
            elif key in result:
                fail(f"corrupt stream: attribute '{key}' appears twice in frame {self.frames}")
            else:
                result[key] = value
        return result

    def entry(self, frame: Frame, shapes: list[tuple[int, ...]], data: bytes, rows: tuple[int, int, int], offset: int) -> int:
        """Adds the column of a directory entry, without contents, and its shape; returns where the next one begins."""
        k = self.frames
        *texts, table, m, flags, _, unit, at, n = ENTRY.unpack(data)
        name, kind, unit = _text(texts[0], True), _text(texts[1], True), _text(unit, False)
        if name is None or kind is None or unit is None:
            raise StreamError(f"corrupt stream: a column name, type or unit of frame {k} is not plain text")
        match = TYPE.fullmatch(kind)
        item = int(match[1] or match[3] or 1) if match else 0
        if not 0 < item <= 4096 or (kind[0] == "<" and item == 1):
            fail(f"column '{name}' of frame {k} has type '{kind}' (want a little-endian NumPy type)")
        if table >= len(TABLES):
            fail(f"corrupt stream: column '{name}' of frame {k} belongs to unknown table {table}")
        if not 1 <= m <= 65536:
            fail(f"corrupt stream: column '{name}' of frame {k} has {m} components (want 1 to 65536)")
        want: int = rows[table] * m * item
        if want >= 1 << 64:
            fail(f"corrupt stream: column '{name}' of frame {k} has more bytes than can be counted")
        if n != want:
            fail(f"corrupt stream: column '{name}' of frame {k} has {n} bytes (want {want})")
        if at != offset:
            fail(f"corrupt stream: column '{name}' of frame {k} is at the wrong offset")
        if offset + n + pad(n) > self.limit:
            limit = os.environ.get("NB_MAX_FRAME")
            fail(f"column '{name}' of frame {k} has {n} bytes, more than " +
                 (f"NB_MAX_FRAME='{limit}'" if limit else "this machine's memory (NB_MAX_FRAME raises the limit)"))
        if name in frame:
            fail(f"corrupt stream: column '{name}' appears twice in frame {k}")
        if name in FIELDS:
            of, standard, components, _, derived = FIELDS[name]
            if of != TABLES[table] or (components and components != m) or standard[1] != kind[1]:
                fail(f"field '{name}' of frame {k} is {m} x '{kind}' per {TABLES[table]} "
                     f"(want {components} x '{standard}' per {of})")
            if flags & DERIVED and not derived:
                fail(f"corrupt stream: field '{name}' of frame {k} is marked as derived (flag bit 0)")
            flags |= derived
        try:
            dtype = np.dtype(kind)
        except TypeError:
            dtype = np.dtype(f"V{item}")  # a number that NumPy does not have is passed on
        shapes.append((rows[table], m) if m > 1 else (rows[table],))
        frame.columns[name] = Column(np.empty(0, dtype), TABLES[table], unit, flags, kind)
        return offset + want + pad(want)


def _shown(text: str) -> str:
    return "'" + "".join(c if c.isprintable() else "?" for c in text) + "'"


class Frames:
    """The frames of a stream, in order: what read() gives.

    Those of a file are also a sequence: frames[0], frames[-1], len(frames).  Those of a pipe come once.  A stream that is
    truncated or damaged raises StreamError at the frame where it is.
    """

    def __init__(self, source: Source, checked: bool = True) -> None:
        self._parser = _Parser(source, checked)
        self._places: list[tuple[int, int, int]] = []  # of a mapped file: where frames begin
        self._whole = False

    def _frame(self, k: int) -> Optional[Frame]:
        """Frame k of a mapped file, all before which are known."""
        parser = self._parser
        if k < len(self._places):
            other = parser.input.at, parser.frames, parser.inner, parser.ended
            parser.input.at, parser.frames, parser.inner = self._places[k]
            frame = parser.next()
            parser.input.at, parser.frames, parser.inner, parser.ended = other
            return frame
        place = parser.input.at, parser.frames, parser.inner
        frame = None if self._whole else parser.next()
        if frame is None:
            self._whole = True
        else:
            self._places.append(place)
        return frame

    def __iter__(self) -> Iterator[Frame]:
        mapped = self._parser.input.map is not None
        k = 0
        while True:
            frame = self._frame(k) if mapped else self._parser.next()
            if frame is None:
                return
            yield frame
            k += 1

    def __len__(self) -> int:
        if self._parser.input.map is None:
            raise TypeError("the frames of a pipe come once: iterate, or make a list of them")
        while self._frame(len(self._places)) is not None:
            pass
        return len(self._places)

    def __getitem__(self, k: int) -> Frame:
        n = len(self)
        if not -n <= k < n:
            raise IndexError(f"frame {k} of {n}")
        return cast(Frame, self._frame(k % n))

    def __del__(self) -> None:
        if hasattr(self, "_parser"):
            self._parser.input.close()


def read(source: Source) -> Frames:
    """The frames of a file, a pipe or bytes.

    source   a path, an open file or descriptor that nothing was read from, or bytes with a stream.  A regular file is
             mapped: no number is read before an array is used, and arrays may be changed without changing the file or
             what is read of it again.
             (As with the programs, another program that makes the file shorter meanwhile kills this one.)
    """
    return Frames(source)


def _encoded(frame: Frame) -> bytes:
    """Attributes as the stream has them."""
    lines = []
    for key, values in frame.attributes.items():
        if not KEY.fullmatch(key):
            fail(f"attribute key {_shown(key)} (want letters a to z, digits and _)")
        if isinstance(values, list) and key != "history":
            fail(f"attribute '{key}' has several values (only history may)")
        for value in values if isinstance(values, list) else [values]:
            lines.append(f"{key}={value}".replace("\\", "\\\\").replace("\n", "\\n") + "\n")
    text = "".join(lines).encode("utf-8", "surrogateescape")
    if b"\0" in text or len(text) > 16 << 20:
        fail("attributes have a zero byte, or more than 16 MiB")
    return text


def _parts(data: np.ndarray) -> list[np.ndarray]:
    return [data[k:k + PART] for k in range(0, len(data), PART)]


def _take(part: np.ndarray, place: Optional[np.ndarray], summed: bool) -> int:
    """Copies a part of a column to its place, if it has one, and gives its checksum, if that is needed."""
    if place is not None:
        place[:] = part
    return zlib.crc32(part) if summed else 0  # type: ignore[arg-type]


def _times(a: int, b: int) -> int:
    """The product of two polynomials modulo that of CRC-32, whose bits begin with that of x^0."""
    product = 0
    while a:
        if a & 1 << 31:
            product ^= b
        a = a << 1 & 0xffffffff
        b = b >> 1 ^ (0xedb88320 if b & 1 else 0)
    return product


@functools.lru_cache(None)
def _behind(n: int) -> int:
    """What multiplies a checksum if n bytes follow: x^(8 n), as in zlib's crc32_combine()."""
    return 1 << 31 if n == 0 else _times(1 << 23, _behind(n - 1)) if n & 1 else _times(_behind(n // 2), _behind(n // 2))


def _needs_sum(column: Column) -> bool:
    """Unless nobody has touched it, and it came without doubt."""
    return column.sum is None or column.what != ""


def _sum(column: Column, parts: list[np.ndarray], sums: Iterable[int]) -> int:
    """The checksum of a column of those of its parts.  What nobody has touched must have that with which it came."""
    crc = 0
    for part, crc_of_part in zip(parts, sums):
        crc = _times(crc, _behind(len(part))) ^ crc_of_part
    if column.sum is not None:
        if _needs_sum(column) and column.sum != crc:
            fail(f"corrupt stream: {column.what} has the wrong CRC")
        return column.sum
    return crc


class Writer:
    """Writes frames to a path, an open file or a descriptor, each at once, and the end marker.

        with nb.Writer("out.nb") as out:
            out.write(frame)

    After an exception inside, a path has what it had before, and an open file no end marker, so that readers see that the
    stream is not whole.
    """

    def __init__(self, file: Source) -> None:
        if hasattr(file, "flush"):
            file.flush()
        self._number, self._names, self._memory = 0, ("", ""), file if isinstance(file, Memory) else None
        path = os.path.realpath(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else ""
        if path and (os.path.isfile(path) or not os.path.exists(path)):
            # another name first: all of it or nothing; and it may be the file that is being read
            self._names = f"{path}.part{os.getpid()}", path
            self._fd, self._own = os.open(self._names[0], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), True
            if os.path.exists(path):
                os.chmod(self._fd, os.stat(path).st_mode & 0o7777)
        else:
            self._fd, self._own = _open(file, os.O_WRONLY)

    def write(self, bodies: Bodies) -> None:
        """Writes a frame: one that is whole when this returns.  bodies: as Frame.of() takes."""
        frame = Frame.of(bodies)
        rows = frame.rows()
        text = _encoded(frame)
        at = 128 + len(text) + pad(len(text)) + 128 * len(frame)
        entries, data = [], []
        if len(frame) > 1024:
            fail(f"{len(frame)} columns (want at most 1024)")
        for name, c in frame.columns.items():
            b = c.array.reshape(-1).view(np.uint8)
            for s, size, is_name in ((name, 32, True), (c.type, 8, True), (c.unit, 24, False)):
                if len(s) > size or _text(s.encode("utf-8"), is_name) != s:
                    fail(f"column {_shown(name)}: {_shown(s)} is not plain text of at most {size} letters")
            entries.append(ENTRY.pack(name.encode(), c.type.encode(), TABLES.index(c.table), c.components, c.flags, 0,
                                      c.unit.encode(), at, len(b)))
            data.append(b)
            at += len(b) + pad(len(b))
        head = self._head(FRAME, list(rows.values()), text, b"".join(entries), sum(len(b) + pad(len(b)) for b in data))
        pieces = [head] + [piece for b in data for piece in (b, bytes(pad(len(b))))]
        with ThreadPoolExecutor(THREADS) as pool:
            each = pool.map if at > BIG else map
            begin, room = self._room(at) if at > BIG else (0, None)
            sums = []
            at = begin + len(head)
            for c, b in zip(frame.columns.values(), data):
                parts = _parts(b) if room is not None or _needs_sum(c) else []
                places = [None] * len(parts) if room is None else _parts(room[at:at + len(b)])
                sums.append((c, parts, each(_take, parts, places, itertools.repeat(_needs_sum(c)))))
                at += len(b) + pad(len(b))
                if room is not None:
                    room[at - pad(len(b)):at] = 0
            if room is None:
                self._send(pieces)
            else:
                os.pwrite(self._fd, head, begin)
                os.lseek(self._fd, at, os.SEEK_SET)
            crc = [_sum(*one) for one in sums]
        self._send([struct.pack(f"<{len(crc)}I", *crc) + bytes(pad(4 * len(crc)))])
        self._number += 1

    def _head(self, kind: int, rows: list[int], text: bytes, entries: bytes, body: int) -> bytes:
        columns = len(entries) // 128
        head = HEADER.pack(MAGIC, 1, 0, 128, kind, 0, self._number, *rows, len(text), columns, 128,
                           body + 4 * columns + pad(4 * columns)) + text + bytes(pad(len(text))) + entries
        return head[:20] + struct.pack("<I", zlib.crc32(head)) + head[24:]

    def _send(self, pieces: list[Any]) -> None:
        views = [memoryview(p) for p in pieces if len(p)]
        while views:
            sent = os.writev(self._fd, views[:512])
            while views and sent >= len(views[0]):
                sent -= len(views.pop(0))
            if sent:
                views[0] = views[0][sent:]

    def _room(self, size: int) -> tuple[int, Optional[np.ndarray]]:
        """Where the frame begins in a file in memory, and the bytes of that with so many more."""
        if not self._memory:
            return 0, None
        begin = os.lseek(self._fd, 0, os.SEEK_CUR)
        return begin, self._memory.room(begin + size)

    def end(self) -> None:
        """Writes the end marker.  A path has its new file then."""
        self._send([self._head(END, [0, 0, 0], b"", b"", 0)])
        self._number = 0
        if self._names[0]:
            os.replace(*self._names)
            self._names = "", ""
        self.close()

    def close(self) -> None:
        """Gives up: no end marker is written, and a path keeps what it had.  After end() nothing happens."""
        if self._own:
            self._own = False
            os.close(self._fd)
            if self._names[0]:
                os.unlink(self._names[0])

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Any) -> None:
        if kind is None:
            self.end()
        else:
            self.close()

    def __del__(self) -> None:
        if hasattr(self, "_own"):
            self.close()


def write(file: Source, frames: Union[Bodies, Iterable[Bodies]]) -> None:
    """Writes a stream: of one frame, or of several.  What a frame may be: see Frame.of().

    file   a path, which has all of it or, after an exception, what it had before; or an open file or descriptor
    """
    with Writer(file) as out:
        for frame in [frames] if isinstance(frames, (Frame, Mapping, np.ndarray)) else frames:
            out.write(frame)


def _is_filter() -> None:
    """This process is a program of a pipeline: trouble with a stream is one line, and it ends with its reader."""
    def tell(kind: type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
        if not isinstance(error, (StreamError, OSError)):
            return sys.__excepthook__(kind, error, trace)
        print(f"{os.path.basename(sys.argv[0])}: {error.strerror if isinstance(error, OSError) else error}", file=sys.stderr)

    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = tell
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # a run before it ends by the first one, and then writes its last frame
            signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, signal.SIG_DFL) and None)


def stdin() -> Frames:
    """The frames of standard input, for a filter: a program that reads a stream and writes one.

    From now on this process acts as the programs do: StreamError and OSError are one line on standard error and exit status
    1, SIGPIPE ends it, and the first Ctrl-C leaves it to a run in front of it to end.
    """
    _is_filter()
    if os.isatty(0):
        fail("standard input is a terminal (want a particle stream)")
    return Frames(0)


def stdout() -> Writer:
    """A writer to standard output, for a filter; see stdin()."""
    _is_filter()
    if os.isatty(1):
        fail("standard output is a terminal (a particle stream is binary: redirect it)")
    return Writer(1)
