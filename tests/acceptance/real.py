#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real time inside half the memory, on the disk tier: at most 1.15 x the larger of the step without a budget and
the bytes moved over the disk's bandwidth, measured reading and writing at once. Runs are interleaved, medians
decide; six minutes of two quiet cores. Prediction (the plan in force at each step) is held to 15 % of reality."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from disk_rate import both_ways  # noqa: E402

SLUICE = os.environ.get("SLUICE", "build/sluice")
STEPS, ROUNDS = 6, 3
CASES = [
    ("resnet18, over 1 GiB", ["resnet18:input=3x128x128,classes=10", "--batch", "144"]),
    ("gpt2 4 x 256, over 1 GiB", ["gpt2:layers=4,width=256,vocab=256", "--batch", "112", "--data", "synthetic:128"]),
    ("gpt2-124M", ["gpt2", "--data", "synthetic:128"]),
]


def last(words):
    out = subprocess.run([SLUICE, *words], check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def median(values):
    return sorted(values)[len(values) // 2]


def train(case, extra):
    return last(["train", *case, "--steps", str(STEPS), "--quiet", "--json", *extra])["summary"]


def main():
    failed = 0
    rates = sorted(both_ways() for _ in range(3))
    print("disk: %.2f GB/s both ways together (%.2f to %.2f)" % (rates[1] / 1e9, rates[0] / 1e9, rates[2] / 1e9))
    for name, case in CASES:
        bare, tight, moved_ms, predicted = [], [], [], []
        for _ in range(ROUNDS):
            bare.append(train(case, [])["iter_ms_median"])
            s = train(case, ["--budget", "50%"])
            tight.append(s["iter_ms_median"])
            predicted.append(s["predicted_iter_ms"])
            moved_ms.append(1e3 / STEPS * (s["swap_out_bytes"] + s["swap_in_bytes"]) / rates[1])
        floor = max(median(bare), median(moved_ms))
        ratio = median(tight) / floor
        off = median(predicted) / median(tight) - 1
        text = "%s: %.0f ms a step inside half, %.0f without, %.0f of copying: %.3f x (bar 1.15)" % (
            name, median(tight), median(bare), median(moved_ms), ratio)
        for ok, line in ((ratio <= 1.15, text), (abs(off) <= 0.15, "%s: predicted %+.1f %% (bar 15)" % (name, 100 * off))):
            print("%s - %s" % ("ok" if ok else "not ok", line), flush=True)
            failed += not ok
    print("%d passed, %d failed" % (2 * len(CASES) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
