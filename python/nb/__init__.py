"""N-body gravity: the nb programs and their particle streams, for NumPy.

    frames = nb.read("run.nb")                                    # a file, mapped: nothing is copied
    frame = nb.run("nb-gen plummer -n 1000 | nb-force -e 0.1")[0]
    frame = nb.pipe(frame, "nb-force -e 0.01")                    # arrays in, arrays out
    for frame in nb.live("nb-gen plummer | nb-step -d 0.01 -k 100 --every 10 'nb-force -e 0.1'"): ...

A frame is the state at one time.  frame["pos"] is an array of shape (n, 3), frame["mass"] one of shape (n,), in the units
that frame.columns["pos"].unit names and in which G is frame.number("G", 1).  nb-python(7) has more, and nb-stream(5)
says which columns and attributes there are.
"""
from .chain import Live, ProgramError, live, output, pipe, run
from .frame import Column, Frame, MissingColumn, StreamError
from .stream import Frames, Writer, read, stdin, stdout, write

__all__ = ["Column", "Frame", "Frames", "Live", "MissingColumn", "ProgramError", "StreamError", "Writer",
           "live", "output", "pipe", "read", "run", "stdin", "stdout", "write"]


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module 'nb' has no attribute '{name}'")
    return output("nb --version").decode().split()[1]
