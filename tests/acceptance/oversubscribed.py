#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three jobs on a device that holds two thirds of what they keep: sum of P = 1.5 x C.

All finish with the bits of running alone; the makespan is at most 1.10 x one after another (0.85 x where jobs wait
for their samples half of the time) and at most 0.95 x equal shares (each job inside a third of the device for
itself, all at once); a job of priority 1 takes at most 1.10 x its time alone. Rounds are interleaved, medians
decide; ten minutes of two quiet cores.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

SLUICE = os.environ.get("SLUICE", "build/sluice")
SLUICED = os.path.join(os.path.dirname(SLUICE), "sluiced")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
MIB = 1 << 20
# P of the first two is 0.35 C each, of the third 0.8 C: two can stay, or the one.
SMALL, LARGE = "mlp:sizes=1024-2048-2048-2048-10", "mlp:sizes=1024-3200-3200-3200-10"
FAILED = []


def say(ok, text):
    print("%s - %s" % ("ok" if ok else "not ok", text), flush=True)
    if not ok:
        FAILED.append(text)


def command(model, steps, delay_us, extra):
    data = "synthetic:1024" + ("@%dus" % delay_us if delay_us else "")
    return [SLUICE, "train", model, "--data", data, "--batch", "64", "--steps", str(steps), "--optim", "adamw",
            "--quiet", "--json", *extra]


def start(words):
    """Its reports go to files: a pipe that nobody reads would make it wait."""
    out, err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
    job = subprocess.Popen(words, stdout=out, stderr=err)
    job.said = out, err
    return job


def finish(job):
    job.wait()
    for file in job.said:
        file.seek(0)
    out, err = (file.read() for file in job.said)
    if job.returncode != 0:
        sys.exit("exit %d: %s\n%s" % (job.returncode, " ".join(job.args), err))
    return json.loads(out.splitlines()[-1])["summary"]


def timed(all_words, at_once):
    """Seconds until all are done, and their summaries."""
    begin = time.monotonic()
    if at_once:
        done = [finish(job) for job in [start(w) for w in all_words]]
    else:
        done = [finish(start(w)) for w in all_words]
    return time.monotonic() - begin, done


class Daemon:
    def __init__(self, capacity, folder):
        self.socket = os.path.join(folder, "d.sock")
        self.job = subprocess.Popen([SLUICED, "--socket", self.socket, "--budget", str(capacity)],
                                    stderr=open(os.path.join(folder, "log"), "w"))
        while not os.path.exists(self.socket):
            time.sleep(0.05)

    def shared(self):
        return ["--shared", "--socket", self.socket]

    def stop(self):
        self.job.send_signal(signal.SIGTERM)
        self.job.wait()


def kept(model):
    """P of an MLP under AdamW: parameters and two states of each, four bytes an element."""
    width = [int(n) for n in model.split("=")[1].split("-")]
    return 12 * sum(a * b + b for a, b in zip(width, width[1:]))


def median(values):
    return sorted(values)[len(values) // 2]


def compare(name, delay_us, steps, capacity, bars, folder):
    jobs = [(SMALL, 2 * steps), (SMALL, 2 * steps), (LARGE, steps)]
    alone = [command(m, n, delay_us, ["--seed", str(i)]) for i, (m, n) in enumerate(jobs)]
    third = capacity // 3 // 4096 * 4096
    series, shares, together, digests = [], [], [], set()
    parked = 0
    for _ in range(ROUNDS):
        t, done = timed(alone, at_once=False)
        series.append(t)
        want = [d["digest"] for d in done]
        t, done = timed([w + ["--budget", str(third)] for w in alone], at_once=True)
        shares.append(t)
        digests.add(tuple(d["digest"] for d in done) == tuple(want))
        daemon = Daemon(capacity, folder)
        t, done = timed([w + daemon.shared() for w in alone], at_once=True)
        daemon.stop()
        together.append(t)
        parked += sum(d["parked"] for d in done)
        digests.add(tuple(d["digest"] for d in done) == tuple(want))
    text = "%s: %.1f s together, %.1f one after another, %.1f in equal shares, %d times parked" % (
        name, median(together), median(series), median(shares), parked)
    say(digests == {True}, name + ": every digest is that of running alone")
    say(median(together) <= bars[0] * median(series), "%s: %.2f x one after another (bar %.2f)" % (
        text, median(together) / median(series), bars[0]))
    say(median(together) <= bars[1] * median(shares), "%s: %.2f x equal shares (bar %.2f)" % (
        name, median(together) / median(shares), bars[1]))


def priority(steps, capacity, folder):
    """The urgent job comes while two others are at work."""
    urgent = command(SMALL, 2 * steps, 0, ["--seed", "7"])
    solo, beside = [], []
    for _ in range(ROUNDS):
        solo.append(timed([urgent], at_once=True)[0])
        daemon = Daemon(capacity, folder)
        others = [start(command(m, 100000, 0, daemon.shared())) for m in (SMALL, LARGE)]
        time.sleep(5)
        beside.append(timed([urgent + daemon.shared() + ["--priority", "1"]], at_once=True)[0])
        for job in others:
            job.send_signal(signal.SIGTERM)
        for job in others:
            job.wait()
        daemon.stop()
    ratio = median(beside) / median(solo)
    say(ratio <= 1.10, "priority 1 beside two others: %.2f x its time alone (%.1f s, %.1f s; bar 1.10)" % (
        ratio, median(beside), median(solo)))


def main():
    steps = int(os.environ.get("STEPS_EACH", "150"))
    capacity = int((2 * kept(SMALL) + kept(LARGE)) / 1.5) // 4096 * 4096
    print("C = %.0f MiB; P of the jobs: %.0f, %.0f, %.0f MiB" % tuple(
        n / MIB for n in (capacity, kept(SMALL), kept(SMALL), kept(LARGE))))
    with tempfile.TemporaryDirectory() as folder:
        compare("compute", 0, steps, capacity, (1.10, 0.95), folder)
        compare("half of it input", 1500, steps, capacity, (0.85, 0.95), folder)
        priority(steps, capacity, folder)
    print("%d passed, %d failed" % (7 - len(FAILED), len(FAILED)))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
