#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon as a program: its socket, its end, the service manager, metrics, other users."""
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import talk  # noqa: E402
import planned  # noqa: E402
from planned import Planned  # noqa: E402

PROGRAM = os.environ.get("SLUICE", "build/sluice")
DAEMON = os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), "sluiced")
passed = failed = 0
NOBODY = 65534


def check(name, good, why=""):
    global passed, failed
    passed += bool(good)
    failed += not good
    print(("ok: " if good else "FAILED: ") + name + (f" ({why})" if why and not good else ""), flush=True)


def start(folder, *flags, env=None, fds=(), before=None, wait=True):
    process = subprocess.Popen(
        [DAEMON, "--budget", "64MiB", "--socket", os.path.join(folder, "d.sock"), *flags],
        stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, pass_fds=fds, preexec_fn=before)
    for _ in range(500 if wait else 0):
        try:
            t = talk.Talk(os.path.join(folder, "d.sock"))
            t.hello()
            t.socket.close()
            break
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.01)
    return process


def end(process):
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=20)
    return process.returncode, text.decode()


def one_daemon_a_socket(folder):
    path = os.path.join(folder, "d.sock")
    first = start(folder)
    check("the socket's mode is 0660", os.stat(path).st_mode & 0o777 == 0o660)
    second = start(folder, wait=False)
    _, text = second.communicate(timeout=10)
    check("a second daemon ends with 5 and names the first",
          second.returncode == 5 and str(first.pid) in text.decode(), text)
    first.kill()
    first.communicate()
    check("a killed daemon leaves its socket", os.path.exists(path))
    third = start(folder)
    code, text = end(third)
    check("the next one takes its place, and ends with 0", code == 0, text)
    check("and removes the socket, not the journal",
          not os.path.exists(path) and os.path.exists(path + ".journal"))
    with open(path, "w") as f:
        f.write("mine")
    fourth = start(folder, wait=False)
    _, text = fourth.communicate(timeout=10)
    check("a file that is no socket is left alone",
          fourth.returncode == 2 and open(path).read() == "mine", text)
    os.unlink(path)


def service_manager(folder):
    news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    news.bind(os.path.join(folder, "notify"))
    news.settimeout(10)
    process = start(folder, env={"NOTIFY_SOCKET": os.path.join(folder, "notify"),
                                 "WATCHDOG_USEC": "200000"})
    check("the manager hears READY=1", news.recv(100) == b"READY=1")
    check("and WATCHDOG=1 again and again",
          [news.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3)
    code, _ = end(process)
    heard = news.recv(100)
    while heard == b"WATCHDOG=1":
        heard = news.recv(100)
    check("and STOPPING=1", code == 0 and heard == b"STOPPING=1")

    path = os.path.join(folder, "d.sock")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(8)

    def as_third():
        os.dup2(listening.fileno(), 3)
        os.environ["LISTEN_PID"] = str(os.getpid())

    # Python sets the environment before that function runs, so a shell says its own number.
    process = subprocess.Popen(
        ["sh", "-c", f"LISTEN_PID=$$ LISTEN_FDS=1 exec {DAEMON} --budget 64MiB --socket {path}"],
        stderr=subprocess.PIPE, preexec_fn=as_third, close_fds=False)
    t = talk.Talk(path)
    check("a socket that is passed on is served", t.hello())
    t.socket.close()
    code, _ = end(process)
    check("and left to who made it", code == 0 and os.path.exists(path))
    listening.close()
    os.unlink(path)


def frozen(folder):
    """A machine that slept, or a group that was frozen: the daemon awakes first."""
    process = start(folder, "--policy", "rr", "--quantum", "0", "--turn-timeout", "1s")
    jobs = [subprocess.Popen(
        [os.path.join(os.path.dirname(DAEMON), "tests/tools/fakejob"), "--socket", os.path.join(folder, "d.sock"),
         "--p", "1MiB", "--e", "1MiB", "--turns", "400", "--turn-us", "2000", "--seed", str(seed), "--tell", "1"],
        stdout=subprocess.PIPE, text=True) for seed in (1, 2)]
    for job in jobs:
        job.stdout.readline()
        job.stdout.readline()
    # The first has the turn, or is given it, and keeps it.
    jobs[0].send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    for p in (process, jobs[1]):
        p.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    for job in jobs:
        job.send_signal(signal.SIGCONT)
    codes = []
    for job in jobs:
        job.communicate(timeout=60)
        codes.append(job.returncode)
    check("time that all of them were frozen is held against no job", codes == [0, 0], codes)
    end(process)


def settings(folder):
    conf = os.path.join(folder, "conf")
    with open(conf, "w") as f:
        f.write("policy = srtf\n")
    r = subprocess.run([DAEMON, "--check-config", "--budget", "1GiB", "--config", conf],
                       capture_output=True, text=True,
                       env={**os.environ, "SLUICED_GRACE": "7s"})
    check("--check-config says where each value is from",
          "policy = srtf  # file" in r.stdout and "grace = 7s  # environment" in r.stdout
          and "budget = 1GiB  # flag" in r.stdout, r.stdout)
    r = subprocess.run([DAEMON, "--budget", "1GiB", "--no-such", "1"], capture_output=True, text=True)
    check("an unknown flag is exit 2", r.returncode == 2 and "no-such" in r.stderr, r.stderr)
    process = start(folder, "--config", conf)
    with open(conf, "w") as f:
        f.write("policy = rr\n")
    process.send_signal(signal.SIGHUP)
    name = ""
    for _ in range(200):
        r = subprocess.run([PROGRAM, "policy", "--socket", os.path.join(folder, "d.sock")],
                           capture_output=True, text=True)
        name = r.stdout
        if "rr" in name:
            break
        time.sleep(0.01)
    check("SIGHUP reads the file again", "rr" in name, name)
    end(process)


def get(family, address):
    s = socket.socket(family)
    s.settimeout(10)
    s.connect(address)
    s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    text = b""
    while True:
        part = s.recv(65536)
        if not part:
            return text.decode()
        text += part


def tcp_sockets(process):
    inodes = {os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{process.pid}/fd")}
    return [line for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]
            if f"socket:[{line.split()[9]}]" in inodes]


def metrics(folder):
    process = start(folder)
    text = get(socket.AF_UNIX, os.path.join(folder, "d.sock.metrics"))
    body = text.split("\r\n\r\n", 1)[1]
    rows = [line for line in body.splitlines() if not line.startswith("#")]
    check("metrics are Prometheus text",
          text.startswith("HTTP/1.0 200") and "sluice_budget_bytes 67108864" in rows
          and all(re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', r)
                  for r in rows), body[:400])
    silent = [socket.socket(socket.AF_UNIX) for _ in range(40)]
    for s in silent:
        s.connect(os.path.join(folder, "d.sock.metrics"))
    try:
        text = get(socket.AF_UNIX, os.path.join(folder, "d.sock.metrics"))
    except OSError as e:
        text = repr(e)
    check("who connects and says nothing keeps nobody from them", "sluice_jobs 0" in text, text[:200])
    check("no TCP unless asked for", not tcp_sockets(process))
    end(process)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    process = start(folder, "--metrics-port", str(port))
    check("asked for, on the loopback alone",
          "sluice_jobs 0" in get(socket.AF_INET, ("127.0.0.1", port))
          and [r.split()[1][:8] for r in tcp_sockets(process)][:1] == ["0100007F"])
    end(process)


def joint_plans(folder):
    process = start(folder)
    path = os.path.join(folder, "d.sock")
    with open("tests/corpus/weights.trace", "rb") as f:
        trace = f.read()
    jobs = [Planned(path, trace) for _ in range(2)]
    plans = [j.plan() for j in jobs]
    check("jobs that gave traces get plans for all of them together",
          all(text.startswith("plan ") and 0 < budget <= 32 << 20 for text, budget in plans), str(plans)[:300])
    for name, bad in (("no trace", Planned(path, b"rubbish")), ("not sealed", Planned(path, trace, False))):
        t = talk.Talk(path)
        check(f"a trace that is {name} harms nobody", t.hello() and process.poll() is None)
        t.socket.close()
        bad.talk.socket.close()
    bad = Planned(path, b"rubbish")
    fresh = Planned(path, trace)
    stop = time.monotonic() + 3
    fd = os.memfd_create("trace", os.MFD_ALLOW_SEALING)
    os.write(fd, b"rubbish")
    fcntl.fcntl(fd, planned.ADD_SEALS, planned.SHRINK | planned.GROW | planned.WRITE)
    while time.monotonic() < stop:
        bad.talk.socket.sendmsg([struct.pack("<IHHIIQ", 8, planned.TRACE, 1, 3, 1, 7)],
                                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))])
        time.sleep(0.05)
    fresh.talk.socket.setblocking(False)
    try:
        got = len(fresh.talk.socket.recv(16, socket.MSG_PEEK))
    except BlockingIOError:
        got = 0
    check("who gives rubbish for a trace, again and again, keeps plans from nobody", got == 16)
    for j in [*jobs, bad, fresh]:
        j.talk.socket.close()
    code, text = end(process)
    check("no child stays behind", code == 0 and not subprocess.run(
        ["pgrep", "-f", "sluiced --worker"], capture_output=True).stdout, text)


def as_nobody(path, number, payload):
    """What another user hears; run in a child."""
    r, w = os.pipe()
    if os.fork() == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            t = talk.Talk(path)
            t.hello()
            t.send(number, payload, 2)
            number, _, payload = t.receive()
            os.write(w, f"{number} {payload[6:].decode(errors='replace')}".encode())
        except OSError as e:
            os.write(w, repr(e).encode())
        finally:
            os._exit(0)
    os.close(w)
    os.wait()
    text = os.read(r, 4096).decode()
    os.close(r)
    return text


def other_users(folder):
    if os.geteuid() != 0:
        print("skipped: other users (not root)")
        return
    os.chmod(folder, 0o755)
    path = os.path.join(folder, "d.sock")
    process = start(folder)
    check("the socket is closed to others", "Permission" in as_nobody(path, 42, bytes(4)))
    os.chmod(path, 0o666)
    jobs = subprocess.Popen([sys.executable, talk.__file__, path, "job", "mine", "1", "1"],
                            stdout=subprocess.PIPE, text=True)
    while "registered" not in jobs.stdout.readline():
        pass
    for name, number, payload in (
            ("limits", 50, struct.pack("<IQ", 0, 1)), ("the policy", 51, talk.text("fifo")),
            ("another's job: pause", 47, struct.pack("<I", 1)), ("cancel", 49, struct.pack("<I", 1)),
            ("priority", 54, struct.pack("<Ii", 1, 1))):
        text = as_nobody(path, number, payload)
        check(f"another user does not rule over {name}", text.startswith("3 "), text)
    check("but may look", as_nobody(path, 42, bytes(4)).startswith("43"))
    jobs.kill()
    jobs.wait()
    _, log = end(process)
    check("what was refused is in the log",
          log.count('"event":"refused"') >= 5 and f'"user":{NOBODY}' in log)
    os.chown(folder, NOBODY, NOBODY)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))

    def nobody():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    process = start(folder, before=nobody)
    t = talk.Talk(path)
    check("it serves without being root", t.hello())
    t.socket.close()
    code, text = end(process)
    check("and ends with 0", code == 0, text)


def main():
    os.environ.pop("SLUICE_SOCKET", None)
    for part in (one_daemon_a_socket, service_manager, frozen, settings, metrics, joint_plans, other_users):
        with tempfile.TemporaryDirectory(dir=os.environ.get("SL_TEST_DIR", "/var/tmp")) as folder:
            part(folder)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
