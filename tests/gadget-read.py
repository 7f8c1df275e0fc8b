#!/usr/bin/env python3
"""gadget-read.py READER SNAPSHOT NPY TIME: what a reader finds in a snapshot is what is in the array of nb-convert."""
import sys

import numpy as np

reader, path, npy, time = sys.argv[1:]
want = np.load(npy)
want = want[np.argsort(want['id'])]
got = np.zeros(len(want), dtype=[('id', 'u8'), ('species', 'u1'), ('mass', 'f8'), ('pos', 'f8', 3), ('vel', 'f8', 3)])
at = 0


def take(species, ids, mass, pos, vel):
    global at
    part = got[at:at + len(ids)]
    part['id'], part['species'], part['mass'], part['pos'], part['vel'] = ids, species, mass, pos, vel
    at += len(ids)


if reader == 'yt':
    import yt
    yt.set_log_level(50)
    snapshot = yt.load(path, bounding_box=[[-1000, 1000]] * 3)
    data = snapshot.all_data()
    assert type(snapshot).__name__ == 'GadgetDataset'
    assert float(snapshot.current_time.to('code_time')) == float(time)
    for number, name in enumerate(['Gas', 'Halo', 'Disk', 'Bulge', 'Stars', 'Bndry']):
        if (name, 'Coordinates') in snapshot.field_list:
            take(number, data[name, 'particle_index'].d, data[name, 'particle_mass'].to('code_mass').d,
                 data[name, 'particle_position'].to('code_length').d,
                 data[name, 'particle_velocity'].to('code_velocity').d)
else:
    import pynbody
    snapshot = pynbody.load(path)
    assert type(snapshot).__name__ == 'GadgetSnap'
    assert snapshot.header.time == float(time)
    take(0, snapshot['iord'], snapshot['mass'], snapshot['pos'], snapshot['vel'])

assert at == len(want), (at, len(want))
got = got[np.argsort(got['id'])]
assert (got['id'] == want['id']).all()
for name in 'mass', 'pos', 'vel':
    assert (got[name] == want[name].astype('f4')).all() or np.allclose(got[name], want[name], rtol=1e-6), name
if reader == 'yt' and 'species' in want.dtype.names:
    assert (got['species'] == want['species']).all()
