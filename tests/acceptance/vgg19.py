#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""VGG19 at 224 x 224 by the cost model of Checkmate (Jain et al., MLSys 2020), which needs no profile: a forward op
takes its multiply-accumulates, a backward one twice as much; a node's memory is 4 bytes an output, parameters and
their gradients 8 bytes each. How many images fit 16e9 bytes with at most one forward pass more? Their certified
optimum is 289 (289.03459 before rounding); ours has addresses. Bar: 285, in a minute.

Their baselines come out where parameters and gradients are counted twice (the script that made them did): keeping
every forward value to the end then holds 167."""
import json
import os
import subprocess
import sys
import tempfile
import time

SLUICE = os.environ.get("SLUICE", "build/sluice")
BUDGET = 16_000_000_000
NS = 1_000_000  # multiply-accumulates a nanosecond, so that sums stay small


def layers():
    out, params, side, channels = [], 0, 224, 3
    for convolutions, width in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convolutions):
            out.append(("conv", side * side * width, 9 * channels * side * side * width))
            params += 9 * channels * width + width
            channels = width
        side //= 2
        out.append(("pool", side * side * channels, 0))
    out.append(("flatten", 7 * 7 * 512, 0))
    for inputs, outputs in ((7 * 7 * 512, 4096), (4096, 4096), (4096, 1000)):
        out.append(("dense", outputs, inputs * outputs))
        params += inputs * outputs + outputs
    return out, params


def trace(batch, fixed, retain=False):
    """retain: the backward op before the last reads every forward value, as if none was given up before."""
    net, _ = layers()
    n, lines = len(net), ["trace 1", "job 0 name=vgg19"]
    sizes = [(fixed, "param")] + [(4 * e * batch, "act") for _, e, _ in net] + [(4 * batch, "act")]
    sizes += [(4 * e * batch, "grad") for _, e, _ in net]
    lines += ["value v%d bytes=%d align=4 class=%s" % (i, b, c) for i, (b, c) in enumerate(sizes)]
    loss, ops = n + 1, []
    for i, (kind, _, macs) in enumerate(net):
        ops.append((kind, macs, [0] + ([i] if i else []), i + 1))
    ops.append(("loss", 0, [n], loss))
    for i in reversed(range(n)):
        reads = [i + 1] + ([i + 2, loss + i + 2] if i + 1 < n else [loss])
        reads += [v for v in range(1, n + 1) if retain and i == 1 and v not in reads]
        ops.append(("grad", 2 * net[i][2], reads, loss + i + 1))
    for i, (kind, macs, reads, out) in enumerate(ops):
        lines.append("op %d kind=%s dur_ns=%d in=%s out=v%d pure=1" % (
            i, kind, macs * batch // NS, ",".join("v%d" % v for v in reads), out))
    return "\n".join(lines) + "\n", sum(m for _, _, m in net) * batch // NS


def fits(policy, batch, fixed, retain=False):
    text, forward_ns = trace(batch, fixed, retain)
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as f:
        f.write(text)
        f.flush()
        words = [SLUICE, "plan", "--disk", "none", "--budget", str(BUDGET), "--json", f.name]
        run = subprocess.run(words + (["--policy", policy] if policy else []), capture_output=True, text=True)
    row = next((json.loads(x) for x in run.stdout.splitlines() if x.startswith("{")), {})
    return bool(row.get("feasible")) and row["recompute_ns"] <= forward_ns and row["peak_bytes"] <= BUDGET


def most(policy, at, fixed, retain=False):
    """The largest batch near `at` that fits: up or down from there."""
    while at > 0 and not fits(policy, at, fixed, retain):
        at -= 1
    while fits(policy, at + 1, fixed, retain):
        at += 1
    return at


def main():
    failed, checks = 0, 0
    fixed = 8 * layers()[1]

    def check(ok, line):
        nonlocal failed, checks
        failed += not ok
        checks += 1
        print("%s - %s" % ("ok" if ok else "not ok", line), flush=True)

    kept = most("keep", 167, 2 * fixed, retain=True)
    check(kept == 167, "keeping everything to the end, fixed bytes twice: %d images (Checkmate's 167)" % kept)
    print("# keeping values to their last use, fixed bytes once: %d images" % most("keep", 222, fixed))
    for policy in ("optimal", None):
        start = time.monotonic()
        images = most(policy, 289, fixed)
        took = time.monotonic() - start
        check(images >= 285 and took <= 60, "%s: %d images (certified: 289; bar 285), searched for in %.1f s (bar 60)" % (
            policy or "the default policy", images, took))
    print("%d passed, %d failed" % (checks - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
