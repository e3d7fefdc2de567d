// SPDX-License-Identifier: Apache-2.0
// First uses: when and where the program first touches, with the CPU, data that a synchronisation
// made safe (EVENT_USE): the destinations of copies from the device. Pages of such data are
// protected until then. Only where libglint-sync.so is loaded (inside.h).
//
//   first_use.c         which data is watched, from the hooks' calls
//   guard/ranges.c  the data that is watched, and its pages
//   guard/memory.c  which memory may be protected
//   guard/fault.c   the first touch, by SIGSEGV
//   guard/signals.c the program's own signals, as if SIGSEGV were all its own
//   guard/threads.c threads that block SIGSEGV, and would die of a closed page
//   guard/system.c  memory that the C library and MPI say is handed to others, or goes
//   guard/flight.c  memory that MPI has meanwhile
//   managed.c managed memory, which is not watched
//   hash.c    hashes of what copies move, which need to know when it is safe, too
//
// What may be protected: pages that hold nothing but data. Stacks never are.
#ifndef GLINT_INJECT_USES_FIRST_USE_H
#define GLINT_INJECT_USES_FIRST_USE_H

#include "inject/core/call.h"

struct graph;

// Whether it is asked for in this process. Before anything else of it may be called.
void first_use_start(const struct door_driver *driver);
// Around the driver's function of every call that is watched (call_start, call_end): memory that
// the driver is about to touch is opened before; after it, data that it has made safe is watched.
void first_use_before_slowly(struct call *call);
void first_use_after_slowly(struct call *call);
// Copies that the call makes beside the one in its detail: of a graph, which it launches (before
// the driver's function, under state.lock); of a batch (after it).
void first_use_graph(struct call *call, const struct graph *graph);
void first_use_batch(const struct call *call, const struct event_copy *copy);
// An event was recorded on the call's stream.
void first_use_recorded(const struct call *call, CUevent event);
void first_use_waits(const struct call *call, CUevent event); // the stream does, for an event
// Managed memory has become an object.
void first_use_managed(void);
// The process ends, or is a new child of fork: nothing is watched any more.
void first_use_finish(void);
void first_use_forked(void);

extern bool first_use_on; // it is asked for, and recording is on; changes only at the start

static inline void first_use_before(struct call *call)
{
    if (first_use_on)
        first_use_before_slowly(call);
}

static inline void first_use_after(struct call *call)
{
    if (first_use_on)
        first_use_after_slowly(call);
}

#endif
