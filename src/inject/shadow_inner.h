// SPDX-License-Identifier: Apache-2.0
// The inner face of shadow memory, between the files shadow*.c: memory of the driver's and what
// lies in it, lanes, batches and tickets. See shadow.h for what it is for.
//
// A *lane* is device memory for launches that follow one another on one stream: a stream has one
// while something of it is in flight, so there are as many as streams work at once. Launches come
// back in *batches*: at object level one copy for many launches, at element level one reduction for
// each. A batch lands in pinned memory, and is told in the order of its lane.
//
// Locks: a lane's lock, then shadow->lock. Tickets between shadow_begin and shadow_launched hold
// their lane's.
#ifndef GLINT_INJECT_SHADOW_INNER_H
#define GLINT_INJECT_SHADOW_INNER_H

#include "shadow.h"

// --- Memory (shadow_memory.c) --------------------------------------------------------------------

struct shadow_block {
    uint64_t address; // 0: none
    uint64_t bytes;
};

// Memory from slabs of the driver, which go with the context only: to free one would wait.
struct shadow_heap {
    BASE_ARRAY(struct shadow_block) free; // ascending, no two adjacent
    uint64_t slab_bytes, limit_bytes;
    bool pinned; // of the host, else of the device
};

enum { SHADOW_ALIGN = 256 }; // of blocks, in bytes

struct shadow {
    struct context *context;
    pthread_mutex_t lock; // protects all below, and where they say so what it leads to
    _Atomic bool failed;  // the driver refused: nothing more is watched
    struct shadow_heap device, pinned;
    CUstream own;      // glint's, for what is ready before the program's launches are
    CUevent own_event; // behind the last of it
    bool own_pending;  // and not known to have happened
    BASE_ARRAY(struct shadow_block) staging;       // pinned, until own_event
    BASE_ARRAY(CUevent) events;                    // spare
    struct base_map lane_of;                       // number of a stream to struct shadow_lane
    struct shadow_lane *_Atomic lanes;             // all; they stay
    struct shadow_table *table;                    // the newest
    struct shadow_ticket *settled, **settled_last; // launches of which nothing needs to come back
    size_t settled_count;
    struct base_map kernels; // number of a kernel to struct shadow_kernel
};

// What is to be said of a kernel at the end.
struct shadow_kernel {
    const char *name;
    uint64_t unwatched;        // launches
    uint64_t strays, stray_at; // accesses to what is no object, and where one was
};

// The context's, made where there is none; NULL: it cannot be.
struct shadow *shadow_of(struct context *context);
// Once: what the driver refused.
void shadow_fail(struct shadow *shadow, const char *what, CUresult result);
struct shadow_kernel *shadow_kernel(struct shadow *shadow, uint32_t number,
                                    const struct instrument_kernel *kernel); // NULL: no memory

// With shadow->lock held, and the context current where memory is taken. What is taken is not
// cleared. False: no room.
bool shadow_take(struct shadow *shadow, struct shadow_heap *heap, uint64_t bytes,
                 struct shadow_block *block);
void shadow_give(struct shadow_heap *heap, struct shadow_block *block);
void *shadow_host(struct shadow_block block); // of pinned memory

// On the context's own stream, with shadow->lock held and the context current: device memory is
// cleared; pinned memory is copied there, and given back when that is done; and the stream waits
// for all of that, where it has not happened yet.
bool shadow_own_clear(struct shadow *shadow, struct shadow_block block);
bool shadow_own_copy(struct shadow *shadow, uint64_t to, struct shadow_block *staging,
                     uint64_t bytes);
bool shadow_own_wait(struct shadow *shadow, CUstream stream);

CUevent shadow_event_take(struct shadow *shadow);
void shadow_event_give(struct shadow *shadow, CUevent event);

// The driver refuses some questions while a stream is captured, unless the thread says it does not
// mind.
static inline CUstreamCaptureMode shadow_relax(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    return mode;
}
static inline void shadow_restore(CUstreamCaptureMode mode)
{
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

// --- Tables (shadow_table.c) ---------------------------------------------------------------------

// The objects at one moment, as probes look them up. Held by counting, under shadow->lock.
struct shadow_table {
    uint64_t changes; // of the map of objects
    uint32_t holders;
    uint32_t count;
    struct shadow_block entries; // at object level
    struct objects_piece pieces[];
};

// The table of now, held; NULL: no room. With shadow->lock held.
struct shadow_table *shadow_table_hold(struct shadow *shadow);
void shadow_table_drop(struct shadow *shadow, struct shadow_table *table);
// Where the piece's elements lie between its base and its end.
struct instrument_slot shadow_slot(const struct objects_piece *piece, uint32_t shift);

// --- Lanes and batches (shadow_lane.c) -----------------------------------------------------------

struct shadow_root {
    uint64_t object; // 0: none
};

struct shadow_ticket {
    struct shadow_ticket *next;
    struct shadow *shadow;
    struct shadow_lane *lane; // NULL: nothing comes back
    struct stream *stream;
    const struct instrument_kernel *kernel;
    uint32_t kernel_number, facts;
    uint64_t call;
    uint32_t node;               // of a graph launch
    uint32_t flags_at, frame_at; // bytes from the start of what lands
    struct shadow_table *table;  // held; NULL: none
    uint32_t root_count;
    struct shadow_root roots[];
};

struct shadow_batch {
    struct shadow_batch *next;
    CUevent event; // behind its copies
    struct shadow_block landing;
    struct shadow_ticket *first, **last;
    BASE_ARRAY(struct shadow_block) leftovers; // device memory that is free once it has landed
};

struct shadow_lane {
    struct shadow *shadow;
    struct shadow_lane *next;
    uint32_t stream_number; // 0: free. With users under shadow->lock
    uint32_t users;         // threads that found it and are not done
    pthread_mutex_t lock;   // protects all below
    struct stream *stream;
    uint64_t closed_ns; // when the last batch was
    struct shadow_block flags;
    uint64_t flags_used;
    struct shadow_table *table; // held; NULL: no frames
    struct shadow_block frames; // a struct instrument_table for each frame, then the frames
    uint64_t frame_bytes;       // of each
    uint32_t frame_count, frames_used;
    struct shadow_batch *open;   // launches that were not asked for yet
    struct shadow_batch *flying; // the oldest first
};

// The stream's lane, locked; NULL: none can be had. And done with it.
struct shadow_lane *shadow_lane_take(struct shadow *shadow, struct stream *stream);
void shadow_lane_leave(struct shadow_lane *lane);
// Room for one more launch of the ticket's kernel at object level: fills the context.
bool shadow_lane_enter(struct shadow_lane *lane, struct shadow_ticket *ticket,
                       struct instrument_context *context);
// Asks for all that was launched since it last was, on its stream or one that orders with it.
void shadow_lane_close(struct shadow_lane *lane, CUstream stream);
// The batch's read-back was enqueued on the lane's stream.
void shadow_lane_fly(struct shadow_lane *lane, struct shadow_batch *batch);
// Tells what has landed. True: nothing is in flight.
bool shadow_lane_tell(struct shadow_lane *lane);

// A batch without tickets, with so much to land in; NULL: no room. With shadow->lock held.
struct shadow_batch *shadow_batch_make(struct shadow *shadow, uint64_t bytes);
void shadow_batch_free(struct shadow *shadow, struct shadow_batch *batch); // without
void shadow_batch_add(struct shadow_batch *batch, struct shadow_ticket *ticket);

// --- Launches (shadow.c) -------------------------------------------------------------------------

// Of the launch, with the objects of its roots; NULL: no memory.
struct shadow_ticket *shadow_ticket_make(struct shadow *shadow, const struct shadow_launch *launch);
void shadow_ticket_free(struct shadow_ticket *ticket);
// Nothing comes back of it, and it is told with the next ones.
void shadow_settle(struct shadow *shadow, struct shadow_ticket *ticket);
void shadow_count_unwatched(struct shadow *shadow, uint32_t kernel_number,
                            const struct instrument_kernel *kernel);

// --- Telling (shadow_tell.c) ---------------------------------------------------------------------

// What a launch did, from what landed (NULL: its kernel has no flags; no table).
void shadow_tell(const struct shadow_ticket *ticket, const unsigned char *flags,
                 const unsigned char *frame);
// What is to be said at the end.
void shadow_tell_notes(struct shadow *shadow);

#endif
