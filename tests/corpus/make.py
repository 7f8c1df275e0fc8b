#!/usr/bin/env python3
"""Writes the corpus of particle streams: good/, partial/ and bad/ with bad/expected.tsv, into the directory of this file,
or into the one given.  Standard library only: an independent writer after nb-stream(5).
"""
import os
import struct
import sys
import zlib

MAGIC = b"\x89NBS\r\n\x1a\n"
FRAME, END = 1, 2
PARTICLE, NODE, BOX = 0, 1, 2
DERIVED = 1


def pad(data):
    return data + bytes(-len(data) % 64)


def pack(code, numbers):
    return struct.pack("<%d%s" % (len(numbers), code), *numbers)


class Column:
    """An entry of the directory and its contents; what is not given follows from the contents."""

    def __init__(self, name, dtype, ncomp, data, table=PARTICLE, flags=0, unit=b"", **lie):
        self.name, self.dtype, self.ncomp, self.data = name, dtype, ncomp, data
        self.table, self.flags, self.unit = table, flags, unit
        self.bytes = lie.get("bytes")    # what the entry claims
        self.shift = lie.get("shift", 0)  # of the offset
        self.reserved = lie.get("reserved", b"")

    def entry(self, offset, size):
        entry = bytearray(size)
        entry[0:len(self.name)] = self.name
        entry[32:32 + len(self.dtype)] = self.dtype
        struct.pack_into("<III", entry, 40, self.table, self.ncomp, self.flags)
        entry[56:56 + len(self.unit)] = self.unit
        struct.pack_into("<QQ", entry, 80, offset + self.shift & 2**64 - 1, self.claimed())
        entry[96:96 + len(self.reserved)] = self.reserved
        return bytes(entry)

    def claimed(self):
        return len(self.data) if self.bytes is None else self.bytes


def real(name, ncomp, numbers, single=False, **more):
    return Column(name, b"<f4" if single else b"<f8", ncomp, pack("f" if single else "d", numbers), **more)


def whole(name, dtype, numbers, ncomp=1, **more):
    code = {b"<u8": "Q", b"<u4": "I", b"<u2": "H", b"|u1": "B", b"<i4": "i"}[dtype]
    return Column(name, dtype, ncomp, pack(code, numbers), **more)


def head(kind, number, rows=(0, 0, 0), attributes=b"", entries=b"", ncolumn=0, body=0, **lie):
    """Header, attributes and directory with their CRC.  lie: other values, also crc=0."""
    size = lie.get("header_size", 128)
    fixed = bytearray(max(size, 128))
    fixed[0:8] = MAGIC
    struct.pack_into("<HHIIIQQQQQIIQ", fixed, 8, lie.get("major", 1), lie.get("minor", 0), size, kind, 0, number, *rows,
                     lie.get("attribute_bytes", len(attributes)), lie.get("claimed_columns", ncolumn),
                     lie.get("entry_size", 128), lie.get("claimed_body", body))
    reserved = lie.get("reserved", b"")
    fixed[80:80 + len(reserved)] = reserved
    text = bytes(fixed) + pad(attributes) + pad(entries)
    return text[:20] + struct.pack("<I", lie.get("crc", zlib.crc32(text))) + text[24:]


def frame(columns, rows, attributes=b"", number=0, entry_size=128, **lie):
    start = max(lie.get("header_size", 128), 128) + len(pad(attributes)) + len(pad(bytes(entry_size * len(columns))))
    offset, entries = start, b""
    for column in columns:
        entries += column.entry(offset, entry_size)
        offset = offset + (column.claimed() + 63) // 64 * 64 & 2**64 - 1
    sums = pad(b"".join(struct.pack("<I", zlib.crc32(column.data)) for column in columns))
    body = offset - start + len(sums) & 2**64 - 1
    rows = tuple(rows) + (0,) * (3 - len(rows))
    lie.setdefault("entry_size", entry_size)
    return (head(FRAME, number, rows, attributes, entries, len(columns), body, **lie)
            + b"".join(pad(column.data) for column in columns) + sums)


def end(nframe=1, **lie):
    return head(END, nframe, **lie)


# ---- bodies ------------------------------------------------------------------------------------------

ATTRIBUTES = b"time=0\nG=1\ndim=3\nkey_cube=-2,-2,-2,4\n"


def spread(cell, dim, bits):
    """The Morton key of a cell: x has the highest bit of each group."""
    key = 0
    for bit in reversed(range(bits)):
        for k in range(dim):
            key = key << 1 | cell[k] >> bit & 1
    return key


def keys(place, dim, lower, edge):
    """Of bodies in a cube."""
    bits = 31 if dim == 2 else 21
    key = [spread([int((x - lower) / edge * 2**bits) for x in p[:dim]], dim, bits) for p in place]
    assert key == sorted(key)
    return whole(b"key", b"<u8", key, flags=DERIVED)


def bodies(n, single=False, dim=3, flags=None, **other):
    """id, mass, pos, vel, acc and key of n bodies that are sorted.  flags: of a column by its name; other: columns instead
    of these."""
    flat = [0 if k == 2 and dim == 2 else 1 for k in range(3)]
    place = [[flat[k] * (i + 0.25 * k - 1) for k in range(3)] for i in range(n)]
    standard = {
        "id": whole(b"id", b"<u8", list(range(n))),
        "mass": real(b"mass", 1, [1 / max(n, 1)] * n, single, unit=b"mass"),
        "pos": real(b"pos", 3, sum(place, []), single, unit=b"length"),
        "vel": real(b"vel", 3, [flat[k] * (0.5 * k - 0.25 * i) for i in range(n) for k in range(3)], single,
                    unit=b"velocity"),
        "acc": real(b"acc", 3, [flat[k] * 0.125 * (k - i) for i in range(n) for k in range(3)], single, flags=DERIVED,
                    unit=b"acceleration"),
        "key": keys(place, dim, -2, 4) if n <= 2 else None,
    }
    standard.update(other)
    for name, value in (flags or {}).items():
        standard[name].flags = value
    return list(standard.values())


def simple(n=2, **more):
    return frame(bodies(n, **more), [n], ATTRIBUTES)


def sorted_bodies(dim):
    """Two bodies in the first corner of the cube 0 to 4, one in each other corner but the last; sorted."""
    corner = [[digit >> (dim - 1 - k) & 1 for k in range(dim)] for digit in range(2**dim - 1)]
    place = [[0.5] * dim] + [[0.75 + 2.5 * c for c in at] for at in corner]
    place = [p + [0] * (3 - dim) for p in place]
    n = len(place)
    columns = bodies(n, dim=dim, pos=real(b"pos", 3, sum(place, []), unit=b"length"), key=keys(place, dim, 0, 4))
    return columns, place, b"time=0\nG=1\ndim=%d\nkey_cube=0,0,0,4\n" % dim


def node_of(place, first, count):
    """first, count, box, com, mass and second moments of a node."""
    at, n = place[first:first + count], len(place)
    com = [sum(p[k] for p in at) / count for k in range(3)]
    box = [min(p[k] for p in at) for k in range(3)] + [max(p[k] for p in at) for k in range(3)]
    quad = [sum((p[i] - com[i]) * (p[j] - com[j]) for p in at) / n for i, j in
            ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return first, count, box, com, count / n, quad


def tree(dim, order):
    """A root, its children, and the two leaves of the first child; leaf_size is 1."""
    columns, place, attributes = sorted_bodies(dim)
    most = len(place) - 1
    nodes = [node_of(place, 0, len(place)), node_of(place, 0, 2)]
    nodes += [node_of(place, 1 + k, 1) for k in range(1, most)]
    nodes += [node_of(place, 0, 1), node_of(place, 1, 1)]
    child, nchild = [0] * len(nodes), [0] * len(nodes)
    child[0], nchild[0] = 1, most
    child[1], nchild[1] = most + 1, 2
    of_nodes = [
        whole(b"node_first", b"<u4", [x[0] for x in nodes]),
        whole(b"node_count", b"<u4", [x[1] for x in nodes]),
        whole(b"node_child", b"<u4", child),
        whole(b"node_nchild", b"<u4", nchild),
        real(b"node_box", 6, sum((x[2] for x in nodes), []), unit=b"length"),
        real(b"node_com", 3, sum((x[3] for x in nodes), []), unit=b"length"),
        real(b"node_mass", 1, [x[4] for x in nodes], unit=b"mass"),
    ]
    if order == 2:
        of_nodes.append(real(b"node_quad", 6, sum((x[5] for x in nodes), []), unit=b"mass length^2"))
    for column in of_nodes:
        column.table, column.flags = NODE, DERIVED
    kind = b"octree" if dim == 3 else b"quadtree"
    attributes += b"leaf_size=1\norder=%d\ntree=%s\n" % (order, kind)
    return frame(columns + of_nodes, [len(place), len(nodes)], attributes) + end()


def boxes(dim):
    """The 4 squares or 8 cubes of level 1: all are neighbours."""
    columns, place, attributes = sorted_bodies(dim)
    nbox = 2**dim
    first = [0] + [min(b + 1, len(place)) for b in range(1, nbox)]
    around, neighbour = ([(dx, dy, dz) for dx in (-1, 0, 1) for dy in (-1, 0, 1) for dz in (-1, 0, 1)], [])
    around = [d[3 - dim:] for d in around if any(d) and not any(d[:3 - dim])]
    for b in range(nbox):
        at = [b >> (dim - 1 - k) & 1 for k in range(dim)]
        for d in around:
            to = [x + dx for x, dx in zip(at, d)]
            neighbour.append(spread(to, dim, 1) if all(x in (0, 1) for x in to) else -1)
    of_boxes = [whole(b"box_first", b"<u8", first), whole(b"box_neighbour", b"<i4", neighbour, ncomp=len(around))]
    for column in of_boxes:
        column.table, column.flags = BOX, DERIVED
    return frame(columns + of_boxes, [len(place), 0, nbox], attributes + b"level=1\ntree=boxes\n") + end()


# ---- good --------------------------------------------------------------------------------------------

def strange():
    return [
        whole(b"strange", b"<u2", [1, 2, 3, 4, 5, 6], ncomp=3),
        Column(b"void", b"|V3", 5, bytes(range(30))),
        Column(b"complex", b"<c16", 1, pack("d", [1, 2, 3, 4])),
        Column(b"text", b"|S4", 1, b"ab\0\0cdef"),
        Column(b"flag", b"|b1", 1, b"\1\0"),
        real(b"of_nodes", 1, [7], table=NODE),
        Column(b"of_boxes", b"<i8", 1, pack("q", [-1, 2, -3]), table=BOX),
    ]


LETTERS = "Größe µ Ω ☉ 𝛁".encode()


def good():
    yield "plain", simple() + end()
    yield "no-frames", end(0)
    yield "no-bodies", simple(0) + end()
    yield "one-body", simple(1) + end()
    yield "several-frames", b"".join(frame(bodies(n), [n], ATTRIBUTES, k) for k, n in enumerate((2, 0, 1))) + end(3)
    yield "two-streams", simple() + end() + simple(1) + end()
    yield "f32", simple(single=True) + end()
    yield "narrow-ids", frame(bodies(2, id=whole(b"id", b"<u2", [65535, 3])), [2], ATTRIBUTES) + end()
    yield "no-attributes", frame(bodies(2), [2]) + end()
    yield "attributes", frame(bodies(2), [2], ATTRIBUTES + b"empty=\nnote=two\\nlines, a \\\\ and = too\nunits=" + LETTERS
                              + b"\nkey_9=" + b"x" * 100 + b"\nhistory=one\nhistory=two\nhistory=two\n") + end()
    yield "unknown-columns", frame(bodies(2) + strange(), [2, 1, 3], ATTRIBUTES) + end()
    yield "two-dimensions", frame(bodies(2, dim=2), [2], b"dim=2\nkey_cube=-2,-2,-2,4\n") + end()
    yield "radius-species", frame(bodies(2) + [real(b"radius", 1, [0.5, 0], unit=b"length"),
                                               whole(b"species", b"|u1", [0, 255])], [2], ATTRIBUTES) + end()
    yield "potential-jerk", frame(bodies(2) + [real(b"pot", 1, [-1, -2], flags=DERIVED, unit=b"velocity^2"),
                                               real(b"jerk", 3, [1, 2, 3, 4, 5, 6], flags=DERIVED,
                                                    unit=b"acceleration/time")],
                                  [2], ATTRIBUTES + b"softening=0.125\n") + end()
    yield "unsorted", frame(bodies(2)[:5], [2], b"time=0\n") + end()
    yield "octree", tree(3, 2)
    yield "octree-order-1", tree(3, 1)
    yield "quadtree", tree(2, 2)
    yield "boxes", boxes(3)
    yield "boxes-two-dimensions", boxes(2)
    yield "middle-of-run", frame(bodies(2), [2], ATTRIBUTES.replace(b"time=0", b"time=1.5\ntime_rest=1e-17\nstep=3")) + end()
    yield "underived-acc", simple(flags={"acc": 0}) + end()
    yield "unknown-flags", simple(flags={"pos": 2, "acc": 0xffffffff}) + end()
    later = dict(minor=7, header_size=192, entry_size=192, reserved=b"\xff" * 112)
    columns = bodies(2)
    for column in columns:
        column.reserved = b"\xff" * 96
    yield "later-minor", frame(columns, [2], ATTRIBUTES, **later) + end(minor=7, header_size=192, reserved=b"\xff" * 112)


def partial():
    """Legal frames that lack what a program that computes needs."""
    yield "no-columns", frame([], [0]) + end()
    yield "rows-without-columns", frame([], [2, 3, 4]) + end()
    yield "only-pos", frame([bodies(2)[2]], [2]) + end()
    yield "only-unknown", frame(strange()[:1], [2]) + end()


# ---- bad ---------------------------------------------------------------------------------------------

def changed(data, at, byte=None):
    """One bit of a byte, or the byte."""
    return data[:at] + bytes([data[at] ^ 1 if byte is None else byte]) + data[at + 1:]


def with_column(column, rows=(2,)):
    return frame(bodies(2) + [column], rows, ATTRIBUTES) + end()


def with_attributes(text):
    return frame(bodies(2), [2], ATTRIBUTES + text) + end()


def with_head(**lie):
    return frame(bodies(2), lie.pop("rows", [2]), ATTRIBUTES, **lie) + end()


def bad():
    """name, which programs refuse it, message, stream.  reads: every program that reads a stream; computes: those that
    use the numbers."""
    one, last = simple(), end()
    whole_stream = one + last
    ncolumn, directory = len(bodies(2)), 128 + 64
    columns = directory + 128 * ncolumn
    pos = columns + 2 * 64  # behind id and mass
    sums = len(one) - 64

    def cut(name, at, message):
        return name, "reads", "truncated stream: " + message, whole_stream[:at]

    yield "empty", "reads", "truncated stream: empty input (want a particle stream; did the command before it fail?)", b""
    yield cut("cut-in-magic", 5, "header of frame 0 ends after 5 of 128 bytes")
    yield cut("cut-in-header", 64, "header of frame 0 ends after 64 of 128 bytes")
    yield cut("cut-in-attributes", 130, "header of frame 0 ends after 2 of %d bytes" % (columns - 128))
    yield cut("cut-in-directory", 400, "header of frame 0 ends after 272 of %d bytes" % (columns - 128))
    yield cut("cut-before-columns", columns, "column 'id' of frame 0 ends after 0 of 16 bytes")
    yield cut("cut-in-column", pos + 20, "column 'pos' of frame 0 ends after 20 of 48 bytes")
    yield cut("cut-in-padding", pos + 50, "padding of frame 0 ends after 2 of 16 bytes")
    yield cut("cut-before-checksums", sums, "checksums of frame 0 ends after 0 of 64 bytes")
    yield cut("cut-in-checksums", sums + 10, "checksums of frame 0 ends after 10 of 64 bytes")
    yield cut("no-end-marker", len(one), "no end marker after frame 0")
    yield cut("cut-in-end-marker", len(one) + 70, "header of frame 1 ends after 70 of 128 bytes")
    yield ("half-and-whole", "reads", "corrupt stream: column 'id' of frame 0 has the wrong CRC",
           one[:columns + 64] + whole_stream)

    magic = "not a particle stream: wrong magic at the start of frame "
    yield ("text", "reads",
           magic + "0 (this looks like text: put 'nb-convert --from csv' or 'nb-convert --from princeton' before)",
           b"id,mass,x,y,z\n0,1,0,0,0\n")
    for name, begin, what in (
            ("gzip", b"\x1f\x8b\x08\0\0\0\0\0", "gzip: put 'gzip -dc' before"),
            ("zstd", b"\x28\xb5\x2f\xfd\x24\x80\x11\0", "zstd: put 'zstd -dc' before"),
            ("xz", b"\xfd7zXZ\0\0\x04", "xz: put 'xz -dc' before"),
            ("bzip2", b"BZh91AY&SY", "bzip2: put 'bzip2 -dc' before"),
            ("hdf5", b"\x89HDF\r\n\x1a\n", "HDF5: put 'nb-convert --from auto' before"),
            ("npy", b"\x93NUMPY\x01\0", "a NumPy array: nb-stream(5) has a writer of streams in NumPy")):
        yield "foreign-" + name, "reads", magic + "0 (this is " + what + ")", begin + bytes(32)
    yield "wrong-magic", "reads", magic + "0", changed(whole_stream, 1)
    yield ("text-mode-transfer", "reads", magic + "0 (damaged by a text-mode transfer)",
           whole_stream.replace(b"\r\n", b"\n"))
    yield "trailing-text", "reads", magic + "1", whole_stream + b"trailing\n"
    yield "trailing-zeros", "reads", magic + "1", whole_stream + bytes(64)
    yield "zeros-between-frames", "reads", magic + "1", one + bytes(64) + frame(bodies(1), [1], number=1) + end(2)

    for major in (0, 2, 65535):
        yield ("version-%d" % major, "reads", "stream version %d.0 (this program reads 1.x)" % major,
               with_head(major=major))
    yield ("big-endian", "reads", "big-endian stream (want a little-endian one, see nb-stream(5))",
           with_head(major=1 << 8, minor=0))
    sizes = "corrupt stream: header of frame 0 has impossible sizes"
    yield "kind-0", "reads", sizes, head(0, 0) + last
    yield "kind-3", "reads", sizes, head(3, 0) + last
    yield "header-too-small", "reads", sizes, with_head(header_size=64)
    yield "header-no-multiple-of-64", "reads", sizes, with_head(header_size=130)
    yield "header-too-large", "reads", sizes, head(FRAME, 0, header_size=4160)[:1024]
    yield "entry-too-small", "reads", sizes, with_head(entry_size=96)
    yield "entry-too-large", "reads", sizes, head(FRAME, 0, entry_size=4097) + last
    yield "attributes-beyond-limit", "reads", sizes, with_head(attribute_bytes=(16 << 20) + 1)
    yield "columns-beyond-limit", "reads", sizes, with_head(claimed_columns=1025)

    crc = "corrupt stream: header of frame 0 has the wrong CRC"
    yield "header-checksum", "reads", crc, changed(whole_stream, 20)
    yield "header-reserved-changed", "reads", crc, changed(whole_stream, 100)
    yield "attribute-changed", "reads", crc, changed(whole_stream, 133)
    yield "directory-changed", "reads", crc, changed(whole_stream, directory + 128 + 56)
    yield ("end-marker-checksum", "reads", "corrupt stream: header of frame 1 has the wrong CRC",
           changed(whole_stream, len(one) + 20))
    yield ("column-changed", "reads", "corrupt stream: column 'pos' of frame 0 has the wrong CRC",
           changed(whole_stream, pos + 7))
    yield ("column-checksum", "reads", "corrupt stream: column 'vel' of frame 0 has the wrong CRC",
           changed(whole_stream, sums + 12))

    numbered = "corrupt stream: frame %d is numbered %d (want %d; frames are missing or duplicated)"
    second = frame(bodies(1), [1], number=1)
    yield "frame-missing", "reads", numbered % (0, 1, 0), second + end(2)
    yield "frame-doubled", "reads", numbered % (1, 0, 1), one + one + end(2)
    yield "frames-exchanged", "reads", numbered % (0, 1, 0), second + one + end(2)
    yield "end-marker-counts-more", "reads", numbered % (1, 2, 1), one + end(2)
    yield "end-marker-counts-less", "reads", numbered % (1, 0, 1), one + end(0)
    inhabited = "corrupt stream: the end marker after frame 0 is not empty"
    yield "end-marker-with-rows", "reads", inhabited, one + end(1, rows=(1, 0, 0))
    yield "end-marker-with-attributes", "reads", inhabited, one + end(1, attributes=b"time=0\n")
    yield "end-marker-with-columns", "reads", inhabited, one + end(1, entries=bodies(0)[0].entry(256, 128), ncolumn=1)
    yield "end-marker-with-body", "reads", inhabited, one + end(1, body=64) + bytes(64)

    claims = "corrupt stream: frame 0 claims %d rows of table '%s'"
    for table, name in enumerate(("particle", "node", "box")):
        rows = [2 if t == PARTICLE else 0 for t in range(3)]
        rows[table] = 2**40 + 1
        yield "%s-rows-beyond-limit" % name, "reads", claims % (rows[table], name), with_head(rows=rows)
    yield ("rows-beyond-column", "reads", "corrupt stream: column 'id' of frame 0 has 16 bytes (want 24)",
           with_head(rows=[3]))
    yield ("body-bytes", "reads", "corrupt stream: the length of frame 0 does not match its columns",
           with_head(claimed_body=64))

    lines = "corrupt stream: attributes of frame 0 are not lines of key=value"
    yield "attribute-without-equals", "reads", lines, with_attributes(b"note\n")
    yield "attribute-without-key", "reads", lines, with_attributes(b"=note\n")
    yield "attribute-without-newline", "reads", lines, with_attributes(b"note=1")
    yield "attribute-empty-line", "reads", lines, with_attributes(b"\nnote=1\n")
    yield "attribute-with-zero-byte", "reads", lines, with_attributes(b"note=a\0b\n")
    key = "corrupt stream: frame 0 has an attribute with the key '%s' (want letters a to z, digits and _)"
    yield "attribute-key-with-dash", "reads", key % "a-note", with_attributes(b"a-note=1\n")
    yield "attribute-key-with-blank", "reads", key % "a note", with_attributes(b"a note=1\n")
    yield "attribute-key-with-control", "reads", key % "no?[31mte", with_attributes(b"no\x1b[31mte=1\n")
    yield "attribute-key-not-ascii", "reads", key % "größe", with_attributes("größe=1\n".encode())
    yield ("attribute-twice", "reads", "corrupt stream: attribute 'time' appears twice in frame 0",
           with_attributes(b"time=1\n"))
    escape = "corrupt stream: attribute 'note' of frame 0 has a backslash that is neither \\\\ nor \\n"
    yield "attribute-unknown-escape", "reads", escape, with_attributes(b"note=a\\tb\n")
    yield "attribute-cut-escape", "reads", escape, with_attributes(b"note=a\\\n")

    plain = "corrupt stream: a column name, type or unit of frame 0 is not plain text"
    extra = dict(ncomp=1, data=bytes(16))
    yield "name-empty", "reads", plain, with_column(Column(b"", b"<f8", **extra))
    yield "name-with-blank", "reads", plain, with_column(Column(b"a b", b"<f8", **extra))
    yield "name-with-control", "reads", plain, with_column(Column(b"a\x1bb", b"<f8", **extra))
    yield "name-not-ascii", "reads", plain, with_column(Column("größe".encode(), b"<f8", **extra))
    yield "name-behind-zero-byte", "reads", plain, with_column(Column(b"a\0b", b"<f8", **extra))
    yield "unit-with-control", "reads", plain, with_column(Column(b"extra", b"<f8", unit=b"m\n", **extra))
    yield "type-empty", "reads", plain, with_column(Column(b"extra", b"", **extra))
    twice = "corrupt stream: column '%s' appears twice in frame 0"
    yield "column-twice", "reads", twice % "extra", frame([Column(b"extra", b"<f8", **extra)] * 2, [2]) + last
    yield "field-twice", "reads", twice % "pos", with_column(bodies(2)[2])

    little = "column 'extra' of frame 0 has type '%s' (want a little-endian NumPy type)"
    for name, dtype in (("big-endian", b">f8"), ("of-objects", b"|O8"), ("without-order", b"f8"), ("without-size", b"<f"),
                        ("of-size-0", b"<f0"), ("too-wide", b"|S9999"), ("byte-with-order", b"<u1")):
        yield "type-" + name, "reads", little % dtype.decode(), with_column(Column(b"extra", dtype, **extra))

    column = "corrupt stream: column 'extra' of frame 0 "
    yield "table-unknown", "reads", column + "belongs to unknown table 3", with_column(real(b"extra", 1, [1, 2], table=3))
    yield ("components-0", "reads", column + "has 0 components (want 1 to 65536)",
           with_column(Column(b"extra", b"<f8", 0, b"")))
    yield ("components-beyond-limit", "reads", column + "has 65537 components (want 1 to 65536)",
           with_column(Column(b"extra", b"<f8", 65537, b"")))
    yield ("column-too-short", "reads", column + "has 8 bytes (want 16)",
           with_column(Column(b"extra", b"<f8", 1, bytes(16), bytes=8)))
    yield ("column-too-long", "reads", column + "has 64 bytes (want 16)",
           with_column(Column(b"extra", b"<f8", 1, bytes(16), bytes=64)))
    offset = column + "is at the wrong offset"
    for name, shift in (("overlaps", -64), ("after-gap", 64), ("misaligned", 8), ("at-offset-0", -2**62)):
        yield "column-" + name, "reads", offset, with_column(Column(b"extra", b"<f8", **extra, shift=shift))
    yield ("column-beyond-memory", "reads", "column 'pos' of frame 0 has 26388279066624 bytes, more than this machine's "
           "memory (NB_MAX_FRAME raises the limit)",
           frame([Column(b"pos", b"<f8", 3, b"", bytes=24 * 2**40)], [2**40]) + last)
    yield ("column-beyond-counting", "reads", "corrupt stream: column 'wide' of frame 0 has more bytes than can be counted",
           frame([Column(b"wide", b"|V4096", 65536, b"", bytes=0)], [2**40]) + last)
    wide = [Column(b"c%d" % c, b"|V256", 65536, b"", bytes=2**60) for c in range(16)]
    yield ("sizes-wrap", "reads", "column 'c0' of frame 0 has 1152921504606846976 bytes, more than this machine's memory "
           "(NB_MAX_FRAME raises the limit)", frame(wide, [2**36]) + last)

    yield ("field-of-integers", "reads", "field 'pos' of frame 0 is 3 x '<i8' per particle (want 3 x '<f8' per particle)",
           frame(bodies(2, pos=Column(b"pos", b"<i8", 3, bytes(48))), [2]) + last)
    yield ("field-with-2-components", "reads",
           "field 'pos' of frame 0 is 2 x '<f8' per particle (want 3 x '<f8' per particle)",
           frame(bodies(2, pos=real(b"pos", 2, [1] * 4)), [2]) + last)
    yield ("field-in-wrong-table", "reads", "field 'pos' of frame 0 is 3 x '<f8' per node (want 3 x '<f8' per particle)",
           frame(bodies(2, pos=real(b"pos", 3, [1] * 3, table=NODE)), [2, 1]) + last)
    for name in ("id", "mass", "pos", "vel"):
        yield ("derived-" + name, "reads", "corrupt stream: field '%s' of frame 0 is marked as derived (flag bit 0)" % name,
               simple(flags={name: DERIVED}) + last)
    yield ("derived-radius", "reads", "corrupt stream: field 'radius' of frame 0 is marked as derived (flag bit 0)",
           with_column(real(b"radius", 1, [1, 1], flags=DERIVED)))

    finite = "field '%s' of the body with id 1 is not finite in frame 0"
    nan, infinity = float("nan"), float("inf")
    yield "nan-pos", "computes", finite % "pos", frame(bodies(2, pos=real(b"pos", 3, [1, 2, 3, 4, nan, 6])), [2]) + last
    yield ("infinite-vel", "computes", finite % "vel",
           frame(bodies(2, vel=real(b"vel", 3, [1, 2, 3, 4, 5, -infinity])), [2]) + last)
    yield "nan-mass", "computes", finite % "mass", frame(bodies(2, mass=real(b"mass", 1, [1, nan])), [2]) + last
    yield ("nan-f32", "computes", finite % "pos",
           frame(bodies(2, pos=real(b"pos", 3, [1, 2, 3, 4, nan, 6], True)), [2]) + last)
    yield "nan-radius", "computes", finite % "radius", with_column(real(b"radius", 1, [1, nan]))


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    rows, seen = [], set()

    def write(folder, name, data):
        assert name not in seen and len(data) < 8192, name
        seen.add(name)
        os.makedirs(os.path.join(top, folder), exist_ok=True)
        with open(os.path.join(top, folder, name + ".nb"), "wb") as file:
            file.write(data)

    for name, data in good():
        write("good", name, data)
    for name, data in partial():
        write("partial", name, data)
    for name, by, message, data in bad():
        write("bad", name, data)
        rows.append("%s.nb\t%s\t%s\n" % (name, by, message))
    with open(os.path.join(top, "bad", "expected.tsv"), "w", encoding="utf-8") as table:
        table.write("file\trefused by\tmessage\n" + "".join(rows))


if __name__ == "__main__":
    main()
