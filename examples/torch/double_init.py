# SPDX-License-Identifier: Apache-2.0
"""A tensor that is initialized twice. The result of each layer is first made as zeros, and then replaced by a new
tensor: the zeros are alive while the product is computed, and nobody reads them. Prints a checksum and the peak of
PyTorch's tensors. double_init_fixed.py writes each result once."""
import torch

SIZE, LAYERS = 2048, 4
torch.manual_seed(1)
weights = [torch.rand(SIZE, SIZE, device="cuda") / SIZE for _ in range(LAYERS)]
data = torch.ones(SIZE, SIZE, device="cuda")
torch.cuda.reset_peak_memory_stats()
for weight in weights:
    result = torch.zeros(SIZE, SIZE, device="cuda")
    result = data @ weight
    data = result
print(f"checksum {data.sum().item():.1f}")
print(f"peak {torch.cuda.max_memory_allocated()}")
