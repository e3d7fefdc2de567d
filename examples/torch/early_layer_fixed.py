# SPDX-License-Identifier: Apache-2.0
"""early_layer.py with a table that is made when it is needed."""
import torch
from torch import nn

SIZE = 2048


class Widen(nn.Module):
    def forward(self, data):
        return (data.repeat(1, 4) * 0.5).view(SIZE, 4, SIZE).sum(1)


class Scale(nn.Module):
    def forward(self, data):
        table = torch.ones(2 * SIZE, SIZE, device="cuda")
        return torch.cat((data, data)) * table


torch.manual_seed(1)
model = nn.Sequential(Widen(), Widen(), Scale())
with torch.no_grad():
    result = model(torch.ones(SIZE, SIZE, device="cuda"))
print(f"checksum {result.sum().item():.1f}")
print(f"peak {torch.cuda.max_memory_allocated()}")
