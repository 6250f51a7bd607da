#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments of a run that checkpoints: each resume continues bit for bit."""
import json, os, random, signal, subprocess, sys, tempfile, time

SLUICE = os.environ.get("SLUICE", "build/sluice")
KILLS = int(os.environ.get("KILLS", "12"))
MODEL = ["lenet5", "--batch", "32", "--clip", "1"]


def least_budget():
    out = subprocess.run([SLUICE, "plan"] + MODEL + ["--budget", "1GiB", "--json"],
                         capture_output=True, text=True, check=True)
    return str(json.loads(out.stdout.splitlines()[-1])["least_budget_bytes"])


BASE = ["train"] + MODEL + ["--seed", "3", "--steps", "40", "--budget", least_budget(), "--json"]


def digest(extra):
    out = subprocess.run([SLUICE] + BASE + extra, capture_output=True, text=True)
    if out.returncode != 0:
        return "exit %d: %s" % (out.returncode, out.stderr)
    return json.loads(out.stdout.splitlines()[-1])["summary"]["digest"]


def killed_run(path, after_s):
    p = subprocess.Popen([SLUICE] + BASE + ["--save", path, "--save-every", "1"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        p.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        p.send_signal(signal.SIGKILL)
        p.wait()


def main():
    random.seed(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = os.path.join(folder, "c.safetensors")
        want = digest([])
        begin = time.monotonic()
        digest(["--save", path, "--save-every", "1"])
        whole = time.monotonic() - begin
        for i in range(KILLS):
            if os.path.exists(path):
                os.unlink(path)
            killed_run(path, random.uniform(0.05, 1.0) * whole)
            got = digest(["--resume", path] if os.path.exists(path) else [])
            left = [n for n in os.listdir(folder) if n != "c.safetensors"]
            good = got == want
            passed += good
            failed += not good
            if not good:
                print("FAILED: kill %d: %s, wanted %s" % (i, got, want))
            for name in left:  # a kill may leave a temporary; it must never be taken for a checkpoint
                os.unlink(os.path.join(folder, name))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


sys.exit(main())
