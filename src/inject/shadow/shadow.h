// SPDX-License-Identifier: Apache-2.0
// Shadow memory: what the probes of watched launches write to on the GPU, and how what they wrote
// comes back. Whoever launches asks for a launch context before (shadow_begin) and says when the
// clone was launched; read-back is enqueued behind it on the same stream, and told as records of
// the ring once it has arrived. Nothing here waits for the GPU while the program runs. How launches
// are rewritten and led to their clones is not known here.
//
// Any thread may call, inside a hook (inject_thread.depth is not 0), with the context in question
// current where it says so.
#ifndef GLINT_INJECT_SHADOW_SHADOW_H
#define GLINT_INJECT_SHADOW_SHADOW_H

#include "inject/core/state.h"
#include "instrument/instrument.h"

struct shadow_ticket; // one watched launch, from before it is launched until its results are told

struct shadow_launch {
    struct stream *stream;                  // the context is stream->context, and current
    const struct instrument_kernel *kernel; // stays as it is until the process ends
    uint32_t kernel_number;
    const uint64_t *roots; // by root: the pointer's value, or the variable's address; 0: not known
    unsigned grid[3], block[3];
    uint32_t facts; // enum instrument_facts, of the clone
};

// Fills context (kernel->context_bytes bytes of memory). NULL: no room; launch the original instead
// (it is counted and noted). Until shadow_launched, which the same thread must call and before its
// next shadow_begin, launches on the same stream by other threads wait in shadow_begin: their
// read-back would mix.
struct shadow_ticket *shadow_begin(const struct shadow_launch *launch, void *context);
// The launch was given to its stream as this call, or (launched == false) it was not: read-back is
// enqueued behind it on the same stream. The ticket is gone.
void shadow_launched(struct shadow_ticket *ticket, uint64_t call, bool launched);

// Kernel nodes of graphs (under capture or explicit): the ticket lives until shadow_release;
// nothing is enqueued on the program's streams.
struct shadow_ticket *shadow_begin_node(const struct shadow_launch *launch, void *context);
// An executable graph is about to be launched on the stream, and was: enqueues what its watched
// nodes need before, and behind it the read-back of all of them, which are then ready for the next
// replay. nodes: 1 + index of each. The same thread calls both, with the same tickets; launched ==
// false: the launch failed.
void shadow_replay(struct stream *stream, struct shadow_ticket *const *tickets, size_t count);
void shadow_replayed(struct stream *stream, struct shadow_ticket *const *tickets,
                     const uint32_t *nodes, size_t count, uint64_t call, bool launched);
void shadow_release(struct shadow_ticket *ticket);

// A kernel that allocates or frees memory itself is about to run unwatched: what is known of that
// memory does not hold any more.
void shadow_heap_unwatched(struct context *context, const char *kernel);

// A call in the context returned an error: where a kernel has failed, nothing that is in flight is
// waited for any more, and nothing is told of those launches.
void shadow_call_failed(struct context *context);
// Tells (EVENT_ACCESS, EVENT_COUNTS, ...) what has come back by now; never waits. Called at the end
// of hooked calls that waited, and from time to time. The context may be any.
void shadow_collect(struct context *context);
// Before the driver destroys a stream, or the stream comes under capture, where nobody may touch it
// unasked: what was launched on it and not yet asked for is.
void shadow_stream_leave(struct stream *stream);
// The object's number will not be used again, and its memory may be another's from now on.
void shadow_object_ended(uint64_t object);
// Before the driver destroys the context, which is current: takes what comes back soon; and after
// it has, in the call, with all its memory.
void shadow_context_end(struct context *context);
void shadow_context_gone(struct context *context, uint64_t call);
void shadow_finish(void); // at the process's end, while the driver still answers: likewise

#endif
