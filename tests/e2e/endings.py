#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""However a run ends: whole JSON lines, a summary last, good checkpoints, nothing left behind."""
import json, os, random, resource, signal, subprocess, sys, tempfile, time

SLUICE = os.environ.get("SLUICE", "build/sluice")
LENET = ["lenet5", "--batch", "8"]
KEYS = ("steps loss_first loss_last budget_bytes peak_device_bytes peak_host_bytes peak_disk_bytes swap_out_bytes "
        "swap_in_bytes recompute_ops stall_ms iter_ms_median predicted_iter_ms predicted_peak_bytes replans run_steps "
        "plan_ms policy digest").split()
passed = failed = 0


def tell(good, name, detail=""):
    global passed, failed
    passed += good
    failed += not good
    if not good:
        print("FAILED: %s %s" % (name, detail))


def refuse(constant):
    raise ValueError(constant + " is not JSON")


def objects(out):
    return [json.loads(line, parse_constant=refuse) for line in out.splitlines()]


def complete(out, name):
    """Every line is JSON and the last one a summary with all keys; the summary."""
    try:
        summary = objects(out)[-1]["summary"]
        tell(all(k in summary for k in KEYS), name + ": keys", out[-400:])
        return summary
    except (ValueError, IndexError, KeyError) as e:
        tell(False, name + ": lines", "%r in %s" % (e, out[-400:]))
        return {}


def run(args):
    p = subprocess.run([SLUICE] + args, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


def start(args, **more):
    return subprocess.Popen([SLUICE] + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, **more)


def good(path):
    code, out, err = run(["train"] + LENET + ["--steps", "1", "--resume", path, "--json"])
    return code == 0 and complete(out, "a summary without a step")["loss_first"] is None


def interrupted(folder, endless):
    path = os.path.join(folder, "i")
    for i in range(6):
        p = start(endless + ["--save", path, "--save-every", "3"])
        p.stdout.readline()
        time.sleep(random.uniform(0, 0.1))
        p.send_signal(random.choice((signal.SIGINT, signal.SIGTERM)))
        out, err = p.communicate(timeout=120)
        tell(p.returncode == 130 and path in err, "interrupted %d" % i, "exit %d: %s" % (p.returncode, err))
        # The first line was taken from the pipe already.
        complete(out, "interrupted %d" % i)
        tell(good(path) and os.listdir(folder) == ["i"], "its checkpoint %d" % i, str(os.listdir(folder)))
    os.unlink(path)


def before_the_first_step(folder, budget):
    """A run that did nothing leaves the checkpoint alone."""
    path = os.path.join(folder, "b")
    code, _, err = run(["train"] + LENET + ["--steps", "2", "--save", path])
    tell(code == 0, "a checkpoint", err)
    with open(path, "rb") as f:
        want = f.read()
    at_once = LENET + ["--seed", "9", "--budget", budget, "--save", path, "--json"]
    for i in range(3):
        p = start(["train"] + at_once + ["--steps", "100000000"])
        time.sleep(i * 0.004)
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=120)
        with open(path, "rb") as f:
            same = f.read() == want
        stepped = any("step" in o for o in objects(out))
        tell(p.returncode in (130, -signal.SIGTERM) and (same or stepped), "a signal at once", "%d %s" % (p.returncode, err))
        if p.returncode == 130:
            complete(out, "a signal at once")
    os.unlink(path)


def no_name_is_left(folder, endless):
    """Killed, or told twice to end, while it does nothing but write checkpoints."""
    path = os.path.join(folder, "k")
    for i in range(8):
        p = start(endless + ["--save", path, "--save-every", "1"])
        while not os.path.exists(path) and p.poll() is None:
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.05))
        if i % 2:
            p.kill()
        else:
            p.terminate()
            p.terminate()
        p.communicate(timeout=120)
        left = [n for n in os.listdir(folder) if n != "k"]
        # Between its name and the last one there is an instant.
        tell(good(path) and len(left) <= 1 and (not left or i % 2), "killed %d" % i, str(left))
        for n in left:
            os.unlink(os.path.join(folder, n))
    os.unlink(path)


def two_writers(folder):
    path = os.path.join(folder, "w")
    args = ["train"] + LENET + ["--steps", "40", "--save", path, "--save-every", "1", "--quiet"]
    pair = [start(args + ["--seed", seed]) for seed in "12"]
    codes = [p.wait(timeout=300) for p in pair]
    for p in pair:
        p.communicate()
    tell(codes == [0, 0] and good(path) and os.listdir(folder) == ["w"], "two writers of one file", "%s" % codes)
    os.unlink(path)


def others(folder, budget):
    p = start(["infer", "lenet5", "--input", "synthetic:1x28x28", "--json"])
    p.stdout.readline()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    tell(p.returncode in (0, 130) and not err, "infer ends at once", err)
    p = start(["verify"] + LENET + ["--steps", "100000", "--budget", budget, "--json"])
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    tell(p.returncode == 130 and "compared" in err and "--resume" not in err, "verify", "exit %d: %s" % (p.returncode, err))
    code, out, err = run(["train", "lenet5", "--batch", "8", "--steps", "30", "--optim", "sgd", "--lr", "1e20", "--allow-nan", "--json"])
    tell(code == 0 and complete(out, "losses that are not finite").get("loss_last", 0) is None and '"loss":null' in out, "null", err)
    code, out, err = run(["plan"] + LENET + ["--budget", budget, "--policy", "all", "--json"])
    rows = objects(out)
    keys = ("policy feasible budget_bytes least_budget_bytes bound_budget_bytes binding_op peak_bytes base_iter_ns iter_ns "
            "swap_out_bytes swap_in_bytes recompute_ns stall_ns plan_ns").split()
    tell(code == 0 and len(rows) > 1 and all(k in r for r in rows for k in keys), "rows of plan", out)
    name = os.path.join(folder, "\udcff\x1b[31m.plan")
    code, out, err = run(["plan"] + LENET + ["--budget", budget, "-o", name, "--record", name + "t", "--json"])
    code, out, err = run(["check", name + "t", name, "--budget", "64KiB", "--json"])
    tell(code == 1 and objects(out)[-1]["summary"]["sound"] is False, "names that are no text", err)


def main():
    random.seed(6)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        tight = json.loads(run(["plan"] + LENET + ["--budget", "1GiB", "--json"])[1])["least_budget_bytes"]
        endless = ["train"] + LENET + ["--steps", "100000000", "--budget", str(tight), "--disk", folder, "--json"]
        interrupted(folder, endless)
        before_the_first_step(folder, str(tight))
        no_name_is_left(folder, endless)
        two_writers(folder)
        others(folder, str(tight))
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


sys.exit(main())
