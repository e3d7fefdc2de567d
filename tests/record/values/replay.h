// SPDX-License-Identifier: Apache-2.0
// Replays the simulated GPU's log: keeps the contents of every object, and reports for each launch,
// copy and fill which bytes it wrote, and what they held before and after it.
//
// The log does not say what most objects hold when they begin. A first pass over the log learns
// that from the loads of bytes that nothing had written before. Bytes that are never loaded stay
// unknown.
//
// Stores of a launch are applied in the order of the log, which is the order of execution with one
// worker (GLINT_SIM_WORKERS=1). With several, the contents are right if the program has no races.
// What the host writes to managed and pinned memory is known only where a kernel loads it.
#ifndef GLINT_TESTS_RECORD_VALUES_REPLAY_H
#define GLINT_TESTS_RECORD_VALUES_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/base.h"
#include "gpusim/gpusim.h"

enum { REPLAY_PIECE_SHIFT = 12, REPLAY_PIECE_BYTES = 1 << REPLAY_PIECE_SHIFT, REPLAY_ALIGN = 16 };

// What is known about a byte.
enum replay_known {
    REPLAY_UNKNOWN,
    REPLAY_LEARNED, // what it held when its object began, because something loaded it
    REPLAY_WRITTEN, // what was last written
};

// A live object. Its pieces of 4096 bytes begin at its first byte, rounded down to a multiple of
// 16; so there may be a few bytes before the object, which are never known.
struct replay_object {
    const struct gpusim_object *object;
    uint64_t base;        // address of piece 0
    uint64_t pieces;      // their number
    bool host;            // the host may write it too
    unsigned char *bytes; // from `base` on
    unsigned char *known; // the same: enum replay_known
    void *user;           // for the caller
};

// One piece that an event wrote to.
struct replay_piece {
    unsigned char before[REPLAY_PIECE_BYTES];
    unsigned char known[REPLAY_PIECE_BYTES];   // before: enum replay_known
    unsigned char written[REPLAY_PIECE_BYTES]; // 1: it was written
};

// What an event wrote to one object. Its contents afterwards are those of the object.
struct replay_write {
    struct replay_object *object;
    struct replay_piece **pieces; // by number; NULL: not written
};

enum replay_kind { REPLAY_LAUNCH, REPLAY_COPY, REPLAY_FILL, REPLAY_GROUP };

struct replay_range { // of addresses
    uint64_t from, to;
};

// Launches, copies and fills that the caller wants to be one event are followed by an event for the
// group, and report no writes themselves.
struct replay_event {
    enum replay_kind kind;
    bool is_member; // of a group
    uint64_t call;
    const struct gpusim_log_launch *launch; // of a launch
    const struct gpusim_log_copy *copy;     // of a copy
    const struct gpusim_log_fill *fill;     // of a fill
    const struct replay_write *writes;      // in the order of first writes
    size_t write_count;
    const struct replay_range *ranges; // of a group: from the first to the last byte of each copy
    size_t range_count;                // and fill
};

// What the caller wants to be called for, in the order of the log. Unset functions are not called.
struct replay_calls {
    void *user;
    const struct base_map *groups; // call to the number of its launches, copies and fills, if these
                                   // are one event; NULL: there are none
    void (*called)(void *user, const struct gpusim_log_call *call);
    void (*object_began)(void *user, struct replay_object *object);
    void (*object_ended)(void *user, struct replay_object *object); // also at the end of the log
    void (*launch_began)(void *user, const struct gpusim_log_launch *launch);
    void (*group_began)(void *user, uint64_t call);
    // One execution of an instruction by a warp, before its stores are applied.
    void (*executed)(void *user, const struct gpusim_log_access *records, size_t count);
    // A launch, copy or fill that wrote to an object or not, after it.
    void (*ended)(void *user, const struct replay_event *event);
};

struct replay;

// Returns the live object of that address or number; NULL: none.
struct replay_object *replay_at(const struct replay *replay, uint64_t address);
struct replay_object *replay_object(const struct replay *replay, uint64_t id);

// How much was replayed, and how often the log contradicted the contents that were replayed.
struct replay_totals {
    uint64_t launches, copies, fills;
    uint64_t loads;          // bytes that loads and atomics read, and that were known
    uint64_t contradictions; // of these, bytes that were different; 0 if the log is complete
};

// Replays a complete log. `calls` gets *replay before its first function is called. BASE_CORRUPT if
// the log is not complete, and what gpusim_log_open and gpusim_log_next return.
enum base_code replay_run(const char *path, const struct replay_calls *calls,
                          struct replay **replay, struct replay_totals *totals,
                          struct base_error *error);

// Aborts if an allocation failed.
static inline void *replay_must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}
#define REPLAY_PUSH(type, array) (*(type *)replay_must(base_array_push(array)))

#endif
