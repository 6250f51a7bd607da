#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The crash matrix: each step of a job's life x what may happen to it, to the daemon, to the
machine. In each cell two jobs run beside it and must finish with memory that is their own;
afterwards nothing is granted, no job is left, and the daemon has as many descriptors as before.

CELLS="step:fault ..." runs those alone."""
import array
import concurrent.futures
import json
import mmap
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import talk  # noqa: E402

PROGRAM = os.environ.get("SLUICE", "build/sluice")
FOLDER = os.path.dirname(os.path.abspath(PROGRAM))
MIB = 1 << 20
REPORT, RESIZE, RESIZED, PARK = 14, 15, 16, 18
STEPS = ("connected", "greeted", "registered", "admitted", "ready", "turn", "asked", "reported",
         "resized", "park", "ended")


# ---- The job that goes wrong, a process of its own.

class Probe:
    """A job that goes as far as a step, says so, and waits there."""

    def __init__(self, path):
        self.talk = talk.Talk(path)
        self.fds = []
        self.page = None

    def receive(self):
        """Next message; descriptors that come are kept."""
        data = b""
        while len(data) < 16:
            part, rights, _, _ = self.talk.socket.recvmsg(16 - len(data), 256)
            for _, _, raw in rights:
                fds = array.array("i")
                fds.frombytes(raw[:len(raw) // 4 * 4])
                self.fds += fds
            if not part:
                raise EOFError
            data += part
        size, number, _, seq, _ = struct.unpack("<IHHII", data)
        return number, seq, self.talk.take(size)

    def until(self, wanted):
        while True:
            number, _, payload = self.receive()
            if number == wanted:
                return payload
            if number == talk.ERROR:
                raise SystemExit(payload[6:].decode())

    def word(self, at):
        return struct.unpack("<I", self.page[at:at + 4])[0]

    def wait_word(self, at, bit):
        while not self.word(at) & bit:
            time.sleep(0.002)

    def report(self):
        self.page[0:4] = struct.pack("<I", self.word(0) & ~1)
        self.talk.send(REPORT, struct.pack("<QQI", 1, 1000, 0), 0)

    def yield_until_park(self):
        while True:
            if select.select([self.talk.socket], [], [], 0.005)[0] and self.receive()[0] == PARK:
                return
            if self.word(0) & 1 and self.word(64):
                self.report()

    def greeted(self):
        assert self.talk.hello()

    def registered(self, part, priority):
        menu = struct.pack("<I3Q", 1, part * MIB, 8 * MIB, 10**6)
        self.talk.send(talk.REGISTER, talk.text("probe") + struct.pack(
            "<IiqqqII", 0, priority, 0, 0, 10**6, 0, 0) + menu, 2)
        self.until(talk.REGISTERED)
        self.page = mmap.mmap(self.fds.pop(), 4096)

    def go(self, step):
        park = step == "park"
        if STEPS.index(step) >= 1:
            self.greeted()
        if STEPS.index(step) >= 2:
            self.registered(44 if park else 4, 30 if park else 20)
        if STEPS.index(step) >= 3:
            self.until(talk.ADMITTED)
        if STEPS.index(step) >= 4:
            self.talk.send(talk.READY, struct.pack("<I", 0), 0)
        if park:
            print("in", flush=True)
            self.yield_until_park()
        elif STEPS.index(step) >= 5:
            self.wait_word(0, 1)
        if step in ("asked", "reported", "resized"):
            self.wait_word(64, 1)
        if step in ("reported", "resized"):
            self.report()
        if step == "resized":
            self.talk.send(RESIZE, struct.pack("<QQ", 5 * MIB, 8 * MIB), 4)
        if step == "ended":
            self.talk.send(talk.END, struct.pack("<QQI", 1, 1000, 0), 5)

    def do(self, word):
        head = struct.pack("<IHHII", 100, talk.REGISTER, 9 if word == "wrong_version" else 1, 7, 0)
        self.talk.socket.sendall(head + bytes(100 if word == "wrong_version" else 50))
        if word == "truncated":
            self.talk.socket.close()


def probe(path, step):
    p = Probe(path)
    p.go(step)
    print(step, flush=True)
    for line in sys.stdin:
        p.do(line.strip())
        print("did", flush=True)
    signal.pause()


# ---- The daemon and the two beside it.

class Daemon:
    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "d.sock")
        self.process = None
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(FOLDER, "sluiced"), "--budget", "64MiB", "--socket", self.path,
                 "--quantum", "100ms", "--turn-timeout", "3s", "--grace", "1s",
                 "--log", os.path.join(self.folder, "decisions")], stderr=log)
        for _ in range(500):
            try:
                self.state()
                return
            except (OSError, EOFError):
                time.sleep(0.01)
        raise RuntimeError("the daemon does not come up")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(10)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def state(self):
        t = talk.Talk(self.path)
        assert t.hello()
        t.send(42, struct.pack("<I", 0), 2)
        number, _, payload = t.receive()
        t.socket.close()
        assert number == 43
        capacity, granted, _, jobs = struct.unpack("<QQQI", payload[:28])
        return granted, jobs

    def settles(self, descriptors):
        """Empty, and no descriptor more than before."""
        for _ in range(400):
            state = self.state()
            if state == (0, 0) and self.descriptors() <= descriptors:
                return ""
            time.sleep(0.02)
        return f"granted {state[0]}, jobs {state[1]}, descriptors {self.descriptors()} of {descriptors}"


def beside(daemon, seed):
    return subprocess.Popen(
        [os.path.join(FOLDER, "tests/tools/fakejob"), "--socket", daemon.path, "--name", f"b{seed}",
         "--p", "8MiB", "--e", "8MiB", "--turns", "150", "--turn-us", "2000", "--seed", str(seed),
         "--folder", daemon.folder], stdout=subprocess.PIPE, text=True)


# ---- What happens at the step.

def kill_client(daemon, job):
    job.kill()


def kill_daemon(daemon, job):
    daemon.kill()
    time.sleep(0.05)
    daemon.start()


def stop_client(daemon, job):
    job.send_signal(signal.SIGSTOP)
    time.sleep(4)


def limit(daemon, what, most, seconds):
    before = resource.prlimit(daemon.process.pid, what)
    resource.prlimit(daemon.process.pid, what, (most, before[1]))
    time.sleep(seconds)
    resource.prlimit(daemon.process.pid, what, before)


def full_disk(daemon, job):
    limit(daemon, resource.RLIMIT_FSIZE, 100, 0.4)


def no_memory(daemon, job):
    with open(f"/proc/{daemon.process.pid}/statm") as f:
        pages = int(f.read().split()[0])
    limit(daemon, resource.RLIMIT_AS, pages * 4096, 0.4)


def storm(daemon, job):
    for _ in range(100):
        for sig in (signal.SIGSTOP, signal.SIGCONT, signal.SIGHUP):
            daemon.process.send_signal(sig)
        time.sleep(0.003)


def say_to(word):
    def say(daemon, job):
        job.stdin.write(word + "\n")
        job.stdin.flush()
        line_of(job)
    return say


FAULTS = {"kill_client": kill_client, "kill_daemon": kill_daemon, "stop_client": stop_client,
          "full_disk": full_disk, "no_memory": no_memory, "signals": storm,
          "truncated": say_to("truncated"), "wrong_version": say_to("wrong_version")}


def line_of(job):
    ready, _, _ = select.select([job.stdout], [], [], 30)
    return job.stdout.readline().strip() if ready else "30 s"


def reach(daemon, step):
    """The two beside it and the job at its step; who is to park is there before them."""
    others = [] if step == "park" else [beside(daemon, seed) for seed in (1, 2)]
    job = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--probe", daemon.path, step],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = line_of(job)
    if line == "in":
        others = [beside(daemon, seed) for seed in (1, 2)]
        line = line_of(job)
    return others, job, "" if line == step else f"the step was not reached: {line}"


def cell(daemon, step, fault):
    before = daemon.descriptors()
    others, job, why = reach(daemon, step)
    if not why:
        FAULTS[fault](daemon, job)
    job.kill()
    job.wait()
    for other in others:
        try:
            out, _ = other.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            other.kill()
            other.communicate()
            return why or "a job beside it hangs"
        result = json.loads(out.strip().split("\n")[-1] or "{}")
        if other.returncode or result.get("foreign") or result.get("torn"):
            why = why or f"a job beside it: exit {other.returncode}, {out.strip()}"
    return why or daemon.settles(before)


def row(fault, steps, report):
    with tempfile.TemporaryDirectory(dir=os.environ.get("SL_TEST_DIR", "/var/tmp")) as folder:
        daemon = Daemon(folder)
        for step in steps:
            try:
                why = cell(daemon, step, fault)
            except Exception as e:  # The daemon may be gone.
                why = repr(e)
            report(f"{step} x {fault}", why)
            if daemon.process.poll() is not None:
                report(f"{fault}: the daemon lives", f"exit {daemon.process.returncode}")
                daemon.start()
        code = daemon.stop()
        report(f"{fault}: the daemon ends with 0", code and f"exit {code}")
        for name in sorted(os.listdir(folder)):
            # A log that a full disk cut short says nothing.
            if name.startswith("decisions") and fault not in ("full_disk",):
                r = subprocess.run([PROGRAM, "sim", "--decisions", os.path.join(folder, name)],
                                   capture_output=True, text=True)
                report(f"{fault}: {name} decides the same", r.returncode and r.stderr.strip())
        if os.environ.get("KEEP"):
            subprocess.run(["cp", "-r", folder, os.environ["KEEP"] + "/" + fault], check=True)


def main():
    counts = [0, 0]
    lock = threading.Lock()

    def report(name, why):
        with lock:
            counts[bool(why)] += 1
            print(f"FAILED: {name} ({why})" if why else f"ok: {name}", flush=True)

    chosen = [c.split(":") for c in os.environ.get("CELLS", "").split()] or \
        [(s, f) for f in FAULTS for s in STEPS]
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        for done in [pool.submit(row, f, [s for s, x in chosen if x == f], report)
                     for f in FAULTS if f in [x for _, x in chosen]]:
            done.result()
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--probe"]:
        probe(*sys.argv[2:])
    sys.exit(main())
