# SPDX-License-Identifier: Apache-2.0
"""Training steps of two models, written with plain PyTorch:

    train.py resnet|gpt STEPS [BATCH]

resnet has the layers of a ResNet-50, gpt those of a GPT-2 with 124 million parameters. Data are random. All algorithms
are deterministic, so the losses are the same bits in every run, and each step prints its loss. Before each step, and in
100 steps at most, a range of NVTX that is named "allocated BYTES" says what PyTorch's allocator has handed out.

The last line is the time of a step in milliseconds: the median of all after the first five.
"""
import os
import struct
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    sys.exit(f"no PyTorch: {error}")

WARM = 5
CHECKPOINTS = 100


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, data):
        return functional.relu(self.layers(data) + self.shortcut(data))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        # The gradient of a pooling of maxima is not deterministic, so a convolution takes its place.
        self.start = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                                   nn.Conv2d(64, 64, 3, 2, 1, bias=False))
        blocks, inputs = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                inputs = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.end = nn.Linear(inputs, 1000)

    def forward(self, data):
        return self.end(self.blocks(self.start(data)).mean((2, 3)))

    @staticmethod
    def batch(size):
        return torch.randn(size, 3, 224, 224), torch.randint(1000, (size,))


class Block(nn.Module):
    """A layer of a transformer: attention, then two linear layers."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.gather = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, data):
        batch, length, width = data.shape
        parts = self.attend(self.before(data)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = (query @ key.transpose(-2, -1)) / (width // self.heads) ** 0.5
        scores = scores.masked_fill(self.future(length, data.device), float("-inf"))
        seen = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
        data = data + self.gather(seen)
        return data + self.narrow(functional.gelu(self.widen(self.between(data))))

    @staticmethod
    def future(length, device):
        return torch.ones(length, length, dtype=torch.bool, device=device).triu(1)


class GPT(nn.Module):
    WORDS, LENGTH, WIDTH = 50257, 1024, 768

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(self.WORDS, self.WIDTH), nn.Embedding(self.LENGTH, self.WIDTH)
        self.blocks = nn.Sequential(*(Block(self.WIDTH, 12) for _ in range(12)))
        self.end = nn.LayerNorm(self.WIDTH)

    def forward(self, text):
        data = self.words(text) + self.places.weight[:text.shape[1]]
        return (self.end(self.blocks(data)) @ self.words.weight.t()).flatten(0, 1)

    @classmethod
    def batch(cls, size):
        text = torch.randint(cls.WORDS, (size, cls.LENGTH + 1))
        return text[:, :-1].contiguous(), text[:, 1:].flatten()


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("resnet", "gpt"):
        sys.exit("usage: train.py resnet|gpt STEPS [BATCH]")
    if not torch.cuda.is_available():
        sys.exit("PyTorch has no CUDA here")
    kind, steps = {"resnet": (ResNet, 32), "gpt": (GPT, 4)}[sys.argv[1]], int(sys.argv[2])
    size = int(sys.argv[3]) if len(sys.argv) == 4 else kind[1]
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    model = kind[0]().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    data, wanted = (part.cuda() for part in kind[0].batch(size))
    print(f"{sum(part.numel() for part in model.parameters())} parameters")
    times = []
    for step in range(steps):
        if step < CHECKPOINTS:
            torch.cuda.nvtx.range_push(f"allocated {torch.cuda.memory_allocated()}")
            torch.cuda.nvtx.range_pop()
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), wanted)
        loss.backward()
        optimizer.step()
        bits = struct.pack(">f", loss.item()).hex()
        times.append(time.perf_counter() - start)
        print(f"step {step}: loss {bits}")
    times = sorted(times[WARM:] or times)
    print(f"{1000 * times[len(times) // 2]:.3f} ms a step")


main()
