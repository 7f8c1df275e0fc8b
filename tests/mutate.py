#!/usr/bin/env python3
"""Changes the first frame of a particle stream, keeping its checksums right (or not), to test readers.

    mutate.py set COLUMN ROW COMPONENT VALUE   set one number of a real column (VALUE may be nan, inf)
    mutate.py add NAME                         add a particle column of 3 x u2 with values row * 3 + component
    mutate.py drop COLUMN                      take a column away
    mutate.py rename COLUMN NAME               call a column by another name
    mutate.py flags COLUMN VALUE               set the flags of a column
    mutate.py type COLUMN DTYPE                set the type of a column, whose contents become 0
    mutate.py attribute KEY VALUE              set an attribute
    mutate.py flip OFFSET                      flip one bit of byte OFFSET, checksums left alone
    mutate.py show COLUMN...                   print columns as text, a row a line

Reads standard input, writes standard output.  Standard library only: a second, independent reading of nb-stream(5).
"""
import struct
import sys
import zlib


def pad(data):
    return data + bytes(-len(data) % 64)


class Frame:
    def __init__(self, data):
        self.header = bytearray(data[:128])
        attributes, columns = struct.unpack_from("<QI", data, 56)[0], struct.unpack_from("<I", data, 64)[0]
        self.attributes = data[128:128 + attributes]
        at = 128 + len(pad(self.attributes))
        self.entries, self.contents = [], []
        for c in range(columns):
            entry = bytearray(data[at + 128 * c:at + 128 * c + 128])
            start, size = struct.unpack_from("<QQ", entry, 80)
            self.entries.append(entry)
            self.contents.append(bytearray(data[start:start + size]))
        body = struct.unpack_from("<Q", data, 72)[0]
        self.size = at + 128 * columns + body

    def names(self):
        return [bytes(e[:32]).rstrip(b"\0").decode() for e in self.entries]

    def index(self, name):
        return self.names().index(name)

    def rows(self, table):
        return struct.unpack_from("<Q", self.header, 32 + 8 * table)[0]

    def encode(self):
        attributes = pad(self.attributes)
        start = offset = 128 + len(attributes) + 128 * len(self.entries)
        for entry, content in zip(self.entries, self.contents):
            struct.pack_into("<QQ", entry, 80, offset, len(content))
            offset += len(pad(content))
        trailer = pad(b"".join(struct.pack("<I", zlib.crc32(c)) for c in self.contents))
        struct.pack_into("<Q", self.header, 56, len(self.attributes))
        struct.pack_into("<I", self.header, 64, len(self.entries))
        struct.pack_into("<Q", self.header, 72, offset - start + len(trailer))
        struct.pack_into("<I", self.header, 20, 0)
        head = bytes(self.header) + attributes + b"".join(map(bytes, self.entries))
        head = head[:20] + struct.pack("<I", zlib.crc32(head)) + head[24:]
        return head + b"".join(map(pad, self.contents)) + trailer


def item_format(entry):
    return {"<f8": "d", "<f4": "f", "<u8": "Q", "<u4": "I", "<u2": "H", "|u1": "B", "<i8": "q", "<i4": "i", "<i2": "h", "|i1": "b"}[
        bytes(entry[32:40]).rstrip(b"\0").decode()]


def set_number(frame, c, row, component, text):
    components, code = struct.unpack_from("<I", frame.entries[c], 44)[0], item_format(frame.entries[c])
    place = (row * components + component) * struct.calcsize(code)
    struct.pack_into("<" + code, frame.contents[c], place, float(text) if code in "df" else int(text))


def main(argv):
    data = sys.stdin.buffer.read()
    command = argv[0]
    if command == "flip":
        at = int(argv[1])
        sys.stdout.buffer.write(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1:])
        return
    frame = Frame(data)
    rest = data[frame.size:]
    if command == "show":
        columns = []
        for name in argv[1:]:
            c = frame.index(name)
            code, components = item_format(frame.entries[c]), struct.unpack_from("<I", frame.entries[c], 44)[0]
            values = struct.unpack("<%d%s" % (len(frame.contents[c]) // struct.calcsize(code), code), frame.contents[c])
            columns.append([" ".join(map(repr, values[row:row + components])) for row in range(0, len(values), components)])
        print("".join(" ".join(row) + "\n" for row in zip(*columns)), end="")
        return
    if command == "set":
        c = frame.index(argv[1])
        set_number(frame, c, int(argv[2]), int(argv[3]), argv[4])
    elif command == "add":
        rows = frame.rows(0)
        entry = bytearray(128)
        entry[:len(argv[1])] = argv[1].encode()
        entry[32:35] = b"<u2"
        struct.pack_into("<III", entry, 40, 0, 3, 0)
        frame.entries.append(entry)
        frame.contents.append(bytearray(struct.pack("<%dH" % (3 * rows), *[i % 65536 for i in range(3 * rows)])))
    elif command == "drop":
        c = frame.index(argv[1])
        del frame.entries[c], frame.contents[c]
    elif command == "rename":
        frame.entries[frame.index(argv[1])][:32] = argv[2].encode().ljust(32, b"\0")
    elif command == "flags":
        struct.pack_into("<I", frame.entries[frame.index(argv[1])], 48, int(argv[2]))
    elif command == "type":
        c = frame.index(argv[1])
        table, components = struct.unpack_from("<II", frame.entries[c], 40)
        frame.entries[c][32:40] = argv[2].encode().ljust(8, b"\0")
        frame.contents[c] = bytearray(frame.rows(table) * components * int(argv[2][2:]))
    elif command == "attribute":
        lines = [l for l in frame.attributes.split(b"\n") if l and not l.startswith(argv[1].encode() + b"=")]
        lines.append(("%s=%s" % (argv[1], argv[2])).encode(errors="surrogateescape"))
        frame.attributes = b"\n".join(lines) + b"\n"
    else:
        sys.exit("unknown command " + command)
    sys.stdout.buffer.write(frame.encode() + rest)


if __name__ == "__main__":
    main(sys.argv[1:])
