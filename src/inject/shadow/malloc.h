// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate: launches that may use it, and its blocks. Clones keep the map of
// blocks on the device and say which block they touched (instrument.h). What is left to do here is
// to take that over in the order of launches: which launch begins and ends which block, and what it
// did to it. All under shadow->lock, except where a comment says otherwise.
#ifndef GLINT_INJECT_SHADOW_MALLOC_H
#define GLINT_INJECT_SHADOW_MALLOC_H

#include "model.h"

// An access of a launch through a pointer that it was given.
struct shadow_malloc_use {
    uint64_t address;
    uint32_t flags; // EVENT_ACCESS_*
};

// What a launch did to a block.
struct shadow_malloc_told {
    struct shadow_malloc_block *block;
    uint32_t flags;           // EVENT_ACCESS_*
    size_t first_page, pages; // in the launch's pages, at element level
};

// Memory in which a launch reports: struct instrument_heap, pages, log. Pages and counts are zero
// before the launch.
struct shadow_area {
    struct shadow_area *next; // in the list of spare ones
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
    bool launched, told;      // both: everything has arrived except what is in its area
    bool dropped;             // nothing of it is recorded
    struct shadow_area *area; // NULL: it has none
    CUevent event;            // recorded behind it, if `recorded`
    bool recorded;
    struct instrument_heap head; // of the area
    BASE_ARRAY(struct shadow_malloc_use) uses;
    BASE_ARRAY(struct instrument_heap_entry) log;
    BASE_ARRAY(unsigned char) groups;              // of pages: not 0 if some of the group are used
    BASE_ARRAY(struct instrument_heap_page) pages; // those that it touched
    bool incomplete;                               // there was no memory for some of these
    // How far it is recorded.
    unsigned step;
    size_t index;
    BASE_ARRAY(struct shadow_malloc_told) told_blocks;
};

struct shadow_mallocs {
    uint32_t facts;                                  // enum instrument_facts
    struct shadow_block blocks;                      // struct instrument_heap_blocks, then pieces
    uint64_t least_pages, most_pages, most_log_room; // sizes of areas
    uint64_t live_pages;                             // of live blocks
    struct shadow_area *spare;                       // areas that no launch uses
    struct shadow_malloc_launch *first, **last;      // not recorded yet, in launch order
    // What is being read back of the first launch's area.
    struct shadow_block landing;
    CUevent event; // recorded behind that; NULL: nothing is being read back
    unsigned segment;
    uint64_t at, length; // in the segment
    // Live blocks, to struct shadow_malloc_block.
    struct base_map by_serial;
    struct base_intervals by_address;
    bool ending; // no more launches come
    size_t rest; // how many blocks are recorded at the end
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
