# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators as ranges of NVTX (emit_nvtx): operators.py run does the same twice, first under PyTorch's own
profiler of the host and then with ranges, and prints "NAME COUNT" for each operator that the profiler saw; "check" says
whether it can be run at all."""
import sys

try:
    import torch
except ImportError as error:
    sys.exit(f"no PyTorch: {error}")

if not torch.cuda.is_available():
    sys.exit("PyTorch has no CUDA here")
if sys.argv[1] == "check":
    sys.exit(0)


def step(layer, data):
    layer.zero_grad(set_to_none=True)
    layer(data).relu().sum().backward()
    torch.cuda.synchronize()


layer = torch.nn.Linear(64, 32, device="cuda")
data = torch.ones(16, 64, device="cuda")
step(layer, data)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
    step(layer, data)
counts = {}
for event in profile.profiler.kineto_results.events():  # events() leaves out operators in one of the same name
    if event.name().startswith(("aten::", "autograd::")):
        counts[event.name()] = counts.get(event.name(), 0) + 1
with torch.autograd.profiler.emit_nvtx():
    step(layer, data)
for name, count in sorted(counts.items()):
    print(f"{name} {count}")
