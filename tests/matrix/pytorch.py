# SPDX-License-Identifier: Apache-2.0
"""PyTorch in the matrix of recorded programs: pytorch.py multiply prints a checksum of a product of matrices of whole
numbers, exact in any order; "check" says whether it can be run at all."""
import sys

try:
    import torch
except ImportError as error:
    sys.exit(f"no PyTorch: {error}")

if not torch.cuda.is_available():
    sys.exit("PyTorch has no CUDA here")
if sys.argv[1] == "check":
    sys.exit(0)
size = 128
numbers = torch.arange(size * size, dtype=torch.float32, device="cuda").reshape(size, size)
product = (numbers % 7) @ (numbers % 5)
print(f"torch: {int(product.sum().item())} {int((product * (numbers % 3)).sum().item())}")
