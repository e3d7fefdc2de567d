// SPDX-License-Identifier: Apache-2.0
// Memory that MPI uses beyond the call that gave it ("in flight"). No pages are closed there
// meanwhile. A flight belongs to an MPI request, or ends by itself.
#ifndef GLINT_INJECT_GUARD_FLIGHT_H
#define GLINT_INJECT_GUARD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct guard_flight;

enum guard_flight_kind {
    GUARD_FLIGHT_NONE = 0,
    GUARD_FLIGHT_ONCE,  // until its request has completed
    GUARD_FLIGHT_AGAIN, // the same for a persistent request, each time that is started
    GUARD_FLIGHT_LOOSE, // until a copy is made into it
    GUARD_FLIGHT_GOOD,  // until the process ends
};

// Begins before anybody looks whether pages there are closed, as a guard does. NULL: there is no
// room, and no pages are closed any more.
struct guard_flight *guard_flight_begin(uint64_t low, uint64_t high, enum guard_flight_kind kind);
void guard_flight_end(struct guard_flight *flight); // the call has failed
// Gives the flights of one call their request. Those of a persistent one wait for its start.
void guard_flight_name(struct guard_flight *const *flights, unsigned count, uint64_t request);
// Flights of the request that have one mark get another; returns how many. The second ends all that
// have the mark.
unsigned guard_flight_mark(uint64_t request, uint32_t from, uint32_t to);
void guard_flight_end_marked(uint32_t mark);
// The program frees the request: its completion will not be seen.
void guard_flight_free(uint64_t request);
// A persistent request is started: calls `open` for its memory. False: the request is unknown.
bool guard_flight_start(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                        void *context);
bool guard_is_in_flight(uint64_t low, uint64_t high);
// A copy overwrites all of the memory: flights there end.
void guard_flight_overwritten(uint64_t low, uint64_t high);
void guard_flight_forked(void); // in a new child

#endif
