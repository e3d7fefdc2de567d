// SPDX-License-Identifier: Apache-2.0
// A copy or set names the object in which it begins. Programs that map memory piece by piece, as
// allocators do that grow their memory in place, copy and set ranges of several pieces. Objects
// that exist at the same time do not overlap, so the others begin in the range. Parts of pools are
// not looked for: their pool says that it is unknown which of them are touched.
#include "beyond.h"

#include <stdlib.h>

#include "model.h"

struct analyze_placed {
    uint64_t address, bytes;
    uint64_t from, to; // numbers of the calls in which it begins and ends
    uint32_t index;
};

bool analyze_beyond_add(struct analyze_beyond *beyond, const struct profile_object *object,
                        uint32_t index)
{
    if (object->parent || !object->bytes || object->kind == PROFILE_OBJECT_ARRAY ||
        object->address + object->bytes < object->address)
        return true;
    struct analyze_placed *placed = base_array_push(&beyond->objects);
    if (placed)
        *placed = (struct analyze_placed){
            .address = object->address,
            .bytes = object->bytes,
            .from = object->call,
            .to = object->has_end && object->end_call ? object->end_call : UINT64_MAX,
            .index = index,
        };
    beyond->sorted = false;
    return placed != NULL;
}

static int by_address(const void *a, const void *b)
{
    const struct analyze_placed *one = a, *other = b;
    return (one->address > other->address) - (one->address < other->address);
}

// Returns the first object that begins at or after the address.
static size_t first_from(const struct analyze_beyond *beyond, uint64_t address)
{
    size_t low = 0, high = beyond->objects.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (beyond->objects.items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t analyze_beyond_next(struct analyze_beyond *beyond, uint64_t call, uint64_t *first,
                             uint64_t end)
{
    if (!beyond->sorted && beyond->objects.count)
        qsort(beyond->objects.items, beyond->objects.count, sizeof(*beyond->objects.items),
              by_address);
    beyond->sorted = true;
    for (size_t i = first_from(beyond, *first); i < beyond->objects.count; i++) {
        const struct analyze_placed *placed = &beyond->objects.items[i];
        if (placed->address >= end)
            break;
        if (call < placed->from || call > placed->to)
            continue;
        *first = placed->address + placed->bytes;
        return placed->index;
    }
    return ANALYZE_NONE;
}

void analyze_beyond_fini(struct analyze_beyond *beyond)
{
    base_array_fini(&beyond->objects);
}
