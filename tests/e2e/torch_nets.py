#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# needs: torch
"""One step of each larger image net here and in PyTorch: the loss, and every parameter's gradient.

The gradient is read from the parameters before and after a step of plain descent at rate 1. The nets are
written here by what their papers say; names are torchvision's, so a branch in the wrong place is seen.
"""
import os, sys, tempfile

# Batch norm over a few values multiplies rounding: PyTorch's own gradients in f32 and f64 are up to 0.1 apart at these sizes. A branch in the wrong place or a wrong padding is off by far more.
CASES = {  # model: side of the input, batch, bounds on the loss and on |ours - theirs| / |theirs| of a gradient
    "resnet50": (32, 8, 1e-3, 0.1),
    "densenet121": (32, 8, 1e-4, 0.1),
    "mobilenetv2": (64, 8, 1e-3, 0.1),
    "inceptionv3": (107, 8, 1e-3, 0.1),
    "inceptionv4": (107, 8, 1e-3, 0.3),
}
DEBIAN_PYTHON = "/usr/bin/python3"
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    if os.path.exists(DEBIAN_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON] + sys.argv)
    print("PyTorch is not installed (Debian: python3-torch python3-numpy)")
    print("0 passed, 0 failed, %d skipped" % len(CASES))
    sys.exit(0)
import torch_curves as curves
from torch_curves import mobilenetv2  # found by its name


class Net:
    """Layers by the names of their parameters."""

    def __init__(self, p, eps=1e-5):
        self.p, self.eps = p, eps

    def conv(self, name, x, stride=1, pad=0):
        return F.conv2d(x, self.p[name + ".weight"], stride=stride, padding=pad)

    def norm(self, name, x):
        return F.batch_norm(x, None, None, self.p[name + ".weight"], self.p[name + ".bias"], training=True, eps=self.eps)

    def linear(self, name, x):
        return F.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])


def resnet50(p, x):
    n = Net(p)
    x = F.max_pool2d(F.relu(n.norm("bn1", n.conv("conv1", x, 2, 3))), 3, 2, 1)
    for layer, blocks in enumerate((3, 4, 6, 3), 1):
        for i in range(blocks):
            b = "layer%d.%d." % (layer, i)
            stride = 2 if layer > 1 and i == 0 else 1
            y = F.relu(n.norm(b + "bn1", n.conv(b + "conv1", x)))
            y = F.relu(n.norm(b + "bn2", n.conv(b + "conv2", y, stride, 1)))
            y = n.norm(b + "bn3", n.conv(b + "conv3", y))
            if i == 0:
                x = n.norm(b + "downsample.1", n.conv(b + "downsample.0", x, stride))
            x = F.relu(x + y)
    return n.linear("fc", x.mean((2, 3)))


def densenet121(p, x):
    n = Net(p)
    x = F.max_pool2d(F.relu(n.norm("features.norm0", n.conv("features.conv0", x, 2, 3))), 3, 2, 1)
    for block, layers in enumerate((6, 12, 24, 16), 1):
        parts = [x]
        for i in range(1, layers + 1):
            b = "features.denseblock%d.denselayer%d." % (block, i)
            y = n.conv(b + "conv1", F.relu(n.norm(b + "norm1", torch.cat(parts, 1))))
            parts.append(n.conv(b + "conv2", F.relu(n.norm(b + "norm2", y)), 1, 1))
        x = torch.cat(parts, 1)
        if block < 4:
            t = "features.transition%d." % block
            x = F.avg_pool2d(n.conv(t + "conv", F.relu(n.norm(t + "norm", x))), 2)
    return n.linear("classifier", F.relu(n.norm("features.norm5", x)).mean((2, 3)))


class Inception(Net):
    def __init__(self, p):
        super().__init__(p, 1e-3)

    def unit(self, name, x, stride=1, valid=False):
        k = self.p[name + ".conv.weight"].shape[2:]
        pad = (0, 0) if valid or stride == 2 else (k[0] // 2, k[1] // 2)
        return F.relu(self.norm(name + ".bn", self.conv(name + ".conv", x, stride, pad)))

    def chain(self, names, x, last=1):
        for i, name in enumerate(names):
            x = self.unit(name, x, last if i + 1 == len(names) else 1)
        return x

    def fork(self, name, x):
        return [self.unit(name + "a", x), self.unit(name + "b", x)]


def half(x):
    return F.max_pool2d(x, 3, 2)


def inceptionv3(p, x):
    n = Inception(p)
    x = n.unit("Conv2d_1a_3x3", x, 2)
    x = half(n.unit("Conv2d_2b_3x3", n.unit("Conv2d_2a_3x3", x, valid=True)))
    x = half(n.unit("Conv2d_4a_3x3", n.unit("Conv2d_3b_1x1", x), valid=True))

    def chain(b, branch, count, x, last=1):
        return n.chain(["%sbranch%s_%d" % (b, branch, i) for i in range(1, count + 1)], x, last)

    for m in ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e", "7a", "7b", "7c"):
        b = "Mixed_%s." % m
        if m == "6a":
            parts = [n.unit(b + "branch3x3", x, 2), chain(b, "3x3dbl", 3, x, 2), half(x)]
        elif m == "7a":
            parts = [chain(b, "3x3", 2, x, 2), chain(b, "7x7x3", 4, x, 2), half(x)]
        else:
            parts = [n.unit(b + "branch1x1", x)]
            if m[0] == "5":
                parts += [chain(b, "5x5", 2, x), chain(b, "3x3dbl", 3, x)]
            elif m[0] == "6":
                parts += [chain(b, "7x7", 3, x), chain(b, "7x7dbl", 5, x)]
            else:
                parts += n.fork(b + "branch3x3_2", chain(b, "3x3", 1, x))
                parts += n.fork(b + "branch3x3dbl_3", chain(b, "3x3dbl", 2, x))
            parts.append(n.unit(b + "branch_pool", F.avg_pool2d(x, 3, 1, 1)))
        x = torch.cat(parts, 1)
    return n.linear("fc", x.mean((2, 3)))


def inceptionv4(p, x):
    n = Inception(p)

    def chain(b, branch, count, x, last=1):
        return n.chain(["%sbranch%d.%d" % (b, branch, i) for i in range(count)], x, last)

    x = n.unit("features.0", x, 2)
    x = n.unit("features.2", n.unit("features.1", x, valid=True))
    x = torch.cat([half(x), n.unit("features.3.conv", x, 2)], 1)
    b = "features.4."
    x = torch.cat([n.unit(b + "branch0.1", n.unit(b + "branch0.0", x), valid=True),
                   n.unit(b + "branch1.3", chain(b, 1, 3, x), valid=True)], 1)
    x = torch.cat([n.unit("features.5.conv", x, 2), half(x)], 1)
    for i in range(6, 22):
        b = "features.%d." % i
        if i == 10:
            parts = [n.unit(b + "branch0", x, 2), chain(b, 1, 3, x, 2), half(x)]
        elif i == 18:
            parts = [chain(b, 0, 2, x, 2), chain(b, 1, 4, x, 2), half(x)]
        else:
            parts = [n.unit(b + "branch0", x)]
            if i < 18:
                parts += [chain(b, 1, 2 if i < 10 else 3, x), chain(b, 2, 3 if i < 10 else 5, x)]
            else:
                parts += n.fork(b + "branch1_1", n.unit(b + "branch1_0", x))
                parts += n.fork(b + "branch2_3", n.chain([b + "branch2_%d" % k for k in range(3)], x))
            parts.append(n.unit(b + "branch3.1", F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)))
        x = torch.cat(parts, 1)
    return n.linear("last_linear", x.mean((2, 3)))


def compare(name, folder):
    side, batch, loss_bound, bound = CASES[name]
    data, batches = curves.image_data(folder, batch, (3, side, side), 10)
    x, y = batches[0]
    common = ["%s:classes=10,input=3x%dx%d" % (name, side, side), "--data", data, "--batch", str(batch), "--no-dropout",
              "--json", "--steps", "1", "--optim", "sgd", "--weight-decay", "0"]
    start, end = (os.path.join(folder, f + ".safetensors") for f in ("start", "end"))
    # A step too small to change any weight gives the first values.
    curves.sluice(common + ["--lr", "1e-30", "--save", start])
    ours = curves.sluice(common + ["--lr", "1", "--save", end])[0]
    before, after = curves.read_safetensors(start), curves.read_safetensors(end)
    p = {k: v.clone().requires_grad_(True) for k, v in before.items() if "running_" not in k}
    loss = F.cross_entropy(globals()[name](p, x), y)
    loss.backward()
    # A bias that the next batch norm takes away has no gradient but rounding.
    least = 1e-4 * max(v.grad.norm().item() for v in p.values())
    worst, where = 0.0, "nowhere"
    for k, v in p.items():
        off = ((before[k] - after[k] - v.grad).norm() / v.grad.norm().clamp_min(least)).item()
        if off > worst:
            worst, where = off, k
    print("%-12s loss %.6f, PyTorch %.6f; %d gradients, at most %.2e apart (%s)" % (name, ours, loss, len(p), worst, where))
    return abs(ours - loss.item()) < loss_bound and worst < bound


def main():
    torch.set_num_threads(2)
    passed = failed = 0
    for name in CASES:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            good = compare(name, folder)
        passed += good
        failed += not good
        if not good:
            print("FAILED: %s differs from PyTorch" % name)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
