// SPDX-License-Identifier: Apache-2.0
// The patch that the Sanitizer API inserts before instructions of a sampled launch. nvcc compiles it
// with --compile-as-tools-patch. A patch is given what the instruction is about to do, after its user
// data: the table of objects of the launch, or NULL in a launch that is not sampled. It returns 0, so
// that the program goes on.
#include "mark.h"

#define PATCH extern "C" __device__ __noinline__ int

enum { FLAG_READ = 1, FLAG_WRITE = 2, FLAG_PREFETCH = 8 };
enum { BLOCK_BYTES = 16 }; // of bulk copies

// A load, store or atomic operation.
PATCH glint_sampled_access(void *table, uint64_t pc, void *address, uint32_t bytes, uint32_t flags,
                           const void *value)
{
    if (!(flags & FLAG_PREFETCH))
        sampled_mark((const struct sampled_table *)table, (uint64_t)address, bytes,
                     flags & FLAG_READ, flags & FLAG_WRITE);
    return 0;
}

// cp.async, from global to shared memory. Without bytes to read, `from` is NULL.
PATCH glint_sampled_copy(void *table, uint64_t pc, void *from, uint32_t to, uint32_t bytes)
{
    if (from)
        sampled_mark((const struct sampled_table *)table, (uint64_t)from, bytes, true, false);
    return 0;
}

// cp.async.bulk, from global to shared memory. The low half of `data` is the number of blocks.
PATCH glint_sampled_fetch(void *table, uint64_t pc, uint64_t from, uint32_t to, uint32_t barrier,
                          uint32_t data, uint32_t multicast)
{
    sampled_mark((const struct sampled_table *)table, from, (data & 0xffff) * BLOCK_BYTES, true,
                 false);
    return 0;
}

// cp.async.bulk and cp.reduce.async.bulk, from shared to global memory.
PATCH glint_sampled_store(void *table, uint64_t pc, uint64_t to, uint32_t from, uint32_t blocks)
{
    sampled_mark((const struct sampled_table *)table, to, (uint64_t)blocks * BLOCK_BYTES, false,
                 true);
    return 0;
}

PATCH glint_sampled_reduce(void *table, uint64_t pc, uint64_t to, uint32_t from, uint32_t blocks)
{
    sampled_mark((const struct sampled_table *)table, to, (uint64_t)blocks * BLOCK_BYTES, true,
                 true);
    return 0;
}
