#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""500 jobs that come at once: registered within 2 s, and 99 of 100 requests answered within
100 ms, while a job that has the device works on and a joint plan for two traces of 10,000 ops is
made. The best of three runs counts."""
import os
import re
import selectors
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import talk  # noqa: E402
from planned import Planned, chain  # noqa: E402

PROGRAM = os.environ.get("SLUICE", "build/sluice")
FOLDER = os.path.dirname(os.path.abspath(PROGRAM))
CLIENTS = 500
HELLO = struct.pack("<QI", 0x31454349554C53, 1) + talk.text("many")
MENU = struct.pack("<I3Q", 1, 1 << 20, 1 << 20, 10**6)
JOB = talk.text("many") + struct.pack("<IiqqqII", 0, 20, 0, 0, 10**6, 0, 0) + MENU


def frame(number, payload, seq):
    return struct.pack("<IHHII", len(payload), number, 1, seq, 0) + payload


def register(path):
    """Seconds until all are registered, and the connections."""
    begin = time.monotonic()
    talks = []
    waiting = selectors.DefaultSelector()
    for _ in range(CLIENTS):
        t = talk.Talk(path)
        t.socket.sendall(frame(talk.HELLO, HELLO, 1) + frame(talk.REGISTER, JOB, 2))
        waiting.register(t.socket, selectors.EVENT_READ, t)
        talks.append(t)
    left = CLIENTS
    while left:
        for key, _ in waiting.select():
            number, _, payload = key.data.receive()
            if number == talk.ERROR:
                raise RuntimeError(payload)
            if number == talk.REGISTERED:
                waiting.unregister(key.fileobj)
                left -= 1
    return time.monotonic() - begin, talks


def ask_all(talks):
    """Latencies of a request on each connection, beside all that the daemon says unasked."""
    times = []
    for t in talks:
        begin = time.monotonic()
        t.send(51, talk.text(""), 77)
        while t.receive()[1] != 77:
            pass
        times.append(time.monotonic() - begin)
    return sorted(times)


def run(folder):
    path = os.path.join(folder, "d.sock")
    daemon = subprocess.Popen([os.path.join(FOLDER, "sluiced"), "--budget", "256MiB", "--socket", path],
                              stderr=subprocess.DEVNULL)
    while not os.path.exists(path):
        time.sleep(0.01)
    worker = subprocess.Popen([os.path.join(FOLDER, "tests/tools/fakejob"), "--socket", path, "--p", "8MiB",
                               "--e", "8MiB", "--turns", "300", "--turn-us", "5000", "--priority", "1"],
                              stdout=subprocess.PIPE, text=True)
    planned = [Planned(path, chain(10000), name="planned", mib=4) for _ in range(2)]
    # The child begins a moment after the second trace came.
    time.sleep(0.3)
    children = subprocess.run(["pgrep", "-P", str(daemon.pid)], capture_output=True, text=True).stdout
    took, talks = register(path)
    times = ask_all(talks)
    for t in talks + [p.talk for p in planned]:
        t.socket.close()
    out, _ = worker.communicate(timeout=60)
    daemon.terminate()
    daemon.wait(10)
    p99 = times[int(len(times) * 0.99)]
    good = worker.returncode == 0 and re.search(r'"foreign":0,"torn":0', out)
    print(f"joint plan under way: {bool(children)}; registered in {took:.2f} s, replies p50 {times[len(times) // 2] * 1e3:.2f} ms, "
          f"p99 {p99 * 1e3:.2f} ms")
    return took <= 2 and p99 <= 0.1, bool(good)


def main():
    fast = sound = False
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            fast, sound = run(folder)
        if fast or not sound:
            break
    print(("ok: " if fast else "FAILED: ") + "500 registered in 2 s, p99 of replies within 100 ms")
    print(("ok: " if sound else "FAILED: ") + "the job beside them finished")
    print(f"{fast + sound} passed, {2 - fast - sound} failed")
    return 0 if fast and sound else 1


if __name__ == "__main__":
    sys.exit(main())
