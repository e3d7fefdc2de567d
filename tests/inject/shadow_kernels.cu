// SPDX-License-Identifier: Apache-2.0
// A kernel that uses a launch context as probes do, for a given list of accesses, one thread per
// access. The source of shadow_kernels.ptx (src/device/regenerate).

typedef unsigned long long u64;

struct slot {
    u64 base, bytes, bits, counts;
    unsigned shift, lead, looks, reserved;
};

struct view {
    struct slot slot;
    u64 first, spans[3];
    unsigned ahead, reserved;
};

struct table {
    u64 count, entries, touched, moved, strayed, strays;
};

struct context {
    u64 flags, tallies, table;
    unsigned options, whole[2], dense;
    u64 accessed, words, dynamic_bytes, spare, spare_word, spare_units, ranges, traced, reuse, masks, threads, trace,
        trace_records, trace_blocks, trace_limit, trace_last_shelf;
};

enum { SLOTS = 4, STRAYS = 29 };
struct context_with_views {
    struct context context;
    struct view views[SLOTS];
};

struct shape { // of the simulated kernel
    unsigned flag_rows, flag_row_bytes, tally_rows, tally_row_bytes;
};

struct access {
    u64 address;
    int root; // negative: looked up by address
    unsigned bytes;
    unsigned reads, writes;
    int tally, flag; // negative: none
};

__device__ static void mark(const struct slot *slot, u64 address, unsigned bytes)
{
    const u64 first = (address - slot->base) >> slot->shift;
    const u64 last = (address + bytes - 1 - slot->base) >> slot->shift;
    unsigned *words = (unsigned *)slot->bits;
    if (slot->counts && first % 32 == 0 && last == first + 31) {
        atomicAdd(&words[first / 32], 1u); // all touched together
        return;
    }
    for (u64 element = first; element <= last; element++) {
        if (slot->counts)
            atomicAdd((unsigned *)slot->counts + element, 1u);
        atomicOr(&words[element / 32], slot->counts ? 0x80000000u : 1u << element % 32);
    }
}

__device__ static bool holds(const struct slot *slot, u64 address)
{
    return slot->bytes && address >= slot->base + slot->lead && address < slot->base + slot->bytes;
}

__device__ static void look_up(const struct table *table, const struct access *access)
{
    u64 low = 0, high = table->count;
    const struct slot *entries = (const struct slot *)table->entries;
    while (low < high) {
        const u64 middle = (low + high) / 2;
        if (entries[middle].base + entries[middle].lead <= access->address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !holds(&entries[low - 1], access->address)) {
        u64 *strays = (u64 *)table->strays;
        atomicAdd(&strays[0], 1ull);
        const u64 place = atomicAdd(&strays[1], 1ull);
        if (place < STRAYS)
            strays[3 + place] = access->address;
        return;
    }
    const u64 entry = low - 1;
    unsigned char *touched = (unsigned char *)table->touched + 2 * entry;
    if (access->reads)
        touched[0] = 1;
    if (access->writes)
        touched[1] = 1;
    if (!table->moved)
        return;
    ((u64 *)table->strays)[2] = 1; // an entry was touched
    u64 *moved = (u64 *)table->moved + 2 * entry;
    if (access->reads)
        atomicAdd(&moved[0], (u64)access->bytes);
    if (access->writes)
        atomicAdd(&moved[1], (u64)access->bytes);
    mark(&entries[entry], access->address, access->bytes);
}

__device__ static void probe(const struct access *access, const struct shape *shape,
                             const struct context *context, const struct view *views, unsigned row)
{
    if (access->flag >= 0)
        ((unsigned char *)
             context->flags)[row % shape->flag_rows * shape->flag_row_bytes + access->flag] = 1;
    if (access->tally >= 0)
        atomicAdd(
            (u64 *)(context->tallies + (u64)(row % shape->tally_rows) * shape->tally_row_bytes) +
                access->tally,
            1ull);
    const struct table *table = (const struct table *)context->table;
    if (access->root < 0) {
        look_up(table, access);
        return;
    }
    if (!views)
        return;
    const struct slot *slot = &views[access->root].slot;
    if (holds(slot, access->address)) {
        mark(slot, access->address, access->bytes);
        return;
    }
    u64 *strayed = (u64 *)table->strayed + 2 * access->root;
    if (access->reads)
        atomicAdd(&strayed[0], (u64)access->bytes);
    if (access->writes)
        atomicAdd(&strayed[1], (u64)access->bytes);
    look_up(table, access);
}

extern "C" __global__ void objects_glint(const struct access *list, unsigned count,
                                         struct shape shape, struct context context)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        probe(&list[i], &shape, &context, 0, i);
}

extern "C" __global__ void elements_glint(const struct access *list, unsigned count,
                                          struct shape shape, struct context_with_views context)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        probe(&list[i], &shape, &context.context, context.views, i);
}
