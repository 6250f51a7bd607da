# SPDX-License-Identifier: Apache-2.0
"""What bench/table.py and bench/peers.py measure, and how: programs that repeat a step, in turns.

All programs of a row are started, warmed up and stopped (SIGSTOP). A round continues each for a moment and stops
it again, so that a disturbed minute hits all alike; the step that was cut by the stop does not count. Each round
gives a median a program, the table shows the median of the rounds. Ratios are medians of the rounds' ratios.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

QUICK = os.environ.get("QUICK", "") not in ("", "0")
ROUNDS = int(os.environ.get("ROUNDS", "1" if QUICK else "5"))
THREADS = int(os.environ.get("THREADS", min(2, len(os.sched_getaffinity(0)))))
SECONDS = float(os.environ.get("SECONDS_A_TURN", "0.2" if QUICK else "1"))
PATIENCE = 600
SLUICE = os.environ.get("SLUICE", "build/sluice")
LOOP = os.path.join(os.path.dirname(SLUICE), "bench", "loop")
HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.expanduser(os.environ.get("PEERS", "~/.cache/sluice/peers"))


# Ended from outside too, no stopped program stays behind.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class Gone(Exception):
    """A program ended instead of going on."""


class Program:
    """A process that prints a JSON line a step."""

    def __init__(self, name, words, env=None):
        self.name, self.words, self.medians, self.info = name, words, [], {}
        self.rest = b""
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(env or {})})
        os.set_blocking(self.process.stdout.fileno(), False)

    def lines(self):
        """What came since the last call."""
        out = []
        try:
            while chunk := os.read(self.process.stdout.fileno(), 1 << 16):
                self.rest += chunk
        except BlockingIOError:
            pass
        *whole, self.rest = self.rest.split(b"\n")
        for line in whole:
            out.append(json.loads(line))
            self.info.update(out[-1])
        return [line for line in out if "ms" in line or "iter_ms" in line]

    def collect(self, least, seconds):
        """Steps of some seconds, the first one left out."""
        found, begin = [], time.monotonic()
        while len(found) <= least or time.monotonic() - begin < seconds:
            found += self.lines()
            if self.process.poll() is not None:
                self.errors.seek(0)
                last = self.errors.read().decode(errors="replace").strip().splitlines()
                raise Gone(f"{self.name}: {last[-1] if last else 'ended with %d' % self.process.returncode}")
            if time.monotonic() - begin > PATIENCE:
                raise Gone(f"{self.name}: no step in {PATIENCE} s")
            time.sleep(0.02)
        return [line.get("ms", line.get("iter_ms")) for line in found[1:]]

    def warm(self):
        self.collect(1, 0 if QUICK else SECONDS / 2)
        self.stop()

    def turn(self, least=1):
        self.lines()
        self.process.send_signal(signal.SIGCONT)
        self.medians.append(statistics.median(self.collect(least, SECONDS)))
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def ms(self):
        return statistics.median(self.medians)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.send_signal(signal.SIGCONT)
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def train(model, batch, *options):
    return [SLUICE, "train", model, "--batch", str(batch), "--steps", "1000000", "--json", "--no-dropout",
            "--allow-nan", "--threads", str(THREADS), *options]


class Row:
    """A piece of work: ours, and what peers call it."""

    def __init__(self, key, model, batch, *options, infer=False, per_sample=1, peers=(), peer=None, bar="", group="",
                 unit="samples"):
        self.key, self.model, self.batch, self.options, self.infer = key, model, batch, list(options), infer
        self.per_sample, self.unit, self.bar, self.group = per_sample, unit, bar, group
        self.peers, self.peer = peers, peer or model.split(":")[0]

    def ours(self, *more, threads=None):
        threads = str(threads or THREADS)
        if self.infer:
            return [LOOP, "infer", self.model, str(self.batch), threads]
        return train(self.model, self.batch, *self.options, *more, "--threads", threads)

    def work(self):
        """The step's operations and peak bytes, from a short profile."""
        words = [SLUICE, "profile", self.model, "--batch", str(self.batch), "--steps", "1", "--before", "1", "--json",
                 "--top", "1", "--no-dropout", "--allow-nan", *self.options] + (["--infer"] if self.infer else [])
        out = subprocess.run(words, capture_output=True, text=True)
        if out.returncode:
            raise Gone(out.stderr.strip().splitlines()[0] if out.stderr.strip() else f"exit code {out.returncode}")
        return json.loads(out.stdout.splitlines()[-1])["summary"]


TORCH = ("torch", "torch-1.13")
NETS = ("torch", "torch-1.13")
ROWS = [
    Row("gpt2", "gpt2", 4, "--data", "synthetic:64", per_sample=64, unit="tokens", peers=TORCH, group="train",
        bar="2.0 of torch-1.13, 1.3 of torch; 75 % of peak"),
    Row("gpt2-bf16", "gpt2", 4, "--data", "synthetic:64", "--dtype", "bf16", per_sample=64, unit="tokens",
        peers=("torch",), bar="1.6 of gpt2 in f32"),
    Row("resnet50", "resnet50", 8, peers=NETS, group="train", bar="1.1 of torch-1.13, 1.0 of torch"),
    Row("bert", "bert-base", 4, "--data", "synthetic:128", per_sample=128, unit="tokens", peers=("torch",),
        group="train", bar="1.1"),
    Row("vit", "vit-b16", 4, peers=("torch",), group="train", bar="1.1"),
    Row("densenet121", "densenet121", 8, peers=("torch",), group="train", bar="1.1"),
    Row("vgg16", "vgg16", 8, peers=("torch",), group="train", bar="1.1"),
    Row("lstm", "lstm", 20, "--data", "synthetic:35", per_sample=35, unit="tokens", peers=("torch",), group="train",
        bar="1.1"),
    Row("mlp", "mlp:sizes=784-500-10", 500, "--data", "synthetic:784", peers=TORCH, bar="1.5 of the faster"),
    Row("resnet50-infer1", "resnet50", 1, infer=True, peers=("onnxruntime", "torch"), bar="0.95 of onnxruntime"),
    Row("resnet50-infer8", "resnet50", 8, infer=True, peers=("onnxruntime", "torch"), bar="0.95 of onnxruntime"),
    Row("bert-infer", "bert-base:context=128", 1, infer=True, per_sample=128, unit="tokens",
        peers=("onnxruntime", "torch"), bar="0.95 of onnxruntime"),
]


def peer_program(name, row):
    """Starts a peer's program for a row; Gone where it is not installed."""
    mode = "infer" if row.infer else "train"
    dtype = "bf16" if "bf16" in row.options else "f32"
    env, python = {}, os.path.join(PEERS, "bin", "python")
    if name == "torch-1.13":
        python = "/usr/bin/python3"
        # Debian's PyTorch with its reference BLAS takes a minute for a step.
        env["LD_LIBRARY_PATH"] = os.path.join(PEERS, "openblas")
        if not os.path.isdir(env["LD_LIBRARY_PATH"]):
            raise Gone(f"no OpenBLAS in {PEERS}: make peers")
    if not os.path.exists(python):
        raise Gone(f"no {python}: make peers")
    script = "ort_infer.py" if name == "onnxruntime" else "torch_step.py"
    words = [python, os.path.join(HERE, "peers", script), mode, row.peer, str(row.batch), str(THREADS), dtype]
    return Program(name, words, env)


def chosen(keys):
    """Rows of ROWS="gpt2 resnet50"; all where it is unset."""
    wanted = os.environ.get("ROWS", "").split()
    unknown = [key for key in wanted if key not in keys]
    if unknown:
        sys.exit(f"no row {' '.join(unknown)}; there are {' '.join(keys)}")
    return [key for key in keys if not wanted or key in wanted]


def measure(programs, rounds=None):
    """Warm programs take their turns; all are ended by the caller."""
    for _ in range(rounds or ROUNDS):
        for program in programs:
            program.turn()


def ratio(a, b):
    """Median over the rounds of a's time by b's."""
    return statistics.median(x / y for x, y in zip(a.medians, b.medians))


def peak_of(program):
    return program.info.get("gflop_per_s", 0)


def megabytes(count):
    return f"{count / (1 << 20):.0f} MiB"


def head():
    load = os.getloadavg()[0]
    print(f"{THREADS} threads, {ROUNDS} rounds, load of this machine {load:.1f} before")


def emit(**members):
    print(json.dumps(members), flush=True)
