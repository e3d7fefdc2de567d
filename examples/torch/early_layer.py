# SPDX-License-Identifier: Apache-2.0
"""A layer that allocates early. The last layer makes its table when it is constructed, long before its first use, so
the table is alive while the layers before it have their largest tensors. Prints a checksum and the peak of PyTorch's
tensors. early_layer_fixed.py makes the table when it is needed."""
import torch
from torch import nn

SIZE = 2048


class Widen(nn.Module):
    def forward(self, data):
        return (data.repeat(1, 4) * 0.5).view(SIZE, 4, SIZE).sum(1)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(2 * SIZE, SIZE, device="cuda")

    def forward(self, data):
        return torch.cat((data, data)) * self.table


torch.manual_seed(1)
model = nn.Sequential(Widen(), Widen(), Scale())
with torch.no_grad():
    result = model(torch.ones(SIZE, SIZE, device="cuda"))
print(f"checksum {result.sum().item():.1f}")
print(f"peak {torch.cuda.max_memory_allocated()}")
