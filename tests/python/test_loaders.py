"""Plug-ins for yt and pynbody, with the packages themselves."""
import nb
import numpy as np
import pytest


@pytest.fixture
def file(tmp_path):
    nb.write(tmp_path / "a.nb", nb.run("nb-gen plummer -n 300 | nb-step -d 0.5 -k 2 --every 1 'nb-force -e 0.1 --potential'"))
    return str(tmp_path / "a.nb")


def test_yt_opens_a_stream(file):
    yt = pytest.importorskip("yt")
    import nb.yt
    yt.set_log_level(50)
    for k in (0, -1):
        stream = yt.load(file, frame=k)  # what yt makes of it holds it weakly
        frame, box = nb.read(file)[k], stream.all_data()
        order = np.argsort(box["io", "particle_index"])
        for name, ours in (("position", "pos"), ("velocity", "vel"), ("acc", "acc")):
            for i, x in enumerate("xyz"):
                assert np.array_equal(np.asarray(box["io", f"particle_{name}_{x}"].in_base("code"))[order], frame[ours][:, i])
        assert box["io", "particle_mass"].sum().to("code_mass") == pytest.approx(1)
        assert str(box["io", "particle_pot"].units) == "code_velocity**2"
        assert float(box.ds.current_time.to("code_time")) == frame.time


def test_pynbody_opens_a_stream(file):
    pynbody = pytest.importorskip("pynbody")
    import nb.pynbody
    for k in (0, -1):
        frame, snap = nb.read(file)[k], pynbody.load(file, frame=k)
        assert len(snap) == 300 and snap.properties["time"] == frame.time and "phi" in snap.loadable_keys()
        for theirs, ours in (("pos", "pos"), ("vel", "vel"), ("mass", "mass"), ("phi", "pot"), ("iord", "id"), ("acc", "acc")):
            assert np.array_equal(snap[theirs], frame[ours])
    part = pynbody.load(file, take=np.array([3, 7]), units=("km s^-1", "kpc", "1e10 Msol"))
    assert np.array_equal(part["pos"], nb.read(file)[-1]["pos"][[3, 7]]) and part["pos"].units == "kpc"
