#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# needs: valgrind
"""Instructions of fixed small cases under callgrind, within 2 % of those of tests/perf/counts.txt.

    tests/perf/counts.py             compare
    tests/perf/counts.py --update    rewrite the counts (make perf-update)

COUNTS names the program (tests/perf/counts.c), which is built without what valgrind cannot run: AVX-512. One thread
on one core. valgrind shows programs the same processor everywhere, so that libraries choose the same code; other
versions of compiler and libraries make other counts, and then nothing is compared.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "counts.txt")
WITHIN = 0.02
program = os.environ.get("COUNTS", "build-count/tests/perf/counts")


def first_line(*words):
    out = subprocess.run(words, capture_output=True, text=True)
    return (out.stdout or out.stderr).splitlines()[0] if out.returncode == 0 else "none"


def tools():
    """What the counts follow besides our own sources."""
    version = lambda text: next(iter(re.findall(r"\d+\.\d+(?:\.\d+)?", text)), "none")
    dnnl = os.path.basename(os.path.realpath("/usr/lib/x86_64-linux-gnu/libdnnl.so.2"))
    return " ".join([f"gcc-{version(first_line('gcc', '-dumpfullversion'))}",
                     f"glibc-{version(first_line('getconf', 'GNU_LIBC_VERSION'))}", f"dnnl-{version(dnnl)}",
                     f"valgrind-{version(first_line('valgrind', '--version'))}"])


def count():
    """Instructions and kernel by line of the table."""
    with tempfile.TemporaryDirectory(prefix="sluice-counts-", dir="/var/tmp") as folder:
        out = subprocess.run(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--combine-dumps=no", "--dump-line=no",
             f"--callgrind-out-file={folder}/out", program, TABLE],
            capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
            preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        if out.returncode:
            sys.exit("counts: " + "\n".join((out.stdout + out.stderr).splitlines()[-12:]))
        kernels = dict(line.split(" ", 1) for line in out.stdout.splitlines())
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name)) as f:
                head = f.read()
            trigger = re.search(r"^desc: Trigger: Client Request: (\d+)", head, re.M)
            # Not the summary: valgrind 3.19 makes that the difference to the dump before.
            total = re.search(r"^totals: (\d+)", head, re.M)
            if trigger and total:
                found[int(trigger.group(1))] = (int(total.group(1)), kernels[trigger.group(1)])
        return found


def main():
    with open(TABLE) as f:
        lines = f.read().splitlines()
    had = next((line.split(": ", 1)[1] for line in lines if line.startswith("# made with: ")), "")
    have = tools()
    update = "--update" in sys.argv[1:]
    if had != have and not update:
        print(f"counts: made with {had}, here is {have}: nothing to compare")
        return 77
    found = count()
    passed = failed = 0
    for i, line in enumerate(lines):
        if line.startswith("# made with: ") and update:
            lines[i] = "# made with: " + have
        if line.startswith("#") or not line.strip():
            continue
        old, case = line.split(None, 1) if line.lstrip()[0].isdigit() else ("0", line.strip())
        new, kernel = found[i + 1]
        off = new / int(old) - 1 if int(old) else 1
        if update:
            lines[i] = f"{new:>10} {case}"
        elif abs(off) <= WITHIN:
            passed += 1
        else:
            failed += 1
            print(f"FAILED: counts.txt:{i + 1}: {old} instructions became {new}, {100 * off:+.1f} %: "
                  f"{case.split(' data')[0][:90]} ({kernel})")
    if update:
        with open(TABLE, "w") as f:
            f.write("\n".join(lines) + "\n")
        return 0
    if failed:
        print("What costs more: find it with `sluice profile` and callgrind_annotate, and mend it. What costs less, or "
              "is worth its price: `make perf-update`, and say in the commit why.")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
