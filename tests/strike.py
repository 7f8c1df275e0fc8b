#!/usr/bin/env python3
"""Sends signals to the programs of pipelines at random moments, and checks how the pipelines end.

    strike.py SIGNALS TIMES COMMAND...

Each command runs so many times in a new folder ./struck, and one of its processes, be it one that the shell has not yet
made a program, gets one of the signals at a moment between its start and its end: "KILL,TERM".  A signal such as "-INT"
goes to the whole group, as from a keyboard; after STOP comes CONT.  Then the pipeline must end, and either its
output is what it is without a signal, or the status of some program is not 0 and there is no end marker of a stream, or,
after INT, TERM or HUP, a whole stream and a program that has been ended by that signal; after STOP and CONT its output must be
whole.  No process of it may stay, and no zombie.  Prints the first failure.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

PATIENCE = 300  # what takes longer hangs; it must be longer than what a program waits for
MARKER = bytes.fromhex("894e42530d0a1a0a010000008000000002")
FOLDER = pathlib.Path("struck")


def descendants(pid):
    """In the order in which they started, parents before children."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in file.read().split():
                    found += [int(child)] + descendants(child)
    except OSError:
        pass
    return found


def session(sid):
    """The processes of a session: their ids and states, but for zombies that nobody but init has to wait for."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, parent, _, sid_of_it = file.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(sid_of_it) == sid and (state != "Z" or parent != "1"):
            found.append((int(pid), state))
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def start(command):
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    (FOLDER / ".command").write_text(command + '\nprintf "%s " "${PIPESTATUS[@]}" >status\n')
    with open(FOLDER / "stdout", "wb") as out, open(FOLDER / "messages", "wb") as err:
        return subprocess.Popen(["env", "--default-signal=INT,QUIT,HUP,TERM,PIPE", "bash", ".command"], cwd=FOLDER,
                                stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)


def first_child(shell):
    """Waits for the first process of the pipeline."""
    until = time.monotonic() + PATIENCE
    while not descendants(shell.pid) and shell.poll() is None and time.monotonic() < until:
        pass


def hit(shell, name, which):
    """The processes there were, and the one that got the signal."""
    number = getattr(signal, "SIG" + name.lstrip("-"))
    pids = descendants(shell.pid)
    pid = pids[which % len(pids)] if pids else 0
    try:
        if name[0] == "-":
            os.killpg(shell.pid, number)
        elif pid:
            os.kill(pid, number)
            if name == "STOP":
                time.sleep(0.03)
                os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    return pids, pid


def is_whole(stream):
    """Whether it is one that nb-stats accepts."""
    return subprocess.run(["nb-stats", "--check"], input=stream, stdout=subprocess.DEVNULL, check=False).returncode == 0


def wrong(shell, name, whole):
    """What is wrong with the end, or None."""
    try:
        shell.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return "it hangs: " + str(session(shell.pid))
    until = time.monotonic() + PATIENCE
    while (left := session(shell.pid)) and time.monotonic() < until:
        time.sleep(0.01)
    if left:
        return f"processes stay: {left}"
    out = (FOLDER / "stdout").read_bytes()
    status = (FOLDER / "status").read_text().split() if (FOLDER / "status").exists() else ["none"]
    if out == whole:
        return None
    if name == "STOP":
        return "the output is not whole"
    number = getattr(signal, "SIG" + name.lstrip("-"))
    early = number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) and (str(128 + number) in status or shell.returncode == -number)
    if out[-128:].startswith(MARKER) and not (early and is_whole(out)):
        return "the output is not whole, and has an end marker"
    return "the output is not whole, and every status is 0" if set(status) == {"0"} else None


def run_once(command, name, which, delay, whole):
    shell = start(command)
    first_child(shell)
    time.sleep(delay)
    pids, pid = hit(shell, name, which)
    fault = wrong(shell, name, whole)
    if fault:
        status = (FOLDER / "status").read_text() if (FOLDER / "status").exists() else "none"
        print(f"{command}\n{name} for {pid} of {pids} after {delay:.6f} s, statuses {status}: {fault}")
        print((FOLDER / "messages").read_text(errors="replace"))
        for left, _ in session(shell.pid):
            kill(left)
        sys.exit(1)
    return pid and (FOLDER / "stdout").read_bytes() != whole


def duration(command):
    """Of a run without a signal, from its first process; and what it writes.  On a busy machine a run may exceed its
    own --patience, but not each time."""
    best, runs, tries = PATIENCE, 0, 0
    while runs < 3:
        shell = start(command)
        first_child(shell)
        begin = time.monotonic()
        shell.wait()
        tries += 1
        if set((FOLDER / "status").read_text().split()) == {"0"}:
            runs += 1
            best = min(best, time.monotonic() - begin)
            out = (FOLDER / "stdout").read_bytes()
        elif tries == 20 or "exceeded the patience" not in (FOLDER / "messages").read_text():
            sys.exit(f"{command}\nfails by itself: " + (FOLDER / "messages").read_text())
    return best, out


def main(signals, times, *commands):
    chance = random.Random(7)
    struck = 0
    for command in commands:
        longest, whole = duration(command)
        for _ in range(int(times)):
            name = chance.choice(signals.split(","))
            struck += bool(run_once(command, name, chance.randrange(60), chance.random() * longest, whole))
    print(f"{struck} of {int(times) * len(commands)} runs did not come to their end")


main(*sys.argv[1:])
