# SPDX-License-Identifier: Apache-2.0
"""A trace as DTR's simulator sees a model: no tiers, nothing that persists is written, what is fed is a constant, an op
in place bears a value of its own, no workspace."""

PERSISTENT = ("param", "state", "const")


def fields(line):
    return dict(x.split("=", 1) for x in line.split()[2:])


def ids(text):
    return [] if text == "-" else text.split(",")


class Plain:
    def __init__(self, text):
        self.values, self.ops, self.now = {}, [], {}
        for line in text.splitlines():
            word = line.split()
            if word[:1] == ["value"]:
                self.values[word[1]] = fields(line)
            elif word[:1] == ["op"]:
                self.ops.append(fields(line))

    def root(self, v):
        alias = self.values[v]["alias"]
        return v if alias == "-" else alias

    def persists(self, v):
        return self.values[self.root(v)]["class"] in PERSISTENT

    def current(self, v):
        return self.now.get(self.root(v), self.root(v))

    def new(self, like=None):
        name = "v%d" % len(self.values)
        self.values[name] = dict(self.values[like]) if like else {"bytes": "1", "align": "1", "class": "act"}
        self.values[name].update(alias="-", name=name)
        return name

    def op(self, o):
        """An op's reads and results, or None where it only feeds."""
        reads, bears, changes = ids(o["in"]), ids(o["out"]), ids(o["mutates"])
        if o["kind"] == "feed":
            for v in bears:
                self.values[self.root(v)]["class"] = "const"
            return None
        ins = list(dict.fromkeys(self.current(v) for v in reads + changes))
        outs = [v for v in dict.fromkeys(bears) if self.root(v) == v and not self.persists(v)]
        for v in changes:
            if not self.persists(v):
                self.now[self.root(v)] = self.new(self.root(v))
                outs.append(self.now[self.root(v)])
        return ins, outs or [self.new()]

    def text(self):
        ops = [(o, self.op(o)) for o in self.ops]
        ops = [(o, x) for o, x in ops if x]
        named = {v for _, x in ops for v in x[0] + x[1]}
        lines = ["trace 1", "job 0 name=plain iterations=0"]
        for v, x in self.values.items():
            cls = x["class"] if v in named or self.root(v) in named else "const"
            lines.append("value %s bytes=%s align=%s class=%s alias=%s name=%s" % (
                v, x["bytes"], x["align"], cls, x["alias"], x.get("name", v)))
        for i, (o, (ins, outs)) in enumerate(ops):
            lines.append("op %d kind=%s dur_ns=%s in=%s out=%s" % (
                i, o["kind"], o["dur_ns"], ",".join(ins) or "-", ",".join(outs)))
        return "\n".join(lines) + "\n"
