"""Pipelines of programs."""
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import nb
import numpy as np
import pytest

CORPUS = Path(__file__).parents[1] / "corpus"
GEN = "nb-gen plummer -n 1000"
ENDLESS = "nb-gen figure8 | nb-step -d 0.001 -k 1000000000 --every 1 nb-force"


@pytest.fixture(autouse=True)
def nothing_stays():
    files = len(os.listdir("/proc/self/fd"))
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    nb.memory.drop()
    assert len(os.listdir("/proc/self/fd")) == files


def test_a_pipeline_gives_the_bytes_of_the_shell(tmp_path):
    command = f"{GEN} | nb-force -e 0.1 | nb-step -d 0.01 -k 4 'nb-force -e 0.1'"
    nb.write(tmp_path / "a.nb", nb.run(command))
    path = nb.chain.folder(os.environ.get("NB_BIN")) + ":" + os.environ["PATH"]
    assert (tmp_path / "a.nb").read_bytes() == subprocess.check_output(["bash", "-c", command], env={**os.environ, "PATH": path})
    assert nb.output(f"{GEN} | nb-convert --to csv --no-comments").startswith(b"id,mass,x,y,z,")
    assert nb.__version__ in nb.run(GEN)[0].attributes["history"][0]


def test_neighbours_fold(tmp_path):
    if os.environ.get("NB_FOLD") == "off":
        pytest.skip("NB_FOLD=off")
    for _ in range(5):  # other work may keep a program from looking in time
        with open(tmp_path / "messages", "w+") as messages:
            nb.run(f"{GEN} | nb-sort-zorder | nb-force -e 0.1 -v", stderr=messages)
            messages.seek(0)
            if "nb-force: folded: nb-gen | nb-sort-zorder | nb-force" in messages.read():
                return
    raise AssertionError("not folded")


@pytest.mark.parametrize("command, words", [
    ("nb-gen  plummer -n 3", [["nb-gen", "plummer", "-n", "3"]]),
    ("a 'b | c' \"d e\"f|g\\ h |\n i", [["a", "b | c", "d ef"], ["g h"], ["i"]]),
    ("nb-calc 'x = $2 * (y > 1)'", [["nb-calc", "x = $2 * (y > 1)"]]),
    *[(text, None) for text in ("a > b", "a $b", "a `b`", 'a "$b"', "a *", "a; b", "a && b", "a || b", "a &", "(a)", "a\nb", "x=1 a",
                                "a | ", "", "a 'b", "a \\", "~/a", "a {1,2}", "a # b")],
])
def test_a_shell_is_started_only_for_what_needs_it(command, words):
    assert nb.chain.stages(command) == words


def test_commands_of_the_shell_work(tmp_path):
    assert nb.run(f"for n in 3; do nb-gen plummer -n $n; done | tee {tmp_path}/a.nb")[0].n == 3
    assert nb.run([["nb-gen", "plummer", "-n", "3"], ["cat"]])[0].n == 3
    with pytest.raises(TypeError, match="list of lists of words"):
        nb.run(["nb-gen", "plummer"])


@pytest.mark.parametrize("command, line", [
    (f"{GEN} | nb-force -e x", "nb-force: invalid softening 'x' (want a number >= 0)"),
    (f"{GEN} | nb-build-tree | nb-force", "nb-build-tree: frame 0 is not sorted (put 'nb-sort-zorder' before)"),
    (f"{GEN} | no-such-program", "command not found"),
    (f"{GEN} | false", "false: exit status 1"),
    (f"{GEN} | sh -c 'kill -9 $$'", "sh: exit status -9"),
])
def test_a_failure_is_an_exception_with_its_line(command, line):
    with pytest.raises(nb.ProgramError) as raised:
        nb.run(command)
    assert line in str(raised.value) and "\n" not in str(raised.value) and any(raised.value.status)


@pytest.mark.parametrize("command, message", [
    (f"{GEN} | head -c 30000", "truncated stream: column 'pos' of frame 0 ends"),
    (f"cat {CORPUS}/bad/column-changed.nb", "corrupt stream: column 'pos' of frame 0 has the wrong CRC"),
    (f"{GEN} | nb-convert --to csv", "not a particle stream: wrong magic"),
    ("sh -c 'echo no stream; exec sleep 60'", "not a particle stream: wrong magic"),
    ("yes", "not a particle stream: wrong magic"),
    ("nb-gen plummer -n 100000 | tail -c +100000", "not a particle stream: wrong magic"),
    ("true", "truncated stream: empty input"),
])
def test_output_that_is_cut_or_damaged_is_a_stream_error(command, message, monkeypatch):
    monkeypatch.setattr(nb.chain, "GRACE", 0.1)
    for start in (nb.run, nb.live):
        with pytest.raises(nb.StreamError, match=message):
            for frame in start(command):
                dict(frame)


def test_messages_of_success_are_shown(capsys):
    nb.run(f"{GEN} -v")
    assert "nb-gen: plummer: 1000 bodies" in capsys.readouterr().err


def test_arrays_go_in_and_come_out():
    rng = np.random.default_rng(1)
    pos, mass = rng.normal(size=(300, 3)), rng.uniform(size=300)
    d = pos[None] - pos[:, None]
    acc = np.einsum("j,ijk->ik", mass, d / ((d**2).sum(axis=2) + 0.01)[..., None] ** 1.5)
    table = np.zeros(300, [("pos", "f8", 3), ("mass", "f8"), ("colour", "S3")])
    table["pos"], table["mass"], table["colour"] = pos, mass, b"red"
    for bodies in ({"pos": pos, "mass": mass}, table, nb.Frame.of({"pos": pos, "mass": mass})):
        frame = nb.pipe(bodies, "nb-force -m direct -e 0.1")
        assert np.allclose(frame["acc"], acc, rtol=1e-12, atol=0) and np.array_equal(frame["pos"], pos)
        assert list(frame["id"]) == list(range(300)) and frame.columns["acc"].unit == "acceleration"
    assert nb.pipe(table, "nb-sort-zorder")["colour"][0] == b"red"
    assert np.allclose(nb.pipe(pos, "nb-force -e 0.1")["mass"], 1 / 300)
    # untouched columns go on with the sums with which they came
    again = nb.pipe(nb.pipe(frame, "nb-sort-zorder"), "nb-build-tree")
    assert again.columns["pos"].sum is not None and again.number("G", 1) == 1
    assert repr(again.columns["pos"]) == f"<nb.Column: {again.n} x 3 of <f8, unit 'length'>"
    assert list(nb.Frame({"mass": 0.5, "pos": pos})) == ["mass", "pos"]
    assert nb.pipe({"mass": 0.5, "pos": pos}, "nb-force -e 0.1")["mass"].sum() == 150
    assert nb.pipe({"mass": np.ones(0), "pos": np.ones((0, 3))}, "nb-force")["acc"].shape == (0, 3)
    step = "nb-step -d 0.01 -k 2 --every 1 'nb-force -e 0.1'"
    with pytest.raises(nb.StreamError, match="made 3 frames of one"):
        nb.pipe(nb.run(GEN)[0], step)
    frames = nb.run(step, nb.run(GEN))
    assert [f.time for f in frames] == [0, 0.01, 0.02]
    assert nb.run("nb-convert --from csv", b"id,mass,x,y,z,vx,vy,vz\n0,1,2,3,4,0,0,0\n")[0]["pos"].tolist() == [[2, 3, 4]]


def test_large_frames_of_a_run_are_pages_of_a_file_and_small_ones_keep_none_open():
    frame, live = nb.run("nb-gen plummer -n 100000")[0], next(nb.live("nb-gen plummer -n 100000"))
    assert all(np.array_equal(frame[name], live[name]) for name in live)
    frame["pos"][0] = 1
    assert nb.pipe(frame, "nb-sort-zorder")["pos"].max(axis=0).tolist() == frame["pos"].max(axis=0).tolist()
    nb.memory.drop()
    files = len(os.listdir("/proc/self/fd"))
    frames = nb.run("nb-gen figure8 | nb-step -d 0.001 -k 30 --every 1 nb-force")
    assert len(frames) == 31 and len(os.listdir("/proc/self/fd")) == files


def test_pages_that_nobody_needs_go_on_and_others_do_not():
    def file_of(use):
        return [os.fstat(file.fileno()).st_ino for file, _ in nb.memory._spare[use]]

    run = "nb-gen plummer -n 100000 --seed "
    first, second = nb.run(run + "1")[0], nb.run(run + "2")[0]
    want = first["pos"].copy(), second["pos"].copy()
    assert file_of("output") == [] and not np.array_equal(*want)
    part = second["pos"][5:]
    del second
    assert file_of("output") == [] and np.array_equal(part, want[1][5:])
    del part
    file, = file_of("output")
    third = nb.run(run + "2 | nb-sort-zorder")[0]
    assert file_of("output") == [] and np.array_equal(third["pos"][third["id"].argsort()], want[1])
    del third
    assert file_of("output") == [file]
    assert np.array_equal(nb.pipe({"pos": want[1], "vel": want[1]}, "cat")["pos"], want[1])
    assert file_of("input") == []  # cat may be anything
    sorted = nb.pipe(first, "nb-sort-zorder")
    assert len(file_of("input")) == 1
    # after a fork the child, too, has the pages
    child = os.fork()
    if child == 0:
        nothing = file_of("input") + file_of("output")
        del sorted
        os._exit(bool(nothing + file_of("output")))
    assert os.waitpid(child, 0)[1] == 0
    del sorted
    assert file_of("output") == [] and np.array_equal(first["pos"], want[0])


def test_a_frame_in_memory_is_the_stream_that_a_path_has(tmp_path, monkeypatch):
    frame = nb.run("nb-gen plummer -n 70001")[0]
    frame.set("x", np.arange(3 * 70001).reshape(-1, 3), "")
    for untouched, part in ((0, 1 << 20), (1, 4096)):
        monkeypatch.setattr(nb.stream, "PART", part)
        frame.set("x", frame["x"], "")
        nb.pipe(np.full((200000, 3), np.pi), "nb-select --ids 0")  # pages are not 0
        nb.write(tmp_path / "a.nb", frame)
        assert nb.output("cat", frame) == (tmp_path / "a.nb").read_bytes()
        assert dict(nb.read(tmp_path / "a.nb")[0])["x"][70000].tolist() == [210000, 210001, 210002]
        assert nb.output("nb-stats --check", tmp_path / "a.nb")


def test_what_goes_in_is_taken_as_it_is_needed_and_may_fail():
    def frames(n):
        for k in range(n):
            yield {"pos": np.ones((10, 3)), "mass": np.ones(10)}
        1 / 0

    for start in (nb.run, nb.output, lambda c, given: list(nb.live(c, given))):
        with pytest.raises(ZeroDivisionError):
            start("nb-force -e 0.1", frames(3))
        with pytest.raises(nb.StreamError, match="column 'b' has 3 rows"):
            start("nb-force -e 0.1", {"a": np.ones(2), "b": np.ones(3)})
    for frame in nb.live("nb-force -e 0.1", frames(1000000)):
        break
    with pytest.raises(nb.ProgramError, match="^nb-force: invalid softening 'x'"):
        nb.run("nb-force -e x", frames(1000000))
    with pytest.raises(ValueError, match="null byte"):  # before the program has begun
        nb.run([["nb-force", "\0"]], frames(1))
    # in a filter, which SIGPIPE ends
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with pytest.raises(nb.ProgramError, match="^false: exit status 1"):
        nb.run("false", frames(1000000))
    signal.signal(signal.SIGPIPE, before)
    assert nb.output("wc -c", bytes(3 << 20)).split() == [b"3145728"]


def test_a_live_run_gives_frames_as_they_come_and_ends_with_the_loop():
    for frame in nb.live(ENDLESS):
        if frame.time > 0.01:
            break
    with pytest.raises(ZeroDivisionError):
        for frame in nb.live(ENDLESS):
            1 / 0
    with nb.live(ENDLESS) as frames:
        next(frames)
    assert list(frames) == []
    assert [f.time for f in nb.live(f"{GEN} | nb-step -d 0.5 -k 2 --every 1 'nb-force -e 0.1'")] == [0, 0.5, 1]
    with pytest.raises(nb.ProgramError, match="^nb-step: "):
        list(nb.live(f"{GEN} | nb-step -d 0.5 -k 2 --every 1 false"))


@pytest.fixture
def default_ctrl_c():  # a job that a script starts in the background ignores it, and so does what it starts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("command", [f"{ENDLESS} -k 10000000 --every 0", f"{ENDLESS} -k 100000 | cat; true"])
def test_ctrl_c_ends_the_chain(command, default_ctrl_c):
    main = threading.main_thread().ident
    for start in (nb.run, lambda c: list(nb.live("sleep 60 | cat"))):
        begin = time.process_time()
        with pytest.raises(KeyboardInterrupt):  # which may come late, or before the start
            threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
            start(command)
        assert time.process_time() - begin < 10


def test_ctrl_c_leaves_a_filter_the_last_frame_of_a_run(tmp_path, default_ctrl_c):
    script = "import nb\nwith nb.stdout() as out:\n    for frame in nb.stdin(): out.write(frame)"
    path = nb.chain.folder(os.environ.get("NB_BIN")) + ":" + os.environ["PATH"]
    with open(tmp_path / "a.nb", "wb") as out:
        shell = subprocess.Popen(["bash", "-c", f"{ENDLESS} | '{sys.executable}' -c '{script}'"], env={**os.environ, "PATH": path},
                                 stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + 20
    while not (tmp_path / "a.nb").stat().st_size and time.monotonic() < until:
        time.sleep(0.01)
    os.killpg(shell.pid, signal.SIGINT)
    shell.wait(20)
    times = [f.time for f in nb.read(tmp_path / "a.nb")]
    assert len(times) > 1 and times == sorted(times)


def test_the_end_of_python_ends_a_live_run():
    script = f"import nb; f = nb.live({ENDLESS!r}); next(f); print(*[p.pid for p in f._chain.programs], flush=True)"
    for end in ("", "; import time; time.sleep(60)"):
        python = subprocess.Popen([sys.executable, "-c", script + end], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        pids = python.stdout.readline().split()
        if "sleep" in end:
            python.kill()
        python.wait(20)
        python.stdout.close()
        until = time.monotonic() + 10
        while any(os.path.exists(f"/proc/{pid.decode()}") for pid in pids) and time.monotonic() < until:
            time.sleep(0.01)
        assert len(pids) == 2 and time.monotonic() < until


def test_a_fork_keeps_nothing_open_and_ends_nothing():
    go_on = threading.Event()

    def given():
        yield {"pos": np.ones((10, 3)), "mass": np.ones(10)}
        go_on.wait(20)

    frames, fed = nb.live(ENDLESS), nb.live("nb-force -e 0.1", given())
    next(frames), next(fed)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            frames._chain.kill()
            os.close(write_end)
            select.select([read_end], [], [], 20)  # stays until its parent is through
        finally:
            os._exit(0)
    os.close(read_end)
    assert next(frames).time > 0
    go_on.set()
    assert list(fed) == []  # the end of its input is seen
    programs = frames._chain.programs
    frames._close_end()  # as if this process had gone: SIGPIPE ends the run
    assert [p.wait(20) for p in programs][-1] != 0
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.close(write_end)
    os.waitpid(child, 0)
