// SPDX-License-Identifier: Apache-2.0
// First uses: when and where the CPU first touches data that a synchronization made safe
// (EVENT_USE), the destinations of copies from the device. Guard closes the pages of such data
// until then. This layer takes part if libglint-sync.so is loaded and there is no plan.
//
//   first_use.c    which data is watched, from the hooks' calls
//   hash.c         hashes of what copies move, which also need to know when it is safe
//   managed.c      managed memory, which is never closed
//   clock_reads.c  reads of the host's clock after a wait
#ifndef GLINT_INJECT_USES_FIRST_USE_H
#define GLINT_INJECT_USES_FIRST_USE_H

#include "inject/core/call.h"

struct core_graph;
struct guard_range;

extern const struct inject_layer uses_layer;

// Add the copies that the call makes beside the one in its detail. uses_graph adds those of a graph
// launch, before the driver's function and under core_state.lock. uses_batch adds those of a batch,
// after it.
void uses_graph(struct core_call *call, const struct core_graph *graph);
void uses_batch(const struct core_call *call, const struct event_copy *copy);
// Say that an event was recorded on the call's stream, and that the stream waits for an event.
void uses_recorded(const struct core_call *call, CUevent event);
void uses_waits(const struct core_call *call, CUevent event);

// Returns whether first uses can be watched in this process now; if not, notes why, once. Needs the
// lock of guard's table.
bool uses_is_possible(void);

#endif
