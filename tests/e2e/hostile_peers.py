#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers that mean harm, against a real daemon: made-up lengths, frames cut and changed anywhere,
descriptors nobody asked for, floods, absurd sizes. Afterwards it lives, holds no descriptor and no
byte more than before, answers quickly, and the job that was there is still there."""
import array
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import talk  # noqa: E402

PROGRAM = os.environ.get("SLUICE", "build/sluice")
MIB = 1 << 20
passed = failed = 0


def check(name, good, why=""):
    global passed, failed
    passed += bool(good)
    failed += not good
    print(("ok: " if good else "FAILED: ") + name + (f" ({why})" if why and not good else ""), flush=True)


def frame(number, payload=b"", seq=1, version=1, fds=0, size=None):
    return struct.pack("<IHHII", len(payload) if size is None else size, number, version, seq, fds) + payload


HELLO = frame(1, struct.pack("<QI", 0x31454349554C53, 1) + talk.text("peer"))


def register(rows, kind=0, priority=20, deadline=0, length=0, turn=10**6, name="x"):
    menu = struct.pack("<I", len(rows)) + b"".join(struct.pack("<3Q", *row) for row in rows)
    return frame(10, talk.text(name) + struct.pack("<IiqqqII", kind, priority, deadline, length, turn, 0, 0) + menu)


class Daemon:
    def __init__(self, folder):
        self.path = folder + "/daemon.sock"
        self.log = open(folder + "/log", "wb")
        self.process = subprocess.Popen(
            [os.path.join(os.path.dirname(PROGRAM), "sluiced"), "--budget", "100MiB", "--socket", self.path,
             "--turn-timeout", "1h"], stderr=self.log, stdout=self.log)
        while not os.path.exists(self.path):
            if self.process.poll() is not None:
                sys.exit("the daemon did not start")
            time.sleep(0.01)
        self.socket().close()

    def socket(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        s.settimeout(20)
        return s

    def send(self, data, fds=()):
        """A connection that sends bytes; what does not fit is left out, the end of it is no matter."""
        s = self.socket()
        try:
            if fds:
                s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
            else:
                s.sendall(data)
        except OSError:
            pass
        return s

    def until_gone(self, s):
        """Reads until the daemon hangs up; false: it did not."""
        try:
            while s.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    def state(self):
        """Jobs and granted bytes, and how long the answer took."""
        t = talk.Talk(self.path)
        t.socket.settimeout(20)
        began = time.monotonic()
        assert t.hello()
        t.send(42, struct.pack("<I", 0), 2)
        number, _, payload = t.receive()
        assert number == 43
        took = time.monotonic() - began
        t.socket.close()
        _, granted, _, jobs = struct.unpack("<QQQI", payload[:28])
        return jobs, granted, took


def lengths(d, _):
    good = True
    for number in (0, 1, 10, 30, 46, 60, 62, 999, 65535):
        for size in (0xFFFFFFFF, 0x80000000, 64 * MIB):
            for before in (b"", HELLO):
                s = d.send(before + frame(number, size=size))
                good &= d.until_gone(s)
                s.close()
    check("lengths of gigabytes end the connection", good)


def before_hello(d, _):
    good = True
    for number in list(range(2, 70)):
        s = d.send(frame(number, struct.pack("<I", 1)))
        s.shutdown(socket.SHUT_WR)
        good &= d.until_gone(s)
        s.close()
    check("nothing is taken before hello", good and d.state()[0] == 1)


def noise(d, rng):
    for number in list(range(0, 70)):
        for _ in range(6):
            s = d.send(HELLO + b"".join(frame(number, rng.randbytes(rng.choice((0, 4, 8, 12, 20, 44, 90))),
                                              seq=rng.randrange(2**32)) for _ in range(4)))
            s.shutdown(socket.SHUT_WR)
            d.until_gone(s)
            s.close()
    check("noise as payloads", True)


def mutated(d, rng):
    whole = HELLO + register([(MIB, MIB, 10**6)]) + frame(40, struct.pack("<I", 1)) + \
        frame(45, struct.pack("<I", 1)) + frame(15, struct.pack("<QQ", 2 * MIB, MIB)) + \
        frame(14, struct.pack("<QQI", 1, 1, 0)) + frame(23, struct.pack("<QQI", 0, 0, 0))
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        s = d.send(bytes(data))
        s.close()
    check("frames changed anywhere", True)


def cut(d, _):
    whole = HELLO + register([(MIB, MIB, 10**6)])
    for n in range(len(whole) + 1):
        d.send(whole[:n]).close()
    check("talk that ends after each byte", True)


def kept_open(d, _):
    peers = [d.send(HELLO + register([(MIB, MIB, 1)])[:20]) for _ in range(200)]
    took = d.state()[2]
    check("200 peers in the middle of a word keep nobody waiting", took < 2, f"{took:.2f} s")
    for s in peers:
        s.close()


def descriptors(d, _):
    fd = os.memfd_create("hostile")
    good = True
    for n in (1, 2, 3, 4, 8, 64, 250):
        for data in (HELLO, HELLO[:3], frame(4, struct.pack("<I", 0), fds=n), frame(24, b"\0" * 36, fds=3)):
            s = d.send(data, [fd] * n)
            s.shutdown(socket.SHUT_WR)
            good &= d.until_gone(s)
            s.close()
    for _ in range(20):
        s = d.send(HELLO, ())
        for _ in range(50):
            try:
                s.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * 3))])
            except OSError:
                break
        s.close()
    os.close(fd)
    check("descriptors that nobody asked for end the connection", good)


def slow_to_close():
    """A socket whose last close takes 5 s: what it sent is never read."""
    listening = socket.create_server(("127.0.0.1", 0))
    s = socket.create_connection(listening.getsockname())
    other, _ = listening.accept()
    s.setblocking(False)
    try:
        while s.send(bytes(65536)):
            pass
    except BlockingIOError:
        pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))
    listening.close()
    return s, other


def lingering(d, _):
    worst = 0.0
    for path, first, data in ((d.path, b"", HELLO), (d.path, b"", HELLO[:3]), (d.path, frame(40, size=2**31), b"x"),
                              (d.path, HELLO + frame(52, struct.pack("<II", 1, 1)), b"x"),
                              (d.path + ".metrics", b"", b"GET / HTTP/1.0\r\n\r\n"), (d.path + ".metrics", b"", b"")):
        slow, other = slow_to_close()
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        s.sendall(first)
        try:
            s.sendmsg([data or b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [slow.fileno()]))])
        except OSError:
            pass
        slow.close()
        s.close()
        worst = max(worst, d.state()[2], d.state()[2])
        other.close()
    check("descriptors that are slow to close keep nobody waiting", worst < 2.5, f"{worst:.2f} s")


def absurd(d, _):
    huge = 2**64 - 1
    rows = [[(huge, huge, huge)], [(0, 0, 0)], [(2**63, 2**63, 1)], [(huge - 4095, 4096, 1)], [(1, 1, huge)],
            [(MIB, MIB, 1)] * 8, [(101 * MIB, 0, 1)], [(0, 101 * MIB, 1), (huge, 1, 1)]]
    for menu in rows:
        for kind in (0, 3, 99):
            d.send(HELLO + register(menu, kind, -2**31, -2**63, -2**63, -2**63)).close()
    job = HELLO + register([(MIB, MIB, 10**6)])
    after = [frame(14, struct.pack("<QQI", huge, huge, 7)), frame(15, struct.pack("<QQ", huge, huge)),
             frame(15, struct.pack("<QQ", 0, 0)), frame(19, struct.pack("<I", 0)), frame(26, struct.pack("<I", 0)),
             frame(25, struct.pack("<QQQ", huge, huge, huge)), frame(13, struct.pack("<I", 0)) * 50,
             frame(62, struct.pack("<QIqqII", huge, 0, 0, 0, 0, 0)), frame(54, struct.pack("<Ii", 1, -2**31)),
             frame(24, struct.pack("<IQQIQQ", 1, 0, 0, 7, huge, huge)), register([(MIB, MIB, 1)])]
    for words in after:
        s = d.send(job + words * 2)
        s.shutdown(socket.SHUT_WR)
        d.until_gone(s)
        s.close()
    check("absurd sizes, totals and times", True)


def tokens(d, rng):
    stolen = 0
    for _ in range(200):
        t = talk.Talk(d.path)
        t.socket.settimeout(20)
        t.hello()
        t.send(24, struct.pack("<IQQIQQ", 1, rng.getrandbits(64), rng.getrandbits(64), 0, 0, 0), 5)
        try:
            stolen += t.receive()[0] == talk.DONE
        except (EOFError, ConnectionError):
            pass
        t.socket.close()
    check("no job is taken over with a guessed token", stolen == 0)


def flood(d, _):
    before = d.rss()
    s = d.socket()
    s.sendall(HELLO)
    s.setblocking(False)
    request = frame(40, struct.pack("<I", 1)) * 400
    sent = 0
    for _ in range(2000):
        try:
            sent += s.send(request)
        except BlockingIOError:
            pass
        except OSError:
            break
    took = max(d.state()[2] for _ in range(5))
    grown = d.rss() - before
    check("who floods and does not read keeps nobody waiting", took < 2, f"{took:.2f} s after {sent} bytes")
    check("and costs a few MiB at most", grown < 16 * MIB, f"{grown} bytes")
    s.close()


def crowd(d, _):
    peers = []
    refused = 0
    for _ in range(1200):
        try:
            s = d.socket()
            s.sendall(HELLO)
            peers.append(s)
        except OSError:
            refused += 1
    gone = 0
    for s in peers:
        try:
            head = s.recv(16)
            gone += len(head) < 16 or struct.unpack("<IHHII", head)[1] != talk.WELCOME
        except OSError:
            gone += 1
    check("more connections than a user may have are refused", 0 < refused + gone < 400, f"{refused} + {gone}")
    check("those that were taken work", len(peers) - gone >= 800)
    for s in peers:
        s.close()


def settle(d, want):
    """What the daemon holds once it noticed that everybody went."""
    for _ in range(200):
        jobs, granted, _ = d.state()
        if (jobs, granted) == want[:2] and d.descriptors() <= want[2]:
            break
        time.sleep(0.05)
    return jobs, granted, d.descriptors()


def attack_all(d, victim):
    rng = random.Random(4)
    while victim.stdout.readline().strip() != "admitted":
        pass
    settle(d, (1, 30 * MIB, 0))
    quiet = (1, 30 * MIB, d.descriptors())
    for attack in (lengths, before_hello, noise, mutated, cut, kept_open, descriptors, lingering, absurd, tokens,
                   flood, crowd):
        attack(d, rng)
        if d.process.poll() is not None:
            check(f"{attack.__name__}: the daemon lives", False, f"exit {d.process.returncode}")
            return
        after = settle(d, quiet)
        check(f"{attack.__name__}: it holds what it held", after == quiet, f"{after} was {quiet}")
    check("the job is still there", victim.poll() is None)
    d.process.send_signal(signal.SIGTERM)
    check("the daemon ends as it should", d.process.wait(20) == 0)


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        d = Daemon(folder)
        victim = subprocess.Popen([sys.executable, talk.__file__, d.path, "job", "victim", "10", "20"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            attack_all(d, victim)
        finally:
            victim.kill()
            d.process.kill()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
