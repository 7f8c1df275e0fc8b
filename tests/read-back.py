#!/usr/bin/env python3
"""read-back.py READER FILE STREAM [FILE STREAM ...]: what another program finds in FILE is what is in the first frame of STREAM.

It prints the reader, its version, the number of bodies, and what was compared, a line for each FILE."""
import os
import re
import subprocess
import sys

import numpy as np

sys.path.append(os.path.dirname(__file__))
import mutate  # noqa: E402

KINDS = {0: 'Gas', 1: 'Halo', 2: 'Disk', 3: 'Bulge', 4: 'Stars', 5: 'Bndry'}


def yt(path):
    import yt
    yt.set_log_level(50)
    snapshot = yt.load(path, bounding_box=[[-1000, 1000]] * 3) if 'tipsy' not in path else yt.load(path)
    data = snapshot.all_data()
    got = {'time': float(snapshot.current_time.to('code_time'))}
    names = {'GadgetDataset': KINDS, 'GadgetHDF5Dataset': {k: 'PartType%d' % k for k in range(6)},
             'TipsyDataset': {0: 'Gas', 1: 'DarkMatter', 4: 'Stars'}}[type(snapshot).__name__]
    columns = {'mass': ('Mass', 'Masses'), 'pos': ('Coordinates',), 'vel': ('Velocities',), 'id': ('ParticleIDs',)}
    parts = []
    for kind, name in names.items():
        if (name, 'Coordinates') not in snapshot.field_list:
            continue
        part = {'species': np.full(len(data[name, 'Coordinates']), kind)}
        for column, fields in columns.items():
            for field in fields:
                if (name, field) in snapshot.field_list:
                    part[column] = data[name, field].v
        if 'mass' not in part:  # those of the header
            part['mass'] = data[name, 'particle_mass'].to('code_mass').v
        parts.append(part)
    got.update({c: np.concatenate([p[c] for p in parts]) for c in parts[0]})
    return yt.__version__, got


def pynbody(path):
    import pynbody
    snapshot = pynbody.load(path)
    got = {c: np.array(snapshot[name]) for c, name in (('mass', 'mass'), ('pos', 'pos'), ('vel', 'vel'))}
    if type(snapshot).__name__ == 'TipsySnap':
        got['eps'] = np.array(snapshot['eps'])
        got['time'] = float(snapshot._header_t)
    elif type(snapshot).__name__ == 'GadgetSnap':
        got['time'] = snapshot.header.time
    got['id'] = np.array(snapshot['iord'])
    if type(snapshot).__name__ == 'GadgetHDFSnap':  # units in kpc and km/s, without factors of cosmology
        assert abs(snapshot['pos'].units.ratio('kpc') - 1) < 1e-6 and snapshot['vel'].units.ratio('km s^-1') == 1
    return pynbody.__version__, got


def h5py(path):
    import h5py
    file = h5py.File(path)
    if 'VTKHDF' in file:
        data = file['VTKHDF/PointData']
        got = {name: data[name][:] for name in data}
        got['pos'] = file['VTKHDF/Points'][:]
        return h5py.__version__, got
    parts = []
    for kind in range(6):
        if 'PartType%d' % kind in file:
            part = file['PartType%d' % kind]
            parts.append({'species': np.full(len(part['Coordinates']), kind), 'id': part['ParticleIDs'][:],
                          'mass': part['Masses'][:], 'pos': part['Coordinates'][:], 'vel': part['Velocities'][:],
                          'eps': part['Softenings'][:]})
            assert file['Header'].attrs['NumPart_Total'][kind] == len(part['Coordinates'])
    got = {c: np.concatenate([p[c] for p in parts]) for c in parts[0]}
    got['time'] = file['Header'].attrs['Time']
    got['G'] = file['Parameters'].attrs['GravityConstantInternal']
    return h5py.__version__, got


def astropy(path):
    import astropy
    from astropy.table import Table
    table = Table.read(path, format='ascii.csv', comment='#')
    got = {c: np.array(table[c]) for c in table.colnames}
    for name, columns in (('pos', 'x y z'), ('vel', 'vx vy vz')):
        got[name] = np.array([table[c] for c in columns.split()]).T
    comments = dict(line.split('=', 1) for line in table.meta['comments'] if '=' in line)
    return astropy.__version__, {**got, 'time': float(comments['time']), 'G': float(comments['G'])}


def vtk(path):
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonCore import vtkVersion
    if path.endswith('.vtp'):
        from vtkmodules.vtkIOXML import vtkXMLPolyDataReader as Reader
    else:
        from vtkmodules.vtkIOHDF import vtkHDFReader as Reader
    reader = Reader()
    reader.SetFileName(path)
    reader.Update()
    points = reader.GetOutputDataObject(0)
    data, field = points.GetPointData(), points.GetFieldData()
    got = {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}
    got['pos'] = vtk_to_numpy(points.GetPoints().GetData())
    assert points.GetNumberOfVerts() == len(got['pos'])
    for name, key in (('TimeValue', 'time'), ('G', 'G')):
        if field.GetArray(name):
            got[key] = field.GetArray(name).GetValue(0)
    return vtkVersion().GetVTKVersion(), got


def unsio(path):
    import unsio.input
    from unsio.version import version
    snapshot = unsio.input.CUNS_IN(path, 'all', float32=False)
    assert snapshot.nextFrame('')
    got = {}
    for column, name in (('time', 'time'), ('mass', 'mass'), ('pos', 'pos'), ('vel', 'vel'), ('id', 'id'), ('eps', 'eps')):
        there, value = snapshot.getData(name) if name == 'time' else snapshot.getData('all', name)
        if there:
            got[column] = np.array(value).reshape(-1, 3) if column in ('pos', 'vel') else value
    return version, got


def numpy(path):
    got = np.load(path)
    return np.__version__, {name: got[name] for name in (got.files if path.endswith('.npz') else got.dtype.names)}


def splash(path):
    kind = {'gadget': ['-gadget'], 'gadget2': ['-gadget', '--format=2']}.get(path.split('.')[-1], [])
    said = subprocess.run(['splash', *kind, 'to', 'ascii', path], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    lines = open(path + '.ascii').read().splitlines()
    names = re.split('  +', [line for line in lines if line.startswith('#')][-1].strip('# '))
    table = dict(zip(names, np.loadtxt(lines, ndmin=2).T))
    got = {'pos': np.array([table[c] for c in 'xyz']).T, 'vel': np.array([table['v_' + c] for c in 'xyz']).T}
    for name in 'id', 'species', 'mass', 'particle mass', 'eps':
        if name in table:
            got[name.split()[-1]] = table[name]
    if kind:
        got['time'] = float(lines[lines.index(next(line for line in lines if line.startswith('# time:'))) + 1].split()[1])
    return re.search(r'SPLASH.*?[vV]er.*?([0-9.]+[0-9])', said.stdout, re.S).group(1), got


def stream(path):
    frame = mutate.Frame(open(path, 'rb').read())
    got = dict(line.split('=', 1) for line in frame.attributes.decode().splitlines())
    for name, entry, content in zip(frame.names(), frame.entries, frame.contents):
        column = np.frombuffer(bytes(content), bytes(entry[32:40]).rstrip(b'\0').decode())
        got[name] = column.reshape(frame.rows(0), -1).squeeze(1) if len(column) == frame.rows(0) else column.reshape(-1, 3)
    return {**got, 'time': float(got['time']), 'G': float(got['G'])}


def compare(reader, path, want):
    version, got = globals()[reader](path)
    want = stream(want)
    single = any(path.endswith('.' + s) for s in ('gadget', 'gadget2', 'tipsy', 'tipsy-native'))
    key = 'id' if 'id' in got else None
    mine = np.argsort(got['id']) if key else np.lexsort(got['pos'].T)
    ours = np.argsort(want['id']) if key else np.lexsort(want['pos'].T)
    seen = []
    for name in 'id', 'species', 'mass', 'pos', 'vel', 'eps', 'time', 'G':
        if name not in got or name not in want:
            continue
        here, there = np.asarray(got[name]), np.asarray(want[name])
        if here.ndim:
            here, there = here[mine], there[ours]
        assert here.shape == there.shape, (name, here.shape, there.shape)
        # what is in the header of a binary snapshot has all digits, what is in its blocks those of f32
        same = (here == there) | (single and here.astype('f4') == there.astype('f4'))
        if reader == 'splash' and not single:  # it reads so many characters of a number
            same = np.isclose(here, there, rtol=1e-9, atol=1e-11)
        assert np.all(same), (name, here[:3] if here.ndim else here, there[:3] if there.ndim else there)
        seen.append(name)
    assert len(want['pos']) == len(got['pos'])
    return version, len(want['pos']), *seen


for path, want in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
    print(sys.argv[1], *compare(sys.argv[1], path, want))
