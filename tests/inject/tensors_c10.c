// SPDX-License-Identifier: Apache-2.0
// Stands in for libc10.so: exports the function to which PyTorch's allocator reports blocks, in the
// three forms that it has had, and sums up what it is told, as PyTorch's profiler would.
#include <stdint.h>
#include <stdlib.h>

#include "tensors.h"

static struct tensors_sums sums;

void tensors_sizes(void *block, int64_t bytes, size_t allocated, size_t reserved,
                   struct tensors_device device)
{
    sums.calls++;
    sums.bytes[0] += bytes;
    if (!block || reserved != allocated + 7 || device.type > 1 || device.index != 1)
        abort();
}

void tensors_signed(void *block, int64_t bytes, int64_t allocated, int64_t reserved,
                    struct tensors_wide_index device)
{
    sums.calls++;
    sums.bytes[1] += bytes;
    if (!block || allocated != -3 || reserved != INT64_MIN || device.type > 1 ||
        device.index != 300)
        abort();
}

void tensors_short(void *block, int64_t bytes, struct tensors_wide_device device)
{
    sums.calls++;
    sums.bytes[2] += bytes;
    if (!block || device.type > 1 || device.index != -1)
        abort();
}

struct tensors_sums tensors_take_sums(void)
{
    return sums;
}

void *tensors_real(void)
{
    return (void *)tensors_sizes;
}
