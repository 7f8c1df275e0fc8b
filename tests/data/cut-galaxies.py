#!/usr/bin/env python3
"""Cuts tests/data/galaxies.csv out of GADGET-2's pair of colliding galaxies (see README.md here).

    cut-galaxies.py galaxy_littleendian.dat >galaxies.csv

Of the 40,000 halo bodies every 40th stays, of the 20,000 disk bodies every 7th, from the first of each galaxy on; their
masses grow by the same factors, so that the galaxies keep theirs.  The halo of one galaxy comes before that of the other
in the file, and so do the disks.  species counts as in nb-gen's merger: 0 disk and 2 halo of the first galaxy, 3 and 5
of the second.
"""
import struct
import sys

KEEP_HALO, KEEP_DISK = 40, 7

data = open(sys.argv[1], "rb").read()
blocks, at = [], 0
while at < len(data):  # GADGET binary 1: size, block, size
    size, = struct.unpack_from("<I", data, at)
    blocks.append(data[at + 4:at + 4 + size])
    at += size + 8
header, pos, vel, ident = blocks
count = struct.unpack_from("<6I", header, 0)
mass = struct.unpack_from("<6d", header, 24)
n = sum(count)
pos, vel = struct.unpack("<%df" % (3 * n), pos), struct.unpack("<%df" % (3 * n), vel)
ident = struct.unpack("<%dI" % n, ident)
halo, disk = count[1], count[2]
assert n == halo + disk

print("id,species,mass,x,y,z,vx,vy,vz")
for i in range(n):
    in_disk = i >= halo
    k, each, keep = (i - halo, disk // 2, KEEP_DISK) if in_disk else (i, halo // 2, KEEP_HALO)
    galaxy, k = divmod(k, each)
    if k % keep == 0:
        numbers = (mass[1 + in_disk] * keep,) + pos[3 * i:3 * i + 3] + vel[3 * i:3 * i + 3]
        species = 3 * galaxy + (0 if in_disk else 2)
        print("%d,%d," % (ident[i], species) + ",".join("%.6g" % x for x in numbers))
