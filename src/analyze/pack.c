// SPDX-License-Identifier: Apache-2.0
// Finds a layout for blocks of memory that are each needed for some time. Three orders of placing
// blocks are tried, each block going to the lowest place that is free for its whole time, and the
// best result is used. An optimal layout is hard to find. The largest sum of bytes needed at one
// moment is a lower bound.
#include <stdlib.h>
#include <string.h>

#include "analyses.h"

enum {
    ALIGNMENT_BYTES = 512, // of the driver's allocations
    MOST_SORTED = 4096,    // most blocks for which quadratic-time orders are tried
    MOST_GAPS = 4096,      // most gaps that are kept; beyond that, the highest is dropped
};

struct placed {
    uint64_t offset, end;
    uint32_t from, to;
};

static uint64_t aligned(uint64_t bytes)
{
    return bytes > UINT64_MAX - ALIGNMENT_BYTES
               ? bytes
               : (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
}

static int by_from(const void *one, const void *other)
{
    const struct analyze_block *a = one, *b = other;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static int by_bytes(const void *one, const void *other)
{
    const struct analyze_block *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

static int by_length(const void *one, const void *other)
{
    const struct analyze_block *a = one, *b = other;
    uint32_t length = a->to - a->from, other_length = b->to - b->from;
    if (length != other_length)
        return length > other_length ? -1 : 1;
    return by_bytes(one, other);
}

static int by_device(const void *one, const void *other)
{
    uint32_t a = ((const struct analyze_block *)one)->device;
    uint32_t b = ((const struct analyze_block *)other)->device;
    return a < b ? -1 : a > b;
}

static int by_to(const void *one, const void *other)
{
    const struct placed *a = one, *b = other;
    return a->to < b->to ? -1 : a->to > b->to;
}

// --- The lower bound -----------------------------------------------------------------------------

struct pack_moment {
    uint32_t call;
    uint64_t bytes;
};

static int by_call(const void *one, const void *other)
{
    uint32_t a = ((const struct pack_moment *)one)->call,
             b = ((const struct pack_moment *)other)->call;
    return a < b ? -1 : a > b;
}

// Finds the largest sum of bytes that are needed at one moment, aligned or not.
static bool find_least(const struct analyze_block *blocks, size_t count, bool align,
                       uint64_t *least)
{
    struct pack_moment *starts = calloc(count + 1, sizeof(*starts));
    struct pack_moment *ends = calloc(count + 1, sizeof(*ends));
    bool good = starts && ends;
    *least = 0;
    for (size_t i = 0; good && i < count; i++) {
        const uint64_t bytes = align ? aligned(blocks[i].bytes) : blocks[i].bytes;
        starts[i] = (struct pack_moment){blocks[i].from, bytes};
        ends[i] = (struct pack_moment){blocks[i].to, bytes};
    }
    if (good) {
        qsort(starts, count, sizeof(*starts), by_call);
        qsort(ends, count, sizeof(*ends), by_call);
        uint64_t sum = 0;
        for (size_t s = 0, e = 0; s < count; s++) {
            while (e < count && ends[e].call <= starts[s].call)
                sum -= ends[e++].bytes;
            sum += starts[s].bytes;
            *least = sum > *least ? sum : *least;
        }
    }
    free(starts);
    free(ends);
    return good;
}

// --- Placing blocks in a given order -------------------------------------------------------------

// Places blocks in the given order. `placed` is kept sorted by offset.
static uint64_t place_in_order(const struct analyze_block *blocks, size_t count,
                               struct placed *placed)
{
    uint64_t height = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = aligned(blocks[i].bytes), offset = 0;
        for (size_t k = 0; k < i; k++) {
            if (placed[k].from >= blocks[i].to || placed[k].to <= blocks[i].from)
                continue;
            if (placed[k].offset >= offset && placed[k].offset - offset >= bytes)
                break;
            if (placed[k].end > offset)
                offset = placed[k].end;
        }
        struct placed made = {offset, offset + bytes, blocks[i].from, blocks[i].to};
        size_t at = i;
        for (; at > 0 && placed[at - 1].offset > offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = made;
        height = made.end > height ? made.end : height;
    }
    return height;
}

// --- Placing blocks by time ----------------------------------------------------------------------

struct gaps {
    struct {
        uint64_t offset, end;
    } items[MOST_GAPS + 1];
    size_t count;
    uint64_t top; // everything above is free
};

static uint64_t take_gap(struct gaps *gaps, uint64_t bytes)
{
    for (size_t i = 0; i < gaps->count; i++) {
        uint64_t offset = gaps->items[i].offset;
        if (gaps->items[i].end - offset < bytes)
            continue;
        gaps->items[i].offset += bytes;
        if (gaps->items[i].offset == gaps->items[i].end)
            memmove(&gaps->items[i], &gaps->items[i + 1],
                    (--gaps->count - i) * sizeof(gaps->items[0]));
        return offset;
    }
    uint64_t offset = gaps->top;
    gaps->top += bytes;
    return offset;
}

static void give_gap(struct gaps *gaps, uint64_t offset, uint64_t end)
{
    size_t at = 0;
    while (at < gaps->count && gaps->items[at].end < offset)
        at++;
    size_t joined = at; // one past the gaps that it touches
    while (joined < gaps->count && gaps->items[joined].offset <= end) {
        offset = gaps->items[joined].offset < offset ? gaps->items[joined].offset : offset;
        end = gaps->items[joined].end > end ? gaps->items[joined].end : end;
        joined++;
    }
    memmove(&gaps->items[at + 1], &gaps->items[joined],
            (gaps->count - joined) * sizeof(gaps->items[0]));
    gaps->count = gaps->count - (joined - at) + 1;
    gaps->items[at].offset = offset;
    gaps->items[at].end = end;
    if (end == gaps->top) {
        gaps->top = offset;
        gaps->count--;
    } else if (gaps->count > MOST_GAPS) {
        gaps->count--; // the highest gap is lost
    }
}

// A heap of the blocks that are placed, ordered by end, the earliest on top.
static void heap_push(struct placed *heap, size_t count, struct placed item)
{
    size_t at = count;
    for (; at > 0 && by_to(&heap[(at - 1) / 2], &item) > 0; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

static struct placed heap_pop(struct placed *heap, size_t count)
{
    struct placed first = heap[0], last = heap[count - 1];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < count - 1; at = child) {
        if (child + 1 < count - 1 && by_to(&heap[child + 1], &heap[child]) < 0)
            child++;
        if (by_to(&heap[child], &last) >= 0)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

static bool place_by_time(const struct analyze_block *blocks, size_t count, struct placed *heap,
                          uint64_t *height)
{
    struct gaps *gaps = calloc(1, sizeof(*gaps));
    size_t live = 0;
    *height = 0;
    for (size_t i = 0; gaps && i < count; i++) {
        while (live && heap[0].to <= blocks[i].from) {
            struct placed ended = heap_pop(heap, live--);
            give_gap(gaps, ended.offset, ended.end);
        }
        uint64_t bytes = aligned(blocks[i].bytes), offset = take_gap(gaps, bytes);
        heap_push(heap, live++,
                  (struct placed){offset, offset + bytes, blocks[i].from, blocks[i].to});
        *height = gaps->top > *height ? gaps->top : *height;
    }
    bool good = gaps != NULL;
    free(gaps);
    return good;
}

// --- All blocks ----------------------------------------------------------------------------------

// Packs the blocks of one device, and reorders them. Returns false when memory ran out. No layout
// is lower than the largest sum of aligned bytes, so if one is as low, the others are not tried:
// that takes most of the time.
static bool pack_device(struct analyze_block *blocks, size_t count, uint64_t *height)
{
    struct placed *placed = calloc(count + 1, sizeof(*placed));
    uint64_t bound = 0;
    bool good = placed && find_least(blocks, count, true, &bound);
    if (good) {
        qsort(blocks, count, sizeof(*blocks), by_from);
        good = place_by_time(blocks, count, placed, height);
    }
    // Large blocks are hard to place late, and long-lived blocks are best placed next to one
    // another.
    int (*const orders[])(const void *, const void *) = {by_bytes, by_length};
    for (size_t i = 0;
         good && *height > bound && count <= MOST_SORTED && i < sizeof(orders) / sizeof(*orders);
         i++) {
        qsort(blocks, count, sizeof(*blocks), orders[i]);
        uint64_t other = place_in_order(blocks, count, placed);
        *height = other < *height ? other : *height;
    }
    free(placed);
    return good;
}

bool analyze_pack(const struct analyze_block *blocks, size_t count, uint64_t *height,
                  uint64_t *least)
{
    *height = *least = 0;
    if (count == 0)
        return true;
    struct analyze_block *copy = calloc(count, sizeof(*copy));
    if (!copy)
        return false;
    memcpy(copy, blocks, count * sizeof(*copy));
    qsort(copy, count, sizeof(*copy), by_device);
    bool good = find_least(blocks, count, false, least);
    for (size_t i = 0, next; good && i < count; i = next) {
        uint64_t of_device = 0;
        for (next = i; next < count && copy[next].device == copy[i].device; next++)
            ;
        good = pack_device(copy + i, next - i, &of_device);
        *height += of_device;
    }
    free(copy);
    return good;
}
