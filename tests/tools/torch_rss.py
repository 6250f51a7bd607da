#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# needs: torch
"""How far PyTorch's resident memory grows over two training steps; one JSON line a model.

usage: torch_rss.py [MODEL...]

Growth is the peak over both steps less what was resident before the first, when model and batch are there
but no gradient and no state of the optimizer (AdamW, f32). Each model has a process of its own. The peer is
given what saves memory in plain code: ReLU in place as torchvision has it, gradients dropped before each
step, GELU as one function. Libraries are warm before the first figure. bench/torch_rss.csv keeps a run.
With Debian's reference BLAS gpt2 takes half an hour; with libopenblas0-pthread seconds.
"""
import json, os, subprocess, sys

DEBIAN_PYTHON = "/usr/bin/python3"
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    if os.path.exists(DEBIAN_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON] + sys.argv)
    sys.exit("PyTorch is not installed (Debian: python3-torch python3-numpy)")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers"))
from nets import conv, densenet121, resnet50  # some are found by their names

THREADS, STEPS = 2, 2


def double_conv(a, b):
    return nn.Sequential(conv(a, b, 3), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                         conv(b, b, 3), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """src/model/zoo/unet.c: four levels, 64 to 1024 channels, transposed convolutions up."""

    def __init__(self):
        super().__init__()
        self.inc = double_conv(3, 64)
        self.down = nn.ModuleList(double_conv(64 << i, 128 << i) for i in range(4))
        self.up = nn.ModuleList(nn.ConvTranspose2d(128 << i, 64 << i, 2, 2) for i in range(4))
        self.side = nn.ModuleList(double_conv(128 << i, 64 << i) for i in range(4))
        self.outc = nn.Conv2d(64, 2, 1)

    def forward(self, x):
        x = self.inc(x)
        skip = []
        for down in self.down:
            skip.append(x)
            x = down(F.max_pool2d(x, 2))
        for i in reversed(range(4)):
            x = self.side[i](torch.cat([skip.pop(), self.up[i](x)], 1))
        return self.outc(x)


class Block(nn.Module):
    def __init__(self, width, heads, context, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width),
                                 nn.Dropout(dropout))
        self.register_buffer("mask", torch.ones(context, context, dtype=torch.bool).triu(1))

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.c_attn(x).split(c, 2))
        a = (q @ k.transpose(2, 3)) * (c // self.heads) ** -0.5
        a = F.dropout(torch.softmax(a.masked_fill(self.mask[:t, :t], float("-inf")), -1), self.dropout)
        return F.dropout(self.c_proj((a @ v).transpose(1, 2).reshape(b, t, c)), self.dropout)

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """src/model/zoo/gpt2.c: 12 layers of 768, 50257 tokens, dropout 0.1, tied output."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.Sequential(*(Block(768, 12, 1024, 0.1) for _ in range(12)))
        self.ln_f = nn.LayerNorm(768)

    def forward(self, x):
        y = F.dropout(self.wte(x) + self.wpe(torch.arange(x.shape[1])), 0.1)
        return (self.ln_f(self.blocks(y)) @ self.wte.weight.T).flatten(0, 1)


def images(batch, classes):
    return torch.randn(batch, 3, 224, 224), torch.randint(classes, (batch,))


def pixels(batch):
    x, y = images(batch, 2)
    return x, y.view(-1, 1, 1).expand(-1, 224, 224).contiguous()


def tokens(batch, length):
    return torch.randint(50257, (batch, length)), torch.randint(50257, (batch * length,))


MODELS = {  # batch, parameters, module, one batch
    "resnet50": (16, 25557032, resnet50, lambda n: images(n, 1000)),
    "unet": (2, 31037698, UNet, pixels),
    "gpt2": (4, 124439808, GPT2, lambda n: tokens(n, 256)),
    "densenet121": (8, 7978856, densenet121, lambda n: images(n, 1000)),
}


def resident(key):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key))


def step(net, optim, x, y):
    optim.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optim.step()
    return loss.item()


def warm():
    """What the libraries read from disk or compile once does not count as growth."""
    net = nn.Sequential(conv(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 4))
    step(net, torch.optim.AdamW(net.parameters()), torch.randn(2, 3, 16, 16), torch.randint(4, (2,)))


def measure(name):
    batch, count, module, data = MODELS[name]
    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    warm()
    net = module()
    parameters = sum(p.numel() for p in net.parameters())
    if parameters != count:
        sys.exit("%s has %d parameters, ours %d" % (name, parameters, count))
    optim = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x, y = data(batch)
    # The peak begins anew: building the model had one of its own. ru_maxrss would keep it.
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    before = resident("VmRSS")
    losses = [step(net, optim, x, y) for _ in range(STEPS)]
    peak = resident("VmHWM")
    print(json.dumps({
        "model": name, "batch": batch, "torch": torch.__version__, "threads": THREADS, "parameters": parameters,
        "rss_before_bytes": before, "rss_peak_bytes": peak, "growth_bytes": peak - before, "loss": losses,
    }), flush=True)


def main():
    if sys.argv[1:2] == ["--here"]:
        return measure(sys.argv[2])
    for name in sys.argv[1:] or MODELS:
        if name not in MODELS:
            sys.exit("no model %s; there are %s" % (name, ", ".join(MODELS)))
        subprocess.run([sys.executable, __file__, "--here", name], check=True)


main()
