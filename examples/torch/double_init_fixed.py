# SPDX-License-Identifier: Apache-2.0
"""double_init.py without the first initialization."""
import torch

SIZE, LAYERS = 2048, 4
torch.manual_seed(1)
weights = [torch.rand(SIZE, SIZE, device="cuda") / SIZE for _ in range(LAYERS)]
data = torch.ones(SIZE, SIZE, device="cuda")
torch.cuda.reset_peak_memory_stats()
for weight in weights:
    data = data @ weight
print(f"checksum {data.sum().item():.1f}")
print(f"peak {torch.cuda.max_memory_allocated()}")
