#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice top` in a terminal of its own: draws, obeys, and leaves the terminal as it was.

Usage: top_keys.py PROGRAM SOCKET [PID DAEMON ARGS...]; a line a check, the sum last. With PID that daemon ends
under a running top, and another one is started.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios

passed = failed = 0
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"


def check(name, good):
    global passed, failed
    passed += good
    failed += not good
    print(("ok: " if good else "FAILED: ") + name)


class Terminal:
    def __init__(self, env, columns=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(sys.argv[1], [sys.argv[1], "top", "--socket", sys.argv[2],
                                    "--watch", "0.2"], env)
        self.before = termios.tcgetattr(self.fd)
        self.text = b""

    def until(self, want, times=1, wait=20):
        while self.text.count(want) < times:
            if not select.select([self.fd], [], [], wait)[0]:
                return False
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                return self.text.count(want) >= times
            if not part:
                return self.text.count(want) >= times
            self.text += part
        return True

    def end(self):
        self.until(b"never comes", wait=20)
        return os.waitpid(self.pid, 0)[1]


def same(a, b):
    return a[:4] == b[:4] and a[6] == b[6]


def restart(env, pid, command):
    t = Terminal(env)
    check("it draws", t.until(b"policy "))
    os.kill(pid, signal.SIGTERM)
    check("it says that the daemon is gone", t.until(b"The daemon is gone"))
    t.text = b""
    daemon = subprocess.Popen(command)
    check("and finds the next one", t.until(b"\x1b[2mq: quit"))
    os.write(t.fd, b"q")
    check("q still ends it", t.end() == 0)
    daemon.terminate()
    daemon.wait()


def keys(env):
    t = Terminal(env)
    check("it takes the other screen", t.until(ENTER))
    check("it draws", t.until(b"policy ") and t.until(b"lane A"))
    check("again and again", t.until(b"\x1b[H", 4))
    check("in colours", b"\x1b[32m" in t.text or b"\x1b[44;37m" in t.text)
    check("keys are not echoed", not termios.tcgetattr(t.fd)[3] & termios.ECHO)
    lines = t.text.split(b"\x1b[H")[2].split(b"\r\n")
    check("it fits the screen", len(lines) <= 24)
    os.write(t.fd, b"x")
    os.write(t.fd, b"q")
    check("q ends it", t.end() == 0)
    check("the screen is given back", t.text.rstrip().endswith(LEAVE))

    for sig, status in ((signal.SIGINT, 130), (signal.SIGTERM, 130)):
        t = Terminal(env)
        t.until(b"\x1b[H", 2)
        os.kill(t.pid, sig)
        code = t.end()
        check(f"{sig.name} ends it", os.WIFEXITED(code) and os.WEXITSTATUS(code) == status)
        check(f"the screen is given back after {sig.name}", LEAVE in t.text)

    t = Terminal(env, 80)
    check("rates, shares and waits are there in 80 columns", t.until(b"it/s SHARE  WAITED"))
    os.write(t.fd, b"q")
    check("and q ends it", t.end() == 0)

    t = Terminal(dict(env, NO_COLOR="1"))
    t.until(b"\x1b[H", 2)
    os.kill(t.pid, signal.SIGTSTP)
    check("suspended, it gives the screen back", t.until(LEAVE))
    check("and stops", os.WIFSTOPPED(os.waitpid(t.pid, os.WUNTRACED)[1]))
    check("the terminal is as it was", same(termios.tcgetattr(t.fd), t.before))
    os.kill(t.pid, signal.SIGCONT)
    check("continued, it takes it again", t.until(ENTER, 2) and t.until(b"policy ", 3))
    os.write(t.fd, b"q")
    check("and ends", t.end() == 0)
    check("NO_COLOR: none", b"\x1b[32m" not in t.text and b"\x1b[7m" not in t.text)


def main():
    env = dict(os.environ, TERM="xterm")
    env.pop("NO_COLOR", None)
    if len(sys.argv) > 3:
        restart(env, int(sys.argv[3]), sys.argv[4:])
    else:
        keys(env)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
