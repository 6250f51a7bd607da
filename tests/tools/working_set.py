#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a trace asks of memory, from its text alone, in bytes as the values state them.

usage: working_set.py TRACE

Prints one line: "working=N op=N in=N out=N workspace=N immovable=N live=N". working is the largest sum of
an op's inputs, outputs and workspace (what cannot move left out: that is immovable), op the first with it;
live is the most bytes live at one time when each value lives from its first to its last access, persistent
ones always, and a workspace during its op. Shares no code with planners.
"""
import sys


def keys_of(line):
    return dict(w.split("=", 1) for w in line.split() if "=" in w)


def ids(text):
    return [] if text in (None, "-", "") else text.split(",")


def main(path):
    size, root, persistent, fixed, ops = {}, {}, set(), set(), []
    with open(path, encoding="utf-8") as f:
        for line in f:
            kind, keys = line.split(" ", 1)[0], keys_of(line)
            if kind == "value":
                v = line.split()[1]
                size[v] = int(keys["bytes"])
                root[v] = keys["alias"] if keys.get("alias", "-") != "-" else v
                if keys["class"] in ("param", "state", "const"):
                    persistent.add(v)
                if keys.get("immovable") == "1" or keys.get("external") == "1":
                    fixed.add(v)
            elif kind == "op":
                ops.append(keys)
    reads = [{root[v] for k in ("in", "mutates") for v in ids(op.get(k))} for op in ops]
    writes = [{root[v] for v in ids(op.get("out"))} for op in ops]
    first, last = {}, {}
    for i, names in enumerate(zip(reads, writes)):
        for v in names[0] | names[1]:
            first.setdefault(v, i)
            last[v] = i
    total = lambda names: sum(size[v] for v in names)
    best = (-1, 0, 0, 0, 0)
    live = sum(size[v] for v in persistent if root[v] == v)
    most = live
    for i, op in enumerate(ops):
        workspace = int(op.get("workspace", 0))
        born = {v for v in writes[i] if first[v] == i and v not in persistent and v not in reads[i]}
        parts = (total((reads[i] | writes[i]) - born - fixed), total(born - fixed), workspace)
        if sum(parts) > best[0]:
            best = (sum(parts), i, *parts)
        here = [v for v in reads[i] | writes[i] if v not in persistent]
        live += sum(size[v] for v in here if first[v] == i)
        most = max(most, live + workspace)
        live -= sum(size[v] for v in here if last[v] == i)
    print(f"working={best[0]} op={best[1]} in={best[2]} out={best[3]} workspace={best[4]} "
          f"immovable={total(v for v in fixed if root[v] == v)} live={most}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
