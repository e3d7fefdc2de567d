// SPDX-License-Identifier: Apache-2.0
// Shadow memory: GPU memory that the probes of watched launches write to, and how their results
// come back. Who launches asks for a launch context before (shadow_begin) and says when the clone
// was launched (shadow_launched). The read-back is then enqueued behind it on the same stream, and
// recorded in the ring once it has arrived. Nothing here waits for the GPU while the program runs.
// How launches are rewritten and led to their clones is not known here: that is probe's.
//
//   shadow.c   launches;  graph.c  kernel nodes of graphs
//   model.h    the structures that the files share
//   memory.c   memory from the driver, and the stream on which it is prepared
//   table.c    the objects, as probes look them up
//   lane.c     device memory of one stream, and batches that come back
//   element.c, reduce.c, map.c   what is measured by element
//   malloc.c, malloc_tell.c      memory that kernels allocate
//   tell.c     the records
//
// Any thread may call, inside a hook (core_thread.depth is not 0), with the context in question
// current where a comment says so.
#ifndef GLINT_INJECT_SHADOW_SHADOW_H
#define GLINT_INJECT_SHADOW_SHADOW_H

#include "inject/core/contexts.h"
#include "instrument/instrument.h"

struct instrument_slot;
struct shadow;
struct shadow_ticket; // one watched launch, from before it is launched until its results are
                      // recorded

struct shadow_launch {
    struct core_stream *stream;             // its context is current
    const struct instrument_kernel *kernel; // stays unchanged until the process ends
    uint32_t kernel_number;
    const uint64_t *roots; // by root: the pointer's value, or the variable's address; 0: unknown
    unsigned grid[3], block[3];
    uint32_t facts; // enum instrument_facts, of the clone
};

// Fills `context`, kernel->context_bytes bytes. Returns NULL if there is no room, which is counted
// and noted: launch the original then. Until shadow_launched, which the same thread must call
// before its next shadow_begin, other threads' launches on the same stream wait in shadow_begin,
// because their read-back would mix.
struct shadow_ticket *shadow_begin(const struct shadow_launch *launch, void *context);
// The launch was given to its stream as this call, or (launched == false) it was not. Enqueues the
// read-back behind it. Consumes the ticket.
void shadow_launched(struct shadow_ticket *ticket, uint64_t call, bool launched);

// A call in the context returned an error. If a kernel has failed, nothing in flight is waited for
// any more, and those launches are not recorded.
void shadow_call_failed(struct core_context *context);
// Records what has come back by now (EVENT_ACCESS, EVENT_COUNTS, ...). Never waits. Called at the
// end of hooked calls that waited, and from time to time. The context need not be current.
void shadow_collect(struct core_context *context);
// Before the driver destroys the stream, or the stream comes under capture, where it must not be
// touched: enqueues the read-back of everything launched on it.
void shadow_stream_leave(struct core_stream *stream);
// The object's number is not used again, and its memory may belong to another object.
void shadow_object_ended(uint64_t object);
// Before the driver destroys the context, which is current: takes what comes back soon. And after
// the call has destroyed it, with all its memory.
void shadow_context_end(struct core_context *context);
void shadow_context_gone(struct core_context *context, uint64_t call);
// At the end of the process, while the driver still answers: as shadow_context_end, for all
// contexts.
void shadow_finish(void);

// --- For the other files of the room -------------------------------------------------------------

// The ticket of the launch, with the objects of its roots; NULL: out of memory.
struct shadow_ticket *shadow_ticket_make(struct shadow *shadow, const struct shadow_launch *launch);
void shadow_ticket_free(struct shadow_ticket *ticket);
// Writes the launch context as the clone takes it.
void shadow_context_fill(const struct shadow_launch *launch, const struct shadow_ticket *ticket,
                         struct instrument_context *about, const struct instrument_slot *slots,
                         void *context);
// Nothing comes back for the ticket: it is recorded with the next ones.
void shadow_settle(struct shadow *shadow, struct shadow_ticket *ticket);
void shadow_count_unwatched(struct shadow *shadow, uint32_t kernel_number,
                            const struct instrument_kernel *kernel);

#endif
