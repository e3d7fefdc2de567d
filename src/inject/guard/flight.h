// SPDX-License-Identifier: Apache-2.0
// Memory that MPI uses after the call that got it has returned ("in flight"). No pages are closed
// there meanwhile. A flight belongs to an MPI request, or ends by itself.
#ifndef GLINT_INJECT_GUARD_FLIGHT_H
#define GLINT_INJECT_GUARD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct guard_flight;

enum guard_flight_kind {
    GUARD_FLIGHT_NONE = 0,
    GUARD_FLIGHT_ONCE,  // until its request has completed
    GUARD_FLIGHT_AGAIN, // the same for a persistent request, each time it is started
    GUARD_FLIGHT_LOOSE, // until a copy is made into it
    GUARD_FLIGHT_GOOD,  // until the process ends
};

// Begins a flight, before the caller checks whether pages there are closed. NULL: there is no room,
// and guard closes no more pages.
struct guard_flight *guard_flight_begin(uint64_t low, uint64_t high, enum guard_flight_kind kind);
void guard_flight_end(struct guard_flight *flight); // the call failed
// Gives the flights of one call their request. Flights of a persistent request begin at its start.
void guard_flight_name(struct guard_flight *const *flights, unsigned count, uint64_t request);
// guard_flight_mark replaces one mark of the request's flights by another, and returns how many it
// has replaced. guard_flight_end_marked ends all flights with the mark.
unsigned guard_flight_mark(uint64_t request, uint32_t from, uint32_t to);
void guard_flight_end_marked(uint32_t mark);
// Called when the program frees the request, after which its completion is not seen.
void guard_flight_free(uint64_t request);
// Called when a persistent request is started: calls `open` for its memory. Returns false if the
// request is unknown.
bool guard_flight_start(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                        void *context);
bool guard_is_in_flight(uint64_t low, uint64_t high);
// Called when a copy overwrites all of the memory: flights there end.
void guard_flight_overwritten(uint64_t low, uint64_t high);
void guard_flight_forked(void); // in a new child

#endif
