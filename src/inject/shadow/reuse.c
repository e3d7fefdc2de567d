// SPDX-License-Identifier: Apache-2.0
// What blocks load of objects in global memory: see reuse.h.
//
// A pad's memory holds a struct instrument_reuse, then the sums of sites, the counters of blocks
// and their tables. All but the first are zero between launches.
#include "reuse.h"

#include <stdlib.h>
#include <string.h>

#include "inject/core/tail.h"
#include "memory.h"

enum {
    MOST_SETS = 30, // objects of a launch; the others are not counted
    HEAD_BYTES = 1024,
    MOST_BITS = 15, // log2 of a table's entries: a block may load 96 KiB of an object
    LEAST_BITS = 13,
    TABLE_BYTES = 64 << 20, // tables of a launch together
};
_Static_assert(sizeof(struct instrument_reuse) + MOST_SETS * sizeof(struct instrument_reuse_set) <=
                   HEAD_BYTES,
               "the head has room for all sets");

struct shadow_looked {     // of one launch
    uint32_t resident;     // blocks of a multiprocessor; 0: unknown
    uint64_t free_bytes;   // of shared memory that a block may take more; EVENT_UNKNOWN
    uint64_t zeroed_bytes; // behind the head
    uint64_t objects[MOST_SETS];
    union {
        struct instrument_reuse head;
        unsigned char bytes[HEAD_BYTES];
    };
};

// --- Before the launch ---------------------------------------------------------------------------

// Finds how much shared memory a block may take without fewer blocks being resident. No more are
// than there are blocks for each multiprocessor.
static void find_room(const struct shadow *shadow, const struct shadow_launch *launch,
                      struct shadow_looked *looked)
{
    const CUdevice device = (CUdevice)launch->stream->context->device - 1;
    const uint64_t share = (looked->head.blocks + shadow->processors - 1) / shadow->processors;
    const int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    enum { UNIT = 128 }; // in which shared memory is allocated, in bytes
    int blocks = 0, all = 0, reserved = 0, most = 0, fixed = 0;
    looked->free_bytes = EVENT_UNKNOWN;
    if (!launch->original ||
        REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, launch->original, threads,
                                                          launch->dynamic_bytes) != CUDA_SUCCESS ||
        blocks <= 0 ||
        REAL(cuDeviceGetAttribute)(&all, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
                                   device) != CUDA_SUCCESS ||
        REAL(cuDeviceGetAttribute)(&reserved, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
                                   device) != CUDA_SUCCESS ||
        REAL(cuDeviceGetAttribute)(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                   device) != CUDA_SUCCESS ||
        REAL(cuFuncGetAttribute)(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, launch->original) !=
            CUDA_SUCCESS)
        return;
    if (share < (uint64_t)blocks)
        blocks = (int)share;
    const int64_t each = all / blocks / UNIT * UNIT - reserved;
    const int64_t left = (each < most ? each : most) - fixed - (int64_t)launch->dynamic_bytes;
    looked->resident = (uint32_t)blocks;
    looked->free_bytes = left > 0 ? (uint64_t)left : 0;
}

// Adds a set for the object that holds the address, unless it has one. Returns false if the object
// is in several pieces.
static bool add_set(struct shadow_looked *looked, uint64_t address, uint32_t most_bits)
{
    struct instrument_reuse *head = &looked->head;
    struct core_objects_piece piece;
    uint32_t i = 0;
    if (!address || !core_objects_find_piece(&core_state.objects, address, &piece))
        return true;
    while (i < head->set_count && looked->objects[i] != piece.object.number)
        i++;
    if (i < head->set_count)
        return head->sets[i].first == piece.start;
    if (i < MOST_SETS && instrument_reuse_set(piece.start, piece.bytes, most_bits, &head->sets[i]))
        looked->objects[head->set_count++] = piece.object.number;
    return true;
}

// Adds sets for the objects that roots and parameters point into. Those that a kernel only reaches
// through memory are not counted. A number that looks like an address costs memory, but does no
// harm.
static bool add_sets(const struct shadow_launch *launch, struct shadow_looked *looked,
                     uint32_t most_bits)
{
    bool good = true;
    looked->head.set_count = 0;
    for (uint32_t i = 0; i < launch->kernel->root_count; i++)
        good &= add_set(looked, launch->roots[i], most_bits);
    for (uint32_t at = 0; at + sizeof(uint64_t) <= launch->kernel->context_offset;
         at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, launch->params + at, sizeof(word));
        good &= add_set(looked, word, most_bits);
    }
    return good && looked->head.set_count > 0;
}

static uint64_t table_bytes(const struct instrument_reuse *head, uint32_t set)
{
    return head->looked * (sizeof(uint32_t) << (32 - head->sets[set].shift));
}

static uint64_t site_bytes(const struct shadow_ticket *ticket, const struct instrument_reuse *head)
{
    return (uint64_t)ticket->kernel->site_count * head->set_count * sizeof(uint64_t);
}

// Lays out the memory of a launch. Addresses are offsets from its start yet. Returns how many bytes
// it takes; 0: there is nothing to look at.
static uint64_t lay_out(const struct shadow_ticket *ticket, const struct shadow_launch *launch,
                        struct shadow_looked *looked)
{
    struct instrument_reuse *head = &looked->head;
    uint64_t tables;
    uint32_t bits = MOST_BITS + 1;
    head->blocks = ticket->blocks;
    head->looked = instrument_looked(ticket->blocks);
    do {
        if (!add_sets(launch, looked, --bits))
            return 0;
        tables = 0;
        for (uint32_t i = 0; i < head->set_count; i++)
            tables += table_bytes(head, i);
    } while (tables > TABLE_BYTES && bits > LEAST_BITS);
    head->counts = HEAD_BYTES;
    head->sites =
        head->counts + (uint64_t)head->looked * head->set_count * sizeof(struct instrument_reused);
    uint64_t at = head->sites + site_bytes(ticket, head);
    for (uint32_t i = 0; i < head->set_count; i++) {
        head->sets[i].words = at;
        at += table_bytes(head, i);
    }
    return at;
}

static void move(struct instrument_reuse *head, uint64_t address)
{
    head->counts += address;
    head->sites += address;
    for (uint32_t i = 0; i < head->set_count; i++)
        head->sets[i].words += address;
}

// Clears all but the head, which the launch's stream writes, maybe before glint's stream clears.
static bool take_cleared(struct shadow *shadow, uint64_t bytes, struct shadow_block *block)
{
    if (!shadow_take(shadow, &shadow->device, bytes, block))
        return false;
    const struct shadow_block zeroed = {block->address + HEAD_BYTES, block->bytes - HEAD_BYTES};
    return shadow_own_clear(shadow, zeroed);
}

void shadow_reuse_enter(struct shadow *shadow, struct shadow_pad *pad, struct shadow_ticket *ticket,
                        const struct shadow_launch *launch, struct shadow_block *old)
{
    // Numbers of blocks are multiplied by those that are looked at.
    if (!ticket->turn || !ticket->kernel->looks || ticket->blocks >> 56)
        return;
    struct shadow_looked *looked = calloc(1, sizeof(*looked));
    const uint64_t needed = looked ? lay_out(ticket, launch, looked) : 0;
    bool good = needed > 0;
    if (good && pad->reuse.bytes < needed) {
        *old = pad->reuse;
        pad->reuse = (struct shadow_block){0};
        good = take_cleared(shadow, needed, &pad->reuse);
        if (!good)
            shadow_give(&shadow->device, &pad->reuse);
    }
    if (!good) {
        free(looked);
        return;
    }
    move(&looked->head, pad->reuse.address);
    find_room(shadow, launch, looked);
    looked->zeroed_bytes = needed - HEAD_BYTES;
    ticket->looked = looked;
    ticket->reuse_bytes =
        looked->head.sites - looked->head.counts + site_bytes(ticket, &looked->head);
}

void shadow_reuse_point(struct shadow *shadow, const struct shadow_pad *pad,
                        struct shadow_ticket *ticket, struct shadow_batch *batch,
                        struct instrument_context *context)
{
    struct shadow_block staging = {0};
    if (!ticket->looked || !shadow_take(shadow, &shadow->pinned, HEAD_BYTES, &staging))
        return;
    struct shadow_block *place = base_array_push(&batch->staging);
    if (!place) {
        shadow_give(&shadow->pinned, &staging);
        return;
    }
    *place = staging;
    memcpy(shadow_host(staging), ticket->looked->bytes, HEAD_BYTES);
    core_tail_begin(ticket->stream);
    const CUstreamCaptureMode mode = shadow_relax();
    const CUresult result = REAL(cuMemcpyHtoDAsync_v2)(pad->reuse.address, shadow_host(staging),
                                                       HEAD_BYTES, ticket->stream->handle);
    shadow_restore(mode);
    if (result == CUDA_SUCCESS)
        context->reuse = pad->reuse.address;
    else
        shadow_fail(shadow, "to set memory", result);
}

CUresult shadow_reuse_fetch(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                            CUstream stream)
{
    const uint64_t from = pad->reuse.address + HEAD_BYTES;
    if (!ticket->looked)
        return CUDA_SUCCESS;
    const CUresult result = REAL(cuMemcpyDtoHAsync_v2)((char *)ticket->result + ticket->reuse_at,
                                                       from, ticket->reuse_bytes, stream);
    return result == CUDA_SUCCESS
               ? REAL(cuMemsetD8Async)(from, 0, ticket->looked->zeroed_bytes, stream)
               : result;
}

// --- Records -------------------------------------------------------------------------------------

// Returns the site that loaded most of the object, counted from 1.
static uint32_t hottest(const struct shadow_ticket *ticket, uint32_t set, const uint64_t *loads)
{
    const size_t sets = ticket->looked->head.set_count;
    uint32_t found = 0;
    for (uint32_t i = 1; i < ticket->kernel->site_count; i++) {
        if (loads[i * sets + set] > loads[found * sets + set])
            found = i;
    }
    return found + 1;
}

static uint64_t first_of(const struct instrument_reused *block)
{
    return UINT32_MAX - block->before;
}

// Returns whether each block accesses words of its own: those of the blocks that were looked at
// follow one another at one distance for each block, which is at least as long as the longest part.
static bool are_apart(const struct instrument_reuse *head, const struct instrument_reused *counts,
                      uint64_t extent)
{
    const struct instrument_reused *last = counts + (size_t)(head->looked - 1) * head->set_count;
    const uint64_t far = instrument_looked_block(head->blocks, head->looked - 1);
    const uint64_t distance = far ? (first_of(last) - first_of(counts)) / far : extent;
    if (first_of(last) < first_of(counts) || distance < extent)
        return false;
    for (uint32_t i = 0; i < head->looked; i++) {
        const struct instrument_reused *block = counts + (size_t)i * head->set_count;
        const uint64_t blocks = instrument_looked_block(head->blocks, i);
        if (!block->end || first_of(block) != first_of(counts) + distance * blocks)
            return false;
    }
    return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void put_set(const struct shadow_ticket *ticket, uint32_t set,
                    const struct instrument_reused *counts, const uint64_t *sites)
{
    const struct shadow_looked *looked = ticket->looked;
    const struct instrument_reuse *head = &looked->head;
    struct event_block_reuse record = {
        .call = ticket->call,
        .object = looked->objects[set],
        .blocks = head->blocks,
        .free_bytes = looked->free_bytes,
        .node = ticket->node,
        .kernel = ticket->kernel_number,
        .looked = head->looked,
        .resident = looked->resident,
        .site = hottest(ticket, set, sites),
        .flags =
            ticket->kernel->unlooked || ticket->kernel->loads_ordered ? EVENT_REUSE_INCOMPLETE : 0,
    };
    for (uint32_t i = 0; i < head->looked; i++) {
        const struct instrument_reused *block = &counts[i * head->set_count + set];
        record.loads += block->loads;
        record.moved += block->moved;
        record.stores += block->stores;
        record.words += block->words;
        record.most_words = larger(record.most_words, block->words);
        if (block->end)
            record.extent = larger(record.extent, block->end - first_of(block));
        if (block->words > head->sets[set].most)
            record.flags |= EVENT_REUSE_LARGE;
    }
    if (are_apart(head, counts + set, record.extent))
        record.flags |= EVENT_REUSE_APART;
    if (record.loads)
        core_put(EVENT_BLOCK_REUSE, &record, sizeof(record), NULL, 0);
}

void shadow_tell_reuse(const struct shadow_ticket *ticket)
{
    if (!ticket->looked)
        return;
    const struct instrument_reuse *head = &ticket->looked->head;
    const struct instrument_reused *counts =
        (const void *)((const char *)ticket->result + ticket->reuse_at);
    const uint64_t *sites = (const void *)((const char *)counts + (head->sites - head->counts));
    for (uint32_t i = 0; i < head->set_count; i++)
        put_set(ticket, i, counts, sites);
}
