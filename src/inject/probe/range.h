// SPDX-License-Identifier: Apache-2.0
// Which part of the program's run is watched (GLINT_CAPTURE_RANGE). The program may begin a range
// before it uses CUDA, so the ranges are counted whether probes take part or not. Children of fork
// inherit the ranges that are open. Any thread may call.
#ifndef GLINT_INJECT_PROBE_RANGE_H
#define GLINT_INJECT_PROBE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

// Returns whether a launch of the calling thread is to be watched.
bool probe_range_watches(void);

// The program called cuProfilerStart or cuProfilerStop.
void probe_range_profiler(bool open);

// --- NVTX ----------------------------------------------------------------------------------------

// Returns whether launches are watched in ranges of NVTX only. If not, identifiers are all that the
// functions below are for.
bool probe_range_uses_nvtx(void);

// Return whether it is the name of the ranges, or of their domain; NULL: the default domain.
bool probe_range_is_name(const char *name);
bool probe_range_is_domain(const char *name);

// The calling thread begins a range in the domain of the wanted ranges, inside of those that it has
// begun there and not ended; and ends the innermost. `wanted`: it has the name.
void probe_range_push(bool wanted);
void probe_range_pop(void);

// Begins a range, which any thread may end. Returns its identifier, which is not 0. wanted: it has
// the name, in the domain of the wanted ranges.
uint64_t probe_range_start(bool wanted);
// Ends it. Returns false if no such range is open.
bool probe_range_end(uint64_t identifier);

// Returns an identifier that no other range has. Nothing is begun.
uint64_t probe_range_new(void);
// Returns the number of a range, from 1.
uint64_t probe_range_number(uint64_t identifier);

#endif
