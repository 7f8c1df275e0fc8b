#!/usr/bin/env python3
"""gadget.py FILE [NAME=VALUE ...]: writes a small snapshot of GADGET, as its users' guide describes the format.

labels: format 2; swap: big-endian; f8, u8: numbers and ids of 8 bytes; n, mass: bodies and header mass of each type;
extra: gas blocks, POT, ACCE, and AGE of stars."""
import random
import struct
import sys


def make(path, labels=0, swap=0, f8=0, u8=0, n=(2, 3, 0, 0, 1, 0), mass=(0, .5, 0, 0, 0, 0), total=None, extra=1):
    order = '>' if swap else '<'
    rows = sum(n)
    rng = random.Random(7)
    out = []

    def block(label, data):
        if labels:
            out.append(struct.pack(order + 'I4sII', 8, label.encode(), len(data) + 8, 8))
        size = struct.pack(order + 'I', len(data))
        out.extend([size, data, size])

    def reals(values):  # the same in both widths
        values = struct.unpack(f'{len(values)}f', struct.pack(f'{len(values)}f', *values))
        return struct.pack(f"{order}{len(values)}{'d' if f8 else 'f'}", *values)

    def normal(count):
        return [rng.gauss(0, 1) for _ in range(count)]

    header = struct.pack(order + '6i6ddd2i6I2i4d2i6I', *n, *mass, 0.25, 0, 0, 0, *(total or n), 0, 1, 0, 0, 0, 1, 0, 0,
                         *[0] * 6)
    block('HEAD', header.ljust(256, b'\0'))
    block('POS ', reals(normal(3 * rows)))
    block('VEL ', reals(normal(3 * rows)))
    block('ID  ', struct.pack(f"{order}{rows}{'Q' if u8 else 'I'}", *range(1, rows + 1)))
    with_mass = sum(count for count, m in zip(n, mass) if m == 0)
    if with_mass:
        block('MASS', reals([1 + i for i in range(with_mass)]))
    if extra and n[0]:
        for label in 'U   ', 'RHO ', 'HSML':
            block(label, reals([abs(x) for x in normal(n[0])]))
    if extra and rows:
        block('POT ', reals([-abs(x) for x in normal(rows)]))
        block('ACCE', reals(normal(3 * rows)))
    if extra and labels and n[4]:
        block('AGE ', reals(normal(n[4])))
    with open(path, 'wb') as file:
        file.write(b''.join(out))


if __name__ == '__main__':
    make(sys.argv[1], **{key: eval(value) for key, value in (word.split('=', 1) for word in sys.argv[2:])})
