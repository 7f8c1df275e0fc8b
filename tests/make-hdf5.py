"""make-hdf5.py FLAVOUR FILE [K]: a small snapshot as a code of that name writes it, or the hostile file of that name.

The numbers follow from ids: tests compare them with what they are here.  Two types have bodies, 1 (5) and 4 (3)."""
import sys
import h5py
import numpy as np

flavour, name = sys.argv[1:3]
part = int(sys.argv[3]) if len(sys.argv) > 3 else None
ids = {1: np.arange(10, 15), 4: np.arange(40, 43)}
if part is not None:  # of two files: the first has ids 10, 11 and 40, the second the rest
    ids = {1: np.arange(10, 15)[slice(0, 2) if part == 0 else slice(2, 5)], 4: np.arange(40, 43)[slice(0, 1) if part == 0 else slice(1, 3)]}


def vectors(i, scale):
    return np.stack([i * scale, i * scale + 0.25, -i * scale], 1)


def header(f, n, masses, files=1, total=None, **more):
    h = f.create_group("Header").attrs
    h["NumPart_ThisFile"] = n
    h["NumPart_Total"] = n if total is None else total
    h["MassTable"] = np.array(masses, "f8")
    h["NumFilesPerSnapshot"] = np.int32(files)
    h["Time"] = 0.5
    h["Redshift"] = 0.0
    h["BoxSize"] = 0.0
    for k, v in more.items():
        h[k] = v


def bodies(f, t, float_type="f4", id_type="u4", masses=True, **how):
    g, i = f.create_group(f"PartType{t}"), ids[t]
    g.create_dataset("Coordinates", data=vectors(i, 1.0).astype(float_type), **how)
    g.create_dataset("Velocities", data=vectors(i, 0.5).astype(float_type), **how)
    g.create_dataset("ParticleIDs", data=i.astype(id_type), **how)
    if masses:
        g.create_dataset("Masses", data=(i / 8).astype(float_type), **how)
    return g


counts = [0, len(ids[1]), 0, 0, len(ids[4]), 0]
with h5py.File(name, "w") as f:
    if flavour == "gadget2":
        header(f, np.array(counts, "i4"), [0] * 6, NumPart_Total_HighWord=np.zeros(6, "u4"), Flag_Sfr=np.int32(1), HubbleParam=0.7, Omega0=0.0, OmegaLambda=0.0)
        bodies(f, 1)
        g = bodies(f, 4)
        g["StarFormationRate"] = ids[4].astype("f4") / 2
        g["Potential"] = -ids[4].astype("f8")
    elif flavour == "gadget4":  # as many entries as types that are used; masses in the header only; units in Parameters
        n = [0, 5, 0, 0, 3][:5]
        header(f, np.array(n, "u8"), [0, 0.25, 0, 0, 0.5], Git_commit=np.bytes_("unknown"))
        f.create_group("Config").attrs["NTYPES"] = "5"
        p = f.create_group("Parameters").attrs
        p["UnitLength_in_cm"], p["UnitMass_in_g"], p["UnitVelocity_in_cm_per_s"] = 3.085678e21, 1.989e43, 1e5
        p["GravityConstantInternal"] = 0.0
        p["ComovingIntegrationOn"] = np.int32(0)
        p["HubbleParam"] = 0.7
        for t, c in ((0, 0), (1, 1), (2, 0), (3, 0), (4, 2)):
            p[f"SofteningClassOfPartType{t}"] = np.int32(c)
        for c in range(3):
            p[f"SofteningComovingClass{c}"] = p[f"SofteningMaxPhysClass{c}"] = 0.5 * (c + 1)
        bodies(f, 1, masses=False)
        bodies(f, 4, masses=False, id_type="u8")
    elif flavour in ("swift", "swift-universe"):
        header(f, np.array(counts + [0], "i8"), [0] * 7, NumPart_Total_HighWord=np.zeros(7, "u4"), Code=np.bytes_("SWIFT"), Dimension=np.int32(3))
        f["Header"].attrs["Time"] = np.array([0.5])
        f["Header"].attrs["BoxSize"] = np.array([8.0, 8.0, 8.0])
        f["Header"].attrs["Redshift"] = np.array([1.0])
        u = f.create_group("Units").attrs
        u["Unit length in cgs (U_L)"], u["Unit mass in cgs (U_M)"], u["Unit time in cgs (U_t)"] = [np.array([x]) for x in (3.08567758e24, 1.98841e43, 3.08567758e19)]
        c = f.create_group("Cosmology").attrs
        c["Cosmological run"] = np.array([1], "i4")
        if flavour == "swift-universe":  # G of these units is 43.00918, and the matter 22.875 in 8^3
            for key, x in (("Scale-factor", 0.5), ("Redshift", 1), ("Omega_m", 0.25), ("Omega_lambda", 0.74), ("Omega_r", 0.01), ("Omega_nu_0", 0.01), ("w_0", -0.9), ("w_a", 0.1), ("h", 0.7), ("H0 [internal units]", np.sqrt(8 * np.pi * 43.00918 * 22.875 / 512 / 3 / 0.25))):
                c[key] = np.array([x], "f8")
            f["Header"].attrs["Time"] = np.array([0.0078])
        f.create_group("Policy")
        for t in (1, 4):
            g = bodies(f, t, "f8", "i8", chunks=True, compression="gzip", shuffle=True, fletcher32=True)
            g["Potentials"] = -ids[t].astype("f4")
            g["Softenings"] = ids[t] / 16
            g["Coordinates"].attrs["Description"] = "Co-moving positions"
        f["DMParticles"] = h5py.SoftLink("/PartType1")
    elif flavour == "arepo":  # several kinds of blocks in several types
        header(f, np.array([3, 5, 0, 0, 3, 0], "i4"), [0, 0.25, 0, 0, 0, 0], UnitLength_in_cm=3.085678e24, UnitMass_in_g=1.989e43, UnitVelocity_in_cm_per_s=1e5, HubbleParam=0.5, OmegaLambda=0.7)
        f["Header"].attrs["Redshift"] = 1.0
        ids[0] = np.arange(1, 4)
        g = bodies(f, 0, ">f8", ">u4")
        g["InternalEnergy"] = ids[0].astype(">f4")
        g["GFM_Metals"] = vectors(ids[0], 2.0)
        g["Flags"] = ids[0].astype("i2")
        g["Odd"] = np.zeros(7)
        g["Complex"] = np.zeros(3, "c16")
        bodies(f, 1, masses=False)
        g = bodies(f, 4)
        g["InternalEnergy"] = ids[4].astype("f8")
        f.create_group("Config").attrs["VORONOI"] = ""
    elif flavour == "half":  # real numbers of 2 bytes, of all sizes
        header(f, np.array(counts, "i4"), [0] * 6)
        bodies(f, 1, ">f2")
        g = bodies(f, 4, "f2")
        g["Masses"][:] = [2.0**-24, 1023 * 2.0**-24, 65504]
        g["Velocities"][0] = [-1.5, -(2.0**-14), 1 + 2.0**-10]
        g["Potential"] = np.array([np.inf, -np.inf, np.nan], "f2")
    elif flavour == "parts":
        header(f, np.array(counts, "i4"), [0] * 6, 2, np.array([0, 5, 0, 0, 3, 0], "u4"))
        for t in (1, 4):
            bodies(f, t, "f8")
    elif flavour == "amuse-table":  # of standard input, as CSV
        head, rows = sys.stdin.readline().strip().split(","), np.loadtxt(sys.stdin, delimiter=",", ndmin=2)
        g = f.create_group("particles/0000000001")
        g.attrs["type"], g.attrs["number_of_particles"] = "particles", len(rows)
        units = {"mass": "mass", "x": "length", "y": "length", "z": "length", "vx": "speed", "vy": "speed", "vz": "speed"}
        for name, values in zip(head, rows.T):
            base = "system.get('nbody').base('%s')" % units.get(name, "length")
            g["keys" if name == "id" else f"attributes/{name}"] = values.astype("u8" if name == "id" else "f8")
            if name in units:
                g[f"attributes/{name}"].attrs["units"] = base.replace("base('speed')", "base('length') * (system.get('nbody').base('time')**-1)")
    elif flavour.startswith("amuse"):
        length, mass, time = [f"system.get('S.I.').base('{b}')" for b in ("length", "mass", "time")]

        def sets(number, n, columns, keys):
            g = f.create_group(f"particles/{number:010d}")
            g.attrs["type"], g.attrs["number_of_particles"] = "particles", n
            if keys is not None:
                g["keys"] = keys
            for k, (values, unit) in columns.items():
                g[f"attributes/{k}"] = values
                if unit:
                    g[f"attributes/{k}"].attrs["units"] = unit
            return g

        x = np.array([1.0, 2.0, 3.0])
        km, speed = f"(1000.0 * {length})", f"({length} * ({time}**-1))"
        c = {"x": (x, km), "y": (x + 3, km), "z": (x + 6, km), "vx": (x / 2, speed), "vy": (32 * x, f"{length} / (64.0 * {time})"), "vz": (x / 2, speed)}
        c["mass"] = x, f"(2e+30 * {mass})"
        c["temperature"] = 10 * x, "system.get('S.I.').base('thermodynamic temperature')"
        c["luminosity"] = x, f"({mass} * {time}**-3)"
        c["age"] = x, f"(1000000.0 * {time})"
        c["word"] = np.array([b"one", b"two", b"six"]), None
        c["stellar_type"] = np.arange(1, 4), "none"
        c["name"] = np.char.encode(np.array(["Sun", "", "\u0394, a\u00e9\U0001f30d"]), "UTF-32BE"), "UNICODE"
        c["kind"] = np.arange(1, 4), "stellar_type"  # an enumeration
        c["child"] = np.array(["a", "b", "c"], dtype=h5py.string_dtype()), None
        if flavour.startswith("amuse-unit="):
            c["x"] = x, flavour[len("amuse-unit="):]
        elif flavour == "amuse-nowhere":
            del c["x"]
        elif flavour == "amuse-twice":  # two systems of units
            c["age"] = x, "system.get('nbody').base('time')"
        elif flavour == "amuse-wrong":
            c["mass"] = x, length
        elif flavour == "amuse-short":
            c["y"] = x[:2], km
        elif flavour == "amuse-names":
            c["two words"] = c["two\nlines"] = x, None
        elif flavour == "amuse-vector":
            del c["vy"]
        elif flavour == "amuse-many":
            c.update({f"odd{k}": (x, "none") for k in range(1100)})
        elif flavour == "amuse-radius":
            c["radius"] = x, mass
        keys = np.array([1, 2, 2**64 - 1], "u8")
        g = sets(1, 3 if flavour != "amuse-count" else -3, c, keys if flavour != "amuse-keys" else keys[:2])
        g.attrs["timestamp"], g.attrs["timestamp_unit"] = 1.0, f"(31557600.0 * {time})"
        length, mass, time = [f"system.get('nbody').base('{b}')" for b in ("length", "mass", "time")]
        x = np.array([1.0, 2.0])
        g = sets(2, 2, {"x": (x, length), "y": (x, length), "z": (x, length), "mass": (x, mass)}, None)
        g.attrs["timestamp"], g.attrs["timestamp_unit"] = 2.0, time
    elif flavour == "empty":
        header(f, np.zeros(6, "i4"), [0] * 6)
    else:  # what a reader must not believe
        n = np.array(counts, "i4")
        header(f, n, [0] * 6)
        g = bodies(f, 1)
        bodies(f, 4)
        h = f["Header"].attrs
        if flavour == "counts":
            h["NumPart_ThisFile"] = np.array([0, 2**31 - 1, 0, 0, 3, 0])
        elif flavour == "no-mass":
            del g["Masses"]
        elif flavour == "negative":
            h["NumPart_ThisFile"] = -n
        elif flavour == "total":
            h["NumPart_Total"] = n + 1
        elif flavour == "no-header":
            del f["Header"]
        elif flavour == "no-coordinates":
            del g["Coordinates"]
        elif flavour == "huge":  # rows that no byte of the file stands for
            del g["Coordinates"], h["NumPart_ThisFile"]
            h["NumPart_ThisFile"] = np.array([0, 2**36, 0, 0, 3, 0], "u8")
            h["NumPart_Total"] = np.array([0, 0, 0, 0, 3, 0], "u4")
            g.create_dataset("Coordinates", (2**36, 3), "f8", chunks=(1024, 3), compression="gzip")
        elif flavour == "unwritten":
            del g["Coordinates"]
            g.create_dataset("Coordinates", (5, 3), "f8")
        elif flavour == "chunk":  # a chunk of 24 TB
            del g["Velocities"]
            g.create_dataset("Velocities", (5, 3), "f8", chunks=(2**27, 3), maxshape=(None, 3))
        elif flavour == "rank":
            del g["Coordinates"]
            g["Coordinates"] = np.zeros((5, 4))
        elif flavour == "text":
            del g["Coordinates"]
            g["Coordinates"] = np.zeros((5, 3), "S4")
        elif flavour == "ids":
            del g["ParticleIDs"]
            g["ParticleIDs"] = np.array([1, 2, -3, 4, 5])
        elif flavour == "nan":
            g["Masses"][2] = np.nan
        elif flavour == "loop":
            f["PartType1/up"] = f["/"]
        elif flavour == "endless":
            h["Text"] = "a text of any length"
        elif flavour == "virtual":
            del g["Coordinates"]
            layout = h5py.VirtualLayout((5, 3), "f8")
            layout[:] = h5py.VirtualSource("other.hdf5", "x", (5, 3))
            g.create_virtual_dataset("Coordinates", layout)
        elif flavour == "external":
            del g["Coordinates"]
            g.create_dataset("Coordinates", (5, 3), "f8", external="/etc/passwd")
        elif flavour == "names":  # what no column of a stream may be called
            g["Foo"], g["Bar"] = ids[1], ids[1]
            g["Foo"].attrs["column"], g["Foo"].attrs["unit"] = "two\nlines", "\u00e9\n"
            g["Bar"].attrs["column"], g["Bar"].attrs["unit"] = "two words", "kpc km/s"
        elif flavour == "units":
            u = f.create_group("Units").attrs
            u["UnitLength_in_cm"], u["UnitMass_in_g"], u["UnitVelocity_in_cm_per_s"] = 1e-200, 1e300, 1e-200
        elif flavour == "crowd":  # of datasets that are no columns
            for k in range(10000):
                g[f"A{k:05d}"] = np.zeros(1, "i1")
            for k in range(490):
                g[f"Foo{k}"] = ids[1]
        elif flavour == "lines":  # of attributes that nb should have written
            f.create_group("nb").create_dataset("Attributes", (20000000,), "S1", chunks=(1000000,), compression="gzip", data=np.zeros(20000000, "S1"))
        elif flavour == "wide":  # a body whose columns would fill the memory if the bodies of the other type had them
            del g["Coordinates"], h["NumPart_ThisFile"], h["NumPart_Total"], f["PartType4"]
            h["NumPart_ThisFile"] = h["NumPart_Total"] = np.array([1, 100000, 0, 0, 0, 0], "u4")
            h["MassTable"] = np.ones(6)
            for k in list(g):
                del g[k]
            g.create_dataset("Coordinates", (100000, 3), "f4", chunks=True, compression="gzip", data=np.zeros((100000, 3), "f4"))
            f["PartType0/Coordinates"] = np.zeros((1, 3))
            for k in range(40):
                f[f"PartType0/Wide{k}"] = np.zeros((1, 4096))
        elif flavour == "lzf":
            del g["Coordinates"]
            g.create_dataset("Coordinates", data=vectors(ids[1], 1.0), chunks=(5, 3), compression="lzf")
        elif flavour == "files":
            h["NumFilesPerSnapshot"] = np.int32(3)
        elif flavour != "plain":
            sys.exit(f"no such flavour: {flavour}")
if flavour == "endless":  # libhdf5 looks for the end of a heap for ever where a text is said to be longer than it is
    with open(name, "r+b") as f:
        f.seek(f.read().index(b"GCOL") + 25)
        f.write(b"\1")
