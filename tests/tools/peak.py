#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays a plan by position, from the two texts alone, and prints the highest device byte in use.

usage: peak.py TRACE PLAN [live]

With "live" it prints also the most bytes in use at one time.

Shares no code with the planner or its checker. Exits with 1 and a reason if two ranges overlap or a value
is touched while it is not on the device.
"""
import sys


def words(line):
    bare, keys = [], {}
    for w in line.split():
        key, eq, value = w.partition("=")
        if eq:
            keys[key] = value
        else:
            bare.append(w)
    return bare, keys


def lines(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                yield words(line)


def ids(text):
    return [] if text in (None, "-", "") else text.split(",")


def main(trace_path, plan_path, live=None):
    size, root, persistent, ops = {}, {}, set(), []
    for bare, keys in lines(trace_path):
        if bare[0] == "value":
            v = bare[1]
            size[v] = int(keys["bytes"])
            root[v] = v if keys.get("alias", "-") == "-" else keys["alias"]
            if keys["class"] in ("param", "state", "const"):
                persistent.add(v)
        elif bare[0] == "op":
            ops.append((keys, int(keys.get("workspace", 0))))
    place, below, actions = {}, set(), {}
    for bare, keys in lines(plan_path):
        if bare[0] == "place":
            place[bare[1]] = int(keys["offset"])
        elif bare[0] == "start" and keys["tier"] != "device":
            below.add(bare[1])
        elif bare[0] in ("before", "after"):
            actions.setdefault((bare[0], int(bare[1])), []).append((bare[2], bare[3], keys))

    touched = []  # by op
    last = {}  # value: (op, 0 before, 1 its run, 2 after it, line) of its last access
    birth = {}
    for i, (keys, _) in enumerate(ops):
        names = [root[v] for k in ("in", "mutates", "out") for v in ids(keys.get(k))]
        touched.append(names)
        for v in names:
            last[v] = (i, 1, 0)
        for v in ids(keys.get("out")):
            birth.setdefault(root[v], i)
    for (phase, i), lines_here in actions.items():
        for n, (kind, _, keys) in enumerate(lines_here):
            if kind == "recompute":
                for v in touched[int(keys["again"])]:
                    last[v] = max(last[v], (i, 0 if phase == "before" else 2, n))

    held = {}  # name: (offset, end)
    peak = most = 0

    def hold(name, offset, n):
        nonlocal peak, most
        for other, (a, b) in held.items():
            if other != name and offset < b and a < offset + n:
                sys.exit(f"{name} at {offset} overlaps {other} at {a}")
        held[name] = (offset, offset + n)
        peak = max(peak, offset + n)
        most = max(most, sum(b - a for a, b in held.values()) if live else 0)

    def bury(names, when):
        for v in set(names):
            if last[v] == when and v not in persistent:
                del held[v]

    def rerun(group, when):
        op = int(group[0][1]["again"])
        for v, keys in group:
            if keys["offset"] != "-":
                if v in held or birth.get(v) != op:
                    sys.exit(f"op {op} cannot bear {v} again")
                hold(v, int(keys["offset"]), size[v])
        for v in touched[op]:
            if v not in held:
                sys.exit(f"op {op} runs again and touches {v}, which is not on the device")
        if ops[op][1]:
            hold("workspace", int(group[0][1]["workspace"]), ops[op][1])
            del held["workspace"]
        bury(touched[op], when)

    def act(phase, i):
        here = actions.get((phase, i), [])
        n = 0
        while n < len(here):
            kind, v, keys = here[n]
            n += 1
            if kind == "recompute":
                group = [(v, keys)]
                while n < len(here) and here[n][0] == kind and here[n][2]["again"] == keys["again"]:
                    group.append(here[n][1:])
                    n += 1
                rerun(group, (i, 0 if phase == "before" else 2, n - 1))
            elif kind in ("in", "move"):
                hold(v, int(keys["offset"]), size[v])
            else:
                del held[v]

    for v in sorted(persistent):
        if root[v] == v and v in place:
            hold(v, place[v], size[v])
    for i, (keys, workspace) in enumerate(ops):
        act("before", i)
        for v in touched[i]:
            if v not in held:
                if v in persistent or v not in [root[o] for o in ids(keys.get("out"))]:
                    sys.exit(f"op {i} touches {v}, which is not on the device")
                hold(v, place[v], size[v])
        if workspace:
            hold(f"w{i}", place[f"w{i}"], workspace)
            del held[f"w{i}"]
        bury(touched[i], (i, 1, 0))
        act("after", i)
    print(f"{peak} {most}" if live else peak)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["live"]):
        sys.exit(__doc__)
    main(*sys.argv[1:])
