"""Reading and writing streams."""
import csv
import fcntl
import mmap
import os
from pathlib import Path

import nb
import numpy as np
import pytest

CORPUS = Path(__file__).parents[1] / "corpus"
with open(CORPUS / "bad/expected.tsv") as rows:
    BAD = [(name, message) for name, by, message in csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE) if by == "reads"]
GOOD = sorted(CORPUS.glob("good/*.nb")) + sorted(CORPUS.glob("partial/*.nb"))
# a later header, an end marker in the middle, and a flag that readers set
CHANGED = {"later-minor", "two-streams", "underived-acc"}


def through_pipe(data):
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, 1031, 1 << 20)  # F_SETPIPE_SZ: all of a file of the corpus
    assert os.write(write_end, data) == len(data)
    os.close(write_end)
    try:
        return [(dict(f), f.attributes) for f in nb.read(read_end)]
    finally:
        os.close(read_end)


def test_a_bad_stream_is_refused_with_the_message_of_the_programs():
    assert len(BAD) > 70
    for name, message in BAD:
        for read in (nb.read, through_pipe):
            with pytest.raises(nb.StreamError) as raised:
                for frame in read((CORPUS / "bad" / name).read_bytes()):
                    dict(frame)
            # which program reads what is no stream is known to the programs only
            assert str(raised.value) == (message.split(" (")[0] if "wrong magic" in message else message), name


def test_a_good_stream_is_written_as_it_was_read(tmp_path):
    assert len(GOOD) > 20
    for path in GOOD:
        nb.write(tmp_path / "again.nb", nb.read(path))
        again = (tmp_path / "again.nb").read_bytes()
        assert (again == path.read_bytes()) != (path.stem in CHANGED), path
        for a, b in zip(nb.read(path), through_pipe(again)):
            assert a.attributes == b[1]
            assert list(a) == list(b[0]) and all(np.array_equal(a[name], b[0][name]) for name in a)
        assert len(nb.read(path)) == len(list(nb.read(path)))


def test_damage_anywhere_is_a_stream_error():
    data = (CORPUS / "good/octree.nb").read_bytes()
    for k in range(0, len(data), 7):
        flipped = bytearray(data)
        flipped[k] ^= 1 << k % 8
        for bad in (data[:k], bytes(flipped)):
            try:
                read = [dict(f) for f in nb.read(bad)]
            except nb.StreamError:
                continue
            assert len(bad) == len(data), k  # damage of padding is not seen, a cut is
            assert all(np.array_equal(f[name], g[name]) for f, g in zip(read, nb.read(data)) for name in g), k


def test_arrays_are_those_of_the_mapped_file_which_stays_as_it_is(tmp_path):
    path = tmp_path / "a.nb"
    nb.write(path, [{"pos": np.ones((5, 3)), "t": np.full(5, k)} for k in range(3)])
    before = path.read_bytes()
    frames = nb.read(path)
    assert len(frames) == 3 and frames[-1]["t"][0] == 2 and [f["t"][0] for f in frames] == [0, 1, 2]
    with pytest.raises(IndexError):
        frames[3]
    a = frames[0]["pos"]
    base = a
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base.obj, mmap.mmap)
    a *= 2
    assert frames[0]["pos"][0, 0] == 1 and path.read_bytes() == before


def test_columns_keep_their_units_types_and_tables_and_new_ones_get_them(tmp_path):
    frame = nb.read(CORPUS / "good/octree.nb")[0]
    frame["acc"] = np.zeros((frame.n, 3), ">f4")
    frame["eps"] = 0.5
    frame.set("metals", np.arange(frame.n), "solar")
    frame.set("tide", frame["pos"] * 0, "acceleration", derived=True)
    frame.attributes.update(note="a\\n\nb", größe="x")
    with pytest.raises(nb.StreamError, match="attribute key 'größe'"):
        nb.write(tmp_path / "a.nb", frame)
    del frame.attributes["größe"]
    nb.write(tmp_path / "a.nb", frame)
    again = nb.read(tmp_path / "a.nb")[0]
    assert again.attributes == frame.attributes and again.n == frame.n
    shape = {name: (c.type, c.table, c.unit, c.derived) for name, c in again.columns.items()}
    assert shape["acc"] == ("<f4", "particle", "acceleration", True) and shape["eps"] == ("<f8", "particle", "length", False)
    assert shape["metals"] == ("<i8", "particle", "solar", False) and shape["tide"] == ("<f8", "particle", "acceleration", True)
    assert shape["node_mass"] == ("<f8", "node", "mass", True)
    copy = again.copy()
    again.drop_derived()
    assert not any(c.derived or c.table != "particle" for c in again.columns.values()) and "tree" not in again.attributes
    again.select(again["metals"] % 2 == 1)
    assert list(again["metals"]) == list(copy["metals"][1::2]) and np.array_equal(again["pos"], copy["pos"][1::2])
    with pytest.raises(nb.MissingColumn, match="^field 'acc' missing .stream has: id, "):
        again["acc"]


@pytest.mark.parametrize("columns, message", [
    ({"a": np.zeros(2), "b": np.zeros(3)}, "column 'b' has 3 rows"),
    ({"a b": np.zeros(2)}, "column 'a b': 'a b' is not plain text"),
    ({"a": np.zeros(2, "U3")}, "column 'a' has type"),
    ({"a": np.zeros((2, 2, 2))}, "column 'a' has shape"),
    ({"id": np.array([1, -1])}, "column 'id' has type"),
    ({"pos": np.zeros((2, 2))}, "column 'pos' has 2 components"),
])
def test_what_no_stream_may_carry_is_refused(tmp_path, columns, message):
    with pytest.raises(nb.StreamError, match=message):
        nb.write(tmp_path / "a.nb", columns)
    assert not os.listdir(tmp_path)


def test_a_path_has_all_of_a_stream_or_what_it_had(tmp_path):
    path, link = tmp_path / "a.nb", tmp_path / "link.nb"
    link.symlink_to("a.nb")
    nb.write(link, {"mass": np.ones(3)})
    path.chmod(0o600)

    def doubled():
        for frame in nb.read(path):
            frame["mass"] *= 2
            yield frame

    nb.write(link, doubled())  # the file that is being read
    assert nb.read(path)[0]["mass"].sum() == 6 and link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyError), nb.Writer(path) as out:
        out.write({"mass": np.ones(300)})
        raise KeyError
    assert nb.read(path)[0]["mass"].sum() == 6 and sorted(os.listdir(tmp_path)) == ["a.nb", "link.nb"]


def test_an_exception_leaves_the_end_marker_out(tmp_path):
    with open(tmp_path / "a.nb", "wb") as file, pytest.raises(KeyError), nb.Writer(file) as out:
        out.write({"mass": np.ones(3)})
        raise KeyError
    frames = iter(nb.read(tmp_path / "a.nb"))
    assert next(frames)["mass"].sum() == 3
    with pytest.raises(nb.StreamError, match="no end marker after frame 0"):
        next(frames)


def test_frames_larger_than_allowed_are_refused(monkeypatch):
    monkeypatch.setenv("NB_MAX_FRAME", "100")
    with pytest.raises(nb.StreamError, match="more than NB_MAX_FRAME='100'"):
        list(nb.read(CORPUS / "good/plain.nb"))
