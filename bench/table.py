#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast steps are here: time, throughput, share of the multiply-add peak of the same run, peak bytes.

    make bench                            all rows, five rounds
    make bench ROWS="gpt2 resnet50"       some; scaling, budget and contention are rows too
    QUICK=1 make bench                    one short round
    bench/table.py --json                 an object a row

ROUNDS, THREADS and SECONDS_A_TURN change how it measures (bench/rows.py says how).
"""
import statistics
import sys

import rows

JSON = "--json" in sys.argv[1:]


def run(programs, body):
    """Warms the programs up one after the other, gives them their turns, and ends them all."""
    alive = []
    try:
        for name, words in programs:
            alive.append(rows.Program(name, words))
            alive[-1].warm()
        return body(alive)
    finally:
        for program in alive:
            program.end()


def plain(row):
    work = row.work()

    def body(alive):
        rows.measure(alive)
        return alive[0], alive[1]

    peak, ours = run([("peak", [rows.LOOP, "peak", str(rows.THREADS)]), ("ours", row.ours())], body)
    rate = work["flops"] / ours.ms() / 1e6
    share = rate / rows.peak_of(peak) if rows.peak_of(peak) else 0
    if JSON:
        rows.emit(row=row.key, mode="infer" if row.infer else "train", batch=row.batch, threads=rows.THREADS,
                  ms=ours.ms(), per_s=row.batch * row.per_sample / ours.ms() * 1e3, unit=row.unit, gflop_per_s=rate,
                  peak_gflop_per_s=rows.peak_of(peak), peak_fraction=share, peak_bytes=work["peak_device_bytes"],
                  rounds=ours.medians)
    else:
        print(f"{row.key:18} {row.batch:5} {ours.ms():10.2f} {row.batch * row.per_sample / ours.ms() * 1e3:10.1f} "
              f"{row.unit:8} {rate:9.1f} {rows.peak_of(peak):7.1f} {100 * share:4.0f} % "
              f"{rows.megabytes(work['peak_device_bytes']):>9}", flush=True)


def pair(key, title, base, other, bar):
    """Two of our own programs, the second one's time by the first one's."""
    def body(alive):
        rows.measure(alive)
        return rows.ratio(alive[1], alive[0]), alive[0].ms(), alive[1].ms()

    value, a, b = run([("base", base), ("other", other)], body)
    if JSON:
        rows.emit(row=key, ratio=value, base_ms=a, ms=b, bar=bar)
    else:
        print(f"{key:26} {title}: {a:.2f} ms to {b:.2f}, {value:.3f} (bar: {bar})", flush=True)


def scaling():
    for row in rows.ROWS:
        if row.group == "train":
            guarded(f"scaling {row.key}", lambda row=row: pair(
                f"scaling {row.key}", "two threads to one", row.ours(threads=2), row.ours(threads=1), "1.8"))


def budget():
    for row in rows.ROWS:
        if row.key in ("gpt2", "resnet50"):
            guarded(f"budget {row.key}", lambda row=row: pair(
                f"budget {row.key}", "no budget to half of the peak with a host tier", row.ours(),
                row.ours("--budget", "50%", "--host", "16GiB", "--disk", "none"), "1.05"))


def contention():
    """While another process keeps all cores busy: our slowdown by a control loop's."""
    row = next(row for row in rows.ROWS if row.key == "gpt2")
    spin = [rows.LOOP, "spin", str(rows.THREADS)]

    def body(alive):
        control, ours, busy_control, busy_ours = alive[:4]
        for _ in range(rows.ROUNDS):
            control.turn()
            ours.turn()
            noise = rows.Program("spin", spin)
            try:
                busy_control.turn()
                busy_ours.turn()
            finally:
                noise.end()
        slow = [b / a for a, b in zip(ours.medians, busy_ours.medians)]
        loop = [b / a for a, b in zip(control.medians, busy_control.medians)]
        return statistics.median(slow), statistics.median(loop)

    loop = [rows.LOOP, "peak", str(rows.THREADS)]
    slow, base = run([("control", loop), ("ours", row.ours()), ("control", loop), ("ours", row.ours())], body)
    if JSON:
        rows.emit(row="contention", slowdown=slow, control_slowdown=base, ratio=slow / base, bar="1.25")
    else:
        print(f"{'contention':26} slowdown {slow:.2f} beside a control loop's {base:.2f}: {slow / base:.2f} "
              f"(bar: at most 1.25)", flush=True)


def guarded(key, what):
    try:
        what()
    except rows.Gone as why:
        if JSON:
            rows.emit(row=key, error=str(why))
        else:
            print(f"{key:18} {why}", flush=True)


def main():
    extra = {"scaling": scaling, "budget": budget, "contention": contention}
    keys = rows.chosen([row.key for row in rows.ROWS] + list(extra))
    if not JSON:
        rows.head()
        print(f"{'row':18} {'batch':>5} {'ms':>10} {'per s':>10} {'':8} {'GFLOP/s':>9} {'peak':>7} {'share':>6} "
              f"{'bytes':>9}")
    for row in rows.ROWS:
        if row.key in keys:
            guarded(row.key, lambda row=row: plain(row))
    for key, what in extra.items():
        if key in keys:
            guarded(key, what)


main()
