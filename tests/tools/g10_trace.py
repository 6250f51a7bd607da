#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The published kernel times of G10 (platformxlab/G10) as a trace: g10_trace.py TENSORS.csv KERNELS.csv > x.trace

A host tier at 15.754 GB/s each way, as in its evaluation. Weights and inputs persist; with --dirty
each of them is also changed once, so that swapping any of them costs a copy out.
"""
import csv
import sys


def main():
    dirty = "--dirty" in sys.argv
    tensors, kernels = [a for a in sys.argv[1:] if not a.startswith("--")]
    cls = {"weight": "param", "input": "const", "activation": "act", "gradient": "grad"}
    values = list(csv.DictReader(open(tensors)))
    ops = list(csv.DictReader(open(kernels)))
    born, touched = set(), set()
    for op in ops:
        for v in (op["inputs"] + " " + op["outputs"]).split():
            if v not in touched and v in op["outputs"].split():
                born.add(v)
            touched.add(v)
    index = {}
    for row in values:
        if row["id"] in touched:
            index[row["id"]] = "v%d" % len(index)
    print("trace 1\njob 0 name=g10 iterations=0\ntier host bytes=%d" % (1 << 40))
    for ends in ("device host", "host device"):
        print("link %s bytes_per_s=15754000000 latency_ns=0 duplex=full" % ends)
    lasting = set()
    for row in values:
        if row["id"] not in index:
            continue
        kind = cls[row["class"]]
        if kind in ("param", "const") or row["id"] not in born:
            kind = "param" if kind != "const" else kind
            lasting.add(row["id"])
        print("value %s bytes=%s align=1 class=%s" % (index[row["id"]], row["size_bytes"], kind))
    seen = set()
    for i, op in enumerate(ops):
        ins = list(dict.fromkeys(op["inputs"].split()))
        outs = list(dict.fromkeys(op["outputs"].split()))
        mutates = [v for v in outs if v in lasting or v in seen]
        births = [v for v in outs if v not in mutates]
        if dirty:
            mutates += [v for v in ins if v in lasting and v not in seen and v not in mutates]
        seen.update(ins + outs)
        ins = [v for v in ins if v not in mutates and v not in births]

        def names(ids):
            return ",".join(index[v] for v in ids) or "-"

        print("op %d kind=%s dur_ns=%s workspace=%s in=%s out=%s mutates=%s" % (
            i, op["name"], op["time_ns"], op["workspace_bytes"], names(ins), names(births), names(mutates)))


main()
