// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate: launches that may use it, and its blocks. Clones keep the map of
// blocks on the device and say which block they touched (instrument.h). What is left to do here is
// to take that over in the order of launches: which launch begins and ends which block, and what it
// did to it. All under shadow->lock, except where a comment says otherwise.
#ifndef GLINT_INJECT_SHADOW_MALLOC_H
#define GLINT_INJECT_SHADOW_MALLOC_H

#include "model.h"

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

// --- Launches, with shadow->lock -----------------------------------------------------------------

// A launch begins that may allocate or free memory, or touch what was allocated.
void shadow_malloc_enter(struct shadow *shadow, struct shadow_ticket *ticket);
// Makes the table, which is there by then in the order of the stream, say where the launch reports
// such accesses; ticket NULL: it does not report them.
bool shadow_malloc_point(struct shadow *shadow, const struct shadow_ticket *ticket, uint64_t table,
                         struct core_stream *stream);
// It was launched on the stream as the ticket's call, or never will be.
void shadow_malloc_launched(struct shadow_ticket *ticket, CUstream stream, bool launched);
// Nothing more will be reported of the launch but what is in its area.
void shadow_malloc_told(struct shadow_ticket *ticket);
// The kernel runs, but not as a launch that reports.
void shadow_malloc_skipped(const struct shadow_ticket *ticket);
// Records what has come and enqueues more. Returns true if all is recorded, or never will be. The
// context is current.
bool shadow_malloc_step(struct shadow *shadow);
// No more launches come: the next steps record the blocks that are left. False: there are none.
bool shadow_malloc_end(struct shadow *shadow);
// The call has destroyed the context, and all blocks with it.
void shadow_malloc_forget(struct shadow *shadow, uint64_t call);
// Notes, once, that what kernels allocate is not recorded from here on, and because of which
// kernel.
void shadow_malloc_stop(struct shadow *shadow, const char *kernel, const char *why);

// --- Without the lock ----------------------------------------------------------------------------

// The launch read or wrote (EVENT_ACCESS_*) through a pointer that it was given and that points
// into no object. False: it points to no block either. True: the block is found and recorded later.
bool shadow_malloc_use(const struct shadow_ticket *ticket, uint64_t address, uint32_t flags);
// A kernel that allocates or frees memory is about to run unwatched: what is known of that memory
// does not hold any more.
void shadow_heap_unwatched(struct core_context *context, const char *kernel);

#endif
