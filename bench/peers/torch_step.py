# SPDX-License-Identifier: Apache-2.0
"""Steps of PyTorch for bench/peers.py: torch_step.py train|infer MODEL BATCH THREADS f32|bf16

Prints {"version": ...}, then {"ms": ..., "grown_bytes": ...} a step, without end: how far the peak of resident
memory lies above what was resident before the model was made. Models are those of src/model/zoo, written out
plainly, without dropout; nets of convolutions run channels-last. Runs with PyTorch 1.13 and newer.
"""
import json
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from nets import conv, densenet121, resnet50


def vgg16():
    parts, inside = [], 3
    for width, n in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(n):
            parts += [conv(inside, width, 3, bias=True), nn.ReLU(inplace=True)]
            inside = width
        parts.append(nn.MaxPool2d(2))
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 4096),
                         nn.ReLU(inplace=True), nn.Linear(4096, 1000))


class Attention(nn.Module):
    def __init__(self, width, causal):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = width // 64, causal

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).split(c, 2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        else:
            a = (q @ k.transpose(2, 3)) * 0.125
            if self.causal:
                a = a.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
            y = torch.softmax(a, -1) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    """A transformer's layer with its norms before (GPT, ViT) or behind (BERT)."""

    def __init__(self, width, causal=False, before=True, gelu="none", eps=1e-5):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attention, self.before = Attention(width, causal), before
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(gelu), nn.Linear(4 * width, width))

    def forward(self, x):
        if self.before:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.Sequential(*(Block(768, causal=True, gelu="tanh") for _ in range(12)))
        self.norm = nn.LayerNorm(768)

    def forward(self, x):
        y = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        return (self.norm(self.blocks(y)) @ self.wte.weight.T).flatten(0, 1)


class Bert(nn.Module):
    """With the head of its masked language model, as src/model/zoo/bert.c."""

    def __init__(self):
        super().__init__()
        self.word, self.place, self.kind = nn.Embedding(30522, 768), nn.Embedding(512, 768), nn.Embedding(2, 768)
        for table in (self.word, self.place, self.kind):
            nn.init.normal_(table.weight, std=0.02)
        self.norm = nn.LayerNorm(768, 1e-12)
        self.blocks = nn.Sequential(*(Block(768, before=False, eps=1e-12) for _ in range(12)))
        self.head = nn.Sequential(nn.Linear(768, 768), nn.GELU(), nn.LayerNorm(768, 1e-12))
        self.bias = nn.Parameter(torch.zeros(30522))

    def forward(self, x):
        y = self.word(x) + self.place(torch.arange(x.shape[1])) + self.kind.weight[0]
        return (self.head(self.blocks(self.norm(y))) @ self.word.weight.T + self.bias).flatten(0, 1)


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 768, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, 768))
        self.place = nn.Parameter(torch.randn(1, 197, 768) * 0.02)
        self.blocks = nn.Sequential(*(Block(768, eps=1e-6) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(768, 1e-6), nn.Linear(768, 1000)

    def forward(self, x):
        y = self.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(y.shape[0], -1, -1), y], 1) + self.place
        return self.head(self.norm(self.blocks(y))[:, 0])


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(10000, 650), nn.LSTM(650, 650, 2), nn.Linear(650, 10000)

    def forward(self, x):
        return self.decoder(self.rnn(self.encoder(x.T))[0].transpose(0, 1)).flatten(0, 1)


def mlp():
    return nn.Sequential(nn.Linear(784, 500), nn.ReLU(inplace=True), nn.Linear(500, 10))


def images(batch):
    return torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))


def tokens(vocab, length):
    return lambda batch: (torch.randint(vocab, (batch, length)), torch.randint(vocab, (batch * length,)))


MODELS = {  # module, one batch, parameters of ours, channels-last
    "gpt2": (GPT2, tokens(50257, 64), 124439808, False),
    "resnet50": (resnet50, images, 25557032, True),
    "densenet121": (densenet121, images, 7978856, True),
    "vgg16": (vgg16, images, 138357544, True),
    "bert-base": (Bert, tokens(30522, 128), 109514298, False),
    "vit-b16": (Vit, images, 86567656, False),
    "lstm": (Lstm, tokens(10000, 35), 19780400, False),
    "mlp": (mlp, lambda n: (torch.randn(n, 784), torch.randint(10, (n,))), 397510, False),
}


def build(name, batch):
    module, data, count, last = MODELS[name]
    net, (x, y) = module(), data(batch)
    have = sum(p.numel() for p in net.parameters())
    if have != count:
        sys.exit("%s has %d parameters, ours %d" % (name, have, count))
    if last:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    return net, x, y


def resident(key):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key))


def warm():
    """What the libraries read from disk or set up once does not count as growth."""
    net = nn.Sequential(conv(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(2048, 4))
    optim = torch.optim.AdamW(net.parameters())
    F.cross_entropy(net(torch.randn(2, 3, 16, 16)), torch.randint(4, (2,))).backward()
    optim.step()


def trainer(net, x, y, dtype):
    optim = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step():
        optim.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            loss = F.cross_entropy(net(x).float(), y)
        loss.backward()
        optim.step()
        return loss.item()
    return step


def runner(net, x):
    net.eval()

    def step():
        with torch.inference_mode():
            return net(x)
    return step


def main():
    mode, name, batch, threads, dtype = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    warm()
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    net, x, y = build(name, batch)
    step = trainer(net, x, y, dtype) if mode == "train" else runner(net, x)
    print(json.dumps({"version": torch.__version__.split("+")[0]}), flush=True)
    while True:
        begin = time.perf_counter()
        step()
        ms = (time.perf_counter() - begin) * 1e3
        print(json.dumps({"ms": ms, "grown_bytes": resident("VmHWM") - before}), flush=True)


if __name__ == "__main__":
    main()
