#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hundred thousand real iterations of trainings that join and leave: the daemon's resident memory grows by less than
1 % after the first tenth, it keeps no descriptor, and the ledger is empty at the end. Two minutes."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SLUICE = os.environ.get("SLUICE", "build/sluice")
SLUICED = os.path.join(os.path.dirname(SLUICE), "sluiced")
TURNS = int(os.environ.get("TURNS", "100000"))
AT_ONCE = 3


def resident_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def status(socket):
    out = subprocess.run([SLUICE, "top", "--once", "--json", "--socket", socket], check=True, capture_output=True,
                         text=True).stdout
    return json.loads(out.splitlines()[-1])["summary"]


def start(socket, steps, seed):
    width = random.choice((16, 32, 64))
    job = subprocess.Popen([SLUICE, "train", "mlp:sizes=8-%d-4" % width, "--data", "synthetic:8", "--batch", "4", "--steps",
                            str(steps), "--seed", str(seed), "--threads", "1", "--quiet", "--json", "--shared", "--socket",
                            socket], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    job.steps = steps
    return job


def main():
    random.seed(1)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "d.sock")
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            daemon = subprocess.Popen([SLUICED, "--socket", socket, "--budget", "1MiB", "--quantum", "0"], stderr=log)
        while not os.path.exists(socket):
            time.sleep(0.05)
        begin_fds = descriptors(daemon.pid)
        done, jobs, ended, first, seed = 0, [], 0, None, 0
        while done < TURNS or jobs:
            while done < TURNS and len(jobs) < AT_ONCE:
                seed += 1
                jobs.append(start(socket, random.randrange(300, 3000), seed))
            for job in [j for j in jobs if j.poll() is not None]:
                if job.returncode != 0:
                    sys.exit("a job ended with %d: %s" % (job.returncode, job.stderr.read()))
                job.stderr.close()
                jobs.remove(job)
                done += job.steps
                ended += 1
                if first is None and done >= TURNS // 10:
                    first = resident_kib(daemon.pid)
            time.sleep(0.01)
        time.sleep(0.5)
        last, now = resident_kib(daemon.pid), status(socket)
        checks = [
            (last <= first * 1.01, "%d iterations of %d jobs: the daemon has %d KiB, %d after the first tenth (bar 1 %%)" % (
                done, ended, last, first)),
            (descriptors(daemon.pid) == begin_fds, "%d descriptors as at the start" % begin_fds),
            (now["granted_bytes"] == 0, "the ledger is empty"),
            (now["turns"] == done, "%d turns are counted" % now["turns"]),
        ]
        for ok, text in checks:
            print("%s - %s" % ("ok" if ok else "not ok", text))
            failed += not ok
        daemon.send_signal(signal.SIGTERM)
        failed += daemon.wait() != 0
    print("%d passed, %d failed" % (len(checks) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
