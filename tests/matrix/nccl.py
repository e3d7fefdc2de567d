# SPDX-License-Identifier: Apache-2.0
"""PyTorch's collectives by NCCL, in a job of a single rank: nccl.py alone prints what each is called, how often it is
called and how many bytes it gives, and a checksum of the results; "check" says whether it can be run at all."""
import os
import sys
import tempfile

try:
    import torch
    import torch.distributed as distributed
except ImportError as error:
    sys.exit(f"no PyTorch: {error}")

if not torch.cuda.is_available():
    sys.exit("PyTorch has no CUDA here")
if not distributed.is_available() or not distributed.is_nccl_available():
    sys.exit("PyTorch has no NCCL here")
if sys.argv[1] == "check":
    sys.exit(0)

LENGTH = 1 << 18
calls = {}


def call(name, function, *tensors):
    """Calls the collective with the tensors, of which the last is what this rank gives."""
    function(*tensors)
    given = tensors[-1]
    count, size = calls.get(name, (0, 0))
    calls[name] = (count + 1, size + given.numel() * given.element_size())


with tempfile.TemporaryDirectory() as folder:
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl", init_method=f"file://{os.path.join(folder, 'meet')}", rank=0, world_size=1)
    values = (torch.arange(LENGTH, device="cuda") % 100).float()
    halves = values.half()
    gathered = torch.zeros_like(values)
    kept = torch.zeros_like(values)
    for _ in range(3):
        call("ncclAllReduce", distributed.all_reduce, values)
    call("ncclAllReduce", distributed.all_reduce, halves)
    call("ncclAllGather", distributed.all_gather_into_tensor, gathered, values)
    call("ncclReduceScatter", distributed.reduce_scatter_tensor, kept, values)
    torch.cuda.synchronize()
    print(f"nccl: {[int(tensor.sum().item()) for tensor in (values, halves.float(), gathered, kept)]}")
    distributed.destroy_process_group()
for name, (count, size) in sorted(calls.items()):
    print(f"{name},{count},{size}")
