// SPDX-License-Identifier: Apache-2.0
// Shadow memory: GPU memory that the probes of watched launches write to, and how their results are
// read back. The caller gets a launch context from shadow_begin, launches the clone, and calls
// shadow_launched. The read-back is then enqueued behind the launch on the same stream, and
// recorded in the ring once it has arrived. Nothing here waits for the GPU while the program runs.
// Rewriting kernels and launching clones is the job of probe.
//
//   shadow.c   launches;  graph.c  kernel nodes of graphs
//   model.h    the structures that the files share
//   memory.c   memory from the driver, and the stream on which it is prepared
//   give_back.c  gives that memory to the program
//   table.c    the objects, as probes look them up
//   code.c     modules of device code, and the memory that they work in
//   known.c, users.c  what makes contents unknown, and which streams use an object
//   lane.c     device memory of one stream, and batches that are read back
//   element.c, reduce.c, map.c   what is measured by element
//   contents.c, scan.c, constant.c   what objects hold at the borders of calls
//   accessed.c  which values loads and stores moved
//   words.c    counters of words of shared memory
//   repeats.c  launches that touch what earlier ones have touched
//   ranges.c, reuse.c  live ranges of these words, and what blocks load of global memory
//   trace.c            which lines of global memory warps reach
//   turns.c    the launches in which both are traced
//   malloc.c, malloc_tell.c      memory that kernels allocate
//   tell.c     the records
//
// Any thread may call, inside a hook (core_thread.depth is not 0), with the context in question
// current where a comment says so.
#ifndef GLINT_INJECT_SHADOW_SHADOW_H
#define GLINT_INJECT_SHADOW_SHADOW_H

#include "constant.h"
#include "inject/core/contexts.h"
#include "instrument/instrument.h"

struct instrument_slot;
struct shadow;
struct shadow_ticket; // one watched launch, from before it is launched until its results are
                      // recorded

// Memory that a copy or set writes.
struct shadow_writing {
    uint64_t from, to;               // its first byte, and behind the last
    uint64_t bytes;                  // that it writes: fewer if there are gaps between rows
    struct shadow_constant constant; // that it writes; no bytes: not one
};

// Launches that are alike, as far as it is recorded what they accessed.
struct shadow_alike {
    _Atomic uint32_t within; // how many accessed nothing but objects of their roots
    _Atomic bool beyond;     // one accessed others, or it is unknown what it accessed
};

struct shadow_launch {
    struct core_stream *stream;             // its context is current
    const struct instrument_kernel *kernel; // stays unchanged until the process ends
    uint32_t kernel_number;
    const uint64_t *given; // by root: the pointer's value, or the variable's address; 0: unknown
    // By root: an address in the object that its accesses are expected in (shadow_aim).
    const uint64_t *roots;
    const unsigned char *params; // the program's, as the kernel has them
    unsigned grid[3], block[3];
    uint32_t dynamic_bytes;     // shared memory of a block that the program asked for
    uint32_t spare_word;        // bytes of spare shared memory for each word; 0: there is none
    uint32_t tags;              // as in struct instrument_context; 0: there is no room for them
    CUfunction original;        // the program's kernel; NULL: unknown
    bool turn;                  // shared, cache: to be traced, see turns.h
    bool may_light;             // the second clone may run
    bool may_repeat;            // it may be recognized as like an earlier launch
    uint32_t facts;             // enum instrument_facts, of the clone
    struct shadow_alike *alike; // gets what is recorded of it; lives forever; NULL: none
    // Of a sampled launch, which has no clone: the objects that its arguments point into. Its
    // records refine what is known by these; there is no EVENT_TOLD. NULL: it is none.
    const uint64_t *passed;
    uint32_t passed_count;
    _Atomic uint32_t *flying; // of a sampled launch: counts it until its results are recorded
};

// Loads the code that watched launches in the context need, as far as that is known before the
// first one. The driver loads code only when all work has ended, and a launch must not wait for
// that: work that runs may wait for the launch. The context is current.
void shadow_prepare(struct core_context *context, const struct instrument_kernel *kernel,
                    uint32_t facts);
// Fills in `roots` of the launch, whose `given`, parameters and sizes are known.
void shadow_aim(const struct shadow_launch *launch, uint64_t *roots);
// Fills `context`, kernel->context_bytes bytes. Returns NULL if there is no room, which is counted
// and noted; the caller then launches the original. The same thread must call shadow_launched
// before its next shadow_begin. Until then, other threads' launches on the same stream wait in
// shadow_begin, because their results would be mixed up.
struct shadow_ticket *shadow_begin(const struct shadow_launch *launch, void *context);
// Returns whether it is the second clone that must be launched.
bool shadow_is_light(const struct shadow_ticket *ticket);
// Makes the launch have no records.
void shadow_mute(struct shadow_ticket *ticket);
// Returns whether the program's own kernel must be launched, since what it does is known.
bool shadow_is_repeated(const struct shadow_ticket *ticket);
// Says that the launch was enqueued on its stream as this call, or (launched == false) that it was
// not. Enqueues the read-back behind it. Consumes the ticket.
void shadow_launched(struct shadow_ticket *ticket, uint64_t call, bool launched);

// Says that a call in the context returned an error. If a kernel has failed, glint no longer waits
// for work in flight, and does not record those launches.
void shadow_call_failed(struct core_context *context);
// Values: say that the call wrote this memory on the stream (shadow_wrote), which is not under
// capture, or that work whose writes are not looked at may have written any memory of the context.
void shadow_wrote(struct core_stream *stream, uint64_t call, const struct shadow_writing *writing);
// The work is the last that was counted on the stream; NULL: unknown.
// shadow_unseen_anywhere: of all contexts; shadow_unseen_others: of all but the stream's.
void shadow_unseen_work(struct core_context *context, const struct core_stream *stream);
void shadow_unseen_anywhere(const struct core_stream *stream);
void shadow_unseen_others(const struct core_stream *stream);

// Enqueues the read-back of launches, unless it has just done so, and records the results that have
// arrived (EVENT_ACCESS, EVENT_COUNTS, ...). Never waits. Called from time to time. The context
// need not be current.
void shadow_collect(struct core_context *context);
// Called before and after a call that waits, in the call's current context. The first enqueues the
// read-back on streams that the call waits for, so that it is done when the call returns. The
// second does the rest.
void shadow_call_waits(const struct core_call *call);
void shadow_call_waited(const struct core_call *call);
// Enqueues the read-back of everything launched on the stream. Called before the driver destroys
// the stream, or before a capture of it begins, during which glint must not use it.
void shadow_stream_leave(struct core_stream *stream);
// Says that the object has ended. Its memory may belong to another object from now on.
void shadow_object_ended(uint64_t object);
// shadow_context_end, called before the driver destroys the context, which is current, records what
// arrives soon. shadow_context_gone is called when the call has destroyed the context and all its
// memory.
void shadow_context_end(struct core_context *context);
void shadow_context_gone(struct core_context *context, uint64_t call);
// Does what shadow_context_end does, for all contexts, at the end of the process while the driver
// still works.
void shadow_finish(void);

// --- Memory that the program needs ---------------------------------------------------------------

// Returns how much memory of the device (its number + 1) glint has for what it watches.
uint64_t shadow_held_bytes(uint32_t device);
// Frees what nothing uses of it. Returns whether there was something.
bool shadow_trim(uint32_t device);
// Ends all watching in contexts of the device, waits for what is in flight, and frees all.
// leave_nodes: makes the nodes of graphs launch the program's kernels in the context, which is
// current, and releases their tickets; called repeatedly, because a node may be in use. Returns
// whether some memory was freed: not if something in flight does not end.
bool shadow_end(uint32_t device, void (*leave_nodes)(const struct core_context *context));

// --- For the other files of the room -------------------------------------------------------------

// Returns a ticket for the launch, with the objects of its roots; NULL: out of memory.
struct instrument_launch shadow_says(const struct shadow_launch *launch);
struct shadow_ticket *shadow_ticket_make(struct shadow *shadow, const struct shadow_launch *launch);
void shadow_ticket_free(struct shadow_ticket *ticket);
// Writes the launch context in the layout that the clone expects. pieces NULL: stores are not
// examined.
void shadow_context_fill(const struct shadow_launch *launch, const struct shadow_ticket *ticket,
                         struct instrument_context *about, const struct instrument_slot *slots,
                         const struct instrument_pieces *pieces, void *context);
// Records what has arrived, and enqueues the read-back of what has not begun to, wherever this
// thread can. Returns whether nothing is in flight. The context is current.
bool shadow_collect_all(struct shadow *shadow);
// Records a ticket that has no results on the device, together with the next ones.
void shadow_settle(struct shadow *shadow, struct shadow_ticket *ticket);
void shadow_count_unwatched(struct shadow *shadow, uint32_t kernel_number,
                            const struct instrument_kernel *kernel);

#endif
