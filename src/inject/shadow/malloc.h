// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate, between the files shadow_malloc*.c: launches that may have to do
// with it, and the blocks that there are. Clones keep the map of blocks on the device and say which
// block they touched (instrument.h), so what is left to do here is to take it over in the order of
// launches: who begins and ends which block, and what was done to it. All under shadow->lock.
#ifndef GLINT_INJECT_SHADOW_MALLOC_H
#define GLINT_INJECT_SHADOW_MALLOC_H

#include "inner.h"

// Of a launch, by a pointer that it was given.
struct shadow_malloc_use {
    uint64_t address;
    uint32_t flags; // EVENT_ACCESS_*
};

// Of a launch and a block.
struct shadow_malloc_told {
    struct shadow_malloc_block *block;
    uint32_t flags;           // EVENT_ACCESS_*
    size_t first_page, pages; // of the launch's, at element level
};

// Memory in which a launch tells: struct instrument_heap, pages, log. Pages and counts are zero
// before.
struct shadow_area {
    struct shadow_area *next; // of the spare ones
    struct shadow_block block;
    uint32_t page_bits;
    uint64_t log_room;
};

struct shadow_malloc_launch {
    struct shadow_malloc_launch *next;
    uint64_t call;
    uint32_t node;
    const struct instrument_kernel *kernel;
    uint32_t kernel_number;
    bool launched, told;      // both: all is here, but for what is in its area
    bool dropped;             // nothing of it is to be told
    struct shadow_area *area; // NULL: it has none
    CUevent event;            // behind it, where that is
    bool recorded;
    struct instrument_heap head; // of the area
    BASE_ARRAY(struct shadow_malloc_use) uses;
    BASE_ARRAY(struct instrument_heap_entry) log;
    BASE_ARRAY(unsigned char) groups;              // of pages: not 0 where some are used
    BASE_ARRAY(struct instrument_heap_page) pages; // that it touched
    bool incomplete;                               // memory ran out for those
    // How far it is told.
    unsigned step;
    size_t index;
    BASE_ARRAY(struct shadow_malloc_told) told_blocks;
};

struct shadow_mallocs {
    uint32_t facts;                                  // enum instrument_facts
    struct shadow_block blocks;                      // struct instrument_heap_blocks, then pieces
    uint64_t least_pages, most_pages, most_log_room; // of areas
    uint64_t live_pages;                             // of the blocks that there are
    struct shadow_area *spare;                       // no launch has them
    struct shadow_malloc_launch *first, **last;      // not told yet, in their order
    // Of the first, what of its area comes now.
    struct shadow_block landing;
    CUevent event; // behind that; NULL: nothing is under way
    unsigned segment;
    uint64_t at, length; // in it
    // Blocks that there are, to struct shadow_malloc_block.
    struct base_map by_serial;
    struct base_intervals by_address;
    bool ending; // no more launches come
    size_t rest; // how many are told at the end
};

// All of a launch is here. False: not all of it is told, the recorder has to read first. There may
// be many more blocks than records in the ring.
bool shadow_malloc_tell(struct shadow *shadow, struct shadow_malloc_launch *launch);
// No more launches will be told of: maps of the blocks that are left. Likewise.
bool shadow_malloc_tell_rest(struct shadow *shadow);
// They end with the call.
void shadow_malloc_end_blocks(struct shadow_mallocs *mallocs, uint64_t call);
// Says, once, that what kernels allocate is not told from here on, and because of which kernel.
void shadow_malloc_stop(struct shadow *shadow, const char *kernel, const char *why);

#endif
