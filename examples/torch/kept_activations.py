# SPDX-License-Identifier: Apache-2.0
"""Activations that are kept. Each layer's result is put into a list, of which only the last is used. Prints a checksum
and the peak of PyTorch's tensors. kept_activations_fixed.py keeps the last only."""
import torch

SIZE, LAYERS = 2048, 12
torch.manual_seed(1)
weight = torch.rand(SIZE, SIZE, device="cuda") / SIZE
results = [torch.ones(SIZE, SIZE, device="cuda")]
with torch.no_grad():
    for _ in range(LAYERS):
        results.append(torch.relu(results[-1] @ weight))
print(f"checksum {results[-1].sum().item():.1f}")
print(f"peak {torch.cuda.max_memory_allocated()}")
