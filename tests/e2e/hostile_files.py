#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints and plans that somebody made to do harm: an error that names the file, quickly, in little memory."""
import copy, json, os, random, re, resource, struct, subprocess, sys, tempfile

SLUICE = os.environ.get("SLUICE", "build/sluice")
MLP = ["train", "mlp:sizes=16-8-4", "--batch", "4", "--steps", "3", "--threads", "1", "--quiet"]
LENET = ["lenet5", "--batch", "8"]
passed = failed = 0
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    sum_ = 0xFFFFFFFF
    for byte in data:
        sum_ = TABLE[(sum_ ^ byte) & 255] ^ sum_ >> 8
    return sum_ ^ 0xFFFFFFFF


def tell(good, name, detail=""):
    global passed, failed
    passed += good
    failed += not good
    if not good:
        print("FAILED: %s %s" % (name, detail))


def run(args):
    """Exit code, standard output, standard error, processor seconds, largest resident KiB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen([SLUICE] + args, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return (p.returncode, out.read().decode(), err.read().decode("utf-8", "replace"),
                usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


class Checkpoint:
    """A good checkpoint of MLP, to be changed and sealed again with right checksums."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        n = struct.unpack("<Q", self.bytes[:8])[0]
        self.header_bytes = 8 + n
        self.header = json.loads(self.bytes[8:8 + n])
        self.data = self.bytes[8 + n:]
        self.first = next(k for k in self.header if k != "__metadata__")

    def sealed(self, change, data=None):
        h, data = copy.deepcopy(self.header), data or self.data
        change(h)
        meta = h["__metadata__"]
        ranges = sorted((*t["data_offsets"], k) for k, t in h.items() if k != "__metadata__")
        meta["sluice.data_crc32c"] = "".join("%08x" % crc32c(data[a:b]) for a, b, _ in ranges)
        meta["sluice.header_crc32c"] = "0" * 8
        text = json.dumps(h, separators=(",", ":")).encode()
        prefix = struct.pack("<Q", len(text))
        sum_ = b'header_crc32c":"%08x' % crc32c(prefix + text)
        return prefix + text.replace(b'header_crc32c":"00000000', sum_) + data


def raw(header, data=b""):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header)) + header + data


def one(shape="[1]", offsets="[0,4]", dtype="F32", name="a"):
    return '{"%s":{"dtype":"%s","shape":%s,"data_offsets":%s}}' % (name, dtype, shape, offsets)


def headers(good):
    yield "no header", struct.pack("<Q", 0) + good[8:]
    for n in (7, 1 << 63, (1 << 64) - 1, len(good)):
        yield "header of %d bytes" % n, struct.pack("<Q", n) + good[8:]
    for text in ("[]", " {}", "{}", "[" * 100000, '{"a":' * 100000, '{"__metadata__":' + '{"a":' * 100000,
                 '{"__metadata__":{"a":1}}', '{"__metadata__":{"a":"","a":""}}', '{"__metadata__":{},"__metadata__":{}}',
                 "{" + ",".join('"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}' % i for i in range(100000)) + "}",
                 '{"__metadata__":{' + ",".join('"%d":""' % i for i in range(100000)) + "}}", '{"' + "a" * 4000000 + '":1}'):
        yield "header " + text[:40], raw(text)
    twice = one()[1:-1]
    yield "a tensor twice", raw("{%s,%s}" % (twice, twice), bytes(4))
    yield "overlap", raw("{%s,%s}" % (twice, one("[2]", "[0,8]", name="b")[1:-1]), bytes(8))
    for offsets in ("[4,0]", "[0,8]", "[4,8]", "[-4,0]", "[0,18446744073709551615]", "[0,1e3]", "[0,4.0]", "[0]"):
        yield "offsets " + offsets, raw(one(offsets=offsets), bytes(4))
    for shape in ("[4294967296,4294967296]", "[9223372036854775807,2]", "[%s]" % ",".join("1" * 65), "[-0]", "[01]", "[1.5]"):
        yield "shape " + shape[:30], raw(one(shape=shape), bytes(4))
    yield "an unknown type", raw(one(dtype="F33"), bytes(4))
    for name in (b"\xff", b"\xc0\x80", b"\\ud800", b"\\u0000", b"\0", b"\\u001b[31m", b"\\x41"):
        yield "name %r" % name, raw(one(name="@").encode().replace(b"@", name), bytes(4))
    yield "something behind", good + b"x"


def sealed(c):
    def meta(key, value):
        return lambda h: h["__metadata__"].__setitem__("sluice." + key, value)

    def tensor(key, value):
        return lambda h: h[c.first].__setitem__(key, value)

    for key, value in (("step", "18446744073709551615"), ("step", "9223372036854775807"), ("step", "-1"), ("step", ""),
                       ("epoch", "18446744073709551615"), ("version", "0"), ("version", "2"),
                       ("optimizer", "sgd"), ("optimizer", "\x1b[31mred\n")):
        yield "sluice.%s %r" % (key, value), c.sealed(meta(key, value))
    yield "another shape", c.sealed(tensor("shape", c.header[c.first]["shape"][::-1] + [1]))
    yield "another type", c.sealed(tensor("dtype", "I32"))
    yield "one more", c.sealed(lambda h: h.__setitem__("extra", {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}))
    yield "one renamed", c.sealed(lambda h: h.__setitem__("other", h.pop(c.first)))


def damaged(good):
    random.seed(4)
    for size in range(0, len(good), 512):
        yield "cut at %d" % size, good[:size]
    for _ in range(40):
        at, bit = random.randrange(len(good)), random.randrange(8)
        yield "bit %d of byte %d" % (bit, at), good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1:]


def checkpoints(folder):
    path = os.path.join(folder, "good")
    tell(run(MLP + ["--save", path])[0] == 0, "a checkpoint is written")
    c = Checkpoint(path)
    bad = os.path.join(folder, "bad")
    small = run(MLP)[4]
    with open(bad, "wb") as f:
        f.write(c.sealed(lambda h: None))
    tell(run(MLP + ["--resume", bad])[0] == 0, "sealed again unchanged it is good")
    for cases in (headers(c.bytes), sealed(c), damaged(c.bytes)):
        for name, data in cases:
            with open(bad, "wb") as f:
                f.write(data)
            code, out, err, seconds, kib = run(MLP + ["--resume", bad])
            good = code == 4 and bad in err and "\x1b" not in err and err.count("\n") == 1 and not out
            tell(good and seconds < 2 and kib < small + 24 * 1024, name, "exit %d, %.2f s, %d KiB: %s" % (code, seconds, kib, err))


BIG = ["0", "1", "777", "18446744073709551615", "18446744073709551616", "9223372036854775808", "-1", ""]


def change(lines):
    """One line deleted, doubled, swapped with another, or one number of it changed."""
    lines, kind = list(lines), random.randrange(5)
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[other])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        number = random.choice(list(re.finditer(r"\d+", lines[at])) or [None])
        if number:
            step = random.choice([-4096, -64, 64, 4096])
            text = random.choice(BIG) if kind == 3 else str(int(number.group()) + step)
            lines[at] = lines[at][:number.start()] + text + lines[at][number.end():]
    return "\n".join(lines) + "\n"


def last_digest(out):
    return json.loads(out.splitlines()[-1])["summary"]["digest"]


def plans(folder):
    plan, trace, bad = (os.path.join(folder, n) for n in ("p", "t", "bad.plan"))
    least = json.loads(run(["plan"] + LENET + ["--budget", "1GiB", "--json"])[1])["least_budget_bytes"]
    tell(run(["plan"] + LENET + ["--budget", str(least + 40960), "-o", plan, "--record", trace])[0] == 0, "a plan is written")
    train = ["train"] + LENET + ["--steps", "2", "--json", "--plan"]
    want = last_digest(run(train + [plan])[1])
    with open(plan) as f:
        lines = f.read().splitlines()
    random.seed(5)
    for i in range(60):
        with open(bad, "w") as f:
            f.write(change(lines))
        proof, _, said, _, _ = run(["check", trace, bad])
        code, out, err, _, _ = run(train + [bad])
        # The checker knows no kernels, so select lines are refused by the run alone.
        sound = code == 0 and proof == 0 and last_digest(out) == want
        refused = code == 4 and (proof in (1, 4) or "selects" in err)
        tell(sound or refused, "plan %d" % i, "check %d, train %d: %s%s" % (proof, code, said, err))
    for name, args, says in (("another batch", ["lenet5", "--batch", "9"], "does not fit this model"),
                             ("another model", ["mlp:sizes=16-8-4"], "does not fit this model"),
                             ("too small a budget", LENET + ["--budget", str(least)], "does not fit this model")):
        code, _, err, _, _ = run(["train"] + args + ["--steps", "1", "--plan", plan])
        tell(code == 4 and says in err, "a plan and " + name, "exit %d: %s" % (code, err))
    with open(bad, "w", newline="") as f:
        f.write("\r\n".join(lines))
    code, _, err, _, _ = run(train + [bad])
    tell(code == 4 and "dos2unix" in err, "a plan with CR LF", err)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        checkpoints(folder)
        plans(folder)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


sys.exit(main())
