// SPDX-License-Identifier: Apache-2.0
// Contexts and streams, as the driver knows them by handle. A number is given out under
// core_state.lock and announced in the ring before it is returned, so no other record can use it
// earlier. The structures are never freed, so a thread may keep one across calls of the driver;
// those of streams are reused.
#ifndef GLINT_INJECT_CORE_CONTEXTS_H
#define GLINT_INJECT_CORE_CONTEXTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "cudaabi/cudaabi.h"
#include "gpu_time.h"
#include "state.h"

struct shadow;

struct core_stream {
    uint32_t number;
    uint32_t flags;     // EVENT_STREAM_*
    uint32_t thread;    // of a per-thread default stream: the thread's number
    bool green;         // runs on a part of the GPU's multiprocessors
    bool foreign;       // created, and perhaps destroyed, in a way that is not hooked
    _Atomic bool ended; // it is being destroyed, or was
    CUstream handle;    // valid in any thread, or for a per-thread default stream in that thread
    struct core_context *context;
    struct core_stream *next; // in the context's list or the list of reusable ones; core_state.lock
    _Atomic uint64_t enqueued; // pieces of work that the program or glint gave it
    _Atomic uint64_t last;     // the last of these that is the program's; 0: none
    _Atomic uint64_t idle;     // the oldest of these, up to this number, are known to be done
    // What glint puts behind the program's work: see tail.h.
    pthread_mutex_t mark_lock; // protects `mark` and `marked`
    CUevent mark;              // NULL: none was needed yet
    uint64_t marked;           // this many pieces of work are ahead of it; 0: it was not recorded
    _Atomic uint64_t fenced;   // written by correct/memory/pool.c alone
    struct core_stream_times times; // protected by context->timing_lock
};

struct core_context {
    uint32_t number, device;
    CUcontext handle;
    _Atomic bool primary;          // the primary context of its device
    _Atomic bool ending;           // a call may destroy it, or has: no other call may use it
    struct core_stream *streams;   // list, protected by core_state.lock
    struct core_stream *legacy;    // its legacy default stream
    _Atomic uint32_t stream_count; // of `streams`, with the legacy one
    _Atomic bool busy;             // work may be pending on its streams; false: on none
    _Atomic uint64_t syncs;        // calls that wait for all its work, and have begun
    _Atomic uint64_t synced;       // the last of these that has returned
    _Atomic uint32_t timings_left; // timings of its streams that are not read yet
    pthread_mutex_t timing_lock;   // protects the fields below up to made_events: see gpu_time.c
    bool timing_failed;
    CUevent base;   // an event that happens, or has happened
    bool base_seen; // it was seen to have happened
    double base_ns; // when it happened
    BASE_ARRAY(CUevent) spare_events;
    size_t made_events;
    struct shadow *_Atomic shadow; // see shadow/shadow.h; NULL: nothing of it was watched yet
};

// --- Contexts ------------------------------------------------------------------------------------

// Returns the current context; NULL if there is none.
struct core_context *core_context_current(void);
// Returns the context of a handle, announced if it is new; NULL: out of memory. device: of a new
// context; if negative, the driver is asked, and the context must be current.
struct core_context *core_context_of(CUcontext handle, CUdevice device);
struct core_context *core_context_known(CUcontext handle); // NULL: it was never seen
// Ends the context, which the call has destroyed, with its streams and objects, and informs layers.
void core_context_end(struct core_context *context, uint64_t call);

// Returns one of core_state.contexts.count; NULL: the context has ended. If there may be other
// threads, the caller holds core_state.lock.
static inline struct core_context *core_context_at(size_t i)
{
    const struct base_map_entry *entry = &core_state.contexts.entries[i];
    return entry->removed ? NULL : (struct core_context *)(uintptr_t)entry->value; // NOLINT
}

// --- Streams -------------------------------------------------------------------------------------

// Returns the stream that the driver finds for the handle; NULL: no context, or no stream.
// per_thread: handle 0 is the thread's own default stream.
struct core_stream *core_stream_of(CUstream handle, bool per_thread, struct core_context *current);
struct core_stream *core_stream_new(CUstream handle, struct core_context *context);
// Removes the handle before the driver destroys the stream and may reuse the handle. Returns when
// no thread queries the stream any more.
void core_stream_end(CUstream handle);
// Makes the structure reusable, once no record will name the stream any more.
void core_stream_recycle(struct core_stream *stream);

static inline void core_stream_raise(_Atomic uint64_t *number, uint64_t least)
{
    uint64_t now = atomic_load_explicit(number, memory_order_relaxed);
    while (now < least && !atomic_compare_exchange_weak(number, &now, least))
        ;
}
// Counts a piece of work of glint, or of the program, after it was enqueued, so that everything
// counted is in the stream.
static inline uint64_t core_stream_work(struct core_stream *stream)
{
    const uint64_t number = atomic_fetch_add(&stream->enqueued, 1) + 1;
    if (!atomic_load_explicit(&stream->context->busy, memory_order_relaxed))
        atomic_store(&stream->context->busy, true);
    return number;
}
static inline void core_stream_program_work(struct core_stream *stream)
{
    core_stream_raise(&stream->last, core_stream_work(stream));
}
// Says that all work up to that piece is done.
static inline void core_stream_idle(struct core_stream *stream, uint64_t enqueued)
{
    core_stream_raise(&stream->idle, enqueued);
}

// Lists up to `most` streams of the context; with `blocking`, only those that synchronize with the
// legacy default stream. Returns their number.
size_t core_streams_of(struct core_context *context, bool blocking, struct core_stream **out,
                       size_t most);
// Returns whether this thread, whose context is `current`, has a valid handle of the stream. The
// handle of a default stream is only valid in its context, and that of a per-thread one only in its
// thread. A foreign stream may have been destroyed, unless it is `own`, the stream that the call is
// about.
bool core_stream_can_name(const struct core_stream *stream, const struct core_stream *own,
                          const struct core_context *current);

#endif
