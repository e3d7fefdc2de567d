// SPDX-License-Identifier: Apache-2.0
// Memory that MPI uses beyond the call that gave it ("in flight"). No pages are closed there
// meanwhile. A flight belongs to an MPI request, or ends by itself.
#ifndef GLINT_INJECT_GUARD_FLIGHT_H
#define GLINT_INJECT_GUARD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct use_flight;

enum use_flight_kind {
    USE_FLIGHT_NONE = 0,
    USE_FLIGHT_ONCE,  // until its request has completed
    USE_FLIGHT_AGAIN, // the same for a persistent request, each time that is started
    USE_FLIGHT_LOOSE, // until a copy is made into it
    USE_FLIGHT_GOOD,  // until the process ends
};

// Begins before anybody looks whether pages there are closed, as a guard does. NULL: there is no
// room, and no pages are closed any more.
struct use_flight *use_flight_begin(uint64_t low, uint64_t high, enum use_flight_kind kind);
void use_flight_end(struct use_flight *flight); // the call has failed
// Gives the flights of one call their request. Those of a persistent one wait for its start.
void use_flight_name(struct use_flight *const *flights, unsigned count, uint64_t request);
// Flights of the request that have one mark get another; returns how many. The second ends all that
// have the mark.
unsigned use_flight_mark(uint64_t request, uint32_t from, uint32_t to);
void use_flight_end_marked(uint32_t mark);
// The program frees the request: its completion will not be seen.
void use_flight_free(uint64_t request);
// A persistent request is started: calls `open` for its memory. False: the request is unknown.
bool use_flight_start(uint64_t request, void (*open)(uint64_t low, uint64_t high, void *context),
                      void *context);
bool use_is_in_flight(uint64_t low, uint64_t high);
// A copy overwrites all of the memory: flights there end.
void use_flight_overwritten(uint64_t low, uint64_t high);
void use_flight_forked(void); // in a new child

#endif
