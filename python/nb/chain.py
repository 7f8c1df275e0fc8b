"""Pipelines of programs: arrays in, arrays out.

The processes are those of the shell's pipe, without the shell, and fold as there.  Frames that are taken as they are needed go
in through a pipe, and come out through one while a pipeline runs.  A single frame is given as a file in memory, which programs
map, and run() has the last program write one, whose pages the arrays are.  What comes from a program of nb is read without
sums.
"""
from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, Optional, Union

import numpy as np

from .frame import Bodies, Frame, StreamError
from .memory import Memory, unnamed
from .stream import Frames, Source, widen, write

Command = Union[str, "list[list[str]]"]
Input = Union[None, Bodies, Iterable[Bodies], Source]

GRACE = 1.0  # seconds to end in after a signal
KILLED = 10.0  # the same after SIGKILL, which no program can delay, but a loaded machine
# a command without expansions, redirections and lists
PLAIN = re.compile(r"""(?:[^'"\\$`*?\[\]<>&;()~#{}!]|'[^']*'|"[^"$`\\]*"|\\[^\n])*""")
TOKEN = re.compile(r"""(?:[^\s'"\\|]|'[^']*'|"[^"]*"|\\.)+|\||\n""")


class ProgramError(RuntimeError):
    """A program of a pipeline has failed.  The message is its line on standard error.

    messages   all that the pipeline wrote there
    status     exit status of each program; the negative number of the signal that ended it
    """

    def __init__(self, line: str, messages: str, status: list[int]) -> None:
        super().__init__(line)
        self.messages, self.status = messages, status


@functools.lru_cache(None)
def folder(forced: Optional[str]) -> Optional[str]:
    """Where the programs are that belong to this package; None: PATH knows.  $NB_BIN forces one."""
    here = os.path.dirname(os.path.abspath(__file__))
    for place in (forced, sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"),
                  os.path.join(here, "../bin"), os.path.join(here, "../../../bin")):
        if place and os.access(os.path.join(place, "nb"), os.X_OK) and os.path.exists(os.path.join(place, "nb-force")):
            return os.path.abspath(place)
    return None


def stages(command: str) -> Optional[list[list[str]]]:
    """The words of each program of a pipeline; None if that takes a shell."""
    if not PLAIN.fullmatch(command.strip()):
        return None
    result: list[list[str]] = [[]]
    for token in TOKEN.findall(command.strip()):
        if token == "|":
            result.append([])
        elif token != "\n":
            result[-1] += shlex.split(token)
        elif result[-1]:
            return None  # another command
    return None if any(not s or re.match(r"\w+=", s[0]) for s in result) else result


_starting = threading.RLock()  # a fork meanwhile would keep ends of pipes open


def _is_ours(name: str) -> bool:
    return name == "nb" or name.startswith("nb-")


def _apart(work: Callable[[], None]) -> None:
    """Does it in a thread of its own, to its end even if Ctrl-C comes meanwhile: between the start of a program and the note
    that there is one nothing must happen, and signals are handled in the main thread."""
    gate, over = threading.Lock(), threading.Event()  # who takes the gate first decides whether it begins
    failed: list[BaseException] = []

    def do() -> None:
        if gate.acquire(blocking=False):
            try:
                work()
            except BaseException as error:
                failed.append(error)
            over.set()

    try:
        threading.Thread(target=do, daemon=True).start()
        over.wait()
    except BaseException:
        while not gate.acquire(blocking=False) and not over.is_set():
            with contextlib.suppress(KeyboardInterrupt):
                over.wait()
        raise
    if failed:
        raise failed[0]


class _Chain:
    """The processes of a pipeline.  stdin, stdout: descriptors."""

    def __init__(self, command: Command, stdin: int, stdout: int, stderr: Optional[IO[Any]]) -> None:
        place = folder(os.environ.get("NB_BIN"))
        env = dict(os.environ)
        if place:
            env["PATH"] = place + os.pathsep + env.get("PATH", os.defpath)
        if not isinstance(command, str) and any(isinstance(s, str) for s in command):
            raise TypeError("a command is a text, or a list of lists of words, such as [['nb-gen', 'plummer'], ['nb-stats']]")
        words = stages(command) if isinstance(command, str) else command
        if words is None or any(not shutil.which(s[0], path=env.get("PATH")) for s in words):
            if not isinstance(command, str):
                command = " | ".join(shlex.join(s) for s in command)
            words = [["bash", "-o", "pipefail", "-c", command] if shutil.which("bash") else ["sh", "-c", command]]
        self.shell = words[0][0] in ("bash", "sh")
        self.names = [os.path.basename(s[0]) for s in words]
        self.trusted = _is_ours(words[-1][0])
        self.programs: list[subprocess.Popen[bytes]] = []
        self.messages = None if stderr else unnamed("messages")
        try:
            with _starting:
                _apart(lambda: self._start(words, place, env, stdin, stdout, stderr or self.messages))
        except BaseException:
            self.kill()
            raise

    def _start(self, words: list[list[str]], place: Optional[str], env: dict[str, str], stdin: int, stdout: int,
               stderr: Any) -> None:
        """The last one first: it listens when the one before it looks for it, and they fold."""
        out, opened = stdout, -1
        try:
            for k in range(len(words) - 1, -1, -1):
                name = words[k][0]
                ours = place and _is_ours(name)
                read_end, write_end = os.pipe() if k else (stdin, -1)
                try:
                    self.programs.insert(0, subprocess.Popen(
                        words[k], executable=os.path.join(place or "", "nb") if ours else None, env=env,
                        stdin=read_end, stdout=out, stderr=stderr, start_new_session=self.shell))
                finally:
                    if k:
                        os.close(read_end)
                    if opened >= 0:
                        os.close(opened)
                    out = opened = write_end
        except BaseException:
            if opened >= 0:
                os.close(opened)
            raise

    def wait(self, closed: bool = False) -> None:
        """Waits for all.  ProgramError if one has failed; any exception ends all.  closed: nobody reads what comes, which is
        no failure, and they have a moment to end."""
        try:
            status = [p.wait(GRACE if closed else None) for p in self.programs]
        except subprocess.TimeoutExpired:
            return self.kill()
        except BaseException:
            self.kill()
            raise
        text = ""
        if self.messages:
            self.messages.seek(0)
            text = self.messages.read().decode("utf-8", "replace")
            self.messages.close()
        failed = [k for k, s in enumerate(status) if s not in (0, -signal.SIGPIPE)]
        if status[-1] and not failed and not closed:
            failed = [len(status) - 1]
        if failed:
            lines = text.strip().splitlines() or [f"{self.names[failed[0]]}: exit status {status[failed[0]]}"]
            own = [line for k in failed for line in lines if line.startswith(self.names[k] + ":")]
            raise ProgramError((own or lines[-1:])[0], text, status)
        if text:
            sys.stderr.write(text)

    def kill(self) -> None:
        """Ends all that still run, and leaves no zombies.  (In a fork nothing happens: they are not its children.)"""
        for act, moment in ((signal.SIGTERM, GRACE), (signal.SIGKILL, KILLED)):
            for p in self.programs:
                if p.poll() is None:
                    os.killpg(p.pid, act) if self.shell else p.send_signal(act)
            for p in self.programs:
                try:
                    p.wait(moment)
                except subprocess.TimeoutExpired:
                    pass
        if self.messages:
            self.messages.close()


class _Given:
    """What a pipeline reads: a file, a frame in memory, or frames and bytes that a thread writes into a pipe."""

    def __init__(self, input: Input) -> None:
        self.error: Optional[BaseException] = None
        self.thread: Optional[threading.Thread] = None
        self.write_end = -1
        self.memory: Optional[Memory] = None
        if input is None or isinstance(input, (str, os.PathLike)):
            self.fd = os.open(os.devnull if input is None else input, os.O_RDONLY | os.O_CLOEXEC)
        elif isinstance(input, int) or hasattr(input, "fileno"):
            self.fd = os.dup(input if isinstance(input, int) else input.fileno())
        elif isinstance(input, (Frame, Mapping, np.ndarray)):
            with Memory("input") as self.memory:
                write(self.memory, input)
            self.memory.end()
            self.fd = os.dup(self.memory.fileno())
        else:
            self.fd, self.write_end = os.pipe()
            widen(self.fd)
            self.thread = threading.Thread(target=self.feed, args=(input,), daemon=True)

    def start(self) -> None:
        """The pipeline has what it reads."""
        os.close(self.fd)
        if self.thread:
            self.thread.start()

    def feed(self, input: Any) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})  # which may end a filter
        try:
            if isinstance(input, (bytes, bytearray, memoryview)):
                view = memoryview(input).cast("B")
                while len(view):
                    view = view[os.write(self.write_end, view):]
            else:
                write(self.write_end, input)
        except BrokenPipeError:
            pass  # it needs no more
        except BaseException as error:
            self.error = error
        self.close()

    def close(self) -> None:
        with _starting:
            if self.write_end >= 0:
                os.close(self.write_end)
            self.write_end = -1

    def join(self) -> None:
        self.memory = None
        if self.thread:
            self.thread.join(GRACE)


class Live:
    """The frames of a pipeline while it runs; what live() gives.  close(), the end of a with block, and the end of this
    object end the pipeline."""

    def __init__(self, command: Command, input: Input, stderr: Optional[IO[Any]], file: Optional[Memory] = None) -> None:
        self._fd = -1
        with _starting:
            self._given = _Given(input)
            self._fd, write_end = (os.dup(file.fileno()), os.dup(file.fileno())) if file else os.pipe()
            try:
                self._chain = _Chain(command, self._given.fd, write_end, stderr)
            except BaseException:
                self._close_end()
                self._given.thread = self._given.memory = None
                self._given.close()
                raise
            finally:
                os.close(write_end)
                self._given.start()
            for memory in (self._given.memory, file):
                if memory and not all(map(_is_ours, self._chain.names)):
                    memory.private = True
        self._frames: Iterator[Frame] = iter(() if file else Frames(self._fd, checked=not self._chain.trusted))
        _live.add(self)

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        if self._fd < 0:
            raise StopIteration
        try:
            return next(self._frames)
        except (StopIteration, StreamError) as end:
            self._finish(closed=isinstance(end, StreamError))
            raise
        except BaseException:
            self.close()
            raise

    def _finish(self, closed: bool = False) -> None:
        """Nothing more is read.  Says why, if a program has failed, or what it reads."""
        self._close_end()
        try:
            self._chain.wait(closed)
        except ProgramError:
            if self._given.error:
                raise self._given.error from None
            raise
        finally:
            self._given.join()

    def _close_end(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def close(self) -> None:
        """Ends the pipeline; nothing if it has ended."""
        if self._fd >= 0:
            self._close_end()
            self._chain.kill()
            self._given.join()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def run(command: Command, input: Input = None, stderr: Optional[IO[Any]] = None) -> list[Frame]:
    """Runs a pipeline to its end and gives the frames that it writes: run("nb-gen plummer -n 1000 | nb-force -e 0.1")[0].

    command   as in a shell, which is started only for what needs it, such as > and $; or a list of lists of words
    input     what the first program reads: a frame, or any number of them that are taken as they are needed, arrays (see
              Frame.of), a path, an open file, or bytes
    stderr    an open file for messages.  Otherwise they are printed in the end, or raised: ProgramError
    """
    words = stages(command) if isinstance(command, str) else command
    if not (words and words[-1] and _is_ours(words[-1][0])):  # what else writes may be endless
        with Live(command, input, stderr) as frames:
            return list(frames)
    with Memory("output") as file:
        with Live(command, input, stderr, file) as it:
            it._finish()
        file.end()
        return list(Frames(file, checked=False))


def output(command: Command, input: Input = None, stderr: Optional[IO[Any]] = None) -> bytes:
    """Runs a pipeline whose end is no stream, such as a table or a picture, and gives what it writes; see run()."""
    with Live(command, input, stderr) as it:
        with open(it._fd, "rb", closefd=False) as file:
            data = file.read()
        it._finish()
        return data


def pipe(bodies: Bodies, command: Command, stderr: Optional[IO[Any]] = None) -> Frame:
    """Sends bodies through a pipeline that makes one frame of one: pipe(frame, "nb-force -e 0.01")["acc"].

    bodies   a frame, a mapping of names to arrays, a structured array, or positions of shape (n, 3); see Frame.of.  With
             the columns come the units in which G is 1, unless a frame has the attribute G
    """
    frames = run(command, Frame.of(bodies), stderr)
    if len(frames) != 1:
        raise StreamError(f"the pipeline made {len(frames)} frames of one (want run(command, bodies))")
    return frames[0]


def live(command: Command, input: Input = None, stderr: Optional[IO[Any]] = None) -> Live:
    """Runs a pipeline and gives its frames one by one, as they come: for frame in live("nb-gen ... | nb-step ..."): ...

    An exception in the loop, or its end by break, ends the pipeline.  Arguments as of run().
    """
    return Live(command, input, stderr)


_live: "weakref.WeakSet[Live]" = weakref.WeakSet()


def _forked() -> None:
    """In a child of this process: what runs is not its own, and its pipe must not stay open here."""
    for frames in list(_live):
        frames._close_end()
        frames._given.close()
    _starting.release()


os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_forked)
