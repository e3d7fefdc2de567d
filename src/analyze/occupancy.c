// SPDX-License-Identifier: Apache-2.0
// Computes how many blocks a multiprocessor holds, from the limits of its compute capability. Those
// of the driver are not recorded.
#include "occupancy.h"

enum {
    WARP = 32,
    REGISTERS = 65536,   // of a multiprocessor
    REGISTER_UNIT = 256, // in which a warp gets them
    PARTS = 4,           // of a multiprocessor, each with a quarter of its registers
    SHARED_UNIT = 128,   // in which a block gets shared memory, from 8.0 on
    OLD_SHARED_UNIT = 256,
    SYSTEM_SHARED_BYTES = 1024, // that each block takes in addition, from 8.0 on
};

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
static const struct {
    uint32_t major, minor, blocks, warps, shared_kib;
} limits[] = {
    {7, 0, 32, 64, 96},   {7, 2, 32, 64, 96},   {7, 5, 16, 32, 64},   {8, 0, 32, 64, 164},
    {8, 6, 16, 48, 100},  {8, 7, 16, 48, 164},  {8, 9, 24, 48, 100},  {9, 0, 32, 64, 228},
    {10, 0, 32, 64, 228}, {10, 3, 32, 64, 228}, {12, 0, 24, 48, 100},
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Returns how many blocks have registers. Those of a single block are divided evenly among the
// parts.
static uint64_t by_registers(const struct analyze_shape *shape, uint64_t warps)
{
    const uint64_t each = round_up((uint64_t)shape->registers * WARP, REGISTER_UNIT);
    return each * round_up(warps, PARTS) > REGISTERS ? 0 : REGISTERS / PARTS / each * PARTS / warps;
}

static uint64_t by_shared(const struct analyze_shape *shape, uint64_t most, uint64_t bytes)
{
    const bool old = shape->major < 8;
    const uint64_t each =
        round_up(bytes + (old ? 0 : SYSTEM_SHARED_BYTES), old ? OLD_SHARED_UNIT : SHARED_UNIT);
    return each ? most / each : UINT64_MAX;
}

uint32_t analyze_resident_blocks(const struct analyze_shape *shape, uint64_t shared_bytes)
{
    if (!shape->threads || !shape->registers)
        return 0;
    const uint64_t warps = (shape->threads + WARP - 1) / WARP;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].major != shape->major || limits[i].minor != shape->minor)
            continue;
        const uint64_t shared =
            by_shared(shape, (uint64_t)limits[i].shared_kib << 10, shared_bytes);
        return (uint32_t)least(least(limits[i].blocks, limits[i].warps / warps),
                               least(by_registers(shape, warps), shared));
    }
    return 0;
}

uint32_t analyze_more_blocks(const struct analyze_shape *shape, uint64_t less_bytes, bool *known)
{
    const uint32_t now = analyze_resident_blocks(shape, shape->shared_bytes);
    *known = now && less_bytes <= shape->shared_bytes && shape->multiprocessors;
    if (!*known)
        return 0;
    const uint32_t then = analyze_resident_blocks(shape, shape->shared_bytes - less_bytes);
    const uint64_t wanted = (shape->blocks + shape->multiprocessors - 1) / shape->multiprocessors;
    const uint64_t usable = least(then, wanted);
    return usable > now ? (uint32_t)usable - now : 0;
}
