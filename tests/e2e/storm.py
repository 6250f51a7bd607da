#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A seeded storm against the real daemon: jobs arrive, leave, are killed, stopped, paused, cancelled; the
daemon itself is killed and started again. Each job proves that its memory was its own. At the end the books
are zero, every log decides the same again, and no descriptor or file is left.

EVENTS (150; 1000 with FULL=1), SEED (1), KEEP=1 leaves the folder."""
import json, os, pwd, random, re, select, shutil, signal, subprocess, sys, tempfile, time

SLUICE = os.path.abspath(os.environ.get("SLUICE", "build/sluice"))
BUILD = os.path.dirname(SLUICE)
EVENTS = int(os.environ.get("EVENTS", "1000" if os.environ.get("FULL") else "150"))
SEED = int(os.environ.get("SEED", "1"))
BUDGET = 24 << 20
ALIVE = 14
DEADLINE_S = 60
STARVED_NS = 700_000_000
TALK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "talk.py")

rng = random.Random(SEED)


class Failure(Exception):
    pass


class Job:
    """A fakejob, and what was done to it that excuses how it ends."""

    def __init__(self, storm, serial):
        self.name = "j%d" % serial
        p = 4096 * rng.randint(1, 800)
        e = 4096 * rng.randint(1, (BUDGET - p) // 4096)
        args = ["--socket", storm.socket, "--name", self.name, "--p", str(p), "--e", str(e),
                "--small-e", str(max(4096, e // 8192 * 4096)), "--turns", str(rng.randint(1, 200)),
                "--turn-us", str(rng.randint(20, 600)), "--priority", str(rng.choice([10, 20, 20, 20, 30])),
                "--idle-every", str(rng.choice([0, 0, 0, 7])), "--seed", str(serial), "--folder", storm.work]
        self.user = rng.choice(storm.users)
        who = {} if self.user is None else {"user": self.user, "group": storm.gid, "extra_groups": []}
        self.out = open(os.path.join(storm.work, self.name), "w+")
        self.excuses = set(storm.excuses)
        self.stopped = False
        self.begin = time.monotonic()
        self.process = subprocess.Popen([storm.fakejob] + args, stdout=self.out, stderr=subprocess.STDOUT, **who)

    def id(self, rows):
        return next((r["id"] for r in rows if r.get("pid") == self.process.pid), None)

    def cont(self):
        if self.stopped:
            self.process.send_signal(signal.SIGCONT)
            self.stopped = False

    def verdict(self):
        """How it ended, or what is wrong with that."""
        code = self.process.returncode
        fine = {0} | ({-9} if "kill" in self.excuses else set())
        if self.excuses & {"term", "cancel"}:
            fine |= {130, -15}
        # Cancelled twice: taken off the list at once.
        if self.excuses & {"stop", "limit", "early", "cancel"}:
            fine |= {5, 3}
        self.out.seek(0)
        text = self.out.read()
        self.out.close()
        # Nobody took its turn but the system, for most of the turn timeout.
        starved = re.search(r'"starved_ns":(\d+)', text)
        if starved and int(starved[1]) > STARVED_NS:
            fine.add(5)
        if code not in fine:
            raise Failure("%s (%s) ended with %s: %s" % (self.name, sorted(self.excuses), code, text[-400:]))
        os.unlink(os.path.join(storm_work(self), self.name))
        if os.environ.get("SLOW") and time.monotonic() - self.begin > 20:
            print("slow:", self.name, sorted(self.excuses), code, text, flush=True)
        return code


def storm_work(job):
    return os.path.dirname(job.out.name)


class Storm:
    def __init__(self, work):
        self.work = work
        self.socket = os.path.join(work, "s")
        self.fakejob = os.path.join(BUILD, "tests", "tools", "fakejob")
        self.gid = os.getgid()
        self.users = self.find_users()
        self.jobs, self.logs, self.ended = [], [], {}
        self.serial = self.starts = 0
        self.excuses = set()  # of whoever comes
        self.start_daemon()
        self.baseline = self.descriptors()

    def find_users(self):
        """Three users, where this process may become them and they may run the program."""
        if os.geteuid() != 0:
            return [None]
        try:
            subprocess.run([self.fakejob], user=65534, group=self.gid, extra_groups=[],
                           stdout=subprocess.DEVNULL)
        except OSError:
            return [None]
        return [None] if os.environ.get("ONE") else [None, 65534, pwd.getpwnam("games").pw_uid]

    def start_daemon(self):
        self.logs.append(os.path.join(self.work, "log%d" % self.starts))
        self.starts += 1
        notify = os.path.join(self.work, "notify")
        import socket
        ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        ear.bind(notify)
        self.err = open(os.path.join(self.work, "err"), "a")
        self.daemon = subprocess.Popen(
            [os.path.join(BUILD, "sluiced"), "--budget", str(BUDGET), "--socket", self.socket, "--log", self.logs[-1],
             "--policy", rng.choice(["fair", "rr", "fair", "pack", "srtf"]), "--max-wait", "4s", "--quantum", "30ms",
             "--turn-timeout", "1s", "--grace", "3s", "--messages-per-second", "60000"],
            stderr=self.err, env=dict(os.environ, NOTIFY_SOCKET=notify))
        ear.settimeout(30)
        while not ear.recv(256).startswith(b"READY=1"):
            pass
        ear.close()
        os.unlink(notify)

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.daemon.pid))

    def command(self, *args):
        out = subprocess.run([SLUICE] + list(args) + ["--socket", self.socket], capture_output=True, text=True,
                             timeout=DEADLINE_S)
        return out.returncode, out.stdout

    def look(self):
        code, text = self.command("ps", "--json")
        if code != 0:
            raise Failure("ps ends with %d" % code)
        lines = [json.loads(line) for line in text.splitlines()]
        total = lines[-1]["summary"]
        if total["granted_bytes"] > total["capacity_bytes"]:
            raise Failure("%(granted_bytes)d of %(capacity_bytes)d granted" % total)
        if not total["journal_ok"]:
            raise Failure("the journal is broken")
        return lines[:-1], total

    def held(self):
        """What is really there of the device's memory: (bytes, name) of what the daemon has descriptors of. It
        stands still meanwhile, or what moves would be counted twice."""
        pieces = {}
        folder = "/proc/%d/fd" % self.daemon.pid
        self.daemon.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.daemon.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        for fd in os.listdir(folder):
            path = os.path.join(folder, fd)
            try:
                name, seen = os.readlink(path), os.stat(path)
            except OSError:
                continue
            if re.match("/memfd:sluice-(job|lane)", name):
                pieces[seen.st_ino] = (seen.st_blocks * 512, name[len("/memfd:sluice-"):].split(" ")[0])
        self.daemon.send_signal(signal.SIGCONT)
        return sorted(pieces.values(), reverse=True)

    def check_held(self, most):
        pieces = self.held()
        total = sum(size for size, _ in pieces)
        if total > most:
            raise Failure("%d bytes of memory where %d may be: %s" % (total, most, pieces))

    def pick(self, *without):
        some = [j for j in self.jobs if j.process.poll() is None and not j.excuses & set(without)]
        return rng.choice(some) if some else None

    def reap(self):
        for j in [j for j in self.jobs if j.process.poll() is not None]:
            self.jobs.remove(j)
            code = j.verdict()
            self.ended[code] = self.ended.get(code, 0) + 1

    def arrive(self):
        while len([j for j in self.jobs if not j.stopped]) >= ALIVE:
            self.wait_for_one()
        self.serial += 1
        self.jobs.append(Job(self, self.serial))

    def wait_for_one(self):
        """Until a job ends; after a while paused and stopped ones go on, so that nothing waits for them."""
        begin = time.monotonic()
        n, rounds = len(self.jobs), 0
        while len(self.jobs) == n:
            self.reap()
            self.pause()
            rounds += 1
            if rounds % 100 == 0:
                self.release()
                self.cont()
            if time.monotonic() > begin + DEADLINE_S:
                raise Failure("no job ended in %d s: %s" % (DEADLINE_S, self.command("ps")[1]))

    def pause(self, s=0.005):
        select.select([], [], [], s)

    def kill(self):
        j = self.pick("kill")
        if j:
            j.excuses.add("kill")
            j.process.kill()

    def term(self):
        j = self.pick("kill", "term")
        if j:
            j.excuses.add("term")
            j.process.terminate()

    def stop(self):
        j = self.pick("kill", "stop")
        if j:
            j.excuses.add("stop")
            j.stopped = True
            j.process.send_signal(signal.SIGSTOP)

    def cont(self):
        for j in self.jobs:
            if j.stopped and rng.random() < 0.5:
                j.cont()

    def verb(self, name):
        j = self.pick("kill")
        if not j:
            return
        rows, _ = self.look()
        number = j.id(rows)
        if number is None:
            return
        if name == "cancel":
            j.excuses.add("cancel")
        self.command(name, str(number), *([str(rng.randint(1, 40))] if name == "priority" else []))

    def release(self):
        for row in self.look()[0]:
            if row["state"] == "paused" or "paused" in row["reason"]:
                self.command("resume", str(row["id"]))

    def limit(self):
        """Every user may have half of the device for a while."""
        for j in self.jobs:
            j.excuses.add("limit")
        self.excuses = set() if self.excuses else {"limit"}
        self.command("limit", str(self.users[-1] or 0), str(BUDGET // 2) if self.excuses else "none")

    def hostile(self):
        raw = rng.choice(["ffffffff010001000100000000000000", "00", "10000000010001000100000000000000" + "ab" * 16])
        subprocess.Popen([sys.executable, TALK, self.socket, "raw", raw], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).kill()

    def restart(self):
        """The daemon dies under its jobs; they wait for the next one."""
        rows, _ = self.look()
        for j in self.jobs:
            j.cont()
            if j.id(rows) is None:
                j.excuses.add("early")
        self.daemon.kill()
        self.daemon.wait()
        self.start_daemon()

    def event(self, i):
        choice = rng.choices(
            [self.arrive, self.kill, self.stop, self.cont, self.term, lambda: self.verb("pause"), self.release,
             lambda: self.verb("cancel"), lambda: self.verb("priority"), self.limit, self.hostile, self.pause],
            [50, 8, 5, 8, 3, 3, 6, 2, 3, 1, 2, 9])[0]
        choice()
        if i % 97 == 96:
            self.restart()
        if i % 10 == 9:
            self.look()
        if self.daemon.poll() is not None:
            raise Failure("the daemon ended with %s" % self.daemon.returncode)
        self.check_held(BUDGET)
        self.reap()
        self.pause(rng.random() * 0.01)

    def finish(self):
        self.command("limit", str(self.users[-1] or 0), "none")
        end = time.monotonic() + DEADLINE_S
        while self.jobs:
            for j in self.jobs:
                j.cont()
            self.release()
            self.reap()
            self.pause(0.02)
            if time.monotonic() > end:
                raise Failure("still there after %d s: %s" % (DEADLINE_S, self.command("ps")[1]))
        rows, total = self.look()
        self.settle(total, rows)

    def settle(self, total, rows):
        if rows or total["granted_bytes"] or total["lanes"] or total["residents"]:
            raise Failure("the ledger is not zero: %s" % total)
        end = time.monotonic() + DEADLINE_S
        while self.descriptors() > self.baseline and time.monotonic() < end:
            self.pause(0.02)
        if self.descriptors() > self.baseline:
            raise Failure("%d descriptors, %d at the start" % (self.descriptors(), self.baseline))
        self.check_held(0)

    def end_daemon(self):
        self.daemon.send_signal(signal.SIGTERM)
        if self.daemon.wait(timeout=DEADLINE_S) != 0:
            raise Failure("the daemon ends with %d" % self.daemon.returncode)
        steps = 0
        for log in self.logs:
            with open(log, "rb") as f:
                text = f.read()
            # A killed daemon may have been in the middle of a line.
            whole = text[:text.rfind(b"\n") + 1]
            with open(log, "wb") as f:
                f.write(whole)
            out = subprocess.run([SLUICE, "sim", "--decisions", log], capture_output=True, text=True)
            if out.returncode != 0:
                raise Failure("%s does not decide the same again: %s" % (log, out.stderr))
            steps += whole.count(b"\n")
        left = set(os.listdir(self.work)) - {"s.journal", "s.lock", "err"} - {os.path.basename(p) for p in self.logs}
        if left:
            raise Failure("files are left: %s" % sorted(left))
        return steps

    def abort(self):
        for j in self.jobs:
            j.process.kill()
        self.daemon.kill()


def main():
    work = tempfile.mkdtemp(dir="/var/tmp", prefix="sluice-storm-")
    os.chmod(work, 0o777)
    storm = Storm(work)
    what = "%d events of seed %d, %d users" % (EVENTS, SEED, len(storm.users))
    begin = time.monotonic()
    try:
        for i in range(EVENTS):
            storm.event(i)
        storm.finish()
        steps = storm.end_daemon()
    except Failure as e:
        storm.abort()
        print("FAILED: %s: %s (logs: %s)" % (what, e, work))
        print("0 passed, 1 failed")
        return 1
    print("ok: %s: %d jobs, exits %s; %d steps decided again; %d daemons; %.1f s" % (
        what, storm.serial, dict(sorted(storm.ended.items())), steps, storm.starts, time.monotonic() - begin))
    if not os.environ.get("KEEP"):
        shutil.rmtree(work)
    print("1 passed, 0 failed")
    return 0


sys.exit(main())
