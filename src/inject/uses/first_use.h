// SPDX-License-Identifier: Apache-2.0
// First uses: when and where the CPU first touches data that a synchronization made safe
// (EVENT_USE), the destinations of copies from the device. Guard closes the pages of such data
// until then. A layer that takes part where libglint-sync.so is loaded and no plan is being
// followed.
//
//   first_use.c    which data is watched, from the hooks' calls
//   hash.c         hashes of what copies move, which also need to know when it is safe
//   managed.c      managed memory, which is never closed
//   clock_reads.c  reads of the host's clock after a wait
#ifndef GLINT_INJECT_USES_FIRST_USE_H
#define GLINT_INJECT_USES_FIRST_USE_H

#include "inject/core/call.h"

struct graph;
struct use_range;

extern const struct inject_layer uses_layer;
extern bool first_use_on; // the layer takes part; written at the start and at the end alone

// Copies that the call makes beside the one in its detail: those of a graph that it launches
// (before the driver's function, under state.lock), and those of a batch (after it).
void first_use_graph(struct call *call, const struct graph *graph);
void first_use_batch(const struct call *call, const struct event_copy *copy);
// An event was recorded on the call's stream; and the stream waits for an event.
void first_use_recorded(const struct call *call, CUevent event);
void first_use_waits(const struct call *call, CUevent event);

// Whether first uses can be watched in this process now; if not, notes why, once. With the lock of
// guard's table.
bool use_is_possible(void);

#endif
