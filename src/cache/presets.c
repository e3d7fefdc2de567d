// SPDX-License-Identifier: Apache-2.0
// The caches of GPUs. Sizes are the vendor's (NVIDIA's architecture white papers and programming
// guide); ways and policy of L1, and how stores, atomic operations and fills behave, were measured
// on an H200 (bench/results/caches-2026-11-18.md), and are assumed for the others. Ways of L2 are
// assumed for all.
#include <string.h>

#include "cache.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)

#define PRESET(gpu, processors, l1_bytes, l2_bytes, l2_partitions, ...)                      \
    {                                                                                        \
        .name = #gpu, .multiprocessors = (processors), .l1 = {(l1_bytes), 4, CACHE_LRU},     \
        .l2 = {(l2_bytes), 16, CACHE_LRU}, .partitions = (l2_partitions), .fill_sectors = 2, \
        .part_stores_hit = 92, .atomics_hit = 54, .stores_allocate = true, .most_dirty = 43, \
        .shared_kib = {__VA_ARGS__},                                                         \
    }

const struct cache_preset cache_presets[] = {
    PRESET(h200, 132, KIB(256), MIB(30), 2, 8, 16, 32, 64, 100, 132, 164, 196, 228),
    PRESET(a100, 108, KIB(192), MIB(20), 2, 8, 16, 32, 64, 100, 132, 164),
    PRESET(rtx3090, 82, KIB(128), MIB(6), 1, 8, 16, 32, 64, 100),
    PRESET(rtx2080ti, 68, KIB(96), KIB(5632), 1, 32, 64),
    {.name = NULL},
};

const struct cache_preset *cache_preset_find(const char *name)
{
    for (const struct cache_preset *preset = cache_presets; preset->name; preset++) {
        if (strcmp(preset->name, name) == 0)
            return preset;
    }
    return NULL;
}
