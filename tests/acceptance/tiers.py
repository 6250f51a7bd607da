#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three tiers in reality: weights and Adam's state of four times the device budget, half of them at most on the host,
the rest on disk. Bit-exact, within both caps, and a step of at most 1.3 x what cannot be quicker: the step without a
budget, or the bytes that have to pass the disk, over its bandwidth, measured reading and writing at once.

At any time the state less device and host lies on disk; every byte of it is used and written in each step, so that
much comes in and goes out again in each. Steps count once the plans with measured times are in force: the last ten of
sixty. Runs are interleaved, medians decide; five minutes of two quiet cores."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from disk_rate import both_ways  # noqa: E402

SLUICE = os.environ.get("SLUICE", "build/sluice")
STEPS, STEADY, ROUNDS = 60, 10, int(os.environ.get("ROUNDS", "3"))
NET = "gpt2:layers=24,width=512,vocab=256"
CASES = [
    ("tokens enough to hide copies", [NET, "--batch", "2", "--data", "synthetic:128"]),
    ("copies are the bound", [NET, "--batch", "1", "--data", "synthetic:32"]),
]


def median(values):
    return sorted(values)[len(values) // 2]


def train(case, extra):
    words = [SLUICE, "train", *case, "--steps", str(STEPS), "--quiet", "--json", *extra]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    steps = [step["iter_ms"] for step in map(json.loads, lines) if "iter_ms" in step]
    return median(steps[-STEADY:]), json.loads(lines[-1])["summary"]


def parameters():
    out = subprocess.run([SLUICE, "plan", *CASES[0][1], "--quiet", "--record", "-"], check=True,
                         capture_output=True, text=True).stdout
    total = 0
    for line in out.splitlines():
        words = dict(w.split("=", 1) for w in line.split() if "=" in w)
        if line.startswith("value") and words.get("alias", "-") == "-" and words.get("class") in ("param", "state"):
            total += int(words["bytes"])
    return total


def main():
    failed = checks = 0

    def check(ok, line):
        nonlocal failed, checks
        print("%s - %s" % ("ok" if ok else "not ok", line), flush=True)
        failed += not ok
        checks += 1

    rates = sorted(both_ways() for _ in range(3))
    state = parameters()
    device, host = state // 4 & -4096, state // 2 & -4096
    caps = ["--budget", str(device), "--host", str(host)]
    print("disk %.2f GB/s both ways together; state %.0f MB, device %.0f MB, host at most %.0f MB" %
          (rates[1] / 1e9, state / 1e6, device / 1e6, host / 1e6))
    for name, case in CASES:
        bare, tight, digests = [], [], set()
        for _ in range(ROUNDS):
            (free_ms, free), (held_ms, held) = train(case, []), train(case, caps)
            bare.append(free_ms)
            tight.append(held_ms)
            digests |= {free["digest"], held["digest"]}
        disk_ms = 2e3 * (state - device - host) / rates[1]
        floor = max(median(bare), disk_ms)
        check(len(digests) == 1, "%s: bit-exact" % name)
        check(held["peak_device_bytes"] <= device and held["peak_host_bytes"] <= host and held["peak_disk_bytes"] > 0,
              "%s: %.0f MB on the device, %.0f on the host, %.0f on disk" %
              (name, held["peak_device_bytes"] / 1e6, held["peak_host_bytes"] / 1e6, held["peak_disk_bytes"] / 1e6))
        check(median(tight) <= 1.3 * floor, "%s: %.0f ms a step, %.0f without a budget, %.0f at the disk's bandwidth: "
              "%.3f x (bar 1.3)" % (name, median(tight), median(bare), disk_ms, median(tight) / floor))
    print("%d passed, %d failed" % (checks - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
