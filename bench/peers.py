#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same steps in PyTorch, ONNX Runtime and here, in turns; ratio is the peer's time by ours.

    make peers                                  once: an environment in PEERS (~/.cache/sluice/peers)
    make bench-peers ROWS="gpt2 resnet50"       some rows; all without it
    QUICK=1 make bench-peers                    one short round
    bench/peers.py --json                       an object a pair

Threads, dtype, batch and optimizer (AdamW) are the same, dropout is off on both sides; convolutional nets run
channels-last in PyTorch. Bytes: how far the peer's resident memory grew from before its model was made, beside our
peak of device memory. bench/rows.py says how times are taken.
"""
import math
import sys

import rows

JSON = "--json" in sys.argv[1:]


def show(row, peer, ours, value, peak, work):
    rate = work["flops"] / ours.ms() / 1e6
    share = rate / rows.peak_of(peak) if rows.peak_of(peak) else 0
    grown = peer.info.get("grown_bytes", 0)
    if JSON:
        rows.emit(row=row.key, peer=peer.name, version=peer.info.get("version"), batch=row.batch,
                  threads=rows.THREADS, peer_ms=peer.ms(), ms=ours.ms(), ratio=value, peak_fraction=share,
                  peak_gflop_per_s=rows.peak_of(peak), peer_bytes=grown, bytes=work["peak_device_bytes"], bar=row.bar,
                  peer_rounds=peer.medians, rounds=ours.medians)
        return
    memory = f"{work['peak_device_bytes'] / grown:5.2f}" if grown and not row.infer else "    -"
    print(f"{row.key:16} {peer.name:12} {str(peer.info.get('version', '')):14} {peer.ms():10.2f} {ours.ms():10.2f} "
          f"{value:6.2f} {100 * share:4.0f} %  {rows.megabytes(grown):>9} {memory}  {row.bar}", flush=True)


def complain(key, why):
    if JSON:
        rows.emit(row=key, error=str(why))
    else:
        print(f"{key:16} {why}", flush=True)


def measure(row):
    """Ratios by peer."""
    work, alive, peers = row.work(), [], []
    try:
        alive.append(rows.Program("peak", [rows.LOOP, "peak", str(rows.THREADS)]))
        alive.append(rows.Program("ours", row.ours()))
        peak, ours = alive
        peak.warm()
        ours.warm()
        for name in row.peers:
            try:
                peer = rows.peer_program(name, row)
                alive.append(peer)
                peer.warm()
                peers.append(peer)
            except rows.Gone as why:
                complain(row.key, why)
        rows.measure([peak, ours] + peers)
        for peer in peers:
            show(row, peer, ours, rows.ratio(peer, ours), peak, work)
        return {peer.name: rows.ratio(peer, ours) for peer in peers}
    finally:
        for program in alive:
            program.end()


def main():
    keys = rows.chosen([row.key for row in rows.ROWS])
    training = []
    if not JSON:
        rows.head()
        print(f"{'row':16} {'peer':12} {'':14} {'peer ms':>10} {'ours ms':>10} {'ratio':>6} {'peak':>6}  "
              f"{'grown':>9} bytes  bar")
    for row in rows.ROWS:
        if row.key not in keys:
            continue
        try:
            found = measure(row)
        except rows.Gone as why:
            complain(row.key, why)
            continue
        if row.group == "train" and "torch" in found:
            training.append(found["torch"])
    if training:
        mean = math.exp(sum(map(math.log, training)) / len(training))
        if JSON:
            rows.emit(summary={"rows": len(training), "geometric_mean": mean, "bar": 1.25})
        else:
            print(f"geometric mean of {len(training)} training rows beside the newest PyTorch: {mean:.2f} (bar: 1.25)")


main()
