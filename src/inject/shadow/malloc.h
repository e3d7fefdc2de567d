// SPDX-License-Identifier: Apache-2.0
// Memory that kernels allocate: launches that may use it, and its blocks. Clones maintain the map
// of blocks on the device and report which block they touched (instrument.h). This file takes the
// reports over in the order of launches: which launch begins and ends which block, and how it
// accessed it. All functions need shadow->lock unless a comment says otherwise.
#ifndef GLINT_INJECT_SHADOW_MALLOC_H
#define GLINT_INJECT_SHADOW_MALLOC_H

#include "model.h"

// An access of a launch through a pointer parameter.
struct shadow_malloc_use {
    uint64_t address;
    uint32_t flags; // EVENT_ACCESS_*
};

// How a launch accessed a block.
struct shadow_malloc_told {
    struct shadow_malloc_block *block;
    uint32_t flags;           // EVENT_ACCESS_*
    size_t first_page, pages; // position in the launch's pages, at element level
};

// Memory in which a launch reports: struct instrument_heap, pages, log. Pages and counts are zero
// before the launch.
struct shadow_area {
    struct shadow_area *next; // next spare area
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
    bool launched, reported;  // both: everything has arrived except what is in its area
    bool dropped;             // none of its reports are recorded
    struct shadow_area *area; // NULL: it has none
    CUevent event;            // recorded behind it, if `recorded`
    bool recorded;
    struct instrument_heap head; // start of its area, as read back
    BASE_ARRAY(struct shadow_malloc_use) uses;
    BASE_ARRAY(struct instrument_heap_entry) log;
    BASE_ARRAY(unsigned char) groups; // by group of pages: not 0 if some of them are used
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
    uint64_t live_pages;                             // pages that all live blocks have
    struct shadow_area *spare;                       // areas that no launch uses
    struct shadow_malloc_launch *first, **last;      // not recorded yet, in launch order
    // The part of the first launch's area that is being read back.
    struct shadow_block landing;
    CUevent event; // recorded behind that; NULL: nothing is being read back
    unsigned segment;
    uint64_t at, length; // position in the segment, and bytes that are being read
    // Live blocks, to struct shadow_malloc_block.
    struct base_map by_serial;
    struct base_intervals by_address;
    bool ending; // no more launches come
    size_t rest; // blocks recorded so far, at the end
};

// --- Launches, with shadow->lock -----------------------------------------------------------------

// Begins a launch that may allocate or free memory, or touch what was allocated.
void shadow_malloc_enter(struct shadow *shadow, struct shadow_ticket *ticket);
// Makes the table say, in the order of the stream, where the launch reports such accesses. ticket
// NULL: it does not report them. The table must be complete by then, in the order of the stream.
bool shadow_malloc_point(struct shadow *shadow, const struct shadow_ticket *ticket, uint64_t table,
                         struct core_stream *stream);
// Says that the launch was enqueued on the stream as the ticket's call, or (launched == false)
// never will be.
void shadow_malloc_launched(struct shadow_ticket *ticket, CUstream stream, bool launched);
// Says that all results of the launch have arrived except those in its area.
void shadow_malloc_told(struct shadow_ticket *ticket);
// Says that the kernel runs, but not as a launch that reports.
void shadow_malloc_skipped(const struct shadow_ticket *ticket);
// Records the reports that have arrived and enqueues the next reads. Returns true if everything is
// recorded, or never will be. The context must be current.
bool shadow_malloc_step(struct shadow *shadow);
// Says that no more launches follow: the next steps record the remaining blocks. Returns false if
// there are none.
bool shadow_malloc_end(struct shadow *shadow);
// Says that the memory on the device is about to be freed. Blocks stay as they are, and nothing
// more is recorded. Returns false, and does nothing, if launches are not recorded yet.
bool shadow_malloc_leave(struct shadow *shadow);
// Ends all blocks with the call that has destroyed the context.
void shadow_malloc_forget(struct shadow *shadow, uint64_t call);
// Notes, once, that memory allocated by kernels is not recorded from here on, and which kernel is
// the reason.
void shadow_malloc_stop(struct shadow *shadow, const char *kernel, const char *why);

// --- Without the lock ----------------------------------------------------------------------------

// Records that the launch read or wrote (EVENT_ACCESS_*) through a pointer parameter that points
// into no object. Returns false if it points to no block either; otherwise the block is looked up
// and recorded later.
bool shadow_malloc_use(const struct shadow_ticket *ticket, uint64_t address, uint32_t flags);
// Says that a kernel that allocates or frees memory is about to run unwatched. The set of live
// blocks is unknown from then on.
void shadow_heap_unwatched(struct core_context *context, const char *kernel);

#endif
