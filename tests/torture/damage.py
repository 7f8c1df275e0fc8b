#!/usr/bin/env python3
"""damage.py FROM TO: for each line "FILE COLUMN ROW COMPONENT VALUE" of standard input a stream in the folder TO, that of
FROM/FILE.nb with this number instead of its own, and right checksums.  A place that is not there is left out."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import mutate  # noqa: E402

source, target = sys.argv[1:]
for line in sys.stdin:
    name, column, row, component, value = line.split()
    with open(os.path.join(source, name + ".nb"), "rb") as f:
        data = f.read()
    frame = mutate.Frame(data)
    try:
        mutate.set_number(frame, frame.index(column), int(row), int(component), value)
    except (ValueError, struct.error):
        continue
    with open(os.path.join(target, "-".join(line.split()) + ".nb"), "wb") as f:
        f.write(frame.encode() + data[frame.size:])
