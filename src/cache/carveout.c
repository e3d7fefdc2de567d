// SPDX-License-Identifier: Apache-2.0
// How much of L1 a launch uses as shared memory. The driver decides that, and does not say it. On
// an H200 it takes the smallest size that holds all resident blocks, each with 4 KiB more than it
// asks for: 32 KiB for 8 blocks without shared memory, 8 KiB for 2, 100 KiB for 8 blocks with 4224
// bytes.
#include "cache.h"

enum { BLOCK_MORE = 4096 };

uint64_t cache_shared_bytes(const struct cache_preset *preset, uint32_t resident,
                            uint64_t block_bytes, int percent)
{
    uint64_t most = 0, needed = (resident ? resident : 1) * (block_bytes + BLOCK_MORE);
    for (int i = 0; i < CACHE_CARVE_OUTS && preset->shared_kib[i]; i++)
        most = (uint64_t)preset->shared_kib[i] << 10;
    if (percent >= 0 && percent <= 100)
        needed = most * (unsigned)percent / 100;
    for (int i = 0; i < CACHE_CARVE_OUTS && preset->shared_kib[i]; i++) {
        const uint64_t bytes = (uint64_t)preset->shared_kib[i] << 10;
        if (bytes >= needed && bytes >= block_bytes)
            return bytes;
    }
    return most;
}
