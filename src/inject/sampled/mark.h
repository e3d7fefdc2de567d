// SPDX-License-Identifier: Apache-2.0
// What the patch does at an access: it looks the address up in the table of objects that shadow
// memory has prepared for the launch, and marks the objects as read or written. Compiled for the
// GPU (patch.cu), and for the processor by the tests' stand-in for the Sanitizer API.
//
// All that it writes was made large enough before the launch: two bytes for each object, and one
// counter of accesses to other memory, which stops before it could overflow.
#ifndef GLINT_INJECT_SAMPLED_MARK_H
#define GLINT_INJECT_SAMPLED_MARK_H

#include <stdbool.h>
#include <stdint.h>

// What it needs of struct instrument_table and struct instrument_slot, whose header nvcc cannot
// compile. launch.c checks that they are laid out alike.
struct sampled_table {
    uint64_t count, entries, touched, moved, strayed, strays;
};
struct sampled_slot {
    uint64_t base, bytes, bits, counts;
    uint32_t shift, lead, looks, reserved;
};

#ifdef __CUDACC__
#define SAMPLED_CODE      static __device__ __forceinline__
#define SAMPLED_LOAD(at)  (*(volatile const uint8_t *)(at))
#define SAMPLED_SET(at)   (*(volatile uint8_t *)(at) = 1)
#define SAMPLED_COUNT(at) atomicAdd((unsigned long long *)(at), 1ULL)
#define SAMPLED_READ(at)  (*(volatile const uint64_t *)(at))
#else
#define SAMPLED_CODE      static inline
#define SAMPLED_LOAD(at)  __atomic_load_n((at), __ATOMIC_RELAXED)
#define SAMPLED_SET(at)   __atomic_store_n((at), 1, __ATOMIC_RELAXED)
#define SAMPLED_COUNT(at) __atomic_fetch_add((at), 1, __ATOMIC_RELAXED)
#define SAMPLED_READ(at)  __atomic_load_n((at), __ATOMIC_RELAXED)
#endif

// What the names of the patch's functions are.
#define SAMPLED_PATCH_ACCESS "glint_sampled_access"
#define SAMPLED_PATCH_COPY   "glint_sampled_copy"
#define SAMPLED_PATCH_FETCH  "glint_sampled_fetch"
#define SAMPLED_PATCH_STORE  "glint_sampled_store"
#define SAMPLED_PATCH_REDUCE "glint_sampled_reduce"

enum { SAMPLED_STRAYS_MOST = 1 << 30 }; // counted; far below INSTRUMENT_WRAPPED

SAMPLED_CODE void sampled_mark(const struct sampled_table *table, uint64_t address, uint64_t bytes,
                               bool reads, bool writes)
{
    if (!table || !bytes)
        return;
    const struct sampled_slot *entries = (const struct sampled_slot *)(uintptr_t)table->entries;
    uint8_t *touched = (uint8_t *)(uintptr_t)table->touched;
    const uint64_t count = table->count;
    uint64_t low = 0,
             high = count; // the first entry that ends behind the address is in [low, high]
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (entries[middle].base + entries[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = false;
    for (; low < count && entries[low].base + entries[low].lead < address + bytes; low++) {
        uint8_t *marks = &touched[2 * low];
        if (reads && !SAMPLED_LOAD(&marks[0]))
            SAMPLED_SET(&marks[0]);
        if (writes && !SAMPLED_LOAD(&marks[1]))
            SAMPLED_SET(&marks[1]);
        found = true;
    }
    uint64_t *strays = (uint64_t *)(uintptr_t)table->strays;
    if (!found && SAMPLED_READ(strays) < SAMPLED_STRAYS_MOST)
        SAMPLED_COUNT(strays);
}

#endif
