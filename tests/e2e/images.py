#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A folder of pictures, written here, is trained on; a broken picture ends the run by its name."""
import json, os, random, struct, subprocess, sys, tempfile, zlib

SLUICE = os.environ.get("SLUICE", "build/sluice")
passed = failed = 0


def check(name, good, more=""):
    global passed, failed
    passed += bool(good)
    failed += not good
    print(("ok: " if good else "FAILED: ") + name + ("" if good else " " + more))


def png(width, height, pixel):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_set(folder):
    """Stripes across and stripes down, of many sizes and colours."""
    random.seed(4)
    for label in ("across", "down"):
        os.mkdir(os.path.join(folder, label))
        for i in range(40):
            width, height = random.randint(20, 60), random.randint(20, 60)
            colour = [random.randint(100, 255) for _ in range(3)]

            def pixel(x, y):
                at = y / height if label == "across" else x / width
                return colour if int(at * 8) % 2 else (0, 0, 0)

            with open(os.path.join(folder, label, "%d.png" % i), "wb") as f:
                f.write(png(width, height, pixel))


def run(*args):
    return subprocess.run([SLUICE] + list(args), capture_output=True, text=True)


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        write_set(folder)
        common = ["lenet5:input=3x28x28,classes=2", "--data", "images:" + folder, "--batch", "16"]
        p = run("train", *common, "--steps", "40", "--valid", "0.2", "--json")
        lines = [json.loads(line) for line in p.stdout.splitlines()]
        losses = [line["loss"] for line in lines if "step" in line]
        check("pictures are learned", p.returncode == 0 and len(losses) == 40 and losses[-1] < 0.5 * losses[0],
              p.stderr + str(losses[:1] + losses[-1:]))
        p = run("verify", *common, "--steps", "3", "--budget", "70%")
        check("a budget changes no bit", p.returncode == 0 and "digests identical" in p.stdout, p.stdout + p.stderr)
        with open(os.path.join(folder, "down", "7.png"), "r+b") as f:
            f.truncate(70)
        p = run("train", *common, "--steps", "40")
        check("a broken picture ends the run by its name", p.returncode not in (0, -6, -11) and "down/7.png" in p.stderr and
              "take it out" in p.stderr, p.stderr)
        p = run("train", "lenet5:input=3x28x28,classes=2", "--data", "images:" + os.path.join(folder, "down"))
        check("a folder without labels is told", p.returncode != 0 and "DIR/LABEL/FILE" in p.stderr, p.stderr)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
