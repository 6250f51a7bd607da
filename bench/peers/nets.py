# SPDX-License-Identifier: Apache-2.0
"""Image nets of PyTorch, written out plainly: what bench/peers and tests/tools/torch_rss.py hold ours against."""
import torch
from torch import nn


def conv(a, b, kernel, stride=1, bias=False):
    return nn.Conv2d(a, b, kernel, stride, kernel // 2, bias=bias)


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = conv(inside, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, out, 1), nn.BatchNorm2d(out)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride > 1 or inside != out:
            self.downsample = nn.Sequential(conv(inside, out, 1, stride), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def resnet50():
    parts = [conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for layer, blocks in enumerate((3, 4, 6, 3)):
        for i in range(blocks):
            parts.append(Bottleneck(inside, 64 << layer, 2 if layer and not i else 1))
            inside = 256 << layer
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))


class DenseLayer(nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inside), conv(inside, 128, 1)
        self.norm2, self.conv2 = nn.BatchNorm2d(128), conv(128, 32, 3)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, parts):
        y = self.conv1(self.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(self.relu(self.norm2(y)))


class DenseBlock(nn.Module):
    def __init__(self, inside, layers):
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(inside + 32 * i) for i in range(layers))

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts.append(layer(parts))
        return torch.cat(parts, 1)


def densenet121():
    parts = [conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for block, layers in enumerate((6, 12, 24, 16)):
        parts.append(DenseBlock(inside, layers))
        inside += 32 * layers
        parts += [nn.BatchNorm2d(inside), nn.ReLU(inplace=True)]
        if block < 3:
            parts += [conv(inside, inside // 2, 1), nn.AvgPool2d(2)]
            inside //= 2
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))
